"""Gaussians of the neighbours in each class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches

from separatrix.base.parameters import (
    YES_OR_NO,
    Allowed,
    check_parameters,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.rows import (
    check_labelled_rows,
    check_more_rows_than_classes,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.decision.quadratic import Quadratic, gaussian_discriminants
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, check_finite, rows_per_block
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from separatrix.selection import GridScores, best_rule, draw_rows_by_class

DIAGONAL_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Values of k that are tried with diagonal covariances."""

FULL_COUNTS = (1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256)
"""Values of k that are tried with full covariances."""

MAX_LOW_RANK_COUNT = 8
"""Largest k of `FULL_COUNTS` that is tried in more than `MAX_FULL_FEATURES` features: the
covariance of k rows has a rank below k, and few rows are cheap."""

MAX_FULL_FEATURES = 16
"""Features up to which covariances of every k are decomposed while choosing."""

RIDGES = (0.3, 0.1, 1.0, 0.03, 3.0, 0.01, 10.0, 1e-3, 1e-4)
"""Values of ``reg`` that are tried, as shares of the average variance of a feature; of equals the
first wins."""

MAX_JUDGED_ROWS = 500
"""Rows that judge while choosing, drawn by class from more; all rows are neighbours."""


# The mathematics -------------------------------------------------------------------------------


def inverse_deviations(rows: Array) -> Array:
    """One over the standard deviation of each centred column; zero for a constant one."""
    deviations = np.sqrt(np.einsum("ij,ij->j", rows, rows) / max(len(rows), 1))
    varies = deviations > 1e-10 * deviations.max(initial=0.0)
    return np.where(varies, 1.0, 0.0) / np.where(varies, deviations, 1.0)


def neighbour_moments(
    rows: Array, near: Array, excluded: Array, *, full: bool
) -> tuple[Array, Array]:
    """Mean and covariance of the neighbours of each point, but for the excluded row.

    The covariance is diagonal unless it is to be `full`.
    """
    if near.shape[1] == 1:
        return rows[near[:, 0]], np.zeros(1)
    if full:
        mean, R = neighbour_deviations(rows, near, excluded)
        return mean, R.swapaxes(1, 2) @ R
    A = averaging_matrix(near, excluded, len(rows))
    if near.size < len(rows):  # of very many rows only those that are neighbours are squared
        used = np.unique(near)
        A, rows = A[:, used], rows[used]
    mean = A @ rows
    # rows are centred: the cancelled part is a numerical zero relative to the ridge
    return mean, np.maximum(A @ rows**2 - mean**2, 0.0)


def neighbour_deviations(rows: Array, near: Array, excluded: Array) -> tuple[Array, Array]:
    """Means m, and R (n_points, k, r) with ``RᵀR`` the covariance of the neighbours."""
    A = averaging_matrix(near, excluded, len(rows))
    mean = A @ rows
    weights = np.sqrt(A.data).reshape(*near.shape, 1)
    return mean, weights * (rows[near] - mean[:, None])


def diagonal_log_densities(offsets: Array, variances: Array, ridges: Array) -> Array:
    """``-½ Σ_i [log(V_i + ρ) + δ_i² / (V_i + ρ)]`` for each ridge ρ (n_ridges, ...)."""
    squared = offsets**2
    densities = np.empty((len(ridges), *offsets.shape[:-1]))
    for i, ridge in enumerate(ridges):
        V = np.broadcast_to(variances + ridge, offsets.shape)
        densities[i] = -0.5 * (np.log(V).sum(axis=-1) + (squared / V).sum(axis=-1))
    return densities


def full_log_densities(offsets: Array, R: Array, ridges: Array) -> Array:
    """``-½ [log|RᵀR + ρI| + δᵀ(RᵀR + ρI)⁻¹δ]`` for each ridge ρ (n_ridges, n_points).

    With λ_j, u_j the eigenpairs of ``R Rᵀ`` and ``q_j = (u_jᵀRδ)²``, or those of ``RᵀR`` and
    ``q_j = λ_j (u_jᵀδ)²``, whichever matrix is smaller, the determinant is
    ``r log ρ + Σ log(1 + λ_j/ρ)`` and the distance ``(‖δ‖² - Σ q_j/(λ_j + ρ)) / ρ``: one
    decomposition serves every ridge, and nothing of size r² is formed where r > k.
    """
    k, r = R.shape[1:]
    if k < r:
        evals, U = np.linalg.eigh(R @ R.swapaxes(1, 2))
        along = (R @ offsets[..., None])[..., 0]
    else:
        evals, U = np.linalg.eigh(R.swapaxes(1, 2) @ R)
        along = offsets
    evals = np.maximum(evals, 0.0)
    q = np.einsum("nij,ni->nj", U, along) ** 2 * (1.0 if k < r else evals)
    rho = np.asarray(ridges)[:, None, None]
    length = np.sum(offsets**2, axis=1) - np.sum(q / (evals + rho), axis=2)
    log_volume = np.log1p(evals / rho).sum(axis=2) + r * np.log(rho[..., 0])
    return -0.5 * (log_volume + length / rho[..., 0])


def smooth_plateau(scores: Array) -> Array:
    """Half of each cell and half of its four neighbours: a plateau is better than a lucky cell.

    Examples
    --------
    >>> smooth_plateau(np.array([[0.0, 0.8], [0.0, 0.0]])).round(2)
    array([[0.1, 0.6],
           [0. , 0.1]])
    """
    P = np.pad(scores, 1, mode="edge")
    return 0.5 * scores + 0.125 * (P[:-2, 1:-1] + P[2:, 1:-1] + P[1:-1, :-2] + P[1:-1, 2:])


def smooth_by_ridge(scores: Array, ridges: Sequence[float]) -> Array:
    """`smooth_plateau` of scores (n_ridges, n_counts), the ridges in any order, if both differ."""
    if min(scores.shape) == 1:
        return scores
    order = np.argsort(ridges)
    smoothed = np.empty_like(scores)
    smoothed[order] = smooth_plateau(scores[order])
    return smoothed


class FeatureScale(NamedTuple):
    """Rows in the units of the search for neighbours, and the variance that a ridge shares."""

    standardize: bool
    factors: Array
    rows: Array
    variance: float

    @classmethod
    def of(cls, centred: Array, standardize: bool) -> FeatureScale:
        """Centred rows as they are, or divided by the standard deviations of the features."""
        factors = inverse_deviations(centred) if standardize else np.ones(centred.shape[1])
        rows = centred * factors if standardize else centred
        used = np.count_nonzero(factors) * len(rows)
        variance = float(np.vdot(rows, rows)) / used if used else 0.0
        return cls(standardize, factors, rows, variance if variance > 0 else 1.0)


def left_out(
    scale: FeatureScale,
    codes: Array,
    judged: Array,
    tried: Mapping[str, Sequence[int]],
    ridges: Sequence[float],
) -> dict[str, Array]:
    """Share of judged rows that are right, each left out of its own neighbours.

    An array (n_ridges, n_counts) for each kind of covariance in `tried`, from one search.
    """
    most = max(k for counts in tried.values() for k in counts)
    shares = np.array(ridges) * scale.variance
    log_priors = np.log(np.bincount(codes) / len(codes))
    right = {kind: np.zeros((len(ridges), len(counts))) for kind, counts in tried.items()}
    width = max(len(log_priors), most if "full" in tried else 1) * scale.rows.shape[1]
    near = class_neighbours(scale.rows[judged], codes, most, among=scale.rows, own=judged)
    for block in gen_batches(len(judged), rows_per_block(width)) if len(judged) else ():
        own = judged[block]
        for kind, counts in tried.items():
            for j, k in enumerate(counts):
                found = [neighbours[block, :k] for neighbours in near]
                scores = LOG_DENSITIES[kind](scale.rows, own, found, shares) + log_priors
                right[kind][:, j] += np.sum(scores.argmax(axis=2) == codes[own], axis=1)
    return {kind: hits / max(len(judged), 1) for kind, hits in right.items()}


def _diagonal_of_rows(rows: Array, own: Array, near: list[Array], ridges: Array) -> Array:
    """Log-densities (n_ridges, n_own, n_classes) of rows among their neighbours."""
    gaussians = [neighbour_moments(rows, members, own, full=False) for members in near]
    parts = [diagonal_log_densities(rows[own] - mean, V, ridges) for mean, V in gaussians]
    return np.stack(parts, axis=2)


def _full_of_rows(rows: Array, own: Array, near: list[Array], ridges: Array) -> Array:
    gaussians = [neighbour_deviations(rows, members, own) for members in near]
    parts = [full_log_densities(rows[own] - mean, R, ridges) for mean, R in gaussians]
    return np.stack(parts, axis=2)


LOG_DENSITIES = {"diag": _diagonal_of_rows, "full": _full_of_rows}


# The classifier --------------------------------------------------------------------------------


class LocalQDA(ClassifierMixin, BaseEstimator):
    """Compare the Gaussians that the neighbours of a row form in each class.

    For a row x and each class c, the k rows of c nearest to x have a mean m and a covariance V.
    The class of the largest ``log p_c + log N(x; m, V + ρ I)`` is predicted: quadratic
    discriminant analysis, fitted anew where it is asked. With k = 1 it is the nearest neighbour,
    with all rows of a class the global rule.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k. A class with no more rows than k gives all it has. "auto" tries 1, 2, 4, … 256 with
        diagonal covariances, and 1, 2, 3, 4, 6, 8 with full ones, up to 256 in at most 16
        features.
    reg : "auto" or float
        Share of the average variance of a feature over all training rows that is added to the
        variances, so that units do not matter: ``ρ = reg * average variance``. "auto" tries 1e-4
        (the thesis's, which hardly regularises: features that happen to agree among a few
        neighbours then decide alone) to 10. Where no feature varies, ρ is `reg`.
    covariance : "auto", "diag" or "full"
        "diag" takes the features as independent among neighbours; "full" estimates V whole. Its
        rank is below k: with a few neighbours and a small ridge, x is compared with the flat
        through the neighbours. "auto" tries both.
    standardize : "auto" or bool
        Divide features by their standard deviations first; constant ones are left out. "auto"
        tries both.

    Attributes
    ----------
    n_neighbors_ : int
        k.
    reg_ : float
        The share that was used.
    ridge_ : float
        ρ.
    covariance_ : "diag" or "full"
    standardize_ : bool
    priors_ : array (n_classes,)
        p, the proportions in the training data.
    mean_ : array (n_features,)
        Mean of all training rows.
    selection_ : dict
        The scores that "auto" was decided by: under "n_neighbors" a `selection.GridScores` of
        settings of all four parameters.
    classes_ : array (n_classes,)

    Notes
    -----
    All that is "auto" is chosen together, by the share of training rows that are right when each
    is left out of its own neighbours; of more than 500 rows some, drawn by class, judge. Where k
    and ρ are both chosen, a score counts one half and the scores of its neighbours in the grid
    the other half. Of equals diagonal covariances win, then features as they are, then the ridge
    nearest to 0.3, then the smallest k.

    ``decision_function`` at a row is the value there of its own `discriminants`: exactly the
    global rule with maximum-likelihood covariances plus ρ I when no class has more than k rows,
    and a difference of squared distances to one row of each class, divided by 2ρ, when k = 1.

    Variances have the divisor k, so one row or copies of a row have V = 0 and lean on ρ alone; a
    feature that is constant says nothing. Neighbours are counted, not weighed: there is no
    `sample_weight`.

    A prediction costs one product with all training rows, then k rows of each class are averaged;
    what a class says that gives all it has is computed once for all rows. Full covariances of k
    neighbours cost k² r for each row and class where k is below the number of features r, and r³
    otherwise and in `discriminants`.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), sections 2.1.2 and 5.6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import LocalQDA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LocalQDA().fit(X[:900], y[:900])
    >>> model.covariance_, model.n_neighbors_, round(model.score(X[900:], y[900:]), 2)
    ('full', 8, 0.97)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: `fit` checks
    stores_rows = True  # the fitted model holds the training rows
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "reg": (one_of("auto"), real_number(0, open_low=True)),
        "covariance": (one_of("auto", "diag", "full"),),
        "standardize": (one_of("auto"), YES_OR_NO),
    }
    _codes: Array
    _counts: Array
    _factors: Any
    _rows: Any
    classes_: Array
    covariance_: Any
    mean_: Array
    n_neighbors_: int
    priors_: Array
    reg_: Any
    ridge_: Any
    selection_: Any
    standardize_: bool

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        reg: float | str = "auto",
        covariance: str = "auto",
        standardize: bool | str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.covariance = covariance
        self.standardize = standardize

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the rows, and choose parameters that are "auto".

        Parameters
        ----------
        X : array (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted classifier.
        """
        with unchanged_on_failure(self):
            check_parameters(self, self._allowed_parameters)
            rows = check_labelled_rows(self, X, y)
            check_several_classes(self, rows.classes)
            check_more_rows_than_classes(self, len(rows.codes), len(rows.classes))
            moments = ClassMoments.from_rows(rows, scatter=False)
            centred = np.subtract(rows.X, moments.mean, dtype=np.float64)
            scale, record = self._select(centred, rows.codes)
            self._store(rows, moments, scale, record)
        return self

    def _select(self, centred: Array, codes: Array) -> tuple[FeatureScale, GridScores]:
        """Choose covariances, units, ridge and neighbours by rows that are left out."""
        counts = np.bincount(codes)
        units = (False, True) if self.standardize == "auto" else (bool(self.standardize),)
        kinds = ("diag", "full") if self.covariance == "auto" else (self.covariance,)
        ridges = RIDGES if self.reg == "auto" else (float(self.reg),)
        tried = {kind: self._counts_tried(kind, counts.max(), centred.shape[1]) for kind in kinds}
        scales = {standardize: FeatureScale.of(centred, standardize) for standardize in units}
        settings: list[dict[str, Any]] = [
            {"covariance": kind, "standardize": standardize, "reg": reg, "n_neighbors": k}
            for kind, standardize in product(kinds, units)
            for reg, k in product(ridges, tried[kind])
        ]
        scores = smoothed = np.zeros(len(settings))
        if len(settings) > 1:
            judged = np.flatnonzero(counts[codes] > 1)
            judged = judged[draw_rows_by_class(codes[judged], MAX_JUDGED_ROWS, 0)]
            by_scale = {s: left_out(scales[s], codes, judged, tried, ridges) for s in units}
            grids = [by_scale[s][kind] for kind, s in product(kinds, units)]
            scores = np.concatenate([grid.ravel() for grid in grids])
            smoothed = np.concatenate([smooth_by_ridge(grid, ridges).ravel() for grid in grids])
        chosen = settings[best_rule(smoothed)]
        return scales[chosen["standardize"]], GridScores(tuple(settings), scores[None], chosen)

    def _counts_tried(self, covariance: str, largest: int, n_features: int) -> list[int]:
        """Numbers of neighbours worth trying: not twice as many as the largest class has."""
        if self.n_neighbors != "auto":
            return [int(self.n_neighbors)]
        most = 2 * largest - 1
        if covariance == "diag":
            return [k for k in DIAGONAL_COUNTS if k <= most]
        if n_features > MAX_FULL_FEATURES:
            most = min(most, MAX_LOW_RANK_COUNT)
        return [k for k in FULL_COUNTS if k <= most]

    def _store(
        self, rows: LabelledRows, moments: ClassMoments, scale: FeatureScale, record: GridScores
    ) -> None:
        """Keep the centred rows: there is nothing to solve before new rows come."""
        chosen: Mapping[str, Any] = record.chosen
        self.classes_, self.mean_ = rows.classes, moments.mean
        self._counts = moments.counts.astype(int)
        self.priors_ = moments.counts / moments.n_samples
        self._codes, self._rows, self._factors = rows.codes, scale.rows, scale.factors
        self.covariance_, self.standardize_ = chosen["covariance"], chosen["standardize"]
        self.reg_, self.n_neighbors_ = chosen["reg"], chosen["n_neighbors"]
        self.ridge_ = self.reg_ * scale.variance
        self.selection_ = {"n_neighbors": record} if len(record.settings) > 1 else {}

    def _blocks(self, n_rows: int) -> Iterable[slice]:
        """Portions of rows whose Gaussians are small enough to be held."""
        r, k = self._rows.shape[1], self.n_neighbors_
        full = self.covariance_ == "full"
        size = k if self._low_rank else max(r, k) if full else 1
        entries = len(self._counts) * r * size
        return gen_batches(n_rows, rows_per_block(entries)) if n_rows else ()

    @property
    def _low_rank(self) -> bool:
        """Whether covariances are full and have a rank below the number of features."""
        return self.covariance_ == "full" and self.n_neighbors_ < self._rows.shape[1]

    def _gaussians(self, points: Array, neighbours: list[Array], about: Array) -> Quadratic:
        """Discriminants (n_points, n_classes) local to points, in steps from `about`."""
        n_points, r = points.shape
        offsets = np.empty((n_points, len(neighbours), r))
        whole = [near.shape[1] == n for near, n in zip(neighbours, self._counts, strict=True)]
        full = self.covariance_ == "full"
        alone = max(near.shape[1] for near in neighbours) == 1
        n_covariances = 1 if alone or all(whole) else n_points
        covariances = np.zeros((n_covariances, *offsets.shape[1:], *((r,) if full else ())))
        for c, near in enumerate(neighbours):
            once = slice(1 if whole[c] else None)
            none = np.full(n_points, -1)[once]
            mean, covariance = neighbour_moments(self._rows, near[once], none, full=full)
            np.subtract(about, mean, out=offsets[:, c])
            if not alone:
                covariances[:, c] = covariance
        diagonal = np.einsum("...ii->...i", covariances) if full else covariances
        diagonal += self.ridge_
        return gaussian_discriminants(offsets, covariances, np.log(self.priors_))

    def _scaled(self, X: ArrayLike) -> Array:
        """New rows, centred and in the units of the neighbours."""
        rows = check_new_rows(self, X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        return np.subtract(rows, self.mean_, dtype=np.float64) * self._factors

    def _neighbours(self, points: Array) -> list[Array]:
        return class_neighbours(points, self._codes, self.n_neighbors_, among=self._rows)

    def discriminants(self, X: ArrayLike, *, about: ArrayLike | None = None) -> Quadratic:
        """The class discriminants that hold around each row.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows whose neighbours make the Gaussians.
        about : array (n_features,) or (n_samples, n_features), optional
            Points of reference: entry i is a function of ``x - about[i]``. By default the origin,
            so that it is a function of x; that loses digits far from the origin, and ``about=X``
            does not.

        Returns
        -------
        Quadratic
            ``Q`` of shape (n_samples, n_classes, n_features), or with one more axis of features
            for full covariances, ``c`` (n_samples, n_classes, n_features) and ``b`` (n_samples,
            n_classes): log-posteriors up to a term common to the classes. The first axis of ``Q``
            is 1 where all rows have it in common: with one neighbour, or all there are.
        """
        points = self._scaled(X)
        reference = np.zeros(1) if about is None else np.asarray(about, dtype=np.float64)
        if about is not None and reference.shape not in (points.shape, points.shape[1:]):
            raise ValueError(
                f"about has shape {reference.shape}: it must be one point {points.shape[1:]} or "
                f"one for each row of X {points.shape}"
            )
        about_scaled = (reference - self.mean_) * self._factors
        f = self._gaussians(points, self._neighbours(points), about_scaled)
        if not self.standardize_:
            return f
        Q = self._factors * f.Q
        if self.covariance_ == "full":
            return Quadratic(Q * self._factors[:, None], f.c * self._factors, f.b)
        return Quadratic(Q * self._factors, f.c * self._factors, f.b)

    def decision_function(self, X: ArrayLike) -> Array:
        """Log-posterior of each class up to a common term; for two classes the log-odds."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each row; a tie goes to the class that sorts first."""
        winners = self._scores(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probabilities of the classes under the Gaussians of the neighbours."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`: minus infinity where that is zero, as it may be."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: ArrayLike) -> Array:
        points = self._scaled(X)
        near = self._neighbours(points)
        scores = np.empty((len(points), len(self.classes_)))
        for block in self._blocks(len(points)):
            part, found = points[block], [n[block] for n in near]
            scores[block] = (
                self._low_rank_scores(part, found)
                if self._low_rank
                else self._gaussians(part, found, part).b
            )
        return scores

    def _low_rank_scores(self, points: Array, neighbours: list[Array]) -> Array:
        """The constants of `_gaussians` about the points, without a matrix of features."""
        none, ridges = np.full(len(points), -1), np.array([self.ridge_])
        scores = np.empty((len(points), len(neighbours)))
        for c, near in enumerate(neighbours):
            mean, R = neighbour_deviations(self._rows, near, none)
            scores[:, c] = full_log_densities(points - mean, R, ridges)[0]
        return scores + np.log(self.priors_) - 0.5 * points.shape[1] * np.log(2 * np.pi)
