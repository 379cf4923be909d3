"""Local discriminative Gaussians across domains: many rows of a source, few of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from separatrix.base.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.queries import order_by_content
from separatrix.base.rows import unchanged_on_failure
from separatrix.base.solution import Solution
from separatrix.ldg.choices import GAMMAS
from separatrix.ldg.ldg import GAMMA, LDG, LDGProblem, projection
from separatrix.ldg.scatters import LDGScatters, local_scatters, scatters_about
from separatrix.linalg import Array, range_basis
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import class_neighbours
from separatrix.selection import (
    MAX_COMPONENTS,
    NOTHING_TO_CHOOSE,
    DimensionPath,
    GridScores,
    neighbour_scores,
    pick_dimension,
    score_projections,
    search,
    vote_scores,
)
from separatrix.transfer.distance import measure_domains
from separatrix.transfer.domains import check_domains, labelled_rows

FAR_APART = 0.15
"""Distance τ²/σ² of domains from which the rows of the target decide alone. It is 0.26 and 0.30
for MNIST and USPS, where that gains 6 and 5 points, and at most 0.1 for pairs of Office and
Caltech, where it loses up to 8 (`benchmarks.domains`)."""

TARGET_FOLDS = 10
"""Folds of the target rows: they are few, and most are needed for the fit."""


# The mathematics -----------------------------------------------------------------------------


class DomainScatters:
    """V and A of source and of target rows; all means and priors are those of the source.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows of both domains, near the origin.
    codes : array (n_samples,)
        Their classes.
    source : array of bool (n_samples,)
        Which rows are of the source domain.
    n_neighbors : int or None
        k; None stands for class means.
    """

    def __init__(self, X: Any, codes: Array, source: Array, n_neighbors: int | None) -> None:
        self.rows = {True: X[source], False: X[~source]}
        self.codes = {True: codes[source], False: codes[~source]}
        counts = np.bincount(self.codes[True])
        self.priors = counts / counts.sum()
        self.n_neighbors = n_neighbors
        if n_neighbors is not None:
            search = (self.codes[True], n_neighbors)
            self.neighbours = {
                True: class_neighbours(self.rows[True], *search),
                False: class_neighbours(self.rows[False], *search, among=self.rows[True]),
            }
        else:
            rows = LabelledRows(self.rows[True], self.codes[True], np.arange(len(counts)))
            self.means = ClassMoments.from_rows(rows, scatter=False).means

    def of_source(self) -> LDGScatters:
        """V and A of all source rows."""
        rows, codes, k = self.rows[True], self.codes[True], self.n_neighbors
        if k is None:
            return scatters_about(lambda _, j: self.means[j], rows, codes, self.priors)
        return local_scatters(rows, codes, self.neighbours[True], self.priors, k)

    def of_target(self, some: Array) -> LDGScatters:
        """The same for some of the target rows, by number or by a mask."""
        rows, codes, k = self.rows[False][some], self.codes[False][some], self.n_neighbors
        if k is None:
            return scatters_about(lambda _, j: self.means[j], rows, codes, self.priors)
        found = [f[some] for f in self.neighbours[False]]
        return local_scatters(rows, codes, found, self.priors, k, among=self.rows[True])


def check_source(sample_domain: ArrayLike | None, rows: LabelledRows) -> Array:
    """Which rows are of a source, or an error where it lacks a class."""
    source = check_domains(sample_domain, rows.X.shape[0]) > 0
    missing = np.setdiff1d(np.arange(len(rows.classes)), rows.codes[source])
    if len(missing):
        raise ValueError(
            f"the source has no rows of class {rows.classes[missing].tolist()[0]!r}: "
            "neighbours are searched there, so every class must be among the rows with a "
            "positive sample_domain"
        )
    return source


# Estimators ----------------------------------------------------------------------------------


class TransferLDG(LDG):
    """Directions in which the few labelled rows of a target lie among their class in a source.

    Transfer LDG: minimises ``tr Bᵀ ((1 - α) (V_T - γ A_T) + α (V_S - γ A_S)) B`` subject to
    ``BᵀB = I``, with V and A as in `LDG`, summed over the rows of the target and of the source.
    All means of neighbours and all priors are those of the source: target rows are drawn to
    source rows of their class and driven from those of the others.

    Parameters
    ----------
    n_components : int, "auto" or None
        As in `LDG`.
    alpha : "auto" or float in [0, 1]
        α, the weight of each source row; 1 - α is that of a target row. 1 is `LDG` of the source.
        "auto" is ``1 / (1 + w)`` with the weight w of `TargetWeighted`, and 0 where the domains
        are so far apart that τ²/σ² there is above 0.15.
    gamma : "auto" or float in (0, inf]
        γ, as in `LDG`; "auto" is judged by target rows left out in turn.
    n_neighbors : "auto" or int
        As in `LDG`.
    local : bool
        As in `LDG`.
    random_state : int, RandomState or None
        Source of the folds of "auto".

    Attributes
    ----------
    alpha_ : float
        The α that was used; 1 when there are no target rows.
    components_, criterion_, explained_ratio_, gamma_, n_neighbors_
        As in `LDG`.
    priors_ : array (n_classes,)
        Proportions of the classes in the source.
    selection_ : dict
        As in `LDG`.
    mean_, means_, classes_, rank_
        As in `LDG`, of all rows.

    Notes
    -----
    ``components_ @ components_.T`` is the identity, and the matrix above is diagonal and ascending
    in the components.

    There is no `sample_weight`: α weighs the domains, and the means of neighbours are those of the
    source. `TargetWeighted` takes estimators with weights.

    Standardise the domains apart before (`DomainScaler`): rows are compared across them. The
    published objective (4.3) weighs the two terms of a row otherwise than its analysis (4.14)
    does; the weights here are those of the analysis. The thesis chooses α by the rows that were
    fitted, which takes 0 even when source and target are the same; rows left out are too few to
    choose it by. Here the distance of the domains decides.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), chapter 4, equations 4.2-4.14.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import TransferLDG
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(120) % 2
    >>> X = rng.normal(size=(120, 3)) + 3 * y[:, None] * [1, 1, 0]
    >>> domain = np.where(np.arange(120) < 90, 1, -1)
    >>> X[domain < 0, 1] *= -1  # a feature that means something else in the target
    >>> model = TransferLDG(1, alpha=0.0, gamma=0.6, n_neighbors=4)
    >>> w = model.fit(X, y, sample_domain=domain).components_[0]
    >>> bool(abs(w[0]) > 3 * abs(w[1]))
    True
    """

    _accepts_blocks = False
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "alpha": (one_of("auto"), real_number(0, 1)),
        "gamma": GAMMA,
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "local": (YES_OR_NO,),
    }
    alpha_: Any
    priors = None
    solver = "eigen"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        gamma: float | str = "auto",
        n_neighbors: int | str = "auto",
        local: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.random_state = random_state

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows of both domains, each standardised.
        y : array (n_samples,)
            Their class labels. Rows of the target may be without one: None, NaN, or -1 where
            that is no label of the source. They take no part here, but in `DomainScaler`.
        sample_domain : array of int (n_samples,), optional
            Positive for rows of the source, negative for rows of the target. Without it all rows
            are of the source, which is `LDG`.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            if sample_domain is not None and len(np.shape(y)) == 1:
                given = check_domains(sample_domain, len(np.asarray(y)))
                known = np.flatnonzero(labelled_rows(y, given > 0))
                if len(known) < len(given):
                    X, sample_domain = _safe_indexing(X, known), given[known]
                    # what is left may have a simpler type
                    y = np.array(np.asarray(y)[known].tolist())
            rows = self._checked(X, y)
            source = check_source(sample_domain, rows)
            order = order_by_content(rows)
            rows, source = rows.subset(order), source[order]
            moments = self._summarize(rows)
            solution = self._find(moments, rows, {"source": source})
            self._store(moments, solution)
        return self

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        source = selected["source"]
        if source.all():
            return super()._solve(moments, rows, selected).with_extras(alpha_=1.0)
        problem = LDGProblem.of(rows, moments, None)
        alpha = self._alpha(rows, source)
        scatters = DomainScatters(problem.rows.X, problem.rows.codes, source, self._k)
        problem = problem._replace(priors=scatters.priors)
        gamma = GAMMAS[-1] if self.gamma == "auto" else float(self.gamma)
        records: dict[str, Any] = {}
        if self.gamma == "auto" and problem.rank > 0:
            records["gamma"] = self._score_on_target(problem, scatters, alpha, source)
            gamma = records["gamma"].chosen["gamma"]
        if self.n_components == "auto":
            records["n_components"] = self._target_path(problem, scatters, alpha, gamma, source)
        everything = np.ones(np.count_nonzero(~source), dtype=bool)
        total = scatters.of_target(everything).plus(scatters.of_source(), 1 - alpha, alpha)
        return self._solve_problem(problem, total, gamma, records).with_extras(alpha_=alpha)

    # Choosing ---------------------------------------------------------------------------------

    def _alpha(self, rows: LabelledRows, source: Array) -> float:
        """α, by the distance of the domains where it is "auto"."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        distance = measure_domains(rows.X, rows.codes, source)
        return 0.0 if distance.relative > FAR_APART else 1 / (1 + distance.weight)

    def _parts(self, codes: Array, source: Array) -> list[tuple[Array, Array]]:
        """All rows but some of the target, and these, for each fold."""
        target = np.flatnonzero(~source)
        n_folds = min(len(target), TARGET_FOLDS)
        held = [target]
        if n_folds > 1:
            folds = KFold(n_folds, shuffle=True, random_state=self.random_state)
            held = [target[some] for _, some in folds.split(target)]
        return [(np.setdiff1d(np.arange(len(codes)), rows), rows) for rows in held]

    def _refits(
        self,
        problem: LDGProblem,
        scatters: DomainScatters,
        alpha: float,
        gammas: Sequence[float],
        n_components: int | None,
        source: Array,
    ) -> Callable[[Array], Iterator[Callable[[Any], Array]]]:
        """What fits every γ to some rows; the source is summed once for all folds."""
        of_source = scatters.of_source()
        target = np.flatnonzero(~source)

        def fit(train: Array) -> Iterator[Callable[[Any], Array]]:
            part = problem.rows.subset(train)
            basis = range_basis(ClassMoments.from_rows(part).St)
            of_target = scatters.of_target(np.isin(target, train))
            total = of_target.plus(of_source, 1 - alpha, alpha)
            for gamma in gammas:
                yield projection(total.leading(gamma, basis, n_components))

        return fit

    def _score_on_target(
        self, problem: LDGProblem, scatters: DomainScatters, alpha: float, source: Array
    ) -> GridScores:
        """Scores of each γ on target rows that were left out."""
        rows = problem.rows
        k = self._judged_dimension(problem)
        fit = self._refits(problem, scatters, alpha, GAMMAS, k, source)

        def score(train: Array, held: Array) -> list[float]:
            X, codes = rows.X, rows.codes
            return score_projections(
                fit(train), X[train], codes[train], X[held], codes[held],
                scorer=vote_scores, n_components=k or problem.rank,
            )  # fmt: skip

        return search([{"gamma": g} for g in GAMMAS], score, self._parts(rows.codes, source))

    def _target_path(
        self,
        problem: LDGProblem,
        scatters: DomainScatters,
        alpha: float,
        gamma: float,
        source: Array,
    ) -> DimensionPath:
        """Scores of each dimension on target rows that were left out."""
        rows = problem.rows
        fit = self._refits(problem, scatters, alpha, [gamma], MAX_COMPONENTS, source)

        def score(train: Array, held: Array) -> Array:
            project = next(fit(train))
            Z, Z_held = project(rows.X[train]), project(rows.X[held])
            ends = np.arange(1, Z.shape[1] + 1)
            return neighbour_scores(Z, rows.codes[train], Z_held, rows.codes[held], ends)

        tried = [{"n_components": k} for k in range(1, MAX_COMPONENTS + 1)]
        scores = search(tried, score, self._parts(rows.codes, source)).scores
        if not scores.size:
            return NOTHING_TO_CHOOSE
        dimensions = np.arange(1, scores.shape[1] + 1)
        return pick_dimension(dimensions, scores, "best", len(rows.classes))
