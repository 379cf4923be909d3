"""Files that are no lines of values as data frames: each under the names that it has."""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.files.epochs import flatten_epochs, read_mne_epochs
from separatrix.files.lines import check_unique_names, import_pandas

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".arff": "arff",
    ".ts": "ts",
    ".xlsx": "excel",
    ".xls": "excel",
    ".fif": "fif",
    ".h5ad": "h5ad",
    ".zarr": "zarr",
}
"""Formats by the ending of a file; it may also be packed, as ``.csv.gz``."""

FOLDER_FORMATS = ("parquet", "csv", "tsv")
"""Formats of the files that a folder or a pattern may hold."""

MAX_UNPACKED = 200
"""How many times larger than its file the content of an archive may be: text shrinks by 5 to 20,
and a bomb by 1000."""

NO_PARQUET = "parquet files need pyarrow: pip install 'separatrix[parquet]'"


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


def holds_tables(folder: Path) -> bool:
    """Whether a folder of files has tables among the first thousand of them."""
    if not folder.is_dir():
        return False
    seen = 0
    for place, _, names in os.walk(folder):
        if any(is_table_in(folder, Path(place, name)) for name in names):
            return True
        seen += len(names)
        if seen > 1000:
            break
    return False


def is_table_in(folder: Path, path: Path) -> bool:
    """Whether a file, below a folder and not hidden, has the ending of a table."""
    hidden = any(part[0] in "._" for part in path.relative_to(folder).parts)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return not hidden and suffix[1:].lower() in FOLDER_FORMATS


# Arrays --------------------------------------------------------------------------------------


def _from_npz(file: Any, name: str) -> Any:
    start = file.read(6)
    file.seek(0)
    if start == b"\x93NUMPY":
        raise ValueError(
            f"{name} holds one array without a name: write numpy.savez({name!r}, X=X, y=y)"
        )
    if not start.startswith(b"PK"):
        raise ValueError(f"{name} is not an npz file: give its format (--format), or rename it")
    check_archive(file, name)
    try:
        with np.load(file, allow_pickle=False) as arrays:
            content = {name: arrays[name] for name in arrays.files}
    except Exception as error:  # whatever NumPy's reader meets in bytes that are something else
        raise ValueError(f"{name} is not an npz file of plain arrays: {error}") from None
    return frame_from_arrays(
        {name: array for name, array in content.items() if isinstance(array, np.ndarray)}, name
    )


def check_archive(file: Any, name: str) -> None:
    """Raise for a zip archive whose content is out of all proportion to its size."""
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    packed = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size > MAX_UNPACKED * packed + (1 << 24):
        raise ValueError(
            f"{name} would unpack to {size / packed:.0f} times its size, as files do that are "
            "made to fill a memory: unpack it first, if it is sound"
        )


NO_COLUMNS = ("channels", "times", "feature_names", "X", "data")
"""Arrays of an npz file that say nothing of single rows."""


def frame_from_arrays(arrays: dict[str, Any], name: str) -> Any:
    """A data frame from arrays by name: rows, labels, and what else is known of each row.

    An array of one axis with a value for each row is a column that is no feature, such as the
    subject of an epoch.
    """
    rows = arrays.get("X", arrays.get("data"))
    if "signal" in arrays and rows is None:
        raise ValueError(f"{name} is a recording: cut it first, by `separatrix epochs {name}`")
    if rows is not None and rows.ndim == 3:
        rows, columns = flatten_epochs(name, {**arrays, "X": rows})
        arrays = {**arrays, "feature_names": np.array(columns)}
    if rows is None or rows.ndim != 2:
        raise ValueError(
            f"{name} needs an array X or data of two axes, or of three for channels × times: it "
            f"has {', '.join(arrays) or 'no arrays'}"
        )
    names = arrays.get("feature_names", np.array([f"x{i}" for i in range(rows.shape[1])]))
    if names.shape != (rows.shape[1],):
        raise ValueError(f"{name} has {names.size} feature_names for {rows.shape[1]} features")
    label = next((key for key in ("y", "target") if key in arrays), None)
    if label is not None and arrays[label].shape != (len(rows),):
        raise ValueError(f"{name}: {label} must have one label for each of {len(rows)} rows")
    about = [
        key
        for key, array in arrays.items()
        if key not in (*NO_COLUMNS, label) and array.shape == (len(rows),)
    ]
    frame = import_pandas().DataFrame(rows, columns=list(names))
    check_unique_names([*names, *about, *filter(None, [label])])
    for key in [*about, *filter(None, [label])]:
        frame[key] = arrays[key]
    frame.attrs["ids"] = about
    return frame


def open_array(path: str) -> Any:
    """The array of an npy file, mapped and not read."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers as Python 2 wrote them
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # whatever NumPy's reader meets in bytes that are something else
        raise ValueError(
            f"{path} is no array of numbers or text in the format of NumPy: {error}"
        ) from None


def frame_from_rows(rows: Any, name: str) -> Any:
    """Rows without names as a data frame; half precision becomes single."""
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds {rows.dtype} of shape {rows.shape}: rows are a table of numbers, with "
            "one row for each sample"
        )
    if rows.dtype == np.float16:
        rows = rows.astype(np.float32)
    return import_pandas().DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


def _from_npy(file: Any, name: str) -> Any:
    try:
        rows = np.load(file, allow_pickle=False)
    except Exception as error:  # whatever NumPy's reader meets in bytes that are something else
        raise ValueError(
            f"{name} is no array of numbers or text in the format of NumPy: {error}"
        ) from None
    return frame_from_rows(rows, name)


# Tables of other programs ----------------------------------------------------------------------


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
        return import_pandas().read_parquet(file).reset_index(drop=True)
    except ImportError:
        raise ImportError(NO_PARQUET) from None
    except Exception as error:  # Arrow's errors are of many kinds
        raise ValueError(f"{name} is not a parquet file that can be read: {error}") from None


def _from_excel(file: Any, name: str) -> Any:
    pd = import_pandas()
    try:
        if file.read(2) == b"PK":
            check_archive(file, name)
        file.seek(0)
        frame = pd.read_excel(file)
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install 'separatrix[excel]'") from None
    except Exception as error:  # whatever its reader meets in a file that is something else
        raise ValueError(f"{name} is not an Excel file that can be read: {error}") from None
    if frame.isna().any(axis=None):
        _check_formulas(file, name)
    for column in frame.columns:
        if frame[column].map(lambda value: isinstance(value, str)).any():
            frame[column] = frame[column].map(_strip_text)
    return frame


def _check_formulas(file: Any, name: str) -> None:
    """Raise for a formula whose value no program has computed: it would be read as a gap."""
    file.seek(0)
    if file.read(2) != b"PK":
        return
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    file.seek(0)
    values = load_workbook(file, data_only=True, read_only=True).worksheets[0]
    file.seek(0)
    formulas = load_workbook(file, read_only=True).worksheets[0]
    for row, written in zip(values.iter_rows(), formulas.iter_rows(), strict=False):
        for cell, formula in zip(row, written, strict=False):
            if cell.value is None and formula.data_type == "f":
                raise ValueError(
                    f"{name}: cell {formula.coordinate} has a formula without a value. Open the "
                    "file in a program for spreadsheets, and save it there"
                )


def _strip_text(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _from_ts(file: Any, name: str) -> Any:
    """Series of the UCR and UEA archives: values after commas, dimensions and label after colons.

    Columns are named as those of epochs, ``channel@time``; shorter series end in gaps.
    """
    dimensions, labels = read_ts(file.read().decode(), name)
    columns = {}
    for d in range(dimensions.shape[1]):
        for t in range(dimensions.shape[2]):
            place = f"t{t}" if dimensions.shape[1] == 1 else f"c{d}@{t}"
            columns[place] = dimensions[:, d, t]
    return import_pandas().DataFrame({**columns, "label": labels})


def read_ts(text: str, name: str) -> tuple[np.ndarray, list[str]]:
    """Values (n_series, n_dimensions, n_times) and labels of a ``.ts`` file."""
    rows, labels = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip()[0] in "#@%":
            continue
        *parts, label = line.strip().split(":")
        try:
            rows.append([
                np.array([np.nan if v.strip() in ("?", "NaN", "nan") else float(v)
                          for v in part.split(",")])
                for part in parts
            ])  # fmt: skip
        except ValueError:
            raise ValueError(
                f"{name}: line {number} has values that are no numbers; time stamps are not read"
            ) from None
        labels.append(label)
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{name} has no series, or series of different numbers of dimensions")
    length = max(len(series) for row in rows for series in row)
    values = np.full((len(rows), len(rows[0]), length), np.nan)
    for i, row in enumerate(rows):
        for d, series in enumerate(row):
            values[i, d, : len(series)] = series
    return values, labels


def _from_fif(file: Any, name: str) -> Any:
    arrays, about = read_mne_epochs(name)
    frame = frame_from_arrays(arrays, name)
    if about is not None:
        check_unique_names([*frame.columns, *about.columns])
        for column in about.columns:
            frame.insert(frame.shape[1] - 1, column, about[column].to_numpy())
        frame.attrs["ids"] = [*frame.attrs["ids"], *about.columns]
    return frame


def _from_h5ad(file: Any, name: str) -> Any:
    """Expression by gene, then annotations of each cell, which are no features."""
    try:
        import anndata
    except ImportError:
        raise ImportError("h5ad files are read with anndata: pip install anndata") from None
    cells = anndata.read_h5ad(name)
    rows = cells.X.toarray() if hasattr(cells.X, "toarray") else np.asarray(cells.X)
    frame = import_pandas().DataFrame(rows, columns=[str(gene) for gene in cells.var_names])
    about = cells.obs.reset_index(drop=True)
    check_unique_names([*frame.columns, *about.columns])
    for column in about.columns:
        frame[column] = about[column].astype(object)
    frame.attrs["ids"] = list(about.columns)
    return frame


FORMAT_READERS: dict[str, Callable[[Any, str], Any]] = {
    "arff": _from_arff,
    "excel": _from_excel,
    "fif": _from_fif,
    "h5ad": _from_h5ad,
    "npy": _from_npy,
    "npz": _from_npz,
    "parquet": _from_parquet,
    "ts": _from_ts,
}
"""What reads an open file of each format into a data frame."""
