"""Rows that estimators are given: checked, projected, and never half learned."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

from separatrix import ClassMoments, FisherDiscriminant, KernelIPCAC
from separatrix.base.rows import (
    centred_product,
    check_labelled_rows,
    check_several_classes,
    unchanged_on_failure,
)
from tests.discovery import (
    TALL,
    linear,
    name_of,
    probabilistic_classifiers,
    sparse_estimators,
    subspace_estimators,
)


def test_checked_rows_have_codes_classes_weights_and_names():
    pd = pytest.importorskip("pandas")
    X, y = TALL
    frame = pd.DataFrame(X, columns=list("abcdef"))
    names = np.array(["u", "v", "w"])[y]
    rows = check_labelled_rows(FisherDiscriminant(shrinkage=None), frame, names, 2.0)
    assert rows.classes.tolist() == ["u", "v", "w"]
    assert rows.codes.tolist() == y.tolist()
    assert rows.weights.tolist() == [2.0] * 90
    assert rows.feature_names.tolist() == list("abcdef")


def test_one_class_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"FisherDiscriminant needs at least two.*one class: 'a'"):
        check_several_classes(FisherDiscriminant(shrinkage=None), np.array(["a"]))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_raises_leaves_the_estimator_as_it_was(error):
    def fail():
        model.kept, model.more = 2, 3
        raise error

    model = BaseEstimator()
    model.kept = 1
    with pytest.raises(error), unchanged_on_failure(model):
        fail()
    assert vars(model) == {"kept": 1}


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_a_centred_product_keeps_its_digits(rng, monkeypatch, offset):
    """Centring after the product would cancel the digits of rows far from the origin."""
    monkeypatch.setattr("separatrix.moments.labelled.MAX_BLOCK_ENTRIES", 60)
    rows = rng.integers(-8, 8, (40, 6)).astype(float)
    W = rng.standard_normal((6, 2))
    centre = np.full(6, offset)
    assert_allclose(centred_product(rows + offset, centre, W), rows @ W, atol=1e-12)


def test_a_centred_product_takes_sparse_rows_and_keeps_single_precision(rng):
    X, W, centre = rng.standard_normal((9, 4)), rng.standard_normal((4, 2)), np.ones(4)
    assert_allclose(centred_product(sp.csr_array(X), centre, W), (X - 1) @ W, atol=1e-12)
    assert centred_product(X.astype(np.float32), centre, W).dtype == np.float32


@pytest.mark.parametrize("estimator", linear(subspace_estimators()), ids=name_of)
def test_channels_and_times_are_features_one_after_the_other(estimator, rng):
    X, y = rng.standard_normal((40, 3, 4)), np.arange(40) % 2
    X[y == 1, 1] += 2.0
    flat = X.reshape(40, 12)
    found, expected = clone(estimator).fit(X, y), clone(estimator).fit(flat, y)
    assert found.epoch_shape_ == (3, 4)
    assert not hasattr(expected, "epoch_shape_")
    assert_array_equal(found.transform(X), expected.transform(flat))
    assert_array_equal(found.transform(flat), expected.transform(flat))
    with pytest.raises(ValueError, match=r"4 channels of 3 values, but .* to 3 channels of 4"):
        found.transform(X.reshape(40, 4, 3))
    assert not hasattr(found.fit(flat, y), "epoch_shape_")


def test_a_column_of_text_is_named():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": [0.0, 1.0, 0.0, 2.0]})
    y = [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"Column 'site' of X holds text .*'x'.*OneHotEncoder"):
        FisherDiscriminant(shrinkage=None).fit(X.assign(site="x"), y)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(ValueError, match="Column 'b' of X holds text"):
        model.predict(X.assign(b="x"))


@pytest.mark.parametrize("estimator", sparse_estimators(), ids=name_of)
def test_the_matrix_of_the_caller_is_not_sorted(estimator):
    X, y = TALL
    sparse = sp.csr_array(np.where(X > 0, X, 0))
    turned = sp.csr_array((sparse.data, sparse.indices, sparse.indptr), sparse.shape)
    for i in range(len(y)):  # each row from the last column to the first
        part = slice(*sparse.indptr[i : i + 2])
        turned.data[part], turned.indices[part] = (
            turned.data[part][::-1].copy(),
            turned.indices[part][::-1].copy(),
        )
    turned.has_sorted_indices = False
    before = turned.indices.copy()
    model = clone(estimator).fit(turned, y)
    for ask in ("transform", "predict", "decision_function"):
        if hasattr(model, ask):
            getattr(model, ask)(turned)
    assert_array_equal(turned.indices, before)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1] * 45, "y mixes labels that are text with labels of type int"),
        (np.array(["a", 1.5] * 45, object), "text with labels of type float"),
        (np.array(["a", None] * 45, object), "y has labels that are None"),
    ],
)
def test_labels_of_two_kinds_are_an_error_in_words(y, message):
    X = TALL[0]
    for fit in (
        FisherDiscriminant(shrinkage=None).fit,
        FisherDiscriminant(shrinkage=None).partial_fit,
        KernelIPCAC().fit,
    ):
        with pytest.raises(ValueError, match=message):
            fit(X, y)
    with pytest.raises(ValueError, match=message):
        ClassMoments.from_data(X, y)
    with pytest.raises(ValueError, match=message.replace("y ", "classes ", 1)):
        FisherDiscriminant(shrinkage=None).partial_fit(X, TALL[1], classes=y[:2])


@pytest.mark.parametrize("estimator", probabilistic_classifiers(), ids=name_of)
def test_as_many_classes_as_rows_are_refused(estimator, rng):
    """Every probability of such a model would be one; scikit-learn refuses them, too."""
    X = rng.standard_normal((5, 3))
    with pytest.raises(ValueError, match=r"row"):
        clone(estimator).fit(X, np.arange(5))
