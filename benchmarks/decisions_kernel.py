"""Kernel methods, mixtures and decision graphs on new rows, beside what a user would take instead.

``python -m benchmarks.decisions_kernel [TABLE] [--data DIR]`` prints the tables wide, ringnorm,
svc, cost, memory, latency, mixture and graph, or some of them. DIR holds files such as
``sonar.npz`` with arrays X and y; without it only bundled and drawn data are used.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    DDAGClassifier,
    KernelFisherDiscriminant,
    KernelIPCAC,
    MixtureIPCAC,
    datasets,
)
from separatrix.linalg import Array

SETS = ("sonar", "ionosphere", "satimage", "phoneme", "isolet", "heart_statlog", "digits")
MOST_ROWS = 600


def draw_wide(seed: int, counts: tuple[int, ...], d: int) -> tuple[Array, Array, Array, Array]:
    """Isotropic classes with means 6 standard deviations from the origin, in any direction."""
    rng, n_classes = np.random.default_rng(seed), len(counts)
    means = rng.standard_normal((n_classes, d))
    means *= 6 / np.linalg.norm(means, axis=1)[:, None]
    y, y_new = np.repeat(np.arange(n_classes), counts), np.repeat(np.arange(n_classes), 300)
    y = rng.permutation(y)
    X, X_new = (rng.standard_normal((len(t), d)) + means[t] for t in (y, y_new))
    return X, y, X_new, y_new


def draw_ringnorm(rng: np.random.Generator, counts: tuple[int, int]) -> tuple[Array, Array]:
    """Two Gaussians about nearly one mean in 20 dimensions, one twice as wide as the other."""
    y = rng.permutation(np.repeat([0, 1], counts))
    X = rng.standard_normal((len(y), 20))
    return np.where(y[:, None] == 1, X + 2 / np.sqrt(20), 2 * X), y


def calibration_error(P: Array, y: Array) -> float:
    """Expected calibration error of the predicted class in ten bins."""
    top, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    return sum(abs(top[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(y)


def judge(model: Any, X: Array, y: Array, X_new: Array, y_new: Array) -> list[float]:
    """Balanced accuracy, log-loss, calibration error and processor seconds of the fit."""
    start = process_time()
    model.fit(X, y)
    spent = process_time() - start
    score = 100 * balanced_accuracy_score(y_new, model.predict(X_new))
    if not hasattr(model, "predict_proba"):
        return [score, np.nan, np.nan, spent]
    P = model.predict_proba(X_new)
    return [score, log_loss(y_new, P), calibration_error(P, y_new), spent]


def show(name: str, values: list[list[float]]) -> None:
    """Means over draws, and the standard error of the first."""
    found = np.array(values)
    error = found[:, 0].std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    mean = found.mean(axis=0)
    print(
        f"  {name:<44}{mean[0]:6.1f} ± {error:4.1f}", *(f"{v:8.3f}" for v in mean[1:]), flush=True
    )


def report_wide(folder: Path | None) -> None:
    """Few rows in many features, rare classes."""
    print("wide: balanced accuracy, log-loss, calibration error, CPU s; equal priors, 6 draws")
    kinds: dict[str, Callable[..., Any]] = {
        "KernelFisherDiscriminant()": KernelFisherDiscriminant,
        'KernelFisherDiscriminant("linear")': lambda **p: KernelFisherDiscriminant(
            kernel="linear", **p
        ),
        "KernelIPCAC()": KernelIPCAC,
        "KernelIPCAC(truncate=True)": lambda **p: KernelIPCAC(truncate=True, **p),
        "KernelIPCAC(n_landmarks=40)": lambda **p: KernelIPCAC(
            n_landmarks=40, random_state=0, **p
        ),
        "MixtureIPCAC()": lambda priors: MixtureIPCAC(random_state=0),
    }
    settings = (
        ((600, 60, 30), 1000),
        ((400, 40, 40, 20), 2000),
        ((60, 8), 2000),
        ((40, 20), 2000),
    )
    for counts, d in settings:
        for name, make in kinds.items():
            priors = np.full(len(counts), 1 / len(counts))
            found = [judge(make(priors=priors), *draw_wide(seed, counts, d)) for seed in range(6)]
            show(f"{':'.join(map(str, counts))}, {name}", found)


def report_ringnorm(folder: Path | None) -> None:
    """400 rows of one class and 20 of the other."""
    print("ringnorm 400:20: balanced accuracy, log-loss, calibration error, CPU s; 6 draws")
    equal = [0.5, 0.5]
    models = {
        "KernelFisherDiscriminant, equal priors": KernelFisherDiscriminant(priors=equal),
        "KernelIPCAC, equal priors": KernelIPCAC(priors=equal),
        "KernelIPCAC()": KernelIPCAC(),
        "MixtureIPCAC()": MixtureIPCAC(random_state=0),
        "SVC, tuned": tuned_svc(20),
        "SVC, tuned, balanced": tuned_svc(20, "balanced"),
    }
    for name, model in models.items():
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            found.append(
                judge(model, *draw_ringnorm(rng, (400, 20)), *draw_ringnorm(rng, (1000, 1000)))
            )
        show(name, found)


def tuned_svc(n_features: int, class_weight: str | None = None) -> GridSearchCV:
    """C and width by three folds; rows have unit variance."""
    grid = {
        "svc__C": [0.1, 1, 10, 100],
        "svc__gamma": [factor / n_features for factor in (0.25, 1, 4)],
    }
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), SVC(class_weight=class_weight))
    return GridSearchCV(model, grid, cv=folds, scoring="balanced_accuracy")


def load(folder: Path | None, name: str) -> tuple[Array, Array] | None:
    """A set, coded from 0."""
    if name == "digits":
        bunch = datasets.load("digits")
        return bunch.data, np.unique(bunch.target, return_inverse=True)[1]
    if folder is None:
        return None
    with np.load(folder / f"{name}.npz", allow_pickle=False) as table:
        X, y = table["X"].astype(float), np.unique(table["y"], return_inverse=True)[1]
    return X, y


def report_svc(folder: Path | None) -> None:
    """Defaults beside an SVC whose C and width are chosen by three folds."""
    print(
        "balanced accuracy, log-loss, calibration error, CPU s; half of the rows or 600, 4 splits"
    )
    for name in SETS:
        loaded = load(folder, name)
        if loaded is None:
            continue
        X, y = loaded
        size = min(MOST_ROWS, len(y) // 2)
        models = {
            "KernelFisherDiscriminant()": make_pipeline(
                StandardScaler(), KernelFisherDiscriminant()
            ),
            "KernelIPCAC()": make_pipeline(StandardScaler(), KernelIPCAC()),
            "SVC, tuned": tuned_svc(X.shape[1]),
        }
        found: dict[str, list[list[float]]] = {kind: [] for kind in models}
        for seed in range(4):
            A, B, a, b = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
            scaler = StandardScaler().fit(A)
            parts = scaler.transform(A), a, scaler.transform(B[:3000]), b[:3000]
            for kind, model in models.items():
                found[kind].append(judge(model, *parts))
        for kind, values in found.items():
            show(f"{name}, {kind}", values)


def report_cost(folder: Path | None) -> None:
    """Fit beside fit and predict of SVC, 3600 rows of 500 features."""
    bunch = datasets.make_gaussian_mixtures(450, 500, random_state=0)
    new = datasets.make_gaussian_mixtures(450, 500, random_state=1)
    models = {
        "SVC()": SVC(),
        "KernelIPCAC()": KernelIPCAC(),
        "KernelIPCAC(truncate=True)": KernelIPCAC(truncate=True),
        "KernelIPCAC(n_landmarks=300)": KernelIPCAC(n_landmarks=300, random_state=0),
    }
    print("3600 x 500: CPU s of fit and predict, share of SVC, accuracy")
    svc = np.nan
    for name, model in models.items():
        start = process_time()
        score = 100 * model.fit(bunch.data, bunch.target).score(new.data, new.target)
        spent = process_time() - start
        svc = spent if name == "SVC()" else svc
        print(f"  {name:<34}{spent:6.2f}{spent / svc:6.2f}{score:7.1f}", flush=True)


def report_memory(folder: Path | None) -> None:
    """The most memory of a fit to 8000 rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8000, 10)), np.arange(8000) % 2
    tracemalloc.start()
    KernelIPCAC().fit(X, y)
    print(f"KernelIPCAC(), 8000 rows: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB")
    tracemalloc.stop()


def report_latency(folder: Path | None) -> None:
    """Median CPU time of `predict` for one row."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20)), np.arange(300) % 3
    X += y[:, None]
    models = {
        "SVC()": SVC(),
        "KernelIPCAC()": KernelIPCAC(),
        "KernelFisherDiscriminant()": KernelFisherDiscriminant(),
        "MixtureIPCAC()": MixtureIPCAC(random_state=0),
        "DDAGClassifier(KernelIPCAC())": DDAGClassifier(KernelIPCAC()),
    }
    print("one row: median microseconds of predict")
    for name, model in models.items():
        model.fit(X, y)
        times = []
        for i in range(300):
            start = process_time()
            model.predict(X[i : i + 1])
            times.append(process_time() - start)
        print(f"  {name:<34}{1e6 * np.median(times):8.0f}", flush=True)


def draw_shaped(rng: np.random.Generator, shapes: Any, n: int) -> tuple[Array, Array]:
    """Rows of two classes of three clusters each, every cluster a Gaussian of its own shape."""
    means, factors = shapes
    rows = [
        rng.standard_normal((n, means.shape[2])) @ factors[c, j].T + means[c, j]
        for c in range(2)
        for j in range(3)
    ]
    return np.vstack(rows), np.repeat([0, 1], 3 * n)


def report_mixture(folder: Path | None) -> None:
    """Clusters of any shape, clusters about one mean, and few rows."""
    print("mixture: balanced accuracy, log-loss, calibration error, CPU s; 6 draws")
    digits = datasets.load("digits")
    found: dict[str, list[list[float]]] = {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shapes = 1.2 * rng.standard_normal((2, 3, 8)), 0.7 * rng.standard_normal((2, 3, 8, 8))
        halves = np.isin(digits.target, rng.permutation(10)[:5]).astype(int)
        order = rng.permutation(len(halves))
        known = np.r_[order[halves[order] == 0][:100], order[halves[order] == 1][:8]]
        new = np.setdiff1d(order, known)
        tasks = {
            "shaped, D = 8, 100 rows a cluster": (
                *draw_shaped(rng, shapes, 100),
                *draw_shaped(rng, shapes, 500),
            ),
            "ringnorm 200:200": (
                *draw_ringnorm(rng, (200, 200)),
                *draw_ringnorm(rng, (1000, 1000)),
            ),
            "5 + 5 digits, 100:8": (
                digits.data[known],
                halves[known],
                digits.data[new],
                halves[new],
            ),
        }
        for task, parts in tasks.items():
            for name, model in {
                "MixtureIPCAC()": MixtureIPCAC(random_state=0),
                "KernelIPCAC, equal priors": KernelIPCAC(priors=[0.5, 0.5]),
            }.items():
                found.setdefault(f"{task}, {name}", []).append(judge(model, *parts))
    for name, values in found.items():
        show(name, values)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="as above; all by default")
    parser.add_argument("--data", type=Path, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    reports = {
        "wide": report_wide,
        "ringnorm": report_ringnorm,
        "svc": report_svc,
        "cost": report_cost,
        "memory": report_memory,
        "latency": report_latency,
        "mixture": report_mixture,
    }
    for name in given.tables or reports:
        reports[name](given.data)


if __name__ == "__main__":
    main()
