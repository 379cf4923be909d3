"""Local scatters as a graph of neighbours, for rows that are known by their inner products.

``γ A - V = Xᵀ M X``, where M holds a few entries for each row: those of the row itself and of its
neighbours. Rows in the feature space of a kernel have as many coordinates as there are rows, and
the sums over rows and classes of `scatters` would cost a product of order n for each class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from separatrix.kernels import TriangularMap
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
    norms, found = np.diagonal(G), []
    for j in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == j)
        D = norms[members] - 2 * G[:, members]
        D[members, np.arange(len(members))] = np.finfo(D.dtype).max  # farther than any other
        found.append(members.astype(np.int32)[smallest_entries(D, n_neighbors).columns])
    return found


class GraphScatters(NamedTuple):
    """V and A (3.9, 3.10) of rows in the feature space of a kernel, as weights of pairs of rows.

    With D_j the map from rows to Δ_ij, each row less the mean of its neighbours in class j, they
    are ``Xᵀ (Σ_j D_jᵀ I_j D_j) X``, where I_j picks the rows of class j, and
    ``Xᵀ (Σ_j p_j D_jᵀ D_j) X``.

    Attributes
    ----------
    map : TriangularMap
        To the coordinates X.
    V, A : sparse array (n_samples, n_samples)
        What stands between Xᵀ and X.
    without : tuple
        Empty, as all rows are taken: see `LDGScatters`.
    """

    map: TriangularMap
    V: Any
    A: Any
    without: tuple[()] = ()

    @classmethod
    def of(
        cls, to_features: TriangularMap, codes: Array, priors: Array, n_neighbors: int
    ) -> GraphScatters:
        """The scatters of the training rows of a map about their k nearest neighbours."""
        n = len(codes)
        rows, identity = np.arange(n), sp.eye_array(n, format="csr")
        V, A = sp.csr_array((n, n)), sp.csr_array((n, n))
        found = neighbours_by_products(to_features.gram.matrix, codes, n_neighbors)
        for j, (near, p) in enumerate(zip(found, priors, strict=True)):
            D = identity - averaging_matrix(near, rows, n)
            own = D[codes == j]
            V = V + own.T.tocsr() @ own
            A = A + p * (D.T.tocsr() @ D)
        return cls(to_features, V, A)

    def criterion(self, gamma: float, basis: Array) -> Array:
        """The lower triangle of ``γ A - V``, in column order; the basis is that of the map.

        The last row is minus the sum of the others, whose coordinates are the triangle L: with M
        between Xᵀ and X and ``P = [I, -1]ᵀ`` the criterion is ``Lᵀ (Pᵀ M P) L``.
        """
        M = (gamma * self.A - self.V).toarray()
        inner = M[:-1, :-1] - M[-1, :-1]
        inner += M[-1, -1] - M[:-1, -1:]
        Z, info = lapack.dsygst(inner.T, self.map.L, itype=2, lower=1, overwrite_a=1)
        assert info == 0, f"dsygst rejected argument {-info}"
        return Z

    def n_negative(self, gamma: float, evals: Array) -> int:
        """How many eigenvalues of ``V - γ A`` are below zero by more than rounding."""
        both = (self.V + gamma * self.A).tocoo()
        size = float(both.data @ self.map.gram.matrix[both.row, both.col])  # the sum of the traces
        return numerical_rank(-evals, len(self.map.L), largest=size)
