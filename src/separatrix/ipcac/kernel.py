"""IPCAC in the feature space of a kernel: whitened class means, a threshold, curved boundaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

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
from separatrix.decision.cuts import THRESHOLD_PARAMETERS, check_cut_needs_no_rows
from separatrix.decision.linear import check_priors
from separatrix.fisher.directions import count_wanted_axes, reduce_to_leading_axes
from separatrix.fisher.kernel import map_all, ridge_directions, ridge_of, ridge_share
from separatrix.fisher.kernel_left_out import (
    Smoothing,
    decide_by_left_out,
    map_by_left_out,
    whitened_directions,
)
from separatrix.fisher.landmarks_left_out import map_to_landmarks_by_left_out
from separatrix.ipcac.ipcac import (
    add_decision,
    cut_between,
    log2_rule,
    whiten_leading,
    with_metric,
    with_unit_covariance,
)
from separatrix.ipcac.whitening import (
    chosen_metric,
    full_metric,
    ridge_as_metric,
    shares_of,
    within_axes,
)
from separatrix.kernels import KernelLike, RandomState, SettledKernel, kernels_to_try
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows


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
        space. "auto" is the one, with the width of the kernel, of least log-loss of rows that are
        left out; where none can be, as after merging, of least log-loss that moments expect. It
        is 0 where `truncate` or `variance` guard against small eigenvalues. With `truncate` it
        must be 0.
    threshold : "auto", "mahalanobis", "accuracy" or "balanced"
        As in `IPCAC`; "auto" decides by rows that are left out, where there are any.
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
    over rows, weighs half as much relative to the scatter, a sum.

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
    left_out_: Any
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
    def _is_literal(self) -> bool:
        """Whether the cut is one of the source, by training rows."""
        return self.threshold != "auto"

    @property
    def _ridge_share(self) -> float:
        guarded = bool(self.truncate) or self.variance is not None
        return 0.0 if guarded and self.ridge == "auto" else ridge_share(self.ridge)

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
        smoothing, mapped = self._smoothing(), None
        if smoothing is not None:
            priors = check_priors(self.priors, rows.classes)
            kernels = kernels_to_try(self.kernel, kernel)
            mapped = map_by_left_out(rows, kernels, smoothing, priors)
        return mapped or map_all(super()._map_rows(rows, kernel), self._ridge_share)

    def _map_to_landmarks(self, rows: LabelledRows) -> Mapped:
        smoothing = self._smoothing()
        is_open = smoothing is not None and smoothing.is_open
        mapped = map_to_landmarks_by_left_out(self, rows) if is_open else None
        return mapped or super()._map_to_landmarks(rows)

    def _smoothing(self) -> Smoothing | None:
        """How rows left out see the whitening; None where it is that of all rows, literally."""
        if self.truncate:
            by_rows = self.variance is None and not self._is_literal
            return Smoothing(n_axes=self._n_by_rows) if by_rows else None
        if self.variance is not None or self.ridge == 0:
            return None
        return Smoothing(None if self.ridge == "auto" else float(self.ridge))

    def _n_to_whiten(self, n_samples: float, spectrum: Callable[[], Array]) -> int:
        if self.variance is None:
            return self._n_by_rows(n_samples)
        evals = spectrum().clip(0.0)
        return count_wanted_axes(evals, evals.sum(), float(self.variance))

    def _n_by_rows(self, n_samples: float) -> int:
        return int(self.truncate) if self._whitens_a_number else log2_rule(n_samples)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if "_within" in selected:
            directions = with_unit_covariance(whitened_directions(moments, selected), moments)
            return directions.with_extras(n_whitened_=selected.get("n_whitened_"))
        solve = self._solve_truncated if self.truncate else self._solve_whitened
        return solve(moments, selected).with_extras(left_out_=selected.get("left_out_"))

    def _solve_whitened(self, moments: ClassMoments, selected: Mapping[str, Any]) -> Solution:
        small, lift = moments, None
        if self.variance is not None:
            small, lift = reduce_to_leading_axes(moments, float(self.variance))
        by_rows = selected.get("left_out_") is not None
        axes = None if self._is_literal or by_rows else within_axes(small)
        ridge = selected.get("ridge_", ridge_of(moments, self._ridge_share))
        metric = None
        if axes is not None:
            chosen = self.ridge == "auto" and self.variance is None and "ridge_" not in selected
            shares = shares_of(moments, check_priors(self.priors, moments.classes))
            if chosen and np.count_nonzero(shares) > 1:
                alpha = chosen_metric(axes, shares)[1].alpha
                ridge = alpha / (1 - alpha) * axes.spectrum.unit * axes.spectrum.n_free
            metric = ridge_as_metric(axes, ridge) if ridge > 0 else full_metric(axes, small)
        directions = with_unit_covariance(ridge_directions(small, ridge), small)
        directions = with_metric(directions, small, axes, metric)
        W = directions.W if lift is None else lift(directions.W)
        return directions._replace(W=W).with_extras(ridge_=ridge, n_whitened_=None)

    def _solve_truncated(self, moments: ClassMoments, selected: Mapping[str, Any]) -> Solution:
        spectrum = lambda: np.linalg.eigvalsh(moments.St)[::-1]  # noqa: E731
        wanted = self._n_to_whiten(moments.n_samples, spectrum)
        directions = whiten_leading(moments, wanted, self.threshold, self.priors)
        kept = {"n_whitened_": directions.rank, "_by": directions.extras.get("_by", (None, None))}
        return directions._replace(extras=kept).with_extras(ridge_=selected.get("ridge_", 0.0))

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        decided = super()._add_decision(solution, moments, rows)
        if self._is_literal or solution.extras["left_out_"] is None:
            decided = add_decision(self, decided, moments, rows)
            kept = {k: v for k, v in decided.extras.items() if k != "_within"}
            return decided._replace(extras=kept)
        decided = decide_by_left_out(decided, moments)
        return decided.with_extras(threshold_=cut_between(decided.extras["_rule"]))

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_cut_needs_no_rows(self.threshold)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_cut_needs_no_rows(self.threshold, len(classes))
