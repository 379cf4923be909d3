"""What model files may hold: declared attributes, parameters that run nothing, parts that fit.

Compiled code follows some of the content without a check of its own; it is checked here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from separatrix.files.names import declared, find_type

MAX_EMPTY = 1 << 20
"""Longest axis of an array without entries, and largest number of features that no array has:
they cost a file nothing, but whoever computes with them."""

MAX_JOBS = 64
"""Processes at most that a parameter may ask for."""


class NotAllowedError(ValueError):
    """Something that a file holds, or a model would put into one, and that has no place there."""


def shown(thing: object, width: int = 80) -> str:
    """Text of a file as it may be shown: on one line, without control characters."""
    return ascii(str(thing))[1:-1][:width]


# Checks of content ----------------------------------------------------------------------------


def check_names(kind: Any, state: Mapping[str, Any]) -> None:
    """Raise unless a type declares all attributes, and none that it needs is missing."""
    known = declared(kind)
    for name in state:
        if name not in known or callable(getattr(kind, name, None)):
            raise NotAllowedError(f"{shown(name)} is no attribute that a {kind.__name__} declares")
    if issubclass(kind, BaseEstimator):
        needed = set(kind._get_param_names())
    else:
        needed = {name for name in known if not hasattr(kind, name) or issubclass(kind, tuple)}
    if missing := sorted(needed.difference(state)):
        raise NotAllowedError(f"a {kind.__name__} lacks {', '.join(missing)[:200]}")
    jobs = state.get("n_jobs")
    if jobs is not None and not (type(jobs) is int and -MAX_JOBS <= jobs <= MAX_JOBS):
        raise NotAllowedError(f"a {kind.__name__} has n_jobs={shown(jobs)}, not up to {MAX_JOBS}")


def _keep_default(*names: str) -> Any:
    """A check that parameters have their defaults: others could run code, read files or hang."""

    def check(kind: Any, state: Mapping[str, Any]) -> None:
        usual = kind().get_params() if kind.__name__ != "Pipeline" else {"memory": None}
        for name in names:
            if state.get(name) != usual[name]:
                raise NotAllowedError(
                    f"a {kind.__name__} has {name}={shown(state.get(name))!r}: files keep only "
                    f"{usual[name]!r}"
                )

    return check


def _check_finite(kind: Any, state: Mapping[str, Any]) -> None:
    """Nothing but numbers and arrays of numbers."""
    for name, value in state.items():
        array = np.asarray(value)
        if value is not None and (array.dtype.kind not in "biuf" or not np.isfinite(array).all()):
            raise NotAllowedError(
                f"a {kind.__name__} has {name}={shown(value)!r}: files keep one of numbers alone"
            )


def _check_hashing(kind: Any, state: Mapping[str, Any]) -> None:
    _WORDS(kind, state)
    n_features = state["n_features"]
    if type(n_features) is not int or not 1 <= n_features < 1 << 31:
        raise NotAllowedError(f"a HashingVectorizer has n_features={shown(n_features)}")


def _check_vocabulary(kind: Any, state: dict[str, Any]) -> None:
    """One column for each word, in the order of the columns, and a weight for each."""
    _WORDS(kind, state)
    _keep_default("vocabulary")(kind, state)
    if "vocabulary_" not in state:
        return
    words = state["vocabulary_"]
    if type(words) is not dict or set(words.values()) != set(range(len(words))):
        raise NotAllowedError("a TfidfVectorizer has no column for each word")
    state["vocabulary_"] = {w: int(i) for w, i in sorted(words.items(), key=lambda pair: pair[1])}
    weights = state.get("_tfidf")
    if type(weights) is not find_type("sklearn.TfidfTransformer"):
        raise NotAllowedError("a TfidfVectorizer has no weights")
    if getattr(weights, "n_features_in_", None) != len(words):
        raise NotAllowedError(f"a TfidfVectorizer has {len(words)} words, and weights of others")


def _check_weights(kind: Any, state: Mapping[str, Any]) -> None:
    idf = state.get("idf_")
    if idf is None or not state.get("use_idf"):
        return
    sound = isinstance(idf, np.ndarray) and idf.dtype.kind == "f"
    if not sound or idf.shape != (state.get("n_features_in_"),) or not np.isfinite(idf).all():
        raise NotAllowedError("a TfidfTransformer has weights that do not fit its columns")


def _check_metric(kind: Any, state: Mapping[str, Any]) -> None:
    if state["metric"] not in PLAIN_METRICS or not {"p"}.issuperset(state["metric_params"] or ()):
        raise NotAllowedError(
            f"a KNeighborsClassifier has metric={shown(state['metric'])!r} with "
            f"{shown(state['metric_params'])}: files keep {', '.join(PLAIN_METRICS)}"
        )


def _refit_neighbours(model: Any) -> Any:
    """The same from rows and labels by a fit, which checks these."""
    if not hasattr(model, "_fit_X"):
        return model
    try:
        again = clone(model).fit(model._fit_X, np.asarray(model.classes_)[model._y])
        return _with_features(again, model)
    except Exception as error:  # whatever a fit meets in arrays that are no rows
        raise NotAllowedError(
            "a KNeighborsClassifier has rows that are not finite numbers, or labels that are not "
            f"among its classes: {shown(error, 200)}"
        ) from None


def _refit_one_hot(encoder: Any) -> Any:
    """The same from the categories by a fit to one row, which checks these."""
    if not hasattr(encoder, "categories_"):
        return encoder
    from pandas import DataFrame, Series

    try:
        known = encoder.categories_
        row = DataFrame({i: Series(c[:1], dtype=c.dtype) for i, c in enumerate(known)})
        again = clone(encoder).set_params(categories=known).fit(row)
        again.categories, again.categories_ = encoder.categories, known
        return _with_features(again, encoder)
    except Exception as error:  # whatever a fit meets in arrays that are no categories
        raise NotAllowedError(
            f"a OneHotEncoder has no sound categories: {shown(error, 200)}"
        ) from None


def _with_features(again: Any, model: Any) -> Any:
    """The fitted again with the names of features of the one in the file."""
    if model.n_features_in_ != again.n_features_in_:
        raise ValueError(f"it has {again.n_features_in_} features, not {model.n_features_in_}")
    vars(again).pop("feature_names_in_", None)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        if hasattr(model, name):
            setattr(again, name, getattr(model, name))
    return again


PLAIN_METRICS = (
    "chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski",
)  # fmt: skip
_WORDS = _keep_default("input", "analyzer", "token_pattern", "tokenizer", "preprocessor")
CHECKS = {
    **dict.fromkeys(
        ("EmpiricalCovariance", "LedoitWolf", "OAS", "ShrunkCovariance"), _check_finite
    ),
    "FunctionTransformer": _keep_default("func", "inverse_func", "kw_args", "inv_kw_args"),
    "HashingVectorizer": _check_hashing,
    "KNeighborsClassifier": _check_metric,
    "OneHotEncoder": _keep_default("max_categories", "min_frequency"),
    "Pipeline": _keep_default("memory"),
    "TfidfTransformer": _check_weights,
    "TfidfVectorizer": _check_vocabulary,
}
REFITS = {"KNeighborsClassifier": _refit_neighbours, "OneHotEncoder": _refit_one_hot}


# Whether parts fit together -------------------------------------------------------------------

N_AXES = {"classes_": 1, "components_": 2, "mean_": 1, "means_": 2, "priors_": 1, "intercept_": 1}
"""Numbers of axes of fitted attributes: a column in place of a row would be spread to a matrix."""


def check_axes(kind: Any, state: Mapping[str, Any]) -> None:
    """Raise for fitted attributes of one of our estimators that are no arrays of their axes."""
    if not (issubclass(kind, BaseEstimator) and kind.__module__.startswith("separatrix.")):
        return
    for name in N_AXES.keys() & state.keys():
        value = state[name]
        if isinstance(value, np.ndarray) and value.ndim != N_AXES[name]:
            raise NotAllowedError(f"{name} of a {kind.__name__} has {value.ndim} axes")
        if name == "classes_" and not isinstance(value, np.ndarray):
            raise NotAllowedError(f"classes_ of a {kind.__name__} are no array")


def walk_parts(model: Any) -> Iterator[Any]:
    """An object and all that it holds, but for text, numbers and types."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or part is None or isinstance(part, str | float | int | type):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif not isinstance(part, np.ndarray):
            waiting.extend(getattr(part, "__dict__", {}).values())
        elif part.dtype == object:
            waiting.extend(part.ravel().tolist())


def stores_rows(model: Any) -> bool:
    """Whether some part of a model holds training rows, and says so."""
    if type(model).__name__ == "ClassMoments":
        return bool(model.is_thin)
    return any(
        type(part).__name__ == "KNeighborsClassifier" or getattr(part, "stores_rows", False)
        for part in walk_parts(model)
    )


def check_answers(model: Any) -> None:
    """Raise when a fitted estimator of ours cannot be asked about a row: its parts do not fit.

    A row of zeros is projected and decided, also by models inside the model, which other rows
    may reach. An error in words, such as that of a model that is not fitted, is an answer.
    """
    for part in list(walk_parts(model)):
        ours = type(part).__module__.startswith("separatrix.")
        if not (ours and isinstance(part, BaseEstimator)):
            continue
        try:
            _ask_about_zeros(part)
        except (AttributeError, TypeError, KeyError, IndexError, NameError) as error:
            if not isinstance(error, ValueError):  # as that of a model that is not fitted
                raise NotAllowedError(
                    f"the parts of its {type(part).__name__} do not fit together: "
                    f"{shown(error, 200)}"
                ) from None


def _is_waiting(part: Any) -> bool:
    """Whether results are still to be solved for, from moments."""
    return "components_" in vars(part).get("_results", ()) and "components_" not in vars(part)


def _ask_about_zeros(part: Any) -> None:
    n_features = getattr(part, "n_features_in_", None)
    if n_features is None or _is_waiting(part):
        return  # one that waits solves from its moments when it is asked
    parts = list(walk_parts(part))
    largest = max((p.size for p in parts if isinstance(p, np.ndarray)), default=0)
    if not 0 <= n_features <= max(largest, MAX_EMPTY):
        if any(sp.issparse(p) and p.shape[-1] == n_features for p in parts):
            return  # even a sparse row would be multiplied in as much memory as it has columns
        raise NotAllowedError(f"a {type(part).__name__} has n_features_in_={shown(n_features)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ask in ("transform", "predict"):
            with suppress(ValueError, ArithmeticError):
                getattr(part, ask, len)(np.zeros((1, n_features)))
        with suppress(ValueError, ArithmeticError):
            _check_counts(part, np.zeros((1, n_features)))


def _check_counts(part: Any, rows: np.ndarray) -> None:
    """Raise where scores are those of more or fewer classes than there are."""
    if not (hasattr(part, "decision_function") and hasattr(part, "classes_")):
        return
    scores = np.asarray(part.decision_function(rows))
    n_classes = len(part.classes_)
    if n_classes != scores.shape[-1] if scores.ndim == 2 else n_classes > 2:
        raise IndexError(f"{n_classes} classes have scores of the shape {scores.shape}")
