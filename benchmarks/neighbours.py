"""Searches for neighbours beside our own: time, and how far the directions of LDG move.

    pip install faiss-cpu pynndescent
    python -m benchmarks.neighbours 20000 100
    python -m benchmarks.neighbours 200000 50

Every search finds, for each row, its four nearest rows in each class; an index is built for each
class. Processor time with one thread. The angle is that of the nine directions from those of exact
neighbours, "found" the share of the true neighbours among those found. Beside these, our estimate
by some of the rows (``n_queries``), with the error that it states.
"""

from __future__ import annotations

import os

os.environ.update({f"{n}_NUM_THREADS": "1" for n in ("OPENBLAS", "OMP", "MKL", "NUMBA")})

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.data import labelled
from benchmarks.speed.ldg import overlapping
from separatrix import LDG
from separatrix.ldg.scatters import local_scatters
from separatrix.linalg import Array, principal_angles
from separatrix.moments import neighbours
from separatrix.moments.neighbours import class_neighbours

N_NEIGHBORS, GAMMA, N_COMPONENTS = 4, 0.6, 9
QUERIES = (5_000, 20_000, 35_000, 95_000)

Search = Callable[[Array, Array, int], Array]
"""From known rows, new rows and k to the numbers (n_new, k) of near known rows."""


def flat(known: Array, new: Array, k: int) -> Array:
    """All distances."""
    import faiss

    index = faiss.IndexFlatL2(known.shape[1])
    index.add(known)
    return index.search(new, k)[1]


def inverted_lists(n_probed: int) -> Search:
    """Rows in cells around centres, of which the nearest few are searched."""

    def search(known: Array, new: Array, k: int) -> Array:
        import faiss

        d = known.shape[1]
        n_cells = max(8, int(4 * np.sqrt(len(known))))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_cells)
        index.train(known)
        index.add(known)
        index.nprobe = n_probed
        return index.search(new, k)[1]

    return search


def small_world(known: Array, new: Array, k: int) -> Array:
    """A hierarchy of graphs."""
    import faiss

    index = faiss.IndexHNSWFlat(known.shape[1], 16)
    index.add(known)
    return index.search(new, k)[1]


def descent(known: Array, new: Array, k: int) -> Array:
    """Neighbours of neighbours, from a forest of random trees."""
    from pynndescent import NNDescent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = NNDescent(known, n_neighbors=15, random_state=0, n_jobs=1)
        index.prepare()
        return index.query(new, k)[0]


SEARCHES: dict[str, Search] = {
    "faiss, all distances": flat,
    "faiss, inverted lists, 8 cells": inverted_lists(8),
    "faiss, inverted lists, 32 cells": inverted_lists(32),
    "faiss, HNSW": small_world,
    "pynndescent": descent,
}


def search_by_class(X: Array, y: Array, search: Search) -> list[Array]:
    """`class_neighbours` by another search: a row is not its own neighbour."""
    found = []
    for j in range(y.max() + 1):
        members = np.flatnonzero(y == j)
        near = members[np.maximum(search(X[members], X, N_NEIGHBORS + 1), 0)]
        own_last = np.argsort(near == np.arange(len(X))[:, None], axis=1, kind="stable")
        found.append(np.take_along_axis(near, own_last, axis=1)[:, :N_NEIGHBORS])
    return found


def directions(X: Array, y: Array, near: list[Array]) -> Array:
    """The directions of LDG (n_features, n_components)."""
    scatters = local_scatters(X, y, near, np.bincount(y) / len(y), N_NEIGHBORS)
    return scatters.leading(GAMMA, np.eye(X.shape[1]), N_COMPONENTS)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def angle(W: Array, exact: Array) -> float:
    return float(np.degrees(principal_angles(W.T, exact.T)[0]))


def measure(X: Array, y: Array) -> None:
    """Print a line for each search."""
    X = X - X.mean(axis=0)
    single = X.astype(np.float32)
    known, seconds = timed(lambda: class_neighbours(X, y, N_NEIGHBORS))
    exact = directions(X, y, known)
    print(f"{'ours, all rows':36}{seconds:7.1f} s", flush=True)
    usual, neighbours.MIN_SINGLE_DISTANCES = neighbours.MIN_SINGLE_DISTANCES, 1 << 62
    _, seconds = timed(lambda: class_neighbours(X, y, N_NEIGHBORS))
    neighbours.MIN_SINGLE_DISTANCES = usual
    print(f"{'ours, all rows, float64 alone':36}{seconds:7.1f} s", flush=True)
    for n_queries in (n for n in QUERIES if n < len(X)):
        model = LDG(N_COMPONENTS, gamma=GAMMA, n_neighbors=N_NEIGHBORS, n_queries=n_queries)
        _, seconds = timed(lambda model=model: model.fit(X, y))  # type: ignore[misc]
        far = angle(model.components_.T, exact)
        stated = f"stated {model.angle_error_:.2f}°"
        print(f"{f'ours, {n_queries} rows':36}{seconds:7.1f} s{far:7.2f}° {stated}", flush=True)
    for name, search in SEARCHES.items():
        search(single[:500], single[:50], 5)  # compiled once
        found, seconds = timed(lambda search=search: search_by_class(single, y, search))  # type: ignore[misc]
        far = angle(directions(X, y, found), exact)
        right = np.mean([same(f[::37], k[::37]) for f, k in zip(found, known, strict=True)])
        print(f"{name:36}{seconds:7.1f} s{far:7.2f}° found {right:.2f}", flush=True)


def same(found: Array, known: Array) -> float:
    """The share of the known neighbours that were found."""
    return float(np.mean((known[:, :, None] == found[:, None, :]).any(axis=2)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours")
    parser.add_argument("n_samples", type=int)
    parser.add_argument("n_features", type=int)
    options = parser.parse_args()
    for words, make in (("clusters", overlapping), ("Gaussian classes", labelled)):
        print(f"{options.n_samples}×{options.n_features}, {words}", flush=True)
        measure(*make(options.n_samples, options.n_features))


if __name__ == "__main__":
    main()
