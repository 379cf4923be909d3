"""Models of older files, brought to the form that models have today.

Types that moved or got other names are in `separatrix.files.names`. Changes inside of them are the
matter of the types themselves: a class whose attributes have changed since format 1 has a method
`_read_format_1`, which changes those of an object that was built from such a file. A
parameter that was not there yet takes its default.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from sklearn.base import BaseEstimator

from separatrix.files.audit import walk_parts

Migration = Callable[[Any], None]
"""Changes the attributes of an object of this package, ``vars(part)``, in place."""


def from_format_1(part: Any) -> None:
    """Let a part bring its attributes to the form of format 2, where they have changed."""
    if hasattr(part, "_read_format_1"):
        part._read_format_1()


MIGRATIONS: dict[int, Migration] = {1: from_format_1}
"""By the format of the file."""


def migrate(model: Any, written: int) -> None:
    """Bring a model from a file of the format `written` to today's form, and check that it is.

    Parameters
    ----------
    model : estimator
        As it was built from the file.
    written : int
        The format of the file.
    """
    own = [p for p in walk_parts(model) if type(p).__module__.startswith("separatrix.")]
    for number in sorted(format_ for format_ in MIGRATIONS if format_ >= written):
        for part in own:
            MIGRATIONS[number](part)
    for part in own:
        if isinstance(part, BaseEstimator):
            add_new_parameters(part)
            check_parameter_names(part)


def add_new_parameters(estimator: BaseEstimator) -> None:
    """Give parameters that were not there when a file was written their defaults."""
    parameters = signature(type(estimator)).parameters
    for name in type(estimator)._get_param_names():
        if parameters[name].default is not Parameter.empty:
            estimator.__dict__.setdefault(name, parameters[name].default)


def check_parameter_names(estimator: BaseEstimator) -> None:
    """Raise unless an estimator has the parameters of its class, and no others."""
    kind = type(estimator).__name__
    expected = set(type(estimator)._get_param_names())
    public = {name for name in vars(estimator) if name[0] != "_" and name[-1] != "_"}
    if missing := sorted(expected - public):
        raise ValueError(f"its {kind} lacks {', '.join(missing)}, parameters of this version")
    if unknown := sorted(public - expected):
        raise ValueError(
            f"its {kind} has {', '.join(unknown)[:200]}, which is no parameter in this version"
        )
