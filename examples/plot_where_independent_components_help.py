"""
Where do independent components help?
=====================================

SVM+ICA describes what the normals of hyperplanes leave over by its least Gaussian directions. That
helps where classes have one mean and differ in shape, and rows are many; it cannot help where rows
are few, because then the least Gaussian direction is one in which a single row is far away.

Both happen here, in rows that are made for it: two classes with a common mean, of which two
features differ in spread, and 40 rows of 300 features whose means differ.
"""

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from separatrix import HeteroscedasticDiscriminant, SupportVectorICA, SupportVectorProjection

threadpool_limits(1)
warnings.simplefilter("ignore")  # that components are single rows is what is to be seen


def one_mean(seed: int, n_train: int = 400, n_features: int = 12) -> tuple[Any, Any, Any]:
    """Deviations of 3 and 0.6 in two features, nothing else between the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_train + 1000) % 2
    X = rng.standard_normal((len(y), n_features))
    X[:, :2] *= np.where(y == 0, 3.0, 0.6)[:, None]
    scale = StandardScaler().fit(X[:n_train])
    return scale.transform(X), y, np.arange(len(y)) < n_train


def few_rows(seed: int, n_train: int = 40, n_features: int = 300) -> tuple[Any, Any, Any]:
    """Means that differ a little in all features, and few rows to learn them from."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_train + 1000) % 2
    X = rng.standard_normal((len(y), n_features)) + 0.3 * y[:, None]
    return X, y, np.arange(len(y)) < n_train


# %%
# One mean, many rows
# -------------------
#
# The normal has nothing to say; two independent components show the classes, the wide one around
# the narrow one. Filled points were learned from, pale ones are new.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, make in zip(axes, (one_mean, few_rows), strict=True):
    X, y, train = make(0)
    model = SupportVectorICA(3, random_state=0).fit(X[train], y[train])
    Z = model.transform(X)[:, 1:]
    for c in (0, 1):
        ax.scatter(*Z[~train & (y == c)].T, s=6, color=f"C{c}", alpha=0.2)
        ax.scatter(*Z[train & (y == c)].T, s=16, color=f"C{c}", label=f"class {c}")
    lengths = np.linalg.norm(model.components_[1:], axis=1)
    ax.set_title(f"{make.__name__}: components of length {lengths[0]:.2f}, {lengths[1]:.2f}")
axes[0].legend(frameon=False)

# %%
# Few rows
# --------
#
# On the right each component is one training row. `SupportVectorICA` warns of that, and makes such
# a component as short as the share of its variance that the row leaves, so that neighbours are not
# misled. ``held_out_negentropy_`` is the distance from a Gaussian for rows not seen.
#
# Percent of new rows that five nearest neighbours get right, over ten draws.

METHODS: dict[str, Any] = {
    "normal alone": SupportVectorProjection(),
    "normal and two components": SupportVectorICA(3, random_state=0),
    "directions of unequal spread": HeteroscedasticDiscriminant(3),
}
for make in (one_mean, few_rows):
    print(make.__name__)
    for name, method in METHODS.items():
        right = []
        for seed in range(10):
            X, y, train = make(seed)
            Z = method.fit(X[train], y[train]).transform(X)
            rule = KNeighborsClassifier(5).fit(Z[train], y[train])
            right.append(100 * rule.score(Z[~train], y[~train]))
        error = np.std(right, ddof=1) / np.sqrt(len(right))
        print(f"  {name:<30}{np.mean(right):5.1f} ± {error:.1f}")

# %%
# What it cannot do: say which of its components are worth keeping, as they have no order. Where
# spread alone differs, `HeteroscedasticDiscriminant` finds the directions from class moments,
# without a search and without a start at random. And where the rest is Gaussian there is nothing
# to find.
