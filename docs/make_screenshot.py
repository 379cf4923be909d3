"""Makes the pictures of the report in docs/images: the report of wine, as a browser shows it.

Run ``python docs/make_screenshot.py``; it needs chromium and ``pip install 'separatrix[test]'``.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from playwright.sync_api import sync_playwright

from separatrix import datasets, report
from separatrix.evaluate.comparison import compare

METHODS = [
    "FisherDiscriminant",
    "GroupedDiscriminant",
    "IPCAC",
    "LocalFisherDiscriminant",
    "KernelFisherDiscriminant",
    "MaximumMarginCriterion",
    "3-NN",
    "PCA",
    "LDA",
]
SHOTS = {
    "report.png": ({"width": 1180, "height": 900}, "light", "#verdict"),
    "report-projections.png": ({"width": 1180, "height": 900}, "dark", "#projections"),
    "report-phone.png": ({"width": 390, "height": 844}, "light", "#verdict"),
}


def main(folder: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed")
    wine = datasets.load("wine")
    comparison = compare(METHODS, pd.DataFrame(wine.data, columns=wine.feature_names), wine.target)
    page_text = report.render(
        report.facts(
            comparison, title="wine", command="separatrix compare wine --report wine.html"
        )
    )
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as started:
        path = Path(place, "wine.html")
        path.write_text(page_text, encoding="utf-8")
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=chromium, args=arguments)
        for name, (size, colours, part) in SHOTS.items():
            page = browser.new_context(viewport=size, color_scheme=colours).new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.locator(part).screenshot(path=folder / name)
            print(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(Path(__file__).parent / "images")
