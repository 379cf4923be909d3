"""The size of the corrected resampled t-test: how often two equal methods seem to differ.

    python -m benchmarks.null [--experiments 1000] [--seed 0]

Each experiment draws rows of which two halves of the features say the same of the classes, learns
one method from each half on ten splits that hold out 30 %, and tests the difference. Both are
equally good by construction, so that the share of p <= 0.05 is the size of the test.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from separatrix import FisherDiscriminant
from separatrix.evaluate.ranking import corrected_t_test
from separatrix.selection import random_splits

SETTINGS: tuple[tuple[int, int, Callable[[], Any]], ...] = (
    (60, 5, lambda: FisherDiscriminant(shrinkage=None)),
    (60, 5, lambda: KNeighborsClassifier(3, algorithm="brute")),
    (200, 10, lambda: FisherDiscriminant(shrinkage=None)),
    (200, 10, NearestCentroid),
    (200, 10, lambda: KNeighborsClassifier(3, algorithm="brute")),
)
"""Rows, features of each half, and the method that learns from them."""

N_SPLITS, TEST_SIZE, SEPARATION = 10, 0.3, 1.0


def p_value_of_equals(
    n_rows: int, n_features: int, make: Callable[[], Any], rng: np.random.Generator
) -> float:
    """The p-value of one experiment."""
    y = np.arange(n_rows) % 2
    halves = rng.standard_normal((2, n_rows, n_features))
    halves[:, :, 0] += SEPARATION * y
    differences = []
    for train, test in random_splits(y, N_SPLITS, TEST_SIZE, int(rng.integers(1 << 31))):
        one, other = (
            np.mean(make().fit(X[train], y[train]).predict(X[test]) == y[test]) for X in halves
        )
        differences.append(one - other)
    return corrected_t_test(differences, TEST_SIZE, len(test))[1]


def measure_size(n_experiments: int, seed: int) -> list[tuple[str, int, int]]:
    """Rejections at the level 0.05, and experiments, of each setting."""
    rng = np.random.default_rng(seed)
    found = []
    for n_rows, n_features, make in SETTINGS:
        n = math.ceil(n_experiments / len(SETTINGS))
        p_values = [p_value_of_equals(n_rows, n_features, make, rng) for _ in range(n)]
        name = f"{type(make()).__name__}, {n_rows} x {n_features}"
        found.append((name, int(np.sum(np.array(p_values) <= 0.05)), n))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = measure_size(given.experiments, given.seed)
    whole = ("all", sum(f[1] for f in found), sum(f[2] for f in found))
    for name, rejected, n in (*found, whole):
        share = rejected / n
        print(f"{name:<40}{share:7.3f}  standard error {math.sqrt(share * (1 - share) / n):.3f}")


if __name__ == "__main__":
    main()
