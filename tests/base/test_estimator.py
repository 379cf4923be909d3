"""The life of an estimator: validate, summarize, select, solve, store."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.base.estimator import SubspaceEstimator, fit_rows
from separatrix.base.solution import Solution
from separatrix.selection import DimensionPath
from tests.discovery import TALL


class MeanDifferences(SubspaceEstimator):
    """A method as small as one can be: the directions of the class means."""

    steps: list[str]

    def __init__(self, n_components=None):
        self.n_components = n_components

    def _summarize(self, rows):
        self.steps = ["summarize"]
        return super()._summarize(rows)

    def _select(self, rows):
        self.steps.append("select")
        return super()._select(rows)

    def _solve(self, moments, rows, selected):
        self.steps.append("solve")
        W = moments.between_rows().T
        size = np.sum(W**2, axis=0)
        found = Solution(W, size, rank=W.shape[1], extras={"size_": size})
        return self._keep_wanted(found, lambda W: W, moments, selected)

    def _store(self, moments, solution, rows=None):
        self.steps.append("store")
        super()._store(moments, solution, rows)


def test_a_method_of_one_function_has_all_that_estimators_have():
    X, y = TALL
    model = MeanDifferences().fit(X, y)
    assert model.steps == ["summarize", "select", "solve", "store"]
    assert model.components_.shape == (2, 6)
    assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ model.components_.T)
    assert_allclose(model.explained_ratio_.sum(), 1)
    assert_allclose(model.explained_ratio_, model.size_ / model.size_.sum())
    assert (np.abs(model.components_).max(axis=1) == model.components_.max(axis=1)).all()
    assert model.get_feature_names_out().tolist() == ["meandifferences0", "meandifferences1"]
    assert model.selection_ == {}


def test_auto_is_chosen_between_summarizing_and_solving():
    model = MeanDifferences("auto").fit(*TALL)
    assert model.n_components == "auto"
    assert len(model.components_) == model.selection_["n_components"].n_components
    one = {"n_components": DimensionPath(np.arange(1, 3), np.zeros((0, 2)), 1, "best")}
    assert model._n_wanted(2, "", one) == 1


def test_more_directions_than_there_are_is_an_error_with_the_reason():
    with pytest.raises(ValueError, match=r"n_components=3 is too large for MeanD.*most 2 \(n_cl"):
        MeanDifferences(3).fit(*TALL)


def test_a_method_without_weights_says_so_in_its_signature():
    class Unweighted(MeanDifferences):
        fit = fit_rows

    X, y = TALL
    assert_allclose(Unweighted().fit(X, y).components_, MeanDifferences().fit(X, y).components_)
    with pytest.raises(TypeError, match="sample_weight"):
        Unweighted().fit(X, y, sample_weight=np.ones(90))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = TALL
    model = MeanDifferences().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 2, np.nan, X), y)
    assert vars(model).keys() == before.keys()
    assert model.components_ is before["components_"]
