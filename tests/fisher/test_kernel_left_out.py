"""Rows left out of a kernel method: as fits without each, by one matrix of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import ClassMoments, KernelFisherDiscriminant, KernelIPCAC
from separatrix.base.feature_space import compute_centred_gram
from separatrix.decision.expected import Spectrum, left_out_distances, truncated_metric
from separatrix.fisher.kernel_left_out import (
    Smoothing,
    centre_classes,
    distances_of,
    map_by_left_out,
    whiten_by_axes,
    whiten_by_ridge,
)
from separatrix.kernels import RBF, Linear, settle_kernel
from separatrix.moments.labelled import LabelledRows

GAMMA, RIDGE = 0.2, 0.3


def draw(n_rows=30, n_features=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.repeat(np.arange(n_classes), 2), rng.integers(0, n_classes, n_rows)][:n_rows]
    means = rng.standard_normal((n_classes, n_features))
    X = rng.standard_normal((n_rows, n_features)) + means[codes]
    return LabelledRows(X, codes, np.arange(n_classes))


def feature_rows(X):
    """Rows whose inner products are the kernel values."""
    evals, V = np.linalg.eigh(rbf_kernel(X, gamma=GAMMA))
    return V * np.sqrt(evals.clip(0))


def class_means(Z, codes):
    return np.array([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])


def centred_rows(rows, kernel=None):
    gram = compute_centred_gram(rows.X, settle_kernel(rows.X, kernel or RBF(GAMMA)), rows.weights)
    return gram, centre_classes(gram, rows)


def distances_without(Z, codes, i, ridge):
    """Of row i to the class means of all others, by their ``(Sw + ρ I) / (n - 1 - C)``."""
    others = np.arange(len(Z)) != i
    means = class_means(Z[others], codes[others])
    steps, rest = Z[i] - means, Z[others] - means[codes[others]]
    S = (rest.T @ rest + ridge * np.eye(Z.shape[1])) / (others.sum() - len(means))
    return np.einsum("ci,ij,cj->c", steps, np.linalg.inv(S), steps)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_distances_are_those_of_fits_without_each_row(n_classes):
    rows = draw(n_classes=n_classes)
    Z = feature_rows(rows.X)
    wanted = [distances_without(Z, rows.codes, i, RIDGE) for i in range(len(Z))]
    _, centred = centred_rows(rows)
    _, products = whiten_by_ridge(centred, rows.codes, RIDGE, len(Z))
    assert_allclose(distances_of(products, centred, rows), wanted, rtol=1e-9)


def test_the_last_rows_alone_have_the_same_distances():
    rows = draw()
    _, centred = centred_rows(rows)
    wanted = distances_of(whiten_by_ridge(centred, rows.codes, RIDGE, 30)[1], centred, rows)
    _, centred = centred_rows(rows)
    found = distances_of(whiten_by_ridge(centred, rows.codes, RIDGE, 7)[1], centred, rows)
    assert_allclose(found, wanted[-7:], rtol=1e-9)


@pytest.mark.parametrize("n_axes", [1, 5, 12])
def test_axes_are_a_cut_spectrum(n_axes):
    rows = draw()
    _, centred = centred_rows(rows)
    evals, U = np.linalg.eigh(centred.matrix)
    evals, U = evals[::-1][:27], U[:, ::-1][:, :27]
    means = (U.T @ centred.to_means / np.sqrt(evals)[:, None]).T
    outside = centred.means - means @ means.T
    spectrum = Spectrum(evals / 27, means, outside, centred.counts, 1.0)
    metric = truncated_metric(spectrum, n_axes)
    # the other axes are measured by the last one, in the same unit
    metric = metric._replace(floor=metric.floor * 27 / 26, outside=metric.outside * 27 / 26)
    wanted = left_out_distances(spectrum, U * np.sqrt(evals), rows.codes, metric)
    _, products, used = whiten_by_axes(centred, rows.codes, n_axes, slice(None))
    assert used == n_axes
    assert_allclose(distances_of(products, centred, rows), wanted, rtol=1e-8)


def test_whitened_means_are_the_solution_in_feature_space():
    rows = draw()
    mapped = map_by_left_out(rows, [settle_kernel(rows.X, RBF(GAMMA))], Smoothing(RIDGE), None)
    Z = feature_rows(rows.X)
    means = class_means(Z, rows.codes)
    rest = Z - means[rows.codes]
    Sw = rest.T @ rest + mapped.found["ridge_"] * np.eye(len(Z))
    # inner products by the inverse in the few coordinates are those in all of them
    few = class_means(mapped.rows.X, rows.codes)
    products = few @ np.linalg.solve(mapped.found["_within"], few.T)
    steps = means - Z.mean(axis=0)
    assert_allclose(products, steps @ np.linalg.solve(Sw, steps.T), rtol=1e-9)
    assert_allclose(mapped.map.project(rows.X), mapped.rows.X, atol=1e-10)


def test_more_rows_than_are_decomposed_give_the_ridge_of_fits_without_each():
    rows = draw(n_rows=1100, n_features=2)
    model = KernelFisherDiscriminant(kernel=RBF(GAMMA), ridge=0.1).fit(rows.X, rows.codes)
    shuffled = np.random.default_rng(1).permutation(1100)
    other = KernelFisherDiscriminant(kernel="precomputed", ridge=0.1)
    K = rbf_kernel(rows.X[shuffled], gamma=GAMMA)
    other.fit(K, rows.codes[shuffled])
    new = draw(n_rows=50, n_features=2, seed=5).X
    scores = other.transform(rbf_kernel(new, rows.X[shuffled], gamma=GAMMA))
    assert_allclose(np.abs(scores), np.abs(model.transform(new)), rtol=1e-6)
    # another draw of the rows that are left out
    assert abs(model.left_out_.log_loss - other.left_out_.log_loss) < 0.05


@pytest.mark.parametrize("make", [KernelFisherDiscriminant, KernelIPCAC])
def test_order_of_rows_and_names_of_classes_do_not_matter(make):
    rows = draw(n_rows=60)
    model = make().fit(rows.X, rows.codes)
    order, names = np.random.default_rng(0).permutation(60), np.array([2, 0, 1])
    other = make().fit(rows.X[order], names[rows.codes[order]])
    new = draw(n_rows=20, seed=1).X
    assert model.kernel_.gamma == pytest.approx(other.kernel_.gamma)
    assert_allclose(other.predict_proba(new)[:, names], model.predict_proba(new), atol=1e-6)


def test_the_linear_kernel_leaves_out_as_the_linear_method():
    rows = draw(n_rows=40, n_features=5)
    moments = ClassMoments.from_data(rows.X, rows.codes)
    ridge = 2.0
    wanted = [distances_without(rows.X, rows.codes, i, ridge) for i in range(40)]
    _, centred = centred_rows(rows, Linear())
    _, products = whiten_by_ridge(centred, rows.codes, ridge, 40)
    assert_allclose(distances_of(products, centred, rows), wanted, rtol=1e-8)
    model = KernelFisherDiscriminant(kernel="linear", ridge=0.1).fit(rows.X, rows.codes)
    Sw = moments.Sw + model.ridge_ * np.eye(5)
    means = moments.means - moments.mean
    scores = (rows.X - moments.mean) @ np.linalg.solve(Sw, means.T)
    scores -= 0.5 * np.sum(means * np.linalg.solve(Sw, means.T).T, axis=1)
    found = model.decision_function(rows.X) - np.log(model.priors_) - model.left_out_.offsets
    scores *= model.left_out_.slope * (40 - 3)
    assert_allclose(np.diff(found), np.diff(scores), rtol=1e-6, atol=1e-9)


def test_probabilities_are_those_of_new_rows():
    """Narrow kernels and a rare class: expected calibration error of 20 draws, 2000 new rows."""
    errors, losses, base = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], [80, 20])
        y_new = np.repeat([0, 1], [1600, 400])
        draw_rows = lambda y: rng.standard_normal((len(y), 6)) * np.where(y, 1.6, 0.9)[:, None]  # noqa: E731, B023
        X, X_new = draw_rows(y), draw_rows(y_new)
        p = KernelFisherDiscriminant().fit(X, y).predict_proba(X_new)[:, 1]
        bins = np.minimum((10 * p).astype(int), 9)
        errors.append([p[bins == b].sum() - y_new[bins == b].sum() for b in range(10)])
        losses.append(-np.mean(np.log(np.where(y_new, p, 1 - p))))
        base.append(-0.8 * np.log(0.8) - 0.2 * np.log(0.2))
    # over draws, so that what differs by the luck of 100 rows cancels: ± 0.01
    assert np.abs(np.mean(errors, axis=0)).sum() / 2000 < 0.05
    assert np.mean(losses) < 0.85 * np.mean(base)


def test_without_signal_no_probability_is_large():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 50)), np.arange(100) % 2
    p = KernelFisherDiscriminant().fit(X, y).predict_proba(rng.standard_normal((500, 50)))
    assert p.max(axis=1).mean() < 0.6
