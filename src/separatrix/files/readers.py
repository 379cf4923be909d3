"""Files of several formats as data frames: every value under the name that the file gives it."""

from __future__ import annotations

import difflib
import gzip
import io
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from separatrix.files.bundled import BUNDLED, load_bundled
from separatrix.files.databases import read_database
from separatrix.files.epochs import flatten_epochs, read_mne_epochs
from separatrix.files.fasta import is_protein_source, read_protein_columns
from separatrix.files.mails import FILE, TEXT, is_mail_source, read_mail_columns
from separatrix.moments.sql import is_address

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".arff": "arff",
    ".xlsx": "excel",
    ".xls": "excel",
    ".fif": "fif",
    ".h5ad": "h5ad",
}
"""Formats by the ending of a file; it may also be packed, as ``.csv.gz``."""

SEPARATORS = {"csv": ",", "tsv": "\t"}

OTHER_SEPARATORS = {";": "--sep ';'", "\t": "--format tsv", "|": "--sep '|'"}
"""Other separators of values, and the options that name them."""

_NONE = ["", "None", "NULL", "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
_NOT_A = ["NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan"]
GAPS = frozenset((*_NONE, *_NOT_A))
"""Words for a missing value in text."""

DAMAGE_ERRORS = (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, re.error)
"""Errors of readers on content that was cut off or altered."""

TargetOf = Callable[[Sequence[str]], str | None]
"""The column of labels by the names of all columns."""


def read_frame(
    source: Any,
    target_of: TargetOf,
    *,
    form: str | None = None,
    sep: str | None = None,
    header: bool = True,
    words: Sequence[str] = (),
    decimal: str = ".",
    thousands: str | None = None,
    transposed: bool = False,
    skip_bad: bool = False,
) -> Any:
    """A data frame from a file, a bundled data set or standard input; see `tables.read_table`.

    In text the column of labels, and those of `words`, are left as they are written. What counts
    as a gap among labels is in ``frame.attrs["gaps"]``; columns that are no features by their
    origin in ``frame.attrs["ids"]``, items that were left out in ``frame.attrs["skipped"]``.
    """
    if is_address(source):
        return read_database(source)
    if form is None and is_protein_source(source):
        return _from_items(*read_protein_columns(source, skip_bad=skip_bad), "name")
    if form is None and is_mail_source(source):
        frame = _from_items(*read_mail_columns(source, skip_bad=skip_bad), FILE)
        frame.attrs["text"] = [TEXT]
        return frame
    if isinstance(source, str | Path) and str(source) != "-" and not Path(source).exists():
        return _bundled(str(source))
    form = form or ("csv" if str(source) == "-" else find_format(source))
    name = find_source_name(source)
    try:
        with open_bytes(source) as file:
            if form in SEPARATORS:
                style = LineStyle(sep or SEPARATORS[form], decimal, thousands)
                content = transpose_lines(file, style.sep) if transposed else file
                return _from_text(content, name, target_of, style, header, words)
            return _BINARY[form](io.BytesIO(file.read()), name)
    except UnicodeError:
        raise ValueError(f"{name} {NOT_UTF8}") from None
    except DAMAGE_ERRORS as error:
        raise ValueError(f"{name} is damaged, or not a {form} file: {error}") from None


def find_format(source: Any) -> str:
    """The format of a file by its name; csv where it has none."""
    name = getattr(source, "name", source)
    if not isinstance(name, str | Path):
        return "csv"
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{path} could be anything: name it by its format, one of {', '.join(SUFFIXES)}, or "
            "say the format (--format)"
        )
    return SUFFIXES[suffix.lower()]


def find_source_name(source: Any) -> str:
    """The name of a source in messages."""
    if str(source) == "-":
        return "standard input"
    return str(source if isinstance(source, str | Path) else getattr(source, "name", "the table"))


@contextmanager
def open_bytes(source: Any) -> Iterator[Any]:
    """Bytes of a file, packed or not, of standard input, or of a file that is open."""
    if str(source) == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: name a file")
        yield sys.stdin.buffer
    elif isinstance(source, str | Path):
        with gzip.open(source) if str(source).endswith(".gz") else open(source, "rb") as file:
            yield file
    else:
        yield source


# Text ----------------------------------------------------------------------------------------

NOT_UTF8 = (
    "is not text in UTF-8: save it in that encoding, or change it by `iconv -f UTF-16 -t UTF-8 "
    "old > new` (-f LATIN1 for text from older programs)"
)


class LineStyle(NamedTuple):
    """How lines are written: between values, before fractions, between thousands."""

    sep: str = ","
    decimal: str = "."
    thousands: str | None = None

    def check(self) -> None:
        """Raise when one character means two things."""
        if self.decimal == self.thousands:
            raise ValueError(f"--decimal and --thousands are both {self.decimal!r}: choose two")


def transpose_lines(file: Any, sep: str) -> BinaryIO:
    """Lines of a file as its columns: a table that has its samples in columns, turned."""
    table = _csv(file, LineStyle(sep), dtype=str, na_filter=False)
    return io.BytesIO(table.T.to_csv(sep=sep, header=False, index=False).encode())


def _from_text(
    file: Any,
    source: str,
    target_of: TargetOf,
    style: LineStyle,
    header: bool,
    words: Sequence[str],
) -> Any:
    style.check()
    sep = style.sep
    if not header and not file.seekable():
        file = io.BytesIO(file.read())
    try:
        names = read_column_names(file, sep)
        if not header:
            names = [f"x{i}" for i in range(len(names))]
            file.seek(0)
        target, start = target_of(names), file.tell() if file.seekable() else None
        frame = parse_lines(file, names, target, style, words, lines_before=int(header))
        if start is not None and target in names and frame[names[-1]].isna().any():
            file.seek(start)
            check_line_lengths(file, len(names), sep, lines_before=int(header))
        return frame
    except UnicodeError:
        raise
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def check_line_lengths(file: Any, n_names: int, sep: str, *, lines_before: int) -> None:
    """Raise for a line with fewer values than names: which is missing is not known.

    Lines after a quoted value are not looked at.
    """
    between = sep.encode()
    for i, line in enumerate(file, start=1 + lines_before):
        if b'"' in line or len(between) > 1:
            return
        n_values = line.count(between) + 1
        if line.strip() and n_values < n_names:
            raise ValueError(
                f"line {i} has {count_values(n_values)}, but there are {n_names} names: put a "
                "separator for each value that is missing"
            )


def count_values(n_values: int) -> str:
    """A number of values."""
    return "1 value" if n_values == 1 else f"{n_values} values"


def read_column_names(file: Any, sep: str) -> list[str]:
    """The first line that is not blank, as names."""
    line = b""
    for line in iter(lambda: take_lines(file, 1), b""):
        if line.strip():
            break
    if not line.strip():
        raise ValueError("it is empty: a line with the names of the columns is needed")
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnicodeError
    first = io.BytesIO(line.removeprefix(b"\xef\xbb\xbf"))
    row = _csv(first, LineStyle(sep), dtype=str, na_filter=False)
    other = next((mark for mark in OTHER_SEPARATORS if mark in str(row.iloc[0, 0])), None)
    if row.shape[1] == 1 and other is not None:
        raise ValueError(
            f"the first line is one name, {str(row.iloc[0, 0])!r}: is it separated by {other!r}? "
            f"Give {OTHER_SEPARATORS[other]}"
        )
    return [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(row.iloc[0])]


def take_lines(file: Any, n_lines: int) -> bytes:
    """So many lines, and more while a quoted value goes on."""
    lines = list(islice(file, n_lines))
    while sum(line.count(b'"') for line in lines) % 2 and (line := file.readline()):
        lines.append(line)
    return b"".join(lines)


def parse_lines(
    file: BinaryIO,
    names: Sequence[str],
    target: str | None,
    style: LineStyle,
    words: Sequence[str] = (),
    *,
    lines_before: int = 0,
) -> Any:
    """The lines of a file as a data frame with these columns."""
    pd = import_pandas()
    check_unique_names(names)
    # labels are read as they are written: a word such as NA among them is found and named below
    as_text = {i: str for i, name in enumerate(names) if name == target or name in words}
    gaps = {i: GAPS for i, name in enumerate(names) if name != target}
    try:
        frame = _csv(file, style, dtype=as_text, na_values=gaps, keep_default_na=False)
    except pd.errors.EmptyDataError:
        return pd.DataFrame(columns=list(names), dtype=np.float64)
    except (IndexError, pd.errors.ParserError) as error:
        raise ValueError(_unlike(error, names, lines_before)) from None
    if frame.shape[1] != len(names):
        other = "" if len(names) > 1 else ". If something else is between values, give it (--sep)"
        raise ValueError(
            f"lines have {frame.shape[1]} values, but there are {len(names)} names: give each "
            f"column a name, also that of row names, and end no line with a separator{other}"
        )
    frame.columns = list(names)
    if target in names:
        strip_labels(frame, target)
    return frame


def strip_labels(frame: Any, target: str | None) -> None:
    """Take spaces off labels that are text, and find words among them that mean a gap."""
    labels = frame[target].astype(object).str.strip()
    missing = labels.isna() | labels.isin(GAPS)
    frame.attrs["gaps"] = labels[missing].value_counts().to_dict()
    frame[target] = labels.where(~missing)


def _csv(file: Any, style: LineStyle, **how: Any) -> Any:
    # parsed as a whole: in parts the same text may be a number here and a word there
    quick = len(style.sep) == 1 or style.sep == r"\s+"
    engine: dict[str, Any] = {"low_memory": False} if quick else {"engine": "python"}
    return import_pandas().read_csv(file, header=None, **style._asdict(), **engine, **how)


def _unlike(error: Exception, names: Sequence[str], lines_before: int) -> str:
    """The fault of lines that are not all alike, for a message."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if isinstance(error, IndexError) or found is None:
        return f"its lines are no table of {len(names)} columns: {error}"
    expected, line, seen = (int(number) for number in found.groups())
    return f"line {line + lines_before} has {seen} values, but those before have {expected}"


NUMBERS_FIRST = "The first line has numbers in place of names"
NO_NAMES = f"{NUMBERS_FIRST}: give the columns names, or say that there are none (--no-header)"


def check_unique_names(names: Iterable[Any]) -> None:
    """Raise when two columns have the same name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(map(str, names), start=1):
        if name in seen:
            hint = f". {NO_NAMES}" if is_number(name) else ""
            raise ValueError(
                f"two columns, number {seen[name]} and number {place}, are called {name!r}: give "
                f"them names of their own{hint}"
            )
        seen[name] = place


def is_number(text: Any) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# Other formats -------------------------------------------------------------------------------


def _bundled(name: str) -> Any:
    if name not in BUNDLED:
        near = difflib.get_close_matches(name, BUNDLED, 1)
        raise FileNotFoundError(
            f"there is no file {name}, nor a bundled data set of that name"
            + (f": did you mean {near[0]}?" if near else f": these are {', '.join(BUNDLED)}")
        )
    bunch = load_bundled(name)
    frame = import_pandas().DataFrame(bunch.data, columns=list(bunch.feature_names))
    frame["target"] = bunch.target
    return frame


def _from_npz(file: Any, name: str) -> Any:
    start = file.read(6)
    file.seek(0)
    if start == b"\x93NUMPY":
        raise ValueError(
            f"{name} holds one array without a name: write numpy.savez({name!r}, X=X, y=y)"
        )
    if not start.startswith(b"PK"):
        raise ValueError(f"{name} is not an npz file: say what it is (--format), or rename it")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except Exception as error:  # whatever NumPy's reader meets in bytes that are something else
        raise ValueError(f"{name} is not an npz file of plain arrays: {error}") from None
    found = {name: array for name, array in found.items() if isinstance(array, np.ndarray)}
    return _from_arrays(found, name)


def _from_arrays(found: dict[str, Any], name: str) -> Any:
    """A data frame from arrays by name."""
    rows = found.get("X", found.get("data"))
    if "signal" in found and rows is None:
        raise ValueError(f"{name} is a recording: cut it first, by `separatrix epochs {name}`")
    if rows is not None and rows.ndim == 3:
        rows, columns = flatten_epochs(name, {**found, "X": rows})
        found = {**found, "feature_names": np.array(columns)}
    if rows is None or rows.ndim != 2:
        raise ValueError(
            f"{name} needs an array X or data of two axes, or of three for channels × times: it "
            f"has {', '.join(found) or 'no arrays'}"
        )
    names = found.get("feature_names", np.array([f"x{i}" for i in range(rows.shape[1])]))
    if names.shape != (rows.shape[1],):
        raise ValueError(f"{name} has {names.size} feature_names for {rows.shape[1]} features")
    frame = import_pandas().DataFrame(rows, columns=list(names))
    label = next((key for key in ("y", "target") if key in found), None)
    if label is not None:
        if found[label].shape != (len(rows),):
            raise ValueError(f"{name}: {label} must have one label for each of {len(rows)} rows")
        check_unique_names([*names, label])
        frame[label] = found[label]
    return frame


def _from_npy(file: Any, name: str) -> Any:
    """Rows without names and labels."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers as Python 2 wrote them
            rows = np.load(file, allow_pickle=False)
    except Exception as error:  # whatever NumPy's reader meets in bytes that are something else
        raise ValueError(f"{name} is not an npy file of plain numbers: {error}") from None
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"{name} is not an npy file of plain numbers: it holds {rows.dtype}")
    if rows.ndim != 2:
        raise ValueError(f"{name} needs rows and columns: its array has the shape {rows.shape}")
    return import_pandas().DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


def _from_arff(file: Any, name: str) -> Any:
    from scipy.io import arff

    text = file.read().decode()
    try:
        values, about = arff.loadarff(io.StringIO(text))
    except Exception as error:  # whatever its reader meets in a file that is something else
        raise ValueError(f"{name} is not an arff file that can be read: {error}") from None
    frame = import_pandas().DataFrame(values)
    for column, kind in zip(about.names(), about.types(), strict=True):
        if kind == "nominal":
            words = frame[column].str.decode("utf-8")
            frame[column] = words.where(words != "?")
    return frame


def _from_parquet(file: Any, name: str) -> Any:
    try:
        return import_pandas().read_parquet(file)
    except ImportError:
        raise ImportError(NO_PARQUET) from None
    except Exception as error:  # Arrow's errors are of many kinds
        raise ValueError(f"{name} is not a parquet file that can be read: {error}") from None


NO_PARQUET = "parquet files need pyarrow: pip install 'separatrix[parquet]'"


def _from_excel(file: Any, name: str) -> Any:
    try:
        frame = import_pandas().read_excel(file)
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install 'separatrix[excel]'") from None
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{name} is not an Excel file: {error}") from None
    for column in frame.columns:
        if frame[column].map(lambda value: isinstance(value, str)).any():
            frame[column] = frame[column].map(_strip_text)
    return frame


def _strip_text(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _from_items(columns: dict[str, Any], skipped: list[str], name: str) -> Any:
    """A data frame of items that are no rows of a file; `name` is the column of their names."""
    frame = import_pandas().DataFrame(columns)
    frame.attrs.update(ids=[name], skipped=skipped)
    return frame


def _from_fif(file: Any, name: str) -> Any:
    return _from_arrays(read_mne_epochs(name), name)


def _from_h5ad(file: Any, name: str) -> Any:
    """Expression by gene, then what is known of each cell, which is no feature."""
    try:
        import anndata
    except ImportError:
        raise ImportError("h5ad files are read with anndata: pip install anndata") from None
    cells = anndata.read_h5ad(name)
    rows = cells.X.toarray() if hasattr(cells.X, "toarray") else np.asarray(cells.X)
    frame = import_pandas().DataFrame(rows, columns=[str(gene) for gene in cells.var_names])
    known = cells.obs.reset_index(drop=True)
    check_unique_names([*frame.columns, *known.columns])
    for column in known.columns:
        frame[column] = known[column].astype(object)
    frame.attrs["ids"] = list(known.columns)
    return frame


_BINARY = {
    "fif": _from_fif,
    "h5ad": _from_h5ad,
    "npz": _from_npz,
    "npy": _from_npy,
    "arff": _from_arff,
    "parquet": _from_parquet,
    "excel": _from_excel,
}


def import_pandas() -> Any:
    """The package pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tables are read with pandas: pip install 'separatrix[app]'") from None
    return pandas
