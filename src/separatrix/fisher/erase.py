"""Rows without information on a label: the least change after which no linear rule finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.base.batches import Memory
from separatrix.base.rows import centred_product, check_new_rows, unchanged_on_failure
from separatrix.base.solution import Solution
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import check_finite_columns
from separatrix.moments.remainder import Remainder


def carriers(moments: ClassMoments, W: Array) -> Array:
    """``St W (Wᵀ St W)⁻¹``: the features as they are best predicted from the scores along W."""
    Hb = moments.between_rows()
    product = moments.within_apply(W) + Hb.T @ (Hb @ W)
    return np.linalg.lstsq(W.T @ product, product.T, rcond=None)[0].T


def _check_dense(X: Any) -> None:
    if sp.issparse(X):
        raise TypeError(
            "ClassEraser changes every entry of sparse rows: give dense ones (X.toarray())"
        )


class ClassEraser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Removes from rows all that a linear rule could learn of a label: a batch, a site, a sex.

    Scores along Fisher's directions of the label are all that a linear rule can use; what they
    predict of the features is taken off. Of all affine maps after which the classes of the
    training rows have one mean, this one changes the rows least, in any norm that a quadratic
    form gives.

    Attributes
    ----------
    separator_ : FisherDiscriminant
        Fisher's directions of the label, and the statistics of all rows seen.
    carriers_ : array (n_features, n_directions)
        What one unit of each score predicts of the features.
    classes_ : array
        The labels that are erased.
    moments_ : ClassMoments
        The statistics of all rows seen.

    Notes
    -----
    With ``Z = transform(X)`` of the training rows, all classes have the mean of all rows, so that
    no linear classifier fitted to Z beats the most frequent label; applying the map twice changes
    nothing more. New rows of the same population keep what the estimate misses, of the order of
    ``√(n_features / n_samples)``. Classes that differ in their covariances still do, and a
    nonlinear rule can see that.

    All follows from moments: erasers learn in batches, forget rows, and merge
    (`separatrix.merge`), each time as if fitted to the rows that are left.

    Fit it with the label that shall go, not with the one to be predicted: it does not belong
    inside a pipeline that is fitted with another label.

    References
    ----------
    Belrose, Schneider-Joseph, Ravfogel, Cotterell, Raff and Biderman, LEACE: perfect linear
    concept erasure in closed form, NeurIPS (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ClassEraser
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["north", "south"], 50)
    >>> X = rng.standard_normal((100, 3)) + (site == "north")[:, None] * [5.0, 0.0, 1.0]
    >>> Z = ClassEraser().fit_transform(X, site)
    >>> bool(np.allclose(Z[site == "north"].mean(axis=0), Z[site == "south"].mean(axis=0)))
    True
    """

    _accepts_blocks = True
    _merges = True
    _shared_when_merged: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")
    _may_differ_when_merged: ClassVar[tuple[str, ...]] = ()
    separator_: FisherDiscriminant
    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: there is none
    carriers_: Array
    classes_: Array

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the information of the rows on the label.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows; a Dask collection, too.
        y : array (n_samples,)
            The label to erase.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The fitted eraser.
        """
        _check_dense(X)
        self._take(FisherDiscriminant(shrinkage=None).fit(X, y, sample_weight))
        self.__dict__.pop("noise_", None)  # that of a merged eraser that is fitted anew
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows; the result is that of `fit` on all rows together.

        Parameters
        ----------
        X, y : array (n_samples, n_features), (n_samples,)
            New rows and their labels.
        classes : array or "open", optional
            All labels that may come; "open" takes those of `y` that are new, and names them.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The updated eraser.
        """
        _check_dense(X)
        separator: Any = getattr(self, "separator_", FisherDiscriminant(shrinkage=None))
        with unchanged_on_failure(separator):
            return self._take(separator.partial_fit(X, y, classes, sample_weight))

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows out; the result is that of `fit` on all others.

        Parameters
        ----------
        X, y : array (n_samples, n_features), (n_samples,)
            Rows that were learned, and their labels.
        sample_weight : array (n_samples,), optional
            The weights with which they were learned.

        Returns
        -------
        self
            The updated eraser.
        """
        moments = self.moments_without(X, y, sample_weight).moments
        self._store(moments, self._find(moments, None, {}))
        return self

    def moments_without(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Remainder:
        """The moments that `forget` leaves, and a bound on their error; nothing is changed."""
        self._check_forgets(sample_weight)
        _check_dense(X)
        return self.separator_.moments_without(X, y, sample_weight)

    def summarize_known(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ClassMoments:
        """Moments of rows of known labels; nothing is changed."""
        return self.separator_.summarize_known(X, y, sample_weight)

    @property
    def moments_(self) -> Any:
        """The statistics of all rows seen."""
        return self.separator_.moments_

    # What `separatrix.merge` asks of a model ----------------------------------------------------

    def _add_summaries(self, parts: Sequence[ClassMoments]) -> ClassMoments:
        return FisherDiscriminant(shrinkage=None)._add_summaries(parts)

    def _find(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        return FisherDiscriminant(shrinkage=None)._find(moments, rows, selected)

    def _keep(self, memory: Memory, classes: Array) -> None:
        """Nothing: the separator keeps the moments that it is solved for."""

    def _store(self, moments: ClassMoments, solution: Solution) -> None:
        separator = FisherDiscriminant(shrinkage=None)
        for name in self._shared_when_merged:
            if hasattr(self, name):
                setattr(separator, name, getattr(self, name))
        separator._keep(Memory(moments), moments.classes)
        separator._store(moments, solution)
        self._take(separator)

    def _check_moments_suffice(self, classes: Array) -> None:
        """They always do."""

    def _check_same_space(self, model: Any, i: int) -> None:
        """All erasers of the same features are of one space."""

    def _check_forgets(self, sample_weight: ArrayLike | None) -> None:
        check_is_fitted(self)
        noisy = copy(self.separator_)  # a merged eraser has the noise, not its separator
        noisy.__dict__["noise_"] = getattr(self, "noise_", None)
        noisy._check_forgets(sample_weight)

    # The map ----------------------------------------------------------------------------------

    def _take(self, separator: FisherDiscriminant) -> Self:
        """Set the fitted attributes."""
        W = separator.components_.T
        attributes = {"carriers_": carriers(separator.moments_, W), "classes_": separator.classes_}
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(separator, name):
                attributes[name] = getattr(separator, name)
        self.__dict__ = {**vars(self), "separator_": separator, **attributes}
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Rows without their part that goes with the label.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows; their labels are not needed.

        Returns
        -------
        array (n_samples, n_features)
            The rows, changed as little as possible.
        """
        check_is_fitted(self)
        rows = check_new_rows(self, X)
        check_finite_columns(rows, getattr(self, "feature_names_in_", None))
        scores = centred_product(rows, self.separator_.mean_, self.separator_.components_.T)
        return rows - scores @ self.carriers_.T.astype(rows.dtype, copy=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
