"""Tables larger than memory: the parts of a source as Dask collections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.chunks import (
    BLOCK_BYTES,
    SourcePart,
    check_same_columns,
    list_parts,
    read_part,
)
from separatrix.files.columns import MAX_COLUMNS_NAMED, find_slip, find_text_columns
from separatrix.files.lines import SEPARATORS, check_header
from separatrix.files.reading import Reading
from separatrix.files.samples import LABELS, join_samples, read_labels, read_samples
from separatrix.files.tables import (
    as_numbers,
    check_known_name,
    check_no_fractions,
    find_target,
    format_some_labels,
    make_table,
)
from separatrix.moments.blocks import name_place_in_errors
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import apply_to_blocks, labelled_blocks
from separatrix.moments.labelled import LabelledRows

MAX_FRACTION_LABELS = 1000
"""Different labels of a block: more, if they are numbers with fractions, are no classes."""

N_JUDGED_ROWS = 1000
"""Rows of the first part by which the kinds of its columns are judged."""


class LazyTable(NamedTuple):
    """Rows that are not read yet.

    Attributes
    ----------
    X : Dask data frame or Dask array (n_samples, n_features)
    y : Dask series or Dask array (n_samples,)
        Labels as text.
    target : str
        Name of the column of labels.
    first : data frame
        The first rows, to see what their columns hold.
    """

    X: Any
    y: Any
    target: str
    first: Any = None


class _Columns(NamedTuple):
    """Requirements of every part, and the preparation of its columns."""

    reading: Reading
    place: str
    names: list[str]
    features: list[str]
    target: str
    sheet: Any
    fill: float | None


def open_table(
    source: Any,
    reading: Reading | None = None,
    *,
    fill: float | None = None,
    block_bytes: int = BLOCK_BYTES,
    **how: Any,
) -> LazyTable:
    """Features and labels of a source as Dask collections.

    Parameters
    ----------
    source, reading, **how
        As in `files.tables.read_table`. Lines, parquet, npy and zarr are read in parts; all other
        sources are one part.
    fill : float, optional
        Fills gaps in features.
    block_bytes : int
        About how large a part is.

    Returns
    -------
    LazyTable
    """
    import_dask()
    from dask import delayed
    from dask.dataframe import from_delayed

    reading = replace(reading or Reading(), **how)
    parts = list_parts(source, reading, block_bytes=block_bytes)
    sheet = None if reading.samples is None else read_samples(reading.samples)
    labels = _split_labels(parts, reading)
    first, begin = _first_rows(parts, reading, sheet, labels)
    target = str(find_target(begin, reading))
    check_known_name(target, begin.columns, "column")
    # labels of some blocks may be fractions, as names among others
    table = make_table(begin, replace(reading, target=target, labelled=None))
    words = find_text_columns(table.X)
    numbers = [name for name in words if not len(find_slip(table.X[name]))]
    if numbers:
        raise ValueError(
            f"{len(numbers)} of {table.X.shape[1]} columns are not numbers: "
            f"{', '.join(map(repr, numbers[:MAX_COLUMNS_NAMED]))}. Leave them out (--ignore)"
        )
    features = list(table.X.columns)
    if reading.header and reading.target is None:
        check_header(begin.columns, target, begin[target].astype(str))
    columns = _Columns(reading, first.name, list(begin.columns), features, target, sheet, fill)
    read = delayed(_read_rows)
    blocks = [
        read(part, columns, part_labels, number)
        for number, (part, part_labels) in enumerate(zip(parts, labels, strict=True))
    ]
    kinds = {**dict.fromkeys(features, np.float64), target: object}
    meta = begin[:0].reindex(columns=[*features, target]).astype(kinds)
    frame = from_delayed(blocks, meta=meta, verify_meta=False)
    return LazyTable(frame[features], frame[target], target, table.X)


def _split_labels(parts: list[SourcePart], reading: Reading) -> list[Any]:
    """The labels of each part of an npy file, where a file has them."""
    if reading.labels is None:
        return [None] * len(parts)
    if parts[-1].form != "npy":
        raise ValueError("--labels is read in parts for a .npy file only: leave out --engine")
    labels = read_labels(reading.labels, int(parts[-1].stop or 0), parts[0].name)
    return [labels[part.start : part.stop] for part in parts]


def _first_rows(
    parts: list[SourcePart], reading: Reading, sheet: Any, labels: list[Any]
) -> tuple[SourcePart, Any]:
    """The first part that has rows, and the first of them."""
    for part, part_labels in zip(parts, labels, strict=True):
        n_rows = N_JUDGED_ROWS if part.form in SEPARATORS else None
        frame = _join(read_part(part, reading, n_rows), part_labels, sheet, reading)
        if len(frame):
            rows = frame[:N_JUDGED_ROWS]
            rows.attrs = frame.attrs
            return part, rows
    names = ", ".join(dict.fromkeys(part.name for part in parts[:MAX_COLUMNS_NAMED]))
    raise ValueError(f"there are no rows in {names}")


def _join(frame: Any, labels: Any, sheet: Any, reading: Reading) -> Any:
    if labels is not None:
        frame = frame.assign(**{LABELS: labels[: len(frame)]})
    return frame if sheet is None or not len(frame) else join_samples(frame, sheet, reading)


def _read_rows(part: SourcePart, columns: _Columns, labels: Any, number: int) -> Any:
    """The rows of a part as numbers, and their labels as text."""
    import pandas as pd

    place = f"block {number} ({part.name})"
    frame = _join(read_part(part, columns.reading), labels, columns.sheet, columns.reading)
    if not len(frame):
        return pd.DataFrame({name: [] for name in columns.features}, dtype=np.float64).assign(
            **{columns.target: pd.Series(dtype=object)}
        )
    check_same_columns(part.name, list(frame.columns), columns.place, columns.names)
    with name_place_in_errors(place):
        X = as_numbers(frame[columns.features])
        for name in find_text_columns(X):
            slips = find_slip(X[name], share=1.0)
            if len(slips):
                raise ValueError(
                    f"column {name!r} has {str(slips.iloc[0])!r} among numbers: correct the file, "
                    "or leave the column out (--ignore)"
                )
        X = X.astype(np.float64)
        if columns.fill is not None:
            X = X.fillna(columns.fill)
        gaps = frame.attrs.get("gaps", {})
        texts = format_some_labels(frame[columns.target], columns.target, gaps)
        if len(distinct := np.unique(texts)) > MAX_FRACTION_LABELS:
            check_no_fractions(distinct, columns.target)
    return X.assign(**{columns.target: texts.astype(object)})


def from_npy(path: str | Path, *, block_bytes: int = BLOCK_BYTES) -> Any:
    """The array of an npy file as a Dask array whose blocks are read where they are needed.

    Parameters
    ----------
    path : path
        As `numpy.save` writes it, rows one after the other. All workers must see the file.
    block_bytes : int
        About how large a block of rows is.

    Returns
    -------
    Dask array

    Examples
    --------
    >>> import tempfile
    >>> from separatrix.files.dask_tables import from_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.arange(6.0).reshape(3, 2))
    ...     X = from_npy(f"{folder}/rows.npy", block_bytes=16)
    ...     X.numblocks, float(X.sum().compute())
    ((3, 1), 15.0)
    """
    from dask.array import map_blocks

    whole = np.load(path, mmap_mode="r", allow_pickle=False)
    if not whole.flags.c_contiguous or whole.ndim == 0:
        raise ValueError(f"{path} does not hold rows one after the other: save it in C order")
    row_bytes = whole.itemsize * int(np.prod(whole.shape[1:]))
    some = max(1, block_bytes // max(row_bytes, 1))
    n_rows = whole.shape[0]
    sizes = tuple(min(some, n_rows - start) for start in range(0, n_rows, some)) or (0,)
    return map_blocks(
        _rows_of_file,
        str(path),
        some,
        whole.offset,
        whole.dtype,
        whole.shape,
        chunks=(sizes, *((n,) for n in whole.shape[1:])),
        meta=np.empty((0,) * whole.ndim, whole.dtype),
    )


def _rows_of_file(
    path: str, some: int, offset: int, dtype: Any, shape: tuple[int, ...], block_id: Any = None
) -> np.ndarray:
    start = some * block_id[0]
    n_rows = min(some, shape[0] - start)
    width = int(np.prod(shape[1:]))
    begin = offset + start * width * dtype.itemsize
    values = np.fromfile(path, dtype, n_rows * width, offset=begin)
    return values.reshape(n_rows, *shape[1:])


# Scaling -------------------------------------------------------------------------------------


def scale_table(table: LazyTable) -> tuple[Any, LazyTable]:
    """A scaler that gives every feature mean zero and variance one, and the table after it.

    One pass over all rows. The scaler is the one that scikit-learn would fit to them in memory;
    the features of the table that is returned have no names, as after that.

    Parameters
    ----------
    table : LazyTable

    Returns
    -------
    scaler : StandardScaler
        Fitted.
    table : LazyTable
    """
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    total = labelled_blocks(table.X, table.y).sum_up(_moments_of_one_class, accept_sparse=False)
    check_no_fractions(total.classes, table.target)
    moments = total.summary
    scaler = StandardScaler()
    scaler.mean_, scaler.var_ = moments.mean, moments.within_diagonal() / moments.n_samples
    std = np.sqrt(scaler.var_)
    # a constant feature far from zero varies in its last digit: it is not divided by that
    scaler.scale_ = np.where(std <= 2 * np.finfo(float).eps * np.abs(scaler.mean_), 1.0, std)
    scaler.n_samples_seen_, scaler.n_features_in_ = np.int64(moments.n_samples), total.n_features
    if total.names is not None:
        scaler.feature_names_in_ = total.names
    nothing = np.empty((0, total.n_features))
    if hasattr(table.X, "columns"):
        unnamed = pd.DataFrame(nothing)
        return scaler, table._replace(X=table.X.map_partitions(_scaled, scaler, meta=unnamed))
    return scaler, table._replace(X=apply_to_blocks(table.X, scaler.transform, nothing))


def _moments_of_one_class(block: LabelledRows) -> ClassMoments:
    """Mean and scatter of a block, whatever its labels are."""
    codes = np.zeros(len(block.codes), dtype=np.intp)
    return ClassMoments.from_rows(block._replace(codes=codes, classes=np.zeros(1), weights=None))


def _scaled(part: Any, scaler: Any) -> Any:
    import pandas as pd

    rows = scaler.transform(part) if len(part) else part.to_numpy()
    return pd.DataFrame(rows, index=part.index)


def import_dask() -> Any:
    """Dask, or an error that says what to install."""
    try:
        import dask
        import dask.dataframe
    except ImportError:
        raise ImportError(
            "files larger than memory are read with Dask: pip install 'separatrix[dask,parquet]'"
        ) from None
    return dask
