"""Gaussians of the neighbours in each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches

from separatrix.base.blockwise import lazy_on_dask
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number, whole_number
from separatrix.base.rows import (
    check_labelled_rows,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.decision.rules import Quadratic, gaussian_discriminants
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, rows_per_block
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from separatrix.selection import GridScores, best_rule

NEIGHBOUR_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
"""What ``n_neighbors="auto"`` tries; of equals the first wins."""


@lazy_on_dask
class LocalQDA(ClassifierMixin, BaseEstimator):
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: `fit` checks
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
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
        with unchanged_on_failure(self):
            check_parameters(self, self._allowed_parameters)
            rows = check_labelled_rows(self, X, y)
            check_several_classes(self, rows.classes)
            self._store(rows, ClassMoments.from_rows(rows, scatter=False))
            self._select()
        return self

    def _store(self, rows: LabelledRows, moments: ClassMoments) -> None:
        """Keep the centred rows: there is nothing to solve before new rows come."""
        self.classes_, self.mean_ = rows.classes, moments.mean
        self._counts = moments.counts.astype(int)
        self.priors_ = moments.counts / moments.n_samples
        self._rows = np.subtract(rows.X, self.mean_, dtype=np.float64)
        self._codes = rows.codes
        variance = float(np.mean(self._rows**2))
        self.ridge_ = float(self.reg) * (variance if variance > 0 else 1.0)

    def _select(self) -> None:
        """Choose the number of neighbours by rows that are left out."""
        self.selection_: dict[str, Any] = {}
        if self.n_neighbors == "auto":
            self.selection_["n_neighbors"] = self._left_out()
            self.n_neighbors_ = int(self.selection_["n_neighbors"].chosen["n_neighbors"])
        else:
            self.n_neighbors_ = int(self.n_neighbors)

    def _left_out(self) -> GridScores:
        """Share of rows that are right for each number of neighbours, from one search."""
        tried = [k for k in NEIGHBOUR_COUNTS if k < 2 * self._counts.max()]
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
        return gen_batches(n_rows, rows_per_block(entries)) if n_rows else ()

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
        A = averaging_matrix(near, excluded, len(self._rows))
        mean = A @ self._rows
        if squares is not None:
            # rows are centred: what cancels is rounding beside the ridge
            return mean, np.maximum(A @ squares - mean**2, 0.0)
        spread = self._rows[near] - mean[:, None]
        return mean, (spread * A.data.reshape(*near.shape, 1)).swapaxes(1, 2) @ spread

    def _centred(self, X: ArrayLike) -> Array:
        rows = check_new_rows(self, X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
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

    def decision_function(self, X: ArrayLike) -> Array:
        """Log-posterior of each class up to a common term; for two classes the log-odds."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each row; a tie goes to the class that sorts first."""
        winners = self._scores(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probabilities of the classes under the Gaussians of the neighbours."""
        return softmax(self._scores(X), axis=1)

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
