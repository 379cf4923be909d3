"""Many classes, noise and nearest neighbours: tables 4.1 to 4.5 of Moon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA, FastICA, KernelPCA
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelSupportVectorICA,
    SupportVectorICA,
    SupportVectorProjection,
)
from separatrix.kernels import RBF
from separatrix.linalg import Array
from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.splits import TrainTest
from separatrix_papers.svmica.literal import (
    PrintedDiscriminants,
    ThresholdProjection,
    printed_shares,
)

NOISE: dict[str, float | None] = {
    "no noise": None,
    "5 dB": 5,
    "10 dB": 10,
    "20 dB": 20,
    "30 dB": 30,
    "40 dB": 40,
    "50 dB": 50,
}
SETS = {"Arrhythmia": "arrhythmia", "Cancer": "gcm", "Khan": "khan_srbct"}
GIVEN_SPLIT = 144
"""Rows of Cancer to learn from, where they come without a split."""
N_RUNS, N_INSIDE = 1, 5
MOST_NEIGHBOURS = 50
NEAR_BEST = 0.995


def list_pieces(table: str, quick: bool) -> list[Piece]:
    """A set and a noise, or a run of choices inside."""
    levels = list(NOISE)[: 2 if quick else None]
    if table == "table4.1":
        return [Piece(f"{name}, {noise}") for name in SETS for noise in levels]
    if table == "table4.1-dimensions":
        return [Piece(f"{name}, {noise}") for name in ("Arrhythmia", "Cancer") for noise in levels]
    if table in CLASSWISE:
        return [Piece(f"{name}, {noise}") for name in CLASSWISE[table][0] for noise in levels]
    if table == "figure4.3":
        return [Piece(f"Arrhythmia, {noise}") for noise in levels]
    if table == "table4.1-inside":
        return [Piece("Arrhythmia", run, run) for run in range(1 if quick else N_INSIDE)]
    return [Piece("Arrhythmia")]


def measure(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """Percent of right decisions; for the formulas, what they give."""
    if table == "table4.1-inside":
        return score_nested_choice(data, piece)
    if table == "equation3.6":
        return undefined_distances(data)
    if table == "section3.2":
        return correlations(data)
    name, noise = piece.row.split(", ")
    if table == "table4.1-dimensions":
        return count_directions(data, piece.row)
    if table == "figure4.3":
        return count_neighbours(data, piece.row)
    if table in CLASSWISE:
        return classwise(best_runs(data, name, noise, CLASSWISE[table][1]), name, noise)
    return [
        Figure(piece.row, column, i, 100 * float(np.mean(run.right)))
        for column in methods_for(name)
        for i, run in enumerate(best_runs(data, name, noise, column))
    ]


# Data and noise --------------------------------------------------------------------------------


def splits(data: DataFolder, name: str, noise: float | None, seed: int) -> list[TrainTest]:
    """The two folds of a run, or the one split that is given."""
    rng = np.random.default_rng(seed)
    bunch = data(SETS[name])
    if "X_train" in bunch or name == "Cancer":
        X, y, n = bunch.get("X"), bunch.get("y"), GIVEN_SPLIT
        if "X_train" in bunch:
            X = np.concatenate([bunch.X_train, bunch.X_test])
            y = np.concatenate([bunch.y_train, bunch.y_test])
            n = len(bunch.y_train)
        folds = [(np.arange(n), np.arange(n, len(y)))]
    else:
        X, y = filled_at_random(bunch.X, rng), bunch.y
        folds = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y))
    if noise is not None:
        X = X + rng.standard_normal(X.shape) * X.std(axis=0) * 10 ** (-noise / 20)
    codes = np.unique(y, return_inverse=True)[1]
    found = []
    for train, test in folds:
        scale = StandardScaler().fit(X[train])
        rows = scale.transform(X[train]), scale.transform(X[test])
        found.append(TrainTest(rows[0], codes[train], rows[1], codes[test]))
    return found


def filled_at_random(X: Array, rng: np.random.Generator) -> Array:
    """Missing values become uniform random numbers between the smallest and the largest."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return np.where(np.isnan(X), rng.uniform(low, high, X.shape), X)


# The best setting on the rows that judge, as the source chooses it ------------------------------


class ReducedRows(NamedTuple):
    """A fitted reduction, and the numbers of its first directions that are tried."""

    reducer: Any
    dimensions: Sequence[int]


Method = Callable[[TrainTest], Iterator[ReducedRows]]

KEPT_DIMENSIONS = range(5, 70, 5)
"""As printed: multiples of five for principal components, every number for the others below."""
LITERAL_DIMENSIONS = range(5, 101)
COMPONENTS_TRIED = range(5, 61)
PCA_DIMENSIONS = (20, 40, 60, 100)
COSTS = (0.003, 0.01, 0.1, 1.0)
WIDTHS = (0.1, 1.0, 10.0)


def pca(split: TrainTest) -> Iterator[ReducedRows]:
    yield ReducedRows(PCA(min(65, *split.X.shape), random_state=0), KEPT_DIMENSIONS)


def fisher(split: TrainTest, **options: Any) -> Iterator[ReducedRows]:
    yield ReducedRows(FisherDiscriminant(**{"shrinkage": None, **options}), (2, 4, 8, 12))


def pca_fisher(split: TrainTest) -> Iterator[ReducedRows]:
    for n in PCA_DIMENSIONS:
        yield from fisher(split, pca=min(n, *split.X.shape))


def printed_fisher(split: TrainTest) -> Iterator[ReducedRows]:
    yield ReducedRows(PrintedDiscriminants(), LITERAL_DIMENSIONS)


def printed_pca_fisher(split: TrainTest) -> Iterator[ReducedRows]:
    for n in PCA_DIMENSIONS:
        axes = PCA(min(n, len(split.X) - 1, split.X.shape[1]), random_state=0)
        kept = [k for k in LITERAL_DIMENSIONS if k <= axes.n_components]
        yield ReducedRows(make_pipeline(axes, PrintedDiscriminants()), kept)


def shrunk_fisher(split: TrainTest) -> Iterator[ReducedRows]:
    for shrinkage in (0.05, 0.1, 0.2, 0.4, 0.8):
        yield from fisher(split, shrinkage=shrinkage)


def ica(split: TrainTest) -> Iterator[ReducedRows]:
    for n in COMPONENTS_TRIED:
        yield ReducedRows(FastICA(n, random_state=0, whiten="unit-variance"), (n,))


def kernel_pca(split: TrainTest) -> Iterator[ReducedRows]:
    d = split.X.shape[1]
    for width in WIDTHS:
        yield ReducedRows(KernelPCA(65, kernel="rbf", gamma=width / d), KEPT_DIMENSIONS)


def kernel_fisher(split: TrainTest) -> Iterator[ReducedRows]:
    d = split.X.shape[1]
    for width in WIDTHS:
        yield ReducedRows(KernelFisherDiscriminant(kernel=RBF(width / d)), (4, 8, 12))


def project_svm(split: TrainTest) -> Iterator[ReducedRows]:
    for C in COSTS:
        yield ReducedRows(SupportVectorProjection(C=C), (13,))
        yield ReducedRows(ThresholdProjection(C, redundancy=0.2), (13,))


NORMALS_KEPT = (13, 8, 3)
COMPONENTS_ADDED = (3, 8, 18)
LINEAR_COSTS = (0.003, 0.01, 0.1, 1.0, 100.0)
RBF_COSTS = (1.0, 10.0, 100.0)
RBF_WIDTHS = (0.01, 0.1, 1.0)
"""Over the number of features."""


def normals_and_components(make: Callable[..., Any], **settings: Any) -> Iterator[ReducedRows]:
    """l normals, alone and with k independent components, which come behind them."""
    for normals in NORMALS_KEPT:
        for added in COMPONENTS_ADDED:
            n = normals + added
            model = make(n, redundancy=normals, random_state=0, **settings)
            alone = (normals,) if added == COMPONENTS_ADDED[0] else ()
            yield ReducedRows(model, (*alone, n))


def svm_ica(split: TrainTest) -> Iterator[ReducedRows]:
    for C in LINEAR_COSTS:
        yield from normals_and_components(SupportVectorICA, C=C)


def linear_kernel(split: TrainTest) -> Iterator[ReducedRows]:
    for C in LINEAR_COSTS:
        yield from normals_and_components(KernelSupportVectorICA, C=C, kernel="linear")


def rbf_kernel(split: TrainTest) -> Iterator[ReducedRows]:
    d = split.X.shape[1]
    for C in RBF_COSTS:
        for width in RBF_WIDTHS:
            yield from normals_and_components(KernelSupportVectorICA, C=C, kernel=RBF(width / d))


METHODS: dict[str, Method] = {
    "PCA": pca,
    "LDA": printed_fisher,
    "PCA+LDA": printed_pca_fisher,
    "ICA": ica,
    "kPCA": kernel_pca,
    "kDA": kernel_fisher,
    "linear SVM+ICA": svm_ica,
    "nonlinear SVM+ICA, linear": linear_kernel,
    "nonlinear SVM+ICA, rbf": rbf_kernel,
    "SVM projections": project_svm,
    "Fisher, shrinkage": shrunk_fisher,
    "LDA, C - 1": fisher,
    "PCA+LDA, C - 1": pca_fisher,
}
CLASSWISE: dict[str, tuple[tuple[str, ...], str]] = {
    "table4.2": (("Arrhythmia",), "linear SVM+ICA"),
    "table4.3": (("Cancer", "Khan"), "linear SVM+ICA"),
    "table4.4": (("Arrhythmia",), "nonlinear SVM+ICA, rbf"),
    "table4.5": (("Cancer", "Khan"), "nonlinear SVM+ICA, rbf"),
}


class Run(NamedTuple):
    """Classes of the test rows of a run, which of them are right, and by how many directions.

    Of these `normals` are normals of hyperplanes; `neighbours` decide.
    """

    truth: Array
    right: Array
    directions: int
    normals: int
    neighbours: int


@cache  # table 4.1 has what the other tables show by class
def best_runs(data: DataFolder, name: str, noise: str, method: str) -> list[Run]:
    """The runs of a method in its best setting."""
    n_runs = (
        1 if name in ("Khan", "Cancer") and NOISE[noise] is None else N_RUNS
    )  # nothing is drawn
    runs = [splits(data, name, NOISE[noise], seed) for seed in range(n_runs)]
    truth = [np.concatenate([split.y_test for split in run]) for run in runs]
    best = best_setting(runs, METHODS[method])
    return [
        Run(y, right, best.directions, best.normals, best.neighbours)
        for y, right in zip(truth, best.right, strict=True)
    ]


class BestSetting(NamedTuple):
    """Which test rows are right in each run; numbers of directions, normals and neighbours."""

    right: list[Array]
    directions: int
    normals: int
    neighbours: int


def best_setting(runs: Sequence[Sequence[TrainTest]], method: Method) -> BestSetting:
    """Which test rows of each run are right in the setting that is best on average.

    Of those within 99.5 % of the best it is the one with the fewest directions.
    """
    tried: dict[tuple[int, int], list[Array]] = {}
    normals: dict[int, int] = {}
    for run in runs:
        of_run: dict[tuple[int, int], list[Array]] = {}
        for split in run:
            for number, (reducer, dimensions) in enumerate(method(split)):
                Z = reducer.fit(split.X, split.y).transform(split.X)
                Z_test = reducer.transform(split.X_test)
                normals[number] = getattr(reducer, "n_normals_", 0)
                for n in dimensions:
                    right = right_by_neighbours(Z[:, :n], Z_test[:, :n], split)
                    of_run.setdefault((n, number), []).append(right)
        for key, parts in of_run.items():
            tried.setdefault(key, []).append(np.concatenate(parts, axis=0))
    means = {key: np.mean([r.mean(axis=0) for r in found], axis=0) for key, found in tried.items()}
    best = max(mean.max() for mean in means.values())
    near = min(key for key, mean in means.items() if mean.max() >= NEAR_BEST * best)
    neighbours = int(means[near].argmax())
    rights = [found[:, neighbours] for found in tried[near]]
    return BestSetting(rights, near[0], min(normals[near[1]], near[0]), neighbours + 1)


def right_by_neighbours(Z: Array, Z_test: Array, split: TrainTest) -> Array:
    """For each test row whether the nearest 1, 2, … neighbours are right about it."""
    most = min(MOST_NEIGHBOURS, len(Z))
    nearest = NearestNeighbors(n_neighbors=most).fit(Z).kneighbors(Z_test, return_distance=False)
    votes = np.cumsum(np.eye(int(split.y.max()) + 1)[split.y[nearest]], axis=1)
    return votes.argmax(axis=2) == split.y_test[:, None]


def methods_for(name: str) -> list[str]:
    """Columns of a set; the source leaves out LDA where features are thousands."""
    return [m for m in METHODS if name == "Arrhythmia" or m != "LDA"]


def count_directions(data: DataFolder, row: str) -> list[Figure]:
    """Directions of the best setting of each method, and how many of them are normals."""
    name, noise = row.split(", ")
    found = []
    for column in methods_for(name):
        run = best_runs(data, name, noise, column)[0]  # the same in all runs
        found.append(Figure(row, column, 0, run.directions))
        if run.normals:
            found.append(Figure(row, f"{column}, normals", 0, run.normals))
    return found


NEIGHBOURS_OF = ("PCA", "ICA", "kPCA", "LDA", "PCA+LDA", "kDA")
"""Methods whose numbers of neighbours the source compares: unsupervised, then supervised."""


def count_neighbours(data: DataFolder, row: str) -> list[Figure]:
    """Neighbours of the best setting of each method."""
    name, noise = row.split(", ")
    found: dict[str, float] = {
        m: best_runs(data, name, noise, m)[0].neighbours for m in NEIGHBOURS_OF
    }
    for kind, some in (("unsupervised", NEIGHBOURS_OF[:3]), ("supervised", NEIGHBOURS_OF[3:])):
        found[kind] = float(np.mean([found[m] for m in some]))
    return [Figure(row, column, 0, value) for column, value in found.items()]


def classwise(runs: Sequence[Run], name: str, noise: str) -> list[Figure]:
    """Percent of right decisions in each class, and in all."""
    of_class, of_all = ("Khan", "Khan, all") if name == "Khan" else ("class", "all")
    found = []
    for i, (truth, right, *_) in enumerate(runs):
        shares = {f"{of_class} {c + 1}": np.mean(right[truth == c]) for c in np.unique(truth)}
        shares[of_all] = np.mean(right)
        found += [Figure(where, noise, i, 100 * float(share)) for where, share in shares.items()]
    return found


# Every choice inside the training rows ----------------------------------------------------------

NEIGHBOUR_GRID = [3, 5, 9, 15]
SEARCHES: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "no reduction": ("passthrough", {}),
    "PCA": (PCA(random_state=0), {"n_components": [10, 15, 25, 40]}),
    "Fisher, shrinkage": (
        FisherDiscriminant(shrinkage=None),
        {"shrinkage": [0.05, 0.1, 0.2, 0.4]},
    ),
    "SVM projections": (SupportVectorProjection(), {"C": [0.001, 0.003, 0.01, 0.03]}),
    "SVM projections, rbf": (
        SupportVectorProjection(kernel="rbf"),
        {"C": [0.3, 1.0, 3.0, 10.0]},
    ),
    "linear SVM+ICA": (
        SupportVectorICA(random_state=0),
        {"C": [0.001, 0.003, 0.01, 0.03], "n_components": [15, 20, 30]},
    ),
    "nonlinear SVM+ICA, linear": (
        KernelSupportVectorICA(kernel="linear", random_state=0),
        {"C": [0.001, 0.003, 0.01, 0.03], "n_components": [15, 20, 30]},
    ),
    "nonlinear SVM+ICA, rbf": (
        KernelSupportVectorICA(random_state=0),
        {"C": [0.3, 1.0, 3.0, 10.0], "n_components": [15, 20, 30]},
    ),
}


def score_nested_choice(data: DataFolder, piece: Piece) -> list[Figure]:
    """Two folds; costs, dimensions and neighbours are chosen inside each training half."""
    bunch = data("arrhythmia")
    X, y = filled_at_random(bunch.X, np.random.default_rng(piece.seed)), bunch.y
    folds = list(StratifiedKFold(2, shuffle=True, random_state=piece.seed).split(X, y))
    found = []
    with TemporaryDirectory() as kept:  # a reduction serves all numbers of neighbours
        for name, (reducer, grid) in SEARCHES.items():
            right = sum(
                int(np.sum(searched(reducer, grid, kept).fit(X[a], y[a]).predict(X[b]) == y[b]))
                for a, b in folds
            )
            found.append(Figure(piece.row, name, piece.repeat, 100 * right / len(y)))
    return found


def searched(reducer: Any, grid: dict[str, list[Any]], kept: str) -> GridSearchCV:
    """Standardised rows, a reduction, nearest neighbours: numbers chosen by three inner folds."""
    steps = make_pipeline(StandardScaler(), reducer, KNeighborsClassifier(), memory=kept)
    name = steps.steps[1][0]
    choices = {f"{name}__{key}": values for key, values in grid.items()}
    return GridSearchCV(
        steps,
        {**choices, "kneighborsclassifier__n_neighbors": NEIGHBOUR_GRID},
        cv=KFold(3, shuffle=True, random_state=0),
        error_score=0.0,
    )


# What the formulas give -------------------------------------------------------------------------


def standardised(data: DataFolder) -> tuple[Array, Array]:
    bunch = data("arrhythmia")
    X = filled_at_random(bunch.X, np.random.default_rng(0))
    return StandardScaler().fit_transform(X), bunch.y


def undefined_distances(data: DataFolder) -> list[Figure]:
    """Share of pairs of hyperplanes whose ratio of shares is no finite number."""
    X, y = standardised(data)
    found = []
    for C in (0.01, 1.0, 100.0):
        accuracy = SupportVectorProjection(C=C).fit(X, y).accuracy_
        apart = ~np.eye(len(accuracy), dtype=bool)
        for column, shares in (("as printed", printed_shares(accuracy)), ("corrected", accuracy)):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = shares[:, None] / shares[None, :]
            share = 100 * np.mean(~np.isfinite(ratios[apart]))
            found.append(Figure(f"C = {C:g}", column, 0, float(share)))
    return found


def correlations(data: DataFolder) -> list[Figure]:
    """Largest correlation between a feature of a hyperplane and an independent component."""
    X, y = standardised(data)
    models = {
        "linear SVM+ICA": SupportVectorICA(20, C=0.01, random_state=0),
        "nonlinear SVM+ICA, linear": KernelSupportVectorICA(
            20, C=0.01, kernel="linear", random_state=0
        ),
    }
    found = []
    for name, model in models.items():
        Z = model.fit(X, y).transform(X)
        n = model.n_normals_
        between = np.corrcoef(Z.T)[:n, n:]
        found.append(Figure("Arrhythmia", name, 0, float(np.abs(between).max())))
    return found
