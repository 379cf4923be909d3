"""Which values parameters may have, in words: one error for all estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class Allowed(NamedTuple):
    """A test for a parameter value, a description of the values that pass, and some of them.

    The examples hold the ends of a range; tests draw parameters from them.
    """

    test: Callable[[Any], bool]
    words: str
    examples: tuple[Any, ...] = ()


def one_of(*values: object) -> Allowed:
    """One of the given values, such as None or "auto"."""
    return Allowed(
        lambda v: any(v is x or (isinstance(v, str) and v == x) for x in values),
        " or ".join(repr(value) for value in values),
        values,
    )


def whole_number(least: int) -> Allowed:
    """An integer, True and False excepted."""
    return Allowed(
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= least,
        f"a whole number of at least {least}",
        (least, least + 1, least + 4),
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
        _values_in_range(low, high, open_low),
    )


def _values_in_range(low: float, high: float, open_low: bool) -> tuple[float, ...]:
    inner: tuple[float, ...] = (low + 1e-3, low + 1.0, low + 1e3)
    if high < np.inf:
        inner = tuple(low + share * (high - low) for share in (1e-3, 0.5, 1.0))
    return inner if open_low else (low, *inner)


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


YES_OR_NO = Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False", (True, False))
KEEP_MOMENTS = (YES_OR_NO, one_of("by class"))
N_COMPONENTS = (one_of(None, "auto"), whole_number(1))
