"""Models that live: new classes, forgetting, novelty, and the meaning of directions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from separatrix import (
    IPCAC,
    FisherDiscriminant,
    KernelIPCAC,
    OnlineIPCAC,
    load,
    map_blocks,
    merge,
    save,
)
from separatrix.kernels import RBF
from tests.base.living import (
    DATA,
    assert_equal_decisions,
    every_data,
    every_moment_model,
    shuffled,
)
from tests.discovery import labelled

# Open classes ---------------------------------------------------------------------------------


@every_moment_model
@pytest.mark.parametrize("shape", [(120, 6), (40, 80)], ids=["tall", "wide"])
@pytest.mark.filterwarnings("ignore:new class")
def test_a_model_takes_classes_as_they_come(model, shape):
    """From one class to two, three and four: always the model of a fit to all rows."""
    X, y = shuffled(*shape, 4)
    grown = clone(model)
    for c in range(4):
        grown.partial_fit(X[y == c], y[y == c], classes="open")
        if c:
            seen = y <= c
            assert_equal_decisions(grown, clone(model).fit(X[seen], y[seen]), X)


@pytest.mark.filterwarnings("ignore:new class")
def test_a_window_takes_new_classes():
    X, y = shuffled(90, 6, 3)
    order = np.argsort(y, kind="stable")
    model = OnlineIPCAC(window=70)
    for part in np.array_split(order, 9):
        model.partial_fit(X[part], y[part], classes="open")
    last = order[-70:]
    assert_equal_decisions(model, OnlineIPCAC().fit(X[last], y[last]), X)


@pytest.mark.parametrize(
    ("label", "n_rows", "said"),
    [
        ("Spam", 3, "new class 'Spam', 3 rows; it differs from 'spam' only in case"),
        ("ham ", 1, "new class 'ham ', 1 row; it differs from 'ham' only in spaces"),
        ("eggs", 2, "new class 'eggs', 2 rows$"),
    ],
)
def test_a_new_class_is_announced(label, n_rows, said):
    X, y = DATA["two classes"]
    model = FisherDiscriminant(shrinkage=None).fit(X, np.array(["ham", "spam"])[y])
    with pytest.warns(UserWarning, match=said):
        model.partial_fit(X[:n_rows], [label] * n_rows, classes="open")
    assert label in model.classes_


def test_open_classes_are_said_once(tmp_path):
    X, y = shuffled(120, 6, 4)
    landmarks = {"kernel": RBF(0.1), "n_landmarks": X[:10].copy()}
    for model in (
        FisherDiscriminant(shrinkage=None),
        OnlineIPCAC(window=80),
        KernelIPCAC(**landmarks),
    ):
        first = y < 2
        model.partial_fit(X[first], y[first], classes="open")
        save(model, tmp_path / "m")
        for again in (model, load(tmp_path / "m")):
            with pytest.warns(UserWarning, match="new class 2"):
                again.partial_fit(X[y == 2], y[y == 2])
            assert_array_equal(again.classes_, [0, 1, 2])
    with pytest.raises(ValueError, match="not among classes"):
        model.forget(X[y == 3], y[y == 3])
    model = (
        FisherDiscriminant(shrinkage=None)
        .partial_fit(X, y, classes="open")
        .fit(X[first], y[first])
    )
    with pytest.raises(ValueError, match="not among classes"):
        model.partial_fit(X, y)


def test_threads_that_add_rows_lose_none():
    X, y = labelled(4000, 6, 3)
    model = FisherDiscriminant(shrinkage=None)

    def learn(i):
        model.partial_fit(X[i : i + 20], y[i : i + 20], classes=[0, 1, 2])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(0, 4000, 20)))
    assert model.n_samples_seen_ == 4000
    assert_equal_decisions(model, FisherDiscriminant(shrinkage=None).fit(X, y), X)


def test_labels_that_were_not_announced_stay_an_error():
    X, y = DATA["two classes"]
    model = IPCAC().fit(X, y)
    with pytest.raises(ValueError, match="labels that are not among classes"):
        model.partial_fit(X[:3], [2, 2, 2])
    with pytest.raises(ValueError, match="differ in type"):
        model.partial_fit(X[:3], ["a", "b", "c"], classes="open")
    with pytest.raises(ValueError, match="differ in type"):
        model.partial_fit(X[:3], y[:3], classes=["a", "b"])
    with pytest.raises(ValueError, match="differ in type"):
        model.partial_fit(X[:3], y[:3].astype(str))
    with pytest.raises(ValueError, match='must be an array or "open"'):
        model.partial_fit(X[:3], y[:3], classes="opne")
    assert_array_equal(model.classes_, [0, 1])


# Forgetting -----------------------------------------------------------------------------------


@every_moment_model
@every_data
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_model_that_forgets_never_saw_the_rows(model, X, y, make, request):
    if isinstance(model, OnlineIPCAC) and len(X[0]) > len(X) and y.max() == 1:
        reason = "the cut of two wide classes depends on the form of the moments"
        request.applymarker(pytest.mark.xfail(reason=reason))
    k = len(X) // 3
    forgot = clone(model).fit(make(X), y).forget(make(X[:k]), y[:k])
    assert_equal_decisions(forgot, clone(model).fit(X[k:], y[k:]), X)


@every_moment_model
def test_a_class_that_is_forgotten_is_gone(model):
    X, y = shuffled(120, 6, 4)
    forgot = clone(model).fit(X, y).forget(X[y == 2], y[y == 2])
    assert_equal_decisions(forgot, clone(model).fit(X[y != 2], y[y != 2]), X)


def test_three_classes_become_two_where_the_scatter_of_each_is_kept():
    X, y = DATA["three classes"]
    pair = y < 2
    model = IPCAC(keep_moments="by class").fit(X, y).forget(X[~pair], y[~pair])
    assert_equal_decisions(model, IPCAC().fit(X[pair], y[pair]), X)
    with pytest.raises(ValueError, match='keep_moments="by class"'):
        IPCAC().fit(X, y).forget(X[~pair], y[~pair])


@every_moment_model
def test_a_model_forgets_what_it_learned_merged_and_kept_in_a_file(model, tmp_path):
    X, y = shuffled(120, 6, 3)
    parts = [clone(model).fit(X[:40], y[:40]), clone(model).fit(X[40:80], y[40:80])]
    save(merge(parts).partial_fit(X[80:], y[80:]), tmp_path / "m")
    forgot = load(tmp_path / "m").forget(X[20:60], y[20:60])
    rest = np.r_[:20, 60:120]
    assert_equal_decisions(forgot, clone(model).fit(X[rest], y[rest]), X)


def test_weights_are_forgotten_as_they_were_given():
    X, y = DATA["three classes"]
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = FisherDiscriminant(shrinkage=None).fit(X, y, w).forget(X[:30], y[:30], w[:30])
    assert_equal_decisions(
        model, FisherDiscriminant(shrinkage=None).fit(X[30:], y[30:], w[30:]), X
    )
    faded = 0.99 ** np.arange(len(y))[::-1]
    model = (
        FisherDiscriminant(shrinkage=None, decay=0.99).fit(X, y).forget(X[:30], y[:30], faded[:30])
    )
    assert_equal_decisions(
        model, FisherDiscriminant(shrinkage=None, decay=0.99).fit(X[30:], y[30:]), X
    )


def test_no_forgotten_row_is_left_in_the_model():
    """Wide data are held as rows."""
    for X, y in (DATA["three classes"], DATA["wide"]):
        model = FisherDiscriminant(shrinkage=None).fit(X, y).forget(X[:5], y[:5])
        held = [model.moments_.means]
        held += [R for s in model.moments_.scatters for _, R in s.rows]
        for rows in held:
            gaps = np.abs(rows[:, None] - X[:5]).max(axis=2)
            assert gaps.min() > 1e-3


def test_rows_that_were_never_learned_are_refused_where_moments_can_tell():
    X, y = DATA["three classes"]
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    before = model.components_.copy()
    cases = {
        "only what was added can be subtracted": (X[[0] * 60], y[[0] * 60]),
        "not part of what was added": (X[:2] + 30, y[:2]),
        "labels that are not among classes": (X[:2], [7, 7]),
        "nothing would be left": (X, y),
    }
    for message, rows in cases.items():
        with pytest.raises(ValueError, match=message):
            model.forget(*rows)
    assert_array_equal(model.components_, before)
    assert model.moments_.n_samples == len(y)


def test_a_combination_that_no_row_had_is_refused():
    """No single feature is out of range: the remainder is negative in one direction only."""
    X, y = DATA["three classes"]
    X = np.column_stack([X, X[:, 0] + 0.01 * np.random.default_rng(0).standard_normal(len(X))])
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    strange = model.means_[[0]] + np.array([[0.5, 0, 0, 0, 0, 0, -0.5]])
    with pytest.raises(ValueError, match="not part of what was added"):
        model.forget(strange, [0])


def test_what_cannot_forget_says_why():
    X, y = shuffled(300, 40, 2)
    cases = {
        "window=50 keeps the last rows": FisherDiscriminant(window=50),
        "give those of now as sample_weight": FisherDiscriminant(decay=0.9),
        "fitted with keep_moments=False": FisherDiscriminant(keep_moments=False),
        "axes of small scatter were left out": OnlineIPCAC(rank=4),
    }
    for message, model in cases.items():
        with pytest.raises(ValueError, match=message):
            model.fit(X, y).forget(X[:5], y[:5])


# Novelty and meaning ---------------------------------------------------------------------------


@every_moment_model
def test_novelty_is_the_distance_to_the_nearest_class(model):
    X, y = DATA["three classes"]
    fitted = clone(model).fit(X, y)
    S = np.linalg.inv(fitted.moments_.Sw / (len(y) - 3))
    expected = [min((x - m) @ S @ (x - m) for m in fitted.means_) for x in X]
    assert_allclose(fitted.novelty(X), expected)
    assert_allclose(fitted.novelty(sp.csr_array(X)), expected)
    T = np.linalg.inv(fitted.moments_.St / (len(y) - 1))
    background = [(x - fitted.mean_) @ T @ (x - fitted.mean_) for x in X]
    assert_allclose(fitted.novelty(X, relative=True), np.subtract(expected, background))


def test_novelty_of_a_dask_collection_is_lazy_and_the_same():
    X, y = DATA["three classes"]
    model = FisherDiscriminant(shrinkage=None).fit(da.from_array(X, (20, 6)), da.from_array(y, 20))
    lazy = da.from_array(X, (25, 6))
    for judge in (model.novelty, model.novelty_pvalue):
        assert isinstance(map_blocks(judge, lazy), da.Array)
        assert_allclose(map_blocks(judge, lazy).compute(), judge(X))
    assert_allclose(
        map_blocks(model.novelty_pvalue, lazy, calibration=X[:9]).compute(),
        model.novelty_pvalue(X, calibration=X[:9]),
    )


def test_novelty_follows_what_is_learned():
    X, y = DATA["three classes"]
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    before = model.novelty(X)
    model.partial_fit(10 * X, y)
    assert model.novelty(X).mean() < before.mean()
    model.moments_.update(1e3 * X, y)  # in place, below the model
    assert model.novelty(X).max() < before.min()


def test_novelty_needs_moments_and_sound_rows():
    X, y = DATA["three classes"]
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(ValueError, match="NaN in column 2"):
        model.novelty(np.where(np.arange(6) == 2, np.nan, X))
    with pytest.raises(ValueError, match="keep_moments=True"):
        FisherDiscriminant(keep_moments=False).fit(X, y).novelty(X)
    with pytest.raises(ValueError, match="calibration=rows"):
        model.novelty_pvalue(X, relative=True)


@every_moment_model
@every_data
def test_patterns_are_the_regression_of_rows_on_scores(model, X, y):
    fitted = clone(model).fit(X, y)
    Z, centred = fitted.transform(X), X - X.mean(axis=0)
    expected = np.linalg.lstsq(Z, centred, rcond=None)[0]
    assert_allclose(fitted.patterns_, expected, atol=1e-9 * np.abs(expected).max())
    k = Z.shape[1]
    correlations = np.corrcoef(Z.T, X.T)[:k, k:]
    assert_allclose(fitted.structure_correlations_, correlations, atol=1e-9)
    assert_allclose(fitted.transform(fitted.inverse_transform(Z)), Z, atol=1e-9 * np.abs(Z).max())


def test_a_constant_feature_correlates_with_nothing():
    X, y = DATA["three classes"]
    X = np.column_stack([X, np.full(len(X), 3.0)])
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    assert_allclose(model.structure_correlations_[:, -1], 0)
    assert_allclose(model.patterns_[:, -1], 0, atol=1e-12)


# Results that wait ----------------------------------------------------------------------------


def test_parameters_that_need_rows_are_an_error_when_results_are_asked_for():
    X, y = labelled(60, 4)
    model = FisherDiscriminant(shrinkage=None).partial_fit(X, y).partial_fit(X, y)
    with pytest.raises(ValueError, match="needs all rows at once"):
        _ = model.set_params(n_components="auto").components_


def test_results_wait_for_the_next_question_and_are_those_of_all_rows():
    X, y = shuffled(90, 4, 3)
    model = FisherDiscriminant(shrinkage="moments").fit(X[:50], y[:50])
    for start in (50, 70):
        model.partial_fit(X[start : start + 20], y[start : start + 20])
        assert "components_" not in vars(model)
    whole = FisherDiscriminant(shrinkage="moments").fit(X, y)
    assert_allclose(model.shrinkage_, whole.shrinkage_)
    assert "components_" in vars(model)
    assert_allclose(model.components_, whole.components_, atol=1e-12)


def test_names_that_are_no_results_are_ordinary_errors():
    model = FisherDiscriminant(shrinkage=None).fit(*labelled(60, 4))
    model.partial_fit(*labelled(60, 4))
    with pytest.raises(AttributeError, match="no attribute 'component_'"):
        _ = model.component_
    assert not hasattr(FisherDiscriminant(shrinkage=None), "components_")
    assert "components_" not in vars(model)


def test_a_model_without_moments_keeps_no_window():
    model = FisherDiscriminant(window=30, keep_moments=False).fit(*labelled(60, 4))
    assert model._window is None
