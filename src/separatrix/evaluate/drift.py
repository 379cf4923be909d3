"""Whether a stream has changed: its class means, or how often a model errs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import f as f_distribution
from scipy.stats import hypergeom

from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.novelty import PooledMetric

MIN_TESTED_ROWS = 30
"""Rows that must have been predicted before errors are compared with them."""

MAX_NAMED_FEATURES = 3
"""Features that a message names, at most."""


class Drift(NamedTuple):
    """A change of a stream.

    Attributes
    ----------
    seen : int
        Rows learned before the batch that shows it.
    kind : "means" or "error"
    pvalue : float
        The probability of so large a change where nothing changes; NaN by ADWIN.
    label : object
        The class whose mean has moved; None for errors.
    features : tuple of str
        Features that have moved most, in their standard deviations.
    words : str
        A sentence for people.
    """

    seen: int
    kind: str
    pvalue: float
    label: Any
    features: tuple[str, ...]
    words: str


class MeanShift(NamedTuple):
    """A class mean of a batch compared with that of a model.

    Attributes
    ----------
    label : object
    pvalue : float
        By Hotelling's test.
    shifts : array (n_features,)
        Differences of the means, in standard deviations within classes.
    """

    label: Any
    pvalue: float
    shifts: Array


def mean_shifts(moments: ClassMoments, X: Any, y: Array) -> list[MeanShift]:
    """Hotelling's test of the class means of new rows against those of moments.

    For Gaussian classes of one covariance, with n new rows of a class and N known ones,
    ``d² / (1/n + 1/N)`` is T² with the degrees of freedom of the pooled covariance, whitened means
    so have no preferred direction. Classes that are new, and moments of too few rows for their
    covariance, give nothing.
    """
    known = moments.without_empty_classes()
    labels = [label for label in np.unique(y).tolist() if label in set(known.classes.tolist())]
    if not labels or known.n_samples <= len(known.classes) or not known.trace_within() > 0:
        return []
    metric = PooledMetric.from_moments(known)
    if not metric.dof:
        return []
    rows = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    means = np.stack([rows[y == label].mean(axis=0) for label in labels])
    at = np.searchsorted(known.classes, labels)
    distances = metric.squared_distances(means)[np.arange(len(at)), at]
    n = np.array([np.count_nonzero(y == label) for label in labels])
    rank, dof = len(metric.precisions), metric.dof
    statistics = distances / (1 / n + 1 / known.counts[at])
    pvalues = f_distribution.sf(statistics * (dof - rank + 1) / (rank * dof), rank, dof - rank + 1)
    units = np.sqrt(known.within_diagonal().clip(0.0) / dof)
    shifts = (means - known.means[at]) / np.where(units > 0, units, np.inf)
    return [MeanShift(*each) for each in zip(labels, pvalues.tolist(), shifts, strict=True)]


class DriftDetector:
    """Watches a stream: class means in the whitened space, and errors.

    Parameters
    ----------
    level : float
        Largest share of batches with a false alarm, for each of the two tests, where nothing
        changes and classes are Gaussian.

    Attributes
    ----------
    found : list of Drift
        The changes so far.
    start : int
        Rows learned before the stream that is watched began.

    Notes
    -----
    Means are compared by `mean_shifts`, over all classes of a batch together (Bonferroni). Models
    without moments are watched by their errors alone. Errors of a batch are compared with all
    errors since the last change, by an exact test of two shares (hypergeometric). Where the
    package river is installed its ADWIN takes the place of this test, and looks at every row.
    With ``decay`` a model counts rows by their weights, and the level holds roughly.
    """

    def __init__(self, level: float = 0.001) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} is not valid: it must be a number in (0, 1)")
        self.level = level
        self.found: list[Drift] = []
        self.start = 0
        self._tested = self._wrong = 0
        self._adwin = _make_adwin(level)

    def watch(self, model: Any, X: Any, y: Array, right: Array, seen: int) -> list[Drift]:
        """Changes that a batch shows, before the model learns it.

        Parameters
        ----------
        model : fitted classifier
        X, y : arrays
            The batch.
        right : bool array
            Which rows the model predicted correctly.
        seen : int
            Rows learned before.
        """
        seen += self.start
        drifts = [*self._watch_means(model, X, y, seen), *self._watch_errors(right, seen)]
        self.found += drifts
        return drifts

    def _watch_means(self, model: Any, X: Any, y: Array, seen: int) -> list[Drift]:
        moments = getattr(model, "moments_", None)
        if not isinstance(moments, ClassMoments) or getattr(model, "_map", None) is not None:
            return []
        shifts = mean_shifts(moments, X, np.asarray(y))
        if not shifts:
            return []
        first = min(shifts, key=lambda shift: shift.pvalue)
        pvalue = min(1.0, len(shifts) * first.pvalue)
        if pvalue > self.level:
            return []
        order = np.argsort(-np.abs(first.shifts))[:MAX_NAMED_FEATURES]
        names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(len(first.shifts))])
        features = tuple(str(names[i]) for i in order)
        moved = ", ".join(f"{names[i]} by {first.shifts[i]:+.2g} sd" for i in order)
        words = f"after {seen} rows the mean of class {first.label!r} has moved: {moved}"
        return [Drift(seen, "means", pvalue, first.label, features, words)]

    def _watch_errors(self, right: Array, seen: int) -> list[Drift]:
        n, wrong = len(right), int(np.count_nonzero(~right))
        before = self._wrong / self._tested if self._tested else 0.0
        if self._adwin is not None:
            changed = [self._watch_row(bool(r)) for r in right]
            risen = wrong / n > before
            alarm, pvalue = any(changed) and risen, np.nan
        else:
            total = self._tested + n
            pvalue = float(hypergeom.sf(wrong - 1, total, self._wrong + wrong, n))
            alarm = self._tested >= MIN_TESTED_ROWS and pvalue <= self.level
        self._tested, self._wrong = self._tested + n, self._wrong + wrong
        if not alarm:
            return []
        self._tested = self._wrong = 0  # errors are compared with those of the new state
        words = f"after {seen} rows {100 * wrong / n:.0f} % are wrong, {100 * before:.0f} % before"
        return [Drift(seen, "error", pvalue, None, (), words)]

    def _watch_row(self, right: bool) -> bool:
        self._adwin.update(0.0 if right else 1.0)
        return bool(self._adwin.drift_detected)


def _make_adwin(level: float) -> Any:
    """The detector of the package river; None where it is not installed."""
    try:
        from river.drift import ADWIN
    except ImportError:
        return None
    return ADWIN(delta=level)
