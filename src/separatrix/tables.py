"""Tables in files: named features and labels, checked, and the steps that make numbers of them."""

from __future__ import annotations

import difflib
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.datasets import BUNDLED, load

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".arff": "arff",
}
"""Formats by the ending of a file; text may also be packed, as ``.csv.gz``."""

SEPARATORS = {"csv": ",", "tsv": "\t"}
MOST_NAMED = 12
"""Columns that a message names, at most."""


class Table(NamedTuple):
    """Rows with named features.

    Attributes
    ----------
    X : data frame (n_samples, n_features)
        Numbers as float64; other columns as they are.
    y : array (n_samples,) of str, or None
        Labels as text.
    target : str or None
        Name of the column of labels.
    kept : data frame
        Columns as they were, by request.
    """

    X: Any
    y: Any
    target: str | None
    kept: Any


# Reading -------------------------------------------------------------------------------------


def read_table(
    source: Any,
    *,
    target: str | None = None,
    labelled: bool | None = True,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    form: str | None = None,
    sep: str | None = None,
    header: bool = True,
) -> Table:
    r"""Read features and labels from a file, a bundled data set or standard input.

    Parameters
    ----------
    source : str, path or open binary file
        A file of comma-separated (csv) or tab-separated values (tsv) with a line of names, also
        packed by gzip; parquet, arff or npz (arrays ``X`` and ``y``, or ``data`` and ``target``,
        and ``feature_names`` where there are any). The name of a bundled data set, if there is no
        such file. ``-`` is standard input.
    target : str, optional
        Name of the column of labels; the last column by default.
    labelled : bool or None
        Whether there are labels; None takes them where `target` is there and has no gaps. It is
        never a feature.
    ignore : sequence of str
        Columns that are no features, such as identifiers.
    keep : sequence of str
        Columns to return as they are, features or not.
    form : "csv", "tsv", "parquet", "npz" or "arff", optional
        The format where the name does not tell; csv for standard input.
    sep : str, optional
        What stands between the values of a line.
    header : bool
        Whether the first line has names; otherwise columns are x0, x1, …

    Returns
    -------
    Table
        With ``X``, ``y``, ``target`` and ``kept``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix.tables import read_table
    >>> table = read_table(BytesIO(b"id,width,kind\n1,2.5,a\n2,4,b\n"), ignore=["id"])
    >>> table.X.columns.tolist(), table.y.tolist(), table.target
    (['width'], ['a', 'b'], 'kind')
    """
    frame, last = _frame(source, form, sep, header)
    frame.columns = [str(name) for name in frame.columns]
    target = last if target is None and labelled else target
    return as_table(frame, target, labelled=labelled, ignore=ignore, keep=keep)


def as_table(
    frame: Any,
    target: str | None,
    *,
    labelled: bool | None = True,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Table:
    """Features, labels and columns to keep of a data frame; see `read_table`."""
    if len(frame) == 0:
        raise ValueError("there are no rows")
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"two columns are called {twice!r}: give them names of their own")
    for name in (*ignore, *keep, *((str(target),) if labelled else ())):
        refuse_unknown(name, frame.columns, "column")
    if labelled is None:
        labelled = target in frame.columns and not frame[target].isna().any()
    out = [name for name in (*ignore, target) if name in frame.columns]
    X = frame.drop(columns=out)
    if X.shape[1] == 0:
        raise ValueError(
            f"there are no features beside {', '.join(map(repr, out))}: if the columns are "
            "separated by something else, give it (--sep)"
        )
    y = label_text(frame[target], str(target)) if labelled else None
    return Table(_as_numbers(X), y, target, frame[list(keep)])


def _frame(source: Any, form: str | None, sep: str | None, header: bool) -> tuple[Any, str]:
    """A data frame, and the name of the column that has the labels unless another is named."""
    if str(source) == "-":
        source, form = sys.stdin.buffer, form or "csv"
        if form not in SEPARATORS:  # these are read back and forth
            source = io.BytesIO(source.read())
    if isinstance(source, str | Path) and not Path(source).exists():
        if str(source) in BUNDLED:
            return _bundled(str(source))
        near = difflib.get_close_matches(str(source), BUNDLED, 1)
        raise FileNotFoundError(
            f"there is no file {source}, nor a bundled data set of that name"
            + (f": did you mean {near[0]}?" if near else f": these are {', '.join(BUNDLED)}")
        )
    form = form or form_of(source)
    pd = pandas_module()
    try:
        if form == "npz":
            return _from_npz(source)
        if form == "arff":
            frame = _from_arff(source)
        elif form == "parquet":
            frame = _from_parquet(source)
        else:
            frame = pd.read_csv(
                source, sep=sep or SEPARATORS[form], header="infer" if header else None
            )
            if not header:
                frame.columns = [f"x{i}" for i in range(frame.shape[1])]
            if header:
                refuse_numbers_for_names(
                    frame.columns, ", or say that there are none (--no-header)"
                )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{source} is empty") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"{source} is not a {form} file: {error}") from None
    return frame, str(frame.columns[-1])


def form_of(source: Any) -> str:
    """The format of a file by its name; csv where it has none."""
    name = getattr(source, "name", source)
    if not isinstance(name, str | Path):
        return "csv"
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{path} could be anything: name it by its format, one of {', '.join(SUFFIXES)}, or "
            "say the format"
        )
    return SUFFIXES[suffix.lower()]


def _bundled(name: str) -> tuple[Any, str]:
    bunch = load(name)
    frame = pandas_module().DataFrame(bunch.data, columns=list(bunch.feature_names))
    frame["target"] = bunch.target
    return frame, "target"


def _from_npz(source: Any) -> tuple[Any, str]:
    try:
        with np.load(source, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except ValueError as error:
        raise ValueError(f"{source} is not an npz file of plain arrays: {error}") from None
    rows = found.get("X", found.get("data"))
    if rows is None or rows.ndim != 2:
        raise ValueError(
            f"{source} needs a two-dimensional array X or data: it has "
            f"{', '.join(found) or 'no arrays'}"
        )
    names = found.get("feature_names", np.array([f"x{i}" for i in range(rows.shape[1])]))
    if len(names) != rows.shape[1]:
        raise ValueError(f"{source} has {len(names)} feature_names for {rows.shape[1]} features")
    frame = pandas_module().DataFrame(rows, columns=list(names))
    label = next((name for name in ("y", "target") if name in found), None)
    if label is not None:
        if found[label].shape != (len(rows),):
            raise ValueError(f"{source}: {label} must have one label for each of {len(rows)} rows")
        frame[label] = found[label]
    return frame, str(frame.columns[-1] if label is None else label)


def _from_arff(source: Any) -> Any:
    from scipy.io import arff

    text = source.read() if hasattr(source, "read") else Path(source).read_bytes()
    try:
        values, about = arff.loadarff(io.StringIO(text.decode()))
    except (arff.ArffError, NotImplementedError, StopIteration, ValueError) as error:
        raise ValueError(f"{source} is not an arff file that can be read: {error}") from None
    frame = pandas_module().DataFrame(values)
    for name, kind in zip(about.names(), about.types(), strict=True):
        if kind == "nominal":
            words = frame[name].str.decode("utf-8")
            frame[name] = words.where(words != "?")
    return frame


def _from_parquet(source: Any) -> Any:
    try:
        return pandas_module().read_parquet(source)
    except ImportError:
        raise ImportError(
            "parquet files are read with pyarrow: pip install 'separatrix[parquet]'"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{source} is not a parquet file: {error}") from None


def _as_numbers(X: Any) -> Any:
    """The frame with numbers, of whatever kind, as float64."""
    types = pandas_module().api.types
    numbers = [c for c in X.columns if types.is_numeric_dtype(X[c]) or types.is_bool_dtype(X[c])]
    complex_ = [c for c in numbers if types.is_complex_dtype(X[c])]
    if complex_:
        raise ValueError(f"column {complex_[0]!r} holds complex numbers")
    return X.astype(dict.fromkeys(numbers, np.float64))


# Labels --------------------------------------------------------------------------------------


def label_text(labels: Any, name: str) -> np.ndarray:
    """Labels as text: whole numbers without a point, names as they are.

    Parameters
    ----------
    labels : series
        One label for each row.
    name : str
        Of their column, for messages.
    """
    missing = np.flatnonzero(labels.isna())
    if len(missing):
        raise ValueError(
            f"column {name!r} has no label in {len(missing)} of {len(labels)} rows, first in row "
            f"{missing[0] + 1}: fill these in or leave the rows out"
        )
    if labels.dtype.kind == "f" or str(labels.dtype).startswith("Float"):
        numbers = labels.to_numpy(dtype=np.float64)
        fractions = np.flatnonzero(numbers != np.rint(numbers))
        if len(fractions):
            raise ValueError(
                f"column {name!r} holds numbers such as {numbers[fractions[0]]:g}, not classes: "
                "name the column of labels, or cut the numbers into classes first"
            )
        labels = labels.astype(np.int64)
    return np.array([str(label) for label in labels], dtype=object).astype(str)


def refuse_one_class(y: np.ndarray, name: str | None) -> None:
    """Raise unless there are at least two classes, and fewer than rows."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"column {name!r} has only the label {str(classes[0])!r}: nothing is to be separated. "
            "Name another column of labels"
        )
    if len(classes) == len(y) and len(y) > 2:
        raise ValueError(
            f"column {name!r} has another label in each of {len(y)} rows: it looks like an "
            "identifier. Name the column of labels"
        )


# Features ------------------------------------------------------------------------------------


def text_columns(X: Any) -> list[str]:
    """Columns that hold no numbers."""
    return [name for name, kind in X.dtypes.items() if kind != np.float64]


def check_features(X: Any, *, categorical: str = "refuse", missing: str = "refuse") -> None:
    """Raise for columns that a method cannot take, with their names and the remedies.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    categorical : "refuse" or "onehot"
        Whether columns of text are refused, or get a column for each of their values.
    missing : "refuse", "mean", "median" or "most_frequent"
        Whether gaps are refused, or filled in by what the training rows have in the column.
    """
    words = text_columns(X)
    if words and categorical == "refuse":
        found = [f"{c!r} ({_content(X[c])})" for c in words[:MOST_NAMED]]
        raise ValueError(
            f"{len(words)} of {X.shape[1]} columns are not numbers: {', '.join(found)}. Make a "
            "column for each of their values (--categorical onehot), or leave them out (--ignore)"
        )
    for name in words:
        if X[name].nunique() == len(X) > 2:
            raise ValueError(
                f"column {name!r} has another value in each of {len(X)} rows: it looks like an "
                f"identifier. Leave it out (--ignore {name})"
            )
    gaps = X.isna().sum()
    gaps = gaps[gaps > 0]
    empty = gaps.index[gaps == len(X)]
    if len(empty):
        raise ValueError(f"column {empty[0]!r} is empty: leave it out (--ignore {empty[0]})")
    if len(gaps) and missing == "refuse":
        found = [f"{name!r} {count}" for name, count in gaps.head(MOST_NAMED).items()]
        more = f" and {len(gaps) - MOST_NAMED} more columns" if len(gaps) > MOST_NAMED else ""
        raise ValueError(
            f"values are missing in {int(X.isna().any(axis=1).sum())} of {len(X)} rows: "
            f"{', '.join(found)}{more}. Fill them in (--missing median), or leave out the columns "
            "(--ignore) or rows"
        )
    numbers = X.drop(columns=words)
    infinite = np.isinf(numbers.to_numpy()).sum(axis=0)
    if infinite.any():
        first = int(infinite.argmax())
        raise ValueError(
            f"column {numbers.columns[first]!r} has {infinite[first]} infinite values: mend them "
            f"or leave it out (--ignore {numbers.columns[first]})"
        )


def _content(column: Any) -> str:
    """What a column of text holds, in a few words."""
    pd = pandas_module()
    values = column.dropna()
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates"
    strange = values[pd.to_numeric(values, errors="coerce").isna()]
    if 0 < len(strange) <= 0.1 * len(values):
        return f"numbers but for {len(strange)} such as {strange.iloc[0]!r}"
    return f"{values.nunique()} values such as {values.iloc[0]!r}" if len(values) else "empty"


def row_number_columns(X: Any) -> list[str]:
    """Columns that count the rows, and are hardly features."""
    counting = np.arange(len(X), dtype=np.float64)
    numbers = [c for c in X.columns if X[c].dtype == np.float64]
    if len(X) < 10:
        return []
    return [c for c in numbers if np.array_equal(X[c].to_numpy() - X[c].iloc[0], counting)]


def preprocessing(
    X: Any, *, scale: bool = True, categorical: str = "refuse", missing: str = "refuse"
) -> Any:
    """What makes numbers of a table, to be fitted with the training rows and kept with the model.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    scale : bool
        Give each column of numbers mean zero and variance one.
    categorical : "refuse" or "onehot"
        As in `check_features`. Values that training did not have get no column.
    missing : "refuse", "mean", "median" or "most_frequent"
        As in `check_features`; gaps in text are filled with the most frequent value.

    Returns
    -------
    transformer or None
        Not fitted, so that it learns from training rows alone; None when nothing is to be done.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix.tables import preprocessing
    >>> X = pd.DataFrame({"width": [1.0, 3.0, None], "kind": ["a", "b", "a"]})
    >>> steps = preprocessing(X, categorical="onehot", missing="mean")
    >>> steps.fit_transform(X).round(2).tolist()
    [[-1.22, 1.0, 0.0], [1.22, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    check_features(X, categorical=categorical, missing=missing)
    words = text_columns(X)
    numbers = [name for name in X.columns if name not in words]
    steps: list[Any] = [SimpleImputer(strategy=missing)] if missing != "refuse" else []
    steps += [StandardScaler()] if scale else []
    for_numbers = make_pipeline(*steps) if len(steps) > 1 else (*steps, "passthrough")[0]
    if not words:
        return for_numbers if steps else None
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    fill = SimpleImputer(missing_values=np.nan, strategy="most_frequent")
    for_words = encode if missing == "refuse" else make_pipeline(fill, encode)
    return ColumnTransformer(
        [("numbers", for_numbers, numbers), ("words", for_words, words)],
        verbose_feature_names_out=False,
    )


def one_hot(X: Any) -> Any:
    """The frame with a column of zeros and ones for each value of its columns of text.

    The values are those of all rows, and say nothing of labels; gaps in text have none of them.
    """
    words = text_columns(X)
    if not words:
        return X
    return pandas_module().get_dummies(X, columns=words, dtype=np.float64)


def same_features(X: Any, names: Iterable[str], words: Sequence[str] = ()) -> Any:
    """The columns that a model knows, by name and in its order.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`; columns that the model does not know are left out.
    names : iterable of str
        Columns that the model was fitted to.
    words : sequence of str
        Those of them that hold text.
    """
    known = list(names)
    absent = [name for name in known if name not in X.columns]
    if absent:
        listed = [*map(repr, absent[:MOST_NAMED]), *["…"] * (len(absent) > MOST_NAMED)]
        near = difflib.get_close_matches(absent[0], [str(c) for c in X.columns], 1)
        raise ValueError(
            f"the model needs {len(known)} columns, and {len(absent)} are missing here: "
            f"{', '.join(listed)}" + (f". Is {near[0]!r} meant for {absent[0]!r}?" if near else "")
        )
    chosen = X[known]
    for name in known:
        if (name in words) == (chosen[name].dtype == np.float64):
            if name in words:  # text that happens to be digits
                chosen = chosen.assign(**{name: chosen[name].map(_digits)})
                continue
            raise ValueError(
                f"column {name!r} holds numbers in the model, but here {_content(chosen[name])}"
            )
    return chosen


def _digits(value: float) -> str | float:
    return value if np.isnan(value) else str(int(value)) if value == int(value) else str(value)


# Messages ------------------------------------------------------------------------------------


def refuse_unknown(name: str, known: Iterable[Any], what: str) -> None:
    """Raise unless a name is known, with the nearest one or the list."""
    names = [str(k) for k in known]
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1, 0.6)
    lower = [k for k in names if k.lower() == name.lower()]
    listed = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    guess = f"did you mean {(lower or near)[0]!r}? " if lower or near else ""
    raise ValueError(f"there is no {what} {name!r}: {guess}There are {listed}")


def refuse_numbers_for_names(columns: Iterable[Any], or_else: str = "") -> None:
    """Raise when the line of names is a row."""
    if all(_is_number(name) for name in columns):
        raise ValueError(
            "the first line has numbers in place of names: give the columns names" + or_else
        )


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def pandas_module() -> Any:
    """The package pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tables are read with pandas: pip install 'separatrix[app]'") from None
    return pandas
