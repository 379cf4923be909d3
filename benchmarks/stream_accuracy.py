"""Accuracy of `OnlineIPCAC` beside the batch model and beside other online classifiers.

``python -m benchmarks.stream_accuracy`` draws the source's two synthetic sets (2000 features, two
classes of 1200 rows; mean scales .25 and .12, with which its tables can be reached), learns nine
tenths of the rows in batches of 120 and tests on the others, ten times; then it runs the same
models through one prequential run of each set.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold

from separatrix import OnlineIPCAC, TruncatedIPCAC, datasets
from separatrix.evaluate import prequential
from separatrix.ipcac import log2_rule
from separatrix.linalg import ThinSVD, partial_whiten, principal_angles

BATCH = 120


def online_models() -> dict[str, Any]:
    rules: dict[str, dict[str, Any]] = {
        "perceptron": {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0},
        "passive-aggressive": {"loss": "hinge", "learning_rate": "pa1", "eta0": 1.0},
        "logistic regression by SGD": {"loss": "log_loss"},
    }
    peers = {
        name: SGDClassifier(penalty=None, random_state=0, **rule) for name, rule in rules.items()
    }
    return {
        "OnlineIPCAC": OnlineIPCAC(),
        "OnlineIPCAC, as many axes kept as whitened": OnlineIPCAC(123, rank=123),
        "OnlineIPCAC(rank=100)": OnlineIPCAC(rank=100),
        **peers,
    }


def learned(model: Any, X: Any, y: Any) -> Any:
    for i in range(0, len(y), BATCH):
        model.partial_fit(X[i : i + BATCH], y[i : i + BATCH], classes=[0, 1])
    return model


def direction_as_printed(X: Any, y: Any) -> Any:
    """The source's update: of all rows, as many axes are kept as are whitened at the time."""
    svd, mean, n = ThinSVD.empty(X.shape[1]), np.zeros(X.shape[1]), 0
    for i in range(0, len(y), BATCH):
        rows = X[i : i + BATCH]
        b, centre = len(rows), rows.mean(axis=0)
        shift = np.sqrt(n * b / (n + b)) * (centre - mean)
        mean, n = mean + b / (n + b) * (centre - mean), n + b
        svd = svd.appended(np.vstack([rows - centre, shift]), rank=log2_rule(n))
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    whitened = partial_whiten(delta[:, None], svd.U, svd.s)
    return partial_whiten(whitened, svd.U, svd.s).T


def held_out(X: Any, y: Any, folds: int) -> None:
    """Accuracy on rows left out, and the angle to the direction of all rows at once."""
    scores: dict[str, list[float]] = {}
    angles: dict[str, list[float]] = {}
    parts = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))[:folds]
    for train, test in parts:
        train = np.random.default_rng(0).permutation(train)
        batch = TruncatedIPCAC().fit(X[train], y[train])
        scores.setdefault("TruncatedIPCAC, all rows at once", []).append(
            batch.score(X[test], y[test])
        )
        printed = principal_angles(direction_as_printed(X[train], y[train]), batch.coef_)
        angles.setdefault("the direction as printed", []).append(np.degrees(printed[0]))
        for name, model in online_models().items():
            learned(model, X[train], y[train])
            scores.setdefault(name, []).append(model.score(X[test], y[test]))
            angle = np.degrees(principal_angles(model.coef_, batch.coef_)[0])
            angles.setdefault(name, []).append(angle)
    for name in [*scores, "the direction as printed"]:
        right = f"{100 * np.mean(scores[name]):8.2f} %" if name in scores else f"{'':10}"
        turned = f"{np.mean(angles[name]):8.1f}°" if name in angles else ""
        print(f"  {name:<46}{right}{turned}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream_accuracy")
    parser.add_argument("--folds", type=int, default=10, help="how many of the ten folds to run")
    folds = parser.parse_args().folds
    for scale in (0.25, 0.12):
        pair = datasets.make_gaussian_pair(2400, 2000, mean_scale=scale, random_state=0)
        order = np.random.default_rng(0).permutation(2400)
        X, y = pair.data[order], pair.target[order]
        print(f"mean scale {scale}: held-out accuracy, angle to the batch direction")
        held_out(X, y, folds)
        print(f"mean scale {scale}: average online error of one prequential run")
        for name, model in online_models().items():
            error = prequential(model, X, y, BATCH)[-1]["error"]
            print(f"  {name:<46}{100 * error:8.2f} %", flush=True)


if __name__ == "__main__":
    main()
