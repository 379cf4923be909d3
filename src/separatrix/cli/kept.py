"""Finished folds of a comparison: where they are kept, and the table of them when it is ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from separatrix.cli.console import Console


def choose_results_file(report: str | None, X: Any, y: Any) -> str | None:
    """The file of finished folds where none was named: next to the report, or in the user's cache.

    Its name has a fingerprint of the data, so that the same command finds it again and another
    table has another file. None where no such file can be written, or another run writes it.
    """
    import joblib

    from separatrix.evaluate.checkpoint import RESULTS_FORMAT, is_in_use

    mark = joblib.hash([X, y, RESULTS_FORMAT])[:12]
    if report is None or (Path(report).exists() and not Path(report).is_file()):
        path = find_cache_folder() / f"compare-{mark}.folds.jsonl"
    else:
        path = Path(report).absolute().with_suffix(f".{mark}.folds.jsonl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        return None if is_in_use(path) else str(path)
    except OSError:
        return None


def find_cache_folder() -> Path:
    """Where the system wants programs to keep what can be computed again."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "separatrix"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "separatrix" / "Cache"
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "separatrix"
    return home / ".cache" / "separatrix"


def forget_results(path: str | None) -> None:
    """Delete a file of folds that nobody asked for, once everything is done."""
    if path is not None:
        with suppress(OSError):
            Path(path).unlink()


def forget_if_empty(path: str | None) -> None:
    """The same where nothing was done."""
    from separatrix.evaluate.checkpoint import read_folds

    if path is not None and not read_folds(path):
        forget_results(path)


def tell_interruption(console: Console, results: str | None, *, named: bool) -> None:
    """Print the table of finished folds, and how to go on.

    Parameters
    ----------
    console : Console
        Where to print.
    results : str or None
        The file of folds.
    named : bool
        Whether the user named it.
    """
    from separatrix.evaluate.checkpoint import read_folds
    from separatrix.files.text import format_columns

    methods = summarize_folds([] if results is None else read_folds(results))
    if not methods:
        console.note("No fold was done yet.")
        if not named:
            forget_results(results)
        return
    rows = [
        [m["name"], f"{m['accuracy']:.3f}" if m["splits"] else "–", m["splits"]] for m in methods
    ]
    table = format_columns(["method", "accuracy", "splits done"], rows)
    record = {"interrupted": True, "methods": methods, "results": results}
    console.result(record, f"{table}\n\nInterrupted: means of other splits cannot be compared.")
    console.note(f"What is done is in {results}: the same command goes on with it.")


def summarize_folds(folds: list[Any]) -> list[Mapping[str, Any]]:
    """Mean accuracy and number of splits of each method, those with most splits and best first.

    Of several folds of a method on a split the first counts: the others are controls, with rows of
    groups on both sides or with shuffled labels.
    """
    first = {(fold.method, fold.split): fold for fold in reversed(folds)}
    by_method: dict[str, list[float]] = {}
    for fold in (fold for fold in folds if first[fold.method, fold.split] is fold):
        done = by_method.setdefault(fold.method, [])
        if fold.status == "done":
            done.append(fold.scores["accuracy"])
    methods = [
        {"name": name, "accuracy": sum(s) / len(s) if s else None, "splits": len(s)}
        for name, s in by_method.items()
    ]
    return sorted(methods, key=lambda m: (-m["splits"], -(m["accuracy"] or 0.0)))
