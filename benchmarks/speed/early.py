"""Decisions on incomplete series: prefixes beside conditioning anew, streams, aeon's TEASER."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from scipy.special import chdtr

from benchmarks.speed.data import size
from benchmarks.speed.one_thread import cpu_seconds_of
from benchmarks.speed.runner import Case, Row, Settings, faster, seconds_of, share
from separatrix import (
    EarlyClassifier,
    FisherDiscriminant,
    LocalQDA,
    QuadraticDiscriminant,
    datasets,
)
from separatrix.early import ModelJudge
from separatrix.features import RandomConvolutions
from separatrix.linalg import Array

OURS, JUDGED = "ours", "judged"
SET = ModelJudge("ellipsoid")
ANEW, TEASER = "conditioned anew after each value", "TEASER (aeon)"
VALUES_A_SECOND = 20_000


def series(
    n: int, d: int, n_classes: int, n_train: int, **more: float
) -> tuple[Array, Array, Array]:
    """Training series, their labels, and n series to decide on."""
    bunch = datasets.make_series(n_train + n, d, n_classes, random_state=0, **more)
    return bunch.data[:n_train], bunch.target[:n_train], bunch.data[n_train:]


def prefixes(settings: Settings) -> list[Row]:
    """The guess and its reliability after each value of every series."""
    n, d = (40, 60) if settings.quick else (500, 315)
    X, y, new = series(n, d, 8, 2 * d)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=0.1), judge=SET).fit(X, y)
    # at τ = 1 nothing needs to be judged; just below, nearly everything is, up to the end
    certain, nearly = 1.0, 1 - 2.0**-53
    times = seconds_of(
        {
            OURS: partial(model.decide_early, new, reliability=certain),
            JUDGED: partial(model.decide_early, new, reliability=nearly),
            ANEW: partial(anew, model, X, new, judge=False),
            f"{ANEW}, {JUDGED}": partial(anew, model, X, new),
        },
        settings.rounds,
        rarely=[ANEW, f"{ANEW}, {JUDGED}"],
    )
    work = f"all prefixes of {size(n, d)}, 8 classes, linear rule"
    return [
        faster(f"{work}: expected scores", times[OURS], ANEW, times[ANEW], at_least=20),
        faster(
            f"{work}: and their reliability",
            times[JUDGED],
            ANEW,
            times[f"{ANEW}, {JUDGED}"],
            at_least=10,
        ),
    ]


def anew(
    model: EarlyClassifier, X: Array, new: Array, *, judge: bool = True
) -> tuple[Array, Array]:
    """Guesses and reliabilities (n_times - 1, n) by the textbook, one prefix after the other."""
    alpha, mean = model.regularization_, X.mean(axis=0)
    S = np.cov(X.T, bias=True)
    S = (1 - alpha) * S + alpha * np.diag(np.diagonal(S))
    W, b = model.estimator_.coef_, model.estimator_.intercept_
    d = len(mean)
    rows = np.arange(len(new))
    guesses, reliabilities = np.empty((2, d - 1, len(new)))
    for t in range(1, d):
        K = np.linalg.solve(S[:t, :t], S[:t, t:])
        R = S[t:, t:] - S[t:, :t] @ K
        rest = mean[t:] + (new[:, :t] - mean[:t]) @ K
        scores = new[:, :t] @ W[:, :t].T + rest @ W[:, t:].T + b
        guess = scores.argmax(axis=1)
        if not judge:
            continue
        G = W[:, t:] @ R @ W[:, t:].T
        variance = np.diagonal(G)[:, None] + np.diagonal(G) - 2 * G
        np.fill_diagonal(variance, 1.0)
        gaps = scores[rows, guess][:, None] - scores
        gaps[rows, guess] = np.inf
        nearest = (gaps / np.sqrt(variance[guess])).min(axis=1)
        guesses[t - 1], reliabilities[t - 1] = guess, chdtr(d - t, nearest**2)
    return guesses, reliabilities


def stream(settings: Settings) -> list[Row]:
    """Values that come one by one."""
    d = 32 if settings.quick else 128
    X, y, new = series(20, d, 4, 400)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    best = np.inf
    for _ in range(settings.rounds):
        start = time.perf_counter()
        for row in new.tolist():
            push = model.stream().push
            for value in row:
                push(value)
        best = min(best, time.perf_counter() - start)
    rate = new.size / best
    work = f"push, series of {d} values, 4 classes, linear rule"
    must = f"≥ {VALUES_A_SECOND} values/s"
    return [Row(work, rate, unit="values/s", must_reach=must, reached=rate >= VALUES_A_SECOND)]


def decisions(settings: Settings) -> list[Row]:
    """Series decided as soon as they can be, by neighbours, with and without directions."""
    n, d = (50, 32) if settings.quick else (1000, 128)
    # TEASER cannot be fitted to series whose first values say nothing about the class
    X, y, new = series(n, d, 4, 100 if settings.quick else 400, onset=0.0, separation=12.0)
    models = {
        "linear rule": EarlyClassifier(FisherDiscriminant(shrinkage=0.1)),
        "quadratic rule": EarlyClassifier(QuadraticDiscriminant(shrinkage=0.1)),
        "LocalQDA(8)": EarlyClassifier(LocalQDA(8)),
    }
    peer = None if settings.quick else fitted_teaser(X[:40], y[:40])
    tasks: dict[str, Any] = {
        name: partial(model.fit(X, y).decide_early, new) for name, model in models.items()
    }
    if peer is not None:
        tasks[TEASER] = partial(peer.predict, new[:, None])
    times = seconds_of(tasks, min(settings.rounds, 3), rarely=[TEASER])
    work = f"decide_early, {size(n, d)}"
    if peer is None:
        missing = "TEASER: aeon is not installed"
        return [Row(f"{work}, {name}", times[name], missing) for name in models]
    return [
        faster(f"{work}, {name}", times[name], TEASER, times[TEASER], at_least=20)
        for name in models
    ]


def fitted_teaser(X: Array, y: Array) -> Any:
    """Fitted to few series: more make its predictions slower, and fitting would take hours."""
    try:
        from aeon.classification import early_classification
    except ImportError:
        return None
    return early_classification.TEASER(random_state=0).fit(X[:, None], y)


def calibrated(settings: Settings) -> list[Row]:
    """A calibrated fit, and series decided by completions that are sampled; processor time."""
    n, d = (60, 32) if settings.quick else (300, 128)
    X, y, new = series(n, d, 4, n, onset=0.0, separation=12.0)
    limits: dict[str, tuple[EarlyClassifier, float]] = {
        "linear": (EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=0.3), 0.1),
        "sampled": (EarlyClassifier(LocalQDA(8), calibration=0.3), 1.5),
        "convolutions": (
            EarlyClassifier(
                FisherDiscriminant(shrinkage=None), calibration=0.3, features=RandomConvolutions()
            ),
            3.0,
        ),
    }
    tasks = {
        name: partial(fit_and_decide, model, X, y, new) for name, (model, _) in limits.items()
    }
    times = cpu_seconds_of(tasks, min(settings.rounds, 3))
    work = f"calibrated fit and decide_early, {size(n, d)} each"
    return [
        Row(f"{work}, {name}", times[name], must_reach=f"≤ {limit:g} s",
            reached=times[name] <= limit)
        for name, (_, limit) in limits.items()
    ]  # fmt: skip


def neighbours(settings: Settings) -> list[Row]:
    """Neighbours sought after each value; processor time."""
    quick = settings.quick
    rows = []
    for n, d, n_classes, n_train, limit in (
        (1000, 128, 4, 400, 1.0),
        (200, 128, 15, 500, 2.0),
    ):
        shape = (n // 10, d // 4) if quick else (n, d)
        X, y, new = series(*shape, n_classes, n_train, onset=0.0, separation=12.0)
        model = EarlyClassifier(LocalQDA()).fit(X, y)
        times = cpu_seconds_of({OURS: partial(model.decide_early, new)}, min(settings.rounds, 3))
        work = f"decide_early, {size(*shape)}, {n_classes} classes, LocalQDA()"
        rows.append(share(work, times[OURS], f"{limit:g} s", limit, at_most=1))
    return rows


def fit_and_decide(model: EarlyClassifier, X: Array, y: Array, new: Array) -> Any:
    return model.fit(X, y).decide_early(new)


CASES: dict[str, Case] = {
    "early calibrated": calibrated,
    "cpu early neighbours": neighbours,
    "early prefixes": prefixes,
    "early stream": stream,
    "early series": decisions,
}
