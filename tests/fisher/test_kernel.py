"""Kernel Fisher is Fisher in feature space."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from separatrix import (
    ClassMoments,
    FisherDiscriminant,
    KernelFisherDiscriminant,
)
from tests.base.kernel_data import assert_same_model, every_data, new_rows


@every_data
def test_linear_kernel_fisher_is_fisher(X, y):
    ours = KernelFisherDiscriminant(kernel="linear", ridge=0).fit(X, y)
    assert_same_model(ours, FisherDiscriminant(shrinkage=None).fit(X, y), X)


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
