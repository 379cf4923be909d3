"""Commands outlive the page and a server that is killed."""

from __future__ import annotations

import os
import signal

import pytest

from separatrix.studio.commands import RefusedError
from separatrix.studio.jobs import MOST_RUNNING, CommandRun, find_job, list_jobs, start_job
from separatrix.studio.projects import Projects
from tests.studio.running import flowers, wait_for


@pytest.fixture
def project(tmp_path):
    folder = Projects(tmp_path / "projects").create("flowers")
    (folder / "flowers.csv").write_text(flowers(300))
    return folder


def start_comparison(project, splits=40):
    options = {"methods": ["FisherDiscriminant,LDG"], "splits": splits, "json": True,
               "results": "folds.jsonl"}  # fmt: skip
    return start_job(project, "compare", ["flowers.csv"], options)


def count_folds(project):
    try:
        return (project / "folds.jsonl").read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return 0


def end(job):
    return wait_for(lambda: job.status() != "running" and job.status(), 120)


def test_a_command_that_was_killed_goes_on_where_it_was(project):
    job = start_comparison(project)
    wait_for(lambda: count_folds(project) >= 3)
    os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
    wait_for(lambda: job.status() == "interrupted")
    done = (project / "folds.jsonl").read_bytes().splitlines()
    again = find_job(project, job.number)  # as another server would find it
    again.start()
    assert end(again) == "done"
    assert (project / "folds.jsonl").read_bytes().splitlines()[: len(done) - 1] == done[:-1]
    assert again.result()["methods"]


def test_a_command_that_is_stopped_keeps_what_is_done(project):
    job = start_comparison(project)
    wait_for(lambda: count_folds(project) >= 1)
    job.stop()
    assert end(job) == "stopped"
    kept = count_folds(project)
    assert kept >= 1
    job.start()
    assert end(job) == "done"
    assert count_folds(project) > kept


def test_a_command_that_runs_is_not_started_twice(project):
    job = start_comparison(project)
    with pytest.raises(RefusedError, match="still running"):
        CommandRun(job.folder).start()
    job.stop()
    end(job)


def test_so_many_commands_run_at_a_time(project):
    options = {"methods": ["LDG"], "splits": 300}
    jobs = [
        start_job(project, "compare", ["flowers.csv"], {**options, "results": f"{i}.jsonl"})
        for i in range(MOST_RUNNING)
    ]
    with pytest.raises(RefusedError, match="commands are running"):
        start_job(project, "compare", ["flowers.csv"], options)
    for job in jobs:
        job.stop()
    assert {end(job) for job in jobs} <= {"stopped", "interrupted"}


def test_an_error_is_kept_with_its_words(project):
    job = start_job(project, "fit", ["nothing.csv"], {"output": "x.model"})
    assert end(job) == "failed"
    assert "nothing.csv" in job.messages()
    assert job.exit_code() == 1
    assert [other.number for other in list_jobs(project)] == [job.number]
