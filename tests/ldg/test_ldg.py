"""Local discriminative Gaussians: neighbours, scatters, the gradient, what is chosen."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from separatrix import (
    LDG,
    ClassMoments,
    KernelLDG,
    MaximumMarginCriterion,
    SparseLDG,
    TransferLDG,
    datasets,
)
from separatrix.base.queries import Queries, order_by_content
from separatrix.ldg.choices import GAMMAS
from separatrix.ldg.scatters import (
    LDGScatters,
    global_scatters,
    local_scatters,
    sampled_scatters,
)
from separatrix.linalg import principal_angles
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from separatrix.selection import GridScores, training_parts
from tests.discovery import SHAPES, TALL, WIDE, labelled
from tests.ldg.book import by_the_book, criterion_by_the_book

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


# The eigenproblem ------------------------------------------------------------------------------


@every_shape
@pytest.mark.parametrize("k", [1, 3, 100])  # 100: all there are
def test_the_directions_are_the_smallest_eigenvectors_of_v_less_gamma_a(X, y, k):
    V, A = by_the_book(X, y, k)
    Z = V - 0.6 * A
    model = LDG(gamma=0.6, n_neighbors=k).fit(X, y)
    evals = np.linalg.eigvalsh(Z)
    W = model.components_
    n_negative = np.count_nonzero(evals < -1e-9 * np.abs(evals).max())
    assert len(W) == n_negative
    assert_allclose(W @ Z @ W.T, np.diag(evals[:n_negative]), atol=1e-10 * np.abs(evals).max())
    assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)
    assert_allclose(model.criterion_, -evals[:n_negative])
    assert_allclose(model.explained_ratio_.sum(), 1)


def test_neighbours_are_the_nearest_others_of_each_class_in_order():
    X, y = labelled(200, 5)
    found = class_neighbours(X, y, 7)
    for j in range(3):
        members = np.flatnonzero(y == j)
        for i in range(len(X)):
            others = members[members != i]
            distances = np.linalg.norm(X[others] - X[i], axis=1)
            assert_array_equal(found[j][i], others[np.argsort(distances)[:7]])


def test_neighbours_may_be_sought_among_other_rows():
    X, y = labelled(90, 5)
    found = class_neighbours(X[:10], y[10:], 3, among=X[10:])
    for j in range(3):
        members = np.flatnonzero(y[10:] == j)
        for i in range(10):
            distances = np.linalg.norm(X[10:][members] - X[i], axis=1)
            assert_array_equal(found[j][i], members[np.argsort(distances)[:3]])


def test_many_neighbours_are_sorted_as_few_are():
    X, y = labelled(400, 4)
    few, many = (class_neighbours(X, y, k) for k in (20, 90))
    for a, b in zip(few, many, strict=True):
        assert_array_equal(a, b[:, :20])


def test_small_classes_give_what_they_have_and_a_singleton_nothing():
    X, y = labelled(40, 4)
    y = y.copy()
    y[:3], y[7] = 8, 9
    V, A = by_the_book(X, y, 5)
    priors = np.unique(y, return_counts=True)[1] / len(y)
    codes = np.unique(y, return_inverse=True)[1]
    found = local_scatters(X, codes, class_neighbours(X, codes, 5), priors, 5)
    assert_allclose(found.V, V, atol=1e-10)
    assert_allclose(found.A, A, atol=1e-10)


def test_blocks_do_not_show(monkeypatch):
    X, y = labelled(300, 6)
    whole = LDG(gamma=0.7, n_neighbors=3).fit(X, y)
    monkeypatch.setattr("separatrix.moments.neighbours.MAX_DISTANCES", 2000)
    monkeypatch.setattr("separatrix.moments.labelled.MAX_BLOCK_ENTRIES", 100)
    parts = LDG(gamma=0.7, n_neighbors=3).fit(X, y)
    assert_allclose(parts.components_, whole.components_, atol=1e-10)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3], [0.0, 0.4, 0.6]])
@pytest.mark.parametrize("local", [True, False])
def test_priors_weigh_the_classes_in_a(priors, local):
    X, y = labelled(60, 5)
    X = X + 1e3
    V, A = by_the_book(X, y, 4, priors, local)
    model = LDG(5, gamma=0.8, n_neighbors=4, local=local, priors=priors).fit(X, y)
    assert_allclose(model.criterion_, -np.linalg.eigvalsh(V - 0.8 * A), atol=1e-7)


@every_shape
def test_global_gaussians_are_scatter_within_and_twice_that_between(X, y):
    m = ClassMoments.from_data(X, y)
    found = global_scatters(m, m.counts / m.n_samples)
    assert_allclose(found.V, m.Sw, atol=1e-9)
    assert_allclose(found.A, m.Sw + 2 * m.Sb, atol=1e-9)
    third = LDG(2, gamma=1 / 3, local=False).fit(X, y)
    margin = MaximumMarginCriterion(2).fit(X, y)
    assert_allclose(third.components_, margin.components_, atol=1e-9)
    for gamma in (0.3, 0.9, 1.0):
        assert len(LDG(gamma=gamma, local=False).fit(X, y).components_) <= 2


def test_classes_of_two_clusters_are_separated_where_their_means_coincide():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = 2 * rng.standard_normal((400, 10))
    X[:, 0] = 5 * np.where(y == 0, 0, rng.choice([-1, 1], 400)) + rng.standard_normal(400)
    model = LDG(1, gamma=0.6, n_neighbors=5).fit(X, y)
    assert abs(model.components_[0, 0]) > 0.98


def test_wide_rows_keep_to_their_span():
    X, y = WIDE
    model = LDG(23, gamma=0.6, n_neighbors=2).fit(X, y)
    assert model.rank_ == 23
    centred = X - X.mean(axis=0)
    outside = model.components_.T - np.linalg.pinv(centred) @ (centred @ model.components_.T)
    assert_allclose(outside, 0, atol=1e-10)
    with pytest.raises(ValueError, match="at most 23"):
        LDG(24, gamma=0.6, n_neighbors=2).fit(X, y)


def test_directions_without_data_come_last_whatever_their_eigenvalue():
    # a constant feature has eigenvalue 0, which is smaller than the positive ones
    X, y = TALL
    X = np.column_stack([X, np.full(len(X), 3.0)])
    with pytest.raises(ValueError, match="at most 6"):
        LDG(7, gamma=0.3, n_neighbors=3).fit(X, y)
    model = LDG(6, gamma=0.3, n_neighbors=3).fit(X, y)
    assert_allclose(model.components_[:, -1], 0, atol=1e-12)


@pytest.mark.parametrize("shape", [(150, 20), (40, 300)], ids=["tall", "wide"])
def test_sparse_rows_give_what_dense_rows_give_and_stay_sparse(shape):
    X, y = labelled(*shape)
    X = np.where(np.abs(X) > 2, X, 0.0)
    X[:, 3] += 1e3  # a full column with an offset
    dense = LDG(gamma=0.6, n_neighbors=3).fit(X, y)
    sparse = LDG(gamma=0.6, n_neighbors=3).fit(sp.csr_array(X), y)
    assert_allclose(sparse.components_, dense.components_, atol=1e-7)
    auto = LDG("auto").fit(sp.csr_array(X), y)
    assert_allclose(auto.components_, LDG("auto").fit(X, y).components_, atol=1e-6)


def test_no_matrix_of_features_by_features_nor_of_rows_by_rows():
    rng = np.random.default_rng(0)
    for n, d in ((30, 4000), (6000, 5)):
        X, y = rng.standard_normal((n, d)), np.arange(n) % 3
        tracemalloc.start()
        LDG(2, gamma=0.6, n_neighbors=3).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * max(n, d) ** 2 / 3


@pytest.mark.filterwarnings("ignore:LDG found no direction")
def test_no_negative_eigenvalue_leaves_no_direction_and_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), np.arange(200) % 2
    with pytest.warns(UserWarning, match="gamma=0.1 .* give n_components"):
        model = LDG(gamma=0.1, n_neighbors=3).fit(X, y)
    assert model.transform(X).shape == (200, 0)
    assert LDG(2, gamma=0.1, n_neighbors=3).fit_transform(X, y).shape == (200, 2)


def test_eigenvalues_below_zero_by_rounding_do_not_count():
    H = np.random.default_rng(0).standard_normal((30, 8))
    V = H.T @ H
    scatters = LDGScatters(V, V / 0.7)
    evals = scatters.smallest(0.7, np.eye(8))[0]
    assert evals[0] < 0  # by rounding
    assert scatters.n_negative(0.7, evals) == 0


# The gradient ----------------------------------------------------------------------------------


@every_shape
@pytest.mark.parametrize("local", [True, False])
def test_the_gradient_solver_goes_down_from_the_eigenvectors(X, y, local):
    X = (X - X.mean(axis=0)) / X.std(axis=0) / 3
    start = LDG(2, gamma=0.6, n_neighbors=3, local=local).fit(X, y)
    model = LDG(2, gamma=0.6, n_neighbors=3, local=local, solver="gradient")
    model.fit(X, y)
    assert (np.diff(model.objective_) <= 0).all()
    assert model.objective_[-1] < model.objective_[0] - 1e-3
    first, last = (
        criterion_by_the_book(X, y, 3, m.components_.T, local=local) for m in (start, model)
    )
    assert_allclose(model.objective_[[0, -1]], [first, last])
    B = model.components_.T
    assert_allclose(B.T @ B, np.eye(2), atol=1e-12)
    V, A = by_the_book(X, y, 3, local=local)
    assert_allclose(B.T @ (V - 0.6 * A) @ B, np.diag(-model.criterion_), atol=1e-8)
    # a minimum: no small rotation goes further down
    rng = np.random.default_rng(0)
    for _ in range(10):
        other = np.linalg.qr(B + 1e-3 * rng.standard_normal(B.shape))[0]
        if X.shape[0] < X.shape[1]:
            centred = X - X.mean(axis=0)
            other = np.linalg.qr(np.linalg.pinv(centred) @ (centred @ other))[0]
        assert criterion_by_the_book(X, y, 3, other, local=local) >= last - 1e-6


# What is chosen --------------------------------------------------------------------------------


def average_vote(model, X, y, fit, held):
    """Average accuracy of 1, 3 and 5 neighbours about held-out rows in the subspace."""
    Z, Z_held = model.transform(X[fit]), model.transform(X[held])
    rules = [KNeighborsClassifier(k).fit(Z, y[fit]) for k in (1, 3, 5)]
    return np.mean([rule.score(Z_held, y[held]) for rule in rules])


def in_order(X, y):
    """The rows in the order in which LDG deals them into folds."""
    order = order_by_content(LabelledRows(X, np.unique(y, return_inverse=True)[1], np.unique(y)))
    return X[order], y[order]


@every_shape
def test_gamma_is_chosen_by_refitting_in_the_dimension_asked_for(X, y):
    rng = np.random.default_rng(1)
    X, y = in_order(X + 2 * rng.standard_normal(X.shape), y)
    model = LDG(2).fit(X, y)
    record = model.selection_["gamma"]
    assert [s["gamma"] for s in record.settings] == list(GAMMAS)
    for j in range(len(GAMMAS)):
        for row, (fit, held) in zip(record.scores, training_parts(y, 5), strict=True):
            fold = LDG(2, **record.settings[j]).fit(X[fit], y[fit])
            assert_allclose(row[j], average_vote(fold, X, y, fit, held))
    average = record.scores.mean(axis=0)
    with_neighbours = np.convolve(np.pad(average, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    best = int(np.argmax(with_neighbours >= with_neighbours.max() - 1e-12))
    error = np.sqrt(average[best] * (1 - average[best]) / len(y))
    assert model.gamma_ == GAMMAS[best if average[best] > average[0] + error else 0]
    fixed = LDG(2, gamma=model.gamma_).fit(X, y)
    assert_allclose(model.components_, fixed.components_, atol=1e-12)
    assert (model.n_neighbors_, fixed.selection_) == (4, {})


@pytest.mark.filterwarnings("ignore:LDG found no direction")
@pytest.mark.parametrize("estimator", [LDG, SparseLDG, KernelLDG, TransferLDG])
def test_the_defaults_judge_what_they_return_and_return_something(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    X = rng.normal(size=(150, 12))
    X[:, 0] += 0.8 * y
    assert LDG(gamma=0.2, n_neighbors=4).fit(X, y).transform(X).shape[1] == 0
    more = {"sample_domain": np.where(np.arange(150) < 130, 1, -1)}
    model = estimator().fit(X, y, **(more if estimator is TransferLDG else {}))
    assert model.transform(X).shape[1] > 0


@pytest.mark.filterwarnings("ignore:LDG found no direction")
@every_shape
def test_without_a_dimension_gamma_is_judged_in_what_each_fold_keeps(X, y):
    X, y = in_order(X + 2 * np.random.default_rng(1).standard_normal(X.shape), y)
    record = LDG().fit(X, y).selection_["gamma"]
    kept = set()
    for j in range(len(record.settings)):
        for row, (fit, held) in list(zip(record.scores, training_parts(y, 5), strict=True))[:3]:
            fold = LDG(**record.settings[j]).fit(X[fit], y[fit])
            kept.add(len(fold.components_))
            none = len(fold.components_) == 0
            assert_allclose(row[j], 0 if none else average_vote(fold, X, y, fit, held))
    assert len(kept) > 1
    auto = LDG("auto").fit(X, y).selection_["gamma"]
    assert_array_equal(auto.scores, record.scores)


@every_shape
def test_an_infinite_gamma_leaves_the_space_alone(X, y):
    model = LDG(gamma=np.inf, n_neighbors=3).fit(X, y)
    assert len(model.components_) == model.rank_
    distances = [pairwise_distances(Z) for Z in (X, model.transform(X))]
    assert_allclose(distances[1], distances[0], atol=1e-9)
    A = by_the_book(X, y, 3)[1]
    two = LDG(2, gamma=np.inf, n_neighbors=3).fit(X, y)
    assert_allclose(two.criterion_, np.linalg.eigvalsh(A)[::-1][:2])
    almost = LDG(2, gamma=1e9, n_neighbors=3).fit(X, y)
    assert_allclose(two.components_, almost.components_, atol=1e-6)


@pytest.mark.parametrize("data", ["iris", "wine", "digits", "copies"])
@pytest.mark.parametrize("estimator", [LDG(), LDG("auto"), LDG(2, n_queries=100)], ids=str)
def test_the_order_of_the_rows_changes_nothing(data, estimator, rng):
    if data == "copies":  # rows that are equal, also with other labels
        X, y = rng.integers(3, size=(60, 4)).astype(float), np.arange(60) % 3
    else:
        found = datasets.load(data)
        X, y = found.data[:400], found.target[:400]
    order = rng.permutation(len(y))
    first, second = (clone(estimator).fit(*rows) for rows in ((X, y), (X[order], y[order])))
    assert first.gamma_ == second.gamma_
    assert_array_equal(first.components_, second.components_)


def test_a_setting_chosen_for_what_it_keeps_in_folds_keeps_the_leading_direction():
    model = LDG()
    scored = {"gamma": GridScores(({},), np.array([[0.7], [0.0]]), {})}
    assert model._n_kept(5, 0, scored) == 1
    assert model._n_kept(5, 3, scored) == 3
    useless = {"gamma": GridScores(({},), np.zeros((2, 1)), {})}
    assert model._n_kept(5, 0, useless) == 0  # there was none in the folds either


def test_of_gammas_that_score_alike_the_space_is_left_alone():
    X, y = labelled(80, 4)
    X = X + 50 * y[:, None]  # every value is perfect
    assert LDG().fit(X, y).gamma_ == np.inf


def test_other_folds_may_choose_otherwise_and_the_same_folds_do_not():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 2
    scores = [LDG(random_state=s).fit(X, y).selection_["gamma"].scores for s in (0, 0, 1)]
    assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_priors_given_hold_in_the_folds():
    X, y = labelled(60, 5)
    X, y = in_order(X + 2 * np.random.default_rng(0).standard_normal(X.shape), y)
    p = [0.1, 0.1, 0.8]
    model = LDG(2, priors=p).fit(X, y)
    assert_allclose(model.priors_, p)
    record = model.selection_["gamma"]
    fit, held = training_parts(y, 5)[0]
    fold = LDG(2, priors=p, **record.settings[2]).fit(X[fit], y[fit])
    assert_allclose(record.scores[0, 2], average_vote(fold, X, y, fit, held))


def test_a_weak_direction_needs_a_small_gamma():
    # the second feature separates less, but is so large that only γ near V/A gives up on it
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    weak = 0.1 * rng.standard_normal(90) + y
    X = np.column_stack([weak, 30 * (rng.standard_normal(90) + 2.5 * y)])
    model = LDG(1, local=False).fit(X, y)
    assert model.gamma_ <= 0.1
    assert model.components_[0, 0] > 0.99
    assert LDG(1, gamma=0.2, local=False).fit(X, y).components_[0, 0] < 0.1


# Rows that stand for all -----------------------------------------------------------------------


def test_scatters_of_a_sample_that_is_all_rows_are_exact():
    X, y = labelled(200, 5)
    X = X - X.mean(axis=0)
    moments, priors = ClassMoments.from_data(X, y), np.array([0.2, 0.3, 0.5])
    found = class_neighbours(X, y, 4)
    everything = Queries(np.arange(200), np.ones(200), np.arange(200) % 8)
    averages = [averaging_matrix(numbers, np.arange(200), 200) @ X for numbers in found]
    total = global_scatters(moments, priors)
    sampled = sampled_scatters(
        X, y, everything, lambda at, j: averages[j][at], moments.means, total, priors
    )
    exact = local_scatters(X, y, found, priors, 4)
    assert_allclose(sampled.V, exact.V, rtol=1e-10, atol=1e-10)
    assert_allclose(sampled.A, exact.A, rtol=1e-10, atol=1e-10)
    assert len(sampled.without) == 8


def test_the_error_of_a_sample_is_the_one_it_states():
    X, y = labelled(3000, 8)
    settings = {"gamma": 0.6, "n_neighbors": 4}
    exact = LDG(2, **settings).fit(X, y)
    assert exact.angle_error_ == 0.0
    angles, errors = [], []
    for seed in range(12):
        model = LDG(2, n_queries=300, random_state=seed, **settings).fit(X, y)
        angles.append(np.degrees(principal_angles(model.components_, exact.components_)[0]))
        errors.append(model.angle_error_)
    # twelve samples know a root mean square to about a fifth
    assert 0.6 < np.mean(np.square(errors)) ** 0.5 / np.mean(np.square(angles)) ** 0.5 < 1.8


def test_a_sample_is_warned_of_where_nobody_asked_for_it(monkeypatch):
    X, y = labelled(3000, 8)
    monkeypatch.setattr("separatrix.base.queries.MAX_EXACT_ROWS", 1000)
    monkeypatch.setattr("separatrix.base.queries.AUTO_QUERIES", 300)
    with pytest.warns(UserWarning, match=r"compared 300 of 3000 rows.*angle_error_.*n_queries"):
        chosen = LDG(2).fit(X, y)
    assert chosen.angle_error_ > 0


def test_the_gradient_solver_takes_a_sample():
    X, y = labelled(1500, 6)
    exact, sampled = (
        LDG(2, gamma=0.9, n_neighbors=4, solver="gradient", n_queries=m).fit(X, y)
        for m in (None, 500)
    )
    assert np.diff(sampled.objective_).max() <= 0
    assert principal_angles(exact.components_, sampled.components_)[0] < 0.2
