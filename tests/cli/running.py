"""Running commands in tests, and the tables they read."""

from __future__ import annotations

import inspect
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from separatrix import (
    datasets,
)
from separatrix.cli import console
from separatrix.cli.program import program
from tests.discovery import labelled

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(inspect.getfile(console)).parent.parent.parent),
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "",  # without buffers Python does not notice a closed pipe
}


def run(*arguments, code=0, **options):
    """Run a command; a mistake must be told in words."""
    result = CliRunner().invoke(program, [str(a) for a in arguments], **options)
    assert result.exit_code == code, result.output + repr(result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*arguments, code=1, **options):
    result = run(*arguments, code=code, **options)
    assert result.stdout == ""
    return " ".join(result.stderr.split())


CHILDREN = []


def process(*arguments, **options):
    command = [sys.executable, "-m", "separatrix", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    cache = {"XDG_CACHE_HOME": str(Path("cache").absolute())}
    child = subprocess.Popen(
        command, env=ENVIRONMENT | cache, preexec_fn=heed_interrupts, **pipes | options
    )
    CHILDREN.append(child)
    return child


def heed_interrupts():
    """A shell's background jobs, and so their children, are born deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def flowers(n=60, d=3, n_classes=3, seed=0):
    X, y = labelled(n, d, n_classes, seed)
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(d)])
    frame.insert(0, "plant", [f"p{i}" for i in range(n)])
    frame["kind"] = np.array(["ash", "birch", "cedar"])[y]
    return frame


def stream_file(n=4000, d=4):
    bunch = datasets.make_drifting_pair(n, d, turns=0.3, random_state=0)
    frame = pd.DataFrame(bunch.data).add_prefix("v")
    frame["state"] = np.array(["low", "high"])[bunch.target]
    frame.to_csv("stream.csv", index=False)
    return frame


def fitted(*options, data="flowers.csv"):
    run("fit", data, "-o", "a.model", "-q", *options)


def predicted(*arguments):
    found = run("predict", "a.model", *arguments)
    return pd.read_csv(io.StringIO(found.stdout)), found.stderr
