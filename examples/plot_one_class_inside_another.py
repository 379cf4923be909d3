"""
What if one class lies inside another?
======================================

In the ringnorm data class 1 is a narrow Gaussian and class 0 a wide one around it, in twenty
features. Their means are close: they differ in size. Fisher's single direction sees the
means only. Local discriminative Gaussians compare each row with its neighbours in both classes,
and have as many directions as there are features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from separatrix import LDG, FisherDiscriminant, datasets
from separatrix.plots import plot_dimension_path, plot_projection

train = datasets.make_ringnorm(1000, random_state=0)
test = datasets.make_ringnorm(2000, random_state=1)
X, y = train.data, train.target

# %%
# Two directions
# --------------
#
# Held-out rows in the plane. LDG's plane shows the narrow class in the middle of the wide one, a
# little to the side: that is all a plane can show of twenty dimensions that differ alike.

ldg = LDG(gamma=0.6, n_neighbors=16).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
plot_projection(FisherDiscriminant().fit(X, y), test.data, test.target, ax=axes[0])
axes[0].set_title("Fisher: one direction")
plot_projection(LDG(2, gamma=0.6, n_neighbors=16).fit(X, y), test.data, test.target, ax=axes[1])
axes[1].set_title("LDG: two of twenty")

# %%
# How many are needed?
# --------------------
#
# Held-out accuracy of three nearest neighbours, in percent. The best possible rule knows the two
# Gaussians.


def neighbours(model: LDG | PCA | FisherDiscriminant) -> float:
    """Held-out accuracy of three nearest neighbours in the subspace, in percent."""
    rule = KNeighborsClassifier(3).fit(model.transform(X), y)
    return 100 * float(rule.score(model.transform(test.data), test.target))


print(f"{'':<14}{'directions':>12}{'3-NN, %':>10}")
print(f"{'Fisher':<14}{1:>12}{neighbours(FisherDiscriminant().fit(X, y)):>10.1f}")
for k in (1, 2, 5, 10, 20):
    print(f"{'PCA':<14}{k:>12}{neighbours(PCA(k).fit(X)):>10.1f}")
for k in (1, 2, 5, 10, 20):
    score = neighbours(LDG(k, gamma=0.6, n_neighbors=16).fit(X, y))
    print(f"{'LDG':<14}{k:>12}{score:>10.1f}")
best = 100 * np.mean(test.bayes_predict(test.data) == test.target)
print(f"{'best rule':<14}{20:>12}{best:>10.1f}")

# %%
# Letting cross-validation say
# ----------------------------
#
# ``n_components="auto"`` fits again without the rows it judges by, and keeps what it found.

auto = LDG("auto").fit(X, y)
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
plot_dimension_path(auto, ax=ax)
print(
    f"chosen: gamma {auto.gamma_:g}, {auto.n_neighbors_} neighbours, {len(auto.components_)} "
    f"directions; 3-NN {neighbours(auto):.1f} %"
)

# %%
# Neighbours do not suit these data: the rows of the wide class are far from each other and near
# the narrow class, in any number of directions. Of what neighbours can do LDG gives most in few
# directions.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
