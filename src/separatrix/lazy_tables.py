"""Tables larger than memory: files as Dask collections, read block by block where needed."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.distributed import Block, labelled_blocks, mapped
from separatrix.readers import (
    GAPS,
    SEPARATORS,
    column_names,
    form_of,
    opened,
    refuse_two_of_one_name,
)
from separatrix.tables import (
    MOST_NAMED,
    label_text,
    last_column,
    refuse_numbers_for_names,
    refuse_unknown,
)

BLOCK_BYTES = 1 << 26
"""Size of a block of rows, about (64 MB)."""

ENDINGS = ("parquet", "csv", "tsv")


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
        What stands between the values of a line.
    header : bool
        Whether the first line of each file has names; otherwise columns are x0, x1, …

    Returns
    -------
    LazyTable
        With ``X``, ``y`` and ``target``.
    """
    dask_module()
    from pandas import read_csv

    form, paths = found_files(source, form)
    if form == "zarr":
        return _from_zarr(source)
    if target is not None and target in ignore:
        raise ValueError(f"column {target!r} is the target, and it is ignored: choose one of both")
    defaulted = target is None
    if form in SEPARATORS:
        names = _names(paths[0], sep or SEPARATORS[form], header)
        target = last_column(names, ignore) if target is None else target
        frame = _text_frame(paths, names, target, sep or SEPARATORS[form], header)
        if header and defaulted:
            begin = read_csv(paths[0], sep=sep or SEPARATORS[form], dtype=str, nrows=1000)
            refuse_numbers_for_names(names, target, begin[target])
    else:
        from dask.dataframe import read_parquet

        frame = read_parquet(paths)
        target = last_column(map(str, frame.columns), ignore) if target is None else target
    for name in (*ignore, target):
        refuse_unknown(name, frame.columns, "column")
    X = frame.drop(columns=[*ignore, target])
    if X.shape[1] == 0:
        raise ValueError(f"{source} has no features beside {target!r}")
    words = sorted(set(X.columns) - set(_numbers(X)))
    if words:
        raise ValueError(
            f"{len(words)} of {X.shape[1]} columns are not numbers: "
            f"{', '.join(map(repr, words[:MOST_NAMED]))}. Leave them out (--ignore)"
        )
    X = X.astype(np.float64)
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
    >>> from separatrix.lazy_tables import from_npy
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


def found_files(source: str, form: str | None) -> tuple[str, list[str]]:
    """The format of a file, directory or pattern, and its files in the order of their names."""
    path = Path(source)
    if form == "zarr" or path.suffix == ".zarr":
        if not path.is_dir():
            raise FileNotFoundError(f"there is no zarr group {source}")
        return "zarr", [source]
    if not path.is_dir():
        paths = [source] if path.exists() else sorted(glob.glob(source))
        if not paths:
            raise FileNotFoundError(f"there is no file {source}")
        form = form or form_of(paths[0])
    else:
        kinds = [form] if form else [k for k in ENDINGS if any(path.rglob(f"*.{k}"))]
        if len(kinds) != 1:
            raise ValueError(
                f"{source} has {' and '.join(kinds) or 'no parquet, csv or tsv'} files: give a "
                "directory of one kind, or a pattern such as 'folder/*.csv'"
            )
        (form,) = kinds
        paths = sorted(str(found) for found in path.rglob(f"*.{form}"))
    if form not in ENDINGS:
        raise ValueError(f"{source}: {form} is not read in blocks; use parquet, csv, tsv or zarr")
    return form, paths


def _names(path: str, sep: str, header: bool) -> list[str]:
    """The names of the columns of a file of text."""
    with opened(path) as file:
        names = column_names(file, sep)
    refuse_two_of_one_name(names)
    return names if header else [f"x{i}" for i in range(len(names))]


def _text_frame(paths: list[str], names: list[str], target: str, sep: str, header: bool) -> Any:
    """Files of text as a data frame: numbers, and labels as they are written."""
    from dask.dataframe import read_csv

    packed = any(path.endswith(".gz") for path in paths)  # these are read whole
    how: dict[str, Any] = {
        "sep": sep,
        "names": names,
        "header": 0 if header else None,
        "blocksize": None if packed else BLOCK_BYTES,
        "na_values": sorted(GAPS),
        "keep_default_na": False,
    }
    as_written = {target: str} if target in names else {}
    # columns that begin with whole numbers may go on with others
    numbers = set(_numbers(read_csv(paths, dtype=as_written, **how))) - {target}
    frame = read_csv(paths, dtype=as_written | dict.fromkeys(numbers, np.float64), **how)
    return frame.map_partitions(_of_one_width, len(names), meta=frame._meta)


def _of_one_width(part: Any, n_names: int) -> Any:
    """The part, unless its lines have more values than there are names: the first names rows."""
    import pandas as pd

    if not isinstance(part.index, pd.RangeIndex):
        raise ValueError(f"lines have more values than the {n_names} names of the columns")
    return part


def _numbers(frame: Any) -> list[str]:
    """Columns of numbers, by what is said about them beforehand."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return [c for c, kind in frame.dtypes.items() if is_numeric_dtype(kind) or is_bool_dtype(kind)]


def _text(labels: Any, name: str) -> Any:
    import pandas as pd

    return pd.Series(label_text(labels, name), index=labels.index, name=name, dtype=object)


def _from_zarr(source: str) -> LazyTable:
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
    rows, labels = (da.from_zarr(source, component=name) for name in pairs[0])
    text = labels.map_blocks(_text_array, pairs[0][1], dtype=object, meta=np.empty(0, object))
    return LazyTable(rows.rechunk({1: -1}), text, pairs[0][1])


def _text_array(labels: np.ndarray, name: str) -> np.ndarray:
    import pandas as pd

    return label_text(pd.Series(labels), name).astype(object)


# Scaling -------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Number, mean and squared deviations of rows, which add."""

    n: int
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, block: Block) -> Spread:
        """Of one block of dense rows."""
        origin = block.X[0].astype(np.float64)
        Z = block.X - origin
        shift = Z.mean(axis=0)
        return cls(len(Z), origin + shift, np.sum((Z - shift) ** 2, axis=0))

    def __add__(self, other: Spread) -> Spread:  # type: ignore[override]
        n, gap = self.n + other.n, other.mean - self.mean
        squares = self.squares + other.squares + gap**2 * (self.n * other.n / n)
        return Spread(n, self.mean + gap * (other.n / n), squares)


def scaled(table: LazyTable) -> tuple[Any, LazyTable]:
    """What gives every feature mean zero and variance one, and the table after it.

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

    blocks = labelled_blocks(table.X, table.y)
    n, mean, squares = blocks.summed(Spread.of, accept_sparse=False).summary
    std = np.sqrt(squares / n)
    # two rows that have this mean and this variance
    rows = pd.DataFrame([mean - std, mean + std], columns=blocks.feature_names)
    scaler = StandardScaler().fit(rows if blocks.feature_names is not None else rows.to_numpy())
    scaler.n_samples_seen_ = n
    if hasattr(table.X, "columns"):
        unnamed = pd.DataFrame(rows.to_numpy())[:0]
        return scaler, table._replace(X=table.X.map_partitions(_scaled, scaler, meta=unnamed))
    return scaler, table._replace(X=mapped(table.X, scaler.transform, rows.to_numpy()))


def _scaled(part: Any, scaler: Any) -> Any:
    import pandas as pd

    rows = scaler.transform(part) if len(part) else part.to_numpy()
    return pd.DataFrame(rows, index=part.index)


def dask_module() -> Any:
    """Dask, or an error that says what to install."""
    try:
        import dask
        import dask.dataframe
    except ImportError:
        raise ImportError(
            "files larger than memory are read with Dask: pip install 'separatrix[dask,parquet]'"
        ) from None
    return dask
