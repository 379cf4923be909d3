"""Small tables, and a studio to ask, for several tests."""

from __future__ import annotations

import time

import numpy as np

ADDRESS = "http://127.0.0.1:8000"
TOKEN = "a-token-of-the-tests"


def flowers(n_rows=40, separator=",", comma=".", names=("width", "length", "depth"), kinds="abc"):
    """A csv of three classes that are easy to tell apart."""
    rng = np.random.default_rng(0)
    lines = [separator.join([*names, "kind"])]
    for i in range(n_rows):
        label = i % len(kinds)
        values = rng.normal(size=len(names)) + 4 * np.eye(len(names))[label % len(names)]
        lines.append(
            separator.join([*(f"{v:.3f}".replace(".", comma) for v in values), kinds[label]])
        )
    return "\n".join([*lines, ""])


def wait_for(condition, seconds=60.0):
    """The first true answer; an error after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("it did not come true in time")
