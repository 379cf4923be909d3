"""Accuracy of the margin methods on the data sets of their sources.

``python -m benchmarks.margin_accuracy DIR`` reads ``sonar.npz``, ``heart_statlog.npz``,
``wine.npz`` and ``arrhythmia.npz`` (arrays X and y, NaN for missing values) from DIR and prints
what the sources print beside what comes out here, for each file that is there. With
``--picture FILE`` it draws the sonar data in two directions instead.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
)
from separatrix.linalg import Array

# Small training sets: table 3 of Pitelis and Tefas ---------------------------------------------


class Task(NamedTuple):
    """Rows, labels, number of folds, training rows of each class in a fold."""

    X: Array
    y: Array
    n_folds: int
    n_train: tuple[int, int]

    def folds(self) -> Iterator[tuple[Array, Array]]:
        """One block of consecutive rows of each class trains, all other rows judge.

        The blocks of a class follow each other; after its last row comes its first again.
        """
        for i in range(self.n_folds):
            train = []
            for label, n in zip(np.unique(self.y), self.n_train, strict=True):
                members = np.flatnonzero(self.y == label)
                train.append(members[np.arange(i * n, (i + 1) * n) % len(members)])
            rows = np.concatenate(train)
            yield rows, np.setdiff1d(np.arange(len(self.y)), rows)


COLUMNS = (
    ["KNN", "NC", "SVM"]
    + [f"{m}+KNN" for m in ("PCA", "LDA", "MMDA", "WSVDA")]
    + [f"{m}+NC" for m in ("PCA", "LDA", "MMDA", "WSVDA")]
)
PRINTED = {
    "Sonar": [51.18, 53.37, 55.88, 53.10, 57.54, 55.88, 58.66, 53.48, 57.54, 56.36, 58.29],
    "Heart": [80.37, 81.67, 81.85, 80.93, 79.44, 81.48, 82.41, 81.76, 80.65, 81.94, 82.41],
    "Wine 1-2": [91.84, 90.68, 91.07, 91.84, 90.68, 91.84, 96.50, 90.68, 90.29, 90.68, 96.12],
    "Wine 1-3": [89.32, 89.17, 87.13, 89.32, 90.42, 89.32, 100.0, 89.17, 90.58, 89.17, 99.84],
}


def small_training_sets(folder: Path) -> None:
    """The printed protocol, and with each feature scaled where the source scales all alike."""
    tasks: dict[str, Task] = {}
    if (folder / "sonar.npz").is_file():
        X, y = rows_and_labels(folder / "sonar.npz")
        tasks["Sonar"] = Task(scaled(X, axis=0), y, 10, (11, 10))
    if (folder / "heart_statlog.npz").is_file():
        X, y = rows_and_labels(folder / "heart_statlog.npz")
        tasks["Heart"] = Task(scaled(X, axis=0), y, 5, (30, 24))
    if (folder / "wine.npz").is_file():
        X, y = rows_and_labels(folder / "wine.npz")
        for name, axis in (("", None), (", each feature scaled", 0)):
            for pair, n_folds, n_train in (((1, 2), 5, (12, 15)), ((1, 3), 7, (9, 7))):
                title = f"Wine {pair[0]}-{pair[1]}{name}"
                kept = np.isin(y, pair)
                tasks[title] = Task(scaled(X, axis)[kept], y[kept], n_folds, n_train)
    for title, task in tasks.items():
        right, total = count_right(task)
        print(f"{title}: rows right of {total}, percent, printed percent (dimensions)")
        for column, printed in zip(COLUMNS, PRINTED.get(title, [np.nan] * 11), strict=True):
            count, k = right[column]
            percent = 100 * count / total
            same = "same" if f"{percent:.2f}" == f"{printed:.2f}" else ""
            print(f"  {column:<10}{count:>6}{percent:>8.2f}{printed:>8.2f}  ({k}) {same}")


def count_right(task: Task) -> tuple[dict[str, tuple[int, int]], int]:
    """For each column the rows that are right in the best number of dimensions, and that."""
    rules = {"KNN": KNeighborsClassifier(5), "NC": NearestCentroid()}
    most = min(task.X.shape[1], sum(task.n_train) - 1)
    methods: dict[str, Any] = {
        "PCA": PCA(most),
        "LDA": FisherDiscriminant(),
        "MMDA": MarginMaximizingDiscriminant(most),
        "WSVDA": WithinSupportVectorDiscriminant(most),
    }
    right = {column: np.zeros(most, dtype=int) for column in COLUMNS}
    total = 0
    for train, test in task.folds():
        X, y, new, truth = task.X[train], task.y[train], task.X[test], task.y[test]
        total += len(test)
        right["SVM"] += np.sum(SVC(kernel="linear").fit(X, y).predict(new) == truth)
        for name, rule in rules.items():
            right[name] += np.sum(rule.fit(X, y).predict(new) == truth)
            for method, reducer in methods.items():
                Z, Z_new = fitted_quietly(reducer, X, y).transform(X), reducer.transform(new)
                for k in range(most):
                    decided = rule.fit(Z[:, : k + 1], y).predict(Z_new[:, : k + 1])
                    right[f"{method}+{name}"][k] += np.sum(decided == truth)
    return {c: (int(counts.max()), int(counts.argmax()) + 1) for c, counts in right.items()}, total


def sonar_picture(path: Path, to: Path) -> None:
    """The first fold of the sonar data in the first two directions of three methods."""
    import matplotlib.pyplot as plt

    X, y = rows_and_labels(path)
    task = Task(scaled(X, axis=0), y, 10, (11, 10))
    train, test = next(task.folds())
    methods: dict[str, Any] = {
        "WSVDA": WithinSupportVectorDiscriminant(2),
        "MMDA": MarginMaximizingDiscriminant(2),
        "PCA": PCA(2),
    }
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    for ax, (name, method) in zip(axes, methods.items(), strict=True):
        fitted_quietly(method, task.X[train], y[train])
        for c, label in enumerate(np.unique(y)):
            for rows, size, alpha in ((test, 8, 0.25), (train, 20, 1.0)):
                Z = method.transform(task.X[rows[y[rows] == label]])
                words = str(label) if alpha == 1 else None
                ax.scatter(*Z.T, s=size, color=f"C{c}", alpha=alpha, label=words)
        ax.set(title=name, xlabel="direction 1", ylabel="direction 2", xticks=[], yticks=[])
    axes[0].legend(frameon=False)
    figure.savefig(to)


# Many classes of unlike sizes: table 4.1 of Moon -------------------------------------------------

COSTS = [0.001, 0.003, 0.01, 0.03]
NEIGHBOURS = [3, 5, 9, 15]


def arrhythmia(path: Path) -> None:
    """Two folds, five seeds; costs, dimensions and neighbours are chosen inside each fold."""
    X, y = rows_and_labels(path)
    methods: dict[str, tuple[Any, dict[str, list[Any]]]] = {
        "no reduction": ("passthrough", {}),
        "PCA": (PCA(random_state=0), {"n_components": [10, 15, 25, 40]}),
        "FisherDiscriminant, shrinkage": (
            FisherDiscriminant(),
            {"shrinkage": [0.05, 0.1, 0.2, 0.4]},
        ),
        "SupportVectorProjection": (SupportVectorProjection(), {"C": COSTS}),
        "SupportVectorProjection, rbf": (
            SupportVectorProjection(kernel="rbf"),
            {"C": [0.3, 1.0, 3.0, 10.0]},
        ),
        "SupportVectorICA": (
            SupportVectorICA(random_state=0),
            {"C": COSTS, "n_components": [15, 20, 30]},
        ),
        "KernelSupportVectorICA, linear": (
            KernelSupportVectorICA(kernel="linear", random_state=0),
            {"C": COSTS, "n_components": [15, 20, 30]},
        ),
        "KernelSupportVectorICA, rbf": (
            KernelSupportVectorICA(random_state=0),
            {"C": [0.3, 1.0, 3.0, 10.0], "n_components": [15, 20, 30]},
        ),
    }
    print("Arrhythmia: accuracy in percent, 2 folds, mean ± standard deviation over 5 seeds")
    for name, (reducer, grid) in methods.items():
        scores = []
        for seed in range(5):
            filled = filled_at_random(X, seed)
            outer = StratifiedKFold(2, shuffle=True, random_state=seed)
            right = 0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for train, test in outer.split(filled, y):
                    model = searched(reducer, grid).fit(filled[train], y[train])
                    right += np.sum(model.predict(filled[test]) == y[test])
            scores.append(100 * right / len(y))
        print(f"  {name:<34}{np.mean(scores):6.1f} ± {np.std(scores):.1f}", flush=True)


def searched(reducer: Any, grid: dict[str, list[Any]]) -> GridSearchCV:
    """Standardised rows, a reduction, nearest neighbours: numbers chosen by three inner folds."""
    steps = make_pipeline(StandardScaler(), reducer, KNeighborsClassifier())
    name = steps.steps[1][0]
    choices = {f"{name}__{key}": values for key, values in grid.items()}
    return GridSearchCV(
        steps,
        {**choices, "kneighborsclassifier__n_neighbors": NEIGHBOURS},
        cv=KFold(3, shuffle=True, random_state=0),
        error_score=0.0,
    )


def filled_at_random(X: Array, seed: int) -> Array:
    """Missing values become uniform random numbers between the smallest and the largest."""
    rng = np.random.default_rng(seed)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return np.where(np.isnan(X), rng.uniform(low, high, X.shape), X)


# Both ----------------------------------------------------------------------------------------


def rows_and_labels(path: Path) -> tuple[Array, Array]:
    with np.load(path) as data:
        return data["X"].astype(float), data["y"]


def scaled(X: Array, axis: int | None) -> Array:
    """To [-1, 1], each feature by itself or all of them together."""
    low, high = X.min(axis=axis), X.max(axis=axis)
    return 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1


def fitted_quietly(model: Any, X: Array, y: Array) -> Any:
    """Without the word that fewer directions were found: those there are count in each place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*of n_components=")
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.margin_accuracy", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the .npz files are")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw the sonar data to this file instead"
    )
    options = parser.parse_args()
    folder = options.folder
    names = ["sonar.npz", "heart_statlog.npz", "wine.npz", "arrhythmia.npz"]
    if not any((folder / name).is_file() for name in names):
        raise SystemExit(f"{folder} holds none of {', '.join(names)}")
    if options.picture is not None:
        sonar_picture(folder / "sonar.npz", options.picture)
        return
    small_training_sets(folder)
    if (folder / "arrhythmia.npz").is_file():
        arrhythmia(folder / "arrhythmia.npz")


if __name__ == "__main__":
    main()
