"""Few rows of a target with many of a source: each counts for more, in any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    TransformerMixin,
    clone,
    is_classifier,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from separatrix._warnings import warn_caller
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number
from separatrix.base.rows import check_labelled_rows, unchanged_on_failure
from separatrix.linalg import Array
from separatrix.moments.labelled import check_in_memory
from separatrix.transfer.distance import measure_domains
from separatrix.transfer.domains import check_domains, labelled_rows

GUESSES = 2
"""Times that rows without a label get the class that the model gives them. Two gain 4 and 3 points
on MNIST to USPS and back, and more do not gain (`benchmarks.domains`)."""


def _inner_has(name: str) -> Any:
    """Whether the estimator inside has a method."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


class TargetWeighted(TransformerMixin, ClassifierMixin, BaseEstimator):
    """An estimator of many rows of a source and few of a target, which count for more.

    A row of the source counts once and a labelled row of the target `weight` times, so that the
    classes are where the target has them, as far as its few rows can say. Rows of the target
    without a label help too: they get the class that the model gives them, and count once.

    Parameters
    ----------
    estimator : estimator
        It takes `sample_weight`, or is a pipeline whose last step does.
    weight : "auto" or float
        Weight of a labelled row of the target. "auto" is ``1 + n τ²/σ²``, with n the rows of
        a class in the source, σ² the variance within classes, and τ² that between the domains'
        means of a class, less what chance adds to it: the weight at which the expected squared
        error of class means is least.

    Attributes
    ----------
    estimator_ : estimator
        The fitted copy.
    weight_ : float
        The weight that was used; 1 without labelled rows of the target.
    distance_ : float
        τ²/σ².

    Notes
    -----
    "auto" chooses nothing by held-out rows, of which there are too few: it compares class means in
    all features. These are in units of their deviations in the source.

    Guesses are made twice, and only where some row of the target has a label: the model of the
    source alone may be wrong in most of them. An estimator without `predict` makes none.

    Standardise the domains apart before (`DomainScaler`), with all rows of the target.

    References
    ----------
    Daumé, Frustratingly easy domain adaptation, ACL (2007), section 3.1, for weights as a rival
    that is hard to beat.
    Lee, Pseudo-label, ICML workshop on challenges in representation learning (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, TargetWeighted
    >>> rng = np.random.default_rng(0)
    >>> y, domain = np.arange(200) % 2, np.where(np.arange(200) < 180, 1, -1)
    >>> X = rng.normal(size=(200, 5)) + y[:, None] * [2, 2, 0, 0, 0]
    >>> X[domain < 0, 0] -= 4 * y[domain < 0]  # one feature turned round in the target
    >>> model = TargetWeighted(FisherDiscriminant()).fit(X, y, sample_domain=domain)
    >>> round(model.weight_), model.score(X[domain < 0], y[domain < 0])
    (91, 0.95)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: ours are below
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "weight": (one_of("auto"), real_number(0, open_low=True)),
    }
    classes_: Array
    distance_: Any
    estimator_: Any
    weight_: Any

    def __init__(self, estimator: Any, *, weight: float | str = "auto") -> None:
        self.estimator = estimator
        self.weight = weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike | None = None) -> Self:
        """Fit a copy of the estimator to weighted rows.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows of both domains, each standardised.
        y : array (n_samples,)
            Their labels. Rows of the target may be without one: None, NaN, or -1 where that is no
            label of the source.
        sample_domain : array of int (n_samples,), optional
            Positive for rows of the source, negative for rows of the target. Without it all rows
            are of the source.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            check_in_memory(X, type(self).__name__)
            check_parameters(self, self._allowed_parameters)
            if sample_domain is None:
                model, weighting = self._fit_labelled(X, y, None), (1.0, 0.0)
            else:
                model, weighting = self._fit_domains(X, np.asarray(y), sample_domain)
            self.estimator_, (self.weight_, self.distance_) = model, weighting
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if hasattr(model, name):
                    setattr(self, name, getattr(model, name))
        return self

    def _fit_domains(
        self, X: Any, y: Array, sample_domain: ArrayLike
    ) -> tuple[Any, tuple[float, float]]:
        """The model of all rows; and the weight of a target row, and the distance."""
        source = check_domains(sample_domain, len(y)) > 0
        has_label = labelled_rows(y, source)
        known, unknown = np.flatnonzero(has_label), np.flatnonzero(~has_label)
        labels = np.array(y[known].tolist())  # those that are left may have a simpler type
        X_known, of_source = _safe_indexing(X, known), source[known]
        rows = check_labelled_rows(clone(self), X_known, labels, accept_sparse=True)
        if of_source.all():
            if len(unknown):
                warn_caller(
                    f"{type(self).__name__} has no labelled row of the target: the rows without a "
                    "label are left out, and the source decides alone"
                )
            return self._fit_labelled(X_known, labels, None), (1.0, 0.0)
        distance = measure_domains(rows.X, rows.codes, of_source)
        weight = distance.weight if isinstance(self.weight, str) else float(self.weight)
        weights = np.where(of_source, 1.0, weight)
        model = self._fit_labelled(X_known, labels, weights)
        if len(unknown) and hasattr(model, "predict"):
            X_unknown = _safe_indexing(X, unknown)
            order = np.argsort(np.concatenate([known, unknown]), kind="stable")
            weights = np.concatenate([weights, np.ones(len(unknown))])[order]
            for _ in range(GUESSES):
                both = np.concatenate([labels, model.predict(X_unknown)])
                model = self._fit_labelled(X, both[order], weights)
        return model, (weight, distance.relative)

    def _fit_labelled(self, X: Any, y: ArrayLike, weights: Array | None) -> Any:
        """A copy fitted to rows that all have labels."""
        model = clone(self.estimator)
        if weights is None:
            return model.fit(X, y)
        last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
        if not has_fit_parameter(last[1], "sample_weight"):
            raise ValueError(
                f"estimator={type(last[1]).__name__} takes no sample_weight: give one whose fit "
                "does, such as FisherDiscriminant"
            )
        prefix = f"{last[0]}__" if isinstance(model, Pipeline) else ""
        return model.fit(X, y, **{f"{prefix}sample_weight": weights})

    @_inner_has("predict")
    def predict(self, X: ArrayLike) -> Array:
        """Labels of rows of the target, by the fitted estimator."""
        return self._fitted().predict(X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes, by the fitted estimator."""
        return self._fitted().predict_proba(X)

    @_inner_has("decision_function")
    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of the classes, by the fitted estimator."""
        return self._fitted().decision_function(X)

    @_inner_has("transform")
    def transform(self, X: ArrayLike) -> Array:
        """Coordinates of rows in the subspace, by the fitted estimator."""
        return self._fitted().transform(X)

    @_inner_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Names of the coordinates, by the fitted estimator."""
        return self._fitted().get_feature_names_out(input_features)

    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.transformer_tags = inner.input_tags, inner.transformer_tags
        if not is_classifier(self.estimator):
            tags.estimator_type, tags.classifier_tags = None, None
        return tags
