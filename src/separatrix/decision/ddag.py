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

from separatrix.base.rows import check_several_classes, unchanged_on_failure
from separatrix.decision.linear import check_priors
from separatrix.decision.pairs import couple_pairs, judge_pair, rank_by_walks
from separatrix.linalg import Array
from separatrix.moments.labelled import (
    check_in_memory,
    check_not_in_blocks,
    encode_labels,
    row_blocks,
)


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
    priors : array (n_classes,) or None
        Class probabilities, in the order of the sorted labels. Each node gets those of its two
        classes, to a sum of one, by its parameter `priors`, or by `class_weight` where it has that
        alone. None leaves the nodes as they are.
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

    `decision_function` and `rank_classes` put a row to all nodes. The first place is that of
    `predict`; the second has the class which the graph without the first would predict, and so on.

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
    _members: Any
    classes_: Array
    estimators_: Any
    nodes_: Any
    reducer_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        reducer: Any | None = None,
        priors: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.reducer = reducer
        self.priors = priors
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
        _check_reducer(self.reducer)
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
        priors = check_priors(self.priors, self.classes_)
        self.reducer_ = None if self.reducer is None else clone(self.reducer).fit(rows, labels)
        rows = self._reduce(rows)
        self.nodes_ = np.array(list(combinations(range(len(self.classes_)), 2)))
        self._members = [np.flatnonzero(codes == c) for c in range(len(self.classes_))]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_clone)(
                self.estimator, self._training_rows(rows, node), labels[self._at(node)], given
            )
            for node, given in (
                (node, None if priors is None else priors[node]) for node in self.nodes_
            )
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
        rows = self._new_rows(X)
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

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of the classes by all nodes: whole numbers are places, the rest is firmness.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of ``classes_[1]`` by the only node, or its scores where
            it has no probabilities. For more ``n_classes - 1`` for the class that is predicted,
            one less for the next place and so on; plus less than a third for how firmly a class
            wins its matches on average.
        """
        rows = self._new_rows(X)
        scores = np.empty((rows.shape[0], len(self.classes_)))
        for block in row_blocks(rows.shape[0], len(self.classes_) ** 2):
            margins = self._judge_pairs(rows[block])
            if len(self.classes_) == 2:
                scores[block] = margins[:, :, 0]
                continue
            n_others = len(self.classes_) - 1
            firmness = np.tanh(margins / 2).sum(axis=2) / n_others  # 2 P - 1, on average
            places = np.argsort(rank_by_walks(margins > 0), axis=1)
            scores[block] = n_others - places + firmness / 3
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def rank_classes(self, X: ArrayLike) -> Array:
        """The classes in the order of `decision_function`, the best first.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples, n_classes)
            Labels; the first column is that of `predict`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        return self.classes_[np.argsort(-scores, axis=1, kind="stable")]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes from the log-odds of all nodes.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples, n_classes)
            The products of the probabilities of a class against each other, to a sum of one. The
            class that is predicted has the largest.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        rows = self._new_rows(X)
        logs = np.empty((rows.shape[0], len(self.classes_)))
        for block in row_blocks(rows.shape[0], len(self.classes_) ** 2):
            margins = self._judge_pairs(rows[block])
            logs[block] = couple_pairs(margins, rank_by_walks(margins > 0)[:, 0])
        return logs

    def _judge_pairs(self, rows: Any) -> Array:
        """How firmly the class of a row of the result beats that of a column, (n, C, C)."""
        n_classes = len(self.classes_)
        margins = np.zeros((rows.shape[0], n_classes, n_classes))
        for node, judge in zip(self.nodes_, self.estimators_, strict=True):
            a, b = node
            seen = self._rows_of(rows, node, judge)
            margins[:, b, a] = judge_pair(judge, seen, self.classes_[b])
            margins[:, a, b] = -margins[:, b, a]
        return margins

    def _new_rows(self, X: ArrayLike) -> Any:
        """Checked rows as the nodes see them."""
        check_is_fitted(self)
        check_not_in_blocks(X)
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=None, ensure_all_finite=False, reset=False
        )
        return self._reduce(rows)

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


def _check_reducer(reducer: Any) -> None:
    if reducer is not None and not (_is_estimator(reducer) and hasattr(reducer, "transform")):
        raise TypeError(
            f"reducer={reducer!r} is no transformer: DDAGClassifier takes None, or an instance "
            "with fit and transform, such as TruncatedIPCAC()"
        )


def _fit_clone(estimator: Any, X: Any, y: Array, priors: Array | None) -> Any:
    judge = clone(estimator)
    if priors is not None:
        judge.set_params(**node_priors(judge, y, priors))
    return judge.fit(X, y)


def node_priors(judge: Any, y: Array, priors: Array) -> dict[str, Any]:
    """The parameter of a classifier, or of the last step of a pipeline, that sets its priors.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> y = np.array(["a", "a", "b", "b"])
    >>> node_priors(SVC(), y, np.array([0.75, 0.25]))  # as if three of four rows were of a
    {'class_weight': {'a': 1.5, 'b': 0.5}}
    """
    shares = priors / priors.sum() if priors.sum() > 0 else np.full(2, 0.5)
    names = judge.get_params()
    for wanted in ("priors", "class_weight"):
        matching = [name for name in names if name.rpartition("__")[2] == wanted]
        if not matching:
            continue
        if wanted == "priors":
            return {matching[-1]: shares}
        if shares.min() == 0:
            raise ValueError(
                f"a prior of zero cannot be given to {type(judge).__name__}, which has class "
                "weights instead of priors: leave out the rows of that class"
            )
        labels, counts = np.unique(y, return_counts=True)
        weights = shares * len(y) / counts
        return {matching[-1]: dict(zip(labels.tolist(), weights.tolist(), strict=True))}
    raise ValueError(
        f"priors={priors.tolist()} cannot be given to {type(judge).__name__}, which has no "
        "parameter priors or class_weight: leave priors=None"
    )
