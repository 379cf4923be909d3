"""
Which set decides earliest and keeps its promise?
=================================================

A decision is reliable when a set of probability τ lies within one class. The set may be an
ellipsoid, a box, or one that holds for any distribution (Chebyshev). For two classes and a linear
rule there is also the probability of the class itself, "ideal". And the rest of a series may be
expected from one normal model of all series, or from one for each class. Which combination decides
earliest, and which keep what they promise?
"""

from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from separatrix import LDG, EarlyClassifier, FisherDiscriminant, LocalQDA, datasets
from separatrix.early import ModelJudge

threadpool_limits(1)  # the problems are small: more threads only wait for each other

TAU = 0.9


def judged(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    """Average time, reliability and accuracy of decisions at τ."""
    decisions = model.decide_early(X, reliability=TAU)
    same = np.mean(decisions.label == model.predict(X))
    return f"{decisions.time.mean():>8.1f}{same:>13.3f}{np.mean(decisions.label == y):>10.3f}"


# %%
# Many series to learn from, and few
# ----------------------------------
#
# Two classes of 40 values, a linear rule. With 1000 series the models are known well, with 40 they
# are not.

series = datasets.make_series(3000, 40, 2, onset=0.2, separation=4.0, random_state=3)
X_new, y_new = series.data[1000:], series.target[1000:]
print(f"{'tau = 0.9':<34}{'time':>8}{'reliability':>13}{'accuracy':>10}")
for n in (1000, 40):
    X, y = series.data[:n], series.target[:n]
    print(f"{n} series")
    for region, conditional in product(
        ("ideal", "ellipsoid", "box", "chebyshev"), ("gaussian", "mixture")
    ):
        model = EarlyClassifier(FisherDiscriminant(), judge=ModelJudge(region, conditional)).fit(
            X, y
        )
        wider = f", spread ×{model.widening_:.2f}" if region == "ideal" else ""
        print(f"  {f'{region}, {conditional}{wider}':<32}{judged(model, X_new, y_new)}")

# %%
# "ideal" decides first: it asks for the probability of the class, not for a set that has to fit
# into it. It leaves no room for errors of the model, so that its spread is widened by what rows
# held out exceed it by; with few series to learn from that is much. A model for each class knows
# more, decides earlier, and is wrong more often when it was learned from few.
#
# How reliable is deciding now?
# -----------------------------
#
# The largest τ at which a decision stands is known at any time. For the ideal rule and a model of
# which enough is known, it is the probability that the complete series gets this label: of all
# guesses with reliability about 0.8, four in five are confirmed.

model = EarlyClassifier(FisherDiscriminant(), judge=ModelJudge(conditional="mixture"))
model.fit(series.data[:1000], series.target[:1000])
complete = model.predict(X_new)
claimed, confirmed = [], []
for t in range(2, 40, 3):
    decisions = model.decide(np.where(np.arange(40) < t, X_new, np.nan))
    claimed.append(decisions.reliability)
    confirmed.append(decisions.label == complete)
edges = np.linspace(0.5, 1, 11)
place = np.digitize(np.concatenate(claimed), edges[1:-1])
share = np.bincount(place, np.concatenate(confirmed)) / np.bincount(place)

figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
ax.plot([0.5, 1], [0.5, 1], "k:", label="as promised")
ax.plot((edges[1:] + edges[:-1]) / 2, share, "o-", label="ideal, mixture")
ax.set(xlabel="reliability that was stated", ylabel="share that was confirmed")
ax.legend(frameon=False)

# %%
# Fewer coordinates
# -----------------
#
# A rule of neighbours in all values has as many unknowns as values to come. In a few directions
# the set has few dimensions, and it takes less to fit it into a class.

three = datasets.make_series(900, 40, 3, onset=0.2, separation=5.0, random_state=1)
X, y, X_new, y_new = three.data[:400], three.target[:400], three.data[400:], three.target[400:]
reducers = {
    "all values": None,
    "LDG, chosen dimension": LDG("auto"),
    "FisherDiscriminant": FisherDiscriminant(shrinkage="auto"),
    "PCA, 5 components": PCA(5),
}
print(f"{'LocalQDA, tau = 0.9, in':<34}{'time':>8}{'reliability':>13}{'accuracy':>10}")
for name, reducer in reducers.items():
    model = EarlyClassifier(LocalQDA(reg=0.1), judge="model", reducer=reducer).fit(X, y)
    print(f"{name:<34}{judged(model, X_new, y_new)}")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
