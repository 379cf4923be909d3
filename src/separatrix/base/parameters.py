"""Which values parameters may have, in words: one way to refuse for all estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class Allowed(NamedTuple):
    """A test for a parameter value, and the words that say what passes it."""

    test: Callable[[Any], bool]
    words: str


def one_of(*values: object) -> Allowed:
    """One of the given values, such as None or "auto"."""
    words = " or ".join(repr(value) for value in values)
    return Allowed(lambda v: any(v is x or (isinstance(v, str) and v == x) for x in values), words)


def whole_number(least: int) -> Allowed:
    """An integer, True and False excepted."""
    return Allowed(
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= least,
        f"a whole number of at least {least}",
    )


def real_number(low: float, high: float = np.inf, *, open_low: bool = False) -> Allowed:
    """A number in a range, its lower end included unless `open_low`."""
    range_ = f"{'(' if open_low else '['}{low:g}, {'inf)' if high == np.inf else f'{high:g}]'}"
    return Allowed(
        lambda v: (
            isinstance(v, Real)
            and not isinstance(v, bool)
            and (low < float(v) if open_low else low <= float(v))
            and float(v) <= high
        ),
        f"a number in {range_}",
    )


def array_like() -> Allowed:
    """Something with one value for each class or feature; its content is checked later."""
    return Allowed(
        lambda v: not isinstance(v, str) and (isinstance(v, Sequence) or hasattr(v, "__array__")),
        "an array",
    )


def check_parameters(
    estimator: BaseEstimator, constraints: Mapping[str, Sequence[Allowed]]
) -> None:
    """Raise for the first parameter that passes none of its tests."""
    for name, allowed in constraints.items():
        value = getattr(estimator, name)
        if not any(option.test(value) for option in allowed):
            words = ", or ".join(option.words for option in allowed)
            raise ValueError(
                f"{name}={value!r} is not valid for {type(estimator).__name__}: it must be {words}"
            )


YES_OR_NO = Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False")
N_COMPONENTS = (one_of(None, "auto"), whole_number(1))
