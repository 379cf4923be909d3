"""Decisions about series while their values arrive: many series at once, or one value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from separatrix.early.conditional import PrefixState, prefix_innovations
from separatrix.early.region import IncompleteDecisionRule, largest_reliability
from separatrix.linalg import Array

ClassifyRows = Callable[[Array], Array]
"""Takes complete rows (n, d) to the numbers of their classes (n,)."""


class Decisions(NamedTuple):
    """Decisions about incomplete rows; scalars from a stream, arrays otherwise.

    Attributes
    ----------
    label : array (n,)
        The decision, or the guess it would be for rows that are not decided.
    decided : array of bool (n,)
        Whether the decision has the reliability that was asked for.
    reliability : array (n,)
        The largest τ at which the decision stands; 1 for complete rows, and for no others.
    n_observed : array of int (n,)
        Number of values that the decision was made from.
    """

    label: Any
    decided: Any
    reliability: Any
    n_observed: Any

    @property
    def time(self) -> Any:
        """For series, the number of leading values that were used: the same as `n_observed`."""
        return self.n_observed


def decide_series(
    rule: IncompleteDecisionRule,
    classify: ClassifyRows,
    rows: Array,
    lengths: Array,
    tau: float,
    wanted: Array,
) -> tuple[Array, Array, Array]:
    """The first reliable decision about each series, or its guess at the end of a short one.

    Parameters
    ----------
    rule : IncompleteDecisionRule
    classify : callable
        Decides on complete rows.
    rows : array (n, d)
        Series; NaN beyond their lengths.
    lengths : array of int (n,)
    tau : float
        The reliability that a decision must have.
    wanted : array of bool (n_classes,)
        The classes that may be decided for.

    Returns
    -------
    codes, reliabilities, times : arrays (n,)
    """
    models, n_features = rule.prefix_models, rule.n_features
    codes = np.zeros(len(rows), dtype=int)
    reliabilities, times = np.ones(len(rows)), lengths.copy()
    E = prefix_innovations(models, np.nan_to_num(rule.conditional.units.apply(rows)))
    state = PrefixState.start(models, rule.conditional.weights, len(rows))
    watched = np.arange(len(rows))
    for t in range(int(lengths.min(initial=1) > 0), n_features):
        if t:
            state.update(models, t - 1, E[:, watched, t - 1])
        guess, reliability = _guess_watched(rule, t, state, lengths[watched] == t, tau)
        ends = (lengths[watched] == t) | ((reliability >= tau) & wanted[guess] & (t > 0))
        ended = watched[ends]
        codes[ended], reliabilities[ended], times[ended] = guess[ends], reliability[ends], t
        if ends.any():
            watched, state = watched[~ends], state.of_rows(~ends)
        if not len(watched):
            break
    if len(watched):
        codes[watched] = classify(rows[watched])
    return codes, reliabilities, times


def _guess_watched(
    rule: IncompleteDecisionRule, t: int, state: PrefixState, over: Array, tau: float
) -> tuple[Array, Array]:
    """Guesses after t values: exact for series that are over, else as far as τ needs."""
    if tau < 1:
        guess, reliability = rule.guess_after(t, state, tau)
    else:  # only complete rows are that reliable
        guess, reliability = np.zeros(len(over), dtype=int), np.zeros(len(over))
    if over.any():
        guess[over], reliability[over] = rule.guess_after(t, state.of_rows(over))
    return guess, reliability


class DecisionStream:
    """One series whose values come one by one, as `EarlyClassifier.stream` starts it.

    After each value the answer is that of `EarlyClassifier.decide` for the values so far; a later
    answer may differ. The first that is decided is that of `EarlyClassifier.decide_early`.

    A value costs d products for each model and each function: scores of a linear rule, or
    coordinates. A quadratic rule then decomposes a matrix of the unknown directions for each pair
    of classes.
    """

    def __init__(
        self,
        rule: IncompleteDecisionRule,
        classify: ClassifyRows,
        classes: Array,
        tau: float,
        wanted: Array,
    ) -> None:
        self._rule, self._classify, self._classes = rule, classify, classes
        self._tau, self._wanted = tau, wanted
        self._units, self._n_features = rule.conditional.units, rule.n_features
        self._factor_states = [model.factor.start() for model in rule.prefix_models]
        self._state = PrefixState.start(rule.prefix_models, rule.conditional.weights, 1)
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
        t = len(self._values)
        if t == self._n_features:
            raise ValueError(
                f"the series is complete: the model was fitted to {t} values. Start another "
                "with stream()"
            )
        number = _check_number(value)
        if not np.isfinite(number):
            raise ValueError(f"value={value!r} is not a finite number: use decide for gaps")
        self._values.append(number)
        self._update(t, (number - self._units.mean[t]) / self._units.scale[t])
        code, reliability = self._guess(t + 1)
        decided = bool(reliability >= self._tau and self._wanted[code])
        return Decisions(self._classes[code], decided, reliability, t + 1)

    def _update(self, t: int, z: float) -> None:
        """Take feature t, in its unit, into the state."""
        models, table = self._rule.prefix_models, self._rule.score_table
        if table is not None:  # one model, and its gains in the order in which they are read
            e = models[0].factor.step(self._factor_states[0], t, z - models[0].mean[t])
            self._state.means[0, 0] += e * table.gains[t]
            return
        pairs = zip(models, self._factor_states, strict=True)
        steps = [[model.factor.step(state, t, z - model.mean[t])] for model, state in pairs]
        self._state.update(models, t, np.array(steps))

    def _guess(self, t: int) -> tuple[int, float]:
        """The number of the class after t values, and its reliability."""
        rule, table = self._rule, self._rule.score_table
        if t == self._n_features:
            return int(self._classify(np.array([self._values]))[0]), 1.0
        if table is None:
            codes, reliabilities = rule.guess_after(t, self._state)
            return int(codes[0]), float(reliabilities[0])
        scores = self._state.means[0, 0]
        code = int(scores.argmax())
        distance = table.distances(scores, code, scores[code], t)
        return code, float(largest_reliability(distance**2, rule.n_unknown[t], rule.region))


def _check_number(value: Any) -> float:
    """One number as a float, or an error."""
    try:
        if isinstance(value, str) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"value={value!r} is not a number: push takes the values of a series one by one, and "
            "decide takes rows with gaps"
        ) from None
