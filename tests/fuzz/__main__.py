"""Fit every estimator to degenerate data for a while: ``python -m tests.fuzz --minutes 60``.

The smallest example of each finding is printed as code. Exit status 1 when there is any.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from random import Random

import numpy as np
import scipy.sparse as sp

from tests.discovery import all_estimators, name_of
from tests.fuzz.cases import Case, draw_case
from tests.fuzz.checks import FindingError, check_case

Key = tuple[str, str]


def main() -> int:
    options = _options()
    estimators = [e for e in all_estimators() if options.only in name_of(e)]
    smallest: dict[Key, tuple[Case, FindingError, int]] = {}
    seen, refused, found = Counter[str](), Counter[str](), Counter[Key]()
    end, seed = time.monotonic() + 60 * options.minutes, options.seed
    while time.monotonic() < end:
        for estimator in estimators:
            name, random = name_of(estimator), Random(seed)
            case = draw_case(random, estimator)
            seen[name] += 1
            try:
                refused[name] += not check_case(case, random)
            except FindingError as finding:
                key = name, finding.place
                found[key] += 1
                if key not in smallest or size(case) < size(smallest[key][0]):
                    smallest[key] = case, finding, seed
        seed += 1
    for key, (case, finding, at) in sorted(smallest.items(), key=lambda item: item[0]):
        print(f"\n## {key[0]}: {key[1]} ({found[key]} of {seen[key[0]]}, seed {at})")
        print(as_code(case))
        print(finding.details)
    print(
        f"\n{sum(seen.values())} cases, {sum(refused.values())} refused with a message, "
        f"{sum(found.values())} findings of {len(found)} kinds; next seed {seed}"
    )
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**40))
    parser.add_argument("--only", default="", help="part of the name of the estimators to try")
    return parser.parse_args()


def size(case: Case) -> int:
    return int(np.prod(case.X.shape))


def as_code(case: Case) -> str:
    dense = case.X.toarray() if sp.issparse(case.X) else case.X
    kind = f"  # {type(case.X).__name__}" if sp.issparse(case.X) else ""
    lines = [
        f"model = {case.estimator!r}".replace("\n", " "),
        f"X = np.array({dense.tolist()}, dtype={dense.dtype}){kind}",
        f"y = {case.y.tolist()}",
    ]
    return "\n".join(
        lines + ([] if case.weights is None else [f"weights = {case.weights.tolist()}"])
    )


if __name__ == "__main__":
    sys.exit(main())
