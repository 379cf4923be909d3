"""Many classes from classifiers of two: a decision graph over all pairs of classes."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.base.blockwise import lazy_on_dask
from separatrix.base.rows import check_several_classes, unchanged_on_failure
from separatrix.linalg import Array
from separatrix.moments.checks import check_in_memory, encode_labels


@lazy_on_dask
class DDAGClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Many classes distinguished by a classifier for each pair, most of which a row never meets.

    There is a node for each of the ``C (C - 1) / 2`` pairs of C classes: a classifier of these two
    alone. A row starts with the first and the last class. Their node excludes one of them, which
    is replaced by its neighbour, until one class is left: ``C - 1`` nodes judge each row (decision
    directed acyclic graph). Rows at the same node are judged together.

    Parameters
    ----------
    estimator : classifier
        Cloned for each pair of classes; any classifier, a pipeline that ends in one as well.
    reducer : transformer or None
        Fitted on all classes first, for example `TruncatedIPCAC`; the nodes see its rows.
    n_jobs : int or None
        How many nodes are fitted at a time, as in joblib.

    Attributes
    ----------
    estimators_ : list of classifiers
        One for each pair of classes, in the order of `nodes_`.
    nodes_ : array (n_nodes, 2)
        The pairs, as numbers in ``classes_``: (0, 1), (0, 2), …, (1, 2), …
    reducer_ : transformer or None
        The fitted reducer.
    classes_ : array (n_classes,)

    Notes
    -----
    A class that wins at each of its ``C - 1`` nodes is predicted, since nothing excludes it
    (Condorcet's winner). Where there is none the answer depends on the order of the classes.

    Each node learns from the rows of its two classes only, so a rare class is not outnumbered by
    all others together, and nodes of small classes are cheap. Rows given twice change the answer
    of a node where they change its classifier, as they do the ridge of `KernelIPCAC`.

    References
    ----------
    Platt, Cristianini and Shawe-Taylor, Large margin DAGs for multiclass classification, NIPS 12
    (2000).
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), section 6.2; its DDAG
    K-TIPCAC is ``DDAGClassifier(KernelIPCAC(truncate=True), reducer=TruncatedIPCAC())``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import DDAGClassifier, IPCAC, KernelIPCAC, TruncatedIPCAC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DDAGClassifier(KernelIPCAC(truncate=True), reducer=TruncatedIPCAC())
    >>> model.fit(X[:900], y[:900]).score(X[900:], y[900:]) > 0.9
    True
    >>> len(model.estimators_)
    45
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: `fit` checks

    def __init__(
        self, estimator: Any, *, reducer: Any | None = None, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.reducer = reducer
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the reducer, and a classifier for each pair of classes.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted classifier.
        """
        _check_classifier(self.estimator)
        with unchanged_on_failure(self):
            self._fit(X, y)
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        check_in_memory(X, type(self).__name__)
        rows, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=None, ensure_all_finite=False
        )
        check_classification_targets(labels)
        self.classes_, codes = encode_labels(labels, rows.shape[0])
        check_several_classes(self, self.classes_)
        self.reducer_ = None if self.reducer is None else clone(self.reducer).fit(rows, labels)
        rows = self._reduce(rows)
        self.nodes_ = np.array(list(combinations(range(len(self.classes_)), 2)))
        self._members = [np.flatnonzero(codes == c) for c in range(len(self.classes_))]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_clone)(self.estimator, self._training_rows(rows, node), labels[at])
            for node, at in ((node, self._at(node)) for node in self.nodes_)
        )

    def _reduce(self, X: Any) -> Any:
        """The rows that all nodes see, as an array or a sparse matrix."""
        if self.reducer_ is None:
            return X
        rows = self.reducer_.transform(X)
        return rows if sp.issparse(rows) else np.asarray(rows)

    def _at(self, node: Array) -> Array:
        """Training rows of the two classes of a node, in their order."""
        return np.sort(np.concatenate([self._members[c] for c in node]))

    def _training_rows(self, X: Any, node: Array) -> Any:
        return self._rows_of(X[self._at(node)], node, self.estimator)

    def _rows_of(self, X: Any, node: Array, estimator: Any) -> Any:
        """The rows as a node sees them: kernel values only with its own training rows."""
        pairwise = self.reducer_ is None and get_tags(estimator).input_tags.pairwise
        return X[:, self._at(node)] if pairwise else X

    def predict(self, X: ArrayLike) -> Array:
        """The class that is left after ``n_classes - 1`` nodes.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,)
        """
        check_is_fitted(self)
        check_in_memory(X)
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=None, ensure_all_finite=False, reset=False
        )
        rows = self._reduce(rows)
        n_classes = len(self.classes_)
        number = {tuple(node): k for k, node in enumerate(self.nodes_.tolist())}
        first = np.zeros(rows.shape[0], dtype=int)
        for apart in range(n_classes - 1, 0, -1):
            start = first.copy()
            for a in np.unique(start):
                at = np.flatnonzero(start == a)
                node = number[a, a + apart]
                judge = self.estimators_[node]
                labels = judge.predict(self._rows_of(rows[at], self.nodes_[node], judge))
                first[at] += labels != self.classes_[a]
        return self.classes_[first]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        sees_rows = self.estimator if self.reducer is None else self.reducer
        if not _is_estimator(sees_rows):
            return tags  # fit raises
        first = get_tags(sees_rows).input_tags
        tags.input_tags.sparse = first.sparse
        tags.input_tags.pairwise = first.pairwise
        tags.input_tags.allow_nan = first.allow_nan
        return tags


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and not isinstance(value, type)


def _check_classifier(estimator: Any) -> None:
    if not (_is_estimator(estimator) and is_classifier(estimator)):
        raise TypeError(
            f"estimator={estimator!r} is not a classifier: DDAGClassifier takes an instance with "
            "fit and predict for two classes, such as KernelIPCAC()"
        )


def _fit_clone(estimator: Any, X: Any, y: Array) -> Any:
    return clone(estimator).fit(X, y)
