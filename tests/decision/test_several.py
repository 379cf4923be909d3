"""Several labels for a row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix import IPCAC, FisherDiscriminant
from separatrix.decision.several import SeveralLabels, split_labels
from tests.files.model_files import saved_and_loaded


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    has = rng.random((n, 3)) < 0.4
    has[~has.any(axis=1), 0] = True
    X = rng.standard_normal((n, 6))
    X[:, :3] += 6 * has
    y = [";".join(np.array(["x", "y", "z"])[row][::-1]) for row in has]
    return X, y, has


def test_each_label_is_a_classifier_of_its_own():
    X, y, has = rows()
    model = SeveralLabels(FisherDiscriminant()).fit(X, y)
    for j, single in enumerate(model.estimators_):
        expected = FisherDiscriminant().fit(X, has[:, j])
        assert_array_equal(single.decision_function(X), expected.decision_function(X))
    new, labels, _ = rows(seed=1)
    assert model.score(new, labels) > 0.9
    assert model.join_labels(["z;x"]).tolist() == ["x;z"]


def test_a_row_without_a_positive_score_gets_the_largest():
    X, y, _ = rows()
    model = SeveralLabels(IPCAC()).fit(X, y)
    new = np.full((1, 6), -50.0)
    assert (model.decision_function(new) < 0).all()
    assert len(model.predict(new)[0].split(";")) == 1


def test_a_saved_model_answers_alike(tmp_path):
    X, y, _ = rows()
    model = SeveralLabels(FisherDiscriminant()).fit(X, y)
    again = saved_and_loaded(model, tmp_path)
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_array_equal(again.predict(X), model.predict(X))


def test_mistakes_are_told():
    X, y, _ = rows(20)
    with pytest.raises(ValueError, match="row 2 has no label"):
        split_labels(["a", " ; "], ";")
    with pytest.raises(ValueError, match="all rows have the label 'w'"):
        SeveralLabels(FisherDiscriminant()).fit(X, [f"{text};w" for text in y])
