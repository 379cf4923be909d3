"""
How few rows does a head need, and how many more would help?
============================================================

A head on embeddings is learned from the few rows that somebody has labelled. Here are the
questions that come first: which head for a handful of rows, how often it will be wrong, and
whether more labels are worth their price. The embeddings are made here, of the bundled digits
through a fixed random layer; put any ``.npy`` of yours in their place.
"""

import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from separatrix import FisherDiscriminant, KernelFisherDiscriminant, datasets, export
from separatrix.insight import expected_error
from separatrix.kernels import Linear

threadpool_limits(1)  # the problems are small: more threads only wait for each other

Array = NDArray[Any]
rng = np.random.default_rng(0)
digits = datasets.load("digits")
layer = rng.standard_normal((digits.data.shape[1], 96)) / 8
embeddings = np.tanh(digits.data / 8 @ layer)  # or np.load("embeddings.npy")
labels = digits.target
order = rng.permutation(len(labels))
X, y, X_test, y_test = (
    embeddings[order[:900]],
    labels[order[:900]],
    embeddings[order[900:]],
    labels[order[900:]],
)

# %%
# Few rows of each class
# ----------------------
#
# With the linear kernel the ridge is judged by leaving each row out, in the units of the
# embeddings; `FisherDiscriminant <separatrix.FisherDiscriminant>` measures each feature by its
# deviation within classes, which a handful of rows do not show. Random features are the positive
# parts of random combinations: what a network's own last layer did not combine.

mix = rng.standard_normal((96, 1500))


def combine(rows: Array) -> Array:
    """Random features of rows."""
    return np.maximum(rows @ mix, 0.0)


counts = [2, 5, 10, 20, 40]
right: dict[str, list[float]] = {
    "linear kernel": [],
    "Fisher": [],
    "random features": [],
    "logistic regression": [],
}
for n_rows in counts:
    some = np.concatenate([np.flatnonzero(y == c)[:n_rows] for c in range(10)])
    few, own = X[some], y[some]
    right["linear kernel"].append(
        KernelFisherDiscriminant(kernel=Linear()).fit(few, own).score(X_test, y_test)
    )
    right["Fisher"].append(
        FisherDiscriminant(shrinkage="auto").fit(few, own).score(X_test, y_test)
    )
    combined = KernelFisherDiscriminant(kernel=Linear()).fit(combine(few), own)
    right["random features"].append(combined.score(combine(X_test), y_test))
    logistic = LogisticRegression(C=10, max_iter=2000).fit(few, own)
    right["logistic regression"].append(logistic.score(X_test, y_test))
print("rows a class        " + "".join(f"{n:>7}" for n in counts))
for name, values in right.items():
    print(f"{name:<20}" + "".join(f"{100 * value:>7.1f}" for value in values))

# %%
# Would more rows help?
# ---------------------
#
# Digits 3 and 8 of a bad camera, whose embeddings are noisy. From the moments of 60 rows each
# follows the error with more of them, and the interval says how far to trust it.

noisy, noisy_test = (rows + 0.8 * rng.standard_normal(rows.shape) for rows in (X, X_test))
some = np.concatenate([np.flatnonzero(y == c)[:60] for c in (3, 8)])
head = FisherDiscriminant(shrinkage="moments").fit(noisy[some], y[some])
for n in (120, 180, 1000):
    said = expected_error(head, n=n)
    known = "known" if said.known else f"not known: {said.why}"
    low, high = 100 * said.low, 100 * said.high
    print(f"{n:>5} rows: {100 * said.error:.1f} % ({low:.1f} to {high:.1f}), {known}")
new = np.isin(y_test, [3, 8])
measured = 1 - head.score(noisy_test[new], y_test[new])
print(f"measured:   {100 * measured:.1f} % of {new.sum()} new rows")

# %%
# For other programs
# ------------------
#
# The head is a matrix and a vector.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "head.json"
    export(head, path)
    print(path.read_text()[:100])

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, values in right.items():
    ax.plot(counts, 100 * np.array(values), "o-", label=name)
ax.set_xscale("log")
ax.set_xticks(counts, [str(n) for n in counts])
ax.set_xlabel("rows of each class")
ax.set_ylabel("% right on new rows")
ax.legend()
plt.show()
