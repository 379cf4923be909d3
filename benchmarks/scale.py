"""Bytes that are read, moved and held on the way from rows to a model.

``python -m benchmarks.scale partitions`` counts the bytes of ten thousand partitions beside the
formulas of the manual; ``python -m benchmarks.scale database [--rows N]`` adds up rows that duckdb
generates, and prints the largest memory and the processor time.
"""

from __future__ import annotations

import argparse
import pickle
import resource
from functools import reduce
from operator import add
from time import process_time

import numpy as np

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.base.prepared import fit_moments
from separatrix.moments import sql

N_CLASSES = 5


def held_floats(n_rows: int, d: int, n_classes: int) -> int:
    """Numbers in the moments of a block: the scatter or its rows, the class means, the counts."""
    return min(n_rows, d) * d + n_classes * d + n_classes + d


def report_partitions(n_partitions: int) -> None:
    """Moments of many partitions: bytes of each as it would be sent, and of the sum."""
    print("d, rows of a partition: bytes of these as float32, of its moments, by formula, of all")
    for d, n_rows in ((20, 1000), (100, 50), (100, 200), (300, 30)):
        rng = np.random.default_rng(0)
        sent, total = [], None
        for _ in range(n_partitions):
            y = np.arange(n_rows) % N_CLASSES
            part = ClassMoments.from_data(rng.standard_normal((n_rows, d), np.float32), y)
            sent.append(len(pickle.dumps(part)))
            total = part if total is None else reduce(add, (total, part))
        formula = 8 * held_floats(n_rows, d, N_CLASSES)
        print(f"{d:4d} {n_rows:5d}: {4 * n_rows * d:9d} {np.mean(sent):11.0f} {formula:11d} "
              f"{len(pickle.dumps(total)):11d}", flush=True)  # fmt: skip


def report_database(n_rows: int) -> None:
    """Twenty features of generated rows, added up by duckdb within 1 GB."""
    import duckdb

    connection = duckdb.connect(":memory:")
    connection.execute("SET memory_limit='700MB'")
    connection.execute("SET threads=1")
    # a hash of the number of the row and of the feature, in place of a generator with a state
    features = ", ".join(
        f"(hash(i * 20 + {j}) % 1000003) / 1000003.0 + (i % 3) * {0.01 * j} AS x{j}"
        for j in range(20)
    )
    query = f"SELECT {features}, i % 3 AS kind FROM range({n_rows}) t(i)"
    start = process_time()
    moments = sql.summarize(connection, query, target="kind")
    spent = process_time() - start
    model = fit_moments(FisherDiscriminant(shrinkage=None), moments)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{moments.n_samples:.0f} rows: {spent:.1f} s of processor time, {most:.0f} MB at most, "
          f"ratios {np.round(model.explained_ratio_, 6)}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["partitions", "database"])
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--partitions", type=int, default=10**4)
    given = parser.parse_args()
    if given.table == "partitions":
        report_partitions(given.partitions)
    else:
        report_database(given.rows)


if __name__ == "__main__":
    main()
