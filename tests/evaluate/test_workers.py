"""Folds in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.fold import Job
from separatrix.evaluate.methods import contenders
from separatrix.evaluate.splits import RandomShares
from separatrix.evaluate.workers import Budget, RunningJob, Worker
from tests.evaluate.comparing import CHEAP, X, Y, without_times


def test_the_time_left_to_a_fold_is_what_its_method_has_not_spent():
    first, other = (Job(contender, 0, 0) for contender in contenders(["raw", "PCA"]))
    budget = Budget(100.0, {"raw": 30.0})
    assert budget.time_left(first, {}) == 70.0
    running = {
        0: RunningJob(None, first, time.monotonic() - 10),
        1: RunningJob(None, other, time.monotonic()),
    }
    assert 29 < budget.time_left(first, running) <= 30
    assert Budget(None, {}).time_left(first, running) == np.inf


class Sleepy(ClassifierMixin, BaseEstimator):
    """Never ends, but tells who it is."""

    def __init__(self, path):
        self.path = path

    def fit(self, X, y):
        self.path.write_text(str(os.getpid()))
        time.sleep(600)

    def predict(self, X):
        raise AssertionError


class Deadly(Sleepy):
    def fit(self, X, y):
        os._exit(3)


def test_worker_processes_give_the_same_and_are_ended_when_time_is_up(tmp_path, monkeypatch):
    # four seconds are left to one method, and plenty to the others however slow the machine is
    monkeypatch.setattr(
        "separatrix.evaluate.runner._seconds_by_method", lambda _: {"sleepy": 996.0}
    )
    quick = ["FisherDiscriminant", "MixtureIPCAC"]
    bad = [("sleepy", Sleepy(tmp_path / "pid")), ("deadly", Deadly(tmp_path))]
    told = []
    found = compare(
        [*bad, *quick], X, Y, cv=RandomShares(2), n_jobs=2, budget=1000, progress=told.append
    )
    alone = compare(quick, X, Y, cv=RandomShares(2))
    for name in quick:
        assert without_times(found)[name] == without_times(alone)[name]
    sleepy = found["sleepy"]
    assert (sleepy.status, sleepy.reason) == (
        "failed", "time budget of 1000 s; 0 of 2 splits done"
    )  # fmt: skip
    assert {fold.status for fold in sleepy.folds} == {"stopped"}
    assert sum(fold.seconds for fold in sleepy.folds) >= 4
    assert [fold.status for fold in found["deadly"].folds] == ["failed"] * 2
    assert found["deadly"].reason.startswith("the process died")
    if (tmp_path / "pid").exists():  # a machine may be too slow to come so far in four seconds
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
    assert told[-1].done == told[-1].total == 8
    assert told[-1].remaining == 0
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert any("sleepy" in p.running for p in told)
    ended = sum(p.fold is not None for p in told)
    assert ended == sum(len(method.folds) for method in found.methods)


KILLED = """
import os, signal, sys, tempfile
import numpy as np
from separatrix.evaluate import RandomShares, compare
tempfile.tempdir = sys.argv[3]
with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
def kill(state):
    if state.done >= 2 and state.running:
        os.kill(os.getpid(), signal.SIGKILL)
compare(["DDAGClassifier", "LDG", "PCA"], X, y, cv=RandomShares(2), n_jobs=2,
        results=sys.argv[2], progress=kill)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_comparison_leaves_its_results_and_no_process(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    path = tmp_path / "folds.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "data.npz", path, tmp_path],
        capture_output=True,  # ends when the workers have ended, who hold the pipes as well
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    patience = time.monotonic() + 60
    while list(tmp_path.glob("separatrix-*")) and time.monotonic() < patience:
        time.sleep(0.1)  # the workers see that they are alone, and clean up
    assert not list(tmp_path.glob("separatrix-*"))
    assert 2 <= len(path.read_text().splitlines()) - 1 < 6
    methods = ["DDAGClassifier", "LDG", "PCA"]
    told = []
    found = compare(methods, X, Y, cv=RandomShares(2), results=path, progress=told.append)
    assert told[0].done >= 2
    assert without_times(found) == without_times(compare(methods, X, Y, **CHEAP))


INTERRUPTED = """
import os, signal, sys
import numpy as np
from separatrix.evaluate import RandomShares, compare
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are born deaf
with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
looks = []
def interrupt(state):
    looks.append(state)
    if len(looks) == 3 if sys.argv[3] == "start" else state.done >= 2 and state.running:
        os.killpg(os.getpgrp(), signal.SIGINT)
try:
    compare(["DDAGClassifier", "LDG", "PCA"], X, y, cv=RandomShares(2), n_jobs=2,
            results=sys.argv[2], progress=interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize(("when", "n_done"), [("start", 0), ("later", 2)])
def test_of_an_interruption_only_the_caller_speaks(when, n_done, tmp_path):
    """Ctrl-C reaches all processes of a terminal, those that start and those that work, too."""
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "data.npz", tmp_path / "folds", when],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        start_new_session=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    assert len((tmp_path / "folds").read_text().splitlines()) - 1 >= n_done


def test_a_process_that_is_ended_at_once_is_ended_quietly(tmp_path, monkeypatch):
    """A time budget may be over before the fold has come to the process."""
    joblib.dump((None, []), tmp_path / "data")
    trouble = []
    monkeypatch.setattr(threading, "excepthook", trouble.append)
    for _ in range(20):
        worker = Worker(tmp_path / "data")
        worker.submit(None, 0.0)
        worker.end()
    assert trouble == []
