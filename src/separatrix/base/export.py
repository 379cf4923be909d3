"""Linear models for other programs: JSON, CSV, ONNX and SQL."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.base.prepared import find_names, read_step
from separatrix.base.solution import NOTHING
from separatrix.files.whole import write_whole
from separatrix.linalg import Array
from separatrix.moments.sql import double, number, quote, quote_table

JSON_FORMAT = "separatrix linear model 1"

RULE = (
    "scores = coef (x - centre) + intercept, one for each class; the class with the largest "
    "score, the first of equal ones"
)

N_CHECKED_ROWS = 200
"""Rows by which an exported model is compared with the one it came from."""

MAX_ONNX_DIFFERENCE = 1e-3
"""Largest difference of scores in float32, as a share of the largest."""


class LinearScores(NamedTuple):
    """A model as one affine function of the columns of a table.

    Attributes
    ----------
    model : str
        Name of its class.
    features : list of str
    classes : array (n_classes,)
    centre : array (n_features,)
        Taken off each row first, so that offsets cost no digits.
    coef : array (n_classes, n_features)
    intercept : array (n_classes,)
    fills : dict
        Values that take the place of gaps, by feature.
    """

    model: str
    features: list[str]
    classes: Array
    centre: Array
    coef: Array
    intercept: Array
    fills: Mapping[str, float] = NOTHING

    def scores(self, X: Array) -> Array:
        """One column for each class."""
        return (X - self.centre) @ self.coef.T + self.intercept

    def predict(self, X: Array) -> Array:
        """The class of the largest score."""
        return self.classes[self.scores(X).argmax(axis=1)]


def export(
    model: Any, path: str | os.PathLike[str], *, dialect: str = "duckdb", table: str = "rows"
) -> None:
    """Write a linear model, with its scaler, in a form that other programs read.

    Parameters
    ----------
    model : fitted classifier
        Linear in the features: one with `coef_` and `intercept_`, also behind a StandardScaler in
        a pipeline. Of the columns of a table only numbers are exported.
    path : str or path
        Its ending says the form. ``.json``: an object with classes, features, coefficients and
        rows to check a reader by. ``.csv``: a line for each feature. ``.onnx``: a graph from rows
        of float32 to labels and scores (``pip install 'separatrix[onnx]'``). ``.sql``: a query
        that adds to each row its ``prediction`` and a column ``score_<class>`` for each class. A
        row with a gap in a feature gets NULL, unless the model fills gaps.
    dialect : "duckdb", "postgresql" or "sqlite"
        The engine that a query is for.
    table : str
        The table that a query reads; its schema may stand before a point.

    Notes
    -----
    The exported numbers are applied to rows around the class means, and must give the labels of
    the model for each; an ONNX file is run for that. Rows that are nearer to a boundary than
    float32 can tell are not compared.

    Examples
    --------
    >>> import json, os, tempfile
    >>> from separatrix import FisherDiscriminant, datasets, export
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data, wine.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(model, os.path.join(folder, "wine.json"))
    ...     with open(os.path.join(folder, "wine.json")) as file:
    ...         found = json.load(file)
    >>> found["classes"], len(found["coef"][0])
    (['class_0', 'class_1', 'class_2'], 13)
    """
    form = Path(path).suffix.lower()
    if form not in (*WRITERS, ".sql"):
        raise ValueError(f"{path} has the ending {form!r}: use one of {', '.join(WRITERS)}, .sql")
    check_is_fitted(model)
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is not valid: it must be one of {DIALECTS}")
    linear = read_linear(model)
    if linear.fills and form != ".sql":
        raise ValueError(
            "this model fills gaps before its linear part, which only a query can do: export it "
            "to sql, or fit it to columns without gaps"
        )
    rows = rows_around_boundaries(linear)
    _check_equal(linear.predict(rows), model, rows, np.inf)
    if form == ".sql":
        content = (_to_sql(linear, dialect, table) + "\n").encode()
    else:
        content = WRITERS[form](linear, model, rows)
    write_whole(path, content)


def read_linear(model: Any) -> LinearScores:
    """A fitted linear classifier, with the scaler before it, as one affine function."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    try:
        coef, intercept = np.asarray(last.coef_), np.asarray(last.intercept_)
    except AttributeError:
        raise ValueError(
            f"{type(last).__name__} is not linear in the features, and cannot be exported: use "
            "save, or a linear model such as FisherDiscriminant"
        ) from None
    before = model[:-1] if isinstance(model, Pipeline) else None
    names = find_names(model if before is None else before)
    centre, coef, fills = _undo_steps(before, names, coef, last)
    intercept = np.ravel(intercept) + coef @ centre[1]
    if len(coef) == 1:  # of two classes the first has the score zero
        coef, intercept = np.vstack([0 * coef, coef]), np.array([0.0, intercept[0]])
    kind = type(last).__name__
    return LinearScores(kind, names, last.classes_, centre[0], coef, intercept, fills)


def _undo_steps(
    steps: Any, names: list[str], coef: Array, last: Any
) -> tuple[tuple[Array, Array], Array, Mapping[str, float]]:
    """The centre in units of the table, its value behind the steps, coefficients, and fills."""
    if steps is None:
        centre = np.asarray(getattr(last, "mean_", np.zeros(coef.shape[1])))
        return (centre, centre), coef, {}
    columns = read_step(steps, names)
    if columns.names != names or columns.indicators:
        raise ValueError(
            "only columns of numbers are exported: this model makes columns of text, or leaves "
            "columns out, before its linear part"
        )
    return (columns.shift, np.zeros(len(names))), coef / columns.scale, columns.fills


def rows_around_boundaries(linear: LinearScores) -> Array:
    """Rows on both sides of every boundary: steps from the centre along the coefficients."""
    rng = np.random.default_rng(0)
    directions = linear.coef - linear.coef.mean(axis=0)
    lengths = np.linalg.norm(directions, axis=1)
    unit = directions / np.where(lengths > 0, lengths, 1.0)[:, None] ** 2
    weights = rng.standard_normal((N_CHECKED_ROWS, len(unit)))
    size = 1.0 + np.abs(linear.intercept - linear.intercept.mean()).max(initial=0.0)
    return linear.centre + 2 * size * weights @ unit


def _check_equal(labels: Array, model: Any, rows: Array, precision: float) -> None:
    """Raise where labels differ from those of the model, but for rows at a boundary."""
    linear = read_linear(model)
    top = np.sort(linear.scores(rows), axis=1)
    margins = top[:, -1] - top[:, -2]
    clear = margins > 1e-9 * np.abs(top).max()
    if np.isfinite(precision):
        clear = margins > precision * np.abs(top).max()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        expected = model.predict(rows)
    differ = np.flatnonzero((np.asarray(labels) != expected) & clear)
    if len(differ):
        raise ValueError(
            f"the exported model would decide {len(differ)} of {len(rows)} rows otherwise than "
            f"{type(model).__name__}, first in row {differ[0]}: nothing was written"
        )


# Forms ---------------------------------------------------------------------------------------


def _to_json(linear: LinearScores, model: Any, rows: Array) -> bytes:
    content = {
        "format": JSON_FORMAT,
        "model": linear.model,
        "rule": RULE,
        "features": linear.features,
        "classes": linear.classes.tolist(),
        "centre": linear.centre.tolist(),
        "coef": linear.coef.tolist(),
        "intercept": linear.intercept.tolist(),
        "check": {"rows": rows[:5].tolist(), "scores": linear.scores(rows[:5]).tolist()},
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode()


def _to_csv(linear: LinearScores, model: Any, rows: Array) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["feature", "centre", *linear.classes.tolist()])
    writer.writerow(["(intercept)", "", *(repr(v) for v in linear.intercept.tolist())])
    for name, centre, weights in zip(linear.features, linear.centre, linear.coef.T, strict=True):
        writer.writerow([name, repr(float(centre)), *(repr(v) for v in weights.tolist())])
    return text.getvalue().encode()


def _to_onnx(linear: LinearScores, model: Any, rows: Array) -> bytes:
    try:
        import onnxruntime
        from onnx import checker
    except ImportError:
        raise ImportError(
            "ONNX files are written with the packages onnx and onnxruntime: pip install "
            "'separatrix[onnx]'"
        ) from None
    made = _onnx_model(linear)
    checker.check_model(made)
    content = made.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    labels, scores = session.run(["label", "scores"], {"X": rows.astype(np.float32)})
    expected = linear.scores(rows.astype(np.float32).astype(np.float64))
    size = np.abs(expected).max(initial=1.0)
    if not np.abs(scores - expected).max() <= MAX_ONNX_DIFFERENCE * size:
        raise ValueError(
            "float32, the numbers of ONNX, is not enough for this model: its scores would differ "
            f"by {np.abs(scores - expected).max():.3g}. Scale features first, or export to json"
        )
    _check_equal(labels.astype(linear.classes.dtype), model, rows, MAX_ONNX_DIFFERENCE)
    return content


def _onnx_model(linear: LinearScores) -> Any:
    """The scores of a linear model, and the label of the largest, as a graph of operations."""
    from onnx import TensorProto, helper, numpy_helper

    text = linear.classes.dtype.kind not in "iub"
    names = linear.classes.astype(str if text else np.int64)
    labels = helper.make_tensor(
        "classes",
        TensorProto.STRING if text else TensorProto.INT64,
        [len(names)],
        [name.encode() for name in names] if text else names,
    )
    constants = [
        numpy_helper.from_array(value.astype(np.float32), name)
        for name, value in (
            ("centre", linear.centre),
            ("coef", linear.coef.T),
            ("intercept", linear.intercept),
        )
    ]
    nodes = [
        helper.make_node("Sub", ["X", "centre"], ["centred"]),
        helper.make_node("MatMul", ["centred", "coef"], ["products"]),
        helper.make_node("Add", ["products", "intercept"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["winner"], axis=1, keepdims=0),
        helper.make_node("Gather", ["classes", "winner"], ["label"]),
    ]
    d, k = len(linear.features), len(names)
    graph = helper.make_graph(
        nodes,
        linear.model,
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", d])],
        [
            helper.make_tensor_value_info("label", labels.data_type, ["rows"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", k]),
        ],
        [labels, *constants],
    )
    # an older opset and format than the newest, which runtimes in use read
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


DIALECTS = ("duckdb", "postgresql", "sqlite")
"""Engines that queries are written for."""

TERMS_PER_LINE = 8
"""Products in one pair of parentheses: engines bound the depth of sums."""


def _to_sql(linear: LinearScores, dialect: str, table: str) -> str:
    """A query that adds scores and predictions to each row of a table."""
    values = [_sql_value(name, dialect, linear.fills.get(name)) for name in linear.features]
    centred = [f"({value} - {number(a)})" for value, a in zip(values, linear.centre, strict=True)]
    names = [quote(f"score_{label}") for label in linear.classes.tolist()]
    scores = [
        f"{_sql_sum(centred, weights, intercept)} AS {name}"
        for name, weights, intercept in zip(names, linear.coef, linear.intercept, strict=True)
    ]
    labels = [_sql_label(label) for label in linear.classes.tolist()]
    best = f"{'max' if dialect == 'sqlite' else 'GREATEST'}({', '.join(names)})"
    cases = "\n".join(
        f"         WHEN {name} THEN {label}" for name, label in zip(names, labels, strict=True)
    )
    # a gap makes the scores NULL, and GREATEST ignores NULL: a score is asked first
    gap = " OR ".join(f"{name} IS NULL" for name in names)
    comma = ",\n         "
    return (
        f"-- {linear.model}, {dialect}: the class with the largest score, the first of equal "
        f"ones; NULL where a feature has no value\n"
        f"SELECT *,\n       CASE WHEN {gap} THEN NULL ELSE CASE {best}\n{cases}\n"
        f"       END END AS prediction\n"
        f"FROM (\n  SELECT *,\n         {comma.join(scores)}\n  FROM {quote_table(table)}\n"
        f") AS scored"
    )


def _sql_value(name: str, dialect: str, fill: float | None) -> str:
    """A feature as float64: NULL where there is no number, or what fills such gaps."""
    value = double(name)
    if dialect == "sqlite":  # where text would count as zero
        value = f"CASE WHEN typeof({quote(name)}) IN ('integer', 'real') THEN {value} END"
    else:
        value = f"NULLIF({value}, CAST('NaN' AS DOUBLE PRECISION))"
    return f"({value})" if fill is None else f"COALESCE({value}, {number(fill)})"


def _sql_sum(values: list[str], weights: Array, intercept: float) -> str:
    terms = [f"{number(w)} * {x}" for w, x in zip(weights.tolist(), values, strict=True)]
    lines = [
        f"({' + '.join(terms[i : i + TERMS_PER_LINE])})"
        for i in range(0, len(terms), TERMS_PER_LINE)
    ]
    while len(lines) > TERMS_PER_LINE:  # a balanced sum
        lines = [
            f"({' + '.join(lines[i : i + TERMS_PER_LINE])})"
            for i in range(0, len(lines), TERMS_PER_LINE)
        ]
    return "(" + "\n          + ".join([number(intercept), *lines]) + ")"


def _sql_label(label: Any) -> str:
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    return number(label) if isinstance(label, float) else "'" + str(label).replace("'", "''") + "'"


WRITERS = {".json": _to_json, ".csv": _to_csv, ".onnx": _to_onnx}
"""Functions that write a linear model, by the ending of the file."""
