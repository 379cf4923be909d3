"""References to measure methods by: what people would use instead, tuned by the same budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import validate_data

from separatrix.linalg import span

MAX_ITERATIONS = 5000
"""Steps of logistic regression and linear support vectors, which then say that they did not
converge."""


class SpannedLDA(LinearDiscriminantAnalysis):
    """Linear discriminant analysis of scikit-learn, shrunken also for more features than rows.

    With the solver "eigen" and fewer rows than features it is fitted to the coordinates of the
    rows in their span, and lifted back: the same Gaussians but for the scale of the shrinkage,
    without a matrix of features by features.

    Parameters
    ----------
    solver, shrinkage, priors, n_components, store_covariance, tol, covariance_estimator
        As in scikit-learn.
    """

    def fit(self, X: Any, y: Any) -> SpannedLDA:
        """Fit to labelled rows."""
        if self.solver != "eigen" or X.shape[0] > X.shape[1]:
            super().fit(X, y)
            return self
        rows = validate_data(self, X, dtype=np.float64)
        mean = rows.mean(axis=0)
        spanned = span(rows - mean)
        inner = LinearDiscriminantAnalysis(**self.get_params()).fit(spanned.coordinates, y)
        self.classes_, self.priors_ = inner.classes_, inner.priors_
        self.means_, self.xbar_ = spanned.lift(inner.means_.T).T + mean, mean
        self.scalings_ = spanned.lift(inner.scalings_)
        self.coef_ = spanned.lift(inner.coef_.T).T
        self.intercept_ = inner.intercept_ - self.coef_ @ mean
        self.explained_variance_ratio_ = inner.explained_variance_ratio_
        self._max_components, self._n_features_out = inner._max_components, inner._n_features_out
        return self


@dataclass(frozen=True)
class Reference:
    """A method of another package as it enters comparisons.

    Attributes
    ----------
    cls : type or str
        The class, or where it is, "package.module:name", where it need not be there or is
        imported only when it is asked for.
    description : str
        A sentence on how it works.
    level : "basic" or "all"
        The least value of `rivals` with which it takes part.
    params : mapping
        Parameters that are not chosen.
    grid : mapping
        Values to try for each parameter; names with a comma between them get pairs of values.
    choose_dimension : bool
        Whether the number of directions is chosen.
    in_units : tuple of str
        Parameters whose values are multiples of ``1 / (n_features * X.var())``.
    """

    cls: type | str
    description: str
    level: str = "basic"
    params: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    choose_dimension: bool = False
    in_units: tuple[str, ...] = ()

    def find_class(self) -> type | None:
        """The class; None where its package is not installed. Nothing else is imported."""
        if isinstance(self.cls, type):
            return self.cls
        module, name = self.cls.split(":")
        return getattr(import_module(module), name) if is_installed(self) else None


REFERENCES: dict[str, Reference] = {
    "3-NN": Reference(
        FunctionTransformer,
        "All features as they are, classified by nearest neighbours.",
        params={"feature_names_out": "one-to-one"},
    ),
    "PCA": Reference(
        PCA,
        "Principal axes: the directions of largest variance, without labels.",
        choose_dimension=True,
    ),
    "LDA": Reference(
        SpannedLDA,
        "Linear discriminant analysis of scikit-learn, with shrinkage where that helps.",
        grid={"solver,shrinkage": (("svd", None), ("eigen", 0.1), ("eigen", 0.5))},
    ),
    "NCA": Reference(
        NeighborhoodComponentsAnalysis,
        "Neighbourhood components of scikit-learn: directions for nearest neighbours.",
    ),
    "LogisticRegression": Reference(
        LogisticRegression,
        "Logistic regression with a quadratic penalty.",
        params={"max_iter": MAX_ITERATIONS},
        grid={"C": (1.0, 0.1, 0.01, 10.0)},
    ),
    "RBF-SVM": Reference(
        SVC,
        "Support vectors with a Gaussian kernel, one class against another.",
        grid={"C": (1.0, 10.0, 100.0), "gamma": (1.0, 0.25, 4.0)},
        in_units=("gamma",),
    ),
    "GradientBoosting": Reference(
        "sklearn.ensemble:HistGradientBoostingClassifier",  # takes long to import
        "Trees added one after the other, on features in bins.",
        params={"max_iter": 50, "early_stopping": False},
        grid={"learning_rate": (0.2, 0.05), "max_leaf_nodes": (31, 4)},
    ),
    "ShrunkenCentroid": Reference(
        NearestCentroid,
        "The nearest class mean, means shrunken towards that of all rows.",
        grid={"shrink_threshold": (None, 0.5, 1.0, 2.0)},
    ),
    "LinearSVM": Reference(
        LinearSVC,
        "Support vectors without a kernel, one class against the rest.",
        level="all",
        params={"max_iter": MAX_ITERATIONS},
        grid={"C": (0.1, 0.01, 1.0)},
    ),
    "KernelPCA": Reference(
        KernelPCA,
        "Principal axes in the space of a Gaussian kernel, without labels.",
        level="all",
        params={"kernel": "rbf"},
        grid={"gamma": (1.0, 0.25)},
        choose_dimension=True,
        in_units=("gamma",),
    ),
    "SupervisedUMAP": Reference(
        "umap:UMAP",
        "UMAP with labels: neighbourhoods of rows and classes in the plane.",
        level="all",
        params={"n_components": 2},
        grid={"n_neighbors": (15, 5)},
    ),
    "TabPFN": Reference(
        "tabpfn:TabPFNClassifier",
        "A network trained on made-up tables, given the training rows as context.",
        level="all",
    ),
    "TabICL": Reference(
        "tabicl:TabICLClassifier",
        "A network trained on made-up tables, given the training rows as context.",
        level="all",
    ),
    "ROCKET": Reference(
        "aeon.classification.convolution_based:RocketClassifier",
        "Random convolutions of series, and a linear classifier on them.",
        level="all",
        params={"n_kernels": 2000},
    ),
}
"""No subspace at all, and methods of other packages."""

ALIASES = {"raw": "3-NN"}
"""Other names of references."""

LEVELS = {"none": (), "basic": ("basic",), "all": ("basic", "all")}
"""Values of `rivals`, and the levels of references that take part."""


def list_references(rivals: str = "all") -> list[str]:
    """Names of the references that take part, those that are installed.

    Examples
    --------
    >>> list_references("basic")[:3], list_references("none")
    (['3-NN', 'PCA', 'LDA'], [])
    """
    if rivals not in LEVELS:
        raise ValueError(f"rivals={rivals!r} is not valid: it must be one of {', '.join(LEVELS)}")
    wanted = LEVELS[rivals]
    taking_part = {name: ref for name, ref in REFERENCES.items() if ref.level in wanted}
    return [name for name, ref in taking_part.items() if is_installed(ref)]


def is_installed(reference: Reference) -> bool:
    """Whether the package of a reference is there; it is not imported."""
    cls = reference.cls
    return isinstance(cls, type) or find_spec(cls.split(":")[0].split(".")[0]) is not None
