"""IPCAC beside Fisher's discriminant and beside one matrix product."""

from __future__ import annotations

import time

from benchmarks.speed.data import labelled, size, sparse_labelled
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
from separatrix import IPCAC, FisherDiscriminant, TruncatedIPCAC

OURS, FISHER, GRAM, PRODUCT = "ours", "FisherDiscriminant.fit", "one X @ X.T", "one X @ w"


def tall(settings: Settings) -> list[Row]:
    """Many rows: little beyond what Fisher's discriminant needs."""
    n, d = (5_000, 60) if settings.quick else (100_000, 500)
    X, y = labelled(n, d, n_classes=2)
    model = IPCAC().fit(X, y)
    w = model.coef_[0]
    times = seconds_of(
        {
            OURS: lambda: IPCAC().fit(X, y),
            FISHER: lambda: FisherDiscriminant(shrinkage=None).fit(X, y),
            "predict": lambda: model.predict(X),
            PRODUCT: lambda: X @ w,
        },
        settings.rounds,
    )
    return [
        share(f"IPCAC.fit {size(n, d)}", times[OURS], FISHER, times[FISHER], at_most=1.5),
        share(f"IPCAC.predict {size(n, d)}", times["predict"], PRODUCT, times[PRODUCT]),
    ]


def wide(settings: Settings) -> list[Row]:
    """Many features: the products of all rows with each other, and little more."""
    n, d = (60, 1_500) if settings.quick else (1_000, 50_000)
    X, y = labelled(n, d, n_classes=2)
    times = seconds_of(
        {OURS: lambda: TruncatedIPCAC().fit(X, y), GRAM: lambda: X @ X.T}, settings.rounds
    )
    work = f"TruncatedIPCAC.fit {size(n, d)}"
    return [share(work, times[OURS], GRAM, times[GRAM], at_most=1.5)]


def sparse(settings: Settings) -> list[Row]:
    """Sparse rows: in a process of its own, for its peak memory."""
    if settings.quick:
        return []
    seconds, peak = in_fresh_process(fit_sparse, 20_000, 50_000, 0.001)
    work = f"TruncatedIPCAC.fit sparse {size(20_000, 50_000)}, Zipf columns"
    limit = 1.5 * GB / MB
    return [
        share(f"{work}, whole process", peak, "1.5 GB", limit, unit="MB", at_most=1),
        Row(work, seconds),
    ]


def fit_sparse(n: int, d: int, density: float) -> tuple[float, float]:
    """Seconds of a fit, and the megabytes that the process took at most."""
    X, y = sparse_labelled(n, d, density, zipf=True)
    start = time.perf_counter()
    TruncatedIPCAC().fit(X, y % 2)
    return time.perf_counter() - start, peak_resident()


CASES: dict[str, Case] = {
    "ipcac tall": tall,
    "ipcac wide": wide,
    "ipcac sparse": sparse,
}
