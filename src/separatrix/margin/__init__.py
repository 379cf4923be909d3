"""Subspaces of support vector hyperplanes."""
