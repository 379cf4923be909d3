"""Every estimator of the package, found in its public names, and data to try them on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import separatrix
from separatrix.base import SubspaceEstimator
from separatrix.base_kernel import KernelEstimator


def all_estimators() -> list[Any]:
    """An instance of each public subspace estimator with default parameters."""
    found = [getattr(separatrix, name) for name in separatrix.__all__]
    classes = [c for c in found if isinstance(c, type) and issubclass(c, SubspaceEstimator)]
    assert len(classes) >= 7, "discovery must find the estimators"
    return [cls() for cls in classes]


def linear_estimators() -> list[Any]:
    """Those whose directions are weights of the features."""
    return [e for e in all_estimators() if not isinstance(e, KernelEstimator)]


def lawful_estimators() -> list[Any]:
    """All, with parameters settled that the laws are not about.

    The kernel width sees distances only: "scale" is not free of rotations. What cross-validation
    would choose is given: folds follow the order of rows.
    """
    found = all_estimators()
    for estimator in found:
        if estimator.get_params().get("gamma") == "auto":
            estimator.set_params(gamma=0.6, n_neighbors=4)
        if isinstance(estimator, KernelEstimator):
            estimator.set_params(kernel_gamma="median")
    return found


def all_classifiers() -> list[Any]:
    return [estimator for estimator in all_estimators() if is_classifier(estimator)]


def reducible_estimators() -> list[Any]:
    """Those whose number of directions can be chosen."""
    return [e for e in all_estimators() if "n_components" in e.get_params()]


def sparse_estimators() -> list[Any]:
    return [estimator for estimator in all_estimators() if get_tags(estimator).input_tags.sparse]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


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
