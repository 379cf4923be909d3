"""What early decisions return."""

from __future__ import annotations

from typing import Any, NamedTuple

from separatrix.linalg import Array


class Decisions(NamedTuple):
    """What can be said of incomplete rows; scalars from a stream, arrays otherwise.

    Attributes
    ----------
    label : array (n,)
        The decision, or the guess it would be for rows that are not decided.
    decided : array of bool (n,)
        Whether the decision stands with the reliability that was asked for.
    reliability : array (n,)
        The largest τ at which it stands; 1 for complete rows, and for no others.
    n_observed : array of int (n,)
        Values the decision was made from.
    """

    label: Any
    decided: Any
    reliability: Any
    n_observed: Any

    @property
    def time(self) -> Any:
        """For series, the number of leading values that were used: the same as `n_observed`."""
        return self.n_observed


class Expectation(NamedTuple):
    """Features of incomplete rows: what is observed as it is, the rest as it is expected.

    Attributes
    ----------
    mean : array (n, n_features)
    std : array (n, n_features)
        Standard deviations; zero where features are observed.
    """

    mean: Array
    std: Array
