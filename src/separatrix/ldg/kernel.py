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
from separatrix.base.queries import order_by_content
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import Solution
from separatrix.kernels import KernelLike, SettledKernel, is_precomputed
from separatrix.ldg.graph import GraphScatters
from separatrix.ldg.ldg import LDG, LDGProblem
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, check_finite


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
    gamma : "auto" or float in (0, inf]
        γ, as in `LDG`; it has nothing to do with the kernel.
    n_neighbors : "auto" or int
        As in `LDG`; neighbours are those in the feature space.
    local, solver, priors, n_queries
        As in `LDG`.
    random_state : int, RandomState or None
        Source of the folds of "auto", and of the landmarks.

    Attributes
    ----------
    dual_coef_ : array (n_components, n_points)
        α: weights of the training rows or landmarks, ascending by eigenvalue.
    support_ : array (n_points,) or None
        Numbers of the training rows that `dual_coef_` weighs; None with landmarks.
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
        n_queries: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.local = local
        self.solver = solver
        self.priors = priors
        self.n_queries = n_queries
        self.random_state = random_state

    fit = fit_weighted

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        # rows without weight are left out later, once X is known to have the values of all pairs
        rows = SubspaceEstimator._validate(self, X, y, sample_weight, **splitting)
        check_several_classes(self, rows.classes[rows.counts > 0])
        return rows

    def _to_features(self, rows: LabelledRows) -> Mapped:
        """The rows of positive weight, in an order that follows from their values."""
        check_finite(rows.X, rows.feature_names)
        of_pairs = is_precomputed(self.kernel)
        if of_pairs and rows.X.shape[0] != rows.X.shape[1]:
            return super()._to_features(rows)  # refuses it

        def some(numbers: Array) -> LabelledRows:
            part = rows.subset(numbers)
            return part._replace(X=part.X[:, numbers]) if of_pairs else part

        counted = (
            np.arange(len(rows.codes)) if rows.weights is None else np.flatnonzero(rows.weights)
        )
        order = counted
        if rows.cv is None:  # a splitter may go by the places of the rows
            order = counted[order_by_content(some(counted), of_pairs=of_pairs)]
        mapped = super()._to_features(some(order))
        attributes = {**mapped.found, "support_": None if self.n_landmarks is not None else order}
        to_features = mapped.map.renumbered(order) if of_pairs else mapped.map
        return mapped._replace(map=to_features, found=attributes)

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        """Any orthonormal coordinates do: those of a Cholesky factor where it is safe."""
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
        gamma, records = self._choose(problem)
        scatters: Any
        if self._k is not None and self._has_graph(problem, to_features):
            scatters = GraphScatters.of(to_features, rows.codes, problem.priors, self._k)
        else:
            scatters = problem.scatters(self._k)
        return self._solve_problem(problem, scatters, gamma, records)

    def _has_graph(self, problem: LDGProblem, to_features: Any) -> bool:
        """Whether a graph of neighbours has all that the eigenvectors need."""
        simple = self.solver == "eigen" and problem.rows.weights is None
        return simple and problem.queries is None and isinstance(to_features, TriangularMap)
