"""LDG beside its own search for neighbours and beside neighbourhood components analysis."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.speed.data import N_CLASSES, labelled, size
from benchmarks.speed.runner import (
    GB,
    MB,
    Case,
    Row,
    Settings,
    faster,
    in_fresh_process,
    peak_resident,
    seconds_of,
    share,
)
from separatrix import LDG, KernelLDG, SparseLDG, TransferLDG
from separatrix.linalg import Array
from separatrix.moments.neighbours import class_neighbours

OURS, NCA, GRAM = "ours", "sklearn NCA", "one X @ X.T"
FIXED: dict[str, Any] = {"gamma": 0.6, "n_neighbors": 4}


def overlapping(n: int, d: int, n_classes: int = N_CLASSES) -> tuple[Array, Array]:
    """Classes of three clusters each in 20 of the features, not separated: there is work to do."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    centres = rng.standard_normal((n_classes, 3, min(d, 20)))
    X = rng.standard_normal((n, d))
    X[:, :20] += centres[y, rng.integers(3, size=n)]
    return X @ np.linalg.qr(rng.standard_normal((d, d)))[0], y


def tall(settings: Settings) -> list[Row]:
    """Many rows: the search for neighbours, and little more."""
    n, d = (500, 40) if settings.quick else (3_000, 256)
    X, y = overlapping(n, d)
    centred = X - X.mean(axis=0)
    times = seconds_of(
        {
            OURS: lambda: LDG(**FIXED).fit(X, y),
            "search": lambda: class_neighbours(centred, y, FIXED["n_neighbors"]),
            "auto": lambda: LDG().fit(X, y),
            NCA: lambda: NeighborhoodComponentsAnalysis(random_state=0).fit(X, y),
        },
        settings.rounds,
        rarely=[NCA, "auto"],
    )
    work = f"LDG.fit {size(n, d)}"
    return [
        share(work, times[OURS], "its search for neighbours", times["search"], at_most=3),
        faster(work, times[OURS], NCA, times[NCA], at_least=50),
        share(f"{work}, gamma auto", times["auto"], "one fit", times[OURS], at_most=15),
    ]


def wide(settings: Settings) -> list[Row]:
    """Many features: the products of all rows with each other, and little more."""
    n, d = (60, 1_500) if settings.quick else (200, 10_000)
    X, y = labelled(n, d)
    times = seconds_of(
        {OURS: lambda: LDG(15, **FIXED).fit(X, y), GRAM: lambda: X @ X.T}, settings.rounds
    )
    return [share(f"LDG.fit {size(n, d)}", times[OURS], GRAM, times[GRAM], at_most=3)]


def relatives(settings: Settings) -> list[Row]:
    """The other members of the family; no target."""
    n, d = (300, 30) if settings.quick else (1_500, 100)
    X, y = overlapping(n, d)
    domain = np.where(np.arange(n) < n - 40, 1, -1)
    times = seconds_of(
        {
            "kernel": lambda: KernelLDG(10, **FIXED).fit(X, y),
            "landmarks": lambda: KernelLDG(10, n_landmarks=200, **FIXED).fit(X, y),
            "sparse": lambda: SparseLDG(3, **FIXED).fit(X, y),
            "transfer": lambda: TransferLDG(10, alpha=0.1, **FIXED).fit(X, y, domain),
            OURS: lambda: LDG(10, **FIXED).fit(X, y),
        },
        settings.rounds,
    )
    titles = {
        "kernel": "KernelLDG.fit",
        "landmarks": "KernelLDG.fit, 200 landmarks,",
        "sparse": "SparseLDG.fit",
        "transfer": "TransferLDG.fit",
    }
    return [
        share(f"{title} {size(n, d)}", times[name], "LDG.fit", times[OURS])
        for name, title in titles.items()
    ]


def large(settings: Settings) -> list[Row]:
    """As many rows as the digits of MNIST: in a process of its own, for its peak memory."""
    if settings.quick:
        return []
    seconds, peak = in_fresh_process(fit_large, 60_000, 784)
    work = f"LDG.fit {size(60_000, 784)}"
    limit = 4 * GB / MB
    return [
        share(f"{work}, whole process", peak, "4 GB", limit, unit="MB", at_most=1),
        Row(work, seconds),
    ]


def fit_large(n: int, d: int) -> tuple[float, float]:
    """Seconds of a fit, and the megabytes that the process took at most."""
    X, y = overlapping(n, d)
    start = time.perf_counter()
    LDG(20, **FIXED).fit(X, y)
    return time.perf_counter() - start, peak_resident()


CASES: dict[str, Case] = {
    "ldg tall": tall,
    "ldg wide": wide,
    "ldg relatives": relatives,
    "ldg large": large,
}
