"""How often complete rows confirm what neighbours of the expected row decided.

``python -m benchmarks.early_local`` draws normal rows, fits `EarlyClassifier` with `LocalQDA` to
some of them and decides on 18 000 others of which the last value is missing: the model of the
features is true there. Completions are sampled; with ``--set`` the set around the expected row
decides, and what is missing to τ is what its neighbours do not know of the complete row.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from separatrix import EarlyClassifier, LocalQDA
from separatrix.linalg import Array

RELIABILITIES = (0.5, 0.9, 0.99)
N_DRAWS, N_NEW = 6, 3000


class Setting(NamedTuple):
    """Rows, features, neighbours, and whether the class depends on the features at all."""

    n: int
    d: int
    k: int | str
    signal: bool


SETTINGS = (
    Setting(60, 2, 1, False),
    Setting(60, 3, 1, False),
    Setting(200, 3, 1, True),
    Setting(200, 3, 4, True),
    Setting(300, 4, 8, True),
    Setting(60, 3, "auto", True),
)


def confirmed(
    setting: Setting, rng: np.random.Generator, score: str = "sampled"
) -> tuple[Array, Array]:
    """Reliabilities of decisions, and whether the complete row gets the same label."""
    n, d, k, signal = setting
    L = np.linalg.cholesky(0.3 + 0.7 * np.eye(d))
    found, same = [], []
    for _ in range(N_DRAWS):
        X = rng.standard_normal((n, d)) @ L.T
        y = (signal * X.sum(axis=1) + rng.standard_normal(n) > 0).astype(int)
        model = EarlyClassifier(LocalQDA(k), score=score).fit(X, y)
        new = rng.standard_normal((N_NEW, d)) @ L.T
        decisions = model.decide(np.where(np.arange(d) < d - 1, new, np.nan))
        found.append(decisions.reliability)
        same.append(decisions.label == model.predict(new))
    return np.concatenate(found), np.concatenate(same)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.early_local")
    parser.add_argument("--set", action="store_true", help="the set around the expected row")
    score = "model" if parser.parse_args().set else "sampled"
    rng = np.random.default_rng(0)
    print("share confirmed (share of rows decided), the last of d values missing")
    columns = "".join(f"{f'tau = {tau:g}':>17}" for tau in RELIABILITIES)
    print(f"{'rows, values, neighbours':<40}{columns}")
    for setting in SETTINGS:
        found, same = confirmed(setting, rng, score)
        cells = ""
        for tau in RELIABILITIES:
            decided = found >= tau
            cells += f"{f'{same[decided].mean():.3f} ({decided.mean():.2f})':>17}"
        what = "" if setting.signal else ", labels at random"
        print(f"{f'{setting.n}, {setting.d}, {setting.k}{what}':<40}{cells}", flush=True)


if __name__ == "__main__":
    main()
