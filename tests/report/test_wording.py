"""Numbers and names in plain words."""

from __future__ import annotations

import pytest

from separatrix.report import wording


@pytest.mark.parametrize(
    ("names", "briefs"),
    [
        (["short", "names"], ["short", "names"]),
        (
            [f"Vertebrate specimen group number {i:02d}" for i in range(30)],
            [f"… number {i:02d}" for i in range(30)],
        ),
        (["species one of the lake", "species two of the lake"], ["… one…", "… two…"]),
        (["an exceedingly long name", "b"], ["an exceeding… name", "b"]),
        (["twice the same long name"] * 2, ["twice the sa… name", "twice the sa… name (2)"]),
        (["a single long name of one class"], ["a single lon…class"]),
    ],
    ids=["short", "start", "both ends", "nothing shared", "same", "one"],
)
def test_names_beside_pictures_are_brief_and_can_be_told_apart(names, briefs):
    found = wording.abbreviate(names)
    assert len(set(found)) == len(names)
    assert found == briefs
