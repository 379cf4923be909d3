"""Which method is advised: stable, fast, simple, and no worse than the best."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from separatrix import datasets
from separatrix.evaluate import advise, compare, compare_in_practice
from separatrix.evaluate.advice import with_advice
from separatrix.evaluate.ranking import corrected_t_test
from separatrix.evaluate.splits import RandomShares
from tests.comparisons import around, made_up

NOISY = [0.9, 0.8, 0.95, 0.7, 0.85, 0.9, 0.75, 0.8, 0.9, 0.85]
WITHIN_CHANCE = {
    "slow": [s + 0.01 for s in NOISY],
    "quick": NOISY[::-1],
    "LDA": NOISY[3:] + NOISY[:3],
}


def replaced(comparison, name, **changes):
    methods = [
        dataclasses.replace(m, **changes) if m.name == name else m for m in comparison.methods
    ]
    return dataclasses.replace(comparison, methods=tuple(methods))


def warned(comparison, name, text):
    folds = [dataclasses.replace(fold, warnings=(text,)) for fold in comparison[name].folds]
    return replaced(comparison, name, folds=tuple(folds))


def test_a_method_that_is_shown_to_be_worse_is_not_advised():
    found = made_up({"A": around(0.95), "LDA": around(0.8)}, seconds={"A": 100.0, "LDA": 0.001})
    advice = advise(found)
    assert (advice.method, advice.best) == ("A", "A")
    assert not advice["LDA"].as_good
    assert advice["LDA"].p_value < 0.001


def test_of_methods_that_the_test_cannot_distinguish_lda_comes_first():
    advice = advise(made_up(WITHIN_CHANCE, seconds={"slow": 1.65, "quick": 0.01, "LDA": 0.02}))
    assert (advice.method, advice.best) == ("LDA", "slow")
    assert all(standing.as_good for standing in advice.standings)


def test_no_method_is_advised_that_takes_more_than_five_times_the_fastest_as_good():
    seconds = {"slow": 16.5, "quick": 0.1, "LDA": 2.0}
    advice = advise(made_up(WITHIN_CHANCE, seconds=seconds))
    assert advice.method == "quick"
    limit = 5 * min(s.seconds for s in advice.standings if s.as_good)
    assert advice[advice.method].seconds <= limit < advice["LDA"].seconds


def test_milliseconds_do_not_decide():
    """Ten times as long, but a quarter of a second at most: the usual one is taken."""
    seconds = {"slow": 0.07, "quick": 0.002, "LDA": 0.235}  # and 0.01 to predict
    assert advise(made_up(WITHIN_CHANCE, seconds=seconds)).method == "LDA"
    assert advise(made_up(WITHIN_CHANCE, seconds={**seconds, "LDA": 0.26})).method == "quick"


def test_processor_time_decides_where_it_is_known():
    """LDA waited for the processor: on the wall clock it took a hundred times as long."""
    found = made_up(WITHIN_CHANCE, seconds={"slow": 0.5, "quick": 0.5, "LDA": 50.0})
    assert advise(found).method != "LDA"
    folds = [dataclasses.replace(fold, cpu_seconds=0.6) for fold in found["LDA"].folds]
    advice = advise(replaced(found, "LDA", folds=tuple(folds)))
    assert (advice.method, advice["LDA"].seconds) == ("LDA", 0.6)


def test_no_method_is_advised_whose_fits_did_not_converge():
    found = made_up({"A": around(0.9), "B": around(0.9)})
    assert advise(found).method == "A"
    stopped = warned(found, "A", "ConvergenceWarning: it stopped after 100 steps")
    assert advise(stopped).method == "B"
    assert advise(warned(found, "A", "UserWarning: two columns are equal")).method == "A"
    # where all of them warn there is nothing else to take
    assert advise(warned(stopped, "B", "ConvergenceWarning: early")).method == "A"


def test_a_difference_within_half_a_point_does_not_matter_however_sure_it_is():
    """Ten splits with the same difference of 0.4 points: the test is sure of it."""
    scores = [0.9 + 0.001 * i for i in range(10)]
    close = {"A": scores, "LDA": [s - 0.004 for s in scores]}
    found = made_up(close, n_rows=20_000)
    assert advise(found)["LDA"].p_value <= 0.05
    assert advise(found).method == "LDA"
    assert advise(found, rope=0.001).method == "A"


def test_few_splits_allow_one_standard_error_of_a_test_part():
    """With 60 test rows and 90 % correct that is 3.9 points."""
    found = made_up({"A": [0.9, 0.9], "LDA": [0.87, 0.87], "raw": [0.8, 0.8]})
    advice = advise(found)
    assert advice.method == "LDA"
    assert not advice["raw"].as_good
    assert advise(made_up({"A": [0.9], "LDA": [0.8]})).method == "A"


def test_linear_comes_before_curved_and_few_settings_before_many():
    found = made_up({name: around(0.9) for name in "ABC"})
    found = replaced(found, "A", grid={"kernel__gamma": [1.0]})
    found = replaced(found, "B", grid={"C": [1.0, 10.0], "fixed": [1.0]})
    assert advise(found).method == "C"
    assert advise(replaced(found, "C", grid={"C": [1.0, 2.0, 3.0]})).method == "B"
    without = tuple(dataclasses.replace(fold, loadings=None) for fold in found["C"].folds)
    assert advise(replaced(found, "C", folds=without)).method == "B"


def test_methods_that_lack_splits_are_advised_only_where_none_is_complete():
    scores = {"LDA": [*around(0.9)[:9], None], "A": around(0.9)}
    assert advise(made_up(scores)).method == "A"
    assert advise(made_up({"LDA": scores["LDA"]})).method == "LDA"
    assert advise(made_up({"A": [None, None]})) is None
    assert advise(made_up({"A": [0.9, None], "B": [None, 0.9]})) is None
    assert with_advice(made_up({"A": [None, None]})).advised is None


def taking(comparison, seconds):
    """The comparison as on a machine where folds of each method take these seconds."""
    for name, spent in seconds.items():
        folds = [dataclasses.replace(f, cpu_seconds=spent) for f in comparison[name].folds]
        comparison = replaced(comparison, name, folds=tuple(folds))
    return comparison


def test_the_advice_on_wine_depends_neither_on_the_seed_nor_on_the_load_of_the_machine():
    """Over five seeds two methods at most, also where every fold takes three times as long."""
    wine = datasets.load("wine")
    seconds = {"LDA": 0.01, "FisherDiscriminant": 0.08, "IPCAC": 0.02, "PCA": 0.03, "raw": 0.01}
    advised = set()
    for seed in range(5):
        found = compare(
            list(seconds), wine.data, wine.target, cv=RandomShares(5), random_state=seed,
            progress=False,
        )  # fmt: skip
        for load in (1, 3):
            advice = advise(taking(found, {name: load * s for name, s in seconds.items()}))
            assert advice.best == found.best
            advised.add(advice.method)
    assert len(advised) <= 2


def test_the_three_probabilities_are_those_of_student_s_t():
    differences = np.array([0.01, 0.03, -0.01, 0.02, 0.0, 0.015])
    above, within, below = compare_in_practice(differences, 0.3, rope=0.005)
    error = math.sqrt((1 / 6 + 0.3 / 0.7) * differences.var(ddof=1))
    posterior = stats.t(5, loc=differences.mean(), scale=error)
    assert above == pytest.approx(posterior.sf(0.005))
    assert below == pytest.approx(posterior.cdf(-0.005))
    assert above + within + below == pytest.approx(1)
    # without a region the smaller side is half the p-value of the t-test
    _, _, below = compare_in_practice(differences, 0.3, rope=0.0)
    assert below == pytest.approx(corrected_t_test(differences, 0.3)[1] / 2)


def test_differences_without_spread_are_known_to_one_row_at_best():
    assert compare_in_practice([0.1] * 5, 0.3) == (1.0, 0.0, 0.0)
    assert compare_in_practice([0.0] * 5, 0.3) == (0.0, 1.0, 0.0)
    above, _, _ = compare_in_practice([0.02] * 5, 0.3, n_test=50)
    assert 0.5 < above < 0.9
    assert compare_in_practice([0.1], 0.3) == (0.5, 0.5, 0.0)
    assert compare_in_practice([-0.1], 0.3) == (0.0, 0.5, 0.5)
    assert compare_in_practice([0.001], 0.3) == (0.0, 1.0, 0.0)
