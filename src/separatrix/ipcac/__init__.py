"""Isotropic principal component analysis classifiers."""
