"""The verdict in plain words: which method, by how much, whether that is real, what to use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from separatrix.evaluate.ranking import FEWEST_SPLITS, corrected_t_test, holm, split_scores
from separatrix.evaluate.records import Comparison
from separatrix.report import wording

MAX_CLOSE_GAP = 0.01
"""Difference of two shares of correct rows that are called nearly the same."""

MIN_SPEEDUP = 5.0
"""Ratio of training times from which on a method is named for its speed."""

MANY_METHODS = 5
"""Number of methods from which on the first is said to owe a part of its score to chance."""

ALPHA = 0.05
"""Level of significance, that of `rank_methods`."""

REFERENCE_NAMES = {"raw": "the raw data", "LDA": "LDA"}
"""References that the best method is compared with: role → name in sentences."""

NO_BETTER_THAN_GUESSING = "No method is shown to tell the classes apart better than guessing."

USE_NONE = (
    "Use none of them yet: these features may not tell the classes apart, or the rows are too few "
    "to show it."
)

Row = dict[str, Any]


def reach_verdict(
    rows: Sequence[Row], data: dict[str, Any], comparison: Comparison
) -> dict[str, Any]:
    """Draw the conclusion from a leaderboard.

    Parameters
    ----------
    rows : sequence of dict
        Those of the leaderboard, best first; of equals the one with the fewest
        directions first.
    data : dict
        Classes, numbers of rows and features, and the share of the largest class, ``guess``.
    comparison : Comparison
        Where the reasons of methods that failed are.

    Returns
    -------
    dict
        ``best``, ``advised`` and ``tied`` are names of methods; ``headline``, ``measure``,
        ``use``, ``quick`` and ``alike`` are sentences; ``against`` compares with the raw data and
        LDA; ``bars`` are mistakes in 100 rows, ``guessing`` a sentence on those of no method at
        all; ``cautions`` are sentences.
    """
    ranked = [row for row in rows if row["ranked"]]
    if not ranked:
        return _nothing(rows, comparison)
    best = ranked[0]
    tied = [row for row in ranked if wording.are_equal(row["mean"], best["mean"])]
    guessing = may_be_guessing(best["mean"], data["guess"], len(comparison.tests[0]))
    finder = _finder(ranked, data) if guessing else None
    hopeless = guessing and finder is None
    advised = finder or _with_role("raw", tied) or best
    against = [_against(best, role, ranked, comparison) for role in REFERENCE_NAMES]
    return {
        "best": best["name"],
        "advised": None if hopeless else advised["name"],
        "tied": [row["name"] for row in tied],
        "headline": NO_BETTER_THAN_GUESSING
        if hopeless
        else _headline(best, tied, ranked, data, against)
        if finder is None
        else _finds(finder, data),
        "measure": _measure(best, tied, ranked, comparison, guessing, finder),
        "use": USE_NONE
        if hopeless
        else _use(tied, ranked, data, against[0]["real"])
        if finder is None
        else _use_for_small(finder, data),
        "quick": "" if guessing else _quick(best, tied, ranked),
        "against": against,
        "alike": _alike(tied, ranked),
        "bars": _bars(best, ranked),
        "guessing": (
            f"Always naming the largest class would make {100 * (1 - data['guess']):.0f} mistakes "
            "in 100."
        ),
        "cautions": _cautions(finder or best, ranked, data),
    }


def _nothing(rows: Sequence[Row], comparison: Comparison) -> dict[str, Any]:
    n = len(comparison.methods)
    if rows:
        headline = "No method was done on enough splits to be compared."
    else:
        headline = "The method failed." if n == 1 else f"All {n} methods failed."
    return {
        "best": None,
        "advised": None,
        "tied": [],
        "headline": headline,
        "measure": "",
        "use": "See below what failed and why.",
        "quick": "",
        "against": [],
        "alike": "",
        "bars": [],
        "guessing": "",
        "cautions": [],
    }


def may_be_guessing(mean: float, guess: float, n_rows: int) -> bool:
    """Whether always naming the largest class may be right for as many of `n_rows` rows.

    Examples
    --------
    >>> may_be_guessing(0.55, 0.5, 40), may_be_guessing(0.55, 0.5, 4000)
    (True, False)
    """
    right = round(mean * n_rows)
    return float(binomtest(right, n_rows, guess, alternative="greater").pvalue) > ALPHA


def _finder(ranked: Sequence[Row], data: dict[str, Any]) -> Row | None:
    """Where classes are unequal: the method that is best at telling them apart, if one is.

    Shown by the interval of a score that guessing the largest class does not raise.
    """
    chance = {"balanced_accuracy": 1 / len(data["classes"]), "auc": 0.5}
    for score, level in chance.items():
        better = [row for row in ranked if _surely_above(row["scores"].get(score), level)]
        if better:
            return max(better, key=lambda row: row["scores"][score]["mean"])
    return None


def _surely_above(score: dict[str, Any] | None, level: float) -> bool:
    """Whether an interval lies above a level; without spread there is none."""
    if score is None or score["low"] is None or score["high"] is None:
        return False
    return bool(level < score["low"] < score["high"])


def _finds(finder: Row, data: dict[str, Any]) -> str:
    small = "the small class" if len(data["classes"]) == 2 else "the rows of the other classes"
    return (
        "No method makes fewer mistakes than always naming the largest class, but "
        f"{finder['name']} finds {wording.format_percent(finder['found'] or 0.0)} of {small}."
    )


def _use_for_small(finder: Row, data: dict[str, Any]) -> str:
    small = "the small class" if len(data["classes"]) == 2 else "the small classes"
    return (
        f"Use {finder['name']} where {small} must be found. Where only the number of mistakes "
        "counts, none of them is shown to be of use."
    )


def _headline(
    best: Row,
    tied: Sequence[Row],
    ranked: Sequence[Row],
    data: dict[str, Any],
    against: Sequence[dict[str, Any]],
) -> str:
    """The result in one line: a lead that may be chance is not called one."""
    if len(ranked) == 1:
        return (
            f"{best['name']} is right for {wording.format_percent(best['mean'])} of held-out rows."
        )
    if _with_role("raw", tied) is not None:
        return f"No method does better than the raw data with all {_features(data)}."
    if len(tied) > 1:
        return f"{wording.join_names([row['name'] for row in tied])} share the first place."
    tested = [entry for entry in against if entry["difference"] is not None]
    beaten = [REFERENCE_NAMES[entry["name"]] for entry in tested if entry["real"]]
    if len(beaten) == len(tested) and ranked[1]["differs"]:
        return f"{best['name']} separates the classes best."
    if beaten:
        return f"{best['name']} comes first and is better than {wording.join_names(beaten)}."
    return f"{best['name']} comes first, but its lead may be chance."


def _features(data: dict[str, Any]) -> str:
    return wording.format_count(data["features"], "feature")


def _with_role(role: str, rows: Sequence[Row]) -> Row | None:
    """The reference among some methods."""
    return next((row for row in rows if row["role"] == role), None)


def _measure(
    best: Row,
    tied: Sequence[Row],
    ranked: Sequence[Row],
    comparison: Comparison,
    guessing: bool,
    finder: Row | None,
) -> str:
    """How often the method of the headline is right."""
    best = finder or best
    held_out = wording.format_count(len(comparison.tests[0]), "held-out row")
    right = f"{wording.format_percent(best['mean'])} of {held_out}"
    said = f"It names the class of {right} correctly"
    if guessing and finder is None:
        name = "the raw data" if best["role"] == "raw" else best["name"]
        said = f"With {name}, the first of them, {right} are classified correctly"
    elif _with_role("raw", tied) is not None and finder is None:
        said = f"With them {right} are classified correctly"
    elif len(tied) > 1 and finder is None:
        said = f"Each names the class of {right} correctly"
    if best["splits"] > 1:
        said += f", the mean of {best['splits']} splits"
    if best["low"] is not None and best["high"] is not None and best["low"] < best["high"]:
        low, high = wording.format_percent(best["low"]), wording.format_percent(best["high"])
        said += f" (95 % interval for new rows: {low} to {high})"
    if finder is not None:
        balanced = wording.format_percent(finder["scores"]["balanced_accuracy"]["mean"])
        said += f", averaged over the classes {balanced}"
    if len(ranked) >= MANY_METHODS:
        said += f". The best of {len(ranked)} methods looks a little better than it is"
    return f"{said}."


def _against(
    best: Row, role: str, ranked: Sequence[Row], comparison: Comparison
) -> dict[str, Any]:
    """The best method beside the raw data, or beside LDA."""
    said: dict[str, Any] = {
        "name": role,
        "title": "Against the raw data" if role == "raw" else "Against LDA, the classic",
        "difference": None,
        "p": None,
        "tests": len(ranked) - 1,
        "real": None,
    }
    other = _with_role(role, ranked)
    if other is None:
        asked = any(method.role == role for method in comparison.methods)
        why = "it did not finish all splits" if asked else "it was not among the methods"
        return said | {"value": "not compared", "words": f"No comparison: {why}."}
    if other is best:
        return said | {"value": "the best itself", "words": "No method is better."}
    difference, p = compute_leads(comparison, other["name"], [row["name"] for row in ranked])[
        best["name"]
    ]
    if difference is None:
        return said | {"value": "not compared", "words": "They have no split in common."}
    said |= {"difference": difference, "p": p}
    if wording.are_equal(difference, 0.0):
        return said | {"real": False, "value": "no difference", "words": "Right equally often."}
    said["value"] = wording.format_mistakes(difference)
    if len(comparison.tests) < FEWEST_SPLITS:
        few = wording.format_count(len(comparison.tests), "split is", "splits are")
        return said | {"words": f"{few} too few to show whether that is chance."}
    real = p <= ALPHA and difference > 0
    what = "A real difference: chance hardly explains it" if real else "Not proven: may be chance"
    return said | {"real": real, "words": f"{what} ({wording.format_p_value(p)})."}


def compute_leads(
    comparison: Comparison, name: str, others: Sequence[str]
) -> dict[str, tuple[float | None, float]]:
    """How far each method is ahead of one that was named beforehand, and the p-value of that.

    The corrected resampled t-test, with Holm's correction for as many tests as there are other
    methods: one of them was picked because it came out first.
    """
    table = {
        method: np.array([math.nan if s is None else s for s in scores], dtype=float)
        for method, scores in split_scores(comparison).items()
    }
    others = [other for other in others if other != name]
    known = [(table[other] - table[name]) for other in others]
    known = [differences[np.isfinite(differences)] for differences in known]
    share, n_test = comparison.test_share, min(len(test) for test in comparison.tests)
    adjusted = holm(
        [
            corrected_t_test(differences, share, n_test)[1]
            if len(differences) >= FEWEST_SPLITS
            else 1.0
            for differences in known
        ]
    )
    return {
        other: (float(differences.mean()) if len(differences) else None, p)
        for other, differences, p in zip(others, known, adjusted, strict=True)
    }


def _alike(tied: Sequence[Row], ranked: Sequence[Row]) -> str:
    """How many methods share the group of the best."""
    best, it = tied[0], "it" if len(tied) == 1 else tied[0]["name"]
    others = len(ranked) - 1
    if not others:
        return ""
    same = sum(1 for row in ranked[1:] if set(row["groups"]) & set(best["groups"]))
    if same == 0:
        return f"The test tells {it} from all other methods."
    if len(tied) == len(ranked):
        return "All of them are right equally often."
    if same == others:
        which = "the other method" if others == 1 else f"any of the other {others} methods"
        return f"The test cannot tell {it} from {which}."
    return f"The test cannot tell {it} from {same} of the other {others} methods, its group."


def _use(
    tied: Sequence[Row], ranked: Sequence[Row], data: dict[str, Any], better_than_raw: bool | None
) -> str:
    """What to do with the result; `better_than_raw` is None where that was not tested."""
    best, raw = tied[0], _with_role("raw", ranked)
    if raw is not None and wording.are_equal(raw["mean"], best["mean"]):
        said = f"For accuracy keep all features and decide by {raw['decision']}."
        other = next((row for row in ranked if row is not raw and row["dimension"]), None)
        if other is None:
            return said
        return f"{said} To see the classes, use {other['name']}{_with_directions(other)}."
    said = f"Use {best['name']}{_with_directions(best)}"
    if len(tied) > 1:
        others = wording.join_names([row["name"] for row in tied[1:]])
        said += f" ({others} {'is' if len(tied) == 2 else 'are'} right as often)"
    if better_than_raw:
        return f"{said}: it makes fewer mistakes than all {_features(data)} do."
    if raw is None:
        return f"{said}."
    if best["dimensions"] is not None and best["dimensions"][1] < data["features"]:
        least, most = best["dimensions"]
        few = wording.format_count(most, "number") if least == most else f"at most {most} numbers"
        return (
            f"{said}: {few} for each row in place of {data['features']}, and no more mistakes "
            "than with all of them."
        )
    return f"{said}, or the raw data: they may be as good."


def _with_directions(row: Row) -> str:
    """How many directions were kept: one number only where all splits chose it."""
    if row["dimensions"] is None:
        return ""
    least, most = row["dimensions"]
    if least == most:
        return f" with {wording.format_count(most, 'direction')}"
    return f" with between {least} and {most} directions, chosen anew in each split"


def _quick(best: Row, tied: Sequence[Row], ranked: Sequence[Row]) -> str:
    """What to use when time matters: a method that is right as often, else nearly as often."""
    quick = _quicker(best, tied) or _quicker(best, ranked)
    if quick is None:
        return ""
    times = best["fit_seconds"] / quick["fit_seconds"]
    as_good = "is right as often"
    if not wording.are_equal(quick["mean"], best["mean"]):
        as_good = (
            f"is nearly as good ({wording.format_mistakes(quick['mean'] - best['mean'])} in 100)"
        )
    return f"When time matters: {quick['name']} {as_good} and trains {times:.0f} times faster."


def _quicker(best: Row, rows: Sequence[Row]) -> Row | None:
    """The fastest of some methods that is nearly as good and cannot be told from the best."""
    if not best["fit_seconds"]:
        return None
    alike = [
        row
        for row in rows
        if row is not best
        and not row["differs"]
        and best["mean"] - row["mean"] <= MAX_CLOSE_GAP
        and row["fit_seconds"]
        and row["role"] != "raw"
        and best["fit_seconds"] >= MIN_SPEEDUP * row["fit_seconds"]
    ]
    return min(alike, key=lambda row: row["fit_seconds"], default=None)


def _bars(best: Row, ranked: Sequence[Row]) -> list[dict[str, Any]]:
    """Mistakes in 100 held-out rows: the best, and the references."""
    references = [_with_role(role, ranked) for role in ("LDA", "raw")]
    shown = [best, *(row for row in references if row is not None and row is not best)]
    return [
        {
            "name": "raw data" if row["role"] == "raw" else row["name"],
            "mistakes": 100 * (1 - row["mean"]),
            "best": row is best,
        }
        for row in shown
    ]


def _cautions(best: Row, ranked: Sequence[Row], data: dict[str, Any]) -> list[str]:
    said = []
    if not best["complete"]:
        said.append(f"No method finished all splits; {best['name']} did {best['splits']} of them.")
    if len(ranked) == 1:
        said.append("Only one method was compared: there is nothing to say whether it is good.")
    balanced = best["scores"].get("balanced_accuracy", {}).get("mean")
    if balanced is not None and best["mean"] - balanced > 0.05:
        said.append(
            f"Small classes are missed more often: averaged over the classes only "
            f"{wording.format_percent(balanced)} of the rows are right."
        )
    few = [c["name"] for c in data["classes"] if c["rows"] < 5]
    if few:
        verb = "has" if len(few) == 1 else "have"
        said.append(
            f"{wording.join_names(few)} {verb} fewer than 5 rows: their results are mostly chance."
        )
    return said
