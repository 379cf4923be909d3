"""Decisions about one series, value by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.early.conditional import Progress
from separatrix.early.records import Decisions
from separatrix.early.region import largest_reliability
from separatrix.linalg import Array


class DecisionStream:
    """One series whose values come one by one, as `EarlyClassifier.stream` starts it.

    After each value the answer is what `EarlyClassifier.decide` would say of the values so far; a
    later one may differ. The first that is decided is that of `EarlyClassifier.decide_early`.

    A value costs d products for each model and each function that matters: scores of a linear
    rule, or coordinates. A quadratic rule then decomposes a matrix of the unknown directions for
    each pair of classes.
    """

    def __init__(self, model: Any, tau: float, wanted: Array) -> None:
        self._model, self._tau, self._wanted = model, tau, wanted
        self._views = model._views
        self._states = [view.factor.start() for view in self._views]
        self._progress = Progress.start(self._views, model._conditional.weights, 1)
        self._values: list[float] = []

    def push(self, value: float) -> Decisions:
        """Take the next value of the series.

        Parameters
        ----------
        value : float

        Returns
        -------
        Decisions
            Of scalars.
        """
        t, model = len(self._values), self._model
        if t == model.n_features_in_:
            raise ValueError(
                f"the series is complete: the model was fitted to {t} values. Start another "
                "with stream()"
            )
        number = _one_number(value)
        if not np.isfinite(number):
            raise ValueError(f"value={value!r} is not a finite number: use decide for gaps")
        self._values.append(number)
        units = model._conditional.units
        z = (number - units.mean[t]) / units.scale[t]
        if model._table is not None:
            view, scores = self._views[0], self._progress.means[0, 0]
            e = view.factor.step(self._states[0], t, z - view.mean[t])
            scores += e * model._table.gains[t]
        else:
            pairs = zip(self._views, self._states, strict=True)
            steps = [[view.factor.step(state, t, z - view.mean[t])] for view, state in pairs]
            self._progress.take(self._views, t, np.array(steps))
        return self._decision(t + 1)

    def _decision(self, t: int) -> Decisions:
        model = self._model
        if t == model.n_features_in_:
            code, reliable = model._codes_of(np.array([self._values]))[0], 1.0
        elif model._table is not None:
            scores = self._progress.means[0, 0]
            code = scores.argmax()
            distance = model._table.distances(scores, code, scores[code], t)
            reliable = float(largest_reliability(distance**2, model._n_unknown[t], model._region))
        else:
            codes, found = model._judged_after(t, self._progress)
            code, reliable = codes[0], float(found[0])
        decided = bool(reliable >= self._tau and self._wanted[code])
        return Decisions(model.classes_[code], decided, reliable, t)


def _one_number(value: Any) -> float:
    try:
        if isinstance(value, str) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"value={value!r} is not a number: push takes the values of a series one by one, and "
            "decide takes rows with gaps"
        ) from None
