"""Fisher's criterion and its relatives, beside scikit-learn and beside one matrix product."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestNeighbors

from benchmarks.speed.data import N_CLASSES, labelled, size, sparse_labelled
from benchmarks.speed.runner import (
    GB,
    MB,
    Case,
    Row,
    Settings,
    Task,
    extra_memory,
    faster,
    in_fresh_process,
    peak_resident,
    seconds_of,
    share,
)
from separatrix import (
    ClassMoments,
    DirectDiscriminant,
    FisherDiscriminant,
    GSVDDiscriminant,
    LocalFisherDiscriminant,
    MaximumMarginCriterion,
    NullSpaceDiscriminant,
)
from separatrix.linalg import Array

OURS = "ours"
LDA = "sklearn LDA(svd)"
TALL_PRODUCT, WIDE_PRODUCT = "one X.T @ X", "one X @ X.T"


# Cases with a target -------------------------------------------------------------------------


def tall(settings: Settings) -> list[Row]:
    """Many rows: nearly all the time should go into one matrix product."""
    n, d = (5_000, 60) if settings.quick else (100_000, 500)
    X, y = labelled(n, d)
    fit = lambda: FisherDiscriminant(shrinkage=None).fit(X, y)  # noqa: E731
    times = seconds_of(
        {
            OURS: fit,
            LDA: lambda: LinearDiscriminantAnalysis(solver="svd").fit(X, y),
            TALL_PRODUCT: lambda: X.T @ X,
        },
        settings.rounds,
        rarely=[LDA],
    )
    work = f"FisherDiscriminant.fit {size(n, d)}"
    return [
        faster(work, times[OURS], LDA, times[LDA], at_least=12),
        share(work, times[OURS], TALL_PRODUCT, times[TALL_PRODUCT], at_most=1.2),
        share(
            f"{work}, extra memory",
            extra_memory(fit),
            "X itself",
            X.nbytes / MB,
            unit="MB",
            at_most=0.25,
        ),
    ]


def wide(settings: Settings) -> list[Row]:
    """Many features: the span of the rows, and never a matrix of features by features."""
    n, d = (60, 1_500) if settings.quick else (500, 20_000)
    X, y = labelled(n, d)
    fit = lambda: FisherDiscriminant(shrinkage=None).fit(X, y)  # noqa: E731
    times = seconds_of(
        {
            OURS: fit,
            LDA: lambda: LinearDiscriminantAnalysis(solver="svd").fit(X, y),
            WIDE_PRODUCT: lambda: X @ X.T,
        },
        settings.rounds,
    )
    work = f"FisherDiscriminant.fit {size(n, d)}"
    square = d * d * X.itemsize / MB
    return [
        faster(work, times[OURS], LDA, times[LDA], at_least=3),
        share(work, times[OURS], WIDE_PRODUCT, times[WIDE_PRODUCT]),
        share(
            f"{work}, extra memory",
            extra_memory(fit),
            "a d×d matrix",
            square,
            unit="MB",
            at_most=1,
        ),
    ]


def float32(settings: Settings) -> list[Row]:
    """Single precision in: faster, and single precision out."""
    n, d = (5_000, 60) if settings.quick else (100_000, 500)
    X, y = labelled(n, d)
    X32 = X.astype(np.float32)
    times = seconds_of(
        {
            OURS: lambda: FisherDiscriminant(shrinkage=None).fit(X32, y),
            "float64": lambda: FisherDiscriminant(shrinkage=None).fit(X, y),
        },
        settings.rounds,
    )
    dtype = str(FisherDiscriminant(shrinkage=None).fit(X32, y).transform(X32[:100]).dtype)
    work = f"FisherDiscriminant.fit {size(n, d)} float32"
    return [
        faster(work, times[OURS], "ours, float64", times["float64"], at_least=1.5),
        Row(
            "FisherDiscriminant.transform of float32",
            dtype,
            must_reach="float32",
            reached=dtype == "float32",
        ),
    ]


def local(settings: Settings) -> list[Row]:
    """Neighbours: little beyond the search for them, within classes or among all rows."""
    n, d = (400, 16) if settings.quick else (3_000, 256)
    X, y = labelled(n, d)
    by_class, among_all = "sklearn neighbours, class by class", "sklearn neighbours, all rows"

    def search(rows: Array) -> Array:
        model = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(rows)
        return model.kneighbors(return_distance=True)[0]

    times = seconds_of(
        {
            OURS: lambda: LocalFisherDiscriminant(shrinkage=None).fit(X, y),
            by_class: lambda: [search(X[y == c]) for c in range(N_CLASSES)],
            among_all: lambda: search(X),
        },
        settings.rounds,
    )
    work = f"LocalFisherDiscriminant.fit {size(n, d)}"
    return [
        share(work, times[OURS], peer, times[peer], at_most=2) for peer in (by_class, among_all)
    ]


def sparse(settings: Settings) -> list[Row]:
    """Sparse rows on principal axes: in a process of its own, for its peak memory."""
    if settings.quick:
        return []
    rows = []
    for zipf in (False, True):
        seconds, peak = in_fresh_process(fit_sparse, 20_000, 100_000, 0.001, zipf)
        columns = "Zipf columns" if zipf else "even columns"
        work = f"FisherDiscriminant(pca=100).fit sparse {size(20_000, 100_000)}, {columns}"
        limit = 2 * GB / MB
        rows += [
            share(f"{work}, whole process", peak, "2 GB", limit, unit="MB", at_most=1),
            Row(work, seconds),
        ]
    return rows


def fit_sparse(n: int, d: int, density: float, zipf: bool) -> tuple[float, float]:
    """Seconds of the fit, and peak memory of the process in MB."""
    X, y = sparse_labelled(n, d, density, zipf=zipf)
    start = time.perf_counter()
    FisherDiscriminant(pca=100).fit(X, y)
    return time.perf_counter() - start, peak_resident()


# Information ---------------------------------------------------------------------------------


def moments(settings: Settings) -> list[Row]:
    """Class statistics alone."""
    n, d = (5_000, 60) if settings.quick else (100_000, 500)
    X, y = labelled(n, d)
    times = seconds_of(
        {OURS: lambda: ClassMoments.from_data(X, y), TALL_PRODUCT: lambda: X.T @ X},
        settings.rounds,
    )
    work = f"ClassMoments.from_data {size(n, d)}"
    return [share(work, times[OURS], TALL_PRODUCT, times[TALL_PRODUCT])]


def predict(settings: Settings) -> list[Row]:
    """Decisions on many rows, by models fitted to a few of them."""
    n, d = (5_000, 60) if settings.quick else (100_000, 500)
    X, y = labelled(n, d)
    few = slice(0, 4 * d)
    model = FisherDiscriminant(shrinkage=None).fit(X[few], y[few])
    peer = LinearDiscriminantAnalysis(solver="svd").fit(X[few], y[few])
    times = seconds_of(
        {OURS: lambda: model.predict(X), LDA: lambda: peer.predict(X)}, settings.rounds
    )
    work = f"FisherDiscriminant.predict {size(n, d)}"
    return [share(work, times[OURS], LDA, times[LDA])]


def relatives(settings: Settings) -> list[Row]:
    """The other solvers of the family, with many features and with many rows."""
    sizes = ((60, 1_500), (2_000, 40)) if settings.quick else ((500, 20_000), (20_000, 200))
    methods: dict[str, Any] = {
        method.__name__: method()
        for method in (
            DirectDiscriminant,
            NullSpaceDiscriminant,
            GSVDDiscriminant,
            MaximumMarginCriterion,
        )
    }
    rows = []
    for n, d in sizes:
        X, y = labelled(n, d)
        peer = LinearDiscriminantAnalysis(solver="svd")
        tasks: dict[str, Task] = {
            name: lambda model=model, X=X, y=y: model.fit(X, y)  # type: ignore[misc]
            for name, model in {**methods, LDA: peer}.items()
        }
        with warnings.catch_warnings():
            # with many rows there is no null space, and the method says so
            warnings.filterwarnings("ignore", "the within-class scatter has no null space")
            times = seconds_of(tasks, settings.rounds)
        rows += [
            share(f"{name}.fit {size(n, d)}", times[name], LDA, times[LDA]) for name in methods
        ]
    return rows


CASES: dict[str, Case] = {
    "fisher-tall": tall,
    "fisher-wide": wide,
    "fisher-sparse": sparse,
    "fisher-float32": float32,
    "fisher-local": local,
    "fisher-moments": moments,
    "fisher-predict": predict,
    "fisher-relatives": relatives,
}
