"""The program: mistakes have remedies, help has examples that work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from separatrix import cli
from separatrix.cli import console
from separatrix.cli.program import program
from tests.cli.running import (
    ENVIRONMENT,
    refused,
    run,
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit none.csv -o a", "there is no file none.csv"),
        ("fit flowers.csv -t knd -o a", "no column 'knd': did you mean 'kind'?"),
        ("fit flowers.csv --id plnt -o a", "no column 'plnt': did you mean 'plant'?"),
        (
            "fit flowers.csv -o a",
            "1 of 4 columns are not numbers: 'plant' (another value in each row, such as 'p0'",
        ),
        ("fit flowers.csv --categorical onehot -o a", "it looks like an identifier. Leave it out"),
        ("fit flowers.csv -t plant --ignore kind -o a", "another label in each of 60 rows"),
        ("fit flowers.csv -t v0 --ignore plant -o a", "holds numbers such as"),
        ("fit flowers.csv --sep ; -o a", "is it separated by ','?"),
        ("fit flowers.csv --id plant -m FisherDiscriminat -o a", "mean 'FisherDiscriminant'?"),
        ("fit flowers.csv --id plant --set shrink=1 -o a", "mean 'shrinkage'?"),
        ("fit flowers.csv --id plant --set shrinkage=7 -o a", "shrinkage=7 is not valid"),
        ("fit flowers.csv --id plant -m DDAGClassifier --decision 3nn -o a", "has no subspace"),
        ("fit flowers.csv --id plant -o none/a", "there is no folder"),
        ("fit flowers.csv --id plant -o flowers.csv", "is read by this command"),
        (
            "predict flowers.csv flowers.csv",
            "is not a model file of separatrix. It looks like a table",
        ),
        ("predict none.model flowers.csv", "none.model: No such file"),
        ("predict . flowers.csv", "Is a directory"),
        ("transform wine.model flowers.csv", "the model needs 13 columns, of which 13 are"),
        (
            "predict wine.model wine -o a.xls",
            "a.xls does not name a format that is written: end it",
        ),
        ("predict wine.model wine -o a.arff", "end it with one of .csv, .tsv"),
        ("predict plane.model wine --proba", "gives no probabilities"),
        (
            "compare flowers.csv --id plant --methods raw,LGD",
            "no method 'LGD': did you mean 'LDG'?",
        ),
        ("stream none.csv -o a", "there is no file none.csv, nor a bundled"),
        ("stream flowers.csv", "are not numbers: 'plant'"),
        ("stream flowers.csv --id plant -m LDG", "LDG does not learn from batches"),
        ("stream flowers.csv --id plant -o wine.model", "wine.model is there: go on with it"),
        ("stream flowers.csv --id plant -o wine.model --resume", "was not made by `separatrix"),
        ("early flowers.csv --id plant -m LDG", "LDG() is not a classifier"),
        ("early one.csv", "has only the label 'x'"),
        ("fit gaps.csv -o a", "missing in 2 of 4 rows: 'a' 1, 'b' 2. Fill them in"),
        ("fit semi.csv -o a", "separated by ';'? Give --sep ';'"),
        ("stream semi.csv -o a", "separated by ';'? Give --sep ';'"),
        ("fit semi.csv --sep ; -o a", "numbers such as '1,5': give --decimal ,"),
        ("fit tabs.csv -o a", "Give --format tsv"),
        ("fit short.csv -o a", "short.csv: line 4 has 2 values, but there are 3 names"),
        ("fit short.csv -t a -o a", "line 4 has 2 values, but there are 3 names"),
        ("fit nolabel.csv -o a", "'kind' has no label in 1 of 4 rows, first in row 3"),
    ],
)
def test_a_mistake_is_told_with_a_remedy(arguments, message, table):
    if ".model" in arguments:
        run("fit", "wine", "-o", "wine.model", "-q")
    if "plane.model" in arguments:
        run("fit", "wine", "-m", "LinearSVM", "-o", "plane.model", "-q")
    Path("one.csv").write_text("a,b,kind\n1,2,x\n2,3,x\n")
    Path("gaps.csv").write_text("a,b,kind\n1,,x\n2,3,y\n,,x\n1,2,y\n")
    Path("nolabel.csv").write_text("a,b,kind\n1,2,x\n2,3,y\n1,1,\n1,2,y\n")
    Path("semi.csv").write_text("a;b;kind\n1,5;2;x\n3,1;4;y\n5;6;x\n7;8;y\n")
    Path("tabs.csv").write_text("a\tb\tkind\n1\t2\tx\n3\t4\ty\n")
    Path("short.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n5,x\n6,7,y\n")
    before = sorted(os.listdir())
    assert message in refused(*arguments.split())
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "fit",
        "fit wine",
        "frobnicate",
        "fit wine -o a --frob",
        "fit wine -o a --set novalue",
        "fit wine -o a --missing guess",
        "fit wine -o a --missing constant:",
        "fit wine -o a --missing constant:nan",
        "fit wine -o a --seed -1",
        "stream - --resume",
        "stream - --batch-size 0",
        "early digits --reliability 2",
        "compare wine --jobs 0",
    ],
)
def test_wrong_usage_has_a_code_of_its_own(arguments):
    assert "Usage:" in run(*arguments.split(), code=2).stderr


@pytest.mark.parametrize("command", ["", *program.commands])
def test_help_has_examples(command):
    text = run(*command.split(), "--help").stdout
    assert "Examples:" in text
    for line in re.findall(r"^ +separatrix (\w+)", text, re.MULTILINE):
        assert line in program.commands


@pytest.mark.parametrize("command", program.commands)
def test_examples_in_help_are_understood(command):
    """Options named in examples exist."""
    text = run(command, "--help").stdout
    for name, rest in re.findall(r"separatrix (\w+) (.*)", text.split("Options:")[0]):
        known = {o for p in program.commands[name].params for o in (*p.opts, *p.secondary_opts)}
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", rest.split("|")[0].split("#")[0])) <= known


def test_help_loads_no_numerics():
    code = (
        "import sys; from separatrix.cli.program import program; "
        "program(['--help'], standalone_mode=False); "
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_click_the_command_says_what_to_install():
    code = (
        "import sys; sys.modules['click'] = None; "
        "from separatrix.cli import main; main(['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: the command line needs the package click, which is not installed: "
        "pip install 'separatrix[app]'\n"
    )


def test_an_interrupt_while_modules_are_imported_is_said_in_words(monkeypatch, capsys):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "separatrix.cli.program", Interrupted())
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == console.INTERRUPTED
    assert capsys.readouterr().err == "Error: interrupted\n"


@pytest.fixture
def without_papers(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])


def test_a_command_of_a_distribution_that_is_missing_says_which(without_papers):
    assert "comes with separatrix-papers" in run("reproduce", "lecture", code=2).stderr
    assert "reproduce" not in run("--help").stdout


def test_an_installed_distribution_brings_commands(tmp_path, monkeypatch):
    about = tmp_path / "others-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1\n")
    points = "count = counting:count\nfit = counting:count"
    (about / "entry_points.txt").write_text(f"[separatrix.commands]\n{points}\n")
    (tmp_path / "counting.py").write_text(
        "import click\n\n"
        "@click.command()\n"
        "def count():\n"
        "    'Count to three.'\n"
        "    print(1, 2, 3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert run("count").stdout == "1 2 3\n"
    assert "Count to three." in run("--help").stdout
    assert "DATA" in run("fit", "--help").stdout  # an own command is never replaced


def test_events_are_json_one_a_line(bare_table):
    options = ["--methods", "LDA", "--splits", "2"]
    done = run("--log-json", "compare", "flowers.csv", *options)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"progress"} <= {event["event"] for event in events}
    last = [event for event in events if event["event"] == "progress"][-1]
    assert (last["done"], last["total"]) == (2, 2)
    done = run("--log-json", "compare", "flowers.csv", "--methods", "nothing", code=1)
    assert json.loads(done.stderr.splitlines()[-1])["event"] == "error"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(shell):
    assert "_SEPARATRIX_COMPLETE" in run("completion", shell).stdout


def test_colours_follow_the_option_and_the_environment(bare_table, monkeypatch):
    wrong = ["compare", "flowers.csv", "--methods", "nothing"]
    assert "\x1b[31m" in run("--color", "always", *wrong, code=1, color=True).stderr
    assert "\x1b" not in run("--color", "never", *wrong, code=1, color=True).stderr
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(*wrong, code=1, color=True).stderr


def test_help_has_headings_and_whole_summaries():
    text = run("fit", "--help").stdout
    heads = [line for line in text.splitlines() if line.endswith(" options:")]
    assert heads[:2] == ["Data options:", "Features options:"] or "Data options:" in heads
    assert "..." not in run("--help").stdout.split("Commands:")[1]


def test_methods_have_aliases_in_any_case(bare_table):
    found = json.loads(run("fit", "flowers.csv", "-m", "pls-da", "-o", "a.model", "--json").stdout)
    assert found["method"] == "PartialLeastSquaresDiscriminant"
    found = json.loads(run("fit", "flowers.csv", "-m", "lda", "-o", "b.model", "--json").stdout)
    assert (found["method"], found["merges"]) == ("FisherDiscriminant", True)
    options = ["--methods", "lda,ldg,mmda", "--splits", "1", "--json"]
    record = json.loads(run("compare", "flowers.csv", *options).stdout)
    names = {"LDA", "LDG", "MarginMaximizingDiscriminant"}
    assert {m["name"] for m in record["methods"]} == names
