"""Whether compiled code can be trusted with the numbers of a model that comes from a file.

NumPy looks where it reads and writes; the compiled parts of scikit-learn and SciPy follow shapes
and indices of fitted attributes without looking. These are checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

USED_UP = {
    "NeighborhoodComponentsAnalysis": ("random_state_",),
    "SGDClassifier": ("_loss_function_",),
}
"""Attributes that only the fit needed and that the next fit makes anew: files do without."""

PLAIN_METRICS = frozenset(
    {"chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski"}
)
"""Distances without arrays of their own."""


class Refused(ValueError):  # noqa: N818 - said of a file, not of the program
    """What a file holds, or a model would put into one, that is not allowed there."""


def parts(thing: Any) -> Iterator[Any]:
    """An object and all that it holds."""
    waiting, seen = [thing], set()
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


def check_content(model: Any) -> None:
    """Raise when compiled code would follow numbers in the model to where nothing is."""
    for part in parts(model):
        refuse_covered_methods(part)
        check = CHECKS.get(type(part).__name__)
        if check is not None:
            check(part)


def refuse_covered_methods(part: Any) -> None:
    """Raise when an attribute stands where a method of the type should be found."""
    kind = type(part)
    covered = [n for n in getattr(part, "__dict__", ()) if callable(getattr(kind, n, None))]
    if covered:
        raise Refused(f"{covered[0]} of a {kind.__name__} is no method any more")


def without_used_up(model: Any) -> Any:
    """The same model; what was only needed while it was fitted is taken from it."""
    for part in parts(model):
        for name in USED_UP.get(type(part).__name__, ()):
            vars(part).pop(name, None)
    return model


# Checks of types ---------------------------------------------------------------------------------


def check_sparse(matrix: Any) -> None:
    """Indices inside the matrix."""
    matrix.check_format(full_check=True)


def check_neighbours(model: Any) -> None:
    """Rows as wide as those to come, all of them with a class, and distances between all."""
    if not hasattr(model, "_fit_method"):
        return
    if model._fit_method != "brute" or getattr(model, "_tree", None) is not None:
        raise Refused("a KNeighborsClassifier keeps a tree of rows: give it algorithm='brute'")
    given = (model.metric, model.effective_metric_)
    more = {**(model.metric_params or {}), **model.effective_metric_params_}
    if not PLAIN_METRICS.issuperset(given) or not _only_a_power(more):
        raise Refused(
            f"a KNeighborsClassifier has metric={model.metric!r} with {sorted(more)}: files keep "
            f"{', '.join(sorted(PLAIN_METRICS))}"
        )
    rows, labels, width = model._fit_X, model._y, getattr(model, "n_features_in_", None)
    numbers = rows.data if sp.issparse(rows) else rows
    if (
        not (isinstance(rows, np.ndarray) or sp.issparse(rows))
        or numbers.dtype.kind not in "fiub"
        or rows.shape != (model.n_samples_fit_, width)
        or not np.isfinite(numbers).all()
    ):
        raise Refused("a KNeighborsClassifier has rows that are not finite numbers of its width")
    if (
        model.outputs_2d_
        or not isinstance(labels, np.ndarray)
        or labels.dtype != np.intp
        or labels.shape != rows.shape[:1]
        or not 0 <= labels.min() <= labels.max() < len(model.classes_)
    ):
        raise Refused("a KNeighborsClassifier has labels that are not among its classes")


def _only_a_power(params: dict[str, Any]) -> bool:
    return all(name == "p" and isinstance(value, Real) for name, value in params.items())


def check_one_hot(encoder: Any) -> None:
    """Categories that are found in their order, and columns for exactly those."""
    if not hasattr(encoder, "categories_"):
        return
    if encoder._infrequent_enabled:
        raise Refused("a OneHotEncoder lumps rare categories together: leave that out")
    dropped = encoder._drop_idx_after_grouping
    if dropped is None:
        dropped = [None] * len(encoder.categories_)
    widths = []
    for known, left_out in zip(encoder.categories_, dropped, strict=True):
        inside = left_out is None or (
            isinstance(left_out, int | np.integer) and 0 <= left_out < len(known)
        )
        if not inside or not _can_be_searched(known):
            raise Refused("a OneHotEncoder has categories out of order, or drops none of them")
        widths.append(len(known) - (left_out is not None))
    if list(encoder._n_features_outs) != widths:
        raise Refused("a OneHotEncoder counts other categories than it has")


def _can_be_searched(known: np.ndarray) -> bool:
    """Text, which is looked up; or numbers in their order, those that are missing at the end."""
    present = [value for value in known.tolist() if not (value is None or value != value)]
    if all(isinstance(value, str) for value in present):
        return True
    return (
        all(isinstance(value, Real) for value in present)
        and all(a < b for a, b in pairwise(present))
        and all(a == b for a, b in zip(known.tolist(), present, strict=False))
    )


def check_sgd(model: Any) -> None:
    """Weights for every feature of every class, which learning goes on to change in place."""
    if not hasattr(model, "coef_"):
        return
    n_rows = 1 if len(model.classes_) == 2 else len(model.classes_)
    for name, value in vars(model).items():
        shape = (
            (n_rows, model.n_features_in_)
            if name.endswith(("coef", "coef_"))
            else (n_rows,)
            if name.endswith(("intercept", "intercept_"))
            else None
        )
        if shape is not None and value is not None and not isinstance(value, bool):
            sizes = {shape, (shape[-1],)} if n_rows == 1 else {shape}
            if not isinstance(value, np.ndarray) or value.shape not in sizes:
                raise Refused(f"{name} of an SGDClassifier does not have the shape {shape}")


def check_identity(model: Any) -> None:
    """No function but the one that changes nothing."""
    if model.func is not None or model.inverse_func is not None or model.kw_args:
        raise Refused("a FunctionTransformer has a function: only one without is kept")


def check_pipeline(pipeline: Any) -> None:
    """No folder of results, which may hold code."""
    if pipeline.memory is not None:
        raise Refused("a Pipeline keeps results in a folder, which may hold code: memory=None")


CHECKS: dict[str, Callable[[Any], None]] = {
    "FunctionTransformer": check_identity,
    "KNeighborsClassifier": check_neighbours,
    "OneHotEncoder": check_one_hot,
    "Pipeline": check_pipeline,
    "SGDClassifier": check_sgd,
    **dict.fromkeys(("csr_array", "csr_matrix", "csc_array", "csc_matrix"), check_sparse),
}
"""What is checked of each type that is not safe as it is."""
