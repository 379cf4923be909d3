"""The names by which model files know the types of this package: code moves, names stay.

A file names a type ``separatrix.<name>``, never by its module. Public types have the names of
`separatrix.CONTENTS`, the parts that fitted models hold besides those of `PART_TYPES`. Names are
translated when a file is written, and back before anything in a file is checked or built.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

PACKAGE = "separatrix"

PART_TYPES = {
    # statistics
    "AxisRows": "moments.scatter.AxisRows",
    "Scatter": "moments.scatter.Scatter",
    "SlidingWindow": "moments.window.SlidingWindow",
    "SparseRows": "moments.scatter.SparseRows",
    "ThinSVD": "linalg.span.ThinSVD",
    "LabelledRows": "moments.labelled.LabelledRows",
    "Stretch": "moments.window.Stretch",
    "WindowRows": "builtins.tuple",  # of format 1, a Stretch now
    # kernels, choices, decisions
    "DimensionPath": "selection.DimensionPath",
    "GridScores": "selection.GridScores",
    "HyperplaneRule": "margin.planes.HyperplaneRule",
    "KernelMap": "base.feature_space.KernelMap",
    "Laplacian": "kernels.Laplacian",
    "Linear": "kernels.Linear",
    "Polynomial": "kernels.Polynomial",
    "Precomputed": "kernels.Precomputed",
    "RBF": "kernels.RBF",
    "SettledKernel": "kernels.SettledKernel",
    "LeftOut": "decision.expected.LeftOut",
    "LinearRule": "decision.linear.LinearRule",
    "Quadratic": "decision.quadratic.Quadratic",
    "QuadraticRule": "decision.quadratic.QuadraticRule",
    "SeveralLabels": "decision.several.SeveralLabels",
    "SpannedLDA": "evaluate.references.SpannedLDA",
    # incomplete rows
    "Conditional": "early.conditional.ConditionalModel",
    "CalibrationRecord": "early.calibration.CalibrationRecord",
    "DenseFactor": "early.conditional.DenseFactor",
    "IncompleteDecisionRule": "early.rule.IncompleteDecisionRule",
    "FeatureUnits": "early.conditional.FeatureUnits",
    "Gaussian": "early.conditional.NormalModel",
    "PrefixScore": "early.prefix.PrefixScore",
    "SampledScore": "early.scores.SampledScore",
    "ScorePaths": "early.calibration.ScorePaths",
    "ScoreTable": "early.rule.ScoreTable",
    "ThinFactor": "early.conditional.ThinFactor",
    "View": "early.conditional.PrefixModel",
    # steps on each row
    "Detrend": "features.spectra.Detrend",
    "SpectrumDerivative": "features.spectra.SpectrumDerivative",
    "StandardNormalVariate": "features.spectra.StandardNormalVariate",
    # columns of text that were given as numbers
    "ValueNames": "files.preparation.ValueNames",
}
"""Name in files → the type today, below ``separatrix``. A type that moves or gets another name
changes on the right alone. A named tuple that is no longer there is ``builtins.tuple`` on the
right: `separatrix.files.migrations` gets its values as a plain tuple."""

FORMAT_1_NAMES = {"separatrix.window.Rows": "WindowRows"}
"""Files of format 1 have modules of that time: a class is known by its name without the module,
but for these."""

FORMAT_1_FIELDS = {
    "AxisRows": "svd",
    "Conditional": "units models weights B shift",
    "DenseFactor": "L",
    "DimensionPath": "dimensions scores n_components rule",
    "FeatureUnits": "mean scale varies",
    "Gaussian": "mean scatter shrinkage closed widening",
    "GridScores": "settings scores chosen",
    "KernelMap": "kernel points centre basis",
    "LinearRule": "coef intercept",
    "Quadratic": "Q c b",
    "ScoreTable": "gains steepness own",
    "SparseRows": "S E",
    "ThinFactor": "A G diagonal",
    "ThinSVD": "U s",
    "ValueNames": "values",
    "View": "mean factor origin gains varies",
    "WindowRows": "start X y weights",
}
"""Fields of the named tuples in files of format 1, which do not say them."""


@cache
def type_paths() -> dict[str, str]:
    """Name in files → module and name of the type today, below ``separatrix``."""
    contents = import_module(PACKAGE).CONTENTS  # by name: it lists modules of higher layers
    return {**{name: f"{home}.{name}" for name, home in contents.items()}, **PART_TYPES}


def find_type(name: str) -> type | None:
    """The type of this package that files know by a name, or None; only its module is imported."""
    path = type_paths().get(name)
    return None if path is None else _find(path)


@cache
def _find(path: str) -> type | None:
    module, _, name = path.rpartition(".")
    home = import_module(module if module == "builtins" else f"{PACKAGE}.{module}")
    found = getattr(home, name, None)  # a public module has no type of its name
    return found if isinstance(found, type) else None


def find_name(full: str) -> str | None:
    """The name in files of a type of this package, given with its module of today, or None."""
    if not full.startswith(f"{PACKAGE}."):
        return None
    for name in _names_by_class().get(full.rpartition(".")[2], ()):
        kind = find_type(name)
        if kind is not None and full_name(kind) == full:
            return name
    return None


@cache
def _names_by_class() -> dict[str, list[str]]:
    """Names in files by the name of the class: types are found without importing the others."""
    found: dict[str, list[str]] = {}
    for name, path in type_paths().items():
        found.setdefault(path.rpartition(".")[2], []).append(name)
    return found


def full_name(kind: type) -> str:
    """Module and name of a type, today."""
    return f"{kind.__module__}.{kind.__qualname__}"


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All parts of a schema that name a type."""
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(item.get("__module__"), str) and isinstance(item.get("__class__"), str):
                yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def write_stable_names(schema: Any) -> None:
    """Replace types of today by their names in files, and say the fields of named tuples."""
    for node in nodes(schema):
        name = find_name(f"{node['__module__']}.{node['__class__']}")
        if name is not None:
            node.update(__module__=PACKAGE, __class__=name)
            kind: Any = find_type(name)
            if issubclass(kind, tuple):
                node["fields"] = list(kind._fields)


def read_stable_names(schema: Any) -> None:
    """Replace names in a file by types of today; what is unknown is left to be found so."""
    for node in nodes(schema):
        module, name = node["__module__"], node["__class__"]
        if module != PACKAGE and not module.startswith(f"{PACKAGE}."):
            continue
        name = FORMAT_1_NAMES.get(f"{module}.{name}", name)
        kind = find_type(name)
        if kind is None:
            continue
        node.update(__module__=kind.__module__, __class__=kind.__qualname__)
        fields = node.pop("fields", FORMAT_1_FIELDS.get(name, "").split())
        if issubclass(kind, tuple) and kind is not tuple:
            _arrange(node, name, fields, kind)


def _arrange(node: dict[str, Any], name: str, fields: list[str], kind: Any) -> None:
    """Put the values of a named tuple in the order of its fields today.

    Fields at its end that were not there when the file was written take their defaults.
    """
    wanted = [f for f in kind._fields if f in fields or f not in kind._field_defaults]
    complete = len(node.get("content", ())) == len(fields)
    first = wanted == list(kind._fields)[: len(wanted)]
    if not (complete and first and sorted(fields) == sorted(wanted)):
        raise ValueError(
            f"its {name} has the fields {', '.join(map(str, fields))[:200]}, but in this version "
            f"{', '.join(kind._fields)}"
        )
    if fields != wanted:
        values = dict(zip(fields, node["content"], strict=True))
        node["content"] = [values[field] for field in wanted]
