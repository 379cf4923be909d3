"""Names and values of a page become the words of a command."""

from __future__ import annotations

import shlex

import pytest

from separatrix.studio.commands import (
    RefusedError,
    build_arguments,
    check_inside,
    python_text,
    shell_text,
)


def test_options_are_joined_to_their_values():
    words = build_arguments("compare", ["-odd.csv"], {"methods": ["A", "B"], "quick": True,
                                                      "budget": None, "json": False})  # fmt: skip
    assert words == ["compare", "--methods=A", "--methods=B", "--quick", "--", "-odd.csv"]


def test_the_shell_text_is_what_runs():
    words = build_arguments("fit", ["-odd name.csv"], {"target": "$(kind)", "output": "a.model"})
    assert shlex.split(shell_text(words)) == ["separatrix", *words]


@pytest.mark.parametrize("path", ["", "/x", "~/x", "../x", "a/../x", "a\\..\\x", "C:x", "a\0"])
def test_files_outside_of_a_project_are_refused(path):
    with pytest.raises(RefusedError):
        check_inside(path)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("compare", ["a.csv"]), ("compare", ["wine"]), ("fit", ["a.tsv"]), ("fit", ["a.xlsx"]),
     ("predict", ["my.model", "a.csv"])],
)  # fmt: skip
def test_the_python_that_is_shown_is_python(command, arguments):
    options = {"target": "it's", "ignore": ["a", "b"], "sep": ";", "decimal": ",", "method": "LDG"}
    text = python_text(command, arguments, options)
    compile(text, "shown", "exec")
    assert "separatrix" in text


def test_the_python_that_is_shown_runs(tmp_path, monkeypatch):
    from tests.studio.running import flowers

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(flowers(40, ";", ","))
    options = {"target": "kind", "sep": ";", "decimal": ",", "output": "a.model"}
    names: dict[str, object] = {}
    exec(python_text("fit", ["a.csv"], options), names)
    assert (tmp_path / "a.model").exists()
    exec(python_text("predict", ["a.model", "a.csv"], options), names)
    assert len(names["labels"]) == 40
