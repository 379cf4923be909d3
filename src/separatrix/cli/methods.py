"""Methods by the names and settings that the user types."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

import click

OWN_COMMANDS = {"EarlyClassifier": "early"}
"""Methods that have a command of their own."""

DOMAIN_METHODS = ("TargetWeighted", "TransferLDG")
"""Methods of rows from two domains: `fit --domain` says which."""

INNER_METHODS = ("estimator", "reducer", "node")
"""Parameters that hold another method."""


def list_methods() -> list[str]:
    """Names of the methods that commands take."""
    from separatrix.evaluate.methods import method_classes

    return list(method_classes())


def check_methods(names: Iterable[str], *, own_first: bool = False) -> list[str]:
    """The names without repetition; an unknown one is an error that proposes the nearest.

    Names come in any case, and may be aliases. With `own_first` "lda" is the method of this
    package and not the reference of that name, whose models do not merge.
    """
    from separatrix.evaluate.methods import LEFT_OUT, find_method_class, resolve_name
    from separatrix.evaluate.references import ALIASES, REFERENCES
    from separatrix.files.tables import check_known_name
    from separatrix.methods import find_public_name

    def find(name: str) -> str:
        own = find_public_name(name) if own_first and name not in REFERENCES else None
        return own or resolve_name(name)

    asked = [find(name.strip()) for name in names]
    for name in asked:
        if name in LEFT_OUT and not (own_first and name in DOMAIN_METHODS):
            own = OWN_COMMANDS.get(name)
            use = "it from Python" if own is None else f"`separatrix {own}`"
            use = "`separatrix fit --domain COL`" if name in DOMAIN_METHODS else use
            raise ValueError(f"{name} has no place here, as {LEFT_OUT[name]}: use {use}")
        if (
            name not in LEFT_OUT and find_method_class(name) is None
        ):  # to list them all, all are imported
            check_known_name(name, [*list_methods(), *ALIASES], "method")
    return list(dict.fromkeys(asked))


def build_estimator(method: str, settings: Sequence[str], seed: int | None) -> Any:
    """A method by its name, with parameters given as text.

    A parameter that holds another method takes its name, and after that the parameters of the
    other: ``estimator=KernelIPCAC``, ``estimator__ridge=0.1``.
    """
    from separatrix.files.tables import check_known_name

    estimator = construct(method)
    for parameter, value in map(parse_setting, settings):
        check_known_name(parameter, estimator.get_params(), f"parameter of {method}")
        estimator.set_params(**{parameter: inner_method(parameter, value)})
    if seed is not None:
        names = [name for name in estimator.get_params() if name.endswith("random_state")]
        drawn = [name for name in names if estimator.get_params()[name] is None]
        estimator.set_params(**dict.fromkeys(drawn, seed))
    return estimator


def construct(method: str) -> Any:
    """A method by its name, with default parameters."""
    from sklearn.base import clone

    from separatrix.evaluate.methods import contenders

    (name,) = check_methods([method], own_first=True)
    if name in DOMAIN_METHODS:
        import separatrix

        inner = [construct("FisherDiscriminant")] if name == "TargetWeighted" else []
        return getattr(separatrix, name)(*inner)
    return clone(contenders([name])[0].estimator)


def inner_method(parameter: str, value: Any) -> Any:
    """The method that a value names where the parameter holds one, else the value itself."""
    last = parameter.rpartition("__")[2]
    if last not in INNER_METHODS or not isinstance(value, str):
        return value
    if last == "node" and value not in list_methods():
        return value
    method = construct(value)
    if last == "reducer" and not hasattr(method, "transform"):
        raise ValueError(f"{parameter}={value} has no subspace that others could see")
    if last != "reducer" and not hasattr(method, "predict"):
        raise ValueError(f"{parameter}={value} decides nothing: name a method that classifies")
    return method


def parse_setting(text: str) -> tuple[str, Any]:
    """A parameter and its value, given as NAME=VALUE."""
    parameter, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--set {text} is not NAME=VALUE")
    return parameter, parse_value(value)


def parse_value(text: str) -> Any:
    """A number, list, None, True or False; anything else is text.

    Examples
    --------
    >>> parse_value("2"), parse_value("[1, 2]"), parse_value("auto")
    (2, [1, 2], 'auto')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
