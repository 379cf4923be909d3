"""The share of the completions of a row that get the same label, for any classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.arrival import Arrival
from separatrix.early.conditional import (
    ConditionalModel,
    PrefixModel,
    prefix_innovations,
)
from separatrix.early.local_draws import classify_draws
from separatrix.early.regions import MAX_INCOMPLETE_RELIABILITY
from separatrix.linalg import Array

FIRST_SHARE = 0.2
"""Share of the draws that come first."""

MIN_PROMISING = 0.7
"""Share of the first draws that must agree before the others are made."""

MAX_DRAWN_VALUES = 1 << 22
"""Values of completions that are held at once (32 MB)."""


class SampledScore(NamedTuple):
    """The share of the completions of a row that get the same label.

    The missing values are drawn from the model, with the same random numbers for all rows and all
    times: differences between scores are differences between rows.

    Attributes
    ----------
    conditional : ConditionalModel
        Of the coordinates that are classified.
    prefix_model : PrefixModel
        The model with the features in the order of the columns.
    classifier : Quadratic or classifier
        Linear functions of the coordinates, or a fitted classifier of them.
    reducer : transformer or None
        Maps drawn rows to the classifier's features; None where they are that already.
    classes : array (n_classes,)
    times : array of int
    draws : array (n_draws, d)
        Standard normal innovations.
    """

    conditional: ConditionalModel
    prefix_model: PrefixModel
    classifier: Any
    reducer: Any | None
    classes: Array
    times: Array
    draws: Array

    def follow(self, rows: Array, arrival: Arrival | None = None) -> SampledPaths:
        """Begin with series; the innovations of all values are computed at once."""
        return SampledPaths(self, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features are observed."""
        order = np.argsort(~observed, kind="stable")
        t, model = int(observed.sum()), self.prefix_model
        if not observed[:t].all():
            (model,) = self.conditional.prefix_models(order)
        Z = self.conditional.units.apply(rows)[:, order[:t]]
        state = self.conditional.state_after([model], Z)
        return self.count_agreement(model, t, state.means[0])

    def count_agreement(
        self, model: PrefixModel, t: int, means: Array, least: float = 0.0
    ) -> tuple[Array, Array]:
        """The most frequent label of the completions about means (n, q), and its share.

        Rows whose first draws agree too little have the share of these; rows that cannot reach
        `least` any more are not drawn further either.
        """
        steps = (self.draws[:, t:] * model.varies[t:]) @ model.gains[:, t:].T
        n_rows, n_draws = len(means), len(self.draws)
        counts = np.zeros((n_rows, len(self.classes)), dtype=int)
        drawn, at_once = np.zeros(n_rows), max(1, MAX_DRAWN_VALUES // steps.size)
        watched, first = np.arange(n_rows), max(1, round(FIRST_SHARE * n_draws))
        for part in (slice(0, first), slice(first, n_draws)):
            for block in gen_batches(len(watched), at_once) if len(watched) else ():
                rows = watched[block]
                points = means[rows][:, None] + steps[part]
                codes = self._classify(points.reshape(-1, points.shape[-1]))
                counts[rows] += count_codes(codes.reshape(points.shape[:2]), len(self.classes))
            drawn[watched] = part.stop
            most = counts[watched].max(axis=1)
            reachable = most + n_draws - part.stop >= least * n_draws
            watched = watched[reachable & (most >= MIN_PROMISING * part.stop)]
        guess, most = counts.argmax(axis=1), counts.max(axis=1)
        return guess, np.minimum(most / drawn, MAX_INCOMPLETE_RELIABILITY)

    def _classify(self, points: Array) -> Array:
        if isinstance(self.classifier, Quadratic):
            return (points @ self.classifier.c.T + self.classifier.b).argmax(axis=1)
        rows = points if self.reducer is None else self.reducer.transform(points)
        if isinstance(self.classifier, LocalQDA) and self.classifier.covariance_ == "diag":
            return classify_draws(self.classifier, rows)
        return np.searchsorted(self.classes, self.classifier.predict(rows))


class SampledPaths:
    """The means of the completions of series whose values are taken one after the other."""

    def __init__(self, score: SampledScore, rows: Array, arrival: Arrival | None = None) -> None:
        self._score, self._rows, self._arrival = score, rows, arrival
        if arrival is None:
            Z = score.conditional.units.apply(rows)
            (self._innovations,) = prefix_innovations([score.prefix_model], np.nan_to_num(Z))

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if self._arrival is not None:
            # a factor for each time: the same draws as for rows with these gaps
            return self._score.judge_pattern(self._rows[watched], self._arrival.known_after(t))
        model = self._score.prefix_model
        means = model.origin + self._innovations[watched, :t] @ model.gains[:, :t].T
        return self._score.count_agreement(model, t, means, least)


def count_codes(codes: Array, n_classes: int) -> Array:
    """How often each class occurs in each row of codes (n, n_draws).

    Examples
    --------
    >>> count_codes(np.array([[0, 2, 2], [1, 1, 1]]), 3)
    array([[1, 0, 2],
           [0, 3, 0]])
    """
    n = len(codes)
    flat = codes + n_classes * np.arange(n)[:, None]
    return np.bincount(flat.ravel(), minlength=n * n_classes).reshape(n, n_classes)
