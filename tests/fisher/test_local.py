"""Local Fisher, against its definition written out pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from separatrix import (
    ClassMoments,
    LocalFisherDiscriminant,
)
from separatrix.base.queries import Queries
from separatrix.fisher.local import (
    SHRINKAGES,
    affinity_scatters,
    drawn_classes,
    sampled_affinity_scatters,
)
from separatrix.linalg import principal_angles
from separatrix.moments.labelled import LabelledRows
from tests.discovery import TALL, WIDE, labelled, same_up_to_sign


def local_scatters_by_pairs(X, y, k=7):
    n = len(X)
    Ww, Wb = np.zeros((n, n)), np.full((n, n), 1 / n)
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        D = np.linalg.norm(X[rows][:, None] - X[rows], axis=2)
        sigma = np.sort(D, axis=1)[:, min(k, len(rows) - 1)]
        with np.errstate(invalid="ignore", divide="ignore"):
            A = np.where(D > 0, np.exp(-(D**2) / np.outer(sigma, sigma)), 1.0)
        Ww[np.ix_(rows, rows)] = A / len(rows)
        Wb[np.ix_(rows, rows)] = A * (1 / n - 1 / len(rows))
    return [X.T @ (np.diag(W.sum(axis=1)) - W) @ X for W in (Ww, Wb)]


@pytest.mark.parametrize("k", [1, 7, 100])
def test_local_fisher_is_sugiyamas(k):
    X, y = labelled(80, 5)
    y = np.r_[y[:75], [3, 3, 3, 3, 4]]  # a class smaller than k, and one of a single sample
    Sw, Sb = local_scatters_by_pairs(X, y, k)
    W = LocalFisherDiscriminant(n_neighbors=k, shrinkage=None).fit(X, y).components_.T
    assert_allclose(W.T @ Sw @ W, np.eye(5), atol=1e-11)
    assert_allclose(np.diag(W.T @ Sb @ W), scipy.linalg.eigh(Sb, Sw)[0][::-1], rtol=1e-9)


def test_local_fisher_in_blocks_is_local_fisher(monkeypatch):
    X, y = TALL
    whole = LocalFisherDiscriminant().fit(X, y).components_
    monkeypatch.setattr("separatrix.fisher.local.MAX_AFFINITY_ENTRIES", 100)
    assert_allclose(LocalFisherDiscriminant().fit(X, y).components_, whole, atol=1e-12)


def test_wide_local_fisher_is_exact_in_the_span():
    X, y = WIDE
    Sw, Sb = local_scatters_by_pairs(X, y)
    Sw = 0.9 * Sw + 0.1 * np.trace(Sw) / 60 * np.eye(60)
    W = LocalFisherDiscriminant(n_components=2, shrinkage=0.1).fit(X, y).components_
    assert_allclose(W @ Sw @ W.T, np.eye(2), atol=1e-11)
    assert principal_angles(W, scipy.linalg.eigh(Sb, Sw)[1][:, -2:].T).max() < 1e-9


def test_duplicated_rows_do_not_break_local_scaling():
    X, y = labelled(30, 4)
    X, y = np.repeat(X, 10, axis=0), np.repeat(y, 10)  # every σ is zero
    Sw, Sb = local_scatters_by_pairs(X, y)
    W = LocalFisherDiscriminant(shrinkage=None).fit(X, y).components_
    assert np.isfinite(W).all()
    assert_allclose(Sw, 0, atol=1e-9)  # so every direction is perfect, and sorted by S̃b
    assert (np.diff(np.diag(W @ Sb @ W.T)) < 0).all()


def test_a_small_class_does_not_disturb_the_others():
    X, y = TALL
    Sw = affinity_scatters
    tiny = np.r_[y, [3, 3]]
    far = np.vstack([X, X[:2] + 100])
    for k in (1, 7):
        by_pairs = local_scatters_by_pairs(far, tiny, k)[0]
        alone = local_scatters_by_pairs(X, y, k)[0]
        own = local_scatters_by_pairs(far[-2:], tiny[-2:], k)[0]
        assert_allclose(by_pairs, alone + own, atol=1e-9)
        data = LocalFisherDiscriminant()._validate(far, tiny)
        assert_allclose(Sw(data, ClassMoments.from_rows(data), k).within, by_pairs, atol=1e-9)


def many_rows():
    return labelled(3000, 8)


def test_a_sample_of_all_rows_is_exact():
    X, y = labelled(300, 5)
    rows = LabelledRows(X, y, np.unique(y))
    moments = ClassMoments.from_data(X, y)
    everything = Queries(np.arange(300), np.ones(300), np.arange(300) % 8)
    classes = drawn_classes(rows, moments, 7, everything)
    found = sampled_affinity_scatters(classes, moments.Sb, len(y))
    exact = affinity_scatters(rows, moments, 7)
    for part in (found, *found.without):  # nothing is unknown, so leaving out changes nothing
        assert_allclose(part.within, exact.within, rtol=1e-10, atol=1e-10)
        assert_allclose(part.total, exact.total, rtol=1e-10, atol=1e-10)


def test_the_error_of_a_sample_is_the_one_it_states():
    X, y = many_rows()
    exact = LocalFisherDiscriminant(2, n_queries=None).fit(X, y)
    assert exact.angle_error_ == 0.0
    angles, errors = [], []
    for seed in range(12):
        model = LocalFisherDiscriminant(2, n_queries=300, random_state=seed).fit(X, y)
        angles.append(np.degrees(principal_angles(model.components_, exact.components_)[0]))
        errors.append(model.angle_error_)
    # twelve samples know a root mean square to about a fifth
    assert 0.6 < np.mean(np.square(errors)) ** 0.5 / np.mean(np.square(angles)) ** 0.5 < 1.8


def test_a_sample_is_warned_of_where_nobody_asked_for_it(monkeypatch):
    X, y = many_rows()
    monkeypatch.setattr("separatrix.base.queries.MAX_EXACT_ROWS", 1000)
    monkeypatch.setattr("separatrix.base.queries.AUTO_QUERIES", 300)
    with pytest.warns(UserWarning, match=r"compared 300 of 3000 rows.*angle_error_.*n_queries"):
        LocalFisherDiscriminant(2).fit(X, y)


def test_the_shrinkage_is_chosen_by_rows_held_out_in_any_order():
    X, y = labelled(60, 40)
    model = LocalFisherDiscriminant(2).fit(X, y)
    record = model.selection_["shrinkage"]
    average = record.scores.mean(axis=0)
    assert average[SHRINKAGES.index(model.shrinkage_)] >= average.max() - 1e-12
    fixed = LocalFisherDiscriminant(2, shrinkage=model.shrinkage_).fit(X, y)
    assert_allclose(model.components_, fixed.components_, atol=1e-10)
    order = np.random.default_rng(0).permutation(60)
    assert LocalFisherDiscriminant(2).fit(X[order], y[order]).shrinkage_ == model.shrinkage_


@pytest.mark.parametrize("shrinkage", [None, 0.1])
@pytest.mark.parametrize("shape", [(60, 4), (30, 50)], ids=["tall", "wide"])
def test_a_weight_is_how_often_a_row_counts(shape, shrinkage):
    rng = np.random.default_rng(0)
    y = np.arange(shape[0]) % 3
    X = rng.standard_normal(shape) + 0.7 * y[:, None]
    weights = rng.integers(0, 4, len(X))
    model = LocalFisherDiscriminant(shrinkage=shrinkage)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).transform(X)
    Z = model.fit(X, y, sample_weight=weights).transform(X)
    assert_allclose(same_up_to_sign(repeated, Z), repeated, atol=1e-9 * np.abs(repeated).max())
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, y, sample_weight=np.where(y == 0, 1, 0))
