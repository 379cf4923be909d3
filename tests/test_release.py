"""The files of a release: built the same each time, with what belongs into them."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from release import make_dist, minima, tag

yaml = pytest.importorskip("yaml", reason="PyYAML comes with Dask")
ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="the files of a release are those that git knows"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return [make_dist.build(tmp_path_factory.mktemp("dist")) for _ in range(2)]


def test_two_builds_are_equal_byte_by_byte(built):
    first, second = built
    assert [make_dist.sha256(file) for file in first] == [
        make_dist.sha256(file) for file in second
    ]
    assert [(file.name.split("-")[0], file.suffix) for file in first] == [
        ("separatrix", ".whl"),
        ("separatrix", ".gz"),
        ("separatrix_papers", ".whl"),
        ("separatrix_papers", ".gz"),
    ]


def test_files_have_what_belongs_into_them(built):
    faults = {".whl": make_dist.find_strangers, ".gz": make_dist.find_missing_sources}
    for file in built[0]:
        assert faults[file.suffix](file) == []


def test_a_stranger_in_a_wheel_is_found(built, tmp_path):
    other = tmp_path / built[0][0].name
    other.write_bytes(built[0][0].read_bytes())
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr("separatrix/secret.npz", b"")
        archive.writestr("tests/test_all.py", b"")
    assert len(make_dist.find_strangers(other)) == 2


def test_the_bill_of_materials_lists_what_is_declared(built):
    with zipfile.ZipFile(built[0][0]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".cdx.json")]
        bill = json.loads(archive.read(name))
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    assert scopes["numpy"] == "required"
    assert scopes["click"] == "optional"
    tools = {
        part["name"]: part["hashes"][0]["content"]
        for part in bill["metadata"]["tools"]["components"]
    }
    assert {"build", "hatchling"} <= set(tools)
    assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in tools.values())
    assert not {"separatrix", "pytest", "sphinx"} & set(scopes)
    whole = bill["metadata"]["component"]
    assert whole["version"] == make_dist.read_version()
    assert whole["licenses"][0]["license"]["id"] == "BSD-3-Clause"


def test_lowest_versions_are_those_declared():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for line in minima.list_minima():
        name, version = line.split("==")
        assert re.search(rf'"{re.escape(name)}(\[[^]]+\])?>={re.escape(version)}"', text), line
    assert any(line.startswith("numpy==") for line in minima.list_minima())


def test_a_tag_of_another_version_is_no_release():
    assert any("the package says" in fault for fault in tag.find_faults("v9.9.9"))
    assert not any("CITATION" in fault for fault in tag.find_faults("v9.9.9"))


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflows_run_commands_that_exist(name):
    flow = yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    asked = re.findall(r"make ([\w-]+)", "\n".join(step.get("run", "") for step in steps))
    assert asked
    assert set(asked) <= set(targets)


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_actions_are_pinned_by_their_commits(name):
    text = (ROOT / ".github/workflows" / name).read_text("utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", action) for action in used)


def test_hooks_need_no_environment_of_the_project():
    assert ".venv" not in (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
