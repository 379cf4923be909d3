"""Kernel Fisher is Fisher in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import laplacian_kernel

from separatrix import (
    ClassMoments,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
)
from separatrix.base.feature_space import compute_centred_gram
from separatrix.fisher.kernel import (
    mean_contrasts,
    ridge_span,
)
from separatrix.kernels import settle_kernel
from tests.base.kernel_data import PAIR, assert_same_model, every_data, new_rows


@every_data
def test_linear_kernel_fisher_is_fisher(X, y):
    ours = KernelFisherDiscriminant(kernel="linear", ridge=0).fit(X, y)
    assert_same_model(ours, FisherDiscriminant().fit(X, y), X)


@every_data
def test_linear_kernel_fisher_with_a_ridge_is_shrunken_fisher(X, y):
    priors = np.full(len(set(y)), 1 / len(set(y)))
    # in units of the deviations within classes the diagonal of Sw is a sphere
    X = X / np.sqrt(ClassMoments.from_data(X, y).within_diagonal())
    fisher = FisherDiscriminant(shrinkage=0.3, priors=priors).fit(X, y)
    Sw, total = fisher.moments_.Sw, np.trace(fisher.moments_.St)
    # (1 - α) Sw + α tr(Sw)/d I is Sw + ρ I, up to a factor that changes lengths only
    rho = 0.3 * np.trace(Sw) / X.shape[1] / 0.7
    ridge = rho * len(X) / total
    ours = KernelFisherDiscriminant(kernel="linear", ridge=ridge, priors=priors).fit(X, y)
    assert_allclose(ours.ridge_, rho)
    new = new_rows(X)
    ratio = ours.transform(new) / fisher.transform(new)
    assert_allclose(np.abs(ratio), np.sqrt(0.7), rtol=1e-6)
    assert_array_equal(ours.predict(new), fisher.predict(new))


def full_map(gram, H, ridge):
    return gram.empirical_map()


@every_data
@pytest.mark.parametrize("kernel", ["rbf", "poly", laplacian_kernel])
@pytest.mark.parametrize("make", [KernelFisherDiscriminant, KernelIPCAC], ids=["fisher", "ipcac"])
def test_the_span_of_the_means_holds_the_solution(X, y, kernel, make, monkeypatch):
    quick = make(kernel=kernel).fit(X, y)
    monkeypatch.setattr("separatrix.fisher.kernel.ridge_span", full_map)
    assert_same_model(make(kernel=kernel).fit(X, y), quick, X, atol=1e-8)


def test_a_kernel_matrix_of_full_rank_needs_neither_ridge_nor_eigenvalues():
    X, y = PAIR
    gram = compute_centred_gram(X, settle_kernel(X, laplacian_kernel))
    H = mean_contrasts(y, 2)
    to_span, rows = ridge_span(gram, H, 0.0)
    expected = np.linalg.pinv(gram.matrix, hermitian=True) @ H
    ratio = to_span.basis / expected
    assert_allclose(ratio, ratio[0, 0], rtol=1e-8)
    assert_allclose(gram.matrix @ to_span.basis, rows, atol=1e-10)
