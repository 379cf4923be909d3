"""How long a comparison of all methods takes, method by method.

``python -m benchmarks.comparison`` compares all methods on wine. ``--large`` takes 5000 rows of
256 features in ten classes that are drawn, ``--large DIR`` the first 5000 of ``usps.npz`` in DIR.
The processor time of all processes is printed beside the time that passed: on a machine that does
other things as well, the first divided by the jobs is what a quiet one needs.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import datasets
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.ranking import rank_methods
from separatrix.evaluate.records import Comparison, Progress
from separatrix.evaluate.splits import RandomShares


def processor_seconds() -> float:
    """Of this process and of those that it has started and that have ended."""
    spent = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(s.ru_utime + s.ru_stime for s in spent)


def large(directory: Path | None) -> tuple[Any, Any]:
    if directory is None:
        bunch = datasets.make_gaussian_classes(5000, 256, 10, separation=4.0, random_state=0)
        return bunch.data, bunch.target
    with np.load(directory / "usps.npz") as data:
        return data["X_train"][:5000].astype(float), data["y_train"][:5000]


def show(found: Comparison) -> None:
    print(f"{'':34}{'accuracy':>18}{'fit':>9}{'predict':>9}  chosen in split 0")
    for method in sorted(found.methods, key=_order):
        fold = method.folds[0] if method.folds else None
        if fold is None or not method.summary:
            print(f"{method.name:<34}{method.status}: {method.reason}")
            continue
        a = method.summary["accuracy"]
        done = [f for f in method.folds if f.status == "done"]
        fit = np.mean([f.fit_seconds for f in done])
        predict = np.mean([f.predict_seconds for f in done])
        chosen = ", ".join(f"{n}={_short(v)}" for n, v in fold.chosen.items())
        print(
            f"{method.name:<34}{100 * a.mean:6.1f} ({100 * a.low:.1f}-{100 * min(a.high, 1):.1f})"
            f"{fit:7.2f} s{predict:7.2f} s  {chosen}"
            + (f"; {method.reason}" if method.reason else "")
        )
    ranking = rank_methods(found)
    print("groups:", *(", ".join(group) for group in ranking.groups), sep="\n  ")


def _order(method: Any) -> float:
    return -method.summary["accuracy"].mean if method.summary else 1.0


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def tell(state: Progress) -> None:
    if state.fold is not None and state.done % 26 == 0:
        left = "?" if state.remaining is None else f"{state.remaining:.0f}"
        print(
            f"  {state.done} of {state.total}, {state.elapsed:.0f} s, {left} s to go", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--large", nargs="?", const="", default=None, metavar="DIR")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.large is None:
        wine = datasets.load("wine")
        X, y = wine.data, wine.target
    else:
        X, y = large(Path(given.large) if given.large else None)
    start, used = time.perf_counter(), processor_seconds()
    found = compare(None, X, y, cv=RandomShares(given.splits), n_jobs=given.jobs, progress=tell)
    passed, used = time.perf_counter() - start, processor_seconds() - used
    show(found)
    print(
        f"{X.shape[0]} x {X.shape[1]}, {len(found.methods)} methods, {given.splits} splits: "
        f"{passed:.0f} s passed, {used:.0f} s of processor time, {used / given.jobs:.0f} s on "
        f"{given.jobs} quiet cores"
    )


if __name__ == "__main__":
    main()
