"""Normals of each class against the rest, without repetitions."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    SupportVectorProjection,
)
from separatrix.margin import projection
from separatrix.margin.hyperplane import Hyperplane
from separatrix.margin.planes import find_planes
from separatrix.margin.projection import (
    keep_planes,
    order_elimination,
    redundancy_distances,
)
from separatrix.moments.labelled import LabelledRows
from tests.discovery import labelled
from tests.margin.margin_data import (
    AS_LIBSVM,
    angle,
    every_data,
    svc,
)


@every_data
def test_projections_are_the_normals_of_each_class_against_the_rest(X, y):
    model = SupportVectorProjection(C=0.1).fit(X, y)
    classes = np.unique(y)
    assert set(model.class_of_component_) == set(classes if len(classes) > 2 else classes[1:])
    for w, c, accuracy in zip(
        model.components_, model.class_of_component_, model.accuracy_, strict=True
    ):
        theirs = svc(X, y == c, 0.1)
        assert angle(w, theirs.coef_[0]) < AS_LIBSVM
        assert_allclose(np.linalg.norm(w), 1)
        assert_allclose(accuracy, theirs.score(X - X.mean(axis=0), y == c), atol=0.02)


def printed_elimination(distance, redundancy):
    """Figure 3.2, except that one direction is always left."""
    left = list(range(len(distance)))
    while len(left) > 1:
        d = distance[np.ix_(left, left)]
        if d.min() > redundancy or redundancy == 0:
            break
        left.pop(int(np.unravel_index(d.argmin(), d.shape)[0]))
    return set(left)


def test_one_path_of_elimination_serves_every_threshold():
    rng = np.random.default_rng(0)
    W, accuracy = rng.standard_normal((4, 9)), rng.uniform(0.6, 1, 9)
    distance = redundancy_distances(W, accuracy)
    path = order_elimination(distance, np.ones(9))
    sizes = set()
    assert (np.diff(path.distances) >= 0).all()
    for redundancy in [0, *path.distances, *path.distances - 1e-9, 1]:
        kept = path.kept(1 + int(np.sum(path.distances > redundancy)))
        assert set(kept) == printed_elimination(distance, redundancy)
        sizes.add(len(kept))
    assert {1, 9} <= sizes
    assert len(sizes) > 3
    assert_array_equal(path.kept(0), path.order[::-1])


def test_the_distance_is_the_printed_one_with_accuracy():
    W = np.array([[1.0, 1.0, -1.0], [0.0, 1.0, 0.1]])
    r = np.array([0.9, 0.6, 0.8])
    full = redundancy_distances(W, r)
    assert_allclose(full[1, 0], (np.pi / 4) * 0.6 / 0.9 * 0.5 / np.pi)
    assert full[1, 0] < full[0, 1]  # the worse of a pair is the nearer one, and goes
    obtuse = np.pi - np.arctan(0.1)
    assert_allclose(full[2, 0], obtuse * 0.8 / 0.9 * 0.5 / np.pi)


def test_redundancy_leaves_the_end_of_the_path():
    X, y = labelled(200, 10, n_classes=6)
    all_of_them = SupportVectorProjection().fit(X, y)
    path = all_of_them.elimination_distances_
    assert all_of_them.n_components_ == 6 == len(path) + 1
    assert_array_equal(all_of_them.class_of_component_, all_of_them.eliminated_[::-1])
    some = SupportVectorProjection(redundancy=0.4).fit(X, y)
    assert some.n_components_ == 4
    assert_array_equal(some.eliminated_, all_of_them.eliminated_)
    assert_allclose(some.components_, all_of_them.components_[: some.n_components_], atol=1e-12)
    assert SupportVectorProjection(redundancy=1.0).fit(X, y).n_components_ == 1


def test_the_number_or_the_share_of_normals_can_be_given():
    path = order_elimination(redundancy_distances(np.eye(9), np.linspace(0.6, 1, 9)), np.ones(9))
    for number in (1, 4, 9, 20, np.int64(3)):
        assert_array_equal(path.kept(number), path.order[::-1][:number])
    for share, n_kept in [(0, 9), (0.0, 9), (0.5, 5), (0.55, 5), (0.6, 4), (1.0, 1)]:
        assert_array_equal(path.kept(share), path.order[::-1][:n_kept])
    X, y = labelled(200, 10, n_classes=6)
    every = SupportVectorProjection().fit(X, y)
    four = SupportVectorProjection(redundancy=4).fit(X, y)
    assert_allclose(four.components_, every.components_[:4], atol=1e-12)
    for senseless in (True, 2.5, -1):
        with pytest.raises(ValueError, match="redundancy="):
            SupportVectorProjection(redundancy=senseless).fit(X, y)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_one_normal_for_each_pair_of_classes(class_weight):
    X, y = labelled(80, 5)
    labels = np.array([10, 7, 8])[y]
    weights = {10: 3.0} if isinstance(class_weight, dict) else class_weight
    model = SupportVectorProjection(multiclass="ovo", class_weight=weights).fit(X + 50, labels)
    assert set(model.sides_) == {(8, 7), (10, 7), (10, 8)}
    pairwise = []
    for w, b, margin, (second, first), support, accuracy in zip(
        model.components_,
        model.intercepts_,
        model.margins_,
        model.sides_,
        model.support_,
        model.accuracy_,
        strict=True,
    ):
        pair = np.flatnonzero((labels == first) | (labels == second))
        given = (
            {c: k for c, k in weights.items() if c in (first, second)}
            if isinstance(weights, dict)
            else weights
        )
        theirs = svc(X[pair], labels[pair], class_weight=given)
        expected = theirs.decision_function(X[pair] - X[pair].mean(axis=0))
        values = ((X + 50) @ w + b) / margin
        assert_allclose(values[pair], expected, atol=10 * AS_LIBSVM)
        assert_array_equal(support, np.sort(pair[theirs.support_]))
        assert_allclose(accuracy, np.mean((expected > 0) == (labels[pair] == second)))
        pairwise.append(np.where(values > 0, second, first))
    votes = np.array([np.sum(np.array(pairwise) == c, axis=0) for c in model.classes_]).T
    decision = model.decision_function(X + 50)
    assert (np.abs(decision - votes) < 0.5).all()
    assert_array_equal(model.predict(X + 50), model.classes_[decision.argmax(axis=1)])
    assert model.score(X + 50, labels) > 0.8


def test_of_two_as_near_the_one_with_the_narrower_margin_goes():
    distance = np.array([[np.inf, 0.1, 0.4], [0.1, np.inf, 0.4], [0.4, 0.4, np.inf]])
    assert_array_equal(order_elimination(distance, np.array([3.0, 1.0, 2.0])).order, [1, 2, 0])
    assert_array_equal(order_elimination(distance, np.array([1.0, 3.0, 2.0])).order, [0, 2, 1])


def test_a_class_between_the_others_has_no_hyperplane():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 0.1 * rng.standard_normal((90, 2))
    X[:, 0] += 3.0 * (y - 1)
    for C in (0.01, 1.0, 100.0):
        model = SupportVectorProjection(C=C).fit(X, y)
        assert set(model.class_of_component_) == {0, 2}


def test_a_hyperplane_no_better_than_chance_is_no_direction(monkeypatch):
    Z = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    planes = iter([(0.0, 1.0), (-1.0, -3.0), (1.0, 0.0)])  # accuracies 1/2, 3/4, 1/4

    def find(points, signs, cost):
        w, b = next(planes)
        return Hyperplane(np.array([w]), b, True, 1)

    monkeypatch.setattr(projection, "find_planes", partial(find_planes, find=find))
    rows = LabelledRows(Z, np.array([0, 1, 2, 0]), np.arange(3))
    found = keep_planes(SupportVectorProjection(), Z, rows)
    assert_array_equal(found.kept.positive, [1])
    assert_allclose(found.kept.accuracy, [0.75])
    assert_array_equal(found.every.positive, [0, 1, 2])
