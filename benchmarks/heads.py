"""Heads on embeddings from few rows a class, beside tuned logistic regression.

``python -m benchmarks.heads FILE.npz [--draws 10]``: arrays X (rows of embeddings), y and split
("train" or "test"), such as embeddings of texts. Prints balanced accuracy on the test rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from separatrix import FisherDiscriminant, KernelFisherDiscriminant
from separatrix.kernels import Linear
from separatrix.linalg import Array

N_RANDOM = 2000
"""Random features of the projection."""


def tuned_logistic(n_rows: int) -> Any:
    """Logistic regression with its penalty chosen by folds, where there are rows for folds."""
    model = LogisticRegression(C=100, max_iter=2000)
    if n_rows < 2:
        return model
    grid = {"C": 10.0 ** np.arange(-1, 5)}
    return GridSearchCV(model, grid, cv=StratifiedKFold(min(n_rows, 5)), scoring="neg_log_loss")


def add_random_features(X: Array) -> Array:
    """The positive parts of random combinations of the features."""
    W = np.random.default_rng(0).standard_normal((X.shape[1], N_RANDOM))
    return np.maximum(X @ W, 0.0)


def list_heads(n_rows: int) -> dict[str, Any]:
    """Heads by name; one row of each class shows no scatter within classes."""
    if n_rows == 1:
        return {"nearest mean": NearestCentroid(), "logistic": tuned_logistic(1)}
    random = FunctionTransformer(add_random_features)
    return {
        "nearest mean": NearestCentroid(),
        "Fisher auto": FisherDiscriminant(shrinkage="auto"),
        "linear kernel": KernelFisherDiscriminant(kernel=Linear()),
        "random features": make_pipeline(random, KernelFisherDiscriminant(kernel=Linear())),
        "logistic": tuned_logistic(n_rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    with np.load(given.file, allow_pickle=False) as file:
        X, y, split = file["X"].astype(float), file["y"], file["split"]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    new, known = split == "test", np.flatnonzero(split == "train")
    warnings.simplefilter("ignore")
    for n_rows in (1, 2, 5, 10, 20, 40):
        found: dict[str, list[float]] = {}
        for seed in range(given.draws):
            rng = np.random.default_rng(seed)
            order = rng.permutation(known)
            some = np.concatenate([order[y[order] == c][:n_rows] for c in np.unique(y)])
            for name, head in list_heads(n_rows).items():
                guess = head.fit(X[some], y[some]).predict(X[new])
                found.setdefault(name, []).append(balanced_accuracy_score(y[new], guess))
        cells = [
            f"{name} {100 * np.mean(v):.1f} ± {100 * np.std(v) / len(v) ** 0.5:.1f}"
            for name, v in found.items()
        ]
        print(f"{n_rows:2d} rows a class: " + ", ".join(cells), flush=True)


if __name__ == "__main__":
    main()
