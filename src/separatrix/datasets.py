"""Data with a known best subspace, and the data sets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

BUNDLED: dict[str, Callable[..., Any]] = {
    "breast_cancer": sklearn.datasets.load_breast_cancer,
    "digits": sklearn.datasets.load_digits,
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
}
"""Data sets that are on every machine with scikit-learn."""


def load(name: str) -> Bunch:
    """Load a bundled data set.

    Parameters
    ----------
    name : str
        One of "breast_cancer", "digits", "iris", "wine".

    Returns
    -------
    Bunch
        With ``data`` (n_samples, n_features), ``target`` (labels by name), ``feature_names``
        and a description ``DESCR``.

    Examples
    --------
    >>> from separatrix import datasets
    >>> iris = datasets.load("iris")
    >>> iris.data.shape, str(iris.target[0])
    ((150, 4), 'setosa')
    """
    if name not in BUNDLED:
        raise ValueError(f"no bundled data set {name!r}: there are {', '.join(sorted(BUNDLED))}")
    bunch = BUNDLED[name]()
    bunch.target = np.asarray(bunch.target_names)[bunch.target]
    return bunch


def make_gaussian_classes(
    n_samples: int = 300,
    n_features: int = 10,
    n_classes: int = 3,
    *,
    separation: float = 3.0,
    condition: float = 10.0,
    weights: NDArray[np.floating] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Gaussian classes with one covariance, whose best subspace is known.

    The classes share the covariance Σ and have the means μ_c; all that separates them lies in the
    span of ``Σ⁻¹ (μ_c - μ)``, and the Gaussian rule with Σ is the best possible.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Size of the data.
    separation : float
        Root mean squared distance of the means from their centre, in standard deviations.
    condition : float
        Ratio of the largest to the smallest eigenvalue of Σ.
    weights : array (n_classes,), optional
        Class probabilities; equal by default. Every class gets at least one sample.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``means``, ``covariance`` and ``components``, orthonormal rows
        that span the best subspace.

    Examples
    --------
    >>> from separatrix import datasets
    >>> bunch = datasets.make_gaussian_classes(random_state=0)
    >>> bunch.data.shape, bunch.components.shape
    ((300, 10), (2, 10))
    """
    rng = check_random_state(random_state)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    spread = np.geomspace(1.0, condition, n_features)
    root = rotation * np.sqrt(spread)
    centres = rng.standard_normal((n_classes, n_features))
    centres -= centres.mean(axis=0)
    centres *= separation / np.sqrt((centres**2).sum(axis=1).mean())
    target = np.concatenate(
        [np.arange(n_classes), rng.choice(n_classes, max(n_samples - n_classes, 0), p=weights)]
    )[:n_samples]
    rng.shuffle(target)
    white = rng.standard_normal((n_samples, n_features)) + centres[target]
    inverse_root = rotation / np.sqrt(spread)
    best = np.linalg.svd(centres @ inverse_root.T, full_matrices=False)[2]
    return Bunch(
        data=white @ root.T,
        target=target,
        means=centres @ root.T,
        covariance=root @ root.T,
        components=best[: min(n_classes - 1, n_features)],
    )
