"""How well the directions of a discriminant are known: their angles, and intervals of loadings.

A direction is, up to its length, the least-squares fit of the class scores along it by the
features; so its loadings have the standard errors of a regression. With several classes the
directions of Fisher's criterion also turn among each other, the more the closer their criteria.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as t_distribution

from separatrix.base.prepared import fit_moments
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.insight.read import read_moments
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


class DirectionIntervals(NamedTuple):
    """How far directions may be from those of the population.

    Attributes
    ----------
    angle : array (n_components,)
        Expected angle in degrees, between the scores that new rows of a class get by the
        direction and by that of the population: its cosine is their correlation.
    low, high : array (n_components, n_features)
        Intervals of the loadings, in the length that `FisherDiscriminant` gives to a direction.
    """

    angle: Array
    low: Array
    high: Array


def direction_intervals(source: Any, *, confidence: float = 0.95) -> DirectionIntervals:
    """Intervals of the loadings of Fisher's directions without a ridge, from moments alone.

    Parameters
    ----------
    source : ClassMoments, fitted model of moments, or a pipeline that ends in one
        The directions are those of ``FisherDiscriminant(shrinkage=None)`` on its moments, in the
        units of the table.
    confidence : float in (0, 1)
        Of each interval by itself.

    Notes
    -----
    An interval holds the loading that the population has, in the length in which the direction is
    unbiased: lengths of directions are a convention. ``python -m benchmarks.insight directions``
    simulates the coverage. There must be more rows than features: otherwise the rows agree with
    any loading of a single feature, and this is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassMoments
    >>> from separatrix.insight import direction_intervals
    >>> rng = np.random.default_rng(2)
    >>> y = np.arange(300) % 2
    >>> X = rng.standard_normal((300, 3)) + np.outer(y, [2.0, 0.0, 0.0])
    >>> found = direction_intervals(ClassMoments.from_data(X, y))
    >>> (found.low > 0) | (found.high < 0)
    array([[ True, False, False]])
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1, such as 0.95")
    moments = read_moments(source).moments
    varies = np.flatnonzero(moments.within_diagonal() > 0)
    if not len(varies):
        raise ValueError("no feature varies within classes: there is no direction to judge")
    part = moments.select_columns(varies)
    n, p = part.n_samples, len(varies)
    n_free = n - p - len(part.counts)
    if n_free < 2:
        raise ValueError(
            f"{n:g} rows of {p} features agree with any loading of a single one: intervals need "
            f"{p + len(part.counts) + 2} rows or more"
        )
    model = fit_moments(FisherDiscriminant(shrinkage=None), part)
    errors, angle = _standard_errors(part, model.components_, n_free)
    width = np.zeros((len(errors), moments.n_features))
    centre = np.zeros_like(width)
    width[:, varies] = t_distribution.ppf((1 + confidence) / 2, n_free) * errors
    centre[:, varies] = model.components_
    return DirectionIntervals(angle, centre - width, centre + width)


def _standard_errors(moments: ClassMoments, W: Array, n_free: float) -> tuple[Array, Array]:
    """Standard errors of loadings, and the angles of the directions.

    With μ_k the criterion of direction k, a regression has the variance
    ``(1 + 1 / μ_k) diag(St⁻¹) / (n - p - C)``. Along another direction l it is not that: there
    ``(μ_k + μ_l + μ_k²) / (n (μ_k - μ_l)²)`` takes its place, in units of the deviations within
    classes, with the criteria of the population.
    """
    n, p = moments.n_samples, moments.n_features
    inverse = np.diagonal(np.linalg.inv(moments.Sw))
    scores = (moments.means - moments.mean) @ W.T
    seen = moments.counts @ scores**2
    # what the criterion gained by the means and the scatter being those of these rows
    criterion = np.maximum(seen * n_free / n - p / n, 1 / n)
    rest, angle = (1 + 1 / seen) / n_free, (1 + 1 / criterion) * (p - len(W)) / n_free
    variances = np.outer(rest, inverse)
    for k, own in enumerate(criterion):
        variances[k] -= rest[k] * seen[k] / (1 + seen[k]) * W[k] ** 2
        for j in np.delete(np.arange(len(W)), k):
            gap = max((own - criterion[j]) ** 2, 1e-12)
            turn = min((own + criterion[j] + own**2) / (n_free * gap), 1.0)
            variances[k] += (turn - rest[k]) * W[j] ** 2
            angle[k] += turn
    return np.sqrt(variances.clip(0.0)), np.degrees(np.arctan(np.sqrt(angle)))
