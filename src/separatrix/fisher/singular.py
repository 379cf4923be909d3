"""Discriminants for more features than samples: null space, direct, generalized SVD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from separatrix._warnings import warn_caller
from separatrix.base.estimator import Rows
from separatrix.base.parameters import N_COMPONENTS, Allowed, real_number
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.fisher.directions import (
    fisher_directions,
    nominal_scatter,
    order_by_scatter,
    rank_of_means,
    split_within,
    summation_order,
)
from separatrix.linalg import Array, GeneralizedSVD, gsvd, numerical_rank, scatter_eps
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import reduce_to_span


def _unit_free_gsvd(Hb: Array, Hw: Array) -> GeneralizedSVD:
    """`gsvd` that does not see the units of features, when there are rows for all of them."""
    if len(Hw) < Hw.shape[1]:
        return gsvd(Hb, Hw)
    scale = np.sqrt(np.sum(Hb**2, axis=0) + np.sum(Hw**2, axis=0))
    scale[scale == 0] = 1.0
    alpha, beta, G = gsvd(Hb / scale, Hw / scale)
    return GeneralizedSVD(alpha, beta, G / scale[:, None])


class NullSpaceDiscriminant(SubspaceClassifier):
    """Directions along which each training class shrinks to a point, and the points lie far apart.

    Maximises ``tr Wᵀ Sb W`` subject to ``Sw W = 0`` and ``Wᵀ W = I`` (null-space LDA). It is made
    for more features than samples; the decision is the nearest class mean.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Orthonormal directions, by descending scatter between classes.
    explained_ratio_ : array (n_components,)
        Share of each in the scatter between classes within the null space.
    uses_null_space_ : bool
        False when Sw has no null space in the span of the data: the directions are then Fisher's,
        as in the published method, and a warning says so.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`.

    Notes
    -----
    The projected training rows of a class coincide: ``components_ @ Sw @ components_.T = 0``.

    References
    ----------
    Chen, Liao, Ko, Lin and Yu, A new LDA-based face recognition system which can solve the small
    sample size problem, Pattern Recognition 33 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import NullSpaceDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(12, 100)), np.repeat(["a", "b", "c"], 4)
    >>> Z = NullSpaceDiscriminant().fit_transform(X, y)
    >>> Z.shape, bool(np.ptp(Z[:4], axis=0).max() < 1e-9)
    ((12, 2), True)
    """

    uses_null_space_: bool

    _accepts_blocks = True

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        small, lift = reduce_to_span(moments)
        Sw, Hb = small.Sw, small.between_rows()
        eps = scatter_eps(moments.eps, moments.n_samples, len(Sw))
        W, between, rank, _ = split_within(Sw, Hb, eps)
        uses_null_space = len(between) > 0
        if uses_null_space:
            solution = Solution(W, between, rank, within=nominal_scatter(between, W, W))
        else:
            warn_caller(
                "the within-class scatter has no null space in these data (there are more samples "
                "than features): NullSpaceDiscriminant uses Fisher's directions instead"
            )
            solution = fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
        solution = solution.with_extras(uses_null_space_=uses_null_space)
        return self._keep_wanted(solution, lift, moments, selected)


class DirectDiscriminant(SubspaceClassifier):
    """Directions in the span of the class means, with the least scatter within classes.

    Direct LDA: whitens Sb in its range, then diagonalises Sw there, so that no matrix larger than
    the number of classes is decomposed. With ``regularization`` ν > 0 the criterion is
    ``wᵀ Sb w / wᵀ (ν Sb + Sw) w`` (regularised direct LDA).

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.
    regularization : float
        ν. It changes how directions are scaled against each other, which matters to what
        follows `transform`. It changes neither the space they span nor the decision of
        `predict`, which looks at the scatter of the projected rows; with two classes it only
        changes the length of the one direction.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending criterion.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the criterion.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`; `rank_` is that of Sb.

    Notes
    -----
    ``components_ @ (ν Sb + Sw) @ components_.T`` is the identity, and the components span class
    mean differences: they lie in the range of Sb. Directions without scatter within classes keep
    ``wᵀ Sb w = 1``.

    References
    ----------
    Yu and Yang, A direct LDA algorithm for high-dimensional data, Pattern Recognition 34 (2001).
    Lu, Plataniotis and Venetsanopoulos, Regularization studies of linear discriminant analysis in
    small sample size scenarios, Pattern Recognition Letters 26 (2005).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import DirectDiscriminant
    >>> X, y = load_digits(return_X_y=True)
    >>> DirectDiscriminant().fit(X, y).components_.shape
    (9, 64)
    """

    _accepts_blocks = True
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "regularization": (real_number(0),),
    }

    def __init__(
        self, n_components: int | str | None = None, *, regularization: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        _, s, Vt = np.linalg.svd(moments.between_rows(), full_matrices=False)
        rank = rank_of_means(s, moments)
        Y = Vt[:rank].T / s[:rank]
        within, U = np.linalg.eigh(moments.project(Y).Sw) if rank else (s[:0], Vt[:0, :0])
        within = within.clip(0.0)
        denominator = self.regularization + within
        least = rank * scatter_eps(moments.eps, moments.n_samples, rank)
        present = denominator > least * max(1.0, denominator.max(initial=0.0))
        with np.errstate(divide="ignore"):
            criterion = np.where(present, 1 / denominator, np.inf)
        W = Y @ U / np.sqrt(np.where(present, denominator, 1.0))
        # a direction without scatter has wᵀ Sb w = 1, and decisions assume 1e-9 of that
        scatter = np.where(present, within / np.where(present, denominator, 1.0), 1e-9)
        solution = Solution(W, criterion, rank, within=np.diag(scatter))
        return self._keep_wanted(solution, lambda W: W, moments, selected)


class GSVDDiscriminant(SubspaceClassifier):
    """Fisher's directions by the generalized singular value decomposition of the scatter factors.

    Diagonalises ``Sb = HbᵀHb`` and ``Sw = HwᵀHw`` together from the factors Hb and Hw, without
    forming either product and whatever their ranks (LDA/GSVD). It finds the directions of
    `FisherDiscriminant`, keeps the digits that squaring the data costs, and is slower.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending ``alpha_ / beta_``.
    alpha_, beta_ : array (n_components,)
        ``wᵀ Sb w = alpha_²`` and ``wᵀ Sw w = beta_²``, with ``alpha_² + beta_² = 1``.
    explained_ratio_ : array (n_components,)
        As in `FisherDiscriminant`.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`; `rank_` is that of Sb seen from the joint range.

    Notes
    -----
    ``components_ @ St @ components_.T`` is the identity, and the components diagonalise Sb and Sw.

    References
    ----------
    Howland and Park, Generalizing discriminant analysis using the generalized singular value
    decomposition, IEEE TPAMI 26 (2004).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GSVDDiscriminant
    >>> model = GSVDDiscriminant().fit(*load_iris(return_X_y=True))
    >>> model.alpha_**2 + model.beta_**2
    array([1., 1.])
    """

    alpha_: Array
    beta_: Array

    _accepts_blocks = True
    _accepts_sparse = False

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _summarize(self, rows: LabelledRows) -> ClassMoments:
        return ClassMoments.from_rows(rows, factored=True)

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        Hb, Hw = moments.between_rows(), moments.within_factor()
        alpha, beta, G = _unit_free_gsvd(Hb, Hw)
        order = summation_order(moments.n_samples, *Hb.shape)
        most = numerical_rank(alpha, order, largest=1.0)
        alpha, beta, G = alpha[:most], beta[:most], G[:, :most]
        n_perfect = len(beta) - numerical_rank(beta, max(Hb.shape), largest=1.0, eps=moments.eps)
        # along perfect directions alpha is 1 for all of them: order those as Fisher does
        perfect, between = order_by_scatter(np.linalg.qr(G[:, :n_perfect])[0], Hb)
        G = np.hstack([perfect / np.sqrt(between), G[:, n_perfect:]])
        beta[:n_perfect] = 0.0
        rest = (alpha / np.where(beta > 0, beta, 1.0))[n_perfect:] ** 2
        criterion = np.concatenate([between, np.zeros_like(rest) if n_perfect else rest])
        within = np.diag(beta**2) + nominal_scatter(between, perfect, G)
        solution = Solution(G, criterion, len(alpha), within=within)
        solution = self._keep_wanted(solution, lambda W: W, moments, selected)
        k = solution.W.shape[1]
        return solution.with_extras(alpha_=alpha[:k], beta_=beta[:k])
