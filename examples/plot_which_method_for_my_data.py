"""
Which method for my data, and is the difference real?
=====================================================

Chemical measurements of wines from three growers. Six methods are compared on the same ten splits
into 70 % to learn from and 30 % to judge by. Whatever has a free number (how many directions, how
wide a kernel, how much shrinkage) has it chosen within the 70 %.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from separatrix import datasets
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.ranking import rank_methods
from separatrix.plots import plot_critical_difference, plot_loadings

wine = datasets.load("wine")
comparison = compare(
    [
        "FisherDiscriminant",
        "LDG",
        "KernelFisherDiscriminant",
        "PCA",
        "3-NN",
        "NullSpaceDiscriminant",
    ],
    pd.DataFrame(wine.data, columns=wine.feature_names),
    wine.target,
    progress=False,
)

# %%
# The table
# ---------
#
# Accuracy with its 95 % interval. The interval knows that splits share rows: it is wider than ten
# independent samples would make it. *rule* is what decides in the subspace, *chosen* is what the
# first split settled on.

for method in comparison.methods:
    accuracy, first = method.summary["accuracy"], method.folds[0]
    chosen = ", ".join(
        f"{n}={v:.3g}" if isinstance(v, float) else f"{n}={v}" for n, v in first.chosen.items()
    )
    print(
        f"{method.name:<26}{100 * accuracy.mean:6.1f} %  [{100 * accuracy.low:.1f}, "
        f"{100 * min(accuracy.high, 1):.1f}]  {method.decision:<4} {chosen}"
    )

# %%
# `NullSpaceDiscriminant` has nothing to do where samples are more than features. It did run, and
# the record keeps what it said:

print(*comparison["NullSpaceDiscriminant"].folds[0].warnings, sep="\n")

# %%
# Is the difference real?
# -----------------------
#
# Every two methods are compared by the corrected resampled t-test, with Holm's correction for
# testing all of them. A bar joins methods that do not differ.

ranking = rank_methods(comparison)
for group in ranking.groups:
    print("not distinguished:", ", ".join(group))

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_critical_difference(ranking, ax=axes[0])
loadings = comparison["FisherDiscriminant"].folds[0].loadings
assert loadings is not None, "linear methods have them"
plot_loadings(loadings, n_features=8, ax=axes[1])
axes[1].set_title("features of FisherDiscriminant", pad=24)

# %%
# Rows that were held out
# -----------------------
#
# Not one of the points below was seen by the method that places it.

held_out = np.array(comparison.labels)[list(comparison.tests[0])]
shown = ["FisherDiscriminant", "LDG", "KernelFisherDiscriminant", "3-NN"]
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, name in zip(axes, shown, strict=True):
    view = comparison[name].folds[0].view
    assert view is not None, "methods with a subspace have one"
    Z = np.array(view.coordinates)
    for code, label in enumerate(comparison.classes):
        ax.scatter(*Z[held_out == code, :2].T, s=12, label=label)
    ax.set_title(f"{name}\n({view.axes})", fontsize=9)
axes[0].legend(frameon=False, fontsize=8)

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
