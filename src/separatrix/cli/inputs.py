"""What commands read: labelled tables, models, and tables that are to fit a model."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.cli.console import Console
from separatrix.files.reading import Reading

MAX_NAMED_COLUMNS = 10
"""Columns that a note names, at most."""


def read_labelled_table(
    console: Console, data: str, reading: Reading, keep: Sequence[str] = ()
) -> Any:
    """A table with labels of at least two classes; `keep` are columns to return as they are."""
    from separatrix.files.tables import check_label_column, read_table

    table = read_table(data, reading, keep=keep)
    note_skipped(console, table)
    check_label_column(table.y, table.target)
    note_columns(console, table.X, table.y)
    return table


def note_columns(console: Console, X: Any, y: Any) -> None:
    """Say what is odd about labels and columns: identifiers, copies, constants."""
    from separatrix.files.notices import find_notices
    from separatrix.files.tables import find_row_numbers

    counting = find_row_numbers(X)
    for name in counting:
        console.note(
            f"Column {name!r} counts the rows: --ignore {shlex.quote(name)}, unless it is measured"
        )
    for text in find_notices(X, y):
        if not any(repr(name) in text for name in counting):
            console.note(text)


def note_skipped(console: Console, table: Any) -> None:
    """Name items that were left out because they could not be read."""
    if table.skipped:
        named = ", ".join(table.skipped[:MAX_NAMED_COLUMNS])
        more = " …" if len(table.skipped) > MAX_NAMED_COLUMNS else ""
        n_items = len(table.skipped) + len(table.X)
        console.note(f"{len(table.skipped)} of {n_items} items are left out: {named}{more}")


def read_model(path: str) -> Any:
    """A model with its notes."""
    from separatrix.files.model import read

    if Path(path).exists() and stat.S_ISFIFO(Path(path).stat().st_mode):
        raise ValueError(f"{path} is a pipe: models are read from files, which can be checked")
    try:
        return read(path)
    except ValueError as error:
        if Path(path).suffix not in (".csv", ".tsv", ".xlsx", ".parquet", ".npz", ".arff"):
            raise
        raise ValueError(
            f"{error}. It looks like a table: `separatrix compare` and `separatrix fit` take those"
        ) from None


def read_model_and_rows(
    console: Console, path: str, data: str, reading: Reading, keep: Sequence[str] = ()
) -> tuple[Any, Any]:
    """A model, and a table with the columns that it knows, in its order."""
    from separatrix.files.columns import PREDICT, check_features
    from separatrix.files.tables import read_table, same_features

    stored = read_model(path)
    known = getattr(stored.model, "feature_names_in_", None)
    words, text = (stored.notes.get(kind, []) for kind in ("words", "text"))
    not_features = [] if known is None else [name for name in keep if name not in known]
    if reading.text:
        raise ValueError("the model knows which columns are text: leave out --text")
    reading = replace(
        reading,
        target=reading.target or stored.notes.get("target"),
        labelled=None if reading.labels is None else True,
        words=[*words, *text, *not_features],
    )
    table = read_table(data, reading, keep=keep)
    names = _positional_names(path, stored.model, table.X) if known is None else known
    takes_gaps = decides_early(stored.model)
    X = _add_missing_columns(console, table.X, names) if takes_gaps else table.X
    X = same_features(X, names, [*words, *text])
    X = X.assign(**{name: X[name].fillna("") for name in text})
    check_features(
        X,
        text=text,
        categorical="onehot" if words else "refuse",
        missing="keep" if takes_gaps else stored.notes.get("missing", "refuse"),
        remedies=PREDICT,
    )
    note_skipped(console, table)
    note_unknown_columns(console, table.X.columns, [*X.columns, *keep])
    _note_unknown_values(console, stored.model, X, table)
    return stored, table._replace(X=X.to_numpy() if known is None else X)


def _positional_names(path: str, model: Any, X: Any) -> Any:
    """All columns of a table, for a model that was fitted to an array without names."""
    from separatrix.files.lines import check_header

    n_features = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != n_features:
        raise ValueError(
            f"{path} knows {n_features} features without names, but the table has {X.shape[1]}: "
            "leave out columns that are no features (--ignore)"
        )
    check_header(X.columns, None)
    return X.columns


def decides_early(model: Any) -> bool:
    """Whether a model decides on incomplete rows."""
    return hasattr(model, "decide_early")


def _add_missing_columns(console: Console, X: Any, names: Iterable[str]) -> Any:
    """Rows with gaps in the columns of the model that are still to come."""
    absent = [name for name in names if name not in X.columns]
    if absent and len(absent) < len(list(names)):
        console.note(
            f"{len(absent)} columns of the model are not there yet, from {absent[0]!r} on"
        )
        return X.reindex(columns=[*X.columns, *absent])
    return X


def note_unknown_columns(console: Console, columns: Iterable[str], known: Iterable[str]) -> None:
    """Name the columns of a table that the model does not have."""
    known = set(known)
    others = [name for name in columns if name not in known]
    if others:
        n_more = len(others) - MAX_NAMED_COLUMNS
        more = f" and {n_more} more" if n_more > 0 else ""
        named = ", ".join(others[:MAX_NAMED_COLUMNS])
        console.note(f"Not in the model, so left out: {named}{more}")


def _note_unknown_values(console: Console, model: Any, X: Any, table: Any) -> None:
    """Name values of text that the model does not know, and why labels are not compared."""
    if any(kind != "float64" for kind in X.dtypes):
        from separatrix.files.preparation import unseen_values

        for name, values in unseen_values(model, X).items():
            console.note(
                f"{len(values)} of {len(X)} values of {name!r} are unknown to the model, such as "
                f"{values.iloc[0]!r}: they count as none of those it knows"
            )
    if table.unlabelled:
        console.note(f"Labels are not compared: {table.unlabelled}")
