"""The decision graph over pairs of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

from separatrix import IPCAC, DDAGClassifier, KernelIPCAC, TruncatedIPCAC, datasets
from tests.discovery import labelled

X, y = labelled(240, 4, n_classes=5)
X = X + np.random.default_rng(0).normal(scale=1.5, size=X.shape)  # some cycles and errors
NEW = np.random.default_rng(1).normal(scale=4, size=(300, 4))


def walked(model, row):
    """One row through the graph, a node at a time; the class and the nodes it met."""
    first, last, met = 0, len(model.classes_) - 1, []
    while first < last:
        node = model.nodes_.tolist().index([first, last])
        met.append(node)
        if model.estimators_[node].predict(row[None])[0] == model.classes_[first]:
            last -= 1
        else:
            first += 1
    return model.classes_[first], met


def test_rows_walk_the_graph():
    model = DDAGClassifier(IPCAC()).fit(X, y)
    expected = [walked(model, row)[0] for row in NEW]
    assert_array_equal(model.predict(NEW), expected)
    assert len(set(expected)) == 5


class Counting(ClassifierMixin, BaseEstimator):
    """Predicts the label nearest to the first feature, and counts the rows it is asked about."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_asked_ = self.n_calls_ = 0
        return self

    def predict(self, X):
        self.n_asked_ += len(X)
        self.n_calls_ += 1
        nearest = np.abs(np.asarray(X)[:, :1] - self.classes_).argmin(axis=1)
        return self.classes_[nearest]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_row_meets_one_node_fewer_than_there_are_classes(n_classes):
    labels = np.arange(140) % n_classes
    rows = labels[:, None] + np.zeros((140, 2))
    model = DDAGClassifier(Counting()).fit(rows, labels)
    assert len(model.estimators_) == n_classes * (n_classes - 1) // 2
    assert_array_equal(model.predict(rows), labels)
    assert sum(node.n_asked_ for node in model.estimators_) == 140 * (n_classes - 1)
    assert all(node.n_calls_ <= 1 for node in model.estimators_)


def test_each_node_knows_its_two_classes_only():
    model = DDAGClassifier(IPCAC()).fit(X, y)
    pairs = list(combinations(range(5), 2))
    assert_array_equal(model.nodes_, pairs)
    for (a, b), node in zip(pairs, model.estimators_, strict=True):
        alone = IPCAC().fit(X[np.isin(y, [a, b])], y[np.isin(y, [a, b])])
        assert_array_equal(node.coef_, alone.coef_)


def test_a_class_that_beats_every_other_wins():
    model = DDAGClassifier(IPCAC()).fit(X, y)
    wins = np.zeros((len(NEW), 5))
    for node in model.estimators_:
        winners = node.predict(NEW)
        wins[np.arange(len(NEW)), winners] += 1
    champion = wins.max(axis=1) == 4
    assert 0.5 < champion.mean() < 1
    assert_array_equal(model.predict(NEW)[champion], wins.argmax(axis=1)[champion])


def test_two_classes_are_the_classifier_itself():
    two = y < 2
    model = DDAGClassifier(IPCAC()).fit(X[two], y[two])
    assert_array_equal(model.predict(NEW), IPCAC().fit(X[two], y[two]).predict(NEW))


def test_scores_are_places_and_the_first_place_is_predicted():
    model = DDAGClassifier(IPCAC()).fit(X, y)
    scores = model.decision_function(NEW)
    assert scores.shape == (300, 5)
    assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(NEW))
    assert_array_equal(np.sort(np.round(scores), axis=1), np.tile(np.arange(5), (300, 1)))
    ranks = model.rank_classes(NEW)
    assert_array_equal(ranks[:, 0], model.predict(NEW))
    for k in range(1, 4):  # the graph of the classes that are left finds the next
        for row, rank in zip(NEW[:40], ranks[:40], strict=True):
            left = sorted(set(range(5)) - set(rank[:k].tolist()))
            while len(left) > 1:
                node = model.nodes_.tolist().index([left[0], left[-1]])
                won = model.estimators_[node].predict(row[None])[0] == left[0]
                left.pop(-1 if won else 0)
            assert rank[k] == left[0]


def test_the_second_place_is_worth_something():
    digits = datasets.load("digits")
    model = DDAGClassifier(IPCAC()).fit(digits.data[:900], digits.target[:900])
    ranks, truth = model.rank_classes(digits.data[900:]), digits.target[900:]
    among = [np.mean((ranks[:, :k] == truth[:, None]).any(axis=1)) for k in (1, 2)]
    missed = (1 - among[1]) / (1 - among[0])
    assert missed < 0.6  # by chance 8/9 of the errors would be left


def test_scores_of_two_classes_are_those_of_the_node():
    two = y < 2
    model = DDAGClassifier(LogisticRegression()).fit(X[two], y[two])
    expected = LogisticRegression().fit(X[two], y[two]).decision_function(NEW)
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=1e-6)
    assert_array_equal(model.rank_classes(NEW)[:, 0], model.predict(NEW))


PRIORS = np.array([0.6, 0.1, 0.1, 0.1, 0.1])


def test_nodes_have_the_priors_of_their_two_classes():
    model = DDAGClassifier(IPCAC(), priors=PRIORS).fit(X, y)
    for (a, b), node in zip(model.nodes_, model.estimators_, strict=True):
        given = PRIORS[[a, b]] / PRIORS[[a, b]].sum()
        rows = np.isin(y, [a, b])
        alone = IPCAC(priors=given).fit(X[rows], y[rows])
        assert_array_equal(node.predict(NEW), alone.predict(NEW))
    plain = DDAGClassifier(IPCAC()).fit(X, y)
    assert np.mean(model.predict(NEW) == 0) > np.mean(plain.predict(NEW) == 0)


def test_nodes_without_priors_weigh_their_classes():
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    model = DDAGClassifier(inside, priors=PRIORS).fit(X, y)
    rows = np.isin(y, [0, 4])
    share = np.array([6, 1]) / 7 * rows.sum() / np.bincount(y)[[0, 4]]
    alone = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight={0: share[0], 4: share[1]})
    )
    alone.fit(X[rows], y[rows])
    assert_array_equal(model.estimators_[3].predict(NEW), alone.predict(NEW))


def test_a_class_of_prior_zero_is_never_predicted_unless_both_are():
    model = DDAGClassifier(IPCAC(), priors=[0.5, 0.5, 0, 0, 0]).fit(X, y)
    assert set(model.predict(NEW)) == {0, 1}
    assert_array_equal(model.estimators_[-1].priors, [0.5, 0.5])


def test_priors_that_cannot_be_are_errors():
    with pytest.raises(ValueError, match="no parameter priors or class_weight"):
        DDAGClassifier(Counting(), priors=PRIORS).fit(X, y)
    with pytest.raises(ValueError, match="prior of zero"):
        DDAGClassifier(SVC(), priors=[0.5, 0.5, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="priors has shape"):
        DDAGClassifier(IPCAC(), priors=[0.5, 0.5]).fit(X, y)


@pytest.mark.parametrize("reducer", [LogisticRegression(), "PCA", TruncatedIPCAC])
def test_what_is_no_reducer_is_an_error(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* is no transformer"):
        DDAGClassifier(IPCAC(), reducer=reducer).fit(X, y)


def test_the_reducer_sees_all_classes_and_the_nodes_its_rows():
    model = DDAGClassifier(KernelIPCAC(truncate=True), reducer=TruncatedIPCAC()).fit(X, y)
    reducer = TruncatedIPCAC().fit(X, y)
    assert_array_equal(model.reducer_.components_, reducer.components_)
    nodes = DDAGClassifier(KernelIPCAC(truncate=True)).fit(reducer.transform(X), y)
    assert_array_equal(model.predict(NEW), nodes.predict(reducer.transform(NEW)))
    assert nodes.reducer_ is None


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_nodes_may_be_fitted_in_parallel(n_jobs):
    model = DDAGClassifier(IPCAC(), n_jobs=n_jobs).fit(X, y)
    assert_array_equal(model.predict(NEW), DDAGClassifier(IPCAC()).fit(X, y).predict(NEW))


def test_precomputed_kernels_are_cut_for_each_node():
    given = DDAGClassifier(SVC(kernel="precomputed"))
    assert get_tags(given).input_tags.pairwise
    given.fit(rbf_kernel(X, gamma=0.1), y)
    named = DDAGClassifier(SVC(gamma=0.1)).fit(X, y)
    assert_array_equal(given.predict(rbf_kernel(NEW, X, gamma=0.1)), named.predict(NEW))
    scores = cross_val_score(
        DDAGClassifier(KernelIPCAC("precomputed")), rbf_kernel(X, gamma=0.1), y, cv=3
    )
    assert np.mean(scores) > 0.5


def test_pipelines_inside_and_outside_and_grid_search():
    inside = DDAGClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    outside = make_pipeline(StandardScaler(), DDAGClassifier(KernelIPCAC()))
    for model in (inside, outside):
        assert model.fit(X, y).score(X, y) > 0.6
    grid = {"ddagclassifier__estimator__ridge": [0.01, 1.0]}
    search = GridSearchCV(outside, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    swap = GridSearchCV(DDAGClassifier(IPCAC()), {"reducer": [None, TruncatedIPCAC()]}, cv=3)
    assert swap.fit(X, y).best_score_ > 0.5


def test_names_sparse_rows_and_frames():
    names = np.array(["ash", "beech", "cedar", "fir", "oak"])[y]
    model = DDAGClassifier(IPCAC()).fit(pd.DataFrame(X, columns=list("abcd")), names)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert set(model.predict(pd.DataFrame(NEW, columns=list("abcd")))) <= set(names)
    sparse = DDAGClassifier(IPCAC()).fit(sp.csr_array(X), y)
    assert_array_equal(
        sparse.predict(sp.csr_array(NEW)), DDAGClassifier(IPCAC()).fit(X, y).predict(NEW)
    )
    assert get_tags(sparse).input_tags.sparse


def test_a_rare_class_is_found():
    weights = np.array([0.6, 0.3, 0.05, 0.03, 0.02])
    bunch = datasets.make_gaussian_classes(
        1500, 8, 5, separation=3.0, weights=weights, random_state=0
    )
    model = DDAGClassifier(KernelIPCAC(truncate=True)).fit(bunch.data[:1000], bunch.target[:1000])
    predicted = model.predict(bunch.data[1000:])
    recall = [np.mean(predicted[bunch.target[1000:] == c] == c) for c in range(5)]
    assert min(recall) > 0.6


def test_what_cannot_be_is_an_error():
    with pytest.raises(ValueError, match="only one class: 1"):
        DDAGClassifier(IPCAC()).fit(X, np.ones(len(X), int))
    with pytest.raises(NotFittedError):
        DDAGClassifier(IPCAC()).predict(X)
    model = DDAGClassifier(IPCAC()).fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(X[:, :3])


def test_a_fit_that_fails_changes_nothing():
    model = DDAGClassifier(IPCAC(), reducer=StandardScaler())
    model.set_params(estimator__threshold="none")
    with pytest.raises(ValueError, match="threshold='none'"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(estimator__threshold="mahalanobis")
    expected = model.fit(X, y).predict(NEW)
    model.set_params(estimator__threshold="none")
    with pytest.raises(ValueError, match="threshold='none'"):
        model.fit(X[:, :3], 1 - y)
    assert_array_equal(model.predict(NEW), expected)


def test_a_reducer_may_return_frames():
    expected = DDAGClassifier(IPCAC(), reducer=StandardScaler()).fit(X, y).predict(NEW)
    frames = StandardScaler().set_output(transform="pandas")
    given = DDAGClassifier(IPCAC(), reducer=frames).fit(X, y)
    assert_array_equal(given.predict(NEW), expected)
    with config_context(transform_output="pandas"):
        model = DDAGClassifier(IPCAC(), reducer=StandardScaler()).fit(X, y)
        assert_array_equal(model.predict(NEW), expected)


def test_a_sparse_reducer_stays_sparse():
    bins = KBinsDiscretizer(4, encode="onehot", quantile_method="averaged_inverted_cdf")
    model = DDAGClassifier(LogisticRegression(), reducer=bins).fit(X, y)
    assert sp.issparse(model._reduce(X))
    assert model.score(X, y) > 0.5


def test_the_fitted_nodes_decide_what_they_see():
    model = DDAGClassifier(SVC(kernel="precomputed")).fit(rbf_kernel(X), y)
    expected = model.predict(rbf_kernel(NEW, X))
    model.set_params(estimator=SVC())
    assert_array_equal(model.predict(rbf_kernel(NEW, X)), expected)


@pytest.mark.parametrize("estimator", [None, LinearRegression(), StandardScaler(), IPCAC, "svc"])
@pytest.mark.parametrize("reducer", [None, StandardScaler()], ids=["rows", "reduced"])
def test_what_is_no_classifier_is_an_error(estimator, reducer):
    model = DDAGClassifier(estimator, reducer=reducer)
    with pytest.raises(TypeError, match=r"estimator=.* is not a classifier"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_sum_to_one_and_the_class_that_is_predicted_has_the_largest(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(400) % n_classes
    X = rng.standard_normal((400, 4)) + 2 * np.eye(4)[y]
    model = DDAGClassifier(IPCAC()).fit(X[:200], y[:200])
    P = model.predict_proba(X[200:])
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(P.argmax(axis=1), model.predict(X[200:]))
    right = P.argmax(axis=1) == y[200:]
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.08


def test_two_classes_have_the_probabilities_of_the_only_node():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 3)) + y[:, None]
    model, alone = DDAGClassifier(IPCAC()).fit(X, y), IPCAC().fit(X, y)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X))
