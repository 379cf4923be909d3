"""One method on one split: choose, fit and decide by the training part, judge by the rest."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from separatrix.base import SubspaceEstimator
from separatrix.comparison import Fold, Loadings, View
from separatrix.contenders import Contender
from separatrix.fisher import FisherDiscriminant
from separatrix.kernel import inverse_width
from separatrix.linalg import Array
from separatrix.selection import (
    GRID_FOLDS,
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

LANDMARK_ROWS = 2000
"""Training rows from which on kernel methods use landmarks."""

N_LANDMARKS = 500
"""How many."""

SLOW_ROWS = {"NCA": 1000, "MixtureIPCAC": 1000, "KernelLDG": 1000}
"""Methods whose fits grow too fast with rows, and how many they learn from at most."""

VIEW_DIRECTIONS = 3
LOADING_FEATURES = 100


# Splits ------------------------------------------------------------------------------------------


def rank_in_class(codes: Array, rng: np.random.Generator) -> Array:
    """The place of each row among those of its class, in an order that is drawn.

    Examples
    --------
    >>> ranks = rank_in_class(np.array([0, 0, 1, 1, 1]), np.random.default_rng(0))
    >>> sorted(ranks[:2].tolist()), sorted(ranks[2:].tolist())
    ([0, 1], [0, 1, 2])
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(codes), dtype=int)
    ranks[order] = np.arange(len(codes)) - starts[codes[order]]
    return ranks


def split_rows(codes: Array, test_size: float, seed: Sequence[int]) -> tuple[Array, Array]:
    """Numbers of the rows to train and to test by: the share of each class, at least one row.

    A row alone in its class always trains.

    Examples
    --------
    >>> train, test = split_rows(np.array([0, 0, 0, 0, 1, 1, 2]), 0.3, (0, 0))
    >>> len(train), len(test), 6 in train
    (5, 2, True)
    """
    counts = np.bincount(codes)
    wanted = np.minimum(np.maximum(np.rint(test_size * counts), 1), counts - 1)
    tested = rank_in_class(codes, np.random.default_rng(seed)) < wanted[codes]
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def some_rows(codes: Array, most: int, seed: int) -> Array:
    """Numbers of about `most` rows, each class by its share but by two rows at least."""
    if len(codes) <= most:
        return np.arange(len(codes))
    wanted = np.maximum(np.rint(most / len(codes) * np.bincount(codes)), 2)
    return np.flatnonzero(rank_in_class(codes, np.random.default_rng(seed)) < wanted[codes])


# Decisions ---------------------------------------------------------------------------------------


DECISIONS = {
    "3nn": lambda n_rows: KNeighborsClassifier(min(3, n_rows)),
    "centroid": lambda n_rows: NearestCentroid(),
    "gaussian": lambda n_rows: FisherDiscriminant(),
}
"""Rules on top of a subspace: three nearest neighbours, the nearest class mean, and Gaussians of
one covariance."""


def decision_of(contender: Contender, decision: str) -> str:
    """The rule that classifies for a method: its own only where it has one."""
    own = is_classifier(contender.estimator)
    if not hasattr(contender.estimator, "transform"):
        return "own"
    return "3nn" if decision == "own" and not own else decision


class Decided(NamedTuple):
    """A fitted method with its rule: `project` is None for classifiers without a subspace."""

    model: Any
    rule: Any
    columns: Array | None

    def project(self, X: Any) -> Array:
        Z = np.asarray(self.model.transform(X))
        return Z if self.columns is None else Z[:, self.columns]

    def seen_by_rule(self, X: Any) -> Any:
        return X if self.rule is self.model else self.project(X)


def degrees(rule: Any, rows: Any) -> Array | None:
    """How much each row speaks for the second of two classes; None where a rule does not say."""
    if hasattr(rule, "decision_function"):
        found = np.asarray(rule.decision_function(rows))
        return found if found.ndim == 1 else found[:, 1] - found[:, 0]
    if hasattr(rule, "predict_proba"):
        return np.asarray(rule.predict_proba(rows))[:, 1]
    return None


def judged(
    truth: Array, predicted: Array, n_classes: int, degree: Array | None
) -> dict[str, float]:
    """The scores of a `Fold`."""
    present = np.unique(truth)
    kwargs = {"labels": present, "average": "macro", "zero_division": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predictions of a class that is not tested
        scores = {
            "accuracy": accuracy_score(truth, predicted),
            "balanced_accuracy": balanced_accuracy_score(truth, predicted),
            "macro_f": f1_score(truth, predicted, **kwargs),
        }
    if n_classes == 2 and len(present) == 2:
        scores["sensitivity"] = recall_score(truth, predicted, pos_label=1)
        scores["specificity"] = recall_score(truth, predicted, pos_label=0)
        if degree is not None and np.isfinite(degree).all():
            scores["auc"] = roc_auc_score(truth, degree)
    return {name: float(value) for name, value in scores.items()}


# Choosing inside the training part ---------------------------------------------------------------


class Choice(NamedTuple):
    """What was chosen: parameters as they are recorded and as they are set, and directions."""

    recorded: dict[str, Any]
    params: dict[str, Any]
    n_components: int | None


def choose(
    contender: Contender, estimator: Any, X: Any, codes: Array, decision: str, seed: int
) -> Choice:
    """The best of the grid, one parameter after the other, by rows held out of these.

    Where directions can be cut off every value is judged at the number of directions that is best
    for it. Of equal values the first wins; a value that fails is not chosen, unless all fail.
    """
    rows = some_rows(codes, CHOICE_ROWS, seed)
    X, codes = X[rows], codes[rows]
    parts = training_parts(codes, GRID_FOLDS, seed)
    cut = contender.choose_dimension and decision != "own"
    chosen: dict[str, Any] = {}
    recorded: dict[str, Any] = {}
    n_components: int | None = None
    for name, values in (contender.grid or {"": (None,)} if cut else contender.grid).items():
        found = []
        for value in values:
            setting = {name: _meant(name, value, X)} if name else {}
            model = clone(estimator).set_params(**chosen, **setting)
            found.append(_held_out(model, X, codes, decision, parts, cut, seed))
        if all(isinstance(f, Exception) for f in found):
            raise found[0]
        scores = [-np.inf if isinstance(f, Exception) else f[0] for f in found]
        best = best_rule(np.array(scores))
        n_components = found[best][1]
        if name:
            chosen[name] = _meant(name, values[best], X)
            recorded[name] = chosen[name]
    return Choice(recorded, chosen, n_components)


def _meant(name: str, value: Any, X: Any) -> Any:
    return value * inverse_width(X, "scale") if name == "kernel_gamma" else value


def _held_out(
    estimator: Any,
    X: Any,
    codes: Array,
    decision: str,
    parts: Sequence[tuple[Array, Array]],
    cut: bool,
    seed: int,
) -> tuple[float, int | None] | Exception:
    """The average score of a setting and the number of directions that gives it."""
    try:
        if cut:
            scorer = None if decision == "3nn" else DECISIONS[decision](len(codes))
            path = dimension_path(
                estimator, X, codes, scorer, n_folds=GRID_FOLDS, random_state=seed
            )
            score = path.scores.mean(axis=0).max() if len(path.scores) else 0.0
            return float(score), path.n_components
        right = []
        for train, held in parts:
            fitted = decided(clone(estimator), X[train], codes[train], decision)
            predicted = fitted.rule.predict(fitted.seen_by_rule(X[held]))
            right.append(np.mean(predicted == codes[held]))
        return float(np.mean(right)) if right else 0.0, None
    except Exception as error:
        return error


def decided(model: Any, X: Any, codes: Array, decision: str) -> Decided:
    """A model fitted to rows, and its rule."""
    model.fit(X, codes)
    if decision == "own":
        return Decided(model, model, None)
    return with_rule(model, None, X, codes, decision)


def with_rule(model: Any, columns: Array | None, X: Any, codes: Array, decision: str) -> Decided:
    """A fitted subspace with a rule on top, learned from rows in the subspace."""
    fitted = Decided(model, None, columns)
    Z = fitted.project(X)
    if Z.shape[1] == 0:
        raise ValueError("no direction was found that separates the classes")
    return fitted._replace(rule=DECISIONS[decision](len(codes)).fit(Z, codes))


# The fold ----------------------------------------------------------------------------------------


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


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose sources of chance are given, where they are not yet."""
    params = estimator.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return clone(estimator).set_params(**dict.fromkeys(unset, seed))


def fitting_size(contender: Contender, estimator: Any, n_rows: int, data: Data) -> dict[str, Any]:
    """Parameters that follow from the size of the data alone."""
    d = data.X.shape[1]
    if contender.kind == "given":
        return {}
    if isinstance(estimator, PCA):
        return {"n_components": max(1, min(40, d, n_rows // 2))}
    if isinstance(estimator, NeighborhoodComponentsAnalysis):
        return {"n_components": min(d, max(2, data.n_classes - 1))}
    params = estimator.get_params(deep=False)
    if n_rows > LANDMARK_ROWS and params.get("kernel") is not None and "n_landmarks" in params:
        return {"n_landmarks": N_LANDMARKS}
    return {}


def run_fold(job: Job, data: Data) -> Fold:
    """One method on one split; an error becomes part of the record."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = _fold(job, data)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            record = {"status": "failed", "reason": reason}
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    seconds = time.perf_counter() - start
    return Fold(job.contender.name, job.split, **record, seconds=seconds, warnings=tuple(said))


def _fold(job: Job, data: Data) -> dict[str, Any]:
    train, test = split_rows(data.codes, job.test_size, (job.random_state, job.split))
    codes, truth = data.codes[train], data.codes[test]
    seed = int(np.random.SeedSequence((job.random_state, job.split)).generate_state(1)[0] >> 1)
    start = time.perf_counter()
    scaler = scaler_for(job.scale, data.X)
    known = data.X[train] if scaler is None else scaler.fit_transform(data.X[train])
    decision = decision_of(job.contender, job.decision)
    learned = some_rows(codes, SLOW_ROWS.get(job.contender.name, len(codes)), seed)
    estimator = seeded(job.contender.estimator, seed)
    by_size = fitting_size(job.contender, estimator, len(learned), data)
    estimator.set_params(**by_size)
    choice = choose(job.contender, estimator, known, codes, decision, seed)
    estimator.set_params(**choice.params)
    fitted = _fitted(estimator, choice, known, codes, learned, decision)
    middle = time.perf_counter()
    new = data.X[test] if scaler is None else scaler.transform(data.X[test])
    rows = fitted.seen_by_rule(new)
    predicted = np.asarray(fitted.rule.predict(rows))
    end = time.perf_counter()
    record = {
        "status": "done",
        "fit_seconds": middle - start,
        "predict_seconds": end - middle,
        "scores": judged(
            truth,
            predicted,
            data.n_classes,
            degrees(fitted.rule, rows) if data.n_classes == 2 else None,
        ),
        "predicted": tuple(int(p) for p in predicted),
        "chosen": {**by_size, **choice.recorded},
        "n_rows": len(learned),
    }
    if hasattr(fitted.model, "transform"):
        record |= _subspace(job, fitted, known, codes, new, truth, data)
    if job.memory and job.split == 0:
        record["peak_bytes"] = peak_memory(fitted.model, known[learned], codes[learned])
    return record


def scaler_for(scale: Any, X: Any) -> Any:
    """A fresh transformer of the features, or None."""
    if scale is None:
        return None
    if scale == "standard":
        return StandardScaler(with_mean=not sp.issparse(X))
    return clone(scale)


def _fitted(
    estimator: Any, choice: Choice, X: Any, codes: Array, learned: Array, decision: str
) -> Decided:
    """The method with what was chosen, fitted to the rows to learn from; the rule sees all."""
    if decision == "own":
        return decided(estimator, X[learned], codes[learned], decision)
    if choice.n_components is None:
        model = estimator.fit(X[learned], codes[learned])
        return with_rule(model, None, X, codes, decision)
    model = every_direction(estimator).fit(X[learned], codes[learned])
    order, ends = columns_by_level(model, np.asarray(model.transform(X[:1])).shape[1])
    kept = order[: ends[min(choice.n_components, len(ends)) - 1]] if len(ends) else order
    return with_rule(model, kept, X, codes, decision)


def _subspace(
    job: Job, fitted: Decided, X: Any, codes: Array, X_new: Any, truth: Array, data: Data
) -> dict[str, Any]:
    """What can be seen of a subspace by rows that were held out."""
    raw = job.contender.name == "raw"
    Z, Z_new = (np.asarray(fitted.model.transform(rows)) for rows in (X, X_new))
    columns = np.arange(Z.shape[1]) if fitted.columns is None else fitted.columns
    found: dict[str, Any] = {"n_components": len(columns)}
    if job.contender.choose_dimension:
        order, ends = columns_by_level(fitted.model, Z.shape[1])
        decision = decision_of(job.contender, job.decision)
        scorer = (
            neighbour_scores
            if decision in ("own", "3nn")
            else classifier_scores(DECISIONS[decision](len(codes)))
        )
        found["path"] = tuple(scorer(Z[:, order], codes, Z_new[:, order], truth, ends).tolist())
    if job.split == 0:
        found["view"] = held_out_view(X, X_new, Z_new[:, columns], raw)
        if not raw:
            found["loadings"] = loadings_of(fitted, X, X_new, Z_new, columns, data.feature_names)
    return found


def held_out_view(X: Any, X_new: Any, Z_new: Array, raw: bool) -> View | None:
    """The first coordinates of held-out rows."""
    if raw:
        axes = PCA(min(VIEW_DIRECTIONS, *X.shape), random_state=0).fit(X)
        return View(_nested(axes.transform(X_new)), "principal axes")
    return View(_nested(Z_new[:, :VIEW_DIRECTIONS])) if Z_new.shape[1] else None


def _nested(Z: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(Z, dtype=float).tolist())


def loadings_of(
    fitted: Decided, X: Any, X_new: Any, Z_new: Array, columns: Array, names: tuple[str, ...]
) -> Loadings | None:
    """Weights of the features, where the projection is a product with such weights."""
    W = getattr(fitted.model, "components_", None)
    W = getattr(fitted.model, "scalings_", None) if W is None else W
    if W is None:
        return None
    W = np.asarray(W, dtype=float)
    W = W if W.shape[1:] == (X.shape[1],) else W.T
    if W.shape[1:] != (X.shape[1],) or len(W) < Z_new.shape[1]:
        return None
    W = W[: Z_new.shape[1]]
    moved = X_new @ W.T
    if not np.allclose(
        moved - moved.mean(axis=0), Z_new - Z_new.mean(axis=0), atol=1e-6 * np.abs(moved).max()
    ):
        return None
    spread = StandardScaler(with_mean=False).fit(X).scale_ * (np.ptp(X, axis=0) > 0)
    weights = W[columns[:VIEW_DIRECTIONS]] * spread
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-300)
    largest = np.sort(np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:LOADING_FEATURES])
    return Loadings(tuple(names[j] for j in largest), _nested(weights[:, largest]), X.shape[1])


def peak_memory(model: Any, X: Any, codes: Array) -> int:
    """Most bytes held by Python and NumPy during one more fit, beyond those held before."""
    again = clone(model)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        again.fit(X, codes)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
