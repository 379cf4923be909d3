"""Chapter 3: three nearest neighbours in the subspaces of LDG and of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LDG,
    DirectDiscriminant,
    FisherDiscriminant,
    GSVDDiscriminant,
    LocalFisherDiscriminant,
    LocalQDA,
    datasets,
)
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.selection import (
    MAX_COMPONENTS,
    DimensionPath,
    dimension_path,
    greedy_rule,
    keep_every_direction,
    leave_one_out_scores,
    neighbour_scores,
)
from separatrix_papers.figures import DataFolder, Figure, Piece, make_figures
from separatrix_papers.ldg import literal
from separatrix_papers.splits import TrainTest

FULL_SPLITS, SLOW_SPLITS, QUICK_SPLITS = 10, 5, 2
MOST_TRAINED = 3000

TABLE31_FILES = {  # of table 3.1, in files
    "Diabetes": "pima_diabetes",
    "Wine": "wine",
    "Image Seg": "image_segmentation",
    "German": "german_credit",
    "Ringnorm": "",
    "Derm": "dermatology",
    "Ion": "ionosphere",
    "Statlog": "satimage",
    "USPS": "usps",
    "Isolet": "isolet",
    "MNIST": "mnist_3000",
    "Gisette": "gisette",
    "Mutants": "p53_mutants",
    "Arcene": "arcene",
    "Dexter": "dexter",
}
LARGE = ("USPS", "Isolet", "MNIST", "Gisette", "Mutants", "Arcene")
"""Sets of which a repeat takes a minute."""

NCA_SETS = ("Diabetes", "Wine", "German", "Derm", "Ion")

TABLE33_FILES = {  # of table 3.3, in files
    "Beef": "Beef",
    "CBF": "CBF",
    "Cinc ECG Torso": "CinCECGTorso",
    "Coffee": "Coffee",
    "Diatom": "DiatomSizeReduction",
    "ECG Five Days": "ECGFiveDays",
    "Face Four": "FaceFour",
    "Fish": "Fish",
    "Gun Point": "GunPoint",
    "Haptics": "Haptics",
    "Inline Skate": "InlineSkate",
    "Lightning 2": "Lightning2",
    "Lightning 7": "Lightning7",
    "Mallat": "Mallat",
    "Mote Strain": "MoteStrain",
    "Olive Oil": "OliveOil",
    "OSU Leaf": "OSULeaf",
    "Sony": "SonyAIBORobotSurface1",
    "Sony II": "SonyAIBORobotSurface2",
    "Starlight Curves": "StarLightCurves",
    "Symbols": "Symbols",
    "Trace": "Trace",
    "Two Lead ECG": "TwoLeadECG",
    "Word Synonyms": "WordSynonyms",
    "Yoga": "Yoga",
}


class ScoredSplit(TrainTest):
    """Training and test rows, with the score of the thesis."""

    def accuracy(self, Z: Array, Z_test: Array) -> float:
        """Of three nearest neighbours in the subspace, in percent."""
        ends = np.array([Z.shape[1]])
        return 100 * float(neighbour_scores(Z, self.y, Z_test, self.y_test, ends)[0])

    def accuracy_in(self, model: Any, k: int | None) -> float:
        """The same in the leading directions of a fitted model."""
        return self.accuracy(model.transform(self.X)[:, :k], model.transform(self.X_test)[:, :k])

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


def parted(X: Any, y: Array, n_train: int, seed: int) -> ScoredSplit:
    """Rows parted at random, and standardised by those to learn from."""
    order = np.random.default_rng(seed).permutation(len(y))
    rows = X[order].toarray() if sp.issparse(X) else X[order]
    scaler = StandardScaler().fit(rows[:n_train])
    X, y = scaler.transform(rows), y[order]
    return ScoredSplit(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def together(found: Any, version: str = "") -> tuple[Any, Array]:
    """All rows of a set and their labels; training and test part put together."""
    if "X" in found:
        return found.X, found.y
    X = np.vstack([found[f"X_train{version}"], found[f"X_test{version}"]]).astype(float)
    return X, np.concatenate([found.y_train, found.y_test])


def repeated(rows: Iterable[str], quick: bool, seldom: Iterable[str] = ()) -> list[Piece]:
    """Each row ten times, row after row, and some of them five times."""
    pieces = []
    for row in rows:
        repeats = QUICK_SPLITS if quick else SLOW_SPLITS if row in seldom else FULL_SPLITS
        pieces += [Piece(row, repeat, repeat) for repeat in range(repeats)]
    return pieces


# Table 3.1 -------------------------------------------------------------------------------------


def split31(row: str, data: DataFolder, seed: int) -> ScoredSplit:
    """70 percent of the rows to learn from, at most 3000."""
    if row == "Ringnorm":
        drawn = datasets.make_ringnorm(7400, random_state=seed)
        X, y = drawn.data, drawn.target
    else:
        X, y = together(data(TABLE31_FILES[row]))
        X = X[:, :33] if row == "Derm" else X  # without the age
        X, y = (X[:300], y[:300]) if row == "Dexter" else (X, y)  # the training file
    return parted(X, y, min(MOST_TRAINED, round(0.7 * len(y))), seed)


def most_directions(split: ScoredSplit) -> int:
    """40, or fewer where the rows span less."""
    some = min(split.X.shape) < 100
    return min(MAX_COMPONENTS, int(np.linalg.matrix_rank(split.X))) if some else MAX_COMPONENTS


def source_ldg(split: ScoredSplit) -> LDG:
    """LDG with k and γ chosen as the thesis does, and up to 40 directions."""
    k = LocalQDA(**literal.THESIS_LOCAL_QDA).fit(split.X, split.y).n_neighbors_
    most = most_directions(split)
    models = [
        LDG(most, gamma=gamma, n_neighbors=k).fit(split.X, split.y)
        for gamma in literal.THESIS_GAMMAS
    ]
    at = [min(split.n_classes + 5, most)]
    scores = [
        leave_one_out_scores(m.transform(split.X)[:, : at[0]], split.y, at)[0] for m in models
    ]
    return models[int(np.argmax(scores))]


def grown(split: ScoredSplit, Z: Array, Z_test: Array) -> float:
    """Accuracy in the dimension that grows until the score of the training rows drops."""
    k = literal.grown_until_drop(leave_one_out_scores(Z[:, :MAX_COMPONENTS], split.y))
    return split.accuracy(Z[:, :k], Z_test[:, :k])


def grown_of(model: Any, split: ScoredSplit) -> float:
    fitted = model.fit(split.X, split.y)
    return grown(split, fitted.transform(split.X), fitted.transform(split.X_test))


def grown_ldg(split: ScoredSplit) -> float:
    model = source_ldg(split)
    return grown(split, model.transform(split.X), model.transform(split.X_test))


def grown_nca(split: ScoredSplit) -> float:
    """One fit for each dimension."""
    scores: list[float] = []
    accuracy = 0.0
    for k in range(1, split.X.shape[1] + 1):
        model = NeighborhoodComponentsAnalysis(k, random_state=0).fit(split.X, split.y)
        scores.append(float(leave_one_out_scores(model.transform(split.X), split.y, [k])[0]))
        if scores[-1] < max(scores[-2:]):
            break
        accuracy = split.accuracy_in(model, k)
    return accuracy


METHODS31: dict[str, Callable[[ScoredSplit], float]] = {
    "LDG": grown_ldg,
    "PCA": lambda split: grown_of(PCA(most_directions(split)), split),
    "FDA": partial(grown_of, FisherDiscriminant(shrinkage=None)),
    "LFDA": partial(grown_of, LocalFisherDiscriminant(shrinkage=None)),
}


def refitted31(split: ScoredSplit) -> dict[str, float]:
    """LDG with everything fitted again in each fold: the best dimension, and the greedy one."""
    model = LDG("auto").fit(split.X, split.y)
    path = model.selection_["n_components"]
    greedy = int(path.dimensions[greedy_rule(path.scores.mean(axis=0))])  # at most the best
    best = split.accuracy_in(model, path.n_components)
    return {"LDG auto": best, "LDG refitted": split.accuracy_in(model, greedy)}


def literal31(split: ScoredSplit) -> dict[str, float]:
    """FDA and LFDA as printed."""
    most = min(MAX_COMPONENTS, split.X.shape[1])
    W = literal.printed_fisher_directions(split.X, split.y)
    W_local = literal.printed_local_fisher_directions(split.X, split.y, most)
    return {
        "FDA as printed": grown(split, split.X @ W, split.X_test @ W),
        "LFDA as printed": grown(split, split.X @ W_local, split.X_test @ W_local),
    }


def table31(piece: Piece, data: DataFolder) -> list[Figure]:
    split = split31(piece.row, data, piece.seed)
    values = {name: method(split) for name, method in METHODS31.items()}
    values |= refitted31(split)
    as_author = literal.AuthorsLDG().fit(split.X, split.y)
    values["LDG, author's program"] = split.accuracy_in(as_author, None)
    if piece.row in NCA_SETS:
        values["NCA"] = grown_nca(split)
    if split.X.shape[1] <= 1000:
        values |= literal31(split)
    return make_figures(piece, values)


def times31(piece: Piece, data: DataFolder) -> list[Figure]:
    split = split31(piece.row, data, piece.seed)
    methods = {**METHODS31, "LDG auto": refitted31}
    seconds = {name: timed(method, split) for name, method in methods.items()}
    reference = seconds.pop("PCA")
    return make_figures(piece, {name: spent / reference for name, spent in seconds.items()})


def timed(method: Callable[[ScoredSplit], Any], split: ScoredSplit) -> float:
    """Seconds of the processor."""
    start = time.process_time()
    method(split)
    return time.process_time() - start


# Tables 3.3 to 3.5 -----------------------------------------------------------------------------

SMALL_GAMMAS = (0.9, 0.7, 0.5, 0.3, 0.1, 0.01)
RIDGES_TRIED = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def split33(row: str, data: DataFolder, seed: int) -> ScoredSplit:
    """Series put together and parted again; those of the year of the thesis where they differ."""
    found = data(f"ucr_{TABLE33_FILES[row]}")
    version = "_2011" if "X_train_2011" in found else ""
    return parted(*together(found, version), len(found.y_train), seed)


class ChosenSettings(NamedTuple):
    """A model fitted to all training rows, and the dimensions to judge it in."""

    model: Any
    few: int
    best: int


def choose_by_folds(
    models: Sequence[Any], split: ScoredSplit, n_folds: int | None = 5
) -> ChosenSettings:
    """The model with the best score in C - 1 dimensions, then its best candidate dimension."""
    few = split.n_classes - 1
    paths = [
        dimension_path(model, split.X, split.y, rule="candidates", n_folds=n_folds)
        for model in models
    ]
    best = int(np.argmax([score_in(path, few) for path in paths]))
    fitted = keep_every_direction(models[best]).fit(split.X, split.y)
    return ChosenSettings(fitted, few, paths[best].n_components)


def score_in(path: DimensionPath, k: int) -> float:
    return float(path.scores.mean(axis=0)[min(k, len(path.dimensions)) - 1])


def small_ldgs(split: ScoredSplit) -> list[LDG]:
    k = LocalQDA(**literal.THESIS_LOCAL_QDA).fit(split.X, split.y).n_neighbors_
    return [LDG(gamma=gamma, n_neighbors=k) for gamma in SMALL_GAMMAS]


def ridged(make: Callable[..., Any], within: Array) -> list[Any]:
    """Models with ε I added to the scatter within classes, written as shrinkage."""
    average = float(np.trace(within)) / len(within)
    return [make(shrinkage=ridge / (ridge + average)) for ridge in RIDGES_TRIED]


def fisher_within(split: ScoredSplit) -> Array:
    """The covariance within classes (2.6)."""
    moments = ClassMoments.from_data(split.X, split.y)
    return np.asarray(moments.Sw / moments.n_samples)


class WithinAxes(PCA):
    """As many principal axes as rows less classes: the scatter within classes has full rank."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        self.n_components = min(len(X) - len(np.unique(y)), X.shape[1])
        return np.asarray(super().fit_transform(X))


class UnitFisher(FisherDiscriminant):
    """Directions of unit length instead of unit spread within classes: other distances."""

    def transform(self, X: Any) -> Array:
        return np.asarray(super().transform(X) / np.linalg.norm(self.components_, axis=1))


TABLE33_METHODS: dict[str, Callable[[ScoredSplit], ChosenSettings]] = {
    "LDG": lambda split: choose_by_folds(small_ldgs(split), split),
    "PCA": lambda split: choose_by_folds([PCA()], split),
    "PCA FDA": lambda split: fixed(
        make_pipeline(WithinAxes(), FisherDiscriminant(shrinkage=None)), split
    ),
    "Reg. FDA": lambda split: choose_by_folds(
        ridged(FisherDiscriminant, fisher_within(split)), split
    ),
    "DLDA": lambda split: fixed(DirectDiscriminant(), split),
    "GDA": lambda split: fixed(GSVDDiscriminant(), split),
    "PCA LFDA": lambda split: choose_by_folds(
        [make_pipeline(WithinAxes(), LocalFisherDiscriminant(shrinkage=None))], split
    ),
    "Reg. LFDA": lambda split: choose_by_folds(
        ridged(LocalFisherDiscriminant, literal.local_fisher_scatters(split.X, split.y).within),
        split,
    ),
    "LDG resubstituted": lambda split: choose_by_folds(small_ldgs(split), split, n_folds=None),
    "PCA FDA, unit length": lambda split: fixed(
        make_pipeline(WithinAxes(), UnitFisher(shrinkage=None)), split
    ),
    "Fisher, shrunk": lambda split: fixed(FisherDiscriminant(shrinkage="auto"), split),
}


def fixed(model: Any, split: ScoredSplit) -> ChosenSettings:
    """A model with nothing to choose."""
    few = split.n_classes - 1
    return ChosenSettings(model.fit(split.X, split.y), few, few)


class Small(NamedTuple):
    """Accuracies by method in C - 1 dimensions, and in the chosen ones."""

    few: dict[str, float]
    best: dict[str, float]


@lru_cache(maxsize=512)
def small(row: str, seed: int, data: DataFolder) -> Small:
    """What tables 3.3 and 3.4 show of one split."""
    split = split33(row, data, seed)
    few, best = {}, {}
    for name, choose in TABLE33_METHODS.items():
        found = choose(split)
        few[name] = split.accuracy_in(found.model, found.few)
        best[name] = split.accuracy_in(found.model, found.best)
    few["LDG auto"] = split.accuracy_in(LDG(split.n_classes - 1).fit(split.X, split.y), None)
    best["LDG auto"] = split.accuracy_in(LDG("auto").fit(split.X, split.y), None)
    few["LDG, author's program"] = split.accuracy_in(
        literal.AuthorsLDG(split.n_classes - 1).fit(split.X, split.y), None
    )
    best["LDG, author's program"] = split.accuracy_in(
        literal.AuthorsLDG().fit(split.X, split.y), None
    )
    return Small(few, best)


def times35(piece: Piece, data: DataFolder) -> list[Figure]:
    split = split33(piece.row, data, piece.seed)
    methods: dict[str, Callable[[ScoredSplit], Any]] = {
        **TABLE33_METHODS,
        "LDG auto": lambda split: LDG("auto").fit(split.X, split.y),
    }
    del methods["LDG resubstituted"], methods["PCA FDA, unit length"]
    seconds = {name: timed(method, split) for name, method in methods.items()}
    reference = seconds.pop("Reg. FDA")
    return make_figures(piece, {name: spent / reference for name, spent in seconds.items()})


# Tables ----------------------------------------------------------------------------------------

TABLE_FUNCTIONS: dict[str, Callable[[Piece, DataFolder], list[Figure]]] = {
    "table3.1": table31,
    "table3.1-times": times31,
    "table3.3": lambda piece, data: make_figures(piece, small(piece.row, piece.seed, data).few),
    "table3.4": lambda piece, data: make_figures(piece, small(piece.row, piece.seed, data).best),
    "table3.5": times35,
}
TIMED31 = ("Image Seg", "Ringnorm", "Statlog", *LARGE, "Dexter")


def list_subspace_pieces(table: str, quick: bool) -> list[Piece]:
    """A data set and a repeat."""
    if table == "table3.1":  # in turns: a run that is cut short has its share of each
        return sorted(repeated(TABLE31_FILES, quick, LARGE), key=lambda piece: piece.repeat)
    if table == "table3.1-times":
        once = LARGE if not quick else TIMED31
        return [Piece(row, i, i) for row in TIMED31 for i in range(1 if row in once else 2)]
    return repeated(TABLE33_FILES, quick, TABLE33_FILES if table == "table3.5" else ())


def measure_subspaces(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one piece."""
    return TABLE_FUNCTIONS[table](piece, data)
