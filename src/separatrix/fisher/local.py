"""Fisher's discriminant with neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from separatrix.base.block_queries import BlockQueries, check_unweighted, gather_rows
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.queries import (
    N_GROUPS,
    N_QUERIES,
    Estimate,
    Queries,
    count_queries,
    draw_queries,
    jackknife_angle,
    order_by_content,
    warn_of_queries,
)
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import Solution
from separatrix.fisher.directions import shrink
from separatrix.linalg import (
    EPS,
    Array,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    generalized_eigh,
    range_and_null,
    squared_distances,
)
from separatrix.moments.blocks import Blocks
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import nearest_rows
from separatrix.selection import (
    MAX_VOTERS,
    N_FOLDS,
    GridScores,
    Projection,
    draw_rows_by_class,
    limit_judges,
    score_projections,
    search,
    training_parts,
    vote_scores,
)

SHRINKAGES = (0.1, 0.01, 0.4, 0.8, 0.98)
"""Values of ``shrinkage="auto"``, of equals the first. On 19 sets of series 1-NN at C - 1
directions has 79.2 % with "auto", 77.8 with 0.1 and 74.0 without (`benchmarks.choices`)."""

MAX_AFFINITY_ENTRIES = 1 << 24
"""Largest number of entries of an affinity matrix that are held at once (128 MB)."""


class AffinityScatters(NamedTuple):
    """Local scatter within classes, and local total scatter (within plus between).

    Attributes
    ----------
    within, total : array (n_features, n_features)
    without : sequence of AffinityScatters
        The same without each group of the rows that were drawn; empty where all were taken.
    """

    within: Array
    total: Array
    without: Sequence[AffinityScatters] = ()


def affinity_scatters(
    rows: LabelledRows, moments: ClassMoments, n_neighbors: int
) -> AffinityScatters:
    """Sugiyama's S̃w and S̃w + S̃b, of rows and their moments.

    With ``P_c = X_cᵀ (diag(A 1) - A) X_c`` for the affinity A of class c, and S_c its scatter,
    ``S̃w = Σ P_c / n_c`` and ``S̃w + S̃b = Sb + Σ (1 - n_c/n) S_c + Σ P_c / n``: pairs of different
    classes, which all weigh the same, are never visited.
    """
    within, total = np.zeros((rows.X.shape[1],) * 2), moments.Sb
    n = moments.n_samples
    for members, Z in _centred_classes(rows, moments):
        if rows.weights is None:
            w, n_c = np.ones(len(Z)), len(Z)
            sigma = _neighbour_distances(Z, np.arange(len(Z)), n_neighbors)
        else:
            w = rows.weights[members]
            n_c = w.sum()
            sigma = _weighted_distances(Z, w, n_neighbors)
        P = _pair_scatter(Z, sigma, w)
        within += P / n_c
        total += (1 - n_c / n) * ((w[:, None] * Z).T @ Z) + P / n
    return AffinityScatters((within + within.T) / 2, (total + total.T) / 2)


class DrawnClass(NamedTuple):
    """A class, known by its scatter and by the rows that were drawn from it.

    Attributes
    ----------
    n_samples : int
        Number of all its rows.
    scatter : array (n_features, n_features)
        Scatter of all its rows.
    drawn : array (n_drawn, n_features)
        The rows that were drawn, less the mean of the class.
    sigma : array (n_drawn,)
        Their distances to their k-th neighbours among all rows of the class.
    groups : array (n_drawn,)
        As in `Queries`.
    """

    n_samples: int
    scatter: Array
    drawn: Array
    sigma: Array
    groups: Array


def sampled_affinity_scatters(
    classes: Iterable[DrawnClass], Sb: Array, n_samples: int
) -> AffinityScatters:
    """`affinity_scatters` with P_c estimated by the pairs of rows that were drawn.

    If all affinities were the same, P_c would be a multiple of S_c, which is known for all rows:
    that is the control.

    Parameters
    ----------
    classes : iterable of DrawnClass
    Sb : array (n_features, n_features)
        The scatter between classes.
    n_samples : int
        Number of rows of all classes.
    """
    n, d = n_samples, len(Sb)
    # sums in S̃w and in S̃w + S̃b, of the whole sample and without each group
    pairs, controls = np.zeros((2, 1 + N_GROUPS, 2, d, d))
    known, rest = np.zeros((2, d, d)), Sb
    for n_c, S, Z, sigma, groups in classes:
        shares = np.array([1 / n_c, 1 / n])[:, None, None]
        known += shares * (n_c * S)
        rest = rest + (1 - n_c / n) * S
        whole = len(Z) == n_c  # then there is no error to estimate
        for left_out in range(-1, N_GROUPS):
            kept = slice(None) if whole else groups != left_out
            if left_out == -1 or not whole:
                Y = Z[kept]
                size = max(len(Y) * (len(Y) - 1), 1)
                P = _pair_scatter(Y, sigma[kept], np.ones(len(Y))) * (n_c * (n_c - 1) / size)
                total = Y.sum(axis=0)
                T = (len(Y) * (Y.T @ Y) - np.outer(total, total)) * (n_c * (n_c - 1) / size)
            pairs[left_out + 1] += shares * (P + P.T) / 2
            controls[left_out + 1] += shares * T
    control = Estimate(controls[0], list(controls[1:]))
    estimate = Estimate(pairs[0], list(pairs[1:])).controlled(control, known)
    without = [AffinityScatters(part[0], part[1] + rest) for part in estimate.without]
    return AffinityScatters(estimate.whole[0], estimate.whole[1] + rest, without)


def drawn_classes(
    rows: LabelledRows, moments: ClassMoments, n_neighbors: int, queries: Queries
) -> Iterator[DrawnClass]:
    """The classes of rows in memory, of which some were drawn."""
    group = np.full(len(rows.codes), -1)
    group[queries.numbers] = queries.groups
    for members, Z in _centred_classes(rows, moments):
        drawn = np.flatnonzero(group[members] >= 0)
        sigma = _neighbour_distances(Z, drawn, n_neighbors)
        yield DrawnClass(len(Z), Z.T @ Z, Z[drawn], sigma, group[members[drawn]])


def drawn_classes_of_blocks(
    queries: BlockQueries, moments: ClassMoments, n_neighbors: int
) -> Iterator[DrawnClass]:
    """The classes of a Dask collection, whose scatters `moments` holds apart."""
    nearest = queries.nearest(n_neighbors, own_class=True)
    centres = moments.means - queries.centre
    for c, (n_c, scatter) in enumerate(zip(moments.counts, moments.scatters, strict=True)):
        own = queries.rows.codes == c
        k = min(n_neighbors, int(n_c) - 1)
        sigma = np.sqrt(nearest[c].distances[:, k - 1]) if k else np.zeros(1)
        Z = queries.rows.X[own] - centres[c]
        groups = queries.queries.groups[own]
        yield DrawnClass(int(n_c), scatter.matrix(), Z, sigma, groups)


def _centred_classes(rows: LabelledRows, moments: ClassMoments) -> Iterator[tuple[Array, Array]]:
    """For each class the numbers of its rows, and the rows less their mean."""
    order = np.argsort(rows.codes, kind="stable")
    ends = np.cumsum(np.bincount(rows.codes, minlength=len(rows.classes)))
    for members in np.split(order, ends[:-1]):
        yield members, moments.centred(rows.X[members], rows.codes[members])


def _neighbour_distances(Z: Array, numbers: Array, n_neighbors: int) -> Array:
    """Distances of some rows of a class to their k-th neighbours in it, themselves not counted."""
    k = min(n_neighbors, len(Z) - 1)
    if k == 0:
        return np.zeros(len(numbers))
    nearest = nearest_rows(Z[numbers], Z, k, numbers)[:, -1]
    return np.linalg.norm(Z[numbers] - Z[nearest], axis=1)


def _weighted_distances(Z: Array, weights: Array, n_neighbors: int) -> Array:
    """The same for all rows of a class where a weight is how often a row is there."""
    k, neighbours = min(n_neighbors, weights.sum() - 1), np.zeros(len(Z), dtype=int)
    if k <= 0:
        return np.zeros(len(Z))
    for block in gen_batches(len(Z), max(1, MAX_AFFINITY_ENTRIES // len(Z))):
        own = np.arange(len(Z))[block]
        D = squared_distances(Z[block], Z)
        D[np.arange(len(own)), own] = -1.0  # its copies come first
        nearest = np.argsort(D, axis=1, kind="stable")
        counted = weights[nearest]
        counted[:, 0] = np.maximum(counted[:, 0] - 1, 0)
        enough = np.cumsum(counted, axis=1) >= k * (1 - EPS * len(Z))
        neighbours[own] = nearest[np.arange(len(own)), enough.argmax(axis=1)]
    return np.linalg.norm(Z - Z[neighbours], axis=1)


def _pair_scatter(Z: Array, sigma: Array, weights: Array) -> Array:
    """``Zᵀ (diag(A 1) - A) Z`` for the affinity A of the rows, a block of rows of A at a time."""
    scatter = np.zeros((Z.shape[1],) * 2)
    for block in gen_batches(len(Z), max(1, MAX_AFFINITY_ENTRIES // len(Z))):
        A = _affinity(squared_distances(Z[block], Z), sigma[block], sigma)
        A *= weights
        pulled = A.sum(axis=1)[:, None] * Z[block] - A @ Z
        scatter += (weights[block, None] * Z[block]).T @ pulled
    return scatter


def _affinity(D: Array, sigma_rows: Array, sigma: Array) -> Array:
    """``exp(-D / (σ_i σ_j))``; where σ is zero only coinciding rows are near each other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        A = D / -sigma_rows[:, None]
        A /= sigma
    np.exp(A, out=A)
    A[D == 0] = 1.0
    return A


def local_fisher_directions(Sw: Array, total: Array, *, eps: float = EPS) -> Solution:
    """Maximise ``wᵀ (total - Sw) w / wᵀ Sw w``, direction after direction, with ``Wᵀ Sw W = I``.

    `fisher_directions` for a scatter of any rank: as many directions as `total` has dimensions.
    A singular Sw is treated alike, by the limit of a vanishing ridge.
    """
    try:
        cholesky_whitener(Sw, relative_to=np.diagonal(total), eps=eps)
    except SingularMatrixError:
        return _singular_local_fisher_directions(Sw, total, eps)
    solution = generalized_eigh(total, Sw, eps=eps)
    return Solution(solution.V, solution.evals - 1, rank=len(Sw))


def _singular_local_fisher_directions(Sw: Array, total: Array, eps: float) -> Solution:
    """`local_fisher_directions` as the ridge on a singular Sw goes to zero."""
    spread, total_range, _ = range_and_null(total, eps=eps)
    Sw, total = (total_range.T @ S @ total_range for S in (Sw, total))
    parts = range_and_null(Sw, relative_to=float(np.max(spread, initial=0.0)), eps=eps)
    evals, V = np.linalg.eigh(parts.null.T @ total @ parts.null)
    perfect, between = (parts.null @ V)[:, ::-1], evals[::-1]
    # the others are orthogonal to the perfect ones in the total scatter
    correction = (perfect / between) @ (perfect.T @ total)
    rest = total - total @ correction
    solution = generalized_eigh(parts.range.T @ rest @ parts.range, np.diag(parts.evals), eps=eps)
    W = parts.range @ solution.V
    return Solution(
        total_range @ np.hstack([perfect, W - correction @ W]),
        np.concatenate([between, (0 if len(between) else 1) * (solution.evals - 1)]),
        rank=len(Sw),
    )


def shrunken_directions(
    local: AffinityScatters, alpha: float, n_features: int, eps: float
) -> Solution:
    """All directions, after shrinkage relative to the number of features."""
    within, total = local.within, local.total
    if not alpha:
        return local_fisher_directions(within, total, eps=eps)
    # shrinkage hides directions along which no row varies
    basis = range_and_null(total, eps=eps).range
    within, total = (basis.T @ S @ basis for S in (within, total))
    Sw = shrink(within, alpha, n_features)
    directions = local_fisher_directions(Sw, total - within + Sw, eps=eps)
    return directions._replace(W=basis @ directions.W)


def shrunken_projections(rows: LabelledRows, n_neighbors: int, k: int) -> Iterator[Projection]:
    """The map of rows to k directions, for each of `SHRINKAGES`."""
    lift: Lift = lambda W: W  # noqa: E731
    moments = ClassMoments.from_rows(rows)
    n_features, eps = moments.n_varying, moments.eps
    if moments.is_thin:
        rows, lift = rows.in_span(moments.mean)
        moments = ClassMoments.from_rows(rows)
    local = affinity_scatters(rows, moments, n_neighbors)
    for alpha in SHRINKAGES:
        yield partial(_project, lift(shrunken_directions(local, alpha, n_features, eps).W[:, :k]))


def _project(W: Array, rows: Any) -> Array:
    return rows @ W


class LocalFisherDiscriminant(SubspaceEstimator):
    """Directions that separate classes while keeping near neighbours of a class together.

    Local Fisher discriminant analysis: maximises ``tr (Wᵀ S̃w W)⁻¹ Wᵀ S̃b W``, where pairs of rows
    of a class count by their affinity ``A_ij = exp(-‖x_i - x_j‖² / (σ_i σ_j))`` and σ_i is the
    distance of x_i to its k-th nearest neighbour in its class. Classes may have several clusters,
    and there can be more directions than classes.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data; None keeps all, "auto" as many
        as cross-validation favours.
    n_neighbors : int
        k. A class with no more samples than k uses its farthest neighbour.
    shrinkage : "auto", None or float in [0, 1]
        Replace S̃w by ``(1 - α) S̃w + α tr(S̃w)/d I``. "auto" fits again in five folds with α = 0.01,
        0.1, 0.4, 0.8 and 0.98, to at most 3000 rows, and takes the best average of 1, 3 and 5
        nearest neighbours in C - 1 dimensions.
    n_queries : "auto", int or None
        Number of rows, drawn by class, whose pairs estimate S̃w and S̃b; all rows may be their
        neighbours. None takes all pairs; "auto" those of all rows up to 65,536, and of 20,000
        rows of more, with a warning. With `sample_weight` all rows are taken. All rows of a Dask
        collection are brought into memory where none are drawn.
    random_state : int, RandomState or None
        Source of the rows that `n_queries` draws.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending criterion.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the positive criteria.
    shrinkage_ : float
        The α that was used.
    angle_error_ : float
        Standard error of the subspace in degrees, where `n_queries` rows stand for all: how far
        its directions are from those of all rows. Zero where none are drawn.
    mean_, means_, classes_, rank_, selection_
        As in `FisherDiscriminant`; `rank_` is that of the local total scatter.

    Notes
    -----
    ``components_ @ S̃w @ components_.T`` is the identity (after shrinkage), except that directions
    without local scatter within classes come first and have unit length.

    With `sample_weight` a weight of 2 is the row twice, as a neighbour and in pairs; what "auto"
    chooses may differ, because it lets all rows judge alike. Sparse rows are refused: distances of
    all pairs of a class and both scatters are dense, so that fewer features are needed first,
    such as those of scikit-learn's ``TruncatedSVD``.

    The definition is followed to the letter: neighbours are searched in the row's own class, so a
    small class does not disturb the others, and renaming classes changes nothing.

    References
    ----------
    Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant
    analysis, Journal of Machine Learning Research 8 (2007), equations 11-14.
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NIPS 17 (2005), for σ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LocalFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> LocalFisherDiscriminant(n_components=2).fit_transform(X, y).shape
    (150, 2)
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "n_neighbors": (whole_number(1),),
        "shrinkage": (one_of("auto", None), real_number(0, 1)),
        "n_queries": N_QUERIES,
    }
    angle_error_: Any
    shrinkage_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_neighbors: int = 7,
        shrinkage: float | str | None = "auto",
        n_queries: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.n_queries = n_queries
        self.random_state = random_state

    _accepts_sparse = False
    _accepts_blocks = True

    def _summarize_block(self, rows: LabelledRows) -> ClassMoments:
        check_unweighted(self, rows)
        return ClassMoments.from_rows(rows, per_class=True)

    def _add_summaries(self, parts: Sequence[Any]) -> ClassMoments:
        return reduce(add, parts)

    def _validate(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **splitting: Any
    ) -> LabelledRows:
        rows = super()._validate(X, y, sample_weight, **splitting)
        if rows.weights is not None:
            # rows without weight are nobody's neighbours
            rows = rows.subset(np.flatnonzero(rows.weights > 0))
            check_several_classes(self, rows.classes)
        return rows

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if isinstance(rows, Blocks):
            return self._solve_blocks(moments, rows, selected)
        lift: Lift = lambda W: W  # noqa: E731
        n_features, eps = moments.n_varying, moments.eps
        alpha, record = self._choose(rows)
        if moments.is_thin:
            rows, lift = rows.in_span(moments.mean)
            if rows.X.shape[1] == 0:  # all rows coincide
                extras: dict[str, Any] = {"angle_error_": 0.0, "shrinkage_": alpha}
                return Solution(lift(np.zeros((0, 0))), np.zeros(0), rank=0, extras=extras)
            moments = ClassMoments.from_rows(rows)
        # a row that stands for others would have to know their weights
        counted = rows.weights is None
        queries = draw_queries(rows.codes, self.n_queries, self.random_state) if counted else None
        if queries is None:
            local = affinity_scatters(rows, moments, self.n_neighbors)
        else:
            classes = drawn_classes(rows, moments, self.n_neighbors, queries)
            local = sampled_affinity_scatters(classes, moments.Sb, len(rows.codes))
        directions = self._solve_local(local, alpha, queries, n_features, eps, selected)
        extras = {"shrinkage_": alpha, "selection_": {**selected, **record}}
        return directions._replace(W=lift(directions.W)).with_extras(**extras)

    def _choose(self, rows: LabelledRows) -> tuple[float, dict[str, GridScores]]:
        """α, and the record of its choice by rows held out."""
        if not isinstance(self.shrinkage, str):
            return self.shrinkage or 0.0, {}
        if rows.cv is None:  # a splitter may go by the places of the rows
            rows = rows.subset(order_by_content(rows))
            rows = rows.subset(draw_rows_by_class(rows.codes, MAX_VOTERS, 0, least=3))
        n_classes = len(rows.classes)
        k = max(n_classes - 1, 1)  # one choice for all numbers of directions: they are nested

        def score(train: Array, held: Array) -> list[float]:
            return score_projections(
                shrunken_projections(rows.subset(train), self.n_neighbors, k),
                rows.X[train], rows.codes[train], rows.X[held], rows.codes[held],
                scorer=vote_scores, n_components=k,
            )  # fmt: skip

        settings = [{"shrinkage": alpha} for alpha in SHRINKAGES]
        parts = training_parts(rows.codes, N_FOLDS, self.random_state, **rows.splitting)
        record = search(settings, score, limit_judges(parts, rows.codes))
        return record.chosen["shrinkage"], {"shrinkage": record}

    def _solve_blocks(
        self, moments: ClassMoments, blocks: Blocks, selected: Mapping[str, Any]
    ) -> Solution:
        """The directions of a Dask collection."""
        n_queries = count_queries(moments.n_samples, self.n_queries)
        if n_queries is None or moments.n_samples < moments.n_features:
            rows = gather_rows(blocks, moments.classes)
            return self._solve(self._summarize(rows), rows, selected)
        drawn = BlockQueries.draw(blocks, moments, n_queries, self.random_state)
        alpha, record = self._choose(drawn.rows)
        classes = drawn_classes_of_blocks(drawn, moments, self.n_neighbors)
        local = sampled_affinity_scatters(classes, moments.Sb, int(moments.n_samples))
        sizes = moments.n_varying, moments.eps
        directions = self._solve_local(local, alpha, drawn.queries, *sizes, selected)
        extras = {"shrinkage_": alpha, "selection_": {**selected, **record}}
        return directions.with_extras(**extras)

    def _solve_local(
        self,
        local: AffinityScatters,
        alpha: float,
        queries: Queries | None,
        n_features: int,
        eps: float,
        selected: Mapping[str, Any],
    ) -> Solution:
        """The wanted directions, and their error where rows were drawn."""
        directions = shrunken_directions(local, alpha, n_features, eps)
        k = self._n_wanted(directions.W.shape[1], "the rank of the centred data", selected)
        angle = 0.0
        if queries is not None:
            others = (shrunken_directions(part, alpha, n_features, eps) for part in local.without)
            share = len(queries.numbers) / queries.n_samples
            angle = jackknife_angle(
                directions.W[:, :k], (other.W[:, :k] for other in others), share
            )
            warn_of_queries(self, queries, angle)
        return directions._replace(W=directions.W[:, :k]).with_extras(angle_error_=angle)
