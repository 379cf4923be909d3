"""Class statistics that add, subtract and decay: counts, class means, centred scatter.

This is the only place that turns rows into statistics. Online learning, sliding windows,
merging models trained apart and distributed sums are all the algebra of `ClassMoments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from separatrix.linalg import EPS, Array, Lift, orthonormal_again, top_eigh
from separatrix.moments.checks import (
    check_entries,
    check_magnitude,
    check_weights,
    encode_labels,
    is_dask,
    is_text,
    refuse_lazy_frame,
    refuse_nonfinite,
)
from separatrix.moments.labelled import indicator, row_blocks
from separatrix.moments.scatter import (
    NegativeScatterError,
    Scatter,
    SparseRows,
    Stack,
    joint_span,
    multiplied_out,
    operator,
)

FORGOTTEN = 1e-200
"""A class whose count has decayed below this counts as never seen."""

NOT_A_PART = (
    "cannot subtract these moments: the rest would have a negative scatter, so they are not part "
    "of what was added"
)


class ClassMoments:
    """Counts, means and centred scatter of labelled rows.

    The sufficient statistics of every discriminant method here. Adding the moments of shards, in
    any order or grouping, gives the moments of their union; subtracting what was added gives back
    the rest; decaying multiplies the weight of everything seen so far. Means are held as
    differences from a row of the data, so that an offset common to all rows costs no digits.

    Rows of float32 are multiplied in float32, block by block, and added in float64; where that
    would hide directions of small scatter behind rounding they are multiplied in float64.

    Build one with `from_data`; the constructor takes the parts.

    Attributes
    ----------
    classes : array (n_classes,)
        Sorted labels.
    counts : array (n_classes,)
        Samples per class (sums of weights).
    means : array (n_classes, n_features)
        Class means; zero for a class without samples.
    mean : array (n_features,)
        Mean of all rows.
    n_samples : float
        Sum of the counts.
    n_features : int
    Sw, Sb, St : array (n_features, n_features)
        Scatter sums within classes, between classes, and in total; ``Sw + Sb = St``.
    per_class : bool
        Whether the scatter of each class is kept apart.
    class_scatters : array (n_classes, n_features, n_features)
        Scatter of each class, when asked for with ``per_class=True``.
    eps : float
        Relative precision of the data: that of float32 once float32 rows were added.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassMoments
    >>> X, y = np.array([[0.0, 1], [2, 1], [5, 5], [7, 9]]), ["a", "a", "b", "b"]
    >>> left = ClassMoments.from_data(X[:1], y[:1])
    >>> whole = left + ClassMoments.from_data(X[1:], y[1:])
    >>> whole.counts
    array([2., 2.])
    >>> whole.Sw
    array([[4., 4.],
           [4., 8.]])
    >>> bool(np.allclose(whole.Sw + whole.Sb, whole.St))
    True
    """

    def __init__(
        self,
        classes: Array,
        counts: Array,
        offsets: Array,
        origin: Array,
        scatters: Sequence[Scatter],
        *,
        per_class: bool,
        eps: float,
    ) -> None:
        self.classes = classes
        self.counts = counts
        self.origin = origin
        self._offsets = offsets
        self._scatters = tuple(scatters)
        self.per_class = per_class
        self.eps = eps

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        per_class: bool = False,
    ) -> ClassMoments:
        """Summarise rows.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Sparse rows are centred implicitly and never made dense as a whole. Of a Dask
            collection the blocks are summarised one by one, see `distributed.class_moments`.
        y : array (n_samples,)
            Labels of any sortable type.
        sample_weight : array (n_samples,), optional
            Non-negative weights; a weight of 2 is the row twice.
        classes : array, optional
            All labels there are, when some may be absent from `y`.
        per_class : bool
            Keep the scatter of each class apart, for rules that need it.
        """
        if is_dask(X):
            from separatrix.moments.dask import class_moments

            return class_moments(
                X, y, sample_weight=sample_weight, classes=classes, per_class=per_class
            )
        refuse_lazy_frame(X)
        rows: Any = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        labels, codes = encode_labels(y, rows.shape[0], classes)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return cls.from_codes(rows, codes, classes=labels, weights=weights, per_class=per_class)

    @classmethod
    def from_codes(
        cls,
        X: Any,
        codes: Array,
        *,
        classes: Array,
        weights: Array | None = None,
        per_class: bool = False,
        scatter: bool = True,
        factored: bool = False,
        feature_names: ArrayLike | None = None,
    ) -> ClassMoments:
        """`from_data` for float rows, labelled by position in `classes`.

        Without `scatter` dense rows are summarised by counts and means alone. A `factored`
        scatter of dense rows keeps the digits that a product would lose.
        """
        from separatrix.moments.summarize import (
            _summarise_by_means,
            _summarise_factored,
            _summarise_sparse,
            _summarise_tall,
            _summarise_wide,
        )

        summarise = _summarise_wide if X.shape[0] < X.shape[1] else _summarise_tall
        if factored:
            summarise = _summarise_factored
        if not scatter:
            summarise = _summarise_by_means
        if sp.issparse(X):
            summarise = _summarise_sparse
        with np.errstate(invalid="ignore", over="ignore"):
            moments = summarise(X, codes, weights, classes, per_class)
            spread = moments.trace_within()
        # a class mean is finite unless one of its entries is not: the check costs nothing
        if not (np.isfinite(moments._offsets).all() and np.isfinite(spread)):
            refuse_nonfinite(X, feature_names)
            raise ValueError("Input X has values so large that their squares overflow: rescale it")
        largest = float(np.max(np.abs(moments._offsets), initial=0.0))
        check_magnitude(max(largest, max(spread, 0.0) ** 0.5))
        if not scatter:
            check_entries(X)
        return moments

    @classmethod
    def empty(
        cls, classes: ArrayLike, n_features: int, *, per_class: bool = False
    ) -> ClassMoments:
        """The zero of the algebra: no samples of the given classes."""
        labels = np.unique(np.asarray(classes))
        scatters = [Scatter(n_features)] * (len(labels) if per_class else 1)
        zeros = np.zeros((len(labels), n_features))
        return cls(
            labels,
            np.zeros(len(labels)),
            zeros,
            np.zeros(n_features),
            scatters,
            per_class=per_class,
            eps=EPS,
        )

    # What is known --------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.origin.shape[0]

    @property
    def n_samples(self) -> float:
        """Number of samples, or sum of their weights."""
        return float(self.counts.sum())

    @property
    def is_thin(self) -> bool:
        """Whether rows are held instead of a d×d matrix."""
        return all(scatter.is_thin for scatter in self._scatters)

    @property
    def is_truncated(self) -> bool:
        """Whether some directions are known by their average scatter only."""
        return self._floor > 0

    def most_rows(self) -> int:
        """How many rows are held for one scatter, at most."""
        return max(scatter.n_rows for scatter in self._scatters)

    @property
    def holds_sparse_rows(self) -> bool:
        """Whether some of the rows held are sparse."""
        return any(isinstance(R, SparseRows) for s in self._scatters for _, R in s.rows)

    @property
    def means(self) -> Array:
        """Class means."""
        return np.where(self.counts[:, None] > 0, self.origin + self._offsets, 0.0)

    @property
    def mean(self) -> Array:
        """Mean of all rows."""
        return self.origin + self._centre(self.counts)

    @property
    def Sw(self) -> Array:
        """Scatter within classes."""
        return self._within.matrix()

    @property
    def Sb(self) -> Array:
        """Scatter between classes."""
        Hb = self.between_rows()
        return Hb.T @ Hb

    @property
    def St(self) -> Array:
        """Total scatter."""
        return self.Sw + self.Sb

    @property
    def class_scatters(self) -> Array:
        """Scatter of each class."""
        if not self.per_class:
            raise ValueError("class scatters were not kept: use from_data(..., per_class=True)")
        return np.stack([scatter.matrix() for scatter in self._scatters])

    @property
    def _within(self) -> Scatter:
        total = self._scatters[0]
        for scatter in self._scatters[1:]:
            total = total.plus(scatter)
        return total

    @property
    def _floor(self) -> float:
        return sum(scatter.floor for scatter in self._scatters)

    def _centre(self, weights: Array) -> Array:
        total = weights.sum()
        return weights @ self._offsets / (total if total > 0 else 1.0)

    def between_rows(self, priors: Array | None = None) -> Array:
        """A factor Hb of ``Sb = Hbᵀ Hb``, of one row fewer than there are classes with samples.

        The rows are contrasts of ``√n_c (m_c - m)``, which sum to nothing when weighed by √n_c.
        With `priors` the classes weigh ``n_samples * priors`` and m is the mean under them.
        """
        weights = self.counts if priors is None else self.n_samples * priors
        weights = np.where(self.counts > 0, weights, 0.0)
        deviations = np.sqrt(weights)[:, None] * (self._offsets - self._centre(weights))
        return contrasts(weights).T @ deviations

    def within_factor(self) -> Array:
        """The rows that are held, a factor Hw of ``Sw = Hwᵀ Hw``."""
        return self._within.factor()

    def within_apply(self, V: Array) -> Array:
        """``Sw @ V``, without the matrix where rows are held."""
        return self._within.apply(V)

    def within_diagonal(self) -> Array:
        """Diagonal of Sw, without the matrix."""
        return self._within.diagonal()

    def total_diagonal(self) -> Array:
        """Diagonal of St, without the matrix."""
        return self.within_diagonal() + np.sum(self.between_rows() ** 2, axis=0)

    def trace_within(self) -> float:
        """Trace of Sw, without the matrix."""
        return float(self.within_diagonal().sum())

    def most_axes(self) -> int:
        """A bound on the rank of St that needs no decomposition."""
        n_rows = sum(scatter.n_rows for scatter in self._scatters)
        n_rows += int(np.count_nonzero(self.counts)) - 1
        has_rank = self.is_thin and not self.is_truncated
        return min(self.n_features, n_rows) if has_rank else self.n_features

    def principal_axes(self, k: int) -> tuple[Array, Array]:
        """The k largest eigenvalues of St, and their eigenvectors as columns.

        Rows that are held are multiplied with each other on the smaller side, all at once when
        they are few; no d×d matrix is made then.
        """
        stack = self._stack()
        if stack is None:
            within, Hb = self._within, self.between_rows()
            if not within.is_thin:
                return top_eigh(within.matrix() + Hb.T @ Hb, k)
            apply = operator(self.n_features, lambda V: within.apply(V) + Hb.T @ (Hb @ V))
            return top_eigh(apply, k)
        evals, U = stack.top_eigh(k)
        # small eigenvalues magnify the rounding of U
        axes = orthonormal_again(stack.transposed_matmul(U / np.sqrt(evals)))
        return evals + self._floor, axes

    def between_along_axes(self, k: int) -> tuple[Array, Lift]:
        """The k largest eigenvalues of St, and what is left of Hb when each axis is weighed.

        The function returned takes weights c, one for each of the axes U, to ``U c Uᵀ Hbᵀ``. Where
        rows are held the axes themselves are not formed: Hb is among the rows.
        """
        stack, Hb = self._stack(), self.between_rows()
        if stack is None:
            evals, axes = self.principal_axes(k)
            return evals, lambda c: axes @ (c[:, None] * (axes.T @ Hb.T))
        evals, U = stack.top_eigh(k)
        last = U[len(U) - len(Hb) :]
        return evals + self._floor, lambda c: stack.transposed_matmul(U @ (c[:, None] * last.T))

    def _stack(self) -> Stack | None:
        """A factor of St made of rows that are held, when they are fewer than features."""
        within, Hb = self._within, self.between_rows()
        weights, blocks = zip(*within.rows, (1.0, Hb), strict=True)
        n_rows = sum(R.shape[0] for R in blocks)
        if not within.is_thin or n_rows >= self.n_features or min(weights) < 0:
            return None
        return Stack(blocks, np.sqrt(weights))

    def centred(self, X: Any, codes: Array) -> Array:
        """A block of rows less the means of their classes, dense."""
        rows = X.toarray() if sp.issparse(X) else X
        return (rows - self.origin) - self._offsets[codes]

    def fourth_moment(self, X: Any, codes: Array, weights: Array | None = None) -> float:
        """``Σ ‖x - m_c‖⁴`` over the rows, given as to `from_codes`, of these moments."""
        total = 0.0
        for block in row_blocks(*X.shape):
            Z = self.centred(X[block], codes[block])
            squares = np.einsum("ij,ij->i", Z, Z)
            total += float(squares**2 @ (np.ones(len(Z)) if weights is None else weights[block]))
        return total

    # The algebra ----------------------------------------------------------------------------

    def update(
        self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> ClassMoments:
        """Add rows in place, and return self; labels not seen before become new classes."""
        batch = ClassMoments.from_data(X, y, sample_weight=sample_weight, per_class=self.per_class)
        self.__dict__.update((self + batch).__dict__)
        return self

    def __add__(self, other: ClassMoments) -> ClassMoments:
        a, b = _aligned(self, other, "add")
        counts = a.counts + b.counts
        share = b.counts / np.where(counts > 0, counts, 1.0)
        shift = b._offsets - a._offsets
        between = np.sqrt(a.counts * share)[:, None] * shift
        offsets = a._offsets + share[:, None] * shift
        return a._with(counts, offsets, a._combined(b, 1.0, between), max(a.eps, b.eps))

    def __radd__(self, other: int) -> ClassMoments:
        """Let `sum` start from its zero."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        a, b = _aligned(self, other, "subtract")
        counts = _remaining_counts(a, b)
        rest = np.where(counts > 0, counts, 1.0)
        offsets = a._offsets + (b.counts / rest)[:, None] * (a._offsets - b._offsets)
        offsets[counts == 0] = 0.0
        # what adding would have put between the two parts has to go as well
        ratio = np.where(counts > 0, b.counts * counts / np.where(a.counts > 0, a.counts, 1.0), 0)
        between = np.sqrt(ratio)[:, None] * (b._offsets - offsets)
        result = a._with(counts, offsets, a._combined(b, -1.0, between), max(a.eps, b.eps))
        _refuse_negative(result, a, b)
        try:
            scatters = [scatter.refactored() for scatter in result._scatters]
        except NegativeScatterError:
            raise ValueError(NOT_A_PART) from None
        return result._with(counts, offsets, scatters, result.eps)

    def decay(self, factor: float) -> ClassMoments:
        """The same means with every weight multiplied by `factor`, between 0 and 1."""
        if not 0 < factor <= 1:
            raise ValueError(f"decay factor must be in (0, 1], got {factor!r}")
        scatters = [scatter.times(factor) for scatter in self._scatters]
        counts = factor * self.counts
        counts[counts < FORGOTTEN] = 0.0
        return self._with(counts, self._offsets, scatters, self.eps)

    def truncated(self, rank: int) -> ClassMoments:
        """The same counts and means, with at most `rank` rows for each scatter.

        Each scatter keeps its leading axes and its trace: what is left out is spread evenly over
        all other directions. Matrices stay whole.
        """
        scatters = [scatter.truncated(rank) for scatter in self._scatters]
        return self._with(self.counts, self._offsets, scatters, self.eps)

    def with_matrices(self) -> ClassMoments:
        """The same moments, with d×d matrices whatever the number of rows."""
        scatters = [scatter.with_matrix() for scatter in self._scatters]
        return self._with(self.counts, self._offsets, scatters, self.eps)

    def _combined(self, other: ClassMoments, sign: float, between: Array) -> list[Scatter]:
        """Own scatters plus or minus those of `other` and of the rows between the means."""
        scatters = []
        for i, (own, others) in enumerate(zip(self._scatters, other._scatters, strict=True)):
            rows = between[i : i + 1] if self.per_class else between
            rows = rows[np.any(rows != 0, axis=1)]
            scatters.append(own.plus(others, sign, rows))
        return scatters

    def _with(
        self, counts: Array, offsets: Array, scatters: Sequence[Scatter], eps: float
    ) -> ClassMoments:
        return ClassMoments(
            self.classes,
            counts,
            offsets,
            self.origin,
            scatters,
            per_class=self.per_class,
            eps=eps,
        )

    def _spread(self, labels: Array, origin: Array) -> ClassMoments:
        """The same moments over more classes, seen from another origin."""
        at = np.searchsorted(labels, self.classes)
        counts = np.zeros(len(labels))
        counts[at] = self.counts
        offsets = np.zeros((len(labels), self.n_features))
        offsets[at] = self._offsets + (self.origin - origin)
        offsets[counts == 0] = 0.0
        scatters = list(self._scatters)
        if self.per_class:
            scatters = [Scatter(self.n_features)] * len(labels)
            for i, scatter in zip(at, self._scatters, strict=True):
                scatters[i] = scatter
        return ClassMoments(
            labels, counts, offsets, origin, scatters, per_class=self.per_class, eps=self.eps
        )

    def kept(self, per_class: bool) -> ClassMoments:
        """The same moments with the scatter of the classes apart or only their sum."""
        if per_class == self.per_class:
            return self
        if per_class:
            raise ValueError("class scatters were not kept and cannot be told apart afterwards")
        return ClassMoments(
            self.classes,
            self.counts,
            self._offsets,
            self.origin,
            [self._within],
            per_class=False,
            eps=self.eps,
        )

    def of_classes(self, at: Array) -> ClassMoments:
        """Moments of the rows of some classes only, by their positions; needs `per_class`."""
        if not self.per_class:
            raise ValueError("class scatters were not kept: use from_data(..., per_class=True)")
        return ClassMoments(
            self.classes[at],
            self.counts[at],
            self._offsets[at],
            self.origin,
            [self._scatters[i] for i in at],
            per_class=True,
            eps=self.eps,
        )

    def columns(self, chosen: Array) -> ClassMoments:
        """Moments of some features of the same rows."""
        scatters = [scatter.columns(chosen) for scatter in self._scatters]
        return ClassMoments(
            self.classes,
            self.counts,
            self._offsets[:, chosen],
            self.origin[chosen],
            scatters,
            per_class=self.per_class,
            eps=self.eps,
        )

    def joined(self, classes: Array, at: Array) -> ClassMoments:
        """Moments of larger classes: class i is part of ``classes[at[i]]``; without per-class."""
        counts = np.bincount(at, self.counts, len(classes))
        sums = indicator(at, self.counts, len(classes), np.float64) @ self._offsets
        offsets = sums / np.where(counts > 0, counts, 1.0)[:, None]
        between = np.sqrt(self.counts)[:, None] * (self._offsets - offsets[at])
        scatter = self._within.plus(Scatter(self.n_features, None, [(1.0, between)]))
        return ClassMoments(
            classes, counts, offsets, self.origin, [scatter], per_class=False, eps=self.eps
        )

    # In fewer coordinates -------------------------------------------------------------------

    def project(self, basis: Array) -> ClassMoments:
        """Moments of ``(X - mean) @ basis``."""
        offsets = (self._offsets - self._centre(self.counts)) @ basis
        scatters = [scatter.projected(basis) for scatter in self._scatters]
        return self._in_coordinates(offsets, scatters)

    def in_span(self) -> tuple[ClassMoments, Lift]:
        """These moments in coordinates of the span of the centred rows, and the way back.

        Samples fewer than features span fewer dimensions than there are features: every
        rotation-equivariant method is exact there, and no d×d matrix is made. Moments that
        hold a d×d matrix already are returned as they are.
        """
        rows = [(weight, R) for scatter in self._scatters for weight, R in scatter.rows]
        if not self.is_thin or sum(R.shape[0] for _, R in rows) >= self.n_features:
            return self, lambda W: W
        Hb = self.between_rows()
        # the rows of a class sum to nothing
        bound = sum(R.shape[0] for _, R in rows) - 1
        spanned, parts = joint_span([R for _, R in rows] + [Hb], bound)
        rank = spanned.coordinates.shape[1]
        pieces = iter([(weight, Y) for (weight, _), Y in zip(rows, parts, strict=False)])
        scatters = [
            Scatter(
                rank,
                multiplied_out(rank, list(islice(pieces, len(scatter.rows)))),
                floor=scatter.floor,
            )
            for scatter in self._scatters
        ]
        deviations = contrasts(self.counts) @ parts[-1]
        offsets = deviations / np.sqrt(np.where(self.counts > 0, self.counts, 1.0))[:, None]
        return self._in_coordinates(offsets, scatters), spanned.lift

    def _in_coordinates(self, offsets: Array, scatters: Sequence[Scatter]) -> ClassMoments:
        """The same samples seen from their mean in other coordinates."""
        origin = np.zeros(offsets.shape[1])
        return ClassMoments(
            self.classes,
            self.counts,
            offsets,
            origin,
            scatters,
            per_class=self.per_class,
            eps=self.eps,
        )


def contrasts(weights: Array) -> Array:
    """Orthonormal columns that sum to nothing when weighed by √weights, zero where those are."""
    present = np.flatnonzero(weights)
    columns = np.zeros((len(weights), max(len(present) - 1, 0)))
    if len(present) > 1:
        unit = np.sqrt(weights[present])[:, None]
        columns[present] = np.linalg.qr(unit, mode="complete")[0][:, 1:]
    return columns


# What may be added and subtracted -------------------------------------------------------------


def _aligned(a: ClassMoments, b: ClassMoments, verb: str) -> tuple[ClassMoments, ClassMoments]:
    """Both with the same classes and the same origin."""
    if not isinstance(b, ClassMoments):
        raise TypeError(f"cannot {verb} {type(b).__name__} and ClassMoments")
    if a.n_features != b.n_features:
        raise ValueError(
            f"cannot {verb} moments of {b.n_features} features and of {a.n_features} features"
        )
    if a.per_class != b.per_class:
        raise ValueError(f"cannot {verb} moments with and without per-class scatter")
    if is_text(a.classes) != is_text(b.classes):
        raise ValueError(
            f"cannot {verb} moments whose labels differ in type: {a.classes.tolist()[:3]} and "
            f"{b.classes.tolist()[:3]}"
        )
    labels = np.union1d(a.classes, b.classes)
    origin = a.origin if a.n_samples > 0 else b.origin
    return a._spread(labels, origin), b._spread(labels, origin)


def _remaining_counts(a: ClassMoments, b: ClassMoments) -> Array:
    """Counts of a less those of b, or an error when b has more."""
    counts = a.counts - b.counts
    slack = 1e-9 * a.counts
    short = counts < -slack
    if short.any():
        label = a.classes[short].tolist()[0]
        raise ValueError(
            f"cannot subtract {b.counts[short][0]:g} samples of class {label!r} from "
            f"{a.counts[short][0]:g}: only what was added can be subtracted"
        )
    return np.where(counts <= slack, 0.0, counts)


def _refuse_negative(rest: ClassMoments, a: ClassMoments, b: ClassMoments) -> None:
    """Raise when the rest of a subtraction cannot be the moments of anything."""
    spread = np.sqrt(a._within.diagonal().clip(0) / max(a.n_samples, 1.0))
    gone = (rest.counts == 0) & (b.counts > 0)
    moved = np.abs(a._offsets - b._offsets)[gone] > 1e-6 * (spread + np.abs(a._offsets[gone]))
    slack = 1e-8 * a._within.diagonal() + (1e3 * EPS * a.origin) ** 2
    if moved.any() or (rest._within.diagonal() < -slack).any():
        raise ValueError(NOT_A_PART)
