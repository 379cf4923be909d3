"""Gaussians of the neighbours in each class."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from separatrix import LocalQDA
from separatrix.decision.local_qda import RIDGES, full_log_densities, smooth_by_ridge
from separatrix.decision.quadratic import Quadratic, quadratic_gaussian_rule
from tests.discovery import SHAPES, TALL, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
every_covariance = pytest.mark.parametrize("covariance", ["diag", "full"])


THESIS = {"reg": 1e-4, "covariance": "diag", "standardize": False}


def by_the_book(model, X, y, new, k, covariance, left_out=None):
    """Scores of new rows from the definition, one row and class at a time."""
    classes = np.unique(y)
    scores = np.empty((len(new), len(classes)))
    for i, x in enumerate(new):
        for j, c in enumerate(classes):
            members = np.flatnonzero(y == c)
            if left_out is not None:
                members = members[members != left_out[i]]
            nearest = members[np.argsort(np.linalg.norm(X[members] - x, axis=1))[:k]]
            V = np.atleast_2d(np.cov(X[nearest].T, bias=True))
            V = np.diag(np.diagonal(V)) if covariance == "diag" else V
            V = V + model.ridge_ * np.eye(len(V))
            density = multivariate_normal(X[nearest].mean(axis=0), V).logpdf(x)
            scores[i, j] = np.log(np.mean(y == c)) + density
    return scores


@every_covariance
@every_shape
@pytest.mark.parametrize("k", [2, 5])
def test_scores_are_log_posteriors_of_the_gaussians_of_the_neighbours(X, y, covariance, k):
    new = labelled(12, X.shape[1], seed=3)[0]
    model = LocalQDA(k, covariance=covariance, reg=0.05, standardize=False).fit(X, y)
    expected = by_the_book(model, X, y, new, k, covariance)
    assert_allclose(model.decision_function(new), expected, rtol=1e-9)
    assert_array_equal(model.predict(new), model.classes_[expected.argmax(axis=1)])


@every_covariance
@every_shape
def test_discriminants_are_the_scores_around_a_row(X, y, covariance):
    new = labelled(12, X.shape[1], seed=3)[0]
    model = LocalQDA(4, covariance=covariance, reg=0.05, standardize=False).fit(X, y)
    f = model.discriminants(new)
    n, r = new.shape
    assert f.Q.shape == ((n, 3, r) if covariance == "diag" else (n, 3, r, r))
    assert f.c.shape == (n, 3, r)
    assert f.b.shape == (n, 3)
    assert_allclose(f(new[:, None]), model.decision_function(new), rtol=1e-7)
    # the Gaussians stay those of the row, wherever they are asked
    elsewhere = new[:, None] + 1.0
    here = model.discriminants(new, about=new)
    assert_allclose(here(np.ones((1, 1, r))), f(elsewhere), rtol=1e-7)
    assert_allclose(here.b, model.decision_function(new))


@every_covariance
@pytest.mark.parametrize("k", [1, 60])
def test_what_all_rows_have_in_common_is_given_once(covariance, k):
    X, y = TALL
    new = labelled(12, 6, seed=3)[0]
    model = LocalQDA(k, covariance=covariance, reg=0.05, standardize=False).fit(X, y)
    f = model.discriminants(new)
    assert f.Q.shape == ((1, 3, 6) if covariance == "diag" else (1, 3, 6, 6))
    assert_allclose(f(new[:, None]), by_the_book(model, X, y, new, k, covariance), rtol=1e-7)
    assert_allclose(f(new[:, None]), model.decision_function(new), rtol=1e-7)


def test_a_quadratic_may_be_diagonal_full_or_linear():
    rng = np.random.default_rng(0)
    q, c, b, x = (rng.standard_normal(s) for s in ((4, 3), (4, 3), 4, (4, 3)))
    matrices = np.stack([np.diag(row) for row in q])
    expected = np.sum(q * x**2 + c * x, axis=1) + b
    assert_allclose(Quadratic(q, c, b)(x), expected)
    assert_allclose(Quadratic(matrices, c, b)(x), expected)
    assert_allclose(Quadratic(None, c, b)(x), np.sum(c * x, axis=1) + b)


@every_covariance
@pytest.mark.parametrize("k", [51, 10**6])
def test_all_neighbours_make_the_global_rule(covariance, k):
    X, y = TALL
    model = LocalQDA(k, **THESIS | {"covariance": covariance}).fit(X, y)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    covariances = np.stack([np.cov(X[y == c].T, bias=True) for c in range(3)])
    if covariance == "diag":
        covariances *= np.eye(6)
    covariances += model.ridge_ * np.eye(6)
    expected = quadratic_gaussian_rule(means, covariances, np.bincount(y) / len(y)).scores(X)
    assert_allclose(model.decision_function(X), expected)


@every_covariance
@every_shape
def test_one_neighbour_is_the_nearest_of_each_class(X, y, covariance):
    new = labelled(30, X.shape[1], seed=3)[0]
    model = LocalQDA(1, **THESIS | {"covariance": covariance}).fit(X, y)
    squares = ((new[:, None] - X) ** 2).sum(axis=2)
    nearest = np.stack([squares[:, y == c].min(axis=1) for c in range(3)], axis=1)
    scores = 2 * model.ridge_ * (model.decision_function(new) - np.log(model.priors_))
    assert_allclose(scores - scores[:, :1], nearest[:, :1] - nearest, atol=1e-9)


@every_covariance
def test_the_number_of_neighbours_is_chosen_by_leaving_rows_out(covariance):
    X, y = labelled(60, 4, seed=5)
    y = y.copy()
    y[7] = 9  # alone: cannot be judged
    model = LocalQDA(**THESIS | {"covariance": covariance}).fit(X, y)
    record = model.selection_["n_neighbors"]
    judged = np.flatnonzero(y != 9)
    for setting, score in zip(record.settings, record.scores[0], strict=True):
        k = setting["n_neighbors"]
        right = []
        for i in judged:
            others = np.arange(len(X)) != i
            scores = by_the_book(model, X[others], y[others], X[[i]], k, covariance)
            # priors are those of all rows
            scores += np.log(model.priors_) - np.log(
                np.unique(y[others], return_counts=True)[1] / 59
            )
            right.append(model.classes_[scores.argmax()] == y[i])
        assert_allclose(score, np.mean(right))
    expected = [1, 2, 4, 8, 16, 32] if covariance == "diag" else [1, 2, 3, 4, 6, 8, 16, 32]
    assert [s["n_neighbors"] for s in record.settings] == expected
    assert model.n_neighbors_ == record.settings[int(record.scores[0].argmax())]["n_neighbors"]


def test_the_ridge_is_a_share_of_the_average_variance():
    X, y = TALL
    model = LocalQDA(3, reg=0.01, standardize=False).fit(X, y)
    assert_allclose(model.ridge_, 0.01 * X.var(axis=0).mean())
    assert LocalQDA(3, reg=0.01).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]).ridge_ == 0.01


@every_covariance
@every_shape
def test_units_and_origin_do_not_matter(X, y, covariance):
    new = labelled(30, X.shape[1], seed=3)[0]
    settings = THESIS | {"covariance": covariance}
    model = LocalQDA(4, **settings).fit(X, y)
    for scale, shift in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (1.0, -1e6)):
        moved = LocalQDA(4, **settings).fit(scale * X + shift, y)
        # an offset of 1e6 leaves ten digits, of which the ridge takes four
        assert_allclose(
            moved.predict_proba(scale * new + shift), model.predict_proba(new), atol=1e-4
        )


def test_full_covariances_turn_with_the_rows():
    X, y = TALL
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    settings = THESIS | {"covariance": "full"}
    straight, turned = (LocalQDA(9, **settings).fit(Z, y) for Z in (X, X @ turn))
    assert_allclose(turned.decision_function(X @ turn), straight.decision_function(X), rtol=1e-6)


@every_covariance
def test_blocks_do_not_show(monkeypatch, covariance):
    X, y = labelled(200, 5)
    new = labelled(70, 5, seed=3)[0]
    whole = LocalQDA(covariance=covariance).fit(X, y)
    expected = whole.decision_function(new)
    monkeypatch.setattr("separatrix.moments.neighbours.MAX_DISTANCES", 2000)
    monkeypatch.setattr("separatrix.moments.labelled.MAX_BLOCK_ENTRIES", 100)
    parts = LocalQDA(covariance=covariance).fit(X, y)
    assert_allclose(parts.selection_["n_neighbors"].scores, whole.selection_["n_neighbors"].scores)
    assert_allclose(parts.decision_function(new), expected, rtol=1e-9)


@every_covariance
def test_degenerate_rows_have_an_answer(covariance):
    X, y = TALL
    rare = np.where(np.arange(len(y)) == 5, 7, y)
    single = LocalQDA(**THESIS | {"covariance": covariance}).fit(X, rare)
    assert single.predict(X[[5]]) == [7]
    constant = np.column_stack([X, np.full(len(X), 1e6)])
    raw = {"covariance": covariance, "standardize": False}
    with_constant = LocalQDA(8, reg=1e-4, **raw).fit(constant, y)
    without = LocalQDA(8, reg=1e-4 * 6 / 7, **raw).fit(X, y)
    assert_allclose(with_constant.predict_proba(constant), without.predict_proba(X), atol=1e-6)
    copies = LocalQDA(4, reg=1e-4, **raw).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    one = LocalQDA(1, reg=1e-4, **raw).fit(X, y)
    assert_allclose(copies.decision_function(X + 0.1), one.decision_function(X + 0.1), rtol=1e-6)
    alike = LocalQDA(covariance=covariance).fit(np.ones((5, 2)), [0, 0, 0, 1, 1])
    assert_array_equal(alike.predict(np.ones((2, 2))), [0, 0])
    X = np.eye(4) * [1, 1, 1, 1.1]
    lonely = LocalQDA(covariance=covariance).fit(X, list("abcc"))
    assert_array_equal(lonely.predict(X), list("abcc"))


@every_covariance
def test_rows_of_single_precision_are_worked_on_in_double(covariance):
    X, y = TALL
    X = (X + 1000).astype(np.float32)
    single, double = (LocalQDA(covariance=covariance).fit(Z, y) for Z in (X, X.astype(float)))
    assert single.n_neighbors_ == double.n_neighbors_
    assert_allclose(single.decision_function(X), double.decision_function(X), rtol=1e-9)


def test_far_rows_get_finite_scores():
    X, y = TALL
    for covariance in ("diag", "full"):
        model = LocalQDA(4, **THESIS | {"covariance": covariance}).fit(X, y)
        assert np.isfinite(model.predict_proba(np.full((1, 6), 1e8))).all()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("reg", 0.0),
        ("standardize", "yes"),
        ("reg", -1),
        ("n_neighbors", 0),
        ("covariance", "none"),
    ],
)
def test_senseless_parameters_are_refused(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter}={value!r} is not valid for LocalQDA"):
        LocalQDA().set_params(**{parameter: value}).fit(*TALL)


def test_missing_values_are_refused_by_the_name_of_the_column():
    X, y = TALL
    model = LocalQDA().fit(X, y)
    broken = X.copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN in column 4"):
        LocalQDA().fit(broken, y)
    with pytest.raises(ValueError, match="NaN in column 4"):
        model.predict(broken)
    with pytest.raises(ValueError, match="NaN in column 4"):
        model.discriminants(broken)


def test_points_of_reference_of_another_shape_are_refused():
    rows, labels = np.random.default_rng(0).standard_normal((20, 5)), np.arange(20) % 2
    model = LocalQDA(2).fit(rows, labels)
    with pytest.raises(ValueError, match=r"about has shape \(3, 5\).* \(5,\) or .* \(20, 5\)"):
        model.discriminants(rows, about=np.zeros((3, 5)))


def test_logarithms_of_probabilities_are_those_of_the_probabilities():
    rows = np.array([[0.0], [1.0], [2.0], [1e4], [1e4 + 1]])
    model = LocalQDA(2, reg=1.0).fit(rows, [0, 0, 1, 1, 1])
    assert_allclose(np.exp(model.predict_log_proba(rows)), model.predict_proba(rows))
    far = LocalQDA(2, reg=1e-4).fit(rows, [0, 0, 0, 1, 1])
    assert np.isneginf(far.predict_log_proba(rows)[0, 1])


# Units, ridge and covariances that are chosen ---------------------------------------------------


@every_covariance
@every_shape
def test_standardised_features_give_the_rule_of_standardised_rows(X, y, covariance):
    units = 10.0 ** (np.arange(X.shape[1]) % 5 - 2)
    new = labelled(12, X.shape[1], seed=3)[0]
    model = LocalQDA(4, covariance=covariance, reg=0.05, standardize=True).fit(units * X, y)
    assert_allclose(model.ridge_, 0.05)
    expected = by_the_book(model, X / X.std(axis=0), y, new / X.std(axis=0), 4, covariance)
    assert_allclose(model.decision_function(units * new), expected, rtol=1e-8)
    f = model.discriminants(units * new, about=units * new)
    assert_allclose(f.b, expected, rtol=1e-8)
    step = 0.1 * units  # the functions are those of the features in their own units
    elsewhere = model.discriminants(units * new)((units * new + step)[:, None])
    assert_allclose(f(step), elsewhere, rtol=1e-6)


@every_covariance
def test_standardising_leaves_out_constant_features(covariance):
    X, y = TALL
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    settings = {"covariance": covariance, "standardize": True, "reg": 0.1}
    with_it = LocalQDA(8, **settings).fit(constant, y)
    without = LocalQDA(8, **settings).fit(X, y)
    assert with_it.ridge_ == pytest.approx(without.ridge_)
    assert_allclose(with_it.predict_proba(constant), without.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("shape", [(3, 7), (9, 4)], ids=["fewer rows", "fewer features"])
def test_low_rank_log_densities_are_those_of_the_normal_distribution(shape):
    rng = np.random.default_rng(0)
    R, offsets = rng.standard_normal((2, *shape)), rng.standard_normal((2, shape[1]))
    ridges = np.array([0.01, 2.0])
    found = full_log_densities(offsets, R, ridges) - 0.5 * shape[1] * np.log(2 * np.pi)
    for i, ridge in enumerate(ridges):
        for j in range(2):
            V = R[j].T @ R[j] + ridge * np.eye(shape[1])
            assert_allclose(found[i, j], multivariate_normal(cov=V).logpdf(offsets[j]))


def test_everything_that_is_auto_is_chosen_together():
    X, y = labelled(60, 20, seed=5)
    X = X + 2 * np.random.default_rng(0).standard_normal(X.shape)
    model = LocalQDA().fit(X, y)
    record = model.selection_["n_neighbors"]
    n_counts = {"diag": 6, "full": 6}  # up to the size of the class, and up to 8
    for covariance, n in n_counts.items():
        of_kind = [s for s in record.settings if s["covariance"] == covariance]
        assert len(of_kind) == 2 * len(RIDGES) * n
    chosen = record.chosen
    assert chosen == {
        "covariance": model.covariance_,
        "standardize": model.standardize_,
        "reg": model.reg_,
        "n_neighbors": model.n_neighbors_,
    }
    fixed = LocalQDA(**chosen).fit(X, y)
    assert fixed.selection_ == {}
    assert_allclose(fixed.decision_function(X), model.decision_function(X))
    for at in (0, 30, 150, 210):  # each score is that of this setting alone
        setting = dict(record.settings[at])
        k = setting.pop("n_neighbors")
        alone = LocalQDA(**setting).fit(X, y).selection_["n_neighbors"]
        same = [s["n_neighbors"] for s in alone.settings].index(k)
        assert_allclose(record.scores[0, at], alone.scores[0, same])


def test_a_plateau_wins_over_a_lucky_cell():
    scores = np.full((5, 5), 0.5)
    scores[1, 0] = 0.9
    scores[2:, 2:] = 0.8
    ridges = (0.1, 1.0, 10.0, 100.0, 1000.0)
    best = np.unravel_index(smooth_by_ridge(scores, ridges).argmax(), scores.shape)
    assert best[0] >= 3
    assert best[1] >= 3
    shuffled = [3, 0, 4, 1, 2]
    again = smooth_by_ridge(scores[shuffled], [ridges[i] for i in shuffled])
    assert_allclose(again, smooth_by_ridge(scores, ridges)[shuffled])
    assert_array_equal(smooth_by_ridge(scores[:1], ridges[:1]), scores[:1])


def test_many_rows_are_judged_by_some_of_each_class(monkeypatch):
    X, y = labelled(200, 5)
    monkeypatch.setattr("separatrix.decision.local_qda.MAX_JUDGED_ROWS", 20)
    scores = LocalQDA(**THESIS).fit(X, y).selection_["n_neighbors"].scores
    assert_allclose(np.round(20 * scores), 20 * scores)
    assert scores.max() > 0.5


def test_strongly_regularised_neighbours_win_where_features_are_noise():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.standard_normal((120, 30)) + 0.6 * y[:, None]
    chosen = LocalQDA().fit(X[:80], y[:80])
    fixed = LocalQDA(**THESIS).fit(X[:80], y[:80])
    assert chosen.reg_ > 1e-3
    assert chosen.score(X[80:], y[80:]) >= fixed.score(X[80:], y[80:])
