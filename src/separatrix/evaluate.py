"""How well methods do, by protocols that return plain records."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any, TypedDict

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.comparison import (
    Comparison,
    Fold,
    Loadings,
    MethodRecord,
    Progress,
    Summary,
    View,
    from_plain,
    to_plain,
)
from separatrix.contenders import LEFT_OUT, Contender, contenders
from separatrix.fold import DECISIONS, Data, Job, decision_of, run_fold, split_rows
from separatrix.ranking import mean_interval
from separatrix.rows import encode_labels, refuse_lazy_frame, refuse_nonfinite_rows

__all__ = [
    "Comparison",
    "Contender",
    "Fold",
    "Loadings",
    "MethodRecord",
    "PrequentialRecord",
    "Progress",
    "Summary",
    "View",
    "compare",
    "from_plain",
    "prequential",
    "progress",
    "to_plain",
]


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


def prequential(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    batch_size: int = 100,
    *,
    classes: ArrayLike | None = None,
    verbose: bool = False,
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
        already, such as `datasets.iter_csv` yields.
    y : array (n_samples,), optional
        Labels.
    batch_size : int
        Rows that are predicted and then learned together.
    classes : array, optional
        All labels that may come, announced with the first batch; those of `y` by default, and
        those that a fitted estimator knows. A stream of batches needs them unless the first batch
        has every class.
    verbose : bool
        Show a progress bar (needs the package rich).

    Returns
    -------
    list of dict
        For each batch that was tested `seen`, `rows`, `wrong`, `error` (the average online error
        up to this batch), `predict_seconds` and `learn_seconds`.

    Examples
    --------
    >>> from separatrix import OnlineIPCAC, datasets
    >>> from separatrix.evaluate import prequential
    >>> digits = datasets.load("digits")
    >>> records = prequential(OnlineIPCAC(), digits.data, digits.target, batch_size=100)
    >>> len(records), records[-1]["seen"], round(records[-1]["error"], 2)
    (17, 1700, 0.08)
    """
    if not hasattr(estimator, "partial_fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            f"{type(estimator).__name__} cannot learn from a stream: prequential needs a "
            "classifier with partial_fit and predict"
        )
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size} must be at least 1")
    batches, n_batches = X, None
    if y is not None:
        labels = column_or_1d(y)
        if classes is None and not _is_fitted(estimator):
            classes = np.unique(labels)
        batches = _cut(X, labels, batch_size)
        n_batches = -(-len(labels) // batch_size)
    records: list[PrequentialRecord] = []
    tested = wrong = seen = 0
    fitted, announced = _is_fitted(estimator), False
    for rows, given in progress(batches, "stream", total=n_batches, shown=verbose):
        labels = column_or_1d(given)
        start = time.perf_counter()
        failures = 0
        if fitted:
            failures = int(np.count_nonzero(column_or_1d(estimator.predict(rows)) != labels))
        middle = time.perf_counter()
        expected = np.unique(labels) if classes is None and not fitted else classes
        more = {} if announced or expected is None else {"classes": expected}
        estimator.partial_fit(rows, labels, **more)
        end = time.perf_counter()
        if fitted:
            tested, wrong = tested + len(labels), wrong + failures
            records.append(
                PrequentialRecord(
                    seen=seen,
                    rows=len(labels),
                    wrong=failures,
                    error=wrong / tested,
                    predict_seconds=middle - start,
                    learn_seconds=end - middle,
                )
            )
        fitted, announced, seen = True, True, seen + len(labels)
    if not records:
        raise ValueError(
            "nothing was tested: the stream has no more than one batch. Use a smaller batch_size"
        )
    return records


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _cut(X: Any, y: np.ndarray, batch_size: int) -> Iterator[tuple[Any, np.ndarray]]:
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


# Comparing methods -------------------------------------------------------------------------------


def compare(
    methods: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_splits: int = 10,
    test_size: float = 0.3,
    scale: Any = "standard",
    decision: str = "own",
    feature_names: Iterable[str] | None = None,
    time_budget: float | None = None,
    memory: bool = True,
    n_jobs: int | None = None,
    results: Any = None,
    progress: Callable[[Progress], None] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare methods on the same repeated splits, every choice made inside the training part."""
    data, classes = labelled_data(X, y, feature_names)
    asked = contenders(methods)
    folds: dict[str, list[Fold]] = {c.name: [] for c in asked}
    for split in range(n_splits):
        for contender in asked:
            job = Job(contender, split, test_size, scale, decision, random_state, memory)
            folds[contender.name].append(run_fold(job, data))
    tests = [split_rows(data.codes, test_size, (random_state, s))[1] for s in range(n_splits)]
    return Comparison(
        classes=tuple(classes.tolist()),
        class_counts=tuple(np.bincount(data.codes).tolist()),
        feature_names=data.feature_names,
        n_samples=len(data.codes),
        labels=tuple(data.codes.tolist()),
        tests=tuple(tuple(test.tolist()) for test in tests),
        settings={
            "n_splits": n_splits,
            "test_size": test_size,
            "scale": scale if isinstance(scale, str | None) else repr(scale),
            "decision": decision,
            "time_budget": time_budget,
            "random_state": random_state,
        },
        methods=tuple(
            method_record(c, folds[c.name], decision, n_splits, test_size) for c in asked
        ),
        left_out=dict(LEFT_OUT) if methods is None else {},
        data=fingerprint(data, classes),
        versions={
            "python": platform.python_version(),
            **{p: version(p) for p in ("separatrix", "scikit-learn", "numpy", "scipy")},
        },
        seconds=sum(f.seconds for found in folds.values() for f in found),
    )


def labelled_data(
    X: Any, y: ArrayLike, feature_names: Iterable[str] | None
) -> tuple[Data, np.ndarray]:
    """Checked rows with the names of their features, and the classes."""
    refuse_lazy_frame(X)
    if feature_names is None and hasattr(X, "columns"):
        feature_names = X.columns
    rows = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    names = [f"x{j}" for j in range(rows.shape[1])]
    if feature_names is not None:
        names = [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} names, but X has {rows.shape[1]} features"
        )
    refuse_nonfinite_rows(rows, np.array(names, dtype=object))
    classes, codes = encode_labels(column_or_1d(y), rows.shape[0])
    return Data(rows, codes, len(classes), tuple(names)), classes


def fingerprint(data: Data, classes: np.ndarray) -> str:
    """A short text that other rows, labels or names of features do not have."""
    parts = [data.X.data, data.X.indices, data.X.indptr] if sp.issparse(data.X) else [data.X]
    digest = hashlib.sha256(repr((data.X.shape, data.feature_names, classes.tolist())).encode())
    for part in [*parts, data.codes.astype(np.int64)]:
        digest.update(str(part.dtype).encode())
        digest.update(np.ascontiguousarray(part))
    return digest.hexdigest()[:16]


def method_record(
    contender: Contender, folds: list[Fold], decision: str, n_splits: int, test_size: float
) -> MethodRecord:
    """What the folds of a method come to."""
    done = [fold for fold in folds if fold.status == "done"]
    reason = next((fold.reason for fold in folds if fold.status != "done"), "")
    names = dict.fromkeys(name for fold in done for name in fold.scores)
    return MethodRecord(
        name=contender.name,
        kind=contender.kind,
        description=contender.description,
        estimator=repr(contender.estimator),
        grid={name: list(values) for name, values in contender.grid.items()},
        decision=decision_of(contender, decision),
        status="done" if len(done) == n_splits else "partial" if done else "failed",
        reason=reason,
        n_done=len(done),
        summary={
            name: Summary(
                *mean_interval([f.scores[name] for f in done if name in f.scores], test_size)
            )
            for name in names
        },
        folds=tuple(folds),
    )
