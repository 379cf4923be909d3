"""
Can a subspace be learned in batches, or at three places?
=========================================================

Fisher's directions depend on the data through counts, class means and scatter only. These class
moments add up. So a model that sees rows batch by batch, or gets the moments of several sites, is
the model of all rows together, up to rounding.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from separatrix import ClassMoments, FisherDiscriminant, datasets, merge
from separatrix.linalg import principal_angles


def difference(A: NDArray[Any], B: NDArray[Any]) -> str:
    """Largest difference of two arrays, relative to the largest entry."""
    return f"{np.abs(A - B).max() / np.abs(B).max():.1e}"


bunch = datasets.make_gaussian_classes(4000, 30, 4, separation=2.0, random_state=0)
X, y = bunch.data, bunch.target
at_once = FisherDiscriminant().fit(X, y)

# %%
# Batch by batch
# --------------
#
# Each call of ``partial_fit`` adds the moments of its rows; directions are solved for when asked
# for. ``classes`` announces the labels that may come, since a batch need not have all of them.

stream = FisherDiscriminant()
seen, subspaces = [], []
for start in range(0, len(X), 50):
    rows = slice(start, start + 50)
    stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2, 3])
    seen.append(start + 50)
    subspaces.append(stream.components_)

print(f"{len(seen)} batches of 50 rows")
apart = difference(stream.components_, at_once.components_)
print(f"components: largest relative difference {apart}")
print(f"decisions that differ: {np.sum(stream.predict(X) != at_once.predict(X))} of {len(X)}")

# %%
# How soon is the subspace known?
# -------------------------------
#
# The largest principal angle between two subspaces says how far apart they are. The angle to the
# final subspace must end at zero. The angle to the true subspace, which these generated data
# have, shows what the final model itself does not know.

to_final = [np.degrees(principal_angles(W, at_once.components_)[0]) for W in subspaces]
to_truth = [np.degrees(principal_angles(W, bunch.components)[0]) for W in subspaces]

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.plot(seen, to_truth, label="to the true subspace")
ax.plot(seen, to_final, label="to the subspace of all rows")
ax.set_xscale("log")
ax.set_ylim(bottom=0)
ax.set_xlabel("rows seen")
ax.set_ylabel("largest principal angle, degrees")
ax.legend(frameon=False)

for i in (0, 3, 19, 79):
    print(f"{seen[i]:>4} rows: {to_final[i]:5.1f}° to the end, {to_truth[i]:5.1f}° to the truth")

# %%
# Three sites
# -----------
#
# Three sites hold rows that must not be shared, in different numbers and of different classes.
# Each fits its own model, and sends it. A model holds moments, and moments add.

here, there = y < 2, np.arange(len(y)) % 5 == 0
sites = [here & ~there, ~here & ~there, there]
models = [FisherDiscriminant().fit(X[site], y[site]) for site in sites]
for model in models:
    print(f"{model.moments_.n_samples:>6.0f} rows of classes {model.classes_.tolist()}")

merged = merge(models)
whole = ClassMoments.from_data(X, y)
print(f"Sw: largest relative difference {difference(merged.moments_.Sw, whole.Sw)}")
print(f"components: {difference(merged.components_, at_once.components_)}")

# %%
# A site that leaves
# ------------------
#
# Moments also subtract: without the rows of the third site, what is left is the sum of the others.

rest = merged.moments_ - models[2].moments_
others = models[0].moments_ + models[1].moments_
print(f"Sw: largest relative difference {difference(rest.Sw, others.Sw)}")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
