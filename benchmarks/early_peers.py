"""Early decisions of aeon, for who has it installed: how early, how reliable, how right.

``python -m benchmarks.early_peers DIR`` reads those of the files ``ucr_ItalyPowerDemand.npz``, …
that are in DIR. What the methods of this package do on the same series is in
``separatrix reproduce ldg/figure5.8``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Self

import numpy as np

from separatrix.io.originals import MissingData
from separatrix.linalg import Array
from separatrix.papers.figures import DataFolder
from separatrix.papers.ldg.early import DRAWN, EarlyLabels, series_of

MOST_SERIES = 300
"""Test series that are decided on."""


def aeon_models() -> dict[str, Any]:
    """TEASER and a probability threshold, or nothing where aeon is not installed."""
    try:
        from aeon.classification.early_classification import (
            TEASER,
            ProbabilityThresholdEarlyClassifier,
        )
        from aeon.classification.interval_based import TimeSeriesForestClassifier
    except ImportError:
        return {}
    # the default forest of the second divides by zero on prefixes of a few values
    forest = TimeSeriesForestClassifier(n_estimators=100, random_state=0)
    threshold = ProbabilityThresholdEarlyClassifier(forest, random_state=0)
    return {
        "TEASER (aeon)": AeonEarly(TEASER(random_state=0)),
        "probability 0.85 (aeon)": AeonEarly(threshold),
    }


class AeonEarly:
    """An early classifier of aeon, asked for labels, times and the labels at the end."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> Self:
        self.model.fit(X[:, None], y)
        return self

    def decide(self, X: Array) -> EarlyLabels:
        label, _ = self.model.predict(X[:, None])
        points = np.asarray(self.model._classification_points)
        time = points[np.asarray(self.model.get_state_info())[:, 0]]
        complete = self.model.estimators_[-1].predict(X[:, None])
        return EarlyLabels(label, time, complete)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_peers", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    data = DataFolder(parser.parse_args().folder)
    if not aeon_models():
        print("aeon is not installed")
    for row in DRAWN:
        for title, model in aeon_models().items():
            try:
                series = series_of(row, data).some(MOST_SERIES)
                found = model.fit(series.X, series.y).decide(series.X_test)
            except (MissingData, ValueError, ZeroDivisionError) as error:
                print(f"{row:<20}{title:<26}not run: {error}", flush=True)
                continue
            facts = (
                f"reliability {found.agreement():.1f} %, {np.mean(found.time):.1f} values, "
                f"accuracy {found.accuracy(series.y_test):.1f} %"
            )
            print(f"{row:<20}{title:<26}{facts}", flush=True)


if __name__ == "__main__":
    main()
