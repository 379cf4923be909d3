"""The moments of whatever has some."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.base.prepared import take_apart
from separatrix.fisher.left_out import MAX_LEFT_OUT
from separatrix.moments.class_moments import ClassMoments


class Judged(NamedTuple):
    """The share of errors among rows that a model left out in turn, and their number."""

    error: float
    n_rows: float


class NamedMoments(NamedTuple):
    """Moments in the units of the table, the names of their features, and rows left out."""

    moments: ClassMoments
    names: list[str]
    judged: Judged | None = None


def read_moments(source: Any) -> NamedMoments:
    """The moments of a fitted model, of a pipeline that ends in one, or as they are.

    Raises where there are none, or none of two classes of at least two rows.
    """
    if isinstance(source, ClassMoments):
        found = NamedMoments(source, [f"x{j}" for j in range(source.n_features)])
    else:
        try:
            prepared = take_apart(source)
            judged = _find_judged(prepared.model)
            found = NamedMoments(prepared.moments, prepared.columns.names, judged)
        except (TypeError, ValueError) as error:
            kind = type(source).__name__
            raise ValueError(f"{kind} has no class moments to ask: {error}") from None
    moments = found.moments.without_empty_classes()
    if len(moments.counts) < 2:
        raise ValueError(
            f"these moments have rows of {len(moments.counts)} class: nothing separates fewer "
            "than two. Add rows of another class"
        )
    if moments.counts.min() < 2:
        label = moments.classes.tolist()[int(np.argmin(moments.counts))]
        raise ValueError(
            f"class {label!r} has {moments.counts.min():g} rows: it takes two to show a spread. "
            "Add rows, or leave the class out"
        )
    return found._replace(moments=moments)


def _find_judged(model: Any) -> Judged | None:
    """The errors of rows that a model left out when it was fitted, in the shares that they had."""
    left_out = getattr(model, "left_out_", None)
    if left_out is None or model.priors is not None:
        return None
    return Judged(left_out.error, min(model.moments_.n_samples, MAX_LEFT_OUT))
