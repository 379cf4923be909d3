"""Processor time with one thread: ratios that a busy machine hardly disturbs."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import separatrix
from benchmarks.speed.data import labelled, size, sparse_labelled
from benchmarks.speed.ldg import FIXED, overlapping
from benchmarks.speed.runner import (
    GB,
    MB,
    Case,
    Row,
    Settings,
    Task,
    faster,
    in_fresh_process,
    in_one_thread,
    peak_resident,
    seconds_of,
    share,
)
from separatrix import (
    LDG,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    KernelLDG,
    MixtureIPCAC,
    TruncatedIPCAC,
    datasets,
)

OURS, PRODUCT = "ours", "one product of the rows"


def cpu_seconds_of(tasks: Mapping[str, Task], rounds: int) -> dict[str, float]:
    """The least processor time of each task over rounds that run all of them in turn."""
    best = dict.fromkeys(tasks, np.inf)
    with threadpool_limits(1):
        for _ in range(rounds):
            for name, task in tasks.items():
                gc.collect()
                start = time.process_time()
                task()
                best[name] = min(best[name], time.process_time() - start)
    return best


def products(settings: Settings) -> list[Row]:
    """Beside one product of all rows with each other, or of all features."""
    small = settings.quick
    tall = (3_000, 60) if small else (60_000, 500)
    wide = (60, 1_500) if small else (500, 20_000)
    plain, default = FisherDiscriminant(shrinkage=None), FisherDiscriminant()
    cases = [
        ("FisherDiscriminant(shrinkage=None)", plain, 10, tall, 1.15),
        ("FisherDiscriminant(shrinkage=None)", plain, 10, wide, 1.5),
        ("FisherDiscriminant()", default, 10, tall, 1.5),
        ("FisherDiscriminant()", default, 10, wide, 2.2),
        ("TruncatedIPCAC()", TruncatedIPCAC(), 2, (60, 1_500) if small else (1_000, 30_000), 1.35),
        ("LDG()", LDG(15, **FIXED), 10, (60, 1_500) if small else (200, 10_000), 2.5),
    ]
    rows = []
    for name, model, n_classes, (n, d), limit in cases:
        X, y = labelled(n, d, n_classes=n_classes)
        times = cpu_seconds_of(
            {
                OURS: lambda model=model, X=X, y=y: model.fit(X, y),  # type: ignore[misc]
                PRODUCT: lambda X=X: X.T @ X if len(X) > X.shape[1] else X @ X.T,  # type: ignore[misc]
            },
            settings.rounds,
        )
        work = f"{name}.fit {size(n, d)}"
        rows.append(share(work, times[OURS], PRODUCT, times[PRODUCT], at_most=limit))
    return rows


def peers(settings: Settings) -> list[Row]:
    """Beside the quickest solver of scikit-learn, with few classes and with many."""
    rows = []
    for n_classes, (n, d) in ((10, (60_000, 500)), (1_000, (20_000, 256))):
        if settings.quick:
            n, d, n_classes = n // 20, d // 10, max(n_classes // 10, 2)
        X, y = labelled(n, d, n_classes=n_classes)
        lsqr = LinearDiscriminantAnalysis(solver="lsqr")
        times = cpu_seconds_of(
            {
                "plain": lambda X=X, y=y: FisherDiscriminant(shrinkage=None).fit(X, y),  # type: ignore[misc]
                OURS: lambda X=X, y=y: FisherDiscriminant().fit(X, y),  # type: ignore[misc]
                "lsqr": lambda X=X, y=y, lsqr=lsqr: lsqr.fit(X, y),  # type: ignore[misc]
            },
            settings.rounds,
        )
        work = f"{size(n, d)}, {n_classes} classes"
        peer = "scikit-learn's LDA, lsqr"
        rows += [
            share(
                f"FisherDiscriminant(shrinkage=None).fit {work}",
                times["plain"],
                peer,
                times["lsqr"],
            ),
            share(f"FisherDiscriminant().fit {work}", times[OURS], peer, times["lsqr"]),
        ]
    n, d = (200, 20) if settings.quick else (2_000, 100)
    X, y = overlapping(n, d)
    given, chosen = LDG(9, **FIXED), LDG(9)
    times = cpu_seconds_of({OURS: lambda: chosen.fit(X, y), "given": lambda: given.fit(X, y)}, 2)
    work = f"LDG() with defaults {size(n, d)}"
    return [*rows, share(work, times[OURS], "gamma and k given", times["given"], at_most=15)]


def neighbours(settings: Settings) -> list[Row]:
    """Beside scikit-learn's search for neighbours among all rows."""
    n, d = (1_000, 20) if settings.quick else (20_000, 100)
    X, y = labelled(n, d)
    search = NearestNeighbors(n_neighbors=4, algorithm="brute")
    times = cpu_seconds_of(
        {OURS: lambda: LDG(15, **FIXED).fit(X, y), "search": lambda: search.fit(X).kneighbors()},
        min(settings.rounds, 3),
    )
    peer = "scikit-learn's brute search"
    rows = [share(f"LDG.fit {size(n, d)}", times[OURS], peer, times["search"], at_most=1.0)]
    n, d = (300, 30) if settings.quick else (1_500, 100)
    X, y = overlapping(n, d)
    times = cpu_seconds_of(
        {
            OURS: lambda: KernelLDG(10, **FIXED).fit(X, y),
            "LDG": lambda: LDG(10, **FIXED).fit(X, y),
        },
        min(settings.rounds, 3),
    )
    work = f"KernelLDG.fit {size(n, d)}"
    return [*rows, share(work, times[OURS], "LDG.fit", times["LDG"], at_most=10)]


def kernels(settings: Settings) -> list[Row]:
    """A fit and a prediction beside a support vector machine with the same kernel."""
    per_gaussian, d = (60, 40) if settings.quick else (500, 500)
    bunch = datasets.make_gaussian_mixtures(per_gaussian, d, e=1.0, random_state=0)
    n = int(0.9 * len(bunch.data))
    X, y, new = bunch.data[:n], bunch.target[:n], bunch.data[n:]
    landmarks = 40 if settings.quick else 500
    models = {
        "KernelIPCAC": (KernelIPCAC(), 1.0),
        "KernelIPCAC truncated": (KernelIPCAC(truncate=True), 1.5),
        "MixtureIPCAC": (MixtureIPCAC(random_state=0), 0.4),
        f"KernelIPCAC {landmarks} landmarks": (
            KernelIPCAC(n_landmarks=landmarks, random_state=0),
            0.15,
        ),
        "KernelFisherDiscriminant": (KernelFisherDiscriminant(), None),
        "SVC": (SVC(), None),
    }
    tasks: dict[str, Task] = {
        name: lambda model=model: model.fit(X, y).predict(new)  # type: ignore[misc]
        for name, (model, _) in models.items()
    }
    times = cpu_seconds_of(tasks, settings.rounds)
    return [
        share(
            f"{name} fit + predict {size(n, d)}", times[name], "SVC", times["SVC"], at_most=limit
        )
        for name, (_, limit) in models.items()
        if name != "SVC"
    ]


def small_mixture(settings: Settings) -> list[Row]:
    """As few rows as the heart patients of a hospital, where a fit has costs of its own."""
    n, d = (60, 5) if settings.quick else (294, 13)
    X, y = overlapping(n, d, n_classes=2)
    times = seconds_of(
        {OURS: lambda: MixtureIPCAC(random_state=0).fit(X, y), "SVC": lambda: SVC().fit(X, y)},
        settings.rounds,
    )
    work = f"MixtureIPCAC.fit {size(n, d)}"
    return [share(work, times[OURS], "SVC", times["SVC"], at_most=3)]


def window(settings: Settings) -> list[Row]:
    """An update of a window with a prediction, beside fitting the window again."""
    n, d, batch = (500, 30, 50) if settings.quick else (10_000, 500, 100)
    X, y = labelled(2 * n, d, n_classes=2)
    model = FisherDiscriminant(window=n).fit(X[:n], y[:n])

    def slide() -> None:
        for i in range(n, n + 20 * batch, batch):
            model.partial_fit(X[i % n : i % n + batch], y[i % n : i % n + batch]).predict(X[:1])

    times = seconds_of(
        {OURS: slide, "anew": lambda: FisherDiscriminant().fit(X[:n], y[:n])}, settings.rounds
    )
    work = f"FisherDiscriminant(window={n}), {batch} of {d}, and predict"
    return [faster(work, times[OURS] / 20, "fitted anew", times["anew"], at_least=5)]


def large(settings: Settings) -> list[Row]:
    """A million rows, and as many as the digits of MNIST: each in a process of its own."""
    if settings.quick:
        return []
    rows = []
    for name, n, d, limit in (
        ("LDG", 1_000_000, 100, 240.0),
        ("LocalFisherDiscriminant", 1_000_000, 100, 240.0),
        ("LocalQDA", 1_000_000, 100, 240.0),
        ("LDG", 60_000, 784, 40.0),
    ):
        seconds, peak, angle = in_fresh_process(fit_large, name, n, d)
        work = f"{name}.fit {size(n, d)}"
        rows += [
            share(work, seconds, f"{limit:g} s", limit, at_most=1),
            share(f"{work}, whole process", peak, "4 GB", 4 * GB / MB, unit="MB", at_most=1),
        ]
        if angle:
            rows.append(share(f"{work}, stated angle", angle, "2°", 2.0, unit="°", at_most=1))
    seconds, _, _ = in_fresh_process(fit_sparse, 20_000, 100_000)
    work = f"FisherDiscriminant(pca=100).fit sparse {size(20_000, 100_000)}, even columns"
    return [*rows, share(work, seconds, "15 s", 15.0, at_most=1)]


def fit_large(name: str, n: int, d: int) -> tuple[float, float, float]:
    """Processor seconds of a fit, the megabytes of the process, and the error of the subspace."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    means = rng.standard_normal((10, d))
    X = np.empty((n, d))
    for start in range(0, n, 100_000):
        part = slice(start, min(start + 100_000, n))
        X[part] = rng.standard_normal((part.stop - start, d)) + means[y[part]]
    settings = {"LDG": {"n_components": 9, **FIXED}, "LocalQDA": {}}
    model = getattr(separatrix, name)(**settings.get(name, {"n_components": 9}))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that rows are sampled is meant
        start_time = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start_time
    return seconds, peak_resident(), getattr(model, "angle_error_", 0.0)


def fit_sparse(n: int, d: int) -> tuple[float, float, float]:
    """As `fit_large`, of sparse rows on their principal axes."""
    X, y = sparse_labelled(n, d, 0.001, zipf=False)
    with threadpool_limits(1):
        start = time.process_time()
        FisherDiscriminant(pca=100).fit(X, y)
        return time.process_time() - start, peak_resident(), 0.0


CASES: dict[str, Case] = {
    "cpu products": products,
    "cpu peers": peers,
    "cpu neighbours": neighbours,
    "cpu kernels": kernels,
    "cpu window": in_one_thread(window),
    "cpu small mixture": in_one_thread(small_mixture),
    "cpu large": large,
}
