"""Which fitted classifiers take the largest of linear or quadratic functions, and of which ones.

A classifier is read as an affine map of the features, its coordinates, and functions f_g of the
coordinates of which it takes the largest (5.6). Scalers, projections and selections of features
before a rule are affine maps, and so are linear subspaces of this package. What is read is
compared with the classifier itself on training rows; a classifier that cannot be read exactly has
no such functions here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from separatrix.base.affine import (
    MAX_CHECKED_ROWS,
    AffineMap,
    identity_map,
    read_affine,
    read_components,
)
from separatrix.base.kernel import KernelEstimator
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic, QuadraticRule
from separatrix.fisher.gaussian import QuadraticDiscriminant
from separatrix.linalg import Array

READABLE_CLASSIFIERS = (
    "LinearSVC, SVC(kernel='linear') for two classes, LogisticRegression, "
    "LinearDiscriminantAnalysis, RidgeClassifier, SGDClassifier, Perceptron, NearestCentroid, "
    "GaussianNB, QuadraticDiscriminantAnalysis, KNeighborsClassifier(1), LocalQDA, or a "
    "classifier of this package with coef_ or a quadratic rule (FisherDiscriminant and its "
    "relatives, IPCAC); alone, in a grid search, or in a pipeline after scalers and linear "
    "projections"
)
"""The classifiers that can be read, as error messages name them."""

MAX_TIE = 1e-7
"""Largest difference of two functions, relative to their largest value, that may be a tie."""


# Rules -------------------------------------------------------------------------------------------


class ExactRule(NamedTuple):
    """A classifier as functions of coordinates of which it takes the largest.

    Attributes
    ----------
    coordinates : AffineMap
        Of the features that the classifier is given.
    discriminants : Quadratic or LocalQDA
        f_g of (5.6), or the classifier that gives them around each row.
    owners : array (n_functions,) or None
        The number of the class that each function speaks for, where a class has several; None
        where there is one for each class, in order.
    """

    coordinates: AffineMap
    discriminants: Quadratic | LocalQDA
    owners: Array | None = None

    def classify(self, X: Array) -> Array:
        """The numbers of the classes of rows (n, d); not for local rules."""
        assert isinstance(self.discriminants, Quadratic), "local rules classify themselves"
        winners = self.discriminants(self.coordinates(X)[:, None]).argmax(axis=1)
        return winners if self.owners is None else self.owners[winners]


def read_rule(estimator: Any, X: Array) -> ExactRule | None:
    """The functions of which a fitted classifier takes the largest, or None where it has none.

    Parameters
    ----------
    estimator : classifier
        Fitted; a pipeline or a search with a best estimator too.
    X : array (n, d)
        Training rows; the largest function must be the prediction on them.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> model = Pipeline([("scale", MinMaxScaler()), ("decide", LinearDiscriminantAnalysis())])
    >>> read_rule(model.fit(X, y), X).classify(np.array([[2.4], [2.6]]))
    array([0, 1])
    """
    rows = X[:MAX_CHECKED_ROWS]
    rule = _propose_rule(estimator, rows)
    if rule is None or isinstance(rule.discriminants, LocalQDA):
        return rule
    return rule if _predicts(rule, estimator, rows) else None


def _propose_rule(estimator: Any, rows: Array) -> ExactRule | None:
    if hasattr(estimator, "best_estimator_"):
        return _propose_rule(estimator.best_estimator_, rows)
    if isinstance(estimator, Pipeline):
        before = read_affine(estimator[:-1], rows)
        after = None if before is None else _propose_rule(estimator[-1], before(rows))
        if before is None or after is None:
            return None
        return after._replace(coordinates=before.then(after.coordinates))
    if isinstance(estimator, KernelEstimator):
        return None
    readers = (read for kind, read in _RULE_READERS if isinstance(estimator, kind))
    read = next(readers, None)
    return None if read is None else read(estimator, rows.shape[1])


def _predicts(rule: ExactRule, estimator: Any, rows: Array) -> bool:
    """Whether the largest function is the prediction for each row, ties apart."""
    assert isinstance(rule.discriminants, Quadratic)
    values = rule.discriminants(rule.coordinates(rows)[:, None])
    expected = np.searchsorted(estimator.classes_, estimator.predict(rows))
    owners = np.arange(values.shape[1]) if rule.owners is None else rule.owners
    of_expected = np.where(owners == expected[:, None], values, -np.inf).max(axis=1)
    best = values.max(axis=1)
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    return bool(np.all(best - of_expected <= MAX_TIE * (1 + finite.max(axis=1))))


def _read_linear(estimator: Any, d: int) -> ExactRule | None:
    """One function for each class; two classes have one score, that of the second class."""
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), len(coef))
    if len(coef) == 1 and len(estimator.classes_) == 2:
        coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
    if len(coef) != len(estimator.classes_):
        return None
    return ExactRule(identity_map(coef.shape[1]), Quadratic(None, coef, intercept))


def _read_support_vectors(estimator: SVC, d: int) -> ExactRule | None:
    """Two classes only: several are decided by the votes of all pairs."""
    linear = estimator.kernel == "linear" and len(estimator.classes_) == 2
    return _read_linear(estimator, d) if linear else None


def _read_subspace(estimator: SubspaceClassifier, d: int) -> ExactRule | None:
    rule = estimator._rule
    if not isinstance(rule, QuadraticRule):
        return _read_linear(estimator, d)
    coordinates = read_components(estimator, d)
    return None if coordinates is None else ExactRule(coordinates, rule.expanded())


def _read_gaussians(estimator: QuadraticDiscriminant, d: int) -> ExactRule | None:
    """None where covariances are known in a span only."""
    rule, coordinates = estimator._rule, identity_map(d)._replace(centre=estimator.mean_)
    if not isinstance(rule, QuadraticRule):  # one covariance for all classes
        return _read_linear(estimator, d)
    return None if rule.basis is not None else ExactRule(coordinates, rule.expanded())


def _read_quadratic(estimator: QuadraticDiscriminantAnalysis, d: int) -> ExactRule:
    Q, c, b = [], [], []
    parts = (estimator.means_, estimator.rotations_, estimator.scalings_, estimator.priors_)
    centre = estimator.priors_ @ estimator.means_
    for mean, V, variances, prior in zip(*parts, strict=True):
        P, step = (V / variances) @ V.T, mean - centre
        Q.append(-P / 2)
        c.append(P @ step)
        b.append(np.log(prior) - (np.log(variances).sum() + step @ P @ step) / 2)
    coordinates = identity_map(d)._replace(centre=centre)
    return ExactRule(coordinates, Quadratic(np.array(Q), np.array(c), np.array(b)))


def _read_naive_bayes(estimator: GaussianNB, d: int) -> ExactRule:
    centre = estimator.class_prior_ @ estimator.theta_
    P, steps = 1 / estimator.var_, estimator.theta_ - centre
    logs = np.log(estimator.class_prior_) - np.log(estimator.var_).sum(axis=1) / 2
    b = logs - np.sum(P * steps**2, axis=1) / 2
    return ExactRule(identity_map(d)._replace(centre=centre), Quadratic(-P / 2, P * steps, b))


def _read_centroids(estimator: NearestCentroid, d: int) -> ExactRule | None:
    """None with priors, which scikit-learn weighs in units of its own."""
    priors = estimator.class_prior_
    if estimator.metric != "euclidean" or not np.allclose(priors, 1 / len(priors)):
        return None
    return nearest_functions(estimator.centroids_)


def _read_nearest_row(estimator: KNeighborsClassifier, d: int) -> ExactRule | None:
    """Each training row speaks for its class: section 5.3, before (5.8)."""
    if estimator.n_neighbors != 1 or estimator.effective_metric_ != "euclidean":
        return None
    rows, codes = getattr(estimator, "_fit_X", None), np.asarray(getattr(estimator, "_y", ()))
    if not isinstance(rows, np.ndarray) or codes.shape != (len(rows),):
        return None
    return nearest_functions(rows.astype(np.float64))._replace(owners=codes)


def nearest_functions(points: Array) -> ExactRule:
    """Linear functions of which that of the nearest point is the largest.

    ``-|x - p|² / 2`` less the part that all points share.

    Examples
    --------
    >>> nearest_functions(np.array([[0.0], [4.0]])).classify(np.array([[1.0], [3.0]]))
    array([0, 1])
    """
    centre = points.mean(axis=0)
    steps = points - centre
    functions = Quadratic(None, steps, -np.einsum("gi,gi->g", steps, steps) / 2)
    return ExactRule(identity_map(points.shape[1])._replace(centre=centre), functions)


_LINEAR = (
    LinearSVC,
    LogisticRegression,
    LinearDiscriminantAnalysis,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
"""Classifiers that take the largest of linear functions, given by ``coef_`` and ``intercept_``."""

_RULE_READERS: tuple[tuple[Any, Callable[[Any, int], ExactRule | None]], ...] = (
    (_LINEAR, _read_linear),
    (SVC, _read_support_vectors),
    (QuadraticDiscriminant, _read_gaussians),
    (SubspaceClassifier, _read_subspace),
    (QuadraticDiscriminantAnalysis, _read_quadratic),
    (GaussianNB, _read_naive_bayes),
    (NearestCentroid, _read_centroids),
    (KNeighborsClassifier, _read_nearest_row),
    (LocalQDA, lambda estimator, d: ExactRule(identity_map(d), estimator)),
)
"""How the functions of a classifier are read; `read_rule` checks that they decide as it does."""
