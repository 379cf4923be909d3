"""Commands in processes of their own: they outlive a page, and a server that is killed.

A job is a folder with the command, its output, and its exit code. The process holds a lock
on a file there, so that another server can tell a job that runs from one that was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from separatrix.studio.commands import RefusedError, build_arguments, python_text, shell_text

try:
    import fcntl
except ImportError:  # a system without locks: a job without an exit code counts as running
    fcntl = None  # type: ignore[assignment]

MOST_RUNNING = 4
"""Jobs of a project that run at a time; more of them only slow each other down."""

LONGEST_LOG = 200_000
"""Characters of messages that are shown, the last ones."""

_CHILDREN: list[subprocess.Popen[bytes]] = []  # a process that nobody asks for stays a zombie


class CommandRun:
    """One command that was started in a project.

    Parameters
    ----------
    folder : path
        ``jobs/N`` in the folder of the project.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder.parent.parent

    @property
    def number(self) -> int:
        """Which of the project's jobs it is, from one on."""
        return int(self.folder.name)

    @property
    def spec(self) -> dict[str, Any]:
        """The command, its arguments and its options, as the page sent them."""
        return dict(json.loads((self.folder / "command.json").read_text(encoding="utf-8")))

    def status(self) -> str:
        """How it is: running, done, failed, stopped, or interrupted, which may go on."""
        for child in list(_CHILDREN):
            if child.poll() is not None:
                _CHILDREN.remove(child)
        code = self.exit_code()
        if code is None:
            return "running" if self._is_alive() else "interrupted"
        if code == 0:
            return "done"
        return "stopped" if code in (130, -signal.SIGTERM) else "failed"

    def exit_code(self) -> int | None:
        """The exit code of the command; None while it runs, and where it was killed."""
        try:
            return int((self.folder / "exit").read_text())
        except (OSError, ValueError):
            return None

    def _is_alive(self) -> bool:
        if fcntl is None:
            return True
        try:
            with (self.folder / "lock").open("ab") as held:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def messages(self) -> str:
        """The command's standard error."""
        text = _read(self.folder / "messages.txt")
        return text[-LONGEST_LOG:]

    def result(self) -> Any:
        """The command's output: JSON where it is, else text."""
        text = _read(self.folder / "result.json")
        try:
            return json.loads(text) if text.strip() else None
        except ValueError:
            return text[-LONGEST_LOG:]

    def describe(self, *, whole: bool = False) -> dict[str, Any]:
        """The state of the job, with messages and result when ``whole``."""
        spec = self.spec
        words = build_arguments(spec["command"], spec["arguments"], spec["options"])
        state = {
            "number": self.number,
            **spec,
            "status": self.status(),
            "shell": shell_text([word for word in words if word != "--json"]),
            "python": python_text(spec["command"], spec["arguments"], spec["options"]),
            "started": (self.folder / "command.json").stat().st_mtime,
        }
        if whole:
            state |= {"messages": self.messages(), "result": self.result()}
        return state

    def start(self) -> None:
        """Run the command, again or for the first time."""
        if self.status() == "running" and (self.folder / "lock").exists():
            raise RefusedError("This command is still running.")
        for name in ("exit", "pid"):
            (self.folder / name).unlink(missing_ok=True)
        with (
            (self.folder / "result.json").open("wb") as result,
            (self.folder / "messages.txt").open("wb") as messages,
        ):
            child = subprocess.Popen(
                [sys.executable, "-m", "separatrix.studio.jobs", str(self.folder)],
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=messages,
                start_new_session=True,  # Ctrl-C in the terminal is for the server
            )
        _CHILDREN.append(child)
        self._wait_for_lock()

    def _wait_for_lock(self) -> None:
        """Until the process holds its lock, or has ended; else it would look interrupted."""
        for _ in range(500):
            if (self.folder / "pid").exists() and (
                self._is_alive() or self.exit_code() is not None
            ):
                return
            time.sleep(0.02)

    def stop(self) -> None:
        """End the command as Ctrl-C does: it keeps finished work."""
        if self.status() != "running":
            return
        with suppress(OSError, ValueError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def list_jobs(project: Path) -> list[CommandRun]:
    """The jobs of a project, the last first."""
    folders = [p for p in (project / "jobs").glob("*") if p.name.isdigit()]
    jobs = [CommandRun(p) for p in folders if (p / "command.json").is_file()]
    return sorted(jobs, key=lambda job: -job.number)


def find_job(project: Path, number: int) -> CommandRun:
    """One of them."""
    folder = project / "jobs" / str(number)
    if not (folder / "command.json").is_file():
        raise RefusedError(f"There is no job {number}.")
    return CommandRun(folder)


def start_job(
    project: Path, command: str, arguments: Sequence[str], options: Mapping[str, Any]
) -> CommandRun:
    """Start a command in the folder of a project."""
    build_arguments(command, arguments, options)  # refuses unknown options
    jobs = list_jobs(project)
    if sum(job.status() == "running" for job in jobs[: 10 * MOST_RUNNING]) >= MOST_RUNNING:
        raise RefusedError(f"{MOST_RUNNING} commands are running: stop one, or wait for its end.")
    number = jobs[0].number + 1 if jobs else 1
    while True:
        folder = project / "jobs" / str(number)
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
    spec = {"command": command, "arguments": list(arguments), "options": dict(options)}
    (folder / "command.json").write_text(json.dumps(spec), encoding="utf-8")
    job = CommandRun(folder)
    job.start()
    return job


def run(folder: Path) -> None:
    """Run the command of a job in this process, and write its exit code at the end."""
    lock = (folder / "lock").open("ab")
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_EX)
    _write_whole(folder / "pid", str(os.getpid()))
    spec = CommandRun(folder).spec
    code = 1
    try:
        from separatrix.cli import main

        main(build_arguments(spec["command"], spec["arguments"], spec["options"]))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = 130
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        _write_whole(folder / "exit", str(code))


def _write_whole(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
