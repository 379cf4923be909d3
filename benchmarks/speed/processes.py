"""Whole programs: what they cost before they do anything, and what a Dask cluster adds."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.speed.runner import Case, Row, Settings, share

PLAIN, ONE = "a plain loop over the file", "one process"
FIT, SKLEARN = "separatrix fit of 60 rows of csv", "import sklearn.base"


def start(settings: Settings) -> list[Row]:
    """Processor time of new processes, with the bytecode that an installed package has."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "small.csv"
        rng = np.random.default_rng(0)
        lines = [
            f"{a:.3f},{b:.3f},{c}"
            for (a, b), c in zip(rng.random((60, 2)), "uvw" * 20, strict=True)
        ]
        table.write_text("\n".join(["length,width,kind", *lines]))
        fit = ["-m", "separatrix", "fit", str(table), "-t", "kind", "-o", f"{folder}/m.model"]
        programs = {
            "import separatrix": (["-c", "import separatrix"], 0.15),
            "separatrix --help": (["-m", "separatrix", "--help"], 0.15),
            FIT: (fit, 1.2),
            SKLEARN: (["-c", SKLEARN], None),
        }
        seconds = dict.fromkeys(programs, np.inf)
        for _ in range(1 if settings.quick else min(settings.rounds, 4) + 1):
            for name, (arguments, _) in programs.items():
                seconds[name] = min(seconds[name], seconds_of_program(arguments))
    rows = [
        share(name, seconds[name], f"{limit:g} s", limit, at_most=1)
        for name, (_, limit) in programs.items()
        if limit is not None
    ]
    return [*rows, share(FIT, seconds[FIT], SKLEARN, seconds[SKLEARN])]


def seconds_of_program(arguments: list[str]) -> float:
    """Processor seconds of a Python program that may keep its bytecode, as it usually does."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.update({f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def dask(settings: Settings) -> list[Row]:
    """Two workers, beside a plain loop in processor time and beside one process in wall time."""
    if settings.quick:
        return []
    program = [sys.executable, "-m", "benchmarks.distributed", "speed"]
    program += ["--rounds", str(settings.rounds)]
    found = json.loads(subprocess.run(program, check=True, capture_output=True).stdout)
    plain, one, two = (found[name] for name in ("plain loop", "one process", "two workers"))
    work = "FisherDiscriminant.fit, Dask, two workers, 2000000×200 float32"
    ratio = one["wall"] / two["wall"]
    beside = Row(
        f"{work}, wall time",
        two["wall"],
        ONE,
        one["wall"],
        ratio=ratio,
        ratio_is="faster",
        must_reach="≥ 1.6× faster",
        reached=ratio >= 1.6,
    )
    return [share(work, two["cpu"], PLAIN, plain["cpu"], at_most=1.3), beside]


CASES: dict[str, Case] = {"start": start, "dask": dask}
