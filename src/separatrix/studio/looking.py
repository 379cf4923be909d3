"""Views of tables and models that the page shows at once, without a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from separatrix.files.notices import MAX_NOTICED_VALUES
from separatrix.studio.commands import HIDDEN, RefusedError
from separatrix.studio.jobs import CommandRun
from separatrix.studio.projects import READING, check_name

HEAD_ROWS = 50
"""Rows of a table that are shown."""

HEAD_COLUMNS = 40
"""Columns that are shown; a browser draws some thousand cells at once."""

MOST_PLACED = 1200
"""Rows of the first picture: half of them learn, the others are placed."""

MOST_TRIED = 1000
"""Rows that are predicted in one request."""


def list_choices() -> dict[str, Any]:
    """Commands with their options, methods, and bundled data sets."""
    return _choices()


@lru_cache
def _choices() -> dict[str, Any]:
    import click

    from separatrix.cli.options import list_bundled
    from separatrix.cli.program import program
    from separatrix.evaluate.methods import contenders

    options = {
        name: sorted(
            flag.removeprefix("--")
            for option in command.params
            if isinstance(option, click.Option)
            for flag in (*option.opts, *option.secondary_opts)
            if flag.startswith("--")
        )
        for name, command in program.commands.items()
        if name not in HIDDEN
    }
    methods = [
        {"name": m.name, "kind": m.kind, "description": m.description} for m in contenders(None)
    ]
    return {"commands": options, "methods": methods, "datasets": list(list_bundled())}


# Tables ---------------------------------------------------------------------------------------


def look_at(project: Path, source: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A description of a table: `files.look.look`, first rows, faults and their corrections."""
    from separatrix.files.chunks import read_frame
    from separatrix.files.look import look

    path, reading = _find_source(project, source), make_reading(project, options)
    seen = look(path, reading)
    frame = read_frame(path, seen.reading)
    n_copies = int(frame.duplicated().sum()) if frame.size <= MAX_NOTICED_VALUES else 0
    shown = list(frame.columns[:HEAD_COLUMNS])
    return {
        "target": seen.target,
        "rows": seen.n_rows,
        "features": seen.n_features,
        "classes": [{"name": name, "count": n} for name, n in seen.classes.items()],
        "layout": seen.layout,
        "reading": _spell(seen.reading),
        "problems": _list_problems(seen, n_copies, options),
        "columns": [{"name": str(name)} for name in shown],
        "n_columns": frame.shape[1],
        "head": [
            [None if value != value or value is None else str(value) for value in row]
            for row in frame[shown].head(HEAD_ROWS).itertuples(index=False, name=None)
        ],
    }


def make_reading(project: Path, options: Mapping[str, Any]) -> Any:
    """The options of the page as `files.reading.Reading`."""
    from separatrix.files.reading import Reading

    values: dict[str, Any] = {name: options[name] for name in READING if options.get(name)}
    values["header"] = not values.pop("no-header", False)
    for there, here in (("id", "ids"), ("format", "form"), ("skip-bad", "skip_bad")):
        if there in values:
            values[here] = values.pop(there)
    for name in ("ignore", "ids", "text"):
        values[name] = _listed(values, name)
    for name in ("samples", "labels"):
        if values.get(name):
            values[name] = _find_source(project, str(values[name]))
    return Reading(**values)


def _spell(reading: Any) -> dict[str, Any]:
    """A `Reading` as options of the page, those that are not usual."""
    from separatrix.files.reading import Reading

    usual, names = Reading(), {"ids": "id", "form": "format"}
    values = {
        names.get(name, name): list(value) if isinstance(value, tuple) else value
        for name in ("target", "ignore", "ids", "text", "form", "sep", "decimal", "thousands",
                     "transposed")
        if (value := getattr(reading, name)) != getattr(usual, name)
    }  # fmt: skip
    return values | ({} if reading.header else {"no-header": True})


def _list_problems(seen: Any, n_copies: int, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each oddity of the table, with the options that correct it, where any do."""
    problems = []
    for group in seen.groups:
        if options.get("group") != group:
            problems.append({
                "text": f"Rows of the same {group} belong together: none should be on both sides.",
                "action": "Keep them together", "fix": {"group": group},
            })  # fmt: skip
    wanted = {name.removeprefix("--"): value for name, value in seen.options.items()}
    n_gaps = sum(seen.gaps.values())
    if "missing" in wanted and not options.get("missing"):
        problems.append({"text": f"{n_gaps} values are missing.", "fix": {"missing": "median"},
                         "action": "Fill them with medians"})  # fmt: skip
    if "categorical" in wanted and not options.get("categorical"):
        problems.append({"text": "Some columns hold words.", "fix": {"categorical": "onehot"},
                         "action": "Make a column of each word"})  # fmt: skip
    idle = [c.name for c in seen.columns if c.role in ("constant", "empty")]
    idle = [name for name in idle if name not in seen.reading.ignore]
    if idle:
        problems.append({"text": f"{_name_some(idle)}: the same value in every row.",
                         "action": "Ignore", "fix": {"ignore": idle}})  # fmt: skip
    alike = _find_alike(list(seen.classes))
    if alike:
        problems.append({"text": f"Labels differ only in case or spaces: {_name_some(alike)}.",
                         "action": "Make them equal", "clean": "labels"})  # fmt: skip
    if n_copies:
        problems.append({"text": f"{n_copies} rows are copies of others.",
                         "action": "Leave them out", "clean": "copies"})  # fmt: skip
    notes = [note for note in seen.notes if "differ in case" not in note or not alike]
    return problems + [{"text": note} for note in notes]


def _name_some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _find_alike(labels: Sequence[str]) -> list[str]:
    seen: dict[str, list[str]] = {}
    for label in labels:
        seen.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [label for several in seen.values() if len(several) > 1 for label in several]


def clean(project: Path, source: str, options: Mapping[str, Any], what: str) -> str:
    """Write a copy of the table without a fault, and return its name.

    Parameters
    ----------
    project : path
    source : str
    options : dict
        How the table is read.
    what : "labels" or "copies"
        Give labels that differ only in case or spaces one spelling, the commonest; or leave out
        rows that are copies of others.
    """
    from separatrix.files.chunks import read_frame

    reading = make_reading(project, options)
    frame = read_frame(_find_source(project, source), reading)
    if what == "copies":
        frame = frame.drop_duplicates()
    elif what == "labels" and reading.target in frame.columns:
        spelled = frame[reading.target].astype(str)
        plain = spelled.map(lambda label: " ".join(label.split()).casefold())
        commonest = spelled.groupby(plain).agg(lambda group: group.value_counts().index[0])
        frame[reading.target] = plain.map(commonest)
    else:
        raise RefusedError(f"There is no way to clean {what!r} here.")
    name = f"{Path(source).stem}-clean.csv"
    check_name(name)
    frame.to_csv(project / name, index=False)
    return name


def _find_source(project: Path, source: str) -> str:
    """The file of a project, or the typed text as it is."""
    own = project / source
    return str(own) if source and not Path(source).is_absolute() and own.exists() else source


def picture_rows(project: Path, source: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Rows in the plane that separates the classes; the rows that are placed did not find it.

    Returns
    -------
    dict
        ``x``, ``y``, ``codes``, ``classes``, ``names`` and ``caption``.
    """
    import numpy as np
    from sklearn.model_selection import train_test_split

    from separatrix import FisherDiscriminant
    from separatrix.files.preparation import preprocessing

    table = _read(project, source, options)
    classes, codes = np.unique(table.y, return_inverse=True)
    rows = np.arange(len(codes))
    if len(rows) > MOST_PLACED:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:MOST_PLACED])
    if len(classes) < 2 or min(np.bincount(codes[rows], minlength=len(classes))) < 4:
        raise RefusedError("A picture needs two classes, with four rows in each.")
    learn, place = train_test_split(rows, test_size=0.5, random_state=0, stratify=codes[rows])
    steps = preprocessing(
        table.X,
        categorical=options.get("categorical") or "refuse",
        missing=options.get("missing") or "refuse",
        text=table.text,
    )
    learned, placed = table.X.iloc[learn], table.X.iloc[place]
    if steps is not None:
        learned, placed = steps.fit_transform(learned), steps.transform(placed)
    model = FisherDiscriminant(shrinkage="moments").fit(learned, codes[learn])
    Z = np.asarray(model.transform(placed), dtype=float)
    height = Z[:, 1] if Z.shape[1] > 1 else np.random.default_rng(0).uniform(size=len(Z))
    kind = "its height is drawn by chance" if Z.shape[1] < 2 else "its first two directions"
    return {
        "x": Z[:, 0].tolist(),
        "y": height.tolist(),
        "codes": codes[place].tolist(),
        "classes": classes.tolist(),
        "names": [f"row {i + 1}" for i in place],
        "caption": f"{len(place)} rows that did not help to find the directions of "
        f"FisherDiscriminant ({kind}).",
    }


def _read(project: Path, source: str, options: Mapping[str, Any]) -> Any:
    from separatrix.files.tables import read_table

    reading = make_reading(project, options)
    others = tuple(options[name] for name in ("group", "time", "split") if options.get(name))
    return read_table(_find_source(project, source), reading, ignore=(*reading.ignore, *others))


def _listed(options: Mapping[str, Any], name: str) -> list[str]:
    value = options.get(name) or []
    return list(value) if isinstance(value, list) else [str(value)]


# Models ---------------------------------------------------------------------------------------


def describe_model(path: Path) -> dict[str, Any]:
    """Classes of a model, and its features with means and deviations, the weightiest first."""
    import numpy as np

    from separatrix.evaluate.contents import describe_contents, find_method

    model = _load(path, path.stat().st_mtime_ns).model
    contents = describe_contents(model)
    names = list(
        getattr(model, "feature_names_in_", [f"x{i}" for i in range(contents.n_features)])
    )
    scaler = next((s for s in find_method(model)[0] if hasattr(s, "scale_")), None)
    means = getattr(scaler, "mean_", None)
    deviations = getattr(scaler, "scale_", None)
    table = contents.features
    weights = dict.fromkeys(names, 0.0)
    if table is not None:
        weights |= dict(zip(table.names, np.abs(table.weights).max(axis=0), strict=True))
    if means is None or deviations is None or len(means) != len(names):
        means, deviations = [None] * len(names), [None] * len(names)
    features = [
        {
            "name": name,
            "weight": float(weights.get(name, 0.0)),
            "mean": _number(means[i]),
            "deviation": _number(deviations[i]),
        }
        for i, name in enumerate(names)
    ]
    return {
        "method": contents.method,
        "classes": contents.classes,
        "names": names,
        "features": sorted(features, key=lambda feature: -feature["weight"]),
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def predict_rows(path: Path, rows: Sequence[Any]) -> dict[str, Any]:
    """Class, probabilities and novelty of rows, given as names and values."""
    import pandas as pd

    from separatrix.evaluate.contents import judge_novelty

    if not rows or len(rows) > MOST_TRIED or not all(isinstance(row, dict) for row in rows):
        raise RefusedError(f"Rows are names with values, at most {MOST_TRIED} of them.")
    stored = _load(path, path.stat().st_mtime_ns)
    model = stored.model
    names = getattr(model, "feature_names_in_", None)
    names = list(rows[0]) if names is None else list(names)
    missing = [name for name in names if any(name not in row for row in rows)]
    if missing:
        raise RefusedError(f"The row has no value for {missing[0]!r}.")
    X = pd.DataFrame([[row[name] for name in names] for row in rows], columns=names)
    if not hasattr(model, "feature_names_in_"):
        X = X.to_numpy()
    labels = model.predict(X)
    answers: list[dict[str, Any]] = [{"prediction": str(label)} for label in labels]
    if hasattr(model, "predict_proba"):
        for answer, shares in zip(answers, model.predict_proba(X), strict=True):
            order = sorted(range(len(shares)), key=lambda c: -shares[c])[:12]
            answer["probabilities"] = {str(model.classes_[c]): float(shares[c]) for c in order}
    novelty = None if hasattr(model, "decide_early") else judge_novelty(model, X)
    if novelty is not None:
        farthest = stored.notes.get("farthest", 0.0)
        for answer, distance, p in zip(answers, *novelty, strict=True):
            answer["unlike"] = bool(distance > farthest and p < 1e-3)
    return {"rows": answers}


@lru_cache(maxsize=4)
def _load(path: Path, changed: int) -> Any:
    """A model with its notes; read again when the file has changed."""
    from separatrix.files.model import read

    return read(path)


# Commands -------------------------------------------------------------------------------------


def describe_run(job: CommandRun) -> dict[str, Any]:
    """Messages of a command, and finished folds of a comparison."""
    news: dict[str, Any] = {"messages": job.messages()}
    spec = job.spec
    results = spec["options"].get("results")
    if spec["command"] == "compare" and results and (job.project / results).is_file():
        from separatrix.cli.kept import summarize_folds
        from separatrix.evaluate.checkpoint import read_folds

        news["board"] = [
            dict(method) for method in summarize_folds(read_folds(job.project / results))
        ]
    return news
