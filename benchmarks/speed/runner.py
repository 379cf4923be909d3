"""What every case uses: threads, timing, memory, the rows of the table.

A family of methods has a module with a dictionary ``CASES``: from a name to a function that
takes `Settings`, measures, and returns rows.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import platform
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info, threadpool_limits

import separatrix
from separatrix.linalg.blas import blas_threads

THREADS = min(2, os.cpu_count() or 1)
RARE_ROUNDS = 2
"""How many rounds a slow peer takes part in."""

MB, GB = 1e6, 1e9

Task = Callable[[], object]


class Settings(NamedTuple):
    """Whether sizes are small, and how many rounds are timed."""

    quick: bool
    rounds: int


# Rows of the table ---------------------------------------------------------------------------


class Row(NamedTuple):
    """One comparison; `theirs` and `ratio` are absent where nothing stands beside ours.

    `other_load` is the share of the processors that other processes had meanwhile: beyond a few
    hundredths it disturbs the ratios too, since products by several threads suffer most.
    """

    work: str
    ours: float | str
    peer: str = ""
    theirs: float | None = None
    unit: str = "s"
    ratio: float | None = None
    ratio_is: str = ""
    must_reach: str = ""
    reached: bool | None = None
    other_load: float | None = None


Case = Callable[[Settings], list[Row]]


def faster(work: str, ours: float, peer: str, theirs: float, *, at_least: float) -> Row:
    """How many times faster than a peer that must be outrun."""
    ratio = theirs / ours
    must = f"≥ {at_least:g}× faster"
    return Row(work, ours, peer, theirs, "s", ratio, "faster", must, ratio >= at_least)


def share(
    work: str,
    ours: float,
    peer: str,
    theirs: float,
    *,
    unit: str = "s",
    at_most: float | None = None,
) -> Row:
    """Ours as a multiple of a peer's time or of another amount of memory."""
    ratio = ours / theirs
    row = Row(work, ours, peer, theirs, unit, ratio, "of it")
    if at_most is None:
        return row
    return row._replace(must_reach=f"≤ {at_most:g}× of it", reached=ratio <= at_most)


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned plain text."""
    head = ("work", "ours", "peer", "peer's", "ratio", "must reach", "reached", "other load")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    lines.insert(1, tuple("-" * width for width in widths))
    right = {1, 3, 4, 7}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}× {row.ratio_is}"
    reached = {True: "yes", False: "no", None: ""}[row.reached]
    ours, theirs = _amount(row.ours, row.unit), _amount(row.theirs, row.unit)
    load = "" if row.other_load is None else f"{row.other_load:.0%}"
    return row.work, ours, row.peer, theirs, ratio, row.must_reach, reached, load


def _amount(value: float | str | None, unit: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4f} s" if unit == "s" else f"{value:.1f} {unit}"


# Time and memory -----------------------------------------------------------------------------


def seconds_of(
    tasks: Mapping[str, Task], rounds: int, *, rarely: Collection[str] = ()
) -> dict[str, float]:
    """The least time of each task over rounds that run all of them in turn.

    Load on the machine so falls on all alike; the least time is the one it disturbed least.
    Tasks named in `rarely` take part in the first rounds only. With one thread it is processor
    time, which a busy machine hardly disturbs, with several wall time.
    """
    clock = time.process_time if blas_threads() == 1 else time.perf_counter
    best = dict.fromkeys(tasks, np.inf)
    for i in range(rounds):
        for name, task in tasks.items():
            if name in rarely and i >= RARE_ROUNDS:
                continue
            gc.collect()
            start = clock()
            task()
            best[name] = min(best[name], clock() - start)
    return best


def in_one_thread(case: Case) -> Case:
    """The same case in processor time, with one thread."""

    @wraps(case)
    def measure(settings: Settings) -> list[Row]:
        with threadpool_limits(1):
            return case(settings)

    return measure


def extra_memory(task: Task) -> float:
    """Peak of the arrays and objects that a task allocates, in MB.

    Work space that BLAS and LAPACK take for themselves is not seen.
    """
    gc.collect()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()


def in_fresh_process(function: Callable[..., Any], *args: object) -> Any:
    """The result of a function that runs alone in a new process, with as many threads."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_with_threads, function, *args).result()


def _with_threads(function: Callable[..., Any], *args: object) -> Any:
    with threadpool_limits(THREADS):
        return function(*args)


def peak_resident() -> float:
    """The most memory this process has held so far, in MB.

    On Linux getrusage counts what the parent held before the new process began, so the
    kernel's own mark for this process is preferred.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / MB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / MB


class OtherLoad:
    """The share of the processors that other processes have had since this was made."""

    def __init__(self) -> None:
        self.start, self.others = time.perf_counter(), self._seconds()

    def share(self) -> float | None:
        """Between 0 and 1; None where the system does not tell."""
        now = self._seconds()
        if self.others is None or now is None:
            return None
        available = (time.perf_counter() - self.start) * (os.cpu_count() or 1)
        return max(0.0, (now - self.others) / available)

    @staticmethod
    def _seconds() -> float | None:
        """Processor time of all processes but this one and the ones it has started and ended."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
        idle = ticks[3] + ticks[4]
        return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


# The machine ---------------------------------------------------------------------------------


def machine_facts() -> dict[str, object]:
    """What the numbers depend on; call it while the threads are limited."""
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kinds = {
        f"{lib['internal_api']} {lib['version']} {lib.get('architecture', '')}".strip()
        for lib in blas
    }
    return {
        "cpus": os.cpu_count(),
        "blas_threads": max((library["num_threads"] for library in blas), default=1),
        "blas": sorted(kinds),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "separatrix": separatrix.__version__,
    }
