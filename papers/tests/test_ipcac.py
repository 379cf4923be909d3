"""The literal formulas of the IPCAC thesis and its peers, against their slow forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from separatrix import KernelIPCAC, MixtureIPCAC, TruncatedIPCAC, datasets
from separatrix_papers.figures import Piece
from separatrix_papers.ipcac import curved, linear, literal, peers, run
from separatrix_papers.rerun import rerun
from separatrix_papers.tables import list_sources, read_tables

TABLES = read_tables(list_sources()["ipcac"])


@pytest.fixture
def pair():
    return datasets.make_gaussian_pair(90, 12, mean_scale=1.0, random_state=0)


def test_every_printed_row_is_run():
    assert list(run.REPEATS_BY_ROW) == [table.id for table in TABLES]
    for table in TABLES:
        rows = {piece.row for piece in run.list_pieces(table.id, quick=False)}
        assert rows == {piece.row for piece in run.list_pieces(table.id, quick=True)}
        if table.id in ("table5.6", "table6.3", "table6.3-mean", "table6.6", "table6.8"):
            continue  # all rows come from one piece
        assert all(any(name.startswith(row) for row in rows) for name in table.published)


def test_the_printed_threshold_is_the_mean_of_the_best_training_scores(pair):
    scores, second = pair.data[:, 0].round(1), pair.target == 1
    right = [np.sum(scores[~second] <= t) + np.sum(scores[second] > t) for t in scores]
    best = {t for t, r in zip(scores, right, strict=True) if r == max(right)}
    assert literal.printed_threshold(scores, second) == pytest.approx(np.mean(list(best)))
    two_best = literal.printed_threshold(np.arange(4.0), np.array([False, True, False, True]))
    assert two_best == 1.0


def test_the_second_order_perceptron_is_its_primal_form(pair):
    X, y = pair.data, pair.target
    model = peers.SecondOrderPerceptron(a=0.5)
    S, v = np.zeros((12, 12)), np.zeros(12)
    for x, sign in zip(X, np.where(y == 1, 1, -1), strict=True):
        if sign * (x @ np.linalg.solve(0.5 * np.eye(12) + S, v)) <= 0:
            S, v = S + np.outer(x, x), v + sign * x
    for rows in (slice(0, 40), slice(40, 90)):
        model.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(model.w, np.linalg.solve(0.5 * np.eye(12) + S, v), atol=1e-10)


def test_a_projectron_of_no_distance_is_the_perceptron(pair):
    X, y = pair.data, pair.target
    w = np.zeros(12)
    for x, sign in zip(X, np.where(y == 1, 1, -1), strict=True):
        if sign * (x @ w) <= 0:
            w = w + sign * x
    model = peers.Projectron(eta=0.0)
    for rows in (slice(0, 40), slice(40, 90)):
        model.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(model.w, w, atol=1e-9)


@pytest.mark.parametrize("margins", [False, True])
def test_a_projectron_stays_in_the_span_of_the_rows_it_keeps(pair, margins):
    X, y = pair.data, pair.target
    model = peers.Projectron(eta=0.9, margins=margins).fit(X, y)
    axes = model.support.axes
    assert 0 < len(axes) < 12
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-12)
    np.testing.assert_allclose(model.w @ axes.T @ axes, model.w, atol=1e-9)


def test_steps_of_margin_errors_leave_no_row_further_behind(pair):
    X, y = pair.data, pair.target
    plain, more = (peers.Projectron(0.5, m).fit(X, y) for m in (False, True))
    signs = np.where(y == 1, 1, -1)
    assert not np.allclose(plain.w, more.w)
    # one row that is right by less than 1 gains by a step, and passes the margin by none
    model = peers.Projectron(0.5, True).fit(X[:1] / np.linalg.norm(X[0]), y[:1])
    model.w = 0.3 * model.w
    x = X[0] / np.linalg.norm(X[0])
    model.partial_fit(x[None], y[:1])
    assert signs[0] * (x @ model.w) == pytest.approx(1.0)


def test_first_order_methods_take_one_pass_when_they_are_tuned():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    for name, model in peers.first_order().items():
        once = clone(model).partial_fit(X, y, classes=[0, 1])
        fitted = clone(model).fit(X, y)
        assert fitted.n_iter_ == 1, name
        assert fitted.coef_.shape == once.coef_.shape


def test_an_online_svm_of_all_rows_is_the_batch_one(pair):
    X, y = pair.data, pair.target
    model = peers.OnlineIndependentSVM(C=0.1, eta=0.0)
    for rows in (slice(0, 40), slice(40, 90)):
        model.partial_fit(X[rows], y[rows])
    assert len(model.basis.axes) == 12
    batch = LinearSVC(C=0.1, fit_intercept=False, dual=False, tol=1e-8).fit(X, y)
    scores, expected = model.decision_function(X), batch.decision_function(X)
    np.testing.assert_allclose(scores, expected, atol=2e-3 * np.abs(expected).max())
    few = peers.OnlineIndependentSVM(C=0.1, eta=0.9).fit(X, y)
    assert len(few.basis.axes) < 12


def test_nested_dichotomies_give_probabilities_and_know_the_classes():
    drawn = datasets.make_random_mixtures(
        [[40], [40], [40], [40]], 6, mean_scale=3.0, random_state=0
    )
    X, y = drawn.data, np.array(["a", "b", "c", "d"])[drawn.target]
    model = peers.NestedDichotomies(10).fit(X[:120], y[:120])
    shares = model.predict_proba(X[120:])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.mean(model.predict(X[120:]) == y[120:]) > 0.5  # chance is a quarter
    # halvings of one ensemble are averaged: by hand from its trees
    one = peers.NestedDichotomies(1, random_state=3).fit(X[:120], y[:120])
    expected = np.ones((40, 4))
    for _, left, right, tree in one.splits:
        share = tree.predict_proba(X[120:])[:, 1:]
        expected[:, left] *= 1 - share
        expected[:, right] *= share
    np.testing.assert_allclose(one.predict_proba(X[120:]), expected)


def test_the_printed_update_of_one_batch_is_the_truncated_direction(pair):
    X, y = pair.data, pair.target
    model = literal.OnlineModel().partial_fit(X, y)
    w = TruncatedIPCAC("log2").fit(X, y).coef_[0]
    np.testing.assert_allclose(model.w / np.linalg.norm(model.w), w / np.linalg.norm(w), atol=1e-9)
    sds = [np.std(X[y == c] @ model.w) for c in (0, 1)]
    means = [np.mean(X[y == c] @ model.w) for c in (0, 1)]
    expected = (sds[1] * means[0] + sds[0] * means[1]) / sum(sds)
    assert model.gamma == pytest.approx(expected)
    shifted = literal.OnlineModel()
    for rows in (slice(0, 45), slice(45, 90)):
        shifted.partial_fit(X[rows] + 100, y[rows])
    assert np.mean(shifted.predict(X + 100) == y) < np.mean(model.predict(X) == y)


def test_one_part_merged_as_printed_is_its_own_model(pair):
    X, second = pair.data, pair.target == 1
    alone = literal.MergedModel([(X, second)], 1.0)
    w = TruncatedIPCAC(12).fit(X, second).coef_[0]
    np.testing.assert_allclose(alone.w / np.linalg.norm(alone.w), w / np.linalg.norm(w), atol=1e-9)
    gamma = literal.printed_threshold((X - X.mean(axis=0)) @ alone.w, second)
    assert alone.gamma == pytest.approx(gamma)


def test_a_spectrum_set_to_one_is_ours_when_the_last_whitened_eigenvalue_is_one(pair):
    X, y = pair.data, pair.target
    K = rbf_kernel(X, gamma=0.1)
    centred = K - K.mean(axis=0) - (K.mean(axis=1) - K.mean())[:, None]
    values = np.linalg.eigvalsh(centred)[::-1]
    share = values[:10].sum() / values.sum()
    K = K / values[9]  # no other scale of the kernel gives the same
    scores, _ = literal.truncated_kernel(K, K, y == 1, share)
    ours = KernelIPCAC(kernel="precomputed", truncate=10, threshold="mahalanobis")
    ours = ours.fit(K, y).decision_function(K)
    assert abs(np.corrcoef(scores, ours)[0, 1]) == pytest.approx(1.0)


def test_the_short_rule_of_the_jury_compares_the_best_of_each_team():
    bunch = datasets.make_gaussian_mixtures(40, 20, e=0.8, random_state=0)
    model = MixtureIPCAC(node="truncated", random_state=0).fit(bunch.data, bunch.target)
    X = bunch.data[:30]
    margins = (X - model.mean_) @ model.components_.T - model.thresholds_
    for row in range(30):
        points = dict.fromkeys(range(len(model.cluster_classes_)), 0)
        for k, (a, b) in enumerate(model.nodes_):
            winner, loser = (b, a) if margins[row, k] > 0 else (a, b)
            points[winner], points[loser] = points[winner] + 1, points[loser] - 1
        sizes = np.bincount(model.cluster_classes_)
        best = [
            max(p / sizes[1 - c] for k, p in points.items() if model.cluster_classes_[k] == c)
            for c in (0, 1)
        ]
        assert literal.best_of_each_team(model, X)[row] == int(best[1] > best[0])


def test_data_that_a_user_may_have_are_run(monkeypatch):
    monkeypatch.setattr(linear, "REUTERS", 100)
    rng = np.random.default_rng(0)
    y = np.repeat(["ham", "spam"], 40)
    words = {"ham": "meeting report garden lunch", "spam": "money offer winner click"}
    mails = [
        f"Subject: {rng.choice(words[c].split())}\n\n{' '.join(rng.choice(words[c].split(), 6))}"
        for c in y
    ]
    locations = np.repeat(list(curved.LOCATIONS), 10)
    rows = rng.standard_normal((len(locations), 12)) + 3 * (locations == "nucleus")[:, None]
    news = sp.random_array((120, 50), density=0.2, rng=rng, format="csr")
    sets = {
        "trec2005": Bunch(messages=[mail.encode() for mail in mails], y=y),
        "euk_proteins": Bunch(X=rows, y=locations),
        "rcv1_ccat": Bunch(X=news, y=np.arange(120) % 2),
    }
    for table, row, columns in [
        ("table3.2", "Experiment 1", {"KNN", "IPCAC_var", "SVM"}),
        ("table4.4", "Reuters", {"O-IPCAC", "PA-I", "Perceptron"}),
        ("table6.3", "locations", {"DDAG K-TIPCAC", "SVM", "RF"}),
    ]:
        figures = run.measure(table, Piece(row), sets.__getitem__)
        assert columns <= {figure.column for figure in figures}
        printed = next(t for t in TABLES if t.id == table).published
        assert {figure.row for figure in figures} <= set(printed)


def test_printed_scores_give_the_printed_tests():
    cells, _ = rerun([t for t in TABLES if t.id == "table6.4"], None)
    found = cells["ipcac/table6.4"]["NV"]
    printed = next(t for t in TABLES if t.id == "table6.4").published["NV"]
    assert {m: round(cell.mean, 4) for m, cell in found.items()} == {
        m: cell.value for m, cell in printed.items()
    }
