"""The verdict: which method, by how much, and whether that is real."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from separatrix.evaluate.records import Permutation, Summary, Winner
from separatrix.report import facts, render, wording
from tests.comparisons import around, made_up
from tests.report.comparing import NOISY, WITHIN_CHANCE, against, plain, replaced, said


def test_a_clear_winner_is_called_best_and_its_lead_real():
    verdict = said(made_up({"LDA": around(0.8), "A": around(0.95), "raw": around(0.7)}))
    assert verdict["headline"] == "A separates the classes best."
    assert (verdict["best"], verdict["advised"], verdict["tied"]) == ("A", "A", ["A"])
    assert plain(verdict["measure"]).startswith(
        "A names the class of 95.0 % of 60 held-out rows correctly, the mean of 10 splits (95 %"
    )
    for name, lead in (("raw", 0.25), ("LDA", 0.15)):
        entry = against(verdict, name)
        assert entry["difference"] == pytest.approx(lead)
        assert entry["real"] is True
        assert "A real difference" in entry["words"]
        assert entry["probability"]["better"] > 0.99
    assert against(verdict, "raw")["value"] == "25.0 fewer mistakes"
    assert verdict["use"] == "Use A with 2 directions in place of 3 features."
    assert verdict["why"] == "Every other method is shown to be worse."
    assert verdict["top"] == ""
    assert verdict["alike"] == "The test distinguishes A from all other methods."
    assert [bar["mistakes"] for bar in verdict["bars"]] == pytest.approx([5, 20, 30])


def test_a_lead_within_chance_is_not_advised_and_the_top_line_is_named_as_such():
    verdict = said(made_up(WITHIN_CHANCE, seconds={"A": 16.5, "raw": 0.1, "LDA": 0.1}))
    assert verdict["headline"] == "LDA is enough: no method is shown to be better."
    assert (verdict["best"], verdict["advised"]) == ("A", "LDA")
    assert verdict["use"].startswith("Use LDA with 2 directions")
    assert plain(verdict["top"]).startswith(
        "A ranks first with 1.0 fewer mistakes in 100, not significant (p"
    )
    assert verdict["top"].endswith("; it takes 150 times as long.")
    assert verdict["why"].startswith(
        "Why: 3 methods are as good as the best as far as the test can see."
    )
    assert len(verdict["brief"]) <= 5
    assert verdict["brief"][0] == verdict["use"]
    assert plain(verdict["brief"][1]).startswith("It names the class of 8")
    assert verdict["brief"][2] == verdict["top"]
    alike = "The test cannot distinguish A, the top line, from any of the other 2 methods."
    assert verdict["alike"] == alike


def test_advice_says_where_the_manual_tells_of_the_method():
    best = {"LDG": NOISY, "raw": [s - 0.3 for s in NOISY]}
    verdict = said(made_up(best))
    assert verdict["manual"] == "More about LDG: see the manual, page ldg."
    assert verdict["manual"] in verdict["sentences"]
    assert said(made_up(WITHIN_CHANCE))["manual"] == ""  # LDA is not ours


def test_is_a_subspace_good_enough():
    """The best subspace beside the best of everything, in mistakes and in time."""
    scores = {"A": [s - 0.004 for s in NOISY], "SVM": NOISY, "raw": [s - 0.3 for s in NOISY]}
    found = made_up(scores, seconds={"A": 0.1, "SVM": 2.0})
    found = with_directions(found, "SVM", *[None] * 10)
    mistakes = 100 * (1 - np.mean(NOISY))
    assert plain(said(found)["subspace"]) == (
        f"Is a subspace good enough? Yes: the best subspace, A, makes {mistakes + 0.4:.1f} "
        f"mistakes in 100, the best of everything, SVM, {mistakes:.1f}; the subspace does so in "
        "5 % of the time."
    )
    far = {"A": around(0.7), "SVM": around(0.9), "raw": around(0.5)}
    far = with_directions(made_up(far, seconds={"A": 0.4}), "SVM", *[None] * 10)
    assert "good enough? No:" in said(far)["subspace"]
    assert "3.7 times the time" in said(far)["subspace"]
    assert said(made_up(WITHIN_CHANCE))["subspace"].endswith(
        "Yes: the best of all methods, A, is one, with 15.0 mistakes in 100; the best without, "
        "3-NN on all features, makes 16.0."
    )
    assert said(made_up(WITHIN_CHANCE))["sentences"][1].startswith("Is a subspace good enough?")


def with_directions(comparison, name, *numbers):
    folds = tuple(
        dataclasses.replace(fold, n_components=n)
        for fold, n in zip(comparison[name].folds, numbers, strict=True)
    )
    return replaced(comparison, name, folds=folds)


def test_directions_that_differ_between_splits_are_not_told_as_one_number():
    comparison = made_up({"A": around(0.9), "raw": around(0.7)}, features=list("abcdefgh"))
    found = facts(with_directions(comparison, "A", *[2] * 9, 7))
    assert found["verdict"]["use"] == (
        "Use A with between 2 and 7 directions, chosen anew in each split."
    )
    assert "2–7" in render(found)


def test_the_best_of_many_is_said_to_look_better_than_it_is():
    scores = {name: around(0.7 + i / 20) for i, name in enumerate("ABCDE")}
    sentence = "The best of 5 methods looks a little better than it is."
    assert said(made_up(scores))["measure"].endswith(sentence)
    assert "looks a little" not in said(made_up({"A": around(0.9), "B": around(0.8)}))["measure"]


def test_equal_scores_share_the_first_place():
    scores = {"A": around(0.9), "B": around(0.9), "raw": around(0.7)}
    found = facts(made_up(scores, seconds={"A": 100.0}))
    verdict = found["verdict"]
    assert verdict["headline"] == "B is enough: no method is better."
    assert verdict["tied"] == ["A", "B"]
    assert verdict["top"].startswith("A is right as often; ")
    alike = (
        "The test cannot distinguish A, the top line, from 1 of the other 2 methods, its group."
    )
    assert verdict["alike"] == alike
    assert [row["place"] for row in found["leaderboard"]["rows"]] == [1, 1, 3]


def test_when_all_are_equal_none_is_told_from_others():
    found = facts(made_up({name: around(1.0, 0.0) for name in "ABCDE"}))
    assert found["verdict"]["alike"] == "All of them are right equally often."
    assert not any("luckiest" in note for note in found["leaderboard"]["notes"])


def test_references_are_known_by_what_they_are_and_not_by_their_names():
    """A method of the caller may be called raw, and the raw data may be called otherwise."""
    comparison = made_up({"raw": around(0.95), "mine": around(0.8), "LDA": around(0.7)})
    kinds = {
        "raw": ("given", "LDG()"),
        "mine": ("reference", "FunctionTransformer()"),
        "LDA": ("subspace", "LinearDiscriminantAnalysis()"),
    }
    methods = tuple(
        dataclasses.replace(m, kind=kinds[m.name][0], estimator=kinds[m.name][1])
        for m in comparison.methods
    )
    found = facts(dataclasses.replace(comparison, methods=methods))
    verdict = found["verdict"]
    assert verdict["headline"] == "raw separates the classes best."
    assert [entry["name"] for entry in verdict["against"]] == ["mine"]
    assert [bar["name"] for bar in verdict["bars"]] == ["raw", "3-NN on all features"]
    assert found["projections"]["panels"] == ["raw", "mine", "LDA"]
    assert found["time"]["words"].startswith("Time includes choosing the settings. raw trains")


def test_all_features_that_are_best_are_called_by_the_rule_that_decides():
    verdict = said(made_up({"A": around(0.9), "raw": around(0.95), "LDA": around(0.8)}))
    assert verdict["headline"] == "3-NN on all features separates the classes best."
    assert verdict["use"] == "Use 3-NN on all features."
    assert "good enough? No: the best subspace, A, makes 10.0" in verdict["subspace"]


def test_fits_that_did_not_converge_are_named():
    comparison = made_up({"A": around(0.9), "B": around(0.9), "raw": around(0.7)})
    text = "ConvergenceWarning: too few steps"
    folds = tuple(dataclasses.replace(f, warnings=(text,)) for f in comparison["A"].folds)
    verdict = said(replaced(comparison, "A", folds=folds))
    assert verdict["advised"] == "B"
    assert verdict["why"].endswith(" Not considered, since fits did not converge: A.")


def test_a_method_alone_is_described_and_not_called_best():
    found = facts(made_up({"A": around(0.9)}))
    assert plain(found["verdict"]["headline"]) == "A is right for 90.0 % of held-out rows."
    assert found["verdict"]["against"] == []
    assert any("Only one method" in text for text in found["verdict"]["cautions"])
    assert "A" in render(found)


def test_a_test_set_is_not_told_to_have_more_splits():
    found = made_up({"A": around(0.95, n=1), "raw": around(0.7, n=1)})
    found = dataclasses.replace(found, settings={**found.settings, "splitting": "test file"})
    assert said(found)["sentences"][0].startswith("One test set cannot distinguish any two")


@pytest.mark.parametrize("n", [1, 3])
def test_few_splits_distinguish_nothing_and_that_is_said_first(n):
    found = facts(made_up({"A": around(0.95, n=n), "raw": around(0.7, n=n), "LDA": [0.6] * n}))
    verdict = found["verdict"]
    start = "1 split cannot" if n == 1 else "3 splits cannot"
    assert verdict["sentences"][0].startswith(f"{start} distinguish any two methods")
    assert [entry["real"] for entry in verdict["against"]] == [None, None]
    assert "too few to show" in against(verdict, "raw")["words"]
    assert verdict["headline"].startswith("A is the one to try first")
    assert "shown to be worse" not in verdict["why"]
    page = render(found)
    assert page.index("cannot distinguish any two methods") < page.index("What to use")


@pytest.mark.parametrize("n_splits", [1, 10])
def test_scores_without_spread_have_the_interval_of_the_rows_of_one_split(n_splits):
    """Where 60 rows of 60 are right, the lower end is the 60th root of 0.025."""
    comparison = made_up({"A": [1.0] * n_splits, "raw": [0.75] * n_splits})
    found = facts(comparison)
    assert f"{100 * 0.025 ** (1 / 60):.1f}" == "94.0"
    assert "(95 % interval for new rows: 94.0 % to 100 %)" in plain(found["verdict"]["measure"])
    assert [row["low"] < row["high"] for row in found["leaderboard"]["rows"]] == [True, True]
    assert any("for the 60 rows of one split" in note for note in found["leaderboard"]["notes"])
    spread = facts(made_up({"A": around(0.9), "raw": around(0.8)}))
    assert not any("one split" in note for note in spread["leaderboard"]["notes"])


def test_few_splits_of_clear_classes_are_not_called_guessing():
    verdict = said(made_up({"A": [0.99, 0.91], "raw": [0.9, 0.95]}, class_shares=(0.7, 0.3)))
    assert "guessing" not in verdict["headline"]


CHANCE = [0.78, 0.82, 0.8, 0.79, 0.83, 0.77, 0.8, 0.81, 0.79, 0.8]


def unequal(**balanced):
    """Four classes in five rows of one, no method with fewer mistakes than naming that one."""
    found = made_up(
        {"A": CHANCE, "B": [s - 0.05 for s in CHANCE], "raw": [s - 0.05 for s in CHANCE]},
        class_shares=(0.8, 0.2),
    )
    for name in ("A", "B", "raw"):
        mean, low = balanced.get(name, (0.5, 0.45))
        score = Summary(mean, 0.05, low, 2 * mean - low)
        summary = {**found[name].summary, "balanced_accuracy": score}
        found = replaced(found, name, summary=summary)
    return found


def test_small_classes_that_are_found_are_no_guessing():
    found = unequal(B=(0.76, 0.7))
    verdict = said(found)
    labels = np.array(found.labels)
    small = [
        np.array(fold.predicted)[labels[list(test)] == 1] == 1
        for fold, test in zip(found["B"].folds, found.tests, strict=True)
    ]
    share = wording.format_percent(np.concatenate(small).mean())
    assert verdict["headline"] == (
        "No method is shown to make fewer mistakes than always naming the largest class, but B "
        f"finds {share} of the small class."
    )
    assert plain(verdict["measure"]).startswith("B names the class of 74.9 %")
    assert plain(verdict["measure"]).endswith(", averaged over the classes 76.0 %.")
    assert verdict["use"].startswith("Use B where the small class must be found.")
    assert verdict["advised"] == "B"
    assert said(unequal(B=(0.76, 0.45)))["advised"] is None
    assert said(unequal(B=(0.76, 0.76)))["advised"] is None  # no spread, so no interval


def test_no_better_than_guessing():
    verdict = said(unequal())
    assert plain(verdict["measure"]).startswith("A names the class of 79.9 % of 60 held-out")
    assert "better than guessing" in verdict["headline"]
    assert verdict["subspace"] == ""
    assert verdict["use"].startswith("Use none of them yet")
    assert verdict["advised"] is None
    assert verdict["why"] == ""
    assert "20 mistakes in 100" in verdict["guessing"]


def test_small_classes_that_are_missed_are_pointed_out():
    comparison = made_up({"A": around(0.9), "raw": around(0.85)}, class_shares=(0.6, 0.38, 0.02))
    summary = dict(comparison["A"].summary)
    summary["balanced_accuracy"] = dataclasses.replace(summary["balanced_accuracy"], mean=0.6)
    cautions = said(replaced(comparison, "A", summary=summary))["cautions"]
    assert any("60.0 %" in plain(text) for text in cautions)
    assert any("class 2 has fewer than 5 rows" in text for text in cautions)


def test_words_and_numbers_agree_whatever_the_scores():
    rng = np.random.default_rng(1)
    for seed in range(30):
        gap = rng.choice([0, 0.01, 0.05])
        scores = {
            name: np.clip(rng.normal(0.8 + j * gap, 0.03, 6), 0, 1).tolist()
            for j, name in enumerate(("raw", "LDA", "A"))
        }
        found = facts(made_up(scores, seed=seed))
        verdict = found["verdict"]
        assert verdict["best"] == max(scores, key=lambda name: np.mean(scores[name]))
        for entry in verdict["against"]:
            assert entry["subject"] == verdict["advised"]
            gap = np.mean(scores[entry["subject"]]) - np.mean(scores[entry["name"]])
            assert entry["difference"] == pytest.approx(gap)
            assert entry["real"] == (entry["p_holm"] <= 0.05)
            assert ("real difference" in entry["words"]) == entry["real"]
            assert sum(entry["probability"].values()) == pytest.approx(1)
        if "best." in verdict["headline"]:
            assert verdict["advised"] == verdict["best"]
        if "enough" in verdict["headline"]:
            assert verdict["top"] != ""


def test_all_methods_failed():
    found = facts(made_up({"A": [None, None], "B": [None, None]}))
    assert found["verdict"]["headline"] == "All 2 methods failed."
    assert found["verdict"]["best"] is None
    assert [m["name"] for m in found["failures"]["methods"]] == ["A", "B"]
    page = render(found)
    assert "the matrix is singular" in page


def ranked_by(comparison, score, *, sign=1):
    """The comparison as if it were ranked by another score, which is the accuracy or one less."""
    methods = []
    for method in comparison.methods:
        folds = tuple(
            dataclasses.replace(
                fold,
                scores={
                    **fold.scores,
                    score: fold.scores["accuracy"] if sign > 0 else 1 - fold.scores["accuracy"],
                },
            )
            for fold in method.folds
        )
        of = method.summary["accuracy"]
        ends = (
            (of.mean, of.std, of.low, of.high)
            if sign > 0
            else (1 - of.mean, of.std, 1 - of.high, 1 - of.low)
        )
        methods.append(
            dataclasses.replace(
                method, folds=folds, summary={**method.summary, score: Summary(*ends)}
            )
        )
    settings = {**comparison.settings, "score": score}
    return dataclasses.replace(comparison, methods=tuple(methods), settings=settings)


def test_the_score_that_ranks_is_the_one_that_is_spoken_of():
    scores = {"A": around(0.95), "LDA": around(0.8), "raw": around(0.7)}
    found = facts(ranked_by(made_up(scores), "macro_f"))
    verdict = found["verdict"]
    assert (verdict["best"], verdict["advised"]) == ("A", "A")
    assert against(verdict, "LDA")["value"] == "15.0 points more macro F"
    assert "A has 15.0 points more macro F than LDA" in plain(against(verdict, "LDA")["quote"])
    assert ", with a macro F of 95.0 %" in plain(verdict["measure"])
    assert "Methods are ranked and tuned by macro F." in found["protocol"]
    page = render(found)
    assert "The macro F on held-out rows, the mean of all splits" in page


def test_of_losses_less_is_better():
    scores = {"A": around(0.95), "LDA": around(0.8), "raw": around(0.7)}
    found = facts(ranked_by(made_up(scores), "brier", sign=-1))
    assert [row["name"] for row in found["leaderboard"]["rows"]] == ["A", "LDA", "raw"]
    assert [row["mean"] for row in found["leaderboard"]["rows"]] == pytest.approx([0.05, 0.2, 0.3])
    verdict = found["verdict"]
    assert verdict["advised"] == "A"
    assert against(verdict, "LDA")["value"] == "a Brier score lower by 0.15"
    assert against(verdict, "LDA")["real"] is True
    page = render(found)
    assert ", less is better, the mean of all splits" in page
    assert ">0.05<" in page


def test_the_choice_of_the_method_inside_the_fold_is_told():
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    winner = Winner(
        ("A",) * 7 + ("LDA",) * 3, tuple(range(10)), (), {"accuracy": Summary(0.87, 0, 0.8, 0.9)}
    )
    said_of = said(dataclasses.replace(found, winner=winner))
    assert plain(said_of["winner"]) == (
        "Always taking the method that is best within the training part gives 87.0 % (A 7 times "
        "and LDA 3 times); A, which was picked after all splits were seen, has 90.0 %."
    )
    assert said_of["winner"] in said_of["sentences"]


def test_shuffled_labels_are_told_with_their_p_value():
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    permutation = Permutation("A", "accuracy", tuple(range(10)), 0.9, (0.5,) * 99, 0.01)
    verdict = said(dataclasses.replace(found, permutation=permutation))
    assert plain(verdict["permutation"]) == (
        "With shuffled labels A reaches 50.0 % on average over 99 shuffles, with the real ones "
        "90.0 %: p = 0.01 (permutation test; 99 shuffles show no less than 0.01)."
    )
    assert verdict["permutation"] in render(
        facts(dataclasses.replace(found, permutation=permutation))
    )


def test_what_splitting_by_rows_would_have_pretended():
    found = made_up({"A": around(0.7), "LDA": around(0.5)})
    groups = {"groups": tuple(i // 5 for i in range(200)), "group_names": tuple(range(40))}
    settings = {**found.settings, "unit": "groups", "splitting": "random"}
    by_rows = {"A": {"accuracy": Summary(0.95, 0, 0.9, 1)}}
    described = facts(dataclasses.replace(found, **groups, settings=settings, by_rows=by_rows))
    assert plain(described["verdict"]["pretended"]) == (
        "Splitting by rows, with rows of a group on both sides, would have pretended 95.0 % for A "
        "in place of 70.0 %."
    )
    assert "30 % of the groups were held out" in described["protocol"]
    assert "rows of one of the 40 groups are never on both sides" in described["protocol"]
    assert "The unit of splitting is the row" in facts(found)["protocol"]


@pytest.mark.parametrize(
    ("splitting", "words"),
    [
        ("k-fold", "the rows were dealt into folds"),
        ("given", "as the split that was given says"),
        ("test file", "the rows of the test file were held out"),
        ("time", "that come after all those to learn from"),
    ],
)
def test_the_way_of_splitting_is_told(splitting, words):
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    settings = {**found.settings, "splitting": splitting, "folds": 5}
    assert words in facts(dataclasses.replace(found, settings=settings))["protocol"]


def test_the_page_says_why_balanced_accuracy_ranks():
    found = ranked_by(
        made_up({"A": around(0.95), "LDA": around(0.9)}, class_shares=(0.9, 0.1)),
        "balanced_accuracy",
    )
    assert facts(found)["protocol"].endswith(
        "balanced accuracy, since the classes are very unequal."
    )


def test_an_advised_method_that_finds_small_classes_is_advised_though_it_makes_more_mistakes():
    """Ranked by balanced accuracy, and shown to be above chance by it."""
    found = ranked_by(unequal(B=(0.76, 0.7)), "balanced_accuracy")
    folds = tuple(
        dataclasses.replace(
            f, scores={**f.scores, "balanced_accuracy": 0.76 + 0.01 * (f.split % 3)}
        )
        for f in found["B"].folds
    )
    others = [
        tuple(
            dataclasses.replace(
                f, scores={**f.scores, "balanced_accuracy": 0.5 + 0.01 * (f.split % 2)}
            )
            for f in found[n].folds
        )
        for n in ("A", "raw")
    ]
    found = replaced(found, "B", folds=folds, summary=unequal(B=(0.76, 0.7))["B"].summary)
    for name, each in zip(("A", "raw"), others, strict=True):
        found = replaced(found, name, folds=each, summary=unequal()[name].summary)
    verdict = said(found)
    assert verdict["advised"] == "B"
    assert verdict["headline"] == "B separates the classes best."


def test_of_equal_classes_none_is_called_small():
    """Few test rows: mistakes alone do not show it, the mean over classes does."""
    scores = [0.6 + 0.02 * (i % 3) for i in range(10)]
    found = made_up({"A": scores, "raw": [s - 0.1 for s in scores]}, n_rows=60)
    summary = {**found["A"].summary, "balanced_accuracy": Summary(0.62, 0.02, 0.55, 0.7)}
    verdict = said(replaced(found, "A", summary=summary))
    assert "small" not in verdict["headline"]
    assert verdict["advised"] == "A"
    assert verdict["use"].startswith("Use A with 2 directions")


def test_permutations_on_fewer_splits_say_so():
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    permutation = Permutation("A", "accuracy", (0, 1), 0.9, (0.5,) * 9, 0.1)
    verdict = said(dataclasses.replace(found, permutation=permutation))
    assert "with the real ones 90.0 % on 2 of the splits: p" in plain(verdict["permutation"])


def test_where_the_advised_method_cannot_be_drawn_the_best_that_can_is_named():
    comparison = made_up({"A": around(0.95), "B": around(0.8), "C": around(0.7)})
    folds = [
        dataclasses.replace(fold, n_components=None, loadings=None, view=None)
        for fold in comparison["A"].folds
    ]
    verdict = said(replaced(comparison, "A", folds=tuple(folds)))
    assert verdict["advised"] == "A"
    wanted = "It has no directions to draw; B has, with 80.0 % correct."
    assert wanted in [plain(sentence) for sentence in verdict["brief"]]
    assert len(verdict["brief"]) <= 5
    assert "draw" not in " ".join(said(comparison)["brief"])
