"""Promises from calibration rows, beside the definitions written out and many recalibrations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA, load, save
from separatrix.early import Promise
from separatrix.early.calibration import (
    PromiseTable,
    ScorePaths,
    check_classes,
    count_needed,
    decided_codes,
    halting_times,
    largest_loss,
    measure_losses,
    tabulate_by_time,
    tabulate_promises,
    tail_probability,
)
from separatrix.early.stream import follow_paths
from tests.early.data import NEW, X, judged, series, with_gaps, y

MAX_FAILURES = 12
"""Of 100 recalibrations, each of which fails with a probability of at most 0.05: more have a
probability of 0.0015."""


def draw_paths(n, seed, n_times=12, n_classes=3, overstated=2.0):
    """Scores that rise with time and overstate how often the guess agrees."""
    rng = np.random.default_rng(seed)
    complete = rng.integers(n_classes, size=n)
    truth = np.clip(np.linspace(0.2, 1, n_times) + 0.2 * rng.standard_normal((n, n_times)), 0, 1)
    agrees = rng.random((n, n_times)) < truth
    other = (complete[:, None] + rng.integers(1, n_classes, (n, n_times))) % n_classes
    codes = np.where(agrees, complete[:, None], other)
    labels = np.where(rng.random(n) < 0.9, complete, (complete + 1) % n_classes)
    return ScorePaths(codes, np.minimum(truth ** (1 / overstated), 0.999), complete, labels)


def lost_at(paths, cutoff):
    """Rows whose decision at the first score of at least the cutoff is not the complete one."""
    stops = [next((t for t, r in enumerate(row) if r >= cutoff), None) for row in paths.scores]
    return sum(
        t is not None and paths.codes[i, t] != paths.complete[i] for i, t in enumerate(stops)
    )


# Definitions -------------------------------------------------------------------------------------


def test_series_stop_at_the_first_score_that_reaches_the_cutoff():
    paths, cutoffs = draw_paths(30, 0), np.array([0.99, 0.9, 0.5, 0.1])
    halted = halting_times(paths.scores, cutoffs)
    for i, row in enumerate(paths.scores):
        for j, cutoff in enumerate(cutoffs):
            first = [t for t, r in enumerate(row) if r >= cutoff]
            assert halted[i, j] == (first[0] if first else 12)
    by_time = halting_times(paths.scores, np.repeat(cutoffs[:, None], 12, axis=1))
    assert_array_equal(by_time, halted)


def test_losses_by_name_and_by_cost():
    paths = ScorePaths(
        np.zeros((3, 0)), np.zeros((3, 0)), np.array([0, 0, 1]), np.array([0, 1, 1])
    )
    decided = np.array([[1], [1], [0]])
    assert_array_equal(measure_losses(paths, decided, "disagreement")[:, 0], [1, 1, 1])
    assert_array_equal(measure_losses(paths, decided, "gap")[:, 0], [1, 0, 1])
    assert_array_equal(measure_losses(paths, decided, "error")[:, 0], [1, 0, 1])
    assert_array_equal(measure_losses(paths, decided, [[0, 4], [1, 0]])[:, 0], [1, 0, 0.25])


@pytest.mark.parametrize("binary", [True, False])
def test_the_largest_loss_is_where_the_tail_has_the_probability_of_error(binary):
    totals = np.array([0.0, 1, 7, 40])
    most = largest_loss(totals, 40, 0.05, binary)
    assert_allclose(tail_probability(totals[:3], 40, most[:3], binary), 0.05, rtol=1e-6)
    assert most[3] == 1
    if binary:
        assert_allclose(binom.cdf(totals[:3], 40, most[:3]), 0.05)


@pytest.mark.parametrize("tau", [0.6, 0.75, 0.8])
def test_the_cutoff_is_the_last_before_the_first_that_fails(tau):
    paths = draw_paths(200, 1)
    table = tabulate_promises(paths, Promise(), "probability", 3)
    tested = np.append(np.unique(np.maximum.accumulate(paths.scores, axis=1))[::-1], 0.0)
    if len(tested) > 500:
        tested = tested[np.append(np.linspace(0, len(tested) - 2, 500).astype(int)[:-1], -1)]
    last = np.inf
    for cutoff in tested:
        if binom.cdf(lost_at(paths, cutoff), 200, 1 - tau) > 0.05:
            break
        last = cutoff
    assert table.cutoffs_at(tau, 12)[0] == last


def test_the_table_answers_both_questions_alike():
    table = tabulate_promises(draw_paths(150, 2), Promise(), "probability", 3)
    assert (np.diff(table.levels) > 0).all()
    assert (np.diff(table.cutoffs[:, 0]) > 0).all()
    scores = np.linspace(0, 1, 301)
    kept = table.reliability(scores)
    assert (np.diff(kept) >= 0).all()
    for tau in np.linspace(0.05, 0.99, 40):
        assert_array_equal(kept >= tau, scores >= table.cutoffs_at(tau, 1)[0])
    assert np.isinf(table.cutoffs_at(1.0, 3)).all()
    assert_array_equal(table.cutoffs_at(0.0, 3), 0)


def test_averages_are_conformal_risk_control():
    paths = draw_paths(60, 3)
    table = tabulate_promises(paths, Promise(), "average", 3)
    cutoff = table.cutoffs_at(0.8, 1)[0]
    above = np.unique(paths.scores)
    worst = np.zeros(60)
    for c in above[above >= cutoff]:
        decided = decided_codes(paths, halting_times(paths.scores, np.array([c])))
        worst = np.maximum(worst, measure_losses(paths, decided, "disagreement")[:, 0])
    assert (worst.sum() + 1) / 61 <= 0.2


@pytest.mark.parametrize(("tau", "needed"), [(0.9, 29), (0.95, 59), (0.99, 299)])
def test_rows_that_are_just_enough(tau, needed):
    assert count_needed(tau) == needed
    right = ScorePaths(
        np.zeros((needed, 1), int), np.full((needed, 1), 0.5), *np.zeros((2, needed), int)
    )
    enough = tabulate_promises(right, Promise(), "probability", 1)
    assert enough.cutoffs_at(tau, 1)[0] == 0
    short = tabulate_promises(right.of_rows(np.arange(needed - 1)), Promise(), "probability", 1)
    assert np.isinf(short.cutoffs_at(tau, 1)[0])
    n = count_needed(tau, "average")
    some = right.of_rows(np.arange(n))
    assert tabulate_promises(some, Promise(), "average", 1).cutoffs_at(tau, 1)[0] == 0
    fewer = right.of_rows(np.arange(n - 1))
    assert np.isinf(tabulate_promises(fewer, Promise(), "average", 1).cutoffs_at(tau, 1)[0])


# Promises ----------------------------------------------------------------------------------------


def draw_rows(kind, n, d, rng):
    """Two or three classes whose values depend on each other, of some distribution."""
    y = rng.integers(2 + (kind == "several modes"), size=n)
    noise = (
        rng.standard_t(2, size=(n, d)) if kind == "heavy tails" else rng.standard_normal((n, d))
    )
    modes = 4 * rng.integers(-1, 2, (n, 1)) * (kind == "several modes")
    apart = {"normal": 5, "small": 5, "heavy tails": 20, "several modes": 15}[kind]
    return noise.cumsum(axis=1) / 2 + modes + np.outer(y, np.linspace(0, apart, d)), y


KINDS = ["normal", "heavy tails", "several modes", "small"]
PROMISES = [
    ("probability", None, "disagreement"),
    ("probability", None, "gap"),
    ("probability", "class", "disagreement"),
    ("probability", "time", "disagreement"),
    ("average", None, "disagreement"),
    ("average", "class", "error"),
    ("probability", None, "matrix"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("guarantee", "condition", "loss"), PROMISES)
def test_recalibrations_keep_the_promise(kind, guarantee, condition, loss):
    rng = np.random.default_rng(sum(map(ord, kind + guarantee + str(condition) + loss)))
    d, tau = 10, 0.6 if loss == "error" else 0.8
    rows, labels = draw_rows(kind, 30 if kind == "small" else 80, d, rng)
    n_classes = len(set(labels))
    matrix = loss == "matrix"
    costs = 1.0 - np.eye(n_classes)
    costs[0] *= 0.5  # mistakes of the first class cost half
    promise = Promise(None, guarantee, condition=condition, loss=costs if matrix else loss)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(rows, labels)
    pool, truth = draw_rows(kind, 20_000, d, rng)
    codes, scores = follow_paths(model._score, pool)
    paths = ScorePaths(codes, scores, model._classify(pool), truth)
    n_rows = (120 if condition else 60) * (2 if condition == "time" else 1)
    if kind == "small":  # 14 rows without a loss are needed for 0.8, of each class or half
        n_rows = 160 if condition == "time" else 100 if condition or matrix else 40
    kept, used = [], []
    for _ in range(100):
        drawn = paths.of_rows(rng.choice(20_000, size=n_rows))
        if condition == "time":
            table = tabulate_by_time(drawn, promise, tau)
        else:
            table = tabulate_promises(drawn, promise, guarantee, n_classes)
        halted = halting_times(scores, table.cutoffs_at(tau, d - 1)[None])[:, 0]
        decided = np.column_stack([codes, paths.complete])[np.arange(20_000), halted]
        lost = decided != (truth if loss == "error" else paths.complete)
        if loss == "gap":
            lost = (decided != truth) & (paths.complete == truth)
        if matrix:
            lost = costs[truth, decided]
        groups = [np.ones(20_000, dtype=bool)]
        if condition == "class":
            groups = [truth == c for c in range(n_classes)]
        if condition == "time":
            groups = [halted <= t for t in np.unique(halted) if np.sum(halted <= t) > 500]
        kept.append([1 - lost[group].mean() for group in groups])
        used.append(halted.mean() / (d - 1))
    if guarantee == "average":  # E over calibration rows; 100 of them, three standard errors
        for of_group in np.transpose(kept):
            assert of_group.mean() > tau - 3 * of_group.std() / 10
    else:
        # 20 000 rows measure a loss of 0.2 with a standard error of 0.003
        failures = sum(min(shares) < tau - 0.006 for shares in kept)
        assert failures <= MAX_FAILURES
    # the promise is not kept by waiting: recalibrations decide before the end, and few rows that
    # must pass at every time do so in two fifths of them
    assert np.mean(np.array(used) < 1) > 0.4


@pytest.mark.parametrize("condition", [None, "time"])
def test_the_reliability_that_is_stated_is_near_the_agreement(condition):
    """Mean of what is stated beside the agreement, over recalibrations by 200 of 10 000 rows."""
    rng, d = np.random.default_rng(0), 10
    rows, labels = draw_rows("normal", 80, d, rng)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(rows, labels)
    pool, truth = draw_rows("normal", 10_000, d, rng)
    codes, scores = follow_paths(model._score, pool)
    paths = ScorePaths(codes, scores, model._classify(pool), truth)
    promise, gaps = Promise(condition=condition), []
    for _ in range(30):
        drawn = paths.of_rows(rng.choice(10_000, 200, replace=False))
        if condition == "time":
            table = tabulate_by_time(drawn, promise, 0.8)
        else:
            table = tabulate_promises(drawn, promise, "probability", 3)
        halted = halting_times(scores, table.cutoffs_at(0.8, d - 1)[None])
        agreement = np.mean(decided_codes(paths, halted)[:, 0] == paths.complete)
        rows = np.flatnonzero(halted[:, 0] < d - 1)
        at, stated = halted[rows, 0], np.ones(10_000)
        stated[rows] = table.reliability(scores[rows, at], at)
        assert (stated >= 0.8).all()
        gaps.append(stated.mean() - agreement)
    assert abs(np.mean(gaps)) < (0.04 if condition is None else 0.12)


def test_small_data_say_what_is_promised_and_how_many_rows_would_do():
    rows, labels = series(50, 6)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=0.3)
    with pytest.warns(UserWarning, match=r"15 rows calibrate, .* on average .* that takes 29"):
        model.fit(rows, labels)
    assert model.guarantee_ == "average"
    model.set_params(calibration=Promise(0.3, "probability"))
    with pytest.warns(UserWarning, match="15 rows calibrate, and at least 29 are needed"):
        model.fit(rows, labels)
    assert model.guarantee_ == "probability"
    assert "at least 29 are needed" in model.no_promise_
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        assert_array_equal(model.decide_early(rows).time, 6)
    model.set_params(calibration=0.1)
    with pytest.warns(UserWarning, match="5 rows calibrate, and at least 9 are needed"):
        model.fit(rows, labels)


def test_a_class_without_calibration_rows_leaves_nothing_to_promise():
    rows, labels = series(200, 7)
    model = EarlyClassifier(
        FisherDiscriminant(shrinkage=None),
        calibration=Promise(None, condition="class"),
        reliability=0.6,
    ).fit(X, y)
    with pytest.warns(UserWarning, match="0 rows of class 2 calibrate"):
        model.calibrate(rows[labels < 2], labels[labels < 2])
    found = model.decide(with_gaps(NEW))
    complete = found.n_observed == 7
    assert np.isnan(found.reliability[~complete]).all()
    assert (found.reliability[complete] == 1).all()
    assert_array_equal(found.decided, complete)


def rare_rows(n, seed, share=0.1):
    """A rare class that shows itself at the end only."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) < share * n).astype(int)
    rows = rng.standard_normal((n, 10))
    rows[:, 7:] += 4 * labels[:, None]
    return rows, np.array(["good", "bad"])[labels]


def test_a_class_whose_promise_is_not_kept_is_named():
    rows, labels = rare_rows(600, 0, share=0.08)
    new, truth = rare_rows(2000, 1, share=0.08)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=0.4)
    with pytest.warns(UserWarning, match=r"not in class 'bad' .*condition='class'"):
        model.fit(rows, labels)
    checks = dict(zip(model.classes_.tolist(), model.class_promises_, strict=True))
    assert checks["bad"].short
    assert checks["bad"].kept < 0.5
    assert not checks["good"].short
    found = model.decide_early(new)
    assert np.mean(found.label[truth == "bad"] == "bad") < 0.3
    by_class = EarlyClassifier(
        FisherDiscriminant(shrinkage=None), calibration=Promise(0.6, condition="class")
    )
    by_class.fit(rows, labels)
    early, complete = by_class.decide_early(new), by_class.predict(new)
    bad = complete == "bad"
    # 160 rows have a standard error of 0.024
    assert np.mean(early.label[bad] == "bad") > 0.9 - 3 * 0.024
    assert early.time.mean() < 10


def test_chance_alone_is_no_reason_to_name_a_class():
    codes = np.array([[0], [0], [1], [1]])
    complete = np.array([0, 0, 1, 0])
    paths = ScorePaths(codes, np.ones((4, 1)), complete, complete)
    checks = check_classes(paths, np.zeros(1), 0.9, 2)
    assert [c.short for c in checks] == [False, False]
    assert (checks[0].n_complete, checks[0].n_decided) == (3, 2)
    assert_allclose([checks[0].kept, checks[1].confirmed], [2 / 3, 0.5])
    many = ScorePaths(*(np.repeat(part, 20, axis=0) for part in paths[:4]))
    assert [c.short for c in check_classes(many, np.zeros(1), 0.9, 2)] == [True, True]


# Groups ------------------------------------------------------------------------------------------


def subjects(n_subjects, per_subject, rng):
    """Rows of a subject share a disturbance, so that they are lost together."""
    d = 8
    y = rng.integers(2, size=n_subjects * per_subject)
    who = np.repeat(np.arange(n_subjects), per_subject)
    ramp = np.linspace(0, 1, d)
    odd = 4 * rng.standard_normal((n_subjects, 1)) * ramp
    rows = rng.standard_normal((len(y), d)).cumsum(axis=1) / 2 + np.outer(2 * y - 1, ramp)
    return rows + odd[who], y, who


def test_subjects_are_kept_together():
    """New subjects: by groups the promise holds, by rows it fails more often."""
    rng = np.random.default_rng(0)
    tau, n_subjects = 0.8, 30
    rows, labels, _ = subjects(40, 5, rng)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(rows, labels)
    new, truth, _ = subjects(3000, 5, rng)
    codes, scores = follow_paths(model._score, new)
    paths = ScorePaths(codes, scores, model._classify(new), truth)
    failures = {"rows": 0, "groups": 0}
    for _ in range(100):
        drawn = rng.choice(3000, size=n_subjects, replace=False)
        some = paths.of_rows((5 * drawn[:, None] + np.arange(5)).ravel())
        for way in failures:
            if way == "groups":
                some = some._replace(groups=np.repeat(np.arange(n_subjects), 5))
            table = tabulate_promises(some, Promise(), "probability", 2)
            halted = halting_times(scores, table.cutoffs_at(tau, 7)[:1])
            failures[way] += (
                np.mean(decided_codes(paths, halted)[:, 0] == paths.complete) < tau - 0.01
            )
    assert failures["groups"] <= MAX_FAILURES
    assert failures["groups"] <= failures["rows"]


def test_groups_are_held_out_whole():
    rng = np.random.default_rng(1)
    rows, labels, who = subjects(60, 6, rng)
    names = np.array([f"s{i}" for i in who])
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=0.5, reliability=0.7)
    model.fit(rows, labels, groups=names)
    assert model.n_calibration_rows_ == 180
    # 30 groups without a loss keep no more than 0.05 ** (1 / 30)
    assert model.promise_table_.levels.max() <= 0.05 ** (1 / 30) + 1e-9
    with pytest.raises(ValueError, match="groups has 3 entries"):
        model.fit(rows, labels, groups=[1, 2, 3])
    with pytest.raises(ValueError, match='condition="time" has no form for groups'):
        model.set_params(calibration=Promise(0.5, condition="time")).fit(
            rows, labels, groups=names
        )


# Classifiers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["model", "sampled", "prefix"])
@pytest.mark.parametrize("estimator", [LocalQDA(4), RandomForestClassifier(8, random_state=0)])
def test_rows_series_and_streams_state_one_reliability(kind, estimator):
    if kind == "model" and isinstance(estimator, RandomForestClassifier):
        pytest.skip("has no functions")
    rows, labels = series(240, 7)
    model = judged(kind, estimator, calibration=0.4, n_draws=20, n_checkpoints=7)
    model.fit(rows, labels)
    early, path = model.decide_early(NEW), model.reliability_path(NEW)
    assert ((early.reliability >= 0.9) == early.decided).all()
    for i in range(6):
        stream = model.stream()
        answers = [stream.push(value) for value in NEW[i]]
        first = next(answer for answer in answers if answer.decided)
        assert (first.label, first.time) == (early.label[i], early.time[i])
        assert_allclose(first.score, early.score[i], rtol=1e-12)
        assert_allclose(first.reliability, early.reliability[i])
        assert_allclose([a.reliability for a in answers], path[i])
    assert (path[:, -1] == 1).all()
    whole = model.decide(NEW)
    assert (whole.reliability == 1).all()
    assert (whole.score == 1).all()


@pytest.mark.parametrize("condition", [None, "class", "time"])
def test_a_calibrated_model_is_kept_in_a_file(tmp_path, condition):
    rows, labels = series(400, 7, 2)
    model = EarlyClassifier(
        FisherDiscriminant(shrinkage=None),
        calibration=Promise(0.5, condition=condition),
        reliability=0.8,
    ).fit(rows, labels)
    save(model, tmp_path / "a.model")
    kept = load(tmp_path / "a.model")
    for tau in (0.7, 0.8):
        expected, found = (m.decide_early(rows, reliability=tau) for m in (model, kept))
        for a, b in zip(expected, found, strict=True):
            assert_array_equal(a, b)
    assert kept.class_promises_ == model.class_promises_


def test_folds_calibrate_approximately():
    rows, labels = series(120, 7, 2)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration="cv").fit(rows, labels)
    assert model.n_calibration_rows_ == 120
    assert (model.decide_early(NEW).time < 7).any()


def test_what_does_not_go_together_is_refused():
    rows, labels = series(60, 7, 2)
    for wrong in (0, 1.5, "half", object()):
        with pytest.raises(ValueError, match=r"calibration=.* is not valid"):
            EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=wrong).fit(
                rows, labels
            )
    with pytest.raises(ValueError, match='condition="time" is promised with'):
        EarlyClassifier(
            FisherDiscriminant(shrinkage=None),
            calibration=Promise(0.5, "average", condition="time"),
        ).fit(rows, labels)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(rows, labels)
    with pytest.raises(ValueError, match="X has 60 rows, but y has 59 labels"):
        model.calibrate(rows, labels[1:])
    with pytest.raises(ValueError, match="y has the label 7, which was not learned"):
        model.calibrate(rows, labels + 7)
    with pytest.raises(ValueError, match="y is missing"):
        model.set_params(calibration=Promise(None, loss="gap")).calibrate(rows)


def test_a_table_without_levels_promises_nothing():
    table = PromiseTable(np.zeros(0), np.zeros((0, 1)))
    assert np.isnan(table.reliability(np.array([0.3, 0.9]))).all()
    assert np.isinf(table.cutoffs_at(0.5, 4)).all()
