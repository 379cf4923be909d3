"""Methods by the names and settings that the user types."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

import click

OWN_COMMANDS = {"EarlyClassifier": "early"}
"""Methods that have a command of their own."""


def list_methods() -> list[str]:
    """Names of the methods that commands take."""
    from separatrix.evaluate.methods import method_classes

    return list(method_classes())


def check_methods(names: Iterable[str]) -> list[str]:
    """The names without repetition; an unknown one is an error that proposes the nearest."""
    from separatrix.evaluate.methods import LEFT_OUT
    from separatrix.io.tables import check_known_name

    known = list_methods()
    asked = [name.strip() for name in names]
    for name in asked:
        if name in LEFT_OUT:
            own = OWN_COMMANDS.get(name)
            use = "it from Python" if own is None else f"`separatrix {own}`"
            raise ValueError(f"{name} has no place here, as {LEFT_OUT[name]}: use {use}")
        check_known_name(name, known, "method")
    return list(dict.fromkeys(asked))


def build_estimator(method: str, settings: Sequence[str], seed: int | None) -> Any:
    """A method by its name, with parameters given as text."""
    from sklearn.base import clone

    from separatrix.evaluate.methods import contenders
    from separatrix.io.tables import check_known_name

    (name,) = check_methods([method])
    estimator = clone(contenders([name])[0].estimator)
    params = estimator.get_params()
    for parameter, value in map(parse_setting, settings):
        check_known_name(parameter, params, f"parameter of {name}")
        estimator.set_params(**{parameter: value})
    if seed is not None and params.get("random_state", 0) is None:
        estimator.set_params(random_state=seed)
    return estimator


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
