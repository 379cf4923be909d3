"""Margin methods beside the printed algorithm and beside single support vector machines."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from benchmarks.speed.data import labelled, size
from benchmarks.speed.runner import Case, Row, Settings, Task, faster, seconds_of, share
from separatrix import ClassMoments, WithinSupportVectorDiscriminant
from separatrix.linalg import Array
from separatrix.margin.hyperplane import Hyperplane
from separatrix.margin.planes import BinaryProblem
from separatrix.margin.points import Points
from separatrix.margin.successive import successive_directions

OURS, PRINTED, HINGE, SQUARED = "ours", "printed", "hinge", "squared"


def table_2(X: Array, y: Array, n_components: int) -> Array:
    """The source's algorithm as printed, P Sw P regularised and inverted in each step."""
    X = X - X.mean(axis=0)
    d = X.shape[1]
    Sw = ClassMoments.from_data(X, y).Sw
    P, W = np.eye(d), []
    for _ in range(n_components):
        inverse = np.linalg.inv(P @ Sw @ P + 1e-6 * np.trace(Sw) / d * np.eye(d))
        model = SVC(kernel="precomputed").fit(X @ P @ inverse @ P @ X.T, y)
        w = inverse @ P @ X[model.support_].T @ model.dual_coef_[0]
        w /= np.linalg.norm(w)
        P = P @ (np.eye(d) - np.outer(w, w))
        W.append(w)
    return np.array(W)


def overlapping(n: int, d: int) -> tuple[Array, Array]:
    """Two classes of five clusters each, of unlike sizes, that no hyperplane separates."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    cluster = np.minimum(rng.geometric(0.4, size=n), 5) - 1
    means = 0.3 * rng.standard_normal((2, 5, d))
    return rng.standard_normal((n, d)) + means[y, cluster], y


def printed(settings: Settings) -> list[Row]:
    """Ten directions: one factorisation of Sw in place of ten inverses."""
    n, d = (60, 80) if settings.quick else (300, 400)
    X, y = overlapping(n, d)
    times = seconds_of(
        {
            OURS: lambda: WithinSupportVectorDiscriminant(10).fit(X, y),
            PRINTED: lambda: table_2(X, y, 10),
        },
        settings.rounds,
        rarely=[PRINTED],
    )
    work = f"WithinSupportVectorDiscriminant(10).fit {size(n, d)}"
    return [faster(work, times[OURS], "the printed algorithm", times[PRINTED], at_least=8)]


def many_rows(settings: Settings) -> list[Row]:
    """Ten directions of many rows: about ten machines."""
    n, d = (2_000, 50) if settings.quick else (20_000, 500)
    rows = []
    for words, (X, y) in {
        "overlapping classes": overlapping(n, d),
        "separable classes": labelled(n, d, n_classes=2),
    }.items():
        tasks: dict[str, Task] = {
            OURS: lambda X=X, y=y: WithinSupportVectorDiscriminant(10).fit(X, y),  # type: ignore[misc]
            HINGE: lambda X=X, y=y: LinearSVC(loss="hinge").fit(X, y),  # type: ignore[misc]
            SQUARED: lambda X=X, y=y: LinearSVC().fit(X, y),  # type: ignore[misc]
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            times = seconds_of(tasks, min(settings.rounds, 2))
        work = f"WithinSupportVectorDiscriminant(10).fit {size(n, d)}, {words}"
        limit = 6 if words.startswith("separable") else 12
        rows += [
            share(work, times[OURS], "LinearSVC, hinge", times[HINGE], at_most=limit),
            share(work, times[OURS], "LinearSVC, squared hinge", times[SQUARED]),
        ]
    return rows


def deflation(settings: Settings) -> list[Row]:
    """What a further direction costs beside its machine: products of the rows with one vector."""
    n, d = (2_000, 50) if settings.quick else (20_000, 500)
    X, _ = labelled(n, d, n_classes=2)
    X -= X.mean(axis=0)
    signs = np.ones(n)
    rng = np.random.default_rng(0)

    def anything(points: Points, signs: Array, cost: Array) -> Hyperplane:
        return Hyperplane(rng.standard_normal(d), 0.0, True, 0)

    def extra() -> float:
        """Seconds of nine rounds after the first, each."""
        blocks = successive_directions(
            X, [BinaryProblem(signs, signs, np.ones(len(signs)))], anything, None
        )
        next(blocks)
        start = time.perf_counter()
        for _ in range(9):
            next(blocks)
        return (time.perf_counter() - start) / 9

    w = rng.standard_normal((d, 1))
    once = seconds_of({"product": lambda: np.outer(X @ w, w)}, settings.rounds)["product"]
    ours = min(extra() for _ in range(settings.rounds))
    work = f"a further direction without its machine, {size(n, d)}"
    return [share(work, ours, "one (X w) wᵀ", once)]


CASES: dict[str, Case] = {
    "margin-printed": printed,
    "margin-many-rows": many_rows,
    "margin-deflation": deflation,
}
