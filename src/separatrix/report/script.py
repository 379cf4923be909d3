"""The Python script that repeats a comparison."""

from __future__ import annotations

import ast
import re
from importlib import import_module

from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.report.wording import make_printable

IMPORT_MODULES = (
    "separatrix",
    "separatrix.evaluate",
    "separatrix.kernels",
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
    be written as code, such as one with a function, gets a name, and a comment describes it.
    """
    script = Script()
    methods = {method.name: script.write_method(method) for method in comparison.methods}
    every = comparison.left_out and not any("with_steps" in code for code in methods.values())
    named = "None" if every else f"[{', '.join(methods.values())}]"
    settings, arguments = comparison.settings, {}
    if settings.get("cv") and "InOrder(" not in settings["cv"]:
        arguments["cv"] = script.write_value(settings["cv"], "cv")
    elif settings.get("splitting") == "k-fold":
        arguments["cv"] = str(settings["folds"])
    for name, remark in list_given_arrays(comparison).items():
        if name not in arguments:
            arguments[name] = name
            script.remarks.append(f"# {name}: {remark}")
    for name in ("score", "costs", "budget", "random_state"):
        if settings.get(name) is not None:
            arguments[name] = repr(settings[name])
    lines = [f"    {name}={value}," for name, value in arguments.items()]
    model = []
    if advised is not None:
        wanted = ("groups", "score", "costs", "random_state")
        same = [f"    {name}={arguments[name]}," for name in wanted if name in arguments]
        method = methods[advised].removeprefix("*").removesuffix("[0]")
        method = f"{method}[0]" if "with_steps" in method else method
        model = ["model = evaluate.tuned(", f"    {method}, X, y,", *same, ").model"]
    return "\n".join(
        [
            *sorted(script.imports, key=lambda line: (line.startswith("from"), line)),
            "",
            *script.remarks,
            "comparison = evaluate.compare(",
            f"    {named}, X, y,",
            *lines,
            ")",
            "page = comparison.report().page",
            *model,
        ]
    )


class Script:
    """Imports and remarks that the values of a script need."""

    def __init__(self) -> None:
        self.imports = {"from separatrix import evaluate"}
        self.remarks: list[str] = []

    def write_value(self, text: str, name: str) -> str:
        """The text of an estimator as code; where that cannot be, a name and a remark."""
        needed = find_imports(text)
        if needed is None:
            remark = f"# {name}: {' '.join(make_printable(text).split())}"
            self.remarks += [] if remark in self.remarks else [remark]
            return name
        self.imports.update(needed)
        return " ".join(text.split())

    def write_method(self, method: MethodRecord) -> str:
        """A method as it was asked for: a name, an estimator, or with steps around it."""
        asked = repr(method.name)
        if method.given:
            name = re.sub(r"\W", "_", f"estimator_{method.name}")
            asked = f"({asked}, {self.write_value(method.given, name)})"
        if not method.wrapped:
            return asked
        steps = []
        if method.prepare != "standard":
            steps.append(f"prepare={self.write_value(method.prepare, 'prepare')}")
        if method.then:
            text = method.then
            then = self.write_value(text, "then") if "(" in text else repr(text)
            steps.append(f"then={then}")
        return f"*evaluate.with_steps({', '.join([f'[{asked}]', *steps])})"


def list_given_arrays(comparison: Comparison) -> dict[str, str]:
    """Arguments that the caller has to bring besides rows and labels, each with its meaning."""
    settings = comparison.settings
    arrays = {}
    if settings.get("unit") == "groups":
        arrays["groups"] = "what each row belongs to"
    ways = {
        "given": ("cv", "the fold of each row, or pairs of numbers of rows"),
        "test file": ("test", "a pair of the rows and labels that test"),
        "time": ("cv", "evaluate.InOrder of when each row came"),
    }
    if settings.get("splitting") in ways:
        name, remark = ways[settings["splitting"]]
        arrays[name] = remark
    return arrays


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
        return None  # long lists are printed with dots in place of some items
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    lines = {_find_import(name) for name in names}
    return None if None in lines else {line for line in lines if line}


def _find_import(name: str) -> str | None:
    if name == "np":
        return "import numpy as np"
    home = next((h for h in IMPORT_MODULES if hasattr(import_module(h), name)), None)
    return None if home is None else f"from {home} import {name}"
