"""Local discriminative Gaussians: near neighbours of the own class, far from those of the others.

Every row is compared with the mean of its nearest neighbours in each class. The directions keep
rows near the mean of their own class and away from the others: the smallest eigenvectors of
``V - γ A``, of which there can be more than classes and features can be more than rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix._warnings import warn_caller
from separatrix.base.block_queries import BlockQueries, check_unweighted, gather_rows
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    array_like,
    check_parameters,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.queries import (
    N_QUERIES,
    Queries,
    count_queries,
    draw_queries,
    jackknife_angle,
    warn_of_queries,
)
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import Solution
from separatrix.decision.rules import check_priors
from separatrix.ldg.choices import (
    SELECTION_RULES,
    SelectionRule,
    author_neighbours,
    count_folds,
    judging_dimension,
    judging_parts,
    thesis_neighbours,
    tried_neighbours,
)
from separatrix.ldg.scatters import (
    DiscriminativeGaussians,
    LDGScatters,
    block_scatters,
    global_scatters,
    local_scatters,
    orthonormal_descent,
    sampled_scatters,
)
from separatrix.ldg.weighted import weighted_averaging, weighted_neighbours, weighted_scatters
from separatrix.linalg import Array, Lift, range_basis, tridiagonalize
from separatrix.moments.blocks import Blocks
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from separatrix.selection import (
    NOTHING_TO_CHOOSE,
    AtMost,
    DimensionPath,
    GridScores,
    best_rule,
    dimension_path,
    leave_one_out_scores,
    score_projections,
    search,
)


class LDGProblem(NamedTuple):
    """Rows in the coordinates where the problem is solved.

    Attributes
    ----------
    rows : LabelledRows or None
        Centred rows in their span; of a Dask collection those that were drawn, or None where its
        moments suffice.
    lift : callable
        The map back to all features.
    basis : array
        Orthonormal columns, in the same coordinates, that span the rows.
    priors : array (n_classes,)
    given : LabelledRows or None
        The rows in their own features.
    queries : Queries or None
        The rows whose neighbours are sought, where these are not all.
    """

    rows: Any
    lift: Lift
    basis: Array
    priors: Array
    given: Any
    queries: Queries | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions that the centred rows span."""
        return self.basis.shape[1]

    @classmethod
    def of(
        cls,
        rows: LabelledRows,
        moments: ClassMoments,
        priors: Array | None,
        n_queries: int | str | None = None,
        random_state: Any = 0,
        *,
        spanned: bool = False,
    ) -> LDGProblem:
        """The problem of these rows; priors are the class shares when not given.

        Rows that are known to be `spanned` have no coordinate, in any basis, without scatter.
        """
        small, lift = rows.in_span(moments.mean)
        spanned = spanned or rows.X.shape[0] < rows.X.shape[1]
        basis = np.eye(small.X.shape[1]) if spanned else range_basis(moments.St, moments.eps)
        shares = moments.counts / moments.n_samples
        # a row that stands for others would have to know their weights
        counted = rows.weights is None
        queries = draw_queries(rows.codes, n_queries, random_state) if counted else None
        return cls(small, lift, basis, shares if priors is None else priors, rows, queries)

    def scatters(self, n_neighbors: Sequence[int], *, local: bool) -> Iterator[LDGScatters]:
        """V and A for each number of neighbours, from one search."""
        if not local:
            yield global_scatters(ClassMoments.from_rows(self.rows), self.priors)
            return
        X, codes, weights = self.rows.X, self.rows.codes, self.rows.weights
        queries = self.queries
        if weights is not None:
            found = weighted_neighbours(X, codes, weights, max(n_neighbors))
            for k in n_neighbors:
                yield weighted_scatters(X, codes, found, self.priors, k, weights)
            return
        if queries is None:
            found = class_neighbours(X, codes, max(n_neighbors))
            for k in n_neighbors:
                yield local_scatters(X, codes, found, self.priors, k)
            return
        own = queries.numbers
        found = class_neighbours(X[own], codes, max(n_neighbors), among=X, own=own)
        moments = ClassMoments.from_rows(self.rows)
        total = global_scatters(moments, self.priors)
        for k in n_neighbors:
            means = self._averaging(found, k)
            yield sampled_scatters(
                X[own], codes[own], queries, means, moments.means, total, self.priors
            )

    def _averaging(self, found: Sequence[Array], k: int) -> Callable[[Array, int], Any]:
        """The map from some of the queries to the means of their k nearest rows of class j."""
        assert self.queries is not None
        X, own = self.rows.X, self.queries.numbers
        return lambda at, j: averaging_matrix(found[j][at, :k], own[at], X.shape[0]) @ X

    def gaussians(self, n_neighbors: int | None) -> DiscriminativeGaussians:
        """The criterion of the gradient solver, with neighbours or with class means."""
        X, codes, weights = self.rows.X, self.rows.codes, self.rows.weights
        averages: list[Any]
        numbers = np.arange(len(codes))
        if n_neighbors is None:
            ones = aslinearoperator(np.ones((len(codes), 1)))
            count = np.ones(len(codes)) if weights is None else weights
            members = [(codes == j)[None] * count for j in range(len(self.priors))]
            averages = [ones @ aslinearoperator(m / m.sum()) for m in members]
        elif weights is None:
            own = numbers if self.queries is None else self.queries.numbers
            found = class_neighbours(X[own], codes, n_neighbors, among=X, own=own)
            averages = [averaging_matrix(f, own, len(codes)) for f in found]
        else:
            found = weighted_neighbours(X, codes, weights, n_neighbors)
            averages = [
                weighted_averaging(f, np.where(codes == j, numbers, -1), weights, n_neighbors)
                for j, f in enumerate(found)
            ]
        return DiscriminativeGaussians(X, codes, averages, self.priors, self.queries, weights)


class Chosen(NamedTuple):
    """The settings that a fit uses, and the records of how they were chosen."""

    gamma: float
    n_neighbors: int | None
    records: dict[str, Any]


def projection(W: Array) -> Callable[[Any], Array]:
    """The map from rows to their coordinates along W."""
    return lambda rows: rows @ W


class LDG(SubspaceEstimator):
    """Directions that keep rows near neighbours of their class and far from those of others.

    Local discriminative Gaussians: minimises ``tr Bᵀ (V - γ A) B`` subject to ``BᵀB = I``, where
    ``V = Σ_i Δ_ig Δ_igᵀ``, ``A = Σ_i Σ_j p_j Δ_ij Δ_ijᵀ`` and Δ_ij is row i less the mean of its k
    nearest neighbours in class j, itself not among them; g is the class of row i. Classes may have
    several clusters, there can be more directions than classes, and nothing is inverted, so
    features can be far more than rows.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data. None keeps every direction with
        a negative eigenvalue of ``V - γ A``, and the leading one where γ or k was chosen for what
        it kept in the folds and keeps none on all rows; "auto" as many as cross-validation
        favours, up to 40.
    gamma : "auto" or float in (0, 1]
        γ, the worth of distance from the other classes beside nearness to the own; "auto" chooses
        it as `selection` says.
    n_neighbors : "auto" or int
        k. A class with no more rows than k gives all it has. "auto" chooses it with γ.
    local : bool
        False takes the mean of the whole class for the mean of neighbours.
    solver : "eigen" or "gradient"
        "gradient" goes on from the eigenvectors to a local minimum of the criterion that ``V - A``
        bounds from below (3.4), ``Σ_i log Σ_j p_j exp(-‖BᵀΔ_ij‖²/2) + ‖BᵀΔ_ig‖²/2``. It depends on
        the units: standardise the features first. Its directions depend on how many are kept.
    priors : array (n_classes,) or None
        p; the proportions in the training data by default.
    max_iter : int
        Steps of the gradient solver.
    random_state : int, RandomState or None
        Source of the folds of "auto", and of the rows that `n_queries` draws.
    verbose : bool
        Print how "auto" proceeds.
    n_queries : "auto", int or None
        Number of rows, drawn by class, whose neighbours are sought among all rows: V and A are
        estimated by them. None takes all; "auto" all rows up to 65,536, and 20,000 of more, with
        a warning. With `sample_weight` all rows are taken. All rows of a Dask collection are
        brought into memory where none are drawn.
    selection : "refit", "thesis", "thesis-small" or "author"
        Rule by which "auto" chooses.

        "refit" tries γ = 0.01, 0.02, 0.05, 0.1, 0.2, … 0.9 and k = 1, 4, 16 by fitting again in
        three (many rows) to ten folds (up to 200 rows). The score is the average of 1, 3 and 5
        nearest neighbours; the dimension that of `n_components`, and with None or "auto" the
        directions that None keeps in the fold, where none scores zero. "auto" then scores each
        dimension. "thesis" (section 3.4) takes the k of local QDA in five folds, γ from 0.2, 0.4,
        … 1 by leaving rows out of their own neighbours, not of the fit, in five dimensions more
        than classes, and adds directions until the score drops. "thesis-small" (section 3.5)
        takes γ from 0.01, 0.1, 0.3, … 0.9 by fitting again, in ``n_classes - 1`` dimensions.
        "author" is the author's program: γ = 0.9, k of local QDA by leaving one out, directions
        until 25 more bring nothing. The last three need dense rows to choose k.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Orthonormal directions by ascending eigenvalue.
    criterion_ : array (n_components,)
        ``bᵀ (γ A - V) b`` of each: minus the eigenvalues.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of all positive criteria.
    gamma_, n_neighbors_ : number
        What was used; ``n_neighbors_`` is None when not local.
    priors_ : array (n_classes,)
    objective_ : array
        Values of the criterion of the gradient solver from its start on; empty for "eigen".
    n_iter_ : int
        Steps of the solver; 1 for "eigen".
    angle_error_ : float
        Standard error of the subspace in degrees, where `n_queries` rows stand for all: how far
        its directions are from those of all rows. Zero where none are drawn.
    selection_ : dict
        What "auto" was decided by: under "n_components" a `selection.DimensionPath`, under
        "gamma" a `selection.GridScores` of settings of gamma and n_neighbors.
    mean_, means_, classes_
        As in `FisherDiscriminant`.
    rank_ : int
        Rank of the centred data.

    Notes
    -----
    ``components_ @ components_.T`` is the identity, and with the eigen solver
    ``components_ @ (V - γ A) @ components_.T`` is diagonal and ascending: fewer components are the
    first ones of more. With ``local=False`` and the class shares as priors
    ``V - γ A = (1 - γ) Sw - 2 γ Sb``, so that γ = 1/3 is `MaximumMarginCriterion` and γ = 1 the
    principal axes of the class means.

    A row alone in its class has no neighbour there and adds nothing to V.

    With `sample_weight` the k nearest rows are the nearest ones whose weights sum to k, so that a
    weight of 2 is the same as the row twice. What "auto" chooses may differ: it deals rows into
    folds, and lets all of them judge alike.

    Cost, after the search for neighbours in blocks,
    n·C·d² multiplications; d is the rank of the rows when they are fewer than features.

    "refit" fits again in each fold. Leaving rows out of the neighbours alone, as the thesis does,
    overfits when features are more than rows.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), chapter 3, equations 3.1-3.13 and Algorithm 1.
    Parrish and Gupta, Dimensionality reduction by local discriminative Gaussians, ICML (2012).

    Examples
    --------
    >>> from separatrix import LDG, datasets
    >>> digits = datasets.load("digits")
    >>> model = LDG(15, gamma=0.6, n_neighbors=5).fit(digits.data, digits.target)
    >>> model.transform(digits.data).shape
    (1797, 15)
    >>> bool(abs(model.components_ @ model.components_.T - np.eye(15)).max() < 1e-12)
    True
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "gamma": (one_of("auto"), real_number(0, 1, open_low=True)),
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "local": (YES_OR_NO,),
        "solver": (one_of("eigen", "gradient"),),
        "priors": (one_of(None), array_like()),
        "max_iter": (whole_number(1),),
        "verbose": (YES_OR_NO,),
        "selection": (one_of(*SELECTION_RULES),),
        "n_queries": N_QUERIES,
    }
    _accepts_blocks = True
    selection: str = "refit"  # of the methods that build on this one, too
    n_queries: int | str | None = None

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        gamma: float | str = "auto",
        n_neighbors: int | str = "auto",
        local: bool = True,
        solver: str = "eigen",
        priors: ArrayLike | None = None,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
        selection: str = "refit",
        n_queries: int | str | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.solver = solver
        self.priors = priors
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.selection = selection
        self.n_queries = n_queries

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        rows = super()._validate(X, y, sample_weight, **splitting)
        if rows.weights is None:
            return rows
        # rows without weight are nobody's neighbours
        rows = rows.subset(np.flatnonzero(rows.weights > 0))
        check_several_classes(self, rows.classes)
        return rows

    def _summarize(self, rows: LabelledRows) -> ClassMoments:
        # the scatter of rows that are fewer than features is never asked for
        return ClassMoments.from_rows(rows, scatter=rows.X.shape[0] >= rows.X.shape[1])

    def _select(self, rows: LabelledRows) -> dict[str, Any]:
        return {}  # choices are made where the problem is solved, in the span of the rows

    def _summarize_block(self, rows: LabelledRows) -> ClassMoments:
        check_unweighted(self, rows)
        return ClassMoments.from_rows(rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        for name in ("gamma", "n_neighbors") if self.local else ("gamma",):
            if getattr(self, name) == "auto":
                raise ValueError(
                    f'{name}="auto" is chosen by fits to some of the rows, and needs all of them '
                    "in memory: give a number. separatrix.moments.subsample gives rows to "
                    "choose it by"
                )
        if self.solver == "gradient":
            raise ValueError(
                'solver="gradient" goes over the rows in every step, and needs all of them in '
                "memory: use the eigen solver"
            )

    def _solve_blocks(self, moments: ClassMoments, blocks: Blocks) -> Solution:
        """The directions of a Dask collection."""
        n_queries = count_queries(moments.n_samples, self.n_queries)
        wide = moments.n_samples < moments.n_features
        if wide or (self.local and n_queries is None):
            rows = gather_rows(blocks, moments.classes)
            return self._solve(self._summarize(rows), rows, {})
        given = check_priors(self.priors, moments.classes)
        priors = moments.counts / moments.n_samples if given is None else given
        basis = range_basis(moments.St, moments.eps)
        scatters = global_scatters(moments, priors)
        problem = LDGProblem(None, lambda W: W, basis, priors, None)
        if self.local and n_queries is not None:
            drawn = BlockQueries.draw(blocks, moments, n_queries, self.random_state)
            scatters = block_scatters(drawn, int(self.n_neighbors), moments, scatters, priors)
            problem = problem._replace(rows=drawn.rows, given=drawn.rows, queries=drawn.queries)
        chosen = Chosen(float(self.gamma), int(self.n_neighbors) if self.local else None, {})
        return self._solve_problem(problem, scatters, chosen)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if isinstance(rows, Blocks):
            return self._solve_blocks(moments, rows)
        problem = self._problem(rows, moments)
        chosen = self._choose(problem)
        return self._solve_problem(problem, self._scatters(problem, chosen), chosen)

    def _problem(
        self, rows: LabelledRows, moments: ClassMoments, *, spanned: bool = False
    ) -> LDGProblem:
        priors = check_priors(self.priors, rows.classes)
        n_queries = self.n_queries if self.local else None  # class means are those of all rows
        return LDGProblem.of(rows, moments, priors, n_queries, self.random_state, spanned=spanned)

    def _scatters(self, problem: LDGProblem, chosen: Chosen) -> LDGScatters:
        counts = () if chosen.n_neighbors is None else (chosen.n_neighbors,)
        return next(problem.scatters(counts, local=self.local))

    # Choosing ---------------------------------------------------------------------------------

    @property
    def _selection_rule(self) -> SelectionRule:
        return SELECTION_RULES[self.selection]

    def _choose(self, problem: LDGProblem) -> Chosen:
        """Give γ, k and the dimension their values, where they are "auto"."""
        gammas = self._selection_rule.gammas if self.gamma == "auto" else (float(self.gamma),)
        settings = [
            {"n_neighbors": k, "gamma": g} for k, g in product(self._counts_tried(problem), gammas)
        ]
        best: Mapping[str, Any] = settings[0]
        records: dict[str, Any] = {}
        if len(settings) > 1 and problem.rank > 0:
            refits = self._selection_rule.refits
            score = self._score_settings if refits else self._resubstitute_settings
            records["gamma"] = score(problem, settings)
            best = records["gamma"].chosen
        chosen = Chosen(best["gamma"], best["n_neighbors"], records)
        if self.n_components == "auto":
            records["n_components"] = self._score_dimensions(problem, chosen)
        return chosen

    def _counts_tried(self, problem: LDGProblem) -> Sequence[Any]:
        """Numbers of neighbours to try; the rules of the thesis come with one."""
        if not self.local:
            return (None,)
        if self.n_neighbors != "auto":
            return (self.n_neighbors,)
        if self.selection == "refit":
            return tried_neighbours(np.bincount(problem.rows.codes))
        X, codes = problem.given.X, problem.given.codes
        if sp.issparse(X):
            raise ValueError(
                f'selection={self.selection!r} chooses n_neighbors="auto" by local QDA, which '
                "needs dense rows: give n_neighbors a number"
            )
        if self.selection == "author":
            return (author_neighbours(X, codes),)
        return (thesis_neighbours(X, codes, self.random_state),)

    def _score_dimensions(self, problem: LDGProblem, chosen: Chosen) -> DimensionPath:
        """Scores of each dimension, of the eigenvectors: they are nested."""
        if problem.rank == 0:
            return NOTHING_TO_CHOOSE
        model = LDG(
            "auto",
            gamma=chosen.gamma,
            n_neighbors=chosen.n_neighbors or 1,
            local=self.local,
            priors=self.priors,
            n_queries=None if problem.queries is None else len(problem.queries.numbers),
        )
        rule, rows = self._selection_rule, problem.rows
        n_folds = rule.n_folds or count_folds(len(rows.codes))
        # in the span of the rows, or in a feature space, nothing but the coordinates differs
        return dimension_path(
            model,
            rows.X,
            rows.labels,
            rule.scorer if rule.refits else None,
            rule=rule.dimension_rule,
            n_folds=n_folds if rule.refits else None,
            fit_params={} if rows.weights is None else {"sample_weight": rows.weights},
            **rows.splitting,
            random_state=self.random_state,
            progress=self._report_progress,
        )

    def _scoring_dimension(self, problem: LDGProblem) -> int | None:
        """Dimension in which settings are scored; None is the one that None keeps in the fold."""
        n_classes, rank = len(problem.rows.classes), problem.rank
        if self.selection == "thesis-small":
            return min(max(n_classes - 1, 1), rank)
        if self.n_components is None or self.n_components == "auto":
            return None
        asked = isinstance(self.n_components, Integral) and self.n_components < rank
        if asked and not isinstance(self.n_components, AtMost):
            return int(self.n_components)
        return judging_dimension(n_classes, rank)

    def _score_settings(self, problem: LDGProblem, settings: list[dict[str, Any]]) -> GridScores:
        """Held-out scores of settings of γ and k."""
        rows = problem.rows
        k = self._scoring_dimension(problem)
        counts = list(dict.fromkeys(s["n_neighbors"] for s in settings))
        gammas = list(dict.fromkeys(s["gamma"] for s in settings))

        def fit(train: Array) -> Iterator[Callable[[Any], Array]]:
            part = rows.subset(train)
            priors = None if self.priors is None else problem.priors
            n_queries = None if problem.queries is None else len(problem.queries.numbers)
            fold = LDGProblem.of(part, ClassMoments.from_rows(part), priors, n_queries)
            for scatters in fold.scatters(counts, local=self.local):
                for gamma in gammas:
                    W = fold.lift(scatters.leading(gamma, fold.basis, k))
                    yield projection(W)

        def score(train: Array, held: Array) -> list[float]:
            X, codes = rows.X, rows.codes
            return score_projections(
                fit(train), X[train], codes[train], X[held], codes[held],
                scorer=self._selection_rule.scorer, n_components=k or problem.rank,
            )  # fmt: skip

        parts = judging_parts(
            rows.codes, self._selection_rule.n_folds, self.random_state, **rows.splitting
        )
        return search(settings, score, parts, progress=self._report_progress)

    def _resubstitute_settings(
        self, problem: LDGProblem, settings: list[dict[str, Any]]
    ) -> GridScores:
        """Scores of γ on the rows that were fitted, each left out of its own neighbours (3.4)."""
        rows = problem.rows
        k = min(len(rows.classes) + 5, problem.rank)
        counts = () if settings[0]["n_neighbors"] is None else (settings[0]["n_neighbors"],)
        scatters = next(problem.scatters(counts, local=self.local))
        found = [rows.X @ scatters.leading(s["gamma"], problem.basis, k) for s in settings]
        scores = np.array([[leave_one_out_scores(Z, rows.codes, [k])[0] for Z in found]])
        return GridScores(tuple(settings), scores, settings[best_rule(scores[0])])

    # Solving ----------------------------------------------------------------------------------

    def _n_kept(self, rank: int, n_negative: int, records: Mapping[str, Any]) -> int:
        """How many of the directions to keep, of which some have a negative eigenvalue."""
        if self.n_components is not None:
            return self._n_wanted(rank, "the rank of the centred data", records)
        scored = records.get("gamma")
        if n_negative == 0 and scored is not None and scored.scores.any():
            return 1  # the setting was chosen for the directions it kept in the folds
        return n_negative

    def _solve_problem(self, problem: LDGProblem, scatters: Any, chosen: Chosen) -> Solution:
        basis, steps = problem.basis, np.zeros(0)
        reduced = tridiagonalize(scatters.criterion(chosen.gamma, basis))
        criterion = reduced.evals()
        rank = len(criterion)
        k = self._n_kept(rank, scatters.n_negative(chosen.gamma, -criterion), chosen.records)
        U = reduced.leading(k, criterion)[1]
        U = U if rank == len(basis) else basis @ U
        if self.solver == "gradient" and 0 < k < rank:
            U, criterion, steps = self._descend(problem, scatters, U, criterion, chosen)
        extras = self._chosen_attributes(problem, chosen) | {
            "angle_error_": self._angle_error(problem, scatters, U, chosen),
            "criterion_": criterion[:k],
            "objective_": steps,
            "n_iter_": max(1, len(steps) - 1),
        }
        return Solution(problem.lift(U), criterion, rank, extras=extras)

    def _angle_error(
        self, problem: LDGProblem, scatters: LDGScatters, U: Array, chosen: Chosen
    ) -> float:
        """Standard error of the subspace of the eigenvectors U, in degrees."""
        if problem.queries is None:
            return 0.0
        queries = problem.queries
        others = (s.leading(chosen.gamma, problem.basis, U.shape[1]) for s in scatters.without)
        angle = jackknife_angle(U, others, len(queries.numbers) / queries.n_samples)
        warn_of_queries(self, queries, angle)
        return angle

    def _chosen_attributes(self, problem: LDGProblem, chosen: Chosen) -> dict[str, Any]:
        return {
            "priors_": problem.priors,
            "gamma_": chosen.gamma,
            "n_neighbors_": chosen.n_neighbors,
            "selection_": chosen.records,
        }

    def _descend(
        self,
        problem: LDGProblem,
        scatters: LDGScatters,
        U: Array,
        criterion: Array,
        chosen: Chosen,
    ) -> tuple[Array, Array, Array]:
        """Where the gradient leads, turned so that ``V - γ A`` is diagonal; criteria and steps."""
        objective = problem.gaussians(chosen.n_neighbors)
        descent = orthonormal_descent(objective, U, max_iter=self.max_iter, tol=1e-6)
        if not descent.converged:
            warn_caller(
                f"the gradient solver of LDG stopped after max_iter={self.max_iter} steps before "
                "it converged: raise max_iter to go on",
                ConvergenceWarning,
            )
        evals, W = scatters.smallest(chosen.gamma, descent.B)
        missing = np.clip(criterion, 0.0, None).sum() + np.clip(evals, None, 0.0).sum()
        return W, np.append(-evals, max(missing, 0.0)), descent.values

    def _without_directions(self, solution: Solution) -> str:
        return (
            f"{type(self).__name__} found no direction that separates the classes: with "
            f"gamma={solution.extras['gamma_']:g} rows are as near to other classes as to their "
            "own along every one, as when class means coincide. transform returns no columns; "
            "give n_components to keep the least bad ones."
        )


def gamma_path(estimator: LDG, X: ArrayLike, y: ArrayLike, gammas: Sequence[float]) -> list[LDG]:
    """The model for each of several γ, at hardly more than the cost of one.

    Parameters
    ----------
    estimator : LDG
        Its other parameters are used; it is not changed. What is "auto" among them is chosen
        once, for the first γ.
    X, y : array (n_samples, n_features), (n_samples,)
        Training rows and their labels.
    gammas : sequence of float
        Values of γ.

    Returns
    -------
    list of LDG
        Fitted models.

    Examples
    --------
    >>> from separatrix import LDG, datasets
    >>> from separatrix.ldg import gamma_path
    >>> wine = datasets.load("wine")
    >>> path = gamma_path(LDG(n_neighbors=4), wine.data, wine.target, [0.2, 0.5, 1.0])
    >>> [model.gamma_ for model in path]
    [0.2, 0.5, 1.0]
    """
    if type(estimator) is not LDG:
        raise TypeError(f"gamma_path is for LDG, got a {type(estimator).__name__}")
    if len(gammas) == 0:
        raise ValueError("gammas is empty: give at least one value of gamma in (0, 1]")
    first = clone(estimator).set_params(gamma=float(gammas[0]))
    rows = first._validate(X, y)
    moments = first._summarize(rows)
    problem = first._problem(rows, moments)
    chosen = first._choose(problem)
    scatters = first._scatters(problem, chosen)
    models = [copy(first).set_params(gamma=float(gamma)) for gamma in gammas]
    for model in models:
        check_parameters(model, model._allowed_parameters)
        with_gamma = chosen._replace(gamma=float(model.gamma))
        model._store(moments, model._solve_problem(problem, scatters, with_gamma).oriented())
    return models
