"""New rows by leaving rows out: exact for every ridge, calibrated, and never overconfident."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from separatrix.decision.expected import (
    Metric,
    Spectrum,
    best_ridge,
    calibrate,
    distances_without_blocks,
    left_out_distances,
    ridge_metric,
    ridges_to_try,
    truncated_metric,
)


def draw_classes(rng, n_rows, n_features, n_classes, distance=1.0):
    """Two rows of each class, and others by chance."""
    codes = np.r_[np.repeat(np.arange(n_classes), 2), rng.integers(0, n_classes, n_rows)]
    codes = codes[:n_rows]
    spread = rng.uniform(0.3, 2.0, n_features)
    means = distance * rng.standard_normal((n_classes, n_features))
    return rng.standard_normal((n_rows, n_features)) * spread + means[codes] + 3.0, codes


def class_means(X, codes, n_classes):
    return np.array([X[codes == c].mean(axis=0) for c in range(n_classes)])


def decompose(X, codes, n_classes, unit=1.0):
    """The spectrum of rows, and the rows less their class means in its coordinates."""
    means = class_means(X, codes, n_classes)
    centred, origin = X - means[codes], X.mean(axis=0)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    V = Vt[s > 1e-9 * s[0]].T
    along = (means - origin) @ V
    rest = means - origin - along @ V.T
    counts = np.bincount(codes, minlength=n_classes).astype(float)
    evals = s[: V.shape[1]] ** 2 / (len(X) - n_classes)
    return Spectrum(evals, along, rest @ rest.T, counts, unit), centred @ V


def distances_without(X, codes, n_classes, i, matrix_of):
    """Squared distances of row i to the class means of all others, by the covariance of those."""
    others = np.arange(len(X)) != i
    means = class_means(X[others], codes[others], n_classes)
    centred = X[others] - means[codes[others]]
    covariance = centred.T @ centred / (others.sum() - n_classes)
    steps = X[i] - means
    return np.einsum("ci,ij,cj->c", steps, np.linalg.inv(matrix_of(covariance)), steps)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(
    ("n_rows", "n_features"), [(30, 5), (20, 19), (20, 20), (20, 21), (20, 60)]
)
@pytest.mark.parametrize("alpha", [0.01, 0.9])
def test_distances_are_those_of_fits_without_each_row(rng, n_rows, n_features, n_classes, alpha):
    X, codes = draw_classes(rng, n_rows, n_features, n_classes)
    spectrum, rows = decompose(X, codes, n_classes, unit=0.7)
    found = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, alpha))

    def ridge(covariance):
        return (1 - alpha) * covariance + 0.7 * alpha * np.eye(n_features)

    wanted = [distances_without(X, codes, n_classes, i, ridge) for i in range(n_rows)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_axes_that_are_not_whitened_are_taken_as_given(rng):
    X, codes = draw_classes(rng, 40, 6, 3)
    spectrum, rows = decompose(X, codes, 3)
    metric = truncated_metric(spectrum, 2)
    found = left_out_distances(spectrum, rows, codes, metric)
    # in coordinates along the axes: two of them have the covariance of the others
    V = np.linalg.svd(X - class_means(X, codes, 3)[codes])[2].T
    last = spectrum.evals[1]

    def levelled(covariance):
        changed = last * np.eye(6)
        changed[:2, :2] = covariance[:2, :2]
        return changed

    wanted = [distances_without(X @ V, codes, 3, i, levelled) for i in range(40)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_a_sample_of_rows_has_the_distances_of_all(rng):
    X, codes = draw_classes(rng, 50, 4, 3)
    spectrum, rows = decompose(X, codes, 3)
    metric = ridge_metric(spectrum, 0.2)
    every = left_out_distances(spectrum, rows, codes, metric)
    some = left_out_distances(spectrum, rows[::3], codes[::3], metric)
    np.testing.assert_allclose(some, every[::3])


def test_a_row_alone_in_its_class_has_the_distance_of_others_to_a_row_of_theirs(rng):
    X, codes = draw_classes(rng, 200, 3, 2, distance=5.0)
    X, codes = np.vstack([X, X.mean(axis=0) + 9.0]), np.append(codes, 2)
    spectrum, rows = decompose(X, codes, 3)
    found = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, 0.001))
    assert np.isfinite(found).all()
    # 2 tr(H S) with H the inverse of S, in three features
    assert found[-1, 2] == pytest.approx(2 * 3, rel=0.1)


def test_calibration_is_a_minimum(rng):
    X, codes = draw_classes(rng, 60, 10, 3, distance=0.5)
    spectrum, rows = decompose(X, codes, 3)
    distances = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, 0.1))
    priors = spectrum.counts / spectrum.counts.sum()
    best = calibrate(distances, codes, priors)

    def log_loss(slope, offsets):
        p = softmax(-0.5 * slope * distances + offsets + np.log(priors), axis=1)
        return -np.mean(np.log(p[np.arange(len(codes)), codes]))

    assert best.log_loss == pytest.approx(log_loss(best.slope, best.offsets))
    for slope in (0.8, 1.25):
        assert log_loss(slope * best.slope, best.offsets) > best.log_loss
    for c in range(3):
        for step in (-0.3, 0.3):
            moved = best.offsets + step * (np.arange(3) == c)
            assert log_loss(best.slope, moved) > best.log_loss


def test_separable_rows_keep_a_finite_slope(rng):
    X, codes = draw_classes(rng, 30, 4, 2, distance=50.0)
    spectrum, rows = decompose(X, codes, 2)
    distances = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, 0.01))
    best = calibrate(distances, codes, np.full(2, 0.5))
    assert best.slope == pytest.approx(1.0)
    assert np.abs(best.offsets).max() < 20
    assert best.error == 0


def test_excluded_classes_have_no_part_in_the_calibration(rng):
    X, codes = draw_classes(rng, 60, 5, 3)
    spectrum, rows = decompose(X, codes, 3)
    distances = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, 0.1))
    best = calibrate(distances, codes, np.array([0.5, 0.0, 0.5]))
    two = codes != 1
    without = calibrate(distances[two][:, [0, 2]], codes[two] // 2, np.full(2, 0.5))
    assert best.slope == pytest.approx(without.slope, rel=1e-4)
    np.testing.assert_allclose(best.offsets[[0, 2]], without.offsets, atol=1e-4)
    assert best.offsets[1] == 0


def test_rows_that_count_twice_are_rows_that_come_twice(rng):
    X, codes = draw_classes(rng, 40, 5, 3)
    spectrum, rows = decompose(X, codes, 3)
    distances = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, 0.1))
    weights = rng.integers(1, 4, 40)
    priors = np.array([0.2, 0.3, 0.5])
    weighted = calibrate(distances, codes, priors, weights.astype(float))
    at = np.repeat(np.arange(40), weights)
    repeated = calibrate(distances[at], codes[at], priors)
    assert weighted.log_loss == pytest.approx(repeated.log_loss, rel=1e-3)
    assert weighted.error == pytest.approx(repeated.error)


def test_the_chosen_ridge_has_the_least_log_loss_of_its_neighbours(rng):
    X, codes = draw_classes(rng, 60, 30, 3, distance=0.3)
    spectrum, rows = decompose(X, codes, 3)
    priors = np.full(3, 1 / 3)
    best = best_ridge(spectrum, rows, codes, priors)
    losses = [
        calibrate(
            left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, alpha)), codes, priors
        ).log_loss
        for alpha in ridges_to_try()
    ]
    assert best.log_loss == pytest.approx(min(losses), rel=1e-4)
    assert best.alpha == pytest.approx(ridges_to_try()[int(np.argmin(losses))])


def test_a_row_of_weight_two_is_left_out_as_the_row_twice(rng):
    X, codes = draw_classes(rng, 30, 8, 3)
    weights = rng.integers(1, 4, 30)
    at = np.repeat(np.arange(30), weights)
    spectrum, rows = decompose(X[at], codes[at], 3)
    metric = ridge_metric(spectrum, 0.1)
    twice = left_out_distances(spectrum, rows, codes[at], metric)
    first = np.unique(at, return_index=True)[1]
    weighted = left_out_distances(spectrum, rows[first], codes, metric, weights.astype(float))
    np.testing.assert_allclose(weighted, twice[first])


def test_without_signal_probabilities_stay_near_the_priors(rng):
    largest = []
    for _ in range(5):
        X, codes = rng.standard_normal((60, 300)), rng.integers(0, 2, 60)
        spectrum, rows = decompose(X, codes, 2)
        best = best_ridge(spectrum, rows, codes, np.full(2, 0.5))
        distances = left_out_distances(spectrum, rows, codes, ridge_metric(spectrum, best.alpha))
        odds = softmax(-0.5 * best.slope * distances + best.offsets, axis=1)
        largest.append(odds.max(axis=1).mean())
    assert np.mean(largest) < 0.65


def test_a_metric_of_ones_is_the_euclidean_distance(rng):
    X, codes = draw_classes(rng, 10, 30, 2)
    spectrum, _ = decompose(X, codes, 2)
    metric = Metric(np.zeros(len(spectrum.evals)), np.ones(len(spectrum.evals)), 1.0)
    products = metric.products(spectrum, metric.precisions(spectrum.evals))
    steps = class_means(X, codes, 2) - X.mean(axis=0)
    np.testing.assert_allclose(products, steps @ steps.T)


@pytest.mark.parametrize("p", [5, 60])
def test_blocks_are_left_out_as_fits_without_them_are(rng, p):
    n, n_classes, alpha, unit = 30, 3, 0.2, 1.3
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, p)) + y[:, None]
    means = np.stack([X[y == c].mean(axis=0) for c in range(n_classes)])
    evals, V = np.linalg.eigh((X - means[y]).T @ (X - means[y]) / (n - n_classes))
    none, counts = np.zeros((n_classes, n_classes)), np.bincount(y).astype(float)
    spectrum = Spectrum(evals.clip(0), (means - X.mean(axis=0)) @ V, none, counts, unit)
    blocks, metric = np.arange(n) % 4, ridge_metric(spectrum, alpha)
    found = distances_without_blocks(spectrum, (X - means[y]) @ V, y, metric, blocks)
    for block in range(4):
        rest = blocks != block
        kept = np.stack([X[rest & (y == c)].mean(axis=0) for c in range(n_classes)])
        Z = X[rest] - kept[y[rest]]
        S = (1 - alpha) * Z.T @ Z / (rest.sum() - n_classes) + alpha * unit * np.eye(p)
        for i in np.flatnonzero(~rest):
            steps = X[i] - kept
            assert_allclose(found[i], np.sum(steps * np.linalg.solve(S, steps.T).T, axis=1))
