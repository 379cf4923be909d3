"""What other files say of the rows of a table: a sheet of samples, or a file of labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.files.formats import FORMAT_READERS, find_format, open_array
from separatrix.files.lines import OTHER_SEPARATORS, SEPARATORS, import_pandas
from separatrix.files.reading import Reading

LABELS = "y"
"""The column of labels that come from a file of their own, as in an npz file."""

MAX_ROWS_NAMED = 5
"""Rows that a message names, at most."""


def read_samples(path: str) -> Any:
    """A sheet with a line for each sample, as text; its separator is that of its first line."""
    form = find_format(path)
    if form not in SEPARATORS:
        if form not in ("excel", "parquet"):
            raise ValueError(f"{path} is no sheet of samples: give csv, tsv, Excel or parquet")
        with open(path, "rb") as file:
            sheet = FORMAT_READERS[form](file, path)
            return sheet.set_axis([str(name) for name in sheet.columns], axis=1)
    content = Path(path).read_bytes()
    first = content.partition(b"\n")[0].decode("utf-8", "replace")
    sep = max([SEPARATORS[form], *OTHER_SEPARATORS], key=first.count)
    pd = import_pandas()
    try:
        sheet = pd.read_csv(path, sep=sep, dtype=str, skipinitialspace=True)
    except (UnicodeError, ValueError) as error:
        raise ValueError(f"{path} is no sheet of samples that can be read: {error}") from None
    return sheet.apply(lambda column: column.str.strip())


def join_samples(frame: Any, sheet: Any, reading: Reading) -> Any:
    """Rows with the columns of the sheet, which are no features.

    The names of the rows are in the first column of ``--id``, in the column that is no feature by
    its origin, or in the one that both tables have.
    """
    attrs = {**frame.attrs}
    frame = frame.reset_index(drop=True)
    key = _find_key(frame, attrs.get("ids", ()), sheet, reading)
    names = frame[key].astype(str).str.strip()
    columns = [key] if key in sheet.columns else [
        column for column in sheet.columns if names.isin(sheet[column].astype(str)).any()
    ]  # fmt: skip
    if len(columns) != 1:
        names_of_columns = " and ".join(map(repr, columns)) or "no column"
        raise ValueError(
            f"{reading.samples} has {names_of_columns} with the names in {key!r}, such as "
            f"{names.iloc[0]!r}: call the column of names {key!r} there"
        )
    lines = sheet.assign(**{columns[0]: sheet[columns[0]].astype(str)}).set_index(columns[0])
    lines = lines[lines.index.isin(set(names))]
    twice = lines.index[lines.index.duplicated()]
    if len(twice):
        raise ValueError(f"{reading.samples} has two lines for {twice[0]!r}: leave one of them")
    missing = ~names.isin(lines.index)
    if missing.any():
        absent = names[missing].tolist()
        if not reading.skip_bad or missing.all():
            shown = ", ".join(map(repr, absent[:MAX_ROWS_NAMED])) + " …" * (
                len(absent) > MAX_ROWS_NAMED
            )
            raise ValueError(
                f"{reading.samples} has no line for {len(absent)} of {len(names)} rows: {shown}. "
                "Add them, or leave these rows out (--skip-bad)"
            )
        frame, names = frame[~missing].reset_index(drop=True), names[~missing]
        attrs["skipped"] = [*attrs.get("skipped", ()), *absent]
    about = lines.loc[names].reset_index(drop=True)
    twin = [column for column in about.columns if column in frame.columns]
    if twin:
        raise ValueError(f"{reading.samples} and the table both have a column {twin[0]!r}: "
                         "rename one of them")  # fmt: skip
    joined = import_pandas().concat([frame, about], axis=1)
    ids = dict.fromkeys([*attrs.get("ids", ()), key, *about.columns])
    joined.attrs = {**attrs, "ids": list(ids)}
    return joined


def _find_key(frame: Any, ids: Sequence[str], sheet: Any, reading: Reading) -> str:
    """The column that names the rows of the table."""
    named = [*reading.ids, *ids]
    both = [column for column in frame.columns if column in sheet.columns]
    key = next((name for name in [*named, *both] if name in frame.columns), None)
    if key is None:
        raise ValueError(
            f"{reading.samples} is joined by the names of the rows: say which column has them "
            "(--id COL)"
        )
    return str(key)


def read_labels(path: str, n_rows: int, source: str) -> np.ndarray:
    """Labels as text, one for each row, from a file of NumPy or the last column of lines."""
    if Path(path).suffix == ".npy":
        labels = np.array(open_array(path))
        if labels.ndim != 1 or labels.dtype.kind not in "iubUS":
            raise ValueError(
                f"{path} holds {labels.dtype} of shape {labels.shape}: labels are one whole "
                "number or word for each row"
            )
        texts = labels.astype(str)
    else:
        sep = "\t" if Path(path).suffix in (".tsv", ".tab") else ","
        lines = Path(path).read_text("utf-8-sig").splitlines()
        texts = np.array([line.rpartition(sep)[2].strip().strip('"') for line in lines if line])
        texts = texts[1:] if len(texts) == n_rows + 1 else texts  # the first line has a name
    if len(texts) != n_rows:
        raise ValueError(f"{source} has {n_rows} rows, but {path} has {len(texts)} labels")
    return texts
