"""Classifiers of two classes as judges: how firmly they decide, and rankings by all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax

from separatrix.linalg import Array

LEAST_LOG_ODDS = 1e-9
"""Log-odds of the class that was decided for, where the computed ones are against it."""

MOST_LOG_ODDS = 700.0
"""The most that count: their exponential is still a number."""


def side_with(verdicts: Array, log_odds: Array) -> Array:
    """Log-odds on the side of the verdicts: next to nothing where the two disagree."""
    side = np.sign(verdicts)
    return side * np.maximum(side * log_odds, LEAST_LOG_ODDS)


def judge_pair(judge: Any, X: Any, second: Any) -> Array:
    """How firmly a fitted classifier of two classes decides for the second of them.

    `predict` decides. How firmly is known from its log-odds, or where it has no probabilities from
    its scores; a classifier that has neither is as sure of every row.

    Parameters
    ----------
    judge : classifier
        Fitted to two classes.
    X : array or sparse matrix (n_samples, n_features)
    second : object
        The label of the second class.

    Returns
    -------
    array (n_samples,)
        Positive where the second class wins, negative where the first does, never zero.
    """
    verdicts = np.where(judge.predict(X) == second, 1.0, -1.0)
    if hasattr(judge, "predict_log_proba"):
        logs = np.asarray(judge.predict_log_proba(X), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            scores = logs[:, 1] - logs[:, 0]
    elif hasattr(judge, "decision_function"):
        scores = np.asarray(judge.decision_function(X), dtype=np.float64)
    else:
        return verdicts
    sign = 1.0 if judge.classes_[1] == second else -1.0
    scores = np.nan_to_num(sign * scores, posinf=MOST_LOG_ODDS, neginf=-MOST_LOG_ODDS)
    return side_with(verdicts, scores.clip(-MOST_LOG_ODDS, MOST_LOG_ODDS))


def rank_by_walks(beats: Array) -> Array:
    """Classes in the order in which a decision graph would find them, the best first.

    The graph starts with the first and the last class, and excludes the loser of each match until
    one class is left. The second place is that of the class which the graph without the first
    would find, and so on. Where matches agree with an order of the classes, it is this order.

    Parameters
    ----------
    beats : array of bool (n_samples, n_classes, n_classes)
        Whether the class of the row beats that of the column.

    Returns
    -------
    array of int (n_samples, n_classes)

    Examples
    --------
    >>> rank_by_walks(np.array([[[0, 0, 1], [1, 0, 1], [0, 0, 0]]], dtype=bool))
    array([[1, 0, 2]])
    """
    n, n_classes = beats.shape[:2]
    rows = np.arange(n)
    left = np.tile(np.arange(n_classes), (n, 1))
    places = np.empty((n, n_classes), dtype=int)
    for place in range(n_classes):
        first, last = np.zeros(n, dtype=int), np.full(n, n_classes - place - 1)
        for _ in range(n_classes - place - 1):
            excludes_last = beats[rows, left[rows, first], left[rows, last]]
            last = last - excludes_last
            first = first + ~excludes_last
        places[:, place] = left[rows, first]
        remains = np.arange(n_classes - place) != first[:, None]
        left = left[remains].reshape(n, n_classes - place - 1)
    return places


def couple_pairs(margins: Array, winners: Array) -> Array:
    """Log-probabilities of the classes from the log-odds of all pairs.

    Each class has the product of its probabilities against every other, to a sum of one. Where
    another class than the winner comes out first, the two change places.

    Parameters
    ----------
    margins : array (n_samples, n_classes, n_classes)
        Log-odds of the class of the row against that of the column; zero on the diagonal.
    winners : array of int (n_samples,)

    Examples
    --------
    >>> couple_pairs(np.array([[[0.0, -1.0], [1.0, 0.0]]]), np.array([1])).round(2)
    array([[-1.31, -0.31]])
    """
    rows = np.arange(len(margins))
    scores = log_expit(margins).sum(axis=2)
    first = scores.argmax(axis=1)
    best, own = scores[rows, first], scores[rows, winners]
    scores[rows, first], scores[rows, winners] = own, best
    return log_softmax(scores, axis=1)
