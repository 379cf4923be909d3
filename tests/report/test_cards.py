"""Cards name their subject, and say how surely it differs."""

from __future__ import annotations

import html
import math

import numpy as np
import pytest
from scipy import stats

from separatrix.report import facts, render
from separatrix.report.cards import compute_leads
from tests.comparisons import TEST_SIZE, around, made_up
from tests.report.comparing import WITHIN_CHANCE, against, plain, said


def test_cards_and_numbers_are_of_the_advised_method_and_name_it():
    found = facts(made_up(WITHIN_CHANCE))
    verdict = found["verdict"]
    assert verdict["measure"].startswith("LDA names the class of")
    assert [entry["subject"] for entry in verdict["against"]] == ["LDA", "LDA"]
    assert [entry["title"] for entry in verdict["against"]] == [
        "LDA against A, the top of the table",
        "LDA against 3-NN on all features",
    ]
    assert [entry["real"] for entry in verdict["against"]] == [False, False]
    behind = np.mean(WITHIN_CHANCE["LDA"]) - np.mean(WITHIN_CHANCE["A"])
    assert against(verdict, "A")["difference"] == pytest.approx(behind)
    assert against(verdict, "A")["words"].startswith("Not proven: may be chance (p")
    assert [(bar["name"], bar["best"], bar["top"]) for bar in verdict["bars"]] == [
        ("LDA", True, False),
        ("A", False, True),
        ("3-NN on all features", False, False),
    ]
    page = render(found)
    for entry in verdict["against"]:
        assert entry["title"] in page
        assert entry["quote"] in html.unescape(page)


def test_a_method_that_is_always_perfect_is_not_told_to_be_chance():
    """By itself p is small, as one of 20 comparisons it is not: both are said."""
    rng = np.random.default_rng(0)
    other = 0.78 + 0.16 * rng.normal(size=10).clip(-1.5, 0.99)
    scores = {"A": [1.0] * 10, "LDA": other.tolist()}
    scores |= {f"B{i}": around(0.99) for i in range(18)}
    scores["raw"] = around(0.9)
    entry = against(said(made_up(scores, n_rows=80)), "LDA")
    lead = compute_leads(made_up(scores, n_rows=80), "LDA", list(scores))["A"]
    assert lead.p_value <= 0.05 < lead.p_holm
    words = plain(entry["words"])
    assert words.startswith("Likely, but not proven: p = ")
    assert words.endswith(" as one of 20 comparisons.")
    quote = plain(entry["quote"])
    assert "fewer mistakes in 100 than LDA (corrected resampled t-test, p = " in quote
    assert "probability that it is better by more than half a mistake in 100: 9" in quote


def test_a_reference_that_wins_is_not_compared_with_itself():
    verdict = said(made_up({"A": around(0.8), "LDA": around(0.9), "raw": around(0.7)}))
    assert verdict["best"] == verdict["advised"] == "LDA"
    assert [entry["name"] for entry in verdict["against"]] == ["raw"]


def test_the_test_against_a_reference_is_corrected_for_all_methods_that_might_have_won():
    rng = np.random.default_rng(0)
    scores = {name: (0.8 + 0.05 * rng.random(8)).tolist() for name in ("A", "B", "C", "raw")}
    comparison = made_up(scores)
    found = compute_leads(comparison, "raw", list(scores))
    p = {}
    for name in ("A", "B", "C"):
        differences = np.subtract(scores[name], scores["raw"])
        error = math.sqrt((1 / 8 + TEST_SIZE / (1 - TEST_SIZE)) * differences.var(ddof=1))
        p[name] = 2 * stats.t.sf(abs(differences.mean() / error), 7)
        assert found[name].difference == pytest.approx(differences.mean())
        assert found[name].p_value == pytest.approx(p[name])
    running = 0.0
    for k, name in enumerate(sorted(p, key=p.get)):
        running = max(running, (3 - k) * p[name])
        assert found[name].p_holm == pytest.approx(min(running, 1))
