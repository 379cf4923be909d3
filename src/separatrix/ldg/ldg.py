"""Local discriminative Gaussians: near neighbours of the own class, far from those of the others.

Every row is compared with the mean of its nearest neighbours in each class. The directions keep
rows near the mean of their own class and away from the others: the smallest eigenvectors of
``V - γ A``, of which there can be more than classes and features can be more than rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix._warnings import warn_caller
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
from separatrix.base.rows import LabelledData
from separatrix.base.solution import Solution
from separatrix.decision.rules import check_priors
from separatrix.ldg.scatters import (
    DiscriminativeGaussians,
    LDGScatters,
    global_scatters,
    local_scatters,
    orthonormal_descent,
)
from separatrix.linalg import Array, Lift, range_basis
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.neighbours import averaging, class_neighbours
from separatrix.selection import (
    GRID_FOLDS,
    NOTHING_TO_CHOOSE,
    DimensionPath,
    GridScores,
    refit_grid,
    training_parts,
)

GAMMAS = (1.0, 0.8, 0.6, 0.4, 0.2)
"""What ``gamma="auto"`` tries; of equals the first wins, as in the source."""

NEIGHBOURS = (4, 1, 16)
"""What ``n_neighbors="auto"`` tries."""


class LDGProblem(NamedTuple):
    """Rows in the coordinates where the problem is solved.

    Attributes
    ----------
    data : LabelledData
        Centred rows in their span.
    lift : callable
        The way back to all features.
    basis : array
        Orthonormal columns, in the same coordinates, that span the rows.
    priors : array (n_classes,)
    """

    data: LabelledData
    lift: Lift
    basis: Array
    priors: Array

    @classmethod
    def of(cls, data: LabelledData, moments: ClassMoments, priors: Array | None) -> LDGProblem:
        """The problem of these rows; priors are the class shares when not given."""
        small, lift = data.in_span(moments)
        wide = data.X.shape[0] < data.X.shape[1]
        basis = np.eye(small.X.shape[1]) if wide else range_basis(moments.St, moments.eps)
        shares = moments.counts / moments.n_samples
        return cls(small, lift, basis, shares if priors is None else priors)

    def scatters(self, n_neighbors: Sequence[int], *, local: bool) -> Iterator[LDGScatters]:
        """V and A for each number of neighbours, from one search."""
        if not local:
            yield global_scatters(self.data.moments(), self.priors)
            return
        X, codes = self.data.X, self.data.codes
        found = class_neighbours(X, codes, max(n_neighbors))
        for k in n_neighbors:
            yield local_scatters(X, codes, found, self.priors, k)

    def gaussians(self, n_neighbors: int | None) -> DiscriminativeGaussians:
        """The criterion of the gradient solver, with neighbours or with class means."""
        X, codes = self.data.X, self.data.codes
        averages: list[Any]
        if n_neighbors is None:
            ones = aslinearoperator(np.ones((len(codes), 1)))
            members = [codes[None] == j for j in range(len(self.priors))]
            averages = [ones @ aslinearoperator(m / m.sum()) for m in members]
        else:
            rows = np.arange(len(codes))
            found = class_neighbours(X, codes, n_neighbors)
            averages = [averaging(f, rows, len(rows)) for f in found]
        return DiscriminativeGaussians(X, codes, averages, self.priors)


def projection(W: Array) -> Callable[[Any], Array]:
    """What takes rows to their coordinates along W."""
    return lambda rows: rows @ W


def judging_dimension(n_classes: int, rank: int) -> int:
    """Where γ is chosen: five dimensions more than classes, as in the source, or half of all.

    In all dimensions there are every γ would score alike.
    """
    return min(n_classes + 5, max(n_classes - 1, rank // 2, 1))


def tried_neighbours(counts: Array) -> tuple[int, ...]:
    """Numbers of neighbours worth trying: not more than the largest class has beside a row."""
    return tuple(k for k in NEIGHBOURS if k < max(2, counts.max()))


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
        γ, what distance from the other classes is worth beside nearness to the own. "auto" tries
        0.2, 0.4, … 1 by three-fold cross-validation of three nearest neighbours: with
        ``n_components=None`` in the directions that None keeps in the fold, where none scores
        zero, otherwise in five dimensions more than classes or half of all there are.
    n_neighbors : "auto" or int
        k. A class with no more rows than k gives all it has. "auto" tries 1, 4 and 16.
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
        Source of the folds of "auto".
    verbose : bool
        Print how "auto" proceeds.

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

    A row alone in its class has no neighbour there and adds nothing to V. Neighbours are counted,
    not weighed: there is no `sample_weight`. Cost, after the search for neighbours in blocks,
    n·C·d² multiplications; d is the rank of the rows when they are fewer than features.

    "auto" fits again in each fold. Leaving rows out of the neighbours alone, as the source does,
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
    }

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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        return super().fit(X, y)

    def _summarised(self, data: LabelledData) -> ClassMoments:
        # the scatter of rows that are fewer than features is never asked for
        return data.moments(scatter=data.X.shape[0] >= data.X.shape[1])

    def _selected(self, data: LabelledData) -> dict[str, Any]:
        return {}  # choices are made where the problem is solved, in the span of the rows

    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        assert data is not None, "neighbours are sought among rows"
        problem = self._problem(moments, data)
        self._settle(problem)
        return self._solved(problem, next(problem.scatters(self._counts(), local=self.local)))

    def _problem(self, moments: ClassMoments, data: LabelledData) -> LDGProblem:
        problem = LDGProblem.of(data, moments, check_priors(self.priors, data.classes))
        self.priors_ = problem.priors
        self.rank_ = problem.basis.shape[1]
        return problem

    def _counts(self) -> tuple[int, ...]:
        """The number of neighbours, where there is one."""
        return () if self.n_neighbors_ is None else (self.n_neighbors_,)

    # Choosing ---------------------------------------------------------------------------------

    def _settle(self, problem: LDGProblem) -> None:
        """Give γ, k and the dimension their values, by refitting where they are "auto"."""
        gammas = GAMMAS if self.gamma == "auto" else (float(self.gamma),)
        counts: Sequence[Any] = (self.n_neighbors,)
        if self.n_neighbors == "auto":
            counts = tried_neighbours(np.bincount(problem.data.codes))
        if not self.local:
            counts = (None,)
        settings = [{"n_neighbors": k, "gamma": g} for k, g in product(counts, gammas)]
        chosen = self._chosen(problem, settings)
        self.gamma_, self.n_neighbors_ = chosen["gamma"], chosen["n_neighbors"]
        if self.n_components == "auto" and not self._every_direction:
            self.selection_["n_components"] = self._path_of(problem)

    def _chosen(self, problem: LDGProblem, settings: list[dict[str, Any]]) -> dict[str, Any]:
        """The best of the settings; what was tried is recorded."""
        if len(settings) < 2 or self.rank_ == 0:
            return settings[0]
        record = self.selection_["gamma"] = self._refitted(problem, settings)
        return record.chosen

    def _path_of(self, problem: LDGProblem) -> DimensionPath:
        """Held-out scores of each dimension, of the eigenvectors: they are nested."""
        if self.rank_ == 0:
            return NOTHING_TO_CHOOSE
        model = LDG(
            "auto",
            gamma=self.gamma_,
            n_neighbors=self.n_neighbors_ or 1,
            local=self.local,
            priors=self.priors,
            random_state=self.random_state,
        )
        # in the span of the rows, or in a feature space, nothing but the coordinates differs
        return model._dimension_path(problem.data, self._progress)

    def _judged_in(self, data: LabelledData) -> int | None:
        """Dimension in which settings are judged; None is what None would keep in the fold."""
        if self.n_components is None:
            return None
        return judging_dimension(len(data.classes), self.rank_)

    def _refitted(self, problem: LDGProblem, settings: list[dict[str, Any]]) -> GridScores:
        """Scores of settings of γ and k."""
        data = problem.data
        k = self._judged_in(data)
        counts = list(dict.fromkeys(s["n_neighbors"] for s in settings))
        gammas = list(dict.fromkeys(s["gamma"] for s in settings))

        def fit(train: Array) -> Iterator[Callable[[Any], Array]]:
            part = data.rows(train)
            fold = LDGProblem.of(
                part, part.moments(), None if self.priors is None else self.priors_
            )
            for scatters in fold.scatters(counts, local=self.local):
                for gamma in gammas:
                    W = fold.lift(scatters.leading(gamma, fold.basis, k))
                    yield projection(W)

        return refit_grid(
            settings,
            fit,
            lambda numbers: data.X[numbers],
            data.codes,
            training_parts(data.codes, GRID_FOLDS, self.random_state),
            n_components=k or self.rank_,
            progress=self._progress,
        )

    # Solving ----------------------------------------------------------------------------------

    def _n_kept(self, rank: int, negative: int) -> int:
        """How many directions to keep of so many, of which some have a negative eigenvalue."""
        if self.n_components is not None:
            return self._n_wanted(rank, "the rank of the centred data")
        judged = self.selection_.get("gamma")
        if negative == 0 and judged is not None and judged.scores.any():
            return 1  # the setting was chosen for what it kept in the folds
        return negative

    def _solved(self, problem: LDGProblem, scatters: LDGScatters) -> Solution:
        evals, U = scatters.smallest(self.gamma_, problem.basis)
        rank = len(evals)
        k = self._n_kept(rank, scatters.n_negative(self.gamma_, evals))
        self.objective_, self.n_iter_ = np.zeros(0), 1
        U, criterion = U[:, :k], -evals
        if self.solver == "gradient" and 0 < k < rank:
            U, criterion = self._descended(problem, scatters, U, criterion)
        self.criterion_ = criterion[:k]
        return Solution(problem.lift(U), criterion, rank)

    def _descended(
        self, problem: LDGProblem, scatters: LDGScatters, U: Array, criterion: Array
    ) -> tuple[Array, Array]:
        """Where the gradient leads, turned so that ``V - γ A`` is diagonal, and the criteria."""
        objective = problem.gaussians(self.n_neighbors_)
        descent = orthonormal_descent(objective, U, max_iter=self.max_iter, tol=1e-6)
        if not descent.converged:
            warn_caller(
                f"the gradient solver of LDG stopped after max_iter={self.max_iter} steps before "
                "it converged: raise max_iter to go on",
                ConvergenceWarning,
            )
        self.objective_, self.n_iter_ = descent.values, max(1, len(descent.values) - 1)
        evals, W = scatters.smallest(self.gamma_, descent.B)
        missing = np.clip(criterion, 0.0, None).sum() + np.clip(evals, None, 0.0).sum()
        return W, np.append(-evals, max(missing, 0.0))

    def _warn_without_directions(self, n_components: int) -> None:
        if n_components == 0:
            warn_caller(
                f"{type(self).__name__} found no direction that separates the classes: with "
                f"gamma={self.gamma_:g} rows are as near to other classes as to their own along "
                "every one, as when class means coincide. transform returns no columns; give "
                "n_components to keep the least bad ones.",
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
    data = first._validated(X, y)
    moments = first._summarised(data)
    first.selection_ = {}
    problem = first._problem(moments, data)
    first._settle(problem)
    scatters = next(problem.scatters(first._counts(), local=first.local))
    models = [copy(first).set_params(gamma=float(gamma)) for gamma in gammas]
    for model in models:
        check_parameters(model, model._allowed_parameters)
        model.gamma_ = float(model.gamma)
        model._set_solution(moments, model._solved(problem, scatters).oriented())
    return models
