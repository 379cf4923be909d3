"""Local discriminative Gaussians: near neighbours of the own class, far from those of the others.

Every row is compared with the mean of its nearest neighbours in each class. The directions keep
rows near the mean of their own class and away from the others: the smallest eigenvectors of
``V - γ A``, of which there can be more than classes and features can be more than rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from separatrix._warnings import warn_caller
from separatrix.base.block_queries import BlockQueries, check_unweighted, gather_rows
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    array_like,
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
    order_by_content,
    warn_of_queries,
)
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import Solution
from separatrix.decision.linear import check_priors
from separatrix.ldg.choices import AUTO_NEIGHBORS, GAMMAS, choose_gamma
from separatrix.ldg.gradient import (
    MAX_GRADIENT_STEPS,
    DiscriminativeGaussians,
    orthonormal_descent,
)
from separatrix.ldg.scatters import (
    LDGScatters,
    block_scatters,
    global_scatters,
    local_scatters,
    sampled_scatters,
)
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
    dimension_path,
    vote_scores,
)

GAMMA = (one_of("auto"), real_number(0, open_low=True))


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
    features : LabelledRows or None
        The rows in their own features.
    queries : Queries or None
        The rows whose neighbours are searched, where these are not all.
    """

    rows: Any
    lift: Lift
    basis: Array
    priors: Array
    features: Any
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
        """The problem of these rows; without priors the class shares take their place.

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

    def scatters(self, n_neighbors: int | None) -> LDGScatters:
        """V and A, about the means of k neighbours or of the whole classes."""
        if n_neighbors is None:
            return global_scatters(ClassMoments.from_rows(self.rows), self.priors)
        X, codes, weights = self.rows.X, self.rows.codes, self.rows.weights
        if self.queries is None:
            near = class_neighbours(X, codes, n_neighbors, weights=weights)
            return local_scatters(X, codes, near, self.priors, n_neighbors, weights)
        own = self.queries.numbers
        near = class_neighbours(X[own], codes, n_neighbors, among=X, own=own)
        moments = ClassMoments.from_rows(self.rows)
        return sampled_scatters(
            X[own],
            codes[own],
            self.queries,
            lambda at, j: averaging_matrix(near[j][at], own[at], X.shape[0]) @ X,
            moments.means,
            global_scatters(moments, self.priors),
            self.priors,
        )

    def gaussians(self, n_neighbors: int | None) -> DiscriminativeGaussians:
        """The criterion of the gradient solver, with neighbours or with class means."""
        rows, queries = self.rows, self.queries
        make = DiscriminativeGaussians
        if n_neighbors is None:
            return make.about_means(rows, self.priors, queries)
        return make.about_neighbours(rows, self.priors, n_neighbors, queries)


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
        a negative eigenvalue of ``V - γ A``, and at least the leading one where γ was chosen;
        "auto" as many as cross-validation favours, up to 40.
    gamma : "auto" or float in (0, inf]
        γ, the worth of distance from the other classes compared with nearness to the own. "auto"
        fits again in five folds with γ = 0.01, 0.05, 0.2, 0.7 and infinity, and takes the best
        average of 1, 3 and 5 nearest neighbours, in `n_components` dimensions or in those that
        None keeps; or infinity, unless the best is better by more than one standard error. With
        γ = inf nearness does not count: None then keeps the whole space, and a
        number of directions are the principal axes of A.
    n_neighbors : "auto" or int
        k; "auto" is 4. A class with no more rows than k gives all it has.
    local : bool
        False takes the mean of the whole class for the mean of neighbours.
    solver : "eigen" or "gradient"
        "gradient" goes on from the eigenvectors to a local minimum of the criterion that ``V - A``
        bounds from below (3.4), ``Σ_i log Σ_j p_j exp(-‖BᵀΔ_ij‖²/2) + ‖BᵀΔ_ig‖²/2``. It depends on
        the units: standardise the features first. Its directions depend on how many are kept.
    priors : array (n_classes,) or None
        p; the proportions in the training data by default.
    n_queries : "auto", int or None
        Number of rows, drawn by class, whose neighbours are searched among all rows: V and A are
        estimated by them. None takes all; "auto" all rows up to 65,536, and 20,000 of more, with
        a warning. With `sample_weight` all rows are taken. All rows of a Dask collection are
        brought into memory where none are drawn.
    random_state : int, RandomState or None
        Source of the folds of "auto", and of the rows that `n_queries` draws.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Orthonormal directions by ascending eigenvalue.
    criterion_ : array (n_components,)
        ``bᵀ (γ A - V) b`` of each: minus the eigenvalues.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of all positive criteria.
    gamma_, n_neighbors_ : number
        The values used; ``n_neighbors_`` is None when not local.
    priors_ : array (n_classes,)
    objective_ : array
        Values of the criterion of the gradient solver from its start on; empty for "eigen".
    n_iter_ : int
        Steps of the solver; 1 for "eigen".
    angle_error_ : float
        Standard error of the subspace in degrees, where `n_queries` rows stand for all: how far
        its directions are from those of all rows. Zero where none are drawn.
    selection_ : dict
        The scores behind "auto": under "n_components" a `selection.DimensionPath`, under "gamma"
        a `selection.GridScores`.
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

    The order of the rows changes nothing: folds are dealt, and equal distances decided, in an
    order that follows from the values of the rows.

    Cost, after the search for neighbours in blocks, n·C·d² multiplications; d is the rank of the
    rows when they are fewer than features. "auto" costs about eight such fits, as each fold is
    fitted once for all γ. Choosing by rows left out of their own neighbours, but not of the fit,
    as the thesis does, overfits when features are more than rows. A search over k gained nothing
    over k = 4 (19 sets of series and 9 tables, `benchmarks.choices`).

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
        "gamma": GAMMA,
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "local": (YES_OR_NO,),
        "solver": (one_of("eigen", "gradient"),),
        "priors": (one_of(None), array_like()),
        "n_queries": N_QUERIES,
    }
    _accepts_blocks = True
    n_queries: int | str | None = None  # of the methods that build on this one, too
    angle_error_: Any
    criterion_: Any
    gamma_: Any
    n_iter_: Any
    n_neighbors_: Any
    objective_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        gamma: float | str = "auto",
        n_neighbors: int | str = "auto",
        local: bool = True,
        solver: str = "eigen",
        priors: ArrayLike | None = None,
        n_queries: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.solver = solver
        self.priors = priors
        self.n_queries = n_queries
        self.random_state = random_state

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        rows = self._checked(X, y, sample_weight, **splitting)
        # a splitter may go by the places of the rows
        return rows if rows.cv is not None else rows.subset(order_by_content(rows))

    def _checked(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        """Valid rows of positive weight, in the order they came in."""
        rows = super()._validate(X, y, sample_weight, **splitting)
        if rows.weights is not None:
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
        if self._k is not None and n_queries is not None:
            drawn = BlockQueries.draw(blocks, moments, n_queries, self.random_state)
            scatters = block_scatters(drawn, self._k, moments, scatters, priors)
            problem = problem._replace(rows=drawn.rows, features=drawn.rows, queries=drawn.queries)
        return self._solve_problem(problem, scatters, float(self.gamma), {})

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if isinstance(rows, Blocks):
            return self._solve_blocks(moments, rows)
        problem = self._problem(rows, moments)
        gamma, records = self._choose(problem)
        return self._solve_problem(problem, problem.scatters(self._k), gamma, records)

    def _problem(
        self, rows: LabelledRows, moments: ClassMoments, *, spanned: bool = False
    ) -> LDGProblem:
        priors = check_priors(self.priors, rows.classes)
        n_queries = self.n_queries if self.local else None  # class means are those of all rows
        return LDGProblem.of(rows, moments, priors, n_queries, self.random_state, spanned=spanned)

    @property
    def _k(self) -> int | None:
        """The number of neighbours; None where class means take their place."""
        if not self.local:
            return None
        return AUTO_NEIGHBORS if isinstance(self.n_neighbors, str) else int(self.n_neighbors)

    # Choosing ---------------------------------------------------------------------------------

    def _choose(self, problem: LDGProblem) -> tuple[float, dict[str, Any]]:
        """γ, and the records of all that "auto" leaves to rows held out."""
        records: dict[str, Any] = {}
        gamma = GAMMAS[-1] if self.gamma == "auto" else float(self.gamma)
        if self.gamma == "auto" and problem.rank > 0:
            records["gamma"] = self._score_gammas(problem)
            gamma = records["gamma"].chosen["gamma"]
        if self.n_components == "auto":
            records["n_components"] = self._score_dimensions(problem, gamma)
        return gamma, records

    def _judged_dimension(self, problem: LDGProblem) -> int | None:
        """Dimension in which γ is judged; None is the one that None keeps in the fold."""
        if self.n_components is None or self.n_components == "auto":
            return None
        asked = isinstance(self.n_components, Integral) and self.n_components < problem.rank
        if asked and not isinstance(self.n_components, AtMost):
            return int(self.n_components)
        # in all dimensions every γ would score alike
        n_classes = len(problem.rows.classes)
        return min(n_classes + 5, max(n_classes - 1, problem.rank // 2, 1))

    def _score_gammas(self, problem: LDGProblem) -> GridScores:
        """Held-out scores of each γ, fitted again in the folds."""
        rows, k = problem.rows, self._judged_dimension(problem)

        def fit(train: Array) -> Iterator[Callable[[Any], Array]]:
            part = rows.subset(train)
            priors = None if self.priors is None else problem.priors
            n_queries = None if problem.queries is None else len(problem.queries.numbers)
            fold = LDGProblem.of(part, ClassMoments.from_rows(part), priors, n_queries)
            scatters = fold.scatters(self._k)
            for gamma in GAMMAS:
                yield projection(fold.lift(scatters.leading(gamma, fold.basis, k)))

        return choose_gamma(fit, rows, k or problem.rank, self.random_state)

    def _score_dimensions(self, problem: LDGProblem, gamma: float) -> DimensionPath:
        """Scores of each dimension, of the eigenvectors: they are nested."""
        if problem.rank == 0:
            return NOTHING_TO_CHOOSE
        model = LDG(
            "auto",
            gamma=gamma,
            n_neighbors=self._k or 1,
            local=self.local,
            priors=self.priors,
            n_queries=None if problem.queries is None else len(problem.queries.numbers),
        )
        # in the span of the rows, or in a feature space, nothing but the coordinates differs
        return self._path_of(model, problem.rows)

    def _path_of(self, model: Any, rows: LabelledRows) -> DimensionPath:
        return dimension_path(
            model,
            rows.X,
            rows.labels,
            vote_scores,
            fit_params={} if rows.weights is None else {"sample_weight": rows.weights},
            **rows.splitting,
            random_state=self.random_state,
        )

    # Solving ----------------------------------------------------------------------------------

    def _n_kept(self, rank: int, n_negative: int, records: Mapping[str, Any]) -> int:
        """How many of the directions to keep, of which some have a negative eigenvalue."""
        if self.n_components is not None:
            return self._n_wanted(rank, "the rank of the centred data", records)
        scored = records.get("gamma")
        if n_negative == 0 and scored is not None and scored.scores.any():
            return 1  # the setting was chosen for the directions it kept in the folds
        return n_negative

    def _solve_problem(
        self, problem: LDGProblem, scatters: Any, gamma: float, records: dict[str, Any]
    ) -> Solution:
        basis, steps = problem.basis, np.zeros(0)
        reduced = tridiagonalize(scatters.criterion(gamma, basis))
        criterion = reduced.evals()
        rank = len(criterion)
        k = self._n_kept(rank, scatters.n_negative(gamma, -criterion), records)
        U = reduced.leading(k, criterion)[1]
        U = U if rank == len(basis) else basis @ U
        if self.solver == "gradient" and 0 < k < rank:
            U, criterion, steps = self._descend(problem, scatters, U, criterion, gamma)
        extras = self._chosen_attributes(problem, gamma, records) | {
            "angle_error_": self._angle_error(problem, scatters, U, gamma),
            "criterion_": criterion[:k],
            "objective_": steps,
            "n_iter_": max(1, len(steps) - 1),
        }
        return Solution(problem.lift(U), criterion, rank, extras=extras)

    def _angle_error(
        self, problem: LDGProblem, scatters: LDGScatters, U: Array, gamma: float
    ) -> float:
        """Standard error of the subspace of the eigenvectors U, in degrees."""
        if problem.queries is None:
            return 0.0
        queries = problem.queries
        others = (s.leading(gamma, problem.basis, U.shape[1]) for s in scatters.without)
        angle = jackknife_angle(U, others, len(queries.numbers) / queries.n_samples)
        warn_of_queries(self, queries, angle)
        return angle

    def _chosen_attributes(
        self, problem: LDGProblem, gamma: float, records: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "priors_": problem.priors,
            "gamma_": gamma,
            "n_neighbors_": self._k,
            "selection_": records,
        }

    def _descend(
        self,
        problem: LDGProblem,
        scatters: LDGScatters,
        U: Array,
        criterion: Array,
        gamma: float,
    ) -> tuple[Array, Array, Array]:
        """Where the gradient leads, turned so that ``V - γ A`` is diagonal; criteria and steps."""
        descent = orthonormal_descent(problem.gaussians(self._k), U)
        if not descent.converged:
            warn_caller(
                f"the gradient solver of LDG stopped after {MAX_GRADIENT_STEPS} steps before it "
                'converged: standardise the features, or use solver="eigen"',
                ConvergenceWarning,
            )
        evals, W = scatters.smallest(gamma, descent.B)
        missing = np.clip(criterion, 0.0, None).sum() + np.clip(evals, None, 0.0).sum()
        return W, np.append(-evals, max(missing, 0.0)), descent.values

    def _without_directions(self, solution: Solution) -> str:
        return (
            f"{type(self).__name__} found no direction that separates the classes: with "
            f"gamma={solution.extras['gamma_']:g} rows are as near to other classes as to their "
            "own along every one, as when class means coincide. transform returns no columns; "
            "give n_components to keep the least bad ones."
        )
