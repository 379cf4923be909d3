"""Size of the report and time until it is drawn, with 5000 held-out rows by 26 methods.

Run ``python -m benchmarks.report``; it needs chromium and ``pip install 'separatrix[test]'``.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from separatrix import datasets, report
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.records import Comparison
from separatrix.evaluate.splits import RandomShares

N_POINTS, N_METHODS, N_FEATURES, N_CLASSES = 5000, 26, 20, 10
METHODS = ["FisherDiscriminant", "PCA", "LDA", "raw"]
RUNS = 5


def large_comparison() -> Comparison:
    """A comparison with as many held-out rows, its methods repeated under other names."""
    n_rows = round(N_POINTS / 0.3)
    data = datasets.make_gaussian_classes(
        n_samples=n_rows, n_features=N_FEATURES, n_classes=N_CLASSES, random_state=0
    )
    found = compare(METHODS, data.data, data.target, cv=RandomShares(2))
    first = found.methods[0]
    more = [
        dataclasses.replace(first, name=f"FisherDiscriminant {i}")
        for i in range(2, N_METHODS - len(found.methods) + 2)
    ]
    return dataclasses.replace(found, methods=(*found.methods, *more))


def seconds_to_open(path: Path, chromium: str) -> list[float]:
    """Wall time from asking for the file to the end of drawing, in a fresh page each."""
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=chromium, args=arguments)
        for _ in range(RUNS):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            times.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return times


def main() -> None:
    comparison = large_comparison()
    start = time.perf_counter()
    text = report.render(report.facts(comparison))
    made = time.perf_counter() - start
    print(f"{len(comparison.tests[0])} held-out rows by {len(comparison.methods)} methods")
    print(f"size of the report   {len(text.encode()) / 1e6:.2f} MB")
    print(f"time to make it      {made:.2f} s")
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("time to open it      not measured: chromium is not installed")
    with TemporaryDirectory() as place:
        path = Path(place, "report.html")
        path.write_text(text, encoding="utf-8")
        times = sorted(seconds_to_open(path, chromium))
    print(f"time to open it      {times[0]:.2f} s at best, {times[-1]:.2f} s at worst of {RUNS}")


if __name__ == "__main__":
    main()
