"""Worked examples of the lecture: what reduction keeps, and what it loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD

from separatrix import LDG, FisherDiscriminant, GroupedDiscriminant, datasets
from separatrix.decision.quadratic import quadratic_gaussian_rule
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix_papers.figures import DataFolder, Figure, Piece, make_figures

FULL_REPEATS, QUICK_REPEATS = 10, 2


def list_pieces(table: str, quick: bool) -> list[Piece]:
    """A row and a draw, or a row whose figures are exact."""
    repeats = QUICK_REPEATS if quick else FULL_REPEATS
    rows = EXAMPLE_ROWS[table]
    drawn = table in ("example2", "example4", "phoneme")
    return [Piece(row, i, i) for row in rows for i in range(repeats if drawn else 1)]


def measure(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one piece."""
    return EXAMPLE_FUNCTIONS[table](piece, data)


# Section 3.1 -----------------------------------------------------------------------------------


def example1(piece: Piece, data: DataFolder) -> list[Figure]:
    found = data({"NCI": "nci60", "Khan": "khan_srbct"}[piece.row])
    if "X" in found:
        X, y = found.X, found.y
    else:
        X = np.vstack([found.X_train, found.X_test])
        y = np.concatenate([found.y_train, found.y_test])
    classes, counts = np.unique(y, return_counts=True)
    centred = X - np.stack([X[y == c].mean(axis=0) for c in classes])[np.searchsorted(classes, y)]
    values = {
        "genes": X.shape[1],
        "samples": len(X),
        "sum of the classes": counts.sum(),
        "classes": len(classes),
        "rank within classes": np.linalg.matrix_rank(centred),
    }
    return [Figure(row, piece.row, piece.repeat, float(value)) for row, value in values.items()]


def gaussian_pair(n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """N rows of each of two classes, one standard deviation apart in each of d features."""
    y = np.repeat([0, 1], n)
    return rng.normal(size=(2 * n, d)) + y[:, None], y


def example2(piece: Piece, data: DataFolder) -> list[Figure]:
    rng = np.random.default_rng(piece.seed)
    d = int(piece.row)
    X_test, y_test = gaussian_pair(10_000, d, rng)
    X, y = gaussian_pair(2000, d, rng)
    few = rng.permutation(2000)[:10]
    few = np.concatenate([few, 2000 + few])

    def error(model: Any, rows: Any, some: int) -> float:
        model.fit(X[rows, :some], y[rows])
        return 100 * float(1 - model.score(X_test[:, :some], y_test))

    values = {
        "many rows": error(FisherDiscriminant(shrinkage=None), slice(None), d),
        "20 rows": error(FisherDiscriminant(shrinkage=None), few, d),
        "20 rows, first 8 features": error(FisherDiscriminant(shrinkage=None), few, 8),
        "20 rows, shrunk": error(FisherDiscriminant(shrinkage="auto"), few, d),
    }
    return [Figure(line, piece.row, piece.repeat, value) for line, value in values.items()]


# Sections 3.2 and 3.3 --------------------------------------------------------------------------


def two_classes(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Example 4: classes side by side, both long in one direction, away from the origin."""
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2)) * [4.0, 0.7] + y[:, None] * [1.0, 2.5]
    return X @ rotation(0.6) + [6.0, 2.0], y


def crossed_classes(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Example 6: ellipses whose means differ in both directions, and most in the shorter one."""
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2)) * [3.0, 1.0] + y[:, None] * [2.0, 3.0]
    return X @ rotation(-0.8), y


def three_classes(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Example 7: three classes in three dimensions that a plane separates."""
    y = np.repeat([0, 1, 2], n)
    means = np.array([[0.0, 0, 0], [2.5, 0, 0], [0, 2.5, 0]])
    return means[y] + rng.normal(size=(3 * n, 3)) * [0.8, 0.8, 4.0], y


def rotation(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


EXAMPLES: dict[str, tuple[Callable[[int, np.random.Generator], tuple[Array, Array]], int]] = {
    "example 4, 2 to 1": (two_classes, 1),
    "example 6, 2 to 1": (crossed_classes, 1),
    "example 7, 3 to 2": (three_classes, 2),
}


def accuracy(Z: Array, y: Array, Z_test: Array, y_test: Array) -> float:
    """Of the Gaussian rule with a covariance for each class, in percent.

    A thousandth of the average variance is added, for directions along which a class is constant.
    """
    classes, counts = np.unique(y, return_counts=True)
    means = np.stack([Z[y == c].mean(axis=0) for c in classes])
    ridge = 1e-3 * np.mean([Z[y == c].var(axis=0).mean() for c in classes])
    covariances = np.stack([np.atleast_2d(np.cov(Z[y == c].T, bias=True)) for c in classes])
    covariances += ridge * np.eye(Z.shape[1])
    scores = quadratic_gaussian_rule(means, covariances, counts / len(y)).scores(Z_test)
    return 100 * float(np.mean(classes[scores.argmax(axis=1)] == y_test))


def example4(piece: Piece, data: DataFolder) -> list[Figure]:
    draw, k = EXAMPLES[piece.row]
    rng = np.random.default_rng(piece.seed)
    X, y = draw(300, rng)
    X_test, y_test = draw(2000, rng)
    models: dict[str, Any] = {
        "PCA": PCA(k),
        "PCA, not centred": TruncatedSVD(k, algorithm="arpack"),
        "MDA": FisherDiscriminant(k, shrinkage=None),
        "LDG": LDG(k),
    }
    values = {"all features": accuracy(X, y, X_test, y_test)}
    for name, model in models.items():
        fitted = model.fit(X, y)
        values[name] = accuracy(fitted.transform(X), y, fitted.transform(X_test), y_test)
    return make_figures(piece, values)


def load_rows(row: str) -> tuple[Array, Array]:
    found = datasets.load("digits" if row == "two pixels" else row)
    X = found.data[:, [20, 43]] if row == "two pixels" else found.data
    return X, found.target


def reconstruction(piece: Piece, data: DataFolder) -> list[Figure]:
    X, _ = load_rows(piece.row)
    centred = X - X.mean(axis=0)
    evals, W = np.linalg.eigh(centred.T @ centred)
    values = {}
    for k in (1, 5, 20) if piece.row == "digits" else (1, 5):
        kept = W[:, -k:]
        error = np.sum((centred - centred @ kept @ kept.T) ** 2)
        values[str(k)] = error / evals[:-k].sum()
    return make_figures(piece, values)


def discriminants(piece: Piece, data: DataFolder) -> list[Figure]:
    X, y = load_rows(piece.row)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    values = {"directions": len(model.components_), "rank within classes": model.rank_}
    return make_figures(piece, values)


def criterion(piece: Piece, data: DataFolder) -> list[Figure]:
    X, y = load_rows(piece.row)
    moments = ClassMoments.from_data(X, y)
    W = FisherDiscriminant(shrinkage=None).fit(X, y).components_
    between, within = (np.linalg.det(W @ S @ W.T) for S in (moments.Sb, moments.Sw))
    evals = np.linalg.eigvals(np.linalg.pinv(moments.Sw) @ moments.Sb).real
    product = np.prod(np.sort(evals)[::-1][: len(W)])
    centred = X - X.mean(axis=0)
    total = float(np.linalg.norm(centred.T @ centred) / np.linalg.norm(moments.Sw + moments.Sb))
    return make_figures(piece, {"criterion": between / within / product, "total": total})


def phoneme(piece: Piece, data: DataFolder) -> list[Figure]:
    if piece.row == "digits":
        X, y = load_rows("digits")
    else:
        found = data(piece.row.lower())
        if "X" in found:
            X, y = found.X, found.y
        else:
            X = np.vstack([found.X_train, found.X_test])
            y = np.concatenate([found.y_train, found.y_test])
    order = np.random.default_rng(piece.seed).permutation(len(y))[:4500]
    train, test = np.array_split(order, 2)
    k = len(np.unique(y[train])) - 1
    models: dict[str, Any] = {
        "PCA, c - 1": PCA(k),
        "MDA": FisherDiscriminant(shrinkage=None),
        "MDA, shrunk": FisherDiscriminant(shrinkage="auto"),
        **{f"MDA in {g} groups": GroupedDiscriminant(g) for g in (2, 4, 8)},
        "PCA, 4 (c - 1)": PCA(4 * k),
        "LDG auto": LDG("auto"),
    }
    values = {}
    for name, model in models.items():
        fitted = model.fit(X[train], y[train])
        Z, Z_test = fitted.transform(X[train]), fitted.transform(X[test])
        values[name] = accuracy(Z, y[train], Z_test, y[test])
    return make_figures(piece, values)


EXAMPLE_ROWS = {
    "example1": ("Khan", "NCI"),
    "example2": ("1", "2", "4", "8", "16", "32", "64"),
    "example4": tuple(EXAMPLES),
    "pca": ("digits", "wine"),
    "mda": ("digits", "wine", "iris", "two pixels"),
    "mda-criterion": ("digits", "wine", "iris"),
    "phoneme": ("digits", "USPS", "PHONEME"),
}
EXAMPLE_FUNCTIONS: dict[str, Callable[[Piece, DataFolder], list[Figure]]] = {
    "example1": example1,
    "example2": example2,
    "example4": example4,
    "pca": reconstruction,
    "mda": discriminants,
    "mda-criterion": criterion,
    "phoneme": phoneme,
}
