"""Measure every case, print one table, store the numbers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.speed import early, fisher, ipcac, kernel, ldg, margin, one_thread, stream
from benchmarks.speed.runner import (
    THREADS,
    Case,
    OtherLoad,
    Row,
    Settings,
    machine_facts,
    table,
)

CASES: dict[str, Case] = {  # one term a family
    **fisher.CASES,
    **ipcac.CASES,
    **stream.CASES,
    **kernel.CASES,
    **ldg.CASES,
    **margin.CASES,
    **early.CASES,
    **one_thread.CASES,
}
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    options = parsed_options()
    settings = Settings(options.quick, options.repeat or (2 if options.quick else 7))
    chosen = {name: case for name, case in CASES.items() if options.only in name}
    if not chosen:
        raise SystemExit(f"no case is called {options.only!r}: there are {', '.join(CASES)}")
    with threadpool_limits(THREADS):
        machine = machine_facts()
        rows = measured(chosen, settings)
    print(table([row for _, row in rows]))
    # a part of the work, or small sizes, must not replace the numbers of a whole run
    whole = not options.quick and len(chosen) == len(CASES)
    path = options.json or (RESULTS if whole else None)
    if path is not None:
        path.write_text(as_json(machine, settings, rows))


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds in all")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds (default: 7; 2 if quick)")
    parser.add_argument("--only", default="", metavar="NAME", help="cases with this in their name")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help=f"where the numbers go (default: {RESULTS.name} beside this program for a whole run)",
    )
    options = parser.parse_args()
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat {options.repeat} must be at least 1")
    return options


def measured(cases: dict[str, Case], settings: Settings) -> list[tuple[str, Row]]:
    """The rows of all cases, each with the name of its case."""
    rows = []
    for name, case in cases.items():
        print(name, file=sys.stderr, flush=True)
        load = OtherLoad()
        found = case(settings)
        rows += [(name, row._replace(other_load=load.share())) for row in found]
    if settings.quick:  # the targets are for the full sizes
        rows = [(name, row._replace(must_reach="", reached=None)) for name, row in rows]
    return rows


def as_json(machine: dict[str, object], settings: Settings, rows: list[tuple[str, Row]]) -> str:
    record = {
        "machine": machine,
        "settings": settings._asdict(),
        "rows": [{"case": name, **row._asdict()} for name, row in rows],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
