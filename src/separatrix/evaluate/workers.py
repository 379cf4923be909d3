"""Folds in processes of their own, which end when their time is up."""

from __future__ import annotations

import builtins
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits

from separatrix.evaluate.fold import Job, RowSplit, run_fold
from separatrix.evaluate.methods import method_classes
from separatrix.evaluate.records import Fold
from separatrix.moments.labelled import LabelledRows

MAX_SILENT_SECONDS = 1.0
"""Seconds after which something is yielded even when no fold has ended."""

DIED = "the process died"
"""Beginning of the reason of a fold whose process died."""

Outcome = tuple[Job, Fold | None]
"""A job and its fold; None where the time of the method was used up before it began."""


def run_jobs(
    jobs: Iterable[Job],
    data: LabelledRows,
    splits: Sequence[RowSplit],
    *,
    n_jobs: int | None,
    budget: float | None,
    spent: dict[str, float],
) -> Generator[Outcome | list[Job]]:
    """Folds as they end, and in between the jobs that are running.

    Without budget and with one job at a time folds run here. Otherwise each of `n_jobs` worker
    processes runs one fold after the other. All of them use one BLAS thread, so that results do
    not depend on how many there are.

    Parameters
    ----------
    jobs : iterable of Job
        Started in this order.
    data : LabelledRows
        Written to a temporary file once, with the splits; all workers map it into memory.
    splits : sequence of pairs
        Numbers of the training rows and of the test rows, by the number of the split.
    n_jobs : int or None
        As in joblib: None is 1, -1 all cores.
    budget : float or None
        Seconds for all folds of a method together. When they are over, its running folds are
        ended with their processes, and those that have not begun are not started.
    spent : dict
        Seconds that each method has taken; kept up to date.

    Yields
    ------
    (Job, Fold or None), or list of Job
    """
    n_workers = joblib.effective_n_jobs(n_jobs)
    if n_workers == 1 and budget is None:
        with threadpool_limits(1):
            for job in jobs:
                yield [job]
                yield job, run_fold(job, data, splits[job.split])
        return
    limit = Budget(budget, spent)
    waiting = deque(jobs)
    while waiting and limit.is_spent(waiting[0]):
        yield waiting.popleft(), None
    if not waiting:
        return
    directory = Path(tempfile.mkdtemp(prefix="separatrix-"))
    try:
        joblib.dump((data, splits), directory / "data")
        yield from _in_workers(waiting, directory / "data", n_workers, limit)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class RunningJob(NamedTuple):
    """A worker and its job, or None while its process starts."""

    worker: Worker
    job: Job | None
    start: float


def _in_workers(
    waiting: deque[Job], path: Path, n_workers: int, budget: Budget
) -> Iterator[Outcome | list[Job]]:
    idle: list[Worker] = []
    running = dict(_start_worker(path) for _ in range(min(n_workers, len(waiting))))
    try:
        while waiting or any(task.job is not None for task in running.values()):
            while waiting and idle:
                job = waiting.popleft()
                if budget.is_spent(job):
                    yield job, None
                    continue
                worker = idle.pop()
                time_left = budget.time_left(job, running)
                running[worker.submit(job, time_left)] = RunningJob(worker, job, time.monotonic())
            yield [task.job for task in running.values() if task.job is not None]
            ended, _ = wait(running, budget.patience(running), return_when=FIRST_COMPLETED)
            for future in ended | budget.late(running):
                task = running.pop(future)
                if task.job is None:
                    future.result()
                    idle.append(task.worker)
                    continue
                fold = _make_fold(future, task.job, budget.seconds, time.monotonic() - task.start)
                if future in ended and future.exception() is None:
                    idle.append(task.worker)
                else:
                    task.worker.end()
                    running.update([_start_worker(path)] if waiting else [])
                budget.spend(fold)
                yield task.job, fold
    finally:
        for worker in [*idle, *(task.worker for task in running.values())]:
            worker.end()


def _start_worker(path: Path) -> tuple[Future[Any], RunningJob]:
    """A process that is starting, which is not the time of a fold."""
    worker = Worker(path)
    return worker.last, RunningJob(worker, None, time.monotonic())


def _make_fold(future: Future[Fold], job: Job, budget: float, seconds: float) -> Fold:
    """The fold of a job, or a record of why there is none."""
    if not future.done():
        status, reason = "stopped", f"time budget of {budget:g} s"
    elif future.exception() is None:
        return future.result()
    elif _is_death(future.exception()):
        status, reason = "failed", f"{DIED}: out of memory, or a crash of compiled code"
    else:
        error = future.exception()
        status, reason = "failed", f"{type(error).__name__}: {error}"
    return Fold(job.contender.name, job.split, status, reason, seconds)


def _is_death(error: BaseException | None) -> bool:
    """Whether an error says that a process has died."""
    return isinstance(error, BrokenExecutor)


def may_work_again(fold: Fold) -> bool:
    """Whether a fold failed for a passing reason: a process that died, memory, files.

    Examples
    --------
    >>> may_work_again(Fold("a", 0, "failed", "PermissionError: no"))
    True
    >>> may_work_again(Fold("a", 0, "failed", "ValueError: no"))
    False
    """
    kind = fold.reason.split(":")[0]
    error = getattr(builtins, kind, None)
    return fold.status == "failed" and (
        kind == DIED
        or kind.endswith("MemoryError")  # NumPy has one of its own
        or (isinstance(error, type) and issubclass(error, OSError))
    )


class Budget:
    """Seconds for each method, over all its folds."""

    def __init__(self, seconds: float | None, spent: dict[str, float]) -> None:
        self.seconds = float("inf") if seconds is None else seconds
        self.spent = spent

    def spent_on(self, job: Job) -> float:
        """Seconds of the folds of its method that have ended."""
        return self.spent.get(job.contender.name, 0.0)

    def is_spent(self, job: Job) -> bool:
        """Whether its method has no time left to begin another fold."""
        return self.spent_on(job) >= self.seconds

    def time_left(self, job: Job, running: Mapping[Any, RunningJob]) -> float:
        """Seconds for a fold that begins now, while others of its method are running."""
        name = job.contender.name
        same_method = [
            t for t in running.values() if t.job is not None and t.job.contender.name == name
        ]
        elapsed = sum(time.monotonic() - task.start for task in same_method)
        return (self.seconds - self.spent_on(job) - elapsed) / (1 + len(same_method))

    def spend(self, fold: Fold) -> None:
        """Count a fold that has ended."""
        self.spent[fold.method] = self.spent.get(fold.method, 0.0) + fold.seconds

    def left(self, running: Mapping[Any, RunningJob]) -> dict[Any, float]:
        """Seconds that remain to the method of each task; its running folds count, too."""
        now = time.monotonic()
        elapsed: dict[str, float] = {}
        for _, job, start in running.values():
            if job is not None:
                name = job.contender.name
                elapsed[name] = elapsed.get(name, 0.0) + now - start
        return {
            key: self.seconds - self.spent_on(task.job) - elapsed[task.job.contender.name]
            for key, task in running.items()
            if task.job is not None
        }

    def patience(self, running: Mapping[Any, RunningJob]) -> float:
        """Seconds to wait before the next look."""
        return max(0.0, min([MAX_SILENT_SECONDS, *self.left(running).values()]))

    def late(self, running: Mapping[Any, RunningJob]) -> set[Any]:
        """Tasks whose time is over and that have not ended."""
        return {f for f, left in self.left(running).items() if left <= 0 and not f.done()}


# One process -------------------------------------------------------------------------------------


class Worker:
    """A process that runs folds, one at a time, and can be ended in the middle of one."""

    def __init__(self, path: Path) -> None:
        self.executor = ProcessPoolExecutor(1, initializer=_start, initargs=(path, os.getpid()))
        with interrupts_held_back():  # a process inherits blocked signals
            self.last: Future[Any] = self.executor.submit(os.getpid)

    def submit(self, job: Job, time_left: float) -> Future[Fold]:
        """Begin a fold."""
        self.last = self.executor.submit(_run, job, time_left)
        return self.last

    def end(self) -> None:
        """End the process, whatever it does."""
        while not (self.last.running() or self.last.done()):
            time.sleep(0.001)  # on its way to the process: ending now would leave that behind
        self.executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Keep Ctrl-C from processes that start in here: it is for the one that answers the user."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # when it starts in here it lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_here: dict[str, Any] = {}


def _start(path: Path, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked before
    method_classes()  # imports all methods now, which is not the time of a fold
    _here["data"], _here["splits"] = joblib.load(path, mmap_mode="r")
    _here["threads"] = threadpool_limits(1)
    threading.Thread(target=_end_with, args=(parent, path.parent), daemon=True).start()


def _end_with(parent: int, directory: Path) -> None:
    """End this process soon after the one that started it is gone, and take its files away."""
    while os.getppid() == parent:
        time.sleep(1.0)
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(1)


def _run(job: Job, time_left: float) -> Fold:
    return run_fold(job, _here["data"], _here["splits"][job.split], time_left)
