"""Class statistics that add, subtract and decay: counts, class means, centred scatter.

This is the only place that turns rows into statistics. Online learning, sliding windows,
merging models trained apart and distributed sums are all the algebra of `ClassMoments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from separatrix.linalg import EPS, Array
from separatrix.moments.arrays import to_numpy
from separatrix.moments.dask import labelled_blocks
from separatrix.moments.labelled import (
    MAX_MAGNITUDE,
    LabelledRows,
    check_entries,
    check_finite_columns,
    check_in_memory,
    check_magnitude,
    check_weights,
    class_indicator,
    encode_labels,
    is_dask,
    is_text,
)
from separatrix.moments.scatter import (
    NegativeScatterError,
    Scatter,
)
from separatrix.moments.summarize import Statistics, hides_directions, summarize

MIN_COUNT = 1e-200
"""Smallest count of a class; one that has decayed below it counts as never seen."""

NOT_A_PART_MESSAGE = (
    "cannot subtract these moments: the rest would have a negative scatter, so they are not part "
    "of what was added"
)


class ClassMoments:
    """Counts, means and centred scatter of labelled rows.

    The sufficient statistics of every discriminant method here. Adding the moments of shards, in
    any order or grouping, gives the moments of their union; subtracting a part gives back the
    remainder; decaying multiplies the weights of all rows so far. Means are held as differences
    from the mean of all rows, so that an offset common to all rows costs no digits.

    Rows of float32 are multiplied in float32, block by block, and added in float64; where
    directions of small scatter would be lost so, they are multiplied in float64.

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

    _offsets: Array
    _scatters: Any
    classes: Array
    counts: Array
    eps: float
    origin: Array
    per_class: bool

    def __init__(
        self,
        classes: Array,
        counts: Array,
        offsets: Array,
        origin: Array,
        scatters: Sequence[Scatter],
        eps: float,
        *,
        per_class: bool,
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
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        per_class: bool = False,
    ) -> ClassMoments:
        """Summarize rows.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Sparse rows are centred implicitly and never made dense as a whole. A Dask array, a
            Dask data frame, or a list of delayed blocks is summarized block by block, in one
            pass; an array that is split along its features is rechunked.
        y : array (n_samples,)
            Labels of any sortable type. Of a Dask collection in the blocks of X, or in such as
            can be matched; None where the blocks are pairs of rows and labels.
        sample_weight : array (n_samples,), optional
            Non-negative weights; a weight of 2 is the row twice.
        classes : array, optional
            All labels there are, when some may be absent from `y`.
        per_class : bool
            Keep the scatter of each class apart, for rules that need it.
        """
        if is_dask(X):
            summarize_block = partial(cls.from_rows, per_class=per_class)
            blocks = labelled_blocks(X, y, sample_weight)
            return blocks.sum_up(summarize_block, classes=classes).summary
        check_in_memory(X)
        rows: Any = check_array(
            to_numpy(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        if y is None:
            raise ValueError("y is missing: rows in memory need their labels")
        labels, codes = encode_labels(y, rows.shape[0], classes)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return cls.from_rows(LabelledRows(rows, codes, labels, weights), per_class=per_class)

    @classmethod
    def from_sums(
        cls,
        classes: ArrayLike,
        counts: ArrayLike,
        sums: ArrayLike,
        products: ArrayLike | None = None,
        *,
        shift: ArrayLike | None = None,
        class_products: ArrayLike | None = None,
    ) -> ClassMoments:
        """Moments from sums that another program has made, such as a database.

        Parameters
        ----------
        classes : array (n_classes,)
            Labels, each once.
        counts : array (n_classes,)
            Rows of each.
        sums : array (n_classes, n_features)
            Sums of the rows less `shift`, by class.
        products : array (n_features, n_features)
            Sum over all rows of ``z zᵀ``, z a row less `shift`.
        shift : array (n_features,), optional
            Vector subtracted from the rows, zero by default. Without a shift near the means an
            offset costs twice its digits.
        class_products : array (n_classes, n_features, n_features), optional
            In place of `products` these sums by class: the scatter of each class is kept.

        Examples
        --------
        >>> moments = ClassMoments.from_sums(["a", "b"], [2, 1], [[4.0], [7.0]], [[59.0]])
        >>> moments.means.ravel(), moments.Sw
        (array([2., 7.]), array([[2.]]))
        """
        labels, order = np.unique(np.asarray(classes), return_index=True)
        n, s = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
        per_class = class_products is not None
        if per_class == (products is not None):
            raise ValueError("give products, or class_products, and not both")
        P = np.asarray(class_products if per_class else [products], np.float64)
        d = s.shape[-1]
        origin = np.zeros(d) if shift is None else np.array(shift, np.float64)
        expected = (len(n), d), (len(n) if per_class else 1, d, d), (d,), len(labels)
        if (s.shape, P.shape, origin.shape, np.size(classes)) != expected:
            raise ValueError(
                f"sums of {len(n)} classes have the shapes {s.shape}, {P.shape[1 - per_class :]} "
                f"and {origin.shape}, for {len(labels)} different labels: these do not belong "
                "together"
            )
        if not all(np.isfinite(part).all() for part in (n, s, P, origin)) or (n < 0).any():
            raise ValueError("counts must not be negative, and sums must be finite")
        n, s = n[order], s[order]
        # Σ z zᵀ = Sw + Σ n_c m_c m_cᵀ for z relative to the shift: the second sum is taken off
        offsets = s / np.where(n > 0, n, 1.0)[:, None]
        means = np.sqrt(n)[:, None] * offsets  # of the class's share in the products
        shares = [means[[c]] for c in range(len(n))] if per_class else [means]
        scatters = []
        for Pc, R in zip(P[order] if per_class else P, shares, strict=True):
            # a program may sum both triangles in another order: their mean is symmetric
            S = (Pc + Pc.T) / 2 - R.T @ R
            # what is left of equal values is rounding
            slack = EPS * (16 + n.sum() ** 0.5) * np.diagonal(Pc)
            nothing = np.diagonal(S) <= slack
            if (np.diagonal(S) < -slack).any():
                raise ValueError(
                    "the products are smaller than sums allow: a variance is negative"
                )
            S[nothing], S[:, nothing] = 0.0, 0.0
            scatters.append(Scatter(d, S))
        moments = cls(labels, n, offsets, origin, scatters, EPS, per_class=per_class)
        return moments._spread(labels, moments.mean)

    @classmethod
    def from_rows(
        cls,
        rows: LabelledRows,
        *,
        per_class: bool = False,
        scatter: bool = True,
        factored: bool = False,
    ) -> ClassMoments:
        """Summarize checked rows; NaN and infinity are found on the way, and raised by name.

        Parameters
        ----------
        rows : LabelledRows
        per_class, scatter, factored : bool
            As to `summarize.summarize`.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            parts = summarize(rows, per_class=per_class, scatter=scatter, factored=factored)
            moments = cls._of_parts(rows.classes, parts, per_class)
            multiplied = not (moments.is_thin or sp.issparse(rows.X))
            # products in float32 are twice as fast; in float64 where they hide directions
            if multiplied and moments.eps > EPS and hides_directions(moments.Sw, moments.eps):
                parts = summarize(rows, per_class=per_class, dtype=np.float64)
                moments = cls._of_parts(rows.classes, parts, per_class)
            spread = moments.trace_within()
        # a mean is finite only if all entries are: looking at means instead of rows is free
        if not (np.isfinite(moments._offsets).all() and np.isfinite(spread)):
            check_finite_columns(rows.X, rows.feature_names)
            raise ValueError("Input X has values so large that their squares overflow: rescale it")
        largest = float(np.max(np.abs(moments._offsets), initial=0.0))
        check_magnitude(max(largest, max(spread, 0.0) ** 0.5))
        if np.max(np.abs(moments.origin), initial=0.0) > MAX_MAGNITUDE:
            check_entries(moments.origin)  # rows that are equal do not deviate from anything
        if not scatter:
            check_entries(rows.X)
        return moments._centred_at_mean()

    @classmethod
    def _of_parts(
        cls, classes: Array, parts: Sequence[Statistics], per_class: bool
    ) -> ClassMoments:
        """The moments of all rows, from the statistics of stretches of them."""
        return reduce(add, [cls(classes, *part, per_class=per_class) for part in parts])

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
            EPS,
            per_class=per_class,
        )

    # Properties -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        """How many rows, features and classes there are."""
        return (
            f"ClassMoments({self.n_samples:g} rows, {self.n_features} features, "
            f"{len(self.classes)} classes)"
        )

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
        return self.floor > 0

    def most_rows(self) -> int:
        """The largest number of rows held for one scatter."""
        return max(scatter.n_rows for scatter in self._scatters)

    @property
    def holds_sparse_rows(self) -> bool:
        """Whether some of the rows held are sparse."""
        return any(scatter.holds_sparse_rows for scatter in self._scatters)

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
        return self.within.matrix()

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
    def within(self) -> Scatter:
        """The scatter within classes, as a matrix or as rows."""
        total = self._scatters[0]
        for scatter in self._scatters[1:]:
            total = total.plus(scatter)
        return total

    @property
    def scatters(self) -> tuple[Scatter, ...]:
        """The scatter within classes in parts: one in all, or one for each class."""
        return self._scatters

    @property
    def floor(self) -> float:
        """Scatter in each direction that is known by its average only; see `truncated`."""
        return sum(scatter.floor for scatter in self._scatters)

    def _centre(self, weights: Array) -> Array:
        total = weights.sum()
        return weights @ self._offsets / (total if total > 0 else 1.0)

    def between_rows(self, priors: Array | None = None) -> Array:
        """A factor Hb of ``Sb = Hbᵀ Hb``, of one row fewer than there are classes with samples.

        The rows are contrasts of ``√n_c (m_c - m)``, which sum to zero when weighed by √n_c.
        With `priors` the classes weigh ``n_samples * priors`` and m is the mean under them.
        """
        weights = self.counts if priors is None else self.n_samples * priors
        weights = np.where(self.counts > 0, weights, 0.0)
        # differences of offsets: the mean of all rows, however large, has been left out already
        deviations = np.sqrt(weights)[:, None] * (self._offsets - self._centre(weights))
        return contrast(weights, deviations)

    def within_factor(self) -> Array:
        """The rows that are held, a factor Hw of ``Sw = Hwᵀ Hw``."""
        return self.within.factor()

    def within_apply(self, V: Array) -> Array:
        """``Sw @ V``, without the matrix where rows are held."""
        return self.within.apply(V)

    def within_diagonal(self) -> Array:
        """Diagonal of Sw, without the matrix."""
        return self.within.diagonal()

    def total_apply(self, V: Array) -> Array:
        """``St @ V``, without the matrix where rows are held."""
        Hb = self.between_rows()
        return self.within_apply(V) + Hb.T @ (Hb @ V)

    def total_diagonal(self) -> Array:
        """Diagonal of St, without the matrix."""
        deviations = self._offsets - self._centre(self.counts)
        return self.within_diagonal() + self.counts @ deviations**2

    @property
    def n_varying(self) -> int:
        """Number of features that are not the same in all rows: others say nothing."""
        return int(np.count_nonzero(self.total_diagonal() > 0))

    def trace_within(self) -> float:
        """Trace of Sw, without the matrix."""
        return sum(scatter.trace() for scatter in self._scatters)

    def centred(self, X: Any, codes: Array) -> Array:
        """A block of rows less the means of their classes, dense."""
        rows = X.toarray() if sp.issparse(X) else X
        return (rows - self.origin) - self._offsets[codes]

    # The algebra ----------------------------------------------------------------------------

    def update(
        self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> ClassMoments:
        """Add rows in place, and return self; labels not seen before become new classes."""
        batch = ClassMoments.from_data(X, y, sample_weight=sample_weight, per_class=self.per_class)
        self.__dict__.update((self + batch).__dict__)
        return self

    def __add__(self, other: ClassMoments) -> ClassMoments:
        _check_terms(self, other, "add")
        labels = _join_labels(self.classes, other.classes)
        # all but the scatters of classes that `other` has is one copy: small batches add quickly
        total = self._spread(labels, self.origin if self.n_samples > 0 else other.origin)
        at = np.searchsorted(labels, other.classes)
        counts, offsets = total.counts.copy(), total._offsets.copy()
        before, means = counts[at], offsets[at]
        counts[at] += other.counts
        # a mean moves by b/(n + b) of the step between the two, and never by a difference of sums
        share = other.counts / np.where(counts[at] > 0, counts[at], 1.0)
        shift = np.where(share[:, None] > 0, other._offsets + (other.origin - total.origin), means)
        shift -= means
        offsets[at] += share[:, None] * shift
        # rows about two means have n b/(n + b) δδᵀ more scatter about their common mean
        between = np.sqrt(before * share)[:, None] * shift
        scatters = list(total._scatters)
        places = at if self.per_class else [0]
        for i, (place, more) in enumerate(zip(places, other._scatters, strict=True)):
            rows = between[i : i + 1] if self.per_class else between
            scatters[place] = scatters[place].plus(more, 1.0, rows[np.any(rows != 0, axis=1)])
        eps = max(self.eps, other.eps)
        total = total._replace(counts=counts, offsets=offsets, scatters=scatters, eps=eps)
        return total._centred_at_mean()

    def __radd__(self, other: int) -> ClassMoments:
        """Let `sum` start from its zero."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        a, b = _aligned(self, other, "subtract")
        counts = _remaining_counts(a, b)
        remaining = np.where(counts > 0, counts, 1.0)
        # the remaining mean lies beyond that of the whole, opposite to that of the part
        offsets = a._offsets + (b.counts / remaining)[:, None] * (a._offsets - b._offsets)
        # a class without rows has no mean: whatever stands there must not look like one
        offsets[counts == 0] = 0.0
        # adding put the scatter between the two means into the sum: it is subtracted, too
        ratio = np.where(counts > 0, b.counts * counts / np.where(a.counts > 0, a.counts, 1.0), 0)
        between = np.sqrt(ratio)[:, None] * (b._offsets - offsets)
        scatters = a._less(b, between)
        rest = a._replace(counts=counts, offsets=offsets, scatters=scatters, eps=max(a.eps, b.eps))
        _check_remainder(rest, a, b)
        try:
            # sparse rows stay, with a sign: `subtract_part` bounds what they would fill
            parts = [s if s.holds_sparse_rows else s.refactored() for s in scatters]
            return rest._replace(scatters=parts)
        except NegativeScatterError:
            raise ValueError(NOT_A_PART_MESSAGE) from None

    def decay(self, factor: float) -> ClassMoments:
        """The same means with every weight multiplied by `factor`, between 0 and 1."""
        if not 0 < factor <= 1:
            raise ValueError(f"decay factor must be in (0, 1], got {factor!r}")
        scatters = [scatter.times(factor) for scatter in self._scatters]
        counts = factor * self.counts
        # the class stays in the labels; its mean is no longer used, as a ratio of dust
        counts[counts < MIN_COUNT] = 0.0
        return self._replace(counts=counts, scatters=scatters)

    def truncated(self, rank: int) -> ClassMoments:
        """The same counts and means, with at most `rank` rows for each scatter.

        Each scatter keeps its leading axes and its trace: the remainder is spread evenly over all
        other directions. Matrices stay whole.
        """
        scatters = [scatter.truncated(rank) for scatter in self._scatters]
        return self._replace(scatters=scatters)

    def with_matrices(self) -> ClassMoments:
        """The same moments, with d×d matrices whatever the number of rows."""
        scatters = [scatter.with_matrix() for scatter in self._scatters]
        return self._replace(scatters=scatters)

    def _less(self, other: ClassMoments, between: Array) -> list[Scatter]:
        """Own scatters less those of `other` and of the rows between the means."""
        scatters = []
        for i, (own, others) in enumerate(zip(self._scatters, other._scatters, strict=True)):
            rows = between[i : i + 1] if self.per_class else between
            rows = rows[np.any(rows != 0, axis=1)]
            scatters.append(own.plus(others, -1.0, rows))
        return scatters

    def _replace(self, **changes: Any) -> ClassMoments:
        """The same moments but for some parts."""
        parts = {
            "classes": self.classes,
            "counts": self.counts,
            "offsets": self._offsets,
            "origin": self.origin,
            "scatters": self._scatters,
            "eps": self.eps,
            "per_class": self.per_class,
        }
        return ClassMoments(**{**parts, **changes})

    def _spread(self, labels: Array, origin: Array) -> ClassMoments:
        """The same moments over more classes, with another origin."""
        if len(labels) == len(self.classes):
            if origin is self.origin:
                return self
            offsets = self._offsets + (self.origin - origin)
            if not self.counts.all():
                offsets[self.counts == 0] = 0.0
            return self._replace(offsets=offsets, origin=origin)
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
        return self._replace(
            classes=labels, counts=counts, offsets=offsets, origin=origin, scatters=scatters
        )

    def with_class_scatters(self, per_class: bool) -> ClassMoments:
        """The same moments with the scatter of each class, if `per_class`, or their sum alone."""
        if per_class == self.per_class:
            return self
        if per_class:
            raise ValueError("class scatters were not kept and cannot be separated afterwards")
        return self._replace(scatters=[self.within], per_class=False)

    def select_classes(self, at: Array) -> ClassMoments:
        """Moments of the rows of some classes only, by their positions; needs `per_class`."""
        if not self.per_class:
            raise ValueError("class scatters were not kept: use from_data(..., per_class=True)")
        return self._replace(
            classes=self.classes[at],
            counts=self.counts[at],
            offsets=self._offsets[at],
            scatters=[self._scatters[i] for i in at],
        )

    def without_empty_classes(self) -> ClassMoments:
        """The same moments without the classes that have no samples."""
        at = np.flatnonzero(self.counts > 0)
        scatters = [self._scatters[i] for i in at] if self.per_class else self._scatters
        return self._replace(
            classes=self.classes[at],
            counts=self.counts[at],
            offsets=self._offsets[at],
            scatters=scatters,
        )

    def with_classes(self, classes: Array) -> ClassMoments:
        """The same moments over more classes, of which there are no samples."""
        return self._spread(classes, self.origin)

    def with_origin(self, origin: Array) -> ClassMoments:
        """The same moments, with means held as differences from another point."""
        return self._spread(self.classes, origin)

    def _centred_at_mean(self) -> ClassMoments:
        """The same moments, with means held as differences from the mean of all rows.

        The origin is then no row of the data, which a file would show.
        """
        nothing = self.n_samples == 0
        return self.with_origin(np.zeros(self.n_features) if nothing else self.mean)

    def rescaled(self, shift: Array, scale: Array) -> ClassMoments:
        """Moments of ``scale * X + shift``, feature by feature."""
        scatters = [scatter.scaled(scale) for scatter in self._scatters]
        # the shift enters the origin alone: differences of means keep their digits
        return self._replace(
            offsets=self._offsets * scale, origin=self.origin * scale + shift, scatters=scatters
        )

    def select_columns(self, chosen: Array) -> ClassMoments:
        """Moments of some features of the same rows, by a mask or by numbers in any order."""
        scatters = [scatter.select_columns(chosen) for scatter in self._scatters]
        return self._replace(
            offsets=self._offsets[:, chosen], origin=self.origin[chosen], scatters=scatters
        )

    def join_classes(self, classes: Array, at: Array) -> ClassMoments:
        """Moments of unions of classes: class i is part of ``classes[at[i]]``."""
        counts = np.bincount(at, self.counts, len(classes))
        # the mean of a union is weighted; deviations of its parts become scatter within
        sums = class_indicator(at, self.counts, len(classes), np.float64) @ self._offsets
        offsets = sums / np.where(counts > 0, counts, 1.0)[:, None]
        between = np.sqrt(self.counts)[:, None] * (self._offsets - offsets[at])
        scatter = self.within.plus(Scatter(self.n_features, None, [(1.0, between)]))
        return self._replace(
            classes=classes, counts=counts, offsets=offsets, scatters=[scatter], per_class=False
        )

    # In fewer coordinates -------------------------------------------------------------------

    def project(self, basis: Array) -> ClassMoments:
        """Moments of ``(X - mean) @ basis``."""
        offsets = (self._offsets - self._centre(self.counts)) @ basis
        scatters = [scatter.projected(basis) for scatter in self._scatters]
        return self.in_coordinates(offsets, scatters)

    def in_coordinates(self, offsets: Array, scatters: Sequence[Scatter]) -> ClassMoments:
        """The same samples in other coordinates, whose origin is their mean."""
        return self._replace(offsets=offsets, origin=np.zeros(offsets.shape[1]), scatters=scatters)


def contrast(weights: Array, A: Array) -> Array:
    """Contrasts of the rows of A: their coordinates along all axes orthogonal to √weights.

    The reflection that takes √weights to the first axis gives these axes. Its matrix, which has
    as many rows and columns as there are weights, is never made. Rows of weight zero have no part.

    Examples
    --------
    >>> contrast(np.array([1.0, 1.0]), np.array([[3.0], [3.0]])).round(12)
    array([[0.]])
    """
    present = np.flatnonzero(weights)
    if len(present) < 2:
        return np.zeros((0, A.shape[1]))
    normal = _normal_of_reflection(weights[present])
    rows = A[present]
    return rows[1:] - np.outer(normal[1:] / normal[0], normal @ rows)


def undo_contrast(weights: Array, contrasts: Array) -> Array:
    """The rows A with these contrasts whose sum, weighed by √weights, is zero."""
    present = np.flatnonzero(weights)
    rows = np.zeros((len(weights), contrasts.shape[1]))
    if len(present) > 1:
        normal = _normal_of_reflection(weights[present])
        rows[present[1:]] = contrasts
        rows[present] -= np.outer(normal / normal[0], normal[1:] @ contrasts)
    return rows


def contrasts(weights: Array) -> Array:
    """The axes orthogonal to √weights, as columns; for few classes."""
    return undo_contrast(weights, np.eye(max(int(np.count_nonzero(weights)) - 1, 0)))


def _normal_of_reflection(weights: Array) -> Array:
    # Householder: u = √w + e₁ turns √w into -e₁, and adds without cancellation as √w ≥ 0
    normal = np.sqrt(weights / weights.sum())
    normal[0] += 1.0
    return normal


# Checks of terms ------------------------------------------------------------------------------


def _check_terms(a: ClassMoments, b: ClassMoments, verb: str) -> None:
    """Raise where moments cannot be added or subtracted."""
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


def _join_labels(a: Array, b: Array) -> Array:
    """The labels of both, sorted; those of a where b has no others."""
    at = np.minimum(np.searchsorted(a, b), len(a) - 1)
    return a if len(a) and (a[at] == b).all() else np.union1d(a, b)


def _aligned(a: ClassMoments, b: ClassMoments, verb: str) -> tuple[ClassMoments, ClassMoments]:
    """Both with the same classes and the same origin."""
    _check_terms(a, b, verb)
    labels = np.union1d(a.classes, b.classes)
    origin = a.origin if a.n_samples > 0 else b.origin
    return a._spread(labels, origin), b._spread(labels, origin)


def _remaining_counts(a: ClassMoments, b: ClassMoments) -> Array:
    """Counts of a less those of b, or an error when b has more."""
    counts = a.counts - b.counts
    slack = 1e-9 * a.counts  # sums of weights in another order differ in their last digits
    short = counts < -slack
    if short.any():
        label = a.classes[short].tolist()[0]
        raise ValueError(
            f"cannot subtract {b.counts[short][0]:g} samples of class {label!r} from "
            f"{a.counts[short][0]:g}: only what was added can be subtracted"
        )
    return np.where(counts <= slack, 0.0, counts)


def _check_remainder(rest: ClassMoments, a: ClassMoments, b: ClassMoments) -> None:
    """Raise when the remainder of a subtraction cannot be the moments of any rows."""
    spread = np.sqrt(a.within.diagonal().clip(0) / max(a.n_samples, 1.0))
    # a class that goes must go with its mean: other rows with equal counts are no part
    gone = (rest.counts == 0) & (b.counts > 0)
    moved = np.abs(a._offsets - b._offsets)[gone] > 1e-6 * (spread + np.abs(a._offsets[gone]))
    slack = 1e-8 * a.within.diagonal() + (1e3 * EPS * a.origin) ** 2
    if moved.any() or (rest.within.diagonal() < -slack).any():
        raise ValueError(NOT_A_PART_MESSAGE)
