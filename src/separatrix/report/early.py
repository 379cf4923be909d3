"""Early decisions on test series as one page: when each was decided, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.early import Cost, Promise
from separatrix.evaluate.early import harmonic_mean
from separatrix.linalg import Array
from separatrix.report.elements import (
    Html,
    make_scrollable,
    render_document,
    render_section,
    render_table,
    tag,
)

MAX_PICTURES = 8
"""Series that are drawn."""

MAX_ROWS = 300
"""Series that are listed."""

WIDTH, HEIGHT, EDGE = 560, 170, 8
"""Size of a picture, in pixels."""

LEFT, BELOW = 36, 26
"""Room for numbers beside and below the lines, in pixels."""

GRID = (
    "display:grid;gap:1.2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr))"
)
"""Pictures beside each other where there is room."""


def early_facts(model: Any, X: Any, y: Any | None, title: str) -> dict[str, Any]:
    """Every number of the page, as plain data.

    Parameters
    ----------
    model : fitted EarlyClassifier
    X : array (n_samples, n_features)
        Complete test series.
    y : array (n_samples,) or None
        Their labels.
    title : str
        The name of the data.
    """
    decisions, complete = model.decide_early(X), model.predict(X)
    rows = np.asarray(X, dtype=np.float64)
    d, n_channels = rows.shape[1], model._n_channels
    path = model.reliability_path(X)[:, n_channels - 1 :: n_channels]
    same = decisions.label == complete
    used = decisions.n_observed / d
    before = decisions.n_observed < d
    right = None if y is None else decisions.label == y
    accuracy = None if right is None else float(right.mean())
    levels = np.quantile(path, [0.1, 0.5, 0.9], axis=0)
    cutoff = np.ravel(model.cutoff_)
    return {
        "title": title,
        "n_series": len(rows),
        "n_times": d // n_channels,
        "n_channels": n_channels,
        "judge": type(model.judge_).__name__,
        "calibrated": bool(model.calibrated_),
        "n_calibration": model.n_calibration_rows_,
        "reliability": float(model.reliability),
        **_promise_facts(model),
        "cutoff": [float(value) for value in cutoff],
        "used": float(used.mean()),
        "agreement": float(same.mean()),
        "early": float(before.mean()),
        "early_agreement": float(same[before].mean()) if before.any() else None,
        "accuracy": accuracy,
        "complete_accuracy": None if y is None else float(np.mean(complete == y)),
        "harmonic_mean": None if accuracy is None else harmonic_mean(accuracy, 1 - used.mean()),
        "curve": {
            "low": levels[0].tolist(),
            "middle": levels[1].tolist(),
            "high": levels[2].tolist(),
            "decided": _share_decided(decisions.time, d // n_channels),
        },
        "series": [
            _series_facts(i, decisions, complete, y, d) for i in range(min(len(rows), MAX_ROWS))
        ],
        "pictures": [
            _picture_facts(model, X, rows, int(decisions.n_observed[i]), i)
            for i in choose_pictures(decisions.n_observed, same)
        ],
    }


def _promise_facts(model: Any) -> dict[str, Any]:
    """What is promised, as plain data."""
    calibration = model.calibration
    promise = calibration if isinstance(calibration, Promise) else Promise()
    return {
        "confidence": float(promise.confidence),
        "guarantee": model.guarantee_,
        "condition": promise.condition,
        "loss": promise.loss if isinstance(promise.loss, str) else "cost",
        "cost": isinstance(calibration, Cost),
    }


def _share_decided(times: Array, n_times: int) -> list[float]:
    counts = np.bincount(times, minlength=n_times + 1)[1:]
    return (np.cumsum(counts) / len(times)).tolist()


def choose_pictures(times: Array, same: Array) -> list[int]:
    """Numbers of series to draw: some that were decided otherwise, and some from early to late.

    Examples
    --------
    >>> choose_pictures(np.array([3, 1, 2]), np.array([True, True, False]))
    [2, 1, 0]
    """
    lost = np.flatnonzero(~same)[: MAX_PICTURES // 2].tolist()
    order = np.argsort(times, kind="stable")
    order = order[~np.isin(order, lost)]
    n_left = min(MAX_PICTURES - len(lost), len(order))
    spread = np.unique(np.linspace(0, max(len(order) - 1, 0), n_left).astype(int))
    return lost + order[spread].tolist()


def _series_facts(i: int, decisions: Any, complete: Array, y: Any, d: int) -> dict[str, Any]:
    return {
        "number": i,
        "time": int(decisions.time[i]),
        "label": str(decisions.label[i]),
        "score": float(decisions.reliability[i]),
        "complete": str(complete[i]),
        "true": None if y is None else str(np.asarray(y)[i]),
        "at_end": bool(decisions.n_observed[i] == d),
    }


def _picture_facts(model: Any, X: Any, rows: Array, n_known: int, i: int) -> dict[str, Any]:
    """The values of a series, and what was expected when it was decided; of the first channel."""
    d = rows.shape[1]
    order = np.arange(d) if model._order is None else model._order
    hidden = (np.argsort(order) >= n_known)[None]
    # a table keeps the names of its columns
    seen = X.iloc[[i]].mask(hidden) if hasattr(X, "iloc") else np.where(hidden, np.nan, rows[[i]])
    rest, step = model.expect(seen), model._n_channels
    values = rows[i]
    return {
        "number": i,
        "n_known": n_known // step,
        "values": values[order][::step].tolist(),
        "mean": rest.mean[0, order][::step].tolist(),
        "std": rest.std[0, order][::step].tolist(),
    }


# The page ----------------------------------------------------------------------------------------


def render_early(facts: Mapping[str, Any]) -> str:
    """The page of early decisions, from `early_facts`, also after a round trip through JSON.

    Returns
    -------
    str
        An HTML document that loads nothing.
    """
    title = f"{facts['title']}: how early can series be decided"
    return render_document(
        title,
        tag(
            "main",
            tag(
                "section",
                tag("h1", headline(facts)),
                tag("p", describe_promise(facts), style="margin-top:.8em"),
            ),
            _found(facts),
            _curve(facts),
            _pictures(facts),
            _list(facts),
        ),
        tag("p", "Made by separatrix. This file needs no network.", class_="foot"),
    )


def headline(facts: Mapping[str, Any]) -> str:
    """What was found, in one sentence."""
    return (
        f"{facts['agreement']:.1%} of {facts['n_series']} series are decided as when complete, "
        f"from {facts['used']:.0%} of their values"
    )


def describe_promise(facts: Mapping[str, Any]) -> str:
    """What is promised of new series, and on which assumption."""
    tau = facts["reliability"]
    if facts["cost"]:
        return (
            f"Decisions have the least cost on {facts['n_calibration']} calibration series; no "
            "reliability is promised."
        )
    if not facts["calibrated"]:
        return (
            f"Promised is a reliability of {tau:g}, if the values are normal with the moments "
            "that were learned. Calibration makes a promise that needs no model."
        )
    words = {
        "disagreement": "are decided otherwise than when complete",
        "gap": "are decided wrongly and rightly when complete",
        "error": "are decided wrongly",
        "cost": "cost, as a share of the largest cost",
    }[facts["loss"]]
    of = {None: "", "time": ", of those decided up to each time", "class": ", of each class"}
    how = (
        f"with confidence {facts['confidence']:g}"
        if facts["guarantee"] == "probability"
        else "on average"
    )
    return (
        f"Promised {how}: at most {1 - tau:.0%} of new series{of[facts['condition']]} {words}. "
        f"{facts['n_calibration']} series that were not learned calibrate. New series must be "
        "exchangeable with them: drift, or several series of one subject, would break the promise."
    )


def _found(facts: Mapping[str, Any]) -> Html:
    tau = facts["reliability"]
    rows: list[Sequence[Any]] = [
        ("decided as when complete", f"≥ {tau:g}", _number(facts["agreement"])),
        ("the same, before the end", "", _number(facts["early_agreement"])),
        ("decided before the end", "", _number(facts["early"])),
        ("share of the values used", "", _number(facts["used"])),
        ("right", "", _number(facts["accuracy"])),
        ("right when complete", "", _number(facts["complete_accuracy"])),
        ("harmonic mean of right and not used", "", _number(facts["harmonic_mean"])),
    ]
    return render_section(
        "found",
        "Promised and found",
        "Counted on the test series, which were neither learned nor calibrated with.",
        render_table(("share of series", "promised", "found"), rows),
    )


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3f}"


def _curve(facts: Mapping[str, Any]) -> Html:
    curve, n = facts["curve"], facts["n_times"]
    x = [0.0] if n == 1 else np.linspace(0, 1, n).tolist()
    parts = [
        *(line([0, 1], [level, level], 0, 1, "grid") for level in (0, 0.5, 1)),
        *(scale_label(level, 0, 1) for level in (0, 0.5, 1)),
        *time_labels(n),
        band(x, curve["low"], curve["high"], 0, 1),
        line(x, curve["middle"], 0, 1, "series"),
        line(x, curve["decided"], 0, 1, "decided"),
    ]
    if len(facts["cutoff"]) == 1:
        parts.append(line([0, 1], facts["cutoff"] * 2, 0, 1, "cutoff"))
    return render_section(
        "curve",
        "Reliability over time",
        "Median score of the series and the range of the middle 80 %; dashed the share that is "
        "decided; dotted the score that must be reached. Below are numbers of times.",
        picture(f"Scores of the series from the first to the last of {n} times", parts),
    )


def _pictures(facts: Mapping[str, Any]) -> Html:
    return render_section(
        "pictures",
        "When and why",
        "What was seen (line), what was expected then with two standard deviations (band), and "
        "what came (dotted)."
        + (" Of several channels the first." if facts["n_channels"] > 1 else ""),
        tag("div", *(_one_series(facts, given) for given in facts["pictures"]), style=GRID),
    )


def _one_series(facts: Mapping[str, Any], given: Mapping[str, Any]) -> Html:
    values, mean, std = (np.array(given[key]) for key in ("values", "mean", "std"))
    t, n = given["n_known"], len(values)
    x = np.linspace(0, 1, n) if n > 1 else np.zeros(1)
    low, high = mean - 2 * std, mean + 2 * std
    least, most = float(min(low.min(), values.min())), float(max(high.max(), values.max()))
    rest = slice(max(t - 1, 0), None)
    parts = [
        *time_labels(n, t),
        *(scale_label(level, least, most) for level in (least, most)),
        band(x[rest], low[rest], high[rest], least, most),
        line(x[rest], mean[rest], least, most, "expected"),
        line(x[:t], values[:t], least, most, "series"),
        line(x[rest], values[rest], least, most, "cutoff"),
    ]
    told = next((s for s in facts["series"] if s["number"] == given["number"]), None)
    drawn = picture(f"Series {given['number']}", parts)
    return tag("figure", drawn, _caption(facts, told, t), style="margin:0")


def _caption(facts: Mapping[str, Any], told: Mapping[str, Any] | None, t: int) -> Html | None:
    if told is None:
        return None
    required = f"the required {facts['cutoff'][0]:.3g}"
    if len(facts["cutoff"]) > 1:
        required = "what is required then"
    reached = f"its score {told['score']:.3g} reached {required}"
    why = (
        "at its end" if told["at_end"] else f"after {t} of {facts['n_times']} times, as {reached}"
    )
    other = told["complete"] != told["label"]
    after = f"; complete it is {told['complete']}" if other else ""
    truth = "" if told["true"] is None else f"; truly {told['true']}"
    return tag(
        "figcaption", f"Series {told['number']}: decided as {told['label']} {why}{after}{truth}."
    )


def _list(facts: Mapping[str, Any]) -> Html:
    head = ("series", "time", "decided as", "score", "complete", "true")
    rows = [
        (s["number"], s["time"], s["label"], f"{s['score']:.3g}", s["complete"], s["true"] or "")
        for s in facts["series"]
    ]
    lead = "" if len(rows) == facts["n_series"] else f"The first {len(rows)}."
    return render_section(
        "list", "All series", lead, make_scrollable(render_table(head, rows), "All series")
    )


# Pictures ----------------------------------------------------------------------------------------

STYLES = {
    "series": "fill:none;stroke:currentColor;stroke-width:1.6",
    "decided": "fill:none;stroke:#c2571a;stroke-width:1.6;stroke-dasharray:6 4",
    "expected": "fill:none;stroke:#c2571a;stroke-width:1.4",
    "cutoff": "fill:none;stroke:currentColor;stroke-width:1;stroke-dasharray:1 3",
    "grid": "fill:none;stroke:currentColor;stroke-opacity:.15;stroke-width:1",
    "number": "fill:currentColor;fill-opacity:.7;font-size:13px",
    "band": "fill:#c2571a;fill-opacity:.18;stroke:none",
}


def picture(label: str, parts: Sequence[Html]) -> Html:
    """Lines and bands in one frame; `label` is read aloud in their place."""
    return tag(
        "svg", *parts, role="img", aria_label=label, viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width="100%", style=f"max-width:{WIDTH}px",
    )  # fmt: skip


def line(x: Any, y: Any, least: float, most: float, kind: str) -> Html:
    """A line through points; x between 0 and 1, y between its least and most."""
    return tag("polyline", points=_points(x, y, least, most), style=STYLES[kind])


def band(x: Any, low: Any, high: Any, least: float, most: float) -> Html:
    """The area between two lines."""
    points = f"{_points(x, low, least, most)} {_points(x[::-1], high[::-1], least, most)}"
    return tag("polygon", points=points, style=STYLES["band"])


def scale_label(value: float, least: float, most: float) -> Html:
    """A number beside the place of its value."""
    down = float(_down(value, least, most)) + 4
    return tag("text", f"{value:.2g}", x=LEFT - 6, y=f"{down:.1f}", text_anchor="end",
               style=STYLES["number"])  # fmt: skip


def time_labels(n: int, decided: int | None = None) -> list[Html]:
    """The first and the last time below the lines, and one between: that of a decision."""
    between = (n + 1) // 2 if decided is None else decided
    far = max(n // 12, 1)  # numbers nearer than that would touch
    times = [1, n] if n > 1 else [1]
    if 1 + far < between < n - far:
        times.insert(1, between)
    return [
        tag("text", str(t), x=f"{float(_across((t - 1) / max(n - 1, 1))):.1f}", y=HEIGHT - 6,
            text_anchor="middle", style=STYLES["number"])
        for t in times
    ]  # fmt: skip


def _across(x: Any) -> Array:
    return LEFT + np.asarray(x, dtype=float) * (WIDTH - LEFT - 2 * EDGE)


def _down(y: Any, least: float, most: float) -> Array:
    scale = (HEIGHT - BELOW - EDGE) / (most - least if most > least else 1.0)
    return HEIGHT - BELOW - (np.asarray(y, dtype=float) - least) * scale


def _points(x: Any, y: Any, least: float, most: float) -> str:
    places = zip(_across(x), _down(y, least, most), strict=True)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
