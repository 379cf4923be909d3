"""Classifiers that may answer "none of these"."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.base.parameters import Allowed, check_parameters, real_number
from separatrix.base.rows import unchanged_on_failure
from separatrix.linalg import Array
from separatrix.moments.novelty import NoveltyScores, conformal_pvalues


class WithRejection(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that answers "none of these" where a row is like none of its classes.

    Rows whose `novelty_pvalue` is below `level` are rejected: of the rows of known classes at most
    this share, whatever other rows come.

    Parameters
    ----------
    estimator : classifier
        One that learns by class moments, such as `FisherDiscriminant`, `QuadraticDiscriminant` or
        `OnlineIPCAC`, or a pipeline that ends in one. If it is fitted already, merged or streamed
        say, nothing more is to be done: `predict` uses it as it is; `fit` fits a copy.
    level : float in [0, 1]
        Share of rows of the known classes that may be rejected; 0 rejects none.
    rejected : label or None
        The answer for rejected rows. None takes "none" for labels of text, -1 for whole numbers
        and NaN for others.

    Attributes
    ----------
    estimator_ : classifier
        The fitted one, after `fit`.
    calibration_ : array (n_calibration,)
        Sorted novelty of the rows given to `calibrate`.
    classes_ : array (n_classes,)
        The known classes, without the answer for rejected rows.

    Notes
    -----
    Without calibration p-values are those of Hotelling's F distribution, from moments alone. They
    hold for Gaussian classes of one covariance, and need more rows than features. `calibrate` uses
    rows of the known classes that were not learned; then the share of rejected rows is at
    most `level` on average for any distribution (split conformal).

    References
    ----------
    Lee, Lee, Lee and Shin, A simple unified framework for detecting out-of-distribution samples,
    NeurIPS (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, WithRejection, datasets
    >>> wine = datasets.load("wine")
    >>> model = WithRejection(FisherDiscriminant(), level=0.01).fit(wine.data, wine.target)
    >>> model.predict(np.vstack([wine.data[:2], 10 * wine.data[:1]]))
    array(['class_0', 'class_0', 'none'], dtype='<U7')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: ours are below
    _allowed_parameters: ClassVar[dict[str, tuple[Allowed, ...]]] = {"level": (real_number(0, 1),)}
    estimator_: Any
    calibration_: Any

    def __init__(self, estimator: Any, *, level: float = 0.05, rejected: Any = None) -> None:
        self.estimator = estimator
        self.level = level
        self.rejected = rejected

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a copy of the estimator.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their labels.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The fitted classifier.
        """
        with unchanged_on_failure(self):
            check_parameters(self, self._allowed_parameters)
            model = clone(self.estimator)
            given: dict[str, Any] = {}
            if sample_weight is not None:
                given = {"sample_weight": sample_weight}
            if given and isinstance(model, Pipeline):
                given = {f"{model.steps[-1][0]}__sample_weight": sample_weight}
            model.fit(X, y, **given)
            _check_judges_novelty(model)
            self.__dict__.pop("calibration_", None)
            self.estimator_ = model
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(model, name):
                    setattr(self, name, getattr(model, name))
            if self.level > 0:
                _find_rejected(model.classes_, self.rejected)
                _check_has_scatter(model)
        return self

    def calibrate(self, X: ArrayLike) -> Self:
        """Learn how novel rows of the known classes are, from rows that were not learned.

        Parameters
        ----------
        X : array (n_calibration, n_features)
            At least ``1 / level - 1`` rows: with fewer none is ever rejected.

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_parameters(self, self._allowed_parameters)
        novelty = np.sort(self._judge("novelty", X))
        if (len(novelty) + 1) * self.level < 1 and self.level > 0:
            raise ValueError(
                f"{len(novelty)} rows cannot show a level of {self.level}: give at least "
                f"{int(np.ceil(1 / self.level - 1))}"
            )
        self.calibration_ = novelty
        return self

    def novelty_pvalue(self, X: ArrayLike) -> Array:
        """The probability that a row of the known classes is as novel as each row, or more.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,)
        """
        if hasattr(self, "calibration_"):
            return conformal_pvalues(self._judge("novelty", X), self.calibration_)
        return self._judge("novelty_pvalue", X)

    def predict(self, X: ArrayLike) -> Array:
        """The class of each row, or the answer for rejected rows.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,)
            Labels.
        """
        model = self._fitted()
        labels = model.predict(X)
        if self.level == 0:
            return labels
        answer = _find_rejected(model.classes_, self.rejected)
        return np.where(self.novelty_pvalue(X) < self.level, answer, labels)

    def decision_function(self, X: ArrayLike) -> Array:
        """That of the estimator: rejection changes no scores."""
        return self._fitted().decision_function(X)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the known classes, given that a row is of one of them."""
        return self._fitted().predict_proba(X)

    @property
    def classes_(self) -> Array:
        """The known classes."""
        return self._fitted().classes_

    def _judge(self, verb: str, X: ArrayLike) -> Array:
        """Novelty or its p-values, behind the steps of a pipeline."""
        model = self._fitted()
        _check_judges_novelty(model)
        if not isinstance(model, Pipeline):
            return getattr(model, verb)(X)
        return getattr(model[-1], verb)(model[:-1].transform(X))

    def _fitted(self) -> Any:
        model = getattr(self, "estimator_", self.estimator)
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit, or give a fitted "
                "estimator"
            ) from None
        return model

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._fitted()
        except NotFittedError:
            return False
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _check_judges_novelty(model: Any) -> None:
    last = model[-1] if isinstance(model, Pipeline) else model
    if not hasattr(last, "novelty"):
        raise ValueError(
            f"estimator={type(last).__name__} does not know what is new: give one that learns by "
            "class moments, such as FisherDiscriminant or QuadraticDiscriminant"
        )


def _check_has_scatter(model: Any) -> None:
    """Raise where nothing can ever be called new: without scatter there is no unit of distance."""
    last = model[-1] if isinstance(model, Pipeline) else model
    NoveltyScores.from_moments(last._moments_to_read(), relative=False)


def _find_rejected(classes: Array, rejected: Any) -> Any:
    """The answer for rejected rows; an error where it is a class."""
    if rejected is None:
        kind = np.asarray(classes).dtype.kind
        rejected = "none" if kind in "UTO" else -1 if kind in "iu" else np.nan
    if rejected in np.asarray(classes).tolist():
        raise ValueError(
            f"the answer for rejected rows, {rejected!r}, is a class: give another as rejected="
        )
    return rejected
