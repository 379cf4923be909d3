"""
How early can a series be decided?
==================================

Three classes of series that are the same up to a quarter of their length and part from there on. A
classifier of complete series is given. `EarlyClassifier` follows a series value by value and
decides as soon as the complete series would get the same label with probability τ. Nobody can
know anything about the class in the first quarter, and the generator says so: whoever decides
there, guesses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from separatrix import EarlyClassifier, LocalQDA, datasets
from separatrix.evaluate.early import reliability_curve
from separatrix.plots import plot_early_decision, plot_reliability_curve

threadpool_limits(1)  # the problems are small: more threads only wait for each other

series = datasets.make_series(900, 40, onset=0.25, separation=5.0, random_state=0)
X, X_new = series.data[:300], series.data[300:]
y, y_new = series.target[:300], series.target[300:]
REQUIRED = (0.001, 0.1, 0.5, 0.9, 0.99)

# %%
# What is promised, and what comes
# --------------------------------
#
# Reliability is the share of decisions that the complete series confirms. It is above τ for every
# τ, by far: that a set of probability τ lies within a class is a hard demand, most of all when
# many values are still unknown. "All at" gives every series the same patience, the average time
# that one of the τ took.

models = {
    "logistic regression": EarlyClassifier(LogisticRegression()).fit(X, y),
    "LocalQDA": EarlyClassifier(LocalQDA(reg=0.1)).fit(X, y),
}
curves = {name: reliability_curve(model, X_new, y_new, REQUIRED) for name, model in models.items()}
for name, records in curves.items():
    print(f"{name}: accuracy {models[name].score(X_new, y_new):.3f} of complete series")
    print(f"{'tau':>10}{'time':>8}{'reliability':>13}{'accuracy':>10}{'early':>8}")
    for record in records:
        required = "all at" if record["required"] is None else f"{record['required']:g}"
        print(
            f"{required:>10}{record['time']:>8.1f}{record['reliability']:>13.3f}"
            f"{record['accuracy']:>10.3f}{record['early']:>8.1%}"
        )

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plot_reliability_curve(curves, ax=left)
plot_reliability_curve(curves, what="accuracy", ax=right)
for ax in (left, right):
    ax.axvline(series.onset, color="0.7", linestyle=":")

# %%
# One series
# ----------
#
# What was expected of the rest at the moment of the decision, and what came. The decision is about
# the label of the whole, not about each value: the band may be wide.

model = models["logistic regression"]
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, tau in zip(axes, (0.1, 0.9), strict=True):
    plot_early_decision(model, X_new[3], reliability=tau, ax=ax)

# %%
# What a whole series gives away when it is normalised
# ----------------------------------------------------
#
# Archives often hold series that were given mean zero and variance one over their whole length.
# Their first values then know something of the last ones. Here are the same series with and
# without, and how many guesses are right at the onset, where nothing can be known.


def normalised(rows: np.ndarray) -> np.ndarray:
    """Each series less its mean, divided by its standard deviation."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred / centred.std(axis=1, keepdims=True)


print(f"{'tau = 0.9':<14}{'time':>8}{'reliability':>13}{'guess at the onset':>20}")
for name, (known, new) in {
    "as they come": (X, X_new),
    "normalised": (normalised(X), normalised(X_new)),
}.items():
    leaking = EarlyClassifier(LogisticRegression()).fit(known, y)
    decided, at_onset = reliability_curve(leaking, new, y_new, [0.9], times=[series.onset])
    print(
        f"{name:<14}{decided['time']:>8.1f}{decided['reliability']:>13.3f}"
        f"{at_onset['accuracy']:>20.3f}"
    )

# %%
# A third of all guesses should be right there. Never normalise a series by values that would not
# have been seen.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
