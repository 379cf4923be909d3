"""Comparisons with scores that are given, for tests of what is said about them."""

from __future__ import annotations

import numpy as np

from separatrix.evaluate.ranking import mean_interval
from separatrix.evaluate.records import Comparison, Fold, Loadings, MethodRecord, Summary, View

TEST_SIZE = 0.3


def made_up(
    accuracies,
    *,
    n_rows=200,
    class_shares=(0.5, 0.5),
    classes=None,
    features=("length", "width", "height"),
    n_components=2,
    seconds=None,
    reasons=None,
    seed=0,
):
    """A comparison in which each method has these accuracies on the splits; None is a failure.

    Held-out rows are predicted wrongly as often as the accuracy says, to the nearest row.
    """
    rng = np.random.default_rng(seed)
    n_splits = len(next(iter(accuracies.values())))
    counts = np.round(np.array(class_shares) * n_rows).astype(int)
    labels = np.repeat(np.arange(len(counts)), counts)
    n_test = round(TEST_SIZE * len(labels))
    tests = [np.sort(rng.choice(len(labels), n_test, replace=False)) for _ in range(n_splits)]
    methods = []
    for name, scores in accuracies.items():
        folds = []
        for split, score in enumerate(scores):
            if score is None:
                reason = (reasons or {}).get(name, "ValueError: the matrix is singular")
                folds.append(Fold(name, split, "failed", reason))
                continue
            truth = labels[tests[split]]
            predicted = truth.copy()
            wrong = rng.choice(n_test, round((1 - score) * n_test), replace=False)
            predicted[wrong] = (predicted[wrong] + 1) % len(counts)
            balanced = np.mean([np.mean(predicted[truth == c] == c) for c in np.unique(truth)])
            first = split == 0 and n_components
            weights = rng.normal(size=(min(n_components or 1, 3), len(features)))
            folds.append(
                Fold(
                    name,
                    split,
                    "done",
                    seconds=0.1,
                    scores={"accuracy": score, "balanced_accuracy": float(balanced)},
                    fit_seconds=(seconds or {}).get(name, 0.1),
                    predict_seconds=0.01,
                    chosen={"n_components": n_components} if n_components else {},
                    n_components=n_components,
                    n_rows=len(labels) - n_test,
                    predicted=tuple(predicted.tolist()),
                    path=tuple([score] * n_components) if n_components else (),
                    view=View(coordinates(rng, truth, n_components)) if first else None,
                    loadings=Loadings(
                        tuple(features), tuple(map(tuple, weights.tolist())), len(features)
                    )
                    if first
                    else None,
                )
            )
        methods.append(record(name, folds, n_splits, n_test))
    names = classes if classes is not None else [f"class {c}" for c in range(len(counts))]
    return Comparison(
        classes=tuple(names),
        class_counts=tuple(counts.tolist()),
        feature_names=tuple(features),
        n_samples=len(labels),
        labels=tuple(labels.tolist()),
        tests=tuple(tuple(test.tolist()) for test in tests),
        settings={
            "n_splits": n_splits,
            "test_size": TEST_SIZE,
            "cv": None,
            "budget": None,
            "score": "accuracy",
            "random_state": 0,
        },
        methods=tuple(methods),
        left_out={},
        data="0123456789abcdef0123",
        versions={"python": "3.11", "separatrix": "0.1.0"},
        seconds=12.0,
    )


def coordinates(rng, truth, n_components):
    Z = rng.normal(size=(len(truth), min(n_components, 3)))
    Z[:, 0] += 3 * truth
    return tuple(map(tuple, Z.tolist()))


ESTIMATORS = {"raw": "FunctionTransformer()", "LDA": "LinearDiscriminantAnalysis()"}


def record(name, folds, n_splits, n_test):
    done = [fold for fold in folds if fold.status == "done"]
    status = "done" if len(done) == n_splits else "partial" if done else "failed"
    scores = dict.fromkeys(key for fold in done for key in fold.scores)
    return MethodRecord(
        name=name,
        kind="reference" if name in ("raw", "LDA", "PCA", "NCA") else "subspace",
        description="Directions.",
        estimator=ESTIMATORS.get(name, f"{name}()"),
        grid={},
        decision="3nn",
        status=status,
        reason=next((f.reason for f in folds if f.status != "done"), ""),
        n_done=len(done),
        summary={
            key: Summary(
                *mean_interval(
                    [f.scores[key] for f in done], TEST_SIZE, n_test if key == "accuracy" else None
                )
            )
            for key in scores
        },
        folds=tuple(folds),
    )


def around(mean, spread=0.002, n=10):
    """Scores about a mean, the same for every method of that mean."""
    return [mean + spread * ((7 * i) % n - (n - 1) / 2) / n for i in range(n)]
