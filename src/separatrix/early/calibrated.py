"""Decisions whose promise is kept by rows that were not learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.base.parameters import Allowed, check_parameters
from separatrix.base.rows import number_groups
from separatrix.early.arrival import group_patterns
from separatrix.early.calibration import (
    Cutoffs,
    Promise,
    ScorePaths,
    find_cutoffs,
    find_gap_cutoff,
    warn_waiting,
)
from separatrix.early.costs import check_cost, find_cost_cutoffs
from separatrix.early.stream import follow_paths
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite


class CalibratedDecisions:
    """The part of `EarlyClassifier` that finds cutoffs and keeps what they were found from."""

    reliability: float
    guarantee: str
    confidence: float
    condition: str | None
    loss: Any
    cost: Any
    classes_: Array
    n_features_in_: int
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]]
    _score: Any
    _check_rows: Any
    _classify: Any

    _calibration: ScorePaths | None = None
    _gap_calibration: ScorePaths | None = None
    _grows: bool = False

    def calibrate(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        observed: ArrayLike | None = None,
    ) -> Self:
        """Find the cutoff that keeps the promise, on complete rows that were not learned.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Complete rows, exchangeable with those that will be decided on. They take the place of
            earlier calibration rows.
        y : array (n_samples,), optional
            Their labels; needed for every loss but "disagreement".
        groups : array (n_samples,), optional
            The subject, site or recording of each row. The promise is then about the average row
            of a new group, and groups are counted in place of rows.
        observed : array of bool (n_samples, n_features), optional
            Calibrate `decide` for rows with gaps like these: what is False is hidden. The promise
            is about the rows that are decided. Series keep their own calibration.

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_is_fitted(self)
        self._check_promise()
        if observed is not None:
            self._gap_calibration = self._score_gaps(X, y, observed, groups)
            self.gap_cutoff_ = self._find_gap_cutoff(self.reliability)
            return self
        paths = self._score_rows(X, y)
        if groups is not None:
            paths = paths._replace(groups=number_groups(groups, len(paths.labels)))
        self._grows = False
        self._set_calibration(paths)
        return self

    def partial_calibrate(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Add rows that became complete to the calibration rows, as often as they come.

        Which rows are added must not depend on how they were decided. The promise then holds for
        all numbers of rows together, at the price of more rows: 43 in place of 29 for τ = 0.9.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Complete rows.
        y : array (n_samples,), optional
            Their labels, as in `calibrate`.

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_is_fitted(self)
        self._check_promise()
        self._add_paths(self._score_rows(X, y))
        return self

    def _add_paths(self, paths: ScorePaths) -> None:
        """Let the calibration grow."""
        if self.condition == "time" and self.cost is None:
            raise ValueError(
                'condition="time" is tested on one half of the rows with cutoffs of the other, '
                "which rows that are added would change: use calibrate with all rows"
            )
        known = self._calibration
        if known is not None and known.groups is not None:
            raise ValueError("calibration rows have groups, and rows without any cannot be added")
        self._grows = True
        self._set_calibration(paths if known is None else known.append(paths))

    # Scores of calibration rows ------------------------------------------------------------------

    def _score_rows(self, X: ArrayLike, y: ArrayLike | None) -> ScorePaths:
        """The scores of the caller's rows at all times."""
        rows = self._check_rows(X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        complete = self._classify(rows)
        codes, reliabilities = follow_paths(self._score, rows)
        return ScorePaths(codes, reliabilities, complete, self._check_labels(y, complete))

    def _score_gaps(
        self, X: ArrayLike, y: ArrayLike | None, observed: ArrayLike, groups: Any
    ) -> ScorePaths:
        """The scores of the caller's rows with gaps."""
        if self.guarantee != "probability" or self.condition is not None or groups is not None:
            raise ValueError(
                'rows with gaps are calibrated for guarantee="probability" without a condition '
                f"and without groups, but guarantee={self.guarantee!r}, "
                f"condition={self.condition!r}"
            )
        rows = self._check_rows(X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        seen = np.asarray(observed, dtype=bool)
        if seen.shape != rows.shape:
            raise ValueError(f"observed has the shape {seen.shape}, but X {rows.shape}")
        complete = self._classify(rows)
        codes, reliabilities = self._judge(np.where(seen, rows, np.nan), seen)
        labels = self._check_labels(y, complete)
        return ScorePaths(codes[:, None], reliabilities[:, None], complete, labels)

    def _judge(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows with gaps, pattern by pattern."""
        codes, reliabilities = np.zeros(len(rows), dtype=int), np.ones(len(rows))
        for at, pattern in group_patterns(observed):
            if pattern.all():
                codes[at] = self._classify(rows[at])
            else:
                codes[at], reliabilities[at] = self._score.judge_pattern(rows[at], pattern)
        return codes, reliabilities

    def _check_labels(self, y: ArrayLike | None, complete: Array) -> Array:
        """Numbers of the true classes; the complete decisions where they are not needed."""
        if y is None:
            matrix = self.cost is not None and np.ndim(self.cost[1]) > 0
            if matrix or not (isinstance(self.loss, str) and self.loss == "disagreement"):
                raise ValueError("y is missing: only the loss 'disagreement' needs no labels")
            return complete
        labels = column_or_1d(np.asarray(y))
        if len(labels) != len(complete):
            raise ValueError(f"X has {len(complete)} rows, but y has {len(labels)} labels")
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which was not learned: the classes are "
                f"{self.classes_.tolist()[:10]}"
            )
        return np.searchsorted(self.classes_, labels)

    # Cutoffs -------------------------------------------------------------------------------------

    def _check_promise(self) -> None:
        """Check parameters, and that they go together."""
        check_parameters(self, self._allowed_parameters)
        if self.condition == "time" and self.guarantee == "average":
            raise ValueError(
                'condition="time" is promised with guarantee="probability", not with "average"'
            )
        if self.cost is not None:
            check_cost(self.cost)

    def _set_calibration(self, paths: ScorePaths | None) -> None:
        self._calibration = paths
        self.calibrated_, self.calibration_records_ = paths is not None, []
        self.n_calibration_rows_ = 0 if paths is None else len(paths.labels)
        cutoffs = self._find_cutoffs(self.reliability)
        self.calibration_records_ = cutoffs.records
        varies = self.calibrated_ and (self.condition == "time" or self.cost is not None)
        self.cutoff_ = cutoffs.values if varies else float(cutoffs.values.max(initial=0.0))

    def _promise(self, tau: float) -> Promise:
        parts = (tau, self.guarantee, self.confidence, self.condition, self.loss)
        grouped = self._calibration is not None and self._calibration.groups is not None
        return Promise(*parts, self._grows, len(self.classes_), grouped)

    def _find_cutoffs(self, tau: float) -> Cutoffs:
        """What the score must reach at each of its times."""
        times, paths, d = self._score.times, self._calibration, self.n_features_in_
        if paths is None:
            if self.cost is not None:
                raise ValueError(
                    f"cost={self.cost!r} needs calibration rows, which show what waiting saves: "
                    "give calibration=0.3"
                )
            return Cutoffs(np.full(len(times), tau), [], True)
        if self.cost is not None:
            cost = check_cost(self.cost, len(self.classes_))
            return find_cost_cutoffs(paths, times, d, cost, self.loss)
        promise = self._promise(tau)
        if paths.groups is not None and self.condition == "time":
            raise ValueError('condition="time" has no form for groups: use condition=None')
        found = find_cutoffs(paths, times, d, promise)
        if not found.passed and tau < 1:
            warn_waiting(paths, promise, self.classes_.tolist().__getitem__)
        if self.condition != "class":
            return found
        names = [r._replace(group=str(self.classes_[int(r.group)])) for r in found.records]
        return found._replace(records=names)

    def _find_gap_cutoff(self, tau: float) -> float:
        """What the score of rows with gaps must reach."""
        if self._gap_calibration is None:
            return float(self._find_cutoffs(tau).values.max(initial=0.0))
        promise = Promise(tau, self.guarantee, self.confidence, None, self.loss)
        found = find_gap_cutoff(self._gap_calibration, promise)
        if not found.passed and tau < 1:
            warn_waiting(self._gap_calibration, promise, self.classes_.tolist().__getitem__)
        return float(found.values[0])


def hold_out_groups(groups: Array, share: float) -> Array:
    """Which rows are held out: all of a share of the groups, at least one of them.

    Examples
    --------
    >>> held = hold_out_groups(np.array([0, 0, 1, 1, 2, 2]), 0.3)
    >>> int(held.sum())
    2
    """
    names = np.unique(groups)
    if len(names) < 2:
        raise ValueError(f"groups has {len(names)} group: at least two are needed to hold one out")
    n_held = min(max(1, round(share * len(names))), len(names) - 1)
    return np.isin(groups, np.random.default_rng(0).permutation(names)[:n_held])
