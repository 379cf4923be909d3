"""Chapters 3 and 4: directions for Gaussian classes, and few rows of a target with a source."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from separatrix import LDG, DomainScaler, FisherDiscriminant, LocalQDA, TransferLDG
from separatrix.linalg import Array
from separatrix.selection import neighbour_scores
from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.ldg import literal
from separatrix_papers.ldg.subspaces import ScoredSplit, together

DRAWS, QUICK_DRAWS = 200, 20
NO_CLASSES = 1e-9
"""γ that says nothing about classes: zero is not among those that LDG takes."""

GAMMA_ROWS = {"γ = 0": NO_CLASSES, "γ = 0.5": 0.5, "γ = 1": 1.0}


def angle(direction: Array) -> float:
    """Degrees between -90 and 90 from the first axis."""
    return float((np.degrees(np.arctan2(direction[1], direction[0])) + 90) % 180 - 90)


def smallest(Z: Array) -> Array:
    return np.asarray(np.linalg.eigh(Z)[1][:, 0])


def gaussian_rows(means: Array, variances: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Thirty rows of each class."""
    y = np.repeat(np.arange(len(means)), 30)
    return means[y] + rng.normal(size=(len(y), 2)) * np.sqrt(variances), y


# Figure 3.3 ------------------------------------------------------------------------------------

MEANS33, VARIANCES33 = np.array([[-0.1, -1.0], [0.1, 1.0]]), np.array([0.01, 1.0])


def figure33(piece: Piece, data: DataFolder) -> list[Figure]:
    gamma = GAMMA_ROWS[piece.row]
    X, y = gaussian_rows(MEANS33, VARIANCES33, np.random.default_rng(piece.seed))
    covariance = np.diag(VARIANCES33)
    between = MEANS33.T @ MEANS33 / 2
    values = {
        "global LDG": LDG(1, gamma=gamma, local=False).fit(X, y).components_[0],
        "infinite rows": smallest((1 - gamma) * covariance - 2 * gamma * between),
        "(3.22) as printed": smallest(literal.asymptotic_ldg(MEANS33, covariance, gamma)),
        "LDG": LDG(1, gamma=gamma, n_neighbors=8).fit(X, y).components_[0],
    }
    return [Figure(piece.row, name, piece.repeat, angle(b)) for name, b in values.items()]


# Figure 4.3 ------------------------------------------------------------------------------------

SOURCE_MEANS = np.array([[-1.0, -2.0], [1.0, 2.0]])
TARGET_MEANS = np.array([[-1.2, 2.0], [0.5, 2.0]])
VARIANCES43 = np.array([0.2, 0.3])


def figure43(piece: Piece, data: DataFolder) -> list[Figure]:
    gamma = GAMMA_ROWS[piece.row]
    rng = np.random.default_rng(piece.seed)
    X_source, y = gaussian_rows(SOURCE_MEANS, VARIANCES43, rng)
    X_target, _ = gaussian_rows(TARGET_MEANS, VARIANCES43, rng)
    X, both = np.vstack([X_source, X_target]), np.concatenate([y, y])
    domain = np.repeat([1, -1], len(y))
    make = partial(TransferLDG, 1, alpha=0.0, gamma=gamma)
    found = make(local=False).fit(X, both, sample_domain=domain).components_[0]
    local = make(n_neighbors=8).fit(X, both, sample_domain=domain).components_[0]
    means = np.stack([X_source[y == j].mean(axis=0) for j in (0, 1)])
    printed = smallest(literal.transfer_objective(X_target, y, means, gamma))
    spread = np.sqrt(found**2 @ VARIANCES43)
    apart = np.abs((TARGET_MEANS[:, None] - SOURCE_MEANS) @ found) / spread
    values = {
        "transfer LDG": angle(found),
        "(4.3) as printed": angle(printed),
        "local": angle(local),
        "own class apart": apart.diagonal().mean(),
        "other class apart": apart[::-1].diagonal().mean(),
    }
    return [Figure(piece.row, name, piece.repeat, value) for name, value in values.items()]


# Figure 4.5 ------------------------------------------------------------------------------------

DRAWN_DIMENSIONS = (2, 5, 9, 15, 20, 30)
TRANSFERS = {
    "MNIST to USPS": ("mnist_3000", "usps"),
    "USPS to MNIST": ("usps", "mnist_3000"),
    "Amazon to Webcam": ("surf10_amazon", "surf10_webcam"),
    "DSLR to Webcam": ("surf10_dslr", "surf10_webcam"),
    "Webcam to DSLR": ("surf10_webcam", "surf10_dslr"),
    "Amazon to DSLR": ("surf10_amazon", "surf10_dslr"),
    "DSLR to Amazon": ("surf10_dslr", "surf10_amazon"),
    "Webcam to Amazon": ("surf10_webcam", "surf10_amazon"),
}
ALPHA_GRID = (0.0, 0.1, 0.3, 0.5)
GAMMA_GRID = (0.9, 0.8, 0.6, 0.4, 0.2)


class Domain(NamedTuple):
    """Labelled rows."""

    X: Array
    y: Array


class Transfer(NamedTuple):
    """Rows of both domains, where they are from, and what is to be classified."""

    split: ScoredSplit
    domain: Array


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


def domain_of(name: str, data: DataFolder) -> Domain:
    """All rows of the images of products, 300 of each digit."""
    X, y = together(data(name))
    if name.startswith("surf10"):
        return Domain(X, y)
    few = some_of_each(y, 300, 0)
    X = shrunk_images(X[few].reshape(-1, 28, 28), 16) if X.shape[1] == 784 else X[few]
    return Domain(X, y[few])


def transfer_of(row: str, data: DataFolder, seed: int) -> Transfer:
    """Two target rows of each class with the source, without features that do not vary."""
    source, target = (domain_of(name, data) for name in TRANSFERS[row])
    few = some_of_each(target.y, 2, seed)
    rest = np.setdiff1d(np.arange(len(target.y)), few)
    varies = (np.ptp(source.X, axis=0) > 0) & (np.ptp(target.X[few], axis=0) > 0)
    X = np.vstack([source.X, target.X[few]])[:, varies]
    y = np.concatenate([source.y, target.y[few]])
    domain = np.where(np.arange(len(y)) < len(source.y), 1, -1)
    scaler = DomainScaler()
    X = scaler.fit_transform(X, sample_domain=domain)
    X_test = scaler.transform(target.X[rest][:, varies])
    return Transfer(ScoredSplit(X, y, X_test, target.y[rest]), domain)


def resubstituted(given: Transfer, n_neighbors: int) -> TransferLDG:
    """α with γ = 0.9, then γ, by target rows left out of the neighbours and not of the fit."""
    X, y, domain = given.split.X, given.split.y, given.domain
    at = given.split.n_classes + 5

    def fitted(alpha: float, gamma: float) -> TransferLDG:
        model = TransferLDG(
            max(DRAWN_DIMENSIONS), alpha=alpha, gamma=gamma, n_neighbors=n_neighbors
        )
        return model.fit(X, y, sample_domain=domain)

    def score(model: TransferLDG) -> float:
        Z = model.transform(X)[:, :at]
        return float(np.mean([alone_right(Z, y, i) for i in np.flatnonzero(domain < 0).tolist()]))

    tried = [fitted(alpha, GAMMA_GRID[0]) for alpha in ALPHA_GRID]
    best = max(tried, key=score)
    others = [fitted(best.alpha_, gamma) for gamma in GAMMA_GRID[1:]]
    return max([best, *others], key=score)


def alone_right(Z: Array, y: Array, i: int) -> float:
    """Whether three neighbours among the other rows classify row i correctly."""
    others = np.arange(len(y)) != i
    ends = np.array([Z.shape[1]])
    return float(neighbour_scores(Z[others], y[others], Z[i : i + 1], y[i : i + 1], ends)[0])


def transfer_lines(given: Transfer) -> dict[str, Any]:
    """Fitted models."""
    X, y, domain = given.split.X, given.split.y, given.domain
    source = domain > 0
    k = LocalQDA(**literal.THESIS_LOCAL_QDA).fit(X[source], y[source]).n_neighbors_
    most = max(DRAWN_DIMENSIONS)
    make = partial(TransferLDG, most)
    return {
        "transfer LDG": make(n_neighbors=k).fit(X, y, sample_domain=domain),
        "resubstituted": resubstituted(given, k),
        "source alone": make(alpha=1.0, n_neighbors=k).fit(X, y, sample_domain=domain),
        "pooled PCA": PCA(most).fit(X),
        "pooled FDA": FisherDiscriminant(shrinkage=None).fit(X, y),
        "pooled FDA, shrunk": FisherDiscriminant(shrinkage="auto").fit(X, y),
    }


def figure45(piece: Piece, data: DataFolder) -> list[Figure]:
    given = transfer_of(piece.row, data, piece.seed)
    split = given.split
    found = []
    for name, model in transfer_lines(given).items():
        Z, Z_test = model.transform(split.X), model.transform(split.X_test)
        ends = np.array([k for k in DRAWN_DIMENSIONS if k <= Z.shape[1]])
        scores = neighbour_scores(Z, split.y, Z_test, split.y_test, ends)
        found += [
            Figure(name, str(k), piece.repeat, 100 * score)
            for k, score in zip(ends.tolist(), scores, strict=True)
        ]
    return found


# Tables ----------------------------------------------------------------------------------------


def list_transfer_pieces(table: str, quick: bool) -> list[Piece]:
    """A draw of rows, with a γ or for a pair of domains."""
    if table.startswith("figure4.5"):
        row = next(row for row in TRANSFERS if table.endswith(row.lower().replace(" ", "-")))
        return [Piece(row, i, i) for i in range(1 if quick else 3)]
    draws = QUICK_DRAWS if quick else DRAWS
    return [Piece(row, i, i) for row in GAMMA_ROWS for i in range(draws)]


def measure_transfer(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one piece."""
    measured = {"figure3.3": figure33, "figure4.3": figure43}.get(table, figure45)
    return measured(piece, data)
