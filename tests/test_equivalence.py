"""The identity table: two ways to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from separatrix import (
    LDG,
    ClassMoments,
    DirectDiscriminant,
    FisherDiscriminant,
    GroupedDiscriminant,
    GSVDDiscriminant,
    KernelFisherDiscriminant,
    MaximumMarginCriterion,
    NullSpaceDiscriminant,
)
from separatrix.linalg import principal_angles
from tests.discovery import SHAPES, TALL, WIDE, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def angles(a, b):
    """The angle between each direction of two models."""
    pairs = zip(a.components_, b.components_, strict=True)
    return [principal_angles([u], [v])[0] for u, v in pairs]


def test_fisher_is_scikit_learns_lda_where_sw_has_an_inverse():
    X, y = TALL
    ours = FisherDiscriminant(shrinkage=None).fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    for u, v in zip(ours.components_, theirs.scalings_.T, strict=True):
        assert principal_angles([u], [v])[0] < 1e-10
    assert_allclose(ours.explained_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_with_all_components_the_decisions_are_those_of_full_lda(priors):
    X, y = labelled(300, 8)
    X = X + np.random.default_rng(0).normal(scale=3, size=X.shape)  # some errors to agree on
    ours = FisherDiscriminant(shrinkage=None, priors=priors).fit(X, y)
    # lsqr weighs the class covariances by the priors; equal only when those are the proportions
    theirs = LinearDiscriminantAnalysis(solver="lsqr" if priors is None else "svd", priors=priors)
    theirs.fit(X, y)
    assert 0.3 < ours.score(X, y) < 1
    assert_array_equal(ours.predict(X), theirs.predict(X))
    # svd divides by n - C where we divide by n
    rtol = 1e-7 if priors is None else 0.05
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=rtol, atol=rtol)


@every_shape
def test_gsvd_finds_fishers_directions(X, y):
    gsvd, fisher = GSVDDiscriminant().fit(X, y), FisherDiscriminant(shrinkage=None).fit(X, y)
    assert max(angles(gsvd, fisher)) < 1e-9
    assert_allclose(gsvd.explained_ratio_, fisher.explained_ratio_, atol=1e-9)
    new = X.mean(axis=0) + 3 * np.random.default_rng(0).normal(size=(400, X.shape[1]))
    assert len(set(fisher.predict(new))) == 3
    assert_array_equal(gsvd.predict(new), fisher.predict(new))


def test_gsvd_keeps_digits_that_scatter_matrices_lose():
    rng = np.random.default_rng(0)
    X, y = labelled(60, 3)
    mix = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [1.0, 1e-5, 1e-9]
    # the projections of the training rows are the same in all coordinates
    plain, mixed = GSVDDiscriminant().fit(X, y), GSVDDiscriminant().fit(X @ mix.T, y)
    Z, Zm = plain.transform(X), mixed.transform(X @ mix.T)
    assert_allclose(np.abs(Zm), np.abs(Z), atol=1e-5)


def test_null_space_directions_are_fishers_perfect_ones():
    null, fisher = (
        NullSpaceDiscriminant().fit(*WIDE),
        FisherDiscriminant(shrinkage=None).fit(*WIDE),
    )
    assert_allclose(null.components_, fisher.components_, atol=1e-10)
    assert_allclose(null.explained_ratio_, fisher.explained_ratio_, atol=1e-10)


def test_a_singular_sw_is_the_limit_of_a_vanishing_ridge():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 6))
    y = np.arange(300) % 4
    X += y[:, None] * np.arange(6) * 0.3
    X[:, 4] += 2 * (y == 3)
    X[:, 5] = y == 2  # a perfect direction; the two others are ordinary
    limit = FisherDiscriminant(shrinkage=None).fit(X, y)
    assert limit.rank_ == 5
    assert_allclose(limit.explained_ratio_, [1, 0, 0], atol=1e-12)
    close = FisherDiscriminant(shrinkage=1e-10).fit(X, y)
    assert max(angles(limit, close)) < 1e-7
    assert max(angles(limit, GSVDDiscriminant().fit(X, y))) < 1e-9
    # and the decision uses both kinds: the perfect one first, with digits left for the others
    new = X + rng.normal(size=X.shape) * [1, 1, 1, 1, 1, 0.1]
    assert_array_equal(limit.predict(new), close.predict(new))
    assert_allclose(
        limit.predict_proba(new)[:, [0, 1, 3]], close.predict_proba(new)[:, [0, 1, 3]], atol=0.01
    )


@every_shape
def test_batches_are_the_whole(X, y):
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    for size in (1, 7, 50):
        model = FisherDiscriminant(shrinkage=None)
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert_allclose(model.components_, whole.components_, atol=1e-9)
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
        assert_allclose(model.moments_.Sw, whole.moments_.Sw, atol=1e-10)


@every_shape
def test_blocks_of_a_collection_are_the_whole(X, y):
    da = pytest.importorskip("dask.array")
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    model = FisherDiscriminant(shrinkage=None).fit(da.from_array(X, chunks=(7, -1)), y)
    assert_allclose(model.components_, whole.components_, atol=1e-9)
    assert_allclose(model.moments_.Sw, whole.moments_.Sw, atol=1e-10)


@every_shape
def test_sparse_batches_are_the_dense_whole(X, y):
    X = np.where(np.abs(X) > 1, X, 0)
    model = FisherDiscriminant(shrinkage=0.1)
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(sp.csr_array(X[part]), y[part], classes=[0, 1, 2])
    whole = FisherDiscriminant(shrinkage=0.1).fit(X, y)
    assert_allclose(model.components_, whole.components_, atol=1e-9)


def test_two_classes_need_only_the_mean_difference_for_direct_discriminants():
    X, y = TALL
    X, y = X[y < 2], y[y < 2]
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    for nu in (0.0, 0.5, 100.0):
        model = DirectDiscriminant(regularization=nu).fit(X, y)
        assert principal_angles(model.components_, [difference])[0] < 1e-10


def test_fisher_after_pca_is_pca_then_fisher():
    X, y = TALL
    ours = FisherDiscriminant(shrinkage=None, pca=4).fit(X, y)
    Z = PCA(4).fit_transform(X)
    inner = FisherDiscriminant(shrinkage=None).fit(Z, y)
    assert_allclose(np.abs(ours.transform(X)), np.abs(inner.transform(Z)), atol=1e-10)


@every_shape
def test_pca_with_all_of_the_variance_changes_nothing(X, y):
    for pca in (1.0, 1000):
        model = FisherDiscriminant(pca=pca, shrinkage=0.0).fit(X, y)
        assert_allclose(
            model.components_, FisherDiscriminant(shrinkage=None).fit(X, y).components_, atol=1e-9
        )


@pytest.mark.parametrize("pca", [5, 0.8])
@every_shape
def test_sparse_pca_is_dense_pca(X, y, pca):
    X = np.where(np.abs(X) > 1, X, 0)
    dense = FisherDiscriminant(shrinkage=None, pca=pca).fit(X, y)
    sparse = FisherDiscriminant(shrinkage=None, pca=pca).fit(sp.csr_array(X), y)
    assert_allclose(sparse.components_, dense.components_, atol=1e-8)


def test_shrinkage_in_the_span_is_shrinkage_in_all_features():
    X, y = WIDE
    m = ClassMoments.from_data(X, y)
    Sw = 0.7 * m.Sw + 0.3 * np.diag(np.diag(m.Sw))
    model = FisherDiscriminant(shrinkage=0.3).fit(X, y)
    W = model.components_.T
    assert_allclose(W.T @ Sw @ W, np.eye(2), atol=1e-10)
    criterion = np.sort(np.linalg.eigvals(np.linalg.solve(Sw, m.Sb)).real)[::-1][:2]
    assert_allclose(np.diag(W.T @ m.Sb @ W), criterion, rtol=1e-9)


def test_one_group_is_plain_fisher():
    one = GroupedDiscriminant(groups=1).fit(*TALL)
    assert_allclose(
        one.components_, FisherDiscriminant(shrinkage=None).fit(*TALL).components_, atol=1e-12
    )


def test_maximum_margin_is_the_eigenproblem_in_all_features():
    for X, y in SHAPES.values():
        m = ClassMoments.from_data(X, y)
        evals, V = np.linalg.eigh(m.Sb - m.Sw)
        model = MaximumMarginCriterion().fit(X, y)
        assert_allclose(model.criterion_, evals[::-1][:2], rtol=1e-9)
        assert principal_angles(model.components_, V[:, ::-1][:, :2].T).max() < 1e-8


@every_shape
def test_the_orthogonal_centroid_method_is_ldg_of_class_means(X, y):
    means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
    centroids = np.linalg.qr((means - means.mean(axis=0)).T)[0][:, : len(means) - 1]
    found = LDG(len(means) - 1, local=False, gamma=1.0).fit(X, y)
    assert_allclose(principal_angles(found.components_, centroids.T), 0, atol=1e-7)


def test_without_a_ridge_rows_of_a_class_have_a_common_vector_in_feature_space():
    X, y = TALL
    Z = KernelFisherDiscriminant(ridge=0).fit_transform(X, y)
    for c in np.unique(y):
        assert_allclose(Z[y == c], np.broadcast_to(Z[y == c][0], Z[y == c].shape), atol=1e-8)
