"""The report in a real browser, without a network."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from separatrix import datasets, evaluate
from separatrix.evaluate.splits import RandomShares
from separatrix.report import facts, render
from tests.comparisons import around, made_up

playwright = pytest.importorskip(
    "playwright.sync_api",
    reason="the browser tests need playwright: pip install 'separatrix[test]'",
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the browser tests need chromium, such as Debian's package has it"
)

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        # nobody but root is refused a sandbox
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def wine(folder):
    data = datasets.load("wine")
    comparison = evaluate.compare(
        ["FisherDiscriminant", "LDA", "PCA", "raw"],
        pd.DataFrame(data.data, columns=data.feature_names),
        data.target,
        cv=RandomShares(3),
    )
    return written(folder, "wine", comparison)


def written(folder, name, comparison):
    """The report in a file, with its facts."""
    found = facts(comparison, title=name, command=f"separatrix compare {name}")
    path = folder / f"{name}.html"
    path.write_text(render(found), encoding="utf-8")
    return path, found


@pytest.fixture
def opened(browser):
    """Opens a report, and fails the test if the console or the network was used."""
    contexts, troubles = [], []

    def open_page(path: Path, size=DESKTOP, **options):
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: requested(request.url, path))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=10_000)
        return page

    def requested(url, path):
        if url != path.as_uri() and not url.startswith("blob:"):
            troubles.append(f"request: {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def by_name(entries, name):
    return next(entry for entry in entries if entry["name"] == name)


def painted(page, nth=0):
    """Pixels of a canvas in the order of rows, as one text."""
    return page.locator("canvas").nth(nth).evaluate("canvas => canvas.toDataURL()")


def drawn_colours(page, nth=0):
    """Which of the colours of the first three classes a canvas shows."""
    look = """canvas => {
        const { width, height } = canvas;
        const often = { willReadFrequently: true };
        const copy = new OffscreenCanvas(width, height).getContext("2d", often);
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, width, height);
        const style = getComputedStyle(document.documentElement);
        return [0, 1, 2].map((i) => {
            const colour = style.getPropertyValue(`--c${i}`).trim();
            const parts = [0, 1, 2].map((k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16));
            let n = 0;
            for (let p = 0; p < data.length; p += 4) {
                const same = parts.every((value, k) => Math.abs(data[p + k] - value) < 4);
                if (same && data[p + 3] > 150) n++;
            }
            return n > 10;
        });
    }"""
    return page.locator("canvas").nth(nth).evaluate(look)


def no_overflow(page):
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_everything_is_drawn(wine, opened):
    path, found = wine
    page = opened(path)
    assert page.locator("h1").inner_text() == found["verdict"]["headline"]
    assert page.locator("canvas").count() == 3
    for i in range(3):
        assert drawn_colours(page, i) == [True, True, True]
    n_lines = len(found["dimension"]["lines"])
    assert page.locator("#dimension-chart polyline").count() == n_lines
    assert page.locator("#time-chart circle").count() == len(found["time"]["points"])
    shown = page.locator(".matrix").first.locator("td:not(:empty)").all_inner_texts()
    counts = by_name(found["confusion"]["tables"], found["confusion"]["shown"][0])["counts"]
    assert [int(text) for text in shown] == [n for row in counts for n in row]
    assert page.locator("#weights .weight").count() > 5
    curves = found["curves"]["shown"]
    assert page.locator("#roc-chart polyline").count() == len(curves)
    bins = [by_name(found["curves"]["lines"], name)["calibration"] for name in curves]
    assert page.locator("#calibration-chart circle").count() == sum(map(len, bins))
    assert no_overflow(page)


def test_pointing_at_a_row_tells_what_it_is_and_finds_it_in_every_picture(wine, opened):
    path, found = wine
    page = opened(path)
    before = painted(page, 1)
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    page.keyboard.press(".")  # the first row; the mouse then goes to where its ring is
    first = found["projections"]["rows"][0]
    label = found["data"]["classes"][found["projections"]["labels"][0]]["name"]
    assert f"row {first}: {label}" in page.locator("#tip").inner_text()
    tip = page.locator("#tip").bounding_box()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    page.mouse.move(tip["x"] - 14, tip["y"] + tip["height"] + 12)
    assert f"row {first}: {label}" in page.locator("#tip").inner_text()
    for i in range(3):
        assert f"Row {first} is taken for" in page.locator(".panel p").nth(i).inner_text()
    assert painted(page, 1) != before
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()
    assert painted(page, 1) == before


def test_classes_are_taken_out_and_put_back_by_mouse_and_keyboard(wine, opened):
    path, _ = wine
    page = opened(path)
    button = page.locator("#legend button[title]").nth(1)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for i in range(3):
        assert drawn_colours(page, i) == [True, False, True]
    button.focus()
    page.keyboard.press("Enter")
    assert drawn_colours(page) == [True, True, True]
    page.get_by_role("button", name="All or none").click()
    assert drawn_colours(page) == [False, False, False]
    page.get_by_role("button", name="All or none").click()
    assert drawn_colours(page) == [True, True, True]


def test_pictures_zoom_move_turn_and_come_back(wine, opened):
    path, _ = wine
    page = opened(path)
    canvas = page.locator("canvas").nth(1)
    canvas.scroll_into_view_if_needed()
    start = painted(page, 1)
    canvas.focus()
    for key in ("+", "ArrowLeft", "-", "="):
        before = painted(page, 1)
        page.keyboard.press(key)
        assert painted(page, 1) != before
    page.keyboard.press("0")
    assert painted(page, 1) == start
    box = canvas.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "start => document.querySelectorAll('canvas')[1].toDataURL() !== start", arg=start
    )
    page.locator("#reset").click()
    page.mouse.move(2, 2)
    page.keyboard.press("Escape")
    assert painted(page, 1) == start
    raw = 2
    page.locator(".panel select").nth(raw).select_option("raw")  # has three directions
    flat = painted(page, raw)
    page.locator("#three").click()
    solid = painted(page, raw)
    assert solid != flat
    page.locator("canvas").nth(raw).hover()
    page.mouse.down()
    page.mouse.move(x + 500, y + 40, steps=3)
    page.mouse.up()
    assert painted(page, raw) != solid


def test_rows_marked_in_one_picture_stay_bright_in_all(wine, opened):
    path, found = wine
    page = opened(path)
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    before = painted(page, 1)
    box = canvas.bounding_box()
    left, top = box["x"] + 14, box["y"] + 14  # corners are round
    right, bottom = left + box["width"] - 28, top + box["height"] - 28

    def mark(to):
        page.keyboard.down("Shift")
        page.mouse.move(left, top)
        page.mouse.down()
        page.mouse.move(to, bottom, steps=3)
        page.mouse.up()
        page.keyboard.up("Shift")

    mark(right)
    everything = found["projections"]["held_out"]
    assert f"of {everything} marked rows correct" in page.locator(".panel p").nth(1).inner_text()
    mark((left + right) / 2)
    note = page.locator(".panel p").nth(1).inner_text()
    correct, marked = map(int, re.search(r"(\d+) of (\d+) marked rows", note).groups())
    assert 0 < correct <= marked < everything
    assert painted(page, 1) != before
    page.locator("#reset").click()
    page.mouse.move(2, 2)
    assert painted(page, 1) == before


def test_only_mistakes_and_another_method(wine, opened):
    path, found = wine
    page = opened(path)
    page.locator("#wrong").click()
    view = next(
        v for v in found["projections"]["views"] if v["name"] == found["projections"]["panels"][0]
    )
    wrong = found["projections"]["held_out"] - view["right"]
    assert (
        page.locator("canvas")
        .first.get_attribute("aria-label")
        .startswith(f"{wrong} held-out rows")
    )
    page.locator("#wrong").click()
    page.locator(".panel select").first.select_option("PCA")
    assert "by PCA" in page.locator("canvas").first.get_attribute("aria-label")
    page.locator("#matrices select").first.select_option("PCA")
    table = next(t for t in found["confusion"]["tables"] if t["name"] == "PCA")
    assert f"of {table['tested']} wrong" in page.locator("#matrices p").first.inner_text()
    page.locator("#weights select").select_option("PCA")
    loadings = next(t for t in found["loadings"]["tables"] if t["name"] == "PCA")
    first = loadings["directions"][0]["features"][0]["feature"]
    assert page.locator("#weights .what").first.inner_text() == first


def test_dark_follows_the_system_and_the_button(wine, opened):
    path, _ = wine
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(path), opened(path, color_scheme="dark")
    light_ground, dark_ground = light.evaluate(ground), dark.evaluate(ground)
    assert light_ground != dark_ground
    assert drawn_colours(dark) == [True, True, True]
    light.locator("#theme").click()
    dark.locator("#theme").click()
    assert light.evaluate(ground) == dark_ground
    assert dark.evaluate(ground) == light_ground
    assert drawn_colours(light) == drawn_colours(dark) == [True, True, True]
    light.emulate_media(media="print")
    assert light.evaluate(ground) == "rgb(255, 255, 255)"


def test_a_phone_shows_it_all_without_scrolling_sideways(wine, folder, opened):
    long = "a_very_long_name_without_a_single_space_" * 10
    hard = made_up(
        {long: around(0.9), "raw": around(0.8), "LDA": [None] * 10},
        class_shares=[1 / 12] * 12,
        classes=[f"{long}{i}" for i in range(12)],
        features=tuple(f"{long}{i}" for i in range(12)),
        n_components=3,
    )
    for path, _ in (wine, written(folder, "hard", hard)):
        page = opened(path, PHONE, has_touch=True, is_mobile=True)
        assert page.evaluate("innerWidth") == 390
        assert no_overflow(page)
        for details in page.locator("details").all():
            details.evaluate("node => { node.open = true; }")
        assert no_overflow(page)
        canvas = page.locator("canvas").first
        canvas.scroll_into_view_if_needed()
        assert canvas.bounding_box()["width"] <= 390


MANY = [f"Vertebrate specimen of group number {i:02d}" for i in range(30)]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_matrices_of_thirty_classes_are_whole_and_tell_what_is_where(folder, opened, size):
    comparison = made_up(
        {"A": around(0.8), "raw": around(0.7)},
        n_rows=1200,
        class_shares=[1 / 30] * 30,
        classes=MANY,
    )
    path, found = written(folder, "many", comparison)
    page = opened(path, size)
    holder = page.locator("#matrices .scroll").first
    assert holder.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert holder.locator("td").count() == 1 + 30 * 30
    for table in page.locator("#matrices table:visible").all():
        box = table.bounding_box()
        assert box["x"] + box["width"] <= size["width"]
    i, j = 3, 4  # made-up mistakes are of the next class
    cell = holder.locator("tbody tr").nth(i).locator("td").nth(j)
    cell.click()
    count = found["confusion"]["tables"][0]["counts"][i][j]
    assert f"{MANY[i]} taken for {MANY[j]}" in page.locator("#tip").inner_text()
    assert f"{count} of" in page.locator("#tip").inner_text()
    assert no_overflow(page)


def test_a_legend_that_is_cut_says_so_and_opens(folder, opened):
    def legend(n, size):
        comparison = made_up(
            {"A": around(0.8)}, n_rows=40 * n, class_shares=[1 / n] * n, classes=MANY[:n]
        )
        return opened(written(folder, f"legend{n}", comparison)[0], size)

    few = legend(3, PHONE)
    assert few.get_by_role("button", name="Show all").count() == 0
    page = legend(30, PHONE)
    labels = page.locator("#legend button[title] span").all_inner_texts()
    assert len(set(labels)) == 30
    last = page.locator("#legend button[title]").last
    more = page.get_by_role("button", name="Show all 30 classes")
    height = "node => node.clientHeight < node.scrollHeight"
    assert page.locator("#legend").evaluate(height)
    more.focus()
    page.keyboard.press("Enter")
    assert not page.locator("#legend").evaluate(height)
    last.click()
    assert last.get_attribute("aria-pressed") == "false"
    page.get_by_role("button", name="Fewer classes").click()
    assert page.locator("#legend").evaluate(height)


def test_every_control_is_reached_by_the_tab_key_and_shows_it(wine, opened):
    path, _ = wine
    page = opened(path)
    reached = []
    for _ in range(200):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => {
                const node = document.activeElement;
                if (node === document.body) return null;
                const style = getComputedStyle(node);
                return [node.id || node.tagName, style.outlineWidth === "3px"];
            }"""
        )
        if here is None:
            break
        reached.append(here)
    assert all(visible for _, visible in reached)
    names = [name for name, _ in reached]
    assert names[0] == "A"  # the link that skips to the result
    for name in ("theme", "three", "wrong", "reset", "points", "row-text", "row-try", "row-clear"):
        assert name in names
    for name in ("CANVAS", "SELECT", "SUMMARY", "PRE"):
        assert name in names
    assert names.count("CANVAS") == 3


def test_names_are_text_in_the_browser_too(folder, opened):
    hostile = "</script x=></script><img src=x onerror=alert(1)>"
    comparison = made_up(
        {hostile: around(0.9), "raw": around(0.8)},
        classes=[hostile, "b"],
        features=(hostile, "b", "c"),
    )
    page = opened(written(folder, "hostile", comparison)[0])
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("#legend button[title]").first.get_attribute("title") == hostile
    assert page.locator("#legend button[title]").first.inner_text().startswith("</script")
    assert hostile in page.locator(".panel select option").all_inner_texts()


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ({"A": [None]}, {}),
        ({"A": [0.9]}, {"n_components": None}),
        ({"A": around(0.9), "raw": around(0.8)}, {"n_components": 1}),
        ({"A": around(0.9)}, {"n_rows": 800, "class_shares": [1 / 40] * 40}),
        ({"A": around(1.0, 0.0), "B": around(1.0, 0.0)}, {}),
    ],
    ids=["all failed", "no directions", "one direction", "forty classes", "all right"],
)
def test_odd_comparisons_are_shown_too(folder, opened, scores, options):
    path, found = written(folder, "odd", made_up(scores, **options))
    page = opened(path)
    assert page.locator("h1").inner_text() == found["verdict"]["headline"]
    assert page.locator("canvas").count() == len(found["projections"]["panels"])
    assert page.locator("svg text", has_text="NaN").count() == 0


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_numbers_can_be_saved(wine, opened, size):
    path, found = wine
    page = opened(path, size)
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert json.loads(Path(saved.value.path()).read_text()) == found


@pytest.fixture(scope="module")
def named(folder):
    """The report of rows with names."""
    data = datasets.load("iris")
    comparison = evaluate.compare(
        ["LDA", "PCA"],
        pd.DataFrame(data.data, columns=data.feature_names),
        data.target,
        cv=RandomShares(5),
    )
    found = facts(comparison, title="iris", ids=[f"flower {i}" for i in range(150)])
    path = folder / "named.html"
    path.write_text(render(found), encoding="utf-8")
    return path, found, data


def test_rows_are_called_by_their_names(named, opened):
    path, found, _ = named
    page = opened(path)
    page.locator("canvas").first.focus()
    page.keyboard.press(".")
    first = found["projections"]["rows"][0]
    assert f"flower {first} (row {first}): " in page.locator("#tip").inner_text()
    said = page.locator(".panel p").first.inner_text()
    assert f"Flower {first} (row {first}) is taken for" in said


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_row_is_placed_and_predicted_by_keyboard_alone(named, opened, size):
    """A held-out row is predicted as the fold did, and lies on its point."""
    path, found, data = named
    page = opened(path, size)
    drawn = found["projections"]
    before = painted(page, 0)
    for place in (0, 20, 40):
        row = data.data[drawn["rows"][place]]
        page.locator("#row-text").fill(", ".join(map(str, row)))
        page.locator("#row-text").press("Tab")
        page.keyboard.press("Enter")  # the button
        lines = page.locator("#row-said p").all_inner_texts()
        view = by_name(drawn["views"], "LDA")
        expected = found["data"]["classes"][view["predicted"][place]]["name"]
        (said,) = [line for line in lines if line.startswith("LDA:")]
        assert f"{expected} (next: " in said
        placed = [float(v) for v in said.split("placed at ")[1].split(", ")]
        at = [column[place] for column in view["coordinates"]]
        assert placed == pytest.approx(at, rel=0.02, abs=0.02)  # both are rounded
        other = next(line for line in lines if line.startswith("PCA:"))
        assert "decides by other rows" in other
        assert painted(page, 0) != before
    assert no_overflow(page)
    page.locator("#row-clear").click()
    assert painted(page, 0) == before
    assert page.locator("#row-said").inner_text() == ""


def test_a_pasted_row_may_come_from_a_spreadsheet(named, opened):
    path, found, data = named
    page = opened(path)
    names, row = list(found["readouts"]["features"]), data.data[0].tolist()

    def said(text):
        page.locator("#row-text").fill(text)
        page.locator("#row-try").click()
        return page.locator("#row-said").inner_text()

    expected = said(",".join(map(str, row)))
    assert "setosa" in expected
    assert said("\t".join(map(str, row))) == expected
    assert said(" ".join(map(str, row))) == expected
    assert said(";".join(str(v).replace(".", ",") for v in row)) == expected
    backwards = "\t".join(["extra", *names[::-1]]) + "\n" + "\t".join(map(str, ["?", *row[::-1]]))
    assert said(backwards) == expected
    assert "4 values are needed, one for each feature, and there are 3" in said("1, 2, 3")
    assert "Value 2 (" in said("1, two, 3, 4")
    assert "is no number" in said("1, , 3, 4")
    assert "Paste the values of a row first" in said("  ")
    assert f"The line of names has no {names[0]}" in said("a\tb\n1\t2")
    assert "One row at a time" in said("\t".join(names) + "\n1\t2\t3\t4\n1\t2\t3\t4")
    hostile = said("<img src=x onerror=alert(1)>, 2, 3, 4")
    assert "<img" in hostile
    assert page.locator("#row-said img").count() == 0


def test_points_are_saved_as_a_table(named, opened):
    path, found, _ = named
    page = opened(path)
    with page.expect_download() as saved:
        page.locator("#points").click()
    assert saved.value.suggested_filename == "points.csv"
    frame = pd.read_csv(saved.value.path())
    drawn = found["projections"]
    assert frame["row"].tolist() == drawn["rows"]
    assert frame["id"].tolist() == drawn["ids"]
    names = [found["data"]["classes"][c]["name"] for c in drawn["labels"]]
    assert frame["class"].tolist() == names
    first, second = drawn["panels"][:2]
    view = by_name(drawn["views"], first)
    assert frame[f"{first}: direction 1"].tolist() == pytest.approx(view["coordinates"][0])
    assert frame[f"{first}: predicted"].notna().all()
    twin = by_name(drawn["views"], second)
    shuffled = [found["data"]["classes"][c]["name"] for c in twin["labels"]]
    assert second == f"shuffled labels: {first}"
    assert frame[f"{second}: class"].tolist() == shuffled


def test_features_are_told_with_their_splits_by_mouse_and_keyboard(named, opened):
    path, found, _ = named
    page = opened(path)
    table = by_name(found["loadings"]["tables"], found["loadings"]["shown"])
    first = table["directions"][0]["features"][0]
    bar = page.locator("#weights .weight").first
    assert bar.locator("b").inner_text() == f"{round(5 * first['share'])}/5"
    for reach in (bar.hover, bar.focus):
        page.mouse.move(2, 2)
        reach()
        told = page.locator("#tip").inner_text()
        assert first["feature"] in told
        assert "largest in" in told
        assert "pattern" in told
    stable = table["directions"][0]["stable"]
    assert page.locator("#weights .stable").first.inner_text().endswith(", ".join(stable))


def test_curves_are_put_in_and_taken_out(named, opened):
    path, found, _ = named
    page = opened(path, PHONE)
    page.locator("#curves h2 button").click()
    n_lines = page.locator("#roc-chart polyline").count()
    chip = page.locator("#curve-chips button").first
    assert chip.get_attribute("aria-pressed") == "true"
    chip.focus()
    page.keyboard.press("Space")
    assert page.locator("#roc-chart polyline").count() == n_lines - 1
    assert page.locator("#curve-table tr").count() == len(found["curves"]["lines"])
    assert no_overflow(page)


# Choices of the reader ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer(folder):
    """Two classes, with groups."""
    data = datasets.load("breast_cancer")
    X, y = pd.DataFrame(data.data[:240], columns=data.feature_names), data.target[:240]
    comparison = evaluate.compare(
        ["LDA", "FisherDiscriminant", "PCA"], X, y, cv=RandomShares(3), groups=np.arange(240) // 2
    )
    return written(folder, "cancer", comparison)


@pytest.fixture(scope="module")
def digits(folder):
    """Ten classes, and features that are pixels."""
    data = datasets.load("digits")
    comparison = evaluate.compare(
        ["LDA", "PCA"],
        pd.DataFrame(data.data[:400], columns=data.feature_names),
        data.target[:400],
        cv=RandomShares(2),
        progress=False,
    )
    return written(folder, "digits", comparison)


def test_features_that_have_a_place_are_a_map(digits, opened):
    path, found = digits
    page = opened(path)
    maps = page.locator("#map canvas")
    assert maps.count() == len(found["map"]["directions"]) == 3
    light = maps.first.evaluate("canvas => canvas.toDataURL()")
    maps.first.scroll_into_view_if_needed()
    box = maps.first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 3.5 / 8, box["y"] + box["height"] * 2.5 / 8)
    pattern = found["map"]["directions"][0][2 * 8 + 3]
    told = page.locator("#tip").inner_text().replace("\u2212", "-")
    assert told == f"2, 3\npattern {pattern:.2f}"
    page.locator("#theme").click()
    assert maps.first.evaluate("canvas => canvas.toDataURL()") != light


def test_wavelengths_are_a_spectrum(folder, opened):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.outer(y, np.arange(50) > 30) + 0.3 * rng.normal(size=(60, 50))
    frame = pd.DataFrame(X, columns=[f"{1100 + 4 * j} nm" for j in range(50)])
    comparison = evaluate.compare(["LDA"], frame, y, cv=RandomShares(2), progress=False)
    path, found = written(folder, "spectrum", comparison)
    page = opened(path, PHONE)
    assert page.locator("#map polyline").count() == 2 + len(found["map"]["directions"])
    svg = page.locator("#map svg")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    assert "direction 1: pattern" in page.locator("#tip").inner_text()
    assert no_overflow(page)


def test_the_leaderboard_is_sorted_and_a_method_is_shown_everywhere(wine, opened):
    path, _found = wine
    page = opened(path)
    names = "[...document.querySelectorAll('#leaderboard tbody .name')].map((n) => n.textContent)"
    before = page.evaluate(names)
    page.locator("#leaderboard button.sort").nth(1).click()
    assert page.evaluate(names) == sorted(before, reverse=True)
    page.locator("#leaderboard button.sort").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.evaluate(names) == sorted(before)
    page.locator("#leaderboard button.pick", has_text="PCA").click()
    assert page.locator(".panel select").first.input_value() == "PCA"
    assert page.locator("#matrices select").first.input_value() == "PCA"
    assert page.locator("#weights select").input_value() == "PCA"


def test_marked_rows_say_which_features_distinguish_them(wine, opened):
    path, found = wine
    page = opened(path)
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 14, box["y"] + 14)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 14, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    head = page.locator("#selected h3").inner_text()
    marked = int(re.search(r"the (\d+) marked", head).group(1))
    assert 0 < marked < found["projections"]["held_out"]
    rows = page.locator("#selected tbody tr")
    assert rows.count() == 8
    gaps = [
        abs(float(t.replace("\u2212", "-")))
        for t in rows.locator("td:last-child").all_inner_texts()
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert rows.first.locator("th").inner_text() in found["values"]["features"]
    page.locator("#reset").click()
    assert page.locator("#selected").inner_text() == ""


def test_rows_on_which_two_methods_disagree_are_listed(wine, opened):
    path, found = wine
    page = opened(path)
    page.locator("#disagree").evaluate("node => { node.closest('details').open = true; }")
    page.locator("#disagree select").first.select_option("PCA")
    page.locator("#disagree select").nth(1).select_option("LDA")
    a, b = (by_name(found["projections"]["views"], name)["predicted"] for name in ("PCA", "LDA"))
    expected = sum(x != y for x, y in zip(a, b, strict=True))
    assert page.locator("#disagree p").inner_text() == f"{expected} of {len(a)} rows."
    assert page.locator("#disagree tbody tr").count() == expected


def test_a_threshold_is_moved_and_tells_what_it_does(cancer, opened):
    path, found = cancer
    page = opened(path)
    method = found["threshold"]["methods"][0]
    slider = page.get_by_label("Threshold", exact=True)

    def counts():
        return [int(t) for t in page.locator("#threshold tbody td").all_inner_texts()]

    pairs = list(zip(method["truth"], method["degrees"], strict=True))
    expected = [sum(t == i and (d > 0.5) == j for t, d in pairs) for i in (0, 1) for j in (0, 1)]
    assert counts() == expected
    slider.focus()
    for _ in range(200):
        page.keyboard.press("ArrowRight")
    later = [sum(t == i and (d > 0.7) == j for t, d in pairs) for i in (0, 1) for j in (0, 1)]
    assert counts() == later
    said = dict(
        zip(
            page.locator("#threshold dt").all_inner_texts(),
            page.locator("#threshold dd").all_inner_texts(),
            strict=True,
        )
    )
    assert said["recall"] == f"{100 * later[3] / (later[2] + later[3]):.1f}\u00a0%"


def test_groups_and_data_are_listed(cancer, opened):
    path, found = cancer
    page = opened(path)
    for part in ("#groups", "#data"):
        page.locator(part).evaluate("node => { node.open = true; }")
    assert page.locator("#groups tbody tr").count() == len(found["groups"]["groups"])
    features = found["values"]["features"]
    assert page.locator("#data tbody tr").count() == 2 + len(features)
    last = page.locator("#data table").nth(1).locator("tr").last
    ends = [found["values"][name][-1] for name in ("low", "middle", "high")]
    assert last.locator("th").inner_text() == features[-1]
    assert [float(t) for t in last.locator("td").all_inner_texts()] == ends


def test_values_of_a_pasted_row_are_changed(wine, opened):
    path, _ = wine
    page = opened(path)
    data = datasets.load("wine")
    page.locator("#row-text").fill(", ".join(map(str, data.data[0])))
    page.locator("#row-try").click()
    before = page.locator("#row-said").inner_text()
    sliders = page.locator("#what-if input")
    assert sliders.count() == 5
    for i in range(5):
        sliders.nth(i).focus()
        page.keyboard.press("Home" if i % 2 else "End")
    assert page.locator("#row-said").inner_text() != before
    page.locator("#row-clear").click()
    assert page.locator("#what-if input").count() == 0


def test_features_are_sorted_and_saved(wine, opened):
    path, _found = wine
    page = opened(path)
    page.locator("#feature-table").evaluate("node => { node.closest('details').open = true; }")
    page.locator("#feature-table button.sort").nth(2).click()
    weights = [
        float(t) for t in page.locator("#feature-table td:nth-child(3)").evaluate_all(
            "nodes => nodes.map((n) => n.dataset.value)"
        )
    ]  # fmt: skip
    assert weights == sorted(weights, reverse=True)
    with page.expect_download() as saved:
        page.locator("#features-csv").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0].startswith('"feature","direction","weight"')
    assert len(lines) == 1 + len(weights)


def test_the_first_picture_is_saved_with_a_caption(wine, opened):
    path, found = wine
    page = opened(path)
    with page.expect_download() as saved:
        page.locator("#save-svg").click()
    svg = Path(saved.value.path()).read_text()
    assert svg.count("<path") == found["projections"]["held_out"] + 3  # and the legend
    caption = page.locator("#caption").inner_text()
    assert caption in svg
    assert f"{found['projections']['held_out']} held-out rows of 178" in caption
    with page.expect_download() as saved:
        page.locator("#save-png").click()
    png = Path(saved.value.path()).read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = (float(v) for v in re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())
    # three pixels for one, with room for the legend
    assert int.from_bytes(png[16:20], "big") == int(3 * width)
    assert int.from_bytes(png[20:24], "big") == int(3 * height)


def test_classes_that_are_taken_out_are_not_counted(wine, opened):
    path, found = wine
    page = opened(path)
    page.locator("#legend button[title]").nth(1).click()
    labels = found["projections"]["labels"]
    view = by_name(found["projections"]["views"], found["projections"]["panels"][0])
    kept = [i for i, label in enumerate(labels) if label != 1]
    right = sum(view["predicted"][i] == labels[i] for i in kept)
    note = page.locator(".panel p").first.inner_text()
    assert f"{right} of {len(kept)} correct in the classes that are shown" in note


def test_a_phone_needs_few_screens(cancer, digits, opened):
    for path, _ in (digits, cancer):
        page = opened(path, PHONE, has_touch=True, is_mobile=True)
        assert no_overflow(page)
        screens = page.evaluate("document.documentElement.scrollHeight / innerHeight")
        assert screens <= MOST_SCREENS
    title = page.locator("#time h2 button")
    assert page.locator("#time .lead").is_hidden()
    title.click()
    assert page.locator("#time-chart circle").first.is_visible()
    assert title.get_attribute("aria-expanded") == "true"
    assert no_overflow(page)


MOST_SCREENS = 8
