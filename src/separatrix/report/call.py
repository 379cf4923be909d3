"""The call in Python that gives a comparison again."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from separatrix.evaluate.records import Comparison
from separatrix.report.wording import printable

HOMES = (
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
"""Where names in the text of an estimator are looked for."""


def code(comparison: Comparison, advised: str | None = None) -> str:
    """The call that gives the comparison again, once the rows are in X and the labels in y.

    And the one that fits the method that is advised, if there is one.

    What cannot be written as code, such as an estimator with a function, gets a name, and a remark
    says what it was.
    """
    imports: set[str] = {"from separatrix import evaluate, report"}
    remarks: list[str] = []

    def written(text: str, name: str) -> str:
        needed = imports_for(text)
        if needed is None:
            remarks.append(f"# {name}: {' '.join(printable(text).split())}")
            return name
        imports.update(needed)
        return " ".join(text.split())

    given = {
        m.name: f"({m.name!r}, {written(m.estimator, f'estimator_{i}')})"
        if m.kind == "given"
        else repr(m.name)
        for i, m in enumerate(comparison.methods, start=1)
    }
    methods = "None" if comparison.left_out else f"[{', '.join(given.values())}]"
    arguments = {
        name: f"    {name}={written(value, name) if is_call(value) else repr(value)},"
        for name, value in comparison.settings.items()
    }
    model = []
    if advised is not None:
        same = [arguments[name] for name in ("scale", "decision", "random_state")]
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


def is_call(value: Any) -> bool:
    """Whether a setting is the text of an estimator and no option.

    Examples
    --------
    >>> is_call("PCA(n_components=2)"), is_call("standard")
    (True, False)
    """
    return isinstance(value, str) and "(" in value


def imports_for(text: str) -> set[str] | None:
    """The lines that let Python read an estimator as it is printed; None where it cannot.

    Examples
    --------
    >>> sorted(imports_for("Pipeline(steps=[('a', PCA(2)), ('b', LDG())])"))[:2]
    ['from separatrix import LDG', 'from sklearn.decomposition import PCA']
    >>> imports_for("FunctionTransformer(func=<function f at 0x7f>)"), imports_for("Mine()")
    (None, None)
    """
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError):  # also text that no encoding can hold
        return None
    if any(isinstance(node, ast.Constant) and node.value is ... for node in nodes):
        return None  # long lists are printed with dots in place of what is left out
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    lines = {_import_of(name) for name in names}
    return None if None in lines else {line for line in lines if line}


def _import_of(name: str) -> str | None:
    if name == "np":
        return "import numpy as np"
    home = next((h for h in HOMES if hasattr(import_module(h), name)), None)
    return None if home is None else f"from {home} import {name}"
