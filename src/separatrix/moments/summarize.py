"""From rows to statistics: tall, wide, sparse, factored, or means alone.

The functions return the parts of which `ClassMoments` are made. Means are differences from a row
of the data, the origin, so that an offset common to all rows costs no digits; `ClassMoments`
moves the origin to the mean, as no row is to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import gen_batches

from separatrix.linalg import Array, SingularMatrixError, cholesky_whitener
from separatrix.linalg.blas import MIN_THREADED_PRODUCTS, blas_threads, map_in_threads
from separatrix.moments.labelled import (
    LabelledRows,
    class_indicator,
    rows_per_block,
    shift_full_columns,
)
from separatrix.moments.scatter import Scatter, SparseRows


class Statistics(NamedTuple):
    """Class statistics of some rows.

    Attributes
    ----------
    counts : array (n_classes,)
        Samples of each class, or sums of their weights.
    offsets : array (n_classes, n_features)
        Class means less the origin.
    origin : array (n_features,)
    scatters : sequence of Scatter
        The scatter within classes: one in all, or one for each class.
    eps : float
        Relative precision in which the rows were multiplied.
    """

    counts: Array
    offsets: Array
    origin: Array
    scatters: Sequence[Scatter]
    eps: float


def summarize(
    rows: LabelledRows,
    *,
    per_class: bool = False,
    scatter: bool = True,
    factored: bool = False,
    dtype: DTypeLike | None = None,
    n_threads: int | None = None,
) -> list[Statistics]:
    """Statistics of stretches of the rows, which add up to those of all.

    Parameters
    ----------
    rows : LabelledRows
    per_class : bool
        Keep the scatter of each class apart.
    scatter : bool
        Without it dense rows are summarized by counts and means alone.
    factored : bool
        Keep the scatter of dense rows as a factor: a product would lose half of the digits.
    dtype : dtype, optional
        Precision of the products of tall dense rows; that of the rows by default.
    n_threads : 1 or None
        None lets as many threads as BLAS has share tall dense rows where they are many.

    Notes
    -----
    Tall dense rows are summarized block by block, each centred on the class means so far and
    multiplied with itself. With Z the rows less the means m so far, of counts n, and δ the mean of
    Z in a class of b new rows, the scatter grows by ``ZᵀZ - b²/(n + b) δδᵀ`` and the mean by
    ``b/(n + b) δ``.
    """
    (n_samples, n_features), n_classes = rows.X.shape, len(rows.classes)
    if sp.issparse(rows.X):
        return [_summarize_sparse(rows, per_class)]
    if not scatter:
        return [_summarize_means(rows, per_class)]
    if factored:
        # enough rows in a block for a QR decomposition to pay
        n = max(rows_per_block(n_features), 2 * n_features)
        return [_summarize_wide(rows.part(p), per_class, True) for p in gen_batches(n_samples, n)]
    if n_samples < n_features:
        return [_summarize_wide(rows, per_class, False)]
    dtype = dtype or rows.X.dtype
    n_products = n_samples * n_features**2
    if n_threads is None and n_products >= MIN_THREADED_PRODUCTS:
        # a stretch for each thread: they centre in parallel, too
        shares = list(gen_batches(n_samples, -(-n_samples // blas_threads())))
        alone = partial(summarize, per_class=per_class, dtype=dtype, n_threads=1)
        parts = map_in_threads(lambda s: alone(rows.part(s)), shares, n_products)
        return [part for (part,) in parts]
    # some row: differences from it lose an offset that all rows share; moved to the mean later
    origin = rows.X[0].astype(np.float64)
    counts, offsets = np.zeros(n_classes), np.zeros((n_classes, n_features))
    matrices = np.zeros((n_classes if per_class else 1, n_features, n_features))
    # buffers of one block, which all blocks use
    n_block = min(n_samples, max(1024, rows_per_block(n_features)))
    centred = np.empty((n_block, n_features), dtype)
    product = np.empty((n_features, n_features), dtype)
    excess: list[Array] = []
    for stretch in gen_batches(n_samples, n_block):
        block = rows.part(stretch)
        added = block.counts
        new = (counts == 0) & (added > 0)
        if new.any():
            # centred on its first mean a class has small deviations from the first block on
            offsets[new] = block.class_sums(block.X - origin)[new] / added[new, None]
        centres = (origin + offsets).astype(dtype)
        offsets = centres - origin  # exactly the numbers that are subtracted from the rows
        Z = np.take(centres, block.codes, axis=0, out=centred[: len(block.X)], mode="clip")
        np.subtract(block.X, Z, out=Z)
        total = counts + added
        # δ, small as the rows are centred already: its square below loses no digits
        shift = block.class_sums(Z) / np.where(added > 0, added, 1.0)[:, None]
        share = added / np.where(total > 0, total, 1.0)
        # b²/(n + b) δδᵀ as rows: subtracted together in one product for many blocks
        excess.append(np.sqrt(added * share)[:, None] * shift)
        _add_products(matrices, block, Z, product)
        offsets += share[:, None] * shift
        counts = total
        if len(excess) * n_classes > n_block:
            _subtract_products(matrices, excess)
    _subtract_products(matrices, excess)
    scatters = [Scatter(n_features, matrix) for matrix in matrices]
    return [Statistics(counts, offsets, origin, scatters, float(np.finfo(dtype).eps))]


def hides_directions(Sw: Array, eps: float) -> bool:
    """Whether directions of a scatter are numerical zero in the precision eps of its products."""
    # constant features are zero exactly, and would fail every factor
    varies = np.diagonal(Sw) > 0
    try:
        cholesky_whitener(Sw[np.ix_(varies, varies)], eps=eps)
    except (SingularMatrixError, np.linalg.LinAlgError, ValueError):
        return True
    return False


def _add_products(matrices: Array, rows: LabelledRows, Z: Array, product: Array) -> None:
    """Add ``ZᵀZ``, of all rows together or class by class; Z and product are overwritten."""
    if rows.weights is not None:
        Z *= np.sqrt(rows.weights).astype(Z.dtype)[:, None]
    if len(matrices) == 1:
        matrices[0] += np.matmul(Z.T, Z, out=product)
        return
    order, ends = _by_class(rows)
    for matrix, Zc in zip(matrices, np.split(Z[order], ends[:-1]), strict=True):
        matrix += np.matmul(Zc.T, Zc, out=product)


def _subtract_products(matrices: Array, excess: list[Array]) -> None:
    """Subtract ``eᵀe`` of all excess rows from one matrix, or by class; the list is emptied."""
    if excess:
        by_class = np.stack(excess, axis=1)
        for matrix, e in zip(matrices, by_class if len(matrices) > 1 else [by_class], strict=True):
            rows = e.reshape(-1, matrix.shape[0])
            matrix -= rows.T @ rows
        excess.clear()


def _by_class(rows: LabelledRows) -> tuple[Array, Array]:
    """The order that sorts rows by class, and where each class ends in it."""
    counts = np.bincount(rows.codes, minlength=len(rows.classes))
    return np.argsort(rows.codes, kind="stable"), np.cumsum(counts)


def _summarize_wide(rows: LabelledRows, per_class: bool, factored: bool) -> Statistics:
    """Fewer rows than features: the centred rows, class by class, are a factor of the scatter."""
    X, weights = rows.X, rows.weights
    origin = X[0].astype(np.float64)
    order, ends = _by_class(rows)
    offsets = np.zeros((len(rows.classes), X.shape[1]))
    Z = np.empty(X.shape)
    by_class = np.split(Z, ends[:-1])
    for c, members in enumerate(np.split(order, ends[:-1])):
        if len(members):
            w = np.ones(len(members)) if weights is None else weights[members]
            if X.dtype == Z.dtype:
                np.take(X, members, axis=0, out=by_class[c], mode="clip")  # without a buffer
            else:
                by_class[c][...] = X[members]
            offsets[c] = _centre_rows(by_class[c], w, origin)
    if weights is not None:
        Z *= np.sqrt(weights[order])[:, None]
    blocks = by_class if per_class else [Z]
    scatters = [Scatter(X.shape[1], None, [(1.0, block)], factored=factored) for block in blocks]
    return Statistics(rows.counts, offsets, origin, scatters, precision_of(X))


def held_order(rows: LabelledRows, per_class: bool) -> Array:
    """The order in which `summarize` holds rows, where it holds them: by class, or as they are."""
    if sp.issparse(rows.X) and not per_class:
        return np.arange(len(rows.codes))
    return _by_class(rows)[0]


def _centre_rows(Z: Array, weights: Array, origin: Array) -> Array:
    """Subtract the mean from rows in place; return it as a difference from the origin.

    The mean is that of the differences from one of the rows: an offset costs no digits, and a
    column that does not vary becomes exactly zero.
    """
    share = weights / weights.sum() if weights.any() else weights
    # a row of positive weight: one of weight zero may be anything
    start = Z[np.argmax(share)].copy()
    Z -= start
    mean = share @ Z
    Z -= mean
    return (start - origin) + mean


def _summarize_means(rows: LabelledRows, per_class: bool) -> Statistics:
    """Counts and means, for methods that look at the rows themselves; the scatter is empty."""
    n_features, counts = rows.X.shape[1], rows.counts
    # from a row of the data: the mean of equal rows is then that row, to the last digit
    origin = rows.X[0].astype(np.float64)
    offsets = rows.class_sums(rows.X - origin) / np.where(counts > 0, counts, 1.0)[:, None]
    scatters = [Scatter(n_features)] * (len(rows.classes) if per_class else 1)
    return Statistics(counts, offsets, origin, scatters, precision_of(rows.X))


def _summarize_sparse(rows: LabelledRows, per_class: bool) -> Statistics:
    """The sparse rows as they are, with the class averages to be subtracted from them."""
    n_features, n_classes, codes = rows.X.shape[1], len(rows.classes), rows.codes
    X, origin = shift_full_columns(sp.csr_array(rows.X, dtype=np.float64, copy=True))
    counts = rows.counts
    means = rows.class_sums(X).toarray() / np.where(counts > 0, counts, 1.0)[:, None]
    # S holds √w x and E the unit vectors √w/√Σw of classes, so that S - Eᵀ E S is centred
    root = np.ones(len(codes)) if rows.weights is None else np.sqrt(rows.weights)
    S = sp.csr_array(sp.diags_array(root) @ X)
    share = root / np.sqrt(np.where(counts > 0, counts, 1.0))[codes]
    E = sp.csr_array(class_indicator(codes, share, n_classes, np.float64))
    blocks = [SparseRows(S, E)]
    if per_class:
        members = [np.flatnonzero(codes == c) for c in range(n_classes)]
        blocks = [SparseRows(S[m], E[[c]][:, m]) for c, m in enumerate(members)]
    scatters = [Scatter(n_features, None, [(1.0, block)]) for block in blocks]
    return Statistics(counts, means, origin, scatters, precision_of(rows.X))


def precision_of(X: Any) -> float:
    """Relative precision of the numbers in X."""
    return float(np.finfo(X.dtype).eps)
