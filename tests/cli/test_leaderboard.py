"""The result of a comparison in the terminal."""

from __future__ import annotations

from separatrix.cli.leaderboard import format_leaderboard, summarize_comparison
from tests.comparisons import made_up


def test_methods_that_lack_splits_are_listed_after_the_others():
    found = made_up({"none": [None] * 4, "easy": [0.99, 0.99, None, None], "whole": [0.9] * 4})
    record = summarize_comparison(found, {"brief": ["Use whole."], "sentences": ["p = 0.03."]})
    assert [method["name"] for method in record["methods"]] == ["whole", "easy", "none"]
    text = format_leaderboard(record)
    assert text.index("whole") < text.index("easy") < text.index("Use whole.")
    assert "p = 0.03." not in text
    assert "p = 0.03." in format_leaderboard(record, explain=True)
    assert "only 2 splits" in text
    assert "none failed: ValueError: the matrix is singular" in text
