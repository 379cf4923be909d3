"""What the first lines of a file say of how it is written."""

from __future__ import annotations

import io

import pytest

from separatrix.files.reading import Reading
from separatrix.files.sniff import guess_reading

ROWS = [("a", "b", "kind"), ("1.5", "2.25", "x"), ("3.5", "4.25", "y"), ("1.0", "0.5", "x")]


def text(rows, sep=",", decimal="."):
    return "\n".join(sep.join(v.replace(".", decimal) for v in row) for row in rows) + "\n"


def guessed(content, **how):
    reading = guess_reading(io.BytesIO(content.encode()), Reading(**how))
    usual = Reading()
    return {
        name: getattr(reading, name)
        for name in ("sep", "form", "decimal", "thousands", "header", "transposed")
        if getattr(reading, name) != getattr(usual, name)
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (text(ROWS), {"form": "csv"}),
        (text(ROWS, "\t"), {"form": "tsv"}),
        (text(ROWS, ";"), {"form": "csv", "sep": ";"}),
        (text(ROWS, "|"), {"form": "csv", "sep": "|"}),
        (text(ROWS, " "), {"form": "csv", "sep": r"\s+"}),
        (text(ROWS, ";", ","), {"form": "csv", "sep": ";", "decimal": ","}),
        (
            text([("a", "b", "c", "kind"), *[("1.5", "2.5", "0.5", "x")] * 20], ";", ","),
            {"form": "csv", "sep": ";", "decimal": ","},
        ),
        (text(ROWS[1:]), {"form": "csv", "header": False}),
        ('"a,1";kind\n1;x\n2;y\n', {"form": "csv", "sep": ";"}),
        ("400,402,405,kind\n1,2,3,x\n4,5,6,y\n", {"form": "csv"}),
        (
            "a;kind\n1.065,5;x\n12.000,25;y\n3,5;x\n",
            {"form": "csv", "sep": ";", "decimal": ",", "thousands": "."},
        ),
        (
            "gene,s1,s2,s3,s4\nBRCA1,1,2,3,4\nTP53,4,5,6,8\nMYC,1,1,3,9\nkind,x,y,x,y\n",
            {"form": "csv", "transposed": True},
        ),
        ("plant,a,b,kind\np1,1,2,x\np2,3,4,y\np3,5,6,x\np4,7,9,y\n", {"form": "csv"}),
    ],
)
def test_the_layout_of_lines_is_seen(content, expected):
    assert guessed(content) == expected


def test_what_is_given_stays():
    assert guessed(text(ROWS, ";"), sep=",", form="csv") == {"sep": ",", "form": "csv"}
    assert guessed("") == {}


def test_an_open_file_is_set_back():
    file = io.BytesIO(text(ROWS).encode())
    guess_reading(file, Reading())
    assert file.tell() == 0
