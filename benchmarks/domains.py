"""Labels of one domain for the rows of another: percent of right decisions.

``python -m benchmarks.domains [without|with] --data DIR`` takes all rows of a source to all rows
of a target: both directions of MNIST and USPS (300 of each digit, 16×16 pixels), and the twelve
pairs of ``surf10_*.npz``, Office and Caltech. The target is without any label, or two rows of each
class are labelled (mean of three draws; the others are judged). Counts of visual words become
roots of their shares in the picture. Features are scaled in each domain by all of its rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from separatrix import LDG, DomainScaler, FisherDiscriminant, TargetWeighted, TransferLDG
from separatrix_papers.figures import DataFolder
from separatrix_papers.ldg.subspaces import ScoredSplit
from separatrix_papers.ldg.transfer import Transfer, domain_of, resubstituted

OFFICE = ("caltech10", "amazon", "webcam", "dslr")
DIGITS = ("mnist_3000", "usps")
WEIGHTS = (1, 10, 30, 100)
Domain = tuple[np.ndarray, np.ndarray]


class Posed(NamedTuple):
    """Scaled rows of a source, rows of the target with a label, and those to be judged."""

    source: Domain
    known: Domain
    judged: Domain

    @property
    def labelled(self) -> Domain:
        """The rows with a label, those of the source first."""
        pairs = zip(self.source, self.known, strict=True)
        return tuple(np.concatenate(pair) for pair in pairs)  # type: ignore[return-value]

    @property
    def domain(self) -> np.ndarray:
        """1 for rows of the source, -1 for rows of the target, of those with a label."""
        return np.repeat([1, -1], [len(self.source[1]), len(self.known[1])])


def load_domain(folder: Path, name: str) -> Domain:
    """Roots of the shares of visual words or pixels, and labels."""
    if name in DIGITS:
        digits = domain_of(name, DataFolder(folder))
        return digits.X.astype(np.float64), digits.y
    with np.load(folder / f"surf10_{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    return np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1.0)), y


def pose(source: Domain, target: Domain, known: np.ndarray, align: str) -> Posed:
    """The rows, scaled by all rows of each domain."""
    domain = np.repeat([1, -1], [len(source[1]), len(target[1])])
    scaler = DomainScaler(align=align)
    Z = scaler.fit_transform(np.vstack([source[0], target[0]]), sample_domain=domain)
    rows, y = Z[domain < 0], target[1]
    return Posed((Z[domain > 0], source[1]), (rows[known], y[known]), (rows[~known], y[~known]))


def fit_rows(make: Callable[[], Any], posed: Posed) -> Any:
    """A classifier of the labelled rows of both domains together."""
    return make().fit(*posed.labelled)


def fit_transfer(params: dict[str, Any], posed: Posed) -> Any:
    """Three neighbours after transfer LDG."""
    X, y = posed.labelled
    reducer = TransferLDG(20, n_neighbors=4, **params).fit(X, y, sample_domain=posed.domain)
    return make_pipeline(reducer, KNeighborsClassifier(3).fit(reducer.transform(X), y))


def fit_thesis(posed: Posed) -> Any:
    """The same with α and γ by target rows left out of the neighbours, and not of the fit."""
    X, y = posed.labelled
    reducer = resubstituted(Transfer(ScoredSplit(X, y, *posed.judged), posed.domain), 4)
    reducer = TransferLDG(
        20, alpha=reducer.alpha_, gamma=reducer.gamma_, n_neighbors=4
    ).fit(X, y, sample_domain=posed.domain)  # fmt: skip
    return make_pipeline(reducer, KNeighborsClassifier(3).fit(reducer.transform(X), y))


def fit_weighted(weight: float | str, posed: Posed) -> Any:
    """Fisher's discriminant with target rows of more weight."""
    return TargetWeighted(NEAREST_MEAN, weight=weight).fit(*posed.labelled, posed.domain)


def fit_with_unlabelled(posed: Posed) -> Any:
    """The same, and the rows to be judged take part without their labels."""
    X, y = posed.labelled
    rows, labels = np.vstack([X, posed.judged[0]]), np.append(y, np.full(len(posed.judged[1]), -1))
    domain = np.append(posed.domain, np.full(len(posed.judged[1]), -1))
    return TargetWeighted(NEAREST_MEAN).fit(rows, labels, domain)


NEAREST_MEAN = FisherDiscriminant(shrinkage="auto", rule="nearest-mean")
"""Class shares of a source say nothing of the target."""


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
        "TransferLDG, as the thesis": fit_thesis,
        "TransferLDG": partial(fit_transfer, {}),
        "TransferLDG, alpha 0": partial(fit_transfer, {"alpha": 0.0}),
        "TransferLDG, alpha 1": partial(fit_transfer, {"alpha": 1.0}),
        **{f"Fisher, weight {w}": partial(fit_weighted, w) for w in WEIGHTS},
        "TargetWeighted(Fisher)": partial(fit_weighted, "auto"),
        "the same, unlabelled rows": fit_with_unlabelled,
    },
}


def draw_known(y: np.ndarray, seed: int, per_class: int) -> np.ndarray:
    """A mask of some rows of each class."""
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
    parser.add_argument("--align", default="variances", choices=["variances", "covariances"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    domains = {name: load_domain(options.data, name) for name in (*DIGITS, *OFFICE)}
    pairs = [*permutations(DIGITS, 2), *permutations(OFFICE, 2)]
    names = " ".join(f"{source[0]}>{target[0]}".rjust(5) for source, target in pairs)
    print(f"{'percent':<28} mean  {names}")
    draws = range(3) if options.what == "with" else range(1)
    for name, fit in METHODS[options.what].items():
        found = []
        for source, target in pairs:
            right = []
            for seed in draws:
                known = draw_known(domains[target][1], seed, 2 if options.what == "with" else 0)
                posed = pose(domains[source], domains[target], known, options.align)
                right.append(100 * fit(posed).score(*posed.judged))
            found.append(float(np.mean(right)))
        cells = " ".join(f"{value:5.1f}" for value in found)
        print(f"{name:<28}{np.mean(found):5.2f}  {cells}", flush=True)


if __name__ == "__main__":
    main()
