"""Local discriminative Gaussians whose directions name few features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix._warnings import warn_caller
from separatrix.base.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    array_like,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.solution import Solution
from separatrix.ldg.ldg import GAMMA, LDG, LDGProblem
from separatrix.ldg.scatters import LDGScatters
from separatrix.linalg import Array, numerical_rank
from separatrix.moments.labelled import varying_features
from separatrix.selection import AtMost, DimensionPath

STARTS = 24
"""Features that a search for a sparse direction starts from, those of the least value."""

SIFTED_AFTER = 10
"""Steps after which only the best few of the starts go on."""

KEPT = 4
"""How many do."""

MAX_SEARCH_STEPS = 2000
"""Steps of a search."""

SETTLED = 1e-8
"""Fall of a value, as a share of it, at which a search has settled."""

NEAR_ZERO = 0.1
"""Share of the largest eigenvalue below which values count as being of this size."""

WORKED_ON = 200
"""Features, at least, that they go on among."""

MARGIN = 0.1
"""How far above the largest eigenvalue a direction found is put: a share of the largest size."""

MOST_SPARSE = 10
"""Directions that are tried when their number is to be chosen: each is a search of its own."""

BEYOND = 3
"""How many of these may have no negative eigenvalue."""

# The mathematics -----------------------------------------------------------------------------


def sparse_unit(G: Array, radius: float) -> Array:
    """For each column g the unit vector of largest ``g·b`` with ``‖b‖₁ ≤ radius``.

    It is g with a number taken off the size of each entry and cut at zero, scaled to unit length;
    the number follows from a sort and one quadratic equation. Of entries of one size that cannot
    all stay the first ones do.

    Examples
    --------
    >>> sparse_unit(np.array([[3.0], [2.0], [-0.1]]), 1.2).round(2).ravel()
    array([0.97, 0.23, 0.  ])
    >>> np.abs(sparse_unit(np.array([[3.0], [2.0], [-0.1]]), 1.2)).sum().round(12)
    np.float64(1.2)
    """
    size = np.abs(G)
    top = size.max(axis=0)
    size = size / np.where(top > 0, top, 1.0)
    a = -np.sort(-size, axis=0)
    A, Q = np.cumsum(a, axis=0), np.cumsum(a * a, axis=0)
    m = np.arange(1, len(a) + 1)[:, None]
    # sums over the entries above each entry, less that entry
    first, second = A - m * a, Q - 2 * a * A + m * a * a
    full = (first**2 >= radius**2 * second) & (second > 1e-14)
    cut = np.argmax(full, axis=0)  # the number lies between this entry and the one before
    cut = np.where(full.any(axis=0), cut, len(a))
    columns = np.arange(G.shape[1])
    count = np.maximum(cut, 1)
    A, Q = A[count - 1, columns], Q[count - 1, columns]
    spread = np.clip(count * Q - A * A, 0.0, None) / np.maximum(count - radius**2, 1e-300)
    bounded = full.any(axis=0) | (radius * np.sqrt(Q) < A)
    number = np.where(bounded, (A - radius * np.sqrt(spread)) / count, 0.0)
    b = np.where(size > number, np.sign(G) * (size - number), 0.0)
    norms = np.linalg.norm(b, axis=0)
    tied = norms <= 1e-7
    if tied.any():
        among = size[:, tied] >= 1 - 1e-7
        stay = among & (np.cumsum(among, axis=0) <= max(1.0, np.floor(radius**2)))
        b[:, tied] = np.where(stay, np.where(G[:, tied] < 0, -1.0, 1.0), 0.0)
        norms = np.linalg.norm(b, axis=0)
    return b / norms


class Deflated(NamedTuple):
    """``Z = Q S Qᵀ`` without the directions found so far, applied without being formed.

    Attributes
    ----------
    S : array (r, r)
    Q : array (d, r) or None
        None stands for the identity.
    B : array (d, k)
        Directions found so far, of unit length.
    rho : array (k,)
        The matrix is ``Z + Σ ρ_i b_i b_iᵀ``: what is added to the value of each.
    project : bool
        Take the span of B out of Z first: ``P Z P + Σ ρ_i b_i b_iᵀ`` with ``P = I - B Bᵀ``.
    outside : float
        Value of directions orthogonal to Q, along which no row varies: ``Z + outside (I - Q Qᵀ)``.
    """

    S: Array
    Q: Array | None
    B: Array
    rho: Array
    project: bool
    outside: float = 0.0

    def plain(self, X: Array) -> Array:
        """``Z X``."""
        if self.Q is None:
            return self.S @ X
        inside = self.Q.T @ X
        return self.outside * X + self.Q @ (self.S @ inside - self.outside * inside)

    def apply(self, X: Array) -> Array:
        """The product with the columns of X."""
        along = self.B.T @ X
        raised = self.B @ (self.rho[:, None] * along)
        if not self.project:
            return self.plain(X) + raised
        Y = self.plain(X - self.B @ along)
        return Y - self.B @ (self.B.T @ Y) + raised

    def diagonal_of_z(self) -> Array:
        """The diagonal of Z alone."""
        if self.Q is None:
            return np.diagonal(self.S)
        inside = self.S - self.outside * np.eye(len(self.S))
        return self.outside + np.einsum("ij,ij->i", self.Q @ inside, self.Q)

    def varies_along(self, B: Array) -> bool:
        """Whether any column of B has a part in Q."""
        return self.Q is None or bool(np.abs(self.Q.T @ B).max() > 1e-7)

    def among(self, chosen: Array) -> Deflated:
        """The same for vectors of some features, which hold those of all directions so far."""
        B = self.B[chosen]
        if self.Q is None:
            return self._replace(S=self.S[np.ix_(chosen, chosen)], B=B)
        return self._replace(Q=self.Q[chosen], B=B)

    def raised(self, b: Array, by: float) -> Deflated:
        """With one more direction."""
        return self._replace(B=np.column_stack([self.B, b]), rho=np.append(self.rho, by))


class SparseDirection(NamedTuple):
    """A direction, its value ``bᵀ Z b``, the steps taken, and whether they had settled."""

    b: Array
    value: float
    n_iter: int
    converged: bool


class Search(NamedTuple):
    """Columns b on their way down, and for each its value, its σ and whether it has settled."""

    B: Array
    values: Array
    sigma: Array
    settled: Array
    n_iter: int

    def best(self, k: int) -> Search:
        """The k columns of the smallest values."""
        at = np.argsort(self.values, kind="stable")[:k]
        parts = (self.values[at], self.sigma[at], self.settled[at])
        return Search(self.B[:, at], *parts, self.n_iter)


def descend(
    apply: Callable[[Array], Array],
    search: Search,
    largest: float,
    radius: float,
    max_steps: int,
) -> Search:
    """Steps ``b ← sparse_unit(σ b - Z b)`` until the column of the least value settles.

    With σ no smaller than the `largest` eigenvalue of Z the value ``bᵀ Z b`` cannot rise. Smaller
    ones are faster: σ shrinks while the value falls, and a step that would raise it is not taken.
    """
    B, values, sigma, settled, done = search
    ZB = apply(B)
    for i in range(max_steps):
        new = sparse_unit(sigma * B - ZB, radius)
        Znew = apply(new)
        new_values = np.sum(new * Znew, axis=0)
        falls = new_values <= values
        stuck = ~falls & (sigma >= largest)  # by rounding
        size = np.maximum(np.abs(values), NEAR_ZERO * largest)
        slow = falls & (values - new_values <= SETTLED * size)
        settled = settled | stuck | slow
        sigma = np.where(falls, 0.8 * sigma, np.minimum(2 * sigma, 1.01 * largest))
        B, ZB = np.where(falls, new, B), np.where(falls, Znew, ZB)
        values = np.where(falls, new_values, values)
        if settled[np.argmin(values)]:
            return Search(B, values, sigma, settled, done + i + 1)
    return Search(B, values, sigma, settled, done + max_steps)


def sparse_smallest(
    Z: Deflated, sparsity: float, starts: Array, largest: float
) -> SparseDirection:
    """Minimise ``bᵀ Z b`` subject to ``‖b‖₂ = 1`` and ``‖b‖₁² ≤ sparsity``.

    All starts take a few steps; the best few go on among the features that matter to them, until
    the best of all has settled and the other features have nothing to add.
    """
    radius = float(np.sqrt(sparsity))
    B = sparse_unit(starts, radius)
    values = np.sum(B * Z.apply(B), axis=0)
    sigma = np.full(B.shape[1], max(0.05 * largest, float(-values.min()), 1e-300))
    search = Search(B, values, sigma, np.zeros(B.shape[1], dtype=bool), 0)
    search = descend(Z.apply, search, largest, radius, SIFTED_AFTER).best(KEPT)
    named = Z.B.any(axis=1)
    while not search.best(1).settled[0] and search.n_iter < MAX_SEARCH_STEPS:
        pull = search.sigma * search.B - Z.apply(search.B)
        chosen = ((sparse_unit(pull, radius) != 0) | (search.B != 0)).any(axis=1) | named
        strongest = np.argsort(-np.abs(pull).max(axis=1), kind="stable")
        chosen[strongest[: max(WORKED_ON, 2 * np.count_nonzero(chosen))]] = True
        inner = Z.among(chosen).apply
        some = search._replace(B=search.B[chosen])
        some = descend(inner, some, largest, radius, MAX_SEARCH_STEPS - search.n_iter)
        whole = np.zeros_like(search.B)
        whole[chosen] = some.B
        left_out = sparse_unit(some.sigma * whole - Z.apply(whole), radius)[~chosen]
        search = some._replace(B=whole, settled=some.settled & ~(left_out != 0).any(axis=0))
    best = search.best(1)
    return SparseDirection(
        best.B[:, 0], float(best.values[0]), search.n_iter, bool(best.settled[0])
    )


def orthogonal_on_support(Z: Deflated, b: Array, worst: float) -> Array:
    """The best unit vector orthogonal to the directions so far among the features that b names.

    Where these features leave no room in which rows vary, those with the steepest descent are
    added until they do. A direction along which no row varies has the value `worst`.
    """
    chosen = b != 0
    steepest = np.argsort(-np.abs(Z.apply(b[:, None])[:, 0]), kind="stable")
    waiting = iter(steepest[~chosen[steepest]])
    while True:
        _, s, Vt = np.linalg.svd(Z.B[chosen].T)
        room = Vt[numerical_rank(s, max(Z.B.shape), largest=1.0) :].T
        basis = np.zeros((len(b), room.shape[1]))
        basis[chosen] = room
        if room.shape[1] and Z.varies_along(basis):
            break
        chosen[next(waiting)] = True
    best = smallest_inside(Z, basis)
    if not Z.varies_along(best):
        best = smallest_inside(Z._replace(outside=worst), basis)
    return np.where(chosen, best, 0.0)


def smallest_inside(Z: Deflated, basis: Array) -> Array:
    """The smallest eigenvector of Z without deflation inside an orthonormal basis."""
    inner = basis.T @ Z.plain(basis)
    return basis @ np.linalg.eigh((inner + inner.T) / 2)[1][:, 0]


def without_traces(b: Array) -> Array:
    """The unit vector without the entries that rounding left."""
    size = np.abs(b)
    b = np.where(size > 1e-10 * size.max(), b, 0.0)
    return b / np.linalg.norm(b)


def sparse_directions(
    Z: Deflated,
    k: int,
    sparsity: float,
    U: Array,
    largest: float,
) -> tuple[Array, int, bool]:
    """Sparse directions one after the other, the steps of the longest search, and if all settled.

    Parameters
    ----------
    Z : Deflated
        The matrix, without directions yet.
    k : int
        How many.
    sparsity : float
        Bound of the squared 1-norm.
    U : array (d, m)
        Smallest eigenvectors of Z, from which the searches start, and from single features.
    largest : float
        Largest eigenvalue of Z.
    """
    worst = largest + MARGIN * float(np.abs(np.linalg.eigvalsh(Z.S)).max(initial=0.0))
    singles = single_features(Z)
    steps, settled = 1, True
    i = 0
    while i < k:
        starts = np.hstack([U[:, max(0, i - 1) : i + KEPT], singles])
        raised = (
            0.0
            if Z.project or not i
            else np.linalg.norm(Z.B * np.sqrt(np.clip(Z.rho, 0, None)), 2) ** 2
        )
        direction = sparse_smallest(Z, sparsity, starts, float(worst + raised))
        if direction.value > -1e-9 * worst and Z.Q is not None and Z.outside == 0:
            # where no row varies the value is zero, smaller than the positive ones to come
            Z = Z._replace(outside=worst)
            singles = single_features(Z)
            continue
        b = without_traces(direction.b)
        if Z.project and i:
            b = without_traces(orthogonal_on_support(Z, b, worst))
        # the direction found becomes the worst there is
        Z = Z.raised(b, worst if Z.project else worst - direction.value)
        steps, settled = max(steps, direction.n_iter), settled and direction.converged
        i += 1
    return Z.B, steps, settled


def single_features(Z: Deflated) -> Array:
    """Unit vectors of the features of the least value."""
    features = np.argsort(Z.diagonal_of_z(), kind="stable")[:STARTS]
    singles = np.zeros((len(Z.B), len(features)))
    singles[features, np.arange(len(features))] = 1.0
    return singles


# Estimators ----------------------------------------------------------------------------------


class SparseLDG(LDG):
    """Directions of few features that keep rows near their class and far from the others.

    Sparse LDG: minimises ``bᵀ Z b`` with ``Z = V - γ A`` as in `LDG`, subject to ``‖b‖₂ = 1`` and
    ``‖b‖₁² ≤ s``, one direction after the other. Unit vectors of at most s non-zero entries meet
    the bound, so s is about the number of features that a direction names with some weight.

    Parameters
    ----------
    n_components : int, "auto" or None
        As in `LDG`; None keeps as many as `LDG` would. "auto" tries at most ten, of which at
        most three more than there are negative eigenvalues: each is a search of its own.
    sparsity : float, at least 1
        s. From the number of features on the bound does not matter.
    deflation : "sparse" or "orthonormal"
        How a direction b that was found is taken out of Z. "sparse" adds ``(λ - bᵀ Z b) b bᵀ``,
        with λ above the largest eigenvalue of Z by a tenth of the largest in size, so that b
        becomes the worst there is; directions may overlap. "orthonormal" takes b out by
        projection, finds the features that the next direction names, and among these the best
        direction orthogonal to all before; where few features leave no room for that, more are
        named.
    gamma : "auto" or float in (0, inf]
        γ, as in `LDG`, chosen without sparsity.
    n_neighbors, local, priors
        As in `LDG`.
    random_state : int, RandomState or None
        Source of the folds of "auto".

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions of unit length, most entries exactly zero.
    criterion_ : array (n_components,)
        ``bᵀ (γ A - V) b`` of each.
    explained_ratio_ : array (n_components,)
        What each adds to those before, as a share of the positive criteria of `LDG`.
    gamma_, n_neighbors_, priors_, selection_
        As in `LDG`.
    n_iter_ : int
        Steps of the longest search.
    mean_, means_, classes_, rank_
        As in `LDG`.

    Notes
    -----
    ``‖b‖₂ = 1`` and, with sparse deflation and for the first direction, ``‖b‖₁² ≤ s``. With
    orthonormal deflation ``components_ @ components_.T`` is the identity. Where the semidefinite
    program of the thesis (3.32) has a solution of rank one, it is ``b bᵀ`` for the first b.

    Constant features are never named. While a direction of negative value is left the problem is
    the one above; after that ``λ (I - Q Qᵀ)`` is added to Z, with Q an orthonormal basis of the
    centred rows, so that directions along which no row varies come last, as in `LDG`. With s at
    least the number of features all directions are those of `LDG` up to sign.

    The problem is not convex: the search goes on from the best of many starts, by steps that
    cost a product with Z and a sort. Fewer rows than features are no obstacle: Z is not formed.

    The sparse deflation of the thesis gives b the value zero, which is better than every positive
    one: it is found again. Its orthonormal deflation bounds the 1-norm in turned coordinates,
    where few entries mean nothing in features.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), section 3.3.3, equations 3.30-3.32.
    d'Aspremont, El Ghaoui, Jordan and Lanckriet, A direct formulation for sparse PCA using
    semidefinite programming, SIAM Review 49 (2007).

    Examples
    --------
    >>> from separatrix import SparseLDG, datasets
    >>> wine = datasets.load("wine")
    >>> X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    >>> model = SparseLDG(2, sparsity=3, gamma=0.6, n_neighbors=4).fit(X, wine.target)
    >>> (model.components_ != 0).sum(axis=1).tolist()
    [4, 5]
    """

    _accepts_blocks = False
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "sparsity": (real_number(1),),
        "deflation": (one_of("sparse", "orthonormal"),),
        "gamma": GAMMA,
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "local": (YES_OR_NO,),
        "priors": (one_of(None), array_like()),
    }
    solver = "eigen"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        sparsity: float = 5.0,
        deflation: str = "sparse",
        gamma: float | str = "auto",
        n_neighbors: int | str = "auto",
        local: bool = True,
        priors: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.deflation = deflation
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.priors = priors
        self.random_state = random_state

    def _solve_problem(
        self, problem: LDGProblem, scatters: LDGScatters, gamma: float, records: dict[str, Any]
    ) -> Solution:
        evals, U = scatters.smallest(gamma, problem.basis)
        rank, n_features = len(evals), problem.features.X.shape[1]
        k = self._n_kept(rank, scatters.n_negative(gamma, evals), records)
        S = -scatters.criterion(gamma, np.eye(len(scatters.V)))
        # a feature that is constant is no part of the problem
        used = np.ones(n_features, dtype=bool)
        Q = None
        if rank < n_features:
            used = varying_features(problem.features.X)
            k = min(k, int(np.count_nonzero(used)))
            S = problem.basis.T @ S @ problem.basis
            Q = problem.lift(problem.basis)[used]
        empty = np.zeros((np.count_nonzero(used), 0))
        Z = Deflated(S, Q, empty, np.zeros(0), self.deflation == "orthonormal")
        starts = problem.lift(U[:, : k + KEPT])[used]
        largest = max(float(np.max(evals, initial=0.0)), 0.0)
        B, n_iter = self._search(Z, k, starts, largest)
        added = np.linalg.qr(B)[0]
        gains = np.clip(-np.sum(added * Z.plain(added), axis=0), 0.0, None)
        missing = np.clip(-evals, 0.0, None).sum() - gains.sum()
        W = np.zeros((n_features, k))
        W[used] = B
        extras = self._chosen_attributes(problem, gamma, records) | {
            "criterion_": -np.sum(B * Z.plain(B), axis=0),
            "n_iter_": n_iter,
        }
        return Solution(W, np.append(gains, max(missing, 0.0)), rank, extras=extras)

    def _search(self, Z: Deflated, k: int, starts: Array, largest: float) -> tuple[Array, int]:
        """Sparse directions and the number of steps; a search that did not settle is warned of."""
        B, n_iter, settled = sparse_directions(Z, k, self.sparsity, starts, largest)
        if not settled:
            warn_caller(
                f"a search of SparseLDG stopped after {MAX_SEARCH_STEPS} steps before it settled: "
                "standardise the features, or give another sparsity",
                ConvergenceWarning,
            )
        return B, n_iter

    def _n_kept(self, rank: int, n_negative: int, records: Mapping[str, Any]) -> int:
        k = super()._n_kept(rank, n_negative, records)
        if not isinstance(self.n_components, AtMost):
            return k
        return min(k, n_negative + BEYOND, MOST_SPARSE)

    def _score_dimensions(self, problem: LDGProblem, gamma: float) -> DimensionPath:
        # few non-zero entries mean something in the features only
        return self._path_of(clone(self).set_params(gamma=gamma), problem.features)
