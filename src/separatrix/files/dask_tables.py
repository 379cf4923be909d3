"""Tables larger than memory: files as Dask collections, read block by block where needed."""

from __future__ import annotations

import glob
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.columns import MAX_COLUMNS_NAMED
from separatrix.files.readers import (
    GAPS,
    NOT_UTF8,
    SEPARATORS,
    check_unique_names,
    find_format,
    open_bytes,
    read_column_names,
)
from separatrix.files.tables import (
    check_header,
    check_known_name,
    check_no_fractions,
    find_label_column,
    format_some_labels,
)
from separatrix.moments.blocks import name_place_in_errors
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import (
    apply_to_blocks,
    check_array_of_rows,
    join_feature_blocks,
    labelled_blocks,
)
from separatrix.moments.labelled import LabelledRows

BLOCK_BYTES = 1 << 26
"""Size of a block of rows, about (64 MB)."""

MAX_FRACTION_LABELS = 1000
"""Different labels of a block: more, if they are numbers with fractions, are no classes."""

BLOCK_FORMATS = ("parquet", "csv", "tsv")


class LazyTable(NamedTuple):
    """Rows that are not read yet.

    Attributes
    ----------
    X : Dask data frame or Dask array (n_samples, n_features)
    y : Dask series or Dask array (n_samples,)
        Labels as text.
    target : str
        Name of the column of labels, or of the array.
    """

    X: Any
    y: Any
    target: str


def open_table(
    source: str,
    *,
    target: str | None = None,
    ignore: tuple[str, ...] = (),
    form: str | None = None,
    sep: str | None = None,
    header: bool = True,
) -> LazyTable:
    """Features and labels of files as Dask collections.

    Parameters
    ----------
    source : str
        A parquet, csv or tsv file; a directory of such files; a pattern such as ``day-*.csv``; or
        a zarr group with arrays ``X`` and ``y`` (or ``data`` and ``target``).
    target : str, optional
        Name of the column of labels; by default the last one that is not ignored.
    ignore : tuple of str
        Columns that are no features.
    form : "parquet", "csv", "tsv" or "zarr", optional
        The format where the name does not tell.
    sep : str, optional
        Separator of the values of a line.
    header : bool
        Whether the first line of each file has names; otherwise columns are x0, x1, …

    Returns
    -------
    LazyTable
        With ``X``, ``y`` and ``target``.
    """
    import_dask()
    form, paths = find_files(source, form)
    if form == "zarr":
        return _from_zarr(source, target, ignore, sep, header)
    if target is not None and target in ignore:
        raise ValueError(f"column {target!r} is the target, and it is ignored: choose one of both")
    if form in SEPARATORS:
        frame, target = _from_text(paths, target, ignore, sep or SEPARATORS[form], header)
    else:
        from dask.dataframe import read_parquet

        frame = read_parquet(paths, index=False if _counts_rows(paths[0]) else None)
        target = find_label_column(map(str, frame.columns), ignore) if target is None else target
    for name in (*ignore, target):
        check_known_name(name, frame.columns, "column")
    X = frame.drop(columns=[*ignore, target])
    if X.shape[1] == 0:
        raise ValueError(f"{source} has no features beside {target!r}")
    words = sorted(set(X.columns) - set(_numbers(X)))
    if words:
        raise ValueError(
            f"{len(words)} of {X.shape[1]} columns are not numbers: "
            f"{', '.join(map(repr, words[:MAX_COLUMNS_NAMED]))}. Leave them out (--ignore)"
        )
    X = X.map_partitions(_as_numbers, meta=X._meta.astype(np.float64))
    y = frame[target].map_partitions(_text, target, meta=(target, object))
    return LazyTable(X, y, target)


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


def _inside(folder: Path, form: str) -> list[str]:
    """Files of a format in a directory and those below it, but for hidden ones."""
    found = folder.rglob(f"*.{form}")
    seen = [p for p in found if not any(q[0] in "._" for q in p.relative_to(folder).parts)]
    return sorted(str(path) for path in seen)


def _counts_rows(path: str) -> bool:
    """Whether the index of a parquet file is a range, which is not among its columns."""
    from pyarrow.parquet import read_schema

    with name_place_in_errors(path):
        about = read_schema(path).pandas_metadata or {}
    return any(isinstance(column, dict) for column in about.get("index_columns", ()))


def find_files(source: str, form: str | None) -> tuple[str, list[str]]:
    """The format of a file, directory or pattern, and its files in the order of their names."""
    path = Path(source)
    if form == "zarr" or path.suffix == ".zarr":
        if form not in (None, "zarr"):
            raise ValueError(f"{source} is a zarr group, not {form}: leave out --format {form}")
        if not path.is_dir():
            raise FileNotFoundError(f"there is no zarr group {source}")
        return "zarr", [source]
    if not path.is_dir():
        paths = [source] if path.exists() else sorted(glob.glob(source))
        if not paths:
            raise FileNotFoundError(f"there is no file {source}")
        form = form or find_format(paths[0])
    else:
        kinds = [form] if form else [k for k in BLOCK_FORMATS if _inside(path, k)]
        if len(kinds) != 1:
            raise ValueError(
                f"{source} has {' and '.join(kinds) or 'no parquet, csv or tsv'} files: give a "
                "directory of one kind, or a pattern such as 'folder/*.csv'"
            )
        (form,) = kinds
        paths = _inside(path, form)
        if not paths:
            raise ValueError(f"{source} has no {form} files")
    if form not in BLOCK_FORMATS:
        raise ValueError(f"{source}: {form} is not read in blocks; use parquet, csv, tsv or zarr")
    return form, paths


# Text ----------------------------------------------------------------------------------------


def _from_text(
    paths: list[str], target: str | None, ignore: tuple[str, ...], sep: str, header: bool
) -> tuple[Any, str]:
    """Files of text as a data frame of numbers, and labels as they are written; their column."""
    from dask import delayed
    from dask.dataframe import from_delayed

    every = [_names(path, sep, header) for path in paths]
    names = every[0]
    for path, own in zip(paths, every, strict=True):
        _check_same_columns(path, own, paths[0], names)
    defaulted = target is None
    target = find_label_column(names, ignore) if target is None else target
    begin = _begin(paths, every, sep, header)[names]
    if header and defaulted:
        check_header(names, target, begin[target].astype(str))
    # columns that begin with whole numbers may go on with others
    numbers = [name for name in _numbers(begin) if name != target]
    kinds = {name: np.float64 if name in numbers else object for name in names}
    parse = delayed(_parse_block)
    blocks: list[Any] = []
    for path, own in zip(paths, every, strict=True):
        for i, lines in enumerate(_blocks_of_lines(path)):
            place = f"block {len(blocks)} ({path})"
            blocks.append(parse(lines, place, own, sep, header and i == 0, kinds))
    return from_delayed(blocks, meta=begin[:0].astype(kinds), verify_meta=False), target


def _begin(paths: list[str], every: list[list[str]], sep: str, header: bool) -> Any:
    """The first rows of the first file that has any."""
    for path, names in zip(paths, every, strict=True):
        with open_bytes(path) as file, name_place_in_errors(path):
            begin = _lines(file, names, sep, header, nrows=1000)
        if len(begin):
            return begin
    raise ValueError(f"there are no rows in {', '.join(paths[:MAX_COLUMNS_NAMED])}")


def _names(path: str, sep: str, header: bool) -> list[str]:
    """The names of the columns of a file of text."""
    with open_bytes(path) as file, name_place_in_errors(path):
        try:
            names = read_column_names(file, sep)
        except UnicodeError:
            raise ValueError(f"it {NOT_UTF8}") from None
        if header:
            check_unique_names(names)
    return names if header else [f"x{i}" for i in range(len(names))]


def _check_same_columns(path: str, own: list[str], first: str, names: list[str]) -> None:
    """Raise for a file whose columns are not those of the first one, in whatever order."""
    for columns, here, there in ((own, path, first), (names, first, path)):
        other = set(names) if columns is own else set(own)
        more = [name for name in columns if name not in other]
        if more:
            raise ValueError(
                f"{path} has other columns than {first}: {here} has {more[0]!r}, {there} has not. "
                "Give all files the same names of columns in their first lines"
            )


def _blocks_of_lines(path: str) -> list[Any]:
    """Whole lines of a file as delayed bytes; a packed file is one block.

    `dask.dataframe.read_csv` would parse them, too, but it takes the order of columns from the
    first file, does not say where a value is that is no number, and takes lines with more values
    than names for lines with a name of the row.
    """
    from dask.bytes import read_bytes

    packed = path.endswith(".gz")
    how = {"delimiter": b"\n", "blocksize": None if packed else BLOCK_BYTES, "sample": False}
    _, blocks = read_bytes(path, compression="gzip" if packed else None, **how)
    return list(blocks[0])


def _parse_block(
    content: bytes, place: str, names: list[str], sep: str, header: bool, kinds: dict[str, Any]
) -> Any:
    """The lines of a block, with columns in the order of the kinds."""
    with name_place_in_errors(place):
        try:
            frame = _lines(io.BytesIO(content), names, sep, header, dtype=kinds)
        except ValueError:  # it does not say where
            frame = _lines(io.BytesIO(content), names, sep, header)
            _check_numbers(frame, [name for name in kinds if kinds[name] is np.float64])
            frame = frame.astype(kinds)
        return frame[list(kinds)]


def _lines(file: Any, names: list[str], sep: str, header: bool, **how: Any) -> Any:
    """Lines as a data frame, without the one of the names."""
    import pandas as pd

    if header:
        read_column_names(file, sep)
    quick = len(sep) == 1 or sep == r"\s+"
    gaps = {"na_values": sorted(GAPS), "keep_default_na": False}
    try:
        frame = pd.read_csv(
            file, sep=sep, names=names, engine="c" if quick else "python", **gaps, **how
        )
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame(columns=names, dtype=np.float64).astype(how.get("dtype", {}))
    if not isinstance(frame.index, pd.RangeIndex):  # what is too much is put there
        raise ValueError(f"lines have more values than the {len(names)} names of the columns")
    return frame


def _check_numbers(frame: Any, numbers: list[str]) -> None:
    """Raise for columns that should be numbers and are not."""
    import pandas as pd

    for name in sorted(set(numbers) - set(_numbers(frame))):
        values = frame[name]
        strange = values[values.notna() & pd.to_numeric(values, errors="coerce").isna()]
        if len(strange):
            raise ValueError(
                f"column {name!r} has {str(strange.iloc[0])!r} among numbers: mend the file, or "
                "leave the column out (--ignore)"
            )


def _numbers(frame: Any) -> list[str]:
    """Columns of numbers, by what is said about them beforehand."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return [c for c, kind in frame.dtypes.items() if is_numeric_dtype(kind) or is_bool_dtype(kind)]


def _as_numbers(part: Any, partition_info: Any = None) -> Any:
    with name_place_in_errors(f"block {partition_info['number']}" if partition_info else "X"):
        _check_numbers(part, list(part.columns))
        return part.astype(np.float64)


def _text(labels: Any, name: str, partition_info: Any = None) -> Any:
    import pandas as pd

    with name_place_in_errors(f"block {partition_info['number']}" if partition_info else "y"):
        texts = _words(labels, name)
    return pd.Series(texts, index=labels.index, name=name, dtype=object)


def _words(labels: Any, name: str) -> np.ndarray:
    """Labels as text; that of a block may be fractions while others are words."""
    texts = format_some_labels(labels, name)
    if len(distinct := np.unique(texts)) > MAX_FRACTION_LABELS:
        check_no_fractions(distinct, name)
    return texts


def _from_zarr(
    source: str, target: str | None, ignore: tuple[str, ...], sep: str | None, header: bool
) -> LazyTable:
    try:
        import zarr
    except ImportError:
        raise ImportError("zarr groups are read with zarr: pip install zarr") from None
    from dask import array as da

    group = zarr.open(source, mode="r")
    names = sorted(group.array_keys()) if hasattr(group, "array_keys") else []
    pairs = [p for p in (("X", "y"), ("data", "target")) if set(p) <= set(names)]
    if not pairs:
        raise ValueError(
            f"{source} needs arrays X and y, or data and target: it has "
            f"{', '.join(names) or 'no arrays'}"
        )
    given = {"--ignore": ignore, "--sep": sep, "--no-header": not header}
    given["--target"] = target not in (None, pairs[0][1])
    for option, value in given.items():
        if value:
            raise ValueError(
                f"{source} is a zarr group, whose features have no names: leave out {option}"
            )
    rows, labels = (da.from_zarr(source, component=name) for name in pairs[0])
    text = labels.map_blocks(_text_array, pairs[0][1], dtype=object, meta=np.empty(0, object))
    with name_place_in_errors(source):
        check_array_of_rows(rows)
    return LazyTable(join_feature_blocks(rows), text, pairs[0][1])


def _text_array(labels: np.ndarray, name: str, block_id: Any = None) -> np.ndarray:
    import pandas as pd

    with name_place_in_errors(f"block {block_id[0]} of {name}" if block_id else name):
        return _words(pd.Series(labels), name).astype(object)


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

    found = labelled_blocks(table.X, table.y).sum_up(_moments_of_one_class, accept_sparse=False)
    check_no_fractions(found.classes, table.target)
    moments = found.summary
    scaler = StandardScaler()
    scaler.mean_, scaler.var_ = moments.mean, moments.within_diagonal() / moments.n_samples
    std = np.sqrt(scaler.var_)
    # a constant feature far from zero varies in its last digit: it is not divided by that
    scaler.scale_ = np.where(std <= 2 * np.finfo(float).eps * np.abs(scaler.mean_), 1.0, std)
    scaler.n_samples_seen_, scaler.n_features_in_ = np.int64(moments.n_samples), found.n_features
    if found.names is not None:
        scaler.feature_names_in_ = found.names
    nothing = np.empty((0, found.n_features))
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
