"""The manual and the README say what the package is, and are built without complaint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import separatrix
from separatrix.evaluate.methods import GRIDS
from separatrix.methods import OTHER_NAMES
from tests.discovery import all_estimators, name_of

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_estimator_is_in_the_table_of_methods(estimator):
    assert f"`{name_of(estimator)}`" in (ROOT / "docs" / "methods.rst").read_text()


def test_every_other_name_of_a_method_is_in_the_manual():
    page = (ROOT / "docs" / "methods.rst").read_text()
    table = page.partition("Acronyms and other names\n---")[2]
    for name, others in OTHER_NAMES.items():
        assert f"`{name}`\n     - {', '.join(others.split())}\n" in table, name


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_docstring_has_its_parts_and_names_its_parameters(estimator):
    text = type(estimator).__doc__
    sections = {"Attributes", "Notes", "Examples"}
    sections |= {"Parameters"} if estimator.get_params() else set()
    sections |= {"References"} if name_of(estimator) != "DomainScaler" else set()
    for section in sections:
        assert re.search(rf"{section}\n +-+\n", text), section
    for parameter in estimator.get_params(deep=False):
        entry = rf"^    (?:\w+, )*{parameter}(?:, \w+)*(?: : .*)?$"  # numpydoc joins alike ones
        assert re.search(entry, text, re.MULTILINE), parameter


def test_every_value_that_a_comparison_tries_is_on_its_page():
    page = (ROOT / "docs" / "compare.rst").read_text()
    table = page.partition("Values that are tried\n---")[2].partition("Everything else")[0]
    tried = {name for grid in GRIDS.values() for name in grid}
    assert sorted(name for name in tried if f"``{name}``" not in table) == []


def test_the_quickstart_is_short():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    statements = [line for line in code[1].splitlines() if line.startswith((">>>", "..."))]
    assert len(statements) <= 15


REFERENCE = re.compile(r"`~?([A-Za-z_]\w*(?:\.\w+)+)(?:\([^`]*\))?`")
FILE_ENDINGS = {"css", "csv", "html", "js", "json", "md", "py", "rst", "sh", "toml"}
OTHERS = {"dask", "model", "separatrix_papers", "sklearn"}
"""Other packages, and ``model`` for any fitted model."""
PAGES = [  # papers.rst is generated, and has names of files
    *(page for page in (ROOT / "docs").glob("*.rst") if page.name != "papers.rst"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def find_whole(name):
    """A public name or module, a record of `evaluate`, or ``m``, which stands for moments."""
    if name == "m":
        return separatrix.ClassMoments
    return getattr(separatrix, name, None) or getattr(separatrix.evaluate, name, None)


def has_part(thing, name):
    """Whether there is such an attribute or module, or instances have it."""
    if isinstance(thing, ModuleType) and not hasattr(thing, name):
        with suppress(ModuleNotFoundError):
            import_module(f"{thing.__name__}.{name}")  # from here on an attribute
    fields = getattr(thing, "__annotations__", {})
    documented = re.search(rf"^ +(\w+, )*{name}(, \w+)* : ", thing.__doc__ or "", re.MULTILINE)
    return hasattr(thing, name) or name in fields or bool(documented)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_the_package_in_the_manual_exists(page):
    wrong = []
    for reference in REFERENCE.findall(page.read_text("utf-8")):
        parts = reference.removeprefix("separatrix.").split(".")
        if parts[-1] in FILE_ENDINGS or parts[0] in OTHERS:
            continue
        thing = find_whole(parts[0])
        for name in parts[1:]:
            if not has_part(thing, name):
                wrong.append(reference)
            thing = getattr(thing, name, None)
    assert wrong == []


RETIRED = {
    r"beside": "next to, compared with, with, besides",
    r"(is|are|be|was) told|told (apart|from)|tells? (\w+ )?apart": "distinguish, know",
    r"sought": "searched, looked for",
    r"mend(s|ed|ing)?": "fix, repair, correct",
    r"rightly": "correctly",
    r"at hand": "available, given, in memory",
    r"no more than": "at most, only",
    r"so many|manieth": "the name of the number",
    r"by which (is|are)|not to be had": "a plain clause",
}
"""Words of a dialect that this project does not use, and plain ones in their place."""

WRITTEN = {".css", ".html", ".ipynb", ".js", ".md", ".py", ".rst", ".toml"}


def list_texts():
    """Files that users and developers read: the library, the papers, the manual, the gallery."""
    built = {ROOT / "docs" / name for name in ("_build", "api", "gallery")}
    for folder in ("src", "papers/src", "docs", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in WRITTEN and built.isdisjoint(path.parents):
                yield path
    yield from ROOT.glob("*.md")


def test_retired_words_stay_away():
    """Line breaks count as spaces; there are no exceptions."""
    pattern = re.compile(rf"\b({'|'.join(RETIRED)})\b", re.IGNORECASE)
    used = []
    for path in list_texts():
        text = re.sub(r"\s*\n[\s#]*|(?<=\w) \"\n\s*f?\"", " ", path.read_text("utf-8"))
        used += [f"{path.relative_to(ROOT)}: {word[0]}" for word in pattern.finditer(text)]
    assert used == []


def test_scripts_of_the_gallery_have_no_spaces_in_their_names():
    """A folder may have them: the warning of sphinx-gallery, which sees whole paths, is off."""
    assert [path.name for path in (ROOT / "examples").iterdir() if " " in path.name] == []


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


def test_the_table_of_speed_is_that_of_the_stored_figures():
    path = ROOT / "docs" / "make_speed.py"
    spec = spec_from_file_location("make_speed", path)
    make_speed = module_from_spec(spec)
    spec.loader.exec_module(make_speed)
    record = json.loads(make_speed.RESULTS.read_text())
    assert make_speed.describe(record) in make_speed.PAGE.read_text(), (
        "docs/speed.rst is old: run python docs/make_speed.py"
    )
