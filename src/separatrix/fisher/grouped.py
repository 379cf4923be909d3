"""Fisher's discriminant on groups of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from separatrix.base.parameters import N_COMPONENTS, Allowed, array_like, one_of, whole_number
from separatrix.base.rows import centred_product
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.linear import RULES, decide_by_means
from separatrix.decision.quadratic import decide_quadratically
from separatrix.fisher.directions import fisher_directions
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import reduce_to_span


class GroupedDiscriminant(SubspaceClassifier):
    """Fisher's directions of groups of features, side by side.

    Each group of features gets its own Fisher discriminant of up to ``n_classes - 1`` directions,
    so that the whole has more than ``n_classes - 1`` (MDA on groups of features). It suits ordered
    features, such as bands of a spectrum.

    Parameters
    ----------
    groups : int, list of index lists, "channels" or "times"
        A number of equal contiguous groups, or the columns of each group. "channels" and "times"
        make a group of each channel, or of all channels at each time, where rows are arrays
        (n_samples, n_channels, n_times) or columns are named ``channel@time``.
    n_components : int, "auto" or None
        Directions per group, all of a group that has fewer; None keeps all, "auto" as many as
        cross-validation favours.
    rule : "linear", "quadratic", "nearest-mean" or "cosine"
        Rule that decides in the space of all directions, as in `FisherDiscriminant`.

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
    priors_, coef_, intercept_
        As in `FisherDiscriminant`.
    rank_ : int
        Sum of the ranks of the groups' within-class scatter.

    Notes
    -----
    Within a group ``components_ @ Sw @ components_.T`` is the identity. Directions of different
    groups are correlated in general, and the rule takes account of it: it is estimated from the
    rows in the coordinates of all directions, a second pass over the rows.

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
        "groups": (whole_number(1), one_of("channels", "times"), array_like()),
        "n_components": N_COMPONENTS,
        "rule": (one_of(*RULES),),
    }
    group_of_component_: Array
    groups_: Any

    def __init__(
        self,
        groups: int | str | Sequence[Sequence[int]] = 2,
        *,
        n_components: int | str | None = None,
        rule: str = "linear",
    ) -> None:
        self.groups = groups
        self.n_components = n_components
        self.rule = rule

    def _summarize(self, rows: LabelledRows) -> list[ClassMoments]:
        groups = self._find_groups(rows.X.shape[1])
        return [ClassMoments.from_rows(rows.select_columns(columns)) for columns in groups]

    def _select(self, rows: LabelledRows) -> dict[str, Any]:
        if isinstance(self.groups, str):  # folds have neither channels nor names
            groups = [group.tolist() for group in self._find_groups(rows.X.shape[1])]
            return clone(self).set_params(groups=groups)._select(rows)
        return super()._select(rows)

    def _find_groups(self, n_features: int) -> list[Array]:
        """Columns of each group."""
        if isinstance(self.groups, str):
            shape = getattr(self, "epoch_shape_", None)
            names = getattr(self, "feature_names_in_", None)
            return epoch_groups(self.groups, shape, names)
        return feature_groups(self.groups, n_features)

    def _add_summaries(self, parts: Sequence[Any]) -> list[ClassMoments]:
        add_up = super()._add_summaries
        return [add_up(group) for group in zip(*parts, strict=True)]

    def _solve(
        self, moments: Sequence[ClassMoments], rows: Any, selected: Mapping[str, Any]
    ) -> Solution:
        """Fisher's directions of each group, side by side."""
        n_features = self.n_features_in_
        groups = self._find_groups(n_features)
        solutions = [self._solve_group(group, selected) for group in moments]
        sizes = [group.W.shape[1] for group in solutions]
        if isinstance(self.n_components, Integral):
            self._n_wanted(max(sizes), "no group has more", selected)
        W = np.zeros((n_features, sum(sizes)))
        for columns, group, end in zip(groups, solutions, np.cumsum(sizes), strict=True):
            W[columns, end - group.W.shape[1] : end] = group.W
        # the criterion of directions that are kept stands first, as `store` expects
        kept = np.concatenate([np.arange(len(g.criterion)) < g.W.shape[1] for g in solutions])
        criterion = np.concatenate([group.criterion for group in solutions])
        criterion = np.concatenate([criterion[kept], criterion[~kept]])
        rank = sum(group.rank for group in solutions)
        of_component = np.repeat(np.arange(len(solutions)), sizes)
        extras = {
            "groups_": groups,
            "group_of_component_": of_component,
            **join_means(groups, moments, n_features),
        }
        return Solution(W, criterion, rank, extras=extras)

    def _solve_group(self, moments: ClassMoments, selected: Mapping[str, Any]) -> Solution:
        """Fisher's directions of one group, not more than are wanted."""
        small, lift = reduce_to_span(moments)
        directions = fisher_directions(
            small.Sw, small.between_rows(), n_samples=moments.n_samples, eps=moments.eps
        )
        k = directions.W.shape[1]
        if isinstance(self.n_components, Integral):
            k = min(k, int(self.n_components))
        elif self.n_components == "auto":
            k = min(k, selected["n_components"].n_components)
        return directions._replace(W=lift(directions.W[:, :k]))

    def _add_decision(self, solution: Solution, moments: Any, rows: Any) -> Solution:
        """The rule from the moments of rows in the subspace, cross terms of groups included."""
        k = solution.W.shape[1]
        quadratic = self.rule == "quadratic" and k > 0
        if k > 0:
            project = partial(_moments_along, solution.extras["mean_"], solution.W, quadratic)
            along = rows.total(project, moments[0].classes)
        else:
            along = moments[0].project(np.zeros((moments[0].n_features, 0)))
        inside = solution._replace(W=np.eye(k), within=along.Sw)
        decided = super()._add_decision(inside, along, rows)
        if quadratic:
            decided = decide_quadratically(decided, along)
        elif self.rule != "linear" and k > 0:
            decided = decide_by_means(decided, along, self.rule)
        return decided._replace(W=solution.W)

    def _store(  # type: ignore[override]
        self, moments: Sequence[ClassMoments], solution: Solution, rows: Any = None
    ) -> None:
        super()._store(moments[0], solution, rows)

    @property
    def _component_levels(self) -> Array:
        """The number of each direction within its group: with as many per group it is there."""
        groups = self.group_of_component_
        return np.arange(1, len(groups) + 1) - np.searchsorted(groups, groups)


def _moments_along(mean: Array, W: Array, per_class: bool, rows: LabelledRows) -> ClassMoments:
    """Moments of rows in the coordinates W."""
    Z = np.asarray(centred_product(rows.X, mean, W), dtype=np.float64)
    return ClassMoments.from_rows(rows._replace(X=Z), per_class=per_class)


def join_means(
    groups: Sequence[Array], moments: Sequence[ClassMoments], n_features: int
) -> dict[str, Array]:
    """The mean of all rows and of each class, from those of the groups; zero in no group."""
    mean, means = np.zeros(n_features), np.zeros((len(moments[0].classes), n_features))
    for columns, group in zip(groups, moments, strict=True):
        mean[columns], means[:, columns] = group.mean, group.means
    return {"mean_": mean, "means_": means}


def epoch_groups(
    by: str, shape: tuple[int, int] | None, names: Sequence[str] | None
) -> list[Array]:
    """Columns of each channel, or of each time, in the order in which they first come.

    Parameters
    ----------
    by : "channels" or "times"
    shape : (int, int) or None
        Channels and times, where rows were such arrays.
    names : sequence of str or None
        Names of columns, ``channel@time``, where there is no shape.
    """
    if shape is not None:
        columns = np.arange(shape[0] * shape[1]).reshape(shape)
        return list(columns if by == "channels" else columns.T)
    split = [str(name).rpartition("@") for name in ([] if names is None else names)]
    if not split or not all(channel and mark for channel, mark, _ in split):
        raise ValueError(
            f'groups="{by}" needs X of shape (n_samples, n_channels, n_times), or columns that '
            "are named channel@time"
        )
    keys = np.array([part[0 if by == "channels" else 2] for part in split])
    order = dict.fromkeys(keys.tolist())
    return [np.flatnonzero(keys == key) for key in order]


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
