"""Local discriminative Gaussians."""

from separatrix.ldg.ldg import LDG, gamma_path

__all__ = ["LDG", "gamma_path"]
