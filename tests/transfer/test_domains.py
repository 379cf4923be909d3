"""Domains apart: standardised, and with covariances that agree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import fractional_matrix_power
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import DomainScaler, FisherDiscriminant, load, save
from tests.ldg.test_transfer import two_domains


@parametrize_with_checks([DomainScaler(), DomainScaler(align="covariances")])
def test_scikit_learn_agrees_with_the_scaler(estimator, check):
    check(estimator)


def test_every_domain_has_mean_zero_and_variance_one():
    X, _, domain = two_domains()
    domain = np.where(np.arange(len(X)) % 5 == 0, 2, domain)
    Z = DomainScaler().fit_transform(1e6 + 1e3 * X, sample_domain=domain)
    for d in (-1, 1, 2):
        assert_allclose(Z[domain == d].mean(axis=0), 0, atol=1e-9)
        assert_allclose(Z[domain == d].std(axis=0), 1, atol=1e-9)


def test_new_rows_are_of_the_target_unless_said():
    X, _, domain = two_domains()
    scaler = DomainScaler().fit(X, sample_domain=domain)
    target = X[domain < 0]
    expected = (X - target.mean(axis=0)) / target.std(axis=0)
    assert_allclose(scaler.transform(X), expected)
    assert_allclose(scaler.transform(X, sample_domain=np.full(len(X), -1)), expected)
    with pytest.raises(ValueError, match=r"not seen: \[7\]"):
        scaler.transform(X, sample_domain=np.full(len(X), 7))
    several = DomainScaler().fit(X, sample_domain=np.where(domain < 0, 2, 1))
    with pytest.raises(ValueError, match="sample_domain is needed"):
        several.transform(X)


def test_what_is_constant_in_one_domain_counts_in_none():
    X, _, domain = two_domains()
    X[domain < 0, 2] = 0.1
    scaler = DomainScaler().fit(X, sample_domain=domain)
    assert_array_equal(scaler.kept_, np.arange(6) != 2)
    assert_allclose(scaler.transform(X + 1)[:, 2], 0)


def test_a_domain_of_one_row_takes_the_scale_of_the_others_and_says_so():
    X, _, domain = two_domains()
    one = np.flatnonzero(domain < 0)[:1]
    rows = np.concatenate([np.flatnonzero(domain > 0), one])
    with pytest.warns(UserWarning, match="domain -1 has only one row"):
        scaler = DomainScaler().fit(X[rows], sample_domain=domain[rows])
    assert scaler.kept_.all()
    source = X[domain > 0]
    assert_allclose(scaler.transform(X[:5]), (X[:5] - X[one]) / source.std(axis=0))
    with pytest.warns(UserWarning, match="keeps no feature"):
        assert not DomainScaler().fit(X[:2], sample_domain=[1, -1]).kept_.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_variation_about_a_large_mean_is_kept_and_a_constant_is_not(dtype):
    rng = np.random.default_rng(0)
    X = (1000 + rng.standard_normal((20000, 3))).astype(dtype)
    X[:, 1] = 0.1
    scaler = DomainScaler().fit(X)
    assert_array_equal(scaler.kept_, [True, False, True])
    assert_allclose(scaler.transform(X)[:, [0, 2]].std(axis=0), 1, atol=1e-3)
    assert_array_equal(scaler.transform(X)[:, 1], 0)


# Covariances -----------------------------------------------------------------------------------


def unlike_domains(n_source=80, n_target=60, d=5, seed=0):
    """Two clouds of unlike shape."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_source + n_target, d))
    domain = np.where(np.arange(len(X)) < n_source, 1, -1)
    for sign in (1, -1):
        X[domain == sign] = 3 + X[domain == sign] @ rng.standard_normal((d, d))
    return X, domain


def standard(Z):
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def test_the_source_has_the_covariance_of_the_target():
    X, domain = unlike_domains()
    scaler = DomainScaler(align="covariances", ridge=1e-9)
    Z = scaler.fit_transform(X, sample_domain=domain)
    source, target = Z[domain > 0], Z[domain < 0]

    assert_allclose(source.T @ source / 80, target.T @ target / 60, atol=1e-6)
    assert_allclose(target, standard(X[domain < 0]))


@pytest.mark.parametrize("shape", [(80, 60, 5), (12, 9, 40)], ids=["tall", "wide"])
def test_it_is_the_formula(shape):
    X, domain = unlike_domains(*shape)
    Z = DomainScaler(align="covariances", ridge=0.3).fit_transform(X, sample_domain=domain)
    source, target = standard(X[domain > 0]), standard(X[domain < 0])
    C_s, C_t = (A.T @ A / len(A) + 0.3 * np.eye(A.shape[1]) for A in (source, target))
    expected = source @ fractional_matrix_power(C_s, -0.5) @ fractional_matrix_power(C_t, 0.5)
    assert_allclose(Z[domain > 0], expected, atol=1e-9)
    assert_allclose(Z[domain < 0], target)


def test_a_large_ridge_leaves_the_covariances():
    X, domain = unlike_domains()
    much = DomainScaler(align="covariances", ridge=1e9).fit_transform(X, sample_domain=domain)
    assert_allclose(much, DomainScaler().fit_transform(X, sample_domain=domain), atol=1e-6)


def test_every_source_goes_to_the_one_target():
    X, domain = unlike_domains()
    domain[:40] = 2
    scaler = DomainScaler(align="covariances", ridge=1e-9).fit(X, sample_domain=domain)
    Z = scaler.transform(X, sample_domain=domain)
    expected = standard(X[domain < 0])
    for name in (1, 2):
        part = Z[domain == name]
        assert_allclose(part.T @ part / 40, expected.T @ expected / 60, atol=1e-5)
    assert_allclose(scaler.transform(X[domain < 0]), expected)


def test_two_targets_are_an_error_and_one_domain_is_standardised():
    X, domain = unlike_domains()
    scaler = DomainScaler(align="covariances")
    with pytest.raises(ValueError, match="must have one negative number, got the domains"):
        scaler.fit(X, sample_domain=np.where(np.arange(len(X)) < 20, -2, domain))
    with pytest.raises(ValueError, match="must have one negative number"):
        scaler.fit(X, sample_domain=np.abs(domain) + np.arange(len(X)) % 2)
    assert_allclose(scaler.fit_transform(X), standard(X))
    with pytest.raises(ValueError, match="align='means' is not valid"):
        DomainScaler(align="means").fit(X)


def test_a_saved_scaler_transforms_as_before(tmp_path):
    X, domain = unlike_domains()
    scaler = DomainScaler(align="covariances").fit(X, sample_domain=domain)
    save(scaler, tmp_path / "scaler")
    got = load(tmp_path / "scaler").transform(X, sample_domain=domain)
    assert_array_equal(got, scaler.transform(X, sample_domain=domain))


def test_labels_of_a_source_carry_over_to_a_target_of_another_shape():
    # the classes differ along one direction of the hidden rows, which the domains mix unlike
    rng = np.random.default_rng(0)
    y = np.arange(800) % 2
    hidden = rng.standard_normal((800, 4)) * [0.3, 1, 1, 1] + np.outer(2 * y - 1, [1, 0, 0, 0])
    domain = np.where(np.arange(800) < 400, 1, -1)
    roots = [np.eye(4), fractional_matrix_power(0.9 * np.ones((4, 4)) + 0.1 * np.eye(4), 0.5)]
    X = np.where((domain > 0)[:, None], hidden @ roots[0], hidden @ roots[1])
    right = {}
    for align in ("variances", "covariances"):
        scaler = DomainScaler(align=align, ridge=0.01).fit(X, sample_domain=domain)
        source = scaler.transform(X[domain > 0], sample_domain=domain[domain > 0])
        model = FisherDiscriminant(shrinkage=None).fit(source, y[domain > 0])
        right[align] = model.score(scaler.transform(X[domain < 0]), y[domain < 0])
    assert right["covariances"] > right["variances"] + 0.1
    assert right["covariances"] > 0.9
