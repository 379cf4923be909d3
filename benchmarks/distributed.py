"""Rows that do not fit: CPU time, wall time and memory of fits to Dask collections.

    python -m benchmarks.distributed speed       # 2·10⁶ × 200 float32 from an npy file
    python -m benchmarks.distributed truncated   # TruncatedIPCAC, 10⁶ × 2000 made block by block
    python -m benchmarks.distributed limit       # workers of 1 GB on 4 GB of rows
    python -m benchmarks.distributed constants   # for the cost model of the manual

``--rows`` makes it smaller. Files go to a temporary directory (``--folder``) and are deleted.
"""

from __future__ import annotations

import os

os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")})

import argparse
import json
import logging
import multiprocessing
import pickle
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

from separatrix import FisherDiscriminant, TruncatedIPCAC
from separatrix.files.dask_tables import BLOCK_BYTES, from_npy
from separatrix.moments import class_moments
from separatrix.moments.class_moments import ClassMoments

WORKERS = 2
N_CLASSES = 5


def made_rows(start: int, n_rows: int, n_features: int, dtype: Any = np.float32) -> np.ndarray:
    """Rows whose classes are apart, the same whenever they are made."""
    rng = np.random.default_rng([start, n_features])
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    means = 0.5 * np.cos(np.outer(1 + np.arange(N_CLASSES), np.arange(n_features)))
    X += means.astype(np.float32)[made_labels(start, n_rows)]
    return X.astype(dtype, copy=False)


def made_labels(start: int, n_rows: int) -> np.ndarray:
    return (start + np.arange(n_rows)) * 7919 % 10007 % N_CLASSES


def write_file(path: Path, n_rows: int, n_features: int) -> None:
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_features))
    step = max(1, BLOCK_BYTES // (4 * n_features))
    for start in range(0, n_rows, step):
        n = min(step, n_rows - start)
        out[start : start + n] = made_rows(start, n, n_features)
    out.flush()


def plain_loop(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, sums and products by hand: what anyone would write, without care for rounding."""
    whole = np.load(path, mmap_mode="r")
    n_rows, n_features = whole.shape
    counts, sums = np.zeros(N_CLASSES), np.zeros((N_CLASSES, n_features))
    products = np.zeros((n_features, n_features))
    step = max(1, BLOCK_BYTES // (4 * n_features))
    for start in range(0, n_rows, step):
        X = np.array(whole[start : start + step])
        y = made_labels(start, len(X))
        indicator = (y == np.arange(N_CLASSES)[:, None]).astype(np.float32)
        counts += indicator.sum(axis=1)
        sums += indicator @ X
        products += X.T @ X
    return counts, sums, products


def seconds_of(*processes: psutil.Process) -> float:
    return sum(sum(p.cpu_times()[:2]) for p in processes)


def alone(work: Callable[..., Any], *args: Any) -> dict[str, float]:
    """Wall and CPU seconds of some work in a process of its own, its imports not counted."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed_here, (work, *args))


def _timed_here(work: Callable[..., Any], *args: Any) -> dict[str, float]:
    found = timed(lambda: work(*args), psutil.Process())
    return {**found, "peak_gb": peak()}


def in_one_process(path: Path) -> None:
    """Our own statistics, block after block, in one thread."""
    with dask.config.set(scheduler="synchronous"):
        class_moments(from_npy(path), labels_of(from_npy(path)))


def labels_of(X: Any) -> Any:
    """Labels in the blocks of the rows, made where they are needed."""
    starts = np.cumsum([0, *X.chunks[0][:-1]])
    parts = [
        da.from_delayed(dask.delayed(made_labels)(int(s), n), (n,), np.int64)
        for s, n in zip(starts, X.chunks[0], strict=True)
    ]
    return da.concatenate(parts)


def on_workers(
    work: Callable[[], Any],
    *,
    memory: str = "auto",
    threads: int = 1,
    others: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType({}),
    rounds: int = 1,
) -> dict[str, Any]:
    """Wall and CPU seconds of a fit on worker processes, and the peak memory of each.

    `others` take turns with the fit. Of several rounds the least times are kept: other load
    disturbed them least.
    """
    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=threads,
            processes=True,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        # what workers import and cluster start-up cost is not the cost of a fit
        TruncatedIPCAC().fit(*generated(200, 3, np.float32, 600))
        pids = list(client.run(os.getpid).values())
        processes = [psutil.Process(pid) for pid in (*pids, os.getpid())]
        peaks = client.run(peak)
        found = [
            (timed(work, *processes), *(other() for other in others.values()))
            for _ in range(rounds)
        ]
        before, peaks = list(peaks.values()), list(client.run(peak).values())
        alive = sorted(client.run(os.getpid).values()) == sorted(pids)
    least = [
        {name: min(one[name] for one in times) for name in times[0]}
        for times in zip(*found, strict=True)
    ]
    return {
        **least[0],
        "peak_gb": peaks,
        "peak_gb_before": before,
        "no_worker_died": alive,
        **dict(zip(others, least[1:], strict=True)),
    }


def timed(work: Callable[[], Any], *processes: psutil.Process) -> dict[str, float]:
    """Wall seconds, and the CPU seconds of some processes."""
    wall, cpu = time.perf_counter(), seconds_of(*processes)
    work()
    return {"wall": time.perf_counter() - wall, "cpu": seconds_of(*processes) - cpu}


def peak() -> float:
    """The most memory this process has had, in GB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 2**20  # type: ignore[index]


def speed(options: argparse.Namespace) -> dict[str, Any]:
    n_rows, n_features = options.rows or 2_000_000, 200
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.npy"
        write_file(path, n_rows, n_features)
        plain_loop(path)  # the file is in memory as far as it fits, for all alike
        X = from_npy(path)
        y = labels_of(X)
        two = on_workers(
            lambda: FisherDiscriminant(shrinkage=None).fit(X, y),
            others={
                "plain loop": lambda: alone(plain_loop, path),
                "one process": lambda: alone(in_one_process, path),
            },
            rounds=options.rounds,
        )
    plain, one = two.pop("plain loop"), two.pop("one process")
    return {
        "plain loop": plain,
        "one process": one,
        "two workers": two,
        "CPU time over the plain loop": two["cpu"] / plain["cpu"],
        "wall time of the plain loop over ours": plain["wall"] / two["wall"],
        "wall time of one process over ours": one["wall"] / two["wall"],
        "load of the machine": os.getloadavg()[0],
    }


def generated(n_rows: int, n_features: int, dtype: Any, block_bytes: int) -> tuple[Any, Any]:
    """Rows that are made in the task that needs them."""
    some = block_bytes // (np.dtype(dtype).itemsize * n_features)
    sizes = tuple(min(some, n_rows - start) for start in range(0, n_rows, some))
    X = da.map_blocks(
        _made_block,
        some,
        n_rows,
        n_features,
        dtype,
        chunks=(sizes, (n_features,)),
        meta=np.empty((0, 0), dtype),
    )
    return X, labels_of(X)


def _made_block(some: int, n_rows: int, n_features: int, dtype: Any, block_id: Any = None) -> Any:
    start = some * block_id[0]
    return made_rows(start, min(some, n_rows - start), n_features, dtype)


def truncated(options: argparse.Namespace) -> dict[str, Any]:
    X, y = generated(options.rows or 1_000_000, 2000, np.float64, BLOCK_BYTES)
    if options.classes == 2:
        y = y % 2
    found = on_workers(lambda: TruncatedIPCAC(keep_moments=False).fit(X, y))
    here = peak()
    return {
        **found,
        "data_gb": X.nbytes / 2**30,
        "peak_gb_here": here,
        "peak_gb_all": here + sum(found["peak_gb"]),
    }


def limit(options: argparse.Namespace) -> dict[str, Any]:
    n_rows = options.rows or 2_684_355  # 4 GB
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.npy"
        write_file(path, n_rows, 400)
        X = from_npy(path)
        found = on_workers(
            lambda: FisherDiscriminant(shrinkage=None).fit(X, labels_of(X)),
            memory="1GiB",
            threads=1,
        )
        return {**found, "data_gb": X.nbytes / 2**30}


def constants(options: argparse.Namespace) -> dict[str, Any]:
    """What blocks cost in one process, for the cost model of the manual."""
    return {f"{d} features": constants_of(options.rows or 16_000, d) for d in (200, 1000, 2000)}


def constants_of(n_rows: int, n_features: int) -> dict[str, float]:
    X, y = made_rows(0, n_rows, n_features), made_labels(0, n_rows)
    a, b = (ClassMoments.from_data(X[i::2], y[i::2]) for i in range(2))

    def best(work: Callable[[], Any]) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    return {
        "CPU µs for each row of float32": 1e6
        / n_rows
        * best(lambda: ClassMoments.from_data(X, y)),
        "CPU µs for each row of float64": 1e6
        / n_rows
        * best(lambda: ClassMoments.from_data(X.astype(np.float64), y)),
        "CPU ms to add two summaries": 1e3 * best(lambda: a + b),
        "CPU ms to pack and unpack one": 1e3 * best(lambda: pickle.loads(pickle.dumps(a))),
        "MB of a summary": len(pickle.dumps(a)) / 1e6,
        "CPU s to solve": best(lambda: FisherDiscriminant(shrinkage=None)._solve(a + b, None, {})),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed")
    tasks = {"speed": speed, "truncated": truncated, "limit": limit, "constants": constants}
    parser.add_argument("task", choices=tasks)
    parser.add_argument("--rows", type=int, help="fewer rows than the full size")
    parser.add_argument("--rounds", type=int, default=3, help="of which the least times count")
    parser.add_argument("--classes", type=int, default=N_CLASSES, choices=(2, N_CLASSES))
    parser.add_argument("--folder", help="where large files are written for a while")
    options = parser.parse_args()
    print(json.dumps(tasks[options.task](options), indent=2))


if __name__ == "__main__":
    main()
