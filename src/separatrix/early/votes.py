"""How the models of a mixture decide: each votes, and answers for its share of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from separatrix.early.region import MAX_INCOMPLETE_RELIABILITY, RADIUS_SLACK
from separatrix.linalg import EPS, Array


class Vote(NamedTuple):
    """The classes that win at the means of one model, for rows that it may have made.

    Attributes
    ----------
    model : int
    rows : array of int (m,)
    classes : array of int (m,)
    functions : object
        What they were found from.
    """

    model: int
    rows: Array
    classes: Array
    functions: Any = None


AskModel = Callable[[int, Array], Vote]
"""Takes the number of a model and rows to its vote."""

MeasureSets = Callable[[Vote, Array, Array], Array]
"""Takes a vote, positions of some of its rows (m,) and what is needed of them (m,) to the measure
(m,) of the largest set about the mean of the model where the vote stands. A measure below what is
needed may be any that is below it."""


def settle_votes(
    probabilities: Array,
    n_classes: int,
    least: float,
    ask: AskModel,
    measure: MeasureSets,
    *,
    ask_all: bool = False,
) -> tuple[Array, Array]:
    """The class of the most probable models, and ``Σ s_k a_k`` over the models that agree.

    The likeliest model of each row is asked first. Where it has more than half of the mass its
    class is the guess, and where its set alone leaves too much out nobody else is asked.

    Parameters
    ----------
    probabilities : array (n, n_models)
        s_k, the share of each model in each row.
    n_classes : int
    least : float
        Reliabilities below it need not be exact. What can no longer reach it is not measured.
    ask, measure : callable
        Find the class that wins at the mean of a model, and a_k.
    ask_all : bool
        Ask all models before anything is measured: for votes that cost nothing.

    Returns
    -------
    guess, reliability : arrays (n,)
    """
    n, n_models = probabilities.shape
    spare = 1 - least + RADIUS_SLACK
    backing, reliability = np.zeros((n, n_classes)), np.zeros(n)
    missing = np.zeros(n)  # mass that is known to be left out: no a_k is more than 1

    def hear(model: int, takes_part: Array) -> Vote:
        vote = ask(model, np.flatnonzero(takes_part))
        backing[vote.rows, vote.classes] += probabilities[vote.rows, model]
        return vote

    def count(vote: Vote, takes_part: Array) -> None:
        at = np.flatnonzero(takes_part & (missing[vote.rows] <= spare))
        if len(at):
            rows = vote.rows[at]
            share = probabilities[rows, vote.model]
            mass = measure(vote, at, 1 - np.minimum((spare - missing[rows]) / share, 1.0))
            reliability[rows] += share * mass
            missing[rows] += share * (1 - mass)

    likeliest = probabilities.argmax(axis=1)
    first = [hear(i, likeliest == i) for i in np.unique(likeliest)]
    leads = (backing.max(axis=1) > 0.5) & (not ask_all)
    for vote in first:
        count(vote, leads[vote.rows])
    others = (probabilities > EPS) & (missing <= spare)[:, None]
    others[np.arange(n), likeliest] = False
    rest = [hear(i, others[:, i]) for i in range(n_models) if others[:, i].any()]
    guess = backing.argmax(axis=1)
    missing += 1 - backing.max(axis=1)  # models of other classes
    for vote in first:
        count(vote, (vote.classes == guess[vote.rows]) & ~leads[vote.rows])
    for vote in rest:
        count(vote, vote.classes == guess[vote.rows])
    return guess, np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)
