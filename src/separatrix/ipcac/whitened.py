"""How many leading axes to whiten, by rows that did not help to find them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.linalg import Array, numerical_rank
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import N_FOLDS, training_parts

N_TRIED = 12
"""Numbers of axes that are tried, evenly on a logarithmic scale from 1 to all."""


def axes_to_try(most: int, by_rule: int) -> Array:
    """Numbers of axes: 1 (nearest mean), that of the rule, all (`IPCAC`), and some between.

    Examples
    --------
    >>> axes_to_try(20, 9)
    array([ 1,  2,  3,  4,  5,  7,  9, 12, 15, 20])
    """
    some = np.geomspace(1, max(most, 1), N_TRIED).round().astype(int)
    return np.unique(np.r_[some, min(by_rule, most)])


def scores_by_axes(Z: Array, delta: Array, new: Array, tried: Array) -> Array:
    """Scores of new rows for each number of whitened axes (4.8), from one decomposition.

    ``w_d ∝ Σ_{k≤d} u_k u_kᵀ δ / λ_k + (δ - Σ_{k≤d} u_k u_kᵀ δ) / λ_d``: two running sums over k.
    Each column is divided by the standard deviation of the known rows, as `components_` are.

    Parameters
    ----------
    Z : array (n_samples, n_features)
        Known rows from their mean.
    delta : array (n_features,)
        Difference of the class means.
    new : array (n_new, n_features)
        New rows, from the same mean.
    tried : array of int
    """
    _, s, Vt = np.linalg.svd(Z, full_matrices=False)
    rank = numerical_rank(s, max(Z.shape))
    evals, U = s[:rank] ** 2, Vt[:rank].T
    at, along = np.minimum(tried, rank) - 1, U.T @ delta

    def project(rows: Array) -> Array:
        parts = (rows @ U) * along
        top = np.cumsum(parts / evals, axis=1)[:, at]
        rest = ((rows @ delta)[:, None] - np.cumsum(parts, axis=1)[:, at]) / evals[at]
        return top + np.where(tried >= rank, 0.0, rest)

    spread = project(Z).std(axis=0)
    return project(new) / np.where(spread > 0, spread, 1.0)


def separations(scores: Array, codes: Array) -> Array:
    """Gap between two class means over the sum of the standard deviations, by column."""
    first, second = scores[codes == 0], scores[codes == 1]
    spread = first.std(axis=0) + second.std(axis=0)
    return (second.mean(axis=0) - first.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def choose_axes(rows: LabelledRows, by_rule: int) -> dict[str, Any]:
    """The number of axes whose held-out scores separate two classes best.

    All folds are judged together. Of the numbers within one standard error of the best, which is
    found from the differences in single folds, the nearest to the rule is taken (on a logarithmic
    scale).

    Returns
    -------
    dict
        The number ("n_whitened"), those "tried", and the "separation" of each.
    """
    if sp.issparse(rows.X):
        raise ValueError(
            'n_whitened="auto" needs dense rows: use n_whitened="log2", a number, or X.toarray()'
        )
    counted = np.arange(len(rows.codes)) if rows.weights is None else np.flatnonzero(rows.weights)
    rows = rows.part(counted)
    X, codes = np.asarray(rows.X, dtype=np.float64), rows.codes
    n_folds = min(N_FOLDS, int(np.bincount(codes, minlength=2).min()))
    if n_folds < 2:
        return {"n_whitened": by_rule, "tried": np.array([by_rule]), "separation": np.zeros(1)}
    most = min(int(len(codes) * (1 - 1 / n_folds)) - 1, X.shape[1])
    tried = axes_to_try(most, by_rule)
    scores, by_fold = np.full((len(codes), len(tried)), np.nan), []
    for known, new in training_parts(codes, n_folds, **rows.splitting):
        mean = X[known].mean(axis=0)
        first, second = (X[known][codes[known] == c].mean(axis=0) for c in (0, 1))
        scores[new] = scores_by_axes(X[known] - mean, second - first, X[new] - mean, tried)
        if len(np.unique(codes[new])) == 2:  # groups of rows may leave out a class
            by_fold.append(separations(scores[new], codes[new]))
    if len(by_fold) < 2:
        return {"n_whitened": by_rule, "tried": np.array([by_rule]), "separation": np.zeros(1)}
    judged = np.isfinite(scores).all(axis=1)  # rows of the first times never are
    found = separations(scores[judged], codes[judged])
    best = int(found.argmax())
    difference = np.array(by_fold)[:, [best]] - np.array(by_fold)
    good = found >= found[best] - difference.std(axis=0, ddof=1) / np.sqrt(len(by_fold))
    chosen = int(tried[np.where(good, np.abs(np.log(tried / by_rule)), np.inf).argmin()])
    if chosen == most:  # all there are
        chosen = min(len(codes) - 1, X.shape[1])
    return {"n_whitened": chosen, "tried": tried, "separation": found}
