"""The folds of a comparison: those already in a file, those still to run, and the clock."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from separatrix.evaluate.checkpoint import ResultsFile
from separatrix.evaluate.fold import Job, RowSplit
from separatrix.evaluate.records import Fold, Progress
from separatrix.evaluate.workers import may_work_again, run_jobs
from separatrix.moments.labelled import LabelledRows

FoldId = tuple[str, int]
"""Name of a method and number of a split."""


def fold_id(job: Job) -> FoldId:
    """The method and the split of a job."""
    return job.contender.name, job.split


def run_folds(
    jobs: list[Job],
    keys: dict[FoldId, str],
    data: LabelledRows,
    splits: Sequence[RowSplit],
    file: ResultsFile | None,
    n_jobs: int | None,
    time_budget: float | None,
    progress: Callable[[Progress], None] | bool | None,
    client: Any,
) -> list[Fold]:
    """The folds of all jobs that were tried, by split: from the file, or run now."""
    known = {} if file is None else _known_folds(keys, file, time_budget)
    spent = _seconds_by_method(known.values())
    todo = [job for job in jobs if fold_id(job) not in known]
    if file is not None:
        file.check_writable(len(todo))
    at_once = n_jobs if client is None else max(1, len(client.nthreads()))
    clock = Clock(todo, len(jobs), known.values(), at_once)
    report = print_progress if progress is True else progress or (lambda _: None)
    report(clock.now())
    events = run_jobs(
        todo, data, splits, n_jobs=n_jobs, time_budget=time_budget, spent=spent, client=client
    )
    with closing(events):  # whatever happens here, workers do not outlive it
        for event in events:
            if isinstance(event, list):
                report(clock.now(event))
                continue
            job, fold = event
            if fold is not None:
                known[fold_id(job)] = fold
                if file is not None:
                    file.keep(keys[fold_id(job)], fold)
            clock.ended(job, fold)
            report(clock.now(fold=fold))
    return [known[fold_id(job)] for job in jobs if fold_id(job) in known]


def _known_folds(
    keys: dict[FoldId, str], file: ResultsFile, time_budget: float | None
) -> dict[FoldId, Fold]:
    """Folds of the file; one that was stopped counts as long as the budget is no larger now.

    Those that failed for a passing reason are tried again.
    """
    found = {which: file.folds[key] for which, key in keys.items() if key in file.folds}
    known = {which: fold for which, fold in found.items() if not may_work_again(fold)}
    limit = math.inf if time_budget is None else time_budget
    spent = _seconds_by_method(known.values())
    return {
        which: fold
        for which, fold in known.items()
        if fold.status != "stopped" or spent[fold.method] >= limit
    }


def _seconds_by_method(folds: Iterable[Fold]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for fold in folds:
        spent[fold.method] = spent.get(fold.method, 0.0) + fold.seconds
    return spent


def describe_progress(now: Progress) -> str:
    """How far a comparison is, in a line.

    Examples
    --------
    >>> describe_progress(Progress(3, 10, 5.0, 130.0, ("LDG",)))
    '3 of 10 folds, 2 min 10 s left, LDG'
    """
    parts = [f"{now.done} of {now.total} folds"]
    if now.remaining is not None and now.done < now.total:
        minutes, seconds = divmod(round(now.remaining), 60)
        parts.append(f"{f'{minutes} min ' if minutes else ''}{seconds} s left")
    return ", ".join([*parts, *now.running[:2]])


def print_progress(now: Progress) -> None:
    """Print how far a comparison is on one line that is written over, in a notebook too."""
    end = "\n" if now.done == now.total else ""
    print(f"\r{describe_progress(now):<78.78}", end=end, file=sys.stderr, flush=True)


class Clock:
    """How far a comparison is, and the time left, estimated from the folds so far."""

    def __init__(
        self, todo: list[Job], total: int, known: Iterable[Fold], n_jobs: int | None
    ) -> None:
        self.start = time.monotonic()
        self.total = total
        self.todo = Counter(job.contender.name for job in todo)
        self.seconds: dict[str, list[float]] = {}
        self.workers = effective_n_jobs(n_jobs)
        for fold in known:
            self.seconds.setdefault(fold.method, []).append(fold.seconds)

    def ended(self, job: Job, fold: Fold | None) -> None:
        """Count a job that needs no more work."""
        self.todo[job.contender.name] -= 1
        if fold is not None:
            self.seconds.setdefault(fold.method, []).append(fold.seconds)

    def now(self, running: Iterable[Job] = (), fold: Fold | None = None) -> Progress:
        """Progress at this moment."""
        return Progress(
            done=self.total - sum(self.todo.values()),
            total=self.total,
            elapsed=time.monotonic() - self.start,
            remaining=self._remaining(),
            running=tuple(job.contender.name for job in running),
            fold=fold,
        )

    def _remaining(self) -> float | None:
        """Mean seconds of each method, of all of them where it has none yet."""
        means = {name: float(np.mean(seconds)) for name, seconds in self.seconds.items()}
        if not means:
            return None
        typical = float(np.mean(list(means.values())))
        left = sum(n * means.get(name, typical) for name, n in self.todo.items())
        return left / self.workers
