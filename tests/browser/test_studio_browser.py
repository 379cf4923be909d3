"""The studio in a real browser: each step, refresh, back, two tabs, a server that is killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.studio.running import flowers, wait_for

playwright = pytest.importorskip(
    "playwright.sync_api",
    reason="the browser tests need playwright: pip install 'separatrix[test]'",
)
pytest.importorskip("uvicorn", reason="the studio needs uvicorn: pip install 'separatrix[studio]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the browser tests need chromium, such as Debian's package has it"
)

START = "from separatrix.studio.command import studio_command; studio_command()"
PATIENCE = 90_000
"""Milliseconds that a command may take on a machine with other work."""

SCRIPT = "<script>document.title='broken'</script>"


class Server:
    """A studio in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self, *options):
        command = [sys.executable, "-c", START, "--no-open", "--folder", str(self.folder)]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = re.search(r":(\d+)/", self.address).group(1)

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path / "projects")
    yield running
    if running.process.poll() is None:
        running.end()


@pytest.fixture
def opened(browser, server):
    """Opens the studio; errors of the page and requests to elsewhere fail the test."""
    contexts, troubles = [], []

    def open_page(width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: judge(request.url))
        page.goto(server.address)
        page.wait_for_selector("html[data-ready]")
        return page

    def judge(url):
        if not url.startswith((f"http://127.0.0.1:{server.port}/", "blob:", "data:")):
            troubles.append(f"request: {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def upload(page, path):
    page.get_by_label("A file").set_input_files(path)
    page.wait_for_selector(".grid")


def choose_methods(page, *names):
    page.get_by_role("button", name="Compare methods").click()
    page.get_by_text("Only some methods").click()
    for name in names:
        page.get_by_label(name, exact=True).check()


def compare(page, *names):
    choose_methods(page, *names)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("#answer:not([hidden])")


def go_to(page, step):
    page.get_by_role("navigation", name="Steps").get_by_text(step).click()


# Three kinds of files --------------------------------------------------------------------------


def comma_table(folder):
    path = folder / "flowers.csv"
    path.write_text(flowers(60))
    return path


def european_table(folder):
    path = folder / "blumen.csv"
    path.write_text(flowers(60, ";", ","))
    return path


def arrays(folder):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.normal(size=(60, 4)) + 3 * np.eye(4)[np.repeat([0, 1, 2], 20)]
    path = folder / "spectra.npz"
    np.savez(path, X=X, y=y)
    return path


@pytest.mark.parametrize("write", [comma_table, european_table, arrays])
def test_every_step_of_a_file(opened, tmp_path, write):
    page = opened()
    upload(page, write(tmp_path))
    page.wait_for_selector("text=/60 rows, [34] features/")
    compare(page, "FisherDiscriminant", "LDA")
    assert page.locator("#board tbody tr").count() == 2
    page.wait_for_selector("#points svg path")
    assert "separatrix compare" in page.inner_text("#same-text")

    page.get_by_role("button", name="Explore the result").click()
    report = page.frame_locator("iframe.report")
    report.locator("html[data-ready]").wait_for()
    assert "FisherDiscriminant" in report.locator("body").inner_text()

    go_to(page, "4 Use")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_selector(".slider")
    page.wait_for_selector(".answer .big")
    before = page.locator(".answer").inner_text()
    slider = page.locator(".slider input").first
    slider.focus()
    for _ in range(12):
        page.keyboard.press("PageUp")
    page.wait_for_function(
        "before => document.querySelector('.answer').innerText !== before", arg=before
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Model", exact=True).click()
    assert download.value.suggested_filename == "FisherDiscriminant.model"

    go_to(page, "5 Live")
    page.get_by_role("region", name="Learn from a stream").get_by_role(
        "button", name="Start"
    ).click()
    page.locator("section", has_text="Learn from a stream").get_by_text(
        "60 rows; 0 of them"
    ).wait_for()


def test_a_model_answers_is_taken_away_merged_and_forgets(opened, tmp_path):
    page = opened()
    upload(page, comma_table(tmp_path))
    go_to(page, "4 Use")
    page.get_by_role("button", name="Fit", exact=True).click()
    ask = page.get_by_role("region", name="Ask the model")
    ask.get_by_role("button", name="How often").click()
    ask.get_by_text("moments cannot know").wait_for()
    ask.get_by_role("button", name="Which features").click()
    ask.get_by_text("features: ").wait_for()
    page.get_by_role("button", name="SQL", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download FisherDiscriminant.sql").click()
    assert "SELECT" in download.value.path().read_text()

    go_to(page, "5 Live")
    (tmp_path / "gone.csv").write_text("\n".join(flowers(60).splitlines()[:5]) + "\n")
    forget = page.get_by_role("region", name="Forget rows")
    forget.get_by_label("Rows to forget").set_input_files(tmp_path / "gone.csv")
    forget.get_by_role("button", name="Start").click()
    with page.expect_download() as download:
        forget.get_by_role("link", name="Download without-FisherDiscriminant.json").click()
    assert "were subtracted" in download.value.path().read_text()

    go_to(page, "5 Live")
    merge = page.get_by_role("region", name="Merge models")
    for name in ("FisherDiscriminant.model", "without-FisherDiscriminant.model"):
        merge.get_by_label(name, exact=True).check()
    merge.get_by_role("button", name="Start").click()
    merge.get_by_role("link", name="Download merged.model").wait_for()


def test_a_series_is_decided_before_its_end_and_played_again(opened, tmp_path):
    page = opened()
    upload(page, arrays(tmp_path))
    go_to(page, "5 Live")
    early = page.get_by_role("region", name="Decide before a series ends")
    early.get_by_label("Reliability").fill("0.8")
    early.get_by_role("button", name="Start").click()
    report = page.frame_locator("iframe[title='Early decisions']")
    report.locator("h1").first.wait_for()
    assert "80" in report.locator("body").inner_text()


def test_another_table_has_a_project_of_its_own_and_choices_are_undone(opened, tmp_path):
    page = opened()
    upload(page, arrays(tmp_path))
    upload(page, european_table(tmp_path))
    page.wait_for_selector("text=/60 rows, 3 features/")
    assert page.locator("#project option").count() == 2
    page.get_by_label("Separator").select_option("|")
    page.get_by_role("button", name="Read the table anew").click()
    page.wait_for_selector("text=/60 rows, 3 features/")


def test_a_click_on_a_column_gives_it_a_role(opened, tmp_path):
    path = tmp_path / "visits.csv"
    rows = flowers(60).splitlines()
    lines = [f"patient,{rows[0]}", *(f"p{i // 4},{row}" for i, row in enumerate(rows[1:]))]
    path.write_text("\n".join(lines) + "\n")
    page = opened()
    upload(page, path)
    page.get_by_label("What patient is").select_option("group")
    page.wait_for_selector("text=/60 rows, 3 features/")
    page.get_by_label("What width is").select_option("ignore")
    page.wait_for_selector("text=/60 rows, 2 features/")
    page.get_by_role("button", name="Compare methods").click()
    page.wait_for_selector("#same-text code:has-text('--group=patient')")
    assert "--ignore=width" in page.inner_text("#same-text")


def test_refresh_back_and_a_second_tab(opened, tmp_path, server):
    path = comma_table(tmp_path)
    page = opened()
    upload(page, path)
    compare(page, "FisherDiscriminant", "LDA")
    page.reload()
    page.wait_for_selector("#answer:not([hidden])")
    page.go_back()
    page.wait_for_selector(".grid")
    page.go_forward()
    page.wait_for_selector("#answer:not([hidden])")
    other = page.context.new_page()
    other.goto(f"http://127.0.0.1:{server.port}/")
    other.wait_for_selector("html[data-ready]")
    other.wait_for_selector(".grid")
    assert other.locator("#project").input_value() == page.locator("#project").input_value()


def test_a_server_that_is_killed_goes_on_when_it_is_started_again(opened, tmp_path, server):
    path = comma_table(tmp_path)
    page = opened()
    upload(page, path)
    choose_methods(page, "FisherDiscriminant", "LDG")
    page.get_by_label("All of it: ten splits, every method").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("#board tbody tr")
    pid = int(next(server.folder.glob("*/jobs/1/pid")).read_text())
    server.end(signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    server.start()
    page.goto(server.address)
    page.wait_for_selector("html[data-ready]")
    go_to(page, "2 Compare")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("#answer:not([hidden])")


def test_ctrl_c_ends_the_server_and_loses_nothing(opened, tmp_path, server):
    path = comma_table(tmp_path)
    page = opened()
    upload(page, path)
    server.end()
    assert server.process.returncode in (0, 130, -signal.SIGINT)
    server.start()
    page.goto(server.address)
    page.wait_for_selector(".grid")


def test_names_with_scripts_are_text_everywhere(opened, tmp_path):
    names = tuple(f"{SCRIPT}{i}" for i in range(3))
    path = tmp_path / "odd.csv"
    path.write_text(flowers(60, names=names, kinds=(f"a{SCRIPT}", f"b{SCRIPT}")))
    page = opened()
    upload(page, path)
    compare(page, "FisherDiscriminant", "LDA")
    assert SCRIPT in page.locator("#points").inner_text()
    page.get_by_role("button", name="Explore the result").click()
    page.frame_locator("iframe.report").locator("html[data-ready]").wait_for()
    go_to(page, "4 Use")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_selector(".answer .big")
    assert page.title() == "separatrix studio"
    assert page.frames[-1].evaluate("document.title") != "broken"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_no_step_is_wider_than_the_screen(opened, tmp_path, scheme, width, height):
    path = comma_table(tmp_path)
    page = opened(width, height, color_scheme=scheme)
    upload(page, path)
    for step in ("1 Table", "2 Compare", "3 Explore", "4 Use", "5 Live"):
        go_to(page, step)
        page.wait_for_selector("h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_control_has_a_name_and_the_keyboard_reaches_the_steps(opened, tmp_path):
    path = comma_table(tmp_path)
    page = opened()
    upload(page, path)
    for step in ("1 Table", "2 Compare", "4 Use", "5 Live"):
        go_to(page, step)
        page.wait_for_selector("h1")
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("input, select, textarea, button")]
                 .filter((node) => !node.labels?.length && !node.ariaLabel && !node.innerText
                         && !node.getAttribute("aria-label")).map((node) => node.outerHTML)"""
        )
        assert unnamed == []
    page.get_by_role("button", name="2 Compare").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('2 Compare')")


def test_clicks_are_answered_while_a_comparison_runs(opened, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c", "d"], 500)
    X = rng.normal(size=(2000, 64)) + rng.normal(size=(4, 64))[np.repeat(range(4), 500)]
    np.savez(tmp_path / "many.npz", X=X, y=y)
    page = opened()
    upload(page, tmp_path / "many.npz")
    choose_methods(page, "FisherDiscriminant", "LDG", "LDA", "IPCAC")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("#board tbody tr")
    for step in ("3 Explore", "5 Live", "2 Compare"):
        go_to(page, step)
        page.wait_for_selector(f"h1:has-text('{step}')", timeout=5000)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("button:has-text('Go on'):visible")


def test_twenty_uploads_at_once_are_taken_or_refused_in_words(opened, server):
    page = opened()
    answers = page.evaluate(
        """async () => {
          const make = { method: "POST", body: JSON.stringify({ name: "many" }) };
          await fetch("api/projects", make);
          const body = new Blob([new Uint8Array(3e6)]);
          const put = (i) => fetch(`api/projects/many/files/${i}.bin`, { method: "PUT", body });
          const answers = await Promise.all([...Array(20).keys()].map(put));
          return Promise.all(answers.map(async (a) => [a.status, (await a.json()).error || ""]));
        }"""
    )
    assert all(status == 200 or "arriving" in words for status, words in answers)
    assert any(status == 200 for status, _ in answers)
    kept = [p.name for p in (server.folder / "many").iterdir() if p.suffix == ".bin"]
    assert len(kept) == sum(status == 200 for status, _ in answers)


def test_a_file_above_the_limit_is_refused_before_it_is_sent(opened, server, tmp_path):
    page = opened()
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(600_000_000)
    page.get_by_label("A file").set_input_files(large)
    page.wait_for_selector("text=Type its path instead")


def test_the_studio_stops_within_seconds_while_a_page_is_open(opened, server):
    opened()
    server.end()
    assert wait_for(lambda: server.process.poll() is not None, 20)
