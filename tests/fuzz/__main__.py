"""Estimators, tables and model files that are odd: ``python -m tests.fuzz --minutes 60``.

In each round every estimator is fitted to degenerate data, and as many tables and model files are
read that are odd, damaged or hostile. The smallest example of each finding is printed as code.
Exit status 1 when there is any.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.discovery import all_estimators, lawful_estimators, name_of
from tests.fuzz.cases import Case, draw_case
from tests.fuzz.checks import FindingError, check_case
from tests.fuzz.files import (
    check_model_file,
    check_table,
    draw_model_file,
    draw_table,
    fitted_models,
)
from tests.fuzz.laws import check_laws


class Trial(NamedTuple):
    """Something that was tried, how to repeat it, and what came of it."""

    name: str
    code: str
    finding: FindingError | None
    accepted: bool


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")  # where they matter they are caught
    smallest: dict[tuple[str, str], tuple[Trial, int]] = {}
    seen, refused, found = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    end, seed = time.monotonic() + 60 * options.minutes, options.seed
    estimators = [e for e in all_estimators() if options.only in name_of(e)]
    known = [] if options.only else fitted_models()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            for trial in trials(seed, estimators, known, Path(folder)):
                seen[trial.name] += 1
                refused[trial.name] += trial.finding is None and not trial.accepted
                if trial.finding is not None:
                    key = trial.name, trial.finding.place
                    found[key] += 1
                    if key not in smallest or len(trial.code) < len(smallest[key][0].code):
                        smallest[key] = trial, seed
            seed += 1
    for key, (trial, at) in sorted(smallest.items(), key=lambda item: item[0]):
        print(f"\n## {key[0]}: {key[1]} ({found[key]} of {seen[key[0]]}, seed {at})")
        print(trial.code)
        print(trial.finding and trial.finding.details)
    for what, names in (
        ("cases", [*map(name_of, estimators)]),
        ("files", ["table", "model file"]),
    ):
        n, n_refused = sum(seen[name] for name in names), sum(refused[name] for name in names)
        print(f"\n{n} {what}, {n_refused} refused with a message")
    print(f"{sum(found.values())} findings of {len(found)} kinds; next seed {seed}")
    return 1 if found else 0


def trials(seed: int, estimators: list[Any], known: list[Any], folder: Path) -> Iterator[Trial]:
    """One round: every estimator, and as many tables and model files."""
    for i, estimator in enumerate(estimators):
        random = Random(seed)
        case = draw_case(random, estimator)
        yield tried(name_of(estimator), as_code(case), check_case, case, random)
        lawful = lawful_form(estimator)
        if lawful is not None and case.weights is None and not sp.issparse(case.X):
            case = case._replace(estimator=lawful, X=np.asarray(case.X, float), y=codes_of(case))
            if 1e-3 < np.abs(case.X).max() < 1e5:  # squares have digits
                yield tried(name_of(lawful), as_code(case), check_laws, *case[:3], random)
        if not known:
            continue
        random = Random(seed * len(estimators) + i)
        form, content = draw_table(random)
        code = f"form = {form!r}\ncontent = {content!r}"
        yield tried("table", code, check_table, form, content, folder)
        model, content = draw_model_file(random, known)
        code = f"model = {model!r}\ncontent = {content!r}"
        yield tried("model file", code, check_model_file, model, content, folder)


def lawful_form(estimator: Any) -> Any:
    """The same method with parameters that break no law by themselves, or None."""
    found = [e for e in lawful_estimators() if name_of(e) == name_of(estimator)]
    return found[0] if found else None


def codes_of(case: Case) -> np.ndarray:
    return np.unique(case.y, return_inverse=True)[1]


def tried(name: str, code: str, check: Any, *args: Any) -> Trial:
    try:
        return Trial(name, code, None, bool(check(*args)))
    except FindingError as finding:
        return Trial(name, code, finding, True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**40))
    parser.add_argument("--only", default="", help="part of the name of the estimators to try")
    return parser.parse_args()


def as_code(case: Case) -> str:
    dense = case.X.toarray() if sp.issparse(case.X) else case.X
    kind = f"  # {type(case.X).__name__}" if sp.issparse(case.X) else ""
    lines = [
        f"model = {case.estimator!r}".replace("\n", " "),
        f"X = np.array({np.asarray(dense).tolist()}, dtype={dense.dtype}){kind}",
        f"y = {case.y.tolist()}",
    ]
    return "\n".join(
        lines + ([] if case.weights is None else [f"weights = {case.weights.tolist()}"])
    )


if __name__ == "__main__":
    sys.exit(main())
