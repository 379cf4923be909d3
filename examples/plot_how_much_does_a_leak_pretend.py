"""
How much accuracy does a leak pretend?
======================================

Labels drawn by a coin: no method can do better than 50 %. Three ways to measure, from what is
often done to what `evaluate.compare` does. The data are 60 rows of 300 features, drawn thirty
times.

- *fitted to all*: the subspace is found with all rows, then a rule is cross-validated in it.
- *chosen by the test part*: the subspace is fitted on the training part, but of six settings the
  one is reported that does best on the test part.
- *all inside*: the subspace is fitted and the setting chosen within the training part.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from separatrix import TruncatedIPCAC
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import Contender
from separatrix.evaluate.splits import RandomShares

WHITENED = (1, 2, 4, 8, 16, 32)
rng = np.random.default_rng(1)
accuracy: dict[str, list[float]] = {
    "fitted to all": [],
    "chosen by the test part": [],
    "all inside": [],
}
for _ in range(30):
    X, y = rng.standard_normal((60, 300)), np.arange(60) % 2
    Z = TruncatedIPCAC().fit_transform(X, y)
    accuracy["fitted to all"].append(cross_val_score(KNeighborsClassifier(3), Z, y).mean())
    settings = [(f"{n} axes", TruncatedIPCAC(n)) for n in WHITENED]
    comparison = compare(settings, X, y, cv=RandomShares(1), progress=False)
    best = max(method.folds[0].scores["accuracy"] for method in comparison.methods)
    accuracy["chosen by the test part"].append(best)
    inside = Contender("inside", TruncatedIPCAC(), grid={"n_whitened": WHITENED})
    comparison = compare([inside], X, y, cv=RandomShares(1), progress=False)
    accuracy["all inside"].append(comparison["inside"].folds[0].scores["accuracy"])

for name, values in accuracy.items():
    error = np.std(values, ddof=1) / len(values) ** 0.5
    print(f"{name:<26}{100 * np.mean(values):5.1f} %  ± {100 * error:.1f}")

# %%
# The first way is perfect and means nothing: with more features than rows a subspace can always be
# found in which the rows it was found with fall apart. The second is too good, and the more so the
# longer one tries. Only the third is what new rows will see.

figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.boxplot(list(accuracy.values()), orientation="horizontal")
ax.set_yticks([1, 2, 3], list(accuracy))
ax.axvline(0.5, color="grey", linestyle=":")
ax.set_xlabel("accuracy that is reported; labels are a coin")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
