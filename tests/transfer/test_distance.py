"""How far domains are apart, and the weight that follows from it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from separatrix.transfer.distance import DomainDistance, measure_domains


def domains(n_source, n_target, d, tau, seed, n_classes=4):
    """Classes of deviation 1, whose means differ by tau between the domains."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_source + n_target) % n_classes
    source = np.arange(len(codes)) < n_source
    means = rng.standard_normal((n_classes, d))
    shifts = tau * rng.standard_normal((n_classes, d))
    X = rng.standard_normal((len(codes), d)) + means[codes]
    X[~source] += shifts[codes[~source]]
    return X, codes, source


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_the_distance_is_the_variance_between_domains(tau):
    # in units of the deviation: means are scattered with variance 1 beside that within of 1
    found = [measure_domains(*domains(400, 8, 100, tau, seed)).relative for seed in range(40)]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - tau**2) < 4 * error + 0.02 * tau**2


def test_domains_that_agree_are_hardly_apart():
    found = [measure_domains(*domains(400, 8, 100, 0.0, seed)).relative for seed in range(40)]
    assert np.mean(found) < 0.05  # two rows alone put a class mean off by 0.5
    assert min(found) == 0


def test_the_weight_has_the_least_expected_error_of_class_means():
    n, m, relative = 30, 2, 0.2
    weight = DomainDistance(relative, n).weight
    w = np.linspace(0.1, 40, 400)
    share = m * w / (m * w + n)
    error = (1 - share) ** 2 * (1 / n + relative) + share**2 / m
    assert abs(w[error.argmin()] - weight) < 0.2


def test_units_and_sparsity_change_nothing():
    X, codes, source = domains(60, 8, 5, 1.0, 0)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = measure_domains(X, codes, source).relative
    scaled = measure_domains(X * np.array([1e-3, 1, 10, 1e4, 1]), codes, source).relative
    assert_allclose(scaled, expected, rtol=1e-9)
    assert_allclose(measure_domains(sp.csr_array(X), codes, source).relative, expected, rtol=1e-9)
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    assert_allclose(measure_domains(constant, codes, source).relative, expected, rtol=1e-9)


def test_single_rows_and_points_have_an_answer():
    X, codes, source = domains(60, 4, 5, 1.0, 0)
    assert 0 <= measure_domains(X, codes, source).weight <= 16
    assert measure_domains(np.round(codes[:, None] * 1.0), codes, source).relative == 0
