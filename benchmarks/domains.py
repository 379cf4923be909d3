"""Labels of one domain for the rows of another: percent of right decisions on Office and Caltech.

``python -m benchmarks.domains [without|with] --data DIR`` takes all rows of a source to all rows
of a target, for each of the twelve pairs of ``surf10_*.npz``: without any label of the target, or
with two rows of each class labelled (mean of three draws; the others are judged). Counts of visual
words become roots of their shares in the picture.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from separatrix import LDG, DomainScaler, FisherDiscriminant, TransferLDG

DOMAINS = ("caltech10", "amazon", "webcam", "dslr")
Domain = tuple[np.ndarray, np.ndarray]


def load_domain(folder: Path, name: str) -> Domain:
    """Roots of the shares of visual words, and labels."""
    with np.load(folder / f"surf10_{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    return np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1.0)), y


def pose(source: Domain, target: Domain, known: np.ndarray, align: str) -> Any:
    """Scaled source rows, known target rows and unknown ones, each with labels."""
    domain = np.repeat([1, -1], [len(source[1]), len(target[1])])
    scaler = DomainScaler(align=align)
    Z = scaler.fit_transform(np.vstack([source[0], target[0]]), sample_domain=domain)
    rows = Z[domain < 0]
    return (
        (Z[domain > 0], source[1]),
        (rows[known], target[1][known]),
        (
            rows[~known],
            target[1][~known],
        ),
    )


def fit_rows(make: Callable[[], Any], source: Domain, known: Domain) -> Any:
    """A classifier of the rows of both domains together."""
    X, y = np.vstack([source[0], known[0]]), np.concatenate([source[1], known[1]])
    return make().fit(X, y)


def fit_transfer(params: dict[str, Any], source: Domain, known: Domain) -> Any:
    """Three neighbours after transfer LDG."""
    X, y = np.vstack([source[0], known[0]]), np.concatenate([source[1], known[1]])
    domain = np.repeat([1, -1], [len(source[1]), len(known[1])])
    reducer = TransferLDG(20, n_neighbors=4, **params).fit(X, y, sample_domain=domain)
    rule = KNeighborsClassifier(3).fit(reducer.transform(X), y)
    return make_pipeline(reducer, rule)


def shrunk(shrinkage: Any) -> Callable[..., Any]:
    """Fisher's discriminant of all labelled rows; class shares of a source say nothing here."""
    make = partial(FisherDiscriminant, shrinkage=shrinkage, rule="nearest-mean")
    return partial(fit_rows, make)


def neighbours_after_ldg() -> Any:
    """Three neighbours after LDG of the source."""
    return make_pipeline(LDG(20, gamma=0.5, n_neighbors=4), KNeighborsClassifier(3))


METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "without": {
        "1 neighbour": partial(fit_rows, lambda: KNeighborsClassifier(1)),
        "LDG, 3 neighbours": partial(fit_rows, neighbours_after_ldg),
        "Fisher, shrinkage auto": shrunk("auto"),
        "Fisher, shrinkage 0.9": shrunk(0.9),
        "Fisher, shrinkage 0.95": shrunk(0.95),
    },
    "with": {
        "TransferLDG": partial(fit_transfer, {}),
        "TransferLDG, alpha 1": partial(fit_transfer, {"alpha": 1.0}),
        "Fisher, shrinkage auto": shrunk("auto"),
        "Fisher, shrinkage 0.9": shrunk(0.9),
    },
}


def draw_known(y: np.ndarray, seed: int, per_class: int) -> np.ndarray:
    """A mask of so many rows of each class."""
    rng = np.random.default_rng(seed)
    known = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        known[rng.permutation(np.flatnonzero(y == label))[:per_class]] = True
    return known


def main() -> None:
    """Print a line for each method: its mean, and each pair of domains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(METHODS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=12, help="of how many pairs of domains")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    domains = {name: load_domain(options.data, name) for name in DOMAINS}
    pairs = list(permutations(DOMAINS, 2))[-options.pairs :]
    names = " ".join(f"{source[0]}>{target[0]}".rjust(5) for source, target in pairs)
    print(f"{'percent':<40} mean  {names}")
    draws = range(3) if options.what == "with" else range(1)
    for align in ("variances", "covariances"):
        found: dict[str, list[float]] = {name: [] for name in METHODS[options.what]}
        for source, target in pairs:
            y = domains[target][1]
            right: dict[str, list[float]] = {name: [] for name in found}
            for seed in draws:
                known = draw_known(y, seed, 2 if options.what == "with" else 0)
                posed = pose(domains[source], domains[target], known, align)
                for name, fit in METHODS[options.what].items():
                    right[name].append(100 * fit(*posed[:2]).score(*posed[2]))
            for name, values in right.items():
                found[name].append(float(np.mean(values)))
        for name, values in found.items():
            cells = " ".join(f"{value:5.1f}" for value in values)
            print(f"{align + ': ' + name:<40}{np.mean(values):5.2f}  {cells}", flush=True)


if __name__ == "__main__":
    main()
