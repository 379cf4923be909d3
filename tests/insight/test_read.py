"""Whose moments can be asked, and what is said of the others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import ClassMoments, FisherDiscriminant, LocalQDA
from separatrix.insight.read import read_moments
from tests.discovery import labelled


def test_moments_are_in_the_units_of_the_table():
    X, y = labelled(40, 3, 2, 0)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(5 * X + 7, y)
    found = read_moments(model)
    np.testing.assert_allclose(found.moments.Sw, ClassMoments.from_data(5 * X, y).Sw, rtol=1e-9)
    assert found.names == ["x0", "x1", "x2"]


def test_classes_without_rows_do_not_count():
    X, y = labelled(40, 3, 2, 0)
    moments = ClassMoments.from_data(X, y, classes=[0, 1, 2])
    assert read_moments(moments).moments.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (LogisticRegression(), "LogisticRegression has no class moments to ask"),
        (LocalQDA(), "LocalQDA has no class moments to ask"),
        (FisherDiscriminant(shrinkage=None), "not fitted"),
    ],
)
def test_models_without_moments_are_told_so(source, message):
    with pytest.raises(ValueError, match=message):
        read_moments(source)


def test_a_model_that_kept_none_is_told_so():
    model = FisherDiscriminant(keep_moments=False).fit(*labelled(40, 3, 2, 0))
    with pytest.raises(ValueError, match="keep_moments=True"):
        read_moments(model)


def test_one_class_or_one_row_shows_nothing():
    X = np.eye(3)
    with pytest.raises(ValueError, match="rows of 1 class"):
        read_moments(ClassMoments.from_data(X, [0, 0, 0]))
    with pytest.raises(ValueError, match="class 'b' has 1 rows"):
        read_moments(ClassMoments.from_data(X, ["a", "a", "b"]))
