"""Fisher's directions of groups of features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from separatrix import (
    FisherDiscriminant,
    GroupedDiscriminant,
)
from tests.discovery import TALL


def test_groups_give_more_directions_than_classes_less_one():
    X, y = load_digits(return_X_y=True)
    model = GroupedDiscriminant(groups=4, n_components=3).fit(X, y)
    assert model.components_.shape == (12, 64)
    assert_array_equal(model.group_of_component_, np.repeat(range(4), 3))
    for g, columns in enumerate(model.groups_):
        own = model.components_[model.group_of_component_ == g]
        outside = np.setdiff1d(np.arange(64), columns)
        assert_array_equal(own[:, outside], 0)
        expected = FisherDiscriminant(shrinkage=None, n_components=3).fit(X[:, columns], y)
        assert_allclose(own[:, columns], expected.components_, atol=1e-12)
    assert_allclose(model.mean_, X.mean(axis=0), atol=1e-10)


def test_a_group_with_few_directions_keeps_all_of_them():
    X, y = TALL
    groups = [[0], [1, 2, 3, 4, 5]]
    model = GroupedDiscriminant(groups=groups, n_components=2).fit(X, y)
    assert_array_equal(model.group_of_component_, [0, 1, 1])
    with pytest.raises(ValueError, match=r"n_components=5 is too large.*no group has more"):
        GroupedDiscriminant(groups=groups, n_components=5).fit(X, y)


def test_groups_may_be_lists_of_columns():
    X, y = TALL
    model = GroupedDiscriminant(groups=[[0, 3], [1, 2, 4]]).fit(X, y)
    assert model.components_.shape == (4, 6)
    assert_array_equal(model.components_[:, 5], 0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (7, "groups=7 is more than there are features: n_features=6"),
        ([[0, 6]], "from 0 to 5"),
        ([[0, 0]], "different column numbers"),
        ([[]], "list of column numbers"),
        ([["a"]], "list of column numbers"),
        ([], "at least one group"),
        (0, "groups=0 is not valid"),
    ],
)
def test_bad_groups_are_errors(groups, message):
    with pytest.raises(ValueError, match=message):
        GroupedDiscriminant(groups=groups).fit(*TALL)


@pytest.mark.parametrize("by", ["channels", "times"])
def test_groups_of_channels_and_times(by, rng):
    X, y = rng.standard_normal((60, 3, 4)), np.arange(60) % 3
    columns = np.arange(12).reshape(3, 4)
    lists = (columns if by == "channels" else columns.T).tolist()
    expected = GroupedDiscriminant(lists).fit(X.reshape(60, 12), y)
    found = GroupedDiscriminant(by).fit(X, y)
    assert_array_equal(found.components_, expected.components_)
    assert_array_equal(found.predict(X), expected.predict(X.reshape(60, 12)))
    auto = GroupedDiscriminant(by, n_components="auto").fit(X, y)
    again = GroupedDiscriminant(lists, n_components="auto").fit(X.reshape(60, 12), y)
    assert_array_equal(auto.components_, again.components_)
    with pytest.raises(ValueError, match="needs X of shape"):
        GroupedDiscriminant(by).fit(X.reshape(60, 12), y)
