"""Chapters 3 and 4: one hyperplane, merged models, streams."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import gen_batches

from separatrix import (
    IPCAC,
    DirectDiscriminant,
    FisherDiscriminant,
    KernelIPCAC,
    OnlineIPCAC,
    TruncatedIPCAC,
    datasets,
    merge,
)
from separatrix.decision.cuts import accuracy_threshold
from separatrix.evaluate.stream import prequential
from separatrix.files.mails import message_text
from separatrix.kernels import RBF
from separatrix.linalg import Array, principal_angles
from separatrix_papers.ipcac import literal
from separatrix_papers.ipcac.peers import (
    OnlineIndependentSVM,
    Projectron,
    SecondOrderPerceptron,
    first_order,
)
from separatrix_papers.splits import TrainTest

Values = dict[str, float]
"""By column."""

BATCH = 120
REUTERS = 23149
"""News to learn from; the others test."""
AXES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 250, 300, 350, 400, 440)


# Data ------------------------------------------------------------------------------------------


def pair(n_samples: int, n_features: int, scale: float, seed: int) -> TrainTest:
    """Two random Gaussians, of which a tenth of the rows is held out."""
    bunch = datasets.make_gaussian_pair(n_samples, n_features, mean_scale=scale, random_state=seed)
    return held_out(bunch.data, bunch.target)


def held_out(X: Array, y: Array) -> TrainTest:
    """The last tenth of shuffled rows held out."""
    n = len(y) * 9 // 10
    return TrainTest(X[:n], y[:n], X[n:], y[n:])


def fold(X: Any, y: Array, repeat: int, n_folds: int = 10) -> TrainTest:
    """Fold after fold of shuffled rows, run after run."""
    run, k = divmod(repeat, n_folds)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=run)
    train, test = list(folds.split(np.zeros(len(y)), y))[k]
    train = np.random.default_rng(repeat).permutation(train)
    return TrainTest(X[train], y[train], X[test], y[test])


def heart(data: Callable[[str], Any]) -> tuple[Array, Array]:
    """Hungarian heart disease, what is missing coded -9."""
    bunch = data("heart_hungarian")
    return bunch.X_m9, bunch.y


def weighed_words() -> TfidfVectorizer:
    """Words of letters that occur in two messages, by frequency and rareness."""
    return TfidfVectorizer(token_pattern=r"(?u)\b[^\W\d_]{2,}\b", min_df=2)


@lru_cache(maxsize=2)
def messages(data: Callable[[str], Any], name: str) -> tuple[Array, Array]:
    """Subjects and texts of e-mails, and which are spam."""
    bunch = data(name)
    texts = np.array([message_text(message) for message in bunch.messages], dtype=object)
    return texts, (bunch.y == "spam").astype(int)


@lru_cache(maxsize=1)
def latent_messages(data: Callable[[str], Any]) -> tuple[Array, Any, Array]:
    """E-mails in 1004 latent dimensions of all of them, their weighted words, which are spam."""
    texts, y = messages(data, "spamassassin_1800")
    words = weighed_words().fit_transform(texts)
    values, axes = np.linalg.eigh((words @ words.T).toarray())
    return (axes * np.sqrt(values.clip(0)))[:, ::-1][:, :1004].copy(), words, y


# Models ----------------------------------------------------------------------------------------


def share_right(predicted: Array, y: Any) -> float:
    return 100 * float(np.mean(predicted == y))


def tested(models: dict[str, Any], split: TrainTest) -> Values:
    """Accuracy of models on held-out rows, after fitting them in place."""
    return {
        name: share_right(model.fit(split.X, split.y).predict(split.X_test), split.y_test)
        for name, model in models.items()
    }


def streamed(model: Any, split: TrainTest, batch: int) -> Any:
    """A model that has learned the rows in batches."""
    for rows in gen_batches(len(split.y), batch):
        model.partial_fit(split.X[rows], split.y[rows], classes=[0, 1])
    return model


def learned(models: dict[str, Any], split: TrainTest, batch: int) -> Values:
    """Accuracy of models on held-out rows, after a stream."""
    return {
        name: share_right(streamed(model, split, batch).predict(split.X_test), split.y_test)
        for name, model in models.items()
    }


def tuned_hyperplane(split: TrainTest, seed: int) -> LinearSVC:
    """A linear support vector machine with C from a grid, by some of the rows."""
    some = np.random.default_rng(seed).permutation(len(split.y))[:500]
    grid = GridSearchCV(LinearSVC(dual="auto"), {"C": [1e-3, 1e-2, 0.1, 1]}, cv=5)
    return LinearSVC(dual="auto", **grid.fit(split.X[some], split.y[some]).best_params_)


def online_models() -> dict[str, Any]:
    return {
        "O-IPCAC": OnlineIPCAC("log2", threshold="mahalanobis"),
        "O-IPCAC literal": literal.OnlineModel(),
        "O-IPCAC, rank 100": OnlineIPCAC("log2", rank=100, threshold="mahalanobis"),
        "SOP": SecondOrderPerceptron(),
        **first_order(),
    }


ONLINE_GRIDS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "PA-I": (first_order()["PA-I"], {"eta0": [1e-3, 0.01, 0.1, 1.0, 10.0]}),
    "SOP": (SecondOrderPerceptron(), {"a": [0.01, 1.0, 100.0, 10_000.0]}),
    "Projectron": (Projectron(), {"eta": [0.03, 0.3, 0.9]}),
    "Projectron++": (Projectron(margins=True), {"eta": [0.03, 0.3, 0.9]}),
    "OISVM": (OnlineIndependentSVM(), {"eta": [0.03, 0.3, 0.9], "C": [1e-3, 0.1, 10.0]}),
}
MAX_TUNED_ROWS = 200


def tuned_online_models(split: TrainTest, seed: int) -> dict[str, Any]:
    """Those that have something to tune, by five folds of a random part of the training rows."""
    some = np.random.default_rng(seed).permutation(len(split.y))[:MAX_TUNED_ROWS]
    found = online_models()
    for name, (model, grid) in ONLINE_GRIDS.items():
        search = GridSearchCV(model, grid, cv=StratifiedKFold(5)).fit(split.X[some], split.y[some])
        found[name] = clone(model).set_params(**search.best_params_)
    return found


def regularised_fisher(split: TrainTest) -> float:
    """Accuracy of R-FLDA, the difference of two means, with the threshold (3.17)."""
    model = DirectDiscriminant().fit(split.X, split.y)
    sign = np.sign(np.diff(model.means_ @ model.components_[0]))[0]
    scores, new = (sign * model.transform(X)[:, 0] for X in (split.X, split.X_test))
    gamma = accuracy_threshold(scores, split.y == 1)
    return share_right(new > gamma, split.y_test == 1)


# Tables ----------------------------------------------------------------------------------------

PAIRS_3_1 = {
    "Synth 1 as described": (2000, 500, 1.0),
    "Synth 1, 2000 features, means x 0.25": (2000, 2000, 0.25),
    "Synth 2 as described": (2000, 500, 0.05),
    "Synth 2, 2000 features, means x 0.12": (2000, 2000, 0.12),
}
PAIRS_4 = {
    "Synth 1 as described": (2400, 2000, 1.0),
    "Synth 1, means x 0.25": (2400, 2000, 0.25),
    "Synth 2 as described": (2400, 2000, 0.05),
    "Synth 2, means x 0.12": (2400, 2000, 0.12),
}
PAIRS_4_5 = {
    "Synth 1 as described": (1200, 2000, 1.0),
    "Synth 1, means x 0.09": (1200, 2000, 0.09),
    "Synth 2 as described": (1200, 2000, 0.1),
    "Synth 2, means x 0.009": (1200, 2000, 0.009),
}
ANGLES = {"means x 0.25": (2400, 2000, 0.25), "means x 0.12": (2400, 2000, 0.12)}


def table3_1(row: str, seed: int) -> Values:
    split = pair(*PAIRS_3_1[row], seed)
    models = {
        "IPCAC_var": IPCAC(0.99, threshold="accuracy"),
        "IPCAC": IPCAC(threshold="accuracy"),
        "FLDA": FisherDiscriminant(shrinkage=None),
        "PCA+FLDA": FisherDiscriminant(pca=0.99, shrinkage=None),
        "TruncatedIPCAC": TruncatedIPCAC("log2", threshold="mahalanobis"),
        "Fisher, shrinkage auto": FisherDiscriminant(shrinkage="auto"),
    }
    values = tested(models, split)
    return values | {"IPCAC literal": cut_literally(models["IPCAC"], split)}


def cut_literally(model: Any, split: TrainTest) -> float:
    predicted = literal.cut_at_training_row(model, split.X, split.y, split.X_test)
    return share_right(predicted, split.y_test)


def table4_2(row: str, repeat: int, data: Callable[[str], Any]) -> Values:
    words: Values = {}
    if row in PAIRS_4:
        split, batch = pair(*PAIRS_4[row], repeat), BATCH
    elif row == "SpamAssassin":
        X, sparse, y = latent_messages(data)
        split, batch = fold(X, y, repeat), BATCH
        words = tested(
            {"TruncatedIPCAC, words": TruncatedIPCAC("log2", threshold="mahalanobis")},
            fold(sparse, y, repeat),
        )
    else:
        split, batch = fold(*heart(data), repeat), 20
    if row.endswith("d = 4"):
        few = tested({"IPCAC_var": IPCAC(0.99, threshold="accuracy")}, split)
        return few | learned({"O-IPCAC": OnlineIPCAC(4, threshold="mahalanobis")}, split, batch)
    models = {
        "IPCAC_var": IPCAC(0.99, threshold="accuracy"),
        "IPCAC": IPCAC(threshold="accuracy"),
        "FLDA": FisherDiscriminant(shrinkage=None),
        "SVM": tuned_hyperplane(split, repeat),
        "Fisher, shrinkage auto": FisherDiscriminant(shrinkage="auto"),
        "nearest mean": NearestCentroid(),
    }
    if row == "Hungarian":
        models |= {
            "IPCAC, mahalanobis": IPCAC(threshold="mahalanobis"),
            "IPCAC, balanced": IPCAC(threshold="balanced", balance=0.9),
        }
    values = (
        tested(models, split)
        | learned({"O-IPCAC": OnlineIPCAC("log2", threshold="mahalanobis")}, split, batch)
        | words
    )
    return values | {"IPCAC literal": cut_literally(models["IPCAC"], split)}


def stream_of(row: str, repeat: int, data: Callable[[str], Any]) -> tuple[TrainTest, int]:
    """The data of Tables 4.3 and 4.4, and how many rows come at a time."""
    if row in PAIRS_4:
        return pair(*PAIRS_4[row], repeat), BATCH
    if row == "SpamAssassin":
        X, _, y = latent_messages(data)
        return fold(X, y, repeat), BATCH
    if row == "Hungarian":
        return fold(*heart(data), repeat), 20
    news = data("rcv1_ccat")
    X, y = sp.csr_matrix(news.X), (news.y > 0).astype(int)
    return TrainTest(X[:REUTERS], y[:REUTERS], X[REUTERS:], y[REUTERS:]), 1000


def table4_3(row: str, repeat: int, data: Callable[[str], Any]) -> Values:
    split, batch = stream_of(row, repeat, data)
    if sp.issparse(split.X):  # the others keep dense rows
        models = online_models()
        del models["O-IPCAC literal"], models["SOP"]
    else:
        models = tuned_online_models(split, repeat)
    return learned(models, split, batch) | tested(
        {"all rows at once": TruncatedIPCAC("log2", threshold="mahalanobis")}, split
    )


def online_error(row: str, repeat: int, data: Callable[[str], Any]) -> Values:
    """Where the curves of Figures 4.3 and 4.4 end: everything is predicted, then learned."""
    split, batch = stream_of(row, repeat, data)
    X, y = np.vstack([split.X, split.X_test]), np.append(split.y, split.y_test)
    order = np.random.default_rng(repeat).permutation(len(y))
    return {
        name: 100 * prequential(model, X[order], y[order], batch)[-1]["error"]
        for name, model in tuned_online_models(split, repeat).items()
    }


def angles(row: str, seed: int) -> Values:
    """Degrees between the directions of streams and that of all rows at once."""
    split = pair(*ANGLES[row], seed)
    whole = TruncatedIPCAC("log2", threshold="mahalanobis").fit(split.X, split.y).coef_
    models = online_models() | {
        "O-IPCAC, rank 123": OnlineIPCAC(123, rank=123, threshold="mahalanobis")
    }
    directions = {
        name: model.w[None] if hasattr(model, "w") else model.coef_
        for name, model in ((name, streamed(m, split, BATCH)) for name, m in models.items())
    }
    return {
        name: float(np.degrees(principal_angles(direction, whole)[0]))
        for name, direction in directions.items()
    }


def figure4_2(row: str, seed: int) -> dict[str, Values]:
    """Accuracy by the number of whitened axes, and two straight lines."""
    split = pair(500, 500, float(row.split()[-1]), seed)
    values = tested({str(d): TruncatedIPCAC(d, threshold="mahalanobis") for d in AXES}, split)
    level = {"mean over d": float(np.mean([*values.values()])), "d = 1": values["1"]}
    lines = {f"{row}, {name}": dict.fromkeys(values, value) for name, value in level.items()}
    return {row: values, **lines}


def pancakes(seed: int) -> Values:
    """Section 4.1: the direction of least variance separates."""
    drawn = datasets.make_pancakes(3000, 100, random_state=seed)
    split = TrainTest(drawn.data[:500], drawn.target[:500], drawn.data[500:], drawn.target[500:])
    models = {
        "PCA+FLDA": FisherDiscriminant(pca=0.98, shrinkage=None),
        "O-IPCAC": TruncatedIPCAC("log2", threshold="mahalanobis"),
        "IPCAC": IPCAC(threshold="mahalanobis"),
        "FLDA": FisherDiscriminant(shrinkage=None),
    }
    best = share_right(drawn.bayes_predict(split.X_test), split.y_test)
    return tested(models, split) | {"best possible": best}


def table4_6(row: str, repeat: int, data: Callable[[str], Any]) -> Values:
    """Area under the ROC curve of very unbalanced classes, after a stream."""
    if row == "Drawn":
        drawn = datasets.make_gaussian_pair(2260, 600, mean_scale=0.06, random_state=repeat // 10)
        rare = np.cumsum(drawn.target) <= 58
        kept = (drawn.target == 0) | ((drawn.target == 1) & rare)
        X, y = drawn.data[kept], drawn.target[kept]
    else:
        found = data("eeg_mlsp2010")
        X, y = found.X, (found.y > 0).astype(int)
    split = fold(X, y, repeat)
    models = tuned_online_models(split, repeat)
    del models["O-IPCAC literal"], models["Projectron"], models["Projectron++"]
    del models["O-IPCAC, rank 100"]
    return {
        name: float(
            roc_auc_score(
                split.y_test, streamed(model, split, BATCH).decision_function(split.X_test)
            )
        )
        for name, model in models.items()
    }


def table4_5(row: str, seed: int) -> Values:
    split = pair(*PAIRS_4_5[row], seed)
    models = {
        "IPCAC": IPCAC(threshold="accuracy"),
        "IPCAC_var": IPCAC(0.99, threshold="accuracy"),
        "Fisher, shrinkage auto": FisherDiscriminant(shrinkage="auto"),
        "nearest mean": NearestCentroid(),
    }
    values = tested(models, split) | learned(
        {"O-IPCAC": OnlineIPCAC("log2", threshold="mahalanobis")}, split, BATCH
    )
    literally = cut_literally(models["IPCAC"], split)
    return values | {"R-FLDA": regularised_fisher(split), "IPCAC literal": literally}


# Spam ------------------------------------------------------------------------------------------

Measures = dict[str, Values]
"""Accuracy, precision and recall, by the end of the row's name."""


def measure_filters(predicted: dict[str, Array], y: Array) -> Measures:
    """Of predictions by name; spam, 1, is positive."""
    return {
        "": {name: share_right(p, y) for name, p in predicted.items()},
        ", precision": {name: share_right(y[p == 1], 1) for name, p in predicted.items()},
        ", recall": {name: share_right(p[y == 1], 1) for name, p in predicted.items()},
    }


class SpamSettings(NamedTuple):
    """Neighbours, C, and widths of kernels as factors of the inverse squared width "scale"."""

    neighbours: int
    C: float
    svm_factor: float
    ipcac_factor: float


MAX_TUNED_MESSAGES = 400
WIDTH_FACTORS = (0.1, 0.3, 1.0, 3.0)


@lru_cache(maxsize=2)
def tune_spam(data: Callable[[str], Any], name: str) -> SpamSettings:
    """The best configuration for a small random part of the messages, by four folds."""
    texts, y = messages(data, name)
    some = np.random.default_rng(10_000).permutation(len(y))[:MAX_TUNED_MESSAGES]
    words = weighed_words().fit_transform(texts[some])
    X, y = latent_dimensions(words, 0).transform(words), y[some]
    scale = 1 / (X.shape[1] * X.var())
    widths = [factor * scale for factor in WIDTH_FACTORS]

    def best(model: Any, grid: dict[str, Any]) -> dict[str, Any]:
        return dict(GridSearchCV(model, grid, cv=4).fit(X, y).best_params_)

    svm = best(SVC(), {"gamma": widths, "C": [1, 10, 100]})
    return SpamSettings(
        best(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 10, 20]})["n_neighbors"],
        svm["C"],
        svm["gamma"] / scale,
        best(KernelIPCAC(), {"kernel": [RBF(w) for w in widths]})["kernel"].gamma / scale,
    )


def spam_models(X: Array, settings: SpamSettings) -> dict[str, Any]:
    scale = 1 / (X.shape[1] * X.var())
    return {
        "KNN": KNeighborsClassifier(settings.neighbours),
        "IPCAC_var": IPCAC(0.99),
        "IPCAC_var, threshold (3.17)": IPCAC(0.99, threshold="accuracy"),
        "SVM": SVC(C=settings.C, gamma=settings.svm_factor * scale),
        "K-IPCAC": KernelIPCAC(RBF(settings.ipcac_factor * scale)),
    }


def latent_dimensions(words: Any, seed: int) -> TruncatedSVD:
    """300 of them, or as many as there are."""
    return TruncatedSVD(min(300, *(n - 1 for n in words.shape)), random_state=seed).fit(words)


def one_model(texts: Array, y: Array, repeat: int, settings: SpamSettings) -> Measures:
    """Experiment 1: a fold of four."""
    split = fold(texts, y, repeat, 4)
    words = weighed_words().fit(split.X)
    known, new = words.transform(split.X), words.transform(split.X_test)
    latent = latent_dimensions(known, repeat)
    X, X_test = latent.transform(known), latent.transform(new)
    models = spam_models(X, settings)
    predicted = {m: model.fit(X, split.y).predict(X_test) for m, model in models.items()}
    predicted["TruncatedIPCAC, words"] = (
        TruncatedIPCAC("log2", threshold="mahalanobis").fit(known, split.y).predict(new)
    )
    return measure_filters(predicted, split.y_test)


def merged_models(texts: Array, y: Array, repeat: int, settings: SpamSettings) -> Measures:
    """Experiment 2: four models of overlapping parts, averaged and merged."""
    rng = np.random.default_rng(repeat)
    order = rng.permutation(len(y))
    projecting, training, testing = np.split(order, [len(y) // 4, len(y) // 2])
    words = weighed_words().fit(texts[projecting])
    known = words.transform(texts[projecting])
    latent = latent_dimensions(known, repeat)
    X, X_test = (latent.transform(words.transform(texts[at])) for at in (training, testing))
    y, y_test = y[training], y[testing]
    parts = [rng.permutation(len(y))[: len(y) // 2] for _ in range(4)]
    sites: list[Measures] = []
    models = []
    for part in parts:
        fitted = {
            name: model.fit(X[part], y[part])
            for name, model in spam_models(X[part], settings).items()
        }
        models.append(fitted["IPCAC_var"])
        sites.append(
            measure_filters({m: model.predict(X_test) for m, model in fitted.items()}, y_test)
        )
    printed = literal.MergedModel([(X[part], y[part] == 1) for part in parts], 0.99)
    together = np.concatenate(parts)
    whole = measure_filters(
        {
            "MM-IPCAC": merge(models).predict(X_test),
            "MM-IPCAC literal": printed.predict(X_test).astype(int),
            "all at once": IPCAC(0.99).fit(X[together], y[together]).predict(X_test),
        },
        y_test,
    )
    return {
        end: {m: float(np.mean([site[end][m] for site in sites])) for m in sites[0][end]}
        | whole[end]
        for end in whole
    }


def spam(row: str, repeat: int, data: Callable[[str], Any], name: str) -> Measures:
    texts, y = messages(data, name)
    run = one_model if row == "Experiment 1" else merged_models
    return run(texts, y, repeat, tune_spam(data, name))
