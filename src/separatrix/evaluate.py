"""How well methods do, by protocols that return plain records."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from importlib.metadata import version
from numbers import Integral, Real
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import gen_batches
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
from separatrix.fold import (
    DECISIONS,
    Job,
    decision_of,
    rule_to_keep,
    scaler_for,
    seed_of,
    split_rows,
    train_method,
)
from separatrix.protocol import (
    all_folds,
    fingerprint,
    job_key,
    labelled_data,
    method_record,
    place,
    scale_name,
    versions_of,
)
from separatrix.ranking import (
    Pair,
    Ranking,
    data_set_scores,
    rank_methods,
    split_scores,
)
from separatrix.results import ResultsFile
from separatrix.rows import refuse_lazy_frame

__all__ = [
    "Comparison",
    "Contender",
    "Fold",
    "Loadings",
    "MethodRecord",
    "Pair",
    "PrequentialRecord",
    "Progress",
    "Ranking",
    "ReliabilityRecord",
    "Summary",
    "Tuned",
    "View",
    "compare",
    "contenders",
    "data_set_scores",
    "from_plain",
    "prequential",
    "progress",
    "rank_methods",
    "reliability_curve",
    "split_scores",
    "to_plain",
    "tuned",
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


class ReliabilityRecord(TypedDict):
    """Decisions on test series by one rule."""

    rule: str
    """"reliable" for decisions as soon as they are reliable, "fixed time" for all at one time."""
    required: float | None
    """τ that was asked for; None at a fixed time."""
    time: float
    """Average number of leading values that were used."""
    reliability: float
    """Share of decisions that are those of the complete series."""
    early_reliability: float
    """The same among series decided before their end; NaN where there are none."""
    early: float
    """Share of series decided before their end."""
    accuracy: float
    """Share of decisions that are right."""


def reliability_curve(
    early: Any,
    X: ArrayLike,
    y: ArrayLike,
    reliabilities: Sequence[float] = (0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99),
    *,
    times: Sequence[int] | None = None,
) -> list[ReliabilityRecord]:
    """How early decisions are, and how many of them the complete series would confirm.

    Every τ is compared with deciding on all series at the same time: with the class of the row
    that is expected from the values so far.

    Parameters
    ----------
    early : fitted EarlyClassifier
    X : array (n_samples, n_times)
        Complete test series.
    y : array (n_samples,)
        Their labels.
    reliabilities : sequence of float
        Values of τ; the defaults have those of the source.
    times : sequence of int, optional
        Numbers of leading values after which all series are decided. By default the average times
        at which τ led to decisions, rounded up: what the same patience gives to everybody.

    Returns
    -------
    list of dict
        One for each τ, then one for each fixed time, with `rule` ("reliable" or "fixed time"),
        `required` (τ, or None), `time`, `reliability` (share of all decisions that are those of
        the complete series), `early_reliability` (the same among decisions before the end),
        `early` (how many these are) and `accuracy`.

    Examples
    --------
    >>> from separatrix import EarlyClassifier, FisherDiscriminant, datasets
    >>> from separatrix.evaluate import reliability_curve
    >>> series = datasets.make_series(400, 40, random_state=0)
    >>> X, X_test = np.split(series.data, 2)
    >>> y, y_test = np.split(series.target, 2)
    >>> model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
    >>> decided, at_once = reliability_curve(model, X_test, y_test, [0.9])
    >>> decided["reliability"] >= 0.9, decided["time"] < 40
    (True, True)
    >>> at_once["rule"], at_once["reliability"] < decided["reliability"]
    ('fixed time', True)
    """
    labels = column_or_1d(y)
    n_times = _refuse_senseless_series(early, X, labels, times)
    complete = early.predict(X)
    records = []
    for tau in reliabilities:
        decisions = early.decide_early(X, reliability=tau)
        before = decisions.time < n_times
        records.append(
            _judged(float(tau), decisions.label, decisions.time, before, complete, labels)
        )
    if times is None:
        times = sorted({math.ceil(record["time"]) for record in records})
    for t in times:
        guess = early.decide_early(_leading(X, t), reliability=1.0).label
        when = np.full(len(labels), t)
        records.append(_judged(None, guess, when, when < n_times, complete, labels))
    return records


def _refuse_senseless_series(
    early: Any, X: Any, labels: np.ndarray, times: Sequence[int] | None
) -> int:
    """Raise before anything is decided; else the number of values of the series."""
    check_is_fitted(early)
    rows = np.asarray(X, dtype=np.float64)
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} series, but y has {len(labels)} labels")
    if np.isnan(rows).any():
        raise ValueError(
            "X has missing values: decisions are compared with those of complete series"
        )
    unknown = sorted(set(labels.tolist()) - set(early.classes_.tolist()), key=str)
    if unknown:
        raise ValueError(
            f"y has labels that were not learned: {unknown[:10]}, but classes_ are "
            f"{early.classes_.tolist()[:10]}"
        )
    n_times = early.n_features_in_
    given = [] if times is None else list(times)
    if not all(isinstance(t, Integral) and 0 <= t <= n_times for t in given):
        raise ValueError(f"times={given} must be whole numbers between 0 and {n_times}")
    return int(n_times)


def _leading(X: Any, t: int) -> Any:
    """The first t values of series, with their names; none at all as a missing one."""
    columns = X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)
    return columns[:, :t] if t else columns[:, :1] * math.nan


def _judged(
    required: float | None,
    decided: np.ndarray,
    times: np.ndarray,
    before: np.ndarray,
    complete: np.ndarray,
    y: np.ndarray,
) -> ReliabilityRecord:
    same = decided == complete
    return ReliabilityRecord(
        rule="fixed time" if required is None else "reliable",
        required=required,
        time=float(times.mean()),
        reliability=float(same.mean()),
        early_reliability=float(same[before].mean()) if before.any() else math.nan,
        early=float(before.mean()),
        accuracy=float(np.mean(decided == y)),
    )


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
    client: Any = None,
    results: Any = None,
    progress: Callable[[Progress], None] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare methods on the same repeated splits, every choice made inside the training part.

    In each split a share of the rows of each class is held out. Scaling, kernel widths, costs,
    neighbours and the number of directions are chosen by cross-validation within the rest, the
    method is fitted to all of the rest, and the rows that were held out are predicted once.

    Parameters
    ----------
    methods : None, or an iterable
        None compares every method of the package, found among its public names, and four
        references: "raw" (all features), "PCA", "LDA" and "NCA" of scikit-learn. Otherwise names
        of these, estimators, and pairs ``(name, estimator)``, which may come in a dictionary.
        Named methods are tuned (`contenders.GRIDS`); estimators are fitted as they are given,
        which may well be a `GridSearchCV`.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. What is missing or infinite is refused, unless a transformer is given as `scale`:
        it may fill in what is missing.
    y : array (n_samples,)
        Labels. A class of one row is always in the training part.
    n_splits : int
        Number of random splits.
    test_size : float in (0, 1)
        Share of each class that is held out.
    scale : "standard", None or transformer
        "standard" brings every feature to mean zero and variance one (sparse rows to variance
        one), as the training part has it. A transformer is cloned and fitted to the training part;
        columns that it makes have the names that it gives them, or numbers.
    decision : "own", "3nn", "centroid" or "gaussian"
        What classifies rows in the subspace: the method itself where it can and three nearest
        neighbours otherwise; or for all methods three nearest neighbours, the nearest class mean,
        or Gaussians of one covariance. Classifiers without a subspace always decide themselves.
    feature_names : iterable of str, optional
        Names of the columns; those of a data frame by default.
    time_budget : float, optional
        Seconds for each method, over all splits. When they are over, the fit that is running is
        stopped and splits that have not begun are skipped; the record says how many were done.
    memory : bool
        Measure the peak memory of a fit, by one more fit on split 0. It is left out where a fit
        takes more than five seconds, or more than a tenth of what is left of `time_budget`.
    n_jobs : int, optional
        How many folds run at a time, as in joblib: None is 1, -1 all cores. Each uses one BLAS
        thread. Results do not depend on it.
    client : distributed.Client, optional
        Run the folds on the workers of this Dask client instead, one at a time on each. A
        `time_budget` is refused then: folds cannot be stopped there.
    results : path, optional
        File to which each fold is added as soon as it is finished (JSON, one a line). When the
        file is there already, what it holds is not computed again: an interrupted comparison goes
        on, and more splits or methods may be asked for. A file of other data is refused, and one
        that another comparison is writing. Folds that failed because a process died, or for want
        of memory or a file, are tried again.
    progress : callable, optional
        Called with a `Progress` after each fold, and about every second in between when there are
        worker processes.
    random_state : int
        Source of the splits, of folds within the training part, and of `random_state` in
        estimators, and a transformer as `scale`, that leave it None.

    Returns
    -------
    Comparison
        Plain records; `to_plain` makes dictionaries and lists of them. Methods that failed are
        among them, with the reason.

    Notes
    -----
    No number in the records has seen a row that it is computed on: see the page "Comparing
    methods" of the manual for what each number means.

    Parameters are chosen by at most 500 training rows, drawn from each class by its share, in
    three folds, one parameter after the other. Beyond 1000 training rows kernel methods use 300
    landmarks, and a few slow methods learn from fewer rows (`contenders.MOST_ROWS`);
    ``Fold.chosen`` and ``Fold.n_rows`` say so.

    With a time budget or several jobs folds run in worker processes. Only a process can be stopped
    in the middle of a fit. No guard against a second import of the main module is needed.

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.evaluate import compare
    >>> wine = datasets.load("wine")
    >>> found = compare(["FisherDiscriminant", "PCA"], wine.data, wine.target, n_splits=2)
    >>> [(m.name, m.status, m.decision) for m in found.methods]
    [('FisherDiscriminant', 'done', 'own'), ('PCA', 'done', '3nn')]
    >>> found["FisherDiscriminant"].summary["accuracy"].mean > 0.9
    True
    """
    _check_settings(n_splits, test_size, scale, decision, time_budget, n_jobs, random_state)
    _check_client(client, n_jobs, time_budget)
    gaps_are_filled = not (scale is None or isinstance(scale, str))
    data, classes = labelled_data(X, y, feature_names, gaps=gaps_are_filled)
    asked = contenders(methods)
    jobs = [
        Job(contender, split, test_size, scale, decision, int(random_state), memory)
        for split in range(n_splits)
        for contender in asked
    ]
    mark = fingerprint(data, classes)
    versions = {
        "python": platform.python_version(),
        **{p: version(p) for p in ("separatrix", "scikit-learn", "numpy", "scipy")},
    }
    keys = {} if results is None else {place(job): job_key(job) for job in jobs}
    opened = nullcontext() if results is None else closing(ResultsFile(results, mark, versions))
    with opened as file:
        folds = all_folds(jobs, keys, data, file, n_jobs, time_budget, progress, client)
        versions = versions if file is None else versions_of(folds, keys, file)
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
            "scale": scale_name(scale),
            "decision": decision,
            "time_budget": time_budget,
            "random_state": int(random_state),
        },
        methods=tuple(
            method_record(
                c, [f for f in folds if f.method == c.name], decision, tests, len(data.codes)
            )
            for c in asked
        ),
        left_out=dict(LEFT_OUT) if methods is None else {},
        data=mark,
        versions=versions,
        seconds=sum(fold.seconds for fold in folds),
    )


class Tuned(NamedTuple):
    """A method with settings chosen as in a comparison.

    Attributes
    ----------
    model : estimator
        Fitted: a pipeline of scaling, method and decision, or the method where it is alone.
    chosen : dict
        Parameters that were chosen, and what they were set to; as ``Fold.chosen``.
    """

    model: Any
    chosen: dict[str, Any]


def tuned(
    method: Any,
    X: Any,
    y: ArrayLike,
    *,
    scale: Any = "standard",
    decision: str = "own",
    random_state: int = 0,
) -> Tuned:
    """Fit the model that a comparison judged: settings chosen within these rows, then all learned.

    Parameters
    ----------
    method : str, estimator, pair or Contender
        One method, as in `compare`: named ones are tuned, estimators fitted as they are given.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. A data frame may have gaps and columns of text where a transformer is given as
        `scale` that makes numbers of them.
    y : array (n_samples,)
        Labels.
    scale, decision, random_state
        As in `compare`.

    Returns
    -------
    Tuned
        With fields ``model`` and ``chosen``.

    Notes
    -----
    Invariant: fitted to the training part of the first split of a comparison with the same
    settings, the model predicts for its test part what the fold did. What is chosen is fitted once
    more, so that the model knows labels and names of columns.

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.evaluate import tuned
    >>> wine = datasets.load("wine")
    >>> model, chosen = tuned("PCA", wine.data, wine.target)
    >>> sorted(chosen), model.predict(wine.data[:2]).tolist() == wine.target[:2].tolist()
    (['n_components'], True)
    """
    _check_settings(1, 0.5, scale, decision, None, None, random_state)
    (contender,) = contenders([method])
    job = Job(contender, 0, 0.5, scale, decision, int(random_state), memory=False)
    refuse_lazy_frame(X, "tuned")
    if isinstance(scale, str):
        labelled_data(X, y, None)  # what is wrong with X is told before it is scaled
    with config_context(transform_output="default"):
        scaler = scaler_for(scale, X, seed_of(job))
        rows = X if scaler is None else scaler.fit_transform(X)
        data, classes = labelled_data(rows, y, None)
        trained = train_method(job, data.X, data.codes, data.n_classes)
        labels = classes[data.codes]
        # with names where the method is the first step
        known = rows if scaler is None else data.X
        model = trained.again.set_params(**trained.chosen)
        model.fit(_rows_of(known, trained.rows), labels[trained.rows])
        rule = rule_to_keep(decision_of(contender, decision), len(labels))
        if rule is not None:
            rule.fit(model.transform(known), labels)
    steps = [step for step in (scaler, model, rule) if step is not None]
    return Tuned(make_pipeline(*steps) if len(steps) > 1 else model, trained.chosen)


def _rows_of(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _check_settings(
    n_splits: int,
    test_size: float,
    scale: Any,
    decision: str,
    time_budget: float | None,
    n_jobs: int | None,
    random_state: int,
) -> None:
    if not isinstance(n_splits, Integral) or n_splits < 1:
        raise ValueError(f"n_splits={n_splits!r} must be a whole number of at least 1")
    if not isinstance(test_size, Real) or not 0 < test_size < 1:
        raise ValueError(
            f"test_size={test_size!r} must be a number between 0 and 1: the share of rows held out"
        )
    if decision not in ("own", *DECISIONS):
        raise ValueError(f"decision={decision!r} must be one of own, {', '.join(DECISIONS)}")
    if isinstance(scale, type):
        raise ValueError(f"scale={scale!r} is a class: give a transformer, {scale.__name__}()")
    named = isinstance(scale, str) and scale == "standard"
    if not (scale is None or named or hasattr(scale, "transform")):
        raise ValueError(f'scale={scale!r} must be "standard", None or a transformer')
    in_seconds = isinstance(time_budget, Real) and not isinstance(time_budget, bool)
    if time_budget is not None and not (in_seconds and time_budget > 0):
        raise ValueError(
            f"time_budget={time_budget!r} must be None or a number of seconds above 0"
        )
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None for one, a whole number of folds at a time, or -1 "
            "for all cores"
        )
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state={random_state!r} must be a whole number of at least 0: the same "
            "splits are drawn again when a comparison goes on"
        )


def _check_client(client: Any, n_jobs: int | None, time_budget: float | None) -> None:
    if client is None:
        return
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise TypeError(f"client={client!r} must be a distributed.Client")
    for name, value in (("n_jobs", n_jobs), ("time_budget", time_budget)):
        if value is not None:
            raise ValueError(
                f"{name}={value!r} is for folds in processes of this machine: leave it out when "
                "a client is given"
            )
