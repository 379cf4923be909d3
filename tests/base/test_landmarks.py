"""Kernel models with landmarks: batches, forgetting and merging are the fit to all rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons

from separatrix import KernelFisherDiscriminant, KernelIPCAC, load, merge, save
from separatrix.kernels import RBF
from tests.discovery import TALL

X, y = make_moons(240, noise=0.25, random_state=0)
FIRST = 90
"""Rows of the first batch, which places the landmarks."""

# a ridge of "auto" is chosen by rows left out in `fit`, and by moments where rows are gone
KINDS = [
    KernelIPCAC(ridge=0.1),
    KernelIPCAC(truncate=True),
    KernelIPCAC(variance=0.9),
    KernelIPCAC("poly", ridge=0.1),
    KernelFisherDiscriminant(ridge=0.1),
    KernelFisherDiscriminant(kernel="laplacian", ridge=0.1),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def with_landmarks_of_the_first(kind):
    """A model that has not learned yet, with the landmarks and the width of the first batch."""
    first = clone(kind).set_params(n_landmarks=15, random_state=0).fit(X[:FIRST], y[:FIRST])
    return clone(kind).set_params(kernel=first.kernel_, n_landmarks=first.landmarks_)


def assert_same_decisions(model, other):
    assert_allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-9)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-9)
    assert_allclose(model.transform(X), other.transform(X), rtol=0, atol=1e-9)


@every_kind
def test_batches_are_the_fit_with_the_landmarks_of_the_first(kind):
    model = clone(kind).set_params(n_landmarks=15, random_state=0)
    for part in (slice(0, FIRST), slice(FIRST, FIRST + 1), slice(FIRST + 1, None)):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert_same_decisions(model, with_landmarks_of_the_first(kind).fit(X, y))
    assert model.n_samples_seen_ == len(X)


@every_kind
def test_merged_models_are_the_fit_to_all_rows(kind):
    site = with_landmarks_of_the_first(kind)
    own = clone(kind).set_params(n_landmarks=15, random_state=0).fit(X[:FIRST], y[:FIRST])
    # the first site has placed the landmarks, and the others were given them
    sites = [own, *(clone(site).fit(X[i::2], y[i::2]) for i in (FIRST, FIRST + 1))]
    assert_same_decisions(merge(sites), clone(site).fit(X, y))
    again = merge([merge(sites[:2]), sites[2]])
    assert_same_decisions(again, clone(site).fit(X, y))


@every_kind
def test_forgotten_rows_leave_no_trace(kind):
    site = with_landmarks_of_the_first(kind)
    both = clone(site).fit(np.vstack([X, X[:40] + 1]), np.r_[y, y[:40]])
    assert_same_decisions(both.forget(X[:40] + 1, y[:40]), clone(site).fit(X, y))


@pytest.mark.parametrize("kind", [KernelIPCAC, KernelFisherDiscriminant])
def test_more_classes_float32_and_weights(kind):
    rows, labels = TALL
    kind = partial(kind, ridge=0.1)
    model = kind(n_landmarks=10, random_state=0)
    model.partial_fit(rows[:40], labels[:40], classes=[0, 1, 2])
    model.partial_fit(rows[40:], labels[40:])
    whole = kind(kernel=model.kernel_, n_landmarks=model.landmarks_).fit(rows, labels)
    assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), atol=1e-9)
    single = kind(kernel=model.kernel_, n_landmarks=model.landmarks_)
    single.partial_fit(rows.astype(np.float32), labels)
    assert single.moments_.means.dtype == np.float64
    assert_array_equal(single.predict(rows), whole.predict(rows))
    twice = clone(single).fit(np.vstack([rows, rows[:30]]), np.r_[labels, labels[:30]])
    weighed = clone(single).partial_fit(rows, labels, sample_weight=1 + (np.arange(90) < 30))
    assert_allclose(weighed.predict_proba(rows), twice.predict_proba(rows), atol=1e-9)


def test_a_class_that_comes_later():
    rows, labels = TALL
    order = np.argsort(labels, kind="stable")
    model = KernelIPCAC(n_landmarks=10, random_state=0)
    model.partial_fit(rows[order[:45]], labels[order[:45]], classes=[0, 1])
    assert model.threshold_ is not None
    model.partial_fit(rows[order[45:]], labels[order[45:]], classes=[2])
    whole = KernelIPCAC(kernel=model.kernel_, n_landmarks=model.landmarks_)
    assert_array_equal(model.predict(rows), whole.fit(rows, labels).predict(rows))


def test_sparse_rows_have_sparse_landmarks():
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    model = KernelIPCAC(n_landmarks=15, ridge=0.1, random_state=0)
    model.partial_fit(rows[:FIRST], y[:FIRST])
    model.partial_fit(rows[FIRST:], y[FIRST:])
    assert sp.issparse(model.landmarks_)
    whole = KernelIPCAC(ridge=0.1, kernel=model.kernel_, n_landmarks=model.landmarks_)
    found = whole.fit(rows, y).decision_function(rows)
    assert_allclose(model.decision_function(rows), found, atol=1e-9)


def test_a_saved_model_goes_on_learning(tmp_path):
    model = KernelIPCAC(n_landmarks=15, random_state=0).partial_fit(X[:FIRST], y[:FIRST])
    save(model.partial_fit(X[FIRST:200], y[FIRST:200]), tmp_path / "half.model")
    model.partial_fit(X[200:], y[200:])
    loaded = load(tmp_path / "half.model").partial_fit(X[200:], y[200:])
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_the_subspace_waits_until_it_is_asked_for():
    model = KernelIPCAC(n_landmarks=15, random_state=0).partial_fit(X[:FIRST], y[:FIRST])
    model.partial_fit(X[FIRST:], y[FIRST:])
    assert "components_" not in vars(model)
    assert model.n_samples_seen_ == len(X)
    assert "components_" in vars(model)


def test_a_batch_that_raises_changes_nothing():
    model = KernelIPCAC(n_landmarks=15, random_state=0).partial_fit(X[:FIRST], y[:FIRST])
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="not among classes"):
        model.partial_fit(X[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 2), np.nan), [0, 1])
    with pytest.raises(ValueError, match="only what was added"):
        model.forget(X, y)
    assert_array_equal(model.decision_function(X), before)


def test_models_without_landmarks_do_not_learn_in_batches():
    assert not hasattr(KernelIPCAC(), "partial_fit")
    assert not hasattr(KernelFisherDiscriminant(), "forget")
    assert not hasattr(KernelIPCAC("precomputed", n_landmarks=5), "partial_fit")
    exact = KernelIPCAC(n_landmarks=len(X)).fit(X, y)
    with pytest.raises(ValueError, match="fitted to all pairs of rows"):
        exact.partial_fit(X, y)
    with pytest.raises(ValueError, match="model 0: it has no landmarks"):
        merge([exact, exact])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_landmarks": 100}, "the first batch has 90 rows, and n_landmarks=100"),
        ({"n_landmarks": np.zeros((3, 5))}, "holds rows of 5 features, but X has 2"),
        ({"n_landmarks": 0}, "n_landmarks=0 is not valid"),
        ({"n_landmarks": 9, "threshold": "accuracy"}, 'threshold="accuracy" needs all rows'),
    ],
)
def test_errors_say_what_to_do(settings, message):
    with pytest.raises(ValueError, match=message):
        KernelIPCAC(**settings).partial_fit(X[:FIRST], y[:FIRST])


def test_models_of_other_landmarks_or_widths_are_not_merged():
    one, other = (KernelIPCAC(n_landmarks=9, random_state=s).fit(X, y) for s in (0, 1))
    with pytest.raises(ValueError, match=r"other landmarks than model 0.*kernel=models\[0\]"):
        merge([one, other])
    wide = KernelIPCAC(kernel=RBF(0.1), n_landmarks=one.landmarks_).fit(X, y)
    with pytest.raises(ValueError, match=r"model 1 has kernel_=RBF\(gamma=0\.1\), model 0 has"):
        merge([one, wide])
    ridge = KernelIPCAC(n_landmarks=9, random_state=0, ridge=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"model 1 has ridge=0\.5, model 0 has ridge='auto'"):
        merge([one, ridge])


def test_a_dask_collection_has_landmarks_that_add():
    da = pytest.importorskip("dask.array")
    model = KernelIPCAC(n_landmarks=12, ridge=0.1, random_state=0)
    model.fit(da.from_array(X, chunks=(60, -1)), y)
    site = KernelIPCAC(ridge=0.1, kernel=model.kernel_, n_landmarks=model.landmarks_)
    assert_same_decisions(model, clone(site).fit(X, y))
    given = clone(site).fit(da.from_array(X, chunks=(60, -1)), y)
    assert_same_decisions(merge([model, given]), merge([given, given]))
