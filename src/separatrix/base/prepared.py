"""Models behind steps that prepare their columns: moments in the units of the table, and back.

A scaler is an affine map of each column, so that the moments of scaled columns give those of the
columns as they were. These add and subtract; their means and variances are the scaler of the
result; and in its units the model is solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from separatrix.base.affine import propose_affine
from separatrix.base.batches import Memory, MomentEstimator
from separatrix.base.parameters import check_parameters
from separatrix.base.rows import check_several_classes
from separatrix.base.solution import NOTHING
from separatrix.linalg import EPS, Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.remainder import subtract_part

MAX_UNEQUAL = 1e-3
"""Largest mean, and difference of a variance from one, of columns that were scaled: rows of
float32 are scaled in float32."""


# Steps ---------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """The columns that steps give out, as functions of those of the table.

    Attributes
    ----------
    names : list of str
    shift, scale : array (n_columns,)
        A column is ``(value - shift) / scale``.
    scalers : list of (StandardScaler, array)
        The fitted scalers and the columns that each gives out.
    agreed : dict
        Properties that models must share to be merged, by their names in messages.
    indicators : tuple of int
        Columns that say whether a column of text has a value.
    fills : dict
        Values that take the place of gaps, by the names of columns.
    """

    names: list[str]
    shift: Array
    scale: Array
    scalers: list[tuple[Any, Array]]
    agreed: dict[str, Any]
    indicators: tuple[int, ...] = ()
    fills: Mapping[str, Any] = NOTHING

    @classmethod
    def as_they_are(cls, names: Sequence[str]) -> Columns:
        """Columns that no step has changed."""
        return cls(list(names), np.zeros(len(names)), np.ones(len(names)), [], {})


def read_step(step: Any, names: Sequence[str]) -> Columns:
    """The columns that a fitted step gives out, or an error where models behind it do not merge.

    Parameters
    ----------
    step : transformer, "passthrough" or None
    names : sequence of str
        Its columns.
    """
    kind = type(step).__name__
    if step is None or step == "passthrough":
        return Columns.as_they_are(names)
    if kind not in READERS:
        raise ValueError(BARS_MERGING.format(kind))
    return READERS[kind](step, names)


def _read_scaler(step: Any, names: Sequence[str]) -> Columns:
    affine = propose_affine(step, len(names))
    assert affine is not None, "a scaler is a map of each column"
    agreed = {"the scaler's (with_mean, with_std)": (step.with_mean, step.with_std)}
    everything = np.arange(len(names))
    scalers = [(step, everything)]
    return Columns(list(names), affine.centre, 1 / affine.weights, scalers, agreed)


def _read_imputer(step: Any, names: Sequence[str]) -> Columns:
    if step.add_indicator:
        raise ValueError("SimpleImputer(add_indicator=True) comes before the model: leave it out")
    kept = list(step.get_feature_names_out(names))
    filled = dict(zip(names, step.statistics_.tolist(), strict=True))
    # a constant was learned from no row, so that it stays when rows are forgotten
    kind = "constant" if step.strategy == "constant" else "value"
    agreed = {f"the {kind} that fills gaps of {name!r}": filled[name] for name in kept}
    fills = {name: filled[name] for name in kept}
    return Columns.as_they_are(kept)._replace(agreed=agreed, fills=fills)


def _read_encoder(step: Any, names: Sequence[str]) -> Columns:
    known = zip(names, step.categories_, strict=True)
    agreed: dict[str, Any] = {f"the values of {n!r}": values.tolist() for n, values in known}
    agreed["the encoder's drop"] = step.drop
    made = Columns.as_they_are(list(step.get_feature_names_out(names)))
    return made._replace(agreed=agreed, indicators=tuple(range(len(made.names))))


def _read_pipeline(step: Any, names: Sequence[str]) -> Columns:
    columns = Columns.as_they_are(names)
    for _, inner in step.steps:
        if columns.scalers:
            raise ValueError(
                f"{type(inner).__name__} comes after a scaler, and models behind it do not merge: "
                "let the scaler be the last step before the model"
            )
        prepared = read_step(inner, columns.names)
        fills = {**prepared.fills, **columns.fills}
        columns = prepared._replace(agreed={**columns.agreed, **prepared.agreed}, fills=fills)
    return columns


def _read_column_transformer(step: Any, names: Sequence[str]) -> Columns:
    parts, start = [], 0
    for _, inner, chosen in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        prepared = read_step(inner, _chosen_names(chosen, names))
        scalers = [(scaler, at + start) for scaler, at in prepared.scalers]
        indicators = tuple(i + start for i in prepared.indicators)
        parts.append(prepared._replace(scalers=scalers, indicators=indicators))
        start += len(prepared.names)
    return Columns(
        [name for part in parts for name in part.names],
        np.concatenate([part.shift for part in parts]),
        np.concatenate([part.scale for part in parts]),
        [scaler for part in parts for scaler in part.scalers],
        {key: value for part in parts for key, value in part.agreed.items()},
        tuple(i for part in parts for i in part.indicators),
        {name: value for part in parts for name, value in part.fills.items()},
    )


def _chosen_names(chosen: Any, names: Sequence[str]) -> list[str]:
    """Names of columns that are chosen by names, one name, numbers, a mask or a slice."""
    if isinstance(chosen, str):
        return [chosen]
    if isinstance(chosen, list) and all(isinstance(name, str) for name in chosen):
        return chosen
    return np.asarray(names, dtype=object)[chosen].tolist()


def _read_hashing(step: Any, names: Sequence[str]) -> Columns:
    """Words by a hash: nothing was learned, so that columns mean the same in every model."""
    settings = {f"words: {name}": value for name, value in step.get_params().items()}
    made = [f"{names[0]}#{i}" for i in range(step.n_features)]
    return Columns.as_they_are(made)._replace(agreed=settings)


READERS = {
    "StandardScaler": _read_scaler,
    "SimpleImputer": _read_imputer,
    "HashingVectorizer": _read_hashing,
    "OneHotEncoder": _read_encoder,
    "Pipeline": _read_pipeline,
    "ColumnTransformer": _read_column_transformer,
}
"""Steps behind which models merge, and the functions that read them."""

BARS_MERGING = (
    "{} comes before the model, and models behind it do not merge: only behind "
    f"{', '.join(READERS)} do they"
)


# Models --------------------------------------------------------------------------------------


class Prepared(NamedTuple):
    """A moment model, and the steps before it.

    Attributes
    ----------
    model : estimator
        The last step.
    steps : Pipeline or None
        Those before.
    columns : Columns
        Features of the model.
    """

    model: Any
    steps: Any
    columns: Columns

    @property
    def moments(self) -> ClassMoments:
        """The moments in the units of the table."""
        if self.steps is None:
            return self.model.moments_
        return self.model.moments_.rescaled(self.columns.shift, self.columns.scale)

    def summarize(self, X: Any, y: Any, sample_weight: Any = None) -> ClassMoments:
        """Moments of rows of known classes, in the units of the table."""
        model = self.model
        Z = X if self.steps is None else self.steps.transform(X)
        moments = model.summarize_known(Z, y, sample_weight)
        if self.steps is None:
            return moments
        return moments.rescaled(self.columns.shift, self.columns.scale)

    def solved_for(self, moments: ClassMoments) -> Any:
        """A new model with the same parameters for moments in the units of the table."""
        model = clone(self.model)
        for name in self.model._shared_when_merged:
            behind_steps = self.steps is not None and name == "feature_names_in_"
            if hasattr(self.model, name) and not behind_steps:
                setattr(model, name, deepcopy(getattr(self.model, name)))
        if self.steps is None:
            return _store(model, moments)
        steps = deepcopy(self.steps)
        columns = read_step(steps, find_names(steps))
        for scaler, at in columns.scalers:
            set_scale(scaler, moments, at)
        columns = read_step(steps, find_names(steps))
        # z = (x - shift)/scale = x/scale - shift/scale
        scaled = moments.rescaled(-columns.shift / columns.scale, 1 / columns.scale)
        return Pipeline([*steps.steps, (self.name, _store(model, scaled))])

    @property
    def name(self) -> str:
        """The name of the model among the steps."""
        return type(self.model).__name__.lower()


def _store(model: Any, moments: ClassMoments) -> Any:
    moments = model._add_summaries([moments])  # in the form in which the model keeps them
    model._keep(Memory(moments), moments.classes)
    model._store(moments, model._find(moments, None, {}))
    return model


def fit_moments(
    model: Any, moments: ClassMoments, feature_names: Sequence[str] | None = None
) -> Any:
    """Fit a moment model to moments that were made elsewhere, such as by a database.

    Parameters
    ----------
    model : estimator
        One that needs nothing but moments; it is fitted in place.
    moments : ClassMoments
    feature_names : sequence of str, optional

    Examples
    --------
    >>> from separatrix import ClassMoments, FisherDiscriminant
    >>> X, y = [[0.0, 1], [1, 0], [5, 5], [6, 7]], ["a", "a", "b", "b"]
    >>> model = fit_moments(FisherDiscriminant(shrinkage=0.1), ClassMoments.from_data(X, y))
    >>> model.predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """
    if not isinstance(model, MomentEstimator):
        raise TypeError(
            f"{type(model).__name__} looks at rows: only methods of class moments, such as "
            "FisherDiscriminant, are fitted to moments"
        )
    check_parameters(model, model._allowed_parameters)
    check_several_classes(model, moments.classes)
    model._check_moments_suffice(moments.classes)
    model.n_features_in_ = moments.n_features
    if feature_names is not None:
        model.feature_names_in_ = np.array(feature_names, dtype=object)
    return _store(model, moments)


def set_scale(scaler: Any, moments: ClassMoments, at: Array) -> None:
    """Let a scaler be that of rows whose moments are known; it has the columns `at`."""
    n = moments.n_samples
    mean, var = moments.mean[at], moments.total_diagonal()[at].clip(0.0) / n
    # scikit-learn's rule: a variance of rounding size is none, and such columns are not scaled
    constant = var <= n * EPS * var + (n * mean * EPS) ** 2
    scaler.n_samples_seen_ = np.int64(round(n))
    scaler.mean_ = mean if scaler.with_mean or scaler.with_std else None
    scaler.var_ = var if scaler.with_std else None
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(var)) if scaler.with_std else None


def put_behind_scaler(model: Any) -> Any:
    """The pipeline of a scaler and a model that a fit to the same rows would give."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    scaler.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        scaler.feature_names_in_ = model.feature_names_in_
    steps = Pipeline([("standardscaler", scaler)])
    everything = np.arange(model.n_features_in_)
    set_scale(scaler, model.moments_, everything)
    return Prepared(model, steps, read_step(steps, find_names(steps))).solved_for(model.moments_)


def find_names(steps: Any) -> list[str]:
    """Names of the columns that a model or steps were fitted to; numbers where they have none."""
    names = getattr(steps, "feature_names_in_", None)
    return [f"x{i}" for i in range(steps.n_features_in_)] if names is None else list(names)


def take_apart(model: Any) -> Prepared:
    """The moment model and the steps before it, or an error that says why it does not merge."""
    if not isinstance(model, Pipeline):
        _check_has_moments(model)
        return Prepared(model, None, Columns.as_they_are(find_names(model)))
    last = model.steps[-1][1]
    steps = model[:-1]
    decides = len(steps) and hasattr(steps[-1], "_merges") and hasattr(steps[-1], "predict")
    if not getattr(last, "_merges", False) and decides:
        raise ValueError(
            f"{type(last).__name__} decides by rows, which are not kept: leave the decision to "
            f"{type(steps[-1]).__name__} itself"
        )
    if len(steps) and not getattr(last, "_merges", False) and hasattr(steps[-1], "classes_"):
        _check_has_moments(steps[-1])  # the subspace is at fault, not the rule on top of it
    _check_has_moments(last)
    if getattr(last, "_map", None) is not None or not isinstance(last.moments_, ClassMoments):
        raise ValueError(
            f"{type(last).__name__} measures distances in the units of its scaler, which differ "
            "among models: fit it without scaling"
        )
    if last.moments_.is_truncated:
        raise ValueError(
            f"this {type(last).__name__} knows small axes of its scaled columns by their average "
            "only, which has no other scale: fit it without scaling, or with a larger rank"
        )
    columns = read_step(steps, find_names(steps))
    _check_same_rows(columns, last.moments_)
    return Prepared(last, steps, columns)


def _check_has_moments(model: Any) -> None:
    if not getattr(model, "_merges", False):
        raise TypeError(
            f"{type(model).__name__} cannot be merged: it learns from the rows themselves, not "
            "from class moments, which add"
        )
    if getattr(model, "window", None) is not None:
        raise ValueError(
            f"it forgets by window={model.window}: streams that are merged have no common "
            "order of rows. Merge models without a window, or with decay"
        )
    if not hasattr(model, "classes_"):
        raise NotFittedError("it is not fitted yet: call fit before")
    if getattr(model, "_landmarks", model) is None:
        raise ValueError(
            "it has no landmarks, so no moments that could be added: fit all models with the same "
            "kernel and n_landmarks, those of the first model (kernel_, landmarks_)"
        )
    if model.moments_ is None:
        raise ValueError("it has no moments: fit it with keep_moments=True to merge it")
    model._check_moments_suffice(model.classes_)


def _check_same_rows(columns: Columns, moments: ClassMoments) -> None:
    """Raise where a scaler and the model behind it did not learn from the same rows."""
    n = moments.n_samples
    for scaler, at in columns.scalers:
        variances = moments.total_diagonal()[at] / n
        varies = np.ones(len(at), bool) if not scaler.with_std else scaler.var_ > 0
        # of a column that the scaler left at zero nothing can be compared
        varies = varies & (variances > MAX_UNEQUAL)
        unequal = scaler.with_std and (np.abs(variances[varies] - 1) > MAX_UNEQUAL).any()
        moved = scaler.with_mean and (np.abs(moments.mean[at]) > MAX_UNEQUAL).any()
        if unequal or moved or abs(float(np.max(scaler.n_samples_seen_)) - n) > 1:
            raise ValueError(
                "its scaler and the model behind it did not learn from the same rows, or not with "
                "the same weights: fit the pipeline at once, without weights"
            )


# Rows to forget ------------------------------------------------------------------------------


class Forgotten(NamedTuple):
    """A model without some of its rows.

    Attributes
    ----------
    model : estimator
        A new one.
    residual : float
        Bound, up to a small factor, on the relative error of its scatter in any direction.
    before, after : dict
        Rows of each class.
    """

    model: Any
    residual: float
    before: Mapping[Any, float]
    after: Mapping[Any, float]


def forget(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The model that never saw some rows, from one that did; also behind a scaler.

    Parameters
    ----------
    model : estimator, or pipeline of a scaler and an estimator
        Of those that `merge` takes; it is left as it was.
    X : array or data frame (n_samples, n_features)
        The rows to forget, as they were learned, in the units of the table.
    y : array (n_samples,)
        Their labels.
    sample_weight : array (n_samples,), optional
        The weights that they have now.

    Returns
    -------
    estimator
        A new one; `separatrix.base.prepared.forget_rows` also gives a bound on its error.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import clone
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import FisherDiscriminant, datasets, forget
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> plain = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None))
    >>> model, never = clone(plain).fit(X, y), plain.fit(X[7:], y[7:])
    >>> found = forget(model, X[:7], y[:7])
    >>> bool(np.allclose(found.decision_function(X), never.decision_function(X)))
    True
    """
    return forget_rows(model, X, y, sample_weight).model


def forget_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Forgotten:
    """The result of `forget` with a bound on its error, and the rows of each class."""
    if not isinstance(model, Pipeline):
        if not hasattr(model, "forget"):
            kind = type(model).__name__
            raise TypeError(f"{kind} cannot forget rows: it keeps no class moments")
        rest = model.moments_without(X, y, sample_weight)
        return _forgotten(model, deepcopy(model).forget(X, y, sample_weight), rest.residual)
    prepared = take_apart(model)
    _check_steps_forget(prepared)
    prepared.model._check_forgets(sample_weight)
    rest = subtract_part(prepared.moments, prepared.summarize(X, y, sample_weight))
    _check_values_left(prepared, rest.moments)
    return _forgotten(model, prepared.solved_for(rest.moments), rest.residual)


def _forgotten(old: Any, new: Any, residual: float) -> Forgotten:
    before, after = (read_counts(model) for model in (old, new))
    return Forgotten(new, residual, before, after)


def read_counts(model: Any) -> dict[Any, float]:
    """The rows of each class that a moment model has learned, also behind steps."""
    last = model[-1] if isinstance(model, Pipeline) else model
    moments = last.moments_
    return dict(zip(moments.classes.tolist(), moments.counts.tolist(), strict=True))


def _check_steps_forget(prepared: Prepared) -> None:
    """Raise where a step learned from rows in a way that cannot be subtracted."""
    filled = [key for key in prepared.columns.agreed if key.startswith("the value that fills")]
    if filled:
        raise ValueError(
            f"{filled[0]} was computed from all rows, those to be forgotten among them: fit the "
            "model again without these rows"
        )


def _check_values_left(prepared: Prepared, rest: ClassMoments) -> None:
    """Raise where a value of a column of text would be left without a row."""
    for i in prepared.columns.indicators:
        before, after = (m.mean[i] * m.n_samples for m in (prepared.moments, rest))
        if after < 0.5 <= before:
            raise ValueError(
                f"no row would be left with {prepared.columns.names[i]!r}, and the model would "
                "have a column less: fit it again without these rows"
            )
