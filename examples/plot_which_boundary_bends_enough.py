"""
Which boundary bends enough?
============================

One hyperplane cannot separate these classes. `MixtureIPCAC <separatrix.MixtureIPCAC>` cuts each
class into clusters and puts a line between every two clusters of different classes; its boundary
is made of pieces of these lines. `KernelIPCAC <separatrix.KernelIPCAC>` and
`KernelFisherDiscriminant <separatrix.KernelFisherDiscriminant>` have curved boundaries. Crosses
are the means of the clusters, ellipses their spread.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from separatrix import IPCAC, KernelFisherDiscriminant, KernelIPCAC, MixtureIPCAC
from separatrix.plots import plot_regions

threadpool_limits(1)  # the problems are small: more threads only wait for each other

Array = NDArray[Any]
Labelled = tuple[Array, Array]


def moons(seed: int) -> Labelled:
    """Two arcs, which are no mixtures of Gaussians."""
    return make_moons(400, noise=0.15, random_state=seed)


def board(seed: int) -> Labelled:
    """Nine round clusters of two classes on a board."""
    rng = np.random.default_rng(seed)
    squares = np.array(list(product(range(3), range(3))), dtype=float)
    of = np.repeat(np.arange(9), 45)
    return squares[of] + rng.normal(scale=0.18, size=(len(of), 2)), (of % 2)


def uneven(seed: int) -> Labelled:
    """Three classes of long and round clusters, one ten times rarer than the others."""
    rng = np.random.default_rng(seed)
    means = np.array([[0, 0], [4, 4], [0, 4], [4, 0], [2, 2]], dtype=float)
    spread = np.array([[0.8, 0.3], [0.3, 0.8], [0.5, 0.5], [0.5, 0.5], [0.3, 0.3]])
    of = np.repeat(np.arange(5), [150, 150, 150, 150, 30])
    X = means[of] + spread[of] * rng.normal(size=(len(of), 2))
    return X, np.array([0, 0, 1, 1, 2])[of]


DATA: dict[str, Callable[[int], Labelled]] = {"moons": moons, "board": board, "uneven": uneven}
MODELS: dict[str, Any] = {
    "IPCAC": IPCAC(),
    "MixtureIPCAC": MixtureIPCAC(random_state=0),
    "KernelIPCAC": KernelIPCAC(),
    "truncated": KernelIPCAC(truncate=10),
    "kernel Fisher": KernelFisherDiscriminant(),
    "SVC": SVC(),
}

# %%
# What is learned
# ---------------

figure, axes = plt.subplots(3, 3, figsize=(11, 9), layout="constrained")
for row, (name, make) in zip(axes, DATA.items(), strict=True):
    X, y = make(0)
    for ax, method in zip(row, ("MixtureIPCAC", "KernelIPCAC", "truncated"), strict=True):
        plot_regions(clone(MODELS[method]).fit(X, y), X, y, ax=ax)
        ax.set(title=f"{name}: {method}", xticks=[], yticks=[])
        ax.get_legend().remove()

# %%
# The lines between the clusters
# ------------------------------
#
# Every node of the mixture cuts the whole plane; the jury decides where which of them counts.

X, y = board(0)
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
mixture = MixtureIPCAC(random_state=0).fit(X, y)
plot_regions(mixture, X, y, nodes=True, ax=ax)
print(f"{len(mixture.cluster_classes_)} clusters, {len(mixture.nodes_)} nodes")

# %%
# On new rows
# -----------

print(f"{'held-out accuracy, %':<22}" + "".join(f"{name:>15}" for name in MODELS))
for name, make in DATA.items():
    scores = [
        [100 * clone(model).fit(*make(seed)).score(*make(seed + 100)) for seed in range(5)]
        for model in MODELS.values()
    ]
    cells = [f"{np.mean(s):.1f} ± {np.std(s):.1f}" for s in scores]
    print(f"{name:<22}" + "".join(f"{cell:>15}" for cell in cells))

# %%
# All but the single line do about as well. The mixture has no width or ridge to choose and says
# what it found: clusters and the lines between them. On arcs, which are no mixtures, it follows by
# pieces. Its prediction is one product with as many vectors as there are nodes, where kernels
# compare with every training row.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
