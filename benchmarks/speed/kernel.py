"""Kernel and mixture classifiers beside a support vector machine with the same kernel."""

from __future__ import annotations

import time

import numpy as np
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from benchmarks.speed.data import labelled, size
from benchmarks.speed.runner import (
    GB,
    MB,
    Case,
    Row,
    Settings,
    in_fresh_process,
    peak_resident,
    seconds_of,
    share,
)
from separatrix import (
    IPCAC,
    DDAGClassifier,
    KernelIPCAC,
)


def many_rows(settings: Settings) -> list[Row]:
    """Landmarks on more rows than a kernel matrix has room for, in a process of its own."""
    if settings.quick:
        return []
    n, d, m = 50_000, 100, 500
    seconds, peak = in_fresh_process(fit_landmarks, n, d, m)
    work = f"KernelIPCAC.fit {size(n, d)}, {m} landmarks"
    return [
        share(f"{work}, whole process", peak, "3 GB", 3 * GB / MB, unit="MB", at_most=1),
        Row(work, seconds),
    ]


def fit_landmarks(n: int, d: int, n_landmarks: int) -> tuple[float, float]:
    """Seconds of a fit, and the megabytes that the process took at most."""
    X, y = labelled(n, d, n_classes=2)
    start = time.perf_counter()
    KernelIPCAC(n_landmarks=n_landmarks, random_state=0).fit(X, y)
    return time.perf_counter() - start, peak_resident()


def predict(settings: Settings) -> list[Row]:
    """Many new rows in blocks, beside the kernel values they need."""
    n, n_new, d = (300, 3_000, 10) if settings.quick else (1_000, 200_000, 20)
    X, y = labelled(n, d)
    X_new = np.random.default_rng(0).standard_normal((n_new, d))
    ours, svm = KernelIPCAC().fit(X, y), SVC().fit(X, y)
    times = seconds_of(
        {"ours": lambda: ours.predict(X_new), "SVC": lambda: svm.predict(X_new[: n_new // 20])},
        settings.rounds,
        rarely=["SVC"],
    )
    work = f"KernelIPCAC.predict {size(n_new, d)}, {n} training rows"
    return [share(work, times["ours"], "SVC.predict", 20 * times["SVC"])]


def pairs(settings: Settings) -> list[Row]:
    """Many classes: all pairs are fitted, a few are asked."""
    n, d, c = (600, 10, 6) if settings.quick else (5_000, 50, 25)
    X, y = labelled(n, d, n_classes=c)
    graph, voting = DDAGClassifier(IPCAC()).fit(X, y), OneVsOneClassifier(IPCAC()).fit(X, y)
    times = seconds_of(
        {"ours": lambda: graph.predict(X), "voting": lambda: voting.predict(X)}, settings.rounds
    )
    work = f"DDAGClassifier.predict {size(n, d)}, {c} classes"
    return [share(work, times["ours"], "OneVsOneClassifier", times["voting"])]


CASES: dict[str, Case] = {
    "kernel many rows": many_rows,
    "kernel predict": predict,
    "kernel pairs": pairs,
}
