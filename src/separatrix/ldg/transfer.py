"""Local discriminative Gaussians across domains: many rows of a source, few of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._warnings import warn_caller
from separatrix.base.blockwise import lazy_on_dask
from separatrix.base.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.rows import unchanged_on_failure
from separatrix.base.solution import Solution
from separatrix.ldg.choices import GAMMAS, tried_neighbours
from separatrix.ldg.ldg import LDG, Chosen, LDGProblem, projection
from separatrix.ldg.scatters import LDGScatters, local_scatters, scatters_about, varying_features
from separatrix.linalg import Array, range_basis
from separatrix.moments.checks import check_entries, check_in_memory
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import class_neighbours
from separatrix.selection import (
    MAX_COMPONENTS,
    NOTHING_TO_CHOOSE,
    DimensionPath,
    GridScores,
    deal_folds,
    fold_parts,
    neighbour_scores,
    pick_dimension,
    refit_grid,
)

ALPHAS = (0.1, 0.01, 0.0, 0.5, 1.0)
"""What ``alpha="auto"`` tries; of equals the first wins. Rows of the source are usually many."""

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
    n_neighbors : sequence of int
        Numbers of neighbours that will be asked for; none when class means are wanted.
    """

    def __init__(self, X: Any, codes: Array, source: Array, n_neighbors: Sequence[int]) -> None:
        self.rows = {True: X[source], False: X[~source]}
        self.codes = {True: codes[source], False: codes[~source]}
        counts = np.bincount(self.codes[True])
        self.priors = counts / counts.sum()
        if n_neighbors:
            search = (self.codes[True], max(n_neighbors))
            self.neighbours = {
                True: class_neighbours(self.rows[True], *search),
                False: class_neighbours(self.rows[False], *search, among=self.rows[True]),
            }
        else:
            rows = LabelledRows(self.rows[True], self.codes[True], np.arange(len(counts)))
            self.means = ClassMoments.from_rows(rows, scatter=False).means

    def of_source(self, k: int | None) -> LDGScatters:
        """With k neighbours, or with class means."""
        rows, codes = self.rows[True], self.codes[True]
        if k is None:
            return scatters_about(lambda _, j: self.means[j], rows, codes, self.priors)
        return local_scatters(rows, codes, self.neighbours[True], self.priors, k)

    def of_target(self, k: int | None, some: Array) -> LDGScatters:
        """The same for some of the target rows, by number or by a mask."""
        rows, codes = self.rows[False][some], self.codes[False][some]
        if k is None:
            return scatters_about(lambda _, j: self.means[j], rows, codes, self.priors)
        found = [f[some] for f in self.neighbours[False]]
        return local_scatters(rows, codes, found, self.priors, k, among=self.rows[True])


def check_domains(sample_domain: ArrayLike | None, n_samples: int) -> Array:
    """Domains as integers, one source when not given, or an error that says what is wrong."""
    if sample_domain is None:
        return np.ones(n_samples, dtype=int)
    domains = np.asarray(sample_domain)
    if domains.shape != (n_samples,):
        raise ValueError(f"sample_domain has shape {domains.shape}, expected ({n_samples},)")
    whole = domains.dtype.kind in "iuf" and bool((domains == np.round(domains)).all())
    if not (whole and domains.all()):
        raise ValueError(
            "sample_domain must hold positive whole numbers for rows of a source and negative "
            f"ones for rows of the target, got {np.unique(domains).tolist()[:5]}"
        )
    return domains.astype(int)


def check_source(sample_domain: ArrayLike | None, rows: LabelledRows) -> Array:
    """Which rows are of a source, or an error where it lacks a class."""
    source = check_domains(sample_domain, rows.X.shape[0]) > 0
    missing = np.setdiff1d(np.arange(len(rows.classes)), rows.codes[source])
    if len(missing):
        raise ValueError(
            f"the source has no rows of class {rows.classes[missing].tolist()[0]!r}: "
            "neighbours are sought there, so every class must be among the rows with a "
            "positive sample_domain"
        )
    return source


# Estimators ----------------------------------------------------------------------------------


@lazy_on_dask
class DomainScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Features of mean zero and variance one in each domain, by its own mean and variance.

    What two domains differ in most are often the levels and scales of their features.
    `TransferLDG` compares rows across domains and wants these taken off.

    Attributes
    ----------
    domains_ : array (n_domains,)
        Domains that were seen, sorted.
    means_, scales_ : array (n_domains, n_features)
        Mean and standard deviation of each feature in each. A domain of one row has the pooled
        deviation of the others.
    kept_ : array of bool (n_features,)
        Features that vary in every domain of more than one row. The others become zero in all:
        what is constant in one domain cannot be compared with it.

    Notes
    -----
    The transformed rows of each domain that `fit` has seen have mean zero and variance one in
    every kept feature.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import DomainScaler
    >>> X, domain = np.array([[0.0], [2.0], [10.0], [30.0]]), [1, 1, -1, -1]
    >>> DomainScaler().fit_transform(X, sample_domain=domain).ravel()
    array([-1.,  1., -1.,  1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: there is none

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Find mean and scale of the features in each domain.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows of all domains.
        y : array, optional
            Not used.
        sample_domain : array of int (n_samples,), optional
            Positive for rows of a source, negative for rows of the target; one source by default.

        Returns
        -------
        self
            The fitted scaler.
        """
        check_in_memory(X, type(self).__name__)
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        check_entries(rows)
        domains = check_domains(sample_domain, len(rows))
        self.domains_ = np.unique(domains)
        parts = [rows[domains == domain] for domain in self.domains_]
        self.means_ = np.stack([part.mean(axis=0, dtype=np.float64) for part in parts])
        self.scales_ = np.stack([part.std(axis=0, dtype=np.float64) for part in parts])
        counts = np.array([len(part) for part in parts])
        several = counts > 1
        if several.any():
            vary = [varying_features(part) for part in parts if len(part) > 1]
            self.kept_ = np.logical_and.reduce(vary)
        else:
            self.kept_ = np.zeros(rows.shape[1], dtype=bool)
        if several.any() and not several.all():
            pooled = np.average(self.scales_[several] ** 2, axis=0, weights=counts[several])
            self.scales_[~several] = np.sqrt(pooled)
            warn_caller(
                f"domain {self.domains_[~several].tolist()[0]} has only one row, which has no "
                "scale: that of the other domains is used for it"
            )
        if not self.kept_.any():
            warn_caller(
                "DomainScaler keeps no feature: none varies in every domain, and transform "
                "returns zeros"
            )
        return self

    def transform(self, X: ArrayLike, sample_domain: ArrayLike | None = None) -> Array:
        """Standardise rows by the domain they come from.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows; of a Dask collection, which is standardised lazily, all of the target, or of the
            only domain there is.
        sample_domain : array of int (n_samples,), optional
            Their domains; the target by default, or the only domain there is.

        Returns
        -------
        array (n_samples, n_features)
            Standardised rows, of the dtype of X.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        at = np.searchsorted(self.domains_, self._domains(sample_domain, len(rows)))
        scales = np.where(self.kept_, self.scales_, np.inf)
        return ((rows - self.means_[at]) / scales[at]).astype(rows.dtype)

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_domain: ArrayLike | None = None
    ) -> Array:
        """Fit to rows and standardise them."""
        return self.fit(X, y, sample_domain).transform(X, sample_domain)

    def _domains(self, sample_domain: ArrayLike | None, n_samples: int) -> Array:
        if sample_domain is not None:
            domains = check_domains(sample_domain, n_samples)
            unseen = np.setdiff1d(domains, self.domains_)
            if len(unseen):
                raise ValueError(
                    f"sample_domain has domains that fit has not seen: {unseen.tolist()[:5]}; it "
                    f"has seen {self.domains_.tolist()[:10]}"
                )
            return domains
        default = self.domains_[self.domains_ < 0] if len(self.domains_) > 1 else self.domains_
        if len(default) != 1:
            raise ValueError(
                "sample_domain is needed: fit has seen no target or several, namely "
                f"{self.domains_.tolist()[:10]}"
            )
        return np.full(n_samples, default[0])


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
        "auto" tries 0, 0.01, 0.1, 0.5 and 1 on target rows left out in turn.
    gamma : "auto" or float in (0, 1]
        γ, as in `LDG`; "auto" is judged by target rows left out in turn.
    n_neighbors : "auto" or int
        As in `LDG`.
    local : bool
        As in `LDG`.
    random_state : int, RandomState or None
        Source of the folds of "auto".
    verbose : bool
        Print how "auto" proceeds.

    Attributes
    ----------
    alpha_ : float
        The α that was used; 1 when there are no target rows.
    components_, criterion_, explained_ratio_, gamma_, n_neighbors_
        As in `LDG`.
    priors_ : array (n_classes,)
        Proportions of the classes in the source.
    selection_ : dict
        As in `LDG`; settings under "gamma" name alpha too.
    mean_, means_, classes_, rank_
        As in `LDG`, of all rows.

    Notes
    -----
    ``components_ @ components_.T`` is the identity, and the matrix above is diagonal and ascending
    in the components.

    Standardise the domains apart before (`DomainScaler`): rows are compared across them. The
    published objective (4.3) weighs the two terms of a row otherwise than its analysis (4.14)
    does; the weights here are those of the analysis. Choosing α by the rows that were fitted
    takes 0 even when source and target are the same: here rows are left out.

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

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "alpha": (one_of("auto"), real_number(0, 1)),
        "gamma": (one_of("auto"), real_number(0, 1, open_low=True)),
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "local": (YES_OR_NO,),
        "verbose": (YES_OR_NO,),
    }
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
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike | None = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows of both domains, each standardised.
        y : array (n_samples,)
            Their class labels.
        sample_domain : array of int (n_samples,), optional
            Positive for rows of the source, negative for rows of the target. Without it all rows
            are of the source, which is `LDG`.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            rows = self._validate(X, y)
            source = check_source(sample_domain, rows)
            moments = self._summarize(rows)
            solution = self._find(moments, rows, {"source": source})
            self._store(moments, solution)
        return self

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        source = selected["source"]
        if source.all():
            return super()._solve(moments, rows, selected).with_extras(alpha_=1.0)
        problem = LDGProblem.of(rows, moments, None)
        settings = self._settings(problem, source)
        counts = tuple(dict.fromkeys(s["n_neighbors"] for s in settings)) if self.local else ()
        scatters = DomainScatters(problem.rows.X, problem.rows.codes, source, counts)
        problem = problem._replace(priors=scatters.priors)
        best: Mapping[str, Any] = settings[0]
        records: dict[str, Any] = {}
        if len(settings) > 1 and problem.rank > 0:
            records["gamma"] = self._score_on_target(problem, scatters, settings, source)
            best = records["gamma"].chosen
        if self.n_components == "auto":
            records["n_components"] = self._target_path(problem, scatters, best, source)
        alpha, k = best["alpha"], best["n_neighbors"]
        everything = np.ones(np.count_nonzero(~source), dtype=bool)
        total = scatters.of_target(k, everything).plus(scatters.of_source(k), 1 - alpha, alpha)
        chosen = Chosen(best["gamma"], k, records)
        return self._solve_problem(problem, total, chosen).with_extras(alpha_=alpha)

    # Choosing ---------------------------------------------------------------------------------

    def _settings(self, problem: LDGProblem, source: Array) -> list[dict[str, Any]]:
        """Values of k, α and γ to try, the preferred ones first."""
        counts: Sequence[Any] = (self.n_neighbors,)
        if self.n_neighbors == "auto":
            counts = tried_neighbours(np.bincount(problem.rows.codes[source]))
        grid = product(
            counts if self.local else (None,),
            ALPHAS if self.alpha == "auto" else (float(self.alpha),),
            GAMMAS if self.gamma == "auto" else (float(self.gamma),),
        )
        return [{"n_neighbors": k, "alpha": a, "gamma": g} for k, a, g in grid]

    def _parts(self, codes: Array, source: Array) -> list[tuple[Array, Array]]:
        """All rows but some of the target, and these, for each fold."""
        target = np.flatnonzero(~source)
        n_folds = min(len(target), TARGET_FOLDS)
        folds = np.full(len(codes), -1)
        folds[target] = deal_folds(codes[target], n_folds, self.random_state)
        return fold_parts(folds)

    def _refits(
        self,
        problem: LDGProblem,
        scatters: DomainScatters,
        settings: list[dict[str, Any]],
        n_components: int | None,
        source: Array,
    ) -> Callable[[Array], Iterator[Callable[[Any], Array]]]:
        """What fits every setting to some rows; the source is summed once for all folds."""
        of_source = cache(scatters.of_source)
        target = np.flatnonzero(~source)

        def fit(train: Array) -> Iterator[Callable[[Any], Array]]:
            part = problem.rows.subset(train)
            basis = range_basis(ClassMoments.from_rows(part).St)
            of_target = cache(partial(scatters.of_target, some=np.isin(target, train)))
            for setting in settings:
                k, alpha = setting["n_neighbors"], setting["alpha"]
                total = of_target(k).plus(of_source(k), 1 - alpha, alpha)
                yield projection(total.leading(setting["gamma"], basis, n_components))

        return fit

    def _score_on_target(
        self,
        problem: LDGProblem,
        scatters: DomainScatters,
        settings: list[dict[str, Any]],
        source: Array,
    ) -> GridScores:
        """Scores of settings on target rows that were left out."""
        rows = problem.rows
        k = self._scoring_dimension(problem)
        return refit_grid(
            settings,
            self._refits(problem, scatters, settings, k, source),
            lambda numbers: rows.X[numbers],
            rows.codes,
            self._parts(rows.codes, source),
            n_components=k or problem.rank,
            progress=self._report_progress,
        )

    def _target_path(
        self,
        problem: LDGProblem,
        scatters: DomainScatters,
        setting: Mapping[str, Any],
        source: Array,
    ) -> DimensionPath:
        """Scores of each dimension on target rows that were left out."""
        rows = problem.rows
        fit = self._refits(problem, scatters, [dict(setting)], MAX_COMPONENTS, source)
        found = []
        parts = self._parts(rows.codes, source)
        for i, (train, held) in enumerate(parts):
            project = next(fit(train))
            Z, Z_held = project(rows.X[train]), project(rows.X[held])
            ends = np.arange(1, Z.shape[1] + 1)
            found.append(neighbour_scores(Z, rows.codes[train], Z_held, rows.codes[held], ends))
            if len(ends):
                line = f"best score {found[-1].max():.3f} with {found[-1].argmax() + 1} directions"
                self._report_progress(f"fold {i + 1} of {len(parts)}: {line}")
        common = min(len(scores) for scores in found)
        if common == 0:
            return NOTHING_TO_CHOOSE
        scores = np.stack([s[:common] for s in found])
        return pick_dimension(np.arange(1, common + 1), scores, "best", len(rows.classes))
