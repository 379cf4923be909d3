"""The public law, kept by all models of moments and broken by others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import FisherDiscriminant, KernelFisherDiscriminant, OnlineIPCAC, TruncatedIPCAC
from separatrix.base.batches import MomentEstimator
from separatrix.kernels import RBF
from separatrix.testing import LAWS, OF_PIPELINES, check_mergeable
from tests.discovery import with_settled_dimension


def moment_models():
    found = [getattr(separatrix, name) for name in separatrix.__all__]
    kinds = [k for k in found if isinstance(k, type) and issubclass(k, MomentEstimator)]
    assert len(kinds) >= 6
    found = [with_settled_dimension(kind()) for kind in kinds]
    for model in found:  # rows that are left out are gone when models are merged
        if type(model) is FisherDiscriminant:
            model.set_params(shrinkage="moments")
    return found


@pytest.mark.parametrize(
    "model",
    [
        *moment_models(),
        FisherDiscriminant(shrinkage="nonlinear"),
        FisherDiscriminant(rule="quadratic", shrinkage=0.1),
        FisherDiscriminant(1, shrinkage=0.3, priors=[0.2, 0.3, 0.5]),
        separatrix.QuadraticDiscriminant(0.5, shrinkage=0.1),
        separatrix.QuadraticDiscriminant(diagonal=True),
        separatrix.ClassEraser(),
        TruncatedIPCAC(2),
        OnlineIPCAC(keep_moments="by class"),
        KernelFisherDiscriminant(n_landmarks=np.eye(5) * 3, kernel=RBF(0.05), ridge=0.1),
    ],
    ids=str,
)
def test_models_of_moments_keep_every_law(model):
    if getattr(model, "priors", None) is not None:
        with pytest.raises(AssertionError, match="a class that comes later"):
            check_mergeable(model)  # two classes have no three priors
        return
    assert check_mergeable(model) == list(LAWS)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "last", [FisherDiscriminant(shrinkage="moments"), separatrix.ClassEraser()], ids=str
)
def test_pipelines_keep_theirs(last, seed):
    model = make_pipeline(StandardScaler(), last)
    assert check_mergeable(model, random_state=seed) == list(OF_PIPELINES)


class Forgetful(FisherDiscriminant):
    def forget(self, X, y, sample_weight=None):
        return self


class Careless(FisherDiscriminant):
    def _add_summaries(self, parts):
        return super()._add_summaries(parts[:1])


class Offset(FisherDiscriminant):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(np.asarray(X) + 1e-6, y, classes, sample_weight)


@pytest.mark.parametrize(
    ("model", "law"),
    [
        (Careless(shrinkage=None), "merging parts is fitting all rows"),
        (Forgetful(shrinkage=None), "rows that are forgotten were never seen"),
        (Offset(shrinkage=None), "a stream of batches is a batch"),
        (separatrix.LDG(gamma=0.5), "merging parts is fitting all rows: TypeError"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_laws_that_are_broken_are_named(model, law):
    with pytest.raises(AssertionError, match=law):
        check_mergeable(model)
