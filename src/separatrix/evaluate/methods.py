"""The methods that can be compared: those of the package, and references to measure them by."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.decomposition import PCA, KernelPCA
from sklearn.neighbors import (
    KNeighborsClassifier,
    NearestCentroid,
    NeighborhoodComponentsAnalysis,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import separatrix
from separatrix.base.estimator import SubspaceEstimator
from separatrix.evaluate.records import spelled_out
from separatrix.evaluate.references import ALIASES, REFERENCES, list_references
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.ipcac.ipcac import IPCAC
from separatrix.kernels import RBF
from separatrix.methods import find_public_name
from separatrix.selection import MAX_COMPONENTS

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "*": {
        "kernel__gamma": (1.0, 0.25, 4.0),
        "C": (1.0, 10.0),
        "shrinkage": (None, 0.1),
        "sparsity": (5.0, 20.0),
    },
    "FisherDiscriminant": {
        "shrinkage": ("auto", None, "nonlinear"),
        "rule": ("linear", "quadratic"),
    },
    "DirectDiscriminant": {"regularization": (0.0, 0.01, 1.0)},
    "HeteroscedasticDiscriminant": {"shrinkage": ("auto",)},
    "LocalFisherDiscriminant": {"n_neighbors": (7, 3, 15)},
    "GroupedDiscriminant": {"groups": (2, 4), "rule": ("linear", "quadratic")},
    "PartialLeastSquaresDiscriminant": {"scale": (True, False)},
    "QuadraticDiscriminant": {
        "shrinkage": (0.0, 0.1, 0.5),
        "pooling": (0.0, 0.25, 0.75, 1.0),
        "diagonal": (False, True),
    },
    "IPCAC": {"variance": (None, 0.99, 0.9)},
    "TruncatedIPCAC": {"n_whitened": ("auto", "log2", 1, 16, 256)},
    "OnlineIPCAC": {"n_whitened": ("auto", "log2", 1, 16, 256)},
    "KernelFisherDiscriminant": {"ridge": ("auto", 0.01, 1.0)},
    "KernelIPCAC": {
        "truncate": (False, True),
        "variance": (None, 0.9),
        "ridge": ("auto", 0.01, 1.0),  # last: truncation takes none, and such values fail
    },
    "SupportVectorProjection": {
        "redundancy": (0.0, 0.25, 0.5),
        "multiclass": ("ovr", "ovo"),
    },
    "SupportVectorICA": {"redundancy": (0.0, 0.5)},
    "KernelSupportVectorICA": {"redundancy": (0.0, 0.5)},
    "WithinSupportVectorDiscriminant": {"shrinkage": ("auto",)},
}
"""Values that are tried for a parameter, the preferred first: under "*" for every method that has
the parameter, under the name of a class for that class alone. Those of ``kernel__gamma``, and of
``C`` where there is no kernel, are multiples of `IN_UNITS`. One parameter is chosen after the
other, in this order.

Parameters that an estimator chooses itself ("auto": γ and neighbours of the LDG family, all of
`MixtureIPCAC`) are left to it; the ridge of `KernelIPCAC` does so for two classes only. The number
of directions is chosen with each of these values."""

IN_UNITS = ("kernel__gamma", "C")
"""Parameters whose grid is in units of ``1 / (n_features * X.var())``, "scale" in scikit-learn:
both are measured by squared lengths of rows."""

MAX_EXACT_KERNEL_ROWS = 1000
"""Training rows beyond which kernel methods use landmarks."""

N_LANDMARKS = 300
"""Landmarks of kernel methods then."""

MAX_TRAINING_ROWS = {
    "MarginMaximizingDiscriminant": 2000,
    "KernelPCA": 1000,
    "MixtureIPCAC": 3000,
    "NCA": 2000,
    "SupervisedUMAP": 2000,
    "TabICL": 1000,
    "TabPFN": 1000,
    "WithinSupportVectorDiscriminant": 2000,
}
"""Methods whose time grows too fast with rows, and the training rows they are fitted to at most,
drawn from each class by its share."""

LEFT_OUT = {
    "ClassEraser": "it takes a label out of the rows and finds no subspace",
    "DomainScaler": "it scales features and finds no subspace",
    "EarlyClassifier": "it is for incomplete rows; complete ones it leaves to its estimator",
    "WithRejection": "it answers none of the classes for some rows, which no comparison scores",
    "TargetWeighted": "it needs rows of two domains; on one domain it is its estimator",
    "TransferLDG": "it needs rows of two domains; on one domain it is LDG",
}
"""Estimators of the package that are not compared, and why."""


@dataclass(frozen=True)
class Contender:
    """A method as it enters a comparison.

    Attributes
    ----------
    name : str
        Its name in records.
    estimator : estimator
        With the parameters that are not chosen.
    kind : "subspace", "classifier", "reference" or "given"
        Where it comes from.
    description : str
        A sentence on how it works.
    grid : mapping
        Values to try for each parameter; for several that go together, their names with commas
        between and tuples of values.
    choose_dimension : bool
        Whether the number of directions is chosen, too. Those estimators must find directions one
        after the other, so that the first ones do not depend on how many follow.
    most_rows : int or None
        Training rows to fit to, at most.
    in_units : tuple of str
        Parameters whose values in `grid` are multiples of ``1 / (n_features * X.var())``.
    prepare : "standard", None or transformer
        What features go through first. "standard" brings each to mean zero and variance one,
        sparse ones to variance one. A transformer is cloned and fitted to the training part.
    then : Contender or None
        The classifier on top of the subspace. None is the method itself where it classifies by
        its subspace, and three nearest neighbours where it does not.
    given : str
        The pipeline or the estimator that was asked for; empty where it was a name.
    wrapped : bool
        Whether `with_steps` put its steps around it.
    """

    name: str
    estimator: Any
    kind: str = "given"
    description: str = ""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    choose_dimension: bool = False
    most_rows: int | None = None
    in_units: tuple[str, ...] = ()
    prepare: Any = "standard"
    then: Contender | None = None
    given: str = ""
    wrapped: bool = False


# The table of classes ----------------------------------------------------------------------------


def method_classes() -> dict[str, type]:
    """The class of every method that has a name: those of the package, then the references.

    Those of the package are the public subspaces and classifiers but for `LEFT_OUT`, sorted by
    name. No estimator is constructed.

    Examples
    --------
    >>> list(method_classes())[:3], "3-NN" in method_classes()
    (['DDAGClassifier', 'DirectDiscriminant', 'FisherDiscriminant'], True)
    """
    names = [*sorted(separatrix.__all__), *list_references()]
    classes = {name: find_method_class(name) for name in names}
    return {name: cls for name, cls in classes.items() if cls is not None}


def find_method_class(name: str) -> type | None:
    """The class of one method; only its own module is imported."""
    reference = REFERENCES.get(ALIASES.get(name, name))
    if reference is not None:
        return reference.find_class()
    if name in LEFT_OUT or name not in separatrix.__all__:
        return None
    cls = getattr(separatrix, name)
    return cls if isinstance(cls, type) and _is_method(cls) else None


def _is_method(cls: type) -> bool:
    return issubclass(cls, BaseEstimator) and (
        issubclass(cls, SubspaceEstimator) or hasattr(cls, "predict")
    )


def _construct(name: str, cls: Any) -> Contender:
    """The contender of a class in the table."""
    full_name = ALIASES.get(name, name)
    if full_name not in REFERENCES:
        return _construct_ours(name, cls)
    reference = REFERENCES[full_name]
    return Contender(
        name,
        cls(**reference.params),
        "reference",
        reference.description,
        grid=reference.grid,
        choose_dimension=reference.choose_dimension,
        most_rows=MAX_TRAINING_ROWS.get(full_name),
        in_units=reference.in_units,
    )


def _construct_ours(name: str, cls: Any) -> Contender:
    # a graph of classifiers needs one for its nodes
    estimator = cls(IPCAC()) if name == "DDAGClassifier" else cls()
    if getattr(estimator, "kernel", None) == "rbf":
        estimator.set_params(kernel=RBF())  # the name has no parameters
    params = estimator.get_params()
    tried = {**GRIDS["*"], **GRIDS.get(name, {})}
    grid = {p: values for p, values in tried.items() if p in params}
    return Contender(
        name,
        estimator,
        kind="classifier" if has_own_rule(estimator) else "subspace",
        description=first_sentence(cls),
        grid=grid,
        choose_dimension="n_components" in params,
        most_rows=MAX_TRAINING_ROWS.get(name),
        in_units=IN_UNITS[:1] if costs_without_units(params) else IN_UNITS,
    )


def costs_without_units(params: Mapping[str, Any]) -> bool:
    """Whether C has no unit: with a kernel, and where margins are measured by the scatter."""
    return params.get("kernel") is not None or "shrinkage" in params


def has_own_rule(estimator: Any) -> bool:
    """Whether an estimator classifies by a rule that sees its subspace.

    Margin methods decide by their first hyperplanes, whatever else is in the subspace: judged by
    those, methods that share them would be the same.
    """
    return is_classifier(estimator) and getattr(estimator, "_decides_in_subspace", True)


def first_sentence(cls: type) -> str:
    """The first sentence of the docstring of a class."""
    text = re.split(r"\n\s*\n", (cls.__doc__ or "").strip())[0]
    return re.sub(r"\s+", " ", text).replace("`", "")


# Settings that follow from the size of the data --------------------------------------------------


def is_raw(contender: Contender) -> bool:
    """Whether this is the reference that keeps all features, whatever it is called."""
    return contender.kind == "reference" and isinstance(contender.estimator, FunctionTransformer)


def spell_settings(name: str, value: Any) -> dict[str, Any]:
    """A value of a grid as parameters; names with commas between them have a value each.

    Examples
    --------
    >>> spell_settings("C", 1.0), spell_settings("solver,shrinkage", ("svd", None))
    ({'C': 1.0}, {'solver': 'svd', 'shrinkage': None})
    """
    names = name.split(",")
    return {name: value} if len(names) == 1 else dict(zip(names, value, strict=True))


def limit_groups(contender: Contender, n_features: int) -> dict[str, tuple[Any, ...]]:
    """The grid with no more groups of features than there are features.

    That of estimators that the caller brought is left as it is.
    """
    grid = dict(contender.grid)
    if contender.kind != "given" and "groups" in grid:
        grid["groups"] = tuple(min(value, n_features) for value in grid["groups"])
    return grid


def settings_by_size(
    contender: Contender, n_rows: int, n_features: int, n_classes: int, *, sparse: bool = False
) -> dict[str, Any]:
    """Parameters that follow from the size of the training part alone.

    Estimators that the caller brought are left as they are.
    """
    estimator = contender.estimator
    if contender.kind == "given":
        return {}
    if isinstance(
        estimator, PCA | KernelPCA
    ):  # folds that judge it have at least half of the rows
        n_axes = min(n_features - sparse, n_rows // 2)  # sparse rows have one axis less
        return {"n_components": max(1, min(MAX_COMPONENTS, n_axes))}
    if isinstance(estimator, NeighborhoodComponentsAnalysis):
        return {"n_components": min(n_features, max(2, n_classes - 1))}
    params = estimator.get_params(deep=False)
    landmarks = "n_landmarks" in params and params.get("kernel") is not None
    if n_rows > MAX_EXACT_KERNEL_ROWS and landmarks:
        return {"n_landmarks": N_LANDMARKS}
    return {}


# The methods asked for ---------------------------------------------------------------------------


def contenders(methods: Any, rivals: str | None = None) -> list[Contender]:
    """The methods asked for, each with a name of its own, then the references.

    Parameters
    ----------
    rivals : "none", "basic", "all" or None
        The references that take part; None is "basic" where all methods do, and "none" where
        methods are named.
    methods : None, or an iterable
        By default every method of the package. Otherwise names of these, estimators, pipelines,
        pairs ``(name, estimator)``, and `Contender`, in any mixture; or one of them, or a
        dictionary from names to estimators. A pipeline with a method of this package is taken
        apart: the steps before it prepare the features, settings that it leaves at their defaults
        are tuned, and a classifier behind it classifies in the subspace. Other estimators and
        pipelines are fitted as they are given.

    Examples
    --------
    >>> [m.name for m in contenders(["LDG", "raw"])]
    ['LDG', 'raw']
    """
    references = list_references(rivals or ("basic" if methods is None else "none"))
    if methods is None:
        ours = [name for name in method_classes() if name not in REFERENCES]
        return [_named(name) for name in [*ours, *references]]
    if isinstance(methods, str | Contender) or hasattr(methods, "fit"):
        methods = [methods]
    if isinstance(methods, Mapping):
        methods = methods.items()
    if not isinstance(methods, Iterable):
        raise TypeError(
            f"methods={methods!r} must be None for all, or a list of names and estimators"
        )
    named = [_contender(method) for method in methods]
    if not named:
        raise ValueError("methods is empty: name at least one, or None for all of them")
    _check_names_differ(m.name for m in named)
    asked = {ALIASES.get(m.name, m.name) for m in named}
    return named + [_named(name) for name in references if name not in asked]


def _contender(method: Any) -> Contender:
    if isinstance(method, Contender):
        return method
    if isinstance(method, str):
        return _named(method)
    if isinstance(method, tuple) and len(method) == 2 and isinstance(method[0], str):
        name, estimator = method
    else:
        name, estimator = type(method).__name__, method
    if isinstance(estimator, type):
        cls = estimator.__name__
        raise TypeError(f"{cls} is a class: give an estimator, {cls}(), or a name")
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"{method!r} is not a method: give a name, an estimator, or a pair of both"
        )
    if isinstance(estimator, Pipeline):
        return _from_pipeline(None if name == "Pipeline" else name, estimator)
    text = spelled_out(estimator)
    return Contender(name, estimator, description=first_sentence(type(estimator)), given=text)


def _from_pipeline(name: str | None, pipeline: Pipeline) -> Contender:
    """A pipeline as preparation, a method of this package and a classifier, if it has such."""
    steps, text = [step for _, step in pipeline.steps], spelled_out(pipeline)
    at = next((i for i in (len(steps) - 1, len(steps) - 2) if i >= 0 and _is_ours(steps[i])), None)
    if at is None:
        description = first_sentence(type(steps[-1]))
        return Contender(name or "Pipeline", pipeline, description=description, prepare=None,
                         given=text)  # fmt: skip
    before = [step for step in steps[:at] if step != "passthrough"]
    prepare = None if not before else before[0] if len(before) == 1 else make_pipeline(*before)
    then = None if at == len(steps) - 1 else _tuned_where_default(steps[-1])
    return replace(_tuned_where_default(steps[at], name), prepare=prepare, then=then, given=text)


def _is_ours(step: Any) -> bool:
    cls = type(step)
    return find_method_class(cls.__name__) is cls and cls.__name__ not in REFERENCES


def _tuned_where_default(estimator: Any, name: str | None = None) -> Contender:
    """An estimator with the grid of its class, less the settings that were made."""
    cls = type(estimator)
    called = next((n for n, c in _classes_by_name(cls) if c is cls), None)
    if called is None:
        return Contender(name or cls.__name__, estimator, description=first_sentence(cls))
    usual = _construct(called, cls)
    values, standard = estimator.get_params(), usual.estimator.get_params()
    made = {key for key, value in values.items() if repr(value) != repr(standard.get(key))}
    made -= {key for key in made if repr(values[key]) == repr(cls().get_params().get(key))}
    grid = {
        key: tried for key, tried in usual.grid.items() if not made & {*key.split(",")}
        and not any(key.startswith(f"{other}__") for other in made)
    }  # fmt: skip
    kept = {key: value for key, value in values.items() if key in made and "__" not in key}
    return replace(
        usual,
        name=name or called,
        estimator=clone(usual.estimator).set_params(**kept),
        grid=grid,
        choose_dimension=usual.choose_dimension and "n_components" not in made,
    )


def _classes_by_name(cls: type) -> list[tuple[str, type | None]]:
    """The names under which a class may be in the table, and the class that is there."""
    names = [cls.__name__, *(n for n, ref in REFERENCES.items() if ref.cls is cls)]
    return [(name, find_method_class(name)) for name in names]


SHORT_RULES: dict[str, tuple[type, dict[str, Any]]] = {
    "3nn": (KNeighborsClassifier, {"n_neighbors": 3}),
    "centroid": (NearestCentroid, {}),
    "gaussian": (FisherDiscriminant, {"shrinkage": None}),
}
"""Short names of classifiers on top of a subspace: three nearest neighbours, the nearest class
mean, Gaussians of one covariance."""


def find_rule(rule: Any) -> Contender | None:
    """The classifier on top that a name, a short name of `SHORT_RULES` or an estimator means."""
    if rule is None or (isinstance(rule, str) and rule == "own"):
        return None
    if isinstance(rule, str) and rule in SHORT_RULES:
        cls, params = SHORT_RULES[rule]
        return Contender(rule, cls(**params))
    (contender,) = contenders([rule])
    if not hasattr(contender.estimator, "predict"):
        raise ValueError(
            f"then={contender.name} does not predict: give a classifier, such as "
            "LogisticRegression"
        )
    return contender


def with_steps(
    methods: Any, rivals: str | None = None, *, prepare: Any = "standard", then: Any = None
) -> list[Contender]:
    """Methods with the same preparation before and the same classifier behind each of them.

    Parameters
    ----------
    methods, rivals
        As in `compare`.
    prepare : "standard", None or transformer
        What features go through first.
    then : str, classifier or None
        The classifier on top of every subspace: "3nn", "centroid", "gaussian", the name of a
        method, which is tuned, or an estimator. Methods without a subspace classify themselves.

    Examples
    --------
    >>> [m.then.name for m in with_steps(["LDG", "PCA"], then="centroid")]
    ['centroid', 'centroid']
    """
    if isinstance(prepare, type):
        raise ValueError(
            f"prepare={prepare!r} is a class: give a transformer, {prepare.__name__}()"
        )
    named = isinstance(prepare, str) and prepare == "standard"
    if not (prepare is None or named or hasattr(prepare, "transform")):
        raise ValueError(f'prepare={prepare!r} must be "standard", None or a transformer')
    rule = find_rule(then)
    return [
        replace(m, prepare=prepare, then=rule, wrapped=True) for m in contenders(methods, rivals)
    ]


def resolve_name(name: str) -> str:
    """The name in the table that a name in any case, or an alias, means; unknown ones stay.

    References come first: "lda" is that of scikit-learn, as "LDA" is.

    Examples
    --------
    >>> [resolve_name(name) for name in ("ldg", "pls-da", "lda", "RAW")]
    ['LDG', 'PartialLeastSquaresDiscriminant', 'LDA', 'raw']
    """
    if name in REFERENCES or name in ALIASES or name in separatrix.__all__:
        return name
    references = {full_name.lower(): full_name for full_name in (*REFERENCES, *ALIASES)}
    return references.get(name.lower()) or find_public_name(name) or name


def _named(name: str) -> Contender:
    name = resolve_name(name)
    if name in LEFT_OUT:
        raise ValueError(f"{name} cannot be compared: {LEFT_OUT[name]}")
    cls = find_method_class(name)
    if cls is None:
        method_names = list(method_classes())
        near = difflib.get_close_matches(name, method_names, 1)
        guess = f"did you mean {near[0]!r}? It" if near else "it"
        raise ValueError(
            f"{name!r} is not a method: {guess} must be one of {', '.join(method_names)}"
        )
    return _construct(name, cls)


def _check_names_differ(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"two methods are called {name!r}: give pairs (name, estimator) with other names"
            )
        seen.add(name)
