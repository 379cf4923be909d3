"""Local scatters as a graph of neighbours, for rows that are known by their inner products.

``γ A - V = Xᵀ M X``, where M holds a few entries for each row: those of the row itself and of its
neighbours. Rows in the feature space of a kernel have as many coordinates as there are rows, and
the sums over rows and classes of `scatters` would cost a product of order n for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from separatrix.base.feature_space import TriangularMap
from separatrix.linalg import Array, numerical_rank, smallest_entries
from separatrix.moments.neighbours import averaging_matrix


def neighbours_by_products(G: Array, codes: Array, n_neighbors: int) -> list[Array]:
    """`class_neighbours` of rows whose inner products G (n, n) are known.

    Examples
    --------
    >>> x = np.array([0.0, 1, 5, 7])
    >>> neighbours_by_products(np.outer(x, x), np.array([0, 0, 1, 1]), 1)[1].ravel().tolist()
    [2, 2, 3, 2]
    """
    norms, neighbours = np.diagonal(G), []
    for j in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == j)
        D = norms[members] - 2 * G[:, members]
        D[members, np.arange(len(members))] = np.finfo(D.dtype).max  # farther than any other
        neighbours.append(members.astype(np.int32)[smallest_entries(D, n_neighbors).columns])
    return neighbours


def weights_of_pairs(
    neighbours: Sequence[Array], codes: Array, priors: Array
) -> tuple[Array, Array]:
    """The matrices that stand between Xᵀ and X in V and A.

    With D_j the map from rows to Δ_ij, each row less the mean of its neighbours in class j, they
    are ``Σ_j D_jᵀ I_j D_j``, where I_j picks the rows of class j, and ``Σ_j p_j D_jᵀ D_j``.

    Parameters
    ----------
    neighbours : list of arrays (n_samples, k)
        From `class_neighbours`.
    codes : array (n_samples,)
    priors : array (n_classes,)
        p.

    Examples
    --------
    >>> near = [np.array([[1], [0], [1]]), np.array([[2], [2], [2]])]  # the last is alone
    >>> V, A = weights_of_pairs(near, np.array([0, 0, 1]), np.array([0.5, 0.5]))
    >>> V
    array([[ 2., -2.,  0.],
           [-2.,  2.,  0.],
           [ 0.,  0.,  0.]])
    """
    n = len(codes)
    V = A = sp.csr_array((n, n))
    for j, (near, p) in enumerate(zip(neighbours, priors, strict=True)):
        D = sp.eye_array(n, format="csr") - averaging_matrix(near, np.arange(n), n)
        same = D[codes == j]
        V, A = V + same.T @ same, A + p * (D.T @ D)
    return V.toarray(), A.toarray()


class GraphScatters(NamedTuple):
    """V and A (3.9, 3.10) of rows in the feature space of a kernel, as weights of pairs of rows.

    Attributes
    ----------
    map : TriangularMap
        To the coordinates X.
    V, A : array (n_samples, n_samples)
        The matrix between Xᵀ and X: `weights_of_pairs`.
    without : tuple
        Empty, as all rows are taken: see `LDGScatters`.
    """

    map: TriangularMap
    V: Array
    A: Array
    without: tuple[()] = ()

    @classmethod
    def of(
        cls, to_features: TriangularMap, codes: Array, priors: Array, n_neighbors: int
    ) -> GraphScatters:
        """The scatters of the training rows of a map about their k nearest neighbours."""
        neighbours = neighbours_by_products(to_features.gram.matrix, codes, n_neighbors)
        return cls(to_features, *weights_of_pairs(neighbours, codes, priors))

    def criterion(self, gamma: float, basis: Array) -> Array:
        """The lower triangle of ``γ A - V``, in column order; the basis is that of the map.

        The last row is minus the sum of the others, whose coordinates are the triangle L: with M
        between Xᵀ and X and ``P = [I, -1]ᵀ`` the criterion is ``Lᵀ (Pᵀ M P) L``.
        """
        M = self.A if np.isinf(gamma) else gamma * self.A - self.V
        inner = M[:-1, :-1] - M[-1, :-1]
        inner += M[-1, -1] - M[:-1, -1:]
        Z, info = lapack.dsygst(inner.T, self.map.L, itype=2, lower=1, overwrite_a=1)
        assert info == 0, f"dsygst rejected argument {-info}"
        return Z

    def n_negative(self, gamma: float, evals: Array) -> int:
        """How many eigenvalues of ``V - γ A`` are below zero by more than rounding."""
        # the sum of the traces
        size = float(np.vdot(self.V + min(gamma, 1.0) * self.A, self.map.gram.matrix))
        return numerical_rank(-evals, len(self.map.L), largest=size)
