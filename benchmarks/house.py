"""The size of the house: code lines, comments, parameters, constants and walks.

``python -m benchmarks.house`` counts what stands in ``src/separatrix``; ``--walks`` also runs a
plain ``fit`` and says through how many files and calls it goes. It is run by hand: numbers like
these describe a design, they do not test it.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "separatrix"
CORE = {"linalg", "moments", "kernels.py", "selection.py", "base", "decision", "fisher", "ipcac"}
CORE |= {"ldg", "margin"}
SUMS_OF_ROWS = "moments/summarize.py"


class Size(NamedTuple):
    """What one module holds."""

    code: int  # lines of statements: no docstrings, comments or blank lines
    comments: int
    constants: int  # numbers that a module names in upper case


def measure(path: Path) -> Size:
    """Count the lines and constants of a module."""
    text = path.read_text()
    tree = ast.parse(text)
    comments: set[int] = set()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _BLANK:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node, "value", None), ast.Constant):
            assert node.end_lineno is not None
            code.difference_update(range(node.lineno, node.end_lineno + 1))
    return Size(len(code), len(comments), sum(map(_is_number, tree.body)))


_BLANK = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _is_number(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        names: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign):
        names = [node.target]
    else:
        return False
    value = node.value
    if not (len(names) == 1 and isinstance(names[0], ast.Name) and names[0].id.isupper()):
        return False
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return isinstance(value, ast.UnaryOp | ast.BinOp)


def rooms() -> Iterator[tuple[str, list[Path]]]:
    """Each package and module at the top, with its files."""
    for room in sorted(PACKAGE.iterdir()):
        if room.suffix == ".py":
            yield room.name, [room]
        elif (room / "__init__.py").exists():
            yield room.name, sorted(room.rglob("*.py"))


def constructor_parameters() -> dict[str, list[str]]:
    """The parameters of each public estimator and object that has ``get_params``."""
    import inspect

    import separatrix

    found = {}
    for name in separatrix.__all__:
        thing = getattr(separatrix, name)
        if inspect.isclass(thing) and hasattr(thing, "get_params"):
            found[name] = [p for p in inspect.signature(thing).parameters if p != "self"]
    return found


def walk_of(call: Any) -> tuple[int, int, int, dict[str, int]]:
    """Files of the package that a call runs through, its depth, that of the first sums, calls."""
    files: dict[str, int] = defaultdict(int)
    depth = deepest = summed_at = 0

    def watch(frame: Any, event: str, _: Any) -> None:
        nonlocal depth, deepest, summed_at
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            name = str(Path(frame.f_code.co_filename).relative_to(PACKAGE))
            files[name] += 1
            if name == SUMS_OF_ROWS:
                summed_at = summed_at or depth
        elif event == "return":
            depth -= 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(files), deepest, summed_at, dict(files)


def print_sizes() -> None:
    """Print a row for each room, and the sums."""
    print(f"{'':14}{'files':>6}{'code':>7}{'comments':>10}{'constants':>11}{'over 450':>10}")
    sums: dict[str, list[int]] = {"core": [0] * 5, "all": [0] * 5}
    for name, files in rooms():
        sizes = [measure(path) for path in files]
        row = [len(files), *(sum(part) for part in zip(*sizes, strict=True))]
        row.append(sum(size.code > 450 for size in sizes))
        for whole in ("all", "core") if name in CORE else ("all",):
            sums[whole] = [a + b for a, b in zip(sums[whole], row, strict=True)]
        _print_row(name, row)
    for name, row in sums.items():
        _print_row(name, row)
        print(f"{'':14}{100 * row[2] / row[1]:.1f} comments to 100 lines of code")


def _print_row(name: str, row: list[int]) -> None:
    print(f"{name:14}{row[0]:6}{row[1]:7}{row[2]:10}{row[3]:11}{row[4]:10}")


def print_parameters() -> None:
    """Print the number of parameters of each public class."""
    parameters = constructor_parameters()
    print(f"\n{sum(map(len, parameters.values()))} parameters of {len(parameters)} classes")
    for name, names in sorted(parameters.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):3} {name}: {', '.join(names)}")


def print_walks() -> None:
    """Print the walks of a plain fit and predict."""
    from sklearn.datasets import load_wine

    import separatrix

    X, y = load_wine(return_X_y=True)
    for make in (
        lambda: separatrix.FisherDiscriminant(shrinkage=None),
        lambda: separatrix.FisherDiscriminant(),
        lambda: separatrix.IPCAC(),
        lambda: separatrix.LDG(gamma=0.3, n_neighbors=5),
        lambda: separatrix.KernelFisherDiscriminant(),
    ):
        make().fit(X, y)  # imports are not counted
        model = make()
        for verb, call in (("fit", lambda m=model: m.fit(X, y)),):
            files, deep, summed_at, each = walk_of(call)
            print(f"\n{model}.{verb}: {files} files, {deep} deep, rows at call {summed_at}")
            print("   " + ", ".join(f"{name} {n}" for name, n in each.items()))


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", action="store_true", help="run plain fits, too")
    parser.add_argument("--duplicates", action="store_true", help="count repeated places, too")
    chosen = parser.parse_args()
    print_sizes()
    print_parameters()
    if chosen.walks:
        print_walks()
    if chosen.duplicates:
        subprocess.run(["duplicates", str(PACKAGE)], check=False)


if __name__ == "__main__":
    main()
