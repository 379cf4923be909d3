"""Early decisions on test series as one page: when each was decided, why, and the promises."""

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

MAX_FRAMES = 24
"""Times at which the replay of a series stops."""

WIDTH, HEIGHT, EDGE = 560, 170, 8
"""Size of a picture, in pixels."""

STRIP = 70
"""Height of the reliability below the values of a series, in pixels."""

LEFT, BELOW = 36, 26
"""Room for numbers left of and below the lines, in pixels."""

GRID = (
    "display:grid;gap:1.2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr))"
)
"""Pictures in a row where there is room."""


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
    path = _path(model, X)
    same = decisions.label == complete
    used = decisions.n_observed / d
    before = decisions.n_observed < d
    right = None if y is None else decisions.label == y
    accuracy = None if right is None else float(right.mean())
    levels = np.quantile(path, [0.1, 0.5, 0.9], axis=0)
    drawn = choose_pictures(decisions.n_observed, same)
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
        "classes": _class_facts(model, decisions.label, complete, y),
        "series": [
            _series_facts(i, decisions, complete, y, d) for i in range(min(len(rows), MAX_ROWS))
        ],
        "pictures": [
            _picture_facts(model, X, i, int(decisions.n_observed[i]), path[i]) for i in drawn
        ],
        "replay": _replay_facts(model, X, choose_replay(drawn, decisions.time), path),
    }


def _path(model: Any, X: Any) -> Array:
    """Reliability (n, n_times) of deciding after each time; 0 where nothing can be promised."""
    path = model.reliability_path(X)[:, model._n_channels - 1 :: model._n_channels]
    return np.nan_to_num(path)


def _class_facts(model: Any, label: Array, complete: Array, y: Any) -> list[dict[str, Any]]:
    """For each class the share of its series that is decided as when complete."""
    entries = []
    for c, name in enumerate(model.classes_.tolist()):
        of_class, promises = complete == name, model.class_promises_
        kept = promises[c].kept if promises else float("nan")
        true = np.zeros(len(label), dtype=bool) if y is None else np.asarray(y) == name
        entries.append({
            "label": str(name),
            "n": int(of_class.sum()),
            "calibration": None if np.isnan(kept) else float(kept),
            "kept": float(np.mean(label[of_class] == name)) if of_class.any() else None,
            "found": float(np.mean(label[true] == name)) if true.any() else None,
            "found_complete": float(np.mean(complete[true] == name)) if true.any() else None,
        })  # fmt: skip
    return entries


def _promise_facts(model: Any) -> dict[str, Any]:
    """The promise, as plain data."""
    calibration = model.calibration
    promise = calibration if isinstance(calibration, Promise) else Promise()
    return {
        "confidence": float(promise.confidence),
        "guarantee": model.guarantee_,
        "condition": promise.condition,
        "loss": promise.loss if isinstance(promise.loss, str) else "cost",
        "cost": isinstance(calibration, Cost),
        "no_promise": model.no_promise_,
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
        "reliability": float(np.nan_to_num(decisions.reliability[i])),
        "complete": str(complete[i]),
        "true": None if y is None else str(np.asarray(y)[i]),
        "at_end": bool(decisions.n_observed[i] == d),
    }


def choose_replay(drawn: Sequence[int], times: Array) -> int:
    """Of the series that are drawn the one that is decided at about the median time.

    Examples
    --------
    >>> choose_replay([0, 2, 4], np.array([9, 9, 5, 1, 1]))
    2
    """
    return min(drawn, key=lambda i: abs(times[i] - np.median(times)))


def _picture_facts(model: Any, X: Any, i: int, n_known: int, path: Array) -> dict[str, Any]:
    """The values of a series, and those expected at one time; of the first channel."""
    order, step = _order(model), model._n_channels
    rest = model.expect(_hide(model, X, i, [n_known]))
    return {
        "number": i,
        "n_known": n_known // step,
        "values": np.asarray(X, dtype=np.float64)[i, order][::step].tolist(),
        "mean": rest.mean[0, order][::step].tolist(),
        "std": rest.std[0, order][::step].tolist(),
        "path": path[: n_known // step].tolist(),
    }


def _replay_facts(model: Any, X: Any, i: int, path: Array) -> list[dict[str, Any]]:
    """One series at several times: the values known and expected then, and the guess."""
    n_times, step = path.shape[1], model._n_channels
    at = np.unique(np.linspace(1, n_times, min(n_times, MAX_FRAMES)).astype(int)) * step
    decided = model.decide(_hide(model, X, i, at))
    return [
        _picture_facts(model, X, i, n_known, path[i])
        | {
            "label": str(decided.label[k]),
            "decided": bool(decided.decided[k]),
            "reliability": float(path[i, n_known // step - 1]),
        }
        for k, n_known in enumerate(at.tolist())
    ]


def _order(model: Any) -> Array:
    """The columns of X in the order of time."""
    return np.arange(model.n_features_in_) if model._order is None else model._order


def _hide(model: Any, X: Any, i: int, lengths: Any) -> Any:
    """Series i once for each number of leading values, with gaps for those after them."""
    hidden = np.argsort(_order(model)) >= np.asarray(lengths)[:, None]
    if hasattr(X, "iloc"):  # a table keeps the names of its columns
        return X.iloc[[i] * len(hidden)].mask(hidden)
    return np.where(hidden, np.nan, np.asarray(X, dtype=np.float64)[i])


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
            _classes(facts),
            _curve(facts),
            _replay(facts),
            _pictures(facts),
            _list(facts),
        ),
        tag("p", "Made by separatrix. This file needs no network.", class_="foot"),
    )


def headline(facts: Mapping[str, Any]) -> str:
    """The findings, in one sentence."""
    return (
        f"{facts['agreement']:.1%} of {facts['n_series']} series are decided as when complete, "
        f"from {facts['used']:.0%} of their values"
    )


def describe_promise(facts: Mapping[str, Any]) -> str:
    """The promise for new series, and its assumption."""
    tau = facts["reliability"]
    if facts["cost"]:
        return (
            f"Decisions have the least cost on {facts['n_calibration']} calibration series; no "
            "reliability is promised."
        )
    if facts["no_promise"] is not None:
        return f"Nothing is promised before the end: {facts['no_promise']}."
    if not facts["calibrated"]:
        return (
            f"Promised is a reliability of {tau:g}, if the values are normal with the moments "
            "that were learned. Calibration makes a promise that needs no model."
        )
    words = {
        "disagreement": "are decided otherwise than when complete",
        "gap": "are decided wrongly, but correctly when complete",
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


def _classes(facts: Mapping[str, Any]) -> Html:
    by_class = facts["condition"] == "class" and facts["guarantee"] is not None
    promised = f"≥ {facts['reliability']:g}" if by_class else "over all classes only"
    rows = [
        (c["label"], c["n"], promised, *(_number(c[key]) for key in
         ("calibration", "kept", "found", "found_complete")))
        for c in facts["classes"]
    ]  # fmt: skip
    head = ("class", "series", "promised", "kept on calibration series", "kept here",
            "of its series found", "found when complete")  # fmt: skip
    lead = (
        "Kept is the share of the series which are of the class when complete that is decided so. "
    )
    if not by_class:
        lead += "A promise in each class is Promise(condition='class'); it waits longer."
    table = make_scrollable(render_table(head, rows), "Classes")
    return render_section("classes", "Promised and kept in each class", lead, table)


def _curve(facts: Mapping[str, Any]) -> Html:
    curve, n = facts["curve"], facts["n_times"]
    x = across(n)
    parts = [
        *(line([0, 1], [level, level], 0, 1, "grid") for level in (0, 0.5, 1)),
        *(scale_label(level, 0, 1) for level in (0, 0.5, 1)),
        *time_labels(n),
        band(x, curve["low"], curve["high"], 0, 1),
        line(x, curve["middle"], 0, 1, "series"),
        line(x, curve["decided"], 0, 1, "decided"),
        *_required(facts),
    ]
    return render_section(
        "curve",
        "Reliability over time",
        "Median reliability of deciding then and the range of the middle 80 % of the series; "
        "dashed the share that is decided; dotted the required one. Below are numbers of times.",
        picture(f"Reliability of the series from the first to the last of {n} times", parts),
    )


def _required(facts: Mapping[str, Any], **place: float) -> list[Html]:
    """The line of the reliability that is asked for; a cost has none."""
    if facts["cost"]:
        return []
    return [line([0, 1], [facts["reliability"]] * 2, 0, 1, "cutoff", **place)]


def _replay(facts: Mapping[str, Any]) -> Html:
    """Frames; only the chosen one is shown: buttons of one group, by style alone."""
    frames = facts["replay"]
    first = next((k for k, frame in enumerate(frames) if frame["decided"]), len(frames) - 1)
    buttons = [
        (tag("input", type="radio", name="replay", id=f"replay{k}", checked=k == first),
         tag("label", frame["n_known"], for_=f"replay{k}"))
        for k, frame in enumerate(frames)
    ]  # fmt: skip
    shown = "".join(
        f"#replay{k}:checked~div>:nth-child({k + 1}){{display:block}}" for k in range(len(frames))
    )
    style = f"#replay fieldset>div>figure{{display:none;margin:0}}{shown}"
    return render_section(
        "replay",
        "Replay",
        f"Series {frames[0]['number']} as its values come. Choose a number of times, or walk "
        "through them with the arrow keys.",
        tag("style", Html(style)),
        tag("fieldset", tag("legend", "times seen"), *(part for pair in buttons for part in pair),
            tag("div", *(_frame(facts, frame) for frame in frames))),
    )  # fmt: skip


def _frame(facts: Mapping[str, Any], frame: Mapping[str, Any]) -> Html:
    state = "decided" if frame["decided"] else "not decided yet"
    return tag(
        "figure",
        _series_picture(facts, frame),
        tag(
            "figcaption",
            f"After {frame['n_known']} of {facts['n_times']} times: {frame['label']}, reliability "
            f"{frame['reliability']:.3g}, {state}.",
        ),
    )


def _pictures(facts: Mapping[str, Any]) -> Html:
    return render_section(
        "pictures",
        "When and why",
        "Above the values seen (line), those expected then with two standard deviations (band), "
        "and those that came (dotted); below the reliability of deciding, and dotted the required "
        "one." + (" Of several channels the first." if facts["n_channels"] > 1 else ""),
        tag("div", *(_one_series(facts, given) for given in facts["pictures"]), style=GRID),
    )


def _one_series(facts: Mapping[str, Any], given: Mapping[str, Any]) -> Html:
    decided = next((s for s in facts["series"] if s["number"] == given["number"]), None)
    caption = None if decided is None else _caption(facts, decided, given["n_known"])
    return tag("figure", _series_picture(facts, given), caption, style="margin:0")


def _series_picture(facts: Mapping[str, Any], given: Mapping[str, Any]) -> Html:
    """Values, seen and expected, and below them the reliability so far."""
    values, mean, std = (np.array(given[key]) for key in ("values", "mean", "std"))
    t, n = given["n_known"], len(values)
    x = across(n)
    low, high = mean - 2 * std, mean + 2 * std
    least, most = float(min(low.min(), values.min())), float(max(high.max(), values.max()))
    rest = slice(max(t - 1, 0), None)
    below: dict[str, float] = {"top": HEIGHT, "height": STRIP - EDGE}
    parts = [
        *time_labels(n, t),
        *(scale_label(level, least, most) for level in (least, most)),
        band(x[rest], low[rest], high[rest], least, most),
        line(x[rest], mean[rest], least, most, "expected"),
        line(x[:t], values[:t], least, most, "series"),
        line(x[rest], values[rest], least, most, "cutoff"),
        *(line([0, 1], [level, level], 0, 1, "grid", **below) for level in (0, 1)),
        *(scale_label(level, 0, 1, **below) for level in (0, 1)),
        line(x[:t], given["path"], 0, 1, "expected", **below),
        *_required(facts, **below),
    ]
    return picture(f"Series {given['number']}", parts, HEIGHT + STRIP)


def _caption(facts: Mapping[str, Any], series: Mapping[str, Any], t: int) -> Html:
    reached = f"its reliability {series['reliability']:.3g} reached {facts['reliability']:g}"
    reached = "waiting would cost more" if facts["cost"] else reached
    why = (
        "at its end"
        if series["at_end"]
        else f"after {t} of {facts['n_times']} times, as {reached}"
    )
    other = series["complete"] != series["label"]
    after = f"; complete it is {series['complete']}" if other else ""
    truth = "" if series["true"] is None else f"; truly {series['true']}"
    return tag(
        "figcaption",
        f"Series {series['number']}: decided as {series['label']} {why}{after}{truth}.",
    )


def _list(facts: Mapping[str, Any]) -> Html:
    head = ("series", "time", "decided as", "reliability", "complete", "true")
    rows = [
        (s["number"], s["time"], s["label"], f"{s['reliability']:.3g}", s["complete"],
         s["true"] or "")
        for s in facts["series"]
    ]  # fmt: skip
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


def picture(label: str, parts: Sequence[Html], height: int = HEIGHT) -> Html:
    """Lines and bands in one frame; `label` is read aloud in their place."""
    return tag(
        "svg", *parts, role="img", aria_label=label, viewBox=f"0 0 {WIDTH} {height}",
        width="100%", style=f"max-width:{WIDTH}px",
    )  # fmt: skip


def across(n: int) -> Array:
    """The places of n times between 0 and 1."""
    return np.linspace(0, 1, n) if n > 1 else np.zeros(1)


def line(x: Any, y: Any, least: float, most: float, kind: str, **place: float) -> Html:
    """A line through points; x between 0 and 1, y between its least and most."""
    return tag("polyline", points=_points(x, y, least, most, **place), style=STYLES[kind])


def band(x: Any, low: Any, high: Any, least: float, most: float) -> Html:
    """The area between two lines."""
    points = f"{_points(x, low, least, most)} {_points(x[::-1], high[::-1], least, most)}"
    return tag("polygon", points=points, style=STYLES["band"])


def scale_label(value: float, least: float, most: float, **place: float) -> Html:
    """A number left of the place of its value."""
    down = float(_down(value, least, most, **place)) + 4
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


def _down(
    y: Any, least: float, most: float, top: float = 0.0, height: float = HEIGHT - BELOW
) -> Array:
    scale = (height - EDGE) / (most - least if most > least else 1.0)
    return top + height - (np.asarray(y, dtype=float) - least) * scale


def _points(x: Any, y: Any, least: float, most: float, **place: float) -> str:
    places = zip(_across(x), _down(y, least, most, **place), strict=True)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
