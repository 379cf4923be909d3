"""One model from models trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from separatrix.base.prepared import BARS_MERGING, READERS, Prepared, take_apart
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import is_text
from separatrix.moments.noise import NoiseLevel, add_noise
from separatrix.moments.remainder import subtract_part
from separatrix.moments.soundness import find_fault


def merge(
    models: Sequence[Any],
    *,
    without: Sequence[Any] = (),
    epsilon: float | None = None,
    delta: float | None = None,
    clip: float | None = None,
    random_state: int | None = None,
) -> Any:
    """The model that training on all rows together would give, from models trained apart.

    Each model keeps the moments of its rows; moments add. So merging is exact, in any order and
    grouping, moves no rows, and its result can be merged or updated again. Models may know
    different classes, and have the same named columns in another order.

    Parameters
    ----------
    models : sequence of fitted estimators, or of pipelines
        Of one class that keeps moments (`FisherDiscriminant`, `QuadraticDiscriminant`,
        `HeteroscedasticDiscriminant`, `PartialLeastSquaresDiscriminant`, `IPCAC`,
        `TruncatedIPCAC`, `OnlineIPCAC`;
        `KernelFisherDiscriminant`, `KernelIPCAC` of the same landmarks; `ClassEraser`), with the
        same parameters and features. They may stand behind a StandardScaler: the scaler of all
        rows follows from the moments. Imputers and one-hot encoders before it must have equal
        values.
    without : sequence of fitted estimators, or of pipelines
        Models whose rows are taken out of the sum, such as that of a site that leaves.
    epsilon, delta, clip : float, optional
        Add Gaussian noise to the moments of each model, so that they are (ε, δ)-differentially
        private for one row more or less. No row may be longer than `clip`, in the units of the
        table: each site must have shortened its rows to it (`separatrix.moments.noise.clip_rows`).
    random_state : int, optional
        Seed of this noise; leave it out where the noise is to protect anyone.

    Returns
    -------
    estimator
        A new model; those given are left as they were. With noise its `noise_` states the level.

    Notes
    -----
    Moments that cannot be those of any rows (negative counts, a scatter that is negative in some
    direction, values that are not finite) are an error that names the model. How much each model
    changes the result is said by `separatrix.base.influence.site_influences`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import FisherDiscriminant, datasets, merge
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> model = lambda: make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=0.1))
    >>> sites = [model().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> whole = model().fit(X, y)
    >>> bool(np.allclose(merge(sites)[-1].components_, whole[-1].components_))
    True
    >>> rest = merge([whole], without=[sites[2]])
    >>> bool(np.allclose(rest[-1].components_, merge(sites[:2])[-1].components_))
    True
    """
    given = list(models)
    if not given:
        raise ValueError("merge needs at least one model")
    level = _noise_level(epsilon, delta, clip)
    parts = align([*given, *without])
    first = parts[0][0]
    terms = [moments for _, moments in parts[: len(given)]]
    noise = next((known for p, _ in parts if (known := getattr(p.model, "noise_", None))), None)
    if level is not None:
        _check_adds_noise(without, noise)
        rng = np.random.default_rng(random_state)
        terms = [add_noise(moments, level, rng) for moments in terms]
        noise = level._asdict()
    labels = np.unique(np.concatenate([moments.classes for moments in terms]))
    first.model._check_moments_suffice(labels)
    # a copy: with one model the sum is its own moments, which the merged one must not share
    total = copy(first.model._add_summaries(terms))
    for i, (_, moments) in enumerate(parts[len(given) :]):
        total = _subtract(total, moments, i)
    merged = first.solved_for(total)
    if noise is not None:
        (merged[-1] if isinstance(merged, Pipeline) else merged).noise_ = dict(noise)
    return merged


def align(models: Sequence[Any]) -> list[tuple[Prepared, ClassMoments]]:
    """Models apart from the steps before them, and moments in the columns of the first.

    Raises where models cannot be merged, and says which and why.
    """
    parts: list[tuple[Prepared, ClassMoments]] = []
    for i, model in enumerate(models):
        try:
            part = take_apart(model)
        except (TypeError, ValueError) as error:
            raise type(error)(f"model {i}: {error}") from None
        _check_alike(parts[0][0] if parts else part, part, i)
        moments = _in_order_of(parts[0][0] if parts else part, part, i)
        fault = find_fault(moments)
        if fault is not None:
            raise ValueError(f"model {i} has moments that no rows have: {fault}. Fit it again")
        parts.append((part, moments))
    return parts


def why_not_mergeable(model: Any) -> str | None:
    """Why a model cannot be merged with others, to say so in time; None where it can.

    Of a model that is not fitted it is known what no rows will change: its kind and its steps.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> why_not_mergeable(FisherDiscriminant(keep_moments=False).fit(X, y))
    'it has no moments: fit it with keep_moments=True to merge it'
    """
    try:
        take_apart(model)
    except NotFittedError:
        kinds = _list_kinds(model)[:-1]
        return next((BARS_MERGING.format(kind) for kind in kinds if kind not in READERS), None)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _list_kinds(step: Any) -> list[str]:
    """The types of a step, or of all that a pipeline is made of."""
    if not isinstance(step, Pipeline):
        return [type(step).__name__]
    return [kind for _, part in step.steps for kind in _list_kinds(part)]


# Noise and subtraction -----------------------------------------------------------------------


def _noise_level(
    epsilon: float | None, delta: float | None, clip: float | None
) -> NoiseLevel | None:
    if epsilon is None and delta is None and clip is None:
        return None
    if epsilon is None or delta is None or clip is None:
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} and clip={clip} belong together: give all three, "
            "or none to add no noise"
        )
    level = NoiseLevel(float(epsilon), float(delta), float(clip))
    level.check()
    return level


def _check_adds_noise(without: Sequence[Any], noise: Any) -> None:
    if len(without):
        raise ValueError(
            "noise is added to each model, and the one taken out has none: merge the models that "
            "stay, with noise, and leave out without="
        )
    if noise is not None:
        raise ValueError(
            "a model has noise already, and its rows would get it twice: merge models without "
            "noise, or leave out epsilon"
        )


def _subtract(total: ClassMoments, part: ClassMoments, i: int) -> ClassMoments:
    try:
        return subtract_part(total, part).moments
    except ValueError as error:
        raise ValueError(f"model {i} of those to be left out is not in the sum: {error}") from None


# Checks --------------------------------------------------------------------------------------


def _check_alike(first: Prepared, part: Prepared, i: int) -> None:
    """Raise when a model cannot be merged with the first one, and say which and why."""
    model, other = part.model, first.model
    if type(model) is not type(other):
        kinds = f"{type(model).__name__}, model 0 {type(other).__name__}"
        raise ValueError(f"model {i} is {kinds}: only models of one kind can be merged")
    if (part.steps is None) != (first.steps is None):
        which = "no steps before it" if part.steps is None else "steps before it"
        raise ValueError(f"model {i} has {which}, unlike model 0: prepare all columns alike")
    _check_agreed(first, part, i)
    if model.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"model {i} has {model.n_features_in_} features, model 0 has {other.n_features_in_}"
        )
    other._check_same_space(model, i)
    for name, value in other.get_params().items():
        given = model.get_params()[name]
        may_differ = name.partition("__")[0] in other._may_differ_when_merged
        if not may_differ and not np.array_equal(given, value):
            raise ValueError(f"model {i} has {name}={given!r}, model 0 has {name}={value!r}")
    if is_text(model.classes_) != is_text(other.classes_):
        raise ValueError(
            f"model {i} has labels {model.classes_.tolist()[:3]}, model 0 has "
            f"{other.classes_.tolist()[:3]}: they differ in type"
        )


def _check_agreed(first: Prepared, part: Prepared, i: int) -> None:
    """Raise where steps before the models have learned other values."""
    for key, value in part.columns.agreed.items():
        if key not in first.columns.agreed:
            raise ValueError(f"model {i} has {key}, which model 0 has not: prepare columns alike")
        known = first.columns.agreed[key]
        same = value == known or (value != value and known != known)  # NaN equals NaN here
        if not same:
            raise ValueError(
                f"{key} must agree: it is {value!r} in model {i} and {known!r} in model 0. Agree "
                "on it before the fit"
            )


def _in_order_of(first: Prepared, part: Prepared, i: int) -> ClassMoments:
    """Moments with the columns of the first model, found by name."""
    moments, names, own = part.moments, first.columns.names, part.columns.names
    if own == names:
        return moments
    absent = [name for name in names if name not in own]
    if absent or _has_names(first) != _has_names(part):
        named = f": it has no {absent[0]!r}" if absent and _has_names(part) else ""
        raise ValueError(f"model {i} has other feature names than model 0{named}")
    if getattr(part.model, "_map", None) is not None:
        raise ValueError(
            f"model {i} has the features in another order than model 0, and distances are already "
            "taken: fit it to columns in the same order"
        )
    return moments.select_columns(np.array([own.index(name) for name in names], dtype=np.intp))


def _has_names(part: Prepared) -> bool:
    return hasattr(part.model if part.steps is None else part.steps, "feature_names_in_")
