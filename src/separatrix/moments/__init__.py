"""Rows to statistics: class moments that add, subtract and decay."""

from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.sampling import subsample

class_moments = ClassMoments.from_data

__all__ = ["ClassMoments", "class_moments", "subsample"]
