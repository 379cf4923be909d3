"""Inputs as bad as they come: an answer, or an error in words with code 1 or 2."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from separatrix.cli.console import show_controls
from separatrix.cli.program import program
from tests.cli.running import flowers, process, refused, run

FRAME = flowers(24).drop(columns="plant")
TEXT = FRAME.to_csv(index=False)


def packed_arrays(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def huge_array():
    """A header that claims 8 TB."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def archive(name, content, kind=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as out:
        out.writestr(name, content)
    return file.getvalue()


def parquet():
    file = io.BytesIO()
    FRAME.to_parquet(file, index=False)
    return file.getvalue()


def workbook():
    file = io.BytesIO()
    FRAME.to_excel(file, index=False)
    return file.getvalue()


def entities():
    """A workbook whose text is an entity of entities, ten to the power of ten of them."""
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 11))
    head = f'<?xml version="1.0"?><!DOCTYPE s [<!ENTITY e0 "ha">{levels}]>'
    text = f"{head}<sst><si><t>&e10;</t></si></sst>"
    source, out = zipfile.ZipFile(io.BytesIO(workbook())), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, text if name.endswith("sharedStrings.xml") else content)
    return out.getvalue()


def with_value(text, row=3, column="v1"):
    frame = FRAME.astype(object)
    frame.loc[row, column] = text
    return frame.to_csv(index=False).encode()


FILES = {
    "binary.csv": lambda: bytes(range(256)) * 40,
    "empty.csv": lambda: b"",
    "bom.csv": lambda: b"\xef\xbb\xbf",
    "blank.csv": lambda: b"\n \n\r\n",
    "names.csv": lambda: b"a,b,kind\n",
    "nul.csv": lambda: with_value("1\x002"),
    "nul-name.csv": lambda: TEXT.replace("v0", "v\x000", 1).encode(),
    "cr.csv": lambda: TEXT.replace("\n", "\r").encode(),
    "crlf.csv": lambda: TEXT.replace("\n", "\r\n").encode(),
    "mixed-ends.csv": lambda: TEXT.replace("\n", "\r\n", 9).encode(),
    "utf16.csv": lambda: TEXT.encode("utf-16"),
    "latin.csv": lambda: TEXT.replace("ash", "Äsche").encode("latin-1"),
    "one-column.csv": lambda: FRAME[["kind"]].to_csv(index=False).encode(),
    "one-row.csv": lambda: FRAME[:1].to_csv(index=False).encode(),
    "one-value.csv": lambda: b"a\n1\n",
    "header-twice.csv": lambda: (TEXT + TEXT).encode(),
    "same-names.csv": lambda: TEXT.replace("v0,v1", "v0,v0").encode(),
    "ragged.csv": lambda: (TEXT + "1,2,3,ash,9\n").encode(),
    "short.csv": lambda: (TEXT + "1,2\n").encode(),
    "quote.csv": lambda: TEXT.replace("ash", '"ash', 1).encode(),
    "label-lines.csv": lambda: TEXT.replace("ash", '"a\nsh"').encode(),
    "label-escapes.csv": lambda: TEXT.replace("ash", "\x1b[31mash\x1b]0;x\x07").encode(),
    "label-formula.csv": lambda: TEXT.replace("ash", "=1+2").encode(),
    "name-escapes.csv": lambda: TEXT.replace("v0", "\x1b[2Jv0\u202e", 1).encode(),
    "mixed.csv": lambda: with_value("tall"),
    "inf.csv": lambda: with_value("inf"),
    "nan.csv": lambda: with_value("NaN"),
    "huge.csv": lambda: with_value("1e308"),
    "overflow.csv": lambda: with_value("1e999"),
    "complex.csv": lambda: with_value("1+2j"),
    "long-number.csv": lambda: with_value("9" * 5000),
    "wide.csv": lambda: pd.DataFrame(np.zeros((4, 5_000))).assign(kind=list("abab")).to_csv(
        index=False).encode(),
    "cut.csv.gz": lambda: gzip.compress(TEXT.encode())[:-30],
    "no.csv.gz": lambda: TEXT.encode(),
    "cut.npz": lambda: packed_arrays(X=np.ones((4, 2)), y=np.arange(4))[:-40],
    "objects.npz": lambda: packed_arrays(X=np.array([[{}]], object), y=np.array([1])),
    "huge.npz": lambda: archive("X.npy", huge_array()),
    "huge.npy": huge_array,
    "bomb.npz": lambda: archive("X.npy", bytes(1 << 26)),
    "no.npz": lambda: archive("text.txt", b"words"),
    "cut.xlsx": lambda: workbook()[:-200],
    "bomb.xlsx": lambda: archive("xl/worksheets/sheet1.xml", bytes(1 << 26)),
    "entities.xlsx": entities,
    "no.xlsx": lambda: TEXT.encode(),
    "cut.parquet": lambda: parquet()[:-50],
    "bent.parquet": lambda: parquet()[:100] + bytes(20) + parquet()[120:],
    "no.arff": lambda: b"@relation t\n@attribute a {",
    "no.ts": lambda: b"@data\nwords:more:words\n",
    "no.fasta": lambda: b"no header\n",
    "no.model": lambda: b"PK\x03\x04" + bytes(100),
}  # fmt: skip
COMMANDS = ("fit {} -o a.model", "look {}", "compare {} --methods LDA --splits 2",
            "stream {} -o s.model", "predict wine.model {}")  # fmt: skip


@pytest.fixture(scope="module")
def wine_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "wine.model"
    run("fit", "wine", "-o", path)
    return path


def attempt(*arguments):
    """Run a command that may fail, but only in words."""
    result = CliRunner().invoke(program, [str(a) for a in arguments])
    assert result.exit_code in (0, 1, 2), result.output + repr(result.exception)
    assert "Traceback" not in result.output
    assert "fault of the program" not in result.output
    assert show_controls(result.output) == result.output, "escapes reach the terminal"
    if result.exit_code:
        assert len(result.stderr) < 1500
        assert len(result.stderr) > 20
    return result


@pytest.mark.parametrize("name", FILES)
def test_bad_files_end_in_words(name, wine_model):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(name[-4:], "pandas"))
    Path(name).write_bytes(FILES[name]())
    for command in COMMANDS:
        words = command.format(name).replace("wine.model", str(wine_model)).split()
        attempt(*words)
    for command in ("info", "export"):
        options = ["-o", "a.json"] if command == "export" else []
        result = attempt(command, name, *options)
        assert result.exit_code in (1, 2)


@pytest.mark.parametrize("name", ["loop", "loops", "folder", "device", "secret.csv", "/dev/null"])
def test_places_that_are_no_files_end_in_words(name, wine_model):
    os.symlink("loop", "loop")
    Path("folder").mkdir()
    Path("loops").mkdir()
    os.symlink("..", "loops/up")
    os.symlink("self", "loops/self")
    os.symlink("/dev/zero", "device")
    Path("secret.csv").write_text(TEXT)
    Path("secret.csv").chmod(0)
    for command in COMMANDS:
        words = command.format(name).replace("wine.model", str(wine_model)).split()
        attempt(*words)
        attempt(*words, "--format", "csv")
        attempt(*words, "--format", "npz")


def test_labels_with_escapes_are_shown_as_text():
    frame = FRAME.assign(kind=FRAME["kind"].replace("ash", "\x1b[31mash"))
    frame.to_csv("t.csv", index=False)
    assert "\\x1b[31mash" in run("fit", "t.csv", "-o", "a.model", "--json").stdout.replace(
        "\\u001b", "\\x1b"
    )
    shown = run("info", "a.model").stdout
    assert "\\x1b[31mash" in shown
    assert "\x1b" not in shown


def test_cells_that_a_spreadsheet_would_run_are_quoted():
    kinds = FRAME["kind"].map({"ash": "=1+2", "birch": "-1", "cedar": "@x"})
    FRAME.assign(kind=kinds).to_csv("t.csv", index=False)
    run("fit", "t.csv", "-o", "a.model")
    run("predict", "a.model", "t.csv", "-o", "safe.csv")
    assert set(pd.read_csv("safe.csv", dtype=str)["prediction"]) <= {"'=1+2", "-1", "'@x"}
    run("predict", "a.model", "t.csv", "-o", "raw.csv", "--raw")
    assert set(pd.read_csv("raw.csv", dtype=str)["prediction"]) <= {"=1+2", "-1", "@x"}
    assert "'=1+2" in run("predict", "a.model", "t.csv").stdout
    assert "p('" not in run("predict", "a.model", "t.csv", "--proba").stdout


def test_a_number_too_large_to_be_squared_is_an_overflow():
    Path("t.csv").write_bytes(with_value("1e308"))
    said = refused("fit", "t.csv", "-o", "a.model")
    assert "column 'v1' has values such as 1e+308, whose squares are larger than numbers" in said


def test_a_fault_of_many_columns_is_said_once():
    frame = FRAME[["v0", "v1", "v2"]].map(lambda v: f"{v:.2f}".replace(".", ","))
    frame.assign(kind=FRAME["kind"]).to_csv("t.csv", index=False, sep=";")
    said = refused("fit", "t.csv", "--sep", ";", "-o", "a.model")
    assert said.count("--decimal ,") == 1
    assert "'v0', 'v1', 'v2' (numbers such as" in said


def test_two_writers_of_one_file_leave_a_whole_one():
    Path("t.csv").write_text(TEXT)
    children = [process("fit", "t.csv", "-o", "a.model") for _ in range(2)]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    run("info", "a.model")


def test_a_full_device_and_a_closed_pipe_end_in_words():
    Path("t.csv").write_text(TEXT)
    run("fit", "t.csv", "-o", "a.model")
    with open("/dev/full", "w") as full:
        child = process("predict", "a.model", "t.csv", stdout=full)
        said = child.communicate(timeout=120)[1]
    assert child.returncode == 1
    assert "No space left" in said
    assert "Traceback" not in said
    reading, writing = os.pipe()
    os.close(reading)
    child = process("predict", "a.model", "t.csv", stdout=writing)
    os.close(writing)
    said = child.communicate(timeout=120)[1]
    assert child.returncode == 141
    assert "Error" not in said
