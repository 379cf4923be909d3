"""The solution of a method: directions, their criterion, and every other fitted attribute."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, RLock
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from separatrix.linalg import Array, column_signs

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Solution(NamedTuple):
    """The solution of a method's problem, as `solve` returns it and `store` publishes it.

    Attributes
    ----------
    W : array (n_features, n_components)
        Directions, best first.
    criterion : array
        The value that each direction maximises, for all directions there are.
    rank : int
        Rank of the matrix the method inverts or restricts itself to.
    within : array (n_components, n_components), optional
        Scatter within classes in the subspace, as the decision sees it. Only classifiers need it.
    extras : mapping
        Every other fitted attribute, by name.
    n_sided : int
        How many leading directions point to a class, so that their signs have a meaning.
    """

    W: Array
    criterion: Array
    rank: int
    within: Array | None = None
    extras: Mapping[str, Any] = NOTHING
    n_sided: int = 0

    def oriented(self, by: Array | None = None) -> Solution:
        """The same directions with the largest entry of each, or of their image `by`, positive.

        Directions that point to a class keep their signs.
        """
        signs = column_signs(self.W if by is None else by)
        signs[: self.n_sided] = 1.0
        within = None if self.within is None else self.within * np.outer(signs, signs)
        return self._replace(W=self.W * signs, within=within)

    def with_extras(self, **extras: Any) -> Solution:
        """The same solution with more fitted attributes."""
        return self._replace(extras={**self.extras, **extras})


def shares(criterion: Array) -> Array:
    """Each value's share of the sum of the positive ones; infinite ones share equally."""
    infinite = np.isinf(criterion)
    positive = infinite.astype(float) if infinite.any() else np.clip(criterion, 0.0, None)
    total = positive.sum()
    return positive / total if total > 0 else positive


LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""A lock for each model that learns in batches, on no model: models are copied and saved."""

MAKING_LOCKS = Lock()


def lock_of(model: Any) -> Any:
    """The lock that a thread holds while it changes a model, or solves for rows that have come."""
    with MAKING_LOCKS:
        return LOCKS.setdefault(model, RLock())
