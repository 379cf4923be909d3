"""
How much of ten digits fits in three directions?
================================================

Fisher's directions separate class means, measured by the scatter within classes. Local
discriminative Gaussians keep rows near their neighbours of the same class. In few directions the
two show different things.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from separatrix import LDG, FisherDiscriminant, LocalFisherDiscriminant, datasets
from separatrix.plots import plot_grid_scores

digits = datasets.load("digits")
X, X_test, y, y_test = train_test_split(
    digits.data, digits.target, test_size=0.5, stratify=digits.target, random_state=0
)

# %%
# The picture
# -----------
#
# Held-out images in three directions.

models = {"Fisher": FisherDiscriminant(3).fit(X, y), "LDG": LDG(3).fit(X, y)}
figure = plt.figure(figsize=(11, 5), layout="constrained")
for i, (name, model) in enumerate(models.items()):
    ax = figure.add_subplot(1, 2, i + 1, projection="3d")
    Z = model.transform(X_test)
    for label in np.unique(y_test):
        ax.scatter(*Z[y_test == label].T, s=8, label=label)
    ax.set_title(name)
figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False)

# %%
# Accuracy by dimension
# ---------------------
#
# Three nearest neighbours on the held-out half, in percent.

dimensions = [1, 2, 3, 5, 9, 15, 30]
methods = {
    "PCA": PCA(30).fit(X),
    "Fisher": FisherDiscriminant().fit(X, y),
    "local Fisher": LocalFisherDiscriminant(30).fit(X, y),
    "LDG": LDG(30).fit(X, y),
}
print(f"{'directions':<14}" + "".join(f"{k:>7}" for k in dimensions))
for name, model in methods.items():
    Z, Z_test = model.transform(X), model.transform(X_test)
    cells = [
        f"{100 * KNeighborsClassifier(3).fit(Z[:, :k], y).score(Z_test[:, :k], y_test):7.1f}"
        for k in dimensions
        if k <= Z.shape[1]
    ]
    print(f"{name:<14}" + "".join(cells))

# %%
# What γ trades
# -------------
#
# γ weighs the distance from other classes against nearness to the own. On these images it matters
# little, but for the smallest: with γ near 0 directions of small variance win, whatever they say.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
plot_grid_scores(methods["LDG"], ax=ax)

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
