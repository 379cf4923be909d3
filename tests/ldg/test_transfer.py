"""Transfer LDG: means and priors of the source, weights of both domains, what is chosen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from separatrix import LDG, DomainScaler, TransferLDG
from tests.discovery import labelled

FIXED = {"gamma": 0.7, "n_neighbors": 3}


def two_domains(n_source=90, n_target=12, d=6, seed=0):
    """The same classes twice, the target shifted and with one feature turned round."""
    rng = np.random.default_rng(seed)
    X, y = labelled(n_source + n_target, d, seed=seed)
    domain = np.where(np.arange(len(X)) < n_source, 1, -1)
    order = rng.permutation(len(X))
    X = np.where((domain < 0)[:, None], X @ np.diag([-1.0, *np.ones(d - 1)]) + 0.5, X)
    return X[order], y[order], domain[order]


def by_the_book(X, y, domain, k, gamma, alpha, local=True):
    """(1 - α) (V_T - γ A_T) + α (V_S - γ A_S), one row after the other."""
    source = np.flatnonzero(domain > 0)
    classes = np.unique(y)
    p = [np.mean(y[source] == c) for c in classes]
    Z = np.zeros((X.shape[1],) * 2)
    for i, x in enumerate(X):
        weight = alpha if domain[i] > 0 else 1 - alpha
        for j, c in enumerate(classes):
            members = source[(y[source] == c) & ((source != i) if local else True)]
            if local:
                distances = np.sum((X[members] - x) ** 2, axis=1)
                members = members[np.argsort(distances)[:k]]
            delta = x - X[members].mean(axis=0)
            Z += weight * ((c == y[i]) - gamma * p[j]) * np.outer(delta, delta)
    return Z


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("shape", [(90, 12, 6), (20, 6, 60)], ids=["tall", "wide"])
def test_the_directions_are_the_smallest_eigenvectors_of_the_weighted_sum(shape, alpha, local):
    X, y, domain = two_domains(*shape)
    Z = by_the_book(X, y, domain, 3, 0.7, alpha, local)
    model = TransferLDG(3, alpha=alpha, local=local, **FIXED).fit(X, y, sample_domain=domain)
    W = model.components_
    assert_allclose(W @ W.T, np.eye(3), atol=1e-12)
    size = np.abs(Z).max()
    assert_allclose(W @ Z @ W.T, np.diag(-model.criterion_), atol=1e-9 * size)
    if shape[2] == 6:
        assert_allclose(-model.criterion_, np.linalg.eigvalsh(Z)[:3], atol=1e-9 * size)
    negative = np.linalg.eigvalsh(Z)[:3].clip(None, 0)
    assert_allclose((-model.criterion_).clip(None, 0), negative, atol=1e-9 * size)
    assert_allclose(model.priors_, np.bincount(y[domain > 0]) / np.count_nonzero(domain > 0))


def test_alpha_one_and_no_target_are_ldg_of_the_source():
    X, y, domain = two_domains()
    source = domain > 0
    expected = LDG(3, **FIXED).fit(X[source], y[source]).components_
    transfer = TransferLDG(3, alpha=1.0, **FIXED).fit(X, y, sample_domain=domain)
    assert_allclose(transfer.components_, expected, atol=1e-9)
    alone = TransferLDG(3, **FIXED).fit(X[source], y[source])
    assert_allclose(alone.components_, expected, atol=1e-12)
    assert alone.alpha_ == 1.0
    auto = TransferLDG("auto").fit(X[source], y[source])
    assert_allclose(auto.components_, LDG("auto").fit(X[source], y[source]).components_)


def test_sparse_rows_give_what_dense_rows_give():
    X, y, domain = two_domains()
    X = np.where(np.abs(X) > 1, X, 0.0)
    for local in (True, False):
        model = TransferLDG(2, alpha=0.1, local=local, **FIXED)
        dense = model.fit(X, y, sample_domain=domain).components_
        sparse = model.fit(sp.csr_array(X), y, sample_domain=domain).components_
        assert_allclose(sparse, dense, atol=1e-8)


def test_the_dimension_is_chosen_by_target_rows_left_out():
    X, y, domain = two_domains(60, 10)
    model = TransferLDG("auto", alpha=0.1, **FIXED).fit(X, y, sample_domain=domain)
    path = model.selection_["n_components"]
    assert path.scores.shape == (10, 6)
    assert len(model.components_) == path.n_components
    target = np.flatnonzero(domain < 0)
    right = []
    for i in target:
        rest = np.arange(len(X)) != i
        fold = TransferLDG(2, alpha=0.1, **FIXED).fit(X[rest], y[rest], sample_domain=domain[rest])
        rule = KNeighborsClassifier(3).fit(fold.transform(X[rest]), y[rest])
        right.append(rule.predict(fold.transform(X[[i]]))[0] == y[i])
    assert_allclose(path.scores[:, 1].mean(), np.mean(right))


def test_one_target_row_has_an_answer():
    X, y, domain = two_domains(60, 1)
    model = TransferLDG("auto").fit(X, y, sample_domain=domain)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (np.zeros(102), "must hold positive whole numbers"),
        (np.full(102, 0.5), "must hold positive whole numbers"),
        (np.ones(5), r"has shape \(5,\), expected \(102,\)"),
        (np.full(102, -1), "the source has no rows of class 0"),
    ],
)
def test_domains_that_make_no_sense_are_refused(domain, message):
    X, y, _ = two_domains()
    with pytest.raises(ValueError, match=message):
        TransferLDG(**FIXED).fit(X, y, sample_domain=domain)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y, domain = two_domains()
    fresh = TransferLDG(3, alpha=0.3, **FIXED)
    with pytest.raises(ValueError, match="n_components=7"):
        fresh.set_params(n_components=7).fit(X, y, sample_domain=domain)
    assert set(vars(fresh)) == set(TransferLDG().get_params())
    model = TransferLDG(3, alpha=0.3, **FIXED).fit(X, y, sample_domain=domain)
    before = dict(vars(model))
    assert "_source" not in before
    with pytest.raises(ValueError, match="no rows of class"):
        model.fit(X[:, :4], np.where(domain < 0, 9, y), sample_domain=domain)
    assert vars(model) == before


def test_both_work_in_a_pipeline_by_metadata_routing():
    X, y, domain = two_domains()
    with config_context(enable_metadata_routing=True):
        scaler = DomainScaler().set_fit_request(sample_domain=True)
        scaler.set_transform_request(sample_domain=True)
        reducer = TransferLDG(2, alpha=0.1, **FIXED).set_fit_request(sample_domain=True)
        pipeline = make_pipeline(scaler, reducer, KNeighborsClassifier(3))
        pipeline.fit(X, y, sample_domain=domain)
        got = pipeline[:-1].transform(X[domain < 0])
        assert pipeline.score(X[domain < 0], y[domain < 0]) > 0.6
    Z = DomainScaler().fit_transform(X, sample_domain=domain)
    alone = TransferLDG(2, alpha=0.1, **FIXED).fit(Z, y, sample_domain=domain)
    assert_allclose(got, alone.transform(Z[domain < 0]))


# Target rows without labels ----------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [-1, np.nan, None], ids=str)
def test_target_rows_without_a_label_take_no_part(unknown):
    X, y, domain = two_domains(60, 12)
    hidden = (domain < 0) & (np.arange(len(y)) % 2 == 0)
    labels = y.astype(object if unknown is None else type(unknown))
    labels[hidden] = unknown
    model = TransferLDG(3, alpha=0.3, **FIXED)
    got = model.fit(X, labels, sample_domain=domain)
    assert_array_equal(got.classes_.astype(int), np.unique(y))
    assert_array_equal(got.n_samples_seen_, np.count_nonzero(~hidden))
    known = TransferLDG(3, alpha=0.3, **FIXED).fit(
        X[~hidden], y[~hidden], sample_domain=domain[~hidden]
    )
    assert_allclose(got.components_, known.components_)


def test_no_label_in_the_target_at_all_is_ldg_of_the_source():
    X, y, domain = two_domains(60, 12)
    labels = np.where(domain < 0, -1, y)
    got = TransferLDG(3, **FIXED).fit(sp.csr_array(X), labels, sample_domain=domain)
    expected = LDG(3, **FIXED).fit(X[domain > 0], y[domain > 0])
    assert_allclose(got.components_, expected.components_, atol=1e-9)
    assert got.alpha_ == 1.0


def test_a_label_of_the_source_is_a_label_also_when_it_is_minus_one():
    X, y, domain = two_domains(60, 12)
    signs = np.where(y == 0, -1, 1)
    model = TransferLDG(1, alpha=0.3, **FIXED).fit(X, signs, sample_domain=domain)
    assert model.n_samples_seen_ == len(y)
    assert_array_equal(model.classes_, [-1, 1])


def test_a_row_of_the_source_needs_a_label():
    X, y, domain = two_domains(60, 12)
    labels = y.astype(object)
    labels[np.flatnonzero(domain > 0)[0]] = None
    with pytest.raises(ValueError, match="only rows of the target may be without a label"):
        TransferLDG(**FIXED).fit(X, labels, sample_domain=domain)
