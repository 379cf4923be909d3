"""The verdict in plain words: which method to use, why, and how surely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from separatrix.evaluate.advice import ALPHA, MAX_SLOWDOWN, NEGLIGIBLE_SECONDS, ROPE, Advice
from separatrix.evaluate.ranking import FEWEST_SPLITS
from separatrix.evaluate.records import LOSS_SCORES, Comparison
from separatrix.report import wording
from separatrix.report.cards import Row, choose_others, compare_with, count_mistakes

MAX_BRIEF = 5
"""Sentences that a terminal shows of a verdict."""

MANY_METHODS = 5
"""Number of methods from which on the first is said to owe a part of its score to chance."""

MIN_SLOWER = 1.5
"""Ratio of times from which on one method is said to take longer than another."""

MAX_EQUAL_SHARE = 1.2
"""Largest class over the mean class size; up to this no class is called small."""

NO_BETTER_THAN_GUESSING = (
    "No method is shown to distinguish the classes better than guessing would."
)

USE_NONE = (
    "Use none of them yet: these features may not distinguish the classes, or the rows are too "
    "few to show it."
)

NO_VERDICT: dict[str, Any] = {
    "best": None,
    "advised": None,
    "tied": [],
    "measure": "",
    "few": "",
    "use": "See below what failed and why.",
    "why": "",
    "top": "",
    "manual": "",
    "subspace": "",
    "winner": "",
    "permutation": "",
    "pretended": "",
    "against": [],
    "alike": "",
    "bars": [],
    "guessing": "",
    "cautions": [],
}
"""The parts of a verdict where no method can be compared, but for the headline."""


def reach_verdict(
    rows: Sequence[Row], data: Mapping[str, Any], comparison: Comparison, advice: Advice | None
) -> dict[str, Any]:
    """Draw the conclusion from a leaderboard.

    Parameters
    ----------
    rows : sequence of dict
        Those of the leaderboard, best first.
    data : dict
        Classes, numbers of rows and features, and the share of the largest class, ``guess``.
    comparison : Comparison
        Scores of the splits, and reasons of methods that failed.
    advice : Advice or None
        That of `evaluate.advise`.

    Returns
    -------
    dict
        ``best``, ``advised`` and ``tied`` are names of methods. ``headline``, ``measure``,
        ``few``, ``use``, ``why``, ``top``, ``subspace``, ``winner``, ``permutation``,
        ``pretended`` and ``alike`` are sentences, empty where there is nothing to say.
        ``against`` compares the advised method with others, one card each; ``bars`` are mistakes
        in 100 rows, ``guessing`` a sentence on those of no method at all; ``cautions`` are
        sentences, and ``sentences`` all of them in the order in which they are read.
    """
    ranked = [row for row in rows if row["ranked"]]
    if not ranked or advice is None:
        return _with_sentences(NO_VERDICT | {"headline": _say_none_done(rows, comparison)})
    best = next(row for row in ranked if row["name"] == advice.best)
    subject = next(row for row in ranked if row["name"] == advice.method)
    most = max(row["accuracy"] for row in ranked)
    guessing = may_be_guessing(most, data["guess"], comparison.n_test)
    finder = _finder(ranked, data, subject, comparison.score) if guessing else None
    equal = data["guess"] <= MAX_EQUAL_SHARE / len(data["classes"])
    if finder is not None and (equal or (finder is subject and comparison.score != "accuracy")):
        guessing, finder = False, None
    if guessing:
        verdict = _judge_guessing(finder, best, data)
        subject = finder or best
    else:
        verdict = _judge(subject, best, ranked, comparison, advice, data)
    if "advised" in verdict:
        verdict["manual"] = wording.refer_to_manual(comparison[verdict["advised"]].estimator)
    tied = [row for row in ranked if wording.are_equal(row["mean"], best["mean"])]
    against = [
        compare_with(subject, other, ranked, comparison)
        for other in choose_others(subject, best, ranked)
    ]
    return _with_sentences(
        NO_VERDICT
        | {
            "best": best["name"],
            "tied": [row["name"] for row in tied],
            "measure": _measure(subject, ranked, comparison, finder),
            "few": _few(comparison),
            "subspace": (
                "" if guessing and finder is None else _subspace(ranked, data, comparison.score)
            ),
            "winner": _winner(best, comparison),
            "permutation": _permutation(comparison),
            "pretended": _pretended(subject, comparison),
            "against": against,
            "alike": _alike(tied, ranked),
            "bars": count_mistakes(subject, best, ranked),
            "guessing": (
                f"Always naming the largest class would make {100 * (1 - data['guess']):.0f} "
                "mistakes in 100."
            ),
            "cautions": _cautions(subject, ranked, data),
        }
        | verdict
    )


def _with_sentences(verdict: dict[str, Any]) -> dict[str, Any]:
    first = ("few", "headline", "subspace", "measure", "use", "why", "top", "manual")
    order = (*first, "permutation", "pretended", "winner", "alike")
    sentences = [verdict[key] for key in order if verdict[key]] + verdict["cautions"]
    return verdict | {
        "sentences": sentences,
        "brief": verdict.get("brief") or sentences[:MAX_BRIEF],
    }


def _say_none_done(rows: Sequence[Row], comparison: Comparison) -> str:
    if rows:
        return "No method was done on enough splits to be compared."
    n = len(comparison.methods)
    return "The method failed." if n == 1 else f"All {n} methods failed."


# Guessing ----------------------------------------------------------------------------------------


def may_be_guessing(mean: float, guess: float, n_rows: int) -> bool:
    """Whether always naming the largest class may be right for as many of `n_rows` rows.

    Examples
    --------
    >>> may_be_guessing(0.55, 0.5, 40), may_be_guessing(0.55, 0.5, 4000)
    (True, False)
    """
    right = round(mean * n_rows)
    return float(binomtest(right, n_rows, guess, alternative="greater").pvalue) > ALPHA


def _finder(ranked: Sequence[Row], data: Mapping[str, Any], advised: Row, by: str) -> Row | None:
    """Where classes are unequal: the method that distinguishes them best, if one is shown to.

    Shown by the interval of a score that guessing the largest class does not raise. Where methods
    are not ranked by accuracy, the advised method comes first.
    """
    chance = {"balanced_accuracy": 1 / len(data["classes"]), "auc": 0.5}
    for score, level in chance.items():
        better = [row for row in ranked if _surely_above(row["scores"].get(score), level)]
        if by != "accuracy" and advised in better:
            return advised
        if better:
            return max(better, key=lambda row: row["scores"][score]["mean"])
    return None


def _surely_above(score: Mapping[str, Any] | None, level: float) -> bool:
    """Whether an interval lies above a level; without spread there is none."""
    if score is None or score["low"] is None or score["high"] is None:
        return False
    return bool(level < score["low"] < score["high"])


def _judge_guessing(finder: Row | None, best: Row, data: Mapping[str, Any]) -> dict[str, Any]:
    """Headline and advice where no method makes fewer mistakes than naming the largest class."""
    if finder is None:
        return {"headline": NO_BETTER_THAN_GUESSING, "use": USE_NONE}
    two = len(data["classes"]) == 2
    share = wording.format_percent(finder["found"] or 0.0)
    return {
        "advised": finder["name"],
        "headline": "No method is shown to make fewer mistakes than always naming the largest "
        "class, but "
        f"{finder['label']} finds {share} of "
        f"{'the small class' if two else 'the rows of the other classes'}.",
        "use": f"Use {finder['label']} where {'the small class' if two else 'the small classes'} "
        "must be found. Where only the number of mistakes counts, none of them is shown to be of "
        "use.",
    }


# The advised method ------------------------------------------------------------------------------


def _judge(
    subject: Row,
    best: Row,
    ranked: Sequence[Row],
    comparison: Comparison,
    advice: Advice,
    data: Mapping[str, Any],
) -> dict[str, Any]:
    """Headline and advice where there is a method to advise."""
    return {
        "advised": subject["name"],
        "headline": _headline(subject, best, ranked, comparison),
        "use": f"Use {subject['label']}{_with_directions(subject, data)}.",
        "brief": _brief(subject, best, ranked, comparison, advice, data),
        "why": _why(subject, ranked, advice, len(comparison.tests)),
        "top": _top(subject, best, advice, comparison.score),
    }


def _brief(
    subject: Row,
    best: Row,
    ranked: Sequence[Row],
    comparison: Comparison,
    advice: Advice,
    data: Mapping[str, Any],
) -> list[str]:
    """The advice, in at most five sentences."""
    right = wording.format_percent(subject["accuracy"])
    low, high = (subject["scores"]["accuracy"][end] for end in ("low", "high"))
    within = ""
    if low is not None and high is not None and low < high:
        ends = f"{wording.format_percent(low)} to {wording.format_percent(high)}"
        within = f" (95{wording.NO_BREAK}% interval {ends})"
    sentences = [
        f"Use {subject['label']}{_with_directions(subject, data)}.",
        f"It names the class of {right} of new rows correctly{within}.",
        _drawn_instead(subject, ranked),
        _top(subject, best, advice, comparison.score) or _lead(subject, ranked, comparison),
        _few(comparison),
        next(iter(_cautions(subject, ranked, data)), ""),
    ]
    return [sentence for sentence in sentences if sentence][:MAX_BRIEF]


def _drawn_instead(subject: Row, ranked: Sequence[Row]) -> str:
    """The best method that can be drawn, where the advised one cannot."""
    drawn = [row for row in ranked if row["dimensions"] is not None and row["role"] != "raw"]
    if not drawn or (subject["dimensions"] is not None and subject["role"] != "raw"):
        return ""
    right = wording.format_percent(drawn[0]["accuracy"])
    return f"It has no directions to draw; {drawn[0]['label']} has, with {right} correct."


def _lead(subject: Row, ranked: Sequence[Row], comparison: Comparison) -> str:
    """How the first method stands to the second."""
    if len(ranked) == 1 or len(comparison.tests) < FEWEST_SPLITS:
        return ""
    if ranked[1]["differs"]:
        return f"It is better than {ranked[1]['label']}, the second, by more than chance."
    return "It ranks first, but others may be as good."


def _headline(subject: Row, best: Row, ranked: Sequence[Row], comparison: Comparison) -> str:
    """The result in one line: a lead that may be chance is not called one."""
    name = subject["label"]
    if len(ranked) == 1:
        right = wording.format_percent(subject["accuracy"])
        return f"{name} is right for {right} of held-out rows."
    if len(comparison.tests) < FEWEST_SPLITS:
        return f"{name} is the one to try first; the splits are too few to say more."
    if subject is not best:
        same = wording.are_equal(subject["mean"], best["mean"])
        return f"{name} is enough: no method is {'' if same else 'shown to be '}better."
    if ranked[1]["differs"]:
        return f"{name} separates the classes best."
    return f"{name} comes first, but others may be as good."


def _with_directions(row: Row, data: Mapping[str, Any]) -> str:
    """How many directions were kept: one number only where all splits chose it."""
    if row["dimensions"] is None or row["role"] == "raw":
        return ""
    least, most = row["dimensions"]
    if least == most:
        fewer = f" in place of {data['features']} features" if most < data["features"] else ""
        return f" with {wording.format_count(most, 'direction')}{fewer}"
    return f" with between {least} and {most} directions, chosen anew in each split"


def _why(subject: Row, ranked: Sequence[Row], advice: Advice, n_splits: int) -> str:
    """Why this method and not another."""
    alike = [s for s in advice.standings if s.as_good]
    if len(ranked) == 1:
        return ""
    if len(alike) == 1:
        if n_splits < FEWEST_SPLITS:
            return "Why: every other method is behind by more than one standard error of a split."
        return "Every other method is shown to be worse."
    unconverged = [s for s in alike if not s.converged]
    fastest = min(s.seconds for s in alike if s.converged or len(unconverged) == len(alike))
    times = (wording.format_seconds(s) for s in (advice[subject["name"]].seconds, fastest))
    text = (
        f"Why: {len(alike)} methods are as good as the best as far as the test can see. Of those "
        f"that take at most {MAX_SLOWDOWN:.0f} times as long as the fastest, or at most "
        f"{NEGLIGIBLE_SECONDS:g} s ({' against '.join(times)}), it is the easiest to draw, "
        "explain and merge."
    )
    if unconverged:
        names = wording.join_names([s.name for s in unconverged])
        text += f" Not considered, since fits did not converge: {names}."
    return text


def _top(subject: Row, best: Row, advice: Advice, score: str) -> str:
    """The method that ranks first, where another is advised."""
    if subject is best:
        return ""
    standing = advice[subject["name"]]
    if wording.are_equal(standing.behind, 0.0):
        same = "right as often" if score == "accuracy" else "as good"
        return f"{best['label']} is {same}{_longer(advice, best, subject)}."
    lead, p = wording.format_lead(standing.behind, score), wording.format_p_value(standing.p_value)
    return (
        f"{best['label']} ranks first with {lead}, not significant "
        f"({p}){_longer(advice, best, subject)}."
    )


def _longer(advice: Advice, slow: Row, fast: Row) -> str:
    times = advice[slow["name"]].seconds / max(advice[fast["name"]].seconds, 1e-9)
    if times < MIN_SLOWER:
        return ""
    return f"; it takes {wording.format_times(times)} as long"


def _measure(
    subject: Row, ranked: Sequence[Row], comparison: Comparison, finder: Row | None
) -> str:
    """How often the method of the headline is right."""
    held_out = wording.format_count(len(comparison.tests[0]), "held-out row")
    right = wording.format_percent(subject["accuracy"])
    text = f"{subject['label']} names the class of {right} of {held_out} correctly"
    if subject["splits"] > 1:
        text += f", the mean of {subject['splits']} splits"
    low, high = (subject["scores"]["accuracy"][end] for end in ("low", "high"))
    if low is not None and high is not None and low < high:
        ends = f"{wording.format_percent(low)} to {wording.format_percent(high)}"
        text += f" (95{wording.NO_BREAK}% interval for new rows: {ends})"
    score = comparison.score
    if score not in ("accuracy", "balanced_accuracy") or (
        score == "balanced_accuracy" and finder is None
    ):
        value = wording.format_score(subject["mean"], score)
        article = "an" if score == "auc" else "a"
        text += f", with {article} {wording.SCORE_NAMES.get(score, score)} of {value}"
    if finder is not None:
        balanced = wording.format_percent(finder["scores"]["balanced_accuracy"]["mean"])
        text += f", averaged over the classes {balanced}"
    if len(ranked) >= MANY_METHODS and subject is ranked[0]:
        text += f". The best of {len(ranked)} methods looks a little better than it is"
    return f"{text}."


def _few(comparison: Comparison) -> str:
    """That so few splits show nothing, where they are so few."""
    n = len(comparison.tests)
    if n >= FEWEST_SPLITS:
        return ""
    few = wording.format_count(n, "split", "splits")
    if comparison.settings.get("splitting") == "test file":
        return "One test set cannot distinguish any two methods, whatever their scores: splits do."
    return (
        f"{few} cannot distinguish any two methods, whatever their scores: use {FEWEST_SPLITS} or "
        "more, better ten."
    )


def _subspace(ranked: Sequence[Row], data: Mapping[str, Any], score: str) -> str:
    """Is a subspace good enough: the best of them compared with the best of everything."""
    subspaces = [
        row
        for row in ranked
        if row["role"] != "raw" and row["dimensions"] and row["dimensions"][1] < data["features"]
    ]
    others = [row for row in ranked if row not in subspaces]
    if not subspaces or not others:
        return ""
    best, subspace = ranked[0], subspaces[0]
    if subspace is best:
        return (
            f"Is a subspace good enough? Yes: the best of all methods, {best['label']}, is one, "
            f"with {_count(best)}; the best without, {others[0]['label']}, makes "
            f"{100 * (1 - others[0]['accuracy']):.1f}."
        )
    sign = -1 if score in LOSS_SCORES else 1
    behind = sign * (best["mean"] - subspace["mean"])
    enough = "Yes" if behind <= ROPE else "No" if subspace["differs"] else "Perhaps"
    times = (subspace["seconds"] or 0.0) / max(best["seconds"] or 0.0, 1e-9)
    time = (
        f"in {wording.format_times(times)} the time"
        if times >= 1
        else f"in {wording.format_probability(times)} of the time"
    )
    return (
        f"Is a subspace good enough? {enough}: the best subspace, {subspace['label']}, makes "
        f"{_count(subspace)}, the best of everything, {best['label']}, "
        f"{100 * (1 - best['accuracy']):.1f}; the subspace does so {time}."
    )


def _count(row: Row) -> str:
    return f"{100 * (1 - row['accuracy']):.1f} mistakes in 100"


# Controls ----------------------------------------------------------------------------------------


def _winner(best: Row, comparison: Comparison) -> str:
    """The score of always taking the method that the training part favours."""
    score, winner = comparison.score, comparison.winner
    if winner is None or score not in winner.summary:
        return ""
    taken = Counter(winner.methods).most_common()
    times = {name: "once" if n == 1 else f"{n} times" for name, n in taken}
    names = wording.join_names([f"{name} {often}" for name, often in times.items()])
    return (
        "Always taking the method that is best within the training part gives "
        f"{wording.format_score(winner.summary[score].mean, score)} ({names}); "
        f"{best['label']}, which was picked after all splits were seen, has "
        f"{wording.format_score(best['mean'], score)}."
    )


def _permutation(comparison: Comparison) -> str:
    """Whether the best method may owe its score to chance: the test with shuffled labels."""
    shuffled = comparison.permutation
    if shuffled is None or not shuffled.permuted:
        return ""
    n, n_splits = len(shuffled.permuted), len(shuffled.splits)
    some = "" if n_splits == len(comparison.tests) else f" on {n_splits} of the splits"
    usual = wording.format_score(abs(float(np.mean(shuffled.permuted))), shuffled.score)
    real = wording.format_score(abs(shuffled.value), shuffled.score)
    return (
        f"With shuffled labels {shuffled.method} reaches {usual} on average over "
        f"{wording.format_count(n, 'shuffle')}, with the real ones {real}{some}: "
        f"{wording.format_p_value(shuffled.p_value)} (permutation test; {n} shuffles show no less "
        f"than {1 / (n + 1):.2g})."
    )


def _pretended(subject: Row, comparison: Comparison) -> str:
    """What splitting by rows would have pretended, where there are groups."""
    score = comparison.score
    by_rows = comparison.by_rows.get(subject["name"], {}).get(score)
    if by_rows is None:
        return ""
    return (
        f"Splitting by rows, with rows of a group on both sides, would have pretended "
        f"{wording.format_score(by_rows.mean, score)} for {subject['label']} in place of "
        f"{wording.format_score(subject['mean'], score)}."
    )


# The others ------------------------------------------------------------------------------------


def _alike(tied: Sequence[Row], ranked: Sequence[Row]) -> str:
    """How many methods share the group of the best."""
    best, others = tied[0], len(ranked) - 1
    if not others:
        return ""
    same = sum(1 for row in ranked[1:] if set(row["groups"]) & set(best["groups"]))
    if same == 0:
        return f"The test distinguishes {best['label']} from all other methods."
    if len(tied) == len(ranked):
        return "All of them are right equally often."
    if same == others:
        which = "the other method" if others == 1 else f"any of the other {others} methods"
        return f"The test cannot distinguish {best['label']}, the top line, from {which}."
    return (
        f"The test cannot distinguish {best['label']}, the top line, from {same} of the other "
        f"{others} methods, its group."
    )


def _cautions(subject: Row, ranked: Sequence[Row], data: Mapping[str, Any]) -> list[str]:
    sentences = []
    if not subject["complete"]:
        name, n = subject["label"], subject["splits"]
        sentences.append(f"No method finished all splits; {name} did {n} of them.")
    if len(ranked) == 1:
        sentences.append(
            "Only one method was compared: there is nothing to say whether it is good."
        )
    balanced = subject["scores"].get("balanced_accuracy", {}).get("mean")
    if balanced is not None and subject["accuracy"] - balanced > 0.05:
        sentences.append(
            f"Small classes are missed more often: averaged over the classes only "
            f"{wording.format_percent(balanced)} of the rows are right."
        )
    few = [c["name"] for c in data["classes"] if c["rows"] < 5]
    if few:
        verb = "has" if len(few) == 1 else "have"
        sentences.append(
            f"{wording.join_names(few)} {verb} fewer than 5 rows: their results are mostly chance."
        )
    return sentences
