"""Files are written whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from separatrix import FisherDiscriminant, load, save
from tests.discovery import TALL
from tests.files.model_files import assert_answers_alike


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(step, failure, tmp_path, monkeypatch):
    path = tmp_path / "a.model"
    save(FisherDiscriminant(shrinkage=None).fit(*TALL), path)
    before = path.read_bytes()

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(failure)):
        save(FisherDiscriminant(1).fit(*TALL), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.model"]


def test_files_keep_their_rights_and_links_their_target(tmp_path):
    path, link = tmp_path / "a.model", tmp_path / "link"
    model = FisherDiscriminant(shrinkage=None).fit(*TALL)
    save(model, path)
    assert stat.S_IMODE(path.stat().st_mode) in (0o644, 0o664, 0o600, 0o666)
    path.chmod(0o640)
    link.symlink_to(path)
    save(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(IsADirectoryError):
        save(model, tmp_path)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe, model = tmp_path / "pipe", FisherDiscriminant(shrinkage=None).fit(*TALL)
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        save(model, pipe)
        (tmp_path / "a.model").write_bytes(os.read(end, 1 << 20))
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert_answers_alike(load(tmp_path / "a.model"), model, TALL[0])


def test_what_killed_writers_left_is_swept_and_nothing_else(tmp_path):
    model = FisherDiscriminant(shrinkage=None).fit([[0.0], [1.0], [1.5]], [0, 1, 1])
    names = [
        ".a.model.abcdefgh.part",
        ".b.model.abcdefgh.part",
        "a.model.abcdefgh.part",
        ".a.model.x",
    ]
    for name in [*names, ".a.model.12345678.part", ".a.model.87654321.part"]:
        (tmp_path / name).write_bytes(b"half a model")
        os.utime(tmp_path / name, (0, 0))
    os.utime(tmp_path / ".a.model.12345678.part")  # just made: not locked yet
    with (tmp_path / ".a.model.87654321.part").open("rb") as written:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(written, fcntl.LOCK_EX)  # as its writer does
        save(model, tmp_path / "a.model")
    left = {".a.model.12345678.part", ".a.model.87654321.part", "a.model", *names[1:]}
    assert {path.name for path in tmp_path.iterdir()} == left
    with pytest.raises(ValueError, match="not a model file"):
        load(tmp_path / names[1])
