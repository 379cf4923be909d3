"""What a column holds, and the option that reads it."""

from __future__ import annotations

import pandas as pd
import pytest

from separatrix.files.columns import check_features, describe_content


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1,065", "12,300", "7"], "--thousands , if it is between thousands, --decimal , if"),
        (["1,5", "2", "3,25"], "numbers such as '1,5': give --decimal ,"),
        (["1.065,50", "3,5", "1.200"], "give --decimal , --thousands ."),
        (["1,065.50", "3.5"], "give --thousands ,"),
        (["1'065", "3"], 'give --thousands "\'"'),
        (["1 065 000", "3"], "give --thousands ' '"),
        (["2024-03-01", "2024-03-02"], "dates such as '2024-03-01': leave them out (--ignore "),
        (["1.3.2024", "02/03/24"], "dates such as"),
        (["red", "blue", "red"], "2 values such as 'red'"),
        (["p1", "p2", "p3"], "another value in each row, such as 'p1'"),
        (
            [*map(str, range(20)), "none"],
            "numbers except one that is 'none': correct it, or leave",
        ),
        (
            [*map(str, range(40)), "a", "b"],
            "numbers except 2 such as 'a': correct it, or leave the c",
        ),
        (["a b c d e", "f g h i j k"], "texts such as 'a b c d e': learn from their words (--tex"),
        ([[1, 2], [3], [3]], "2 values such as"),
        ([None], "empty"),
    ],
)
def test_content_is_told_with_the_option_to_use(values, said):
    assert said in describe_content(pd.Series(values, dtype=object, name="c"))


def test_long_values_are_cut():
    column = pd.Series(["Dear Sir, " + "I write to you " * 300, "x"], name="body")
    assert len(describe_content(column)) < 200


def test_gaps_in_columns_of_words_are_none():
    X = pd.DataFrame({"a": [1.0, 2.0], "t": ["some words", None]})
    check_features(X, text=["t"])
    with pytest.raises(ValueError, match=r"learn from their words \(--text COL\)"):
        check_features(X)
