"""One method on one split: choose, fit and decide with the training part, score on the rest."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from separatrix._warnings import warn_caller
from separatrix.evaluate.classify import (
    FittedMethod,
    add_rule,
    fit_to,
    judge_rows,
    project_rows,
    rule_of,
    scorer_of,
)
from separatrix.evaluate.curves import describe_degrees
from separatrix.evaluate.describe import (
    describe_directions,
    fit_shuffled,
    load_features,
    read_out,
    view_rows,
)
from separatrix.evaluate.methods import Contender, limit_groups, settings_by_size, spell_settings
from separatrix.evaluate.records import Fold, spell_infinite
from separatrix.evaluate.scores import Judge, find_degrees, score_rows, second_class
from separatrix.kernels import inverse_width
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import (
    GRID_FOLDS,
    best_rule,
    dimension_path,
    draw_rows_by_class,
    keep_every_direction,
    order_columns_by_level,
    training_parts,
)

MAX_CHOICE_ROWS = 500
"""Training rows that parameters are chosen by; all of them are fitted to afterwards."""

MAX_SHUFFLED_SECONDS = 1.0
"""Seconds of a fit beyond which it is not repeated with shuffled labels."""

MAX_SHUFFLED_SHARE = 0.1
"""Share of the time left that this fit may have taken."""


class Job(NamedTuple):
    """One method on one split, and the settings of the comparison.

    `judge` has the score that settings are chosen by. With `compete` every method is scored
    within the training part, also where nothing is to be chosen, so that the method itself can be.
    """

    contender: Contender
    split: int
    random_state: int
    judge: Judge = Judge()
    compete: bool = False

    @property
    def then(self) -> Contender | None:
        """The classifier on top of this method; None where it decides itself."""
        return rule_of(self.contender)

    @property
    def rule(self) -> Any:
        """Its estimator before anything is chosen, seeded; None where there is none."""
        return None if self.then is None else set_seeds(self.then.estimator, self.seed)

    @property
    def seed(self) -> int:
        """The seed of everything random that is fitted in the split."""
        return int(
            np.random.SeedSequence((self.random_state, self.split)).generate_state(1)[0] >> 1
        )


class RowSplit(NamedTuple):
    """Numbers of the training rows and of the test rows.

    `groups` are those of the training rows, and `cv` splits them further where choices are made
    within; `codes` are other labels of all rows than those of the data, shuffled ones.
    """

    train: Array
    test: Array
    groups: Array | None = None
    cv: Any = None
    codes: Array | None = None


# The fold ----------------------------------------------------------------------------------------


def run_fold(
    job: Job,
    data: LabelledRows,
    rows: RowSplit | tuple[Array, Array],
    time_left: float = math.inf,
) -> Fold:
    """One method on one split; an error becomes part of the record.

    Parameters
    ----------
    job : Job
        The method and its settings.
    data : LabelledRows
        All labelled rows.
    rows : pair of arrays
        Numbers of the training rows and of the test rows.
    time_left : float
        Seconds after which the process that runs this is ended: facts that only describe the fold
        are left out when they are few.
    """
    start = time.perf_counter()
    with (
        warnings.catch_warnings(record=True) as caught,
        config_context(transform_output="default"),
    ):
        warnings.simplefilter("always")
        try:
            split = RowSplit(*rows)
            record = {"status": "done", **_score_fold(job, data, split, start + time_left)}
        except Exception as error:
            record = {"status": "failed", "reason": describe_error(error)}
    extra = record.pop("extra_seconds", 0.0)
    return Fold(
        job.contender.name,
        job.split,
        **record,
        seconds=time.perf_counter() - start - extra,
        warnings=tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)),
    )


def describe_error(error: BaseException) -> str:
    """Type and message of an error, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"


def _score_fold(job: Job, data: LabelledRows, rows: RowSplit, deadline: float) -> dict[str, Any]:
    """Scores and the other fields of a fold that works."""
    train, test = rows.train, rows.test
    labels = data.codes if rows.codes is None else rows.codes
    codes, truth = labels[train], labels[test]
    start, cpu_start = time.perf_counter(), time.process_time()
    scaler = make_scaler(job.contender.prepare, data.X, job.seed)
    known = data.X[train] if scaler is None else plain_rows(scaler.fit_transform(data.X[train]))
    learned = LabelledRows(known, codes, data.classes, groups=rows.groups, cv=rows.cv)
    trained = train_method(job, learned)
    fitted = trained.fitted
    middle = time.perf_counter()
    new = data.X[test] if scaler is None else plain_rows(scaler.transform(data.X[test]))
    for_rule = fitted.rows_for_rule(new)
    predicted = np.asarray(fitted.rule.predict(for_rule))
    end, cpu_end = time.perf_counter(), time.process_time()
    n_classes, costs = len(data.classes), job.judge.cost_matrix
    about = find_degrees(fitted.rule, for_rule, n_classes)
    scores = score_rows(truth, predicted, n_classes, about=about, costs=costs)
    record = {
        "scores": scores,
        "fit_seconds": middle - start,
        "predict_seconds": end - middle,
        "cpu_seconds": cpu_end - cpu_start,
        "chosen": spell_infinite(trained.chosen),
        "inner": trained.inner,
        "n_rows": len(trained.rows),
        "predicted": tuple(predicted.tolist()),
        "degrees": second_class(about) if n_classes == 2 else (),
    }
    about_degrees = fitted.rule, for_rule, truth, predicted
    record |= measure_if_possible("degrees of classes", describe_degrees, *about_degrees)
    if job.split == 0:
        maps = fitted, scaler, known, new, predicted
        record |= measure_if_possible("linear maps", read_out, *maps)
    if hasattr(fitted.model, "transform"):
        names = name_columns(scaler, data.column_names, known.shape[1])
        record |= _describe_subspace(job, fitted, known, codes, new, truth, names)
    return record | _repeat_quick_fit(job, trained, learned, new, truth, deadline)


def _describe_subspace(
    job: Job,
    fitted: FittedMethod,
    X: Any,
    codes: Array,
    X_new: Any,
    truth: Array,
    names: Sequence[str],
) -> dict[str, Any]:
    rule = None if fitted.rule is fitted.model else fitted.rule
    about = job.contender, rule, job.seed, fitted
    record = measure_if_possible(
        "projected rows", describe_directions, *about, X, codes, X_new, truth
    )
    shown = job.contender, fitted, X, X_new
    record |= measure_if_possible("loadings", load_features, *shown, names)
    if job.split == 0:
        record |= measure_if_possible("view", view_rows, *shown)
    return record


def _repeat_quick_fit(
    job: Job, trained: Trained, learned: LabelledRows, X_new: Any, truth: Array, deadline: float
) -> dict[str, Any]:
    """The method on shuffled labels, on split 0 of a method that is quick, and the seconds."""
    start = time.perf_counter()
    most = min(MAX_SHUFFLED_SECONDS, MAX_SHUFFLED_SHARE * (deadline - start))
    if job.split or trained.seconds >= most or not hasattr(trained.again, "transform"):
        return {}
    fit_again = clone(trained.again), trained.then, trained.rows, job.seed
    parts = learned, X_new, truth
    record = measure_if_possible("shuffled labels", fit_shuffled, *fit_again, *parts)
    return record | {"extra_seconds": time.perf_counter() - start}


def measure_if_possible(
    what: str, measure: Callable[..., dict[str, Any]], *args: Any
) -> dict[str, Any]:
    """Facts that only describe a fold; where they fail a warning says why, and scores are kept."""
    try:
        return measure(*args)
    except Exception as error:
        warn_caller(f"no {what}: {describe_error(error)}", RuntimeWarning)
        return {}


def make_scaler(scale: Any, X: Any, seed: int) -> Any:
    """A fresh transformer of the features, or None."""
    if scale is None or not isinstance(scale, str):
        return None if scale is None else set_seeds(scale, seed)
    return StandardScaler(with_mean=not sp.issparse(X))


def plain_rows(rows: Any) -> Any:
    """Rows of a transformer as an array, or as a sparse matrix that can be indexed by row."""
    return rows.tocsr() if sp.issparse(rows) else np.asarray(rows)


def name_columns(scaler: Any, names: Sequence[str], n_columns: int) -> list[str]:
    """Names of the columns that a transformer made: its own, else those it got if as many."""
    if hasattr(scaler, "get_feature_names_out"):
        try:
            made = scaler.get_feature_names_out(np.array(names, dtype=object))
            if len(made) == n_columns:
                return [str(name) for name in made]
        except Exception:  # a transformer inside may not know its names
            made = None
    return list(names) if len(names) == n_columns else [f"x{j}" for j in range(n_columns)]


# Training ----------------------------------------------------------------------------------------


class Trained(NamedTuple):
    """A method after training.

    Attributes
    ----------
    fitted : FittedMethod
        The method and its rule.
    chosen : dict
        Parameters that were chosen.
    rows : array
        Numbers of the rows the method was fitted to.
    again : estimator
        Unfitted, with the parameters that were chosen.
    seconds : float
        Wall time of the fit.
    inner : float or None
        Score of the settings within these rows; None where nothing was chosen and none is needed.
    then : estimator or None
        The classifier on top, unfitted, with the parameters that were chosen.
    """

    fitted: FittedMethod
    chosen: dict[str, Any]
    rows: Array
    again: Any
    seconds: float
    inner: float | None = None
    then: Any = None


def train_method(job: Job, learned: LabelledRows) -> Trained:
    """Choose parameters by these rows and fit to them; a rule on top learns from all of them."""
    contender, X, codes = job.contender, learned.X, learned.codes
    rows = draw_rows_by_class(codes, contender.most_rows, job.seed)
    by_size = settings_by_size(
        contender, len(rows), X.shape[1], len(learned.classes), sparse=sp.issparse(X)
    )
    estimator = set_seeds(contender.estimator, job.seed).set_params(**by_size)
    best = choose_settings(job, estimator, learned)
    estimator.set_params(**best.params)
    again, columns = clone(estimator), None
    if best.n_components is not None:
        estimator = keep_every_direction(estimator)
    start = time.perf_counter()
    fit_to(estimator, learned.part(rows))
    seconds = time.perf_counter() - start
    chosen = {**by_size, **best.params, **auto_values(estimator)}
    if best.n_components is not None:
        order, ends = order_columns_by_level(estimator, project_rows(estimator, X[:1]).shape[1])
        kept = min(best.n_components, len(ends))
        columns = order[: ends[kept - 1]] if kept else order
        chosen["n_components"] = kept
        again.set_params(n_components=max(kept, 1))
        if getattr(estimator, "_directions_depend_on_their_number", False):
            estimator, columns = fit_to(clone(again), learned.part(rows)), None
    rule, inner = None, best.score if math.isfinite(best.score) else None
    if job.then is not None:
        rule, about_rule = choose_rule(job, again, learned)
        chosen |= {f"then__{name}": value for name, value in about_rule.params.items()}
        inner = about_rule.score if math.isfinite(about_rule.score) else inner
    fitted = add_rule(estimator, X, codes, rule, columns)
    return Trained(fitted, chosen, rows, again, seconds, inner, rule)


def set_seeds(estimator: Any, seed: int) -> Any:
    """A clone with the seed for every `random_state` that is None."""
    params = estimator.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return clone(estimator).set_params(**dict.fromkeys(unset, seed))


def auto_values(model: Any) -> dict[str, Any]:
    """The values that a fitted model chose for parameters that are "auto"."""
    # ridge_ is absolute and the parameter a share; threshold_ is a number, the parameter a rule;
    # rank_ is that of the data; with "auto" the others also decide by the scores of new rows
    others = ("ridge", "threshold", "rank", "n_whitened", "shrinkage")
    params = {n: v for n, v in model.get_params(deep=False).items() if n not in others}
    auto = [n for n, v in params.items() if isinstance(v, str) and v == "auto"]
    return {n: getattr(model, f"{n}_") for n in auto if hasattr(model, f"{n}_")}


# Choosing inside the training part ---------------------------------------------------------------


class Trial(NamedTuple):
    """A setting that was tried: its score on held-out rows at the best number of directions."""

    params: dict[str, Any]
    score: float
    n_components: int | None = None


def choose_settings(job: Job, estimator: Any, rows: LabelledRows) -> Trial:
    """The best of the grid by rows held out of these, one parameter after the other.

    Where directions can be cut off every value is judged at the number of directions that is best
    for it. Of equal values the first wins, also where all of them fail.
    """
    contender = job.contender
    cut = contender.choose_dimension and job.then is not None
    rows = rows.part(draw_rows_by_class(rows.codes, MAX_CHOICE_ROWS, job.seed))
    units = dict.fromkeys(contender.in_units, inverse_width(rows.X, "scale"))
    grid = {
        name: [value * units[name] if name in units else value for value in values]
        for name, values in limit_groups(contender, rows.X.shape[1]).items()
    }
    best = Trial(_first_settings(grid), -np.inf)
    known: dict[str, Trial] = {}
    nothing_to_choose = [("", ())] if cut or job.compete else []
    for name, values in grid.items() if grid else nothing_to_choose:
        tried = [spell_settings(name, value) for value in values] if name else [{}]
        settings = [{**best.params, **some} for some in tried]
        for params in settings:
            if repr(params) not in known:
                model = clone(estimator).set_params(**params)
                known[repr(params)] = _try_settings(job, params, model, rows, cut)
        trials = [known[repr(params)] for params in settings]
        best = trials[best_rule(np.array([trial.score for trial in trials]))]
    return best


def _first_settings(grid: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The preferred value of every parameter."""
    first: dict[str, Any] = {}
    for name, values in grid.items():
        first |= spell_settings(name, values[0])
    return first


def _try_settings(
    job: Job, params: dict[str, Any], model: Any, rows: LabelledRows, cut: bool
) -> Trial:
    rule = job.rule
    codes, n_classes = rows.codes, len(rows.classes)
    try:
        if cut:
            scorer = scorer_of(rule, n_classes, job.judge)
            path = dimension_path(
                model, rows.X, codes, scorer, n_folds=GRID_FOLDS, random_state=job.seed,
                **rows.splitting,
            )  # fmt: skip
            score = path.scores.mean(axis=0).max() if len(path.scores) else -np.inf
            return Trial(params, float(score), path.n_components)
        scores = []
        for train, held in training_parts(codes, GRID_FOLDS, job.seed, **rows.splitting):
            known = rows.part(train)
            method = add_rule(fit_to(clone(model), known), known.X, known.codes, rule)
            new = method.rows_for_rule(rows.X[held])
            scores.append(judge_rows(job.judge, method.rule, new, codes[held], n_classes))
        return Trial(params, float(np.mean(scores)) if scores else -np.inf)
    except Exception:  # raised again by the fit, where no setting works
        return Trial(params, -np.inf)


def choose_rule(job: Job, estimator: Any, rows: LabelledRows) -> tuple[Any, Trial]:
    """The classifier on top with the best of its settings, in folds of the projected rows.

    The subspace is fitted again in each fold, with the settings that were chosen for it.
    """
    assert job.then is not None
    rule = job.rule
    best = Trial(_first_settings(job.then.grid), -np.inf)
    rule.set_params(**best.params)
    if not job.then.grid:
        return rule, best
    rows = rows.part(draw_rows_by_class(rows.codes, MAX_CHOICE_ROWS, job.seed))
    codes, n_classes, parts = rows.codes, len(rows.classes), []
    for train, held in training_parts(codes, GRID_FOLDS, job.seed, **rows.splitting):
        model = fit_to(clone(estimator), rows.part(train))
        Z, Z_new = (project_rows(model, rows.X[part]) for part in (train, held))
        parts.append((Z, codes[train], Z_new, codes[held]))
    for name, values in job.then.grid.items():
        trials = []
        for value in values:
            params = {**best.params, **spell_settings(name, value)}
            scores = [
                judge_rows(
                    job.judge, clone(rule).set_params(**params).fit(Z, y), Z_new, truth, n_classes
                )
                for Z, y, Z_new, truth in parts
            ]
            trials.append(Trial(params, float(np.mean(scores)) if scores else -np.inf))
        best = trials[best_rule(np.array([trial.score for trial in trials]))]
    return rule.set_params(**best.params), best
