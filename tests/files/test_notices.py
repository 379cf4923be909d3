"""What is noticed about a table before anything is learned from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from separatrix import datasets
from separatrix.files.notices import count_copied_rows, find_notices, notice_copied_rows

RNG = np.random.default_rng(0)
LABELS = np.repeat(["ash", "oak"], 15)


def table(**columns):
    return pd.DataFrame({"height": RNG.normal(size=30), **columns})


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_sound_tables_have_no_notice_but_for_constant_pixels(name):
    data = datasets.load(name)
    notices = find_notices(data.data, data.target, data.feature_names)
    assert [text for text in notices if "same in every row" not in text] == []
    assert len(notices) == (name == "digits")


def test_labels_that_differ_in_case_or_spaces_only():
    labels = LABELS.astype(object)
    labels[:3] = "Ash "
    assert find_notices(table(), labels) == [
        "Labels 'Ash ', 'ash' differ in case or spaces only: do they mean one class?"
    ]
    assert find_notices(table(), LABELS) == []


def test_a_column_that_is_the_label():
    codes = np.where(LABELS == "ash", 7.0, 3.0)
    for column in (LABELS, codes):
        (text,) = find_notices(table(kind=column), LABELS)
        assert text.startswith("Column 'kind' is the label in other words")
    codes[0] = 3.0  # one row is otherwise
    assert find_notices(table(kind=codes), LABELS) == []


def test_identifiers_constants_and_copies():
    (text,) = find_notices(table(plant=RNG.permutation(30) * 7.0 + 100), LABELS)
    assert text.startswith("Column 'plant' has another whole number in every row")
    assert find_notices(table(weight=RNG.permutation(30) + 0.5), LABELS) == []
    (text,) = find_notices(table(site=1.0, year=2020), LABELS)
    assert text == "Columns 'site', 'year' are the same in every row, and say nothing."
    grade = RNG.integers(0, 5, 30).astype(float)
    (text,) = find_notices(table(grade=grade, score=2 * grade + 1), LABELS)
    assert text == "Columns that are copies of others, but for their scale: 'score' of 'grade'."
    # the same order of values that all differ is no copy
    assert (
        find_notices(table(a=np.exp(np.linspace(0, 1, 30)), b=np.linspace(0, 1, 30)), LABELS) == []
    )


def test_gaps_are_values_like_others_and_sparse_rows_are_not_looked_through():
    heights = RNG.normal(size=30)
    heights[:4] = np.nan
    assert find_notices(pd.DataFrame({"h": heights}), LABELS) == []
    assert find_notices(sp.csr_matrix(np.ones((30, 2))), LABELS) == []


def test_copied_rows_are_counted_as_they_fall_on_both_sides():
    X = RNG.normal(size=(20, 3))
    X[10:14] = X[:4]
    assert count_copied_rows(X, [[0, 1, 10], [5, 6]]) == (4, 1)
    assert count_copied_rows(X[:10], [[0, 1]]) == (0, 0)
    assert count_copied_rows(sp.csr_matrix(X), [[0]]) == (0, 0)


def test_copied_rows_are_spoken_of_where_they_fall_on_both_sides():
    X = RNG.normal(size=(20, 3))
    X[10:14] = X[:4]
    (text,) = notice_copied_rows(X, [[0, 1, 10], [5, 6]])
    assert text.startswith("4 of 20 rows are copies of another, and of the 3 test rows of a split")
    assert "up to 1 also trained" in text
    assert notice_copied_rows(X, [[5, 6]]) == []
