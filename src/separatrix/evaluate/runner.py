"""The folds of a comparison: those already in a file, those still to run, and the clock."""

from __future__ import annotations

import json
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
    budget: float | None,
    progress: Callable[[Progress], None] | bool | str,
) -> list[Fold]:
    """The folds of all jobs that were tried, by split: from the file, or run now."""
    known = {} if file is None else _known_folds(keys, file, budget)
    spent = _seconds_by_method(known.values())
    todo = [job for job in jobs if fold_id(job) not in known]
    if file is not None:
        file.check_writable(len(todo))
    clock = Clock(todo, len(jobs), known.values(), n_jobs)
    report = choose_reporter(progress)
    report(clock.now())
    events = run_jobs(todo, data, splits, n_jobs=n_jobs, budget=budget, spent=spent)
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
    keys: dict[FoldId, str], file: ResultsFile, budget: float | None
) -> dict[FoldId, Fold]:
    """Folds of the file; one that was stopped counts as long as the budget is no larger now.

    Those that failed for a passing reason are tried again.
    """
    kept = {which: file.folds[key] for which, key in keys.items() if key in file.folds}
    usable = {which: fold for which, fold in kept.items() if not may_work_again(fold)}
    limit = math.inf if budget is None else budget
    spent = _seconds_by_method(usable.values())
    return {
        which: fold
        for which, fold in usable.items()
        if fold.status != "stopped" or spent[fold.method] >= limit
    }


def _seconds_by_method(folds: Iterable[Fold]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for fold in folds:
        spent[fold.method] = spent.get(fold.method, 0.0) + fold.seconds
    return spent


BAR_LETTERS = 20
"""Width of the progress bar."""


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


def describe_shares(now: Progress, most: int = 3) -> str:
    """How long a comparison will take in all, and the methods that take most of it.

    Empty until every method has a fold: a guess at those without one was wrong by a factor of
    four.

    Examples
    --------
    >>> now = Progress(3, 30, 6.0, 54.0, by_method={"LDA": 1.0, "LDG": 9.0, "KernelLDG": 50.0})
    >>> describe_shares(now)
    'about 1 min 0 s in all: KernelLDG 83 %, LDG 15 %, LDA 2 %'
    """
    if now.remaining is None or not now.by_method:
        return ""
    minutes, seconds = divmod(round(now.elapsed + now.remaining), 60)
    total = sum(now.by_method.values()) or 1.0
    slowest = sorted(now.by_method.items(), key=lambda entry: -entry[1])[:most]
    shares = ", ".join(f"{name} {100 * spent / total:.0f} %" for name, spent in slowest)
    return f"about {f'{minutes} min ' if minutes else ''}{seconds} s in all: {shares}"


def choose_reporter(progress: Any) -> Callable[[Progress], None]:
    """The function that is called with the progress of a comparison."""
    if progress is True:
        return print_progress
    return print_events if progress == "json" else progress or (lambda _: None)


def print_progress(now: Progress) -> None:
    """Print how far a comparison is on one line that is written over, in a notebook too."""
    end = "\n" if now.done == now.total else ""
    full = round(BAR_LETTERS * now.done / max(now.total, 1))
    bar = "█" * full + "░" * (BAR_LETTERS - full)
    print(f"\r{bar} {describe_progress(now):<57.57}", end=end, file=sys.stderr, flush=True)


def print_events(now: Progress) -> None:
    """Print a line of JSON for each fold that has ended."""
    if now.fold is not None:
        known = {"method": now.fold.method, "split": now.fold.split, "status": now.fold.status}
        counts = {"done": now.done, "total": now.total, "seconds": round(now.elapsed, 3)}
        left = None if now.remaining is None else round(now.remaining, 3)
        event = {"event": "fold", **known, **counts, "remaining": left}
        print(json.dumps(event), file=sys.stderr, flush=True)


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
            by_method=self._by_method(),
        )

    def _by_method(self) -> dict[str, float]:
        """Seconds of each method in all: of folds that ended, and the mean for those to come."""
        return {
            name: sum(spent) + self.todo[name] * float(np.mean(spent))
            for name, spent in self.seconds.items()
        }

    def _remaining(self) -> float | None:
        """Mean seconds of each method; None until all of them have a fold."""
        if any(n and name not in self.seconds for name, n in self.todo.items()):
            return None
        left = sum(n * float(np.mean(self.seconds[name])) for name, n in self.todo.items() if n)
        return left / self.workers
