"""The closed list of types that model files hold: names in files, and where the types are today.

A file never names a module: code moves, names stay. An attribute that its class does not declare
is neither written nor read: classes of this package declare theirs by annotations in the class
body, those of scikit-learn by `SCIKIT_LEARN`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

PACKAGE = "separatrix"

PART_TYPES = {
    # statistics
    "AxisRows": "moments.scatter.AxisRows",
    "LabelledRows": "moments.labelled.LabelledRows",
    "Scatter": "moments.scatter.Scatter",
    "SlidingWindow": "moments.window.SlidingWindow",
    "SparseRows": "moments.scatter.SparseRows",
    "Stretch": "moments.window.Stretch",
    "ThinSVD": "linalg.span.ThinSVD",
    # kernels, choices, decisions
    "ByMoments": "decision.by_moments.ByMoments",
    "DimensionPath": "selection.DimensionPath",
    "GridScores": "selection.GridScores",
    "HyperplaneRule": "margin.planes.HyperplaneRule",
    "KernelMap": "base.feature_space.KernelMap",
    "Laplacian": "kernels.Laplacian",
    "Linear": "kernels.Linear",
    "ClusterRule": "ipcac.cluster_rule.ClusterRule",
    "LeftOut": "decision.expected.LeftOut",
    "LinearRule": "decision.linear.LinearRule",
    "Polynomial": "kernels.Polynomial",
    "Precomputed": "kernels.Precomputed",
    "Quadratic": "decision.quadratic.Quadratic",
    "QuadraticRule": "decision.quadratic.QuadraticRule",
    "RBF": "kernels.RBF",
    "SettledKernel": "kernels.SettledKernel",
    "SeveralLabels": "decision.several.SeveralLabels",
    "SpannedLDA": "evaluate.references.SpannedLDA",
    # incomplete rows
    "ClassPromise": "early.calibration.ClassPromise",
    "Conditional": "early.conditional.ConditionalModel",
    "Cost": "early.calibration.Cost",
    "DenseFactor": "early.conditional.DenseFactor",
    "FeatureUnits": "early.conditional.FeatureUnits",
    "Gaussian": "early.conditional.NormalModel",
    "ModelJudge": "early.judges.ModelJudge",
    "ModelScore": "early.modelled.ModelScore",
    "PrefixJudge": "early.judges.PrefixJudge",
    "PrefixScore": "early.prefixes.PrefixScore",
    "Promise": "early.calibration.Promise",
    "PromiseTable": "early.calibration.PromiseTable",
    "SampledJudge": "early.judges.SampledJudge",
    "SampledScore": "early.sampled.SampledScore",
    "ScoreTable": "early.modelled.ScoreTable",
    "ThinFactor": "early.conditional.ThinFactor",
    "View": "early.conditional.PrefixModel",
    # steps on each row, and columns of text that were given as numbers
    "Detrend": "features.spectra.Detrend",
    "MultiplicativeScatterCorrection": "features.spectra.MultiplicativeScatterCorrection",
    "RandomConvolutions": "features.convolutions.RandomConvolutions",
    "SpectrumDerivative": "features.spectra.SpectrumDerivative",
    "StandardNormalVariate": "features.spectra.StandardNormalVariate",
    "ValueNames": "files.preparation.ValueNames",
}
"""Parts of fitted models besides the public types → where they are below ``separatrix``."""

_PLANES = "classes_ coef_ intercept_ n_iter_"
_COVARIANCE = "covariance_ location_ precision_"
_LDA = """classes_ coef_ intercept_ explained_variance_ratio_ means_ priors_ scalings_ xbar_
covariance_ _max_components _n_features_out"""

SCIKIT_LEARN = {
    # steps that the commands make of a table
    "ColumnTransformer": (
        "compose",
        """transformers_ output_indices_ sparse_output_ _columns _remainder _n_features
        _transformer_to_input_indices""",
    ),
    "FunctionTransformer": ("preprocessing", ""),
    "HashingVectorizer": ("feature_extraction.text", ""),
    "MinMaxScaler": (
        "preprocessing",
        "data_max_ data_min_ data_range_ min_ scale_ n_samples_seen_",
    ),
    "MissingIndicator": ("impute", "features_ _precomputed _n_features"),
    "Normalizer": ("preprocessing", ""),
    "OneHotEncoder": ("preprocessing", "categories_"),
    "Pipeline": ("pipeline", ""),
    "RobustScaler": ("preprocessing", "center_ scale_"),
    "SimpleImputer": ("impute", "statistics_ indicator_ _fill_dtype _fit_dtype"),
    "StandardScaler": ("preprocessing", "mean_ scale_ var_ n_samples_seen_"),
    "TfidfTransformer": ("feature_extraction.text", "idf_"),
    "TfidfVectorizer": ("feature_extraction.text", "vocabulary_ fixed_vocabulary_ _tfidf"),
    "TruncatedSVD": (
        "decomposition",
        "components_ explained_variance_ explained_variance_ratio_ singular_values_",
    ),
    "VarianceThreshold": ("feature_selection", "variances_"),
    # references of a comparison, and classifiers in a subspace or of an EarlyClassifier
    "GaussianNB": ("naive_bayes", "class_count_ class_prior_ classes_ epsilon_ theta_ var_"),
    "KNeighborsClassifier": ("neighbors", "classes_ _fit_X _y radius"),
    "LabelBinarizer": ("preprocessing", "classes_ sparse_input_ y_type_"),
    "LinearDiscriminantAnalysis": ("discriminant_analysis", _LDA),
    "LinearSVC": ("svm", _PLANES),
    "LogisticRegression": ("linear_model", _PLANES),
    "NearestCentroid": (
        "neighbors",
        "centroids_ class_prior_ classes_ deviations_ within_class_std_dev_",
    ),
    "NeighborhoodComponentsAnalysis": ("neighbors", "components_ n_iter_"),
    "PCA": (
        "decomposition",
        """components_ explained_variance_ explained_variance_ratio_ mean_ n_components_
        n_samples_ noise_variance_ singular_values_ _fit_svd_solver""",
    ),
    "QuadraticDiscriminantAnalysis": (
        "discriminant_analysis",
        "classes_ covariance_ means_ priors_ rotations_ scalings_",
    ),
    "RidgeClassifier": ("linear_model", f"{_PLANES} solver_ _label_binarizer"),
    # the parameter `ica` of the methods with independent components
    "FastICA": ("decomposition", ""),
    # the parameter `covariance` of FisherDiscriminant
    "EmpiricalCovariance": ("covariance", _COVARIANCE),
    "LedoitWolf": ("covariance", f"{_COVARIANCE} shrinkage_"),
    "OAS": ("covariance", f"{_COVARIANCE} shrinkage_"),
    "ShrunkCovariance": ("covariance", _COVARIANCE),
}
"""Types of scikit-learn that files hold → the public module below ``sklearn``, and the attributes
besides parameters and names of features. They compute with NumPy, or
`separatrix.files.checks` checks them."""

DERIVED = {
    "KNeighborsClassifier": {"_tree", "_fit_method", "effective_metric_", "n_samples_fit_",
                             "effective_metric_params_", "outputs_2d_"},
    "NeighborhoodComponentsAnalysis": {"random_state_"},
    "HashingVectorizer": {"_stop_words_id"},
    "OneHotEncoder": {"drop_idx_", "_drop_idx_after_grouping", "_infrequent_enabled",
                      "_n_features_outs"},
    "TfidfVectorizer": {"_stop_words_id"},
}  # fmt: skip
"""Attributes that are not written: only a fit needs them, or they follow from those written."""

OF_ALL = frozenset(
    {"n_features_in_", "feature_names_in_", "epoch_shape_", "_sklearn_output_config"}
)
"""Attributes that every estimator may have."""


@cache
def find_type(name: str) -> type | None:
    """The type that files know by a name, or None; no module but its own is imported."""
    group, _, last = name.rpartition(".")
    if group == "sklearn":
        home = SCIKIT_LEARN[last][0] if last in SCIKIT_LEARN else None
        return None if home is None else getattr(import_module(f"sklearn.{home}"), last)
    path = _paths().get(name)
    if path is None:
        return None
    module, _, attribute = path.rpartition(".")
    named = getattr(import_module(f"{PACKAGE}.{module}"), attribute, None)
    return named if isinstance(named, type) else None  # a public module has no type


@cache
def find_name(kind: Any) -> str | None:
    """The name of a type in files, or None where it has no place in them."""
    if kind.__module__.startswith("sklearn."):
        name = f"sklearn.{kind.__name__}"
        return name if find_type(name) is kind else None
    if not kind.__module__.startswith(f"{PACKAGE}."):
        return None
    ends = [name for name, path in _paths().items() if path.endswith(f".{kind.__name__}")]
    return next((name for name in ends if find_type(name) is kind), None)


@cache
def _paths() -> dict[str, str]:
    contents = import_module(PACKAGE).CONTENTS  # by name: it lists modules of higher layers
    return {**{name: f"{home}.{name}" for name, home in contents.items()}, **PART_TYPES}


@cache
def declared(kind: Any) -> frozenset[str]:
    """The attributes that objects of a type may have in files."""
    if issubclass(kind, tuple):
        return frozenset(kind._fields)
    names: set[str] = set()
    if issubclass(kind, BaseEstimator):
        names |= {*kind._get_param_names(), *OF_ALL}
    for base in kind.__mro__:
        if base.__module__.startswith(f"{PACKAGE}."):
            own = vars(base).get("__annotations__", {})
            names |= {name for name, what in own.items() if not str(what).startswith("ClassVar")}
        elif base.__module__.startswith("sklearn.") and base.__name__ in SCIKIT_LEARN:
            names |= {*SCIKIT_LEARN[base.__name__][1].split()}
    return frozenset(names)
