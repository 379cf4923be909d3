"""One method on one split: choose, fit and decide by the training part, judge by the rest."""

from __future__ import annotations

import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from separatrix._warnings import warn_caller
from separatrix.evaluate.methods import Contender, is_raw, settings_by_size, within_features
from separatrix.evaluate.records import Fold, Loadings, View
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.kernels import inverse_width
from separatrix.linalg import Array
from separatrix.selection import (
    GRID_FOLDS,
    Scorer,
    best_rule,
    classifier_scores,
    columns_by_level,
    dimension_path,
    every_direction,
    neighbour_scores,
    training_parts,
)

CHOICE_ROWS = 500
"""Training rows that parameters are chosen by, at most; all of them are fitted to afterwards."""

VIEW_DIRECTIONS = 3
"""Directions whose coordinates and loadings are kept."""

LOADING_FEATURES = 100
"""Features whose loadings are kept, at most."""

PATH_ROWS = 2000
"""Training rows, and test rows, that the accuracy by dimension is computed with, at most."""

LONGEST_MEASURED = 5.0
"""Seconds of a fit beyond which it is not done once more to measure its memory."""

MEASURED_SHARE = 0.1
"""Share of the time left that this fit may have taken: tracing makes it several times slower."""


class Data(NamedTuple):
    """Labelled rows as all folds see them."""

    X: Any
    codes: Array
    n_classes: int
    feature_names: tuple[str, ...]


class Job(NamedTuple):
    """What one fold is to do."""

    contender: Contender
    split: int
    test_size: float
    scale: Any
    decision: str
    random_state: int
    memory: bool


# Parts of the rows -------------------------------------------------------------------------------


def rank_in_class(codes: Array, seed: Any) -> Array:
    """The place of each row among those of its class, in an order that is drawn.

    Examples
    --------
    >>> ranks = rank_in_class(np.array([0, 0, 1, 1, 1]), 0)
    >>> sorted(ranks[:2].tolist()), sorted(ranks[2:].tolist())
    ([0, 1], [0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(codes), dtype=int)
    ranks[order] = np.arange(len(codes)) - starts[codes[order]]
    return ranks


def split_rows(codes: Array, test_size: float, seed: Any) -> tuple[Array, Array]:
    """Numbers of the rows to train and to test by: a share of each class, at least one row.

    A row alone in its class always trains.

    Examples
    --------
    >>> train, test = split_rows(np.array([0, 0, 0, 0, 1, 1, 2]), 0.3, 0)
    >>> len(train), len(test), 6 in train
    (5, 2, True)
    """
    counts = np.bincount(codes)
    wanted = np.minimum(np.maximum(np.rint(test_size * counts), 1), counts - 1)
    tested = rank_in_class(codes, seed) < wanted[codes]
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def some_rows(codes: Array, most: int | None, seed: Any) -> Array:
    """Numbers of about `most` rows, each class by its share but by two rows where it has them.

    Examples
    --------
    >>> len(some_rows(np.repeat([0, 1], 100), 50, 0))
    50
    """
    if most is None or len(codes) <= most:
        return np.arange(len(codes))
    wanted = np.maximum(np.rint(most / len(codes) * np.bincount(codes)), 2)
    return np.flatnonzero(rank_in_class(codes, seed) < wanted[codes])


# Rules on top of a subspace ----------------------------------------------------------------------


DECISIONS = {
    "3nn": lambda n_rows: KNeighborsClassifier(min(3, n_rows)),
    "centroid": lambda n_rows: NearestCentroid(),
    "gaussian": lambda n_rows: FisherDiscriminant(),
}
"""Three nearest neighbours, the nearest class mean, Gaussians of one covariance."""


def rule_to_keep(decision: str, n_rows: int) -> Any:
    """A fresh rule for a model that is kept; None where the method decides itself."""
    if decision == "own":
        return None
    if decision == "3nn":  # all distances: a tree of rows is a type that model files do not hold
        return KNeighborsClassifier(min(3, n_rows), algorithm="brute")
    return DECISIONS[decision](n_rows)


def decision_of(contender: Contender, decision: str) -> str:
    """The rule that classifies for a method: its own only where it has one."""
    if not hasattr(contender.estimator, "transform"):
        return "own"
    if decision == "own" and not is_classifier(contender.estimator):
        return "3nn"
    return decision


def scorer_of(decision: str, n_rows: int) -> Scorer:
    """How leading coordinates are scored: by the rule, or nearest neighbours for "own"."""
    if decision in ("own", "3nn"):
        return neighbour_scores
    return classifier_scores(DECISIONS[decision](n_rows))


def projected(model: Any, X: Any) -> Any:
    """Rows as a fitted transformer gives them: an array, or sparse where nothing was projected."""
    Z = model.transform(X)
    return Z if sp.issparse(Z) else np.asarray(Z)


class Decided(NamedTuple):
    """A fitted method and the rule that classifies; the rule may be the method itself.

    `columns` are those of the projection that the rule sees; None is all of them.
    """

    model: Any
    rule: Any
    columns: Array | None = None

    def project(self, X: Any) -> Any:
        """Rows in the directions that are kept."""
        Z = projected(self.model, X)
        return Z if self.columns is None else Z[:, self.columns]

    def seen(self, X: Any) -> Any:
        """Rows as the rule takes them."""
        return X if self.rule is self.model else self.project(X)


def with_rule(
    model: Any, X: Any, codes: Array, decision: str, columns: Array | None = None
) -> Decided:
    """A fitted method with its rule, which learns from rows in the subspace."""
    if decision == "own":
        return Decided(model, model)
    fitted = Decided(model, None, columns)
    Z = fitted.project(X)
    if Z.shape[1] == 0:
        raise ValueError("no direction was found that separates the classes")
    return fitted._replace(rule=DECISIONS[decision](len(codes)).fit(Z, codes))


# Scores ------------------------------------------------------------------------------------------


def degrees(rule: Any, rows: Any) -> Array | None:
    """How much each row speaks for the second of two classes; None where a rule does not say."""
    if hasattr(rule, "decision_function"):
        found = np.asarray(rule.decision_function(rows))
        return found if found.ndim == 1 else found[:, 1] - found[:, 0]
    if hasattr(rule, "predict_proba"):
        return np.asarray(rule.predict_proba(rows))[:, 1]
    return None


def judged(truth: Array, predicted: Array) -> dict[str, float]:
    """The scores of a `Fold` that any number of classes has.

    Examples
    --------
    >>> judged(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))["accuracy"]
    0.75
    """
    present = np.unique(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that was predicted need not be tested
        scores = {
            "accuracy": accuracy_score(truth, predicted),
            "balanced_accuracy": balanced_accuracy_score(truth, predicted),
            "macro_f": f1_score(
                truth, predicted, labels=present, average="macro", zero_division=0.0
            ),
        }
    return {name: float(value) for name, value in scores.items()}


def judged_pair(truth: Array, predicted: Array, degree: Array | None) -> dict[str, float]:
    """The scores that need two classes, 0 and 1, both among the rows tested."""
    if len(np.unique(truth)) < 2:
        return {}
    scores = {
        "sensitivity": recall_score(truth, predicted, pos_label=1),
        "specificity": recall_score(truth, predicted, pos_label=0),
    }
    if degree is not None and np.isfinite(degree).all():
        scores["auc"] = roc_auc_score(truth, degree)
    return {name: float(value) for name, value in scores.items()}


# Choosing inside the training part ---------------------------------------------------------------


class Trial(NamedTuple):
    """A setting that was tried: its score on held-out rows at the best number of directions."""

    params: dict[str, Any]
    score: float
    n_components: int | None = None


def choose(
    contender: Contender, estimator: Any, X: Any, codes: Array, decision: str, seed: int
) -> Trial:
    """The best of the grid by rows held out of these, one parameter after the other.

    Where directions can be cut off every value is judged at the number of directions that is best
    for it. Of equal values the first wins, also where all of them fail.
    """
    cut = contender.choose_dimension and decision != "own"
    rows = some_rows(codes, CHOICE_ROWS, seed)
    X, codes = X[rows], codes[rows]
    units = dict.fromkeys(contender.in_units, inverse_width(X, "scale"))
    grid = {
        name: [value * units[name] if name in units else value for value in values]
        for name, values in within_features(contender, X.shape[1]).items()
    }
    best = Trial({name: values[0] for name, values in grid.items()}, -np.inf)
    known: dict[str, Trial] = {}
    for name, values in grid.items() if grid else [("", ())] if cut else []:
        settings = [{**best.params, name: value} for value in values] if name else [{}]
        for params in settings:
            if repr(params) not in known:
                model = clone(estimator).set_params(**params)
                known[repr(params)] = _tried(params, model, X, codes, decision, cut, seed)
        trials = [known[repr(params)] for params in settings]
        best = trials[best_rule(np.array([trial.score for trial in trials]))]
    return best


def _tried(
    params: dict[str, Any],
    model: Any,
    X: Any,
    codes: Array,
    decision: str,
    cut: bool,
    seed: int,
) -> Trial:
    try:
        if cut:
            scorer = scorer_of(decision, len(codes))
            path = dimension_path(model, X, codes, scorer, n_folds=GRID_FOLDS, random_state=seed)
            score = path.scores.mean(axis=0).max() if len(path.scores) else 0.0
            return Trial(params, float(score), path.n_components)
        right = []
        for train, held in training_parts(codes, GRID_FOLDS, seed):
            fitted = clone(model).fit(X[train], codes[train])
            decided = with_rule(fitted, X[train], codes[train], decision)
            right.append(np.mean(decided.rule.predict(decided.seen(X[held])) == codes[held]))
        return Trial(params, float(np.mean(right)) if right else 0.0)
    except Exception:
        return Trial(params, -np.inf)  # the fit will say why, if nothing better is found


# The fold ----------------------------------------------------------------------------------------


def run_fold(job: Job, data: Data, time_left: float = math.inf) -> Fold:
    """One method on one split; an error becomes part of the record.

    `time_left` are the seconds after which the process that runs this is ended: what would only
    describe the fold is left out when they are few.
    """
    start = time.perf_counter()
    with (
        warnings.catch_warnings(record=True) as caught,
        config_context(transform_output="default"),
    ):
        warnings.simplefilter("always")
        try:
            record = {"status": "done", **_done(job, data, start + time_left)}
        except Exception as error:
            record = {"status": "failed", "reason": said_by(error)}
    aside = record.pop("aside", 0.0)
    return Fold(
        job.contender.name,
        job.split,
        **record,
        seconds=time.perf_counter() - start - aside,
        warnings=tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)),
    )


def said_by(error: BaseException) -> str:
    """Type and message of an error, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"


def _done(job: Job, data: Data, end_of_time: float) -> dict[str, Any]:
    """Scores and what else is recorded of a fold that works."""
    train, test = split_rows(data.codes, job.test_size, (job.random_state, job.split))
    codes, truth = data.codes[train], data.codes[test]
    start = time.perf_counter()
    scaler = scaler_for(job.scale, data.X, seed_of(job))
    known = data.X[train] if scaler is None else plain_rows(scaler.fit_transform(data.X[train]))
    trained = train_method(job, known, codes, data.n_classes)
    fitted = trained.fitted
    middle = time.perf_counter()
    new = data.X[test] if scaler is None else plain_rows(scaler.transform(data.X[test]))
    seen = fitted.seen(new)
    predicted = np.asarray(fitted.rule.predict(seen))
    end = time.perf_counter()
    scores = judged(truth, predicted)
    if data.n_classes == 2:
        scores |= judged_pair(truth, predicted, degrees(fitted.rule, seen))
    record = {
        "scores": scores,
        "fit_seconds": middle - start,
        "predict_seconds": end - middle,
        "chosen": trained.chosen,
        "n_rows": len(trained.rows),
        "predicted": tuple(predicted.tolist()),
    }
    if hasattr(fitted.model, "transform"):
        names = names_after(scaler, data.feature_names, known.shape[1])
        record |= if_possible("projected rows", described, job, fitted, known, codes, new, truth)
        if job.split == 0:
            record |= if_possible("view and loadings", shown, job, fitted, known, new, names)
    left = MEASURED_SHARE * (end_of_time - time.perf_counter())
    if job.memory and job.split == 0 and trained.seconds < min(LONGEST_MEASURED, left):
        rows, before = trained.rows, time.perf_counter()
        record |= if_possible("memory", peak_memory, trained.again, known[rows], codes[rows])
        record["aside"] = time.perf_counter() - before
    return record


def if_possible(what: str, measure: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """What only describes a fold; its scores are kept where that fails, and a warning says why."""
    try:
        return measure(*args)
    except Exception as error:
        warn_caller(f"no {what}: {said_by(error)}", RuntimeWarning)
        return {}


def scaler_for(scale: Any, X: Any, seed: int) -> Any:
    """A fresh transformer of the features, or None."""
    if scale is None or not isinstance(scale, str):
        return None if scale is None else seeded(scale, seed)
    return StandardScaler(with_mean=not sp.issparse(X))


def plain_rows(rows: Any) -> Any:
    """Rows that a transformer gave, as an array or in the sparse form that has rows."""
    return rows.tocsr() if sp.issparse(rows) else np.asarray(rows)


def names_after(scaler: Any, names: Sequence[str], n_columns: int) -> list[str]:
    """Names of the columns that a transformer made: its own, else those it got if as many."""
    if hasattr(scaler, "get_feature_names_out"):
        try:
            made = scaler.get_feature_names_out(np.array(names, dtype=object))
            if len(made) == n_columns:
                return [str(name) for name in made]
        except Exception:  # a transformer inside may not know its names
            made = None
    return list(names) if len(names) == n_columns else [f"x{j}" for j in range(n_columns)]


class Trained(NamedTuple):
    """A method after training: what was chosen, the rows it learned, what fits it once more."""

    fitted: Decided
    chosen: dict[str, Any]
    rows: Array
    again: Any
    seconds: float


def train_method(job: Job, X: Any, codes: Array, n_classes: int) -> Trained:
    """Choose by these rows and fit to them. All of them teach the rule, if there is one on top."""
    seed = seed_of(job)
    decision = decision_of(job.contender, job.decision)
    rows = some_rows(codes, job.contender.most_rows, seed)
    by_size = settings_by_size(
        job.contender, len(rows), X.shape[1], n_classes, sparse=sp.issparse(X)
    )
    estimator = seeded(job.contender.estimator, seed).set_params(**by_size)
    best = choose(job.contender, estimator, X, codes, decision, seed)
    estimator.set_params(**best.params)
    again, columns = clone(estimator), None
    if best.n_components is not None:
        estimator = every_direction(estimator)
    start = time.perf_counter()
    estimator.fit(X[rows], codes[rows])
    seconds = time.perf_counter() - start
    chosen = {**by_size, **best.params, **settled(estimator)}
    if best.n_components is not None:
        order, ends = columns_by_level(estimator, projected(estimator, X[:1]).shape[1])
        kept = min(best.n_components, len(ends))
        columns = order[: ends[kept - 1]] if kept else order
        chosen["n_components"] = kept
        again.set_params(n_components=max(kept, 1))
        if getattr(estimator, "_directions_depend_on_their_number", False):
            estimator, columns = clone(again).fit(X[rows], codes[rows]), None
    return Trained(with_rule(estimator, X, codes, decision, columns), chosen, rows, again, seconds)


def seed_of(job: Job) -> int:
    """The source of chance of all that a split fits."""
    return int(np.random.SeedSequence((job.random_state, job.split)).generate_state(1)[0] >> 1)


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose sources of chance are given, where they are not yet."""
    params = estimator.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return clone(estimator).set_params(**dict.fromkeys(unset, seed))


def settled(model: Any) -> dict[str, Any]:
    """What "auto" came to in a fitted model, where that is a value of the parameter."""
    # ridge_ is absolute, the parameter a share
    params = {n: v for n, v in model.get_params(deep=False).items() if n != "ridge"}
    auto = [n for n, v in params.items() if isinstance(v, str) and v == "auto"]
    return {n: getattr(model, f"{n}_") for n in auto if hasattr(model, f"{n}_")}


# What can be seen of a subspace ------------------------------------------------------------------


def described(
    job: Job, fitted: Decided, X: Any, codes: Array, X_new: Any, truth: Array
) -> dict[str, Any]:
    """Number of directions, and accuracy by dimension on at most `PATH_ROWS` rows of each part."""
    found: dict[str, Any] = {"n_components": len(kept_columns(fitted, X))}
    if job.contender.choose_dimension:
        known, new = (some_rows(part, PATH_ROWS, seed_of(job)) for part in (codes, truth))
        Z, Z_new = projected(fitted.model, X[known]), projected(fitted.model, X_new[new])
        order, ends = columns_by_level(fitted.model, Z.shape[1])
        score = scorer_of(decision_of(job.contender, job.decision), len(known))
        path = score(Z[:, order], codes[known], Z_new[:, order], truth[new], ends)
        found["path"] = tuple(path.tolist())
    return found


def kept_columns(fitted: Decided, X: Any) -> Array:
    """Columns of the projection that are kept."""
    if fitted.columns is not None:
        return fitted.columns
    return np.arange(projected(fitted.model, X[:1]).shape[1])


def shown(
    job: Job, fitted: Decided, X: Any, X_new: Any, feature_names: Sequence[str]
) -> dict[str, Any]:
    """View of the test rows, and loadings where a method has weights of features."""
    if is_raw(job.contender):
        n_axes = min(VIEW_DIRECTIONS, min(X.shape) - sp.issparse(X))  # not all of sparse rows
        if n_axes < 1:
            return {}
        axes = PCA(n_axes, random_state=0).fit(X)
        return {"view": View(nested(axes.transform(X_new)), "principal axes")}
    columns = kept_columns(fitted, X)[:VIEW_DIRECTIONS]
    if not len(columns):
        return {}
    Z_new = projected(fitted.model, X_new)
    found: dict[str, Any] = {"view": View(nested(Z_new[:, columns]))}
    W = None if sp.issparse(Z_new) else feature_weights(fitted.model, X_new, Z_new)
    if W is not None:
        found["loadings"] = loadings(W[columns], X, feature_names)
    return found


def nested(Z: Any) -> tuple[tuple[float, ...], ...]:
    """An array as tuples of its rows."""
    rows = Z.toarray() if sp.issparse(Z) else np.asarray(Z, dtype=float)
    return tuple(tuple(row) for row in rows.tolist())


def feature_weights(model: Any, X: Any, Z: Array) -> Array | None:
    """The W with ``Z = X Wᵀ`` up to a constant, where the model holds one."""
    W = getattr(model, "components_", None)
    if W is None:
        W = getattr(model, "scalings_", np.zeros((0, 0))).T  # scikit-learn's LDA
    W = np.asarray(W, dtype=float)[: Z.shape[1]]
    if W.shape != (Z.shape[1], X.shape[1]):
        return None
    product = X @ W.T
    product -= product.mean(axis=0)
    same = np.allclose(product, Z - Z.mean(axis=0), rtol=1e-4, atol=1e-4 * np.abs(product).max())
    return W if same else None


def loadings(W: Array, X: Any, feature_names: Sequence[str]) -> Loadings:
    """Directions by what a standard deviation of each feature adds to them, of length one."""
    scaler = StandardScaler(with_mean=False).fit(X)
    weights = W * np.sqrt(scaler.var_)
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), np.finfo(float).tiny)
    largest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:LOADING_FEATURES]
    largest.sort()
    names = tuple(feature_names[j] for j in largest)
    return Loadings(names, nested(weights[:, largest]), X.shape[1])


def peak_memory(estimator: Any, X: Any, codes: Array) -> dict[str, int]:
    """Most bytes that Python and NumPy held at a time during a fit, beyond those before it.

    A caller who traces memory already goes on doing so.
    """
    tracing = tracemalloc.is_tracing()
    if tracing:
        tracemalloc.reset_peak()
    else:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    try:
        estimator.fit(X, codes)
        return {"peak_bytes": tracemalloc.get_traced_memory()[1] - before}
    finally:
        if not tracing:
            tracemalloc.stop()
