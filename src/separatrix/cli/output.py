"""How commands write tables, to files or standard output, and checks before any work."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from separatrix.cli.console import Console

TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".npz")
"""Endings of the tables that commands write; text also packed, as ``.csv.gz``."""

TRIED_BYTES = 1_000_000
"""Bytes that are written before any work, to see whether there is room for a report."""


def check_outputs(
    outputs: Sequence[str | None], *, inputs: Sequence[str | None] = (), tables: bool = False
) -> None:
    """Raise before any work when an output cannot be written, or is in use by the command.

    Parameters
    ----------
    outputs, inputs : sequences of str or None
        Files that a command writes and reads; None for those that were not asked for.
    tables : bool
        Whether the first output is a table, whose name must say its format.
    """
    named = [output for output in outputs if output is not None]
    if tables and outputs[0] is not None:
        find_table_format(outputs[0])
    for i, output in enumerate(named):
        _check_writable(output)
        if any(is_same_file(output, given) for given in inputs if given is not None):
            raise ValueError(
                f"{output} is read by this command: choose another name for the output"
            )
        if any(is_same_file(output, other) for other in named[:i]):
            raise ValueError(f"{output} is to be written twice: choose two names")


def is_same_file(a: str, b: str) -> bool:
    """Whether two names mean one file, which need not be there."""
    if Path(a).exists() and Path(b).exists():
        return Path(a).samefile(b)
    return os.path.realpath(a) == os.path.realpath(b)


def _check_writable(output: str) -> None:
    if output == "-":
        raise ValueError("- is no file, and results cannot be written there: give a name")
    path = Path(output)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ValueError(f"{output} cannot be written: there is no folder {folder}")
    if path.is_dir():
        raise ValueError(f"{output} cannot be written: it is a folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{output} cannot be written: it is not permitted")
    if not path.exists() or path.is_file():
        _try_to_write(output, folder)


def _try_to_write(output: str, folder: Path) -> None:
    """Write to the folder and delete that again: only this shows that a disk is full."""
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".separatrix-") as file:
            file.write(bytes(TRIED_BYTES))
            file.flush()
    except OSError as error:
        raise ValueError(f"{output} cannot be written: {error.strerror or error}") from None


def find_table_format(output: str) -> str:
    """The format in which a table is written, by the name of its file."""
    from separatrix.files.formats import NO_PARQUET, SUFFIXES
    from separatrix.files.lines import SEPARATORS

    path = Path(output)
    packed = path.suffix == ".gz"
    suffix = (Path(path.stem) if packed else path).suffix.lower()
    form = SUFFIXES.get(suffix, "")
    if suffix not in TABLE_SUFFIXES or (packed and form not in SEPARATORS):
        raise ValueError(
            f"{output} does not name a format that is written: end it with one of "
            f"{', '.join(TABLE_SUFFIXES)}"
        )
    if form == "parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ImportError(NO_PARQUET) from None
    return form


def build_frame(kept: Any, result: Mapping[str, Any]) -> Any:
    """A table of the columns that were kept and those of the result."""
    import pandas as pd

    frame = pd.DataFrame(dict(result))
    if kept is None:
        return frame
    twice = [name for name in kept.columns if name in result]
    if twice:
        raise ValueError(
            f"column {twice[0]!r} cannot be kept with the result, which has one of that name: "
            "rename it"
        )
    return pd.concat([kept.reset_index(drop=True), frame], axis=1)


def write_rows(
    console: Console,
    kept: Any,
    result: Mapping[str, Any],
    output: str | None,
    record: dict[str, Any],
    *,
    raw: bool = False,
) -> None:
    """Write rows to a file, or print them; `raw` text is not made safe for spreadsheets."""
    frame = build_frame(kept, result)
    if output is not None:
        write_frame(frame, output, raw=raw)
        console.done({**record, "output": output}, f"{len(frame)} rows: {output}")
    elif console.as_json:
        console.result(
            {**record, "columns": {k: list_plain_values(v) for k, v in frame.items()}}, ""
        )
    else:
        safe = frame if raw else quote_formulas(frame)
        console.text(safe.to_csv(index=False, lineterminator="\n"))


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""How text begins that a spreadsheet would run."""


def quote_formulas(frame: Any) -> Any:
    """The table with an apostrophe before text that a spreadsheet would run, names included.

    Examples
    --------
    >>> import pandas as pd
    >>> quote_formulas(pd.DataFrame({"a": ["=1+2", "-3", "x"]}))["a"].tolist()
    ["'=1+2", '-3', 'x']
    """
    from separatrix.files.lines import is_number

    def quoted(value: Any) -> Any:
        runs = isinstance(value, str) and len(value) > 1 and value.startswith(FORMULA_STARTS)
        return f"'{value}" if runs and not is_number(value) else value

    texts = {}
    for name in frame.columns[[kind.kind not in "biufcmM" for kind in frame.dtypes]]:
        known = {value: quoted(value) for value in frame[name].unique() if isinstance(value, str)}
        if any(value != safe for value, safe in known.items()):
            texts[name] = frame[name].map(lambda value, known=known: known.get(value, value))
    return frame.assign(**texts).rename(columns=quoted)


def list_plain_values(column: Any) -> list[Any]:
    """The values of a column as numbers, text and None."""
    values = column.astype(object).where(column.notna(), None).tolist()
    return [v if isinstance(v, int | float | str | None) else str(v) for v in values]


def write_frame(frame: Any, output: str, *, raw: bool = False) -> None:
    """Write a table in the format that the name of the file says.

    In csv and tsv text that a spreadsheet would run is quoted, unless it is to be `raw`.
    """
    from separatrix.files.lines import SEPARATORS
    from separatrix.files.whole import write_whole

    form = find_table_format(output)
    buffer = io.BytesIO()
    if form == "parquet":
        frame.to_parquet(buffer, index=False)
    elif form == "npz":
        _write_arrays(buffer, frame)
    else:
        safe = frame if raw else quote_formulas(frame)
        text = safe.to_csv(index=False, sep=SEPARATORS[form], lineterminator="\n").encode()
        buffer.write(gzip.compress(text) if output.endswith(".gz") else text)
    write_whole(output, buffer.getvalue())


def _write_arrays(buffer: Any, frame: Any) -> None:
    """Columns as arrays by name, whatever the names: numpy.savez has arguments of its own."""
    import numpy as np

    with zipfile.ZipFile(buffer, "w") as archive:
        for name, column in frame.items():
            array = np.asarray(column)
            if array.dtype.kind not in "biuf":
                array = np.array(["" if v is None else str(v) for v in list_plain_values(column)])
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
