"""Rows in clusters that are known."""

from __future__ import annotations

from itertools import product

import numpy as np

CENTRES = np.array([[0, 0], [9, 0], [0, 9], [9, 9], [4.5, 18]], dtype=float)


def blobs(n, centres=CENTRES, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(centres)), n)
    return centres[of] + scale * rng.normal(size=(len(of), 2)), of


def checkerboard(n=40, seed=0, n_classes=2):
    """Classes on a 3×3 board of blobs, so that no line separates them."""
    centres = np.array(list(product(range(3), range(3))), dtype=float) * 8
    X, of = blobs(n, centres, seed=seed)
    return X, (of // 3 + of % 3) % n_classes


def same_partition(a, b):
    return len(np.unique(np.stack([a, b]), axis=1).T) == len(np.unique(a)) == len(np.unique(b))


def state(seed=0):
    return np.random.RandomState(seed)
