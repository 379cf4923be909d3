"""The methods that can be compared: those of the package, and references to measure them by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import FunctionTransformer

from separatrix.base.estimator import SubspaceEstimator
from separatrix.ipcac.ipcac import IPCAC
from separatrix.selection import MAX_COMPONENTS

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "*": {
        "kernel_gamma": (1.0, 0.25, 4.0),
        "C": (1.0, 10.0),
        "shrinkage": (None, 0.1),
        "sparsity": (5.0, 20.0),
    },
    "FisherDiscriminant": {"shrinkage": (None, "auto")},
    "DirectDiscriminant": {"regularization": (0.0, 0.01, 1.0)},
    "LocalFisherDiscriminant": {"n_neighbors": (7, 3, 15)},
    "GroupedDiscriminant": {"groups": (2, 4)},
    "IPCAC": {"variance": (None, 0.99)},
}
"""Values that are tried for a parameter, the preferred first: under "*" for every method that has
the parameter, under the name of a class for that class alone. Those of ``kernel_gamma``, and of
``C`` where there is no kernel, are multiples of `IN_UNITS`. One parameter is chosen after the
other, in this order.

Parameters that an estimator chooses itself ("auto": γ and neighbours of the LDG family) are left
to it. The number of directions is chosen with each of the values here."""

IN_UNITS = ("kernel_gamma", "C")
"""Parameters whose grid is in units of ``1 / (n_features * X.var())``, "scale" in scikit-learn:
both are measured by squared lengths of rows."""

LANDMARK_ROWS = 1000
"""Training rows beyond which kernel methods use landmarks."""

N_LANDMARKS = 300
"""How many."""

MOST_ROWS = {
    "MarginMaximizingDiscriminant": 2000,
    "MixtureIPCAC": 500,
    "NCA": 2000,
    "WithinSupportVectorDiscriminant": 2000,
}
"""Methods whose time grows too fast with rows, and the training rows they are fitted to at most,
drawn from each class by its share."""

LEFT_OUT = {
    "DomainScaler": "it scales features and finds no subspace",
    "EarlyClassifier": "it is for incomplete rows; complete ones it leaves to its estimator",
    "TransferLDG": "it needs rows of two domains; on one domain it is LDG",
}
"""Estimators of the package that do not compete, and why."""


@dataclass(frozen=True)
class Contender:
    """A method as it enters a comparison.

    Attributes
    ----------
    name : str
        What it is called in records.
    estimator : estimator
        With the parameters that are not chosen.
    kind : "subspace", "classifier", "reference" or "given"
        Where it comes from.
    description : str
        What it does, in a sentence.
    grid : mapping
        Values to try for each parameter.
    choose_dimension : bool
        Whether the number of directions is chosen, too. Those estimators must find directions one
        after the other, so that the first ones do not depend on how many follow.
    most_rows : int or None
        Training rows to fit to, at most.
    in_units : tuple of str
        Parameters whose values in `grid` are multiples of ``1 / (n_features * X.var())``.
    """

    name: str
    estimator: Any
    kind: str = "given"
    description: str = ""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    choose_dimension: bool = False
    most_rows: int | None = None
    in_units: tuple[str, ...] = ()


def package_methods() -> list[Contender]:
    """Every method of the package that learns from labelled rows alone, in alphabetical order.

    Found among the public names: subspaces and classifiers, but for those in `LEFT_OUT`.

    Examples
    --------
    >>> [m.name for m in package_methods()][:3]
    ['DDAGClassifier', 'DirectDiscriminant', 'FisherDiscriminant']
    """
    package = import_module("separatrix")  # by name: it imports this module, and not the reverse
    found = {name: getattr(package, name) for name in package.__all__ if name not in LEFT_OUT}
    classes = {n: c for n, c in found.items() if isinstance(c, type) and _is_method(c)}
    return [_package_method(name, classes[name]) for name in sorted(classes)]


def _is_method(cls: type) -> bool:
    return issubclass(cls, BaseEstimator) and (
        issubclass(cls, SubspaceEstimator) or hasattr(cls, "predict")
    )


def _package_method(name: str, cls: Any) -> Contender:
    # a graph of classifiers needs one for its nodes
    estimator = cls(IPCAC()) if name == "DDAGClassifier" else cls()
    params = estimator.get_params(deep=False)
    tried = {**GRIDS["*"], **GRIDS.get(name, {})}
    grid = {p: values for p, values in tried.items() if p in params}
    if params.get("kernel") is None:
        grid.pop("kernel_gamma", None)
    return Contender(
        name,
        estimator,
        kind="classifier" if is_classifier(estimator) else "subspace",
        description=first_sentence(cls),
        grid=grid,
        choose_dimension="n_components" in params,
        most_rows=MOST_ROWS.get(name),
        # in the feature space of a kernel rows have lengths near one
        in_units=IN_UNITS if params.get("kernel") is None else IN_UNITS[:1],
    )


def first_sentence(cls: type) -> str:
    """What the docstring of a class says first."""
    text = re.split(r"\n\s*\n", (cls.__doc__ or "").strip())[0]
    return re.sub(r"\s+", " ", text).replace("`", "")


def reference_methods() -> list[Contender]:
    """What the methods are measured by: no subspace at all, and three of scikit-learn.

    Examples
    --------
    >>> [m.name for m in reference_methods()]
    ['raw', 'PCA', 'LDA', 'NCA']
    """
    return [
        Contender(
            "raw",
            FunctionTransformer(feature_names_out="one-to-one"),
            "reference",
            "All features as they are.",
        ),
        Contender(
            "PCA",
            PCA(),
            "reference",
            "Principal axes: the directions of largest variance, without labels.",
            choose_dimension=True,
        ),
        Contender(
            "LDA",
            LinearDiscriminantAnalysis(),
            "reference",
            "Linear discriminant analysis of scikit-learn, by its own rule.",
        ),
        Contender(
            "NCA",
            NeighborhoodComponentsAnalysis(),
            "reference",
            "Neighbourhood components of scikit-learn: directions for nearest neighbours.",
            most_rows=MOST_ROWS["NCA"],
        ),
    ]


def is_raw(contender: Contender) -> bool:
    """Whether this is the reference that keeps all features, whatever it is called."""
    return contender.kind == "reference" and isinstance(contender.estimator, FunctionTransformer)


def within_features(contender: Contender, n_features: int) -> dict[str, tuple[Any, ...]]:
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
    if isinstance(estimator, PCA):  # folds that judge it have at least half of the rows
        most = min(n_features - sparse, n_rows // 2)  # sparse rows have one axis less
        return {"n_components": max(1, min(MAX_COMPONENTS, most))}
    if isinstance(estimator, NeighborhoodComponentsAnalysis):
        return {"n_components": min(n_features, max(2, n_classes - 1))}
    params = estimator.get_params(deep=False)
    if n_rows > LANDMARK_ROWS and params.get("kernel") is not None:
        return {"n_landmarks": N_LANDMARKS}
    return {}


def contenders(methods: Any) -> list[Contender]:
    """The methods asked for, each with a name of its own.

    Parameters
    ----------
    methods : None, or an iterable
        None is every method of the package and the references. Otherwise names of these,
        estimators, pairs ``(name, estimator)``, and `Contender`, in any mixture; or one of them,
        or a dictionary from names to estimators.

    Examples
    --------
    >>> [m.name for m in contenders(["LDG", "raw"])]
    ['LDG', 'raw']
    """
    known = {m.name: m for m in [*package_methods(), *reference_methods()]}
    if methods is None:
        return list(known.values())
    if isinstance(methods, str | Contender) or hasattr(methods, "fit"):
        methods = [methods]
    if isinstance(methods, Mapping):
        methods = methods.items()
    if not isinstance(methods, Iterable):
        raise TypeError(
            f"methods={methods!r} must be None for all, or a list of names and estimators"
        )
    asked = list(methods)
    found = [_contender(method, known) for method in asked]
    if not found:
        raise ValueError("methods is empty: name at least one, or None for all of them")
    _refuse_repeated(m.name for m in found)
    return found


def _contender(method: Any, known: Mapping[str, Contender]) -> Contender:
    if isinstance(method, Contender):
        return method
    if isinstance(method, str):
        if method in LEFT_OUT:
            raise ValueError(f"{method} cannot be compared: {LEFT_OUT[method]}")
        if method not in known:
            raise ValueError(f"{method!r} is not a method: it must be one of {', '.join(known)}")
        return known[method]
    if isinstance(method, tuple) and len(method) == 2 and isinstance(method[0], str):
        name, estimator = method
    else:
        name, estimator = type(method).__name__, method
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"{method!r} is not a method: give a name, an estimator, or a pair of both"
        )
    return Contender(name, estimator, description=first_sentence(type(estimator)))


def _refuse_repeated(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"two methods are called {name!r}: give pairs (name, estimator) with other names"
            )
        seen.add(name)
