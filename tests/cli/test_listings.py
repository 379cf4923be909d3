"""`separatrix methods` and `separatrix datasets`."""

from __future__ import annotations

import json

from tests.cli.running import run


def test_lists_name_everything():
    methods = json.loads(run("methods", "--json").stdout)["methods"]
    by_name = {m["name"]: m for m in methods}
    assert by_name["OnlineIPCAC"]["streams"]
    assert not by_name["LDG"]["streams"]
    assert all(len(m["description"]) > 20 for m in methods)
    text = run("methods").stdout
    assert all(name in text for name in by_name)
    sets = json.loads(run("datasets", "--json").stdout)["datasets"]
    assert {"name": "iris", "rows": 150, "features": 4, "classes": 3} in sets
    assert "breast_cancer" in run("datasets").stdout


def test_every_estimator_is_listed():
    methods = json.loads(run("methods", "--json").stdout)["methods"]
    kinds = {m["name"]: m["kind"] for m in methods}
    assert kinds["EarlyClassifier"] == "command `early`"
    assert kinds["TransferLDG"] == "from Python"
