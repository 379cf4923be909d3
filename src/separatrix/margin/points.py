"""Rows that several hyperplanes share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from separatrix.linalg import Array


class Points(NamedTuple):
    """Rows that several problems share, and their inner products where those are worth having.

    Attributes
    ----------
    rows : array (n, r)
        Centred.
    gram : array (n, n) or None
        Inner products of all pairs of rows.
    """

    rows: Array
    gram: Array | None

    def size(self) -> float:
        """The root mean square of the lengths of the rows."""
        return float(np.sqrt(np.vdot(self.rows, self.rows) / len(self.rows)))

    def divide(self, scale: float) -> Points:
        """The rows divided by a number."""
        gram = None if self.gram is None else self.gram / scale**2
        return Points(self.rows / scale, gram)

    def remove(self, Q: Array) -> Points:
        """The rows less their parts along the orthonormal columns of Q, in the same memory.

        The inner products lose the same parts, unless cancellation would lose digits.
        """
        along = self.rows @ Q
        options = {"beta": 1.0, "trans_b": True, "overwrite_c": True}
        rows = scipy.linalg.blas.dgemm(-1.0, Q, along, c=self.rows.T, **options).T
        if self.gram is None:
            return Points(rows, None)
        gram = scipy.linalg.blas.dgemm(-1.0, along, along, c=self.gram.T, **options).T
        lengths = np.einsum("ij,ij->i", rows, rows)
        # the diagonal is computed both ways: their difference shows how much has cancelled
        error = np.abs(np.diagonal(gram) - lengths).max()
        return Points(rows, gram if error <= 1e-13 * lengths.max() else rows @ rows.T)
