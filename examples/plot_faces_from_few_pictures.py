"""
Faces from few pictures
=======================

A person is to be known again from three pictures. Lighting and pose change a picture more than the
person does, so that the directions of largest variance, the eigenfaces, describe the lamp.
Within support vector discriminants (WSVDA) measure margins by the scatter within persons.

The faces are made up, smooth patterns of 24 × 24 pixels; ``separatrix reproduce`` has tables on
photographs.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, shift
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from separatrix import (
    FisherDiscriminant,
    MarginMaximizingDiscriminant,
    WithinSupportVectorDiscriminant,
)

threadpool_limits(1)
SIDE, N_PERSONS, N_PICTURES = 24, 15, 12
rng = np.random.default_rng(0)
across, down = np.meshgrid(np.linspace(-1, 1, SIDE), np.linspace(-1, 1, SIDE))


def draw_faces() -> tuple[np.ndarray, np.ndarray]:
    """Pictures of persons: what all share, what is theirs, light from a side, pose and noise."""
    shared = gaussian_filter(rng.standard_normal((SIDE, SIDE)), 3) * 12
    own = [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 1.5) * 2 for _ in range(N_PERSONS)]
    pictures, persons = [], []
    for person in range(N_PERSONS):
        for _ in range(N_PICTURES):
            light = rng.normal(0, 1.5) * across + rng.normal(0, 1.0) * down
            posed = shift(shared + own[person], rng.normal(0, 0.7, 2), mode="nearest")
            noise = rng.normal(0, 0.4, (SIDE, SIDE))
            pictures.append((posed + light + noise).ravel())
            persons.append(person)
    return np.array(pictures), np.array(persons)


X, y = draw_faces()
METHODS: dict[str, Any] = {
    "pixels": PCA(),
    "eigenfaces": PCA(30),
    "Fisher, shrinkage": FisherDiscriminant(shrinkage="auto"),
    "MMDA": MarginMaximizingDiscriminant(),
    "WSVDA": WithinSupportVectorDiscriminant(),
}

# %%
# What the directions look like
# -----------------------------
#
# Above the first eigenfaces, below the first directions of WSVDA, of three pictures a person.

train = np.tile(np.arange(N_PICTURES) < 3, N_PERSONS)
figure, axes = plt.subplots(2, 6, figsize=(10, 3.6), layout="constrained")
for row, name in zip(axes, ("eigenfaces", "WSVDA"), strict=True):
    components = METHODS[name].fit(X[train], y[train]).components_
    for ax, component in zip(row, components, strict=False):
        ax.imshow(component.reshape(SIDE, SIDE), cmap="gray")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# Who is it?
# ----------
#
# Percent of the other pictures whose person the nearest neighbour gives, by the number of pictures
# of each that were learned, over ten draws.

print(f"{'pictures of a person':<22}" + "".join(f"{n:>14}" for n in (2, 3, 5)))
for name, method in METHODS.items():
    cells = []
    for n_known in (2, 3, 5):
        right = []
        for _ in range(10):
            order = np.concatenate([rng.permutation(N_PICTURES) for _ in range(N_PERSONS)])
            known = order < n_known
            Z = method.fit(X[known], y[known]).transform(X)
            rule = KNeighborsClassifier(1).fit(Z[known], y[known])
            right.append(100 * rule.score(Z[~known], y[~known]))
        cells.append(f"{np.mean(right):8.1f} ± {np.std(right, ddof=1) / np.sqrt(10):3.1f}")
    print(f"{name:<22}" + "".join(cells))

# %%
# It cannot distinguish two persons without a learned picture: its directions are for those it has
# learned. With many pictures of each person shrunk Fisher is as good and costs less.
