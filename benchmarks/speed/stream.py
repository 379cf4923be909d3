"""Streams: batches beside incremental PCA, windows beside fitting them anew, memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

from sklearn.decomposition import IncrementalPCA

from benchmarks.speed.data import labelled
from benchmarks.speed.runner import (
    MB,
    Case,
    Row,
    Settings,
    extra_memory,
    faster,
    in_fresh_process,
    seconds_of,
    share,
)
from separatrix import FisherDiscriminant, OnlineIPCAC, TruncatedIPCAC

OURS, SOLVED, PCA, ANEW = "ours", "ours, then solved", "IncrementalPCA.partial_fit", "fitted anew"


def batches(settings: Settings) -> list[Row]:
    """Truncated factors, block after block."""
    d, rank, block = (300, 15, 40) if settings.quick else (2_000, 100, 200)
    X, y = labelled(10 * block, d, n_classes=2)
    online = OnlineIPCAC(rank // 2, rank=rank).fit(X, y)
    pca = IncrementalPCA(rank).partial_fit(X[:block])
    times = seconds_of(
        {
            OURS: passed(online, X, y, block),
            SOLVED: passed(online, X, y, block, solve=True),
            PCA: passed(pca, X, None, block),
        },
        settings.rounds,
    )
    work = f"OnlineIPCAC.partial_fit, {block} rows of {d}, rank {rank}"
    return [
        faster(work, times[OURS], PCA, times[PCA], at_least=1),
        share(f"{work}, and predict", times[SOLVED], PCA, times[PCA]),
    ]


def passed(
    model: Any, X: Any, y: Any, block: int, *, solve: bool = False, n_blocks: int = 4
) -> Callable[[], None]:
    """A task that lets a model take some more blocks, round and round."""
    starts = cycle(range(0, len(X) - block + 1, block))

    def task() -> None:
        for _ in range(n_blocks):
            part = slice(i := next(starts), i + block)
            model.partial_fit(*((X[part],) if y is None else (X[part], y[part])))
            if solve:
                model.predict(X[:1])

    return task


def window(settings: Settings) -> list[Row]:
    """A window that slides, beside fitting all of it again after each batch."""
    n, d = (500, 30) if settings.quick else (10_000, 500)
    X, y = labelled(3 * n, d, n_classes=2)
    rows = []
    for make, blocks in ((FisherDiscriminant, (1, 10, 100)), (OnlineIPCAC, (10, 100))):
        anew = seconds_of({ANEW: partial(fitted_batch, make, X[:n], y[:n])}, settings.rounds)
        for block in blocks:
            # a whole turn of the window, so that the cost of cutting it is in the average
            updates = slid(make(window=n).fit(X[:n], y[:n]), X[n:], y[n:], block, n // block)
            name = f"{make.__name__}(window={n}), {block} of {d}"
            rows.append(faster(name, updates, ANEW, anew[ANEW], at_least=20))
        solved = slid(make(window=n).fit(X[:n], y[:n]), X[n:], y[n:], 100, 10, solve=True)
        rows.append(share(f"{name}, and predict", solved, ANEW, anew[ANEW]))
    return rows


def fitted_batch(make: Any, X: Any, y: Any) -> Any:
    """The peer of an online model is the batch model of the same rows."""
    return (TruncatedIPCAC if make is OnlineIPCAC else make)().fit(X, y)


def slid(model: Any, X: Any, y: Any, block: int, n_blocks: int, *, solve: bool = False) -> float:
    """Average seconds of an update."""
    start = time.perf_counter()
    for i in range(0, n_blocks * block, block):
        model.partial_fit(X[i : i + block], y[i : i + block])
        if solve:
            model.predict(X[:1])
    return (time.perf_counter() - start) / n_blocks


def memory(settings: Settings) -> list[Row]:
    """Many features: memory of some multiple of the axes that are kept."""
    d, rank = (2_000, 20) if settings.quick else (50_000, 100)
    model, peak = in_fresh_process(streamed, d, rank)
    work = f"OnlineIPCAC, 20 batches of 200×{d}, rank {rank}"
    axes = d * rank * 8 / MB
    return [
        share(f"{work}, kept", model, "one factor of that rank", axes, unit="MB"),
        share(f"{work}, at most while learning", peak, "same", axes, unit="MB"),
    ]


def streamed(d: int, rank: int) -> tuple[float, float]:
    """Megabytes that a model keeps, and the most it takes beyond its batches."""
    X, y = labelled(200, d, n_classes=2)
    model = OnlineIPCAC(rank // 2, rank=rank)
    for _ in range(10):
        model.partial_fit(X, y)
    extra = extra_memory(lambda: [model.partial_fit(X, y).predict(X[:1]) for _ in range(10)])
    kept = sum(R.size for scatter in model.moments_._scatters for _, R in scatter.rows)
    return kept * 8 / MB, extra


CASES: dict[str, Case] = {
    "stream batches": batches,
    "stream window": window,
    "stream memory": memory,
}
