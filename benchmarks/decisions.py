"""Decisions of the IPCAC family on new rows, where training rows lie elsewhere than new ones.

``python -m benchmarks.decisions [TABLE] [--data DIR]`` prints the tables wide, epochs, kernel,
landmarks, stream, mixture and ordinary, or one of them. DIR holds ``sonar.npz``,
``ionosphere.npz``, ``heart_statlog.npz``, ``pima_diabetes.npz`` and ``heart_hungarian.npz``, with
arrays X and y; without it the tables of bundled and drawn data are printed alone.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    IPCAC,
    KernelFisherDiscriminant,
    KernelIPCAC,
    MixtureIPCAC,
    OnlineIPCAC,
    TruncatedIPCAC,
    datasets,
)
from separatrix.evaluate import prequential
from separatrix.kernels import RBF
from separatrix.linalg import Array

ORDINARY = ("sonar", "ionosphere", "heart_statlog", "pima_diabetes")


def draw_wide(seed: int, counts: tuple[int, int]) -> tuple[Array, Array]:
    """Isotropic rows of 2000 features, class means 7 standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], counts))
    return rng.standard_normal((len(y), 2000)) + y[:, None] * 7 / np.sqrt(2000), y


def calibration_error(p: Array, y: Array) -> float:
    """Expected calibration error of the second class in ten bins."""
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(abs(p[bins == b].sum() - y[bins == b].sum()) for b in range(10)) / len(y)


def learn_in_batches(model: Any, X: Array, y: Array) -> Any:
    """The model after batches of 100 rows."""
    for i in range(0, len(y), 100):
        model.partial_fit(X[i : i + 100], y[i : i + 100], classes=[0, 1])
    return model


def report_wide() -> None:
    """A rare class of 45 beside 900 rows in 2000 features."""
    print("wide, 900:45 rows: balanced accuracy and calibration error, mean and worst of 5 draws")
    found: dict[str, list[list[float]]] = {}
    for seed in range(5):
        X, y = draw_wide(seed, (900, 45))
        X_new, y_new = draw_wide(1000 + seed, (500, 500))
        for rule in ("mahalanobis", "auto"):
            for kind in (TruncatedIPCAC, IPCAC):
                name = f"{kind.__name__}, {rule}"
                found.setdefault(name, []).append(
                    judge_decision(kind(threshold=rule).fit(X, y), X_new, y_new)
                )
            stream = learn_in_batches(OnlineIPCAC(threshold=rule), X, y)
            name = f"OnlineIPCAC, {rule}"
            found.setdefault(name, []).append(judge_decision(stream, X_new, y_new))
    for name, values in found.items():
        (score, error), worst = np.mean(values, axis=0), np.min(values, axis=0)[0]
        print(f"  {name:<30}{score:6.1f} (worst {worst:.1f}){error:8.3f}", flush=True)


def judge_decision(model: Any, X: Array, y: Array) -> list[float]:
    """Balanced accuracy in percent, and the calibration error."""
    score = 100 * balanced_accuracy_score(y, model.predict(X))
    return [score, calibration_error(model.predict_proba(X)[:, 1], y)]


def draw_epochs(noise: str, amplitude: float, counts: tuple[int, int], seed: int) -> Any:
    """Epochs of 64 channels and 25 times, the second class with a bump in space and time.

    The noise is smooth over a sphere of channels ("sphere"), that of 20 sources with a spectrum
    of 1/f beside noise of the channels ("sources"), or autoregressive, with six sources ("ar").
    The pattern and the mixing are those of seed 0.
    """
    fixed, rng, t = np.random.default_rng(0), np.random.default_rng(1 + seed), np.arange(25)
    places = fixed.standard_normal((64, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    bump = np.outer(np.exp(-(apart[0] ** 2) / 0.5), np.exp(-((t - 12) ** 2) / 18))
    mixing, n = fixed.standard_normal((64, 20)), sum(counts)
    if noise == "sphere":
        space = np.linalg.cholesky(np.exp(-apart / 0.7) + 0.05 * np.eye(64))
        time = np.linalg.cholesky(0.9 ** np.abs(t[:, None] - t))
        rows = space @ rng.standard_normal((n, 64, 25)) @ time.T
    elif noise == "sources":
        spectrum = 1 / np.maximum(np.fft.rfftfreq(64), 1 / 64) ** 0.75
        waves = np.fft.irfft(np.fft.rfft(rng.standard_normal((n, 20, 64))) * spectrum)[:, :, :25]
        rows = mixing @ waves / np.sqrt(20) + 0.5 * rng.standard_normal((n, 64, 25))
    else:
        time = np.linalg.cholesky(0.8 ** np.abs(t[:, None] - t))
        sources = mixing[:, :6] @ rng.standard_normal((n, 6, 25))
        rows = (rng.standard_normal((n, 64, 25)) + sources) @ time.T
    y = np.repeat([0, 1], counts)
    return (rows + amplitude * rows.std() * bump * y[:, None, None]).reshape(n, -1), y


def report_epochs() -> None:
    """58 of 2775 epochs are targets, in 1600 features."""
    print("epochs: sensitivity, balanced accuracy and that of the best cut, on 1200 new epochs")
    for noise, amplitude in (("sphere", 2.7), ("sources", 0.9), ("ar", 0.82)):
        X, y = draw_epochs(noise, amplitude, (2717, 58), 0)
        X_new, y_new = draw_epochs(noise, amplitude, (600, 600), 1)
        for name, model in {
            "log2, mahalanobis": TruncatedIPCAC(threshold="mahalanobis"),
            "log2": TruncatedIPCAC(),
            "auto": TruncatedIPCAC("auto"),
        }.items():
            model.fit(X, y)
            found = model.predict(X_new)
            score = 100 * balanced_accuracy_score(y_new, found)
            order = np.argsort(model.decision_function(X_new))
            best = 50 + 50 * np.max(np.cumsum(1 - 2 * y_new[order])) / 600
            values = (100 * found[y_new == 1].mean(), score, best, model.n_whitened_)
            print(f"  {noise}, {name:<20}", *(f"{v:8.1f}" for v in values), flush=True)


def report_kernel() -> None:
    """The data of Table 5.3 of the thesis, kernels from wide to narrow."""
    print("kernel: accuracy at gamma = 1, 2, 4 times scale, means of 4 draws (2 at 800 rows)")
    for n, per_gaussian, draws in ((320, 40, 4), (800, 100, 2)):
        found: dict[str, list[list[float]]] = {}
        for seed in range(draws):
            train = datasets.make_gaussian_mixtures(per_gaussian, 500, random_state=seed)
            new = datasets.make_gaussian_mixtures(150, 500, random_state=1000 + seed)
            unit = 1 / (500 * train.data.var())
            for name, make in (
                ("mahalanobis, ridge 0.1", literal_kernel),
                ("auto", lambda g: KernelIPCAC(kernel=RBF(g))),
                ("SVC, C=10", lambda g: SVC(C=10, gamma=g)),
            ):
                models = [make(f * unit).fit(train.data, train.target) for f in (1, 2, 4)]
                scores = [100 * model.score(new.data, new.target) for model in models]
                found.setdefault(name, []).append(scores)
        for name, values in found.items():
            print(f"  {n} rows, {name:<26}", np.mean(values, axis=0).round(1), flush=True)


def literal_kernel(gamma: float) -> KernelIPCAC:
    """The cut by training rows, with the ridge that does not depend on the data."""
    return KernelIPCAC(kernel=RBF(gamma), threshold="mahalanobis", ridge=0.1)


def report_landmarks() -> None:
    """Odd and even digits as a stream: models with landmarks of the first 400 rows."""
    print("landmarks: average online error after 400 rows, batches of 50, three orders")
    digits = datasets.load("digits")
    makers: dict[str, Any] = {
        "OnlineIPCAC": OnlineIPCAC,
        "KernelIPCAC, 100 landmarks": lambda: KernelIPCAC(n_landmarks=100, random_state=0),
        "KernelFisherDiscriminant, 100": lambda: KernelFisherDiscriminant(
            n_landmarks=100, random_state=0
        ),
        "Nystroem of 100, SGD": lambda: NystroemSGD(n_components=100, random_state=0),
    }
    for name, make in makers.items():
        found = []
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(digits.target))
            X, y = digits.data[order], digits.target[order] % 2
            model = make().partial_fit(X[:400], y[:400], classes=[0, 1])
            start = process_time()
            records = prequential(model, X[400:], y[400:], batch_size=50)
            spent = 1000 * (process_time() - start) / (len(y) - 400)
            found.append([100 * records[-1]["error"], spent])
        error, spent = np.mean(found, axis=0)
        print(f"  {name:<38}{error:5.1f}{spent:8.2f}", flush=True)


class NystroemSGD(Nystroem):
    """The usual way: a map placed by the first batch, and logistic regression by SGD on it."""

    def partial_fit(self, X: Array, y: Array, classes: Any = None) -> Any:
        """Place the map, then learn."""
        if not hasattr(self, "components_"):
            self.set_params(gamma=1 / (X.shape[1] * X.var())).fit(X)
            self.model_ = SGDClassifier(loss="log_loss", random_state=0)
        self.model_.partial_fit(self.transform(X), y, classes=classes)
        return self

    def predict(self, X: Array) -> Array:
        """The class of each row."""
        return self.model_.predict(self.transform(X))


def draw_words(n: int, seed: int = 0) -> tuple[Any, Array]:
    """Sparse rows like mails: 80 of 3000 words each, 300 of them more frequent in one class."""
    rng, y = np.random.default_rng(seed), np.random.default_rng(seed + 1).integers(0, 2, n)
    shares = np.arange(1, 3001) ** -0.8 * np.ones((2, 1))
    shares[1, rng.permutation(3000)[:300]] *= 3
    shares /= shares.sum(axis=1, keepdims=True)
    counts = [np.bincount(rng.choice(3000, 80, p=shares[c]), minlength=3000) for c in y]
    return csr_array(np.log1p(counts)), y


def draw_pair(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Dense rows of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, d)) + 0.3 * y[:, None], y


def report_stream() -> None:
    """Rows one by one beside batches of 20."""
    print("stream: ms a row and error in batches of 20, by rows with refresh auto and 1")
    streams = {
        "sparse, 3000 words": draw_words(600),
        "dense, 60 features": draw_pair(1200, 60),
        "dense, 800": draw_pair(400, 800),
    }
    for name, (X, y) in streams.items():
        found = []
        for size, refresh in ((20, "auto"), (1, "auto"), (1, 1)):
            start = process_time()
            records = prequential(OnlineIPCAC(), X, y, size, refresh=refresh)
            found += [1000 * (process_time() - start) / len(y), 100 * records[-1]["error"]]
        print(f"  {name:<22}", *(f"{value:8.2f}" for value in found), flush=True)


def load_table(folder: Path, name: str) -> tuple[Array, Array]:
    """A set of two classes, coded 0 and 1."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as table:
        return table["X"].astype(float), np.unique(table["y"], return_inverse=True)[1]


def folds(X: Array, y: Array, runs: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Ten folds, missing values filled by means, standardised by the training part."""
    for run in range(runs):
        for known, new in StratifiedKFold(10, shuffle=True, random_state=run).split(X, y):
            scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[known])
            yield scaler.transform(X[known]), y[known], scaler.transform(X[new]), y[new]


def report_mixture(folder: Path | None) -> None:
    """Hungarian heart disease, and the mixtures of Table 5.4."""
    print("mixture")
    if folder is not None:
        X, y = load_table(folder, "heart_hungarian")
        scores = [
            balanced_accuracy_score(b, MixtureIPCAC(random_state=0).fit(A, a).predict(B))
            for A, a, B, b in folds(X, y, 2)
        ]
        print(f"  Hungarian heart, balanced accuracy  {100 * np.mean(scores):.1f}")
        X = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X)
        ours, svc = (median_time(m, X, y) for m in (MixtureIPCAC(random_state=0), SVC()))
        print(f"  fit of {X.shape[0]}x{X.shape[1]}: {ours:.1f} ms, SVC {svc:.1f} ms", flush=True)
    for e in (1.0, 2.0, 3.0):
        bunch, n = datasets.make_gaussian_mixtures(700, 500, e=e, random_state=30), 3600
        model = MixtureIPCAC(random_state=0).fit(bunch.data[:n], bunch.target[:n])
        score = 100 * model.score(bunch.data[n:], bunch.target[n:])
        print(f"  e = {e:g}, accuracy  {score:.1f}", flush=True)


def median_time(model: Any, X: Array, y: Array) -> float:
    """Median processor time of a fit, in milliseconds."""
    times = []
    for _ in range(15):
        start = process_time()
        model.fit(X, y)
        times.append(1000 * (process_time() - start))
    return float(np.median(times))


def report_ordinary(folder: Path | None) -> None:
    """Sets with rows enough: "auto" must not lose."""
    print("ordinary sets: accuracy of mahalanobis and auto, three times ten folds")
    cancer = datasets.load("breast_cancer")
    sets = {"breast_cancer": (cancer.data, cancer.target)}
    if folder is not None:
        sets |= {name: load_table(folder, name) for name in ORDINARY}
    for name, (X, y) in sets.items():
        for kind in (IPCAC, TruncatedIPCAC):
            scores = [
                [100 * kind(threshold=r).fit(A, a).score(B, b) for r in ("mahalanobis", "auto")]
                for A, a, B, b in folds(X, y, 3)
            ]
            print(f"  {name}, {kind.__name__:<16}", np.mean(scores, axis=0).round(1), flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="as above; all by default")
    parser.add_argument("--data", type=Path, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    reports = {
        "wide": report_wide,
        "epochs": report_epochs,
        "kernel": report_kernel,
        "landmarks": report_landmarks,
        "stream": report_stream,
        "mixture": lambda: report_mixture(given.data),
        "ordinary": lambda: report_ordinary(given.data),
    }
    for name in given.tables or reports:
        reports[name]()


if __name__ == "__main__":
    main()
