"""Comparing methods on the same splits of one data set, and fitting the one that is advised."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.evaluate.advice import with_advice
from separatrix.evaluate.checkpoint import ResultsFile, data_key, job_key
from separatrix.evaluate.classify import rule_of, rule_to_keep, splitting_for
from separatrix.evaluate.controls import (
    methods_to_control,
    split_ignoring_groups,
    summarize_by_method,
    summarize_scores,
    take_winner,
)
from separatrix.evaluate.fold import Job, RowSplit, make_scaler, train_method
from separatrix.evaluate.methods import LEFT_OUT, Contender, contenders
from separatrix.evaluate.records import (
    Comparison,
    Fold,
    MethodRecord,
    Progress,
    spell_infinite,
    spelled_out,
)
from separatrix.evaluate.runner import fold_id, run_folds
from separatrix.evaluate.scores import Judge, check_costs, choose_score
from separatrix.evaluate.splits import SplitPlan, add_test_rows, check_groups, plan_splits
from separatrix.files.epochs import name_values
from separatrix.files.notices import find_notices, notice_copied_rows
from separatrix.fisher.grouped import epoch_groups
from separatrix.moments.labelled import LabelledRows, check_finite, check_in_memory, encode_labels

# Comparing methods -------------------------------------------------------------------------------


def compare(
    methods: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = None,
    groups: ArrayLike | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    score: str | None = None,
    costs: Any = None,
    rivals: str | None = None,
    n_jobs: int | None = None,
    budget: float | None = None,
    results: Any = None,
    progress: Callable[[Progress], None] | bool | str = True,
    random_state: int = 0,
) -> Comparison:
    """Compare methods on the same splits, every choice made inside the training part.

    In each split a share of the rows of each class is held out. Scaling, kernel widths, costs,
    neighbours and the number of directions are chosen by cross-validation within the rest, the
    method is fitted to all of the rest, and the rows that were held out are predicted once.

    Parameters
    ----------
    methods : None, or an iterable
        By default every method of the package and the references that `rivals` names.
        Otherwise names of these in any case, estimators, pipelines, and pairs ``(name,
        estimator)``, which may come in a dictionary. Named methods are tuned
        (`evaluate.methods.GRIDS`) on features brought to mean zero and variance one. A pipeline
        such as ``make_pipeline(StandardScaler(), LDG(), KNeighborsClassifier())`` is tuned like a
        name, but for the settings that it makes; its own steps prepare the features and classify.
        Other estimators are fitted as they are given.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows; an array (n_samples, n_channels, n_times) counts as one row for each epoch. Missing
        values raise, unless a transformer in a pipeline fills them in. Names of the features are
        those of a data frame.
    y : array (n_samples,)
        Labels. A class of one row is always in the training part.
    cv : int, splitter, array or pairs, optional
        How rows are split. None is `RandomShares`, ten random splits that hold out 30 % of each
        class. A number is that of stratified folds. Otherwise any splitter of scikit-learn;
        `InOrder` for the past and the future; for each row "train" or "test", or the number of
        the fold in which it tests (-1: it always trains); or pairs of numbers of rows. After
        splits in the order of time choices within the training part are made in this order, too.
    groups : array (n_samples,), optional
        What each row belongs to, such as a patient: rows of a group are never on both sides of a
        split, nor of a fold within the training part. Tests count groups in place of rows, and
        `Comparison.by_rows` has what splits by rows would have pretended. A class whose rows are
        all of one group raises.
    test : pair (X, y), optional
        Rows that test, once; all of `X` trains.
    score : str, optional
        The score that chooses settings, ranks methods and advises: "accuracy",
        "balanced_accuracy", "macro_f", "weighted_f", "precision", "recall", "auc", "log_loss",
        "brier", "cost", or for two classes "sensitivity" and "specificity". By default accuracy;
        balanced accuracy where the largest class has more than four times the mean of the others;
        "cost" where `costs` are given.
    costs : array (n_classes, n_classes), optional
        The cost of a prediction: rows are right classes, columns predicted ones, in the order of
        the sorted labels.
    rivals : "none", "basic", "all" or None
        References that take part, tuned by the same rules. "basic": nearest neighbours ("3-NN"),
        PCA, LDA with shrinkage, NCA, logistic regression, an SVM with a Gaussian kernel, gradient
        boosting and shrunken centroids. "all": also a linear SVM, kernel PCA and, where
        they are installed, supervised UMAP, TabPFN, TabICL and ROCKET. None is "basic" where
        `methods` is None, and "none" where methods are named.
    n_jobs : int, optional
        How many folds run at a time, as in joblib: None is 1, -1 all cores. Each uses one BLAS
        thread. Results do not depend on it.
    budget : float, optional
        Seconds for each method, over all splits. When they are over, the fit that is running is
        stopped and splits that have not begun are skipped; the record says how many were done.
    results : path, optional
        File to which each fold is added as soon as it is finished (JSON, one a line). When the
        file exists already, its folds are not computed again: an interrupted comparison goes
        on, and more splits or methods may be asked for. A file of other data raises, and so
        does one that another comparison is writing. Folds that failed because a process died, or
        for want of memory or a file, are tried again.
    progress : bool, "json" or callable
        True shows one line that overwrites itself. "json" writes a line of JSON for each fold. A
        function is called with a `Progress` after each fold, and about every second in between
        when there are worker processes.
    random_state : int
        Source of the splits, of folds within the training part, and of `random_state` in
        estimators that leave it None.

    Returns
    -------
    Comparison
        Plain records, with methods ``table``, ``report``, ``plot`` and ``permutation_test``.
        Methods that failed are among them, with the reason.

    Notes
    -----
    No number in the records has seen a row that it is computed on: see the page "Comparing
    methods" of the manual for the meaning of each number.

    Parameters are chosen by at most 500 training rows, drawn from each class by its share, in
    three folds, one parameter after the other. Beyond 1000 training rows kernel methods use 300
    landmarks, and a few slow methods learn from fewer rows (`evaluate.methods.MAX_TRAINING_ROWS`);
    ``Fold.chosen`` and ``Fold.n_rows`` say so.

    With a budget or several jobs folds run in worker processes. Only a process can be stopped in
    the middle of a fit. No guard against a second import of the main module is needed.

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.evaluate import RandomShares, compare
    >>> wine = datasets.load("wine")
    >>> methods = ["FisherDiscriminant", "PCA"]
    >>> comparison = compare(methods, wine.data, wine.target, cv=RandomShares(2), progress=False)
    >>> [(m.name, m.status, m.decision) for m in comparison.methods]
    [('FisherDiscriminant', 'done', 'own'), ('PCA', 'done', '3nn')]
    >>> comparison["FisherDiscriminant"].summary["accuracy"].mean > 0.9
    True
    """
    _check_settings(n_jobs, budget, progress, random_state)
    asked, n_tests = contenders(methods, rivals), 0
    names, X = (X.names, X.rows) if isinstance(X, NamedRows) else (None, X)
    X, shape = name_epochs(X)
    if test is not None:
        test = (name_epochs(test[0])[0], *test[1:]) if isinstance(test, tuple) else test
        X, y, n_tests = add_test_rows(X, y, test)
    asked = [_name_groups(contender, shape) for contender in asked]
    fills_gaps = any(hasattr(contender.prepare, "transform") for contender in asked)
    data = check_data(X, y, names, allow_missing=fills_gaps)
    matrix = check_costs(costs, data.classes.tolist())
    judge = Judge(choose_score(score, data.codes, costs), matrix)
    plan = plan_splits(data, cv, random_state=int(random_state), groups=groups, n_tests=n_tests)
    protocol = FoldRunner(
        data=data,
        asked=asked,
        plan=plan,
        judge=judge,
        random_state=int(random_state),
        n_jobs=n_jobs,
        budget=budget,
        results=results,
        progress=progress,
        versions=package_versions(),
    )
    settings = {
        "n_splits": len(plan.parts),
        "test_size": plan.test_size,
        "cv": repr(cv) if hasattr(cv, "split") else None,
        "splitting": plan.splitting,
        "folds": plan.folds,
        "unit": plan.unit,
        "score": judge.score,
        "costs": [list(row) for row in matrix] or None,
        "budget": budget,
        "random_state": int(random_state),
    }
    empty = _describe_before(protocol, settings, LEFT_OUT if methods is None else {})
    folds, versions = protocol.run([c.name for c in asked], plan.parts, compete=len(asked) > 1)
    found = with_advice(add_methods(replace(empty, versions=versions), asked, folds))
    return add_controls(found, protocol)


@dataclass(frozen=True, repr=False)
class FoldRunner:
    """All that the folds of a comparison depend on."""

    data: LabelledRows
    asked: list[Contender]
    plan: SplitPlan
    judge: Judge
    random_state: int
    n_jobs: int | None
    budget: float | None
    results: Any
    progress: Any
    versions: dict[str, str]

    def run(
        self, names: Sequence[str], parts: Sequence[RowSplit], *, compete: bool = False
    ) -> tuple[list[Fold], dict[str, str]]:
        """Folds of these methods on all of the splits, and the versions that computed them."""
        jobs = [
            Job(contender, split, self.random_state, self.judge, compete)
            for split in range(len(parts))
            for contender in self.asked
            if contender.name in names
        ]
        if self.results is None:
            opened: Any = nullcontext()
        else:
            opened = closing(ResultsFile(self.results, data_key(self.data), self.versions))
        with opened as file:
            keys = {fold_id(j): key_of(j, parts[j.split]) for j in jobs if file is not None}
            folds = run_folds(
                jobs, keys, self.data, parts, file, self.n_jobs, self.budget, self.progress
            )
            if file is None:
                return folds, self.versions
            used = file.versions_used(keys[fold.method, fold.split] for fold in folds)
            return folds, {**self.versions, **used}


def add_controls(comparison: Comparison, protocol: FoldRunner) -> Comparison:
    """The comparison with what splits by rows would have pretended, where there are groups."""
    comparison = replace(comparison, protocol=protocol)
    if protocol.plan.groups is None or comparison.best is None:
        return comparison
    by_rows = split_ignoring_groups(protocol.data.codes, comparison)
    folds, _ = protocol.run(methods_to_control(comparison), by_rows)
    return replace(comparison, by_rows=summarize_by_method(comparison, folds))


def _describe_before(
    protocol: FoldRunner, settings: dict[str, Any], left_out: dict[str, str]
) -> Comparison:
    """The part of a comparison that is known before any method is fitted."""
    data, plan = protocol.data, protocol.plan
    return Comparison(
        classes=tuple(data.classes.tolist()),
        class_counts=tuple(np.bincount(data.codes).tolist()),
        feature_names=tuple(data.column_names),
        n_samples=len(data.codes),
        labels=tuple(data.codes.tolist()),
        tests=tuple(tuple(part.test.tolist()) for part in plan.parts),
        settings=settings,
        methods=(),
        left_out=dict(left_out),
        data=data_key(data),
        versions=protocol.versions,
        seconds=0.0,
        trains=plan.trains,
        groups=() if plan.groups is None else tuple(plan.groups.tolist()),
        group_names=plan.group_names,
        notices=notice_data(data, [part.test for part in plan.parts]),
    )


def key_of(job: Job, part: RowSplit) -> str:
    """The key of a job in the file of results."""
    units = part.groups, repr(part.cv)
    shuffled = () if part.codes is None else ("shuffled", part.codes)
    return job_key(job, part.test, part.train, *units, *shuffled)


def add_methods(
    empty: Comparison, asked: Sequence[Contender], folds: Sequence[Fold]
) -> Comparison:
    """A comparison with the records of its methods, and of always taking the inner winner."""
    records = tuple(
        method_record(empty, contender, [f for f in folds if f.method == contender.name])
        for contender in asked
    )
    found = replace(empty, methods=records, seconds=sum(fold.seconds for fold in folds))
    return replace(found, winner=take_winner(found))


def notice_data(data: LabelledRows, tests: list[np.ndarray]) -> tuple[str, ...]:
    """Probable mistakes in the data: labels, columns, rows on both sides of a split."""
    named = find_notices(data.X, data.classes[data.codes], data.column_names)
    return (*named, *notice_copied_rows(data.X, tests))


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute the folds."""
    packages = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def method_record(comparison: Comparison, contender: Contender, folds: list[Fold]) -> MethodRecord:
    """The record of a method from its folds."""
    done = [fold for fold in folds if fold.status == "done"]
    n_splits, rule = len(comparison.tests), rule_of(contender)
    reason = next((fold.reason for fold in folds if fold.status != "done"), "")
    if not reason and len(folds) < n_splits:
        reason = "time budget"
    return MethodRecord(
        name=contender.name,
        kind=contender.kind,
        description=contender.description,
        estimator=spelled_out(contender.estimator),
        grid={name: list(values) for name, values in contender.grid.items()},
        decision="own" if rule is None else rule.name,
        status="done" if len(done) == n_splits else "partial" if done else "failed",
        reason=reason and f"{reason}; {len(done)} of {n_splits} splits done",
        n_done=len(done),
        summary=summarize_scores(
            [fold.scores for fold in done], comparison.test_share, comparison.n_test
        ),
        folds=tuple(folds),
        prepare=spell_step(contender.prepare),
        then="" if contender.then is None else spell_rule(contender.then),
        given=contender.given,
        wrapped=contender.wrapped,
        merges="keep_moments" in contender.estimator.get_params(),
    )


def spell_step(step: Any) -> str:
    """A preparation as text."""
    return step if isinstance(step, str) else "None" if step is None else spelled_out(step)


def spell_rule(rule: Contender) -> str:
    """A classifier on top as text: its name, or as it is printed."""
    return rule.given or rule.name


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
    groups: ArrayLike | None = None,
    score: str | None = None,
    costs: Any = None,
    random_state: int = 0,
) -> Tuned:
    """Fit the model that a comparison judged: settings chosen within these rows, then all learned.

    Parameters
    ----------
    method : str, estimator, pipeline, pair or Contender
        One method, as in `compare`.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. A data frame may have gaps and columns of text where a transformer in the pipeline
        makes numbers of them.
    y : array (n_samples,)
        Labels.
    groups, score, costs, random_state
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
    _check_settings(None, None, None, random_state)
    (contender,) = contenders([method])
    job = Job(contender, 0, int(random_state))
    check_in_memory(X, "tuned")
    if isinstance(contender.prepare, str):
        check_data(X, y)  # faults of X are found before it is scaled
    with config_context(transform_output="default"):
        scaler = make_scaler(contender.prepare, X, job.seed)
        rows = X if scaler is None else scaler.fit_transform(X)
        data = check_data(rows, y)
        matrix = check_costs(costs, data.classes.tolist())
        judge = Judge(choose_score(score, data.codes, costs), matrix)
        data = data._replace(groups=check_groups(groups, data)[0])
        trained = train_method(job._replace(judge=judge), data)
        labels = data.classes[data.codes]
        # with names where the method is the first step
        known = rows if scaler is None else data.X
        own = {n: v for n, v in trained.chosen.items() if not n.startswith("then__")}
        model = trained.again.set_params(**own)
        splitting = splitting_for(model, data.part(trained.rows))
        model.fit(_rows_of(known, trained.rows), labels[trained.rows], **splitting)
        rule = trained.then
        if rule is not None:
            rule = rule_to_keep(rule, len(labels)).fit(model.transform(known), labels)
    steps = [step for step in (scaler, model, rule) if step is not None]
    return Tuned(
        make_pipeline(*steps) if len(steps) > 1 else model, spell_infinite(trained.chosen)
    )


def _rows_of(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


# Checks of data and settings ---------------------------------------------------------------------


def name_epochs(X: Any) -> tuple[Any, tuple[int, int] | None]:
    """Rows of epochs (n_samples, n_channels, n_times) with names, and their channels and times.

    Examples
    --------
    >>> X, shape = name_epochs(np.zeros((5, 2, 3)))
    >>> list(X.columns), shape
    (['c0@0', 'c0@1', 'c0@2', 'c1@0', 'c1@1', 'c1@2'], (2, 3))
    """
    if np.ndim(X) != 3 or not hasattr(X, "reshape"):
        return X, None
    import pandas as pd

    n_rows, n_channels, n_times = X.shape
    names = name_values([f"c{i}" for i in range(n_channels)], np.arange(n_times))
    return pd.DataFrame(X.reshape(n_rows, -1), columns=names), (n_channels, n_times)


def _name_groups(contender: Contender, shape: tuple[int, int] | None) -> Contender:
    """Groups of channels or times as columns: scaled rows have no shape to tell them by."""
    groups = getattr(contender.estimator, "groups", None)
    if shape is None or not isinstance(groups, str):
        return contender
    columns = [group.tolist() for group in epoch_groups(groups, shape, None)]
    return replace(contender, estimator=clone(contender.estimator).set_params(groups=columns))


class NamedRows(NamedTuple):
    """Rows whose columns have names, for sparse matrices, which have no names of their own."""

    rows: Any
    names: Sequence[str]


def check_data(
    X: Any, y: ArrayLike, names: Sequence[str] | None = None, *, allow_missing: bool = False
) -> LabelledRows:
    """Checked rows with classes and names of features; raise for data that cannot be compared."""
    check_in_memory(X, "compare")
    rows = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    if names is None:
        names = getattr(X, "columns", [f"x{j}" for j in range(rows.shape[1])])
    names = [str(name) for name in names]
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


def _check_settings(n_jobs: Any, budget: Any, progress: Any, random_state: Any) -> None:
    in_seconds = isinstance(budget, Real) and not isinstance(budget, bool)
    if budget is not None and not (in_seconds and budget > 0):
        raise ValueError(f"budget={budget!r} must be None or a number of seconds above 0")
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None for one, a whole number of folds at a time, or -1 "
            "for all cores"
        )
    if isinstance(progress, str) and progress != "json":
        raise ValueError(f'progress={progress!r} must be True, False, "json" or a function')
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state={random_state!r} must be a whole number of at least 0: the same "
            "splits are drawn again when a comparison goes on"
        )
