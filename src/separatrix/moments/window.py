"""The moments of the last rows of a stream, by adding alone.

Subtracting the rows that leave would lose digits with every step; here nothing is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, join_rows

N_PARTS = 16
"""Number of parts into which a stretch is cut when its oldest rows begin to leave."""

MAX_UNSUMMED_ROWS = 64
"""Largest number of rows at either end of a window that are in no sum."""


class Stretch(NamedTuple):
    """Rows that came one after the other; `start` is the number of rows before them."""

    start: int
    rows: LabelledRows

    @property
    def stop(self) -> int:
        """Number of rows up to the last of these."""
        return self.start + len(self.rows.codes)

    def between(self, start: int, stop: int) -> LabelledRows:
        """The rows from `start` to `stop` of the stream that are among these."""
        return self.rows.part(slice(max(start - self.start, 0), max(stop - self.start, 0)))


Summarize = Callable[[LabelledRows], ClassMoments]
Condense = Callable[[ClassMoments], ClassMoments]


class SlidingWindow:
    """A queue of rows with the sum of their moments.

    The rows themselves are kept, and sums over stretches of them. Rows that came since the last
    `turn` are summed in the stretches of `back`, each of one batch or of a part of the window.
    Rows before are covered by the stack `front`, whose entries are sums from some row up to the
    turn. When the window has slid past the turn the stretches of `back` become the new `front`;
    when it has slid into one of them that stretch is cut into `N_PARTS`, the oldest part again,
    and so on. At most `MAX_UNSUMMED_ROWS` rows at either end are in no sum: they are summarized
    when a total is asked for.

    Attributes
    ----------
    size : int
        Rows in a full window.

    Notes
    -----
    Each row is summarized once when it comes and less than once for each level of cutting: two or
    three times in all, whatever the size. A total adds four sums. At any time there are at most
    ``2 N_PARTS`` sums, and ``N_PARTS`` more for each level, and the rows.

    References
    ----------
    The queue of two stacks is folklore of stream processing; see Tangwongsan, Hirzel, Schneider
    and Wu, General incremental sliding-window aggregation, VLDB (2015).
    """

    _back: Any
    _before_last: Any
    _front: Any
    _rows: Any
    _stop: int
    _summed: int
    _turn: int
    size: int

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[Stretch] = []
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
        """The state written to a file: the same rows in as few stretches as possible."""
        kinds = groupby(
            self._rows, lambda s: (type(s.rows.X), s.rows.X.dtype, s.rows.weights is None)
        )
        joined = [_join_stretches(list(stretches)) for _, stretches in kinds]
        return {**vars(self), "_rows": joined}

    def push(self, rows: LabelledRows, summarize: Summarize, condense: Condense) -> None:
        """Add rows at the end; as many leave at the beginning as the window cannot hold.

        Parameters
        ----------
        rows : LabelledRows
            They are copied: the caller may reuse the arrays.
        summarize : callable
            From rows to their moments.
        condense : callable
            Applied to every sum: keeps it small, or turns it into the form that is wanted now.
        """
        n_rows = len(rows.codes)
        if n_rows > self.size:
            raise ValueError(f"{n_rows} rows do not fit into a window of {self.size}")
        batch = summarize(rows)  # first, so that rows that cannot be summarized change nothing
        # the caller may fill the same arrays with the next rows
        own = None if rows.weights is None else rows.weights.copy()
        self._rows.append(Stretch(self._stop, rows._replace(X=rows.X.copy(), weights=own)))
        alone = self._summed == self._stop
        self._stop += n_rows
        self._rows = [stretch for stretch in self._rows if stretch.stop > self.start]
        if self._stop - self._summed >= MAX_UNSUMMED_ROWS:
            if not alone:
                batch = self._summary(self._summed, self._stop, summarize)
            self._extend(batch, condense)
        self._settle(summarize, condense)

    def total(self, summarize: Summarize, condense: Condense) -> ClassMoments:
        """The moments of all rows in the window."""
        sums = [stretch for _, stretch in (*self._front[-1:], *self._back[-1:])]
        if self._before_last is not None:
            sums.append(self._before_last)
        covered = self._front[-1][0] if self._front else self._turn
        for start, stop in ((self.start, covered), (self._summed, self._stop)):
            if start < stop:
                sums.append(self._summary(start, stop, summarize))
        first, *rest = sums
        total = condense(first)
        for more in rest:
            total = _sum(condense, total, condense(more))
        return total

    def _extend(self, batch: ClassMoments, condense: Condense) -> None:
        """Put the rows that are in no sum yet, with these moments, at the end of `back`."""
        start, self._summed = self._summed, self._stop
        if self._back and start - self._back[-1][0] < self.size / N_PARTS:
            begun, last = self._back[-1]
            self._back[-1] = begun, _sum(condense, last, batch)
            return
        if self._back:
            self._before_last = _sum(condense, self._before_last, condense(self._back[-1][1]))
        self._back.append((start, condense(batch)))

    def _summary(self, start: int, stop: int, summarize: Summarize) -> ClassMoments:
        """Moments of rows `start` to `stop` of the stream, from the rows."""
        inside = [s for s in self._rows if s.start < stop and s.stop > start]
        return summarize(join_rows([stretch.between(start, stop) for stretch in inside]))

    def _settle(self, summarize: Summarize, condense: Condense) -> None:
        """Let the top of the stack start soon after the oldest row."""
        while self._front and self._front[-1][0] < self.start:
            self._front.pop()
        if not self._front and self.start > self._turn:
            self._turn_round(summarize, condense)
        covered = self._front[-1][0] if self._front else self._turn
        while covered - self.start > MAX_UNSUMMED_ROWS:
            step = max(MAX_UNSUMMED_ROWS, -(-(covered - self.start) // N_PARTS))
            while covered - self.start > step:
                covered -= step
                part = self._summary(covered, covered + step, summarize)
                above = self._front[-1][1] if self._front else None
                self._front.append((covered, _sum(condense, above, part)))

    def _turn_round(self, summarize: Summarize, condense: Condense) -> None:
        """Let the stretches of `back` that are still whole be the new `front`."""
        if self._summed < self._stop:
            self._extend(self._summary(self._summed, self._stop, summarize), condense)
        above = None
        while self._back and self._back[-1][0] >= self.start:
            start, stretch = self._back.pop()
            above = _sum(condense, above, condense(stretch))
            self._front.append((start, above))
        self._turn, self._back, self._before_last = self._stop, [], None


def _join_stretches(parts: Sequence[Stretch]) -> Stretch:
    """Stretches one after the other as one."""
    return Stretch(parts[0].start, join_rows([part.rows for part in parts]))


def _sum(condense: Condense, old: ClassMoments | None, new: ClassMoments) -> ClassMoments:
    """The sum of both, condensed; `new` is in the form that is wanted now."""
    return condense(new if old is None else condense(old) + new)
