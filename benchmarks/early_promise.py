"""Whether calibrated promises are kept on real series, and how early decisions are.

``python -m benchmarks.early_promise DIR`` reads the files ``ucr_*.npz`` in DIR. Each classifier
learns the training series of a set. The test series (at most 1000) are the population: 100 times
some of them (half as many, at most 300) are drawn with replacement to calibrate, and all are
decided on, so that the agreement is that of new rows without an error of its own. Printed are the
average share of a series that is used, the average agreement with the complete decision, and the
share of the recalibrations whose agreement is below τ, which was promised to be at most 0.05.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from separatrix import EarlyClassifier, LocalQDA
from separatrix.early.calibration import (
    Promise,
    ScorePaths,
    decided_codes,
    find_cutoffs,
    halting_times,
)
from separatrix.early.stream import follow_paths

MODELS: dict[str, EarlyClassifier] = {
    "LocalQDA, sampled": EarlyClassifier(LocalQDA()),
    "LocalQDA, ideal": EarlyClassifier(LocalQDA(), region="ideal"),
    "LocalQDA, ellipsoid": EarlyClassifier(LocalQDA(), score="model"),
    "LinearSVC, ellipsoid": EarlyClassifier(LinearSVC(max_iter=20_000)),
    "LinearSVC, ideal": EarlyClassifier(LinearSVC(max_iter=20_000), region="ideal"),
    "forest, sampled": EarlyClassifier(RandomForestClassifier(50, random_state=0), n_draws=50),
    "SVC, sampled": EarlyClassifier(make_pipeline(StandardScaler(), SVC()), n_draws=50),
    "logistic, prefix": EarlyClassifier(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), score="prefix"
    ),
}
N_DRAWS, MAX_TEST, MAX_CALIBRATION = 100, 1000, 300


def follow(model: EarlyClassifier, X: Any, y: Any) -> ScorePaths:
    """The scores of test series at all times."""
    codes, reliabilities = follow_paths(model._score, X)
    labels = np.searchsorted(model.classes_, y)
    return ScorePaths(codes, reliabilities, model._classify(X), labels)


def recalibrate(paths: ScorePaths, times: Any, n_values: int, promise: Promise) -> Any:
    """Agreement, share used and accuracy over the population, for each calibration."""
    rng, n = np.random.default_rng(0), len(paths.labels)
    found = []
    for _ in range(N_DRAWS):
        held = rng.choice(n, size=min(n // 2, MAX_CALIBRATION))
        cutoffs = find_cutoffs(paths.of_rows(held), times, n_values, promise)
        halted = halting_times(paths.reliabilities, cutoffs.values[None])
        used = np.append(times, n_values)[halted[:, 0]] / n_values
        decided = decided_codes(paths, halted)[:, 0]
        right = decided == paths.labels
        found.append((np.mean(decided == paths.complete), used.mean(), right.mean()))
    return np.array(found)


def read_sets(folder: Path, chosen: list[str]) -> Any:
    """Name, training and some test series of each set."""
    for path in sorted(folder.glob("ucr_*.npz")):
        name = path.stem.removeprefix("ucr_")
        if chosen and name not in chosen:
            continue
        data, rng = np.load(path), np.random.default_rng(0)
        some = rng.permutation(len(data["y_test"]))[:MAX_TEST]
        yield name, data["X_train"], data["y_train"], data["X_test"][some], data["y_test"][some]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_promise", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--sets", default="", help="names of sets, with commas between")
    parser.add_argument("--models", default="", help="names of models, with ; between")
    parser.add_argument("--reliability", type=float, default=0.9)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # series normalised over their length; linear SVMs
    promise = Promise(given.reliability)
    chosen = [name for name in given.models.split(";") if name] or list(MODELS)
    print(
        f"{'set':<18}{'model':<22}{'used':>6}{'agree':>7}{'below':>7}{'right':>7}{'complete':>10}"
    )
    sets = read_sets(given.folder, list(filter(None, given.sets.split(","))))
    for name, X, y, X_test, y_test in sets:
        for title in chosen:
            start = time.process_time()
            model = MODELS[title].fit(X, y)
            paths = follow(model, X_test, y_test)
            found = recalibrate(paths, model._score.times, X.shape[1], promise)
            agree, used, right = found.mean(axis=0)
            below = np.mean(found[:, 0] < given.reliability)
            complete = np.mean(paths.complete == paths.labels)
            print(
                f"{name:<18}{title:<22}{used:>6.2f}{agree:>7.3f}{below:>7.2f}{right:>7.3f}"
                f"{complete:>10.3f}   {time.process_time() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
