"""How often a model of class moments will be wrong on new rows, now and with more rows.

With S the covariance within classes of ν degrees of freedom, T that of the population, and D the
class means less their mean, of which Δ are those of the population, the inverses of ``S + λ`` and
of ``T + κ`` have the same effect on average for ``κ = λ / (1 - q)``, ``q = tr(S (S + λ)⁻¹) / ν``.
So what matters in the population follows from what is seen, at each κ:

- ``tr(T (T + κ)⁻¹) = ν q``,
- ``A(κ) = Δ (T + κ)⁻¹ Δ' = (1 - q) D (S + λ)⁻¹ D' - ν q K``, K the covariance of class means in
  units of T, as far as their noise goes,
- ``B(κ) = Δ T (T + κ)⁻² Δ' = A + κ A'``, and ``tr(T² (T + κ)⁻²)`` in the same way.

A ridge rule that is learned from any number of rows of ν' degrees of freedom gives new rows scores
with the means A and the covariance ``(B + K' tr(T² (T + κ)⁻²)) / (1 - γ)``, with
``γ = tr(T² (T + κ)⁻²) / ν'``. The error is that of the best of the ridges.

Moments say all this for normal scores. Those of a model differ from it by one factor of all
distances between classes, which is about one: a model that has left its rows out knows more of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import log_softmax, xlog1py, xlogy
from scipy.stats import norm, qmc

from separatrix.decision.expected import ridges_to_try
from separatrix.insight.read import Judged, read_moments
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.spectra import (
    drop_constant_features,
    in_units_of_deviations,
    reduce_to_span,
)

MISFIT = 0.13
"""Relative error of the distances between classes because scores are not normal, as a standard
deviation: that of the sets of ``python -m benchmarks.insight error``."""

MISFIT_OF_SEVERAL = 0.3
"""The same with more than two classes, whose pairs differ (``several``)."""

LEAST_ERROR = 0.03
"""Below it the tails of the scores decide, which moments do not show (the same sets)."""

LEAST_ROWS = 30
"""Rows of each class below which the interval is too narrow (the same command)."""

N_POINTS = 512
"""Points that stand for the new rows of each class."""

MOST_USED = 0.9
"""Share q of the degrees of freedom beyond which a ridge is not judged: the smallest eigenvalues
decide there, and one near zero makes any distance. With 99 features and ν = 99 an error of .002
was said where 90 and 100 features have .025."""

N_FACTORS = 12
"""Factors of the distances at which errors are computed; between them a curve goes through."""

MOST_ROWS = 10**12
"""Rows that count as infinitely many."""


class Functionals(NamedTuple):
    """What moments say of the population, for a series of ridges.

    Attributes
    ----------
    gains, spreads : array (n_ridges, n_classes, n_classes)
        A and B.
    traces : array (n_ridges,)
        ``tr(T² (T + κ)⁻²)``.
    first_traces : array (n_ridges,)
        ``tr(T (T + κ)⁻¹)``.
    noise : array (n_classes, n_classes)
        K.
    """

    gains: Array
    spreads: Array
    traces: Array
    first_traces: Array
    noise: Array

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> Functionals:
        """Those of features in units of their deviation within classes."""
        small, _ = drop_constant_features(moments)
        if not small.n_features:
            raise ValueError("rows are the same in all features: no rule is to be forecast")
        small, _ = in_units_of_deviations(small)
        n_features = max(small.n_features, 1)  # features that never vary leave none
        small, _ = reduce_to_span(small)
        counts, C = moments.counts, len(moments.counts)
        shares, free = counts / counts.sum(), counts.sum() - C
        evals, V = np.linalg.eigh(small.Sw / free)
        evals = evals.clip(0.0)
        D = (small.means - shares @ small.means) @ V
        centring = np.eye(C) - shares
        K = centring @ np.diag(1 / counts) @ centring.T
        ratios = ridges_to_try() / (1 - ridges_to_try())
        parts = [
            _at_ridge(evals, D, K, free, ratio * evals.sum() / n_features) for ratio in ratios
        ]
        gains, spreads, traces, firsts = (np.array(part) for part in zip(*parts, strict=True))
        return cls(gains, spreads, traces, firsts, K)


def _at_ridge(evals: Array, D: Array, K: Array, free: float, ridge: float) -> tuple[Any, ...]:
    """A, B and both traces for ``S + λ``; a dash is a derivative by λ."""
    inverse = 1 / (evals + ridge)
    q, dq = evals @ inverse / free, -(evals @ inverse**2) / free
    F, dF = (D * inverse) @ D.T, -(D * inverse**2) @ D.T
    kappa, dkappa = ridge / (1 - q), (1 - q + ridge * dq) / (1 - q) ** 2
    A = (1 - q) * F - free * q * K
    dA = ((1 - q) * dF - dq * F - free * dq * K) / dkappa
    return A, A + kappa * dA, free * (q + kappa * dq / dkappa), free * q


class ExpectedError(NamedTuple):
    """How often new rows will be taken for another class.

    Attributes
    ----------
    error : float
    low, high : float
        An interval of the confidence asked for.
    log_loss : float
    known : bool
        Whether the conditions hold under which simulations and held-out rows confirm the interval.
    why : str
        Where `known` is false, the reason.
    """

    error: float
    low: float
    high: float
    log_loss: float
    known: bool
    why: str


class _Forecast(NamedTuple):
    """The best rule from a number of rows.

    Attributes
    ----------
    centres : array (n_classes, n_axes)
        Mean scores of the classes, in units of their deviation.
    relative : float
        Standard error of all distances between these, relative to them.
    likely : float
        The likely factor of the distances: one, or zero where chance makes them.
    """

    centres: Array
    relative: float
    likely: float = 1.0

    @classmethod
    def at(cls, functionals: Functionals, counts: Array, factor: float) -> _Forecast:
        """The rule of least log-loss from `factor` times the rows."""
        shares, n_free = counts / counts.sum(), factor * counts.sum() - len(counts)
        n_now = counts.sum() - len(counts)
        best, least = None, math.inf
        for A, B, trace, first in zip(*functionals[:4], strict=True):
            gamma = trace / n_free
            if first > MOST_USED * min(n_free, n_now) or gamma >= 1:
                continue
            noise = functionals.noise / factor * trace
            V = (_positive(B) + noise) / (1 - gamma)
            gain = float(shares @ np.diagonal(A))
            error = _error_of_gain(B, V, shares, functionals.noise, trace, gamma)
            error = float(np.hypot(error, gain / np.sqrt(2 * n_now)))
            forecast = cls(_place(A, V), error / gain) if error < gain else None
            if forecast is None:  # the means are no farther apart than chance puts them
                K = functionals.noise
                forecast = cls(_place(error / (shares @ np.diagonal(K)) * K, V), 1.0, 0.0)
            # the best of many ridges is the luckiest one: each is judged with its error
            cautious = max(forecast.likely - forecast.relative, 0.0)
            loss = _judge(forecast.centres * cautious, shares)[1]
            if loss < least:
                best, least = forecast, loss
        if best is None:
            raise ValueError(
                f"{factor * counts.sum():g} rows of {len(counts)} classes are too few to forecast"
            )
        return best


def _error_of_gain(
    B: Array, V: Array, shares: Array, K: Array, trace: float, gamma: float
) -> float:
    """Standard error of ``tr A``, classes weighted by their shares, as far as means make it."""
    share = np.diag(shares)
    spread = 4 * np.trace(share @ B @ share @ K).clip(0.0)
    spread += 2 * trace**2 * np.trace(share @ K @ share @ K)
    part = 1 - 0.5 * np.trace(_positive(B)) / (1 - gamma) / np.trace(V)
    return float(part * np.sqrt(spread))


def _place(A: Array, V: Array) -> Array:
    """Mean scores A in the axes of their covariance V, in units of the deviation there."""
    evals, U = np.linalg.eigh(V)
    used = evals > 1e-9 * evals[-1]
    return _positive(A) @ U[:, used] / np.sqrt(evals[used])


class _Misfit(NamedTuple):
    """The factor between the distances of scores and those of normal ones, and its deviation."""

    factor: float
    deviation: float

    @classmethod
    def learn(cls, forecast: _Forecast, shares: Array, judged: Judged | None) -> _Misfit:
        """What is usual, corrected by Bayes' rule where rows were left out.

        Luck with the rows that were drawn is in moments and in the errors of these rows alike, so
        that the noise of the moments is not reduced.
        """
        usual = MISFIT if len(shares) == 2 else MISFIT_OF_SEVERAL
        if judged is None or not forecast.likely:
            return cls(1.0, usual)
        nodes = np.linspace(max(1 - 4 * usual, 0.0), 1 + 4 * usual, N_FACTORS)
        errors = [_judge(forecast.centres * factor, shares)[0] for factor in nodes]
        factors = np.linspace(nodes[0], nodes[-1], 50 * N_FACTORS)
        error = PchipInterpolator(nodes, errors)(factors).clip(1e-12)
        logs = judged.n_rows * (xlogy(judged.error, error) + xlog1py(1 - judged.error, -error))
        logs -= 0.5 * ((factors - 1) / usual) ** 2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = float(weights @ factors)
        return cls(mean, float(np.sqrt(weights @ (factors - mean) ** 2)))


class _Forecasts(NamedTuple):
    """The rules of any number of rows, and corrections of normal scores."""

    found: Functionals
    counts: Array
    misfit: _Misfit

    @classmethod
    def from_moments(cls, moments: ClassMoments, judged: Judged | None) -> _Forecasts:
        """Those of moments, and of the errors of their rows where they were left out."""
        functionals, counts = Functionals.from_moments(moments), moments.counts
        now = _Forecast.at(functionals, counts, 1.0)
        return cls(functionals, counts, _Misfit.learn(now, counts / counts.sum(), judged))

    def judge(self, n: float, width: float = 0.0) -> list[tuple[float, float]]:
        """Error and log-loss of the rule of `n` rows, and where distances differ by `width`."""
        shares = self.counts / self.counts.sum()
        forecast = _Forecast.at(self.found, self.counts, n / self.counts.sum())
        likely = forecast.likely * self.misfit.factor
        unsure = width * float(np.hypot(self.misfit.deviation, forecast.relative))
        factors = (likely, likely + unsure, likely - unsure) if width else (likely,)
        return [_judge(forecast.centres * max(factor, 0.0), shares) for factor in factors]


def _positive(A: Array) -> Array:
    """The nearest matrix without negative eigenvalues: products of population means have none."""
    evals, U = np.linalg.eigh((A + A.T) / 2)
    return (U * evals.clip(0.0)) @ U.T


def _judge(centres: Array, shares: Array) -> tuple[float, float]:
    """Error and log-loss of normal scores of unit covariance, by the rule that suits them."""
    if not centres.any():
        return 1 - float(shares.max()), -float(shares @ np.log(shares))
    points = qmc.MultivariateNormalQMC(np.zeros(centres.shape[1]), rng=0).random(N_POINTS)
    error = loss = 0.0
    for c, centre in enumerate(centres):
        distances = ((points + centre)[:, None, :] - centres) ** 2
        logs = log_softmax(np.log(shares) - 0.5 * distances.sum(axis=2), axis=1)
        error += shares[c] * float(np.mean(1 - np.exp(logs.max(axis=1))))
        loss -= shares[c] * float(np.mean(logs[:, c]))
    return float(error), float(loss)


def expected_error(
    source: Any, *, n: float | None = None, confidence: float = 0.95
) -> ExpectedError:
    """How often new rows will be taken for another class, from moments alone.

    The rule is a linear one with the ridge that suits it best, as that of
    ``FisherDiscriminant(shrinkage="moments")``; new rows have the shares of classes that the rows
    had.

    Parameters
    ----------
    source : ClassMoments, fitted model of moments, or a pipeline that ends in one
    n : float, optional
        Estimate the error with this number of rows in all; by default with those that
        there are. Far beyond them it is an upper bound where features outnumber rows, as ridges
        that are too small for the rows that there are cannot be judged.
    confidence : float in (0, 1)
        Of the interval.

    Notes
    -----
    The interval has two parts: the noise of the moments, and what scores that are not normal add,
    which moments do not show. `known` is false with more than two classes, where a class has fewer
    than 30 rows, and where the error is below 3 %: there held-out rows were outside too often
    (``python -m benchmarks.insight error`` and ``several``).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassMoments
    >>> from separatrix.insight import expected_error
    >>> rng = np.random.default_rng(2)
    >>> y = np.arange(400) % 2
    >>> X = rng.standard_normal((400, 50)) + 0.3 * y[:, None]
    >>> found = expected_error(ClassMoments.from_data(X, y))
    >>> round(found.error, 2), found.known
    (0.16, True)
    >>> round(expected_error(ClassMoments.from_data(X, y), n=10_000).error, 2)
    0.15
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1, such as 0.95")
    moments, _, judged = read_moments(source)
    wanted = moments.n_samples if n is None else n
    _check_rows(wanted, moments)
    forecasts = _Forecasts.from_moments(moments, judged)
    error, low, high = forecasts.judge(wanted, float(norm.ppf((1 + confidence) / 2)))
    why = _find_reason(moments, error[0], judged)
    return ExpectedError(error[0], low[0], high[0], error[1], not why, why)


def _check_rows(n: float, moments: ClassMoments) -> None:
    if not (math.isfinite(n) and n > len(moments.counts)):
        raise ValueError(
            f"n={n!r} must be a number of rows, more than the {len(moments.counts)} classes"
        )


def _find_reason(moments: ClassMoments, error: float, judged: Judged | None) -> str:
    """Why the error is not known; nothing where it is."""
    if len(moments.counts) > 2 and judged is None:
        return (
            f"of {len(moments.counts)} classes the errors add up that rows make which are not "
            "normal: the figure is a lower bound"
        )
    at = int(np.argmin(moments.counts))
    if moments.counts[at] < LEAST_ROWS:
        label = moments.classes.tolist()[at]
        return f"class {label!r} has {moments.counts[at]:g} rows, and {LEAST_ROWS} are needed"
    if error < LEAST_ERROR and judged is None:
        return (
            f"errors below {100 * LEAST_ERROR:g} % are made in the tails of the scores, which "
            "moments do not show"
        )
    return ""


def rows_needed(source: Any, error: float) -> float:
    """The number of rows at which the expected error falls to a goal; infinity if it never does.

    Parameters
    ----------
    source : ClassMoments, fitted model of moments, or a pipeline that ends in one
    error : float in (0, 1)
        The goal.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassMoments
    >>> from separatrix.insight import rows_needed
    >>> rng = np.random.default_rng(2)
    >>> y = np.arange(400) % 2
    >>> moments = ClassMoments.from_data(rng.standard_normal((400, 50)) + 0.3 * y[:, None], y)
    >>> 650 < rows_needed(moments, 0.16) < 750, rows_needed(moments, 0.01)
    (True, inf)
    """
    if not 0 < error < 1:
        raise ValueError(f"error={error!r} must lie between 0 and 1, such as 0.05")
    moments, _, judged = read_moments(source)
    forecasts = _Forecasts.from_moments(moments, judged)

    def is_reached(n: float) -> bool:
        return forecasts.judge(n)[0][0] <= error

    low, high = moments.n_samples, float(MOST_ROWS)
    if is_reached(low):
        return low
    if not is_reached(high):
        return math.inf
    while high - low > 1e-3 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return math.ceil(high)
