"""A source with one table, and the command as an installed plug-in."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from example import EXAMPLE

from separatrix.cli.program import program

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="session", autouse=True)
def plugin(tmp_path_factory):
    """The entry points of pyproject.toml, as if this distribution were installed."""
    site = tmp_path_factory.mktemp("site")
    about = site / "separatrix_papers-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: separatrix-papers\nVersion: 0\n")
    groups = PROJECT["project"]["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    sys.path.insert(0, str(site))
    yield site
    sys.path.remove(str(site))


@pytest.fixture
def run():
    """Runs a command; a mistake must be told in words."""

    def run(*arguments, code=0):
        result = CliRunner().invoke(program, [str(a) for a in arguments])
        assert result.exit_code == code, result.output + repr(result.exception)
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def example(tmp_path):
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "published.toml").write_text(EXAMPLE)
    return folder
