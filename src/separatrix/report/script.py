"""The Python script that repeats a comparison."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from separatrix.evaluate.records import Comparison
from separatrix.report.wording import make_printable

IMPORT_MODULES = (
    "separatrix",
    "numpy",
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.discriminant_analysis",
    "sklearn.feature_selection",
    "sklearn.impute",
    "sklearn.kernel_approximation",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.random_projection",
    "sklearn.svm",
)
"""Modules in which the names in the text of an estimator are looked for."""


def write_script(comparison: Comparison, advised: str | None = None) -> str:
    """The call that repeats the comparison, once the rows are in X and the labels in y.

    It ends with the call that fits the advised method, if there is one. An estimator that cannot
    be written as code, such as one with a function, gets a name, and a comment says what it was.
    """
    imports: set[str] = {"from separatrix import evaluate, report"}
    remarks: list[str] = []

    def write_value(text: str, name: str) -> str:
        needed = find_imports(text)
        if needed is None:
            remarks.append(f"# {name}: {' '.join(make_printable(text).split())}")
            return name
        imports.update(needed)
        return " ".join(text.split())

    given = {
        m.name: f"({m.name!r}, {write_value(m.estimator, f'estimator_{i}')})"
        if m.kind == "given"
        else repr(m.name)
        for i, m in enumerate(comparison.methods, start=1)
    }
    methods = "None" if comparison.left_out else f"[{', '.join(given.values())}]"
    arguments = {
        name: f"    {name}={write_value(text, name) if is_estimator_text(text) else repr(text)},"
        for name, text in comparison.settings.items()
        if name not in FACTS_OF_SPLITS and not (name in ("then", "costs") and text is None)
    }
    if comparison.settings.get("splitting") == "k-fold":
        arguments["splits"] = f"    splits={comparison.settings['folds']},"
    for name, remark in list_given_arrays(comparison).items():
        arguments[name] = f"    {name}={name},"
        remarks.append(f"# {name}: {remark}")
    model = []
    if advised is not None:
        wanted = ("groups", "score", "costs", "then", "scale", "decision", "random_state")
        same = [arguments[name] for name in wanted if name in arguments]
        model = ["model = evaluate.tuned(", f"    {given[advised]}, X, y,", *same, ").model"]
    return "\n".join(
        [
            *sorted(imports, key=lambda line: (line.startswith("from"), line)),
            "",
            *remarks,
            "found = evaluate.compare(",
            f"    {methods}, X, y,",
            *arguments.values(),
            ")",
            "page = report.render(report.facts(found))",
            *model,
        ]
    )


FACTS_OF_SPLITS = ("splitting", "unit", "folds")
"""Settings that say how rows were split and are no arguments."""


def list_given_arrays(comparison: Comparison) -> dict[str, str]:
    """Arguments beside rows and labels that the caller has to bring, and what they are."""
    settings = comparison.settings
    found = {}
    if settings.get("unit") == "groups":
        found["groups"] = "what each row belongs to"
    ways = {
        "given": ("splits", "the splitter, or the fold of each row"),
        "test file": ("test", "a pair of the rows and labels that test"),
        "time": ("time", "when each row came"),
    }
    if settings.get("splitting") in ways:
        name, remark = ways[settings["splitting"]]
        found[name] = remark
    return found


def is_estimator_text(value: Any) -> bool:
    """Whether a setting is the text of an estimator and no option.

    Examples
    --------
    >>> is_estimator_text("PCA(n_components=2)"), is_estimator_text("standard")
    (True, False)
    """
    return isinstance(value, str) and "(" in value


def find_imports(text: str) -> set[str] | None:
    """The lines that let Python read an estimator as it is printed; None where it cannot.

    Examples
    --------
    >>> sorted(find_imports("Pipeline(steps=[('a', PCA(2)), ('b', LDG())])"))[:2]
    ['from separatrix import LDG', 'from sklearn.decomposition import PCA']
    >>> find_imports("FunctionTransformer(func=<function f at 0x7f>)"), find_imports("Mine()")
    (None, None)
    """
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError):  # also text that no encoding can hold
        return None
    if any(isinstance(node, ast.Constant) and node.value is ... for node in nodes):
        return None  # long lists are printed with dots in place of what is left out
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    lines = {_find_import(name) for name in names}
    return None if None in lines else {line for line in lines if line}


def _find_import(name: str) -> str | None:
    if name == "np":
        return "import numpy as np"
    home = next((h for h in IMPORT_MODULES if hasattr(import_module(h), name)), None)
    return None if home is None else f"from {home} import {name}"
