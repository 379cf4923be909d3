"""What hyperplanes and directions of unequal spread are worth, on rows held out.

``python -m benchmarks.margins WHAT [--data DIR]`` prints a table of one of

``rules``
    hyperplanes that decide, on three bundled sets: standardised, ten folds;
``small``
    the methods' own rules where rows are few: twelve settings of tables, 10 and 30 % to train;
``wide``
    the same on faces and genes, half to train;
``spread``
    classes with a common mean, of which 2 features differ in spread: their own rules;
``components``
    five neighbours after SVM+ICA beside the normals alone: faces, genes, a common mean;
``time``
    processor seconds of fits to many rows, beside one of WSVDA;
``noise``
    table 4.1 of Moon: Arrhythmia, in the best setting on the rows that judge, as the thesis
    chooses it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    HeteroscedasticDiscriminant,
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
    datasets,
)
from separatrix_papers.figures import DataFolder
from separatrix_papers.svmica.run import NOISE, best_runs

N_DRAWS = 10
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

NOISE_METHODS = (
    "linear SVM+ICA",
    "nonlinear SVM+ICA, linear",
    "nonlinear SVM+ICA, rbf",
    "SVM projections",
    "Fisher, shrinkage",
)
RULES = {
    "one against the rest": SupportVectorProjection(),
    "pairs": SupportVectorProjection(multiclass="ovo"),
    "WSVDA": WithinSupportVectorDiscriminant(),
    "SVC, linear": SVC(kernel="linear"),
}
OWN_RULES = {
    "WSVDA": WithinSupportVectorDiscriminant(),
    "MMDA": MarginMaximizingDiscriminant(),
    "Fisher": FisherDiscriminant(shrinkage="auto"),
    "unequal spread": HeteroscedasticDiscriminant(),
    "SVC, linear": SVC(kernel="linear"),
}
SMALL = ("arrhythmia", "sonar", "ionosphere", "dermatology", "heart_statlog", "breast_cancer")
WIDE = ("orl", "yale", "nci60")


# Data ----------------------------------------------------------------------------------------


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows with missing values filled by means, and labels of at least four rows."""
    if name in ("breast_cancer", "iris", "wine"):
        found = datasets.load(name)
        return found.data, found.target
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    means = np.nan_to_num(np.nanmean(X, axis=0))
    X = np.where(np.isnan(X), means, X)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[codes] >= 4
    return X[kept], codes[kept]


def split(X: np.ndarray, y: np.ndarray, share: float, seed: int) -> Split:
    """A share to train with, of each class at least two rows."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        train[members[: max(2, round(share * len(members)))]] = True
    return X[train], y[train], X[~train], y[~train]


def common_mean(n_features: int, n_rows: int, seed: int) -> Split:
    """Two features of deviations 3 and 0.6 in two classes of one mean; all are standardised."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows + 2000) % 2
    X = rng.standard_normal((len(y), n_features))
    X[:, :2] *= np.where(y == 0, 3.0, 0.6)[:, None]
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


# Tables --------------------------------------------------------------------------------------


def percent(model: Any, data: Split) -> float:
    """Percent of right decisions, with features standardised by the training rows."""
    X, y, X_test, y_test = data
    return 100 * float(
        make_pipeline(StandardScaler(), clone(model)).fit(X, y).score(X_test, y_test)
    )


def print_table(
    methods: dict[str, Any],
    settings: Iterable[tuple[str, Callable[[int], Split]]],
    n_draws: int,
    score: Callable[[Any, Split], float] = percent,
) -> None:
    """Print the mean over the draws for each setting and method, and their means."""
    print(f"{'percent':<26}" + "".join(f"{name:>18}" for name in methods))
    rows = []
    for name, draw in settings:
        found = np.array([[score(m, draw(i)) for m in methods.values()] for i in range(n_draws)])
        rows.append(found)
        errors = (found - found[:, :1]).std(axis=0, ddof=1) / np.sqrt(n_draws)
        cells = zip(found.mean(axis=0), errors, strict=True)
        print(f"{name:<26}" + "".join(f"{m:11.1f} ±{e:5.1f}" for m, e in cells), flush=True)
    means = np.mean([r.mean(axis=0) for r in rows], axis=0)
    print(f"{'mean':<26}" + "".join(f"{m:11.2f}       " for m in means))
    print("± is the standard error of the difference from the first method")


def small(folder: Path, n_draws: int) -> None:
    """The methods' own rules where rows are few."""
    settings = [
        (f"{name} {share:.0%}", partial(split, *load(name, folder), share))
        for name in SMALL
        for share in (0.1, 0.3)
    ]
    print_table(OWN_RULES, settings, n_draws)


def wide(folder: Path, n_draws: int) -> None:
    """The same on faces and genes."""
    settings = [(name, partial(split, *load(name, folder), 0.5)) for name in WIDE]
    print_table(OWN_RULES, settings, n_draws)


def spread(folder: Path, n_draws: int) -> None:
    """Classes with a common mean; and radar returns, where spread is part of the difference."""
    settings: list[tuple[str, Callable[[int], Split]]] = [
        (f"common mean, d = {d}", partial(common_mean, d, 400)) for d in (20, 100)
    ]
    settings.append(("ionosphere 70%", partial(split, *load("ionosphere", folder), 0.7)))
    nearest = make_pipeline(SupportVectorICA(3, random_state=0), KNeighborsClassifier(5))
    first = {"unequal spread": OWN_RULES["unequal spread"]}
    methods = {**first, **OWN_RULES, "SVM+ICA, 5-NN": nearest}
    print_table(methods, settings, n_draws)


def components(folder: Path, n_draws: int) -> None:
    """Five neighbours after the normals alone, and with independent components beside them."""
    settings = [(name, partial(split, *load(name, folder), 0.5)) for name in WIDE]
    settings.append(("common mean, d = 20", partial(common_mean, 20, 400)))
    reducers = {
        "normals": SupportVectorProjection(),
        "SVM+ICA": SupportVectorICA(random_state=0),
        "kernel SVM+ICA": KernelSupportVectorICA(kernel="linear", random_state=0),
    }

    def score(reducer: Any, data: Split) -> float:
        if len(np.unique(data[1])) == 2 and hasattr(reducer, "n_components"):
            reducer = clone(reducer).set_params(n_components=3)  # the normal and two features
        return percent(make_pipeline(reducer, KNeighborsClassifier(5)), data)

    print_table(reducers, settings, n_draws, score)


def seconds(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Processor time of a fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def measure_time(folder: Path, n_draws: int) -> None:
    """Seconds of fits to many rows."""
    rng = np.random.default_rng(0)
    y = np.arange(32000) % 10
    many = rng.standard_normal((32000, 100)) + rng.standard_normal((10, 100))[y]
    sides = np.arange(26000) % 2
    high = rng.standard_normal((26000, 640)) + 0.1 * sides[:, None] * rng.standard_normal(640)
    digits = datasets.load("digits")
    problems = {
        "WSVDA 32000x100, 10": (WithinSupportVectorDiscriminant(), many, y),
        "MMDA 32000x100, 10": (MarginMaximizingDiscriminant(), many, y),
        "SVM+ICA 32000x100, 10": (SupportVectorICA(random_state=0), many, y),
        "MMDA 26000x640, 2": (MarginMaximizingDiscriminant(), high, sides),
        "kernel SVM+ICA, digits": (
            KernelSupportVectorICA(C=10, random_state=0), digits.data, digits.target,
        ),
    }  # fmt: skip
    for name, problem in problems.items():
        print(f"{name:<26}{seconds(*problem):8.2f} s", flush=True)


def compare_rules(folder: Path, n_draws: int) -> None:
    """Print the accuracy of decisions by hyperplanes."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name in ("iris", "wine", "breast_cancer"):
        X, y = load(name, folder)
        for rule, model in RULES.items():
            pipeline = make_pipeline(StandardScaler(), model)
            right = 100 * cross_val_score(pipeline, X, y, cv=folds).mean()
            print(f"{name:<16}{rule:<24}{right:6.2f}", flush=True)


def noise(folder: Path, n_draws: int) -> None:
    """Percent of right decisions with noise added, mean over the runs."""
    print(f"{'percent':<28}{'mean':>8}" + "".join(f"{level:>10}" for level in NOISE))
    for method in NOISE_METHODS:
        runs = [best_runs(DataFolder(folder), "Arrhythmia", level, method) for level in NOISE]
        found = [100 * float(np.mean([np.mean(r.right) for r in level])) for level in runs]
        cells = "".join(f"{value:10.2f}" for value in found)
        print(f"{method:<28}{np.mean(found):8.2f}{cells}", flush=True)


TABLES: dict[str, Callable[[Path, int], None]] = {
    "rules": compare_rules,
    "small": small,
    "wide": wide,
    "spread": spread,
    "components": components,
    "time": measure_time,
    "noise": noise,
}


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(TABLES))
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the data sets")
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # FastICA on noise does not converge
    TABLES[options.what](options.data, options.draws)


if __name__ == "__main__":
    main()
