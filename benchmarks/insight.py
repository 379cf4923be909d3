"""What class moments alone can say, beside what rows would say.

``python -m benchmarks.insight TABLE [--data DIR] [--draws N]`` prints one of the tables features,
copies, planted. DIR holds npz files with arrays X and y (or X_train, y_train, X_test, y_test).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as t_distribution

from separatrix import ClassMoments
from separatrix.insight import features, select_features
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
        names = ("X", "y") if "X" in file else ("X_train", "y_train")
        X, y = (np.asarray(file[name]) for name in names)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["features", "copies", "planted"])
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args()
    if given.table == "planted":
        report_planted(given.data, given.draws)
    else:
        {"features": report_features, "copies": report_copies}[given.table](given.draws)


if __name__ == "__main__":
    main()
