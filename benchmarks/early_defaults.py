"""Early decisions of local QDA by default, beside the settings of the author and others.

``python -m benchmarks.early_defaults DIR`` reads the files ``ucr_*.npz`` in DIR: at most 300
training and 300 test series of each. The test series are the population: 20 times half as many
are drawn with replacement to calibrate at τ = 0.9, and all are decided on. Printed for each
candidate are, averaged over the sets, the accuracy of the complete decision, and of the early one
its accuracy, the share of the series used, the agreement with the complete decision, and the
harmonic mean of accuracy and values spared, each with its difference to the default and the
standard error of that over sets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.early_promise import Found, follow, judge, read_sets
from separatrix import EarlyClassifier, LocalQDA
from separatrix.early.calibration import Promise
from separatrix.evaluate.early import harmonic_mean
from separatrix.linalg import Array

N_DRAWS, MAX_ROWS = 20, 300
COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
FLOOR: dict[str, Any] = {"reg": 1e-4, "covariance": "diag", "standardize": True}


def cross_validated(X: Array, y: Array, **params: Any) -> LocalQDA:
    """The number of neighbours that is best by five folds; of equals the smallest."""
    counts = [
        k for k in COUNTS if k <= 2 * np.bincount(np.unique(y, return_inverse=True)[1]).max()
    ]
    search = GridSearchCV(LocalQDA(**params), {"n_neighbors": counts}, cv=5)
    return LocalQDA(search.fit(X, y).best_params_["n_neighbors"], **params)


CANDIDATES: dict[str, Callable[[Array, Array], EarlyClassifier]] = {
    "default": lambda X, y: EarlyClassifier(LocalQDA()),
    "alpha 0.2": lambda X, y: EarlyClassifier(LocalQDA(), regularization=0.2),
    "five folds": lambda X, y: EarlyClassifier(cross_validated(X, y)),
    "author's rule": lambda X, y: EarlyClassifier(cross_validated(X, y, **FLOOR)),
    "author's all": lambda X, y: EarlyClassifier(
        cross_validated(X, y, **FLOOR), regularization=0.2
    ),
    "ridge 0.1": lambda X, y: EarlyClassifier(LocalQDA(**(FLOOR | {"reg": 0.1}))),
    "mixture": lambda X, y: EarlyClassifier(LocalQDA(), conditional="mixture"),
    "ellipsoid": lambda X, y: EarlyClassifier(LocalQDA(), score="model"),
    "ideal": lambda X, y: EarlyClassifier(LocalQDA(), score="model", region="ideal"),
}


def measure(model: EarlyClassifier, X_test: Array, y_test: Array) -> list[float]:
    """Accuracy of the complete decision; accuracy, share used, agreement, harmonic mean."""
    paths, promise = follow(model, X_test, y_test), Promise(0.9)
    times = np.append(model._score.times, X_test.shape[1])
    rng, n = np.random.default_rng(0), len(y_test)
    found = [
        judge(paths.of_rows(rng.choice(n, size=n // 2)), paths, times, promise)
        for _ in range(N_DRAWS)
    ]
    mean = Found(*np.mean(found, axis=0))
    complete = float(np.mean(paths.complete == paths.labels))
    both = harmonic_mean(mean.right, 1 - mean.used)
    return [complete, mean.right, mean.used, mean.agreement, both]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_defaults", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--sets", default="", help="names of sets, with commas between")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # series normalised over their length; small classes
    results: dict[str, list[list[float]]] = {name: [] for name in CANDIDATES}
    start = time.process_time()
    for name, X, y, X_test, y_test in read_sets(
        given.folder, list(filter(None, given.sets.split(",")))
    ):
        some = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
        for title, make in CANDIDATES.items():
            model = make(X[some], y[some]).fit(X[some], y[some])
            found = measure(model, X_test[:MAX_ROWS], y_test[:MAX_ROWS])
            results[title].append(found)
            print(f"{name:<18}{title:<16}" + "".join(f"{v:>8.3f}" for v in found), flush=True)
    heads = ("complete", "right", "used", "agree", "H")
    print(f"\n{'average':<16}" + "".join(f"{head:>24}" for head in heads))
    default = np.array(results["default"])
    for title, rows in results.items():
        apart = np.array(rows) - default
        error = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        cells = zip(np.mean(rows, axis=0), apart.mean(axis=0), error, strict=True)
        print(f"{title:<16}" + "".join(f"{m:>8.3f} ({d:+.3f} ± {e:.3f})" for m, d, e in cells))
    print(f"{time.process_time() - start:.0f} s of one processor")


if __name__ == "__main__":
    main()
