"""Projects are folders: their names, files and options."""

from __future__ import annotations

import pytest

from separatrix.studio.commands import RefusedError
from separatrix.studio.projects import (
    Projects,
    check_name,
    file_in,
    list_files,
    name_after,
    read_settings,
    write_settings,
)


@pytest.fixture
def project(tmp_path):
    return Projects(tmp_path).create("one")


def test_projects_are_found_again(tmp_path, project):
    write_settings(project, {"target": "kind"})
    again = Projects(tmp_path)
    assert again.names() == ["one"]
    assert read_settings(again.find("one")) == {"target": "kind"}
    with pytest.raises(RefusedError, match="no project"):
        again.find("two")


def test_a_folder_without_options_is_no_project(tmp_path, project):
    (tmp_path / "other").mkdir()
    assert Projects(tmp_path).names() == ["one"]


@pytest.mark.parametrize("value", ["a", 'a"\\\n\t\x7f😀', ["x", "y"], True, 3, 0.5])
def test_options_come_back_as_they_were(project, value):
    write_settings(project, {"some option": value})
    assert read_settings(project) == {"some option": value}


def test_options_of_reading_are_found_by_the_commands(project):
    from separatrix.cli.options import read_project

    settings = {"target": "kind", "id": ["a"], "no-header": True, "sep": ";", "group": "patient"}
    write_settings(project, settings)
    found = read_project(project / "separatrix.toml")
    assert found == {"target": "kind", "ids": ["a"], "header": False, "sep": ";"}
    assert read_settings(project) == settings


def test_files_of_the_studio_are_not_files_of_the_user(project):
    (project / "rows.csv").write_text("x")
    (project / "jobs").mkdir()
    (project / "jobs" / "x").write_text("x")
    assert [file["name"] for file in list_files(project)] == ["rows.csv"]
    with pytest.raises(RefusedError, match="belongs to the studio"):
        file_in(project, "studio.json")
    with pytest.raises(RefusedError, match="belongs to the studio"):
        file_in(project, "jobs/x")


@pytest.mark.parametrize(
    "source",
    ["a.csv", "/x/y z.csv.gz", "duckdb:///f.db?table=t", "..", "---", "\\\\x\\y.csv", "<b>"],
)
def test_any_source_gives_a_name(source):
    check_name(name_after(source))
