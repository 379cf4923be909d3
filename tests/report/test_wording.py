"""Numbers and names in plain words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from separatrix import CONTENTS
from separatrix.evaluate.methods import method_classes
from separatrix.report import wording

MANUAL = Path(__file__).parents[2] / "docs"


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


@pytest.mark.parametrize("page", wording.MANUAL_PAGES)
def test_pages_of_the_manual_tell_of_the_methods_that_are_referred_to_them(page):
    text = (MANUAL / f"{page}.rst").read_text(encoding="utf-8")
    for name in wording.MANUAL_PAGES[page].split():
        assert name in CONTENTS
        assert re.search(rf"\b{name}\b", text), name
        assert wording.refer_to_manual(f"{name}()").endswith(f"page {page}.")


def test_every_method_of_a_comparison_has_a_page_of_the_manual():
    ours = [name for name in method_classes() if name in CONTENTS]
    missing = [name for name in ours if not wording.refer_to_manual(f"{name}()")]
    assert missing == []
