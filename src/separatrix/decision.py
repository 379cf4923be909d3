"""Rules that decide on a class inside a subspace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix.base import (
    BlockwiseClassifierMixin,
    LabelledData,
    Solution,
    SubspaceEstimator,
    labelled_data,
    new_rows,
    refuse_one_class,
    unchanged_on_failure,
)
from separatrix.linalg import Array
from separatrix.moments import ClassMoments
from separatrix.parameters import Allowed, check_parameters, one_of, real_number, whole_number
from separatrix.rows import averaging, block_rows, class_neighbours, refuse_nonfinite_rows
from separatrix.selection import GridScores, best_rule

NEIGHBOURS = (1, 2, 4, 8, 16, 32, 64, 128)
"""What ``n_neighbors="auto"`` tries; of equals the first wins."""


class LinearRule(NamedTuple):
    """Scores ``z @ coef.T + intercept``, one column a class; the largest wins."""

    coef: Array
    intercept: Array


def linear_gaussian_rule(means: Array, covariance: Array, priors: Array) -> LinearRule:
    """Bayes' rule for Gaussian classes with a common covariance.

    The score of class c is its log-density plus log-prior, up to a term common to all classes:
    ``(Σ⁻¹ μ_c)·z - μ_c·Σ⁻¹ μ_c / 2 + log π_c``.

    Parameters
    ----------
    means : array (n_classes, k)
    covariance : array (k, k)
    priors : array (n_classes,)
        A prior of zero excludes the class.

    Examples
    --------
    >>> rule = linear_gaussian_rule(np.array([[0.0], [2.0]]), np.eye(1), np.array([0.5, 0.5]))
    >>> scores = np.array([[0.9], [1.1]]) @ rule.coef.T + rule.intercept
    >>> scores.argmax(axis=1)
    array([0, 1])
    """
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    coef = np.linalg.solve(covariance, means.T).T
    return LinearRule(coef, log_priors - 0.5 * np.einsum("ij,ij->i", coef, means))


def nearest_mean_rule(means: Array) -> LinearRule:
    """The class whose mean is nearest: the Gaussian rule for equal priors and spheres.

    Examples
    --------
    >>> rule = nearest_mean_rule(np.array([[0.0, 0.0], [2.0, 0.0]]))
    >>> (np.array([[0.9, 5.0]]) @ rule.coef.T + rule.intercept).argmax()
    np.int64(0)
    """
    n_classes, k = means.shape
    return linear_gaussian_rule(means, np.eye(k), np.full(n_classes, 1 / n_classes))


def quadratic_gaussian_scores(Z: Array, means: Array, covariances: Array, priors: Array) -> Array:
    """Log-density plus log-prior of each class, when each has its own covariance.

    Parameters
    ----------
    Z : array (n_samples, k)
    means : array (n_classes, k)
    covariances : array (n_classes, k, k)
        Maximum-likelihood covariances, each with an inverse.
    priors : array (n_classes,)

    Returns
    -------
    array (n_samples, n_classes)

    Examples
    --------
    >>> wide_and_narrow = np.array([[[9.0]], [[1.0]]])
    >>> Z = np.array([[0.0], [4.0]])
    >>> quadratic_gaussian_scores(Z, np.zeros((2, 1)), wide_and_narrow, np.full(2, 0.5)).argmax(1)
    array([1, 0])
    """
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    scores = np.empty((len(Z), len(means)))
    for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        L = np.linalg.cholesky(covariance)
        white = scipy.linalg.solve_triangular(L, (Z - mean).T, lower=True)
        log_volume = np.log(np.diagonal(L)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
        scores[:, c] = log_priors[c] - 0.5 * np.sum(white**2, axis=0) - log_volume
    return scores


# Thresholds on a line: class 1 lies above -----------------------------------------------------


def pooled_variance(stds: Array, counts: Array) -> float:
    """The variance of all rows about the mean of their own class."""
    return float(counts @ stds**2 / counts.sum())


def mahalanobis_threshold(
    means: Array, stds: Array, counts: Array, *, priors: Array | None = None
) -> float:
    """The point between two means that is as many standard deviations from one as from the other.

    A class without spread (one sample, or all alike) takes the spread of both together; when
    neither has any, the point is the middle. A spread below 1e-4 of the gap between the means
    counts as none: its square may be rounding.

    Parameters
    ----------
    means, stds, counts : array (2,)
        Of the projected classes, the class above second.
    priors : array (2,), optional
        Move the point as they would for two Gaussians of the pooled variance.

    Examples
    --------
    >>> mahalanobis_threshold(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([9.0, 9.0]))
    2.0
    """
    gap = means[1] - means[0]
    variance = pooled_variance(stds, counts)
    spread = np.where(stds > 1e-4 * abs(gap), stds, np.sqrt(variance))
    total = spread.sum()
    share = spread[0] / total if total > 1e-4 * abs(gap) else 0.5
    gamma = float(means[0] + share * gap)
    if priors is None or gap == 0:
        return gamma
    with np.errstate(divide="ignore"):
        odds = np.log(priors[0]) - np.log(priors[1])
    if not np.isfinite(odds):
        return float(np.sign(gap) * odds)
    return gamma + float(odds) * max(variance, 1e-9 * gap**2) / gap


def accuracy_threshold(
    scores: Array, positive: Array, *, weights: Array | None = None, near: float = 0.0
) -> float:
    """The middle of the widest gap that puts as many samples as possible on their side.

    Candidates lie between neighbouring distinct scores and beyond both ends, so that no sample
    lies on the threshold and swapping the classes mirrors the answer. Of several best runs of
    candidates the widest wins, then the one whose middle is closest to `near`. One sort.

    Parameters
    ----------
    scores : array (n_samples,)
    positive : array of bool (n_samples,)
        Which samples belong above the threshold.
    weights : array (n_samples,), optional
        What each sample counts.
    near : float
        Decides between gaps of one width.

    Examples
    --------
    >>> accuracy_threshold(np.array([0.0, 1, 2, 6, 7]), np.array([False, False, True, True, True]))
    1.5
    """
    values, right = _right_below_and_above(scores, positive, weights)
    step = (values[-1] - values[0]) / max(len(values) - 1, 1)
    edges = np.concatenate([[values[0] - step], values, [values[-1] + step]])
    best = right >= right.max() - 1e-9 * max(right.max(), 1e-300)
    starts = np.flatnonzero(best & ~np.r_[False, best[:-1]])
    stops = np.flatnonzero(best & ~np.r_[best[1:], False])
    low, high = edges[starts], edges[stops + 1]
    width, middle = high - low, (low + high) / 2
    widest = width >= width.max() * (1 - 1e-9)
    return float(middle[widest][np.argmin(np.abs(middle[widest] - near))])


def balanced_threshold(
    scores: Array,
    positive: Array,
    *,
    weights: Array | None = None,
    near: float = 0.0,
    share: float = 0.9,
) -> float:
    """The average of the good thresholds among the scores of each class, halfway between both.

    Equation 3.22 of the source, for its reproduction: of the scores of a class, taken as
    thresholds, average those that get at least `share` of the best of them right; then take
    the middle of the two classes' averages. `near` is not used.

    Examples
    --------
    >>> scores = np.array([0.0, 1, 2, 6, 7])
    >>> balanced_threshold(scores, np.array([False, False, True, True, True]))
    1.5
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, right = _right_below_and_above(scores, positive, weights)
    at_score = right[1 + np.searchsorted(values, scores)]
    averages = []
    for members in (~positive & (weights > 0), positive & (weights > 0)):
        good = at_score[members] >= share * at_score[members].max()
        averages.append(np.average(scores[members][good], weights=weights[members][good]))
    return float(np.mean(averages))


def _right_below_and_above(
    scores: Array, positive: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Distinct scores, and the weight of samples on their side for a cut after each of them.

    Entry j counts a cut above the j lowest distinct scores, so there is one more than scores.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, codes = np.unique(scores, return_inverse=True)
    above = np.bincount(codes, weights * positive, minlength=len(values))
    below = np.bincount(codes, weights * ~positive, minlength=len(values))
    right = np.concatenate([[0.0], np.cumsum(below - above)]) + above.sum()
    return values, right


def check_priors(priors: ArrayLike | None, classes: Array) -> Array | None:
    """Priors as a vector that sums to one, or an error that says what is wrong with them."""
    if priors is None:
        return None
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (len(classes),):
        raise ValueError(
            f"priors has shape {given.shape}, expected one value for each of the "
            f"{len(classes)} classes {classes.tolist()[:10]}"
        )
    if (given < 0).any() or not np.isclose(given.sum(), 1.0):
        raise ValueError(f"priors must be non-negative and sum to 1, got {given.tolist()}")
    return given / given.sum()


class ClassScoresMixin(BlockwiseClassifierMixin):
    """Decisions from `_scores`: log-posteriors of the classes up to a common term."""

    classes_: Array

    @abstractmethod
    def _scores(self, X: ArrayLike) -> Array:
        """One column for each class."""

    def decision_function(self, X: ArrayLike) -> Array:
        """Log-posterior of each class up to a term common to all of them.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the log-odds of ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each row; a tie goes to the class that sorts first."""
        winners = self._scores(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probabilities of the classes under the Gaussian model."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        return log_softmax(self._scores(X), axis=1)


class GaussianRuleMixin(ClassScoresMixin, SubspaceEstimator):
    """Classification in the subspace by the linear Gaussian rule.

    The class means and the pooled maximum-likelihood covariance are those of the projected
    training rows, so the number of components matters to the decision. With every discriminant
    direction kept the decisions are those of the same rule in the full space.
    """

    def _priors(self, moments: ClassMoments) -> Array:
        given = check_priors(getattr(self, "priors", None), moments.classes)
        return moments.counts / moments.n_samples if given is None else given

    def _set_solution(self, moments: ClassMoments, solution: Solution) -> None:
        super()._set_solution(moments, solution)
        self.priors_ = self._priors(moments)
        assert solution.within is not None, "classifiers state the scatter they decide by"
        covariance = solution.within / moments.n_samples
        seen = np.where(moments.counts > 0, self.priors_, 0.0)
        centred = np.where(seen[:, None] > 0, moments.means - moments.mean, 0.0)
        self._rule = linear_gaussian_rule(centred @ self.components_.T, covariance, seen)

    def _scores(self, X: ArrayLike) -> Array:
        return self._project(X) @ self._rule.coef.T + self._rule.intercept


class GaussianClassifierMixin(GaussianRuleMixin):
    """The same rule as a linear function of the features."""

    @property
    def coef_(self) -> Array:
        """Weights of the features in the decision: (1, n_features) for two classes."""
        check_is_fitted(self)
        coef = self._rule.coef @ self.components_
        return coef[1:] - coef[:1] if len(self.classes_) == 2 else coef

    @property
    def intercept_(self) -> Array:
        """Constant of the decision: ``decision_function(X) = X @ coef_.T + intercept_``."""
        check_is_fitted(self)
        intercept = self._rule.intercept
        if len(self.classes_) == 2:
            intercept = intercept[1:] - intercept[:1]
        return intercept - self.coef_ @ self.mean_


# Gaussians of neighbours -----------------------------------------------------------------------


class Quadratic(NamedTuple):
    """Functions ``f(x) = xᵀ Q x + c·x + b``, one for each entry of `b`.

    Attributes
    ----------
    Q : array (..., r), (..., r, r) or None
        The diagonal of Q when it has as many axes as `c`, the matrix when one more; None for
        linear functions.
    c : array (..., r)
    b : array (...)

    Examples
    --------
    >>> parabola = Quadratic(np.array([1.0, 0.0]), np.array([0.0, 3.0]), np.array(-1.0))
    >>> float(parabola(np.array([2.0, 1.0])))
    6.0
    """

    Q: Array | None
    c: Array
    b: Array

    def __call__(self, x: Array) -> Array:
        """Values at points (..., r), whose leading axes go along with those of `b`."""
        slope = self.c
        if self.Q is not None:
            diagonal = self.Q.ndim == self.c.ndim
            slope = slope + (self.Q * x if diagonal else (self.Q @ x[..., None])[..., 0])
        return np.einsum("...i,...i->...", slope, x) + self.b


def gaussian_discriminants(offsets: Array, covariances: Array, log_priors: Array) -> Quadratic:
    """Log-prior plus log-density of Gaussians, as functions of the step from a point of reference.

    Parameters
    ----------
    offsets : array (..., r)
        The point of reference less the mean.
    covariances : array (..., r) or (..., r, r)
        Variances of independent features, or matrices, each with an inverse.
    log_priors : array (...)

    Examples
    --------
    >>> at_the_mean = gaussian_discriminants(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> at_the_mean(np.array([[0.0], [1.0]])).round(3)
    array([-0.919, -1.419])
    """
    if covariances.ndim == offsets.ndim:
        P = 1 / covariances
        pull, log_volume = P * offsets, np.log(covariances).sum(axis=-1)
    else:
        P = np.linalg.inv(covariances)
        pull, log_volume = (P @ offsets[..., None])[..., 0], np.linalg.slogdet(covariances)[1]
    distance = np.einsum("...i,...i->...", offsets, pull)
    constant = offsets.shape[-1] * np.log(2 * np.pi)
    P *= -0.5
    return Quadratic(P, -pull, log_priors - 0.5 * (distance + log_volume + constant))


class LocalQDA(ClassScoresMixin, BaseEstimator):
    """Compare the Gaussians that the neighbours of a row form in each class.

    For a row x and each class c, the k rows of c nearest to x have a mean m and a covariance V.
    The class of the largest ``log p_c + log N(x; m, V + ρ I)`` is predicted: quadratic
    discriminant analysis, fitted anew where it is asked. With k = 1 it is the nearest neighbour,
    with all rows of a class the global rule.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k. A class with no more rows than k gives all it has. "auto" tries 1, 2, 4, … 128 on the
        training rows, each left out of its own neighbours, and takes the smallest of the best.
    reg : float
        What is added to the variances, as a share of the average variance of a feature over all
        training rows, so that units do not matter: ``ρ = reg * average variance``. For features
        of variance one it is the ``10⁻⁴ I`` of the source, which hardly regularises: features
        that happen to agree among a few neighbours then decide alone. More, such as 0.1, is often
        better. Where no feature varies, ρ is `reg`.
    covariance : "diag" or "full"
        "diag" takes the features as independent among neighbours, which a few neighbours can
        tell; "full" estimates V whole, and costs r³ for each row and class.

    Attributes
    ----------
    n_neighbors_ : int
        k.
    ridge_ : float
        ρ.
    priors_ : array (n_classes,)
        p, the proportions in the training data.
    mean_ : array (n_features,)
        Mean of all training rows.
    selection_ : dict
        What "auto" was decided by: under "n_neighbors" a `selection.GridScores`.
    classes_ : array (n_classes,)

    Notes
    -----
    ``decision_function`` at a row is the value there of its own `discriminants`: exactly the
    global rule with maximum-likelihood covariances plus ρ I when no class has more than k rows,
    and a difference of squared distances to one row of each class, divided by 2ρ, when k = 1.

    Variances have the divisor k, so one row or copies of a row have V = 0 and lean on ρ alone; a
    feature that is constant says nothing. Features are compared by distances: give them a common
    unit first. Neighbours are counted, not weighed: there is no `sample_weight`.

    A prediction costs one product with all training rows, then k rows of each class are averaged;
    what a class says that gives all it has is computed once for all rows.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), sections 2.1.2 and 5.6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import LocalQDA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LocalQDA(reg=1.0).fit(X[:900], y[:900])
    >>> model.n_neighbors_, round(model.score(X[900:], y[900:]), 2)
    (2, 0.96)
    """

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_neighbors": (one_of("auto"), whole_number(1)),
        "reg": (real_number(0, open_low=True),),
        "covariance": (one_of("diag", "full"),),
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        reg: float = 1e-4,
        covariance: str = "diag",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.covariance = covariance

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the rows, and choose the number of neighbours.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted classifier.
        """
        check_parameters(self, self._parameter_constraints)
        with unchanged_on_failure(self):
            data = labelled_data(self, X, y)
            refuse_one_class(self, data.classes)
            self._learn(data, data.moments(scatter=False))
        return self

    def _learn(self, data: LabelledData, moments: ClassMoments) -> None:
        self.classes_, self.mean_ = data.classes, moments.mean
        self._counts = moments.counts.astype(int)
        self.priors_ = moments.counts / moments.n_samples
        self._rows = np.subtract(data.X, self.mean_, dtype=np.float64)
        self._codes = data.codes
        variance = float(np.mean(self._rows**2))
        self.ridge_ = float(self.reg) * (variance if variance > 0 else 1.0)
        self.selection_: dict[str, Any] = {}
        if self.n_neighbors == "auto":
            self.selection_["n_neighbors"] = self._left_out()
            self.n_neighbors_ = int(self.selection_["n_neighbors"].chosen["n_neighbors"])
        else:
            self.n_neighbors_ = int(self.n_neighbors)

    def _left_out(self) -> GridScores:
        """Share of rows that are right for each number of neighbours, from one search."""
        tried = [k for k in NEIGHBOURS if k < 2 * self._counts.max()]
        found = class_neighbours(self._rows, self._codes, tried[-1])
        judged = np.flatnonzero(self._counts[self._codes] > 1)
        scores = np.zeros((1, len(tried)))
        for j, k in enumerate(tried):
            for block in self._blocks(len(judged), k):
                rows = judged[block]
                near = [neighbours[rows, :k] for neighbours in found]
                quadratics = self._gaussians(self._rows[rows], near, self._rows[rows], rows)
                scores[0, j] += np.sum(quadratics.b.argmax(axis=1) == self._codes[rows])
        settings: tuple[dict[str, float], ...] = tuple({"n_neighbors": k} for k in tried)
        scores /= max(len(judged), 1)
        return GridScores(settings, scores, settings[best_rule(scores[0])])

    def _blocks(self, n_rows: int, k: int) -> Iterable[slice]:
        """Portions of rows whose Gaussians are small enough to be held."""
        r, n_classes = self._rows.shape[1], len(self._counts)
        entries = n_classes * r * (max(r, k) if self.covariance == "full" else 1)
        return gen_batches(n_rows, block_rows(entries)) if n_rows else ()

    def _gaussians(
        self, points: Array, neighbours: list[Array], about: Array, own: Array | None = None
    ) -> Quadratic:
        """Discriminants (n_points, n_classes) local to centred points, in steps from `about`.

        `own` are the numbers of the points among the training rows, when they are to be left out.
        """
        n_points, r = points.shape
        offsets = np.empty((n_points, len(neighbours), r))
        whole = [
            own is None and near.shape[1] == self._counts[c] for c, near in enumerate(neighbours)
        ]
        full = self.covariance == "full"
        alone = max(near.shape[1] for near in neighbours) == 1
        n_covariances = 1 if alone or all(whole) else n_points
        covariances = np.zeros((n_covariances, *offsets.shape[1:], *((r,) if full else ())))
        squares = None if full else self._rows**2
        for c, near in enumerate(neighbours):
            once = slice(1 if whole[c] else None)
            excluded = np.full(n_points, -1) if own is None else own
            mean, covariance = self._moments(near[once], excluded[once], squares)
            np.subtract(about, mean, out=offsets[:, c])
            if not alone:
                covariances[:, c] = covariance
        diagonal = np.einsum("...ii->...i", covariances) if full else covariances
        diagonal += self.ridge_
        return gaussian_discriminants(offsets, covariances, np.log(self.priors_))

    def _moments(self, near: Array, excluded: Array, squares: Array | None) -> tuple[Array, Array]:
        """Mean and covariance of the neighbours of each point, but for itself."""
        if near.shape[1] == 1:
            return self._rows[near[:, 0]], np.zeros(1)
        A = averaging(near, excluded, len(self._rows))
        mean = A @ self._rows
        if squares is not None:
            # rows are centred: what cancels is rounding beside the ridge
            return mean, np.maximum(A @ squares - mean**2, 0.0)
        spread = self._rows[near] - mean[:, None]
        return mean, (spread * A.data.reshape(*near.shape, 1)).swapaxes(1, 2) @ spread

    def _centred(self, X: ArrayLike) -> Array:
        rows = new_rows(self, X)
        refuse_nonfinite_rows(rows, getattr(self, "feature_names_in_", None))
        return np.subtract(rows, self.mean_, dtype=np.float64)

    def discriminants(self, X: ArrayLike, *, about: ArrayLike | None = None) -> Quadratic:
        """The class discriminants that hold around each row.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows whose neighbours make the Gaussians.
        about : array (n_features,) or (n_samples, n_features), optional
            Points of reference: entry i is a function of ``x - about[i]``. By default the origin,
            so that it is a function of x; that loses digits far from the origin, and ``about=X``
            does not.

        Returns
        -------
        Quadratic
            ``Q`` of shape (n_samples, n_classes, n_features), or with one more axis of features
            for full covariances, ``c`` (n_samples, n_classes, n_features) and ``b`` (n_samples,
            n_classes): log-posteriors up to a term common to the classes. The first axis of ``Q``
            is 1 where all rows have it in common: with one neighbour, or all there are.
        """
        points = self._centred(X)
        reference = np.zeros(1) if about is None else np.asarray(about, dtype=np.float64)
        if about is not None and reference.shape not in (points.shape, points.shape[1:]):
            raise ValueError(
                f"about has shape {reference.shape}: it must be one point {points.shape[1:]} or "
                f"one for each row of X {points.shape}"
            )
        near = class_neighbours(points, self._codes, self.n_neighbors_, among=self._rows)
        return self._gaussians(points, near, reference - self.mean_)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`: minus infinity where that is zero, as it may be."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: ArrayLike) -> Array:
        points = self._centred(X)
        near = class_neighbours(points, self._codes, self.n_neighbors_, among=self._rows)
        scores = np.empty((len(points), len(self.classes_)))
        for block in self._blocks(len(points), self.n_neighbors_):
            part = points[block]
            scores[block] = self._gaussians(part, [n[block] for n in near], part).b
        return scores
