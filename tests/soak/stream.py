"""Streams with faults: whatever happens, the model in the file belongs to the rows up to a batch.

An episode writes one to three files of rows, the later ones being what a rotated log goes on in.
The uninterrupted run learns one after the other. The other run is faulted again and again and
resumed each time; after each fault the model file is whole, the number of rows in it has not gone
back, and at the end both models and both records of progress are equal, bit by bit.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.model import read

MAX_FAULTS = 12
"""Faults of an episode, after which it is finished without any."""

SETTINGS = (
    ["-m", "OnlineIPCAC"],
    ["-m", "OnlineIPCAC", "--set", "window=300"],
    ["-m", "OnlineIPCAC", "--set", "decay=0.999"],
    ["-m", "FisherDiscriminant"],
)


class BrokenPromiseError(Exception):
    """Rows were lost or doubled, or a file is not whole."""


class Episode(NamedTuple):
    """The files of a stream and how it is learned."""

    files: list[Path]
    options: list[str]
    model: Path
    random: Random
    counted: Counter[str]

    def command(self, file: Path, model: Path, *more: str) -> list[str]:
        learn = [sys.executable, "-m", "separatrix", "stream", str(file), "-o", str(model)]
        return [*learn, *self.options, *more, "-q"]


def soak(minutes: float, seed: int, disk: Path | None) -> int:
    """Episodes until the time is over; the seed of each is printed when it fails."""
    end, counted, failed = time.monotonic() + 60 * minutes, Counter[str](), 0
    first = seed
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) if disk is None else disk
            episode = draw_episode(Random(seed), Path(folder), place, counted)
            try:
                run_episode(episode, disk)
            except BrokenPromiseError as error:
                failed += 1
                print(f"seed {seed}: {error}", flush=True)
            for left in place.glob("*.model"):
                left.unlink()
        counted["episodes"] += 1
        seed += 1
    figures = ", ".join(f"{n} {name}" for name, n in sorted(counted.items()))
    print(f"seeds {first} to {seed - 1}: {figures}; {failed} episodes failed")
    return 1 if failed else 0


# What is learned -----------------------------------------------------------------------------


def draw_episode(random: Random, folder: Path, place: Path, counted: Counter[str]) -> Episode:
    n_classes, d = random.randint(2, 4), random.randint(2, 12)
    batch = random.choice([37, 100, 250])
    files, first = [], 0
    for i in range(random.randint(1, 3)):
        n = random.randint(5 * batch, 60 * batch)
        files.append(folder / f"log{i}.csv")
        files[-1].write_text(draw_text(random, first, n, d, n_classes))
        first += n
    every = random.choice([1, 1, 3, 10])
    options = ["--batch-size", str(batch), "--checkpoint-every", str(every), "-t", "state"]
    options += random.choice(SETTINGS)
    return Episode(files, options, place / "a.model", random, counted)


def draw_text(random: Random, first: int, n: int, d: int, n_classes: int) -> str:
    """Rows of which no two are equal; the first ones are of every class."""
    rng = np.random.default_rng(random.randrange(2**32))
    y = np.arange(n) % n_classes
    y[n_classes:] = rng.integers(n_classes, size=n - n_classes)
    X = rng.standard_normal((n, d)).round(4) + y[:, None]
    names = ",".join(["number", *(f"v{j}" for j in range(d)), "state"])
    lines = [
        ",".join([str(first + i), *map(repr, row), f"s{label}"])
        for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    return "\n".join([names, *lines]) + "\n"


# Faults --------------------------------------------------------------------------------------


def run_episode(episode: Episode, disk: Path | None) -> None:
    whole = episode.files[0].parent / "whole.model"
    for i, file in enumerate(episode.files):
        more = ["--resume", "--new-rows"] if i else []
        done = subprocess.run(
            episode.command(file, whole, *more), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BrokenPromiseError(f"the run without faults failed: {done.stderr}")
    faults = episode.random.randint(3, MAX_FAULTS)
    for i, file in enumerate(episode.files):
        begun = False  # whether rows of this file are in the model
        for left in range(faults, -1, -1):
            before = rows_in(episode.model)
            more = resuming(episode, i, begun)
            fault = episode.random.choice(list(FAULTS)) if left else "none"
            code, said = attempt(episode, file, more, fault, disk)
            after = rows_in(episode.model)
            episode.counted[f"× {fault}"] += 1
            if after < before:
                raise BrokenPromiseError(f"{before} rows became {after} after {fault}: {said}")
            begun = begun or after > before
            if "Traceback" in said:
                raise BrokenPromiseError(f"{fault} ended without words: {said}")
            if code == 0:
                break
        if code:
            raise BrokenPromiseError(f"the last run failed: {said}")
        if i + 1 < len(episode.files):
            check_rotation_is_noticed(episode, i + 1)
    check_equal(whole, episode.model)
    episode.counted["rows learned"] += rows_in(episode.model)


def resuming(episode: Episode, i: int, begun: bool) -> list[str]:
    if i == 0:
        return ["--resume"]
    return ["--resume"] if begun else ["--resume", "--new-rows"]


def check_rotation_is_noticed(episode: Episode, i: int) -> None:
    """The next file, given as if it were the one before, is refused and changes nothing."""
    before = episode.model.read_bytes()
    command = episode.command(episode.files[i], episode.model, "--resume")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 1 or "not the rows that were learned" not in done.stderr:
        raise BrokenPromiseError(f"a rotated file was taken for the old one: {done.stderr}")
    if episode.model.read_bytes() != before:
        raise BrokenPromiseError("a file that was refused changed the model")
    episode.counted["rotations noticed"] += 1


def attempt(
    episode: Episode, file: Path, more: list[str], fault: str, disk: Path | None
) -> tuple[int, str]:
    """One run with a fault: exit status and what it said."""
    prepare, disturb = FAULTS.get(fault, (no_limit, wait))
    filler = None
    if fault == "full disk" and disk is not None:
        prepare, filler = no_limit, fill(disk, episode.random)
    child = subprocess.Popen(
        episode.command(file, episode.model, *more),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=prepare,
    )
    try:
        disturb(child, episode)
        said = child.communicate()[1]
    finally:
        if filler is not None:
            filler.unlink()
    if fault == "full disk" and child.returncode and not {"space", "large"} & set(said.split()):
        raise BrokenPromiseError(f"a full disk is not named: {said}")
    return child.returncode, said


def no_limit() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def small_files() -> None:
    """No room for a model."""
    no_limit()
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))


def fill(disk: Path, random: Random) -> Path:
    """A file that leaves no room, or hardly any."""
    filler = disk / "filler"
    spare = random.choice([0, 0, 3000, 20000])
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with filler.open("wb") as file:
        file.write(bytes(max(0, free - spare)))
    return filler


def wait(child: Any, episode: Episode) -> None:
    child.wait()


def send(number: signal.Signals, after_checkpoint: bool) -> Any:
    """A signal at a random moment, or right after a random checkpoint was begun."""

    def disturb(child: Any, episode: Episode) -> None:
        if after_checkpoint:
            for _ in range(episode.random.randint(1, 6)):
                wait_for_change(child, episode.model)
            time.sleep(episode.random.choice([0, 0.001, 0.01]))
        else:
            time.sleep(episode.random.uniform(0.1, 6))
        child.send_signal(number)

    return disturb


def wait_for_change(child: Any, model: Path) -> None:
    """Until a temporary file or another model is there, or the process has ended."""
    before = listing(model)
    while listing(model) == before and child.poll() is None:
        time.sleep(0.0005)


def listing(model: Path) -> list[tuple[str, int]]:
    with os.scandir(model.parent) as entries:
        return sorted((entry.name, entry.inode()) for entry in entries)


FAULTS = {
    "kill": (no_limit, send(signal.SIGKILL, False)),
    "kill at a checkpoint": (no_limit, send(signal.SIGKILL, True)),
    "terminate": (no_limit, send(signal.SIGTERM, True)),
    "interrupt": (no_limit, send(signal.SIGINT, False)),
    "full disk": (small_files, wait),
}


# What must hold ------------------------------------------------------------------------------


def rows_in(model: Path) -> int:
    """Rows of the model in a file, which must be whole."""
    if not model.exists():
        return 0
    try:
        stored = read(model)
    except ValueError as error:
        raise BrokenPromiseError(f"the model file is not whole: {error}") from error
    rows = int(stored.notes["stream"]["rows"])
    parameters = stored.model.get_params()
    if not (parameters.get("window") or parameters.get("decay")):
        counts = stored.model.moments_.counts
        if int(counts.sum()) != rows:
            raise BrokenPromiseError(f"{rows} rows are noted, {counts.sum()} are in the model")
        # rows bear their numbers, so that their sum tells which rows were learned
        number = list(stored.model.feature_names_in_).index("number")
        total = float(counts @ stored.model.moments_.means[:, number])
        if abs(total - rows * (rows - 1) / 2) > 0.01:
            raise BrokenPromiseError(f"the numbers of {rows} rows sum to {total}")
    return rows


def check_equal(expected: Path, found: Path) -> None:
    a, b = read(expected), read(found)
    if a.notes["stream"] != b.notes["stream"]:
        raise BrokenPromiseError(f"{b.notes['stream']} in place of {a.notes['stream']}")
    for name in ("counts", "means", "Sw"):
        one, other = (np.asarray(getattr(m.model.moments_, name)) for m in (a, b))
        if not np.array_equal(one, other):
            difference = np.abs(one - other).max()
            raise BrokenPromiseError(f"{name} of the resumed model differ by {difference}")
    left = [path.name for path in found.parent.iterdir() if path.name.endswith(".part")]
    if len(left) > 1:  # one that a kill left is swept at the next save, unless it is a second old
        raise BrokenPromiseError(f"temporary files are left: {left}")
