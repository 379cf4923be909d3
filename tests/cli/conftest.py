"""Every command runs in a folder of its own, and leaves no process behind."""

from __future__ import annotations

import pytest

from tests.cli.running import CHILDREN, flowers


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def no_child_stays():
    yield
    while CHILDREN:
        child = CHILDREN.pop()
        child.kill()
        child.wait(timeout=60)
        for pipe in filter(None, (child.stdout, child.stderr, child.stdin)):
            pipe.close()


@pytest.fixture
def table():
    frame = flowers()
    frame.to_csv("flowers.csv", index=False)
    return frame


@pytest.fixture
def bare_table():
    frame = flowers().drop(columns="plant")
    frame.to_csv("flowers.csv", index=False)
    return frame
