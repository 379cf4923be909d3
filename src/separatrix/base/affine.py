"""Fitted steps as one affine map of the features: scalers, selections, projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from separatrix.base.kernel import KernelEstimator
from separatrix.linalg import Array

MAX_CHECKED_ROWS = 256
"""Rows on which the map that was read is compared with the steps themselves."""

MAX_MAP_ERROR = 1e-6
"""Largest difference of a map that was read, relative to its largest value."""


class AffineMap(NamedTuple):
    """Coordinates ``(x - centre) W + offset`` of rows.

    Attributes
    ----------
    centre : array (d,)
        Subtracted first, so that a common offset of all rows takes no digits.
    weights : array (d, q) or (d,)
        W; its diagonal where every coordinate is a feature in another unit.
    offset : array (q,)

    Examples
    --------
    >>> halves = AffineMap(np.array([1.0, 1.0]), np.array([0.5, 0.5]), np.zeros(2))
    >>> total = AffineMap(np.zeros(2), np.ones((2, 1)), np.array([10.0]))
    >>> halves.then(total)(np.array([[3.0, 5.0]]))
    array([[13.]])
    """

    centre: Array
    weights: Array
    offset: Array

    def __call__(self, X: Array) -> Array:
        """Coordinates (n, q) of rows (n, d)."""
        steps = X - self.centre
        return (steps * self.weights if self.is_diagonal else steps @ self.weights) + self.offset

    @property
    def is_diagonal(self) -> bool:
        """Whether every coordinate is one feature in another unit."""
        return self.weights.ndim == 1

    def pull_back(self, slopes: Array) -> Array:
        """Weights of the features (d, m) in linear functions (m, q) of the coordinates."""
        return (slopes * self.weights).T if self.is_diagonal else self.weights @ slopes.T

    def then(self, later: AffineMap) -> AffineMap:
        """The map followed by another one of its coordinates, as one."""
        if self.is_diagonal and later.is_diagonal:
            weights = self.weights * later.weights
        elif self.is_diagonal:
            weights = self.weights[:, None] * later.weights
        else:
            weights = (
                later.pull_back(self.weights).T
                if later.is_diagonal
                else (self.weights @ later.weights)
            )
        return AffineMap(self.centre, weights, later(self.offset[None])[0])


def identity_map(d: int) -> AffineMap:
    """The map whose coordinates are the features."""
    return AffineMap(np.zeros(d), np.ones(d), np.zeros(d))


def read_affine(transformer: Any, X: Array) -> AffineMap | None:
    """The map of a fitted transformer of rows X, or None where it is none.

    Parameters
    ----------
    transformer : transformer, pipeline, "passthrough" or None
    X : array (n, d)
        Complete training rows, which the map must take where the transformer takes them.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0]])
    >>> read_affine(StandardScaler().fit(X), X)(X)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> from sklearn.preprocessing import Normalizer
    >>> read_affine(Normalizer().fit(X), X) is None
    True
    """
    proposed, rows = propose_affine(transformer, X.shape[1]), X[:MAX_CHECKED_ROWS]
    return proposed if proposed is not None and _agrees(proposed, transformer, rows) else None


def propose_affine(transformer: Any, d: int) -> AffineMap | None:
    """The map that a fitted transformer of d features states, not compared with rows.

    It is the identity for complete rows of an imputer and of a function.
    """
    if _is_nothing(transformer):
        return identity_map(d)
    if getattr(transformer, "n_features_in_", d) != d:
        return None
    if isinstance(transformer, Pipeline):
        whole: AffineMap | None = identity_map(d)
        for _, step in transformer.steps:
            part = None if whole is None else propose_affine(step, len(whole.offset))
            whole = None if whole is None or part is None else whole.then(part)
        return whole
    for kinds, read in _MAP_READERS:
        if isinstance(transformer, kinds):
            return read(transformer, d)
    return None if isinstance(transformer, KernelEstimator) else read_components(transformer, d)


def _is_nothing(transformer: Any) -> bool:
    """Whether this is "passthrough", None or a pipeline without steps."""
    if isinstance(transformer, Pipeline):
        return not transformer.steps
    return transformer is None or isinstance(transformer, str)


def _agrees(proposed: AffineMap, transformer: Any, rows: Array) -> bool:
    if _is_nothing(transformer):
        return True
    expected, coordinates = np.asarray(transformer.transform(rows)), proposed(rows)
    if expected.shape != coordinates.shape:
        return False
    scale = np.max(np.abs(expected), initial=1e-300)
    return bool(np.allclose(coordinates, expected, rtol=0, atol=MAX_MAP_ERROR * scale))


def _read_scaler(scaler: Any, d: int) -> AffineMap | None:
    centre = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    if not getattr(scaler, "with_mean", True):  # a mean that is known but not subtracted
        centre = None
    scale = getattr(scaler, "scale_", None)
    weights = np.ones(d) if scale is None else 1 / np.asarray(scale, dtype=np.float64)
    return AffineMap(np.zeros(d) if centre is None else centre, weights, np.zeros(d))


def _read_range(scaler: MinMaxScaler, d: int) -> AffineMap | None:
    if scaler.clip:
        return None
    low = np.full(d, float(scaler.feature_range[0]))
    return AffineMap(scaler.data_min_, scaler.scale_, low)


def _read_selection(selector: Any, d: int) -> AffineMap:
    kept = selector.get_support()
    everything = identity_map(d)
    if kept.all():
        return everything
    return AffineMap(everything.centre, np.eye(d)[:, kept], np.zeros(np.count_nonzero(kept)))


def _read_principal_axes(pca: PCA, d: int) -> AffineMap:
    W = pca.components_.T.astype(np.float64)
    if pca.whiten:
        # the floor of PCA.transform: whitening must not divide by zero
        W = W / np.sqrt(np.maximum(pca.explained_variance_, np.finfo(W.dtype).eps))
    return AffineMap(pca.mean_.astype(np.float64), W, np.zeros(W.shape[1]))


def _read_discriminant_axes(lda: LinearDiscriminantAnalysis, d: int) -> AffineMap | None:
    if not hasattr(lda, "scalings_"):
        return None
    W = lda.scalings_[:, : lda._max_components]
    return AffineMap(getattr(lda, "xbar_", np.zeros(d)), W, np.zeros(W.shape[1]))


def read_components(transformer: Any, d: int) -> AffineMap | None:
    """``(x - mean_) @ components_.T``, as subspaces of this package and others have it."""
    W = getattr(transformer, "components_", None)
    if W is None or np.ndim(W) != 2 or np.shape(W)[1] != d:
        return None
    mean = np.broadcast_to(np.asarray(getattr(transformer, "mean_", 0.0), dtype=np.float64), d)
    return AffineMap(mean, np.asarray(W, dtype=np.float64).T, np.zeros(len(W)))


_MAP_READERS: tuple[tuple[Any, Callable[[Any, int], AffineMap | None]], ...] = (
    ((StandardScaler, RobustScaler, MaxAbsScaler), _read_scaler),
    (MinMaxScaler, _read_range),
    (SelectorMixin, _read_selection),
    ((SimpleImputer, FunctionTransformer), lambda step, d: identity_map(d)),
    (PCA, _read_principal_axes),
    (LinearDiscriminantAnalysis, _read_discriminant_axes),
)
"""How the map of a transformer is read; whether it is one on rows, `read_affine` checks."""
