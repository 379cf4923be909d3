"""`separatrix reproduce`: tables are listed, run, shown and kept."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from separatrix_papers import command
from separatrix_papers.figures import Measured
from separatrix_papers.tables import list_sources, read_tables


@pytest.fixture
def wine_and_sonar(tmp_path):
    """Two folds of sonar's protocol: classes of the sizes that it needs."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [40, 40])
    np.savez(tmp_path / "sonar.npz", X=rng.standard_normal((80, 8)) + y[:, None], y=y)
    return tmp_path


def test_the_tables_are_listed_with_their_data(run, wine_and_sonar):
    listed = json.loads(run("reproduce", "--data", wine_and_sonar, "--json").stdout)["tables"]
    by_name = {entry["table"]: entry for entry in listed}
    assert len(by_name) == sum(len(read_tables(folder)) for folder in list_sources().values())
    assert by_name["wsvda/table3"]["needs"] == {
        "sonar": True,
        "heart_statlog": False,
        "wine": True,  # it comes with scikit-learn
        "splice": False,
    }
    text = run("reproduce", "--data", wine_and_sonar).stdout
    assert "heart_statlog (not found)" in text


def test_a_table_is_run_shown_kept_and_gone_on_with(run, wine_and_sonar):
    folder = wine_and_sonar
    options = ("--data", folder, "--quick", "--results", folder / "a.jsonl")
    done = run("reproduce", "wsvda/figure2", *options, "--html", folder / "a.html")
    assert re.search(r"wsvda/figure2: .*\. Section 3\.1\.", done.stdout)
    assert "the classes are linearly separable in all pairs of WSVDA" in done.stdout
    page = (folder / "a.html").read_text()
    assert "wsvda/figure2" in page
    assert not re.search(r"(src|href)=.?https?:", page)
    before = (folder / "a.jsonl").read_bytes()
    record = json.loads(run("reproduce", "wsvda/figure2", *options, "--json").stdout)["tables"][0]
    assert (folder / "a.jsonl").read_bytes() == before
    cells = {(c["row"], c["column"]): c["ours"] for c in record["cells"]}
    assert cells["1 and 2", "WSVDA"]["n"] == 3


def test_wrong_names_and_missing_data_are_told(run, tmp_path):
    assert (
        "leave out --quick"
        in run("reproduce", "wsvda/figure2", "--quick", "--store", code=2).stderr
    )
    assert "there is no source 'wsvd': there are" in run("reproduce", "wsvd/table3", code=1).stderr
    assert "there is no table 'wsvda/table4': there are wsvda/table3" in (
        run("reproduce", "wsvda/table4", code=1).stderr
    )
    needs = run("reproduce", "wsvda/figure2", code=1).stderr
    assert "wsvda/figure2 needs the data sets sonar: name their folder (--data)" in needs
    assert (
        f"not in {tmp_path}"
        in run("reproduce", "wsvda/figure2", "--data", tmp_path, code=1).stderr
    )
    assert "does not exist" in run("reproduce", "wsvda", "--data", tmp_path / "no", code=2).stderr
    (tmp_path / "other.jsonl").write_text("something else\n")
    np.savez(tmp_path / "sonar.npz", X=np.eye(9), y=[0, 1, 1] * 3)
    refused = run(
        "reproduce",
        "wsvda/figure2",
        "--data",
        tmp_path,
        "--results",
        tmp_path / "other.jsonl",
        code=1,
    )
    assert "is not a file of results" in refused.stderr


def test_rows_that_need_no_data_are_run_without_any(run, monkeypatch):
    name, drawn = "ipcac/table4.6", {"Drawn": {"O-IPCAC": Measured(0.6, 0.1, 2)}}
    found = ({name: drawn}, {name: {}})
    monkeypatch.setattr(command, "_rerun", lambda *arguments: found)
    assert "Drawn" in run("reproduce", name).stdout
