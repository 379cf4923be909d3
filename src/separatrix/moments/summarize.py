"""From rows to statistics: dense, sparse, wide, tall."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import gen_batches
from threadpoolctl import ThreadpoolController

from separatrix.linalg import ONE_AT_A_TIME, Array, SingularMatrixError, cholesky_whitener
from separatrix.moments.checks import precision
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import (
    LabelledRows,
    block_rows,
    full_columns_shifted,
    indicator,
    mean_of_rows,
)
from separatrix.moments.scatter import Scatter, SparseRows

THREADED_FROM = 1 << 30
"""Multiplications (samples × features²) from which the rows are shared among threads."""


# From rows to statistics ---------------------------------------------------------------------


def _summarise_tall(
    X: Array, codes: Array, weights: Array | None, classes: Array, per_class: bool
) -> ClassMoments:
    """More rows than features: multiplied in their own precision where that is enough.

    Products of float32 rows are twice as fast in float32. Where the scatter is then so badly
    conditioned that rounding hides directions, the rows are multiplied again in float64.
    """
    moments = _summarise_in_shares(X, codes, weights, classes, per_class, X.dtype)
    if X.dtype == np.float64:
        return moments
    Sw = moments.Sw
    varies = np.diagonal(Sw) > 0
    try:
        cholesky_whitener(Sw[np.ix_(varies, varies)], eps=moments.eps)
    except (SingularMatrixError, np.linalg.LinAlgError, ValueError):
        return _summarise_in_shares(X, codes, weights, classes, per_class, np.float64)
    return moments


def _summarise_in_shares(
    X: Array,
    codes: Array,
    weights: Array | None,
    classes: Array,
    per_class: bool,
    dtype: DTypeLike,
) -> ClassMoments:
    """Shares of the rows summarised in parallel, then added."""
    n_samples, n_features = X.shape

    def summarise(part: slice) -> ClassMoments:
        w = None if weights is None else weights[part]
        return _summarise_share(X[part], codes[part], w, classes, per_class, dtype)

    if n_samples * n_features**2 < THREADED_FROM or not ONE_AT_A_TIME.acquire(blocking=False):
        return summarise(slice(0, n_samples))
    # one thread a share, each with a BLAS of one thread: the centring runs in parallel too
    try:
        blas = ThreadpoolController().select(user_api="blas")
        n_threads = max((library["num_threads"] for library in blas.info()), default=1)
        shares = gen_batches(n_samples, -(-n_samples // n_threads))
        with blas.limit(limits=1), ThreadPoolExecutor(n_threads) as pool:
            first, *rest = pool.map(summarise, shares)
    finally:
        ONE_AT_A_TIME.release()
    return sum(rest, start=first)


def _summarise_share(
    X: Array,
    codes: Array,
    weights: Array | None,
    classes: Array,
    per_class: bool,
    dtype: DTypeLike,
) -> ClassMoments:
    """Blocks of rows, each centred on the class means so far and multiplied with itself.

    With Z the rows less the means m so far, of counts n, and δ the mean of Z in a class of b new
    rows, the scatter grows by ``ZᵀZ - b²/(n + b) δδᵀ`` and the mean by ``b/(n + b) δ``.
    """
    n_features, n_classes = X.shape[1], len(classes)
    origin = X[0].astype(np.float64)
    counts = np.zeros(n_classes)
    offsets = np.zeros((n_classes, n_features))
    matrices = np.zeros((n_classes if per_class else 1, n_features, n_features))
    # memory for every block, so that none is spent on asking for more
    some = min(len(X), max(1024, block_rows(n_features)))
    centred = np.empty((some, n_features), dtype)
    product = np.empty((n_features, n_features), dtype)
    excess: list[Array] = []
    for block in gen_batches(len(X), some):
        rows = LabelledRows(
            X[block], codes[block], None if weights is None else weights[block], n_classes
        )
        fresh = (counts == 0) & (rows.counts > 0)
        if fresh.any():
            offsets[fresh] = rows.sums(rows.X - origin)[fresh] / rows.counts[fresh, None]
        centres = (origin + offsets).astype(dtype)
        offsets = centres - origin  # exactly what is subtracted from the rows
        Z = np.take(centres, rows.codes, axis=0, out=centred[: len(rows.X)], mode="clip")
        np.subtract(rows.X, Z, out=Z)
        total = counts + rows.counts
        shift = rows.sums(Z) / np.where(rows.counts > 0, rows.counts, 1.0)[:, None]
        share = rows.counts / np.where(total > 0, total, 1.0)
        excess.append(np.sqrt(rows.counts * share)[:, None] * shift)
        rows.add_products(matrices, Z, product)
        offsets += share[:, None] * shift
        counts = total
        if len(excess) * n_classes > some:
            _subtract_products(matrices, excess)
    _subtract_products(matrices, excess)
    scatters = [Scatter(n_features, matrix) for matrix in matrices]
    eps = float(np.finfo(dtype).eps)
    return ClassMoments(classes, counts, offsets, origin, scatters, per_class=per_class, eps=eps)


def _subtract_products(matrices: Array, excess: list[Array]) -> None:
    """Take ``eᵀe`` of all excess rows from one matrix, or class by class; the list is emptied."""
    if excess:
        by_class = np.stack(excess, axis=1)
        for matrix, e in zip(matrices, by_class if len(matrices) > 1 else [by_class], strict=True):
            rows = e.reshape(-1, matrix.shape[0])
            matrix -= rows.T @ rows
        excess.clear()


def _summarise_wide(
    X: Array,
    codes: Array,
    weights: Array | None,
    classes: Array,
    per_class: bool,
    factored: bool = False,
) -> ClassMoments:
    """Fewer rows than features: the centred rows themselves are the factor of the scatter.

    They are kept class by class. The means are found in two passes, the second of what the first
    has left, so that an offset costs no digits.
    """
    origin = X[0].astype(np.float64)
    counts = LabelledRows(X, codes, weights, len(classes)).counts
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(classes)))
    members = np.split(order, ends[:-1])
    centre = np.zeros((len(classes), X.shape[1]))
    Z = np.empty(X.shape)
    for c, rows in enumerate(members):
        if len(rows):
            w = np.ones(len(rows)) if weights is None else weights[rows]
            centre[c] = mean_of_rows(X, rows, w, Z[ends[c] - len(rows) : ends[c]], origin)
    if weights is not None:
        Z *= np.sqrt(weights[order])[:, None]
    blocks = np.split(Z, ends[:-1]) if per_class else [Z]
    scatters = [Scatter(X.shape[1], None, [(1.0, block)], factored=factored) for block in blocks]
    return ClassMoments(
        classes, counts, centre, origin, scatters, per_class=per_class, eps=precision(X)
    )


def _summarise_factored(
    X: Array, codes: Array, weights: Array | None, classes: Array, per_class: bool
) -> ClassMoments:
    """A QR of each block of centred rows under what the others have left, no product."""
    some = max(block_rows(X.shape[1]), 2 * X.shape[1])  # enough for a QR to be worth its while

    def summarise(part: slice) -> ClassMoments:
        w = None if weights is None else weights[part]
        return _summarise_wide(X[part], codes[part], w, classes, per_class, factored=True)

    return reduce(add, (summarise(part) for part in gen_batches(len(X), some)))


def _summarise_by_means(
    X: Array, codes: Array, weights: Array | None, classes: Array, per_class: bool
) -> ClassMoments:
    """Counts and means, for methods that look at the rows themselves; the scatter is empty."""
    rows = LabelledRows(X, codes, weights, len(classes))
    counts = rows.counts
    # from a row of the data: the mean of equal rows is then that row, to the last digit
    origin = X[0].astype(np.float64)
    offsets = rows.sums(X - origin) / np.where(counts > 0, counts, 1.0)[:, None]
    scatters = [Scatter(X.shape[1])] * (len(classes) if per_class else 1)
    return ClassMoments(
        classes, counts, offsets, origin, scatters, per_class=per_class, eps=precision(X)
    )


def _summarise_sparse(
    X: Any, codes: Array, weights: Array | None, classes: Array, per_class: bool
) -> ClassMoments:
    """The sparse rows as they are, with the averages to be taken off."""
    eps, n_features = precision(X), X.shape[1]
    X, origin = full_columns_shifted(sp.csr_array(X, dtype=np.float64, copy=True))
    rows = LabelledRows(X, codes, weights, len(classes))
    counts = rows.counts
    means = rows.sums(X).toarray() / np.where(counts > 0, counts, 1.0)[:, None]
    root = np.ones(len(codes)) if weights is None else np.sqrt(weights)
    S = sp.csr_array(sp.diags_array(root) @ X)
    share = root / np.sqrt(np.where(counts > 0, counts, 1.0))[codes]
    E = sp.csr_array(indicator(codes, share, len(classes), np.float64))
    blocks = [SparseRows(S, E)]
    if per_class:
        members = [np.flatnonzero(codes == c) for c in range(len(classes))]
        blocks = [SparseRows(S[m], E[[c]][:, m]) for c, m in enumerate(members)]
    scatters = [Scatter(n_features, None, [(1.0, block)]) for block in blocks]
    return ClassMoments(classes, counts, means, origin, scatters, per_class=per_class, eps=eps)
