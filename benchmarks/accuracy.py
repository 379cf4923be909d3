"""Accuracy of IPCAC on the data sets of its source, for who has their files.

``python -m benchmarks.accuracy DIR`` reads ``heart_hungarian.npz`` (arrays X_m9, with -9 for
missing values, and y) and ``spamassassin_1800.npz`` (arrays data, offsets and y: raw messages)
from DIR, cross-validates and prints a table for each file that is there.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from separatrix import IPCAC, FisherDiscriminant, TruncatedIPCAC


def heart(path: Path) -> None:
    """Hungarian heart disease: ten runs of ten-fold cross-validation."""
    with np.load(path) as data:
        X, y = data["X_m9"], data["y"]
    models = {
        "IPCAC": IPCAC(),
        "IPCAC, accuracy": IPCAC(threshold="accuracy"),
        "IPCAC, balanced": IPCAC(threshold="balanced"),
        "IPCAC, variance 0.99": IPCAC(variance=0.99),
        "IPCAC, variance 0.99, accuracy": IPCAC(variance=0.99, threshold="accuracy"),
        "TruncatedIPCAC": TruncatedIPCAC(),
        "TruncatedIPCAC, 4 axes": TruncatedIPCAC(4),
        "FisherDiscriminant": FisherDiscriminant(),
        "nearest mean": NearestCentroid(),
    }
    report(
        "Hungarian heart",
        models,
        X,
        y,
        RepeatedStratifiedKFold(n_repeats=10, n_splits=10, random_state=0),
    )


def spam(path: Path) -> None:
    """Spam: words of the bodies in 300 latent dimensions, and as they are."""
    with np.load(path) as data:
        raw, ends, y = data["data"], data["offsets"], data["y"]
    messages = [raw[a:b].tobytes().decode("latin-1") for a, b in pairwise(ends)]
    bodies = [message.split("\n\n", 1)[-1] for message in messages]
    dense = {
        "IPCAC": IPCAC(),
        "IPCAC, variance 0.99": IPCAC(variance=0.99),
        "TruncatedIPCAC": TruncatedIPCAC(),
        "FisherDiscriminant, shrinkage auto": FisherDiscriminant(shrinkage="auto"),
        "LinearSVC": LinearSVC(),
        "5 nearest neighbours": KNeighborsClassifier(5),
    }
    sparse = {"TruncatedIPCAC, all words": TruncatedIPCAC(), "LinearSVC, all words": LinearSVC()}
    words = TfidfVectorizer(min_df=3, sublinear_tf=True)
    latent = TruncatedSVD(300, random_state=0)
    models = {name: make_pipeline(words, latent, model) for name, model in dense.items()}
    models |= {name: make_pipeline(words, model) for name, model in sparse.items()}
    report("spam", models, bodies, y, StratifiedKFold(10, shuffle=True, random_state=0))


def report(title: str, models: dict[str, Any], X: Any, y: Any, folds: Any) -> None:
    print(f"{title}, accuracy in percent, mean ± standard deviation over folds")
    for name, model in models.items():
        scores = 100 * cross_val_score(model, X, y, cv=folds)
        print(f"  {name:<36}{scores.mean():6.2f} ± {scores.std():.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the .npz files are")
    folder = parser.parse_args().folder
    files = {"heart_hungarian.npz": heart, "spamassassin_1800.npz": spam}
    found = [name for name in files if (folder / name).is_file()]
    if not found:
        raise SystemExit(f"{folder} holds none of {', '.join(files)}")
    for name in found:
        files[name](folder / name)


if __name__ == "__main__":
    main()
