"""IPCAC for classes that are mixtures: clusters, a classifier for every pair of them, a jury.

Each class is cut into clusters; every cluster of one class is separated from every cluster of
another by one product with a vector and one threshold; the clusters that win their matches decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils import check_random_state

from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import (
    YES_OR_NO,
    Allowed,
    array_like,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.rows import centred_product, check_new_rows, unchanged_on_failure
from separatrix.base.solution import Solution
from separatrix.decision.cuts import FROM_MOMENTS
from separatrix.decision.linear import check_priors
from separatrix.decision.pairs import couple_pairs, judge_pair, side_with
from separatrix.ipcac.cluster_rule import ClusterDecision, best_cluster_rule
from separatrix.ipcac.clusters import (
    MIN_EM_ROWS_PER_FEATURE,
    em_clusters,
    merged_clusters,
    x_means,
)
from separatrix.ipcac.ipcac import IPCAC, TruncatedIPCAC
from separatrix.kernels import RandomState
from separatrix.linalg import EPS, Array, column_signs, span, threads_for
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import (
    LabelledRows,
    check_entries,
    check_finite,
    row_blocks,
    shift_full_columns,
)

# The jury ------------------------------------------------------------------------------------


def activation_power(n_first: int, n_second: int) -> int:
    """The t of the activation ``max(x, 0)^t`` for teams of these numbers of clusters (5.21).

    Large enough that one cluster that wins all its matches outweighs all clusters of the other
    class that lose to it alone.

    Examples
    --------
    >>> activation_power(4, 4), activation_power(1, 1)
    (3, 2)
    """
    a, b = max(n_first, 3), max(n_second, 3)
    powers = [np.log(m) / np.log(other / (other - 2)) for m, other in ((a, b), (b, a))]
    return int(np.ceil(max(powers))) + 1


def jury(margins: Array) -> Array:
    """Scores of the second of two classes from the matches of their clusters (5.22).

    A cluster scores ``max(x, 0)^t`` for its average x of wins (+1) and losses (-1); the class
    whose clusters score more wins. A tie is decided by the sum of the margins, of less weight
    than any vote. Clusters of both classes with the same x cancel before anything is added: what
    is left is far from a tie, however large the teams.

    Parameters
    ----------
    margins : array (n_samples, n_first, n_second)
        Positive where the cluster of the second class wins.

    Examples
    --------
    >>> matches = np.array([[[1.0, -1.0], [1.0, -1.0]]])  # one cluster of the second wins all
    >>> jury(matches)
    array([1.])
    """
    n_first, n_second = margins.shape[1:]
    power = activation_power(n_first, n_second)
    wins = np.where(margins > 0, 1, -1)
    levels = n_first * n_second  # averages in units of one over the number of matches
    second = _level_counts(wins.sum(axis=1) * n_second, levels)
    first = _level_counts(-wins.sum(axis=2) * n_first, levels)
    weights = (np.arange(1, levels + 1) / levels) ** power
    votes = second - first
    score = votes @ weights
    tied = np.abs(score) <= 4 * power * EPS * (np.abs(votes) @ weights)
    total = margins.sum(axis=(1, 2))
    least = min(1e-12, max(1e-3 * float(max(n_first, n_second)) ** -power, 1e-300))
    return np.where(tied, least * total / (1 + np.abs(total)), score)


def _level_counts(levels: Array, highest: int) -> Array:
    """How many clusters are at each level from 1 to the highest, (n_samples, highest)."""
    of_row = np.arange(len(levels))[:, None] * (highest + 1)
    counts = np.bincount((of_row + levels.clip(0)).ravel(), minlength=len(levels) * (highest + 1))
    return counts.reshape(len(levels), highest + 1)[:, 1:].astype(np.float64)


def wins_and_scores(verdicts: Array) -> Array:
    """How many other classes each class beats, plus less than a third for by how much.

    Parameters
    ----------
    verdicts : array (n_samples, n_classes * (n_classes - 1) / 2)
        For each pair of classes, in the order of `itertools.combinations`, a score that is
        positive where the second wins.

    Examples
    --------
    >>> wins_and_scores(np.array([[-1.0, -3.0, 0.5]])).round(2)  # 0 beats 1 and 2, 2 beats 1
    array([[ 2.27, -0.2 ,  0.76]])
    """
    n_classes = int((1 + np.sqrt(1 + 8 * verdicts.shape[1])) / 2)
    wins, scores = np.zeros((2, len(verdicts), n_classes))
    for k, (a, b) in enumerate(combinations(range(n_classes), 2)):
        wins[:, b] += verdicts[:, k] > 0
        wins[:, a] += verdicts[:, k] <= 0
        scores[:, b] += verdicts[:, k]
        scores[:, a] -= verdicts[:, k]
    return wins + scores / (3 * (1 + np.abs(scores)))


def minimax_log_odds(log_odds: Array) -> Array:
    """Log-odds of the second of two classes from those of the matches of their clusters.

    A cluster stands for its class as firmly as it wins its hardest match. The best cluster of the
    second class gives ``max_j min_i``, that of the first ``min_i max_j``; their average changes
    its sign when the classes are swapped. With one cluster each it is the log-odds of the only
    match.

    Parameters
    ----------
    log_odds : array (n_samples, n_first, n_second)
        Positive where the cluster of the second class wins.

    Examples
    --------
    >>> minimax_log_odds(np.array([[[1.0, -1.0], [2.0, -3.0]]]))
    array([1.])
    """
    second = log_odds.min(axis=1).max(axis=1)
    first = log_odds.max(axis=2).min(axis=1)
    return (first + second) / 2


MAX_DENSE_ENTRIES = 1 << 25
"""Numbers in a table up to which rows are copied and left out (256 MB)."""

# The estimator -------------------------------------------------------------------------------


class Clusters(NamedTuple):
    """Clusters inside the classes.

    Attributes
    ----------
    labels : array (n_samples,)
        The cluster of each row.
    classes : array (n_clusters,)
        The class of each cluster.
    """

    labels: Array
    classes: Array


def rival_pairs(classes: Array) -> Array:
    """Pairs of clusters of two classes, in the order of the classes."""
    pairs = combinations(range(len(classes)), 2)
    rivals = [(i, j) for i, j in pairs if classes[i] != classes[j]]
    return np.array(sorted(rivals, key=lambda p: (classes[p[0]], classes[p[1]], p)))


def moments_of_pair(moments: ClassMoments, X: Any, labels: Array, pair: Array) -> ClassMoments:
    """Moments of two clusters, without a d×d matrix where dense rows are fewer than features.

    Parameters
    ----------
    moments : ClassMoments
        Those of all clusters, each with its scatter.
    X : array or sparse matrix (n_samples, n_features)
    labels : array (n_samples,)
        The cluster of each row.
    pair : array of int (2,)
    """
    two = moments.select_classes(pair)
    if two.is_thin or two.n_samples >= two.n_features:
        return two
    members = np.flatnonzero((labels == pair[0]) | (labels == pair[1]))
    rows = LabelledRows(X[members], (labels[members] == pair[1]).astype(int), pair)
    return ClassMoments.from_rows(rows, per_class=True)


def solve_node(node: Any, two: ClassMoments, least: Array) -> tuple[Array, float, float]:
    """The direction, the threshold on it and the slope of the log-odds for a pair of clusters.

    Features whose scatter is at most `least` are numerically constant, and left out. Where the
    means coincide nothing distinguishes the clusters: the larger one wins.
    """
    varying = two.total_diagonal() > least
    W = np.zeros(two.n_features)
    if np.sum(np.diff(two.means, axis=0)[0, varying] ** 2) > least.sum():
        inside = two if varying.all() else two.select_columns(varying)
        solution = node._solve(inside, None, {})
        if solution.W.shape[1]:
            rule = node._add_decision(solution, inside, None).extras["_rule"].linear
            sign, slope = np.sign(rule.coef[0, 0]), abs(rule.coef[0, 0])
            W[varying] = sign * solution.W[:, 0]
            if slope > 0:
                return W, float(W[varying] @ inside.mean) - rule.intercept[0] / slope, slope
    return W, float(np.sign(-np.diff(two.counts))[0]), 0.0


def _nodes_of_rule(
    decision: ClusterDecision, moments: ClassMoments, clusters: Clusters, pairs: Array
) -> Solution:
    """The directions between clusters of one covariance, with the rule that decides."""
    first, second = pairs.T
    linear = decision.linear
    W = (linear.coef[second] - linear.coef[first]).T
    total = np.sum(W * moments.within_apply(W), axis=0)
    total += np.sum((moments.between_rows() @ W) ** 2, axis=0)
    unit = np.sqrt(moments.n_samples / np.where(total > 0, total, moments.n_samples))
    steps = moments.means[second] - moments.means[first]
    rounding = (100 * moments.eps) ** 2 * float(moments.total_diagonal().sum())
    unit[np.sum(steps**2, axis=1) <= rounding] = 0.0  # means that coincide have no direction
    W, signs = W * unit, column_signs(W)
    extras = {
        **_describe(clusters, moments),
        "nodes_": np.where(signs[:, None] > 0, pairs, pairs[:, ::-1]),
        "thresholds_": signs * unit * (linear.intercept[first] - linear.intercept[second]),
        "estimators_": None,
        "_rule": decision.rule,
        "_signs": signs,
        "_slopes": np.ones(len(pairs)),
    }
    rank = span((W * signs).T).coordinates.shape[1]
    return Solution(W * signs, np.sum(W.T * steps, axis=1) ** 2, rank, extras=extras)


def _describe(clusters: Clusters, moments: ClassMoments) -> dict[str, Any]:
    """The fitted attributes that show the clusters."""
    return {
        "selection_": {},
        "cluster_labels_": clusters.labels,
        "cluster_classes_": clusters.classes,
        "cluster_means_": moments.means,
        "cluster_counts_": moments.counts.astype(int),
    }


class MixtureIPCAC(ClassifierMixin, SubspaceEstimator):
    """Classification of classes made of clusters: every pair of clusters by one cut, then a jury.

    The rows of each class are clustered, the number of clusters being found from the data. For
    every pair of clusters of different classes there is a node: the direction ``w`` of
    `TruncatedIPCAC` or `IPCAC` for these two, and a threshold. A row is put to all nodes; of two
    classes that one wins whose clusters win more of their matches, a cluster that wins all of
    them outweighing many that win most (P-IPCAC, a network of three layers). Boundaries are made
    of hyperplanes, and prediction takes one matrix product.

    Parameters
    ----------
    max_clusters : int
        The most clusters that a class is cut into; 1 makes every class one cluster.
    em : "auto" or bool
        Reassign rows by expectation maximisation of Gaussians that start from the clusters.
        Needs dense rows. "auto" does so where every cluster has five rows for each feature.
    merge : "auto", "region", "sigma", float or False
        Join clusters of a class when the mean of one is near the other, by Mahalanobis' distance:
        within the region that holds 99.7 % of a Gaussian in all dimensions, within three standard
        deviations, as on a line, or within a number of them. "auto" joins clusters that gain
        nothing over one Gaussian of any shape (Bayes' information criterion) where their rows show
        the shape, n at least d (d + 1) / 4, else by three standard deviations; and it does not cut
        what is one such Gaussian. True is "auto".
    node : "auto", "truncated", "ipcac" or estimator
        How two clusters are separated. "auto" takes every cluster for a Gaussian, all with one
        covariance or each with its own, and the class by the densities of its clusters: rows left
        out choose which, the ridge, whether a class is one cluster, and calibrate. The others are
        the jury of the source, as where rows have no spread: `TruncatedIPCAC`, which needs no more
        rows than features, `IPCAC`, which whitens everything, or any classifier of
        two classes, cloned and fitted to the rows of each pair of clusters. One of the two with a
        threshold that needs moments only is found from those.
    priors : array (n_classes,) or None
        Class probabilities for ``node="auto"``; None takes the proportions in the training data.
    random_state : int, RandomState or None
        Where k-means starts.

    Attributes
    ----------
    cluster_labels_ : array (n_samples,)
        The cluster of each training row.
    cluster_classes_ : array (n_clusters,)
        The class of each cluster, as a number in ``classes_``; clusters are sorted by it.
    cluster_means_ : array (n_clusters, n_features)
    cluster_counts_ : array (n_clusters,)
        Rows of each cluster.
    nodes_ : array (n_nodes, 2)
        The two clusters of each node; its direction points from the first to the second.
    components_ : array (n_nodes, n_features)
        The directions, zero for clusters whose means coincide. Those of the source have unit
        variance over the rows of both clusters, those of "auto" over all rows. There are none,
        and no thresholds, with nodes of another kind.
    thresholds_ : array (n_nodes,)
        Where the centred projections on the directions are cut.
    estimators_ : list of classifiers or None
        Nodes of another kind, fitted to the rows of two clusters, which they call 0 and 1.
    explained_ratio_ : array (n_nodes,)
        Share of each node in the sum of the distances that nodes put between means, over the
        variance within.
    mean_, means_, classes_
        As in `FisherDiscriminant`.
    rank_ : int
        Dimensions that the directions span.

    Notes
    -----
    With one cluster in each of two classes the decision is that of `TruncatedIPCAC`, or `IPCAC`.
    Decisions do not depend on the order of the clusters, nor on which class is the first.

    More than two classes: each pair of classes has its jury, the class that wins most of its
    juries is predicted; among equals the scores decide. A class that beats every other is
    predicted.

    k-means and the criterion that counts clusters take the spread of all features alike: scale
    them first where their units differ.

    References
    ----------
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), section 5.4.
    Pelleg and Moore, X-means: extending k-means with efficient estimation of the number of
    clusters, ICML (2000).

    Examples
    --------
    >>> from separatrix import IPCAC, MixtureIPCAC, datasets
    >>> bunch = datasets.make_gaussian_mixtures(50, 40, e=0.7, random_state=0)
    >>> model = MixtureIPCAC(random_state=0).fit(bunch.data, bunch.target)
    >>> np.bincount(model.cluster_classes_)
    array([4, 4])
    >>> model.score(bunch.data, bunch.target) > 0.95
    True
    >>> IPCAC().fit(bunch.data, bunch.target).score(bunch.data, bunch.target) < 0.7
    True
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "max_clusters": (whole_number(1),),
        "em": (one_of("auto"), YES_OR_NO),
        "merge": (
            one_of("auto", "region", "sigma"),
            YES_OR_NO,
            real_number(0, open_low=True),
        ),
        "node": (
            one_of("auto", "truncated", "ipcac"),
            Allowed(lambda v: isinstance(v, BaseEstimator) and is_classifier(v), "a classifier"),
        ),
        "priors": (one_of(None), array_like()),
    }
    _rule: Any
    priors_: Any
    _signs: Array
    _slopes: Any
    cluster_classes_: Array
    cluster_counts_: Array
    cluster_labels_: Any
    cluster_means_: Array
    estimators_: Any
    nodes_: Any
    thresholds_: Any

    def __init__(
        self,
        max_clusters: int = 10,
        *,
        em: bool | str = "auto",
        merge: bool | float | str = "auto",
        node: Any = "auto",
        priors: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.max_clusters = max_clusters
        self.em = em
        self.merge = merge
        self.node = node
        self.priors = priors
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the clusters and the nodes that separate them.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            rows = self._validate(X, y)
            check_finite(rows.X, rows.feature_names)
            check_entries(rows.X)
            n_samples, n_features = rows.X.shape
            with threads_for(n_samples * n_features * (n_samples + n_features)):
                clusters, decision = self._find_clusters(rows), None
                if self.node == "auto" and n_samples * n_features <= MAX_DENSE_ENTRIES:
                    decision, clusters = self._decide_by_clusters(rows, clusters)
                numbers = np.arange(len(clusters.classes))
                by_cluster = LabelledRows(rows.X, clusters.labels, numbers)
                moments = ClassMoments.from_rows(by_cluster, per_class=True)
                selected = {"clusters": clusters, "decision": decision}
                solution = self._solve(moments, rows, selected)
            self._store(moments.join_classes(rows.classes, clusters.classes), solution)
        return self

    def _find_clusters(self, rows: LabelledRows) -> Clusters:
        rng = check_random_state(self.random_state)
        labels = np.empty(len(rows.codes), dtype=int)
        classes: list[int] = []
        for c in range(len(rows.classes)):
            members = rows.codes == c
            own = self._split_class(rows.X[members], rng)
            labels[members] = len(classes) + own
            classes += [c] * (int(own.max()) + 1)
        return Clusters(labels, np.array(classes))

    def _split_class(self, X: Any, rng: np.random.RandomState) -> Array:
        """Clusters of the rows of one class."""
        if sp.issparse(X):  # an offset would cost the digits of products
            X, _ = shift_full_columns(sp.csr_array(X, dtype=np.float64, copy=True))
        merge = "auto" if self.merge is True else self.merge
        labels = x_means(X, self.max_clusters, rng, shaped=merge == "auto")
        if self._reassigns(X, labels):
            labels = em_clusters(X, labels, rng)
        return labels if merge is False else merged_clusters(X, labels, merge)

    def _reassigns(self, X: Any, labels: Array) -> bool:
        """Whether rows are reassigned by expectation maximisation."""
        if self.em != "auto":
            if self.em and sp.issparse(X):
                raise ValueError('em=True needs dense rows: use em="auto", or X.toarray()')
            return bool(self.em)
        enough = np.bincount(labels).min() >= MIN_EM_ROWS_PER_FEATURE * X.shape[1]
        return bool(enough and not sp.issparse(X))

    def _decide_by_clusters(
        self, rows: LabelledRows, clusters: Clusters
    ) -> tuple[ClusterDecision | None, Clusters]:
        """The rule of Gaussian clusters, with the clusters or with one for each class."""
        given = check_priors(self.priors, rows.classes)
        counts = np.bincount(rows.codes)
        priors = counts / counts.sum() if given is None else given
        X = rows.X.toarray() if sp.issparse(rows.X) else np.asarray(rows.X)
        X = X - X.mean(axis=0, dtype=np.float64)
        clusterings = [(clusters.labels, clusters.classes)]
        if len(clusters.classes) > len(counts):
            clusterings.append((rows.codes, np.arange(len(counts))))
        decision = best_cluster_rule(X, rows.codes, priors, clusterings)
        if decision is None:
            return None, clusters
        return decision, Clusters(decision.labels, decision.rule.classes)

    def _make_node(self) -> Any:
        """The classifier of two clusters, not fitted."""
        if isinstance(self.node, str):
            settings: dict[str, Any] = {"threshold": "mahalanobis", "keep_moments": False}
            if self.node == "ipcac":
                return IPCAC(**settings)
            return TruncatedIPCAC("log2", **settings)
        return clone(self.node).set_params(keep_moments=False, priors=None)

    def _needs_rows(self) -> bool:
        """Whether nodes look at the rows of two clusters, not only at their moments."""
        node = self.node
        if isinstance(node, IPCAC | TruncatedIPCAC):
            return node.threshold not in FROM_MOMENTS
        return not isinstance(node, str)

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        """The directions of all nodes, each from the moments of its two clusters alone."""
        clusters = selected["clusters"]
        pairs = rival_pairs(clusters.classes)
        if selected["decision"] is not None:
            return _nodes_of_rule(selected["decision"], moments, clusters, pairs)
        if self._needs_rows():
            return self._fit_nodes(moments, rows, clusters, pairs)
        W = np.zeros((moments.n_features, len(pairs)))
        thresholds, criterion = np.zeros(len(pairs)), np.zeros(len(pairs))
        # squares of sparse rows are differences of squares: half the digits
        relative = (100 * moments.eps) ** (1 if moments.holds_sparse_rows else 2)
        least = relative * moments.total_diagonal()
        for k, pair in enumerate(pairs):
            two = moments_of_pair(moments, rows.X, clusters.labels, pair)
            W[:, k], thresholds[k], criterion[k] = solve_node(self._make_node(), two, least)
        signs = column_signs(W)
        extras = {
            **_describe(clusters, moments),
            "nodes_": np.where(signs[:, None] > 0, pairs, pairs[:, ::-1]),
            "thresholds_": signs * (thresholds - moments.mean @ W),
            "estimators_": None,
            "_rule": None,
            "_signs": signs,
            "_slopes": criterion,
        }
        rank = span((W * signs).T).coordinates.shape[1]
        return Solution(W * signs, criterion, rank, extras=extras)

    def _fit_nodes(
        self, moments: ClassMoments, rows: LabelledRows, clusters: Clusters, pairs: Array
    ) -> Solution:
        """Classifiers of the rows of two clusters: no directions, only verdicts."""
        nodes = []
        for i, j in pairs:
            members = np.flatnonzero((clusters.labels == i) | (clusters.labels == j))
            labels = (clusters.labels[members] == j).astype(int)
            nodes.append(clone(self.node).fit(rows.X[members], labels))
        extras = {
            **_describe(clusters, moments),
            "nodes_": pairs,
            "thresholds_": np.zeros(0),
            "estimators_": nodes,
            "_rule": None,
            "_signs": np.ones(len(pairs)),
            "_slopes": np.ones(len(pairs)),
        }
        return Solution(np.zeros((moments.n_features, 0)), np.zeros(0), 0, extras=extras)

    def _without_directions(self, solution: Solution) -> str:
        if solution.extras["estimators_"] is not None:
            return ""  # they judge without any
        return super()._without_directions(solution)

    @property
    def _n_features_out(self) -> int:
        return len(self.nodes_)

    def transform(self, X: ArrayLike) -> Array:
        """Project rows on the directions; nodes of another kind say how firmly they decide.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to project.

        Returns
        -------
        array (n_samples, n_nodes)
            ``(X - mean_) @ components_.T``; with `estimators_` their log-odds of the second
            cluster, or their scores where they have no probabilities.
        """
        if self.estimators_ is None:
            return self._project(X)
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        return self._margins(rows).astype(rows.dtype)

    def _margins(self, rows: Any) -> Array:
        """How far rows lie on the side of the second cluster of each node, in double precision."""
        if self.estimators_ is not None:
            return np.column_stack([judge_pair(judge, rows, 1) for judge in self.estimators_])
        Z = centred_product(rows, self.mean_, self.components_.T)
        return np.asarray(self._signs * (Z.astype(np.float64) - self.thresholds_))

    def _judge(self, X: ArrayLike) -> tuple[Array, Array]:
        """Verdicts and log-odds of the second class of all pairs of classes, (n, n_pairs)."""
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        n_clusters = np.bincount(self.cluster_classes_)
        sizes = [
            (n_clusters[a], n_clusters[b]) for a, b in combinations(range(len(n_clusters)), 2)
        ]
        ends = np.cumsum([first * second for first, second in sizes])
        verdicts, log_odds = np.empty((2, rows.shape[0], len(sizes)))
        slopes = getattr(self, "_slopes", np.ones(len(self.nodes_)))  # older models have none
        for block in row_blocks(rows.shape[0], len(self.nodes_)):
            margins = self._margins(rows[block])
            matches = [np.split(m, ends[:-1], axis=1) for m in (margins, slopes * margins)]
            for k, (won, odds) in enumerate(zip(*matches, strict=True)):
                verdicts[block, k] = jury(won.reshape(len(won), *sizes[k]))
                log_odds[block, k] = minimax_log_odds(odds.reshape(len(odds), *sizes[k]))
        return verdicts, side_with(verdicts, log_odds)

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of the classes.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of ``classes_[1]``, positive where its jury decides for
            it; for more the number of juries that each class wins, plus less than a third for its
            scores.
        """
        if getattr(self, "_rule", None) is not None:
            scores = self._class_scores(X)
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        verdicts, log_odds = self._judge(X)
        return log_odds[:, 0] if len(self.classes_) == 2 else wins_and_scores(verdicts)

    def _class_scores(self, X: ArrayLike) -> Array:
        """Log-posteriors of the classes up to a common term, by the rule of all clusters."""
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        scores = np.empty((rows.shape[0], len(self.classes_)))
        for block in row_blocks(rows.shape[0], rows.shape[1] + len(self.cluster_classes_)):
            scores[block] = self._rule.scores(rows[block], self.mean_)
        return scores

    def predict(self, X: ArrayLike) -> Array:
        """The class of the largest score; a tie goes to the class that sorts first."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        if getattr(self, "_rule", None) is not None:
            return log_softmax(self._class_scores(X), axis=1)
        verdicts, log_odds = self._judge(X)
        if len(self.classes_) == 2:
            return np.column_stack([log_expit(-log_odds[:, 0]), log_expit(log_odds[:, 0])])
        winners = wins_and_scores(verdicts).argmax(axis=1)
        margins = np.zeros((len(log_odds), len(self.classes_), len(self.classes_)))
        for k, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            margins[:, b, a], margins[:, a, b] = log_odds[:, k], -log_odds[:, k]
        return couple_pairs(margins, winners)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes, from the log-odds of the nodes that decide.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples, n_classes)
            The class that is predicted has the largest. More than two classes have the product of
            their probabilities against each other class, to a sum of one.
        """
        return np.exp(self.predict_log_proba(X))
