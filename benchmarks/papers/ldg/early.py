"""Chapter 5: decisions on series that are not complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.svm import LinearSVC

from separatrix import LDG, EarlyClassifier, LocalQDA
from separatrix.evaluate import ReliabilityRecord, reliability_curve
from separatrix.linalg import Array
from separatrix.selection import greedy_rule

from .. import Data, Figure, Piece

RELIABILITIES = (0.001, 0.1, 0.25, 0.9)
MOST_SERIES, MOST_SLOW, MOST_QUICK = 1100, 300, 60
"""Test series that are decided on, those of slow settings, and those of a quick run."""

SERIES = {  # of table 5.1, in files
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
FIRST, LAST = tuple(SERIES)[:6], tuple(s for s in tuple(SERIES)[6:] if s != "Synthetic Control")
"""Sets of figures 5.8 and 5.10, and of 5.9 and 5.11."""


class Series(NamedTuple):
    """Series to learn from, and to be tested on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    def some(self, most: int) -> Series:
        return self._replace(X_test=self.X_test[:most], y_test=self.y_test[:most])


def series_of(row: str, data: Data) -> Series:
    found = data(f"ucr_{(SERIES | OURS)[row]}")
    return Series(found.X_train, found.y_train, found.X_test, found.y_test)


def svm() -> Any:
    return LinearSVC(max_iter=20_000)


# Figures 5.6 and 5.7 ---------------------------------------------------------------------------


class Setting(NamedTuple):
    """How decisions are made, and on how many series there is time for."""

    make: Callable[[], EarlyClassifier]
    most: int = MOST_SERIES


SETS: dict[str, Setting] = {
    "local QDA, ellipsoid": Setting(lambda: EarlyClassifier(LocalQDA())),
    "local QDA, box": Setting(lambda: EarlyClassifier(LocalQDA(), region="box"), MOST_SLOW),
    "local QDA, Chebyshev": Setting(
        lambda: EarlyClassifier(LocalQDA(), region="chebyshev"), MOST_SLOW
    ),
    "linear SVM, ellipsoid": Setting(lambda: EarlyClassifier(svm())),
    "linear SVM, box": Setting(lambda: EarlyClassifier(svm(), region="box")),
    "linear SVM, Chebyshev": Setting(lambda: EarlyClassifier(svm(), region="chebyshev")),
}
MODELS: dict[str, Setting] = {
    "local QDA, one Gaussian": SETS["local QDA, ellipsoid"],
    "local QDA, mixture": Setting(
        lambda: EarlyClassifier(LocalQDA(), conditional="mixture"), MOST_SLOW
    ),
    "linear SVM, one Gaussian": SETS["linear SVM, ellipsoid"],
    "linear SVM, mixture": Setting(lambda: EarlyClassifier(svm(), conditional="mixture")),
}
IDEAL: dict[str, Setting] = {
    "linear SVM, ideal": Setting(lambda: EarlyClassifier(svm(), region="ideal")),
    "linear SVM, ideal, mixture": Setting(
        lambda: EarlyClassifier(svm(), region="ideal", conditional="mixture")
    ),
}


def settings_of(table: str, row: str) -> dict[str, Setting]:
    if table == "figure5.6":
        return SETS
    return MODELS | (IDEAL if row in (*OURS, "Italy Power Demand") else {})


def decided(table: str, piece: Piece, data: Data) -> list[Figure]:
    """Reliability and time of one setting on one set, or of as many as a quick run has time for."""
    row, _, name = piece.row.partition(": ")
    setting = settings_of(table, row)[name]
    series = series_of(row, data).some(MOST_QUICK if piece.repeat < 0 else setting.most)
