"""Hyperplanes with and without independent components: table 4.1 of Moon, mean over its noise.

``python -m benchmarks.margins --data DIR`` prints percent of right decisions on Arrhythmia, in
the best setting on the rows that judge, as the thesis chooses it. Without ``--data`` it prints
those of the hyperplanes themselves on three bundled sets: standardised, ten folds.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import SupportVectorProjection, WithinSupportVectorDiscriminant, datasets
from separatrix_papers.figures import DataFolder
from separatrix_papers.svmica.run import NOISE, best_runs

METHODS = (
    "linear SVM+ICA",
    "nonlinear SVM+ICA, linear",
    "nonlinear SVM+ICA, rbf",
    "SVM projections",
    "Fisher, shrinkage",
)


RULES = {
    "one against the rest": SupportVectorProjection(),
    "pairs": SupportVectorProjection(multiclass="ovo"),
    "WSVDA": WithinSupportVectorDiscriminant(),
    "SVC, linear": SVC(kernel="linear"),
}


def compare_rules() -> None:
    """Print the accuracy of decisions by hyperplanes."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name in ("iris", "wine", "breast_cancer"):
        X, y = (datasets.load(name)[key] for key in ("data", "target"))
        for rule, model in RULES.items():
            pipeline = make_pipeline(StandardScaler(), model)
            right = 100 * cross_val_score(pipeline, X, y, cv=folds).mean()
            print(f"{name:<16}{rule:<24}{right:6.2f}", flush=True)


def score(data: DataFolder, noise: str, method: str) -> float:
    """Percent of right decisions, mean over the runs."""
    runs = best_runs(data, "Arrhythmia", noise, method)
    return 100 * float(np.mean([np.mean(run.right) for run in runs]))


def main() -> None:
    """Print a line for each method: its mean, and each level of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("methods", nargs="*", default=METHODS, help="of: " + "; ".join(METHODS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # FastICA on noise does not converge
    if given.data is None:
        compare_rules()
        return
    print(f"{'percent':<28}{'mean':>8}" + "".join(f"{noise:>10}" for noise in NOISE))
    for method in given.methods:
        found = [score(DataFolder(given.data), noise, method) for noise in NOISE]
        cells = "".join(f"{value:10.2f}" for value in found)
        print(f"{method:<28}{np.mean(found):8.2f}{cells}", flush=True)


if __name__ == "__main__":
    main()
