"""Erasing a label: nothing linear is left of it, and the rows change no more than they must."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm
from sklearn.linear_model import LogisticRegression

from separatrix import ClassEraser, load, merge, save
from tests.discovery import SHAPES, TALL, WIDE, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def class_means(X, y):
    return np.array([X[y == c].mean(axis=0) for c in np.unique(y)])


@every_shape
def test_all_classes_have_the_mean_of_all_rows(X, y):
    Z = ClassEraser().fit_transform(X, y)
    assert_allclose(class_means(Z, y), np.broadcast_to(X.mean(axis=0), (3, X.shape[1])), atol=1e-8)


@every_shape
def test_erasing_twice_is_erasing_once(X, y):
    eraser = ClassEraser().fit(X, y)
    once = eraser.transform(X)
    assert_allclose(eraser.transform(once), once, atol=1e-8)


def test_the_map_is_the_closed_form():
    """``x - Σ^½ P Σ^-½ (x - μ)`` with P the projection on the whitened means."""
    X, y = TALL
    root = sqrtm(np.cov(X.T, ddof=0)).real
    whitened = np.linalg.solve(root, (class_means(X, y) - X.mean(axis=0)).T)
    Q = np.linalg.svd(whitened)[0][:, :2]
    expected = X - (X - X.mean(axis=0)) @ np.linalg.inv(root) @ Q @ Q.T @ root
    assert_allclose(ClassEraser().fit_transform(X, y), expected, atol=1e-10)


@every_shape
def test_no_other_map_that_erases_changes_the_rows_less(X, y):
    """Beside taking off the class means by their span, and by any other oblique projection."""
    ours = np.sum((ClassEraser().fit_transform(X, y) - X) ** 2)
    centred = X - X.mean(axis=0)
    deviations = class_means(X, y) - X.mean(axis=0)
    Q = np.linalg.svd(deviations.T, full_matrices=False)[0][:, :2]
    rng = np.random.default_rng(0)
    for other in [Q, *(Q + 0.3 * rng.standard_normal(Q.shape) for _ in range(20))]:
        oblique = np.linalg.solve(other.T @ Q, other.T)
        change = centred @ oblique.T @ Q.T
        assert_allclose(class_means(centred - change, y), 0, atol=1e-8)
        assert np.sum(change**2) > ours


def test_logistic_regression_is_at_chance_afterwards():
    """On training rows it gives every row the shares of the classes; on new rows it is near."""
    X, y = labelled(3000, 6)
    eraser = ClassEraser().fit(X[:2000], y[:2000])
    Z = eraser.transform(X)
    judge = LogisticRegression(C=np.inf, max_iter=5000, tol=1e-10).fit(Z[:2000], y[:2000])
    shares = np.bincount(y[:2000]) / 2000
    assert_allclose(judge.predict_proba(Z[:2000]), np.tile(shares, (2000, 1)), atol=1e-3)
    assert LogisticRegression().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.9
    assert judge.score(Z[2000:], y[2000:]) < shares.max() + 0.03


def test_batches_give_the_map_of_all_rows(tmp_path):
    X, y = TALL
    whole = ClassEraser().fit(X, y)
    stream = ClassEraser()
    for start in range(0, 90, 30):
        stream.partial_fit(X[start : start + 30], y[start : start + 30], classes=[0, 1, 2])
    assert_allclose(stream.transform(X), whole.transform(X), atol=1e-9)
    save(stream, tmp_path / "eraser.model")
    kept = load(tmp_path / "eraser.model")
    assert (kept.transform(X) == stream.transform(X)).all()


def test_a_batch_that_fails_leaves_the_eraser_as_it_was():
    X, y = WIDE
    eraser = ClassEraser().fit(X, y)
    before = eraser.transform(X)
    with pytest.raises(ValueError, match="not among classes"):
        eraser.partial_fit(X, np.full(len(X), 7))
    assert (eraser.transform(X) == before).all()


def test_units_of_features_do_not_matter():
    X, y = TALL
    units = 10.0 ** np.array([-9, -6, -3, 0, 3, 9])
    expected = ClassEraser().fit_transform(X, y) * units
    assert_allclose(ClassEraser().fit_transform(X * units, y), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*found no direction that separates")
def test_rows_that_say_nothing_of_the_label_stay_as_they_are():
    X = np.tile(np.random.default_rng(0).standard_normal((5, 3)), (2, 1))
    assert_allclose(ClassEraser().fit_transform(X, np.repeat([0, 1], 5)), X)


def test_rows_that_are_forgotten_were_never_seen(tmp_path):
    X, y = TALL
    eraser = ClassEraser().fit(X, y)
    assert eraser.forget(X[:20], y[:20]) is eraser
    assert_allclose(eraser.transform(X), ClassEraser().fit(X[20:], y[20:]).transform(X), atol=1e-9)
    assert eraser.moments_.n_samples == len(X) - 20
    whole = ClassEraser().fit(X, y)
    assert_allclose(eraser.partial_fit(X[:20], y[:20]).transform(X), whole.transform(X), atol=1e-9)
    save(eraser.forget(X[:20], y[:20]), tmp_path / "eraser.model")
    kept = load(tmp_path / "eraser.model").partial_fit(X[:20], y[:20])
    assert_allclose(kept.transform(X), whole.transform(X), atol=1e-9)


def test_rows_that_were_not_learned_cannot_be_forgotten():
    X, y = TALL
    eraser = ClassEraser().fit(X[:30], y[:30])
    before = eraser.transform(X)
    with pytest.raises(ValueError, match="cannot subtract 23 samples of class 0"):
        eraser.forget(X, y)
    assert (eraser.transform(X) == before).all()


@pytest.mark.filterwarnings("error:.*valid feature names")
def test_columns_of_merged_erasers_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    X, y = TALL
    frame = pd.DataFrame(X, columns=list("abcdef"))
    parts = [frame[:45], frame[45:][list("fedcba")]]
    merged = merge([ClassEraser().fit(p, y[p.index]) for p in parts])
    assert merged.feature_names_in_.tolist() == list("abcdef")
    expected = ClassEraser().fit(frame, y).transform(frame)
    assert_allclose(merged.transform(frame), expected, atol=1e-9)


def test_noise_is_not_subtracted():
    X, y = TALL
    noisy = merge([ClassEraser().fit(X, y)], epsilon=1.0, delta=1e-5, clip=100.0, random_state=0)
    with pytest.raises(ValueError, match="noise was added"):
        noisy.forget(X[:5], y[:5])
    assert not hasattr(noisy.fit(X, y), "noise_")
