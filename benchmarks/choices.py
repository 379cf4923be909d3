"""Accuracy of parameters that are chosen, beside fixed ones, in percent.

``python -m benchmarks.choices [ldg|local_qda|rules] --data DIR [--splits N]`` prints a table
of each method on the sets of DIR: ``ucr_*.npz`` with training and test parts, others with X and y.
The first split is that of the file, where there is one; the others are drawn anew, of the same
size.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LDG, FisherDiscriminant, LocalFisherDiscriminant, LocalQDA

SERIES = [
    f"ucr_{name}"
    for name in (
        *("Beef", "CBF", "Coffee", "ECGFiveDays", "FaceFour", "GunPoint", "ItalyPowerDemand"),
        *("MedicalImages", "MoteStrain", "OliveOil", "SyntheticControl", "Trace", "TwoPatterns"),
    )
]
SERIES_OF_LDG = [  # of tables 3.3 to 3.5 of the thesis on LDG
    f"ucr_{name}"
    for name in (
        *("Beef", "CBF", "Coffee", "DiatomSizeReduction", "ECGFiveDays", "FaceFour", "Fish"),
        *("GunPoint", "Haptics", "Lightning2", "Lightning7", "MoteStrain", "OSULeaf", "OliveOil"),
        *("SonyAIBORobotSurface1", "SonyAIBORobotSurface2", "Trace", "TwoLeadECG"),
        "WordSynonyms",
    )
]
MANY_ROWS = ["image_segmentation", "satimage", "wine", "dermatology", "arrhythmia"]
MAX_ROWS = {"train": 1000, "test": 1000}

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def nearest_after(reducer: Any) -> Callable[[], Any]:
    """The nearest neighbour in a subspace of the series as they are."""
    return lambda: make_pipeline(clone(reducer), KNeighborsClassifier(1))


class FewLocalFisher(LocalFisherDiscriminant):
    """As many directions as classes less one."""

    def fit(self, X: Any, y: Any, **more: Any) -> Any:  # type: ignore[override]
        self.set_params(n_components=len(np.unique(y)) - 1)
        return super().fit(X, y)


def decide_after_fisher(rule: str) -> Any:
    """Fisher's discriminant with shrinkage on standardised features, and one of its rules."""
    return make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage="auto", rule=rule))


OLD_QDA: dict[str, Any] = {"reg": 1e-4, "covariance": "diag", "standardize": False}
METHODS: dict[str, tuple[list[str], Mapping[str, Callable[[], Any]]]] = {
    "ldg": (
        SERIES_OF_LDG,
        {
            "PCA": nearest_after(PCA(0.99)),
            "gamma 0.6": nearest_after(LDG(gamma=0.6)),
            "LDG": nearest_after(LDG()),
            "LDG auto": nearest_after(LDG("auto")),
            "local Fisher": nearest_after(FewLocalFisher()),
            "shrinkage 0.1": nearest_after(FewLocalFisher(shrinkage=0.1)),
            "not shrunk": nearest_after(FewLocalFisher(shrinkage=None)),
            "no reduction": lambda: KNeighborsClassifier(1),
        },
    ),
    "local_qda": (
        SERIES,
        {
            "reg 1e-4": lambda: LocalQDA(**OLD_QDA),
            "reg 0.1 std": lambda: LocalQDA(reg=0.1, covariance="diag", standardize=True),
            "diag": lambda: LocalQDA(covariance="diag"),
            "full": lambda: LocalQDA(covariance="full"),
            "auto": LocalQDA,
        },
    ),
    "rules": (
        MANY_ROWS,
        {
            rule: partial(decide_after_fisher, rule)
            for rule in ("linear", "quadratic", "nearest-mean", "cosine")
        },
    ),
}


def load_split(path: Path, seed: int) -> Split:
    """Rows to train and to test with; missing values are the means of the training rows."""
    with np.load(path, allow_pickle=False) as file:
        if "X_train" in file:
            n = len(file["y_train"])
            X = np.vstack([file["X_train"], file["X_test"]])
            y = np.concatenate([file["y_train"], file["y_test"]])
        else:
            X, y = file["X"], file["y"]
            n = round(0.7 * len(y))
            seed += 1  # there is no split of the file
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y)) if seed else np.arange(len(y))
    train, test = order[:n], order[n:]
    train, test = (
        rng.permutation(part)[:most] if len(part) > most else part
        for part, most in ((train, MAX_ROWS["train"]), (test, MAX_ROWS["test"]))
    )
    X = X.astype(np.float64)
    means = np.nan_to_num(np.nanmean(X[train], axis=0))
    X = np.where(np.isnan(X), means, X)
    return X[train], y[train], X[test], y[test]


def measure(make: Callable[[], Any], split: Split) -> tuple[float, float]:
    """Accuracy in percent, and seconds of the fit."""
    X, y, X_test, y_test = split
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = make().fit(X, y)
        except ValueError:  # no direction to classify in
            return 0.0, time.process_time() - start
    seconds = time.process_time() - start
    return 100 * model.score(X_test, y_test), seconds


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(METHODS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=1)
    options = parser.parse_args()
    names, methods = METHODS[options.what]
    print(f"{'':<22}" + "".join(f"{name:>13}" for name in methods))
    table = []
    for name in names:
        splits = [load_split(options.data / f"{name}.npz", s) for s in range(options.splits)]
        found = np.array([[measure(make, s) for make in methods.values()] for s in splits])
        table.append(found.mean(axis=0))
        print(f"{name:<22}" + "".join(f"{v:13.1f}" for v in table[-1][:, 0]), flush=True)
    mean = np.mean(table, axis=0)
    print(f"{'mean':<22}" + "".join(f"{v:13.2f}" for v in mean[:, 0]))
    print(f"{'seconds a fit':<22}" + "".join(f"{v:13.2f}" for v in mean[:, 1]))


if __name__ == "__main__":
    main()
