"""The default of Fisher's discriminant on new rows, beside what a user would take instead.

``python -m benchmarks.decisions_linear [TABLE] [--data DIR]`` prints the tables wide, shares,
chance, sets, genes and cost, or some of them. DIR holds files such as ``sonar.npz`` with arrays X
and y; without it only bundled and drawn data are used.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.decisions_kernel import draw_wide, judge, load, show
from separatrix import (
    IPCAC,
    FisherDiscriminant,
    QuadraticDiscriminant,
    TruncatedIPCAC,
    datasets,
)
from separatrix.linalg import Array

SETS = (
    "wine",
    "breast_cancer",
    "sonar",
    "ionosphere",
    "heart_statlog",
    "pima_diabetes",
    "digits",
    "satimage",
    "isolet",
    "phoneme",
    "arcene",
)
MOST_ROWS, MOST_NEW_ROWS = 600, 3000
N_DRAWS = 3


def report_wide(folder: Path | None) -> None:
    """Few rows in many features, rare classes."""
    print(f"wide: balanced accuracy, log-loss, calibration error, CPU s; {N_DRAWS} draws")
    settings = (
        ((600, 60, 30), 1000),
        ((400, 40, 40, 20), 2000),
        ((60, 8), 2000),
        ((40, 20), 2000),
    )
    for counts, d in settings:
        equal = np.full(len(counts), 1 / len(counts))
        models = {
            "FisherDiscriminant()": FisherDiscriminant(priors=equal),
            'FisherDiscriminant(shrinkage="moments")': FisherDiscriminant(
                shrinkage="moments", priors=equal
            ),
            "IPCAC()": IPCAC(priors=equal),
            "TruncatedIPCAC()": TruncatedIPCAC(priors=equal),
        }
        for name, model in models.items():
            found = [judge(model, *draw_wide(seed, counts, d)) for seed in range(N_DRAWS)]
            show(f"{':'.join(map(str, counts))}, {name}", found)


def draw_rare(seed: int) -> tuple[Array, Array]:
    """Rows of which one in six belongs to the second class, more features than rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((1240, 600)), (np.arange(1240) % 6 == 0).astype(int)
    X[y == 1] += 3.0 / np.sqrt(600)
    return X, y


def draw_overlapping(seed: int) -> tuple[Array, Array, Array]:
    """Epochs of 16 channels and 40 times, one every 20 times, of two recordings: they overlap.

    Each recording has sources of its own, and every sixth epoch has a response.
    """
    rng, fixed = np.random.default_rng(1000 + seed), np.random.default_rng(0)
    pattern = np.outer(fixed.standard_normal(16), np.exp(-((np.arange(40) - 20) ** 2) / 50))
    common, parts = fixed.standard_normal((16, 8)), []
    for _ in range(2):
        length = 20 * 500 + 40
        sources = rng.standard_normal((8, length))
        for t in range(1, length):
            sources[:, t] += 0.95 * sources[:, t - 1]
        mixing = common + 0.1 * rng.standard_normal((16, 8))
        parts.append(mixing @ sources + rng.standard_normal((16, length)))
    y = np.tile((np.arange(500) % 6 == 0).astype(int), 2)
    y = np.concatenate([rng.permutation(part) for part in np.split(y, 2)])
    epochs = [part[:, 20 * i : 20 * i + 40] for part in parts for i in range(500)]
    responses = np.stack([np.roll(pattern, lag, axis=1) for lag in rng.integers(-4, 5, len(y))])
    X = (
        np.stack(epochs)
        + rng.gamma(4.0, 0.15, len(y))[:, None, None] * responses * y[:, None, None]
    )
    return X.reshape(len(X), -1), y, np.repeat([0, 1], 500)


def report_shares(folder: Path | None) -> None:
    """Probabilities where one row in six belongs to the second class."""
    base = -(5 / 6 * np.log(5 / 6) + 1 / 6 * np.log(1 / 6))
    print(
        "1:5, priors=None: balanced accuracy, log-loss, calibration error, CPU s;"
        f" {N_DRAWS} draws; log-loss of the shares {base:.3f}"
    )
    models = {
        "FisherDiscriminant()": FisherDiscriminant(),
        'FisherDiscriminant(shrinkage="moments")': FisherDiscriminant(shrinkage="moments"),
        "TruncatedIPCAC()": TruncatedIPCAC(),
    }
    for name, model in models.items():
        rows, epochs = [], []
        for seed in range(N_DRAWS):
            X, y = draw_rare(seed)
            rows.append(judge(model, X[:240], y[:240], X[240:], y[240:]))
            X, y, part = draw_overlapping(seed)
            epochs.append(judge(model, X[part == 0], y[part == 0], X[part == 1], y[part == 1]))
        show(f"240 independent rows x 600, {name}", rows)
        show(f"500 epochs x 640, another recording, {name}", epochs)


def report_chance(folder: Path | None) -> None:
    """Five times as many features as rows, and no signal."""
    print(
        "no signal, 100 rows of 500 features, equal classes; 20 draws: accuracy that is expected"
    )
    print("  and found, and mean of the largest probability")
    for n_classes in (2, 5):
        for shrinkage in ("auto", "moments"):
            found = []
            for seed in range(20):
                rng = np.random.default_rng(seed)
                X = rng.standard_normal((600, 500))
                y = np.concatenate([rng.permutation(100), rng.permutation(500)]) % n_classes
                model = FisherDiscriminant(shrinkage=shrinkage).fit(X[:100], y[:100])
                P = model.predict_proba(X[100:])
                said = model.left_out_ or model.expected_
                right = np.mean(P.argmax(axis=1) == y[100:])
                found.append([1 - said.error, right, P.max(axis=1).mean()])
            error = np.std([row[0] for row in found], ddof=1) / np.sqrt(20)
            values = " ".join(f"{v:.3f}" for v in np.mean(found, axis=0))
            print(f"  {n_classes} classes, {shrinkage:<8} {values}  ± {error:.3f}", flush=True)


def load_set(folder: Path | None, name: str) -> tuple[Array, Array] | None:
    """A set, coded from 0, missing values as column means."""
    if name in ("wine", "breast_cancer"):
        bunch = datasets.load(name)
        return bunch.data, np.unique(bunch.target, return_inverse=True)[1]
    return load(folder, name)


def compare_on(name: str, X: Array, y: Array, models: dict[str, Any], size: int, n: int) -> None:
    """Means of n splits."""
    found: dict[str, list[list[float]]] = {kind: [] for kind in models}
    for seed in range(n):
        A, B, a, b = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
        scaler = StandardScaler().fit(A)
        parts = scaler.transform(A), a, scaler.transform(B[:MOST_NEW_ROWS]), b[:MOST_NEW_ROWS]
        for kind, model in models.items():
            found[kind].append(judge(clone(model), *parts))
    for kind, values in found.items():
        show(f"{name}, {kind}", values)


def report_sets(folder: Path | None) -> None:
    """Ordinary sets: half of the rows, at most 600."""
    print(f"balanced accuracy, log-loss, calibration error, CPU s; {N_DRAWS} splits")
    for name in SETS:
        loaded = load_set(folder, name)
        if loaded is None:
            continue
        X, y = loaded
        models = {
            "FisherDiscriminant()": FisherDiscriminant(),
            "FisherDiscriminant(shrinkage='moments')": FisherDiscriminant(shrinkage="moments"),
            'QuadraticDiscriminant(shrinkage="auto")': QuadraticDiscriminant(shrinkage="auto"),
            "LDA, lsqr, auto": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            "LogisticRegressionCV": LogisticRegressionCV(Cs=5, cv=3, max_iter=200),
        }
        if X.shape[1] > 2000:
            del models["LDA, lsqr, auto"], models['QuadraticDiscriminant(shrinkage="auto")']
        compare_on(name, X, y, models, min(MOST_ROWS, len(y) // 2), N_DRAWS)


def report_genes(folder: Path | None) -> None:
    """28 rows of eight kinds of cells, in 6830 genes."""
    loaded = load(folder, "nci60")
    if loaded is None:
        return
    print("nci60, classes of five rows and more, half of the rows; 10 splits")
    X, y = loaded
    kept = np.bincount(y)[y] >= 5
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    models = {
        "FisherDiscriminant()": FisherDiscriminant(),
        "FisherDiscriminant(shrinkage='moments')": FisherDiscriminant(shrinkage="moments"),
    }
    compare_on("nci60", X, y, models, len(y) // 2, 10)


def report_cost(folder: Path | None) -> None:
    """CPU time of a fit as a multiple of one product of all rows or features, median of three."""
    print("CPU time beside one product")
    for n, d in ((60_000, 500), (500, 20_000)):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10, n)
        X = rng.standard_normal((n, d)) + rng.standard_normal((10, d))[y]
        ratios: dict[str, list[float]] = {}
        for _ in range(3):
            product = seconds_of(lambda X=X, n=n, d=d: X.T @ X if n > d else X @ X.T)
            for shrinkage in (None, "auto", "moments"):
                model = FisherDiscriminant(shrinkage=shrinkage)
                spent = seconds_of(lambda m=model, X=X, y=y: m.fit(X, y))
                ratios.setdefault(str(shrinkage), []).append(spent / product)
        for kind, values in ratios.items():
            print(f"  {n}x{d}, shrinkage={kind:<8} {np.median(values):.2f}", flush=True)


def seconds_of(call: Any) -> float:
    """CPU seconds of a call."""
    start = process_time()
    call()
    return process_time() - start


def main() -> None:
    """Print the tables that are asked for."""
    reports = {
        "wide": report_wide,
        "shares": report_shares,
        "chance": report_chance,
        "sets": report_sets,
        "genes": report_genes,
        "cost": report_cost,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[*reports, []], help="all by default")
    parser.add_argument("--data", type=Path, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.tables or reports:
        reports[name](given.data)


if __name__ == "__main__":
    main()
