"""Every estimator of the package, found in its public names, and data to try them on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.decomposition import FastICA
from sklearn.utils import get_tags

import separatrix
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.kernel import KernelEstimator
from separatrix.kernels import RBF


def all_estimators() -> list[Any]:
    """An instance of each public estimator with default parameters."""
    found = [getattr(separatrix, name) for name in separatrix.__all__]
    classes = [
        c
        for c in found
        if isinstance(c, type) and issubclass(c, BaseEstimator)
        # covariances are parameters of estimators, and judge no rows themselves
        if hasattr(c, "transform") or hasattr(c, "predict")
    ]
    assert len(classes) >= 7, "discovery must find the estimators"
    return [_instance(cls) for cls in classes]


def _instance(cls: Any) -> Any:
    around = {
        separatrix.DDAGClassifier: separatrix.IPCAC,
        separatrix.EarlyClassifier: separatrix.FisherDiscriminant,
        separatrix.WithRejection: separatrix.FisherDiscriminant,
        separatrix.TargetWeighted: separatrix.FisherDiscriminant,
    }
    estimator = cls(around[cls]()) if cls in around else cls()
    # FastICA does not converge on Gaussian rows: few steps do not magnify rounding
    # and the answer "none of these" is no class
    steady = {"random_state": 0, "ica": FastICA(max_iter=5), "level": 0}
    taken = {k: v for k, v in steady.items() if k in estimator.get_params()}
    return estimator.set_params(**taken)


def with_settled_dimension(estimator: Any) -> Any:
    """The same with a number of directions where rows held out would choose it."""
    auto = estimator.get_params().get("n_components") == "auto"
    return estimator.set_params(n_components=2) if auto else estimator


def subspace_estimators() -> list[Any]:
    return [e for e in all_estimators() if isinstance(e, SubspaceEstimator)]


def linear(estimators: list[Any]) -> list[Any]:
    """Those whose directions are weights of the features."""
    return [e for e in estimators if getattr(e, "kernel", None) is None]


def lawful_estimators() -> list[Any]:
    """All, with what would break the laws by itself switched off.

    The kernel width "scale" changes when the data are turned, "median" sees distances only; folds
    follow the order of rows, k-means starts from rows drawn by their number, units of features
    turn with nothing, and of ridges that rows left out find equally good any may be taken.
    Fisher's discriminant comes with a ridge by moments, and without any.
    """
    found = subspace_estimators()
    for estimator in found:
        if estimator.get_params().get("gamma") == "auto":
            estimator.set_params(gamma=0.6, n_neighbors=4)
        if isinstance(estimator, KernelEstimator) and estimator.kernel is not None:
            estimator.set_params(kernel=RBF("median"))
        if "scale" in estimator.get_params():
            estimator.set_params(scale=False)
        if "max_clusters" in estimator.get_params():
            estimator.set_params(max_clusters=1)
        if estimator.get_params().get("shrinkage") == "auto" and name_of(estimator) == FISHER:
            estimator.set_params(shrinkage="moments")
        with_settled_dimension(estimator)
    return [*found, separatrix.FisherDiscriminant(shrinkage=None)]


def all_classifiers() -> list[Any]:
    return [estimator for estimator in all_estimators() if is_classifier(estimator)]


def probabilistic_classifiers() -> list[Any]:
    return [e for e in all_classifiers() if hasattr(e, "predict_proba")]


def reducible_estimators() -> list[Any]:
    """Those whose number of directions can be chosen."""
    return [e for e in all_estimators() if "n_components" in e.get_params()]


def sparse_estimators() -> list[Any]:
    return [e for e in lawful_estimators() if get_tags(e).input_tags.sparse]


FISHER = "FisherDiscriminant"


def name_of(estimator: Any) -> str:
    name = type(estimator).__name__
    plain = name == FISHER and estimator.shrinkage is None
    return f"{name}, plain" if plain else name


def labelled(n: int, d: int, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes of unequal sizes that are apart but not separated in each feature."""
    rng = np.random.default_rng(seed)
    y = np.minimum(np.arange(n) % (n_classes + 1), n_classes - 1)
    means = 2 * rng.standard_normal((n_classes, d))
    return rng.standard_normal((n, d)) @ np.diag(np.linspace(0.5, 2, d)) + means[y], y


TALL = labelled(90, 6)
WIDE = labelled(24, 60)
SHAPES = {"tall": TALL, "wide": WIDE}


def same_up_to_sign(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """B with each column turned to agree with A."""
    return B * np.where(np.sum(A * B, axis=0) < 0, -1.0, 1.0)
