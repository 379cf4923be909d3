"""The cards of the verdict: the advised method compared with others, and mistakes in 100 rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.evaluate.advice import ALPHA, compare_in_practice, largest_cost
from separatrix.evaluate.ranking import FEWEST_SPLITS, corrected_t_test, holm, score_table
from separatrix.evaluate.records import Comparison
from separatrix.report import wording

Row = dict[str, Any]
"""A row of the leaderboard."""


class Lead(NamedTuple):
    """How far a method is ahead of another, and how surely.

    `p_value` is that of this comparison alone, `p_holm` as one of all with the other method.
    `better`, `equal` and `worse` are probabilities, within half a point being equal.
    """

    difference: float
    p_value: float
    p_holm: float
    better: float
    equal: float
    worse: float


def compute_leads(comparison: Comparison, name: str, others: Sequence[str]) -> dict[str, Lead]:
    """How far each method is ahead of one, by the score that ranks.

    The corrected resampled t-test, also with Holm's correction for as many tests as there are
    other methods: one of them was picked because of how it came out. Methods that have no split in
    common with `name` are left out; fewer than five splits have p = 1.
    """
    names, table = score_table(comparison)
    column = dict(zip(names, table.T, strict=True))
    unit = largest_cost(comparison)  # costs are compared in shares of the largest
    gaps = {other: (column[other] - column[name]) / unit for other in others if other != name}
    gaps = {other: gap[np.isfinite(gap)] for other, gap in gaps.items()}
    gaps = {other: gap for other, gap in gaps.items() if len(gap)}
    share, n_test = comparison.test_share, comparison.n_test
    alone = [
        corrected_t_test(gap, share, n_test)[1] if len(gap) >= FEWEST_SPLITS else 1.0
        for gap in gaps.values()
    ]
    return {
        other: Lead(
            unit * float(gap.mean()), p, p_holm, *compare_in_practice(gap, share, n_test=n_test)
        )
        for (other, gap), p, p_holm in zip(gaps.items(), alone, holm(alone), strict=True)
    }


def choose_others(subject: Row, best: Row, ranked: Sequence[Row]) -> list[Row]:
    """Methods to compare the subject with: the top of the table (if another), LDA, 3-NN."""
    wanted = [best, find_role("LDA", ranked), find_role("raw", ranked)]
    return [row for row in wanted if row is not None and row is not subject][:2]


def find_role(role: str, rows: Sequence[Row]) -> Row | None:
    """The reference among some methods."""
    return next((row for row in rows if row["role"] == role), None)


def compare_with(
    subject: Row, other: Row, ranked: Sequence[Row], comparison: Comparison
) -> dict[str, Any]:
    """The subject against another method, as a card: a value, a judgement, a sentence to quote."""
    classic = ", the classic" if other["role"] == "LDA" else ""
    top = ", the top of the table" if other is ranked[0] else ""
    card: dict[str, Any] = {
        "subject": subject["name"],
        "name": other["name"],
        "role": other["role"],
        "title": f"{subject['label']} against {other['label']}{top or classic}",
        "difference": None,
        "p": None,
        "p_holm": None,
        "probability": None,
        "real": None,
        "quote": "",
    }
    leads = compute_leads(comparison, other["name"], [row["name"] for row in ranked])
    lead = leads.get(subject["name"])
    if lead is None:
        return card | {"value": "not compared", "words": "They have no split in common."}
    card |= {"difference": lead.difference, "p": lead.p_value, "p_holm": lead.p_holm}
    card["probability"] = {"better": lead.better, "equal": lead.equal, "worse": lead.worse}
    if wording.are_equal(lead.difference, 0.0):
        return card | {"real": False, "value": "no difference", "words": "Right equally often."}
    score = comparison.score
    card["value"] = wording.format_lead(lead.difference, score).removesuffix(" in 100")
    n = len(comparison.tests)
    if n < FEWEST_SPLITS:
        few = wording.format_count(n, "split is", "splits are")
        return card | {"words": f"{few} too few to show whether that is chance."}
    card["quote"] = _quote(subject, other, lead, n, len(leads), score)
    return card | {
        "real": lead.p_holm <= ALPHA,
        "words": wording.judge_difference(lead.p_value, lead.p_holm, len(leads)),
    }


def _quote(subject: Row, other: Row, lead: Lead, n_splits: int, n_tests: int, score: str) -> str:
    """A sentence to be quoted: the difference, both p-values, and the probability."""
    ahead = lead.difference > 0
    chance = lead.better if ahead else lead.worse
    verb, half = (
        ("makes", "half a mistake in 100") if score == "accuracy" else ("has", "half a point")
    )
    return (
        f"Over {n_splits} splits {subject['label']} {verb} "
        f"{wording.format_lead(lead.difference, score)} than {other['label']} (corrected "
        f"resampled t-test, {wording.format_p_value(lead.p_value)}; with Holm's correction for "
        f"{wording.format_count(n_tests, 'comparison')} {wording.format_p_value(lead.p_holm)}; "
        f"probability that it is {'better' if ahead else 'worse'} by more than {half}: "
        f"{wording.format_probability(chance)})."
    )


def count_mistakes(subject: Row, best: Row, ranked: Sequence[Row]) -> list[dict[str, Any]]:
    """Mistakes in 100 held-out rows: the advised method, the top line, and the references."""
    wanted = [subject, best, find_role("LDA", ranked), find_role("raw", ranked)]
    shown = {row["name"]: row for row in wanted if row is not None}
    return [
        {
            "name": row["label"],
            "mistakes": 100 * (1 - row["accuracy"]),
            "best": row is subject,
            "top": row is best,
        }
        for row in shown.values()
    ]
