"""The moments of the last rows of a stream, by adding alone.

Subtracting what has left loses digits with every step; here nothing is ever subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments

PARTS = 16
"""How many parts a stretch of rows is cut into when its oldest rows begin to leave."""

FINEST = 64
"""Rows that are summarised when asked for, as they come or leave a few at a time."""


class Rows(NamedTuple):
    """Labelled rows as they came; `start` is the number of rows before them."""

    start: int
    X: Any
    y: Array
    weights: Array | None

    @property
    def stop(self) -> int:
        """Number of rows up to the last of these."""
        return self.start + len(self.y)

    def between(self, start: int, stop: int) -> Rows:
        """Those of them that are rows `start` to `stop` of the stream."""
        part = slice(max(start - self.start, 0), max(stop - self.start, 0))
        weights = None if self.weights is None else self.weights[part]
        return Rows(max(start, self.start), self.X[part], self.y[part], weights)


Summarise = Callable[[Any, Array, "Array | None"], ClassMoments]
Condense = Callable[[ClassMoments], ClassMoments]


class SlidingWindow:
    """A queue of rows with the sum of their moments.

    The rows themselves are kept, and sums over stretches of them. Those that came since the last
    `turn` are summed in the stretches of `back`, each of a `PARTS`-th of the window or one batch.
    Those before are covered by the stack `front`, whose entries are sums from some row up to the
    turn. When the window has slid past the turn the stretches of `back` become the new `front`;
    when it has slid into one of them that stretch is cut into `PARTS`, the oldest part again, and
    so on. At most `FINEST` rows at either end are in no sum, and summarised when asked for.

    Attributes
    ----------
    size : int
        Rows in a full window.

    Notes
    -----
    Each row is summarised once when it comes and less than once for each level of cutting,
    ``log(size / PARTS / FINEST) / log(PARTS)`` of them: two or three times in all, whatever the
    size. An answer adds four sums. At any time there are at most ``2 PARTS`` sums, and ``PARTS``
    more for each level, besides the rows.

    References
    ----------
    The queue of two stacks is folklore of stream processing; see Tangwongsan, Hirzel, Schneider
    and Wu, General incremental sliding-window aggregation, VLDB (2015).
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[Rows] = []
        self._stop = 0
        self._turn = 0
        self._front: list[tuple[int, ClassMoments]] = []
        self._back: list[tuple[int, ClassMoments]] = []
        self._before_last: ClassMoments | None = None  # the sum of all of `back` but its last
        self._summed = 0  # rows from here on are in no sum yet

    @property
    def start(self) -> int:
        """Number of rows of the stream that have left the window."""
        return max(0, self._stop - self.size)

    def copy(self) -> SlidingWindow:
        """A window that moves on by itself; rows and sums are shared, and never changed."""
        other = SlidingWindow(self.size)
        other.__dict__.update(vars(self))
        other._rows = self._rows.copy()
        other._front, other._back = self._front.copy(), self._back.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        """What is written to a file: the same with the rows in as few blocks as they can be."""
        alike = groupby(self._rows, lambda r: (type(r.X), r.X.dtype, r.weights is None))
        return {**vars(self), "_rows": [_joined_rows(list(rows)) for _, rows in alike]}

    def push(
        self,
        X: Any,
        y: Array,
        weights: Array | None,
        summarise: Summarise,
        condense: Condense,
    ) -> None:
        """Add rows at the end; as many leave at the beginning as the window cannot hold.

        Parameters
        ----------
        X, y, weights
            Rows, labels and weights or None.
        summarise : callable
            Takes such a triple to its moments.
        condense : callable
            Applied to every sum: keeps it small, or turns it into the form that is wanted now.
        """
        if len(y) > self.size:
            raise ValueError(f"{len(y)} rows do not fit into a window of {self.size}")
        batch = summarise(X, y, weights)  # here, so that rows that cannot be are refused
        own = None if weights is None else weights.copy()  # the caller may reuse the arrays
        self._rows.append(Rows(self._stop, X.copy(), y, own))
        alone = self._summed == self._stop
        self._stop += len(y)
        self._rows = [rows for rows in self._rows if rows.stop > self.start]
        if self._stop - self._summed >= FINEST:
            if not alone:
                batch = self._summary(self._summed, self._stop, summarise)
            self._extend(batch, condense)
        self._settle(summarise, condense)

    def total(self, summarise: Summarise, condense: Condense) -> ClassMoments:
        """The moments of all rows in the window."""
        sums = [stretch for _, stretch in (*self._front[-1:], *self._back[-1:])]
        if self._before_last is not None:
            sums.append(self._before_last)
        covered = self._front[-1][0] if self._front else self._turn
        for start, stop in ((self.start, covered), (self._summed, self._stop)):
            if start < stop:
                sums.append(self._summary(start, stop, summarise))
        first, *rest = sums
        total = condense(first)
        for more in rest:
            total = _sum(condense, total, condense(more))
        return total

    def _extend(self, batch: ClassMoments, condense: Condense) -> None:
        """Put the rows that are in no sum yet, with these moments, at the end of `back`."""
        start, self._summed = self._summed, self._stop
        if self._back and start - self._back[-1][0] < self.size / PARTS:
            begun, last = self._back[-1]
            self._back[-1] = begun, _sum(condense, last, batch)
            return
        if self._back:
            self._before_last = _sum(condense, self._before_last, condense(self._back[-1][1]))
        self._back.append((start, condense(batch)))

    def _summary(self, start: int, stop: int, summarise: Summarise) -> ClassMoments:
        """Moments of rows `start` to `stop` of the stream, from the rows."""
        parts = [r.between(start, stop) for r in self._rows if r.start < stop and r.stop > start]
        weights = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate(
                [np.ones(len(p.y)) if p.weights is None else p.weights for p in parts]
            )
        y = np.concatenate([part.y for part in parts])
        return summarise(_stacked([part.X for part in parts]), y, weights)

    def _settle(self, summarise: Summarise, condense: Condense) -> None:
        """Let the top of the stack start soon after the oldest row."""
        while self._front and self._front[-1][0] < self.start:
            self._front.pop()
        if not self._front and self.start > self._turn:
            self._turn_round(summarise, condense)
        covered = self._front[-1][0] if self._front else self._turn
        while covered - self.start > FINEST:
            step = max(FINEST, -(-(covered - self.start) // PARTS))
            while covered - self.start > step:
                covered -= step
                part = self._summary(covered, covered + step, summarise)
                above = self._front[-1][1] if self._front else None
                self._front.append((covered, _sum(condense, above, part)))

    def _turn_round(self, summarise: Summarise, condense: Condense) -> None:
        """Let the stretches of `back` that are still whole be the new `front`."""
        if self._summed < self._stop:
            self._extend(self._summary(self._summed, self._stop, summarise), condense)
        above = None
        while self._back and self._back[-1][0] >= self.start:
            start, stretch = self._back.pop()
            above = _sum(condense, above, condense(stretch))
            self._front.append((start, above))
        self._turn, self._back, self._before_last = self._stop, [], None


def _joined_rows(parts: Sequence[Rows]) -> Rows:
    """Stretches of rows of one kind, one after the other, as one."""
    y = np.concatenate([part.y for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    X = _stacked([part.X for part in parts])
    return Rows(parts[0].start, X, y, np.concatenate(weights) if weights else None)


def _sum(condense: Condense, old: ClassMoments | None, new: ClassMoments) -> ClassMoments:
    """The sum of both, condensed; `new` is in the form that is wanted now."""
    return condense(new if old is None else condense(old) + new)


def _stacked(parts: Sequence[Any]) -> Any:
    """Batches one below the other; sparse when one of them is."""
    if any(sp.issparse(X) for X in parts):
        return sp.vstack([sp.csr_array(X) for X in parts], format="csr")
    return np.concatenate(parts)
