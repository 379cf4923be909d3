"""Comparing methods on the same splits of one data set, and fitting the one that is advised."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
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
from separatrix.evaluate.classify import (
    DECISION_RULES,
    THEN,
    decision_of,
    rule_to_keep,
    splitting_for,
)
from separatrix.evaluate.controls import (
    judge_by_permutation,
    methods_to_control,
    permuted_splits,
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
    spelled_out,
)
from separatrix.evaluate.runner import fold_id, run_folds
from separatrix.evaluate.scores import Judge, check_costs, choose_score
from separatrix.evaluate.splits import SplitPlan, add_test_rows, check_groups, plan_splits
from separatrix.files.notices import find_notices, notice_copied_rows
from separatrix.moments.checks import check_finite, check_in_memory, encode_labels
from separatrix.moments.labelled import LabelledRows

# Comparing methods -------------------------------------------------------------------------------


def compare(
    methods: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_splits: int = 10,
    test_size: float = 0.3,
    groups: ArrayLike | None = None,
    splits: Any = None,
    test: tuple[Any, ArrayLike] | None = None,
    time: ArrayLike | None = None,
    rivals: str | None = None,
    score: str | None = None,
    costs: Any = None,
    then: Any = None,
    permutations: int = 0,
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
        None compares every method of the package, found among its public names, and the
        references that `rivals` names. Otherwise names of these, estimators, and pairs
        ``(name, estimator)``, which may come in a dictionary. Named methods are tuned
        (`evaluate.methods.GRIDS`); estimators are fitted as they are given, which may well be a
        `GridSearchCV`.
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. Missing or infinite values raise, unless a transformer is given as `scale`: it may
        fill them in.
    y : array (n_samples,)
        Labels. A class of one row is always in the training part.
    n_splits : int
        Number of random splits.
    test_size : float in (0, 1)
        Share of each class that is held out.
    groups : array (n_samples,), optional
        What each row belongs to, such as a patient: rows of a group are never on both sides of a
        split, nor of a fold within the training part. Tests count groups in place of rows, and
        `Comparison.by_rows` has what splits by rows would have pretended. A class whose rows are
        all of one group raises.
    splits : splitter, array, int or pairs, optional
        In place of random splits: a splitter of scikit-learn; for each row "train" or "test", or
        the number of the fold in which it tests (-1: it always trains); a number of folds, which
        are dealt again until there are about `n_splits` splits; or pairs of numbers of rows.
    test : pair (X, y), optional
        Rows that test, once; all of `X` trains.
    time : array (n_samples,), optional
        When each row came. The later half is cut into `n_splits` parts that follow each other, and
        each is predicted by methods that know what came before it; choices within the training
        part are made in the order of time, too.
    rivals : "none", "basic", "all" or None
        References that take part, tuned by the same rules. "basic": nearest neighbours ("3-NN"),
        PCA, LDA with shrinkage, NCA, logistic regression, an SVM with a Gaussian kernel, gradient
        boosting and shrunken centroids. "all": a linear SVM and kernel PCA besides and, where
        they are installed, supervised UMAP, TabPFN, TabICL and ROCKET. None is "basic" where
        `methods` is None, and "none" beside methods that are named.
    score : str, optional
        The score by which settings are chosen and methods ranked and advised: "accuracy",
        "balanced_accuracy", "macro_f", "weighted_f", "precision", "recall", "auc", "log_loss",
        "brier", "cost", or for two classes "sensitivity" and "specificity". By default accuracy;
        balanced accuracy where the largest class has more than four times the mean of the others;
        "cost" where `costs` are given.
    costs : array (n_classes, n_classes), optional
        The cost of a prediction: rows are right classes, columns predicted ones, in the order of
        the sorted labels.
    then : str or classifier, optional
        A classifier on top of every subspace, in place of `decision`: the name of a method, which
        is tuned within the training part, or an estimator.
    permutations : int
        How often the best method is fitted again to shuffled labels, on the first three splits
        (`Comparison.permutation`).
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
    _check_permutations(permutations)
    n_tests = 0
    if test is not None:
        X, y, n_tests = add_test_rows(X, y, test)
    data = check_data(X, y, feature_names, allow_missing=not isinstance(scale, str | None))
    matrix = check_costs(costs, data.classes.tolist())
    judge = Judge(choose_score(score, data.codes, costs), matrix)
    asked, rule = contenders(methods, rivals), check_then(then, decision)
    plan = plan_splits(
        data,
        n_splits=n_splits,
        test_size=test_size,
        random_state=int(random_state),
        groups=groups,
        splits=splits,
        time=time,
        n_tests=n_tests,
    )
    shared = Job(asked[0], 0, scale, THEN if rule else decision, int(random_state), memory,
                 judge, rule, compete=len(asked) > 1)  # fmt: skip
    mark, versions = data_key(data), package_versions()
    settings = {
        "n_splits": len(plan.parts),
        "test_size": test_size,
        "scale": scale_name(scale),
        "decision": decision,
        "time_budget": time_budget,
        "random_state": int(random_state),
        "score": judge.score,
        "costs": [list(row) for row in matrix] or None,
        "splitting": plan.splitting,
        "unit": plan.unit,
        "folds": int(splits) if plan.splitting == "k-fold" else None,
        "then": None if rule is None else rule.name,
    }
    empty = describe_before(data, plan, settings, mark, versions)
    empty = replace(empty, left_out=dict(LEFT_OUT) if methods is None else {})
    opened = nullcontext() if results is None else closing(ResultsFile(results, mark, versions))
    with opened as file:

        def run(names: Sequence[str], job: Job, parts: Sequence[RowSplit]) -> list[Fold]:
            """Folds of these methods on all of the splits."""
            jobs = [
                job._replace(contender=contender, split=split)
                for split in range(len(parts))
                for contender in asked
                if contender.name in names
            ]
            keys = {fold_id(j): key_of(j, parts[j.split]) for j in jobs if file is not None}
            folds = run_folds(jobs, keys, data, parts, file, n_jobs, time_budget, progress, client)
            if file is not None:
                used = file.versions_used(keys[fold.method, fold.split] for fold in folds)
                versions.update(used)
            return folds

        folds = run([contender.name for contender in asked], shared, plan.parts)
        found = with_advice(add_methods(empty, asked, folds))
        run_again = partial(run, job=shared._replace(memory=False, compete=False))
        found = add_controls(found, data.codes, plan, permutations, run_again)
    return replace(found, versions=versions)


def add_controls(
    found: Comparison,
    codes: np.ndarray,
    plan: SplitPlan,
    permutations: int,
    run: Callable[..., list[Fold]],
) -> Comparison:
    """The comparison with what splits by rows would have pretended, and shuffled labels give."""
    if plan.groups is not None and plan.splitting in ("random", "k-fold"):
        by_rows = run(methods_to_control(found), parts=split_ignoring_groups(codes, found))
        found = replace(found, by_rows=summarize_by_method(found, by_rows))
    if permutations and found.best is not None:
        seed = found.settings["random_state"]
        mixed = permuted_splits(plan.parts, codes, plan.groups, permutations, seed)
        permuted = run([found.best], parts=mixed)
        found = replace(found, permutation=judge_by_permutation(found, permuted, permutations))
    return found


def describe_before(
    data: LabelledRows,
    plan: SplitPlan,
    settings: dict[str, Any],
    mark: str,
    versions: dict[str, str],
) -> Comparison:
    """What is known of a comparison before any method is fitted."""
    return Comparison(
        classes=tuple(data.classes.tolist()),
        class_counts=tuple(np.bincount(data.codes).tolist()),
        feature_names=tuple(data.column_names),
        n_samples=len(data.codes),
        labels=tuple(data.codes.tolist()),
        tests=tuple(tuple(part.test.tolist()) for part in plan.parts),
        settings=settings,
        methods=(),
        left_out={},
        data=mark,
        versions=versions,
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


def method_record(comparison: Comparison, contender: Contender, folds: list[Fold]) -> MethodRecord:
    """The record of a method from its folds."""
    done = [fold for fold in folds if fold.status == "done"]
    settings, n_splits = comparison.settings, len(comparison.tests)
    reason = next((fold.reason for fold in folds if fold.status != "done"), "")
    if not reason and len(folds) < n_splits:
        reason = "time budget"
    return MethodRecord(
        name=contender.name,
        kind=contender.kind,
        description=contender.description,
        estimator=spelled_out(contender.estimator),
        grid={name: list(values) for name, values in contender.grid.items()},
        decision=decision_of(contender, THEN if settings["then"] else settings["decision"]),
        status="done" if len(done) == n_splits else "partial" if done else "failed",
        reason=reason and f"{reason}; {len(done)} of {n_splits} splits done",
        n_done=len(done),
        summary=summarize_scores(
            [fold.scores for fold in done], comparison.test_share, comparison.n_test
        ),
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
    groups: ArrayLike | None = None,
    score: str | None = None,
    costs: Any = None,
    then: Any = None,
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
    groups, score, costs, then, scale, decision, random_state
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
    rule_on_top = check_then(then, decision)
    job = Job(contender, 0, scale, THEN if rule_on_top else decision, int(random_state), False)
    check_in_memory(X, "tuned")
    if isinstance(scale, str):
        check_data(X, y, None)  # faults of X are found before it is scaled
    with config_context(transform_output="default"):
        scaler = make_scaler(scale, X, job.seed)
        rows = X if scaler is None else scaler.fit_transform(X)
        data = check_data(rows, y, None)
        matrix = check_costs(costs, data.classes.tolist())
        judge = Judge(choose_score(score, data.codes, costs), matrix)
        data = data._replace(groups=check_groups(groups, data)[0])
        trained = train_method(job._replace(judge=judge, then=rule_on_top), data)
        labels = data.classes[data.codes]
        # with names where the method is the first step
        known = rows if scaler is None else data.X
        own = {n: v for n, v in trained.chosen.items() if not n.startswith("then__")}
        model = trained.again.set_params(**own)
        splitting = splitting_for(model, data.part(trained.rows))
        model.fit(_rows_of(known, trained.rows), labels[trained.rows], **splitting)
        rule = rule_to_keep(job.rule, len(labels), trained.then)
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


def check_then(then: Any, decision: str) -> Contender | None:
    """The classifier on top of every subspace, or None; raise for what cannot be one."""
    if then is None:
        return None
    (found,) = contenders([then])
    if decision != "own":
        raise ValueError(
            f"then={found.name} and decision={decision!r} both say how rows are classified: give "
            "one of them"
        )
    if not hasattr(found.estimator, "predict"):
        raise ValueError(
            f"then={found.name} does not predict: give a classifier, such as LogisticRegression"
        )
    return found


def _check_permutations(permutations: int) -> None:
    whole = isinstance(permutations, Integral) and not isinstance(permutations, bool)
    if not whole or permutations < 0:
        raise ValueError(f"permutations={permutations!r} must be a whole number of at least 0")


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
