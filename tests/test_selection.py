"""Choosing dimensions and parameters by rows that were held out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier

from separatrix import (
    LDG,
    FisherDiscriminant,
    GroupedDiscriminant,
    LocalFisherDiscriminant,
    MaximumMarginCriterion,
    datasets,
    merge,
)
from separatrix.selection import (
    best_rule,
    candidate_dimensions,
    dimension_path,
    draw_rows,
    draw_rows_by_class,
    greedy_rule,
    leave_one_out_scores,
    neighbour_scores,
    neighbour_shares,
    random_splits,
    search,
    split_keeping_classes,
    training_parts,
)
from tests.discovery import SHAPES, TALL, name_of, reducible_estimators

pytestmark = pytest.mark.filterwarnings("ignore:the within-class scatter has no null space")


def overlapping(n=120, d=7, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.standard_normal((n, d))
    X[:, :3] += 1.2 * rng.standard_normal((n_classes, 3))[y]
    return X, y


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_leaving_one_out_is_what_a_loop_finds_in_each_dimension(k):
    Z, y = overlapping(40, 5)
    slow = []
    for end in range(1, Z.shape[1] + 1):
        right = 0
        for i in range(len(Z)):
            rest = np.arange(len(Z)) != i
            rule = KNeighborsClassifier(k, algorithm="brute").fit(Z[rest, :end], y[rest])
            right += rule.predict(Z[[i], :end])[0] == y[i]
        slow.append(right / len(Z))
    assert_allclose(leave_one_out_scores(Z, y, n_neighbors=k), slow)


def test_held_out_scores_are_those_of_neighbours_in_each_dimension_or_some():
    Z, y = overlapping(3000)  # more pairs than are held at once
    known, new = slice(0, 2500), slice(2500, None)
    slow = [
        KNeighborsClassifier(3).fit(Z[known, :e], y[known]).score(Z[new, :e], y[new])
        for e in range(1, 8)
    ]
    names = np.array(["c", "a", "b"])[y]  # labels that do not sort as their numbers
    renamed = [
        KNeighborsClassifier(3).fit(Z[known, :e], names[known]).score(Z[new, :e], names[new])
        for e in (2, 6, 7)
    ]
    every = neighbour_scores(Z[known], y[known], Z[new], y[new], np.arange(1, 8))
    some = neighbour_scores(Z[known], names[known], Z[new], names[new], np.array([2, 6, 7]))
    assert_allclose(every, slow)
    assert_allclose(some, renamed)


def test_of_rows_at_the_same_distance_the_first_is_nearer():
    Z = np.array([[0.1], [0.3], [0.1], [0.3]])
    y = np.array([1, 0, 0, 1])
    new = np.array([[0.2]])
    scores = [
        neighbour_scores(Z[order], y[order], new, np.array([1]), np.array([1]), n_neighbors=1)[0]
        for order in ([0, 1, 2, 3], [1, 0, 2, 3], [2, 3, 0, 1])
    ]
    # |0.1 - 0.2| and |0.3 - 0.2| differ by rounding: rows with the same value tie exactly
    nearest = min((0.1 - 0.2) ** 2, (0.3 - 0.2) ** 2) == (0.1 - 0.2) ** 2
    assert scores == ([1.0, 1.0, 0.0] if nearest else [0.0, 0.0, 1.0])


def test_rows_beyond_those_that_can_vote_do_not_vote():
    # one row left: the vote of three is a vote of one
    assert_allclose(leave_one_out_scores([[0.0], [1.0]], [0, 0]), [1.0])
    assert_allclose(leave_one_out_scores([[0.0], [1.0]], [0, 1]), [0.0])


def test_the_rules():
    scores = np.array([0.5, 0.7, 0.7, 0.6, 0.9, 0.9])
    assert greedy_rule(scores) == 1
    assert best_rule(scores) == 4
    assert greedy_rule(np.array([0.1, 0.2, 0.3])) == 2
    assert best_rule(np.array([0.3, 0.1 + 0.2])) == 0  # the same but for rounding
    assert_array_equal(candidate_dimensions(10), [9, 10, 11, 12, 14, 18, 26, 42])


def test_candidates_are_the_only_dimensions_that_rule_takes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    y = rng.integers(2, size=200)
    X[:, 7] *= 5  # principal axis 1
    path = dimension_path(PCA(), X, y, rule="candidates", n_folds=3)
    assert path.n_components in (1, 2, 3, 4, 6, 10, 18, 30)
    at = np.isin(path.dimensions, candidate_dimensions(2))
    best = path.scores.mean(axis=0)[at].max()
    assert path.scores.mean(axis=0)[path.n_components - 1] == best


def test_folds_are_stratified_and_keep_singletons():
    y = np.repeat([0, 1, 2, 3], [17, 8, 4, 1])
    parts = training_parts(y, 4)
    for fit, held in parts:
        assert set(y[fit]) == {0, 1, 2, 3}
        assert_array_equal(np.sort(np.r_[fit, held]), np.arange(30))
    for c in range(3):  # a row alone in its class takes the place of one of the largest
        assert np.ptp([np.count_nonzero(y[held] == c) for _, held in parts]) <= 1 + (c == 0)
    assert_array_equal(np.sort(np.concatenate([held for _, held in parts])), np.arange(29))
    assert_array_equal(training_parts(y, 4)[0][1], parts[0][1])
    assert not np.array_equal(training_parts(y, 4, 1)[0][1], parts[0][1])


def test_each_class_is_split_by_its_share_and_single_rows_train():
    codes = np.repeat([0, 1, 2, 3], [40, 10, 2, 1])
    (train, test), (_, other) = random_splits(codes, 2, 0.3)
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(53))
    assert np.abs(np.bincount(codes[test], minlength=4) - [12, 3, 0.6, 0]).max() <= 1
    assert_array_equal(test, random_splits(codes, 1, 0.3)[0][1])
    assert not np.array_equal(test, other)
    assert not np.array_equal(test, random_splits(codes, 1, 0.3, 1)[0][1])


def test_large_shares_leave_a_row_of_each_class_to_train():
    codes = np.repeat([0, 1], [40, 3])
    for train, _ in random_splits(codes, 20, 0.99):
        assert np.bincount(codes[train]).min() >= 1


def test_rows_that_are_all_alone_in_their_class_cannot_be_held_out():
    assert training_parts(np.arange(5), 5) == []
    assert random_splits(np.arange(5), 3, 0.3) == []


def test_some_rows_keep_the_shares_of_classes_and_two_rows_of_each():
    codes = np.repeat([0, 1, 2], [800, 190, 10])
    some = draw_rows_by_class(codes, 100, 0)
    assert np.bincount(codes[some]).tolist() == [80, 19, 2]
    assert_array_equal(draw_rows_by_class(codes, 1000, 0), np.arange(1000))


def test_drawn_rows_are_ascending_and_different():
    rows = draw_rows(100, 30, 0)
    assert len(rows) == 30
    assert (np.diff(rows) > 0).all()
    assert_array_equal(rows, draw_rows(100, 30, 0))
    assert not np.array_equal(rows, draw_rows(100, 30, 1))
    assert_array_equal(draw_rows(100, 100, 0), np.arange(100))


@pytest.mark.parametrize("make", [PCA, FisherDiscriminant, LocalFisherDiscriminant])
def test_a_path_is_refitting_by_hand(make):
    X, y = overlapping()
    path = dimension_path(make(), X, y, n_folds=4, random_state=3)
    for row, (fit, held) in zip(path.scores, training_parts(y, 4, 3), strict=True):
        for k, score in zip(path.dimensions, row, strict=True):
            model = make(n_components=int(k)).fit(X[fit], y[fit])
            rule = KNeighborsClassifier(3).fit(model.transform(X[fit]), y[fit])
            assert_allclose(score, rule.score(model.transform(X[held]), y[held]))
    assert path.n_components == path.dimensions[path.scores.mean(axis=0).argmax()]


def test_a_path_of_groups_counts_directions_of_each_group():
    X, y = overlapping(200, 8, 4)
    path = dimension_path(GroupedDiscriminant(2), X, y)
    assert_array_equal(path.dimensions, [1, 2, 3])
    for row, (fit, held) in zip(path.scores, training_parts(y, 5), strict=True):
        for k, score in zip(path.dimensions, row, strict=True):
            model = GroupedDiscriminant(2, n_components=int(k)).fit(X[fit], y[fit])
            rule = KNeighborsClassifier(3).fit(model.transform(X[fit]), y[fit])
            assert_allclose(score, rule.score(model.transform(X[held]), y[held]))


def test_a_classifier_scores_in_the_subspace():
    X, y = overlapping()
    path = dimension_path(PCA(), X, y, LinearDiscriminantAnalysis(), n_folds=3)
    fit, held = training_parts(y, 3)[0]
    pca = PCA(2).fit(X[fit])
    rule = LinearDiscriminantAnalysis().fit(pca.transform(X[fit]), y[fit])
    assert_allclose(path.scores[0, 1], rule.score(pca.transform(X[held]), y[held]))


def test_without_refitting_the_scores_of_noise_are_flattering():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 400)), np.arange(40) % 2
    model = FisherDiscriminant(shrinkage=None)
    assert dimension_path(model, X, y, n_folds=None).scores.max() > 0.95
    assert dimension_path(model, X, y).scores.mean() < 0.7
    with pytest.raises(ValueError, match="give n_folds to use a scorer"):
        dimension_path(model, X, y, LinearDiscriminantAnalysis(), n_folds=None)


def test_an_unknown_rule_is_an_error():
    with pytest.raises(ValueError, match="rule='lucky' is not valid: it must be one of best"):
        dimension_path(PCA(), *TALL, rule="lucky")


# "auto" in every estimator ---------------------------------------------------------------------


@pytest.mark.parametrize("estimator", reducible_estimators(), ids=name_of)
@pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
def test_auto_is_the_number_it_comes_to(estimator, X, y):
    auto = clone(estimator).set_params(n_components="auto").fit(X, y)
    path = auto.selection_["n_components"]
    assert path.scores.shape == (5, len(path.dimensions))
    # LDG judges γ in the dimension asked for: what it chose is given, too
    names = {"gamma", "n_neighbors", "alpha"} & auto.get_params().keys()
    chosen = {name: getattr(auto, f"{name}_") for name in names if hasattr(auto, f"{name}_")}
    given = clone(estimator).set_params(n_components=path.n_components, **chosen).fit(X, y)
    assert_allclose(auto.components_, given.components_, atol=1e-10)
    assert_allclose(auto.explained_ratio_, given.explained_ratio_, atol=1e-10)
    assert "n_components" not in given.selection_
    if hasattr(auto, "predict"):
        assert_allclose(auto.decision_function(X), given.decision_function(X), atol=1e-8)
    if hasattr(auto, "predict_proba"):
        assert_allclose(auto.predict_proba(X), given.predict_proba(X), atol=1e-8)
    again = clone(auto).fit(X, y)
    assert_array_equal(again.components_, auto.components_)


def test_auto_finds_the_dimension_that_holds_the_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = rng.standard_normal((600, 12))
    X[:, :3] += 3 * np.where(rng.random((600, 3)) < 0.5, -1, 1) * (y == 1)[:, None]
    model = LDG("auto", gamma=0.6, n_neighbors=4).fit(X, y)
    # three are needed; a fourth or fifth does little harm
    assert 3 <= len(model.components_) <= 5


def test_weights_go_into_the_folds():
    X, y = overlapping(60)
    weights = np.where(np.arange(60) < 30, 1.0, 0.01)
    model = FisherDiscriminant("auto").fit(X, y, sample_weight=weights)
    fit, held = training_parts(y, 5)[0]
    fold = FisherDiscriminant(shrinkage=None).fit(X[fit], y[fit], sample_weight=weights[fit])
    rule = KNeighborsClassifier(3).fit(fold.transform(X[fit]), y[fit])
    expected = rule.score(fold.transform(X[held]), y[held])
    assert_allclose(model.selection_["n_components"].scores[0, -1], expected)


def test_rows_fade_once_when_the_dimension_is_chosen():
    X, y = overlapping()
    ages = np.arange(len(y))[::-1]
    faded = FisherDiscriminant("auto", decay=0.97).fit(X, y)
    weighted = FisherDiscriminant("auto").fit(X, y, sample_weight=0.97**ages)
    path, by_weights = (m.selection_["n_components"] for m in (faded, weighted))
    assert_array_equal(path.scores, by_weights.scores)


def test_rows_that_are_forgotten_neither_judge_nor_vote():
    X, y = overlapping()
    w = np.ones(len(y))
    w[::3] = 0.0
    X[::3] += 100 * np.random.default_rng(0).standard_normal((40, 7))
    weighted = FisherDiscriminant("auto").fit(X, y, sample_weight=w)
    alone = FisherDiscriminant("auto").fit(X[w > 0], y[w > 0])
    paths = [m.selection_["n_components"] for m in (weighted, alone)]
    assert_array_equal(paths[0].scores, paths[1].scores)
    assert_allclose(weighted.components_, alone.components_, atol=1e-8)
    recent = FisherDiscriminant("auto", window=60).fit(X, y)
    alone = FisherDiscriminant("auto").fit(X[-60:], y[-60:])
    paths = [m.selection_["n_components"] for m in (recent, alone)]
    assert_array_equal(paths[0].scores, paths[1].scores)


def test_priors_are_those_of_the_classes_that_are_left():
    X, y = overlapping()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    window = int(np.count_nonzero(y > 0))
    p = np.array([0.5, 0.2, 0.3])
    model = FisherDiscriminant("auto", window=window, priors=p).fit(X, y)
    left = FisherDiscriminant("auto", priors=[0.4, 0.6]).fit(X[y > 0], y[y > 0])
    paths = [m.selection_["n_components"] for m in (model, left)]
    assert_array_equal(paths[0].scores, paths[1].scores)
    one = FisherDiscriminant("auto", window=5, priors=p)
    one.fit(X, y)
    assert one.selection_["n_components"].scores.shape == (0, 1)


def test_auto_needs_rows():
    X, y = TALL
    with pytest.raises(ValueError, match='n_components="auto" needs all rows at once'):
        FisherDiscriminant("auto").partial_fit(X, y)
    halves = [FisherDiscriminant("auto").fit(X[i::2], y[i::2]) for i in range(2)]
    with pytest.raises(ValueError, match='n_components="auto" needs all rows at once'):
        merge(halves)


def test_rows_of_different_classes_leave_nothing_to_choose():
    X = np.random.default_rng(0).standard_normal((3, 4))
    assert training_parts(np.arange(3), 5) == []
    assert dimension_path(MaximumMarginCriterion(), X, [0, 1, 2]).scores.shape == (0, 1)


def test_a_data_frame_is_taken_by_rows():
    wine = datasets.load("wine")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(wine.data, columns=wine.feature_names)
    path = dimension_path(FisherDiscriminant(shrinkage=None), frame, wine.target)
    assert_allclose(
        path.scores,
        dimension_path(FisherDiscriminant(shrinkage=None), wine.data, wine.target).scores,
    )


# Rows that belong together, or follow each other -------------------------------------------------


def test_groups_stay_whole_and_classes_even():
    rng = np.random.default_rng(0)
    groups, codes = rng.integers(30, size=200), rng.integers(3, size=200)
    for fit, held in training_parts(codes, 3, groups=groups):
        assert not set(groups[fit]) & set(groups[held])
        assert 0.2 < len(held) / 200 < 0.47
        assert np.abs(np.bincount(codes[held]) / len(held) - np.bincount(codes) / 200).max() < 0.12


def test_the_only_group_of_a_class_is_always_fitted_to():
    groups, codes = np.repeat(np.arange(6), 4), np.repeat([0, 0, 0, 1, 1, 2], 4)
    parts = training_parts(codes, 3, groups=groups)
    assert len(parts) == 3
    for fit, held in parts:
        assert set(codes[fit]) == {0, 1, 2}
        assert 5 not in groups[held]


def test_no_row_is_judged_by_earlier_ones_alone():
    in_time = TimeSeriesSplit(3)
    parts = training_parts(np.arange(100) % 2, 5, cv=in_time)
    assert len(parts) == 3
    for fit, held in parts:
        assert fit.max() < held.min()
    assert training_parts(np.repeat([0, 1], [5, 4]), 3, cv=in_time) != []
    assert training_parts(np.repeat([0, 1], [7, 1]), 3, cv=in_time) == []
    pairs = np.arange(100) // 2  # rows of one time
    for fit, held in training_parts(np.arange(100) % 2, 3, groups=pairs, cv=in_time):
        assert fit.max() < held.min()
        assert not set(pairs[fit]) & set(pairs[held])


def test_groups_of_other_rows_are_an_error():
    X, y = TALL
    with pytest.raises(ValueError, match="groups has 3 entries, but X has"):
        FisherDiscriminant(shrinkage=None).fit(X, y, groups=[1, 2, 3])


def spy_on_fits(monkeypatch, cls):
    """Rows of all fits, by the number in their last column."""
    seen, validate = [], cls._validate

    def watch(self, X, y, *args, **splitting):
        seen.append(np.asarray(X)[:, -1].astype(int))
        return validate(self, X, y, *args, **splitting)

    monkeypatch.setattr(cls, "_validate", watch)
    return seen


@pytest.mark.parametrize("make", [FisherDiscriminant, LocalFisherDiscriminant])
def test_folds_of_auto_keep_groups_together(make, monkeypatch):
    X, y = overlapping(120)
    groups = np.arange(120) // 4
    seen = spy_on_fits(monkeypatch, make)
    make("auto").fit(np.column_stack([X, np.arange(120)]), y, groups=groups)
    assert [len(rows) for rows in seen] == [120, *[len(rows) for rows in seen[1:]]]
    assert len(seen) == 6
    for rows in seen[1:]:
        assert not set(groups[rows]) & set(np.delete(groups, rows))


def test_folds_of_auto_follow_the_order_of_time(monkeypatch):
    X, y = overlapping(120)
    seen = spy_on_fits(monkeypatch, FisherDiscriminant)
    FisherDiscriminant("auto").fit(np.column_stack([X, np.arange(120)]), y, cv=TimeSeriesSplit(3))
    assert [len(rows) for rows in seen] == [120, 30, 60, 90]
    assert all(np.array_equal(rows, np.arange(len(rows))) for rows in seen)


def test_many_rows_are_judged_by_some():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=9000)
    X = rng.standard_normal((9000, 4)) + np.eye(4)[y]
    sizes = []

    def scorer(Z, y, Z_new, y_new, ends):
        sizes.append((len(y), len(y_new)))
        return neighbour_scores(Z, y, Z_new, y_new, ends)

    path = dimension_path(FisherDiscriminant(shrinkage=None), X, y, scorer)
    assert path.scores.shape == (1, 2)
    assert_allclose(sizes, [(3000, 700)], atol=3)
    few = dimension_path(FisherDiscriminant(shrinkage=None), X[:600], y[:600], scorer)
    assert few.scores.shape == (5, 2)
    assert sum(judges for _, judges in sizes[1:]) == 600


def test_the_search_takes_the_first_of_the_best_and_what_all_parts_have():
    settings = [{"k": k} for k in (1, 2, 3)]
    parts = [(0, 1), (1, 0)]
    found = search(settings, lambda fit, held: [0.5, 1.0, 1.0][: 3 - fit], parts)
    assert found.chosen == {"k": 2}
    assert found.settings == ({"k": 1}, {"k": 2})
    assert_array_equal(found.scores, [[0.5, 1.0], [0.5, 1.0]])
    assert search(settings, None, []).chosen == {"k": 1}


def test_shares_of_neighbours_are_those_that_their_scores_count():
    rng = np.random.default_rng(0)
    Z, Z_new = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    y, y_new = rng.integers(3, size=40), rng.integers(3, size=15)
    ends = np.array([1, 2, 3])
    shares = neighbour_shares(Z, y, Z_new, ends, 3)
    right = (shares.argmax(axis=2) == y_new).mean(axis=1)
    assert_array_equal(right, neighbour_scores(Z, y, Z_new, y_new, ends))
    assert_array_equal(shares.sum(axis=2).round(12), 1.0)


def test_rows_outside_a_fold_have_all_classes():
    # the class of few rows is in two groups, which the other class may send to one fold
    codes, groups = np.zeros(60, dtype=int), np.repeat(np.arange(6), 10)
    for first, second in [(0, 1), (2, 5), (3, 4), (1, 5), (0, 4), (2, 3)]:
        codes[:] = 0
        codes[[10 * first, 10 * first + 1, 10 * second]] = 1
        for parts in (
            training_parts(codes, 5, groups=groups),
            split_keeping_classes(KFold(2), codes, groups // 3),
        ):
            assert all(codes[fit].max() == 1 for fit, _ in parts)
