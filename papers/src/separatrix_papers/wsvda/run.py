"""Small training sets: table 3 and figures 2 to 4 of Pitelis and Tefas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    MarginMaximizingDiscriminant,
    WithinSupportVectorDiscriminant,
)
from separatrix.linalg import Array
from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.wsvda.literal import PrintedWSVDA


class TwoClassSet(NamedTuple):
    """A data set, two of its classes by number, folds, training rows of each class in a fold."""

    name: str
    pair: tuple[int, int]
    n_folds: int
    n_train: tuple[int, int]
    together: bool = False


PROBLEMS = {
    "Heart": TwoClassSet("heart_statlog", (0, 1), 5, (30, 24)),
    "Wine 1-2": TwoClassSet("wine", (0, 1), 5, (12, 15), together=True),
    "Wine 1-3": TwoClassSet("wine", (0, 2), 7, (9, 7), together=True),
    "Wine 2-3": TwoClassSet("wine", (1, 2), 10, (8, 5), together=True),
    "Sonar": TwoClassSet("sonar", (0, 1), 10, (11, 10)),
    "Splice, EI and IE": TwoClassSet("splice", (0, 1), 10, (77, 77)),
}
APART = ", each feature scaled"
PROBLEMS |= {
    f"{name}{APART}": problem._replace(together=False)
    for name, problem in PROBLEMS.items()
    if problem.together
}
CURVES = {
    "figure3-sonar-knn": ("Sonar", "KNN"),
    "figure3-sonar-nc": ("Sonar", "NC"),
    "figure3-heart-knn": ("Heart", "KNN"),
    "figure3-heart-nc": ("Heart", "NC"),
    "figure4-wine-1-2": ("Wine 1-2", "KNN"),
    "figure4-wine-1-3": ("Wine 1-3", "NC"),
    "figure4-wine-2-3-knn": ("Wine 2-3", "KNN"),
    "figure4-wine-2-3-nc": ("Wine 2-3", "NC"),
}
PAIRS = {"1 and 2": (0, 1), "3 and 4": (2, 3), "5 and 6": (4, 5)}


def list_pieces(table: str, quick: bool) -> list[Piece]:
    """A problem of table 3, a fold of figure 2, or a whole curve."""
    if table == "table3":
        names = ["Heart", "Wine 1-3"] if quick else list(PROBLEMS)
        return [Piece(name) for name in names]
    if table == "figure2":
        return [Piece("Sonar", fold) for fold in range(3 if quick else 10)]
    return [Piece(CURVES[table][0])]


def measure(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """Percent of right decisions, or of rows on their side of a line."""
    if table == "figure2":
        return separated(task(data, PROBLEMS["Sonar"]), piece.repeat)
    shares = shares_right(data, piece.row)
    if table == "table3":
        best = {column: by_number.max() for column, by_number in shares.items()}
        best |= score_nested(task(data, PROBLEMS[piece.row]))
        return [Figure(piece.row, column, 0, share) for column, share in best.items()]
    return curves(shares, CURVES[table][1])


# The protocol ----------------------------------------------------------------------------------


class PreparedProblem(NamedTuple):
    """Rows, labels, number of folds, training rows of each class in a fold."""

    X: Array
    y: Array
    n_folds: int
    n_train: tuple[int, int]

    @property
    def n_tests(self) -> int:
        """Decisions of all folds together."""
        return self.n_folds * (len(self.y) - sum(self.n_train))

    def folds(self) -> Iterator[tuple[Array, Array]]:
        """One block of consecutive rows of each class trains, all other rows judge.

        The blocks of a class follow each other; after its last row comes its first again.
        """
        for i in range(self.n_folds):
            train = []
            for label, n in zip(np.unique(self.y), self.n_train, strict=True):
                members = np.flatnonzero(self.y == label)
                train.append(members[np.arange(i * n, (i + 1) * n) % len(members)])
            rows = np.concatenate(train)
            yield rows, np.setdiff1d(np.arange(len(self.y)), rows)


def task(data: DataFolder, problem: TwoClassSet) -> PreparedProblem:
    """The rows of two classes, scaled as the source scales them."""
    bunch = data(problem.name)
    labels = np.unique(bunch.y)[list(problem.pair)]
    kept = np.isin(bunch.y, labels)
    X = scale_features(np.asarray(bunch.X, dtype=float), None if problem.together else 0)
    return PreparedProblem(X[kept], bunch.y[kept], problem.n_folds, problem.n_train)


def scale_features(X: Array, axis: int | None) -> Array:
    """To [-1, 1], each feature by itself or all of them together."""
    low, high = X.min(axis=axis), X.max(axis=axis)
    return 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "KNN": lambda: KNeighborsClassifier(5),
    "NC": NearestCentroid,
}


def reducers(most: int) -> dict[str, Any]:
    """The methods of the source, and WSVDA with its formulas as they are printed."""
    return {
        "PCA": PCA(most),
        "LDA": FisherDiscriminant(shrinkage=None),
        "MMDA": MarginMaximizingDiscriminant(most),
        "WSVDA": WithinSupportVectorDiscriminant(most, shrinkage=0),
        "WSVDA as printed": PrintedWSVDA(most),
        "MMDA, C = 1000": MarginMaximizingDiscriminant(most, C=1000),
        "WSVDA, C = 1000": WithinSupportVectorDiscriminant(most, C=1000, shrinkage=0),
    }


@cache  # the figures have what table 3 has the best of
def shares_right(data: DataFolder, row: str) -> dict[str, Array]:
    """For each column the percent of rows that are right, by number of directions."""
    posed = task(data, PROBLEMS[row])
    most = min(posed.X.shape[1], sum(posed.n_train) - 1)
    shares: dict[str, Array] = {}

    def add(column: str, k: int | slice, decided: Array, truth: Array) -> None:
        share = 100 * np.sum(decided == truth) / posed.n_tests
        shares.setdefault(column, np.zeros(most))[k] += share

    for train, test in posed.folds():
        X, y, new, truth = posed.X[train], posed.y[train], posed.X[test], posed.y[test]
        add("SVM", slice(None), SVC(kernel="linear").fit(X, y).predict(new), truth)
        for name, rule in CLASSIFIERS.items():
            add(name, slice(None), rule().fit(X, y).predict(new), truth)
        for method, reducer in reducers(most).items():
            Z, Z_new = reducer.fit(X, y).transform(X), reducer.transform(new)
            for name, rule in CLASSIFIERS.items():
                for k in range(most):
                    decided = rule().fit(Z[:, : k + 1], y).predict(Z_new[:, : k + 1])
                    add(f"{method}+{name}", k, decided, truth)
    return shares


def curves(shares: dict[str, Array], rule: str) -> list[Figure]:
    """Accuracy by number of directions; what has one number only is a level line."""
    lines = {rule: shares[rule], "SVM": shares["SVM"]}
    lines |= {method: shares[f"{method}+{rule}"] for method in ("PCA", "LDA", "MMDA", "WSVDA")}
    lines["WSVDA, first direction alone"] = np.full_like(lines["WSVDA"], lines["WSVDA"][0])
    return [
        Figure(name, str(k), 0, float(share))
        for name, by_number in lines.items()
        for k, share in enumerate(by_number, start=1)
    ]


def separated(posed: PreparedProblem, fold: int) -> list[Figure]:
    """Share of rows on their side of the best line in pairs of features, of one fold."""
    train, test = list(posed.folds())[fold]
    methods: dict[str, Any] = {"no reduction": None, **reducers(6)}
    del methods["LDA"]
    found = []
    for name, method in methods.items():
        Z = posed.X
        if method is not None:
            Z = method.fit(posed.X[train], posed.y[train]).transform(posed.X)
        for words, places in PAIRS.items():
            pair = [min(place, Z.shape[1] - 1) for place in places]  # there may be fewer
            line = make_pipeline(StandardScaler(), SVC(kernel="linear", C=1e4))
            line.fit(Z[train][:, pair], posed.y[train])
            for rows, where in ((train, ""), (test, ", held out")):
                share = 100 * line.score(Z[rows][:, pair], posed.y[rows])
                found.append(Figure(f"{words}{where}", name, fold, share))
    return found


# Today -----------------------------------------------------------------------------------------


def score_nested(posed: PreparedProblem) -> dict[str, float]:
    """Percent of rows that are right where every choice is made among the training rows."""
    grid = {
        "withinsupportvectordiscriminant__shrinkage": [0.0, 0.5],
        "withinsupportvectordiscriminant__n_components": [1, 2, 3],
    }
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    steps = (StandardScaler(), WithinSupportVectorDiscriminant(), NearestCentroid())
    models = {
        "WSVDA, chosen inside": GridSearchCV(make_pipeline(*steps), grid, cv=inner),
        "Fisher, shrinkage": make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage="auto")),
    }
    right = {
        name: sum(
            int(np.sum(model.fit(posed.X[a], posed.y[a]).predict(posed.X[b]) == posed.y[b]))
            for a, b in posed.folds()
        )
        for name, model in models.items()
    }
    return {name: 100 * n / posed.n_tests for name, n in right.items()}
