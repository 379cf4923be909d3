"""Selected features: knock-offs have the moments they must, and the promise is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.insight import select_features
from separatrix.insight.features import (
    Knockoffs,
    Surrogate,
    benjamini_hochberg,
    e_values,
    least_reconstructable,
)


def correlations(p, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def planted(seed, n=500, p=20, n_true=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(correlations(p, 0.4)).T
    y = X[:, :n_true].sum(axis=1) + rng.logistic(size=n) > 0
    return X, y.astype(int)


def test_surrogate_rows_have_the_inner_products_of_the_rows():
    X, y = planted(0)
    rows = Surrogate.from_moments(ClassMoments.from_data(X, y))
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    np.testing.assert_allclose(rows.columns.T @ rows.columns, Z.T @ Z / 500, atol=1e-12)
    to_first = rows.columns.T @ rows.indicators[:, 0]  # the first class has the other sign
    np.testing.assert_allclose(to_first, -Z.T @ t / 500, atol=1e-12)
    assert rows.n_other == 500 - 1 - 21


@pytest.mark.parametrize("n_copies", [1, 3])
def test_no_s_makes_columns_less_reconstructable(n_copies):
    R = correlations(8, 0.6)
    s = least_reconstructable(R, n_copies)

    def trace(s):
        M = n_copies
        joint = np.kron(np.ones((M + 1, M + 1)), R - np.diag(s))
        joint += np.kron(np.eye(M + 1), np.diag(s))
        return np.trace(np.linalg.inv(joint))

    for j in range(8):
        for step in (-0.01, 0.01):
            moved = s.copy()
            moved[j] += step
            assert trace(moved) > trace(s)


def test_copies_are_correlated_as_features_are_and_say_nothing_of_the_classes():
    R = correlations(6, 0.5)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 6)) @ np.linalg.cholesky(R).T
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    rows = Surrogate.from_moments(ClassMoments.from_data(X, y))
    law = Knockoffs.for_correlations(rows.shrunk, 2)
    copies = law.draw(rows, rng)
    top = len(rows.columns)
    apart = R - np.diag(law.s)
    grams = copies.T @ copies, rows.columns.T @ copies[:top]
    expected = np.block([[R, apart], [apart, R]]), np.hstack([apart, apart])
    for gram, wanted in zip(grams, expected, strict=True):
        np.testing.assert_allclose(gram, wanted, atol=0.03)  # six standard errors
    # the copy of a feature goes along with the classes as far as its neighbours tell it
    own = rows.columns.T @ rows.indicators[:, 0]
    to_classes = copies[:top].T @ rows.indicators[:, 0]
    np.testing.assert_allclose(to_classes, np.tile(law.kept.T @ own, 2), atol=0.03)


def test_the_filter_stops_where_copies_win_too_often():
    own = np.array([9.0, 8, 7, 6, 5, 4, 1, 0.5])
    copies = np.array([0.0, 0, 0, 0, 0, 0, 3, 2])
    found = e_values(np.stack([own, copies]), 0.2)
    # one and no copy above 4, of six features: 1/6 is enough
    np.testing.assert_array_equal(found, [8, 8, 8, 8, 8, 8, 0, 0])
    assert not e_values(np.stack([own, copies]), 0.1).any()


def test_e_values_are_compared_with_their_rank():
    assert benjamini_hochberg(np.array([0.0, 11, 19, 0]), 0.2).tolist() == [2, 1]
    assert benjamini_hochberg(np.array([0.0, 9, 19, 0]), 0.2).tolist() == []
    assert benjamini_hochberg(np.array([0.0, 9, 21, 0]), 0.2).tolist() == [2]


def test_features_that_matter_are_found_and_merging_is_pooling():
    X, y = planted(0)
    pooled = select_features(ClassMoments.from_data(X, y), fdr=0.2)
    assert {0, 1, 2, 3, 4, 5} <= set(pooled.indices.tolist())
    assert len(pooled.indices) <= 8
    assert pooled.note == "at most 20 % of those selected are expected to be wrong"
    sites = [ClassMoments.from_data(X[i::4], y[i::4]) for i in range(4)]
    merged = select_features(sum(sites), fdr=0.2)
    np.testing.assert_array_equal(merged.indices, pooled.indices)
    np.testing.assert_allclose(merged.statistic, pooled.statistic, rtol=1e-9)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    np.testing.assert_array_equal(select_features(model, fdr=0.2).indices, pooled.indices)


def test_several_classes_are_told_by_their_features():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 15))
    X[:, :3] += 0.8 * np.eye(3)[y]
    X[:, 3:6] -= 0.8 * np.eye(3)[y]
    found = select_features(ClassMoments.from_data(X, y), fdr=0.1).indices
    assert set(range(6)) <= set(found.tolist())
    assert len(found) <= 8


def test_without_any_difference_hardly_ever_a_feature_is_selected():
    rng = np.random.default_rng(0)
    n_wrong = 0
    for _ in range(60):
        X, y = rng.standard_normal((120, 15)), rng.integers(0, 2, 120)
        n_wrong += len(select_features(ClassMoments.from_data(X, y), fdr=0.2).indices) > 0
    # any is wrong, so that the rate of runs with one is the false discovery rate
    assert n_wrong <= 60 * (0.2 + 2 * np.sqrt(0.2 * 0.8 / 60))


def test_the_share_of_wrong_features_is_held():
    wrong, right = [], []
    for seed in range(40):
        X, y = planted(seed, n=300, p=30, n_true=8)
        found = select_features(ClassMoments.from_data(X, y), fdr=0.2).indices
        wrong.append(np.mean(found >= 8) if len(found) else 0.0)
        right.append(np.sum(found < 8) / 8)
    assert np.mean(wrong) <= 0.2 + 2 * np.std(wrong) / np.sqrt(40)
    assert np.mean(right) > 0.8


def test_fewer_rows_than_features_are_said_to_be_approximate():
    X, y = planted(0, n=18)
    found = select_features(ClassMoments.from_data(X, y))
    assert found.note.startswith("nothing can be selected at this rate: 18 rows")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 70))
    X[:, :15] += 0.9 * y[:, None] * (-1.0) ** np.arange(15)
    found = select_features(ClassMoments.from_data(X, y), fdr=0.4)
    assert set(found.indices.tolist()) & set(range(15))
    assert found.note.endswith("approximate, as 60 rows do not show how 70 features correlate")


def test_a_feature_that_never_changes_is_never_selected():
    X, y = planted(0)
    X = np.insert(X, 3, 5.0, axis=1)
    found, without = (
        select_features(ClassMoments.from_data(Z, y), fdr=0.2)
        for Z in (X, np.delete(X, 3, axis=1))
    )
    np.testing.assert_array_equal(np.delete(found.statistic, 3), without.statistic)
    assert found.statistic[3] == 0
    assert 3 not in found.indices


def test_what_cannot_be_is_said():
    moments = ClassMoments.from_data(*planted(0, n=40, p=3, n_true=1))
    with pytest.raises(ValueError, match=r"fdr=1.5 must lie between 0 and 1"):
        select_features(moments, fdr=1.5)
    with pytest.raises(ValueError, match="no feature varies within classes"):
        select_features(ClassMoments.from_data(np.repeat(np.eye(2), 3, axis=0), [0] * 3 + [1] * 3))
    wide = ClassMoments.from_data(np.random.default_rng(0).random((4, 4001)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="knock-offs take at most 4000"):
        select_features(wide)
