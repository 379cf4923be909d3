"""New rows by moments: where their scores lie, and what is expected of the decision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import FisherDiscriminant, merge
from separatrix.decision.by_moments import expect, expect_scores, normal_points
from separatrix.decision.expected import (
    ClassSpreads,
    Spectrum,
    ridge_metric,
    truncated_metric,
)

EQUAL = np.array([0.5, 0.5])


def draw(rng, counts, p, distance=2.0, spreads=None):
    """Normal rows whose features differ in variance; class spreads multiply the deviations."""
    codes = np.repeat(np.arange(len(counts)), counts)
    means = distance / np.sqrt(2 * p) * rng.standard_normal((len(counts), p))
    scale = np.linspace(0.5, 1.5, p)
    widths = np.ones(len(counts)) if spreads is None else np.asarray(spreads)
    Z = rng.standard_normal((len(codes), p)) * scale * widths[codes, None]
    return Z + means[codes], codes, means, scale


def decompose(X, codes, n_classes, full=False, unit=1.0):
    """The spectrum of rows with their class spreads, and the map of rows to its axes."""
    means = np.array([X[codes == c].mean(axis=0) for c in range(n_classes)])
    origin, Z = means.mean(axis=0), X - means[codes]
    _, s, Vt = np.linalg.svd(Z, full_matrices=full)
    if full:
        s = np.append(s, np.zeros(len(Vt) - len(s)))
    else:
        Vt, s = Vt[s > 1e-9 * s[0]], s[s > 1e-9 * s[0]]
    along = (means - origin) @ Vt.T
    rest = means - origin - along @ Vt
    counts = np.bincount(codes, minlength=n_classes).astype(float)
    own = [Z[codes == c] @ Vt.T for c in range(n_classes)]
    scatters = [Y.T @ Y / max(len(Y) - 1, 1) for Y in own]
    spreads = ClassSpreads(
        np.stack([S.diagonal() for S in scatters]),
        lambda A: np.stack([A @ S @ A.T for S in scatters]),
        np.zeros(n_classes),
    )
    evals = s**2 / (len(X) - n_classes)
    return Spectrum(evals, along, rest @ rest.T, counts, unit, spreads=spreads), means, Vt


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("p", [20, 60, 200])
def test_scores_of_new_rows_lie_where_they_are_expected(p, apart):
    """Means and covariances, averaged over 60 draws, beside those that the true ones give."""
    counts, weights = (50, 30, 20), np.array([0.5, 0.3, 0.2])
    errors, sizes = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, codes, mu, scale = draw(rng, counts, p, 4.0, (1.0, 1.5, 0.7) if apart else None)
        spectrum, means, Vt = decompose(X, codes, 3)
        if not apart:
            spectrum = spectrum._replace(spreads=None)
        metric = ridge_metric(spectrum, 0.3)
        found = expect_scores(spectrum, metric, weights)
        g = metric.precisions(spectrum.evals)
        D = means - weights @ means
        along = D @ Vt.T
        DH = (along * g) @ Vt + (D - along @ Vt) / metric.outside
        true_means = (mu - weights @ means) @ DH.T
        widths = np.array((1.0, 1.5, 0.7) if apart else (1.0, 1.0, 1.0))
        pooled = (DH * scale**2) @ DH.T
        true_traces = np.outer(widths**2, np.diagonal(pooled))
        said = np.broadcast_to(found.covariances, (3, 3, 3)).diagonal(axis1=1, axis2=2)
        errors.append([found.means - true_means, said - true_traces])
        sizes.append([np.ptp(true_means), true_traces.mean()])
    bias, size = np.mean(errors, axis=0), np.mean(sizes, axis=0)
    # differences between classes decide; the common centre is free. Classes borrow the pooled
    # covariance, the more the fewer rows they have
    assert np.abs(bias[0] - bias[0].mean(axis=0)).max() < (0.15 if apart else 0.06) * size[0]
    if p < 200 or not apart:
        assert np.abs(bias[1]).max() < (0.45 if apart else 0.3) * size[1]


@pytest.mark.parametrize("make", [ridge_metric, truncated_metric])
@pytest.mark.parametrize("p", [28, 29, 30, 31])
def test_axes_without_variance_may_be_left_out(rng, p, make):
    X, codes, *_ = draw(rng, (16, 14), p)
    one, all_axes = (decompose(X, codes, 2, full=full)[0] for full in (False, True))
    parameter = 0.2 if make is ridge_metric else 5
    found = [expect(s, make(s, parameter), EQUAL) for s in (one, all_axes)]
    assert_allclose(found[0].scores.means, found[1].scores.means, rtol=1e-7)
    assert_allclose(found[0].calibration.log_loss, found[1].calibration.log_loss, rtol=1e-7)


def test_an_average_tail_is_that_of_equal_axes(rng):
    X, codes, *_ = draw(rng, (40, 30), 12)
    spectrum = decompose(X, codes, 2)[0]._replace(spreads=None)
    level, kept = 0.4, 4
    flat = np.r_[spectrum.evals[:kept], np.full(8, level)]
    known = spectrum._replace(evals=flat)
    rest = spectrum.means[:, kept:]
    tail = spectrum._replace(
        evals=flat[:kept], means=spectrum.means[:, :kept], outside=rest @ rest.T,
        tail=level, n_outside=8.0,
    )  # fmt: skip
    found = [expect_scores(s, ridge_metric(s, 0.999), EQUAL) for s in (known, tail)]
    # all axes alike have next to no leverage where the ridge is large
    assert_allclose(found[0].means, found[1].means, rtol=1e-3)
    assert_allclose(found[0].covariances, found[1].covariances, rtol=1e-3)


def test_classes_without_signal_are_judged_by_chance():
    """The expected error of two classes of one distribution, mean of 20 draws."""
    errors = []
    for seed in range(20):
        X, codes, *_ = draw(np.random.default_rng(seed), (40, 40), 200, 0.0)
        spectrum = decompose(X, codes, 2)[0]
        errors.append(expect(spectrum, ridge_metric(spectrum, 0.3), EQUAL).calibration.error)
    assert np.mean(errors) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_order_of_classes_does_not_matter(rng, n_classes):
    counts = np.array([30, 9, 14, 20])[:n_classes]
    X, codes, *_ = draw(rng, counts, 25)
    order = np.r_[1:n_classes, 0]
    priors = np.arange(1.0, n_classes + 1) / np.sum(np.arange(1.0, n_classes + 1))
    first = decompose(X, codes, n_classes)[0]
    second = decompose(X, np.argsort(order)[codes], n_classes)[0]
    found = expect(first, ridge_metric(first, 0.1), priors).calibration
    turned = expect(second, ridge_metric(second, 0.1), priors[order]).calibration
    assert_allclose(turned.offsets, found.offsets[order], atol=1e-4)
    assert_allclose(turned.log_loss, found.log_loss, rtol=1e-5)


def test_more_classes_than_are_judged_have_a_slope(monkeypatch, rng):
    X, codes, *_ = draw(rng, (6,) * 12, 8, 5.0)
    monkeypatch.setattr("separatrix.decision.by_moments.MAX_JUDGED_CLASSES", 5)
    model = FisherDiscriminant(shrinkage="moments").fit(X, codes)
    assert 0 < model.expected_.slope <= 1
    assert not model.expected_.offsets.any()
    assert model.score(X, codes) > 0.6


def test_points_have_the_moments_of_a_normal_distribution():
    points = normal_points(3, 256)
    assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(points.T @ points / len(points), np.eye(3), atol=0.05)


# The estimator --------------------------------------------------------------------------------


def draw_rows(n, p, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(n_classes), 3), rng.integers(0, n_classes, n)][:n]
    return rng.standard_normal((n, p)) + rng.standard_normal((n_classes, p))[y], y


@pytest.mark.parametrize("p", [6, 80])
def test_merged_and_streamed_models_are_those_of_all_rows(p):
    X, y = draw_rows(60, p)
    whole = FisherDiscriminant(shrinkage="moments").fit(X, y)
    parts = [FisherDiscriminant(shrinkage="moments").fit(X[i::3], y[i::3]) for i in range(3)]
    stream = FisherDiscriminant(shrinkage="auto").partial_fit(X[:20], y[:20], classes=range(3))
    stream.partial_fit(X[20:], y[20:])
    for model in (merge(parts), stream):
        assert model.left_out_ is None
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_rows_given_twice_are_weights_of_two():
    X, y = draw_rows(40, 10)
    twice = FisherDiscriminant(shrinkage="moments").fit(np.vstack([X, X]), np.r_[y, y])
    weighted = FisherDiscriminant(shrinkage="moments").fit(X, y, np.full(40, 2.0))
    assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


def error_of_calibration(P, y):
    """Expected calibration error of the most probable class in ten bins."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((10 * sure).astype(int), 9)
    return sum(abs(sure[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(y)


REGIMES = {
    "few features": (200, 10, (0.5, 0.5), 1.5, "normal"),
    "five classes": (150, 150, (0.2,) * 5, 4.0, "normal"),
    "wide": (60, 1200, (0.5, 0.5), 6.0, "normal"),
    "heavy tails": (100, 200, (0.5, 0.5), 3.0, "t"),
    "correlated": (150, 150, (0.5, 0.5), 1.0, "ar"),
    "a rare class": (150, 300, (0.85, 0.15), 4.0, "normal"),
    "no signal": (100, 500, (0.5, 0.5), 0.0, "normal"),
    "no signal, five classes": (100, 500, (0.2,) * 5, 0.0, "normal"),
}


@pytest.mark.parametrize("shrinkage", ["moments", "auto"])
@pytest.mark.parametrize("name", REGIMES)
def test_the_promise_holds_on_new_rows(name, shrinkage):
    """Means of 20 draws. The standard error of the mean difference is .005 to .008."""
    n, p, shares, distance, kind = REGIMES[name]
    n_classes, records = len(shares), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        means = distance / np.sqrt(2 * p) * rng.standard_normal((n_classes, p))
        y = rng.choice(n_classes, n + 500, p=shares)
        y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
        noise = rng.standard_t(5, (len(y), p)) if kind == "t" else rng.standard_normal((len(y), p))
        if kind == "ar":
            gaps = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
            noise = noise @ np.linalg.cholesky(0.8**gaps).T
        X = noise + means[y]
        model = FisherDiscriminant(shrinkage=shrinkage).fit(X[:n], y[:n])
        P, y_new = model.predict_proba(X[n:]), y[n:]
        right = [np.mean(P[y_new == c].argmax(axis=1) == c) for c in range(n_classes)]
        accuracy = float(model.priors_ @ right)
        said = model.left_out_ or model.expected_
        records.append(
            [1 - said.error - accuracy, error_of_calibration(P, y_new), P.max(1).mean()]
        )
    difference, calibration, largest = np.mean(records, axis=0)
    # the choice of a ridge by rows left out is a little in favour of itself
    allowed = 0.02 if shrinkage == "moments" else 0.035
    assert abs(difference) < allowed
    assert calibration < 0.08  # of 500 new rows, by chance alone, about .03
    if name.startswith("no signal"):
        assert largest < 0.8


def test_many_classes_are_judged_without_a_warning(rng):
    """Of more than eleven classes fewer points stand for new rows: as many as are even."""
    y = np.arange(60) % 15
    X = 3 * rng.standard_normal((15, 20))[y] + rng.standard_normal((60, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FisherDiscriminant(shrinkage="moments").fit(X, y).score(X, y) > 0.9
