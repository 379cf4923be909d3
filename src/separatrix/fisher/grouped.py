"""Fisher's discriminant on groups of features."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import N_COMPONENTS, Allowed, array_like, whole_number
from separatrix.base.rows import LabelledData, Rows
from separatrix.base.solution import Solution, shares
from separatrix.fisher.directions import fisher_directions
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


class GroupedDiscriminant(SubspaceEstimator):
    """Fisher's directions of groups of features, side by side.

    Each group of features gets its own Fisher discriminant of up to ``n_classes - 1`` directions,
    so that the whole has more than ``n_classes - 1`` (MDA on groups of features). It suits ordered
    features, such as bands of a spectrum.

    Parameters
    ----------
    groups : int or list of index lists
        A number of equal contiguous groups, or the columns of each group.
    n_components : int, "auto" or None
        Directions per group, all of a group that has fewer; None keeps all, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_directions, n_features)
        Directions of the first group, then of the second, and so on; each is zero outside its
        group.
    groups_ : list of arrays
        Columns of each group.
    group_of_component_ : array (n_directions,)
        Which group each direction belongs to.
    explained_ratio_ : array (n_directions,)
        Share of each in the sum of the criterion over all groups.
    mean_, means_, classes_
        As in `FisherDiscriminant`; zero for features in no group.
    rank_ : int
        Sum of the ranks of the groups' within-class scatter.

    Notes
    -----
    Within a group ``components_ @ Sw @ components_.T`` is the identity. Directions of different
    groups are correlated in general.

    References
    ----------
    Duda, Hart and Stork, Pattern Classification, second edition (2001), section 3.8.3, for
    multiple discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GroupedDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> GroupedDiscriminant(groups=2).fit_transform(X, y).shape
    (150, 4)
    """

    _accepts_blocks = True
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "groups": (whole_number(1), array_like()),
        "n_components": N_COMPONENTS,
    }

    def __init__(
        self, groups: int | Sequence[Sequence[int]] = 2, *, n_components: int | str | None = None
    ) -> None:
        self.groups = groups
        self.n_components = n_components

    def _summarised(self, data: LabelledData) -> Any:
        groups = feature_groups(self.groups, data.X.shape[1])
        return [data.columns(columns).moments() for columns in groups]

    def _added(self, parts: Sequence[Any]) -> Any:
        return [
            super(GroupedDiscriminant, self)._added(group) for group in zip(*parts, strict=True)
        ]

    def _learn(self, moments: Any, data: Rows | None) -> None:
        """Publish the directions of each group; `moments` are those of the groups."""
        n_features = self.n_features_in_
        self.groups_ = feature_groups(self.groups, n_features)
        self.classes_ = moments[0].classes
        self.mean_, self.means_ = np.zeros(n_features), np.zeros((len(self.classes_), n_features))
        components, criteria, kept, self.rank_ = [], [], [], 0
        for columns, group in zip(self.groups_, moments, strict=True):
            found = self._solve(group, None).oriented()
            W = found.W
            rows = np.zeros((W.shape[1], n_features))
            rows[:, columns] = W.T
            components.append(rows)
            criteria.append(found.criterion)
            kept.append(np.arange(len(found.criterion)) < len(rows))
            self.mean_[columns], self.means_[:, columns] = group.mean, group.means
            self.rank_ += found.rank
        super()._n_wanted(max(map(len, components)), "no group has more")
        self.components_ = np.vstack(components)
        self._warn_without_directions(len(self.components_))
        self.group_of_component_ = np.repeat(
            np.arange(len(components)), [len(c) for c in components]
        )
        self.explained_ratio_ = shares(np.concatenate(criteria))[np.concatenate(kept)]

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        """Fisher's directions of one group."""
        small, lift = moments.in_span()
        found = fisher_directions(
            small.Sw, small.between_rows(), n_samples=moments.n_samples, eps=moments.eps
        )
        return self._lifted(found, lift, moments)

    def _n_wanted(self, available: int, why: str) -> int:
        if isinstance(self.n_components, Integral):
            return min(available, int(self.n_components))
        return super()._n_wanted(available, why)

    @property
    def _component_levels(self) -> Array:
        """Which direction of its group each one is: with so many per group it is there."""
        groups = self.group_of_component_
        return np.arange(1, len(groups) + 1) - np.searchsorted(groups, groups)


def feature_groups(groups: int | Sequence[Sequence[int]], n_features: int) -> list[Array]:
    """Columns of each group, from a number of groups or from lists of columns."""
    if isinstance(groups, int | np.integer):
        if groups > n_features:
            raise ValueError(
                f"groups={groups} is more than there are features: n_features={n_features}"
            )
        return np.array_split(np.arange(n_features), int(groups))
    columns = [np.asarray(group) for group in groups]
    for i, group in enumerate(columns):
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu":
            raise ValueError(f"groups[{i}]={groups[i]!r} must be a list of column numbers")
        if group.min() < 0 or group.max() >= n_features or len(np.unique(group)) < len(group):
            raise ValueError(
                f"groups[{i}]={groups[i]!r} must hold different column numbers from 0 to "
                f"{n_features - 1}"
            )
    if not columns:
        raise ValueError("groups=[] must hold at least one group")
    return columns
