"""Numerics that know nothing of labels."""

from separatrix.linalg._types import Array, Lift
from separatrix.linalg.blas import map_in_threads, one_blas_thread, threads_for
from separatrix.linalg.distances import (
    SmallestEntries,
    smallest_entries,
    squared_distances,
    squared_norms,
)
from separatrix.linalg.eigen import (
    GeneralizedEigen,
    GeneralizedSVD,
    Tridiagonal,
    generalized_eigh,
    gsvd,
    partial_whiten,
    top_eigh,
    tridiagonalize,
    whiten,
)
from separatrix.linalg.rank import (
    EPS,
    CholeskyWhitener,
    RangeAndNull,
    SingularMatrixError,
    cholesky_whitener,
    column_signs,
    null_space,
    numerical_rank,
    range_and_null,
)
from separatrix.linalg.secular import boundary_distance
from separatrix.linalg.span import (
    Span,
    ThinSVD,
    gram_span,
    keeps_digits,
    orthonormal_again,
    principal_angles,
    range_basis,
    span,
    triangle,
)

__all__ = [
    "EPS",
    "Array",
    "CholeskyWhitener",
    "GeneralizedEigen",
    "GeneralizedSVD",
    "Lift",
    "RangeAndNull",
    "SingularMatrixError",
    "SmallestEntries",
    "Span",
    "ThinSVD",
    "Tridiagonal",
    "boundary_distance",
    "cholesky_whitener",
    "column_signs",
    "generalized_eigh",
    "gram_span",
    "gsvd",
    "keeps_digits",
    "map_in_threads",
    "null_space",
    "numerical_rank",
    "one_blas_thread",
    "orthonormal_again",
    "partial_whiten",
    "principal_angles",
    "range_and_null",
    "range_basis",
    "smallest_entries",
    "span",
    "squared_distances",
    "squared_norms",
    "threads_for",
    "top_eigh",
    "triangle",
    "tridiagonalize",
    "whiten",
]
