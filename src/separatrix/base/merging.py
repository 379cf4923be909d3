"""One model from models trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from separatrix.base.batches import Memory
from separatrix.moments.checks import is_text


def merge(models: Sequence[Any]) -> Any:
    """The model that training on all rows together would give, from models trained apart.

    Each model keeps the moments of its rows; moments add. So merging is exact, in any order and
    grouping, moves no rows, and its result can be merged or updated again. Models may know
    different classes.

    Parameters
    ----------
    models : sequence of fitted estimators
        Of one class that keeps moments (`FisherDiscriminant`, `IPCAC`, `TruncatedIPCAC`,
        `OnlineIPCAC`; `KernelFisherDiscriminant`, `KernelIPCAC` of the same landmarks), with the
        same parameters and features.

    Returns
    -------
    estimator
        A new model; those given are left as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, datasets, merge
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> sites = [FisherDiscriminant().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> whole = FisherDiscriminant().fit(X, y)
    >>> bool(np.allclose(merge(sites).components_, whole.components_))
    True
    """
    given: list[Any] = list(models)
    if not given:
        raise ValueError("merge needs at least one model")
    first = given[0]
    for i, model in enumerate(given):
        _check_alike(first, model, i)
    labels = np.unique(np.concatenate([model.classes_ for model in given]))
    first._check_moments_suffice(labels)
    merged = clone(first)
    for attribute in first._shared_when_merged:
        if hasattr(first, attribute):
            setattr(merged, attribute, getattr(first, attribute))
    moments = copy(merged._add_summaries([model.moments_ for model in given]))
    merged._keep(Memory(moments))
    merged._store(moments, merged._find(moments, None, {}))
    return merged


def _check_alike(first: Any, model: Any, i: int) -> None:
    """Raise when a model cannot be merged with the first one, and say which and why."""
    if not getattr(model, "_merges", False):
        raise TypeError(f"model {i} is a {type(model).__name__}, which cannot be merged")
    if not hasattr(model, "classes_"):
        raise NotFittedError(f"model {i} is not fitted yet: call fit before merging it")
    if type(model) is not type(first):
        kinds = f"{type(model).__name__}, model 0 a {type(first).__name__}"
        raise ValueError(f"model {i} is a {kinds}: only models of one kind can be merged")
    if model.n_features_in_ != first.n_features_in_:
        raise ValueError(
            f"model {i} has {model.n_features_in_} features, model 0 has {first.n_features_in_}"
        )
    if getattr(model, "window", None) is not None:
        raise ValueError(
            f"model {i} forgets by window={model.window}: streams that are merged have no common "
            "order of rows. Merge models without a window, or with decay"
        )
    names, own = (np.asarray(getattr(m, "feature_names_in_", None)) for m in (first, model))
    if not np.array_equal(names, own):
        raise ValueError(f"model {i} has other feature names than model 0, or another order")
    first._check_same_space(model, i)
    for name, value in first.get_params().items():
        given = model.get_params()[name]
        if name not in first._may_differ_when_merged and not np.array_equal(given, value):
            raise ValueError(f"model {i} has {name}={given!r}, model 0 has {name}={value!r}")
    if is_text(model.classes_) != is_text(first.classes_):
        raise ValueError(
            f"model {i} has labels {model.classes_.tolist()[:3]}, model 0 has "
            f"{first.classes_.tolist()[:3]}: they differ in type"
        )
