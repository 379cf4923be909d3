"""Folds in processes of their own, which end when their time is up."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits

from separatrix.comparison import Fold
from separatrix.fold import Data, Job, run_fold

SIGN_OF_LIFE = 1.0
"""Seconds after which something is yielded even when no fold has ended."""

Outcome = tuple[Job, Fold | None]
"""A job and its fold; None in its place where the time of the method was spent before."""


def run_jobs(
    jobs: Iterable[Job],
    data: Data,
    *,
    n_jobs: int | None,
    time_budget: float | None,
    spent: dict[str, float],
) -> Iterator[Outcome | list[Job]]:
    """Folds as they end, and in between the jobs that are running.

    Without budget and with one job at a time folds run here. Otherwise each of `n_jobs` worker
    processes runs one fold after the other. All of them use one BLAS thread, so that results do
    not depend on how many there are.

    Parameters
    ----------
    jobs : iterable of Job
        Started in this order.
    data : Data
        Written to a temporary file once, which all workers map into memory.
    n_jobs : int or None
        As in joblib: None is 1, -1 all cores.
    time_budget : float or None
        Seconds for all folds of a method together. When they are over, its running folds are
        ended with their processes, and those that have not begun are not started.
    spent : dict
        Seconds that each method has taken; kept up to date.

    Yields
    ------
    (Job, Fold or None), or list of Job
    """
    n_workers = joblib.effective_n_jobs(n_jobs)
    if n_workers == 1 and time_budget is None:
        with threadpool_limits(1):
            for job in jobs:
                yield [job]
                yield job, run_fold(job, data)
        return
    directory = Path(tempfile.mkdtemp(prefix="separatrix-"))
    try:
        joblib.dump(data, directory / "data")
        yield from _in_workers(deque(jobs), directory / "data", n_workers, time_budget, spent)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _in_workers(
    waiting: deque[Job],
    path: Path,
    n_workers: int,
    time_budget: float | None,
    spent: dict[str, float],
) -> Iterator[Outcome | list[Job]]:
    idle = [Worker(path) for _ in range(min(n_workers, len(waiting)))]
    running: dict[Future[Fold], tuple[Worker, Job, float]] = {}
    limit = float("inf") if time_budget is None else time_budget
    try:
        while waiting or running:
            while waiting and idle:
                job = waiting.popleft()
                if spent.get(job.contender.name, 0.0) >= limit:
                    yield job, None
                    continue
                worker = idle.pop()
                running[worker.submit(job)] = worker, job, time.monotonic()
            yield [job for _, job, _ in running.values()]
            now = time.monotonic()
            left = [limit - _used(job, running, spent, now) for _, job, _ in running.values()]
            ended, _ = wait(
                running, max(0.0, min([SIGN_OF_LIFE, *left])), return_when=FIRST_COMPLETED
            )
            for future in ended:
                worker, job, start = running.pop(future)
                fold, worker = _outcome(future, worker, job, time.monotonic() - start)
                idle.append(worker)
                spent[job.contender.name] = spent.get(job.contender.name, 0.0) + fold.seconds
                yield job, fold
            now = time.monotonic()
            late = [
                f for f, (_, job, _) in running.items() if _used(job, running, spent, now) >= limit
            ]
            for future in late:
                worker, job, start = running.pop(future)
                idle.append(worker.replaced())
                reason = f"time budget of {limit:g} s"
                fold = Fold(job.contender.name, job.split, "stopped", reason, now - start)
                spent[job.contender.name] = spent.get(job.contender.name, 0.0) + fold.seconds
                yield job, fold
    finally:
        for worker in [*idle, *(w for w, _, _ in running.values())]:
            worker.end()


def _used(
    job: Job,
    running: dict[Future[Fold], tuple[Worker, Job, float]],
    spent: dict[str, float],
    now: float,
) -> float:
    """Seconds of the method of a job, with those of its folds that are running."""
    name = job.contender.name
    elapsed = [now - start for _, j, start in running.values() if j.contender.name == name]
    return spent.get(name, 0.0) + sum(elapsed)


def _outcome(
    future: Future[Fold], worker: Worker, job: Job, seconds: float
) -> tuple[Fold, Worker]:
    """The fold of a worker, and the worker; a new one where the process has died."""
    error = future.exception()
    if error is None:
        return future.result(), worker
    reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    fold = Fold(job.contender.name, job.split, "failed", reason, seconds)
    return fold, worker.replaced()


# One process -------------------------------------------------------------------------------------


class Worker:
    """A process that runs folds, one at a time, and can be ended in the middle of one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.executor = ProcessPoolExecutor(1, initializer=_start, initargs=(path, os.getpid()))
        self.executor.submit(os.getpid).result()  # starting is not the time of a fold

    def submit(self, job: Job) -> Future[Fold]:
        """Begin a fold."""
        return self.executor.submit(_run, job)

    def end(self) -> None:
        """End the process, whatever it does."""
        self.executor.shutdown(wait=True, kill_workers=True)

    def replaced(self) -> Worker:
        """Another one in place of this."""
        self.end()
        return Worker(self.path)


_here: dict[str, Any] = {}


def _start(path: Path, parent: int) -> None:
    _here["data"] = joblib.load(path, mmap_mode="r")
    _here["threads"] = threadpool_limits(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _run(job: Job) -> Fold:
    return run_fold(job, _here["data"])
