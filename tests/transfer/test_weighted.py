"""Rows of the target count for more, and those without a label get one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LDG, FisherDiscriminant, TargetWeighted, load, save
from tests.discovery import labelled


def two_domains(n_source=120, n_target=12, d=6, seed=0):
    """The same classes twice; two features mean something else in the target."""
    X, y = labelled(n_source + n_target, d, seed=seed)
    domain = np.where(np.arange(len(X)) < n_source, 1, -1)
    X[domain < 0, :2] *= -1
    return X, y, domain


def test_a_weight_is_that_many_rows():
    X, y, domain = two_domains()
    model = TargetWeighted(FisherDiscriminant(shrinkage=None), weight=3).fit(
        X, y, sample_domain=domain
    )
    repeated = np.repeat(np.arange(len(X)), np.where(domain < 0, 3, 1))
    expected = FisherDiscriminant(shrinkage=None).fit(X[repeated], y[repeated])
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert model.weight_ == 3


def test_without_a_target_it_is_the_estimator():
    X, y, _ = two_domains()
    expected = FisherDiscriminant(shrinkage=None).fit(X, y).predict_proba(X)
    for domain in (None, np.ones(len(X))):
        model = TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(X, y, sample_domain=domain)
        assert_allclose(model.predict_proba(X), expected, atol=1e-12)
        assert model.weight_ == 1


def test_domains_that_agree_have_about_equal_weights_and_others_have_not():
    X, y, domain = two_domains()
    apart = TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(X, y, sample_domain=domain)
    X[domain < 0, :2] *= -1
    alike = TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(X, y, sample_domain=domain)
    assert alike.weight_ < 4 < 10 < apart.weight_


def test_few_rows_of_the_target_help():
    gains = []
    for seed in range(10):
        X, y, domain = two_domains(300, 200, seed=seed)
        few = np.flatnonzero((domain > 0) | (np.arange(len(X)) < 309))
        rest = np.setdiff1d(np.arange(len(X)), few)
        fit = {"X": X[few], "y": y[few], "sample_domain": domain[few]}
        weighted, alike = (
            TargetWeighted(FisherDiscriminant(shrinkage=None), weight=w)
            .fit(**fit)
            .score(X[rest], y[rest])
            for w in ("auto", 1.0)
        )
        gains.append(weighted - alike)
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(10)
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize("missing", [None, -1, np.nan])
def test_rows_without_a_label_get_that_of_the_model(missing):
    X, y, domain = two_domains(120, 40)
    unknown = np.flatnonzero((domain < 0) & (np.arange(len(X)) >= 132))
    labels = y.astype(object if missing is None else float)
    labels[unknown] = missing
    model = TargetWeighted(FisherDiscriminant(shrinkage=None), weight=5).fit(
        X, labels, sample_domain=domain
    )
    weights, known = np.where(domain < 0, 5.0, 1.0), np.setdiff1d(np.arange(len(X)), unknown)
    expected = FisherDiscriminant(shrinkage=None).fit(
        X[known], y[known], sample_weight=weights[known]
    )
    weights[unknown] = 1
    for _ in range(2):
        guessed = y.copy()
        guessed[unknown] = expected.predict(X[unknown])
        expected = FisherDiscriminant(shrinkage=None).fit(X, guessed, sample_weight=weights)
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-9)


def test_a_target_without_any_label_is_left_out_with_a_warning():
    X, y, domain = two_domains()
    labels = np.where(domain < 0, -1, y)
    with pytest.warns(UserWarning, match="no labelled row of the target"):
        model = TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(
            X, labels, sample_domain=domain
        )
    source = domain > 0
    assert_allclose(
        model.predict(X), FisherDiscriminant(shrinkage=None).fit(X[source], y[source]).predict(X)
    )


def test_subspaces_and_pipelines_are_weighted_too():
    X, y, domain = two_domains()
    reducer = TargetWeighted(LDG(2, gamma=0.5), weight=4).fit(X, y, sample_domain=domain)
    assert reducer.transform(X).shape == (len(X), 2)
    assert not hasattr(reducer, "predict")
    pipeline = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None))
    model = TargetWeighted(pipeline, weight=4).fit(X, y, sample_domain=domain)
    assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_an_estimator_without_weights_is_refused():
    X, y, domain = two_domains()
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        TargetWeighted(KNeighborsClassifier()).fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="row 0 of the source has no label"):
        TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(
            X, np.full(len(X), np.nan), sample_domain=domain
        )


def test_a_file_gives_the_model_back(tmp_path):
    X, y, domain = two_domains()
    model = TargetWeighted(FisherDiscriminant(shrinkage=None)).fit(X, y, sample_domain=domain)
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
