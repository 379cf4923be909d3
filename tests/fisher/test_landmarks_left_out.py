"""Rows left out of models with landmarks, each with the landmark that it made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import KernelFisherDiscriminant, KernelIPCAC
from separatrix.base.landmarks import in_landmarks, map_of_landmarks
from separatrix.fisher.landmarks_left_out import distances_in_landmarks, find_nearest, place_rows
from separatrix.kernels import RBF, settle_kernel
from separatrix.moments.labelled import LabelledRows
from tests.fisher.test_kernel_left_out import distances_without, draw

GAMMA, ALPHA = 0.2, 0.1


def coordinates(X, landmarks):
    """Orthonormal coordinates of rows in the span of landmarks, by a Cholesky factor."""
    L = np.linalg.cholesky(rbf_kernel(landmarks, gamma=GAMMA))
    return np.linalg.solve(L, rbf_kernel(landmarks, X, gamma=GAMMA)).T


@pytest.mark.parametrize("with_landmarks", [False, True])
def test_distances_are_those_of_fits_without_each_row_and_its_landmark(with_landmarks):
    rows = draw(n_rows=30)
    landmarks = rows.X[::4]
    kernel = settle_kernel(landmarks, RBF(GAMMA))
    nearest = find_nearest(rows.X, kernel, landmarks)
    assert (nearest[::4] == np.arange(len(landmarks))).all()
    to_features = map_of_landmarks(kernel, landmarks)
    mapped = in_landmarks(to_features, rows)
    placed = place_rows(to_features, mapped, nearest if with_landmarks else None)
    found = distances_in_landmarks(placed, rows.codes, ALPHA)
    ridge = ALPHA / (1 - ALPHA) * placed.spectrum.evals.sum()
    for i in range(30):
        kept = np.delete(landmarks, nearest[i], axis=0) if with_landmarks else landmarks
        wanted = distances_without(coordinates(rows.X, kept), rows.codes, i, ridge)
        assert_allclose(found[i], wanted / (1 - ALPHA), rtol=1e-7)


@pytest.mark.parametrize("make", [KernelFisherDiscriminant, KernelIPCAC])
def test_few_rows_for_each_landmark_do_not_mislead(make):
    """Forty landmarks of sixty rows in 2000 features."""
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means = rng.standard_normal((2, 2000)) * 7 / np.sqrt(2000)
        y, y_new = np.repeat([0, 1], (40, 20)), np.repeat([0, 1], 200)
        X = rng.standard_normal((60, 2000)) + means[y]
        X_new = rng.standard_normal((400, 2000)) + means[y_new]
        model = make(n_landmarks=40, priors=[0.5, 0.5], random_state=0).fit(X, y)
        scores.append(balanced_accuracy_score(y_new, model.predict(X_new)))
    assert np.mean(scores) > 0.92


def test_a_weight_is_the_row_so_many_times():
    rows = draw(n_rows=60)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    settings = {"n_landmarks": rows.X[:10], "kernel": RBF(GAMMA)}
    model = KernelFisherDiscriminant(**settings).fit(rows.X, rows.codes, weights)
    many = KernelFisherDiscriminant(**settings)
    many.fit(np.repeat(rows.X, weights, axis=0), np.repeat(rows.codes, weights))
    new = draw(n_rows=20, seed=1).X
    assert_allclose(model.predict_proba(new), many.predict_proba(new), atol=1e-4)


def test_rows_that_come_later_are_decided_by_moments():
    rows = draw(n_rows=60)
    model = KernelIPCAC(n_landmarks=10, random_state=0).fit(rows.X, rows.codes)
    assert model.left_out_ is not None
    model.partial_fit(rows.X, rows.codes)
    assert model.predict(rows.X).shape == (60,)
    assert model.left_out_ is None


def test_other_kinds_of_rows():
    rows = draw(n_rows=60)
    K = rbf_kernel(rows.X, gamma=GAMMA)
    given = KernelFisherDiscriminant(kernel="precomputed", n_landmarks=10, random_state=0)
    assert given.fit(K, rows.codes).left_out_ is None
    single = LabelledRows(rows.X.astype(np.float32), rows.codes, rows.classes)
    model = KernelFisherDiscriminant(n_landmarks=10, random_state=0)
    assert model.fit(single.X, single.codes).predict_proba(single.X).shape == (60, 3)
