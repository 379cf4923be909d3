"""Rows to statistics: class moments that add, subtract and decay."""

from separatrix.moments.class_moments import ClassMoments

__all__ = ["ClassMoments"]
