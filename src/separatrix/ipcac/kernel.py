"""IPCAC in the feature space of a kernel: whitened class means, a threshold, curved boundaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from separatrix.base.feature_space import CentredGram, KernelMap, compute_centred_gram
from separatrix.base.kernel import KERNEL_PARAMETERS, KernelEstimator, Mapped, fit_weighted
from separatrix.base.landmarks import add_rows, adds_up, subtract_rows, take_rows
from separatrix.base.parameters import (
    YES_OR_NO,
    Allowed,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.fisher.directions import count_wanted_axes
from separatrix.fisher.kernel import (
    map_by_ridge,
    mean_contrasts,
    ridge_directions,
    ridge_of,
    ridge_share,
)
from separatrix.ipcac.expected import expected_whitened
from separatrix.ipcac.ipcac import (
    log2_rule,
    partially_whitened_directions,
    whitened_axes,
    whitened_mean_directions,
    with_unit_covariance,
)
from separatrix.ipcac.left_out import (
    can_leave_out,
    choose_ridge,
    choose_ridge_by_moments,
    fit_ridge,
    mean_square,
    truncated_left_out,
)
from separatrix.ipcac.threshold import (
    THRESHOLD_PARAMETERS,
    add_threshold,
    check_threshold_needs_rows,
    check_threshold_of_blocks,
    held_out_scores,
)
from separatrix.kernels import KernelLike, RandomState, SettledKernel
from separatrix.linalg import EPS, Array, SingularMatrixError, partial_whiten, squared_norms
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

# The mathematics -----------------------------------------------------------------------------


def partially_whitened_span(
    gram: CentredGram, H: Array, n_whitened: int
) -> tuple[KernelMap, Array, int]:
    """The span of class means whitened along leading axes, the rows there, and how many axes.

    With ``K̃ = V Λ Vᵀ`` the dual coefficients are ``H + V_d (λ_d Λ_d⁻¹ - I) V_dᵀ H`` for the d
    largest eigenvalues, no more than K̃ has rank. Dividing by λ_d is what makes them independent
    of the scale of the kernel.
    """
    evals, V = gram.principal_axes(n_whitened)
    A = partial_whiten(H, V, evals) if len(evals) else H
    return *gram.span(A, gram.matrix @ A), len(evals)


# Estimators ----------------------------------------------------------------------------------


class KernelIPCAC(KernelEstimator, SubspaceClassifier):
    """Classification by class means after whitening all rows in the feature space of a kernel.

    `IPCAC` where the kernel has sent the rows: with K̃ the centred kernel matrix and h the
    difference of the class means, the weights of the training rows are ``(K̃ + ρ I)⁻¹ h``, and a
    threshold cuts between two classes. More classes are separated by the Gaussian rule in the
    span of their whitened means.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A kernel of `separatrix.kernels`, such as ``RBF(gamma=0.1)``; "rbf", "polynomial",
        "linear", "laplacian" or "precomputed" for one with its defaults; or a function of two
        arrays of rows. A precomputed kernel takes kernel values in place of rows.
    n_landmarks : int, array (n_landmarks, n_features) or None
        Number of landmarks that are the reference in place of all rows (Nyström): time and memory
        grow with n times their number, not with n². Or the landmarks themselves, as
        ``landmarks_`` of another model.
    truncate : bool or int
        Whiten the leading principal axes only and leave the others as they are: a number of
        them, or, for True, as many as hold the share `variance`, or ``log₂(n)²`` without one. It
        is `TruncatedIPCAC` in feature space.
    variance : float in (0, 1] or None
        Keep only the leading axes that hold this share of the variance (K-IPCAC retaining
        variance); with ``truncate=True`` whiten these and keep all.
    ridge : "auto" or float
        ρ as a share of the mean squared distance of the training rows from their mean in feature
        space. "auto" is the one of 1, 0.1, 0.01 and 0.001 whose scores of rows left out separate
        two classes best (by 1000 of the rows where there are more). With landmarks it is the one
        whose scores expected of new rows do, from three rows for each landmark on. It is 0.1 for
        more classes or fewer rows, and 0 where `truncate` or `variance` guard against small
        eigenvalues. With `truncate` it must be 0.
    threshold : "auto", "mahalanobis", "accuracy", "balanced" or "held-out"
        As in `IPCAC`. "auto" is "held-out" without landmarks; with them it needs moments only, as
        in `IPCAC`. "held-out" takes the scores of rows left out in closed form, of 2000 rows where
        there are more; in folds, as in `IPCAC`, with `truncate`, `variance` or landmarks.
    balance : float in [0, 1) or "auto"
        As in `IPCAC`.
    priors : array (n_classes,) or None
        As in `IPCAC`.
    random_state : int, RandomState or None
        Which rows become landmarks, and which of more than 1000 the median looks at.

    Attributes
    ----------
    dual_coef_ : array (n_classes - 1, n_reference)
        The directions as combinations of reference rows:
        ``transform(X) = (k(X, reference) - centre) @ dual_coef_.T``.
    threshold_ : float or None
        Two classes: where the projection towards ``classes_[1]`` is cut.
    threshold_rule_ : str or None
        As in `IPCAC`.
    n_whitened_ : int or None
        Number of axes that were whitened when truncated.
    kernel_, ridge_, landmarks_, moments_, explained_ratio_, classes_, priors_
        As in `KernelFisherDiscriminant`.
    components_, mean_, means_
        As in `IPCAC`, in orthonormal coordinates of the feature space.
    rank_ : int
        As in `KernelFisherDiscriminant`, not the rank of the kernel matrix; the number of axes
        that were whitened with `variance` alone, or with `truncate` and landmarks.

    Notes
    -----
    All training rows have unit variance along each direction: without landmarks ``Aᵀ K̃² A / n``
    has a unit diagonal for ``A = dual_coef_.T``, and is the identity without ridge. With the
    linear kernel and ``ridge=0`` it is `IPCAC`, truncated it is `TruncatedIPCAC`, with the same
    scores.

    A kernel matrix of full rank without ridge puts every training row of a class on one point,
    and "mahalanobis" cuts in the middle. A smooth kernel without ridge divides by eigenvalues that
    are numerical zero; prefer the ridge. Rows given twice change the scores: the ridge, a mean
    over rows, weighs half beside the scatter, a sum.

    With weights "held-out" leaves out a row once, so that a weight of 2 is the row twice; folds
    (of `truncate`, `variance` and landmarks) hold out a row with all its weight.

    With landmarks the model learns in batches (`partial_fit`), forgets rows and merges: online
    kernel IPCAC.

    References
    ----------
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), section 5.2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import IPCAC, KernelIPCAC
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> KernelIPCAC().fit(X, y).score(X, y) > 0.95 > IPCAC().fit(X, y).score(X, y)
    True
    """

    _accepts_blocks = True
    _merges = True
    priors_: Any
    ridge_: Any
    n_whitened_: Any
    threshold_: Any
    threshold_rule_: Any
    _rule: Any
    partial_fit = available_if(adds_up)(add_rows)
    forget = available_if(adds_up)(take_rows)
    moments_without = available_if(adds_up)(subtract_rows)
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **KERNEL_PARAMETERS,
        "truncate": (YES_OR_NO, whole_number(1)),
        "variance": (one_of(None), real_number(0, 1, open_low=True)),
        "ridge": (one_of("auto"), real_number(0)),
        **THRESHOLD_PARAMETERS,
    }

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        n_landmarks: int | ArrayLike | None = None,
        truncate: bool | int = False,
        variance: float | None = None,
        ridge: float | str = "auto",
        threshold: str = "auto",
        balance: float | str = "auto",
        priors: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.truncate = truncate
        self.variance = variance
        self.ridge = ridge
        self.threshold = threshold
        self.balance = balance
        self.priors = priors
        self.random_state = random_state

    fit = fit_weighted

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        rows = super()._validate(X, y, sample_weight, **splitting)
        if self._whitens_a_number and self.variance is not None:
            raise ValueError(
                f"variance={self.variance!r} has no effect with truncate={self.truncate!r}: use "
                "truncate=True to whiten the axes that hold this share"
            )
        if self.truncate and self._ridge_share > 0:
            raise ValueError(
                f"ridge={self.ridge!r} has no effect with truncate={self.truncate!r}: use "
                'ridge="auto", or truncate=False'
            )
        return rows

    @property
    def _whitens_a_number(self) -> bool:
        return bool(self.truncate) and not isinstance(self.truncate, bool | np.bool_)

    @property
    def _ridge_share(self) -> float:
        guarded = bool(self.truncate) or self.variance is not None
        return 0.0 if guarded and self.ridge == "auto" else ridge_share(self.ridge)

    def _share_by_moments(self, moments: ClassMoments) -> float:
        if self.ridge != "auto" or self.variance is not None:
            return self._ridge_share
        return choose_ridge_by_moments(moments) or self._ridge_share

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        if not self.truncate and self.variance is None:
            return self._map_by_ridge(rows, kernel)
        if rows.weights is not None:
            return self._with_folds(self._map_weighted(rows, kernel), rows, ("auto", "held-out"))
        gram = compute_centred_gram(rows.X, kernel)
        ridge = self._ridge_share * max(float(np.trace(gram.matrix)), 0.0) / rows.X.shape[0]
        found: dict[str, Any] = {"ridge_": ridge}
        if self.truncate:
            H = mean_contrasts(rows.codes, len(rows.classes))
            wanted = self._n_to_whiten(len(H), lambda: np.linalg.eigvalsh(gram.matrix)[::-1])
            to_span, X, found["n_whitened_"] = partially_whitened_span(gram, H, wanted)
            if self.variance is None and self._holds_out(rows):
                found["_left_out"] = truncated_left_out(
                    gram, rows.codes, self._n_by_rows, **rows.splitting
                )
        else:
            to_span, X = gram.empirical_map()
        mapped = Mapped(to_span, rows._replace(X=X, feature_names=None), found)
        return self._with_folds(mapped, rows, ("auto", "held-out"))

    def _holds_out(
        self, rows: LabelledRows, thresholds: Sequence[str] = ("auto", "held-out")
    ) -> bool:
        return len(rows.classes) == 2 and self.threshold in thresholds

    def _map_to_landmarks(self, rows: LabelledRows) -> Mapped:
        return self._with_folds(super()._map_to_landmarks(rows), rows, ("held-out",))

    def _map_by_ridge(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        """The coordinate of the ridge direction, with scores of rows left out for two classes."""
        weights = rows.weights
        if len(rows.classes) != 2 or not can_leave_out(rows.codes, weights):
            return self._map_by_default_ridge(rows, kernel)
        gram = compute_centred_gram(rows.X, kernel, weights)
        try:
            share = self._ridge_share
            if self.ridge == "auto":
                share = choose_ridge(gram.matrix, rows.codes, weights)
            ridge = share * max(mean_square(gram.matrix, weights), 0.0)
            fit = fit_ridge(gram.matrix, rows.codes, ridge, weights)
        except SingularMatrixError:
            mapped = self._map_by_default_ridge(rows, kernel)
            return self._with_folds(mapped, rows, ("auto", "held-out"))
        spread = float(np.sqrt(np.average(fit.training**2, weights=weights)))  # their mean is zero
        if spread < EPS**0.5:  # targets are 1 or more: the class means coincide
            return self._map_by_default_ridge(rows, kernel)
        to_span, X = gram.span(fit.dual[:, None], fit.training[:, None])
        found: dict[str, Any] = {"ridge_": ridge}
        if self.threshold in ("auto", "held-out"):
            found["_left_out"] = fit.left_out / spread  # the direction has unit variance
        return Mapped(to_span, rows._replace(X=X, feature_names=None), found)

    def _map_by_default_ridge(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        if rows.weights is not None:
            return self._map_weighted(rows, kernel)
        return map_by_ridge(rows, kernel, self._ridge_share)

    def _map_weighted(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        """All coordinates, of which weighted moments are taken, and the ridge of weighted rows."""
        mapped = super()._map_rows(rows, kernel)
        Z = mapped.rows.X - np.average(mapped.rows.X, axis=0, weights=rows.weights)
        spread = float(np.average(squared_norms(Z), weights=rows.weights))
        return mapped._replace(found={"ridge_": self._ridge_share * spread})

    def _with_folds(self, mapped: Mapped, rows: LabelledRows, thresholds: Sequence[str]) -> Mapped:
        """The mapped rows, with their scores by models of other folds where those are used."""
        if "_left_out" in mapped.found or not self._holds_out(rows, thresholds):
            return mapped
        return mapped._replace(found={**mapped.found, "_left_out": held_out_scores(self, rows)})

    def _n_to_whiten(self, n_samples: float, spectrum: Callable[[], Array]) -> int:
        if self.variance is None:
            return self._n_by_rows(n_samples)
        evals = spectrum().clip(0.0)
        return count_wanted_axes(evals, evals.sum(), float(self.variance))

    def _n_by_rows(self, n_samples: float) -> int:
        return int(self.truncate) if self._whitens_a_number else log2_rule(n_samples)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if self.truncate:
            return self._solve_truncated(moments, selected)
        ridge = selected.get("ridge_", ridge_of(moments, self._share_by_moments(moments)))
        small, lift = moments, None
        if self.variance is not None:
            small, lift = whitened_axes(moments, self.variance, None)
        found = with_unit_covariance(ridge_directions(small, ridge), small)
        if self._corrects(selected) and found.W.shape[1] and len(small.classes) == 2:
            found = found.with_extras(_expected=expected_whitened(small, ridge))
        W = found.W if lift is None else lift(found.W)
        return found._replace(W=W).with_extras(ridge_=ridge, n_whitened_=None)

    def _solve_truncated(self, moments: ClassMoments, selected: Mapping[str, Any]) -> Solution:
        ridge = selected.get("ridge_", ridge_of(moments, self._ridge_share))
        if "n_whitened_" in selected:  # whitened by the map already
            return whitened_mean_directions(moments).with_extras(ridge_=ridge)
        spectrum = lambda: np.linalg.eigvalsh(moments.St)[::-1]  # noqa: E731
        wanted = self._n_to_whiten(moments.n_samples, spectrum)
        correct = self._corrects(selected)
        found = partially_whitened_directions(moments, wanted, correct=correct)
        return found.with_extras(ridge_=ridge, n_whitened_=found.rank)

    def _corrects(self, selected: Mapping[str, Any]) -> bool:
        """Whether the threshold is that of the scores expected of new rows, from moments."""
        return self.threshold == "auto" and "_landmarks" in selected

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        return add_threshold(self, super()._add_decision, solution, moments, rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_threshold_of_blocks(self.threshold)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_threshold_needs_rows(self.threshold, len(classes))
