"""Chapter 5: decisions on series that are not complete."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.stats
from sklearn.svm import LinearSVC

from separatrix import LDG, EarlyClassifier, LocalQDA
from separatrix.early import ModelJudge
from separatrix.evaluate.early import ReliabilityRecord, reliability_curve
from separatrix.linalg import Array
from separatrix.selection import greedy_rule
from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.ldg import literal

RELIABILITIES = (0.001, 0.1, 0.25, 0.9)
MOST_SERIES = 300
"""Test series that are decided on; files may have them class after class, so they are drawn."""

SERIES_FILES = {  # of table 5.1, in files
    "Chlorine Concentration": "ChlorineConcentration",
    "Italy Power Demand": "ItalyPowerDemand",
    "Face (All)": "FaceAll",
    "Medical Images": "MedicalImages",
    "Non-Invasive Fetal ECG 1": "NonInvasiveFetalECGThorax1",
    "Non-Invasive Fetal ECG 2": "NonInvasiveFetalECGThorax2",
    "Starlight Curves": "StarLightCurves",
    "Swedish Leaf": "SwedishLeaf",
    "Synthetic Control": "SyntheticControl",
    "Two Patterns": "TwoPatterns",
    "U Wave Gesture Library X": "UWaveGestureLibraryX",
    "U Wave Gesture Library Y": "UWaveGestureLibraryY",
    "U Wave Gesture Library Z": "UWaveGestureLibraryZ",
    "Wafer": "Wafer",
    "Yoga": "Yoga",
}
OURS = {"Gun Point": "GunPoint", "ECG Five Days": "ECGFiveDays"}
"""Sets that the source has in chapter 3 only."""

THREE = ("Synthetic Control", "Medical Images", "Two Patterns")
DRAWN = ("Italy Power Demand", "Medical Images", "Two Patterns", "Synthetic Control", *OURS)
"""Sets of figures 5.8 to 5.11 that are drawn; only the first three are the source's."""


class Series(NamedTuple):
    """Series to learn from, and to be tested on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    def some(self, most: int) -> Series:
        """With n of the test series, the same in every run."""
        drawn = np.random.default_rng(0).permutation(len(self.y_test))[:most]
        return self._replace(X_test=self.X_test[drawn], y_test=self.y_test[drawn])


def series_of(row: str, data: DataFolder) -> Series:
    found = data(f"ucr_{(SERIES_FILES | OURS)[row]}")
    return Series(found.X_train, found.y_train, found.X_test, found.y_test)


def make_svm() -> Any:
    return LinearSVC(max_iter=20_000)


# Section 5.2 -----------------------------------------------------------------------------------

UNKNOWN = 60
"""Values still to come."""

CORRELATIONS = (0.0, 0.5, 0.9, 1.0)


def ellipsoid_masses(piece: Piece, data: DataFolder) -> list[Figure]:
    """Measure of ellipsoids that are to have 0.9, when values are correlated."""
    rho = float(piece.row.rpartition(" ")[2])
    R = (1 - rho) * np.eye(UNKNOWN) + rho
    rng = np.random.default_rng(piece.seed)
    rows = rng.multivariate_normal(np.zeros(UNKNOWN), R, size=20_000, method="eigh")
    rank = UNKNOWN if rho < 1 else 1
    distances = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(R, hermitian=True), rows)
    values = {
        "diagonal": 100 * float(np.mean(literal.in_diagonal_ellipsoid(rows, R, 0.9))),
        "whole": 100 * float(np.mean(distances <= scipy.stats.chi2.ppf(0.9, rank))),
    }
    return [Figure(piece.row, name, piece.repeat, value) for name, value in values.items()]


# Figures 5.6 and 5.7 ---------------------------------------------------------------------------


MakeClassifier = Callable[[], EarlyClassifier]
"""How decisions are made."""


def local(region: str = "ellipsoid", conditional: str = "gaussian", **more: Any) -> MakeClassifier:
    judge = ModelJudge(region, conditional)
    return lambda: EarlyClassifier(LocalQDA(**literal.THESIS_LOCAL_QDA), judge=judge, **more)


def linear(region: str = "ellipsoid", conditional: str = "gaussian") -> MakeClassifier:
    return lambda: EarlyClassifier(make_svm(), judge=ModelJudge(region, conditional))


REGIONS: dict[str, MakeClassifier] = {
    "local QDA, quadratic": local(),
    "local QDA, box": local(region="box"),
    "local QDA, Chebyshev": local(region="chebyshev"),
    "linear SVM, quadratic": linear(),
    "linear SVM, box": linear(region="box"),
    "linear SVM, Chebyshev": linear(region="chebyshev"),
}
AUTHORS_LOCAL_QDA: dict[str, Any] = {**literal.THESIS_LOCAL_QDA, "standardize": True}
"""Local QDA in the program that the author published: standardised features, variances + 1e-4."""


def decide_as_author() -> EarlyClassifier:
    """The defaults of that program: α = 0.2, LDG with γ = 0.9, an ellipsoid with a diagonal."""
    return EarlyClassifier(
        LocalQDA(**AUTHORS_LOCAL_QDA),
        judge=ModelJudge("diagonal", regularization=0.2),
        reducer=literal.AuthorsLDG(),
    )


REGIONS["local QDA, author's program"] = decide_as_author
MODELS: dict[str, MakeClassifier] = {
    "local QDA, joint Gaussian": REGIONS["local QDA, quadratic"],
    "local QDA, GMM": local(conditional="mixture"),
    "linear SVM, joint Gaussian": REGIONS["linear SVM, quadratic"],
    "linear SVM, GMM": linear(conditional="mixture"),
}
IDEAL: dict[str, MakeClassifier] = {
    "linear SVM, ideal": linear(region="ideal"),
    "linear SVM, ideal, GMM": linear(region="ideal", conditional="mixture"),
}


def list_settings(table: str, row: str) -> dict[str, MakeClassifier]:
    """Lines of a figure; "ideal" is for two classes."""
    if table.startswith("figure5.6"):
        return REGIONS
    return MODELS | (IDEAL if row in ("Italy Power Demand", *OURS) else {})


@lru_cache(maxsize=128)
def measure_curve(row: str, setting: MakeClassifier, data: DataFolder) -> list[ReliabilityRecord]:
    """Decisions of one setting on the test series of a set, for each τ."""
    series = series_of(row, data).some(MOST_SERIES)
    model = setting().fit(series.X, series.y)
    return reliability_curve(model, series.X_test, series.y_test, RELIABILITIES, times=[])


def decided(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """Reliability and average time of one line."""
    row = set_of(table)
    n_times = series_of(row, data).X.shape[1]
    found = []
    for record in measure_curve(row, list_settings(table, row)[piece.row], data):
        tau = str(record["required"])
        found.append(Figure(piece.row, tau, 0, 100 * record["reliability"]))
        found.append(Figure(f"{piece.row}, time", tau, 0, 100 * record["time"] / n_times))
    return found


# Figures 5.8 to 5.11 ---------------------------------------------------------------------------


class EarlyLabels(NamedTuple):
    """Labels of series, how many leading values each took, and the labels at the end."""

    label: Array
    time: Array
    complete: Array

    def agreement(self) -> float:
        return 100 * float(np.mean(self.label == self.complete))

    def accuracy(self, y: Array) -> float:
        return 100 * float(np.mean(self.label == y))


def prefix_distances(A: Array, B: Array) -> Iterator[Array]:
    """Squared distances of the first 1, 2, … values; the same array each time."""
    D = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        D += np.subtract.outer(a, b) ** 2
        yield D


class ECTS:
    """Early classification by the nearest neighbour, once that neighbour can be relied on.

    A training series can be relied on from the time on at which those whose nearest neighbour it
    is are the same as at the end, and there is at least one: its minimum prediction length. A new
    series is given the label of its nearest neighbour as soon as that one can be relied on. This
    is the version without clusters (Xing, Pei and Yu, 2012; section 5.5.1 of the source): there
    is no minimum support to choose.
    """

    def fit(self, X: Array, y: Array) -> Self:
        self.X, self.y = X, y
        n, d = X.shape
        nearest = np.empty((d, n), dtype=int)
        for t, D in enumerate(prefix_distances(X, X)):
            np.fill_diagonal(D, np.inf)
            nearest[t] = D.argmin(axis=1)
            np.fill_diagonal(D, 0.0)
        stable = np.ones((d, n), dtype=bool)
        times, moved = np.nonzero(nearest != nearest[-1])
        for now in (nearest[times, moved], nearest[-1, moved]):
            stable[times, now] = False
        from_then_on = np.logical_and.accumulate(stable[::-1])[::-1]
        self.lengths = 1 + from_then_on.argmax(axis=0)
        self.lengths[np.setdiff1d(np.arange(n), nearest[-1])] = d
        return self

    def decide(self, X: Array) -> EarlyLabels:
        d = X.shape[1]
        label, time = np.empty(len(X), dtype=self.y.dtype), np.full(len(X), d + 1)
        for t, D in enumerate(prefix_distances(X, self.X), start=1):
            nearest = D.argmin(axis=1)
            ready = (time > d) & ((self.lengths[nearest] <= t) | (t == d))
            label[ready], time[ready] = self.y[nearest[ready]], t
        return EarlyLabels(label, time, self.y[nearest])


def fixed_time_neighbour(X: Array, y: Array, X_new: Array) -> Array:
    """Labels (n_new, n_times) of the nearest neighbour of each prefix."""
    return np.stack([y[D.argmin(axis=1)] for D in prefix_distances(X_new, X)], axis=1)


def fixed_time_qda(model: LocalQDA, series: Series, t: int) -> EarlyLabels:
    """Local QDA of the first t values alone, with the k of the complete series."""
    rule = LocalQDA(model.n_neighbors_, **literal.THESIS_LOCAL_QDA)
    prefix = rule.fit(series.X[:, :t], series.y)
    label = prefix.predict(series.X_test[:, :t])
    return EarlyLabels(label, np.full(len(label), t), model.predict(series.X_test))


RELIABLE: dict[str, MakeClassifier] = {
    "Rel. Class.": REGIONS["local QDA, quadratic"],
    "LDG Rel. Class.": local(reducer=LDG("auto")),
    "Rel. Class., reg = 0.1": lambda: EarlyClassifier(
        LocalQDA(**literal.THESIS_LOCAL_QDA | {"reg": 0.1}), judge=ModelJudge("ellipsoid")
    ),
}


class Line(NamedTuple):
    """Decisions at each τ: agreement with the complete series, accuracy, average time; percent."""

    reliability: list[float]
    accuracy: list[float]
    time: list[float]


@lru_cache(maxsize=32)
def compare_methods(row: str, data: DataFolder) -> dict[str, Line]:
    """Every line of figures 5.8 to 5.11; fixed times are those of a line before, rounded up."""
    series = series_of(row, data).some(MOST_SERIES)
    n_times = series.X.shape[1]
    qda = LocalQDA(**literal.THESIS_LOCAL_QDA).fit(series.X, series.y)
    neighbours = fixed_time_neighbour(series.X, series.y, series.X_test)

    def line(labels: list[EarlyLabels]) -> Line:
        return Line(
            [found.agreement() for found in labels],
            [found.accuracy(series.y_test) for found in labels],
            [100 * float(np.mean(found.time)) / n_times for found in labels],
        )

    def neighbour_at(t: int) -> EarlyLabels:
        return EarlyLabels(neighbours[:, t - 1], np.full(len(neighbours), t), neighbours[:, -1])

    lines = {}
    for name, setting in RELIABLE.items():
        known = measure_curve(row, setting, data)
        shares = [(r["reliability"], r["accuracy"], r["time"] / n_times) for r in known]
        lines[name] = Line(*(100 * np.array(shares).T).tolist())
        times = [math.ceil(r["time"]) for r in known]
        if name != "Rel. Class., reg = 0.1":
            at = "" if name == "Rel. Class." else " at the time of LDG"
            lines[f"Fixed-time local QDA{at}"] = line(
                [fixed_time_qda(qda, series, t) for t in times]
            )
            lines[f"Fixed-time 1-NN{at}"] = line([neighbour_at(t) for t in times])
    found = ECTS().fit(series.X, series.y).decide(series.X_test)
    level = len(RELIABILITIES)
    lines["ECTS"] = line([found] * level)
    lines["Fixed-time 1-NN at the time of ECTS"] = line(
        [neighbour_at(math.ceil(float(found.time.mean())))] * level
    )
    for reg in (1e-4, 0.1):
        complete = (
            LocalQDA(**literal.THESIS_LOCAL_QDA | {"reg": reg})
            .fit(series.X, series.y)
            .predict(series.X_test)
        )
        found = EarlyLabels(complete, np.full(len(complete), n_times), complete)
        lines[f"Complete, reg = {reg:g}"] = line([found] * level)
    return lines


def beside_others(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """Reliability (5.8, 5.9) or accuracy (5.10, 5.11), and time."""
    one_set = table not in OTHERS
    lines = compare_methods(set_of(table) if one_set else piece.row, data)
    of_reliability = table.startswith(("figure5.8", "figure5.9"))
    found = []
    for name, line in lines.items():
        if of_reliability and name.startswith("Complete"):
            continue
        parts = {name: line.reliability if of_reliability else line.accuracy}
        if not name.startswith(("Fixed", "Complete")):
            parts[f"{name}, time"] = line.time
        for part, values in parts.items():
            for tau, value in zip(RELIABILITIES, values, strict=True):
                row, column = (part, str(tau)) if one_set else (piece.row, f"{part}, τ = {tau}")
                found.append(Figure(row, column, 0, value))
    return found


# Tables 5.2 to 5.4 -----------------------------------------------------------------------------

TIMED_SERIES, TIMED_REPEATS = 50, 2


def seconds_to_decide(setting: MakeClassifier, series: Series) -> float:
    model = setting().fit(series.X, series.y)
    start = time.process_time()
    model.decide_early(series.X_test, reliability=0.9)
    return time.process_time() - start


def decision_times(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """Ratios of times within a classifier."""
    series = series_of(piece.row, data).some(TIMED_SERIES)
    settings, reference = (
        (REGIONS, "quadratic") if table == "table5.2" else (MODELS, "joint Gaussian")
    )
    seconds = {name: seconds_to_decide(setting, series) for name, setting in settings.items()}
    found = []
    for name, spent in seconds.items():
        classifier, _, kind = name.partition(", ")
        if kind != reference:
            column = f"{classifier[0].upper()}{classifier[1:]}, {kind}"
            ratio = spent / seconds[f"{classifier}, {reference}"]
            found.append(Figure(piece.row, column, piece.repeat, ratio))
    return found


def ldg_features(piece: Piece, data: DataFolder) -> list[Figure]:
    series = series_of(piece.row, data)
    model = LDG("auto").fit(series.X, series.y)
    path = model.selection_["n_components"]
    greedy = path.dimensions[greedy_rule(path.scores.mean(axis=0))]
    values = {
        "Values": series.X.shape[1],
        "LDG features": path.n_components,
        "greedy": int(greedy),
    }
    return [Figure(piece.row, name, piece.repeat, value) for name, value in values.items()]


def first_value_times(piece: Piece, data: DataFolder) -> list[Figure]:
    """Time to judge series by their first value, without and with LDG."""
    series = series_of(piece.row, data).some(4 * TIMED_SERIES)
    spent = []
    for name in ("Rel. Class.", "LDG Rel. Class."):
        model = RELIABLE[name]().fit(series.X, series.y)
        first = series.X_test[:, :1]
        model.decide_early(first, reliability=0.9)
        tries = []
        for _ in range(3):
            start = time.process_time()
            model.decide_early(first, reliability=0.9)
            tries.append(time.process_time() - start)
        spent.append(min(tries))
    return [Figure(piece.row, "All values", piece.repeat, spent[0] / spent[1])]


# Tables ----------------------------------------------------------------------------------------

OTHERS = {
    "figure5.8-others": tuple(SERIES_FILES)[:6],
    "figure5.9-others": tuple(SERIES_FILES)[6:],
    "figure5.10-others": tuple(SERIES_FILES)[:6],
    "figure5.11-others": tuple(SERIES_FILES)[6:],
}
"""Tables of the sets that are not drawn."""


def set_of(table: str) -> str:
    """The set that a figure is about: ``figure5.6-synthetic-control``."""
    name = table.partition("-")[2]
    return next(row for row in SERIES_FILES | OURS if row.lower().replace(" ", "-") == name)


def list_early_pieces(table: str, quick: bool) -> list[Piece]:
    """A line of a figure, or a data set and a repeat."""
    if table.startswith(("figure5.6", "figure5.7")):
        lines = list_settings(table, set_of(table))
        return [Piece(line) for line in lines if not (quick and line.startswith("local"))]
    if table in OTHERS:
        return [Piece(row) for row in OTHERS[table] if row not in DRAWN]
    if table.startswith("figure"):
        return [Piece(set_of(table))]
    if table == "section5.2":
        return [Piece(f"correlation {rho:g}", i, i) for rho in CORRELATIONS for i in range(10)]
    rows = THREE if table in ("table5.2", "table5.3") else tuple(SERIES_FILES)
    repeats = 1 if quick or table == "table5.4" else TIMED_REPEATS
    return [Piece(row, i) for row in rows for i in range(repeats)]


def measure_early(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one piece."""
    if table.startswith(("figure5.6", "figure5.7")):
        return decided(table, piece, data)
    if table.startswith("figure"):
        return beside_others(table, piece, data)
    if table == "section5.2":
        return ellipsoid_masses(piece, data)
    if table in ("table5.2", "table5.3"):
        return decision_times(table, piece, data)
    return ldg_features(piece, data) if table == "table5.4" else first_value_times(piece, data)
