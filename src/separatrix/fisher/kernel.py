"""Fisher's criterion in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from separatrix.base.kernel import KERNEL_PARAMETERS, KernelEstimator, Mapped, fit_weighted
from separatrix.base.landmarks import add_rows, adds_up, subtract_rows, take_rows
from separatrix.base.parameters import N_COMPONENTS, Allowed, array_like, one_of, real_number
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.linear import check_priors
from separatrix.fisher.directions import fisher_directions
from separatrix.fisher.kernel_left_out import (
    Smoothing,
    decide_by_left_out,
    map_by_left_out,
    whitened_directions,
)
from separatrix.fisher.landmarks_left_out import map_to_landmarks_by_left_out
from separatrix.kernels import KernelLike, RandomState, SettledKernel, kernels_to_try
from separatrix.linalg import Array, squared_norms
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

DEFAULT_RIDGE = 0.1
"""The ridge of "auto" where no row can be left out, as a share of the rows' mean square."""


# The mathematics -----------------------------------------------------------------------------


def ridge_directions(moments: ClassMoments, ridge: float, priors: Array | None = None) -> Solution:
    """Maximise ``wᵀ Sb w / wᵀ (Sw + ρ I) w``, direction after direction."""
    Sw = moments.Sw + ridge * np.eye(moments.n_features)
    Hb = moments.between_rows(priors)
    return fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)


def ridge_share(ridge: float | str) -> float:
    """The ridge as a share of the mean squared distance of the rows from their mean."""
    return DEFAULT_RIDGE if isinstance(ridge, str) else float(ridge)


def map_all(mapped: Mapped, share: float) -> Mapped:
    """All coordinates of the rows, with the ridge that is a share of their mean square."""
    X, weights = mapped.rows.X, mapped.rows.weights
    Z = X - np.average(X, axis=0, weights=weights)
    spread = float(np.average(squared_norms(Z), weights=weights))
    return mapped._replace(found={"ridge_": share * spread})


def ridge_of(moments: ClassMoments, share: float) -> float:
    """The ridge ρ for rows that these are the moments of."""
    spread = moments.trace_within() + float(np.sum(moments.between_rows() ** 2))
    return share * spread / moments.n_samples


# Estimators ----------------------------------------------------------------------------------


class KernelFisherDiscriminant(KernelEstimator, SubspaceClassifier):
    """Fisher's directions in the feature space of a kernel: curved boundaries between classes.

    Maximises ``wᵀ Sb w / wᵀ (Sw + ρ I) w``, direction after direction, for the rows that the
    kernel has sent to its feature space (kernel Fisher discriminant, kernel LDA), and classifies
    in that subspace with the linear Gaussian rule.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, at most ``n_classes - 1``; None keeps all of them, "auto" as many as
        classify held-out rows best.
    kernel : str, Kernel or callable
        A kernel of `separatrix.kernels`, such as ``RBF(gamma=0.1)``; "rbf", "polynomial",
        "linear", "laplacian" or "precomputed" for one with its defaults; or a function of two
        arrays of rows. A precomputed kernel takes kernel values in place of rows.
    n_landmarks : int, array (n_landmarks, n_features) or None
        Number of landmarks that are the reference in place of all rows (Nyström): time and memory
        grow with n times their number, not with n². Or the landmarks themselves, as
        ``landmarks_`` of another model.
    ridge : "auto" or float
        ρ as a share of the mean squared distance of the training rows from their mean in feature
        space. "auto" is the one, with the width of the kernel, of least log-loss of rows that are
        left out, and 0.1 where none can be. 0 is no ridge, which a smooth kernel punishes.
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data.
    random_state : int, RandomState or None
        Which rows become landmarks, and which of more than 1000 the median looks at.

    Attributes
    ----------
    dual_coef_ : array (n_components, n_reference)
        The directions as combinations of reference rows:
        ``transform(X) = (k(X, reference) - centre) @ dual_coef_.T``.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the criterion over all directions.
    kernel_ : Kernel or callable
        The kernel that was used, with numbers in place of words.
    ridge_ : float
        The ρ that was used.
    landmarks_ : array (n_landmarks, n_features) or None
        The landmarks, if there are any.
    moments_ : ClassMoments or None
        Statistics of everything seen, in the space of the landmarks.
    priors_, classes_ : array (n_classes,)
    components_, mean_, means_
        As in `FisherDiscriminant`, in orthonormal coordinates of the feature space.
    rank_ : int
        Rank of the scatter in these coordinates. Without landmarks they are as few as hold the
        solution, so that it is not the rank of the kernel matrix.
    selection_ : dict
        With ``n_components="auto"`` the scores on held-out rows of each number of directions,
        under "n_components"; empty otherwise.

    Notes
    -----
    ``W (Sw + ρ I) Wᵀ`` is the identity in feature space. The directions are found among
    ``(K̃ + ρ I)⁻¹ H`` for the centred kernel matrix K̃ and the contrasts H of the class means, which
    takes one Cholesky factor of an n×n matrix and no eigenvalues. With the linear kernel and
    ``ridge=0`` it is `FisherDiscriminant`.

    Without landmarks the n×n kernel matrix is held while fitting. New rows are mapped in blocks.

    Rows given twice change the scores: ρ is a mean over rows and Sw a sum, so ρ weighs half.

    With landmarks the model learns in batches (`partial_fit`), forgets rows and merges.

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf and Müller, Fisher discriminant analysis with kernels, Neural
    Networks for Signal Processing IX (1999).
    Baudat and Anouar, Generalized discriminant analysis using a kernel approach, Neural
    Computation 12 (2000), for more than two classes.
    Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 13 (2001).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from separatrix import FisherDiscriminant, KernelFisherDiscriminant
    >>> X, y = make_circles(200, noise=0.1, factor=0.3, random_state=0)
    >>> KernelFisherDiscriminant().fit(X, y).score(X, y)
    1.0
    >>> FisherDiscriminant().fit(X, y).score(X, y) < 0.7
    True
    """

    _accepts_blocks = True
    _merges = True
    priors_: Any
    ridge_: Any
    left_out_: Any
    _rule: Any
    partial_fit = available_if(adds_up)(add_rows)
    forget = available_if(adds_up)(take_rows)
    moments_without = available_if(adds_up)(subtract_rows)
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        **KERNEL_PARAMETERS,
        "ridge": (one_of("auto"), real_number(0)),
        "priors": (one_of(None), array_like()),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        kernel: KernelLike = "rbf",
        n_landmarks: int | ArrayLike | None = None,
        ridge: float | str = "auto",
        priors: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.ridge = ridge
        self.priors = priors
        self.random_state = random_state

    fit = fit_weighted

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        smoothing = Smoothing(None if self.ridge == "auto" else float(self.ridge))
        mapped = None
        if self.ridge != 0:
            priors = check_priors(self.priors, rows.classes)
            kernels = kernels_to_try(self.kernel, kernel)
            mapped = map_by_left_out(rows, kernels, smoothing, priors)
        return mapped or map_all(super()._map_rows(rows, kernel), ridge_share(self.ridge))

    def _map_to_landmarks(self, rows: LabelledRows) -> Mapped:
        mapped = map_to_landmarks_by_left_out(self, rows) if self.ridge == "auto" else None
        return mapped or super()._map_to_landmarks(rows)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        priors = check_priors(self.priors, moments.classes)
        if "_within" in selected:
            directions = whitened_directions(moments, selected, priors)
        else:
            ridge = selected.get("ridge_", ridge_of(moments, ridge_share(self.ridge)))
            directions = ridge_directions(moments, ridge, priors)
            directions = directions.with_extras(ridge_=ridge, left_out_=selected.get("left_out_"))
        return self._keep_wanted(directions, lambda W: W, moments, selected)

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        return decide_by_left_out(super()._add_decision(solution, moments, rows), moments)
