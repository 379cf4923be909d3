"""Accuracy of LDG on the data sets of its source, for who has their files.

``python -m benchmarks.accuracy_ldg DIR`` reads those of the files named below that are in DIR and
prints a table of each experiment: three nearest neighbours in the subspace, beside what the
source prints.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from separatrix import LDG, DomainScaler, FisherDiscriminant, TransferLDG
from separatrix.linalg import Array
from separatrix.selection import dimension_path, greedy_rule

N_SPLITS = 10
MOST_TRAINED = 3000

PRINTED = {  # table 3.1: LDG, PCA and Fisher
    "pima_diabetes": ("Diabetes", 71.3, 67.9, 72.7),
    "image_segmentation": ("Image", 96.5, 92.5, 96.2),
    "german_credit": ("German", 71.1, 68.9, 71.4),
    "ionosphere": ("Ionosphere", 86.2, 85.2, 83.2),
    "satimage": ("Satellite", 90.1, 90.1, 86.6),
    "usps": ("USPS", 93.5, 92.0, 90.9),
    "mnist_3000": ("MNIST", 89.1, 87.5, 76.2),
    "dexter": ("Dexter", 84.0, 58.1, None),
}


def neighbours(Z: Array, y: Array, Z_new: Array, y_new: Array) -> float:
    """Accuracy of three nearest neighbours, in percent."""
    return 100 * float(KNeighborsClassifier(3).fit(Z, y).score(Z_new, y_new))


# Table 3.1 -------------------------------------------------------------------------------------


def load(path: Path) -> tuple[Any, Array]:
    """Rows, sparse where they are stored so, and labels."""
    with np.load(path) as data:
        if "indptr" in data:
            parts = (data["data"].astype(float), data["indices"], data["indptr"])
            return sp.csr_array(parts, shape=tuple(data["shape"])), data["y"]
        if "X" in data:
            return data["X"].astype(float), data["y"]
        X = np.vstack([data["X_train"], data["X_test"]]).astype(float)
        return X, np.concatenate([data["y_train"], data["y_test"]])


def splits(X: Any, y: Array) -> Iterator[tuple[Any, Array, Any, Array]]:
    """Standardised training rows and test rows, ten times."""
    for seed in range(N_SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        n = min(MOST_TRAINED, round(0.7 * len(y)))
        train, test = order[:n], order[n:]
        scaler = StandardScaler(with_mean=not sp.issparse(X)).fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def table(folder: Path) -> None:
    names = [name for name in PRINTED if (folder / f"{name}.npz").is_file()]
    if names:
        print("Table 3.1, accuracy in percent, mean of ten splits; printed in parentheses")
        print(
            f"{'':<12}{'LDG':>8}{'greedy':>8}{'':>8}{'PCA':>7}{'':>8}{'Fisher':>7}{'':>8}{'s':>7}"
        )
    for name in names:
        title, *printed = PRINTED[name]
        found = np.array([compared(*split) for split in splits(*load(folder / f"{name}.npz"))])
        ldg, greedy, pca, fisher, seconds = found.mean(axis=0)
        told = [f"({value})" if value else "" for value in printed]
        print(
            f"{title:<12}{ldg:>8.1f}{greedy:>8.1f}{told[0]:>8}{pca:>7.1f}{told[1]:>8}"
            f"{fisher:>7.1f}{told[2]:>8}{seconds:>7.1f}",
            flush=True,
        )


def compared(X: Any, y: Array, X_test: Any, y_test: Array) -> list[float]:
    """LDG with the best dimension and with the greedy one, PCA greedy, Fisher; seconds of LDG."""
    start = time.perf_counter()
    model = LDG("auto").fit(X, y)
    seconds = time.perf_counter() - start
    Z, Z_test = model.transform(X), model.transform(X_test)
    path = model.selection_["n_components"]
    k = int(path.dimensions[greedy_rule(path.scores.mean(axis=0))])  # never more than the best
    axes = min(40, *X.shape)
    make: Any = TruncatedSVD(axes - 1) if sp.issparse(X) else PCA(axes)
    pca = dimension_path(make, X, y, rule="greedy").n_components
    P = make.fit(X)
    fisher = FisherDiscriminant().fit(X, y)
    return [
        neighbours(Z, y, Z_test, y_test),
        neighbours(Z[:, :k], y, Z_test[:, :k], y_test),
        neighbours(P.transform(X)[:, :pca], y, P.transform(X_test)[:, :pca], y_test),
        neighbours(fisher.transform(X), y, fisher.transform(X_test), y_test),
        seconds,
    ]


# Transfer --------------------------------------------------------------------------------------


class Domain(NamedTuple):
    """Labelled rows."""

    X: Array
    y: Array


def shrunk_images(images: Array, side: int) -> Array:
    """Square images averaged to fewer pixels."""
    n, edge, _ = images.shape
    bounds = np.arange(side + 1) * edge / side
    pixels = np.arange(edge)
    overlap = np.minimum(bounds[1:, None], pixels + 1) - np.maximum(bounds[:-1, None], pixels)
    weights = overlap.clip(0) * side / edge
    return np.einsum("ai,nij,bj->nab", weights, images, weights).reshape(n, -1)


def some_of_each(y: Array, n: int, seed: int) -> Array:
    """Numbers of n rows of each class, drawn at random."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n] for c in np.unique(y)])


def transfer(folder: Path) -> None:
    paths = [folder / "mnist_3000.npz", folder / "usps.npz"]
    if not all(path.is_file() for path in paths):
        return
    mnist, usps = (Domain(*load(path)) for path in paths)
    few = some_of_each(mnist.y, 300, 0)
    mnist = Domain(shrunk_images(mnist.X[few].reshape(-1, 28, 28), 16), mnist.y[few])
    few = some_of_each(usps.y, 300, 0)
    usps = Domain(usps.X[few], usps.y[few])
    print("Transfer, 300 rows per class of the source, 2 of the target; accuracy in percent")
    domains = {"MNIST → USPS": (mnist, usps), "USPS → MNIST": (usps, mnist)}
    for title, (source, target) in domains.items():
        found: dict[str, list[float]] = {}
        for seed in range(N_SPLITS):
            for name, score in transferred(source, target, seed).items():
                found.setdefault(name, []).append(score)
        for name, scores in found.items():
            print(
                f"  {title}  {name:<28}{np.mean(scores):6.1f} ± {np.std(scores):.1f}", flush=True
            )


def transferred(source: Domain, target: Domain, seed: int) -> dict[str, float]:
    """Accuracy on the rest of the target, by method."""
    few = some_of_each(target.y, 2, seed)
    rest = np.setdiff1d(np.arange(len(target.y)), few)
    X, y = np.vstack([source.X, target.X[few]]), np.concatenate([source.y, target.y[few]])
    domain = np.where(np.arange(len(y)) < len(source.y), 1, -1)
    scaler = DomainScaler()
    X = scaler.fit_transform(X, sample_domain=domain)
    X_test = scaler.transform(target.X[rest])
    models = {
        "TransferLDG(15)": TransferLDG(15).fit(X, y, sample_domain=domain),
        "TransferLDG, alpha=1": TransferLDG(15, alpha=1.0).fit(X, y, sample_domain=domain),
        "LDG of both pooled": LDG(15).fit(X, y),
        "PCA of both pooled, 15": PCA(15).fit(X),
        "PCA of both pooled, 30": PCA(30).fit(X),
        "Fisher of both pooled": FisherDiscriminant(shrinkage="auto").fit(X, y),
    }
    return {
        name: neighbours(m.transform(X), y, m.transform(X_test), target.y[rest])
        for name, m in models.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy_ldg", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the .npz files are")
    folder = parser.parse_args().folder
    table(folder)
    transfer(folder)


if __name__ == "__main__":
    main()
