"""Evaluation over time: streams predicted before they are learned, and early decisions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.base.batches import describe_new_class
from separatrix.base.estimator import SubspaceEstimator
from separatrix.evaluate.drift import DriftDetector
from separatrix.files.columns import Remedies, check_features
from separatrix.files.tables import Batch, same_features
from separatrix.fisher.row_by_row import RowByRow, has_cheap_rows

BATCH_REMEDIES = Remedies(
    "Leave them out (--ignore)",
    "Pass over such rows (--missing skip), or leave out the columns (--ignore)",
)
"""Remedies for batches that cannot be learned."""


MAX_WAITING_SHARE = 0.1
"""Share of the rows learned that may wait before a model of moments is solved anew ("auto")."""

MAX_WAITING_ROWS = 20
"""The most rows that may wait so."""


# Streams -----------------------------------------------------------------------------------------


class PrequentialRecord(TypedDict):
    """One batch of a stream that was first predicted, then learned."""

    seen: int
    """Rows learned before the batch came."""
    rows: int
    """Rows of the batch."""
    wrong: int
    """How many of them were predicted wrongly."""
    error: float
    """Share of wrong predictions among all rows predicted so far: the average online error."""
    predict_seconds: float
    learn_seconds: float
    drift: NotRequired[list[str]]
    """Changes that the batch shows, in words; only where they are looked for."""


def prequential(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    batch_size: int = 100,
    *,
    classes: ArrayLike | str | None = None,
    verbose: bool = False,
    refresh: int | str = "auto",
    drift: DriftDetector | None = None,
) -> list[PrequentialRecord]:
    """Predict each batch of a stream before learning from it.

    Every row is tested once, by a model that has not seen it, and no row is held back. The
    estimator is trained in place: afterwards it has learned the whole stream and can go on. An
    estimator that is not fitted yet learns the first batch without being tested on it.

    Parameters
    ----------
    estimator : classifier with partial_fit
        Of this package, or any that follows scikit-learn's conventions.
    X : array (n_samples, n_features), or an iterable of batches
        The rows in the order of time. Without `y`, pairs of rows and labels that are batches
        already, such as those of `files.tables.iter_batches`.
    y : array (n_samples,), optional
        Labels.
    batch_size : int
        Rows that are predicted and then learned together.
    classes : array or "open", optional
        All labels that may come, announced with the first batch; those of `y` by default, and
        those that a fitted estimator knows. A stream of batches needs them unless the first batch
        has every class. "open" lets models of moments take new classes as they come; a warning
        names each.
    verbose : bool
        Show a progress bar (needs the package rich).
    refresh : "auto" or int
        Models of moments solve a problem of all rows when they are asked after having learned,
        which would make rows that come one by one dear. Rows therefore wait, and are predicted
        and learned together once they are as many as this number. With "auto" this number is a
        tenth of the rows that the model has learned and still remembers, at most 20: batches of 20
        rows or more are learned at once, as with 1. Other models learn every batch at once.

    drift : DriftDetector, optional
        Watches class means and errors; its findings are in ``drift.found`` and in the records.

    Returns
    -------
    list of dict
        For each batch that was tested `seen` (rows learned before, without those that wait),
        `rows`, `wrong`, `error` (the average online error up to this batch), `predict_seconds`
        and `learn_seconds`; with a detector `drift`, changes in words.

    Examples
    --------
    >>> from separatrix import OnlineIPCAC, datasets
    >>> from separatrix.evaluate import prequential
    >>> digits = datasets.load("digits")
    >>> records = prequential(OnlineIPCAC(), digits.data, digits.target, batch_size=100)
    >>> len(records), records[-1]["seen"], records[-1]["error"] < 0.1
    (17, 1700, True)
    """
    if not hasattr(estimator, "partial_fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            f"{type(estimator).__name__} cannot learn from a stream: prequential needs a "
            "classifier with partial_fit and predict"
        )
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size} must be at least 1")
    if refresh != "auto" and not (isinstance(refresh, Integral) and refresh >= 1):
        raise ValueError(f'refresh={refresh!r} must be "auto" or a number of rows, 1 or more')
    batches, n_batches = X, None
    by_rows = batch_size == 1 and refresh == "auto" and drift is None
    if y is not None and by_rows and isinstance(X, np.ndarray) and has_cheap_rows(estimator):
        return _follow_rows(estimator, X, column_or_1d(y), classes, verbose)
    if y is not None:
        labels = column_or_1d(y)
        if classes is None and not _is_fitted(estimator):
            classes = np.unique(labels)
        batches = _cut_batches(X, labels, batch_size)
        n_batches = -(-len(labels) // batch_size)
    records: list[PrequentialRecord] = []
    fitted = _is_fitted(estimator)
    seen = tested = wrong = 0
    shown = progress(batches, "stream", total=n_batches, shown=verbose)
    for group in _let_batches_wait(shown, estimator, refresh):
        rows, labels = _stack([X for X, _ in group]), np.concatenate([y for _, y in group])
        start = time.perf_counter()
        right = column_or_1d(estimator.predict(rows)) == labels if fitted else None
        middle = time.perf_counter()
        if not fitted and classes is None:
            classes = np.unique(labels)
        announced = {} if classes is None else {"classes": classes}
        changes = []
        if drift is not None and right is not None:
            changes = [
                change.words for change in drift.watch(estimator, rows, labels, right, seen)
            ]
        estimator.partial_fit(rows, labels, **announced)
        end = time.perf_counter()
        if right is not None:
            spent = (middle - start) / len(labels), (end - middle) / len(labels)
            for part in np.split(right, np.cumsum([len(y) for _, y in group])[:-1]):
                tested, wrong = tested + len(part), wrong + int(np.count_nonzero(~part))
                records.append(_record(part, seen, wrong / tested, spent))
            if drift is not None:
                records[-1]["drift"] = changes
        fitted, seen = True, seen + len(labels)
        classes = classes if isinstance(classes, str) else None
    if not records:
        raise ValueError(
            "nothing was tested: the stream has only one batch. Use a smaller batch_size"
        )
    return records


def _follow_rows(
    estimator: Any, X: np.ndarray, y: np.ndarray, classes: Any, verbose: bool
) -> list[PrequentialRecord]:
    """Records of single rows, each predicted by a rule that has learned all before."""
    if len(X) != len(y):
        raise ValueError(f"X and y differ in length: y has {len(y)} labels")
    first = 0
    if not _is_fitted(estimator):
        estimator.partial_fit(X[:1], y[:1], classes=np.unique(y) if classes is None else classes)
        first = 1
    known = estimator.classes_ if classes is None else classes
    if not (isinstance(known, str) or np.isin(y, known).all()):
        unknown = y[~np.isin(y, known)].tolist()[0]
        raise ValueError(f"y has the label {unknown!r}, which is none of classes={list(known)}")
    X, y, seen = X[first:], y[first:], first
    if not len(y):
        raise ValueError("nothing was tested: the stream has only one row")
    rows = check_array(X, dtype=np.float64)
    learner, records, wrong = RowByRow(estimator), [], 0
    shown = progress(zip(rows, y, strict=True), "stream", total=len(y), shown=verbose)
    for i, (row, label) in enumerate(shown):
        start = time.perf_counter()
        right = np.array([learner.predict_one(row) == label])
        middle = time.perf_counter()
        learner.learn_one(row, label)
        wrong += int(not right[0])
        spent = middle - start, time.perf_counter() - middle
        records.append(_record(right, seen + i, wrong / (i + 1), spent))
    _ = learner.model  # the last rows are added to the estimator
    return records


def _let_batches_wait(
    batches: Iterable[Any], estimator: Any, refresh: int | str
) -> Iterator[list[tuple[Any, np.ndarray]]]:
    """Groups of batches that are predicted and learned together."""
    group: list[tuple[Any, np.ndarray]] = []
    learned, waiting = 0, 0
    for rows, y in batches:
        labels = column_or_1d(y)
        group.append((rows, labels))
        waiting += len(labels)
        if waiting >= _most_waiting(estimator, learned, refresh):
            yield group
            group, learned, waiting = [], learned + waiting, 0
    if group:
        yield group


def _most_waiting(estimator: Any, learned: int, refresh: int | str) -> float:
    """The number of rows at which those that wait are learned."""
    if not isinstance(estimator, SubspaceEstimator):  # it does not put off its solution
        return 1
    if not isinstance(refresh, str):
        return refresh
    remembered: float = min(learned, getattr(estimator, "window", None) or math.inf)
    decay = getattr(estimator, "decay", None) or 1.0
    if decay < 1:
        remembered = min(remembered, 1 / (1 - decay))
    return min(MAX_WAITING_SHARE * remembered, MAX_WAITING_ROWS)


def _record(
    right: np.ndarray, seen: int, error: float, spent: tuple[float, float]
) -> PrequentialRecord:
    """The record of a batch; `spent` is the time of a row."""
    return PrequentialRecord(
        seen=seen,
        rows=len(right),
        wrong=int(np.count_nonzero(~right)),
        error=error,
        predict_seconds=spent[0] * len(right),
        learn_seconds=spent[1] * len(right),
    )


def _stack(parts: Sequence[Any]) -> Any:
    """Arrays, sparse matrices or data frames below one another."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        from pandas import concat

        return concat(parts)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


class StreamProgress(NamedTuple):
    """How far a stream has been learned.

    Attributes
    ----------
    rows : int
        Rows learned.
    tested, wrong : int
        Rows that were predicted before they were learned, and how many of them wrongly.
    left_out : int
        Rows with gaps that were passed over.
    place : int
        Byte of the stream, or row of the table, at which the next row begins.
    """

    rows: int = 0
    tested: int = 0
    wrong: int = 0
    left_out: int = 0
    place: int = 0

    @property
    def error(self) -> float | None:
        """Share of wrong predictions: the average online error."""
        return self.wrong / self.tested if self.tested else None


def learn(
    model: Any,
    batches: Iterable[Batch],
    progress: StreamProgress = StreamProgress(),  # noqa: B008 - never changed
    *,
    missing: str = "refuse",
    new_classes: str = "refuse",
    drift: DriftDetector | None = None,
) -> Iterator[StreamProgress]:
    r"""Predict and then learn batch after batch; stop and go on between any two of them.

    Parameters
    ----------
    model : classifier with partial_fit
        Trained in place. Columns are found by name once it has learned some.
    batches : iterable of Batch
        Such as `iter_batches` yields.
    progress : StreamProgress
        The progress before these batches.
    missing : "refuse" or "skip"
        Raise for rows with missing values, or leave them out.
    new_classes : "refuse" or "open"
        Raise for labels that the first rows did not have, or take them as new classes, each with
        a warning.
    drift : DriftDetector, optional
        As for `prequential`.

    Yields
    ------
    StreamProgress
        After each batch. Kept together with the model it is all that is needed to go on.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix import OnlineIPCAC
    >>> from separatrix.evaluate.stream import learn
    >>> from separatrix.files.tables import iter_batches
    >>> file = BytesIO(b"width,kind\n1,a\n2,b\n1.1,a\n2.1,b\n")
    >>> for progress in learn(OnlineIPCAC(), iter_batches(file, batch_size=2)):
    ...     print(progress.rows, progress.tested, progress.wrong)
    2 0 0
    4 2 0
    """
    for batch in batches:
        X, y = batch.X, batch.y
        if hasattr(model, "feature_names_in_"):
            X = same_features(X, model.feature_names_in_)
        if missing == "skip" and not sp.issparse(X):
            whole = ~X.isna().any(axis=1).to_numpy()
            X, y = X[whole], y[whole]
        if not sp.issparse(X):
            check_features(X, remedies=BATCH_REMEDIES)
        progress = progress._replace(
            place=batch.end, left_out=progress.left_out + len(batch.y) - len(y)
        )
        if len(y):
            progress = _learn_batch(model, X, y, progress, new_classes, drift)
        yield progress


def _learn_batch(
    model: Any,
    X: Any,
    y: np.ndarray,
    progress: StreamProgress,
    new_classes: str,
    drift: DriftDetector | None,
) -> StreamProgress:
    if progress.rows:
        classes: Any = "open" if new_classes == "open" else None
        if classes is None and len(getattr(model, "classes_", ())) == 1:
            classes = np.unique(y)  # while one class is known, others are still to come
        elif classes is None:
            _check_no_new_class(model, y)
        if drift is not None:
            drift.start = progress.rows
        (record,) = prequential(model, [(X, y)], classes=classes, drift=drift)
        progress = progress._replace(
            tested=progress.tested + len(y), wrong=progress.wrong + record["wrong"]
        )
    else:
        model.partial_fit(X, y, classes=np.unique(y))
    return progress._replace(rows=progress.rows + len(y))


def _check_no_new_class(model: Any, y: np.ndarray) -> None:
    labels, counts = np.unique(y, return_counts=True)
    new = ~np.isin(labels, model.classes_)
    if new.any():
        words = describe_new_class(labels[new].tolist()[0], int(counts[new][0]), model.classes_)
        raise ValueError(
            f"{words}. Classes are those of the first batch: correct the label, take new classes "
            "as they come (--open-classes), or begin with a larger batch (--batch-size)"
        )


# Rows ------------------------------------------------------------------------------------------


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _cut_batches(X: Any, y: np.ndarray, batch_size: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Batches of arrays, sparse matrices and data frames."""
    rows = X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)
    if (len(X) if hasattr(X, "iloc") else rows.shape[0]) != len(y):
        raise ValueError(f"X and y differ in length: y has {len(y)} labels")
    for part in gen_batches(len(y), batch_size):
        yield rows[part], y[part]


def progress(
    items: Iterable[Any], what: str, *, total: int | None = None, shown: bool = True
) -> Iterable[Any]:
    """The items, with a bar that shows how many have passed and how long it will take."""
    if not shown:
        return items
    try:
        from rich.progress import track
    except ImportError:
        raise ImportError(
            "the progress bar needs the package rich: pip install 'separatrix[app]', or "
            "verbose=False"
        ) from None
    return track(items, description=what, total=total)
