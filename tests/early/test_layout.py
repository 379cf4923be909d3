"""Series in tables: channels by name, one line for each time, and what cannot be put in order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from separatrix import EarlyClassifier, FisherDiscriminant
from separatrix.early import from_long
from separatrix.early.layout import find_channels
from tests.early.data import series


def cube_and_table():
    rows, labels = series(120, 12)
    cube = rows.reshape(120, 4, 3).swapaxes(1, 2)  # 3 channels, 4 times
    names = [f"{channel}_{t}" for channel in ("x", "y", "z") for t in range(4)]
    return cube, pd.DataFrame(cube.reshape(120, 12), columns=names), labels


def test_blocks_of_channels_are_the_array_of_channels():
    cube, table, labels = cube_and_table()
    by_array = EarlyClassifier(FisherDiscriminant(shrinkage=None), reliability=0.6).fit(
        cube, labels
    )
    by_name = EarlyClassifier(FisherDiscriminant(shrinkage=None), reliability=0.6).fit(
        table, labels
    )
    assert by_name.channels_ == ["x", "y", "z"]
    assert by_array.channels_ is None
    for a, b in zip(by_array.decide_early(cube), by_name.decide_early(table), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(by_name.predict(table), by_array.predict(cube))
    expected = by_array.expect(np.where(np.arange(4) < 2, cube, np.nan)).mean
    cut = table.mask(np.tile(np.arange(4) >= 2, (120, 3)))
    in_columns = by_name.expect(cut).mean
    assert_array_equal(in_columns[:, 0::4], expected[:, 0:3])
    stream = by_name.stream()
    for t in range(4):
        answer = stream.push(cube[0, :, t])
    assert answer.label == by_array.predict(cube[:1])[0]


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c", "d"],
        ["t1", "t2", "t3", "t4"],
        ["a1", "b1"],
        ["p_0_0", "p_0_1", "p_1_0", "p_1_1"],
    ],
)
def test_other_names_say_nothing_of_channels(names):
    assert find_channels(names) is None


def test_channels_that_cannot_be_put_in_order_are_asked_about():
    with pytest.raises(ValueError, match="'a' has 2 times and 'b' others"):
        find_channels(["a_0", "a_1", "b_0", "b_1", "b_2"])


def test_lines_of_a_grid_have_gaps_and_ends():
    lines = pd.DataFrame({
        "who": ["b", "a", "a", "b", "a"], "day": [5, 7, 5, 6, 6],
        "p": [1.0, 2, 3, 4, 5], "q": [6.0, 7, 8, 9, 10], "ill": [1, 0, 0, 1, 0],
    })  # fmt: skip
    found = from_long(lines.drop(index=4), series="who", at="day", target="ill")
    assert found.X.columns.tolist() == ["p_0", "p_1", "p_2", "q_0", "q_1", "q_2"]
    expected = [[3, np.nan, 2, 8, np.nan, 7], [1, 4, np.nan, 6, 9, np.nan]]
    assert_array_equal(found.X.to_numpy(), expected)
    assert_array_equal(found.y, [0, 1])


def test_times_of_their_own_are_taken_in_order():
    rng = np.random.default_rng(0)
    lines = pd.DataFrame({"who": np.repeat(np.arange(9), 4), "when": rng.random(36)})
    lines["value"] = np.arange(36.0)
    X = from_long(lines, series="who", at="when").X
    assert X.shape == (9, 4)
    first = lines.sort_values("when").groupby("who")["value"].first()
    assert_array_equal(X["value_0"], first)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"day": [1, 1, 1]}, "series 'a' has two lines at day=1"),
        ({"ill": [0, 1, 1]}, "series 'a' has several values of 'ill'"),
        ({"day": [1, None, 1]}, "must be known in every line"),
    ],
)
def test_lines_that_contradict_each_other_are_refused(change, words):
    lines = pd.DataFrame({"who": ["a", "a", "b"], "day": [1, 2, 1], "p": [1.0, 2, 3]})
    lines["ill"] = [0, 0, 1]
    with pytest.raises(ValueError, match=words):
        from_long(lines.assign(**change), series="who", at="day", target="ill")
    with pytest.raises(ValueError, match="has no column 'when'"):
        from_long(lines, series="who", at="when")
