"""Classes made of clusters: how many there are, what tells them apart, who wins."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    IPCAC,
    ClassMoments,
    KernelIPCAC,
    LocalQDA,
    MixtureIPCAC,
    TruncatedIPCAC,
    datasets,
    load,
    save,
)
from separatrix.ipcac import mixture as ipcac_mixture
from separatrix.ipcac.clusters import (
    em_clusters,
)
from separatrix.ipcac.mixture import (
    activation_power,
    jury,
    minimax_log_odds,
    wins_and_scores,
)
from tests.discovery import TALL, WIDE, labelled
from tests.ipcac.boards import CENTRES, blobs, checkerboard, same_partition, state

# The jury ----------------------------------------------------------------------------------------


def published(z):
    """(5.21) and (5.22) of the source, one row of matches (n_first, n_second) at a time."""
    m_a, m_b = z.shape
    a, b = max(m_a, 3), max(m_b, 3)
    t = max(
        np.ceil(1 / (np.log(b / (b - 2)) / np.log(a))),
        np.ceil(1 / (np.log(a / (a - 2)) / np.log(b))),
    )
    t = t + 1

    def phi(x):
        return max(x, 0) ** t

    first = sum(phi(-sum(z[n]) / m_b) for n in range(m_a))
    second = sum(phi(sum(z[:, n]) / m_a) for n in range(m_b))
    return second - first


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (3, 3), (4, 3), (6, 5)])
def test_the_jury_is_the_published_network(shape):
    margins = np.random.default_rng(0).normal(size=(200, *shape))
    expected = [published(np.where(m > 0, 1, -1)) for m in margins]
    scores = jury(margins)
    assert_allclose(scores, expected, atol=2e-12)
    decided = np.abs(expected) > 1e-12
    assert_array_equal(scores[decided] > 0, np.array(expected)[decided] > 0)
    tied = ~decided
    assert_array_equal(scores[tied] > 0, margins[tied].sum(axis=(1, 2)) > 0)


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (5, 5), (10, 10), (1, 10)])
def test_a_cluster_that_wins_all_its_matches_wins_for_its_class(shape):
    others = -np.ones((1, *shape))  # the first class wins everything else
    others[:, :, 0] = 1
    assert jury(others)[0] > 0
    assert activation_power(*shape) >= 2


def test_swapping_the_classes_turns_the_scores_round():
    margins = np.random.default_rng(0).normal(size=(50, 3, 4))
    assert_allclose(jury(-margins.transpose(0, 2, 1)), -jury(margins))


def test_many_classes_count_their_wins():
    rng = np.random.default_rng(0)
    verdicts = rng.normal(size=(300, 6)) * 10
    scores = wins_and_scores(verdicts)
    for row, values in zip(verdicts, scores, strict=True):
        beats = np.zeros((4, 4), bool)
        for value, (a, b) in zip(row, combinations(range(4), 2), strict=True):
            beats[(b, a) if value > 0 else (a, b)] = True
        assert_array_equal(np.round(values), beats.sum(axis=1))
        if (beats.sum(axis=1) == 3).any():
            assert values.argmax() == beats.sum(axis=1).argmax()


# The estimator -----------------------------------------------------------------------------------


def literal_node(node):
    if node == "ipcac":
        return IPCAC(threshold="mahalanobis")
    return TruncatedIPCAC("log2", threshold="mahalanobis")


@pytest.mark.parametrize("node", ["truncated", "ipcac"])
@pytest.mark.parametrize("shape", [(120, 5), (24, 60)], ids=["tall", "wide"])
def test_one_cluster_a_class_is_the_node_itself(node, shape):
    X, y = labelled(*shape, n_classes=2, seed=2)
    new = X.mean(axis=0) + 3 * np.random.default_rng(0).normal(size=(300, shape[1]))
    ours = MixtureIPCAC(1, node=node).fit(X, y)
    alone = literal_node(node).fit(X, y)
    assert ours.nodes_.shape == (1, 2)
    assert_array_equal(ours.predict(new), alone.predict(new))
    assert_allclose(ours.components_, alone.components_, atol=1e-10)
    sign = np.sign(ours.components_[0] @ alone.coef_[0])
    assert_allclose(ours.thresholds_, sign * alone.threshold_, atol=1e-8)


@pytest.mark.parametrize("node", ["truncated", "ipcac"])
def test_nodes_are_classifiers_of_the_rows_of_two_clusters(node):
    X, y = checkerboard()
    model = MixtureIPCAC(node=node, random_state=0).fit(X, y)
    assert_array_equal(model.cluster_counts_, np.full(9, 40))
    for component, threshold, (i, j) in zip(
        model.components_, model.thresholds_, model.nodes_, strict=True
    ):
        assert model.cluster_classes_[i] != model.cluster_classes_[j]
        rows = np.isin(model.cluster_labels_, [i, j])
        alone = literal_node(node).fit(X[rows], model.cluster_labels_[rows] == j)
        sign = np.sign(alone.coef_[0] @ alone.components_[0])
        assert_allclose(component, sign * alone.components_[0], atol=1e-9)
        cut = alone.threshold_ + (alone.mean_ - model.mean_) @ component
        assert_allclose(threshold, cut, atol=1e-8)


@pytest.mark.parametrize("node", ["truncated", "ipcac"])
def test_pairs_of_fewer_rows_than_features_are_solved_by_their_rows(node, monkeypatch):
    X, y = labelled(120, 60, n_classes=4, seed=3)
    quick = MixtureIPCAC(node=node, random_state=0).fit(X, y)
    assert quick.cluster_counts_[quick.nodes_].sum(axis=1).min() < 60
    monkeypatch.setattr(
        ipcac_mixture,
        "moments_of_pair",
        lambda moments, X, labels, pair: moments.select_classes(pair),
    )
    slow = MixtureIPCAC(node=node, random_state=0).fit(X, y)
    assert_array_equal(quick.nodes_, slow.nodes_)
    assert_allclose(quick.components_, slow.components_, atol=1e-9)
    assert_allclose(quick.thresholds_, slow.thresholds_, atol=1e-9)
    assert_allclose(quick.explained_ratio_, slow.explained_ratio_, atol=1e-9)


def test_attributes_show_clusters_and_nodes():
    X, y = checkerboard(n_classes=3)
    names = np.array(["ash", "beech", "cedar"])[y]
    model = MixtureIPCAC(random_state=0, node="truncated").fit(X, names)
    k = len(model.cluster_classes_)
    assert k == 9
    assert_array_equal(np.sort(model.cluster_classes_), model.cluster_classes_)
    assert_array_equal(model.classes_[model.cluster_classes_[model.cluster_labels_]], names)
    for c in range(k):
        rows = model.cluster_labels_ == c
        assert model.cluster_counts_[c] == rows.sum()
        assert_allclose(model.cluster_means_[c], X[rows].mean(axis=0))
    assert len(model.nodes_) == len(model.components_) == 27
    assert_allclose(model.mean_, X.mean(axis=0))
    assert_allclose(model.means_, [X[y == c].mean(axis=0) for c in range(3)])
    assert_allclose(model.explained_ratio_.sum(), 1)
    assert model.rank_ == 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_the_juries_of_all_pairs_of_classes(n_classes):
    X, y = checkerboard(n_classes=n_classes)
    model = MixtureIPCAC(random_state=0, node="truncated").fit(X, y)
    new = np.random.default_rng(0).uniform(-4, 20, size=(300, 2))
    margins = model.transform(new) - model.thresholds_
    lookup = {}
    for k, (i, j) in enumerate(model.nodes_):
        lookup[i, j], lookup[j, i] = margins[:, k], -margins[:, k]
    clusters = [np.flatnonzero(model.cluster_classes_ == c) for c in range(n_classes)]
    verdicts = np.stack(
        [
            jury(
                np.stack(
                    [np.stack([lookup[i, j] for j in clusters[b]], 1) for i in clusters[a]], 1
                )
            )
            for a, b in combinations(range(n_classes), 2)
        ],
        axis=1,
    )
    expected = verdicts[:, 0] if n_classes == 2 else wins_and_scores(verdicts)
    scores = model.decision_function(new)
    if n_classes == 2:
        assert_array_equal(np.sign(scores), np.sign(expected))
    else:
        assert_allclose(scores, expected, atol=1e-9)
    winners = (expected > 0).astype(int) if n_classes == 2 else expected.argmax(axis=1)
    assert_array_equal(model.predict(new), winners)
    assert_array_equal(model.predict_proba(new).argmax(axis=1), winners)
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)


def test_log_odds_are_those_of_the_hardest_matches():
    log_odds = np.random.default_rng(0).normal(size=(50, 3, 2))
    mirrored = minimax_log_odds(-log_odds.transpose(0, 2, 1))
    assert_allclose(minimax_log_odds(log_odds), -mirrored)
    assert_allclose(minimax_log_odds(log_odds[:, :1, :1]), log_odds[:, 0, 0])


@pytest.mark.parametrize("node", ["truncated", "ipcac"])
def test_one_cluster_a_class_has_the_probabilities_of_the_node(node):
    X, y = labelled(60, 20, n_classes=2)
    alone = literal_node(node).fit(X, y)
    model = MixtureIPCAC(1, node=node).fit(X, y)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-9)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_a_classifier_may_be_the_node():
    X, y = labelled(60, 20, n_classes=2)
    model = MixtureIPCAC(1, node=TruncatedIPCAC(3, threshold="mahalanobis")).fit(X, y)
    alone = TruncatedIPCAC(3, threshold="mahalanobis").fit(X, y)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-9)


OTHER_NODES = [
    KernelIPCAC(),
    IPCAC(threshold="accuracy"),
    TruncatedIPCAC("auto"),
    LogisticRegression(),
    SVC(),
    make_pipeline(StandardScaler(), LocalQDA()),
]


@pytest.mark.parametrize("node", OTHER_NODES, ids=lambda node: type(node).__name__)
def test_one_cluster_a_class_is_the_other_node_itself(node):
    X, y = labelled(80, 4, n_classes=2)
    new = X.mean(axis=0) + 3 * np.random.default_rng(0).normal(size=(200, 4))
    model, alone = MixtureIPCAC(1, node=node).fit(X, y), clone(node).fit(X, y)
    assert_array_equal(model.predict(new), alone.predict(new))
    assert_array_equal(np.sign(model.decision_function(new)) > 0, model.predict(new) == 1)
    if hasattr(alone, "predict_proba"):
        assert_allclose(model.predict_proba(new), alone.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_other_nodes_are_fitted_to_the_rows_of_two_clusters(n_classes):
    X, y = checkerboard(n_classes=n_classes)
    model = MixtureIPCAC(node=LogisticRegression(), random_state=0).fit(X, y)
    assert_array_equal(model.cluster_counts_, np.full(9, 40))
    for node, (i, j) in zip(model.estimators_, model.nodes_, strict=True):
        rows = np.isin(model.cluster_labels_, [i, j])
        alone = LogisticRegression().fit(X[rows], model.cluster_labels_[rows] == j)
        assert_allclose(node.coef_, alone.coef_)
    new, expected = checkerboard(n_classes=n_classes, seed=1)
    assert model.score(new, expected) > 0.95
    assert model.transform(new).shape == (len(new), len(model.nodes_))
    assert len(model.get_feature_names_out()) == len(model.nodes_)
    assert model.components_.shape == (0, 2)


def test_a_model_is_refitted_with_other_nodes_and_kept_in_files(tmp_path):
    X, y = checkerboard()
    first = MixtureIPCAC(random_state=0, node="truncated").fit(X, y)
    assert first.estimators_ is None
    second = clone(first).set_params(node=KernelIPCAC()).fit(X, y)
    again = first.set_params(node=KernelIPCAC()).fit(X, y)
    assert_array_equal(again.predict_proba(X), second.predict_proba(X))
    save(second, tmp_path / "a.model")
    assert_array_equal(load(tmp_path / "a.model").predict_proba(X), second.predict_proba(X))
    back = second.set_params(node="truncated").fit(X, y)
    fresh = MixtureIPCAC(random_state=0, node="truncated").fit(X, y)
    assert_array_equal(back.decision_function(X), fresh.decision_function(X))


def test_probabilities_of_mixtures_are_calibrated():
    train, new = (
        datasets.make_gaussian_mixtures(n, 40, e=1.0, random_state=s)
        for n, s in ((60, 0), (400, 1))
    )
    model = MixtureIPCAC(random_state=0).fit(train.data, train.target)
    p = model.predict_proba(new.data)[:, 1]
    bins = np.minimum((10 * p).astype(int), 9)
    error = sum(abs(p[bins == b].sum() - new.target[bins == b].sum()) for b in range(10))
    assert error / len(p) < 0.05
    assert 0.6 < model.score(new.data, new.target) < 0.99


def test_the_criterion_of_merging_is_a_parameter():
    X, y = blobs(30, CENTRES[:2] * 0.4)
    y = np.r_[y[:0], np.zeros(60, int)]
    X, y = np.vstack([X, X + 50]), np.r_[y, np.ones(60, int)]
    n_clusters = [
        len(MixtureIPCAC(merge=merge, random_state=0, node="truncated").fit(X, y).cluster_classes_)
        for merge in (False, 1.0, 6.0)
    ]
    assert n_clusters == [4, 4, 2]


def test_boards_that_no_line_separates_are_learned():
    for n_classes in (2, 3):
        X, y = checkerboard(n_classes=n_classes)
        new, expected = checkerboard(seed=1, n_classes=n_classes)
        assert IPCAC().fit(X, y).score(new, expected) < 0.7
        assert MixtureIPCAC(random_state=0, node="truncated").fit(X, y).score(new, expected) > 0.98


def test_mixtures_beat_a_support_vector_machine_in_many_dimensions():
    bunch = datasets.make_gaussian_mixtures(60, 100, e=1.0, random_state=0)
    scores = [
        np.mean(cross_val_score(model, bunch.data, bunch.target, cv=4))
        for model in (MixtureIPCAC(random_state=0, node="truncated"), SVC())
    ]
    assert scores[0] > scores[1] + 0.05


def test_renaming_the_classes_changes_no_decision():
    X, y = checkerboard(n_classes=3)
    new = np.random.default_rng(0).uniform(-4, 20, size=(500, 2))
    names = np.array([7, 3, 5])
    plain = MixtureIPCAC(random_state=0, node="truncated").fit(X, y).predict(new)
    renamed = MixtureIPCAC(random_state=0, node="truncated").fit(X, names[y]).predict(new)
    # k-means starts elsewhere, but on these data it ends at the same clusters
    assert_array_equal(names[plain], renamed)


def test_expectation_maximisation_is_an_option(monkeypatch):
    X, y = checkerboard()
    model = MixtureIPCAC(em=True, random_state=0, node="truncated").fit(X, y)
    assert model.score(X, y) > 0.98
    monkeypatch.setattr(ipcac_mixture, "em_clusters", lambda X, labels, rng: 0 * labels)
    assert len(MixtureIPCAC(em=True, random_state=0, node="truncated").fit(X, y).nodes_) == 1
    assert len(MixtureIPCAC(em=False, random_state=0, node="truncated").fit(X, y).nodes_) == 20
    with pytest.raises(ValueError, match="em=True needs dense rows"):
        MixtureIPCAC(em=True, node="truncated").fit(sp.csr_array(X), y)


def test_merging_is_an_option():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2)) * [8, 1] + np.repeat([[0, 0], [0, 9]], 600, axis=0)
    y = np.repeat([0, 1], 600)
    kept = MixtureIPCAC(2, merge=False, random_state=0, node="truncated").fit(X, y)
    merged = MixtureIPCAC(2, random_state=0, node="truncated").fit(X, y)
    assert_array_equal(kept.cluster_classes_, [0, 0, 1, 1])
    assert_array_equal(merged.cluster_classes_, [0, 1])


def test_sparse_rows_have_the_clusters_of_dense_rows():
    X, y = checkerboard()
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense, sparse = (
        MixtureIPCAC(random_state=0, node="truncated").fit(f(X), y)
        for f in (np.asarray, sp.csr_array)
    )
    assert same_partition(dense.cluster_labels_, sparse.cluster_labels_)
    assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))


def test_clusters_without_distance_leave_the_larger():
    X = np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1))
    y = np.r_[np.zeros(12, int), np.ones(8, int)]
    for labels, winner in ((y, 0), (1 - y, 1)):
        model = MixtureIPCAC(random_state=0, merge=False, node="truncated").fit(X, labels)
        assert len(model.cluster_classes_) == 8
        assert set(model.predict(X)) == {winner}


def test_rows_given_to_both_classes_are_told_from_themselves_by_nothing():
    rng = np.random.default_rng(0)
    X, y = labelled(60, 13, n_classes=2)
    far = 40 * rng.normal(size=(1, 13)) + 0.1 * rng.normal(size=(8, 13))
    X, y = np.vstack([X, far, far * (1 + 4e-16)]), np.r_[y, np.repeat([0, 1], 8)]
    model = MixtureIPCAC(merge="sigma", random_state=0, node="truncated").fit(X, y)
    alone = np.flatnonzero(model.cluster_counts_ == 8)
    means = model.cluster_means_[alone]
    assert len(alone) == 2
    assert 0 < np.abs(means[0] - means[1]).max() < 1e-12
    node = np.flatnonzero((np.sort(model.nodes_) == alone).all(axis=1))
    assert_array_equal(model.components_[node], np.zeros((1, 13)))
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_feature_that_is_constant_in_two_clusters_has_no_weight_between_them(make):
    X, y = checkerboard()
    # a third feature tells the column of the board, in thirds that no sum is exact for
    column = np.round(X[:, :1] / 8) / 3 + 7.1
    model = MixtureIPCAC(random_state=0, node="truncated").fit(make(np.c_[X, column]), y)
    same = np.array(
        [np.ptp(column[np.isin(model.cluster_labels_, node)]) == 0 for node in model.nodes_]
    )
    assert 0 < same.sum() < len(same)
    assert_array_equal(model.components_[same, 2], 0)
    assert np.isfinite(model.components_).all()


def test_the_offset_of_the_data_does_not_matter():
    X, y = checkerboard()
    plain = MixtureIPCAC(random_state=0, node="truncated").fit(X, y)
    far = MixtureIPCAC(random_state=0, node="truncated").fit(X + 1e6, y)
    assert same_partition(plain.cluster_labels_, far.cluster_labels_)
    new = np.random.default_rng(0).uniform(-4, 20, size=(300, 2))
    assert_array_equal(far.predict(new + 1e6), plain.predict(new))


@pytest.mark.parametrize(
    ("parameter", "value"), [("max_clusters", 0), ("em", 1), ("merge", "no"), ("node", "svm")]
)
def test_senseless_parameters_are_refused(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter}={value!r} is not valid"):
        MixtureIPCAC(node="truncated").set_params(**{parameter: value}).fit(*TALL)


def test_random_states_repeat():
    X, y = WIDE
    one, same = (clone(MixtureIPCAC(random_state=3, node="truncated")).fit(X, y) for _ in range(2))
    assert_array_equal(one.components_, same.components_)


# Moments of clusters ----------------------------------------------------------------------------


@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_moments_of_some_classes_are_those_of_their_rows(X, y):
    every = ClassMoments.from_data(X, y, per_class=True)
    two = every.select_classes(np.array([0, 2]))
    alone = ClassMoments.from_data(X[y != 1], y[y != 1], per_class=True)
    for attribute in ("classes", "counts", "means", "mean", "Sw", "Sb", "class_scatters"):
        assert_allclose(getattr(two, attribute), getattr(alone, attribute), atol=1e-10)
    with pytest.raises(ValueError, match="class scatters were not kept"):
        ClassMoments.from_data(X, y).select_classes(np.array([0]))


@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_moments_of_joined_classes_are_those_of_their_rows(X, y):
    joined = ClassMoments.from_data(X, y, per_class=True).join_classes(
        np.arange(2), np.array([0, 1, 0])
    )
    alone = ClassMoments.from_data(X, y == 1)
    for attribute in ("counts", "means", "mean", "Sw", "Sb"):
        assert_allclose(getattr(joined, attribute), getattr(alone, attribute), atol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_moments_of_some_features_are_those_of_their_columns(X, y, make):
    chosen = np.arange(X.shape[1]) % 3 != 1
    some = ClassMoments.from_data(make(X), y, per_class=True).select_columns(chosen)
    alone = ClassMoments.from_data(X[:, chosen], y, per_class=True)
    for attribute in ("means", "mean", "Sw", "Sb", "class_scatters"):
        assert_allclose(getattr(some, attribute), getattr(alone, attribute), atol=1e-10)
    assert_allclose(some.total_diagonal(), np.diagonal(alone.St))


def test_a_fit_that_fails_changes_nothing():
    X, y = checkerboard()
    model = MixtureIPCAC(random_state=0, em=True, node="truncated")
    with pytest.raises(ValueError, match="em=True needs dense rows"):
        model.fit(sp.csr_array(X), y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    expected = model.fit(X, y).decision_function(X)
    with pytest.raises(ValueError, match="em=True needs dense rows"):
        model.fit(sp.csr_array(np.c_[X, X]), np.char.add("class ", y.astype(str)))
    assert_array_equal(model.decision_function(X), expected)
    assert set(model.predict(X)) == {0, 1}


def test_judging_many_rows_holds_few_margins():
    X, of = blobs(20, np.random.default_rng(0).uniform(0, 400, size=(36, 2)))
    y = of % 2
    model = MixtureIPCAC(18, merge=False, random_state=0, node="truncated").fit(X, y)
    n_nodes = len(model.nodes_)
    assert n_nodes > 100
    many = np.tile(X, (200, 1))
    assert_array_equal(model.predict(many[:400]), model.predict(many)[:400])
    tracemalloc.start()
    model.predict(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(many) * n_nodes * 8 / 2


def test_rows_are_checked_once_and_named_by_their_number():
    X, y = checkerboard()
    model = MixtureIPCAC(random_state=0, node="truncated").fit(X, y)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(X)


@pytest.mark.parametrize("shape", [(15, 15), (15, 12), (10, 10), (4, 15), (2, 2), (40, 40)])
def test_the_jury_is_right_to_the_last_vote(shape):
    rng = np.random.default_rng(0)
    bias = rng.uniform(-1, 1, size=(400, 1, 1))
    wins = np.where(rng.normal(size=(400, *shape)) + bias > 0, 1, -1)
    margins = wins * rng.exponential(size=wins.shape) ** 3
    t = activation_power(*shape)
    expected = []
    for row in wins:
        second = sum(Fraction(max(int(s), 0), shape[0]) ** t for s in row.sum(axis=0))
        first = sum(Fraction(max(-int(s), 0), shape[1]) ** t for s in row.sum(axis=1))
        expected.append(second - first)
    tied = np.array([e == 0 for e in expected])
    scores = jury(margins)
    assert_array_equal(scores[~tied] > 0, np.array([e > 0 for e in expected])[~tied])
    assert_array_equal(scores[tied] > 0, margins[tied].sum(axis=(1, 2)) > 0)
    decided = [float(e) for e, tie in zip(expected, tied, strict=True) if not tie]
    assert_allclose(scores[~tied], decided, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-7, 1e7])
def test_expectation_maximisation_is_free_of_scale_and_offset(factor):
    rng = np.random.default_rng(0)
    of = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) * [12, 0.5] + np.c_[np.zeros(600), 5 * of]
    labels = np.where(rng.random(600) < 0.15, 1 - of, of)
    expected = em_clusters(X, labels, state())
    assert_array_equal(em_clusters(factor * X, labels, state()), expected)
    assert_array_equal(em_clusters(factor * (X + 1000), labels, state()), expected)
    coinciding = np.repeat([[1.0, 2.0], [3.0, 2.0]], 5, axis=0)
    labels = np.repeat([0, 1], 5)
    assert same_partition(em_clusters(factor * coinciding, labels, state()), labels)
