"""How much each of several models changes the one that they are merged to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.base.merging import align
from separatrix.base.prepared import find_names, read_step
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.novelty import PooledMetric

MAX_SHIFT = 5.0
"""Distance of a class mean from that of all other sites, in standard deviations within classes,
above which a site is strange."""

MAX_SPREAD_RATIO = 10.0
"""Ratio of the variance within classes to that of all other sites above which a site is strange.
A smaller variance is no reason: that of the others is large where one of them is strange."""


MIN_ROWS_PER_FEATURE = 2
"""With fewer rows for each feature the inverse of a covariance is too uncertain to measure by."""


class SiteInfluence(NamedTuple):
    """What one site changes.

    Attributes
    ----------
    rows : float
        Its rows.
    share : float
        Their share in all rows.
    shift : float
        Largest distance of one of its class means from that of the same class at all other sites,
        in standard deviations within classes, less the distance that chance gives to means of so
        few rows; NaN where no other site has its classes.
    shifted_class : object
        The class that is so far.
    spread : float
        Its average variance within classes, in units of that of the other sites.
    angle : float
        Largest angle, in degrees, between the directions of the merged model and of the one
        without this site, in the metric of all rows: 0 where the site changes nothing.
    """

    rows: float
    share: float
    shift: float
    shifted_class: Any
    spread: float
    angle: float

    @property
    def strange(self) -> str:
        """Why this site is unlike the others, in a few words; empty where it is not."""
        if self.shift > MAX_SHIFT:
            return (
                f"its mean of class {self.shifted_class!r} is {self.shift:.3g} standard "
                "deviations from that of the others"
            )
        if self.spread > MAX_SPREAD_RATIO:
            return f"its variance within classes is {self.spread:.3g} times that of the others"
        return ""


def site_influences(models: Sequence[Any], merged: Any) -> list[SiteInfluence]:
    """The influence of each of several models on the one merged from them.

    Parameters
    ----------
    models : sequence of fitted estimators, or of pipelines
        As for `merge`, two or more.
    merged : fitted estimator or pipeline
        Their merged model.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets, merge
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> sites = [FisherDiscriminant().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> sites[2].fit(X[2::3] + 1000, y[2::3]).coef_.shape     # in other units
    (3, 13)
    >>> [bool(site.strange) for site in site_influences(sites, merge(sites))]
    [False, False, True]
    """
    parts = [moments for _, moments in align(models)]
    model = merged[-1] if isinstance(merged, Pipeline) else merged
    if isinstance(merged, Pipeline):
        columns = read_step(merged[:-1], find_names(merged[:-1]))
        shift, scale = -columns.shift / columns.scale, 1 / columns.scale
        parts = [moments.rescaled(shift, scale) for moments in parts]
    whole = model.moments_
    return [
        _influence(model, own, reduce(add, [*parts[:i], *parts[i + 1 :]]), whole)
        for i, own in enumerate(parts)
    ]


def _influence(
    model: Any, own: ClassMoments, rest: ClassMoments, whole: ClassMoments
) -> SiteInfluence:
    rows = own.n_samples
    shift, label, spread = _differences(own, rest)
    angle = _angle(model, rest, whole)
    return SiteInfluence(rows, rows / (rows + rest.n_samples), shift, label, spread, angle)


def _differences(own: ClassMoments, rest: ClassMoments) -> tuple[float, Any, float]:
    """The largest distance of class means, the class, and the ratio of variances."""
    rest = rest.without_empty_classes()
    own = own.without_empty_classes()
    known = np.isin(own.classes, rest.classes)
    free = rest.n_samples - len(rest.classes), own.n_samples - len(own.classes)
    if not known.any() or min(free) <= 0 or not rest.trace_within() > 0:
        return np.nan, None, np.nan
    shifts = _shifts(own, rest, known)
    farthest = int(shifts.argmax())
    units = np.where(rest.within_diagonal() > 0, rest.within_diagonal() / free[0], np.inf)
    ratios = (own.within_diagonal() / free[1] / units)[np.isfinite(units)]
    return float(shifts[farthest]), own.classes[known].tolist()[farthest], float(ratios.mean())


def _shifts(own: ClassMoments, rest: ClassMoments, known: Array) -> Array:
    """Distances of the class means that both have, in standard deviations within classes.

    The metric is that of the rows of both about their own means. For p features, ν degrees of
    freedom and class means of n and m rows the squared distance D² of two means of one Gaussian
    class is ``p (1/n + 1/m) ν / (ν - p - 1)`` on average, so that
    ``D² (ν - p - 1) / ν - p (1/n + 1/m)`` estimates the squared distance without bias. Where rows
    are too few for this it is the mean square over features, each in its own unit, less 1/n + 1/m.
    """
    n_rest, n_own = len(rest.classes), len(own.classes)
    labels = np.arange(n_rest + n_own)
    both = rest.join_classes(labels, labels[:n_rest]) + own.join_classes(labels, labels[n_rest:])
    at = np.searchsorted(rest.classes, own.classes[known])
    by_chance = 1 / own.counts[known] + 1 / rest.counts[at]
    dof, p = both.n_samples - len(labels), both.n_features
    if dof <= MIN_ROWS_PER_FEATURE * p:
        variances = both.within_diagonal() / dof
        varying = variances > 0
        gaps = (own.means[known] - rest.means[at])[:, varying]
        squares = (gaps**2 / variances[varying]).mean(axis=1)
        return np.sqrt(np.maximum(squares - by_chance, 0.0))
    # Hotelling: expectations of D² under equal means are taken off, see above
    metric = PooledMetric.from_moments(both)
    distances = metric.squared_distances(own.means[known])[np.arange(len(at)), at]
    rank = len(metric.precisions)
    return np.sqrt(np.maximum(distances * (dof - rank - 1) / dof - rank * by_chance, 0.0))


def _angle(model: Any, rest: ClassMoments, whole: ClassMoments) -> float:
    if np.count_nonzero(rest.counts) < 2:
        return np.nan
    W = model._find(whole, None, {}).W
    V = model._find(rest.without_empty_classes(), None, {}).W
    k = min(W.shape[1], V.shape[1])
    if k == 0:
        return np.nan
    cosines = np.linalg.svd(_unit(W, whole).T @ whole.total_apply(_unit(V, whole)))[1]
    return float(np.degrees(np.arccos(min(1.0, cosines[:k].min()))))


def _unit(W: Array, moments: ClassMoments) -> Array:
    """The same span, with unit scatter of all rows along each direction and none between two."""
    evals, U = np.linalg.eigh(W.T @ moments.total_apply(W))
    kept = evals > evals[-1] * 1e-12
    return W @ (U[:, kept] / np.sqrt(evals[kept]))
