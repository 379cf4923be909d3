"""A table of text that tests read as a stream."""

from __future__ import annotations

import numpy as np


def table_bytes(n=95, quoted=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, "up", "down")
    lines = [f"{a!r},{b!r},{c!r},{k}" for (a, b, c), k in zip(X.tolist(), y, strict=True)]
    if quoted:
        lines = [f'{line},"one\nor ""two"" lines"' for line in lines]
        return ("a,b,c,kind,remark\n" + "\n".join(lines)).encode()
    return ("a,b,c,kind\n" + "\n".join(lines) + "\n").encode()
