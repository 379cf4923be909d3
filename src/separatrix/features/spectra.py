"""Steps on each row by itself: spectra freed of scatter, slope and offset; rows of length one.

Nothing is learned from other rows, so that these steps may come before any split; only the
reference of `MultiplicativeScatterCorrection` is the mean of the training rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import Normalizer
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.linalg import Array


class RowStep(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the steps on each row: `fit` only remembers the columns."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns; nothing is learned."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        self._change(rows[:1])
        return self

    def transform(self, X: Any) -> Array:
        """The changed rows.

        Parameters
        ----------
        X : array (n_samples, n_features)

        Returns
        -------
        array (n_samples, n_features)
        """
        check_is_fitted(self, "n_features_in_")
        return self._change(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))

    @abstractmethod
    def _change(self, X: Array) -> Array:
        """The changed rows, of the same shape."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class StandardNormalVariate(RowStep):
    """Each row less its mean, in units of its own standard deviation (SNV).

    It takes out what light scattered by particles adds to and multiplies a spectrum by: a row and
    ``a + b * row`` with b > 0 become the same. A constant row becomes zero.

    References
    ----------
    Barnes, Dhanoa and Lister, Standard normal variate transformation and de-trending of
    near-infrared diffuse reflectance spectra, Applied Spectroscopy 43 (1989).

    Examples
    --------
    >>> from separatrix.features.spectra import StandardNormalVariate
    >>> StandardNormalVariate().fit_transform([[1.0, 2.0, 3.0], [10.0, 30.0, 50.0]]).round(2)
    array([[-1.,  0.,  1.],
           [-1.,  0.,  1.]])
    """

    def _change(self, X: Array) -> Array:
        centred = X - X.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1, ddof=min(1, X.shape[1] - 1), keepdims=True)
        level = np.abs(X).max(axis=1, keepdims=True)
        vary = spread > 10 * np.finfo(X.dtype).eps * level  # else it is rounding
        return np.where(vary, centred, 0) / np.where(vary, spread, 1)


class MultiplicativeScatterCorrection(RowStep):
    """Each row less its offset, in units of its slope, as a line through the mean spectrum (MSC).

    A row is regressed on the mean of the training rows, ``row = a + b * reference + rest``, and
    becomes ``(row - a) / b``. The reference, and every row ``a + b * reference`` with b > 0,
    become the reference. A row without any slope becomes the mean of the reference.

    Attributes
    ----------
    reference_ : array (n_features,)
        The mean of the training rows.

    References
    ----------
    Geladi, MacDougall and Martens, Linearization and scatter-correction for near-infrared
    reflectance spectra of meat, Applied Spectroscopy 39 (1985).

    Examples
    --------
    >>> from separatrix.features.spectra import MultiplicativeScatterCorrection
    >>> MultiplicativeScatterCorrection().fit_transform([[1.0, 2.0, 3.0], [10.0, 30.0, 50.0]])
    array([[ 5.5, 16. , 26.5],
           [ 5.5, 16. , 26.5]])
    """

    reference_: Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the mean of the rows as the reference."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        self.reference_ = rows.mean(axis=0)
        return self

    def _change(self, X: Array) -> Array:
        reference = self.reference_.astype(X.dtype)
        shape = reference - reference.mean()
        centred = X - X.mean(axis=1, keepdims=True)
        power = shape @ shape
        slope = (centred @ shape / (power if power > 0 else 1))[:, None]
        # a slope below rounding divides noise by nothing
        scale = np.abs(X).max(axis=1, keepdims=True) / max(np.abs(reference).max(), 1e-300)
        has_slope = np.abs(slope) > 10 * np.finfo(X.dtype).eps * scale
        return np.where(has_slope, centred, 0) / np.where(has_slope, slope, 1) + reference.mean()


class SpectrumDerivative(RowStep):
    """The derivative of each row, smoothed by local polynomials (Savitzky and Golay).

    Parameters
    ----------
    order : int
        1 takes out an offset, 2 also a slope; 0 only smooths.
    window : int
        Odd number of neighbouring values that a polynomial is fitted to; fewer where rows are
        shorter.
    degree : int
        Degree of the polynomials: they have their derivative exactly.

    References
    ----------
    Savitzky and Golay, Smoothing and differentiation of data by simplified least squares
    procedures, Analytical Chemistry 36 (1964).

    Examples
    --------
    >>> from separatrix.features.spectra import SpectrumDerivative
    >>> SpectrumDerivative(window=3).fit_transform([[1.0, 4.0, 9.0, 16.0]]).round(6)
    array([[2., 4., 6., 8.]])
    """

    def __init__(self, order: int = 1, *, window: int = 11, degree: int = 2) -> None:
        self.order = order
        self.window = window
        self.degree = degree

    def _change(self, X: Array) -> Array:
        if self.window % 2 == 0 or not 0 <= self.order <= self.degree < self.window:
            raise ValueError(
                f"order={self.order}, degree={self.degree}, window={self.window}: order may be at "
                "most degree, and window must be odd and larger than degree"
            )
        window = min(self.window, X.shape[1] - 1 + X.shape[1] % 2)
        if window <= self.degree:
            raise ValueError(
                f"rows of {X.shape[1]} values are too short for polynomials of degree="
                f"{self.degree}: lower it, or leave the derivative out"
            )
        from scipy.signal import savgol_filter  # a quarter of a second that few models need

        derived = savgol_filter(X, window, self.degree, deriv=self.order, axis=1)
        return derived.astype(X.dtype, copy=False)


class Detrend(RowStep):
    """Each row less the polynomial that fits it best: baselines that bend slowly.

    Parameters
    ----------
    degree : int
        Degree of the polynomial; 0 takes out the mean, 1 a slope, 2 a bow.

    Examples
    --------
    >>> from separatrix.features.spectra import Detrend
    >>> abs(Detrend(degree=1).fit_transform([[1.0, 3.0, 5.0, 7.0]])).max() < 1e-12
    np.True_
    """

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree

    def _change(self, X: Array) -> Array:
        places = np.linspace(-1, 1, X.shape[1])
        powers = np.polynomial.legendre.legvander(places, min(self.degree, X.shape[1] - 1))
        basis = np.linalg.qr(powers)[0].astype(X.dtype)
        return X - (X @ basis) @ basis.T


ROW_STEPS = {
    "snv": StandardNormalVariate,
    "msc": MultiplicativeScatterCorrection,
    "derivative": SpectrumDerivative,
    "detrend": Detrend,
    "l2": Normalizer,
}
"""Steps on each row by the names that the command line has for them; l2 gives rows length one."""


def make_row_steps(names: Any) -> list[Any]:
    """Steps on each row, in the order of their names.

    Examples
    --------
    >>> make_row_steps(["snv", "derivative"])
    [StandardNormalVariate(), SpectrumDerivative()]
    """
    unknown = [name for name in names if name not in ROW_STEPS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no step on rows: there are {', '.join(ROW_STEPS)}")
    return [ROW_STEPS[name]() for name in names]
