"""Domains apart: which row is from where, and features that mean the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._warnings import warn_caller
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number
from separatrix.linalg import Array
from separatrix.moments.labelled import (
    check_entries,
    check_in_memory,
    check_not_in_blocks,
    varying_features,
)

# The mathematics -----------------------------------------------------------------------------


def check_domains(sample_domain: ArrayLike | None, n_samples: int) -> Array:
    """Domains as integers, one source when not given, or an error that says what is wrong."""
    if sample_domain is None:
        return np.ones(n_samples, dtype=int)
    domains = np.asarray(sample_domain)
    if domains.shape != (n_samples,):
        raise ValueError(f"sample_domain has shape {domains.shape}, expected ({n_samples},)")
    whole = domains.dtype.kind in "iuf" and bool((domains == np.round(domains)).all())
    if not (whole and domains.all()):
        raise ValueError(
            "sample_domain must hold positive whole numbers for rows of a source and negative "
            f"ones for rows of the target, got {np.unique(domains).tolist()[:5]}"
        )
    return domains.astype(int)


def labelled_rows(y: ArrayLike, source: Array) -> Array:
    """Which rows have a label: all but those of the target that say None, NaN or -1.

    -1 is a label where a row of the source has it.
    """
    labels = np.asarray(y)
    missing = np.array([v is None or v != v for v in labels.ravel().tolist()])
    if missing[source].any():
        row = int(np.flatnonzero(missing & source)[0])
        raise ValueError(
            f"row {row} of the source has no label (y is {labels.ravel()[row]!r}): only rows of "
            "the target may be without a label"
        )
    if labels.dtype.kind in "ifO" and not np.any(labels[source] == -1):
        missing |= labels == -1
    return ~missing


class PrincipalAxes(NamedTuple):
    """Axes of centred rows and the variance along each; along all others it is zero.

    Attributes
    ----------
    axes : array (n_features, r)
        Orthonormal.
    variances : array (r,)
    """

    axes: Array
    variances: Array

    @classmethod
    def of(cls, rows: Array) -> PrincipalAxes:
        """Those of centred rows, at most as many as rows or features."""
        n_samples, n_features = rows.shape
        if n_samples < n_features:
            _, s, Vt = np.linalg.svd(rows, full_matrices=False)
            return cls(Vt.T, s**2 / n_samples)
        evals, V = np.linalg.eigh(rows.T @ rows / n_samples)
        return cls(V, evals.clip(0.0))

    def apply_power(self, rows: Array, power: float, ridge: float) -> Array:
        """``Z (C/λ + I)^p`` for rows Z, the covariance C and the ridge λ: no d×d matrix."""
        stretch = (self.variances / ridge + 1) ** power - 1
        return rows + ((rows @ self.axes) * stretch) @ self.axes.T


# Estimators ----------------------------------------------------------------------------------


class DomainScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Features of mean zero and variance one in each domain, by its own mean and variance.

    What two domains differ in most are often the levels and scales of their features.
    `TransferLDG` compares rows across domains and wants these taken off. No label is looked at,
    so that all rows of the target can take part, labelled or not.

    Parameters
    ----------
    align : "variances" or "covariances"
        Whether domains agree in the mean and the variance of each feature, or also in their
        covariances: the standardised rows Z of a source become
        ``Z (C_s + λ I)^-½ (C_t + λ I)^½``, with C_s and C_t the covariances of the standardised
        rows of the source and of the target (CORAL). Rows of the target stay as they are.
    ridge : float
        λ, in units of the variance of a feature. Along directions in which a domain has few rows
        its covariance is not to be trusted, and the ridge leaves them nearly alone.

    Attributes
    ----------
    domains_ : array (n_domains,)
        Domains that were seen, sorted.
    means_, scales_ : array (n_domains, n_features)
        Mean and standard deviation of each feature in each. A domain of one row has the pooled
        deviation of the others.
    kept_ : array of bool (n_features,)
        Features that vary in every domain of more than one row. The others become zero in all:
        what is constant in one domain cannot be compared with it.
    axes_ : list of n_domains arrays, or None
        With "covariances" the principal axes of the standardised rows of each domain, as columns.
    axis_variances_ : list of n_domains arrays, or None
        The variance along each.

    Notes
    -----
    The transformed rows of each domain that `fit` has seen have mean zero; those of the target
    have variance one in every kept feature, and with "variances" so have the others. With
    "covariances" and a vanishing ridge those of a source, of more rows than features, have the
    covariance of the target. With n rows fewer than d features it takes n²·d multiplications, and
    no d×d matrix is formed.

    References
    ----------
    Sun, Feng and Saenko, Return of frustratingly easy domain adaptation, AAAI (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import DomainScaler
    >>> X, domain = np.array([[0.0], [2.0], [10.0], [30.0]]), [1, 1, -1, -1]
    >>> DomainScaler().fit_transform(X, sample_domain=domain).ravel()
    array([-1.,  1., -1.,  1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: ours are below
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "align": (one_of("variances", "covariances"),),
        "ridge": (real_number(0, open_low=True),),
    }

    axes_: Any
    axis_variances_: Any
    domains_: Array
    kept_: Any
    means_: Array
    scales_: Array

    def __init__(self, *, align: str = "variances", ridge: float = 1.0) -> None:
        self.align = align
        self.ridge = ridge

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Find mean and scale of the features in each domain.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows of all domains.
        y : array, optional
            Not used.
        sample_domain : array of int (n_samples,), optional
            Positive for rows of a source, negative for rows of the target; one source by default.

        Returns
        -------
        self
            The fitted scaler.
        """
        check_in_memory(X, type(self).__name__)
        check_parameters(self, self._allowed_parameters)
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        check_entries(rows)
        domains = check_domains(sample_domain, len(rows))
        self.domains_ = np.unique(domains)
        parts = [rows[domains == domain] for domain in self.domains_]
        self.means_ = np.stack([part.mean(axis=0, dtype=np.float64) for part in parts])
        self.scales_ = np.stack([part.std(axis=0, dtype=np.float64) for part in parts])
        counts = np.array([len(part) for part in parts])
        several = counts > 1
        if several.any():
            vary = [varying_features(part) for part in parts if len(part) > 1]
            self.kept_ = np.logical_and.reduce(vary)
        else:
            self.kept_ = np.zeros(rows.shape[1], dtype=bool)
        if several.any() and not several.all():
            pooled = np.average(self.scales_[several] ** 2, axis=0, weights=counts[several])
            self.scales_[~several] = np.sqrt(pooled)
            warn_caller(
                f"domain {self.domains_[~several].tolist()[0]} has only one row, which has no "
                "scale: that of the other domains is used for it"
            )
        if not self.kept_.any():
            warn_caller(
                "DomainScaler keeps no feature: none varies in every domain, and transform "
                "returns zeros"
            )
        self.axes_ = self.axis_variances_ = None
        if self.align == "covariances":
            self._find_axes(rows, domains)
        return self

    def _find_axes(self, rows: Array, domains: Array) -> None:
        if len(self.domains_) > 1 and np.count_nonzero(self.domains_ < 0) != 1:
            raise ValueError(
                'align="covariances" takes sources to one target: sample_domain must have one '
                f"negative number, got the domains {self.domains_.tolist()[:10]}"
            )
        standard = self._standardize(rows, domains)
        found = [PrincipalAxes.of(standard[domains == domain]) for domain in self.domains_]
        self.axes_ = [each.axes for each in found]
        self.axis_variances_ = [each.variances for each in found]

    def transform(self, X: ArrayLike, sample_domain: ArrayLike | None = None) -> Array:
        """Standardise rows by the domain they come from.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows.
        sample_domain : array of int (n_samples,), optional
            Their domains; the target by default, or the only domain there is.

        Returns
        -------
        array (n_samples, n_features)
            Standardised rows, of the dtype of X.
        """
        check_is_fitted(self)
        check_not_in_blocks(X)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        domains = self._domains(sample_domain, len(rows))
        Z = self._standardize(rows, domains)
        if self.axes_ is not None:
            for domain in self.domains_[self.domains_ > 0] if len(self.domains_) > 1 else ():
                Z[domains == domain] = self._to_target(Z[domains == domain], domain)
        return Z.astype(rows.dtype)

    def _standardize(self, rows: Array, domains: Array) -> Array:
        at = np.searchsorted(self.domains_, domains)
        scales = np.where(self.kept_, self.scales_, np.inf)
        return (rows - self.means_[at]) / scales[at]

    def _to_target(self, Z: Array, domain: int) -> Array:
        """Standardised rows of a source with the covariance of the target."""
        # the ridges of both powers cancel: (C_s/λ + I)^-½ (C_t/λ + I)^½
        own, target = (
            PrincipalAxes(self.axes_[i], self.axis_variances_[i])
            for i in (np.searchsorted(self.domains_, domain), 0)  # the only negative sorts first
        )
        return target.apply_power(own.apply_power(Z, -0.5, self.ridge), 0.5, self.ridge)

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_domain: ArrayLike | None = None
    ) -> Array:
        """Fit to rows and standardise them."""
        return self.fit(X, y, sample_domain).transform(X, sample_domain)

    def _domains(self, sample_domain: ArrayLike | None, n_samples: int) -> Array:
        if sample_domain is not None:
            domains = check_domains(sample_domain, n_samples)
            unseen = np.setdiff1d(domains, self.domains_)
            if len(unseen):
                raise ValueError(
                    f"sample_domain has domains that fit has not seen: {unseen.tolist()[:5]}; it "
                    f"has seen {self.domains_.tolist()[:10]}"
                )
            return domains
        default = self.domains_[self.domains_ < 0] if len(self.domains_) > 1 else self.domains_
        if len(default) != 1:
            raise ValueError(
                "sample_domain is needed: fit has seen no target or several, namely "
                f"{self.domains_.tolist()[:10]}"
            )
        return np.full(n_samples, default[0])
