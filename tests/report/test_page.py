"""The page loads nothing, and no name in it can do harm."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from separatrix.report import facts, render
from tests.comparisons import around, made_up
from tests.report.comparing import PARTS


def test_five_thousand_points_by_every_method_leave_room_in_six_hundred_kilobytes():
    """Values, curves and linear maps, which made-up methods lack, take 200 kB at most."""
    names = [f"Method{i}" for i in range(33)]
    comparison = made_up({n: [0.9] for n in names}, n_rows=16_667, n_components=3)
    assert len(comparison.tests[0]) == 5000
    assert len(render(facts(comparison)).encode()) < 3.4e5


class Reader(HTMLParser):
    """Elements of a page, the text of scripts, and visible text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.text, self.ids = [], [], [], []
        self.inside = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id"]
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.text).append(data)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</script x=",
    "<img src=x onerror=alert(1)>",
    "'\"><b onmouseover=alert(1)>&amp;",
    "<!-- <script>",
    "\ud800 lone \x00 \u2028 surrogate",
    "]]> ${alert(1)} `",
    "",
]


def test_no_name_becomes_a_part_of_the_page():
    plain_page = Reader(render(facts(made_up({"A": around(0.9), "raw": around(0.8)}))))
    for text in HOSTILE:
        comparison = made_up(
            {text: around(0.9), "raw": around(0.8)},
            classes=[text, text + "2"],
            features=(text, "b", "c"),
        )
        comparison = dataclasses.replace(
            comparison,
            settings={**comparison.settings, "scale": text},
            versions={text: text},
            left_out={text: text},
            methods=tuple(
                dataclasses.replace(
                    m,
                    description=text,
                    estimator=m.estimator + text,
                    kind=m.kind if m.role else "given",
                    decision=text,
                )
                for m in comparison.methods
            ),
        )
        found = facts(comparison, title=text, command=text)
        page = render(found)
        page.encode("utf-8")
        read = Reader(page)
        assert sorted(t for t, _ in read.tags if t in ("script", "img", "b", "style")) == sorted(
            t for t, _ in plain_page.tags if t in ("script", "img", "b", "style")
        )
        assert "<" not in read.scripts[0]
        assert json.loads(read.scripts[0]) == found
        for _, attributes in read.tags:
            assert not [key for key in attributes if key.startswith("on")]


def test_the_page_loads_nothing_and_its_policy_allows_nothing():
    page = render(facts(made_up({"A": around(0.9), "raw": around(0.8)})))
    for tag, attributes in Reader(page).tags:
        for key in ("src", "srcset", "data", "action"):
            assert key not in attributes
        if "href" in attributes:
            assert attributes["href"].startswith("#")
            assert tag == "a"
    assert "url(" not in page
    assert "@import" not in page
    namespaces = set(re.findall(r"https?://[^\"'\s]+", page))
    assert namespaces == {"http://www.w3.org/2000/svg"}
    policy = next(
        a["content"]
        for t, a in Reader(page).tags
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    script = Reader(page).scripts[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_parts_come_in_order_and_links_lead_to_them():
    read = Reader(render(facts(made_up({"A": around(0.9), "raw": around(0.8)}))))
    sections = [a["id"] for t, a in read.tags if t == "section"]
    assert sections == PARTS
    links = [a["href"][1:] for t, a in read.tags if t == "a"]
    assert set(links) <= set(read.ids)
    assert len(read.ids) == len(set(read.ids))


def test_the_verdict_is_in_the_text_without_the_script():
    found = facts(made_up({"A": around(0.95), "raw": around(0.8)}), title="wine")
    read = Reader(render(found))
    text = "".join(read.text)
    for part in (found["verdict"]["headline"], found["verdict"]["use"], found["protocol"]):
        assert part in text


VISION = {
    "usual": np.eye(3),
    "without red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "without green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "without blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""Linear light as people see it: Machado, Oliveira and Fernandes (2009), severity 1."""


TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear_light(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light):
    xyz = TO_XYZ @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sheet", ["page.css", "page-dark.css"])
def test_colours_stand_out_and_differ_for_every_kind_of_sight(sheet):
    style = files("separatrix.report").joinpath(sheet).read_text()
    named = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", style))
    points = [named[f"c{i}"] for i in range(8)]

    def contrast(first, second):
        lights = sorted(TO_XYZ[1] @ linear_light(named[name]) for name in (first, second))
        return (lights[1] + 0.05) / (lights[0] + 0.05)

    for i in range(8):  # what is drawn: 3, by the guidelines for accessible content
        assert contrast(f"c{i}", "paper") >= 3
    for text, ground in [
        ("ink", "paper"),
        ("soft", "paper"),
        ("soft", "ground"),
        ("accent", "ground"),
        ("good", "good-ground"),
        ("doubt", "doubt-ground"),
        ("soft", "accent-ground"),
    ]:  # what is read: 4.5
        assert contrast(text, ground) >= 4.5, text
    for matrix in VISION.values():
        seen = [lab(np.asarray(matrix) @ linear_light(colour)) for colour in points]
        # a difference of 2 can just be seen side by side
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 12
