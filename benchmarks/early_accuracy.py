"""Decisions on incomplete series: how early, how reliable, how right.

``python -m benchmarks.early_accuracy DIR`` reads those of the files ``ucr_ItalyPowerDemand.npz``,
… (arrays X_train, y_train, X_test, y_test) that are in DIR and prints, for each τ of the source,
the share of decisions that the complete series confirms, the average number of values they take
and their accuracy; beside them fixed times, ECTS and, where aeon is installed, its TEASER and
probability threshold. ``--only NAME`` takes one file, ``--without-aeon`` saves its time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.early_baselines import ECTS, EarlyLabels, aeon_models, fixed_time_neighbour
from separatrix import LDG, EarlyClassifier, LocalQDA
from separatrix.evaluate import reliability_curve
from separatrix.linalg import Array

RELIABILITIES = (0.001, 0.1, 0.25, 0.9)
MOST_SERIES, MOST_SLOW = 1100, 300
"""Test series that are decided on, and those of the slow configurations."""

SLOW = ("LocalQDA, mixture", "LocalQDA, box", "LocalQDA, Chebyshev", "TEASER (aeon)")


class Printed(NamedTuple):
    """What the source prints: LDG features (table 5.4), seconds a series (table 5.2)."""

    ldg_features: int | None
    local_seconds: float | None
    linear_seconds: float | None


SETS = {
    "ItalyPowerDemand": Printed(2, None, None),
    "SyntheticControl": Printed(7, 0.7, 0.3),
    "TwoPatterns": Printed(22, 2.0, 0.5),
    "MedicalImages": Printed(11, 2.7, 1.0),
    "GunPoint": Printed(None, None, None),
    "ECGFiveDays": Printed(None, None, None),
}


def svm() -> Any:
    return LinearSVC(max_iter=20_000)


CONFIGURATIONS: dict[str, Callable[[], EarlyClassifier]] = {
    "LocalQDA": lambda: EarlyClassifier(LocalQDA()),
    "LocalQDA, mixture": lambda: EarlyClassifier(LocalQDA(), conditional="mixture"),
    "LocalQDA, reg=0.1": lambda: EarlyClassifier(LocalQDA(reg=0.1)),
    "LocalQDA after LDG": lambda: EarlyClassifier(LocalQDA(), reducer=LDG("auto")),
    "LocalQDA, box": lambda: EarlyClassifier(LocalQDA(), region="box"),
    "LocalQDA, Chebyshev": lambda: EarlyClassifier(LocalQDA(), region="chebyshev"),
    "LinearSVC": lambda: EarlyClassifier(svm()),
    "LinearSVC, mixture": lambda: EarlyClassifier(svm(), conditional="mixture"),
    "LinearSVC, ideal": lambda: EarlyClassifier(svm(), region="ideal"),
    "LinearSVC, ideal, mixture": lambda: EarlyClassifier(
        svm(), region="ideal", conditional="mixture"
    ),
}


class Split(NamedTuple):
    """Series to learn from and to be tested on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    @classmethod
    def load(cls, path: Path) -> Split:
        with np.load(path) as data:
            parts = (data[name] for name in ("X_train", "y_train", "X_test", "y_test"))
            X, y, X_test, y_test = parts
        return cls(X.astype(float), y, X_test.astype(float), y_test)

    def some(self, title: str) -> Split:
        """No more test series than there is time for."""
        most = MOST_SLOW if title in SLOW else MOST_SERIES
        return self._replace(X_test=self.X_test[:most], y_test=self.y_test[:most])


def head(name: str, data: Split) -> None:
    n, d = data.X.shape
    sizes = f"{n} + {len(data.X_test)} series of {d} values, {len(np.unique(data.y))} classes"
    print(f"\n{name}: {sizes}")
    print(f"{'':<28}" + "".join(f"{f'tau = {tau:g}':^22}" for tau in RELIABILITIES), end="")
    print(f"{'complete':>9}{'ms':>8}")
    print(f"{'':<28}" + f"{'rel.':>8}{'time':>7}{'acc.':>7}" * len(RELIABILITIES))


def cells(reliability: float, when: float, accuracy: float, required: float = 0.0) -> str:
    missed = "*" if reliability < required else " "
    return f"{reliability:>7.3f}{missed}{when:>7.1f}{accuracy:>7.3f}"


def decided(name: str, data: Split) -> None:
    """A row for each configuration, and one for deciding at the average times of the first."""
    whole = data
    for title, make in CONFIGURATIONS.items():
        if "ideal" in title and len(np.unique(data.y)) > 2:
            continue
        data = whole.some(title)
        model = make().fit(data.X, data.y)
        start = time.perf_counter()
        records = reliability_curve(model, data.X_test, data.y_test, RELIABILITIES, times=[])
        spent = (time.perf_counter() - start) / len(RELIABILITIES) / len(data.X_test)
        complete = float(np.mean(model.predict(data.X_test) == data.y_test))
        columns = [
            cells(r["reliability"], r["time"], r["accuracy"], r["required"] or 0.0)
            for r in records
        ]
        told = f"  {chosen(model)}{beside(title, SETS[name])}"
        print(
            f"{title:<28}{''.join(columns)}{complete:>9.3f}{1e3 * spent:>8.2f}{told}", flush=True
        )
        if title in ("LocalQDA", "LinearSVC"):
            fixed = reliability_curve(
                model,
                data.X_test,
                data.y_test,
                [],
                times=[int(np.ceil(r["time"])) for r in records],
            )
            columns = [cells(r["reliability"], r["time"], r["accuracy"]) for r in fixed]
            print(f"{'  all at that time':<28}{''.join(columns)}", flush=True)


def chosen(model: EarlyClassifier) -> str:
    """What was chosen on the training rows."""
    facts = [f"alpha={model.regularization_:.2g}"]
    if hasattr(model.estimator_, "n_neighbors_"):
        facts.append(f"k={model.estimator_.n_neighbors_}")
    if model.reducer_ is not None:
        facts.append(f"{len(model.reducer_.components_)} directions")
    return ", ".join(facts)


def beside(title: str, printed: Printed) -> str:
    """What the source prints for the same."""
    known = {
        "LocalQDA": printed.local_seconds,
        "LinearSVC": printed.linear_seconds,
    }
    if title == "LocalQDA after LDG" and printed.ldg_features:
        return f" (printed: {printed.ldg_features})"
    if known.get(title):
        return f" (printed: {1e3 * (known[title] or 0):.0f} ms)"
    return ""


def others(data: Split, aeon: bool) -> None:
    """Rows of the other methods, which know no τ."""
    data = data.some("")
    labels = fixed_time_neighbour(data.X, data.y, data.X_test)
    accuracy = (labels == data.y_test[:, None]).mean(axis=0)
    same = (labels == labels[:, -1:]).mean(axis=0)
    d = data.X.shape[1]
    times = [d // 4, d // 2, 3 * d // 4, d]
    columns = [cells(same[t - 1], t, accuracy[t - 1]) for t in times]
    print(f"{'nearest neighbour, all at':<28}{''.join(columns)}", flush=True)
    models: dict[str, Any] = {"ECTS": ECTS()}
    if aeon:
        models |= aeon_models()
    whole = data
    for title, model in models.items():
        data = whole.some(title)
        try:
            fitted = model.fit(data.X, data.y)
        except (ValueError, ZeroDivisionError) as error:  # prefixes that say nothing of the class
            print(f"{title:<28}cannot be fitted: {error}", flush=True)
            continue
        start = time.perf_counter()
        found: EarlyLabels = fitted.decide(data.X_test)
        spent = (time.perf_counter() - start) / len(data.X_test)
        reliability = float(np.mean(found.label == found.complete))
        column = cells(reliability, found.time.mean(), float(np.mean(found.label == data.y_test)))
        complete = float(np.mean(found.complete == data.y_test))
        print(f"{title:<28}{column}{'':>66}{complete:>9.3f}{1e3 * spent:>8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_accuracy", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the .npz files are")
    parser.add_argument("--only", default="", metavar="NAME", help="files with this in their name")
    parser.add_argument("--without-aeon", action="store_true", help="leave out slow peers")
    options = parser.parse_args()
    print("rel.: share of decisions that the complete series confirms, * where below tau;")
    print("time: average number of values; ms: per series, all four tau averaged;")
    print(f"the first {MOST_SERIES} test series, {MOST_SLOW} where it would take too long")
    if not options.without_aeon and not aeon_models():
        print("aeon is not installed: its TEASER and probability threshold are left out")
    for name in SETS:
        path = options.folder / f"ucr_{name}.npz"
        if options.only in name and path.is_file():
            data = Split.load(path)
            head(name, data)
            decided(name, data)
            others(data, aeon=not options.without_aeon)


if __name__ == "__main__":
    main()
