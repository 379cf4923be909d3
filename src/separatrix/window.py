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
from separatrix.moments import ClassMoments

PARTS = 8
"""How many parts a stretch of rows is cut into when its oldest rows begin to leave."""

FINEST = 32
"""Rows that are summarised anew, rather than cut further, while they leave one by one."""


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
    `turn` are added up in `back` as they come. Those before are covered by the stack `front`,
    whose entries are sums from some row up to the turn; the topmost starts at most `FINEST` rows
    after the oldest row of the window, and these few are summarised anew when asked for. When the
    window has slid past the top of the stack the next stretch is cut into `PARTS`, the oldest part
    again, and so on; when it has slid past the turn, all of `back` is.

    Attributes
    ----------
    size : int
        Rows in a full window.

    Notes
    -----
    Between two turns each row is summarised once when it comes and less than once for each level
    of cutting, ``log(size / FINEST) / log(PARTS)`` of them: about three or four times in all,
    whatever the size. Two sums are added for each batch and two for each answer. At any time
    there are ``PARTS`` sums for each level, besides the rows.

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
        self._back: ClassMoments | None = None
        self._front: list[tuple[int, ClassMoments]] = []

    @property
    def start(self) -> int:
        """Number of rows of the stream that have left the window."""
        return max(0, self._stop - self.size)

    def copy(self) -> SlidingWindow:
        """A window that moves on by itself; rows and sums are shared, and never changed."""
        other = SlidingWindow(self.size)
        other.__dict__.update(vars(self))
        other._rows, other._front = self._rows.copy(), self._front.copy()
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
        back = _sum(condense, self._back, summarise(X, y, weights))
        own = None if weights is None else weights.copy()  # the caller may reuse the arrays
        self._rows.append(Rows(self._stop, X.copy(), y, own))
        self._stop, self._back = self._stop + len(y), back
        self._rows = [rows for rows in self._rows if rows.stop > self.start]
        self._settle(summarise, condense)

    def total(self, summarise: Summarise, condense: Condense) -> ClassMoments:
        """The moments of all rows in the window."""
        covered = self._front[-1][0] if self._front else self._turn
        total = self._back
        if self._front:
            total = _sum(condense, total, condense(self._front[-1][1]))
        if self.start < covered:
            total = _sum(condense, total, self._summary(self.start, covered, summarise))
        assert total is not None, "a window is asked for its sum after rows were pushed"
        return condense(total)

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
            self._turn, self._back = self._stop, None
        covered = self._front[-1][0] if self._front else self._turn
        while covered - self.start > FINEST:
            step = max(FINEST, -(-(covered - self.start) // PARTS))
            while covered - self.start > step:
                covered -= step
                part = self._summary(covered, covered + step, summarise)
                above = self._front[-1][1] if self._front else None
                self._front.append((covered, _sum(condense, above, part)))


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
