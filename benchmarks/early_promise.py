"""Whether calibrated promises are kept on real series, and how early decisions are.

``python -m benchmarks.early_promise DIR`` reads the files ``ucr_*.npz`` in DIR. Each classifier
learns the training series of a set, and is calibrated anew 100 times. Two protocols are printed.

- "below": the test series (at most 1000) are the whole population. Calibration rows (half as
  many, at most 300) are drawn from it independently, with replacement, and all of it is decided
  on. The promise is about the expected loss over the distribution that calibration rows are drawn
  from, and here that is the average over the population: it is known without an error. So this
  share is at most 0.05 if the promise holds, up to the chance of 100 draws.
- "halves": one half of the series (at most 300) calibrates, the others are decided on. No row does
  both, but few rows measure the agreement with an error, and where the first half had luck with
  its rows the other one has none. "sharp" is the share below τ that the least cautious valid
  calibration has then: see `share_by_chance`. It is above 0.05.

``--generated`` takes CBF, whose distribution is known: training series of the set, 300 new series
for each calibration and 5000 others to decide on. "below" are the recalibrations with an agreement
below τ on these others.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom
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
    tail_probability,
)
from separatrix.early.stream import follow_paths
from separatrix.linalg import Array

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
N_DRAWS, MAX_TEST, MAX_CALIBRATION, N_JUDGED = 100, 1000, 300, 5000


def follow(model: EarlyClassifier, X: Any, y: Any) -> ScorePaths:
    """The scores of test series at all times."""
    codes, reliabilities = follow_paths(model._score, X)
    labels = np.searchsorted(model.classes_, y)
    return ScorePaths(codes, reliabilities, model._classify(X), labels)


class Found(NamedTuple):
    """What one calibration gave: agreement, share of the series used, and accuracy."""

    agreement: float
    used: float
    right: float


def judge(held: ScorePaths, judged: ScorePaths, times: Array, promise: Promise) -> Found:
    """Calibrate with some rows and decide on others; the last time is that of complete rows."""
    cutoffs = find_cutoffs(held, times[:-1], int(times[-1]), promise)
    halted = halting_times(judged.reliabilities, cutoffs.values[None])
    decided = decided_codes(judged, halted)[:, 0]
    return Found(
        float(np.mean(decided == judged.complete)),
        float(times[halted[:, 0]].mean() / times[-1]),
        float(np.mean(decided == judged.labels)),
    )


def of_population(paths: ScorePaths, times: Array, promise: Promise) -> list[Found]:
    """Calibration rows drawn with replacement, judged by all rows that they are drawn from."""
    rng, n = np.random.default_rng(0), len(paths.labels)
    drawn = (rng.choice(n, size=min(n // 2, MAX_CALIBRATION)) for _ in range(N_DRAWS))
    return [judge(paths.of_rows(held), paths, times, promise) for held in drawn]


def of_halves(paths: ScorePaths, times: Array, promise: Promise, n_held: int) -> list[Found]:
    """Some rows calibrate, all others are judged."""
    rng, n = np.random.default_rng(0), len(paths.labels)
    orders = (rng.permutation(n) for _ in range(N_DRAWS))
    return [
        judge(paths.of_rows(order[:n_held]), paths.of_rows(order[n_held:]), times, promise)
        for order in orders
    ]


def share_below(found: list[Found], promise: Promise) -> float:
    return float(np.mean([f.agreement < promise.reliability for f in found]))


def share_by_chance(n_held: int, n_judged: int, promise: Promise) -> float:
    """The share below τ on disjoint rows, for losses that come one by one as the cutoff falls.

    At most a losses are accepted among the rows that calibrate, and b among those judged leave an
    agreement of τ. It falls below τ when the loss b + 1 of these comes before the loss a + 1 of
    those: when a or fewer of the first a + b + 1 losses of all rows are in the first part.

    Examples
    --------
    >>> round(share_by_chance(300, 300, Promise(0.9)), 3)
    0.096
    >>> round(share_by_chance(300, 10**7, Promise(0.9)), 3)  # that of the binomial test
    0.046
    """
    total = np.arange(n_held + 1)
    accepted = np.flatnonzero(tail_probability(total, n_held, promise) <= promise.error)
    if not len(accepted):  # nothing is decided before the end
        return 0.0
    a, b = int(accepted[-1]), int(np.floor(promise.most * n_judged + 1e-9))
    return float(hypergeom.cdf(a, n_held + n_judged, a + b + 1, n_held))


def make_cbf(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Cylinders, bells and funnels (Saito 1994) of 128 values, normalised as in the archive."""
    y, t = rng.integers(3, size=n), np.arange(1, 129)
    start = rng.integers(16, 33, size=(n, 1))
    length = rng.integers(32, 97, size=(n, 1))
    rise = (t - start) / length
    shape = np.choose(y[:, None], [np.ones_like(rise), rise, 1 - rise])
    X = (6 + rng.standard_normal((n, 1))) * shape * ((rise >= 0) & (rise <= 1))
    X += rng.standard_normal(X.shape)
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True), y + 1


def of_generated(model: EarlyClassifier, times: Array, promise: Promise) -> list[Found]:
    """New rows for each calibration; 5000 others are judged by all of them."""
    rng = np.random.default_rng(0)
    judged = follow(model, *make_cbf(N_JUDGED, rng))
    fresh = follow(model, *make_cbf(N_DRAWS * MAX_CALIBRATION, rng))
    parts = np.arange(N_DRAWS * MAX_CALIBRATION).reshape(N_DRAWS, -1)
    return [judge(fresh.of_rows(part), judged, times, promise) for part in parts]


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
    parser.add_argument("--generated", action="store_true", help="new series of CBF")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # series normalised over their length; linear SVMs
    promise = Promise(given.reliability)
    chosen = [name for name in given.models.split(";") if name] or list(MODELS)
    print(f"{'set':<18}{'model':<22}{'used':>6}{'agree':>7}{'below':>7}{'halves':>8}{'sharp':>7}"
          f"{'right':>7}{'complete':>10}")  # fmt: skip
    names = ["CBF"] if given.generated else list(filter(None, given.sets.split(",")))
    for name, X, y, X_test, y_test in read_sets(given.folder, names):
        for title in chosen:
            start = time.process_time()
            model = MODELS[title].fit(X, y)
            paths = follow(model, X_test, y_test)
            times = np.append(model._score.times, X.shape[1])
            n_held = min(len(y_test) // 2, MAX_CALIBRATION)
            sharp = share_by_chance(n_held, len(y_test) - n_held, promise)
            if given.generated:
                found = of_generated(model, times, promise)
            else:
                found = of_population(paths, times, promise)
            halves = share_below(of_halves(paths, times, promise, n_held), promise)
            agree, used, right = np.mean(found, axis=0)
            complete = np.mean(paths.complete == paths.labels)
            print(
                f"{name:<18}{title:<22}{used:>6.2f}{agree:>7.3f}"
                f"{share_below(found, promise):>7.2f}{halves:>8.2f}{sharp:>7.2f}{right:>7.3f}"
                f"{complete:>10.3f}   {time.process_time() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
