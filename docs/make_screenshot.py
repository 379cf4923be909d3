"""Makes the pictures in docs/images: the report of wine and the studio, as a browser shows them.

Run ``python docs/make_screenshot.py``; it needs chromium and ``pip install 'separatrix[test]'``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from playwright.sync_api import Browser, sync_playwright

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
        shoot_studio(browser, Path(place, "projects"), folder / "studio.png")
        browser.close()


def shoot_studio(browser: Browser, projects: Path, file: Path) -> None:
    """The studio after a comparison of a few methods."""
    start = "from separatrix.studio.command import studio_command; studio_command()"
    command = [sys.executable, "-c", start, "--no-open", "--folder", str(projects)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.set_default_timeout(120_000)
        assert server.stdout is not None
        page.goto(server.stdout.readline().strip())
        page.get_by_label("An example").select_option("wine")
        page.get_by_role("button", name="Compare methods").click()
        page.get_by_text("Only some methods").click()
        for name in METHODS:
            page.get_by_label(name, exact=True).check()
        page.get_by_text("Only some methods").click()
        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_selector("#answer:not([hidden])")
        page.wait_for_selector("#points svg")
        page.locator("body").screenshot(path=file)
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


if __name__ == "__main__":
    main(Path(__file__).parent / "images")
