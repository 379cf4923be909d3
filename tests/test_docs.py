"""The manual and the README say what the package is, and are built without complaint."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.discovery import all_estimators, name_of

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_estimator_is_in_the_readme_and_the_manual(estimator):
    name = name_of(estimator)
    assert f"`{name}`" in (ROOT / "README.md").read_text()
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.rst"))
    assert name in pages


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_docstring_has_its_parts_and_names_its_parameters(estimator):
    text = type(estimator).__doc__
    for section in ("Parameters", "Attributes", "Notes", "References", "Examples"):
        assert re.search(rf"{section}\n +-+\n", text), section
    for parameter in estimator.get_params(deep=False):
        assert re.search(rf"^ +{parameter} : ", text, re.MULTILINE), parameter


def test_the_quickstart_is_short():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    statements = [line for line in code[1].splitlines() if line.startswith((">>>", "..."))]
    assert len(statements) <= 15


def test_the_manual_builds_offline_without_warnings(tmp_path):
    pytest.importorskip("sphinx_gallery")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", tmp_path / "doctrees", ROOT / "docs", tmp_path / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "html" / "fisher.html").read_text()
    assert "FisherDiscriminant" in page
    loaded = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?://[^\"]+)", page)
    assert loaded == []
