"""Accuracy of IPCAC on the data sets of its source.

``python -m benchmarks.accuracy DIR`` reads ``heart_hungarian.npz`` (arrays X with NaN for missing
values, X_m9 with -9 for them, and y) and ``spamassassin_1800.npz`` (arrays data, offsets and y:
raw messages) from DIR, cross-validates and prints a table for each file that is there. Without DIR
it draws the data of the source's generators.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    IPCAC,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    MixtureIPCAC,
    TruncatedIPCAC,
    datasets,
)


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


def heart_kernels(path: Path) -> None:
    """Hungarian heart disease, standardised: curved boundaries, two codes for what is missing."""
    with np.load(path) as data:
        coded = {"missing as -9": data["X_m9"], "missing as the mean": data["X"]}
        y = data["y"]
    models = {
        "KernelIPCAC": KernelIPCAC(),
        "KernelIPCAC, truncated": KernelIPCAC(truncate=True),
        "KernelIPCAC, truncated, 10 axes": KernelIPCAC(truncate=10),
        "KernelIPCAC, variance 0.9": KernelIPCAC(variance=0.9),
        "KernelFisherDiscriminant": KernelFisherDiscriminant(),
        "MixtureIPCAC": MixtureIPCAC(random_state=0),
        "IPCAC": IPCAC(),
        "SVC": SVC(),
    }
    folds = RepeatedStratifiedKFold(n_repeats=10, n_splits=10, random_state=0)
    for name, X in coded.items():
        steps = {
            title: make_pipeline(SimpleImputer(), StandardScaler(), model)
            for title, model in models.items()
        }
        report(f"Hungarian heart, standardised, {name}", steps, X, y, folds)


def mixtures() -> None:
    """The first generator: four round Gaussians a class in 500 dimensions, ten folds."""
    for e in (1.0, 2.0, 3.0):
        bunch = datasets.make_gaussian_mixtures(500, 500, e=e, random_state=0)
        best = 100 * np.mean(bunch.bayes_predict(bunch.data) == bunch.target)
        models = {
            "MixtureIPCAC": MixtureIPCAC(random_state=0),
            "MixtureIPCAC, ipcac nodes": MixtureIPCAC(node="ipcac", random_state=0),
            "KernelIPCAC": KernelIPCAC(),
            "KernelIPCAC, truncated": KernelIPCAC(truncate=True),
            "KernelIPCAC, 500 landmarks": KernelIPCAC(n_landmarks=500, random_state=0),
            "KernelFisherDiscriminant": KernelFisherDiscriminant(),
            "IPCAC": IPCAC(),
            "SVC": SVC(),
        }
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        report(f"mixtures, e = {e:g}, best {best:.1f}", models, bunch.data, bunch.target, folds)


def ridges() -> None:
    """What the ridge of a kernel does on the bundled data, standardised, ten folds."""
    cancer, digits = datasets.load("breast_cancer"), datasets.load("digits")
    parity = digits.target.astype(int) % 2
    models = {
        f"KernelIPCAC, ridge {r:g}": KernelIPCAC(ridge=r) for r in (0, 1e-4, 0.01, 0.1, 1, 10)
    }
    models |= {"KernelIPCAC, truncated": KernelIPCAC(truncate=True), "SVC": SVC()}
    steps = {name: make_pipeline(StandardScaler(), model) for name, model in models.items()}
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    report("breast cancer", steps, cancer.data, cancer.target, folds)
    report("digits, odd or even", steps, digits.data, parity, folds)


def random_mixtures() -> None:
    """The second generator with means half as far apart: random covariances, uneven classes."""
    sets = {
        "4 and 4": [[500] * 4, [500] * 4],
        "4 and 3": [[500] * 4, [500] * 3],
        "uneven 4 and 3": [[200, 300, 400, 500], [300, 400, 500]],
    }
    models = {
        "MixtureIPCAC": MixtureIPCAC(random_state=0),
        "KernelIPCAC": KernelIPCAC(),
        "IPCAC": IPCAC(),
        "SVC": SVC(),
    }
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name, counts in sets.items():
        bunch = datasets.make_random_mixtures(counts, 500, mean_scale=0.5, random_state=0)
        report(f"random mixtures, {name}", models, bunch.data, bunch.target, folds)


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
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="where the .npz files are"
    )
    folder = parser.parse_args().folder
    if folder is None:
        mixtures()
        random_mixtures()
        ridges()
        return
    files = {
        "heart_hungarian.npz": (heart, heart_kernels),
        "spamassassin_1800.npz": (spam,),
    }
    found = [name for name in files if (folder / name).is_file()]
    if not found:
        raise SystemExit(f"{folder} holds none of {', '.join(files)}")
    for name in found:
        for print_table in files[name]:
            print_table(folder / name)


if __name__ == "__main__":
    main()
