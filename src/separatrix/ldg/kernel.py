"""Local discriminative Gaussians in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.feature_space import TriangularMap, compute_centred_gram
from separatrix.base.kernel import KERNEL_PARAMETERS, KernelEstimator, Mapped, fit_weighted
from separatrix.base.parameters import Allowed
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import Solution
from separatrix.kernels import KernelLike, SettledKernel, is_precomputed
from separatrix.ldg.graph import GraphScatters
from separatrix.ldg.ldg import LDG, LDGProblem
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows


class KernelLDG(KernelEstimator, LDG):
    """Curved directions that keep rows near neighbours of their class, far from those of others.

    Kernel LDG: `LDG` on the rows sent to the feature space of a kernel. With K the centred kernel
    matrix and ``M = L_V - γ L_A`` of the neighbours there it minimises ``tr αᵀ K M K α`` subject
    to ``αᵀ K α = I``. It is solved in symmetric form: with ``K = U S Uᵀ`` the α are ``U S^-½``
    times the smallest eigenvectors of ``S^½ Uᵀ M U S^½``, which is `LDG` on the rows ``U S^½`` of
    the empirical kernel map.

    Parameters
    ----------
    n_components : int, "auto" or None
        As in `LDG`.
    kernel : str, Kernel or callable
        As in `KernelFisherDiscriminant`.
    n_landmarks : int, array (n_landmarks, n_features) or None
        As in `KernelFisherDiscriminant`.
    gamma : "auto" or float in (0, 1]
        γ, as in `LDG`; it has nothing to do with the kernel.
    n_neighbors : "auto" or int
        As in `LDG`; neighbours are those in the feature space.
    local : bool
        As in `LDG`.
    solver : "eigen" or "gradient"
        As in `LDG`.
    priors : array (n_classes,) or None
        As in `LDG`.
    max_iter : int
        As in `LDG`.
    random_state : int, RandomState or None
        Source of the folds of "auto", and of the landmarks.
    verbose : bool
        Print how "auto" proceeds.
    selection : "refit", "thesis", "thesis-small" or "author"
        As in `LDG`.
    n_queries : "auto", int or None
        As in `LDG`.

    Attributes
    ----------
    dual_coef_ : array (n_components, n_points)
        α: weights of the training rows or landmarks, ascending by eigenvalue.
    kernel_ : Kernel or callable
        The kernel that was used, with numbers in place of words.
    criterion_, explained_ratio_, gamma_, n_neighbors_, priors_, objective_, n_iter_, selection_
        As in `LDG`.
    classes_ : array (n_classes,)
    rank_ : int
        Dimensions that the rows span in the feature space.

    Notes
    -----
    ``dual_coef_ @ K @ dual_coef_.T`` is the identity for the centred kernel matrix K of the
    training rows. The linear kernel gives `LDG` up to sign. The nearest rows in feature space are
    the nearest in the features for "rbf", and others for "poly".

    Rows of weight zero are left out of α; new rows of a precomputed kernel still have their values
    with all training rows.

    The eigenproblem of the thesis, ``(L_V - γ L_A) K α = λ α`` (3.29), is not symmetric: its
    solutions are neither real by construction nor of unit length in feature space.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), section 3.3.2, equations 3.26-3.29.

    Examples
    --------
    >>> from separatrix import KernelLDG, datasets
    >>> wine = datasets.load("wine")
    >>> X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    >>> model = KernelLDG(2, gamma=0.6, n_neighbors=4).fit(X, wine.target)
    >>> model.transform(X).shape
    (178, 2)
    """

    _accepts_blocks = False
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **LDG._allowed_parameters,
        **KERNEL_PARAMETERS,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        kernel: KernelLike = "rbf",
        n_landmarks: int | ArrayLike | None = None,
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
        self.kernel = kernel
        self.n_landmarks = n_landmarks
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

    fit = fit_weighted

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        if not is_precomputed(self.kernel):
            return super()._validate(X, y, sample_weight, **splitting)
        # rows without weight are left out later, once X is known to have the values of all pairs
        rows = SubspaceEstimator._validate(self, X, y, sample_weight, **splitting)
        check_several_classes(self, rows.classes[rows.counts > 0])
        return rows

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        """Any orthonormal coordinates do: those of a Cholesky factor where it is safe."""
        if rows.weights is not None and not rows.weights.all():  # of a precomputed kernel
            counted = np.flatnonzero(rows.weights)
            some = rows.subset(counted)
            mapped = self._map_rows(some._replace(X=some.X[:, counted]), kernel)
            return mapped._replace(map=mapped.map.renumbered(counted))
        if self.n_landmarks is not None:
            return super()._map_rows(rows, kernel)
        gram = compute_centred_gram(rows.X, kernel)
        triangle = gram.triangular_map()
        if triangle is not None:
            return Mapped(triangle, rows._replace(X=triangle.rows, feature_names=None))
        to_features, X = gram.empirical_map()
        return Mapped(to_features, rows._replace(X=X, feature_names=None))

    def _summarize(self, rows: LabelledRows) -> ClassMoments:
        # without landmarks rows span their coordinates: no scatter is asked for
        return ClassMoments.from_rows(rows, scatter=self.n_landmarks is not None)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        to_features = selected["map"]
        problem = self._problem(rows, moments, spanned=self.n_landmarks is None)
        chosen = self._choose(problem)
        if not self._has_graph(problem, to_features):
            return self._solve_problem(problem, self._scatters(problem, chosen), chosen)
        assert chosen.n_neighbors is not None, "a graph has neighbours"
        found = GraphScatters.of(to_features, rows.codes, problem.priors, chosen.n_neighbors)
        return self._solve_problem(problem, found, chosen)

    def _has_graph(self, problem: LDGProblem, to_features: Any) -> bool:
        """Whether a graph of neighbours has all that the eigenvectors need."""
        simple = self.local and self.solver == "eigen" and problem.rows.weights is None
        return simple and problem.queries is None and isinstance(to_features, TriangularMap)
