"""Data sets in the files in which they are published.

`load_original` finds a set by its name in a folder: ``<name>.npz`` first, then the files that its
publisher gives (in the folder, or in a folder inside it), then a table ``<name>.csv``, ``.tsv``,
``.arff`` or ``.parquet`` whose last column has the labels.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import fetch_rcv1
from sklearn.utils import Bunch

from separatrix.files.bundled import load_bundled
from separatrix.files.mails import iter_messages
from separatrix.files.tables import read_table
from separatrix.linalg import Array
from separatrix_papers.genes import (
    read_cell_lines,
    read_gene_columns,
    read_phonemes,
    read_res_files,
)


class MissingData(FileNotFoundError):  # noqa: N818 - nothing is wrong with the program
    """A data set that is in none of the files of a folder."""


class Original(NamedTuple):
    """The files of a data set (each by one of several names), and what reads them."""

    files: tuple[tuple[str, ...], ...]
    read: Callable[[Sequence[Path]], Bunch]


def load_original(name: str, folder: str | os.PathLike[str] | None) -> Bunch:
    """Load a data set from files.

    Parameters
    ----------
    name : str
        Such as "sonar" or "ucr_GunPoint"; see `ORIGINALS` for those with files of their own.
    folder : path or None
        Where the files are. Without one, and for "wine" where no file is found, there is what
        comes with scikit-learn.

    Returns
    -------
    Bunch
        With ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test`` where the
        publisher gives a split. Missing values are NaN. E-mails are in ``messages``, as bytes.
    """
    found = find_original(name, folder)
    if found is not None:
        try:
            return found()
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            # numpy takes what it cannot read for a pickle, and would have it loaded
            why = "it is damaged" if "pickle" in str(error) else error
            raise ValueError(f"{name!r} in {folder} cannot be read: {why}") from None
    where = "no folder of data is named" if folder is None else f"it is not in {folder}"
    raise MissingData(f"the data set {name!r} is needed, and {where}: {_wanted(name)}")


def find_original(name: str, folder: str | os.PathLike[str] | None) -> Callable[[], Bunch] | None:
    """A function that reads a data set from a folder, or None where it is not there."""
    if folder is not None:
        place = Path(folder)
        if (place / f"{name}.npz").is_file():
            return partial(read_npz, place / f"{name}.npz")
        original = _original(name)
        if original is not None:
            paths = [_first(place, names) for names in original.files]
            if all(paths):
                return partial(original.read, [path for path in paths if path is not None])
        for suffix in (".csv", ".tsv", ".arff", ".parquet"):
            if (place / f"{name}{suffix}").is_file():
                return partial(_from_table, place / f"{name}{suffix}")
    return _bundled_wine if name == "wine" else None


def _first(folder: Path, names: Iterable[str]) -> Path | None:
    for name in names:
        for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
            if path.exists():
                return path
    return None


def _wanted(name: str) -> str:
    original = _original(name)
    own = [] if original is None else [names[0] for names in original.files]
    return f"{name}.npz" + (f", or {' and '.join(own)} as published" if own else "")


# Arrays and tables -----------------------------------------------------------------------------


def read_npz(path: Path) -> Bunch:
    """Arrays by name; parts of a sparse matrix and joined messages are put together."""
    with np.load(path, allow_pickle=False) as arrays:
        bunch = Bunch(**{key: arrays[key] for key in arrays.files})
    if "indptr" in bunch:
        parts = (bunch.data.astype(float), bunch.indices, bunch.indptr)
        bunch.X = sp.csr_array(parts, shape=tuple(bunch.shape))
    if "offsets" in bunch:
        bunch.messages = [bunch.data[a:b].tobytes() for a, b in pairwise(bunch.offsets)]
    for key in ("X", "X_train", "X_test"):
        if key in bunch and not sp.issparse(bunch[key]):
            bunch[key] = np.asarray(bunch[key], dtype=float)
    return bunch


def _from_table(path: Path) -> Bunch:
    table = read_table(path)
    columns = [rank_text(table.X[name].to_numpy(dtype=object)) for name in table.X.columns]
    return Bunch(X=np.column_stack(columns), y=_whole(table.y), feature_names=list(table.X))


def _bundled_wine() -> Bunch:
    bunch = load_bundled("wine")
    return Bunch(X=bunch.data, y=bunch.target, feature_names=list(bunch.feature_names))


# Lines of values -------------------------------------------------------------------------------


def read_lines(
    paths: Sequence[Path],
    *,
    sep: str | None = ",",
    label: int = -1,
    skip: int = 0,
    names: Mapping[str, str] | None = None,
) -> Bunch:
    """Values with a label in each line, as the UCI repository has them.

    Parameters
    ----------
    paths : list of paths
        Files whose lines follow each other; packed ones end with ``.gz``.
    sep : str or None
        Separator of values; None is any white space.
    label : int
        Place of the label in a line.
    skip : int
        Lines in front that hold no values.
    names : dict, optional
        Names of labels. Others are kept: as integers where all are, else as text.

    Returns
    -------
    Bunch
        With ``X``, where ``?`` is NaN and text becomes its rank among the values of its column;
        ``X_str``, the values as text; and ``y``.
    """
    rows = []
    for path in paths:
        lines = _text(path).splitlines()[skip:]
        rows += [[v.strip() for v in line.split(sep)] for line in lines if line.strip(" ,\t.")]
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(
                f"{paths[0]}: row {number} has {len(row)} values, the first one has {width}"
            )
    if width < 2:
        raise ValueError(f"{paths[0]} has no values with labels")
    table = np.array(rows)
    labels = [(names or {}).get(text, text) for text in table[:, label]]
    text = np.delete(table, label % width, axis=1)
    return Bunch(X=np.column_stack([rank_text(c) for c in text.T]), X_str=text, y=_whole(labels))


def _text(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8", errors="replace")


def rank_text(column: Array) -> Array:
    """A column as numbers; text becomes its rank, and what is missing NaN.

    Examples
    --------
    >>> rank_text(np.array(["2", "?", "0.5"])), rank_text(np.array(["A40", "A410", "A42"]))
    (array([2. , nan, 0.5]), array([0., 2., 1.]))
    """
    missing = np.array([str(value) in ("?", "", "nan", "NaN", "None") for value in column])
    try:
        known = column[~missing].astype(float)
    except ValueError:
        # shorter first: A49 comes before A410
        order = sorted({str(v) for v in column[~missing]}, key=lambda v: (len(v), v))
        known = np.array([order.index(str(v)) for v in column[~missing]], dtype=float)
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = known
    return numbers


def _whole(labels: Iterable[Any]) -> Array:
    """Labels as integers where all are whole numbers, else as text."""
    words = [str(label).strip() for label in labels]
    if all(re.fullmatch(r"[+-]?\d+(\.0*(e\+00)?)?", word) for word in words):
        return np.array([int(float(word)) for word in words])
    return np.array(words)


def read_sparse(paths: Sequence[Path], *, n_features: int) -> Bunch:
    """Rows of ``feature:value`` and labels, file by file, as the NIPS 2003 challenge has them."""
    rows, labels = [], []
    for values, answers in zip(paths[::2], paths[1::2], strict=True):
        lines, given = _text(values).splitlines(), _text(answers).split()
        if len(lines) != len(given):
            raise ValueError(f"{values} has {len(lines)} rows, {answers} {len(given)} labels")
        rows += [dict(_pairs(line)) for line in lines]  # a blank one has zeros only
        labels += given
    place = [(i, j - 1, v) for i, row in enumerate(rows) for j, v in row.items()]
    i, j, v = (np.array(part) for part in zip(*place, strict=True))
    X = sp.csr_array((v.astype(float), (i, j)), shape=(len(rows), n_features))
    return Bunch(X=X, y=_whole(labels))


def _pairs(line: str) -> Iterable[tuple[int, float]]:
    for pair in line.split():
        feature, _, value = pair.partition(":")
        yield int(feature), float(value)


def read_sequences(paths: Sequence[Path]) -> Bunch:
    """Splice junctions: a label, a name and a sequence of letters in each line.

    ``X`` has the letters as numbers (A 1, C 2, G 3, T 4, then D, N, S, R), ``X_onehot`` a column
    for each of A, C, G, T at each place.
    """
    rows = [[part.strip() for part in line.split(",")] for line in _text(paths[0]).splitlines()]
    rows = [row for row in rows if len(row) == 3]
    letters = np.array([list(row[2]) for row in rows])
    order = np.array(list("ACGTDNSR"))
    X = 1.0 + np.argmax(letters[:, :, None] == order, axis=2)
    hot = (letters[:, :, None] == order[:4]).reshape(len(rows), -1).astype(float)
    return Bunch(X=X, X_str=letters, X_onehot=hot, y=np.array([row[0] for row in rows]))


def _split_lines(paths: Sequence[Path], **how: Any) -> Bunch:
    train, test = (read_lines([path], **how) for path in paths)
    return Bunch(X_train=train.X, y_train=train.y, X_test=test.X, y_test=test.y)


def _with_numeric(paths: Sequence[Path]) -> Bunch:
    """German credit: the attributes, and the publisher's numeric version."""
    bunch = read_lines(paths[:1], sep=None)
    return Bunch(**bunch, X24=read_lines(paths[1:], sep=None).X)


def _with_fixed_gaps(paths: Sequence[Path]) -> Bunch:
    """Hungarian heart data: missing values also as -9."""
    bunch = read_lines(paths)
    return Bunch(**bunch, X_m9=np.nan_to_num(bunch.X, nan=-9.0))


# Series ----------------------------------------------------------------------------------------


def read_series(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    """Series and their labels from a file of the UCR archive.

    Parameters
    ----------
    path : path
        A ``.ts`` file (values after commas, one dimension, the label after the last colon), an
        ``.arff`` file (label last), or lines of a label and values (``.tsv``, ``.txt``, none).

    Returns
    -------
    X : array (n_series, n_times)
        NaN where values are missing, and after the end of a shorter series.
    y : array (n_series,)
    """
    path = Path(path)
    if path.suffix == ".arff":
        bunch = _from_table(path)
        return bunch.X, bunch.y
    rows, labels = [], []
    for line in _text(path).splitlines():
        text = line.strip()
        if not text or text[0] in "#@%":
            continue
        if path.suffix == ".ts":
            values, _, label = text.rpartition(":")
            if ":" in values:
                raise ValueError(f"{path} has series of several dimensions: one can be read")
            parts = values.split(",")
        else:
            label, *parts = re.split(r"[,\s]+", text)
        rows.append([np.nan if part in ("?", "NaN", "nan") else float(part) for part in parts])
        labels.append(label)
    if not rows:
        raise ValueError(f"{path} has no series")
    X = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        X[i, : len(row)] = row
    return X, _whole(labels)


def _both_parts(paths: Sequence[Path]) -> Bunch:
    (X, y), (X_test, y_test) = map(read_series, paths)
    return Bunch(X_train=X, y_train=y, X_test=X_test, y_test=y_test)


def read_messages(folder: str | os.PathLike[str]) -> Bunch:
    """E-mails of several kinds, each in a folder, a Maildir or an mbox file.

    Parameters
    ----------
    folder : path
        With a folder for each kind, as the SpamAssassin corpus has it: a file is a message, and
        ``easy_ham``, ``hard_ham_2`` … are all ham, ``spam_2`` … spam. A folder with ``cur`` and
        ``new`` is a Maildir; a file that ends with ``.mbox`` has all messages of its kind.

    Returns
    -------
    Bunch
        With ``messages``, as bytes, and ``y``, the kinds.
    """
    found = [message for message in iter_messages(folder) if message.kind is not None]
    if len({message.kind for message in found}) < 2:
        raise ValueError(f"{folder} needs e-mails of two kinds or more, each in a folder")
    return Bunch(
        messages=[message.content for message in found],
        y=np.array([message.kind for message in found]),
    )


def _mails(paths: Sequence[Path]) -> Bunch:
    return read_messages(paths[0])


def _read_cancers(paths: Sequence[Path]) -> Bunch:
    """Fourteen cancers, in the files of either publisher."""
    return (read_res_files if paths[0].suffix == ".res" else read_gene_columns)(paths)


REUTERS_ROWS = 23_149 + 199_328
"""Stories of the Reuters corpus, those to learn from first."""


def _read_news(paths: Sequence[Path]) -> Bunch:
    """Stories of the Reuters corpus, as scikit-learn's `fetch_rcv1` has kept them in a folder.

    They are weighted words; 1 is Corporate (CCAT), -1 all others.
    """
    news = fetch_rcv1(data_home=str(paths[0].parent), download_if_missing=False)
    at = list(news.target_names).index("CCAT")
    y = np.where(news.target[:REUTERS_ROWS, [at]].toarray()[:, 0] > 0, 1, -1)
    return Bunch(X=sp.csr_array(news.data[:REUTERS_ROWS]), y=y)


# Which files are whose -------------------------------------------------------------------------

SOILS = {
    "1": "red soil",
    "2": "cotton crop",
    "3": "grey soil",
    "4": "damp grey soil",
    "5": "vegetation stubble",
    "7": "very damp grey soil",
}
PATCHES = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")

ORIGINALS: dict[str, Original] = {
    "arrhythmia": Original((("arrhythmia.data",),), read_lines),
    "dermatology": Original((("dermatology.data",),), read_lines),
    "dexter": Original(
        (
            ("dexter_train.data",),
            ("dexter_train.labels",),
            ("dexter_valid.data",),
            ("dexter_valid.labels",),
        ),
        partial(read_sparse, n_features=20_000),
    ),
    "gcm": Original(
        (
            ("14cancer.xtrain", "14cancer.xtrain.txt", "GCM_Training.res"),
            ("14cancer.ytrain", "14cancer.ytrain.txt", "GCM_Training.cls"),
            ("14cancer.xtest", "14cancer.xtest.txt", "GCM_Test.res"),
            ("14cancer.ytest", "14cancer.ytest.txt", "GCM_Test.cls"),
        ),
        _read_cancers,
    ),
    "german_credit": Original((("german.data",), ("german.data-numeric",)), _with_numeric),
    "heart_hungarian": Original((("processed.hungarian.data",),), _with_fixed_gaps),
    "heart_statlog": Original(
        (("heart.dat",),), partial(read_lines, sep=None, names={"1": "absent", "2": "present"})
    ),
    "image_segmentation": Original(
        (("segmentation.data",), ("segmentation.test",)),
        partial(read_lines, label=0, skip=5, names={p.upper(): p for p in PATCHES}),
    ),
    "ionosphere": Original((("ionosphere.data",),), read_lines),
    "isolet": Original((("isolet1+2+3+4.data",), ("isolet5.data",)), _split_lines),
    "nci60": Original((("nci.data.csv",), ("nci.label.txt", "nci.label")), read_cell_lines),
    "phoneme": Original((("phoneme.data",),), read_phonemes),
    "pima_diabetes": Original(
        (("pima-indians-diabetes.data", "pima-indians-diabetes.csv"),), read_lines
    ),
    "rcv1_ccat": Original((("RCV1",),), _read_news),
    "satimage": Original((("sat.trn",), ("sat.tst",)), partial(read_lines, sep=None, names=SOILS)),
    "sonar": Original((("sonar.all-data",),), read_lines),
    "spamassassin": Original((("spamassassin", "SpamAssassin"),), _mails),
    "spamassassin_1800": Original((("spamassassin", "SpamAssassin"),), _mails),
    "splice": Original((("splice.data",),), read_sequences),
    "usps": Original(
        (("zip.train", "zip.train.gz"), ("zip.test", "zip.test.gz")),
        partial(_split_lines, sep=None, label=0),
    ),
    "wine": Original((("wine.data",),), partial(read_lines, label=0)),
}
"""Sets with files of their own; ``ucr_<name>`` is any set of the UCR archive."""


def _original(name: str) -> Original | None:
    if not name.startswith("ucr_"):
        return ORIGINALS.get(name)
    stem = name.removeprefix("ucr_")
    endings = (".tsv", ".ts", ".txt", ".arff", "")
    parts = (tuple(f"{stem}_{p}{e}" for e in endings) for p in ("TRAIN", "TEST"))
    return Original(tuple(parts), _both_parts)
