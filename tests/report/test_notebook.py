"""The report in one call, and inside a notebook."""

from __future__ import annotations

import html
import re
import subprocess
import sys

from separatrix import report
from separatrix.report import facts, make_report, render
from tests.comparisons import around, made_up


def test_one_call_writes_the_page_and_says_the_verdict(tmp_path):
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    made = report(found, tmp_path / "page.html", title="leaves")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == made.page
    assert made.page == render(facts(found, title="leaves"))
    assert made.facts["title"] == "leaves"
    assert repr(made).splitlines()[0] == made.facts["verdict"]["headline"]
    assert str(tmp_path / "page.html") in repr(made)
    assert repr(make_report(found)).splitlines()[-1] == made.facts["verdict"]["alike"]


def test_a_notebook_shows_the_page_in_a_frame():
    found = made_up({"A": around(0.9), "LDA": around(0.8)})
    frame = found._repr_html_()
    inside = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert inside == make_report(found).page
    assert 'sandbox="allow-scripts allow-downloads"' in frame


WITHOUT_TEMPLATES = """
import sys
sys.modules["jinja2"] = None  # an import of it fails
from tests.comparisons import made_up
found = made_up({"A": [0.9, 0.8]})
assert found._repr_html_() is None
print(found)
found.report()
"""


def test_without_templates_a_notebook_shows_the_table_and_a_report_says_what_it_needs():
    program = [sys.executable, "-c", WITHOUT_TEMPLATES]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert "1 method on 200 rows" in done.stdout
    assert done.stderr.splitlines()[-1].endswith("pip install 'separatrix[app]'")
