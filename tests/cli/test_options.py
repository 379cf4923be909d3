"""Completion in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from separatrix import load
from separatrix.cli.program import program
from tests.cli.running import refused, run


def test_completion_knows_methods_and_data():
    def completed(words):
        env = {"_SEPARATRIX_COMPLETE": "bash_complete", "COMP_WORDS": words}
        env["COMP_CWORD"] = str(words.count(" "))
        result = CliRunner(env=env).invoke(program, prog_name="separatrix")
        return result.stdout

    assert "plain,FisherDiscriminant" in completed("separatrix fit wine --method fish")
    assert "plain,PCA,LDA" in completed("separatrix compare wine --methods PCA,LD")
    assert "plain,wine" in completed("separatrix compare wi")


def test_options_of_the_project_hold_unless_the_command_line_says_otherwise(table):
    table.assign(code=1).to_csv("flowers.csv", index=False, sep=";")
    Path("separatrix.toml").write_text('sep = ";"\nid = "plant"\nignore = ["code"]\n')
    run("fit", "flowers.csv", "-t", "kind", "-o", "a.model")
    assert load("a.model").feature_names_in_.tolist() == ["v0", "v1", "v2"]
    run("predict", "a.model", "flowers.csv")
    done = run("fit", "flowers.csv", "-t", "kind", "--ignore", "v0", "--categorical", "onehot",
               "-o", "a.model", "--sep", ";")  # fmt: skip
    assert "Column 'code' is the same in every row" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep = 3", "has sep = 3: give text"),
        ("speed = 3", "has 'speed', which is no option for reading: target"),
        ("header = 'no'", "has header = 'no'"),
        ("sep = ", "is not in the format TOML"),
    ],
)
def test_faults_of_a_project_file_are_said(text, message, table):
    Path("separatrix.toml").write_text(text)
    assert message in refused("fit", "flowers.csv", "-o", "a.model")
    run("fit", "wine", "-o", "a.model")  # it is in no folder
