"""One fold: no row that judges is seen before."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.utils import check_random_state

from separatrix import FisherDiscriminant, LocalFisherDiscriminant
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import GRIDS, Contender, with_steps
from separatrix.evaluate.splits import RandomShares
from separatrix.kernels import inverse_width
from separatrix.selection import dimension_path
from tests.evaluate.comparing import (
    CHEAP,
    Hungry,
    Spy,
    Wider,
    X,
    Y,
    named,
    numbered,
    parts,
    without_times,
)


def test_no_fit_sees_a_row_of_the_test_part():
    y = np.arange(60) % 2
    Spy.seen.clear()
    spies = Contender("spy", Spy(), grid={"a": (0, 1), "b": (0, 1, 2)})
    compare(with_steps([spies], prepare=Spy(a="scaler")), numbered(), y, **CHEAP)
    train = [set(parts(y, split)[0].tolist()) for split in range(2)]
    fits = [set(rows) for _, rows in Spy.seen]
    # a scaler, 2 + 3 settings less one known already in three folds, and the fit itself
    assert len(fits) == 2 * (1 + 3 * 4 + 1)
    for split, seen in enumerate([fits[:14], fits[14:]]):
        assert seen[0] == seen[-1] == train[split]
        assert all(rows < train[split] for rows in seen[1:-1])


class RandomDirection(TransformerMixin, BaseEstimator):
    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y=None):
        self.w_ = np.random.default_rng(self.seed).standard_normal((X.shape[1], 1))
        return self

    def transform(self, X):
        return X @ self.w_


def test_labels_without_meaning_are_predicted_by_chance_however_much_is_chosen():
    rng = np.random.default_rng(5)
    rows, y = rng.standard_normal((80, 120)), np.arange(80) % 2
    lucky = Contender("lucky", RandomDirection(), grid={"seed": tuple(range(40))})
    found = compare(
        [lucky, "LocalFisherDiscriminant", "PCA"], rows, y, cv=RandomShares(8),
    )  # fmt: skip
    for method in found.methods:
        # 24 rows a split: 0.1; over eight splits of the same rows somewhat less
        assert abs(method.summary["accuracy"].mean - 0.5) < 0.12
    # the choice is real: among the training rows the best of 40 directions looks far better
    assert len({fold.chosen["seed"] for fold in found["lucky"].folds}) > 1


def test_one_more_test_row_changes_no_choice_and_no_fit():
    moved = X.copy()
    test = parts(Y)[1]
    moved[test] += 100.0
    methods = ["LocalFisherDiscriminant", "SupportVectorProjection"]
    one, other = (compare(methods, x, Y, cv=RandomShares(1)) for x in (X, moved))
    for name in methods:
        assert one[name].folds[0].chosen == other[name].folds[0].chosen
        assert one[name].folds[0].loadings == other[name].folds[0].loadings


class Dice(ClassifierMixin, BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rng_ = np.random.default_rng(self.random_state)
        return self

    def predict(self, X):
        return self.rng_.integers(3, size=len(X))


def test_chance_is_seeded_by_the_split_unless_it_was_already():
    methods = [("dice", Dice()), ("nested", make_pipeline(Dice())), ("seven", Dice(7))]
    one, again = (without_times(compare(methods, X, Y, **CHEAP)) for _ in range(2))
    assert one == again
    first, second = (fold.predicted for fold in one["dice"].folds)
    assert first != second
    assert one["nested"].folds[0].predicted == first
    first, second = (fold.predicted for fold in one["seven"].folds)
    assert first == second


class Picky(ClassifierMixin, BaseEstimator):
    """Right on a share of rows that grows with how near the parameters are to (2, 1)."""

    def __init__(self, a=0, b=0):
        self.a = a
        self.b = b

    def fit(self, X, y):
        if self.a == "broken":
            raise RuntimeError("cannot be fitted")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        right = 0.9 - 0.2 * abs(self.a - 2) - 0.1 * abs(self.b - 1)
        truth = X[:, 0].astype(int)
        return np.where(np.arange(len(X)) < right * len(X), truth, 1 - truth)


def picky(**grid):
    y = np.arange(90) % 2
    contender = Contender("picky", Picky(), grid=grid)
    return compare(
        with_steps([contender], prepare=None), y[:, None].astype(float), y, **CHEAP
    ).methods[0]


def test_parameters_are_chosen_one_after_the_other_and_the_first_of_equals_wins():
    for fold in picky(a=(0, 3, 2), b=(3, 1)).folds:
        assert fold.chosen == {"a": 2, "b": 1}
        assert fold.scores["accuracy"] == pytest.approx(25 / 27)  # 0.9 of 27 rows, rounded up
    assert picky(b=(2, 0)).folds[0].chosen == {"b": 2}
    assert picky(b=(0, 2)).folds[0].chosen == {"b": 0}


def test_a_value_that_fails_is_not_chosen_unless_all_fail():
    assert picky(a=("broken", 0)).folds[0].chosen == {"a": 0}
    method = picky(a=("broken",))
    assert method.status == "failed"
    assert method.reason == "RuntimeError: cannot be fitted; 0 of 2 splits done"


def test_kernel_widths_and_costs_are_in_units_of_the_training_rows():
    rows = 100 * X
    found = compare(
        with_steps(["KernelFisherDiscriminant", "SupportVectorProjection"], prepare=None),
        rows,
        Y,
        cv=RandomShares(1),
    )
    unit = inverse_width(rows[parts(Y)[0]], "scale")
    width = found["KernelFisherDiscriminant"].folds[0].chosen["kernel__gamma"]
    assert width / unit in [pytest.approx(m) for m in GRIDS["*"]["kernel__gamma"]]
    cost = found["SupportVectorProjection"].folds[0].chosen["C"]
    assert cost / unit in [pytest.approx(m) for m in GRIDS["*"]["C"]]
    small = compare(
        with_steps(["SupportVectorProjection"], prepare=None), X, Y, cv=RandomShares(1)
    )
    assert small.methods[0].folds[0].chosen["C"] == pytest.approx(1e4 * cost)


def test_the_number_of_directions_is_chosen_in_the_training_part_and_then_cut_off():
    noisy = X + np.random.default_rng(2).normal(scale=2, size=X.shape)
    contender = Contender("lfda", LocalFisherDiscriminant(), choose_dimension=True)
    (method,) = compare([contender], noisy, Y, **CHEAP).methods
    for fold in method.folds:
        train, test = parts(Y, fold.split)
        scaler = StandardScaler().fit(noisy[train])
        known, new = scaler.transform(noisy[train]), scaler.transform(noisy[test])
        seed = int(np.random.SeedSequence((0, fold.split)).generate_state(1)[0] >> 1)
        path = dimension_path(
            LocalFisherDiscriminant(), known, Y[train], n_folds=3, random_state=seed
        )
        assert fold.chosen["n_components"] == fold.n_components == path.n_components
        model = LocalFisherDiscriminant(path.n_components).fit(known, Y[train])
        rule = KNeighborsClassifier(3).fit(model.transform(known), Y[train])
        assert_array_equal(fold.predicted, rule.predict(model.transform(new)))
        whole = LocalFisherDiscriminant(6).fit(known, Y[train])
        for k, score in enumerate(fold.path, start=1):
            rule = KNeighborsClassifier(3).fit(whole.transform(known)[:, :k], Y[train])
            assert score == pytest.approx(rule.score(whole.transform(new)[:, :k], Y[test]))
        assert len(fold.path) == 6
        assert fold.path[fold.n_components - 1] == fold.scores["accuracy"]


class Ends(TransformerMixin, BaseEstimator):
    """Keeps the first and the last column, and says which."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, [0, -1]]

    def get_feature_names_out(self, input_features=None):
        return input_features[[0, -1]]


@pytest.mark.parametrize(
    ("scale", "names"),
    [
        (Wider(), tuple(f"x{j}" for j in range(12))),
        (PolynomialFeatures(2, include_bias=False), ("a", "b", "c")),
        (PCA(2), ("pca0", "pca1")),
        (make_pipeline(StandardScaler(), Ends()), ("a", "f")),
        (make_pipeline(Wider(), StandardScaler()), tuple(f"x{j}" for j in range(12))),
        (MinMaxScaler().set_output(transform="pandas"), tuple("abcdef")),
    ],
    ids=str,
)
def test_columns_that_a_transformer_makes_are_named(scale, names):
    found = compare(
        with_steps([FisherDiscriminant(shrinkage=0.1)], prepare=scale), named(X), Y,
        cv=RandomShares(1),
    )  # fmt: skip
    fold = found.methods[0].folds[0]
    assert (fold.status, fold.warnings) == ("done", ())
    assert fold.loadings.features[: len(names)] == names


class Shaken(TransformerMixin, BaseEstimator):
    """Adds noise to the features."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X + check_random_state(self.random_state).standard_normal(X.shape)


def test_chance_in_the_scaling_is_seeded_too():
    one, two = (compare(with_steps(["raw"], prepare=Shaken()), X, Y, **CHEAP) for _ in range(2))
    assert without_times(one) == without_times(two)


class Undescribed(Hungry):
    """Predicts, but gives no projected rows and learns only once."""

    fits = 0

    def fit(self, X, y):
        Undescribed.fits += 1
        if Undescribed.fits > 1:
            raise MemoryError
        return super().fit(X, y)

    def transform(self, X):
        raise NotImplementedError("no rows")


def test_what_only_describes_a_fold_may_fail_without_its_scores(shuffles):
    Undescribed.fits = 0
    lsqr = LinearDiscriminantAnalysis(solver="lsqr")
    found = compare([Undescribed()], X, Y, cv=RandomShares(1))
    fold = found["Undescribed"].folds[0]
    assert fold.status == "done"
    assert fold.scores["accuracy"] > 0
    assert fold.warnings == (
        "RuntimeWarning: no linear maps: NotImplementedError: no rows",
        "RuntimeWarning: no projected rows: NotImplementedError: no rows",
        "RuntimeWarning: no loadings: NotImplementedError: no rows",
        "RuntimeWarning: no view: NotImplementedError: no rows",
        "RuntimeWarning: no shuffled labels: MemoryError: no message",
    )
    assert (fold.n_components, fold.view) == (None, None)
    assert compare([lsqr], X, Y, cv=RandomShares(1)).methods[0].status == "done"
