"""Covariances of channels over time that know of it: few numbers in place of many.

Features are channels one after the other, each with all its times: feature ``c T + t``. The
background of such rows, of an EEG say, is much the same at all times.
"""

from __future__ import annotations

import numpy as np

from separatrix.linalg import Array, numerical_rank

MAX_STRUCTURED_FEATURES = 4000
"""Largest number of features whose structured covariance is made: it is a full matrix (128 MB)
also where rows are fewer."""


def block_toeplitz(S: Array, n_channels: int) -> Array:
    """The scatter in which two channels share no more than their lag, ``R_k = Σ_t S_{t,t+k} / T``.

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
    found = np.empty_like(blocks)
    for lag in range(T):
        R = np.einsum("atbt->ab", blocks[:, : T - lag, :, lag:]) / T
        for t in range(T - lag):
            found[:, t, :, t + lag] = R
            found[:, t + lag, :, t] = R.T
    return found.reshape(S.shape)


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
    found = np.einsum("tac,ctdu,ubd->atbu", maps, blocks, maps, optimize=True).reshape(S.shape)
    return (found + found.T) / 2


def _power(A: Array, exponent: float) -> Array:
    """A power of a positive semidefinite matrix, in its range."""
    evals, V = np.linalg.eigh(A)
    rank = numerical_rank(evals[::-1], len(evals))
    kept = slice(len(evals) - rank, None)
    return (V[:, kept] * evals[kept] ** exponent) @ V[:, kept].T


STRUCTURES = {"toeplitz": block_toeplitz, "decoupled": time_decoupled}
"""Structures by the names that estimators give them."""


def impose_structure(S: Array, structure: str, n_channels: int) -> Array:
    """A scatter with one of the `STRUCTURES`, or an error where the channels do not divide it."""
    if len(S) % n_channels:
        raise ValueError(
            f"n_channels={n_channels} does not divide the {len(S)} features: they are channels "
            "one after the other, each with all its times"
        )
    return STRUCTURES[structure](S, n_channels)
