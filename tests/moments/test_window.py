"""A window is the sum of its last rows, and each row is summarized a few times."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.window import MAX_UNSUMMED_ROWS, N_PARTS, SlidingWindow
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments


def keep(moments):
    return moments


def rows_of(X, y):
    return LabelledRows(X, y, np.unique([0, 1]))


@pytest.mark.parametrize("batch", [1, 37, 200])
def test_the_total_is_the_moments_of_the_last_rows(batch):
    X, y = labelled(900, 3, 2)
    window = SlidingWindow(200)
    for start in range(0, 900, batch):
        stop = min(start + batch, 900)
        window.push(rows_of(X[start:stop], y[start:stop]), ClassMoments.from_rows, keep)
        last = slice(max(0, stop - 200), stop)
        if stop % 10 == 0:
            total = window.total(ClassMoments.from_rows, keep)
            assert_equal_moments(total, ClassMoments.from_rows(rows_of(X[last], y[last])))


def test_a_copy_moves_on_by_itself():
    X, y = labelled(100, 3, 2)
    window = SlidingWindow(40)
    window.push(rows_of(X[:40], y[:40]), ClassMoments.from_rows, keep)
    other = window.copy()
    other.push(rows_of(X[40:60], y[40:60]), ClassMoments.from_rows, keep)
    assert (window.start, other.start) == (0, 20)
    expected = ClassMoments.from_rows(rows_of(X[:40], y[:40]))
    assert_equal_moments(window.total(ClassMoments.from_rows, keep), expected)


def test_more_rows_than_fit_are_an_error():
    X, y = labelled(30, 3, 2)
    with pytest.raises(ValueError, match="30 rows do not fit into a window of 20"):
        SlidingWindow(20).push(rows_of(X, y), ClassMoments.from_rows, keep)


def test_the_window_keeps_few_sums_and_summarizes_each_row_a_few_times():
    """The cost that its docstring states."""
    X, y = labelled(6000, 3, 2)
    summarized, most = [], 0

    def summarize(rows):
        summarized.append(len(rows.codes))
        return ClassMoments.from_rows(rows)

    window = SlidingWindow(2048)
    for i in range(6000):
        window.push(rows_of(X[[i]], y[[i]]), summarize, keep)
        most = max(most, len(window._front) + len(window._back))
    assert most <= 2 * N_PARTS
    # once to be checked, once in a stretch, less than once when its stretch is cut
    assert sum(summarized) / 6000 < 3
    assert window._stop - window._summed < MAX_UNSUMMED_ROWS
    covered = window._front[-1][0] if window._front else window._turn
    assert covered - window.start <= MAX_UNSUMMED_ROWS
    assert sum(len(stretch.rows.codes) for stretch in window._rows) == 2048
