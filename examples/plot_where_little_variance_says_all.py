"""
Is what varies most what matters?
=================================

Two classes like pancakes, one above the other: wide in all directions but one, thin in that one,
and the thin direction distinguishes them. Little variance, all the information. Principal axes
sorted by variance put this direction last, so a classifier that whitens the leading axes, or
drops the others, never looks at it.

``n_whitened="auto"`` asks rows that were held out how many axes to whiten.
"""

# %%
# The data, and a look from the side: the first axis, of large variance, and the thin one.
import matplotlib.pyplot as plt
import numpy as np

from separatrix import IPCAC, TruncatedIPCAC, datasets

pancakes = datasets.make_pancakes(3000, 100, random_state=0)
X, y = pancakes.data[:500], pancakes.target[:500]
X_new, y_new = pancakes.data[500:], pancakes.target[500:]
axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
seen = (X - X.mean(axis=0)) @ axes[[0, -1]].T

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for c in (0, 1):
    left.scatter(*seen[y == c].T, s=6, label=f"class {c}")
left.set(xlabel="axis of largest variance", ylabel="axis of least variance")
left.legend()

# %%
# The right picture shows the share of new rows classified correctly by the number of axes. All but
# the largest number are chance. The rule of the thesis, log₂(n)², whitens 80 of 100 axes.
numbers = [1, 5, 20, 50, 80, 99, 100]
scores = [TruncatedIPCAC(d).fit(X, y).score(X_new, y_new) for d in numbers]
right.plot(numbers, scores, "o-")
right.set(xlabel="axes that are whitened", ylabel="accuracy on new rows", ylim=(0.4, 1))
plt.show()

# %%
# All four classifiers side by side. Held-out rows find what the rule misses; retaining 99 % of the
# variance drops the only axis that matters.
models = {
    "log₂ rule": TruncatedIPCAC("log2"),
    'n_whitened="auto"': TruncatedIPCAC("auto"),
    "IPCAC": IPCAC(),
    "IPCAC, variance=0.99": IPCAC(variance=0.99),
}
for name, model in models.items():
    print(f"{name:<22}{model.fit(X, y).score(X_new, y_new):.3f}")
