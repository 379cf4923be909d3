"""Records as plain dictionaries and back."""

from __future__ import annotations

import json

import pytest

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.records import Comparison, from_plain, to_plain
from separatrix.evaluate.splits import RandomShares
from tests.evaluate.comparing import X2, Y2, Broken


def test_records_survive_json():
    found = compare(["FisherDiscriminant", "raw", ("bad", Broken())], X2, Y2, cv=RandomShares(2))
    text = json.dumps(to_plain(found), allow_nan=False)
    assert from_plain(Comparison, json.loads(text)) == found
    with pytest.raises(KeyError, match="'LDG' is not among"):
        found["LDG"]
