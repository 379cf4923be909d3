"""Tables as text."""

from __future__ import annotations

from separatrix.files.text import format_columns


def test_columns_are_aligned_and_lines_end_with_their_text():
    lines = format_columns(["name", "n"], [["oak", 12], ["a birch", 3]]).split("\n")
    assert len(lines) == 4
    assert [line.rstrip() for line in lines] == lines
    assert {line.index(value) for line, value in zip(lines[2:], ["12", "3"], strict=True)} == {
        lines[0].index("n", 4)
    }
