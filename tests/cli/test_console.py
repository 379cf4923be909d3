"""Exit codes, messages and progress."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from separatrix.cli import console
from separatrix.cli.program import program
from tests.cli.running import (
    ENVIRONMENT,
    process,
    refused,
    run,
    stream_file,
)


def test_a_fault_of_the_program_is_not_taken_for_the_users(monkeypatch):
    def broken(name):
        raise KeyError("inside")

    monkeypatch.setattr("separatrix.files.bundled.load_bundled", broken)
    assert "This is a fault of the program" in refused("datasets", code=70)
    result = CliRunner().invoke(program, ["--debug", "datasets"])
    assert isinstance(result.exception, KeyError)


def test_exit_codes_are_documented():
    text = " ".join(run("--help").stdout.split())
    for code in console.EXIT_CODES:
        assert re.search(rf"\b{code} \w", text)


def test_a_closed_pipe_ends_quietly():
    stream_file(20_000)
    run("fit", "stream.csv", "-o", "a.model")
    child = process("predict", "a.model", "stream.csv", "-q", "--proba")
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=60) == console.OUTPUT_CLOSED
    assert child.stderr.read() == ""
    child.stderr.close()


def test_progress_is_shown_on_terminals_only(monkeypatch):
    stream_file(300)
    assert run("stream", "stream.csv", "--batch-size", "100").stderr == ""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    child = process("stream", "stream.csv", "--batch-size", "100", stderr=follower)
    out = child.stdout.read()
    child.stdout.close()
    child.wait(timeout=60)
    os.close(follower)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert "stream" in shown
    assert out.startswith("300 rows, error 0.")


def test_a_line_a_minute_where_there_is_no_terminal(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 61.0, 62.0, 130.0])
    monkeypatch.setattr("separatrix.cli.console.time.monotonic", lambda: next(clock))
    with console.Console(as_json=False, quiet=False).progress("compare") as update:
        for done in range(4):
            update(done, 9, f"{done} of 9 folds")
    assert capsys.readouterr().err == "compare: 1 of 9 folds\ncompare: 3 of 9 folds\n"
    with console.Console(as_json=False, quiet=True).progress("compare") as update:
        update(1, 9, "")
    assert capsys.readouterr().err == ""


def test_debug_shows_where_a_file_failed(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "separatrix", "--debug", "predict", "none.model", "wine"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" in result.stderr
    assert "FileNotFoundError" in result.stderr


def test_output_that_nobody_can_read_is_no_success():
    command = f"{shlex.quote(sys.executable)} -m separatrix datasets"
    closed = subprocess.run(
        ["sh", "-c", f"{command} >&-"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert closed.returncode == console.OUTPUT_CLOSED, closed.stderr
    assert closed.stderr == ""
    if Path("/dev/full").exists():
        full = subprocess.run(
            ["sh", "-c", f"{command} > /dev/full"],
            env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert full.returncode == console.INPUT_ERROR
        assert full.stderr == "Error: No space left on device\n"


@pytest.mark.parametrize("name", console.APP_PACKAGES)
def test_a_package_that_is_not_installed_is_named_with_the_remedy(name, monkeypatch):
    def absent():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("separatrix.cli.listings.list_bundled", absent)
    assert refused("datasets") == (
        f"Error: {name} is not installed: pip install 'separatrix[app]'"
    )
