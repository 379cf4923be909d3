"""Early decisions beside their rivals: how early, how reliable, how right, in how many seconds.

``python -m benchmarks.early_peers DIR`` reads the files ``ucr_*.npz`` in DIR. Every method learns
the training series (at most 300). Those that calibrate do so on half of the test series (at most
300 of them) at τ = 0.9 and confidence 0.95; all are judged by the other half. TEASER and random
convolutions need aeon (``pip install aeon``); without it the others run. "Fixed time" are the
convolutions of MiniRocket after the average time of its calibrated stop.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import EarlyClassifier, LocalQDA
from separatrix.evaluate.early import harmonic_mean
from separatrix.linalg import Array
from separatrix_papers.ldg.early import ECTS

MAX_TRAINING, MAX_TEST = 300, 600


class Split(NamedTuple):
    """Series to learn from, to calibrate with, and to be judged by."""

    X: Array
    y: Array
    X_calibration: Array
    y_calibration: Array
    X_test: Array
    y_test: Array


class Answers(NamedTuple):
    """Labels, numbers of values used, and labels of the complete series."""

    label: Array
    time: Array
    complete: Array


def read_split(path: Path) -> Split:
    """The training part of a set, and its test part in two halves."""
    data, rng = np.load(path), np.random.default_rng(0)
    train = rng.permutation(len(data["y_train"]))[:MAX_TRAINING]
    test = rng.permutation(len(data["y_test"]))[:MAX_TEST]
    held, judged = np.split(test, [len(test) // 2])
    X, y, X_test, y_test = (data[k] for k in ("X_train", "y_train", "X_test", "y_test"))
    return Split(X[train], y[train], X_test[held], y_test[held], X_test[judged], y_test[judged])


def calibrated(model: EarlyClassifier, split: Split) -> Answers:
    model.fit(split.X, split.y).calibrate(split.X_calibration, split.y_calibration)
    found = model.decide_early(split.X_test)
    return Answers(found.label, found.time, model.predict(split.X_test))


def convolutions(kind: str) -> Any:
    """Random convolutions and a ridge classifier."""
    from aeon.transformations.collection.convolution_based import MiniRocket, Rocket

    transform = {"rocket": Rocket, "minirocket": MiniRocket}[kind](random_state=0)
    ridge = RidgeClassifierCV(alphas=np.logspace(-3, 3, 10))
    return make_pipeline(transform, StandardScaler(with_mean=False), ridge)


def teaser(split: Split) -> Answers:
    """aeon's TEASER, asked for labels, times and the labels at the end."""
    from aeon.classification.early_classification import TEASER

    model = TEASER(random_state=0).fit(split.X[:, None], split.y)
    label, _ = model.predict(split.X_test[:, None])
    points = np.asarray(model._classification_points)
    when = points[np.asarray(model.get_state_info())[:, 0]]
    return Answers(label, when, model.estimators_[-1].predict(split.X_test[:, None]))


def ects(split: Split) -> Answers:
    """Reverse nearest neighbours without clusters, as in the reproduction of the thesis."""
    found = ECTS().fit(split.X, split.y).decide(split.X_test)
    return Answers(found.label, found.time, found.complete)


def fixed_time(split: Split, t: int) -> Answers:
    model = convolutions("minirocket").fit(split.X[:, :t], split.y)
    label = model.predict(split.X_test[:, :t])
    whole = convolutions("minirocket").fit(split.X, split.y)
    return Answers(label, np.full(len(label), t), whole.predict(split.X_test))


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


METHODS: dict[str, Any] = {
    "LocalQDA, sampled": lambda split: calibrated(EarlyClassifier(LocalQDA()), split),
    "logistic, prefix": lambda split: calibrated(
        EarlyClassifier(logistic(), score="prefix"), split
    ),
    "ROCKET, prefix": lambda split: calibrated(
        EarlyClassifier(convolutions("rocket"), score="prefix"), split
    ),
    "MiniRocket, prefix": lambda split: calibrated(
        EarlyClassifier(convolutions("minirocket"), score="prefix"), split
    ),
    "ECTS": ects,
    "TEASER": teaser,
}


def show(name: str, title: str, found: Answers, split: Split, seconds: float) -> None:
    used = found.time.mean() / split.X.shape[1]
    right = np.mean(found.label == split.y_test)
    print(
        f"{name:<18}{title:<20}{right:>7.3f}{np.mean(found.complete == split.y_test):>10.3f}"
        f"{used:>7.2f}{harmonic_mean(float(right), 1 - used):>7.3f}"
        f"{np.mean(found.label == found.complete):>7.3f}{seconds:>8.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_peers", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--methods", default="", help="names of methods, with ; between")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # series normalised over their length, few rows
    chosen = [name for name in given.methods.split(";") if name] or list(METHODS)
    print(f"{'set':<18}{'method':<20}{'right':>7}{'complete':>10}{'used':>7}{'H':>7}{'agree':>7}"
          f"{'seconds':>8}")  # fmt: skip
    for path in sorted(given.folder.glob("ucr_*.npz")):
        name, split = path.stem.removeprefix("ucr_"), read_split(path)
        for title in chosen:
            start = time.process_time()
            try:
                found = METHODS[title](split)
            except (ImportError, ValueError, ZeroDivisionError) as error:
                print(f"{name:<18}{title:<20}not run: {str(error)[:60]}", flush=True)
                continue
            show(name, title, found, split, time.process_time() - start)
            if title == "MiniRocket, prefix":
                t = max(10, round(found.time.mean()))
                start = time.process_time()
                show(name, "fixed time", fixed_time(split, t), split, time.process_time() - start)


if __name__ == "__main__":
    main()
