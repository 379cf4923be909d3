"""Features that differ between classes given all others, with the false discovery rate controlled.

Knock-offs of the features are drawn that have the same correlations and, given the features, say
nothing of the classes. A feature counts only as far as it beats its own knock-offs. Everything is
a function of inner products of columns, so that moments suffice: rows that have the moments, up to
a rotation, stand for the rows, and Gaussian noise is the same after a rotation.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, helmert
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from separatrix.fisher.shrinkage import quadratic_inverse
from separatrix.insight.read import read_moments
from separatrix.linalg import EPS, Array, numerical_rank
from separatrix.moments.class_moments import ClassMoments

N_COPIES = 3
"""Knock-offs of each feature in a draw. With one, no fewer than 1 / fdr features can be selected;
with more, each must be less like its feature. ``python -m benchmarks.insight copies`` has both."""

N_DRAWS = 5
"""Draws whose evidence is averaged: the answer hardly depends on the random state then. More
draws changed the power by less than a standard error (the same command)."""

PENALTY = 0.3
"""Of the lasso, in units of the largest of as many correlations of noise (the same command)."""

MAX_SELECTED_FROM = 4000
"""Largest number of features; matrices have twice as many rows and columns."""

MAX_COPIED = 1000
"""Largest number of features with `N_COPIES` knock-offs; more have one."""


class SelectedFeatures(NamedTuple):
    """Features that differ between classes given all others.

    Attributes
    ----------
    names : list of str
        Those selected, strongest evidence first.
    indices : array (n_selected,)
        Their positions.
    statistic : array (n_features,)
        Evidence of each feature, an e-value: its expectation is at most one for a feature that
        does not differ, in the mean over all of these.
    fdr : float
        Bound on the expected share of wrong ones among those selected.
    note : str
        Why nothing is selected, or the assumption of the bound.
    """

    names: list[str]
    indices: Array
    statistic: Array
    fdr: float
    note: str


def select_features(source: Any, *, fdr: float = 0.1, random_state: int = 0) -> SelectedFeatures:
    """Select features with the false discovery rate controlled, from moments alone.

    A feature is wrong if it does not help to tell the classes once all other features are known.
    Merged models, streams and databases give what all their rows together would.

    Parameters
    ----------
    source : ClassMoments, fitted model of moments, or a pipeline that ends in one
    fdr : float in (0, 1)
        Bound on the expected share of wrong features among those selected.
    random_state : int
        Seed of the knock-offs.

    Notes
    -----
    Knock-offs are Gaussian, with correlations by which each copy can be reconstructed least from
    all other columns (minimum variance-based reconstructability). The statistic is the coefficient
    of a lasso of the class indicators on features and copies; several draws are combined by
    e-values, each at half of the rate. The promise is exact for Gaussian features of known
    correlations. Here these are estimated: ``python -m benchmarks.insight features`` simulates
    what remains of it. With fewer rows than features it is approximate, and `note` says so.

    References
    ----------
    Candès, Fan, Janson and Lv, Panning for gold: model-X knockoffs, JRSS B 80 (2018).
    Spector and Janson, Powerful knockoffs via minimizing reconstructability, Annals of Statistics
    50 (2022).
    Gimenez and Zou, Improving the stability of the knockoff procedure, AISTATS (2019).
    Ren and Barber, Derandomised knockoffs: leveraging e-values, JRSS B 86 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassMoments
    >>> from separatrix.insight import select_features
    >>> rng = np.random.default_rng(2)
    >>> X = rng.standard_normal((600, 20))
    >>> y = X[:, :6].sum(axis=1) + rng.logistic(size=600) > 0
    >>> sites = [ClassMoments.from_data(X[i::3], y[i::3]) for i in range(3)]
    >>> sorted(select_features(sum(sites), fdr=0.2).indices.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    if not 0 < fdr < 1:
        raise ValueError(f"fdr={fdr!r} must lie between 0 and 1, such as 0.1")
    moments, names, _ = read_moments(source)
    varies = np.flatnonzero(moments.within_diagonal() > 0)
    _check_size(len(varies))
    rows = Surrogate.from_moments(moments.select_columns(varies))
    knockoffs = Knockoffs.for_correlations(rows.shrunk, _n_copies(len(varies)))
    rng = np.random.default_rng(random_state)
    draws = [lasso_strengths(rows, knockoffs.draw(rows, rng)) for _ in range(N_DRAWS)]
    evidence = np.zeros(moments.n_features)
    evidence[varies] = np.mean([e_values(strengths, fdr / 2) for strengths in draws], axis=0)
    chosen = benjamini_hochberg(evidence[varies], fdr)
    own = np.mean(draws, axis=0)[0]
    chosen = varies[chosen[np.lexsort((-own[chosen], -evidence[varies][chosen]))]]
    note = _describe(len(chosen), len(varies), moments, fdr)
    return SelectedFeatures([names[j] for j in chosen], chosen, evidence, fdr, note)


def _check_size(n_features: int) -> None:
    if n_features > MAX_SELECTED_FROM:
        raise ValueError(
            f"{n_features} features vary, and knock-offs take at most {MAX_SELECTED_FROM}: leave "
            "some out by a rule that does not look at the classes, such as those of least variance"
        )
    if n_features == 0:
        raise ValueError("no feature varies within classes: there is nothing to select from")


def _n_copies(n_features: int) -> int:
    return N_COPIES if n_features <= MAX_COPIED else 1


def _describe(n_chosen: int, n_features: int, moments: ClassMoments, fdr: float) -> str:
    n = moments.n_samples
    rests = f"at most {100 * fdr:g} % of those selected are expected to be wrong"
    if n <= n_features:
        rests += f"; approximate, as {n:g} rows do not show how {n_features} features correlate"
    if n_chosen:
        return rests
    return (
        f"nothing can be selected at this rate: {n:g} rows do not tell any of {n_features} "
        "features from chance given all others. Use more rows, fewer features, or a larger fdr"
    )


# Rows and their knock-offs --------------------------------------------------------------------


class Surrogate(NamedTuple):
    """Few rows with the inner products of the columns and of the class indicators.

    Attributes
    ----------
    columns : array (p + n_classes, p)
        Features, in units of their deviation over the root of the number of rows.
    indicators : array (p + n_classes, n_indicators)
        Of the classes, in the same units.
    hat : array (p + n_classes, p + n_classes)
        The projection on the span of both.
    n_other : float
        Directions of the rows in which features and indicators are zero.
    n_rows : float
    shrunk : array (p, p)
        Estimated correlations of the features.
    """

    columns: Array
    indicators: Array
    hat: Array
    n_other: float
    n_rows: float
    shrunk: Array

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> Surrogate:
        """Rows for the moments of features that vary."""
        n, shares = moments.n_samples, moments.counts / moments.n_samples
        p = moments.n_features
        units = np.sqrt(moments.total_diagonal() / n)
        R = moments.St / n / np.outer(units, units)
        spreads = np.sqrt(shares * (1 - shares))
        to_classes = (shares / spreads)[:, None] * (moments.means - moments.mean) / units
        between = (np.diag(shares) - np.outer(shares, shares)) / np.outer(spreads, spreads)
        evals, U = np.linalg.eigh(np.block([[R, to_classes.T], [to_classes, between]]))
        rank = numerical_rank(evals[::-1], len(evals), eps=max(moments.eps, EPS))
        evals, U = evals[-rank:], U[:, -rank:]
        root = (U * np.sqrt(evals)) @ U.T  # symmetric: no choice of signs, merged or not
        # the indicators of two classes are the same but for the sign
        n_indicators = len(shares) if len(shares) > 2 else 1
        indicators = root[:, p : p + n_indicators]
        n_other = max(n - 1 - rank, 0.0)
        return cls(root[:, :p], indicators, U @ U.T, n_other, n, _shrink(R, n - 1))


def _shrink(R: Array, n_free: float) -> Array:
    """Correlations with their eigenvalues shrunk."""
    p = len(R)
    evals, U = np.linalg.eigh(R)
    rank = numerical_rank(evals[::-1], p)
    shrunk = quadratic_inverse(evals[-rank:], max(n_free, rank), p)
    every = np.full(p, shrunk.null if shrunk.null > 0 else shrunk.positive.min())
    every[-rank:] = shrunk.positive
    S = (U * every) @ U.T
    units = np.sqrt(np.diagonal(S))
    return S / np.outer(units, units)


def least_reconstructable(R: Array, n_copies: int) -> Array:
    """The s for which features and copies, less like each other by s, reconstruct least.

    With ``cov(x, x̃) = R - diag(s)`` it minimises the trace of the inverse of the correlations of
    all columns, ``tr(((M + 1) R - M diag(s))⁻¹) + M Σ 1/s``, M the number of copies. Each step
    solves the problem of each s alone, and goes a part of the way.
    """
    n = n_copies
    A = (n + 1) / n * R
    s = np.full(len(R), 0.9 * min(1.0, float(np.linalg.eigvalsh(A)[0])))
    for _ in range(30):
        inverse = np.linalg.inv(A - np.diag(s))
        own = np.diagonal(inverse)
        spread = np.sqrt(np.sum(inverse**2, axis=0)) / n
        step = 0.7 * (1 - spread * s) / (own + spread)
        while not _is_positive(A - np.diag(s + step)):
            step /= 2
        s = s + step
        if np.abs(step).max() < 1e-3 * s.max():
            break
    return s


def _is_positive(A: Array) -> bool:
    try:
        cholesky(A, check_finite=False)
    except LinAlgError:
        return False
    return True


class Knockoffs(NamedTuple):
    """The law of the copies given the features.

    Attributes
    ----------
    n_copies : int
    kept : array (p, p)
        The expectation of each copy is the features times this.
    s : array (p,)
    common : array (p, p)
        A factor of the covariance that copies share.
    """

    n_copies: int
    kept: Array
    s: Array
    common: Array

    @classmethod
    def for_correlations(cls, R: Array, n_copies: int) -> Knockoffs:
        """Those of least reconstructability."""
        s = least_reconstructable(R, n_copies)
        scaled = np.linalg.solve(R, np.diag(s))
        shared = (n_copies + 1) * np.diag(s) - n_copies * s[:, None] * scaled
        evals, U = np.linalg.eigh((shared + shared.T) / 2)
        common = (U * np.sqrt(evals.clip(0.0) / n_copies)) @ U.T
        return cls(n_copies, np.eye(len(R)) - scaled, s, common)

    def draw(self, rows: Surrogate, rng: np.random.Generator) -> Array:
        """Copies of the columns of rows, below them noise in all other directions."""
        p, n_columns = len(self.s), self.n_copies * len(self.s)
        noise = rows.hat @ rng.standard_normal((len(rows.hat), n_columns))
        if rows.n_other >= n_columns:  # a triangle has the inner products of `n_other` rows
            others = np.triu(rng.standard_normal((n_columns, n_columns)), 1)
            degrees = rows.n_other - np.arange(n_columns)
            others[np.diag_indices(n_columns)] = np.sqrt(rng.chisquare(degrees))
        else:
            others = rng.standard_normal((round(rows.n_other), n_columns))
        noise = np.vstack([noise, others]) / np.sqrt(rows.n_rows)
        parts = noise.reshape(-1, self.n_copies, p)
        apart = np.einsum("rap,ai->rip", parts[:, 1:], helmert(self.n_copies)) * np.sqrt(self.s)
        copies = apart + (parts[:, 0] @ self.common)[:, None, :]
        copies[: len(rows.hat)] += (rows.columns @ self.kept)[:, None, :]
        return copies.reshape(-1, n_columns)


# Evidence -------------------------------------------------------------------------------------


def lasso_strengths(rows: Surrogate, copies: Array) -> Array:
    """(1 + n_copies, p): the size of the coefficients of each feature, and of its copies."""
    p = rows.columns.shape[1]
    columns = np.zeros((len(copies), p + copies.shape[1]))
    columns[: len(rows.columns), :p], columns[:, p:] = rows.columns, copies
    gram, n_columns = columns.T @ columns, columns.shape[1]
    products = columns[: len(rows.columns)].T @ rows.indicators
    least = PENALTY * np.sqrt(2 * np.log(2 * p) / rows.n_rows)
    squares = np.zeros(n_columns)
    for product in products.T:
        with warnings.catch_warnings():  # columns that are alike in few rows are left out
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = lars_path_gram(
                product, gram, n_samples=1, alpha_min=least, method="lasso", return_path=False
            )
        squares += path[2] ** 2
    return np.sqrt(squares).reshape(-1, p)


def e_values(strengths: Array, fdr: float) -> Array:
    """Evidence of each feature by one draw: the knock-off filter, as e-values.

    A feature that beats its copies counts by how much it is above their median. At the least
    threshold t with ``(1 + #{copies that beat theirs by t}) / M <= fdr · #{features that do}``
    those features get p over the left side.
    """
    n_copies, p = len(strengths) - 1, strengths.shape[1]
    order = np.sort(strengths, axis=0)[::-1]
    margins = order[0] - np.median(order[1:], axis=0)
    wins = strengths.argmax(axis=0) == 0
    for threshold in np.sort(margins[margins > 0]):
        above = margins >= threshold
        wrong = (1 + np.count_nonzero(above & ~wins)) / n_copies
        if wrong <= fdr * np.count_nonzero(above & wins):
            return np.where(above & wins, p / wrong, 0.0)
    return np.zeros(p)


def benjamini_hochberg(evidence: Array, fdr: float) -> Array:
    """Positions of the k largest e-values, k the largest for which these are p/(k·fdr) or more."""
    order = np.argsort(-evidence, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    enough = np.flatnonzero(evidence[order] * ranks * fdr >= len(order) * (1 - 1e-9))
    return order[: enough[-1] + 1] if len(enough) else order[:0]
