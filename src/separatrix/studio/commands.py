"""Commands that the page may run, and their calls in Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

HIDDEN = frozenset({"studio", "reproduce", "completion"})
"""Commands that make no sense in the page."""

OUTPUTS = frozenset({"output", "report", "results", "html", "model_path", "certificate"})
"""Options whose value is a file to write. It stays in the folder of the project."""


class RefusedError(ValueError):
    """A request that the page may not make; its message is for the person in front of it."""


def build_arguments(
    command: str, arguments: Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """The words of a command line, from names and values that a page sent.

    Parameters
    ----------
    command : str
    arguments : sequence of str
        Arguments of the command without a name, such as a table.
    options : dict
        Values by the long names of options without dashes. False and None leave an option out,
        True is a switch, and a list repeats the option.

    Examples
    --------
    >>> build_arguments("fit", ["flowers.csv"], {"target": "kind", "output": "flowers.model"})
    ['fit', '--target=kind', '--output=flowers.model', '--', 'flowers.csv']
    """
    known_options = _options_of(command)
    words = [command]
    for name, value in options.items():
        if name not in known_options:
            raise RefusedError(f"The command {command} has no option --{name}.")
        if value is None or value is False:
            continue
        if name in OUTPUTS:
            check_inside(str(value))
        values = value if isinstance(value, list) else [value]
        for one in values:
            words.append(
                f"--{name}" if known_options[name].is_flag else f"--{name}={_as_text(one)}"
            )
    return [*words, "--", *map(_as_text, arguments)]


def _options_of(command: str) -> dict[str, click.Option]:
    from separatrix.cli.program import program

    spec = None if command in HIDDEN else program.commands.get(command)
    if spec is None:
        raise RefusedError(f"There is no command {command!r}.")
    return {
        flag.removeprefix("--"): option
        for option in spec.params
        if isinstance(option, click.Option)
        for flag in (*option.opts, *option.secondary_opts)
        if flag.startswith("--")
    }


def _as_text(value: Any) -> str:
    text = str(value)
    if "\0" in text:
        raise RefusedError("A value has a NUL character.")
    return text


def check_inside(path: str) -> None:
    """Raise for a file outside of the folder of the project."""
    parts = path.replace("\\", "/").split("/")
    if not path or path.startswith(("/", "~")) or ".." in parts or ":" in parts[0] or "\0" in path:
        raise RefusedError(f"{path!r} is not a file in the folder of this project.")


def shell_text(words: Sequence[str]) -> str:
    """The command as it is typed in a shell.

    Examples
    --------
    >>> shell_text(["fit", "--target=kind of flower", "--", "flowers.csv"])
    "separatrix fit '--target=kind of flower' flowers.csv"
    """
    plain = [word for word in words if word != "--" or _needs_end_of_options(words)]
    return shlex.join(["separatrix", *plain])


def _needs_end_of_options(words: Sequence[str]) -> bool:
    return any(word.startswith("-") for word in words[words.index("--") + 1 :])


# Python ---------------------------------------------------------------------------------------

TABLE_READERS = {"csv": "read_csv", "tsv": "read_csv", "txt": "read_csv", "xlsx": "read_excel",
           "parquet": "read_parquet"}  # fmt: skip


def python_text(command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """The same in Python, for the commands that have a counterpart there; else an empty text."""
    writers = {"compare": _python_compare, "fit": _python_fit, "predict": _python_predict}
    return writers[command](arguments, options) if command in writers else ""


def _python_table(source: str, options: Mapping[str, Any]) -> str:
    kind = source.rsplit(".", 1)[-1].lower()
    if "." not in source:
        return (
            f"from separatrix import datasets\n\ndata = datasets.load({source!r})\n"
            "X, y = data.data, data.target"
        )
    reader = TABLE_READERS.get(kind, "read_csv")
    extra = {"sep": options.get("sep") or ("\t" if kind == "tsv" else None),
             "decimal": options.get("decimal"), "thousands": options.get("thousands")}  # fmt: skip
    words = "".join(f", {k}={v!r}" for k, v in extra.items() if v and (k, v) != ("decimal", "."))
    target = options.get("target")
    dropped = [*_listed(options.get("ignore")), *_listed(options.get("id"))]
    lines = ["import pandas as pd", "", f"X = pd.{reader}({source!r}{words})"]
    lines.append(f"y = X.pop({target!r})" if target else "y = X.pop(X.columns[-1])")
    if dropped:
        lines.append(f"X = X.drop(columns={dropped!r})")
    return "\n".join(lines)


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value] if value else []


def _python_compare(arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    asked = [m for part in _listed(options.get("methods")) for m in part.split(",") if m]
    report = options.get("report")
    lines = [
        _python_table(arguments[0], options),
        "",
        "from separatrix import evaluate",
        "",
        f"comparison = evaluate.compare({asked or None!r}, X, y)",
        "print(comparison.table())",
    ]
    return "\n".join([*lines, *([f"comparison.report({report!r})"] if report else [])])


def _python_fit(arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    method = options.get("method") or "FisherDiscriminant"
    lines = [
        _python_table(arguments[0], options),
        "",
        "from sklearn.pipeline import make_pipeline",
        "from sklearn.preprocessing import StandardScaler",
        "",
        f"from separatrix import {method}, save",
        "",
        f"model = make_pipeline(StandardScaler(), {method}()).fit(X, y)",
        f"save(model, {options.get('output', 'my.model')!r})",
    ]
    return "\n".join(lines)


def _python_predict(arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    model, rows = (*arguments, "", "")[:2]
    table = _python_table(rows, {**options, "target": None}).splitlines()
    kept = [line for line in table if not line.startswith("y = ")]
    return "\n".join([*kept, "", "from separatrix import load", "", f"model = load({model!r})",
                      "labels = model.predict(X[model.feature_names_in_])"])  # fmt: skip
