"""Classification by class means after whitening the leading axes, learned from a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from separatrix.base.batches import MomentEstimator
from separatrix.base.parameters import KEEP_MOMENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.cuts import THRESHOLD_PARAMETERS, check_cut_needs_no_rows
from separatrix.ipcac.ipcac import add_decision, log2_rule, n_to_whiten, whiten_leading
from separatrix.ipcac.whitening import N_LEADING
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows


class OnlineIPCAC(MomentEstimator, SubspaceClassifier):
    """`TruncatedIPCAC` for streams: learns in batches of any size, in bounded memory.

    Class counts and means are exact. Of the scatter within each class the `rank` leading axes are
    kept, and the average of all others; the axes that are whitened are fewer, since those at the
    edge of what is kept are the least certain. As long as nothing has been left out the model is
    `TruncatedIPCAC` on all rows, whatever the batches and their order.

    Parameters
    ----------
    n_whitened : "auto", "log2" or int
        Number of axes to whiten, as in `TruncatedIPCAC`.
    rank : "auto" or int
        Number of axes kept for each class, or for all classes together when there are more than
        two: 500, with a number of whitened axes twice that number, or a number. From half the
        number of features on the whole scatter matrix is kept, which is then no larger, and
        nothing is left out. With a number, n_whitened="log2" stops at half of it once something
        had to be left out.
    window : int or None
        Remember this many of the last rows, exactly: the model is the one of these rows alone.
        The rows themselves are kept as well.
    decay : float in (0, 1] or None
        Multiply the weight of all earlier rows by this number with each row that comes: a row
        that is a rows old weighs ``decay ** a``.
    threshold : "auto", "mahalanobis", "accuracy" or "balanced"
        As in `IPCAC`; the last two need all rows at once, in `fit`.
    balance : float in [0, 1) or "auto"
        As in `IPCAC`.
    priors : array (n_classes,) or None
        As in `IPCAC`.
    keep_moments : bool or "by class"
        Keep the moments, which `partial_fit`, `forget` and `merge` need.

    Attributes
    ----------
    n_whitened_, shrinkage_
        As in `TruncatedIPCAC`.
    components_, coef_, intercept_, threshold_, explained_ratio_
        As in `IPCAC`; computed when asked for after `partial_fit`.
    mean_, means_, classes_, priors_, rank_
        As in `IPCAC`.
    moments_ : ClassMoments or None
        The memory: counts, means and truncated scatters.

    Notes
    -----
    ``components_ @ Σ @ components_.T`` is the identity for the covariance Σ = St/n that is
    remembered. The trace of the scatter of each class is exact, truncated or not.

    A batch of n rows costs ``O(d (rank + n)²)``, in memory ``O(d (rank + n))``; with a window
    two or three times as much on average, see `separatrix.moments.window.SlidingWindow`. Batches
    of about `rank` rows cost least for each row; rows that come one by one are set aside and taken
    in `rank` at a time.

    The number of whitened axes grows with the rows seen. The thesis keeps no more axes than it
    whitens; a newly admitted axis then has the spread of the last batch alone, and ``coef_`` turns
    away from that of all rows: by 25 degrees where this model turns by 4 to 7 (see the manual).
    Its running statistics of the projections for the threshold mix directions of different times;
    here the spread of each class is taken along the direction of now.

    References
    ----------
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), sections 4.2 to 4.3.1.

    Examples
    --------
    >>> from separatrix import OnlineIPCAC, datasets
    >>> digits = datasets.load("digits")
    >>> model = OnlineIPCAC()
    >>> for i in range(0, 1500, 100):
    ...     batch = slice(i, i + 100)
    ...     model = model.partial_fit(digits.data[batch], digits.target[batch], classes=range(10))
    >>> round(model.score(digits.data[1500:], digits.target[1500:]), 2)
    0.9
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_whitened": (one_of("auto", "log2"), whole_number(1)),
        "rank": (one_of("auto"), whole_number(1)),
        "window": (one_of(None), whole_number(2)),
        "decay": (one_of(None), real_number(0, 1, open_low=True)),
        **THRESHOLD_PARAMETERS,
        "keep_moments": KEEP_MOMENTS,
    }
    threshold_: Any
    n_whitened_: Any
    shrinkage_: Any

    def __init__(
        self,
        n_whitened: int | str = "auto",
        *,
        rank: int | str = "auto",
        window: int | None = None,
        decay: float | None = None,
        threshold: str = "auto",
        balance: float | str = "auto",
        priors: ArrayLike | None = None,
        keep_moments: bool | str = True,
    ) -> None:
        self.n_whitened = n_whitened
        self.rank = rank
        self.window = window
        self.decay = decay
        self.threshold = threshold
        self.balance = balance
        self.priors = priors
        self.keep_moments = keep_moments

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        wanted = self.n_whitened
        if isinstance(self.rank, Integral) and wanted == "log2" and moments.is_truncated:
            most = max(1, int(self.rank) // 2)
            wanted = min(n_to_whiten(wanted, moments.n_samples), most)
        return whiten_leading(moments, wanted, self.threshold, self.priors)

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        gaussian = super()._add_decision(solution, moments, rows)
        return add_decision(self, gaussian, moments, rows)

    # Bounded memory -----------------------------------------------------------------------------

    def _n_axes_kept(self, n_samples: float) -> int:
        """The number of axes of each scatter that are kept of n rows."""
        if self.rank != "auto":
            return int(self.rank)
        if self.n_whitened == "auto":
            return N_LEADING
        if self.n_whitened != "log2":
            return 2 * int(self.n_whitened)
        return 2 * log2_rule(n_samples if self.window is None else self.window)

    def _summarize(self, rows: LabelledRows) -> ClassMoments:
        return self._moments_of(self._remember(None, rows), rows.classes)

    def _portions(self, rows: LabelledRows) -> Iterable[LabelledRows]:
        n_samples, n_features = rows.X.shape
        n = 2 * self._n_axes_kept(n_samples)
        for part in gen_batches(n_samples, n if n < n_features else n_samples):
            yield rows.part(part)

    def _condense(self, classes: Array, moments: ClassMoments) -> ClassMoments:
        rank = self._n_axes_kept(moments.n_samples)
        if 2 * rank >= moments.n_features:
            return super()._condense(classes, moments)
        moments = moments.with_class_scatters(self._keeps_class_scatters(classes))
        return moments.truncated(rank) if moments.most_rows() > 2 * rank else moments

    def _params_for_blocks(self, n_samples: int | None) -> dict[str, Any]:
        if self.rank != "auto" or n_samples is None:
            return {}
        return {"rank": self._n_axes_kept(n_samples)}  # as many as for all rows together

    # Checks -------------------------------------------------------------------------------------

    def _weigh_by_age(self, rows: LabelledRows) -> LabelledRows:
        self._check_rank()
        return super()._weigh_by_age(rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_cut_needs_no_rows(self.threshold)
        self._check_rank()

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_cut_needs_no_rows(self.threshold, len(classes))

    def _check_rank(self) -> None:
        numbers = isinstance(self.rank, Integral) and isinstance(self.n_whitened, Integral)
        if numbers and int(self.rank) < int(self.n_whitened):
            raise ValueError(
                f"rank={self.rank} is smaller than n_whitened={self.n_whitened}: axes that are "
                "not kept cannot be whitened. Raise rank, best to twice n_whitened"
            )
