"""Rules that decide on a class inside a subspace."""
