"""Kernels: inner products of rows that have been sent to some feature space.

A method takes a kernel by name, as one of these objects, or as a function of two arrays of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import (
    linear_kernel,
    manhattan_distances,
    polynomial_kernel,
)

from separatrix.linalg import Array, squared_distances
from separatrix.moments.labelled import check_entries
from separatrix.selection import draw_rows

MAX_MEDIAN_ROWS = 1000
"""Largest number of rows whose pairs have the median distance (8 MB of distances)."""

RandomState = int | np.random.RandomState | None

# Kernels ---------------------------------------------------------------------------------------


class Kernel(BaseEstimator):
    """Base of the kernels: called with two arrays of rows they return their kernel values.

    ``estimator.set_params(kernel__gamma=0.5)`` reaches their parameters, as a grid search does.
    """

    _sees_differences_only = False  # then rows are centred first, which keeps their digits

    def __call__(self, A: Any, B: Any = None) -> Array:
        """Kernel values of all pairs of rows of A with rows of B, or of A."""
        raise NotImplementedError

    def settle(
        self, X: Any, *, random_state: RandomState = None, weights: Array | None = None
    ) -> Self:
        """The same kernel with numbers in place of words, measured on training rows."""
        return self


class Linear(Kernel):
    """``x·x'``: the linear method."""

    _sees_differences_only = True

    def __call__(self, A: Any, B: Any = None) -> Array:
        """Inner products."""
        return linear_kernel(A, B)


class _Scaled(Kernel):
    """Base of the kernels with a width."""

    _words: tuple[str, ...] = ("auto", "scale", "median")
    gamma: float | str

    def settle(
        self, X: Any, *, random_state: RandomState = None, weights: Array | None = None
    ) -> Self:
        """The same kernel with a number for `gamma`."""
        number = isinstance(self.gamma, Real) and not isinstance(self.gamma, bool)
        if not (float(self.gamma) > 0 if number else self.gamma in self._words):
            words = ", ".join(map(repr, self._words))
            raise ValueError(
                f"gamma={self.gamma!r} is not valid for {type(self).__name__}: it must be one of "
                f"{words}, or a number above 0"
            )
        if not isinstance(self.gamma, str):
            return self
        gamma = self._measure(X, self.gamma, random_state, weights)
        return clone(self).set_params(gamma=gamma)

    def _measure(
        self, X: Any, rule: str, random_state: RandomState, weights: Array | None
    ) -> float:
        return inverse_width(X, rule, random_state, weights)


class RBF(_Scaled):
    """``exp(-g ‖x - x'‖²)``, the Gaussian kernel.

    Parameters
    ----------
    gamma : "auto", "scale", "median" or float
        g. "scale" is scikit-learn's ``1 / (n_features * X.var())``; "median" is one over the
        median squared distance between training rows. "auto" leaves the choice to the estimator:
        `KernelFisherDiscriminant` and `KernelIPCAC` choose by rows left out, for all others it is
        "scale". The source of `KernelIPCAC` has ``g = 1 / σ²``, others ``1 / (2 σ²)``.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> RBF(gamma="median").settle(X)(X).round(3)[0]
    array([1.   , 0.368, 0.   ])
    """

    _sees_differences_only = True

    def __init__(self, gamma: float | str = "auto") -> None:
        self.gamma = gamma

    def __call__(self, A: Any, B: Any = None) -> Array:
        """Values of the Gaussian kernel."""
        K = squared_distances(A, A if B is None else B)
        K *= -float(self.gamma)  # in place: n×n once
        return np.exp(K, K)


class Laplacian(_Scaled):
    """``exp(-g ‖x - x'‖₁)``, with the sum of the absolute differences.

    Parameters
    ----------
    gamma : "auto", "scale", "median" or float
        As in `RBF`, but "scale" is ``1 / (n_features * X.std())``, and "median" one over the
        median of the sums.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Laplacian(gamma=1.0)(X).round(3)[0]
    array([1.   , 0.368, 0.05 ])
    """

    _sees_differences_only = True

    def __init__(self, gamma: float | str = "auto") -> None:
        self.gamma = gamma

    def __call__(self, A: Any, B: Any = None) -> Array:
        """Values of the Laplacian kernel."""
        K = manhattan_distances(A, B)
        K *= -float(self.gamma)  # in place: n×n once
        return np.exp(K, K)

    def _measure(
        self, X: Any, rule: str, random_state: RandomState, weights: Array | None
    ) -> float:
        if rule == "median":
            return inverse_width(X, rule, random_state, weights, manhattan_distances)
        spread = X.shape[1] * _variance(X, weights) ** 0.5
        return 1.0 / spread if spread > 0 else 1.0


class Polynomial(_Scaled):
    """``(g x·x' + c)^p``.

    Parameters
    ----------
    degree : int
        p.
    gamma : "scale", "median" or float
        g, as in `RBF`.
    coef0 : float
        c.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Polynomial(degree=2, gamma=1.0)(X)[1]
    array([ 1.,  4., 16.])
    """

    _words = ("scale", "median")

    def __init__(self, degree: int = 3, gamma: float | str = "scale", coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def __call__(self, A: Any, B: Any = None) -> Array:
        """Values of the polynomial kernel."""
        return polynomial_kernel(A, B, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def settle(
        self, X: Any, *, random_state: RandomState = None, weights: Array | None = None
    ) -> Self:
        """The same kernel with a number for `gamma`."""
        if not (isinstance(self.degree, Integral) and self.degree >= 1):
            raise ValueError(
                f"degree={self.degree!r} is not valid: it must be a whole number >= 1"
            )
        if not (isinstance(self.coef0, Real) and self.coef0 >= 0):
            raise ValueError(
                f"coef0={self.coef0!r} is not valid: a negative one makes no inner product, it "
                "must be a number >= 0"
            )
        return super().settle(X, random_state=random_state, weights=weights)


class Precomputed(Kernel):
    """Kernel values in place of rows.

    `fit` takes the values of all pairs of training rows, the other methods those of new rows with
    the training rows.
    """

    def settle(
        self, X: Any, *, random_state: RandomState = None, weights: Array | None = None
    ) -> Self:
        """The same, once X is seen to hold the values of all pairs."""
        _check_pairs(X)
        return self


NAMED: dict[str, type[Kernel]] = {
    "linear": Linear,
    "rbf": RBF,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "laplacian": Laplacian,
    "precomputed": Precomputed,
}
"""Names that stand for a kernel with its default parameters."""

KernelLike = str | Kernel | Callable[..., Array]


def make_kernel(kernel: KernelLike) -> Kernel | Callable[..., Array]:
    """The kernel that a parameter means: a name, a kernel, or a function of two arrays of rows."""
    return NAMED[kernel]() if isinstance(kernel, str) else kernel


def is_precomputed(kernel: Any) -> bool:
    """Whether a parameter `kernel` says that kernel values take the place of rows."""
    return isinstance(kernel, Precomputed) or (
        isinstance(kernel, str) and NAMED.get(kernel) is Precomputed
    )


class SettledKernel(NamedTuple):
    """A kernel with all its numbers, and where rows are centred.

    Attributes
    ----------
    function : Kernel or callable
    origin : array (n_features,) or None
        Taken off every row first.
    """

    function: Kernel | Callable[..., Array]
    origin: Array | None = None

    @property
    def precomputed(self) -> bool:
        """Whether kernel values take the place of rows."""
        return isinstance(self.function, Precomputed)

    def rows(self, X: Any) -> Any:
        """Rows as the kernel takes them: float64, less the origin."""
        if sp.issparse(X):
            if not self.precomputed and self.origin is None:
                return X.astype(np.float64)
            X = X.toarray()
        return np.asarray(X, np.float64) if self.origin is None else X - self.origin

    def points(self, X: Any, chosen: Array) -> Any:
        """Reference rows; of a precomputed kernel, their numbers."""
        return chosen if self.precomputed else self.rows(X[chosen])

    def between(self, X: Any, points: Any) -> Array:
        """Kernel values of rows with reference rows, (n_rows, n_points)."""
        return self.values(self.rows(X), points)

    def values(self, rows: Any, points: Any) -> Array:
        """`between` for rows as the kernel takes them."""
        if self.precomputed:
            return rows[:, points]
        if isinstance(self.function, Kernel):
            # of the same rows twice scikit-learn computes half of the products
            return np.asarray(self.function(rows, None if rows is points else points), np.float64)
        if sp.issparse(rows) != sp.issparse(points):  # a function may take one kind only
            rows = rows.toarray() if sp.issparse(rows) else sp.csr_array(rows)
        K = np.asarray(self.function(rows, points), np.float64)
        expected = (rows.shape[0], points.shape[0])
        if K.shape != expected:
            raise ValueError(
                f"kernel={self.function!r} returned an array of shape {K.shape} for {expected[0]} "
                f"and {expected[1]} rows: it must take two arrays of rows and return {expected}"
            )
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel={self.function!r} returned NaN or infinity: it must be defined for all "
                "rows"
            )
        return K

    def check_symmetry(self, K: Array) -> None:
        """Raise when a function of two rows depends on which is the first."""
        if not isinstance(self.function, Kernel) and (unlike := _asymmetry(K)):
            raise ValueError(
                f"kernel={self.function!r} must be symmetric, but values of the same two rows in "
                f"one order and in the other differ by up to {unlike:.3g}"
            )

    def same_as(self, other: SettledKernel) -> bool:
        """Whether another kernel has the same values."""
        if not isinstance(self.function, Kernel):
            return self.function == other.function
        alike = type(self.function) is type(other.function)
        return alike and vars(self.function) == vars(other.function)


def settle_kernel(
    X: Any,
    kernel: KernelLike = "rbf",
    *,
    random_state: RandomState = None,
    weights: Array | None = None,
) -> SettledKernel:
    """The kernel that the parameter of an estimator means, for these training rows.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Training rows, or the square matrix of a precomputed kernel.
    kernel : str, Kernel or callable
    random_state : int, RandomState or None
        Which rows "median" looks at when they are many.
    weights : array (n_samples,), optional
        Weights of the rows in "scale" and "median".

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> K = settle_kernel(X, RBF(gamma="median")).between(X, X - X.mean())
    >>> K.round(3)[0]
    array([1.   , 0.368, 0.   ])
    """
    check_entries(X)
    function = make_kernel(kernel)
    if not isinstance(function, Kernel):
        return SettledKernel(function)
    function = function.settle(X, random_state=random_state, weights=weights)
    centred = function._sees_differences_only and not sp.issparse(X)
    return SettledKernel(function, X.mean(axis=0, dtype=np.float64) if centred else None)


WIDTH_FACTORS = (1.0, 0.25, 4.0)
"""Multiples of the scale of a kernel that ``gamma="auto"`` tries, the preferred one first."""


def kernels_to_try(kernel: KernelLike | None, settled: SettledKernel) -> list[SettledKernel]:
    """The kernels of other widths that a parameter leaves open, for a method that chooses.

    Examples
    --------
    >>> settled = settle_kernel(np.array([[0.0], [2.0]]), "rbf")
    >>> [k.function.gamma for k in kernels_to_try("rbf", settled)]
    [1.0, 0.25, 4.0]
    """
    assert kernel is not None, "linear methods have no width"
    asked, function = make_kernel(kernel), settled.function
    if not (isinstance(function, _Scaled) and getattr(asked, "gamma", None) == "auto"):
        return [settled]
    widths = [factor * float(function.gamma) for factor in WIDTH_FACTORS]
    return [settled._replace(function=clone(function).set_params(gamma=g)) for g in widths]


def _check_pairs(K: Any) -> None:
    """Raise when a matrix cannot hold the kernel values of all pairs of training rows."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            'kernel="precomputed" takes the kernel values of all pairs of training rows, a '
            f"square matrix, but X has shape {K.shape}"
        )
    if unlike := _asymmetry(K):
        raise ValueError(
            'kernel="precomputed" takes a symmetric matrix, but values of X and of its transpose '
            f"differ by up to {unlike:.3g}"
        )


def _asymmetry(K: Any) -> float:
    """The largest difference of a square matrix and its transpose; zero where it is small."""
    unlike = float(np.abs(K - K.T).max())
    return unlike if unlike > 1e-5 * float(np.abs(K).max()) else 0.0


def inverse_width(
    X: Any,
    rule: str,
    random_state: RandomState = None,
    weights: Array | None = None,
    distances: Callable[[Any, Any], Array] = squared_distances,
) -> float:
    """The g of a kernel by a rule: "median", or "scale" for all other words.

    The median is taken over all pairs, those of a row with itself included, so that giving every
    row twice changes nothing. Where it is zero the mean takes its place.

    Examples
    --------
    >>> inverse_width(np.array([[0.0], [2.0]]), "scale")
    1.0
    """
    if rule != "median":
        width = X.shape[1] * _variance(X, weights)
        return 1.0 / width if width > 0 else 1.0
    some = draw_rows(X.shape[0], MAX_MEDIAN_ROWS, random_state)
    rows = X[some].astype(np.float64)
    if not sp.issparse(X):
        rows -= rows.mean(axis=0)
    D = distances(rows, rows)  # those of copies are zero, not rounding
    if weights is None:
        width = float(np.median(D)) or float(D.mean())
    else:
        pairs = np.outer(weights[some], weights[some])
        width = _weighted_median(D, pairs) or float(np.average(D, weights=pairs))
    return 1.0 / width if width > 0 else 1.0


def _variance(X: Any, weights: Array | None = None) -> float:
    """Of all entries about their common mean."""
    if weights is not None:
        shares = weights / weights.sum()
        squares = X.multiply(X).mean(axis=1) if sp.issparse(X) else None
        centre = float(shares @ np.asarray(X.mean(axis=1)).ravel())
        if squares is not None:
            return float(shares @ np.asarray(squares).ravel()) - centre**2
        return float(shares @ np.mean((X - centre) ** 2, axis=1, dtype=np.float64))
    if sp.issparse(X):
        return float(X.multiply(X).mean() - X.mean() ** 2)
    return float(X.var(dtype=np.float64))


def _weighted_median(values: Array, weights: Array) -> float:
    """The median where each value stands as often as its weight says."""
    order = np.argsort(values, axis=None)
    ordered, below = values.ravel()[order], np.cumsum(weights.ravel()[order])
    half = below[-1] / 2
    middle = [np.searchsorted(below, half, side=side) for side in ("left", "right")]
    return float(np.mean(ordered[np.minimum(middle, len(ordered) - 1)]))
