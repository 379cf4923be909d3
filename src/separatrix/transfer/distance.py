"""Distance between the class means of two domains, and the weight of a row of the target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.linalg import Array
from separatrix.moments.labelled import class_indicator, varying_features


class DomainDistance(NamedTuple):
    """How unlike two domains are, beyond what few rows differ by chance.

    Attributes
    ----------
    relative : float
        Variance of a class mean between domains, over the variance of a row within its class,
        average over classes and features: zero where the domains agree.
    rows_per_class : float
        Average number of rows of a class in the source.
    """

    relative: float
    rows_per_class: float

    @property
    def weight(self) -> float:
        """Weight of a row of the target, if a row of the source counts for one.

        A class mean of n source rows is off by ``σ² (1/n + relative)``, that of m target rows by
        ``σ²/m``. Their best average gives a target row the weight ``1 + n relative``, and at most
        the weight that all source rows of its class have together where domains are σ apart.
        """
        return 1 + self.rows_per_class * min(self.relative, 1.0)


class _Domain(NamedTuple):
    """Counts, means and sums of squares within classes, of one domain."""

    counts: Array
    means: Array
    within: Array

    @classmethod
    def of(cls, X: Any, codes: Array, n_classes: int) -> _Domain:
        counts = np.bincount(codes, minlength=n_classes).astype(float)
        sums = class_indicator(codes, None, n_classes, np.dtype(np.float64)) @ X
        sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
        means = sums / np.maximum(counts, 1.0)[:, None]
        squares = X.multiply(X) if sp.issparse(X) else X**2
        within = np.asarray(squares.sum(axis=0)).ravel() - counts @ means**2
        return cls(counts, means, np.maximum(within, 0.0))

    def variances(self) -> Array:
        """Variance within classes of each feature; NaN where no class has two rows."""
        free = self.counts.sum() - np.count_nonzero(self.counts)
        return self.within / free if free > 0 else np.full(len(self.within), np.nan)


def measure_domains(X: Any, codes: Array, source: Array) -> DomainDistance:
    """The distance of the target from the source, by the class means of labelled rows.

    ``E ‖m_s - m_t‖² = Σ_j (τ_j² + σ_sj²/n + σ_tj²/m)``: what chance adds is taken off. All
    features vote, in units of their deviation in the source, so that few rows are enough.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Labelled rows of both domains.
    codes : array of int (n_samples,)
        Their classes.
    source : array of bool (n_samples,)
        Which rows are of the source.

    Examples
    --------
    >>> X = np.array([[-1.0], [1], [9], [11], [4], [6], [14], [16]])
    >>> codes, source = np.array([0, 0, 1, 1] * 2), np.arange(8) < 4
    >>> measure_domains(X, codes, source).relative
    11.5
    """
    n_classes = int(codes.max()) + 1
    rows = X if sp.issparse(X) else X - X[source].mean(axis=0)
    one, other = (_Domain.of(rows[part], codes[part], n_classes) for part in (source, ~source))
    n_source = int(np.count_nonzero(source))
    overall = one.counts @ one.means / n_source
    spread = one.within + one.counts @ (one.means - overall) ** 2
    units = np.where(
        varying_features(X[source]), n_source / np.where(spread > 0, spread, 1.0), 0.0
    )
    v_one, v_other = one.variances(), other.variances()
    v_one = np.where(np.isnan(v_one), v_other, v_one)
    v_other = np.where(np.isnan(v_other), v_one, v_other)
    size = float(units @ np.nan_to_num(v_one))
    both = (one.counts > 0) & (other.counts > 0)
    per_class = n_source / max(int(np.count_nonzero(one.counts)), 1)
    if not both.any() or size == 0:
        return DomainDistance(0.0, per_class)
    apart = (one.means[both] - other.means[both]) ** 2
    chance = v_one / one.counts[both][:, None] + v_other / other.counts[both][:, None]
    shift = float(((apart - chance) @ units).mean())
    return DomainDistance(max(shift / size, 0.0), per_class)
