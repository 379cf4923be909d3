"""Local discriminative Gaussians: as they are, with a kernel, sparse, and across domains."""
