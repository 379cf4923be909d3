"""Numbers and names in plain words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from separatrix.evaluate.records import LOSS_SCORES

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Space where a line is not broken."""

MAX_NAME_LETTERS = 60
"""Letters of a name that are shown, at most."""

MAX_BRIEF_LETTERS = 18
"""Most letters of a name next to a picture."""

DECISION_NAMES = {
    "own": "its own rule",
    "3nn": "three nearest neighbours",
    "centroid": "the nearest class mean",
    "gaussian": "Gaussians of one covariance",
}
"""What classifies in a subspace."""

RULE_NAMES = {"3nn": "3-NN", "centroid": "nearest class mean", "gaussian": "Gaussian rule"}
"""Short names of the rules that classify without a subspace."""

SCORE_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f": "macro F",
    "weighted_f": "weighted F",
    "precision": "precision",
    "recall": "recall",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "cost": "cost",
}
"""Names of the scores, in the order in which they are shown."""

SETTING_NAMES = {
    "n_splits": "splits",
    "test_size": "share held out",
    "cv": "splitter",
    "budget": "time for a method (s)",
    "score": "ranked by",
    "costs": "costs",
    "splitting": "way of splitting",
    "unit": "unit of splitting",
    "folds": "folds",
}
"""Names of the settings of a comparison."""


# Names -------------------------------------------------------------------------------------------


def make_printable(value: Any) -> str:
    """Text with spaces for control characters and for what no encoding can hold.

    Examples
    --------
    >>> make_printable("a" + chr(0) + "b")
    'a b'
    """
    return "".join(c if c.isprintable() else " " for c in str(value))


def shorten(value: Any, longest: int = MAX_NAME_LETTERS) -> str:
    """A name with its middle left out if it is long.

    Examples
    --------
    >>> shorten("abcdefghij", 7)
    'abcd…ij'
    """
    text = " ".join(make_printable(value).split())
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def name_method(name: str, role: str, decision: str) -> str:
    """A method as sentences call it: "raw" is the rule that decides on all features.

    Examples
    --------
    >>> name_method("raw", "raw", "3nn"), name_method("LDG", "", "3nn")
    ('3-NN on all features', 'LDG')
    """
    if role != "raw":
        return name
    return f"{RULE_NAMES.get(decision) or shorten(decision)} on all features"


MANUAL_PAGES = {
    "fisher": "FisherDiscriminant NullSpaceDiscriminant DirectDiscriminant GSVDDiscriminant "
    "MaximumMarginCriterion LocalFisherDiscriminant GroupedDiscriminant",
    "spectra": "PartialLeastSquaresDiscriminant",
    "heads": "QuadraticDiscriminant HeteroscedasticDiscriminant WithRejection",
    "ipcac": "IPCAC TruncatedIPCAC OnlineIPCAC",
    "kernel": "KernelFisherDiscriminant KernelIPCAC MixtureIPCAC",
    "ldg": "LDG KernelLDG SparseLDG TransferLDG",
    "margin": "MarginMaximizingDiscriminant WithinSupportVectorDiscriminant "
    "SupportVectorProjection SupportVectorICA KernelSupportVectorICA",
    "proteins": "DDAGClassifier",
    "early": "EarlyClassifier LocalQDA",
}
"""Pages of the manual, and the methods that they are about."""


def refer_to_manual(estimator: str) -> str:
    """Where the manual describes a method, given as it is printed; nothing for those of others.

    Examples
    --------
    >>> refer_to_manual("LDG(n_components=2)"), refer_to_manual("SVC()")
    ('More about LDG: see the manual, page ldg.', '')
    """
    name = estimator.partition("(")[0]
    for page, names in MANUAL_PAGES.items():
        if name in names.split():
            return f"More about {name}: see the manual, page {page}."
    return ""


def make_distinct(values: Iterable[Any], longest: int = MAX_NAME_LETTERS) -> list[str]:
    """Short names, all different and none empty.

    Examples
    --------
    >>> make_distinct(["a", "b", "a", ""])
    ['a', 'b', 'a (2)', '(no name)']
    """
    names: list[str] = []
    for value in values:
        base = name = shorten(value, longest) or "(no name)"
        n = 1
        while name in names:
            n += 1
            name = f"{base} ({n})"
        names.append(name)
    return names


def abbreviate(names: Sequence[str], longest: int = MAX_BRIEF_LETTERS) -> list[str]:
    """Names that fit next to a picture: a beginning or end that all share is left out.

    Examples
    --------
    >>> abbreviate(["a", "b"])
    ['a', 'b']
    >>> abbreviate([f"specimen of group number {i}" for i in (1, 20)])
    ['… number 1', '… number 20']
    """
    if all(len(name) <= longest for name in names):
        return list(names)
    start = _shared_words(names)
    end = _shared_words([name[::-1] for name in names])
    if len(names) < 2 or min(map(len, names)) <= len(start) + len(end):
        start = end = ""
    rest = max(map(len, names)) - len(start) - len(end)
    last = re.search(r"[^\s_.:/-]+[\s_.:/-]+$", start)
    if last and last.start() and len(last[0]) + rest + 3 <= longest:
        start = start[: last.start()]  # a word more, where there is room
    cut = [
        (f"… {name[len(start) :]}" if start else name)[: -len(end) or None] + ("…" if end else "")
        for name in names
    ]
    return make_distinct(cut, longest)


def _shared_words(names: Sequence[str]) -> str:
    """What names begin with as far as its last space or mark; nothing when that saves little."""
    letters = takewhile(lambda each: len(set(each)) == 1, zip(*names, strict=False))
    shared = re.match(r".*[\s_.:/-]", "".join(each[0] for each in letters))
    return shared[0] if shared and len(shared[0]) > 3 else ""


def join_names(names: Sequence[str], most: int = 3) -> str:
    """Names as a sentence has them.

    Examples
    --------
    >>> join_names(["a", "b", "c"]), join_names(["a", "b", "c", "d", "e"])
    ('a, b and c', 'a, b, c and 2 more')
    """
    shown = list(names[:most])
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# Numbers -----------------------------------------------------------------------------------------


def are_equal(first: float, second: float) -> bool:
    """Whether two scores are the same but for rounding."""
    return round(first - second, 12) == 0


def format_count(n: int, one: str, many: str = "") -> str:
    """A number of things.

    Examples
    --------
    >>> format_count(1, "row"), format_count(12345, "row").replace(NO_BREAK, " ")
    ('1 row', '12 345 rows')
    """
    things = one if n == 1 else many or f"{one}s"
    return f"{n:,}".replace(",", NO_BREAK) + f" {things}"


def format_percent(share: float) -> str:
    """A share of rows; 100 % only if it is all of them.

    Examples
    --------
    >>> [format_percent(s).replace(NO_BREAK, " ") for s in (0.98765, 0.99999, 1)]
    ['98.8 %', '99.9 %', '100 %']
    """
    if share == 1:
        return f"100{NO_BREAK}%"
    return f"{min(max(100 * share, 0.0), 99.9):.1f}{NO_BREAK}%"


def format_mistakes(difference: float) -> str:
    """A difference of shares that are right, as mistakes in 100 rows.

    Examples
    --------
    >>> format_mistakes(0.0226), format_mistakes(-0.01), format_mistakes(0.0001)
    ('2.3 fewer mistakes', '1.0 more mistakes', '< 0.1 fewer mistakes')
    """
    size = abs(100 * difference)
    number = "< 0.1" if size < 0.05 else f"{size:.1f}"
    return f"{number} {'fewer' if difference > 0 else 'more'} mistakes"


def format_score(value: float | None, score: str) -> str:
    """A score as it is printed: shares in percent, losses and costs as numbers.

    Examples
    --------
    >>> format_score(0.1234, "log_loss"), format_score(0.5, "auc").replace(NO_BREAK, " ")
    ('0.123', '50.0 %')
    """
    if value is None:
        return "–"
    return f"{value:.3g}" if score in LOSS_SCORES else format_percent(value)


def format_lead(difference: float, score: str) -> str:
    """How far a method is ahead (above 0) or behind, by the score that ranks.

    Examples
    --------
    >>> format_lead(0.0226, "accuracy"), format_lead(-0.01, "macro_f")
    ('2.3 fewer mistakes in 100', '1.0 points less macro F')
    >>> format_lead(0.2, "log_loss")
    'a log-loss lower by 0.2'
    """
    if score == "accuracy":
        return f"{format_mistakes(difference)} in 100"
    name = SCORE_NAMES.get(score, score)
    if score in LOSS_SCORES:
        return f"a {name} {'lower' if difference > 0 else 'higher'} by {abs(difference):.2g}"
    size = abs(100 * difference)
    number = "< 0.1" if size < 0.05 else f"{size:.1f}"
    return f"{number} points {'more' if difference > 0 else 'less'} {name}"


def format_p_value(p: float) -> str:
    """A probability as it is printed.

    Examples
    --------
    >>> [format_p_value(p).replace(NO_BREAK, " ") for p in (0.0341, 1e-9, 1)]
    ['p = 0.034', 'p < 0.001', 'p = 1']
    """
    return ("p < 0.001" if p < 0.001 else f"p = {p:.2g}").replace(" ", NO_BREAK)


def judge_difference(p_value: float, p_holm: float, n_tests: int) -> str:
    """Whether a difference is real: by itself, and as one of several that were looked at.

    Examples
    --------
    >>> judge_difference(0.03, 0.6, 20).replace(NO_BREAK, " ")
    'Likely, but not proven: p = 0.03 by itself, p = 0.6 as one of 20 comparisons.'
    """
    alone, corrected = format_p_value(p_value), format_p_value(p_holm)
    if p_holm <= 0.05:
        return f"A real difference: chance hardly explains it ({corrected})."
    if p_value <= 0.05:
        return (
            f"Likely, but not proven: {alone} by itself, {corrected} as one of {n_tests} "
            "comparisons."
        )
    return f"Not proven: may be chance ({alone})."


def format_probability(p: float) -> str:
    """A probability in percent, never quite none or all.

    Examples
    --------
    >>> [format_probability(p).replace(NO_BREAK, " ") for p in (0.9999, 0.57, 0.0)]
    ['> 99 %', '57 %', '< 1 %']
    """
    text = "> 99" if p > 0.99 else "< 1" if p < 0.01 else f"{100 * p:.0f}"
    return f"{text} %".replace(" ", NO_BREAK)


def format_times(ratio: float) -> str:
    """How many times as much.

    Examples
    --------
    >>> format_times(2.34), format_times(165.2)
    ('2.3 times', '165 times')
    """
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:.0f} times"


def format_seconds(value: float | None) -> str:
    """A time that can be read at a glance.

    Examples
    --------
    >>> [format_seconds(t) for t in (0.0000123, 0.0123, 1.23, 126, 12345)]
    ['0.012 ms', '12 ms', '1.2 s', '2.1 min', '3.4 h']
    """
    if value is None:
        return "–"
    if value < 1:
        return f"{1000 * value:.2g} ms" if value < 0.0995 else f"{1000 * value:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 3600 else f"{value / 3600:.1f} h"


# Sentences ---------------------------------------------------------------------------------------


def describe_protocol(
    settings: Mapping[str, Any], n_splits: int, n_groups: int = 0, unequal: bool = False
) -> str:
    """How the numbers were measured, what the unit of splitting was, and what ranks methods.

    Parameters
    ----------
    settings : dict
        Those of the comparison.
    n_splits, n_groups : int
        Splits, and groups of rows where there are some.
    unequal : bool
        Whether classes are of very unequal size.
    """
    times = "once" if n_splits == 1 else f"{n_splits} times"
    text = (
        f"Measured {times}: {_describe_held_out(settings)}, every method chose its settings and "
        "learned from the rest, and was then judged by the rows it had never seen."
    )
    if n_groups:
        text += (
            f" The unit of splitting is the group: rows of one of the {n_groups} groups are never "
            "on both sides, and mistakes of a group are not counted as independent."
        )
    else:
        text += " The unit of splitting is the row: rows that belong together need groups."
    score = settings.get("score", "accuracy")
    if score != "accuracy":
        why = ", since the classes are very unequal" if unequal and "balanced" in score else ""
        text += f" Methods are ranked and tuned by {SCORE_NAMES.get(score, shorten(score))}{why}."
    return text


def _describe_held_out(settings: Mapping[str, Any]) -> str:
    """Which rows were held out."""
    units = "groups" if settings.get("unit") == "groups" else "rows"
    share = settings.get("test_size")
    held = "" if share is None else f"{100 * share:.0f} % of the "
    ways = {
        "k-fold": f"the {units} were dealt into folds, and one was held out at a time",
        "given": "rows were held out as the split that was given says",
        "test file": "the rows of the test file were held out",
        "time": "rows were held out that come after all those to learn from",
    }
    of = "" if units == "groups" else " of each class"
    return ways.get(settings.get("splitting", ""), f"{held}{units}{of} were held out")


def describe_dimension(lines: Sequence[Mapping[str, Any]], decisions: Iterable[str]) -> str:
    """Explain the picture of accuracy against dimension."""
    if not lines:
        return "None of the methods finds directions one after the other."
    names = {DECISION_NAMES["3nn" if d == "own" else d] if d in DECISION_NAMES else shorten(d)
             for d in decisions}  # fmt: skip
    rule = join_names(sorted(names)) if len(names) == 1 else "the rule of each method"
    longest = max(len(line["accuracy"]) for line in lines)
    if longest == 1:
        return f"Every method here has a single direction; it is judged by {rule}."
    return (
        "How many directions are needed: accuracy on held-out rows when only the first 1, 2, … "
        f"directions of a method are kept, judged by {rule}. A ring marks the number that the "
        "method chose most often."
    )


def describe_projections(n_shown: int, n_held_out: int, n_rows: int) -> str:
    """Which rows are drawn."""
    which = (
        f"the {format_count(n_held_out, 'row')}"
        if n_shown == n_held_out
        else f"{format_count(n_shown, 'row')} (every few) of the {n_held_out}"
    )
    return (
        f"Each point is one of {which} of {n_rows} that were held out of training in the first "
        "split: what you see is how new data fall, not how well the training data were learned."
    )


def describe_leaderboard(score: str, by_letters: bool) -> str:
    """Explain the table of all methods."""
    less = ", less is better" if score in LOSS_SCORES else ""
    what = (
        "Share of held-out rows that are classified correctly"
        if score == "accuracy"
        else f"The {SCORE_NAMES.get(score, score)} on held-out rows{less}"
    )
    text = f"{what}, the mean of all splits; the line is the 95 % interval of the mean."
    if by_letters:
        text += (
            " The test cannot distinguish methods that share a letter: their order may be chance."
        )
    return text


def find_letter(i: int) -> str:
    """The letter of a group of methods.

    Examples
    --------
    >>> find_letter(1), find_letter(27)
    ('b', 'b′')
    """
    return "abcdefghijklmnopqrstuvwxyz"[i % 26] + "′" * (i // 26)


def describe_confusion(n_classes: int, *, counted: bool, numbered: bool) -> str:
    """Explain the matrices; with very many classes there are none."""
    if not counted:
        return f"The most frequent of the mistakes between {n_classes} classes, over all splits."
    text = (
        "Rows are the true classes, columns the predicted ones, summed over all splits. The "
        "diagonal is right; everything else is a mistake."
    )
    if numbered:
        text += " Columns have the numbers of the rows; point at a cell for names and counts."
    return text


def caption_picture(data: Mapping[str, Any], drawn: Mapping[str, Any]) -> str:
    """A sentence for a paper that explains the first picture; nothing without a picture."""
    if not drawn["panels"]:
        return ""
    first = drawn["panels"][0]
    view = next(view for view in drawn["views"] if view["name"] == first)
    name = f"{data['name']}: " if data["name"] else ""
    axes = " and ".join(view["axes"][:2])
    return (
        f"{name}{drawn['held_out']} held-out rows of {data['rows']} in {axes} of {first}, learned "
        f"from the other rows ({view['words']}). Colours and shapes are classes; outlined points "
        "are mistakes."
    )


def describe_correct(right: int, n: int) -> str:
    """How many of the rows that are drawn were classified correctly."""
    return f"{right} of {n} correct" if right < n else f"all {n} correct"


def describe_axes(axes: str, n_components: int | None, n_features: int) -> str:
    """The whole that a picture is a part of."""
    if axes == "principal axes":
        return f"decided by all {format_count(n_features, 'feature')}, seen along principal axes"
    return "" if n_components is None else f"{format_count(n_components, 'direction')} in all"


def describe_mistake(truth: str, predicted: str, n: int, tested: int) -> str:
    """One kind of mistake."""
    return f"{truth} taken for {predicted}: {n} of {tested} ({format_percent(n / tested)})"


def describe_direction(entries: Sequence[Mapping[str, Any]]) -> str:
    """What makes a row lie far along a direction."""
    most = max((abs(e["weight"]) for e in entries), default=0.0)
    large = [e for e in entries if abs(e["weight"]) >= most / 3]
    up = [e["feature"] for e in large if e["weight"] > 0][:3]
    down = [e["feature"] for e in large if e["weight"] < 0][:3]
    parts = [f"rises with {join_names(up)}"] if up else []
    parts += [f"falls with {join_names(down)}"] if down else []
    return " and ".join(parts)


def describe_loadings(table: Mapping[str, Any] | None) -> str:
    """How to read the weights of a method, and how surely they are known."""
    if table is None:
        return "None of the methods that finished has directions made of weighted features."
    n = table["n_splits"]
    over = f"the mean of {format_count(n, 'split')}" if n > 1 else "of one split only"
    text = (
        "The bar is the weight of a feature: how far one of its standard deviations moves a row "
        f"along the direction, {over}; all features together make length 1. The dot is the "
        "pattern: how far the feature itself changes along the direction. A feature with a weight "
        "and no pattern only corrects others."
    )
    if n > 1:
        text += (
            f" The number says in how many of the splits it is among the {table['n_top']} largest."
        )
    return text


def describe_times(points: Sequence[Mapping[str, Any]]) -> str:
    """Which method to take when time matters."""
    if not points:
        return "No training times were recorded."
    learning = [point for point in points if point["role"] != "raw"]
    fastest = min(learning or points, key=lambda point: point["seconds"])
    text = (
        f"{fastest['name']} trains fastest ({format_seconds(fastest['seconds'])}, "
        f"{format_percent(fastest['accuracy'])} correct)."
    )
    if len(points) > 1:
        text += " Filled points are not beaten in both time and accuracy by any other."
    return f"Time includes choosing the settings. {text}"


def describe_settings(chosen: Sequence[Mapping[str, Any]]) -> str:
    """What splits chose for the parameters of a method.

    Examples
    --------
    >>> describe_settings([{"C": 0.5, "shrinkage": None}, {"C": 2, "shrinkage": None}])
    'C 0.5 to 2, shrinkage none'
    >>> describe_settings([{"shrinkage": None}, {"shrinkage": 0.1}, {"shrinkage": None}])
    'shrinkage none (2 of 3 splits)'
    """
    names = dict.fromkeys(name for each in chosen for name in each)
    return ", ".join(
        f"{name} {_usual_value([each[name] for each in chosen if name in each])}" for name in names
    )


def _usual_value(values: Sequence[Any]) -> str:
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        low, high = f"{min(values):.3g}", f"{max(values):.3g}"
        return low if low == high else f"{low} to {high}"
    counts = Counter("none" if v is None else shorten(v) for v in values)
    value, n = counts.most_common(1)[0]
    return value if n == len(values) else f"{value} ({n} of {len(values)} splits)"


def describe_failures(n_failed: int, n_methods: int) -> str:
    """How many methods did not finish."""
    if not n_failed:
        return "Nothing: " + (
            "the method was done on all splits."
            if n_methods == 1
            else f"all {n_methods} methods were done on all splits."
        )
    return f"{n_failed} of {format_count(n_methods, 'method')} did not finish all splits."
