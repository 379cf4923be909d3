"""Hyperplanes with and without independent components: table 4.1 of Moon, mean over its noise.

``python -m benchmarks.margins --data DIR`` prints percent of right decisions on Arrhythmia, in
the best setting on the rows that judge, as the thesis chooses it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from separatrix.papers.figures import DataFolder
from separatrix.papers.svmica.run import NOISE, best_runs

METHODS = (
    "linear SVM+ICA",
    "nonlinear SVM+ICA, linear",
    "nonlinear SVM+ICA, rbf",
    "SVM projections",
    "Fisher, shrinkage",
)


def score(data: DataFolder, noise: str, method: str) -> float:
    """Percent of right decisions, mean over the runs."""
    runs = best_runs(data, "Arrhythmia", noise, method)
    return 100 * float(np.mean([np.mean(run.right) for run in runs]))


def main() -> None:
    """Print a line for each method: its mean, and each level of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("methods", nargs="*", default=METHODS, help="of: " + "; ".join(METHODS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # FastICA on noise does not converge
    print(f"{'percent':<28}{'mean':>8}" + "".join(f"{noise:>10}" for noise in NOISE))
    for method in given.methods:
        found = [score(DataFolder(given.data), noise, method) for noise in NOISE]
        cells = "".join(f"{value:10.2f}" for value in found)
        print(f"{method:<28}{np.mean(found):8.2f}{cells}", flush=True)


if __name__ == "__main__":
    main()
