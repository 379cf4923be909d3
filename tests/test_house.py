"""The house is kept: one meaning for a name, no cycles, few ancestors, a test for each module."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.discovery import all_estimators, name_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "separatrix"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}

MAX_OWN_CLASSES = 4
"""Classes of this package from which an estimator is made, itself included."""

NAMES_IN_SEVERAL_MODULES = {
    "summarize": "rows in memory, rows in a database",
    "load": "datasets.load and files.model.load are public, as numpy.load and joblib.load are",
}

TESTED_ELSEWHERE = {
    "__main__": "a line; tests/cli runs it",
    "_warnings": "test_common warns through every estimator",
    "cli.methods": "tests/cli/test_listings.py prints it",
    "files.checks": "tests/files/test_hostile.py",
    "files.trees": "tests/files/test_hostile.py and test_model.py",
    "ipcac.clusters": "tests/ipcac/test_mixture.py",
    "linalg._types": "names of types only",
    "plots.axes": "every picture is drawn on them",
    "report.elements": "tests/report/test_page.py",
    "report.rendering": "tests/report/test_page.py",
    "studio.command": "tests/browser/test_studio_browser.py",
    "studio.looking": "tests/studio/test_server.py",
}
"""Modules without a test module of their name."""


def defined_names(tree):
    """Public names that a module defines itself; imports are no definitions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [
                n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)
            ]
        else:
            continue
        yield from (name for name in names if not name.startswith("_"))


def imported_modules(tree):
    """Modules of this package that a module imports, anywhere in its text.

    Imports for type checkers only are left out: they are never run.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("separatrix"):
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in MODULES else node.module


def test_a_name_is_defined_in_one_module():
    homes = defaultdict(list)
    for module, tree in TREES.items():
        for name in set(defined_names(tree)):
            homes[name].append(module)
    several = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert several.keys() == NAMES_IN_SEVERAL_MODULES.keys(), several


def test_imports_have_no_cycle():
    """Those inside functions count: a cycle that waits is a cycle."""
    graph = {module: set(imported_modules(tree)) - {module} for module, tree in TREES.items()}
    graph = {module: found - {"separatrix"} for module, found in graph.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_an_estimator_is_made_of_few_classes(estimator):
    own = [c.__name__ for c in type(estimator).__mro__ if c.__module__.startswith("separatrix")]
    assert len(own) <= MAX_OWN_CLASSES, own


def test_every_module_has_a_test_module_of_its_name():
    for path in MODULES.values():
        inside = path.relative_to(PACKAGE)
        if path.name == "__init__.py":
            continue
        has_tests = (ROOT / "tests" / inside.parent / f"test_{path.name}").exists()
        assert has_tests or ".".join(inside.with_suffix("").parts) in TESTED_ELSEWHERE, inside


def test_exceptions_are_still_needed():
    assert {f"separatrix.{name}" for name in TESTED_ELSEWHERE} <= MODULES.keys()


def test_every_package_is_in_the_layers():
    """The linter is told to be exhaustive; a package that it does not know would be free."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["type"] == "layers"]
    layers = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES.values()}
    assert contract["exhaustive"]
    assert layers | set(contract["exhaustive_ignores"]) | {"__init__"} == parts
