"""The only scorer: printed numbers compared with ours, and whether they differ.

Two numbers differ when they are further apart than two standard errors of their difference. The
error of ours is that of the mean of its repeats; of one figure that counts decisions it is the
binomial one. The error of a printed number is, whichever is known first,

1. its standard deviation over its repeats,
2. ours, over its number of repeats,
3. the binomial error of its decisions,

and always that of its last digit; of a ratio of printed numbers that of theirs as well.

A count or an identity is equal to what is printed, to its last digit, or differs; neither is
better. A column is judged as a whole, too, because many small differences of one sign may each be
chance and together none: by the mean difference of its cells and its error, and by a sign test.

A claim holds or fails only beyond chance, at the same two standard errors; between them it is
undecided. No verdict is written anywhere else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from separatrix_papers.figures import Cells, Measured
from separatrix_papers.tables import Claim, Printed, PublishedTable

HOLDS, DIFFERS, IMPOSSIBLE, NOT_RUN = "holds", "differs", "cannot be rerun", "not run"
VERDICTS = (HOLDS, DIFFERS, IMPOSSIBLE, NOT_RUN)
"""Of printed numbers."""
FAILS, UNDECIDED = "does not hold", "undecided"
CLAIM_VERDICTS = (HOLDS, FAILS, UNDECIDED, IMPOSSIBLE, NOT_RUN)
"""Of claims."""
MAX_STANDARD_ERRORS = 2.0
"""Standard errors by which two numbers may differ by chance."""
MIN_SIGN_P_VALUE = 0.05
"""Level of the sign test over the cells of a column."""


class JudgedCell(NamedTuple):
    """A printed number, ours, and the verdict; without a printed number there is no verdict."""

    row: str
    column: str
    published: Printed | None
    ours: Measured | None
    difference: float | None = None
    error: float | None = None
    verdict: str = ""
    side: str = ""
    same: bool = False
    why: str = ""
    counted: bool = True


class JudgedColumn(NamedTuple):
    """All counted cells of a method together.

    Attributes
    ----------
    name : str
        The column, or the line of a curve; "" stands for the whole table.
    n_cells : int
        Printed numbers that were rerun.
    difference, error : float
        Mean of ours less printed, and its standard error if cells err independently.
    n_above, n_below : int
        Cells in which ours is larger, and smaller.
    p_value : float
        Of the sign test: how often a fair coin is as one-sided.
    verdict, side : str
    """

    name: str
    n_cells: int
    difference: float
    error: float
    n_above: int
    n_below: int
    p_value: float
    verdict: str
    side: str


class JudgedClaim(NamedTuple):
    """A claim, the verdict of our figures on it, and why."""

    claim: Claim
    verdict: str
    why: str


# Cells -----------------------------------------------------------------------------------------


def judge_cells(
    table: PublishedTable, cells: Cells, left_out: Mapping[str, str] | None = None
) -> list[JudgedCell]:
    """Each cell of a table, printed or measured, in the order of print."""
    return [
        _judge_cell(
            table, row, column, cells.get(row, {}).get(column), (left_out or {}).get(row, "")
        )
        for row, column in _list_places(table, cells)
    ]


def _list_places(table: PublishedTable, cells: Cells) -> list[tuple[str, str]]:
    rows = dict.fromkeys([*table.published, *cells])
    return [
        (row, column)
        for row in rows
        for column in dict.fromkeys([*table.published.get(row, {}), *cells.get(row, {})])
    ]


def _judge_cell(
    table: PublishedTable, row: str, column: str, ours: Measured | None, left_out: str
) -> JudgedCell:
    published = table.published.get(row, {}).get(column)
    if published is None:
        return JudgedCell(row, column, None, ours)
    counted = not {row, column, f"{row} / {column}"} & table.shown_only.keys()
    if ours is None:
        why = find_reason(table, row, column)
        verdict = IMPOSSIBLE if why else NOT_RUN
        return JudgedCell(
            row, column, published, None, verdict=verdict, why=why or left_out, counted=counted
        )
    difference = ours.mean - published.value
    error = math.hypot(
        _error_of_ours(table, row, ours), _error_of_printed(table, row, published, ours)
    )
    same = abs(difference) <= 0.5 * 10.0**-published.decimals + 1e-9
    far = not same if table.exact else abs(difference) > MAX_STANDARD_ERRORS * error + 1e-9
    verdict = DIFFERS if far else HOLDS
    return JudgedCell(
        row,
        column,
        published,
        ours,
        difference,
        error,
        verdict,
        _name_side(table, difference) if far and not table.exact else "",
        same,
        counted=counted,
    )


def _name_side(table: PublishedTable, difference: float) -> str:
    return "ahead" if (difference < 0) == table.lower else "behind"


def find_reason(table: PublishedTable, row: str, column: str) -> str:
    """Why a cell could not be rerun as printed, unless it was measured all the same."""
    for key in (f"{row} / {column}", row, column, "*"):
        if key in table.missing:
            return table.missing[key]
    return ""


def _error_of_ours(table: PublishedTable, row: str, ours: Measured) -> float:
    if ours.n > 1:
        return ours.sd / math.sqrt(ours.n)
    return _binomial_error(ours.mean, _number_for_row(table.decisions, row), table.unit) or 0.0


def _error_of_printed(table: PublishedTable, row: str, printed: Printed, ours: Measured) -> float:
    rounding = 10.0**-printed.decimals / math.sqrt(12)
    repeats = _number_for_row(table.repeats, row)
    decisions = _number_for_row(table.decisions, row)
    spread: float | None = None
    if repeats and printed.sd is not None:
        spread = printed.sd / math.sqrt(repeats)
    elif repeats and ours.n > 1:
        spread = ours.sd / math.sqrt(repeats)
    else:
        spread = _binomial_error(printed.value, decisions, table.unit)
    return math.hypot(spread or 0.0, rounding, printed.of_ratio)


def _number_for_row(number: float | Mapping[str, float] | None, row: str) -> float | None:
    return number.get(row) if isinstance(number, Mapping) else number


def _binomial_error(share: float, n: float | None, unit: str) -> float | None:
    """Standard error of a share of n decisions, above zero also where all are right."""
    if not n:
        return None
    whole = 100.0 if unit.startswith("%") else 1.0
    p = (share / whole * n + 2) / (n + 4)
    return whole * math.sqrt(p * (1 - p) / (n + 4))


# Columns ---------------------------------------------------------------------------------------


def judge_columns(table: PublishedTable, found: Iterable[JudgedCell]) -> list[JudgedColumn]:
    """Each method over all its counted cells, then the whole table; from two cells upwards."""
    if table.exact:
        return []
    cells = [cell for cell in found if cell.counted and cell.difference is not None]
    names = dict.fromkeys(cell.row if table.curve else cell.column for cell in cells)
    groups = {
        name: [c for c in cells if (c.row if table.curve else c.column) == name] for name in names
    }
    if len(groups) > 1:
        groups[""] = cells
    return [_judge_column(table, name, group) for name, group in groups.items() if group[1:]]


def _judge_column(table: PublishedTable, name: str, cells: Sequence[JudgedCell]) -> JudgedColumn:
    gaps = [cell.difference or 0.0 for cell in cells]
    mean = math.fsum(gaps) / len(gaps)
    error = math.hypot(*(cell.error or 0.0 for cell in cells)) / len(cells)
    above, below = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    p_value = compare_signs(above, below)
    off = abs(mean) > MAX_STANDARD_ERRORS * error + 1e-9 or p_value < MIN_SIGN_P_VALUE
    # the mean and the signs may point to different sides: the one that is beyond chance counts
    lean = mean if abs(mean) > MAX_STANDARD_ERRORS * error else above - below
    return JudgedColumn(
        name,
        len(cells),
        mean,
        error,
        above,
        below,
        p_value,
        DIFFERS if off else HOLDS,
        _name_side(table, lean) if off else "",
    )


def compare_signs(above: int, below: int) -> float:
    """Two-sided p-value of the sign test: tosses of a fair coin at least as one-sided."""
    n, fewer = above + below, min(above, below)
    tail = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, tail / 2 ** (n - 1)) if n else 1.0


# Claims ----------------------------------------------------------------------------------------


def judge_claims(table: PublishedTable, cells: Cells) -> list[JudgedClaim]:
    """Each claim of a table by our figures: it holds, does not hold, or chance may decide it.

    Without `wins` the mean over the rows of `left` must be better than that of each of `right`,
    columns or a number, by more than two standard errors. With `wins` it must be at least as good
    as all of them in `wins` rows, with the probability that the same errors leave. With
    `at_least`, for sentences that say "as good as", it holds unless `left` is worse by more than
    chance. `not_so` turns a claim around. In a curve `left` and `right` are lines, and `rows` are
    places on the axis.
    """
    by_column = _transpose(cells) if table.curve else cells
    rows = list(_list_printed_columns(table) if table.curve else table.published) or list(
        by_column
    )
    judged = [_judge_claim(table, claim, by_column, claim.rows or rows) for claim in table.claims]
    turned = {HOLDS: FAILS, FAILS: HOLDS}
    return [
        j._replace(verdict=turned.get(j.verdict, j.verdict)) if j.claim.not_so else j
        for j in judged
    ]


def _transpose(cells: Cells) -> Cells:
    turned: Cells = {}
    for row, columns in cells.items():
        for column, cell in columns.items():
            turned.setdefault(column, {})[row] = cell
    return turned


def _list_printed_columns(table: PublishedTable) -> list[str]:
    return list(dict.fromkeys(column for row in table.published.values() for column in row))


def _judge_claim(
    table: PublishedTable, claim: Claim, cells: Cells, rows: Sequence[str]
) -> JudgedClaim:
    rivals = claim.right if isinstance(claim.right, list) else [claim.right]
    columns = [claim.left, *(rival for rival in rivals if isinstance(rival, str))]
    usable = [row for row in rows if all(c in cells.get(row, {}) for c in columns)]
    if not usable:
        why = table.missing.get("*", "")
        return JudgedClaim(claim, IMPOSSIBLE if why else NOT_RUN, why)
    n_missing = len(rows) - len(usable)
    run = f" ({len(usable)} of {len(rows)} rows run)" if n_missing else ""
    if claim.wins is None:
        gap = _compare_to_best(table, cells, usable, claim.left, rivals)
        verdict = HOLDS if claim.at_least else UNDECIDED
        if abs(gap.value) > MAX_STANDARD_ERRORS * gap.error + 1e-9:
            verdict = HOLDS if gap.value > 0 else FAILS
        within = "" if verdict != UNDECIDED and not claim.at_least else gap.describe_chance()
        ours, best = f"{gap.left:.4g}", f"{gap.right:.4g}"
        return JudgedClaim(claim, verdict, f"{ours} against {best}{gap.of}{within}{run}")
    gaps = [_compare_to_best(table, cells, [row], claim.left, rivals) for row in usable]
    n_won = sum(gap.value >= 0 for gap in gaps)
    why = f"best or level in {n_won} of {len(usable)} rows{run}"
    if n_won < claim.wins <= n_won + n_missing:
        return JudgedClaim(claim, NOT_RUN, why)
    p = _probability_of_wins([gap.probability for gap in gaps], claim.wins)
    chance = NormalDist().cdf(-MAX_STANDARD_ERRORS)
    if chance < p < 1 - chance:
        return JudgedClaim(claim, UNDECIDED, f"{why}, within chance")
    return JudgedClaim(claim, HOLDS if p >= 1 - chance else FAILS, why)


class Gap(NamedTuple):
    """By how much one method is better than its best rival, in the mean of some rows."""

    value: float
    error: float
    left: float
    right: float
    of: str

    @property
    def probability(self) -> float:
        """That the method is at least as good, by a normal error."""
        if self.error == 0:
            return float(self.value >= 0)
        return NormalDist().cdf(self.value / self.error)

    def describe_chance(self) -> str:
        """Says that two standard errors cover the gap, if they do."""
        within = abs(self.value) <= MAX_STANDARD_ERRORS * self.error + 1e-9
        return ", within chance" if within else ""


def _compare_to_best(
    table: PublishedTable,
    cells: Cells,
    rows: Sequence[str],
    left: str,
    rivals: Sequence[str | float],
) -> Gap:
    def mean(column: str | float) -> float:
        if not isinstance(column, str):
            return float(column)
        return sum(cells[row][column].mean for row in rows) / len(rows)

    sign = -1.0 if table.lower else 1.0
    best = max(rivals, key=lambda rival: sign * mean(rival))
    errors = [
        _error_of_ours(table, column if table.curve else row, cells[row][column])
        for row in rows
        for column in (left, best)
        if isinstance(column, str)
    ]
    of = f" of {best}" if isinstance(best, str) else ""
    gap = sign * (mean(left) - mean(best))
    return Gap(gap, math.hypot(*errors) / len(rows), mean(left), mean(best), of)


def _probability_of_wins(probabilities: Iterable[float], n_wins: int) -> float:
    """Probability that at least a number of independent events happen, each with its own.

    Examples
    --------
    >>> _probability_of_wins([0.5, 0.5, 1.0], 2)
    0.75
    """
    exactly = [1.0]  # the probability of each number of wins so far
    for p in probabilities:
        lost, won = [q * (1 - p) for q in exactly], [q * p for q in exactly]
        exactly = [a + b for a, b in zip([*lost, 0.0], [0.0, *won], strict=True)]
    return math.fsum(exactly[n_wins:])


# Summary ---------------------------------------------------------------------------------------


def find_rows_ahead(table: PublishedTable, cells: Cells) -> dict[str, bool]:
    """Rows with columns of `ahead`: whether the best of these passes all that is printed there.

    Rows that are shown only are left out: each printed number counts once.
    """
    best = min if table.lower else max
    found = {}
    for row, printed in table.published.items():
        own = [cells[row][c].mean for c in table.ahead if c in cells.get(row, {})]
        if own and printed and row not in table.shown_only and not find_reason(table, row, ""):
            best_printed = best(p.value for p in printed.values())
            found[row] = not math.isclose(best(*own, best_printed), best_printed, rel_tol=1e-9)
    return found


def count_verdicts(found: Iterable[JudgedCell]) -> dict[str, int]:
    """How many printed cells hold, differ (ahead, behind), cannot be rerun or were not run.

    Each printed number counts once: cells that are shown only are counted apart.
    """
    judged = [cell for cell in found if cell.verdict]
    found = [cell for cell in judged if cell.counted]
    verdicts = Counter(cell.verdict for cell in found)
    sides = Counter(cell.side for cell in found if cell.verdict == DIFFERS)
    return {
        "printed": len(found),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        "ahead": sides["ahead"],
        "behind": sides["behind"],
        "same digits": sum(cell.same and cell.verdict == HOLDS for cell in found),
        "shown only": len(judged) - len(found),
    }


def build_record(
    table: PublishedTable, cells: Cells, left_out: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A table with its verdicts, as plain as JSON."""
    found = judge_cells(table, cells, left_out)
    return {
        "table": table.name,
        "title": table.title,
        "page": table.page,
        "unit": table.unit,
        "lower": table.lower,
        "curve": table.curve,
        "x": table.x,
        "protocol": " ".join(table.protocol.split()),
        "derived": table.derived,
        "ours": table.ours,
        "counts": count_verdicts(found),
        "columns": [column._asdict() for column in judge_columns(table, found)],
        "shown_only": table.shown_only,
        "because": table.because,
        "cells": [_to_record(cell) for cell in found],
        "claims": [
            {"says": j.claim.says, "verdict": j.verdict, "why": j.why, "ours": j.claim.ours}
            for j in judge_claims(table, cells)
        ],
        "beyond": find_rows_ahead(table, cells),
        "left_out": dict(left_out or {}),
    }


def _to_record(cell: JudgedCell) -> dict[str, Any]:
    parts = cell._asdict()
    for name in ("published", "ours"):
        parts[name] = None if parts[name] is None else parts[name]._asdict()
    return parts
