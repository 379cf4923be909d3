"""Chapters 5 and 6: kernels, mixtures of clusters, decision graphs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import f1_score, precision_recall_fscore_support
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from separatrix import (
    IPCAC,
    DDAGClassifier,
    FisherDiscriminant,
    KernelIPCAC,
    MixtureIPCAC,
    TruncatedIPCAC,
    datasets,
)
from separatrix.kernels import RBF
from separatrix.linalg import Array
from separatrix_papers.ipcac import literal
from separatrix_papers.ipcac.linear import Measures, Values, fold, held_out, share_right
from separatrix_papers.ipcac.peers import NestedDichotomies
from separatrix_papers.splits import TrainTest

FACTORS = tuple(2.0**power for power in (-8, -6, -4, -2, -1, 0, 1, 2))
"""Of the inverse squared width "scale" of a Gaussian kernel."""
KERNEL_COSTS = [0.1, 1, 10, 100]

AXES_TRIED: list[Any] = [True, 10, 30]
"""Whitened axes of K-TIPCAC: log₂(n)², or a number; put together with older figures in view."""

# Data ------------------------------------------------------------------------------------------

ROWS_A_GAUSSIAN = {"1000 rows a class": 250, "500 rows a class": 125, "200 rows a class": 50}
SPREADS = {"e = 1": 1.0, "e = 2": 2.0, "e = 3": 3.0}
RANDOM = {
    "set 1": [[500] * 4, [500] * 4],
    "set 2": [[500] * 4, [500] * 3],
    "set 3": [[200, 300, 400, 500], [300, 400, 500]],
}
LOCATIONS = {
    "acrosome": 17, "Golgi": 157, "hydrogenosome": 13, "lysosome": 59, "melanosome": 13,
    "microsome": 23, "mitochondrion": 488, "nucleus": 1077, "peroxisome": 92,
    "plasma membrane": 647, "extracell": 609, "cell wall": 47, "spindle pole body": 17,
    "synapse": 13, "vacuole": 91, "centriole": 45, "chloroplast": 497, "cyanelle": 85,
    "cytoplasm": 741, "cytoskeleton": 46, "endoplasmic reticulum": 275, "endosome": 39,
}  # fmt: skip
"""Proteins of each location (Table 6.1)."""


def mixture(row: str, seed: int) -> tuple[TrainTest, Any]:
    """Round or random Gaussians, and the best rule for them."""
    if row in ROWS_A_GAUSSIAN:
        bunch = datasets.make_gaussian_mixtures(ROWS_A_GAUSSIAN[row], 500, random_state=seed)
    elif row in SPREADS:
        bunch = datasets.make_gaussian_mixtures(500, 500, e=SPREADS[row], random_state=seed)
    else:
        scale = 1.0 if row.endswith("described") else 0.5
        bunch = datasets.make_random_mixtures(
            RANDOM[row[:5]], 500, mean_scale=scale, random_state=seed
        )
    return held_out(bunch.data, bunch.target), bunch.bayes_predict


# Models ----------------------------------------------------------------------------------------


MAX_TUNED_KERNEL_ROWS = 600


def search_grid(model: Any, grid: dict[str, Any], X: Array, y: Array) -> dict[str, Any]:
    """The best of a grid by two folds of a part of the rows, which come in random order."""
    rows = slice(MAX_TUNED_KERNEL_ROWS)
    return dict(GridSearchCV(model, grid, cv=2).fit(X[rows], y[rows]).best_params_)


def tuned_kernels(X: Array, y: Array, shares: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Widths of kernels, what is whitened, and C of the support vector machine."""
    widths = [factor / (X.shape[1] * X.var()) for factor in FACTORS]
    found = {}
    for name, more in shares.items():
        grid: dict[str, Any] = {"kernel": [RBF(width) for width in widths]}
        if more == {"truncate": True}:  # "appropriately tuned": the number of axes as well
            grid["truncate"] = AXES_TRIED
        found[name] = search_grid(KernelIPCAC(**more), grid, X, y)
    return found | {"SVM": search_grid(SVC(), {"gamma": widths, "C": KERNEL_COSTS}, X, y)}


UNTRUNCATED: dict[str, Any] = {
    "K-IPCAC": {},
    "K-IPCAC_var": {"variance": 0.99},
    "K-TIPCAC": {"truncate": True, "variance": 0.99},
}
LEADING: dict[str, Any] = {"K-IPCAC": {}, "K-TIPCAC": {"truncate": True}}


@lru_cache(maxsize=8)
def tune_settings(row: str) -> dict[str, dict[str, Any]]:
    """What is tuned once for a row, on a set of its own."""
    split, _ = mixture(row, 10_000)
    return tuned_kernels(split.X, split.y, UNTRUNCATED if row in ROWS_A_GAUSSIAN else LEADING)


def kernels(settings: dict[str, dict[str, Any]], shares: dict[str, Any]) -> dict[str, Any]:
    found = {name: KernelIPCAC(**{**more, **settings[name]}) for name, more in shares.items()}
    return found | {"SVM": SVC(**settings["SVM"])}


def predictions(models: dict[str, Any], split: TrainTest) -> dict[str, Array]:
    return {name: m.fit(split.X, split.y).predict(split.X_test) for name, m in models.items()}


def truncated_literally(split: TrainTest, gamma: float, variance: float = 0.99) -> Array:
    K, K_test = (rbf_kernel(X, split.X, gamma=gamma) for X in (split.X, split.X_test))
    scores, threshold = literal.truncated_kernel(K, K_test, split.y == 1, variance)
    return (scores > threshold).astype(int)


def measure_scores(predicted: dict[str, Array], y: Array, *, balanced: bool = False) -> Measures:
    """Accuracy, specificity and sensitivity; the second class, 1, is positive."""
    spec = {name: share_right(p[y == 0], 0) for name, p in predicted.items()}
    sens = {name: share_right(p[y == 1], 1) for name, p in predicted.items()}
    right = {name: share_right(p, y) for name, p in predicted.items()}
    if balanced:
        right = {name: (spec[name] + sens[name]) / 2 for name in predicted}
    return {"": right, ", specificity": spec, ", sensitivity": sens}


# Tables ----------------------------------------------------------------------------------------


def table5_3(row: str, seed: int) -> Measures:
    split, best = mixture(row, seed)
    settings = tune_settings(row)
    models = kernels(settings, UNTRUNCATED) | {
        "MixtureIPCAC": MixtureIPCAC(node="truncated", random_state=seed)
    }
    predicted = predictions(models, split) | {"best possible": best(split.X_test)}
    bare = KernelIPCAC(ridge=0, **settings["K-IPCAC"]).fit(split.X, split.y)
    predicted["K-IPCAC literal"] = literal.cut_at_training_row(bare, *split[:3])
    gamma = settings["K-TIPCAC"]["kernel"].gamma
    predicted["K-TIPCAC literal"] = truncated_literally(split, gamma)
    return measure_scores(predicted, split.y_test)


def clusters(seed: int) -> dict[str, Any]:
    return {
        "P-IPCAC": MixtureIPCAC(node="truncated", random_state=seed),
        "P-IPCAC, full nodes": MixtureIPCAC(node="ipcac", random_state=seed),
        "P-IPCAC, three deviations": MixtureIPCAC(
            em=True, merge="sigma", node="ipcac", random_state=seed
        ),
        "P-IPCAC literal": MixtureIPCAC(em=True, merge="region", node="ipcac", random_state=seed),
    }


PRINTED = ("IPCAC_var", "SVM", "K-IPCAC", "K-TIPCAC", "P-IPCAC")
"""Columns of Tables 5.4 to 5.6."""


def printed_thresholds(settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Kernel methods with the threshold (3.17), from the rows that found the direction."""
    return {
        "K-IPCAC, threshold (3.17)": KernelIPCAC(threshold="accuracy", **settings["K-IPCAC"]),
        "K-TIPCAC, threshold (3.17)": KernelIPCAC(
            **{"truncate": True, "threshold": "accuracy", **settings["K-TIPCAC"]}
        ),
    }


def tables5_4_and_5_5(row: str, seed: int) -> Measures:
    """Of sets as described, which are separable, the printed methods alone."""
    split, best = mixture(row, seed)
    described = row.endswith("described")
    settings = tune_settings(f"{row[:5]}, means x 0.5" if described else row)
    models = kernels(settings, LEADING) | clusters(seed) | {"IPCAC_var": IPCAC(0.99)}
    if described:
        models = {name: m for name, m in models.items() if name in PRINTED}
        predicted = predictions(models, split)
        return {"": measure_scores(predicted, split.y_test, balanced=True)[""]}
    models |= printed_thresholds(settings)
    few = KernelIPCAC(n_landmarks=500, random_state=seed, **settings["K-IPCAC"])
    predicted = predictions(models | {"K-IPCAC, 500 landmarks": few}, split)
    predicted["best possible"] = best(split.X_test)
    predicted["P-IPCAC, literal jury"] = literal.best_of_each_team(models["P-IPCAC"], split.X_test)
    return measure_scores(predicted, split.y_test, balanced=row.startswith("set"))


def heart_rows(row: str, repeat: int, data: Callable[[str], Any]) -> tuple[TrainTest, TrainTest]:
    """A fold of the heart data: as it is, and standardised; -9 or the mean fills in."""
    bunch = data("heart_hungarian")
    filled = bunch.X if row.endswith("mean filled in") else bunch.X_m9
    split = fold(filled, bunch.y, repeat)
    plain, scaled = SimpleImputer(), make_pipeline(SimpleImputer(), StandardScaler())
    return tuple(  # type: ignore[return-value]
        split._replace(X=step.fit_transform(split.X), X_test=step.transform(split.X_test))
        for step in (plain, scaled)
    )


@lru_cache(maxsize=8)
def tune_heart(row: str, data: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """What is tuned once, on all rows, those that judge included, as the source does it."""
    split = heart_rows(row, 0, data)[1]
    order = np.random.default_rng(0).permutation(len(split.y) + len(split.y_test))
    X, y = np.vstack([split.X, split.X_test]), np.append(split.y, split.y_test)
    return tuned_kernels(X[order], y[order], LEADING)


def table5_6(row: str, repeat: int, data: Callable[[str], Any]) -> Measures:
    """By measure; rows are named after what is filled in."""
    plain, split = heart_rows(row, repeat, data)
    settings = tune_heart(row, data)
    models = kernels(settings, LEADING) | clusters(repeat)
    models |= printed_thresholds(settings) | {"IPCAC": IPCAC()}
    models["IPCAC_var, standardised, (3.17)"] = IPCAC(0.999, threshold="accuracy")
    predicted = predictions(models, split) | predictions({"IPCAC_var": IPCAC(0.999)}, plain)
    predicted["P-IPCAC, literal jury"] = literal.best_of_each_team(models["P-IPCAC"], split.X_test)
    gamma = settings["K-TIPCAC"]["kernel"].gamma
    predicted["K-TIPCAC literal"] = truncated_literally(split, gamma)
    found = measure_scores(predicted, split.y_test, balanced=True)
    names = ("balanced accuracy", "sensitivity", "specificity")  # the healthy, 0, are positive
    return dict(zip(names, found.values(), strict=True))


def times(row: str, repeat: int, data: Callable[[str], Any]) -> Values:
    """Processor time to learn and to classify, over that of the support vector machine."""
    if row == "Hungarian":
        split = heart_rows(row, repeat, data)[1]
    else:
        split, _ = mixture(row, repeat)
    models = {
        "SVM": SVC(),
        "IPCAC_var": IPCAC(0.99),
        "K-IPCAC": KernelIPCAC(),
        "K-TIPCAC": KernelIPCAC(truncate=True),
        "P-IPCAC": MixtureIPCAC(node="truncated", random_state=repeat),
    }
    if row != "Hungarian":
        models["K-IPCAC, 500 landmarks"] = KernelIPCAC(n_landmarks=500, random_state=repeat)
    seconds = {}
    with threadpool_limits(1):
        for name, model in models.items():
            start = time.process_time()
            model.fit(split.X, split.y).predict(split.X_test)
            seconds[name] = time.process_time() - start
    reference = seconds.pop("SVM")
    return {name: value / reference for name, value in seconds.items()}


# Many classes ----------------------------------------------------------------------------------


def many_classes(row: str, repeat: int, data: Callable[[str], Any]) -> TrainTest:
    """Proteins, or what stands in for them."""
    if row == "22 classes":
        halves = [(n + 1) // 2 for n in LOCATIONS.values()]
        counts = [[n - n // 3, n // 3] for n in halves]
        run = repeat // 10
        bunch = datasets.make_random_mixtures(counts, 40, mean_scale=0.8, random_state=run)
        return fold(bunch.data, bunch.target, repeat)
    n_folds = 5 if row == "arrhythmia" else 10
    bunch = data("arrhythmia" if row == "arrhythmia" else "euk_proteins")
    split = fold(bunch.X, bunch.y, repeat, n_folds)
    step = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    return split._replace(X=step.fit_transform(split.X), X_test=step.transform(split.X_test))


def graph_and_others(split: TrainTest) -> dict[str, Any]:
    node = KernelIPCAC(truncate=True, variance=0.955, threshold="accuracy")  # (3.17)
    default = KernelIPCAC(truncate=True, variance=0.955)
    return {
        "DDAG K-TIPCAC": DDAGClassifier(
            node, reducer=TruncatedIPCAC("log2", threshold="mahalanobis")
        ),
        "DDAG K-TIPCAC, default threshold": DDAGClassifier(
            default, reducer=TruncatedIPCAC("log2", threshold="mahalanobis")
        ),
        "DDAG K-TIPCAC, no projection": DDAGClassifier(node),
        "DDAG K-TIPCAC, standard Fs": DDAGClassifier(
            node, reducer=FisherDiscriminant(shrinkage=None)
        ),
        "SVM": SVC(C=10),
        "SVM, balanced": SVC(C=10, class_weight="balanced"),
        "END": NestedDichotomies(40),
        "RF": RandomForestClassifier(50, max_features=min(100, split.X.shape[1]), random_state=0),
        "Fisher, shrinkage auto": FisherDiscriminant(shrinkage="auto"),
    }


COLUMNS_OF_SIX = {
    "table6.3": ("DDAG K-TIPCAC", "SVM", "END", "RF"),
    "table6.5": ("DDAG K-TIPCAC", "DDAG K-TIPCAC, standard Fs"),
    "table6.6": ("DDAG K-TIPCAC, standard Fs",),
    "table6.7": ("DDAG K-TIPCAC", "DDAG K-TIPCAC, no projection"),
    "table6.8": ("DDAG K-TIPCAC, no projection",),
}
"""Methods of the tables of chapter 6 that do not have all of them."""


@lru_cache(maxsize=512)  # several tables show parts of the same
def predict_classes(
    row: str, repeat: int, data: Callable[[str], Any], method: str
) -> tuple[Array, Array]:
    """Labels of the rows of a fold, and what a method takes them for."""
    split = many_classes(row, repeat, data)
    model = graph_and_others(split)[method]
    return split.y_test, model.fit(split.X, split.y).predict(split.X_test)


def table6_2(table: str, row: str, repeat: int, data: Callable[[str], Any]) -> Measures:
    split = many_classes(row, repeat, data)
    methods = COLUMNS_OF_SIX.get(table, tuple(graph_and_others(split)))
    predicted = {m: predict_classes(row, repeat, data, m)[1] for m in methods}
    found: Measures = {", precision": {}, ", recall": {}, ", F-score": {}}
    for name, labels in predicted.items():
        values = precision_recall_fscore_support(
            split.y_test, labels, average="weighted", zero_division=0
        )
        for end, value in zip(found, values, strict=False):
            found[end][name] = float(value)
    return found


def table6_3(table: str, repeat: int, data: Callable[[str], Any]) -> dict[str, Values]:
    """F-scores of single locations, by location; labels are the names of the rows."""
    found: dict[str, Values] = {name: {} for name in LOCATIONS}
    for method in COLUMNS_OF_SIX[table]:
        truth, labels = predict_classes("proteins", repeat, data, method)
        scores = f1_score(truth, labels, labels=[*LOCATIONS], average=None, zero_division=0)
        for name, score in zip(LOCATIONS, scores, strict=True):
            found[name][method] = float(score)
    return found


def weighted_means(scores: dict[str, Values]) -> dict[str, Values]:
    """Means over locations of F-scores by location: by size, and each alike."""
    names = list(scores)
    sizes = np.array([LOCATIONS[name] for name in names])
    table = {m: np.array([scores[name][m] for name in names]) for m in scores[names[0]]}
    return {
        "weighted mean": {m: float(column @ sizes / sizes.sum()) for m, column in table.items()},
        "plain mean": {m: float(column.mean()) for m, column in table.items()},
    }


def signed_rank_tests(scores: dict[str, Values], row: str) -> Values:
    """p-values of a method being greater than each other one, over locations."""
    table = {m: [of[m] for of in scores.values()] for m in next(iter(scores.values()))}
    return {
        other: float(
            wilcoxon(
                table[row], table[other], alternative="greater", correction=True, method="approx"
            ).pvalue
        )
        for other in table
        if other != row
    }
