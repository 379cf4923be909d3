"""What class moments alone can say, beside what rows would say.

``python -m benchmarks.insight TABLE [--data DIR] [--draws N]`` prints one of the tables features,
copies, planted, error, several, curve, rows, directions. DIR holds npz files with arrays X and y
(or X_train, y_train, X_test, y_test).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import t as t_distribution
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.fisher.row_by_row import RowByRow
from separatrix.insight import direction_intervals, expected_error, features, select_features
from separatrix.linalg import Array

N_SIGNALS = 20
SIZE = 13.0
"""Size of a coefficient of the logistic truth, times the root of the number of rows."""


def draw_features(kind: str, n: int, p: int, rho: float, rng: np.random.Generator) -> Array:
    """Rows with correlations ρ^|i - j|, with heavy tails or skewed where asked for."""
    R = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(R).T
    if kind == "t5":
        X /= np.sqrt(rng.chisquare(5, n) / 5)[:, None]
    return np.exp(0.75 * X) if kind == "skewed" else X


def plant_labels(X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Labels by a logistic function of some features, and which these are."""
    n = len(X)
    units = X.std(axis=0)
    varies = np.flatnonzero(units > 0)
    true = rng.choice(varies, N_SIGNALS, replace=False)
    Z = (X[:, true] - X[:, true].mean(axis=0)) / units[true]
    logits = Z @ rng.choice([-1.0, 1.0], N_SIGNALS) * SIZE / np.sqrt(n)
    return (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int), true


def select_by_t_tests(X: Array, y: Array, fdr: float) -> Array:
    """Features by a test of each alone, and the rule of Benjamini and Hochberg."""
    groups = [X[y == c] for c in (0, 1)]
    n = len(y)
    spread = sum(g.var(axis=0) * len(g) for g in groups) / (n - 2)
    width = np.sqrt(np.where(spread > 0, spread, 1.0) * sum(1 / len(g) for g in groups))
    t = (groups[1].mean(axis=0) - groups[0].mean(axis=0)) / width
    p = 2 * t_distribution.sf(np.abs(t), n - 2)
    order = np.argsort(p)
    low = np.flatnonzero(p[order] <= fdr * np.arange(1, len(p) + 1) / len(p))
    return order[: low[-1] + 1] if len(low) else order[:0]


class Scores:
    """False discovery proportion and power, collected over draws."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[float, float]]] = {}

    def add(self, name: str, selected: Iterable[int], true: Array) -> None:
        chosen, real = set(map(int, selected)), set(true.tolist())
        wrong = len(chosen - real) / max(len(chosen), 1)
        self.found.setdefault(name, []).append((wrong, len(chosen & real) / len(real)))

    def show(self, title: str) -> None:
        for name, values in self.found.items():
            mean, error = np.mean(values, axis=0), np.std(values, axis=0) / len(values) ** 0.5
            print(f"{title} {name:14} FDR {mean[0]:.3f} ± {error[0]:.3f}  power {mean[1]:.3f} ± "
                  f"{error[1]:.3f}", flush=True)  # fmt: skip


def judge(X: Array, rng: np.random.Generator, scores: Scores, seed: int) -> None:
    y, true = plant_labels(X, rng)
    if min(np.bincount(y, minlength=2)) < 2:
        return
    moments = ClassMoments.from_data(X, y)
    for fdr in (0.1, 0.2):
        scores.add(f"moments {fdr}", select_features(moments, fdr=fdr).indices, true)
        scores.add(f"t-tests {fdr}", select_by_t_tests(X, y, fdr), true)


def report_features(n_draws: int) -> None:
    """Power in three settings, and FDR where rows are few or not normal."""
    settings: list[tuple[str, int, int, float]] = [
        ("normal", 100, 1000, 0.3),
        ("normal", 100, 1000, 0.7),
        ("normal", 200, 600, 0.5),
    ]
    for kind, rho in (("normal", 0.3), ("t5", 0.3), ("skewed", 0.3), ("normal", 0.7)):
        settings += [(kind, 100, 200, rho), (kind, 100, 100, rho)]
    for kind, p, n, rho in settings:
        scores = Scores()
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            judge(draw_features(kind, n, p, rho, rng), rng, scores, seed)
        scores.show(f"{kind:7} p={p} n={n} ρ={rho}")


def report_copies(n_draws: int) -> None:
    """The constants of `select_features`, one changed at a time."""
    changes: list[Mapping[str, Any]] = [
        {},
        {"N_COPIES": 1},
        {"N_COPIES": 5},
        {"N_DRAWS": 1},
        {"N_DRAWS": 10},
        {"PENALTY": 0.2},
        {"PENALTY": 0.5},
    ]
    usual = {name: getattr(features, name) for name in ("N_COPIES", "N_DRAWS", "PENALTY")}
    for p, n, rho in ((100, 1000, 0.7), (200, 600, 0.5)):
        scores = Scores()
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            X = draw_features("normal", n, p, rho, rng)
            y, true = plant_labels(X, rng)
            moments = ClassMoments.from_data(X, y)
            for change in changes:
                for name, value in {**usual, **change}.items():
                    setattr(features, name, value)
                scores.add(str(change), select_features(moments, fdr=0.2).indices, true)
        scores.show(f"p={p} n={n} ρ={rho}")


def read_rows(path: Path) -> tuple[Array, Array]:
    """All rows of a file, gaps filled by means."""
    with np.load(path, allow_pickle=False) as file:
        if "X_onehot" in file:
            X, y = file["X_onehot"], file["y"]
        elif "X" in file:
            X, y = file["X"], file["y"]
        else:
            X = np.concatenate([file["X_train"], file["X_test"]])
            y = np.concatenate([file["y_train"], file["y_test"]])
    X = X.astype(float)
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), y


def report_planted(data: Path, n_draws: int) -> None:
    """Planted labels on measured features: genes, spectra, heart rhythms."""
    for name in ("arrhythmia", "ucr_Fish", "ucr_MedicalImages", "khan_srbct"):
        X, _ = read_rows(data / f"{name}.npz")
        scores = Scores()
        for seed in range(n_draws):
            judge(X, np.random.default_rng(seed), scores, seed)
        scores.show(f"{name} {X.shape}")


TWO_CLASSES: dict[str, tuple[Any, ...]] = {
    "phoneme": ("aa", "ao"),
    "satimage": ("damp grey soil", "very damp grey soil"),
    "mnist_3000": (4, 9),
    "usps": (3, 5),
    "splice": ("N", "EI"),
    "german_credit": (1, 2),
    "pima_diabetes": (0, 1),
    "reuters_r8_wordllama": ("acq", "earn"),
    "isolet": (2, 5),
    "image_segmentation": ("foliage", "window"),
}
SEVERAL_CLASSES = ("satimage", "phoneme", "mnist_3000", "image_segmentation")


def read_classes(data: Path, name: str, classes: tuple[Any, ...] = ()) -> tuple[Array, Array]:
    X, y = read_rows(data / f"{name}.npz")
    chosen = np.isin(y, classes) if classes else np.ones(len(y), bool)
    return X[chosen], np.unique(y[chosen], return_inverse=True)[1]


def report_error(data: Path, n_draws: int, n_most: int, sets: Mapping[str, Any]) -> None:
    """The expected error and its interval beside held-out rows and five folds."""
    for (name, classes), shrinkage in product(sets.items(), ("moments", "auto")):
        X, y = read_classes(data, name, classes)
        n, found = min(n_most, len(y) // 2), []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            learned, held_out = np.split(rng.permutation(len(y)), [n])
            model = FisherDiscriminant(shrinkage=shrinkage).fit(X[learned], y[learned])
            true = 1 - model.score(X[held_out], y[held_out])
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            by_folds = 1 - cross_val_score(clone(model), X[learned], y[learned], cv=folds).mean()
            said = expected_error(model)
            # the held-out share has noise of its own
            noise = 1.96 * np.sqrt(true * (1 - true) / len(held_out))
            half = np.hypot((said.high - said.low) / 2, noise)
            found.append([
                true, said.error, by_folds, said.known, abs(said.error - true) <= half, half,
                abs(said.error - true) / half,
            ])  # fmt: skip
        T = np.array(found)
        errors = np.sqrt(np.mean((T[:, 1:3] - T[:, :1]) ** 2, axis=0))
        known = T[T[:, 3] > 0]
        inside, worst = (known[:, 4].mean(), known[:, 6].max()) if len(known) else (np.nan, np.nan)
        print(f"{name:22} {n} × {X.shape[1]}, {shrinkage:7}: true {T[:, 0].mean():.3f}, said "
              f"{T[:, 1].mean():.3f} (rms {errors[0]:.3f}), folds {T[:, 2].mean():.3f} (rms "
              f"{errors[1]:.3f}); known {T[:, 3].mean():.2f}, inside {inside:.2f} of ± "
              f"{T[:, 5].mean():.3f}, farthest {worst:.1f} half-widths", flush=True)  # fmt: skip


def report_curve(data: Path, n_draws: int) -> None:
    """Forecasts for twice and four times the rows beside models of so many rows."""
    for (name, classes), shrinkage in product(TWO_CLASSES.items(), ("moments", "auto")):
        X, y = read_classes(data, name, classes)
        n, found = min(200, len(y) // 6), []
        for seed in range(n_draws):
            order = np.random.default_rng(seed).permutation(len(y))
            first = FisherDiscriminant(shrinkage=shrinkage).fit(X[order[:n]], y[order[:n]])
            held_out = order[4 * n :]
            for factor in (1, 2, 4):
                some = order[: factor * n]
                model = FisherDiscriminant(shrinkage=shrinkage).fit(X[some], y[some])
                true = 1 - model.score(X[held_out], y[held_out])
                found.append([true, expected_error(first, n=factor * n).error])
        T = np.array(found).reshape(n_draws, 3, 2).mean(axis=0)
        print(f"{name:22} {shrinkage:7} n = {n}, {2 * n}, {4 * n}: true {np.round(T[:, 0], 3)}, "
              f"forecast {np.round(T[:, 1], 3)}", flush=True)  # fmt: skip


def report_directions(n_draws: int) -> None:
    """Coverage of the intervals of loadings of two normal classes, and angles."""
    for p, n, distance in (
        (20, 400, 1.0),
        (20, 400, 3.0),
        (50, 250, 2.0),
        (50, 100, 2.0),
        (50, 75, 2.0),
        (50, 60, 2.0),
    ):
        L = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
        gap = np.zeros(p)
        gap[0] = distance / 2
        beta = np.linalg.solve(L @ L.T + np.outer(gap, gap), gap)
        y = np.arange(n) % 2
        inside, angles = [], []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n, p)) @ L.T + np.outer(2 * y - 1, gap)
            found = direction_intervals(ClassMoments.from_data(X, y))
            w = (found.low + found.high)[0] / 2
            b = np.linalg.lstsq(X - X.mean(axis=0), 2.0 * y - 1, rcond=None)[0]
            true = beta * (w @ b) / (b @ b)
            inside.append((found.low[0] <= true) & (true <= found.high[0]))
            a, c = L.T @ w, L.T @ beta
            cosine = abs(a @ c) / np.linalg.norm(a) / np.linalg.norm(c)
            angles.append([found.angle[0], np.degrees(np.arccos(min(cosine, 1.0)))])
        shares = np.mean(inside, axis=0)
        said, measured = np.mean(angles, axis=0)
        low, high = shares.min(), shares.max()
        print(
            f"n/p = {n / p:4.1f}, {distance} apart: inside {shares.mean():.3f} ({low:.3f} to "
            f"{high:.3f}), angle {said:.1f}°, true {measured:.1f}°",
            flush=True,
        )


def report_rows() -> None:
    """Processor time of predicting and learning a row, once there are more rows than features."""
    for d in (100, 1000):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, d + 450)
        X = rng.standard_normal((len(y), d)) + 0.2 * y[:, None]
        for shrinkage in (None, 0.1):
            model = FisherDiscriminant(shrinkage=shrinkage).fit(X[: d + 50], y[: d + 50])
            learner = RowByRow(model)
            start = process_time()
            for row, label in zip(X[d + 50 :], y[d + 50 :], strict=True):
                learner.predict_one(row)
                learner.learn_one(row, label)
            spent = (process_time() - start) / 400
            print(f"{d} features, shrinkage {shrinkage}: {1e3 * spent:.3f} ms a row", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    tables = ["features", "copies", "planted", "error", "several", "curve", "rows", "directions"]
    parser.add_argument("table", choices=tables)
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args()
    data, n_draws = given.data, given.draws
    if given.table == "planted":
        report_planted(data, n_draws)
    elif given.table == "error":
        report_error(data, n_draws, 400, TWO_CLASSES)
    elif given.table == "several":
        report_error(data, n_draws, 1200, dict.fromkeys(SEVERAL_CLASSES, ()))
    elif given.table == "curve":
        report_curve(data, n_draws)
    elif given.table == "directions":
        report_directions(n_draws)
    elif given.table == "rows":
        report_rows()
    else:
        {"features": report_features, "copies": report_copies}[given.table](n_draws)


if __name__ == "__main__":
    main()
