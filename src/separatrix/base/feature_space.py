"""The empirical kernel map: it turns a kernel method into the linear method.

A kernel is an inner product of rows sent to some feature space. The training rows span at most
n dimensions there; in orthonormal coordinates of their span they are ordinary rows Φ, with
``Φ Φᵀ`` the centred kernel matrix. A method whose answer turns with the coordinates finds the same
subspace there as in the feature space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack, solve_triangular

from separatrix.kernels import Kernel, RandomState, SettledKernel
from separatrix.linalg import EPS, Array, numerical_rank, squared_distances, top_eigh, whiten
from separatrix.moments.labelled import class_indicator
from separatrix.selection import draw_rows

MAX_KERNEL_ENTRIES = 1 << 22
"""Largest number of kernel values that are held at once (32 MB)."""

KERNEL_TOLERANCE = 1e-5
"""Largest remainder of an eigenvector of a large kernel matrix, as a share of its eigenvalue. What
it mixes with are neighbours in the spectrum, which whitening treats nearly alike: nine digits of
the directions are right."""

MIN_TRIANGULAR_RCOND = 1e-9
"""Smallest reciprocal condition number, without the last row, at which a Cholesky factor of a
kernel matrix stands for its eigenvectors."""


class KernelMap(NamedTuple):
    """Coordinates in the feature space: ``(k(X, points) - centre) @ basis``.

    Attributes
    ----------
    kernel : SettledKernel
    points : array (n_points, n_features)
        Reference rows, as the kernel takes them.
    centre : array (n_points,)
        Mean kernel value of each with the training rows.
    basis : array (n_points, rank)
        Dual coefficients of the axes.
    """

    kernel: SettledKernel
    points: Any
    centre: Array
    basis: Array

    def project(self, X: Any, *, dtype: Any = None) -> Array:
        """Coordinates of rows, by default in the dtype of X; few kernel values at a time."""
        result = np.empty((X.shape[0], self.basis.shape[1]), dtype or X.dtype)
        made_dense = sp.issparse(X) and not sp.issparse(self.points)
        width = max(len(self.centre), X.shape[1] if made_dense else 0)
        for block in kernel_blocks(X.shape[0], width):
            result[block] = (self.kernel.between(X[block], self.points) - self.centre) @ self.basis
        return result

    def centred_at(self, mean: Array) -> KernelMap:
        """The same coordinates less `mean`."""
        # (k - centre) basis less mean is (k - centre - shift) basis where basisᵀ shift = mean
        shift = np.linalg.lstsq(self.basis.T, mean, rcond=None)[0]
        return self._replace(centre=self.centre + shift)

    def along(self, W: Array) -> KernelMap:
        """The map to coordinates along directions W, given as columns in these coordinates."""
        return self._replace(basis=self.basis @ W)

    def renumbered(self, numbers: Array) -> KernelMap:
        """The same for precomputed values with more rows: its own have these numbers there."""
        return self._replace(points=numbers[self.points])


def kernel_blocks(n_rows: int, n_points: int) -> list[slice]:
    """Slices over rows such that their kernel values with the points are few."""
    size = max(1, MAX_KERNEL_ENTRIES // max(n_points, 1))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


class CentredGram(NamedTuple):
    """Inner products of the training rows in feature space, from their mean there.

    Attributes
    ----------
    kernel : SettledKernel
    points : array (n_samples, n_features)
        The training rows, as the kernel takes them.
    centre : array (n_samples,)
        Mean kernel value of each row.
    matrix : array (n_samples, n_samples)
    largest : float
        The largest kernel value before centring, to which numerical zero is relative.
    """

    kernel: SettledKernel
    points: Any
    centre: Array
    matrix: Array
    largest: float

    def map(self, basis: Array) -> KernelMap:
        """The map with these dual coefficients, a column an axis.

        Coefficients that are all alike say nothing about centred rows: their mean is taken off.
        """
        return KernelMap(self.kernel, self.points, self.centre, basis - basis.mean(axis=0))

    def principal_axes(self, k: int, *, tol: float | None = None) -> tuple[Array, Array]:
        """The largest eigenpairs, at most k, without numerical zeros and those below `tol`."""
        most = min(k, max(len(self.matrix) - 1, 1))  # centred rows sum to zero: the last is zero
        return _leading_pairs(self.matrix, most, self.largest, tol)

    def empirical_map(self, *, tol: float | None = None) -> tuple[KernelMap, Array]:
        """The exact `empirical_kernel_map`."""
        n_samples = len(self.matrix)
        evals, U = self.principal_axes(n_samples, tol=tol)
        if len(evals) == 0:
            return self.map(np.zeros((n_samples, 1))), np.zeros((n_samples, 1))
        return self.map(U / np.sqrt(evals)), U * np.sqrt(evals)

    def triangular_map(self) -> TriangularMap | None:
        """Other orthonormal coordinates of the same space, at a fifteenth of the cost, or None.

        None where n - 1 eigenvalues might not all be large enough.
        """
        K = self.matrix[:-1, :-1]
        if len(K) == 0:
            return None
        norm = float(np.linalg.norm(K, 1))
        L, failed = lapack.dpotrf(K, lower=1, clean=1)
        # smallest eigenvalue allowed: by condition, and by the rounding of the largest kernel
        # value
        least = max(MIN_TRIANGULAR_RCOND * norm, len(self.matrix) * EPS * self.largest)
        if failed or not lapack.dpocon(L, norm, uplo="L")[0] * norm > least:
            return None
        return TriangularMap(self, L)

    def span(self, A: Array, KA: Array) -> tuple[KernelMap, Array]:
        """Orthonormal coordinates of the span of a few directions, and the training rows there.

        Parameters
        ----------
        A : array (n_samples, k)
            Dual coefficients of the directions, each column summing to zero.
        KA : array (n_samples, k)
            The matrix times A: the rows along the directions.
        """
        # AᵀKA holds the inner products of the directions in feature space
        to_orthonormal = whiten(A.T @ KA)
        if to_orthonormal.shape[1] == 0:
            to_orthonormal = np.zeros((A.shape[1], 1))
        return self.map(A @ to_orthonormal), KA @ to_orthonormal


class TriangularMap(NamedTuple):
    """Coordinates by a Cholesky factor of the centred kernel matrix without its last row.

    Centred rows sum to zero: the last one is known by the others. With ``K̃ = L Lᵀ`` of these the
    rows of L are the rows, and the dual coefficients of the axes ``L⁻ᵀ``.

    Attributes
    ----------
    gram : CentredGram
        Of n rows that span n - 1 dimensions.
    L : array (n - 1, n - 1)
    """

    gram: CentredGram
    L: Array

    @property
    def rows(self) -> Array:
        """The training rows (n, n - 1)."""
        return np.vstack([self.L, -self.L.sum(axis=0)])

    def along(self, W: Array) -> KernelMap:
        """The map to coordinates along directions W, given as columns in these coordinates."""
        duals = np.zeros((len(self.L) + 1, W.shape[1]))
        duals[:-1] = solve_triangular(self.L, W, lower=True, trans="T", check_finite=False)
        return self.gram.map(duals)

    def renumbered(self, numbers: Array) -> TriangularMap:
        """As in `KernelMap`."""
        return self._replace(gram=self.gram._replace(points=numbers[self.gram.points]))


def _leading_pairs(K: Array, k: int, largest: float, tol: float | None) -> tuple[Array, Array]:
    """Eigenpairs above numerical zero, relative to the `largest` kernel value, and above `tol`."""
    evals, U = top_eigh(K, k, tol=KERNEL_TOLERANCE)
    first = float(np.max(evals, initial=0.0))
    eps = float(np.finfo(K.dtype).eps)
    rank = numerical_rank(evals, len(K), largest=max(first, largest), eps=eps)
    if tol is not None:
        rank = min(rank, numerical_rank(evals, 1, largest=first, eps=tol))
    return evals[:rank], U[:, :rank]


def compute_centred_gram(
    X: Any, kernel: SettledKernel, weights: Array | None = None
) -> CentredGram:
    """Kernel values of all pairs of training rows, centred: ``(I - 11ᵀ/n) K (I - 11ᵀ/n)``.

    With weights the mean is that of the weighted rows; only `CentredGram.span` is of use then.

    Examples
    --------
    >>> from separatrix.kernels import Linear
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> compute_centred_gram(X, SettledKernel(Linear())).matrix
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    """
    points = kernel.points(X, np.arange(X.shape[0]))
    if isinstance(kernel.function, Kernel) and not kernel.precomputed:
        K = _all_pairs(kernel, points)
    else:
        K = np.array(kernel.between(X, points))  # a copy of what may be the caller's
    kernel.check_symmetry(K)
    largest = float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    centre = K.mean(axis=0) if weights is None else K @ (weights / weights.sum())
    # in place, columns then rows: a second n×n matrix would double the memory
    K -= centre
    K -= (centre - np.average(centre, weights=weights))[:, None]
    return CentredGram(kernel, points, centre, K, largest)


def _all_pairs(kernel: SettledKernel, points: Any) -> Array:
    """Kernel values of all pairs of rows: half of the products, and one matrix of them."""
    n_rows = points.shape[0]
    blocks = kernel_blocks(n_rows, 4 * n_rows)
    if len(blocks) == 1:
        return kernel.values(points, points)
    K = np.empty((n_rows, n_rows))
    for block in blocks:
        before = slice(0, block.stop)
        K[block, before] = kernel.values(points[block], points[before])
        K[before, block] = K[block, before].T
    return K


def empirical_kernel_map(
    X: Any,
    kernel: SettledKernel,
    *,
    n_landmarks: Any = None,
    tol: float | None = None,
    random_state: RandomState = None,
) -> tuple[KernelMap, Array]:
    """Orthonormal coordinates in feature space, and the training rows Φ in them.

    Exact: with ``K̃ = U Λ Uᵀ`` the centred kernel matrix, ``Φ = U √Λ`` and the dual coefficients
    of the axes are ``U / √Λ``, so that ``Φ Φᵀ = K̃``. With landmarks (Nyström) the axes are those
    of the landmarks' own kernel matrix, in which every row has its nearest point: n×m numbers for
    m landmarks, never n×n. Landmarks are rows drawn at random and moved to the mean of the rows
    nearest to them; rows of a precomputed kernel stay where they are.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Training rows.
    kernel : SettledKernel
    n_landmarks : int or array (n_landmarks, n_features), optional
        Number of landmarks, or these; all rows by default, or with as many, which is exact.
    tol : float, optional
        Axes with an eigenvalue below this share of the largest are left out; by default those
        that are numerical zero.
    random_state : int, RandomState or None
        Which rows are landmarks.

    Returns
    -------
    map : KernelMap
    rows : array (n_samples, rank)
        Of at least one column, which is zero when all rows coincide.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 2.0]])
    >>> from separatrix.kernels import RBF
    >>> to_features, rows = empirical_kernel_map(X, SettledKernel(RBF(0.5)))
    >>> rows.shape, bool(np.allclose(to_features.project(X), rows))
    ((4, 3), True)
    """
    if sp.issparse(n_landmarks) or np.ndim(n_landmarks) == 2:
        points = kernel.rows(n_landmarks)
        return _nystroem_map(X, landmark_map(kernel, points, tol=tol))
    if n_landmarks is not None and n_landmarks < X.shape[0]:
        chosen = draw_rows(X.shape[0], n_landmarks, random_state)
        points = place_landmarks(X, kernel, chosen)
        own = kernel.rows(X[chosen]) if kernel.precomputed else points
        return _nystroem_map(X, landmark_map(kernel, points, own, tol=tol))
    return compute_centred_gram(X, kernel).empirical_map(tol=tol)


def _nystroem_map(X: Any, to_axes: KernelMap) -> tuple[KernelMap, Array]:
    """Axes of the landmarks alone; every row where it is nearest to their span."""
    n_samples, m = X.shape[0], len(to_axes.centre)
    rows = np.empty((n_samples, to_axes.basis.shape[1]))
    centre = np.zeros(m)
    for block in kernel_blocks(n_samples, m):
        K = to_axes.kernel.between(X[block], to_axes.points)
        centre += K.sum(axis=0) / n_samples
        np.matmul(K, to_axes.basis, out=rows[block])
    rows -= centre @ to_axes.basis
    return to_axes._replace(centre=centre), rows


def landmark_map(
    kernel: SettledKernel, points: Any, own: Any = None, *, tol: float | None = None
) -> KernelMap:
    """The map to orthonormal axes of landmarks, which depends on no other row: not centred.

    Parameters
    ----------
    kernel : SettledKernel
    points : array (n_landmarks, n_features)
        The landmarks, as the kernel takes them; of a precomputed kernel, their numbers.
    own : array, optional
        Rows of kernel values of the landmarks, for a precomputed kernel.
    tol : float, optional
        As in `empirical_kernel_map`.
    """
    K = kernel.values(points if own is None else own, points)
    kernel.check_symmetry(K)
    # not centred: other rows come, and their mean is not known yet
    evals, U = _leading_pairs(K, len(K), 0.0, tol)
    basis = U / np.sqrt(evals) if len(evals) else np.zeros((len(K), 1))
    return KernelMap(kernel, points, np.zeros(len(K)), basis)


def place_landmarks(X: Any, kernel: SettledKernel, chosen: Array) -> Any:
    """Reference rows that stand for all rows: those chosen, moved to the mean of their own.

    Every row belongs to the nearest chosen one (one step of k-means). Where rows are mostly noise
    the means have less of it, at the cost of one more product. Of a precomputed kernel only the
    rows themselves can be taken.
    """
    points = kernel.points(X, chosen)
    if kernel.precomputed:
        return points
    counts, sums = np.zeros(len(chosen)), 0.0 * points
    for block in kernel_blocks(X.shape[0], len(chosen)):
        rows = kernel.rows(X[block])
        nearest = squared_distances(rows, points).argmin(axis=1)
        counts += np.bincount(nearest, minlength=len(chosen))
        sums = sums + class_indicator(nearest, None, len(chosen), np.float64) @ rows
    # a row that is given twice may leave its second copy without any
    present = np.flatnonzero(counts)
    means = sp.diags_array(1 / counts[present]) @ sums[present]
    return _with_short_indices(means) if sp.issparse(means) else means


def _with_short_indices(X: Any) -> Any:
    """Sparse rows with the indices of 32 bits that some functions of scikit-learn ask for."""
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    short = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data, *short), shape=X.shape)
