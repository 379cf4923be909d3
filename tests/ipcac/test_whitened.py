"""The number of axes to whiten, chosen by held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from separatrix import TruncatedIPCAC, datasets
from separatrix.ipcac.whitened import scores_by_axes
from tests.discovery import labelled

X, Y = labelled(40, 8, n_classes=2, seed=2)


@pytest.mark.parametrize("shape", [(40, 8), (20, 60)])
def test_running_sums_give_the_scores_of_every_model(shape):
    rows, y = labelled(*shape, n_classes=2, seed=2)
    known, new = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    codes, tried = y[: len(known)], np.array([1, 2, 5])
    delta = known[codes == 1].mean(axis=0) - known[codes == 0].mean(axis=0)
    mean = known.mean(axis=0)
    scores = scores_by_axes(known - mean, delta, new - mean, tried)
    for d, column in zip(tried, scores.T, strict=True):
        model = TruncatedIPCAC(int(d), threshold="mahalanobis").fit(known, codes)
        towards_second = np.sign(model.coef_[0] @ model.components_[0])
        assert_allclose(column, towards_second * model.transform(new)[:, 0], atol=1e-9)


def test_pancakes_need_all_axes_and_get_them():
    data = datasets.make_pancakes(500, 100, random_state=0)
    train, new = slice(300), slice(300, None)
    chosen = TruncatedIPCAC("auto").fit(data.data[train], data.target[train])
    by_rule = TruncatedIPCAC().fit(data.data[train], data.target[train])
    assert chosen.score(data.data[new], data.target[new]) > 0.9
    assert by_rule.score(data.data[new], data.target[new]) < 0.6
    record = chosen.selection_["n_whitened"]
    assert record["n_whitened"] == chosen.n_whitened_ == 100
    assert len(record["tried"]) == len(record["separation"])


def test_the_choice_needs_dense_rows_at_once():
    with pytest.raises(ValueError, match="needs dense rows"):
        TruncatedIPCAC("auto").fit(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match="needs all of them at once"):
        TruncatedIPCAC("auto").partial_fit(X, Y)


def test_rows_of_no_weight_do_not_choose_and_many_classes_take_the_rule():
    weights = (np.arange(40) % 4 > 0).astype(float)
    some = TruncatedIPCAC("auto").fit(X[weights > 0], Y[weights > 0])
    weighted = TruncatedIPCAC("auto").fit(X, Y, sample_weight=weights)
    assert_array_equal(
        weighted.selection_["n_whitened"]["tried"], some.selection_["n_whitened"]["tried"]
    )
    assert weighted.n_whitened_ == some.n_whitened_
    rows, y = labelled(60, 6)
    assert TruncatedIPCAC("auto").fit(rows, y).n_whitened_ == TruncatedIPCAC().fit(rows, y).rank_


@pytest.mark.parametrize("how", [{"groups": np.arange(60) // 3}, {"cv": TimeSeriesSplit(4)}])
def test_rows_that_belong_together_choose_together_and_those_never_held_out_do_not(how):
    X, y = labelled(60, 8, 2)
    mixed = np.random.default_rng(0).permutation(60)
    model = TruncatedIPCAC(n_whitened="auto").fit(X[mixed], y[mixed], **how)
    assert np.isfinite(model.selection_["n_whitened"]["separation"]).all()
    assert 1 <= model.n_whitened_ <= 8
