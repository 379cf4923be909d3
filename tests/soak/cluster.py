"""A cluster that loses a worker every few seconds: fits equal those of one process, bit by bit."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from random import Random
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from separatrix import (
    IPCAC,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    TruncatedIPCAC,
    map_blocks,
)
from separatrix.kernels import RBF

N_CLASSES = 3
N_WORKERS = 2
SECONDS_BETWEEN_LOSSES = (2.0, 10.0)
"""A worker takes a few seconds to start."""

METHODS = (
    FisherDiscriminant(shrinkage=0.1),
    IPCAC(),
    TruncatedIPCAC(),
    KernelFisherDiscriminant(kernel=RBF(0.01), n_landmarks=40, random_state=0),
)


def made_rows(seed: int, n: int, d: int) -> np.ndarray:
    """A block of rows, which takes a while to make: long enough to lose a worker meanwhile."""
    rng = np.random.default_rng(seed)
    time.sleep(rng.uniform(0, 0.5))
    return rng.standard_normal((n, d)) + made_labels(seed, n)[:, None] * np.cos(np.arange(d))


def made_labels(seed: int, n: int) -> np.ndarray:
    return (seed + np.arange(n)) % N_CLASSES


def draw_blocks(random: Random) -> tuple[Any, Any]:
    """Rows and labels that workers make again whenever they are lost."""
    d = random.choice([5, 20, 60])
    sizes = [random.randint(100, 3000) for _ in range(random.randint(8, 30))]
    seeds = [random.randrange(2**31) for _ in sizes]
    rows, labels = dask.delayed(made_rows), dask.delayed(made_labels)
    X = [da.from_delayed(rows(s, n, d), (n, d), float) for s, n in zip(seeds, sizes, strict=True)]
    y = [da.from_delayed(labels(s, n), (n,), int) for s, n in zip(seeds, sizes, strict=True)]
    return da.concatenate(X), da.concatenate(y)


def answers(estimator: Any, X: Any, y: Any) -> list[np.ndarray]:
    """A fit and its predictions for the same collection."""
    model = type(estimator)(**estimator.get_params()).fit(X, y)
    return [np.asarray(map_blocks(verb, X)) for verb in (model.transform, model.predict)]


class Killer(threading.Thread):
    """Kills one worker after the other and starts another in its place, until it is stopped."""

    def __init__(self, address: str, random: Random) -> None:
        super().__init__(daemon=True)
        self.address, self.random, self.stopped, self.killed = (
            address,
            random,
            threading.Event(),
            0,
        )
        self.workers = [self.start_worker() for _ in range(N_WORKERS)]

    def start_worker(self) -> subprocess.Popen[bytes]:
        """A worker without a nanny: those give up a worker that dies while it starts."""
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        how = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory"]
        folder = tempfile.gettempdir()
        return subprocess.Popen([*command, *how, folder], stdout=-3, stderr=-3)

    def run(self) -> None:
        while not self.stopped.wait(self.random.uniform(*SECONDS_BETWEEN_LOSSES)):
            at = self.random.randrange(N_WORKERS)
            self.workers[at].kill()
            self.workers[at].wait()
            self.killed += 1
            self.workers[at] = self.start_worker()

    def stop(self) -> None:
        self.stopped.set()
        self.join()
        for worker in self.workers:
            worker.kill()
            worker.wait()


def soak(minutes: float, seed: int) -> int:
    """Fits until the time is over; exit status 1 when an answer differs."""
    # a task that was on three dead workers is given up by default: here they all die in the end
    dask.config.set({"distributed.scheduler.allowed-failures": 1000})
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    random, end = Random(seed), time.monotonic() + 60 * minutes
    counted = Counter[str]()
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        killer = Killer(cluster.scheduler_address, random)
        killer.start()
        while time.monotonic() < end:
            estimator, (X, y) = random.choice(METHODS), draw_blocks(random)
            found = answers(estimator, X, y)
            with dask.config.set(scheduler="synchronous"):
                expected = answers(estimator, X, y)
            counted["fits"] += 1
            counted["rows"] += X.shape[0]
            if not all(map(np.array_equal, found, expected)):
                counted["different"] += 1
                worst = max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True))
                print(f"{type(estimator).__name__} differs by {worst}", flush=True)
        killer.stop()
    counted["workers lost"] = killer.killed
    print(f"seed {seed}: " + ", ".join(f"{n} {name}" for name, n in sorted(counted.items())))
    return 1 if counted["different"] else 0
