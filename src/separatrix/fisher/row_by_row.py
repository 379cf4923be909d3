"""Rows one by one: each is predicted and then learned at the price of its own length squared.

With Q the inverse of ``(1 - α) Sw + F``, F a ridge, a row x of class c changes the scatter by
``n_c / (n_c + 1) r r'`` with ``r = x - m_c``, and Q by the formula of Sherman and Morrison. The
rule needs the products of Q and the class means, which change by one outer product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsymv, dsyr
from scipy.special import softmax

from separatrix.base.prepared import fit_moments
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments

MOST_WAITING = 100
"""Rows that are kept before they are added to the moments."""

GROWTH = {"as it is": 2.0, "shrunk": 1.1, "solved": 1.1}
"""Growth of the number of rows at which everything is computed anew: to shed rounding, to choose
the ridge again, and where the estimator itself has to answer. The work is geometric in sum."""


def has_cheap_rows(model: Any) -> bool:
    """Whether an estimator decides by a rule that a single row changes cheaply."""
    if type(model) is not FisherDiscriminant or model.shrinkage == "nonlinear":
        return False
    others = (model.n_components, model.covariance, model.pca, model.priors)
    return model.rule == "linear" and not any(
        value is not None for value in (*others, model.window, model.decay)
    )


class UpdatedRule(NamedTuple):
    """The rule of a linear discriminant in a form that one more row changes cheaply.

    The arrays are changed in place.

    Attributes
    ----------
    used : array of int
        Features that have changed so far.
    centre : array (n_used,)
        Subtracted from rows: differences of means keep their digits.
    inverse : array (n_used, n_used)
        Q, its upper triangle.
    share : float
        1 - α.
    counts : array (n_classes,)
    means, products : array (n_classes, n_used)
        Class means m_g less the centre, and Q m_g.
    slope, offsets : float, array (n_classes,)
        Of the decision: what distances count beyond ``n``, and what is added to the log-odds.
    """

    used: Array
    centre: Array
    inverse: Array
    share: float
    counts: Array
    means: Array
    products: Array
    slope: float
    offsets: Array

    @classmethod
    def of_model(cls, model: FisherDiscriminant) -> UpdatedRule | None:
        """That of a fitted model; None where its rule is another one, or Sw has no inverse."""
        moments: ClassMoments = model.moments_
        if not has_cheap_rows(model) or np.count_nonzero(moments.counts) < 2:
            return None
        used = np.flatnonzero(moments.total_diagonal() > 0)
        alpha = float(model.shrinkage_ or 0.0)
        scatter = moments.select_columns(used).Sw
        diagonal = scatter.diagonal().copy()
        if (alpha == 0 and model.rank_ < len(used)) or not (diagonal > 0).all():
            return None
        scatter *= 1 - alpha
        scatter[np.diag_indices(len(used))] += alpha * diagonal
        units = np.sqrt(diagonal)
        inverse = np.linalg.inv(scatter / units / units[:, None]) / units / units[:, None]
        centre = moments.mean[used]
        means = np.where(moments.counts[:, None] > 0, moments.means[:, used] - centre, 0.0)
        judged = getattr(model, "expected_", None) or getattr(model, "left_out_", None)
        slope, offsets = 1.0, np.zeros(len(means))
        if judged is not None:
            n_free = moments.n_samples - np.count_nonzero(moments.counts)
            slope, offsets = judged.slope * n_free / moments.n_samples, judged.offsets.copy()
        return cls(
            used,
            centre,
            np.asfortranarray(inverse),
            1 - alpha,
            moments.counts.copy(),
            means,
            means @ inverse,
            slope,
            offsets,
        )

    def scores(self, row: Array) -> Array:
        """Log-probabilities of the classes up to a common term."""
        squares = np.einsum("ij,ij->i", self.means, self.products)
        n = self.counts.sum()
        with np.errstate(divide="ignore"):
            priors = np.log(self.counts / n)
        return self.slope * n * (self.products @ row - 0.5 * squares) + priors + self.offsets

    def learn(self, row: Array, c: int) -> None:
        """One more row of class c."""
        n = self.counts[c]
        residual = row - self.means[c]
        along = dsymv(1.0, self.inverse, residual)
        weight = self.share * n / (n + 1)
        growth = 1 + weight * float(residual @ along)
        gain = weight / growth
        dsyr(-gain, along, a=self.inverse, overwrite_a=True)
        products = self.products
        products -= np.outer(gain * (self.means @ along), along)
        self.means[c] += residual / (n + 1)
        products[c] += along / (growth * (n + 1))
        self.counts[c] = n + 1


class RowByRow:
    """A linear discriminant that predicts and learns single rows.

    After any number of rows its answers are those of `estimator` fitted to all of them. With a
    ridge that the data choose, ridge and calibration are those of the last time when there were a
    tenth more rows. A row costs about its squared length once there are more rows than features;
    before that, and with parameters that are not listed below, the estimator answers itself, from
    all rows but the last tenth.

    Parameters
    ----------
    estimator : FisherDiscriminant, optional
        Not fitted yet, or fitted. Rows are cheap with the linear rule, all directions, no
        `covariance`, `pca`, `priors`, `window` or `decay`, and any `shrinkage` but "nonlinear".
        Any other class of moments is slower, and right.

    Attributes
    ----------
    model : estimator
        The estimator, which has learned every row. Its features are in the order of `features`.
    features : list
        Names of the features in the order in which they came; empty for rows without names.

    Notes
    -----
    A row is a mapping of names to numbers, or an array. Of a mapping a feature that is missing has
    the value zero; a new one had it in all rows before. So the order of features, and the row
    in which one comes first, change nothing. Labels that are new become classes.

    Examples
    --------
    >>> from separatrix.fisher.row_by_row import RowByRow
    >>> model = RowByRow()
    >>> for width, kind in [(1.0, "a"), (5.0, "b"), (1.5, "a"), (4.5, "b")]:
    ...     _ = model.learn_one({"width": width}, kind)
    >>> model.predict_one({"width": 1.2})
    'a'
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = FisherDiscriminant() if estimator is None else estimator
        self._names: dict[Any, int] | None = None
        self._waiting: list[tuple[Array, Any]] = []
        self._factor: UpdatedRule | None = None
        self._next = 0.0
        self._n_rows = self._width = 0
        self._positions: dict[Any, int] = {}
        if self._is_fitted():
            names = getattr(estimator, "feature_names_in_", None)
            self._names = None if names is None else {name: j for j, name in enumerate(names)}
            self._width = self.estimator.n_features_in_
            self._n_rows = round(estimator.n_samples_seen_)
            self._refresh()

    @property
    def model(self) -> Any:
        """The estimator, which has learned every row."""
        self._flush()
        return self.estimator

    @property
    def features(self) -> list[Any]:
        """Names of the features in the order in which they came."""
        return list(self._names or ())

    def learn_one(self, x: Mapping[Any, float] | ArrayLike, y: Any) -> Self:
        """Learn a row and its label."""
        row = self._read(x, learns=True)
        self._waiting.append((row, y))
        self._n_rows += 1
        c = self._positions.get(y)
        if self._factor is None or c is None or not self._reaches(row):
            self._factor = None
            if self._n_rows >= self._next or c is None:
                self._refresh()
            return self
        self._factor.learn(row[self._factor.used] - self._factor.centre, c)
        if self._n_rows >= self._next:
            self._refresh()
        elif len(self._waiting) >= MOST_WAITING:
            self._flush()
        return self

    def predict_one(self, x: Mapping[Any, float] | ArrayLike) -> Any:
        """The label of a row; None before any was learned."""
        if not self._n_rows:
            return None
        row = self._read(x)
        if self._factor is None or not self._reaches(row):
            return self._ask(self.estimator.predict, row).tolist()[0]
        scores = self._factor.scores(row[self._factor.used] - self._factor.centre)
        return self.estimator.classes_.tolist()[int(scores.argmax())]

    def predict_proba_one(self, x: Mapping[Any, float] | ArrayLike) -> dict[Any, float]:
        """The probability of each class; none before a row was learned."""
        if not self._n_rows:
            return {}
        row = self._read(x)
        if self._factor is None or not self._reaches(row):
            shares = self._ask(self.estimator.predict_proba, row)[0]
        else:
            shares = softmax(self._factor.scores(row[self._factor.used] - self._factor.centre))
        return dict(zip(self.estimator.classes_.tolist(), shares.tolist(), strict=True))

    def _is_fitted(self) -> bool:
        return hasattr(self.estimator, "classes_")

    def _reaches(self, row: Array) -> bool:
        """Whether a row changes only parts that have changed before."""
        factor = self._factor
        assert factor is not None
        if len(factor.used) == len(row):
            return True
        idle = np.ones(len(row), dtype=bool)
        idle[factor.used] = False
        known = self.estimator.moments_.mean[: len(row)]
        constants = np.append(known, np.zeros(len(row) - len(known)))
        return bool((row[idle] == constants[idle]).all())

    def _ask(self, answer: Any, row: Array) -> Any:
        n_features = self.estimator.n_features_in_
        return answer(row[None, :n_features])

    def _read(self, x: Mapping[Any, float] | ArrayLike, *, learns: bool = False) -> Array:
        """A row as an array; new names get a place when it is learned."""
        if not isinstance(x, Mapping):
            row = np.asarray(x, dtype=np.float64)
            width = self._width if self._width else len(row)
            if row.shape != (width,):
                raise ValueError(f"a row of {row.size} values, and rows so far had {width}")
            self._width = width
        else:
            if self._names is None:
                if self._n_rows:
                    raise ValueError("rows so far had no names: give an array again")
                self._names = {}
            if learns:
                for name in x:
                    self._names.setdefault(name, len(self._names))
            row = np.fromiter((x.get(name, 0.0) for name in self._names), float, len(self._names))
        if not np.isfinite(row.sum()):
            names = list(self._names or range(len(row)))
            at = int(np.flatnonzero(~np.isfinite(row))[0])
            raise ValueError(f"feature {names[at]!r} is {row[at]}: leave it out, or fill it")
        return row

    def _flush(self) -> None:
        """Add the rows that wait to the moments."""
        if not self._waiting:
            return
        width = max(len(row) for row, _ in self._waiting)
        X = np.zeros((len(self._waiting), width))
        for i, (row, _) in enumerate(self._waiting):
            X[i, : len(row)] = row
        y = np.array([label for _, label in self._waiting])
        self._waiting = []
        if self._is_fitted() and width > self.estimator.n_features_in_:
            self._widen(width)
        known = self.estimator.classes_ if self._is_fitted() else y[:0]
        self.estimator.partial_fit(X, y, classes=np.union1d(known, y) if len(known) else None)

    def _widen(self, width: int) -> None:
        """Let new features have been zero in all rows so far."""
        moments = self.estimator.moments_
        old = moments.n_features
        basis = np.eye(old, width)
        wide = moments.project(basis)  # of rows less their mean
        shift = np.concatenate([moments.mean, np.zeros(width - old)])
        fit_moments(self.estimator, wide.rescaled(shift, np.ones(width)))

    def _refresh(self) -> None:
        """Compute everything anew from the moments."""
        self._flush()
        model = self.estimator
        self._positions = {label: i for i, label in enumerate(model.classes_.tolist())}
        self._factor = None
        if has_cheap_rows(model):
            self._factor = UpdatedRule.of_model(model)
        kind = "solved" if self._factor is None else "shrunk"
        if self._factor is not None and self._factor.share == 1:
            kind = "as it is"
        self._next = max(self._n_rows + 1, GROWTH[kind] * self._n_rows)
