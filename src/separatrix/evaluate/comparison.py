"""Comparing methods on the same splits of one data set, and fitting the one that is advised."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from importlib.metadata import version
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.evaluate.advice import with_advice
from separatrix.evaluate.checkpoint import ResultsFile, data_key, job_key
from separatrix.evaluate.classify import DECISION_RULES, decision_of, rule_to_keep
from separatrix.evaluate.fold import Job, make_scaler, train_method
from separatrix.evaluate.methods import LEFT_OUT, Contender, contenders
from separatrix.evaluate.ranking import mean_interval
from separatrix.evaluate.records import (
    Comparison,
    Fold,
    MethodRecord,
    Progress,
    Summary,
    spelled_out,
)
from separatrix.evaluate.runner import fold_id, run_folds
from separatrix.io.notices import find_notices, notice_copied_rows
from separatrix.moments.checks import check_finite, check_in_memory, encode_labels
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import split_rows

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
    progress: Callable[[Progress], None] | bool | None = None,
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
        Named methods are tuned (`evaluate.methods.GRIDS`); estimators are fitted as they are
        given, which may well be a `GridSearchCV`.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. Missing or infinite values raise, unless a transformer is given as `scale`: it may
        fill them in.
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
        The rule that classifies rows in the subspace: the method itself where it can and three
        nearest neighbours otherwise; or for all methods three nearest neighbours, the nearest
        class mean, or Gaussians of one covariance. Classifiers without a subspace always decide
        themselves.
    feature_names : iterable of str, optional
        Names of the columns; those of a data frame by default.
    time_budget : float, optional
        Seconds for each method, over all splits. When they are over, the fit that is running is
        stopped and splits that have not begun are skipped; the record says how many were done.
    memory : bool
        Describe a method by two more fits on split 0: the peak memory of one, and its picture when
        labels are shuffled. They are left out where a fit takes more than five seconds (one for
        the picture), or more than a tenth of the rest of `time_budget`.
    n_jobs : int, optional
        How many folds run at a time, as in joblib: None is 1, -1 all cores. Each uses one BLAS
        thread. Results do not depend on it.
    client : distributed.Client, optional
        Run the folds on the workers of this Dask client instead, one at a time on each. A
        `time_budget` raises then: folds cannot be stopped there.
    results : path, optional
        File to which each fold is added as soon as it is finished (JSON, one a line). When the
        file exists already, its folds are not computed again: an interrupted comparison goes
        on, and more splits or methods may be asked for. A file of other data raises, and so
        does one that another comparison is writing. Folds that failed because a process died, or
        for want of memory or a file, are tried again.
    progress : bool or callable, optional
        True prints a line that tells how far the comparison is. A function is called with a
        `Progress` after each fold, and about every second in between when there are worker
        processes.
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
    methods" of the manual for the meaning of each number.

    Parameters are chosen by at most 500 training rows, drawn from each class by its share, in
    three folds, one parameter after the other. Beyond 1000 training rows kernel methods use 300
    landmarks, and a few slow methods learn from fewer rows (`evaluate.methods.MAX_TRAINING_ROWS`);
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
    data = check_data(X, y, feature_names, allow_missing=not isinstance(scale, str | None))
    asked = contenders(methods)
    splits = [split_rows(data.codes, test_size, (random_state, i)) for i in range(n_splits)]
    jobs = [
        Job(contender, split, scale, decision, int(random_state), memory)
        for split in range(n_splits)
        for contender in asked
    ]
    mark, versions = data_key(data), package_versions()
    keys = {
        fold_id(job): job_key(job, splits[job.split][1]) for job in jobs if results is not None
    }
    opened = nullcontext() if results is None else closing(ResultsFile(results, mark, versions))
    with opened as file:
        folds = run_folds(jobs, keys, data, splits, file, n_jobs, time_budget, progress, client)
        if file is not None:
            versions = file.versions_used(keys[fold.method, fold.split] for fold in folds)
    tests = [test for _, test in splits]
    found = Comparison(
        classes=tuple(data.classes.tolist()),
        class_counts=tuple(np.bincount(data.codes).tolist()),
        feature_names=tuple(data.column_names),
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
        notices=notice_data(data, tests),
    )
    return with_advice(found)


def notice_data(data: LabelledRows, tests: list[np.ndarray]) -> tuple[str, ...]:
    """What is probably not meant as it is: labels, columns, rows on both sides of a split."""
    named = find_notices(data.X, data.classes[data.codes], data.column_names)
    return (*named, *notice_copied_rows(data.X, tests))


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute the folds."""
    packages = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def scale_name(scale: Any) -> str | None:
    """The `scale` of a comparison as text."""
    return scale if scale is None or isinstance(scale, str) else spelled_out(scale)


def method_record(
    contender: Contender, folds: list[Fold], decision: str, tests: list[Any], n_samples: int
) -> MethodRecord:
    """The record of a method from its folds."""
    done = [fold for fold in folds if fold.status == "done"]
    reason = next((fold.reason for fold in folds if fold.status != "done"), "")
    if not reason and len(folds) < len(tests):
        reason = "time budget"
    names = dict.fromkeys(name for fold in done for name in fold.scores)
    share = len(tests[0]) / n_samples
    return MethodRecord(
        name=contender.name,
        kind=contender.kind,
        description=contender.description,
        estimator=spelled_out(contender.estimator),
        grid={name: list(values) for name, values in contender.grid.items()},
        decision=decision_of(contender, decision),
        status="done" if len(done) == len(tests) else "partial" if done else "failed",
        reason=reason and f"{reason}; {len(done)} of {len(tests)} splits done",
        n_done=len(done),
        summary={
            name: Summary(
                *mean_interval(
                    [f.scores[name] for f in done if name in f.scores],
                    share,
                    min(map(len, tests)) if name == "accuracy" else None,
                )
            )
            for name in names
        },
        folds=tuple(folds),
    )


# One method with chosen settings -----------------------------------------------------------------


class Tuned(NamedTuple):
    """A method with settings chosen as in a comparison.

    Attributes
    ----------
    model : estimator
        Fitted: a pipeline of scaling, method and decision, or the method where it is alone.
    chosen : dict
        Parameters that were chosen, and their values; as ``Fold.chosen``.
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
    settings, the model predicts for its test part the same as the fold. The method is fitted once
    more with the chosen parameters, so that the model knows labels and names of columns.

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
    job = Job(contender, 0, scale, decision, int(random_state), memory=False)
    check_in_memory(X, "tuned")
    if isinstance(scale, str):
        check_data(X, y, None)  # faults of X are found before it is scaled
    with config_context(transform_output="default"):
        scaler = make_scaler(scale, X, job.seed)
        rows = X if scaler is None else scaler.fit_transform(X)
        data = check_data(rows, y, None)
        trained = train_method(job, data.X, data.codes, len(data.classes))
        labels = data.classes[data.codes]
        # with names where the method is the first step
        known = rows if scaler is None else data.X
        model = trained.again.set_params(**trained.chosen)
        model.fit(_rows_of(known, trained.rows), labels[trained.rows])
        rule = rule_to_keep(job.rule, len(labels))
        if rule is not None:
            rule.fit(model.transform(known), labels)
    steps = [step for step in (scaler, model, rule) if step is not None]
    return Tuned(make_pipeline(*steps) if len(steps) > 1 else model, trained.chosen)


def _rows_of(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


# Checks of data and settings ---------------------------------------------------------------------


def check_data(
    X: Any, y: ArrayLike, feature_names: Iterable[str] | None, *, allow_missing: bool = False
) -> LabelledRows:
    """Checked rows with classes and names of features; raise for data that cannot be compared."""
    check_in_memory(X, "compare")
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
    if not allow_missing:
        check_finite(rows, np.array(names, dtype=object))
    labels = column_or_1d(y)
    check_no_label_missing(labels)
    check_classification_targets(labels)
    if len(labels) != rows.shape[0]:
        raise ValueError(f"X has {rows.shape[0]} rows, but y has {len(labels)} labels")
    classes, codes = encode_labels(labels, rows.shape[0])
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: two or more are needed")
    if np.bincount(codes).max() < 2:
        raise ValueError("every row has a class of its own: none can be held out")
    return LabelledRows(
        X=rows, codes=codes, classes=classes, feature_names=np.array(names, dtype=object)
    )


def check_no_label_missing(labels: np.ndarray) -> None:
    """Raise for labels that are None, NaN or another sign of a missing value."""
    if labels.dtype.kind not in "Of":
        return
    missing = [
        i
        for i, label in enumerate(labels)
        if label is None
        or (isinstance(label, float) and math.isnan(label))
        or type(label).__name__ in ("NAType", "NaTType")
    ]
    if missing:
        raise ValueError(
            f"y has no label for {len(missing)} of {len(labels)} rows (first: row {missing[0]}): "
            "leave these rows out"
        )


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
    if decision not in ("own", *DECISION_RULES):
        raise ValueError(f"decision={decision!r} must be one of own, {', '.join(DECISION_RULES)}")
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
