"""Measure, print one table, store the numbers.

Without options the cases of the manual's table are measured, in processor time with one thread
but for those that say otherwise; ``--all`` measures every family, in wall time with two threads.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.speed import (
    early,
    fisher,
    ipcac,
    kernel,
    ldg,
    margin,
    one_thread,
    processes,
    stream,
)
from benchmarks.speed.runner import (
    THREADS,
    Case,
    OtherLoad,
    Row,
    Settings,
    in_one_thread,
    machine_facts,
    table,
)

CASES: dict[str, Case] = {  # one term a family
    **one_thread.CASES,
    "cpu margin": in_one_thread(margin.printed),
    "cpu margin of many rows": in_one_thread(margin.many_rows),
    "two threads, LDG": ldg.wide,
    "two threads, window": one_thread.window,
    **processes.CASES,
    **fisher.CASES,
    **ipcac.CASES,
    **stream.CASES,
    **kernel.CASES,
    **ldg.CASES,
    **margin.CASES,
    **early.CASES,
}
QUOTED = ("cpu", "two threads", "start", "dask")
"""How the names of the cases begin that the manual quotes."""

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    options = parsed_options()
    settings = Settings(options.quick, options.repeat or (2 if options.quick else 4))
    chosen = {name: case for name, case in CASES.items() if options.only in name}
    if not options.all and not options.only:
        chosen = {name: case for name, case in CASES.items() if name.startswith(QUOTED)}
    if not chosen:
        raise SystemExit(f"no case is called {options.only!r}: there are {', '.join(CASES)}")
    rows = []
    with threadpool_limits(THREADS):
        facts = {"date": date.today().isoformat(), "rounds": settings.rounds, **machine_facts()}
        for name, case in chosen.items():
            print(name, file=sys.stderr, flush=True)
            found = measured(case, settings)
            rows += found
            if options.store:  # at once: a run may be interrupted
                keep(name, {"measured": facts, "rows": [row._asdict() for row in found]})
    print(table(rows))


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds in all")
    parser.add_argument("--all", action="store_true", help="every family, not only the table")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds (default: 4; 2 if quick)")
    parser.add_argument("--only", default="", metavar="NAME", help="cases with this in their name")
    parser.add_argument(
        "--store",
        action="store_true",
        help=f"keep the numbers of these cases in {RESULTS.name}, beside those of the others",
    )
    options = parser.parse_args()
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat {options.repeat} must be at least 1")
    if options.store and options.quick:
        parser.error("--store keeps numbers of the full sizes: leave out --quick")
    return options


def measured(case: Case, settings: Settings) -> list[Row]:
    """The rows of a case, with the load of the machine meanwhile."""
    load = OtherLoad()
    rows = [row._replace(other_load=load.share()) for row in case(settings)]
    if settings.quick:  # the targets are for the full sizes
        rows = [row._replace(must_reach="", reached=None) for row in rows]
    return rows


def keep(name: str, record: dict[str, Any]) -> None:
    """Replace the stored figures of a case; those of other cases stay."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    stored[name] = record
    RESULTS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
