"""Covariances of channels over time that know of it: few numbers in place of many.

Features are channels one after the other, each with all its times: feature ``c T + t``. The
background of such rows, of an EEG say, is much the same at all times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from separatrix.linalg import Array, numerical_rank
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import check_finite_columns
from separatrix.moments.scatter import Scatter

MAX_STRUCTURED_FEATURES = 4000
"""Largest number of features whose structured covariance is made: it is a full matrix (128 MB)
also where rows are fewer."""


def block_toeplitz(S: Array, n_channels: int) -> Array:
    """The scatter in which two channels share only their lag, ``R_k = Σ_t S_{t,t+k} / T``.

    Dividing by T whatever the lag, as for an autocovariance, keeps it positive semidefinite: a
    lag that few pairs of times have counts little.

    Parameters
    ----------
    S : array (d, d)
        A scatter, with ``d = n_channels * T``.
    n_channels : int

    References
    ----------
    Sosulski and Tangermann, Introducing block-Toeplitz covariance matrices to remaster linear
    discriminant analysis for event-related potential brain-computer interfaces, Journal of Neural
    Engineering 19 (2022).

    Examples
    --------
    >>> block_toeplitz(np.diag([1.0, 2.0, 3.0]), 1)
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    T = len(S) // n_channels
    blocks = S.reshape(n_channels, T, n_channels, T)
    toeplitz = np.empty_like(blocks)
    for lag in range(T):
        R = np.einsum("atbt->ab", blocks[:, : T - lag, :, lag:]) / T
        for t in range(T - lag):
            toeplitz[:, t, :, t + lag] = R
            toeplitz[:, t + lag, :, t] = R.T
    return toeplitz.reshape(S.shape)


def time_decoupled(S: Array, n_channels: int) -> Array:
    """The scatter whose channels covary at each time as they do on average over all times.

    With ``B`` the average of the blocks ``S_tt`` of one time, block (t, u) becomes
    ``B^½ S_tt^-½ S_tu S_uu^-½ B^½``: the coherence between times stays, and the result is positive
    semidefinite.

    References
    ----------
    Sosulski, Kemmer and Tangermann, Improving covariance matrices derived from tiny training
    datasets for the classification of event-related potentials with linear discriminant analysis,
    Neuroinformatics 19 (2021), who replace the blocks alone.

    Examples
    --------
    >>> time_decoupled(np.diag([1.0, 4.0, 4.0]), 1).diagonal()
    array([3., 3., 3.])
    """
    T = len(S) // n_channels
    blocks = S.reshape(n_channels, T, n_channels, T)
    at_once = np.stack([blocks[:, t, :, t] for t in range(T)])
    root = _power(at_once.mean(axis=0), 0.5)
    maps = np.stack([root @ _power(block, -0.5) for block in at_once])
    decoupled = np.einsum("tac,ctdu,ubd->atbu", maps, blocks, maps, optimize=True).reshape(S.shape)
    return (decoupled + decoupled.T) / 2


def _power(A: Array, exponent: float) -> Array:
    """A power of a positive semidefinite matrix, in its range."""
    evals, V = np.linalg.eigh(A)
    rank = numerical_rank(evals[::-1], len(evals))
    kept = slice(len(evals) - rank, None)
    return (V[:, kept] * evals[kept] ** exponent) @ V[:, kept].T


class _Structured(BaseEstimator, ABC):
    """A covariance with a structure: a function of any other one."""

    covariance_: Array
    location_: Array

    def __init__(self, n_channels: int) -> None:
        self.n_channels = n_channels

    def impose(self, S: Array) -> Array:
        """A scatter or covariance with this structure.

        Parameters
        ----------
        S : array (n_features, n_features)
            Features are channels one after the other, each with all its times.
        """
        d, n_channels = len(S), self.n_channels
        if not isinstance(n_channels, Integral) or n_channels < 1:
            raise ValueError(f"n_channels={n_channels!r} must be a positive whole number")
        if d % n_channels:
            raise ValueError(
                f"n_channels={n_channels} does not divide the {d} features: they are channels one "
                "after the other, each with all its times"
            )
        if d > MAX_STRUCTURED_FEATURES:
            raise ValueError(
                f"{self!r} makes a matrix of {d} features, more than {MAX_STRUCTURED_FEATURES}: "
                "average times first"
            )
        return self._impose(S)

    @abstractmethod
    def _impose(self, S: Array) -> Array:
        """`impose` of a matrix that the channels divide."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate `covariance_` from rows; their mean is taken off.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : ignored
        """
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.location_ = rows.mean(axis=0)
        Z = rows - self.location_
        self.covariance_ = self.impose(Z.T @ Z / len(Z))
        return self


class Toeplitz(_Structured):
    """Channels over time that covary by their lag alone (`block_toeplitz`).

    Parameters
    ----------
    n_channels : int
        Number of channels. Features are channels one after the other, each with all its times.

    Attributes
    ----------
    covariance_ : array (n_features, n_features)
    location_ : array (n_features,)

    Examples
    --------
    >>> from separatrix import FisherDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((30, 2, 40)).cumsum(axis=2), np.arange(30) % 2
    >>> FisherDiscriminant(covariance=Toeplitz(2), shrinkage=0.1).fit(X, y).coef_.shape
    (1, 80)
    """

    def _impose(self, S: Array) -> Array:
        return block_toeplitz(S, self.n_channels)


class Decoupled(_Structured):
    """Channels that covary at each time as they do on average over times (`time_decoupled`).

    Parameters
    ----------
    n_channels : int
        Number of channels. Features are channels one after the other, each with all its times.

    Attributes
    ----------
    covariance_ : array (n_features, n_features)
    location_ : array (n_features,)

    Examples
    --------
    >>> Decoupled(1).impose(np.diag([1.0, 4.0, 4.0])).diagonal()
    array([3., 3., 3.])
    """

    def _impose(self, S: Array) -> Array:
        return time_decoupled(S, self.n_channels)


# The parameter `covariance` --------------------------------------------------------------------


def imposes_structure(covariance: Any) -> bool:
    """Whether an object makes a covariance from another one, so that moments suffice."""
    return hasattr(covariance, "impose")


def estimates_covariance(value: Any) -> bool:
    """Whether an object can be fitted to rows, or imposes a structure."""
    return not isinstance(value, type) and (hasattr(value, "fit") or imposes_structure(value))


def impose_structure(moments: ClassMoments, covariance: Any) -> ClassMoments:
    """The moments with the structure in their scatter within classes; that of each class goes."""
    Sw = covariance.impose(moments.Sw)
    return moments._replace(scatters=[Scatter(len(Sw), Sw)], per_class=False)


def fit_covariance(estimator: Any, moments: ClassMoments, rows: Any, W: Array) -> Array:
    """The scatter within classes by an estimator that is fitted to rows less their class means.

    Parameters
    ----------
    estimator : object with ``fit`` and then ``covariance_``
        A copy is fitted.
    moments : ClassMoments
    rows : LabelledRows
    W : array (n_features, k)
        Axes to project on first.
    """
    if sp.issparse(rows.X) or rows.weights is not None:
        what = "sparse rows" if sp.issparse(rows.X) else "sample_weight"
        raise ValueError(f"covariance={estimator!r} takes no {what}: use shrinkage")
    check_finite_columns(rows.X, rows.feature_names)
    fitted = clone(estimator, safe=False).fit(moments.centred(rows.X, rows.codes) @ W)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"covariance={estimator!r} has no covariance_ after fit")
    return moments.n_samples * np.asarray(fitted.covariance_)
