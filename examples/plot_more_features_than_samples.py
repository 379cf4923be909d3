"""
What works with more features than samples?
===========================================

With fewer samples than features the scatter within classes has no inverse, and there are always
directions along which every training class shrinks to a point. The methods of the Fisher family
differ in what they make of that.

The data are three Gaussian classes with a common covariance in 2000 features. Each training set
has equal shares of the classes; 500 other samples judge. All numbers are means over three
training sets.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from separatrix import (
    DirectDiscriminant,
    FisherDiscriminant,
    GSVDDiscriminant,
    MaximumMarginCriterion,
    NullSpaceDiscriminant,
    datasets,
)

threadpool_limits(1)  # the problems are small: more threads only wait for each other

# %%
# Data and methods
# ----------------
#
# The maximum margin criterion has no rule of its own: the nearest class mean decides.

N_SAMPLES = [12, 24, 60, 120, 240]
METHODS: dict[str, Any] = {
    "Fisher, no shrinkage": FisherDiscriminant(shrinkage=None),
    "Fisher, shrinkage auto": FisherDiscriminant(),
    "null space": NullSpaceDiscriminant(),
    "GSVD": GSVDDiscriminant(),
    "direct": DirectDiscriminant(),
    "maximum margin": make_pipeline(MaximumMarginCriterion(), NearestCentroid()),
}

bunch = datasets.make_gaussian_classes(
    1000, 2000, 3, separation=5.0, condition=1000.0, random_state=0
)
X, X_test, y, y_test = train_test_split(
    bunch.data, bunch.target, test_size=500, stratify=bunch.target, random_state=0
)

accuracy = np.empty((len(METHODS), len(N_SAMPLES), 3))
for j, n in enumerate(N_SAMPLES):
    for draw in range(accuracy.shape[2]):
        rows = train_test_split(np.arange(500), train_size=n, stratify=y, random_state=draw)[0]
        for i, method in enumerate(METHODS.values()):
            model = clone(method).fit(X[rows], y[rows])
            accuracy[i, j, draw] = model.score(X_test, y_test)

# %%
# Held-out accuracy, in percent
# -----------------------------

print(f"{'samples':<24}" + "".join(f"{n:>8}" for n in N_SAMPLES))
for name, scores in zip(METHODS, 100 * accuracy.mean(axis=2), strict=True):
    print(f"{name:<24}" + "".join(f"{score:>8.1f}" for score in scores))

# %%
# The same as lines. The methods are close, so the right-hand side shows the difference from Fisher
# on the same training sets, with a band of one standard deviation.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
styles = ["-", "-", ":", "--", "-", "-"]
for name, scores, style in zip(METHODS, 100 * accuracy, styles, strict=True):
    (line,) = left.plot(N_SAMPLES, scores.mean(axis=1), style, marker="o", label=name)
    gain = scores - 100 * accuracy[0]
    mean, spread = gain.mean(axis=1), gain.std(axis=1)
    right.plot(N_SAMPLES, mean, style, marker="o", color=line.get_color())
    right.fill_between(N_SAMPLES, mean - spread, mean + spread, color=line.get_color(), alpha=0.1)
for ax in (left, right):
    ax.set_xscale("log")
    ax.set_xticks(N_SAMPLES, [str(n) for n in N_SAMPLES])
    ax.minorticks_off()
    ax.set_xlabel("training samples of 2000 features")
left.set_ylabel("held-out accuracy, %")
right.set_ylabel("difference from Fisher without shrinkage")
left.legend(frameon=False)

# %%
# Up to 60 samples hardly anything separates the methods, but for the direct one at 12. With more
# samples the methods that insist on perfect directions (Fisher without shrinkage, null space,
# GSVD) fall behind. Shrinkage makes up for part of that. The maximum margin criterion, which
# inverts nothing, is ahead at 240 samples. That is no law: it depends on the scale of the
# features, as Fisher with enough samples does not.
#
# GSVD has the subspace of Fisher and decides alike; it only scales the directions otherwise.
#
# Perfect on the training rows, and no better for it
# --------------------------------------------------
#
# Without shrinkage Fisher's directions here are those of the null space: the projected rows of a
# training class coincide. The two models are one, and so are their decisions.

rows = train_test_split(np.arange(500), train_size=60, stratify=y, random_state=0)[0]
fisher = FisherDiscriminant(shrinkage=None).fit(X[rows], y[rows])
null = NullSpaceDiscriminant().fit(X[rows], y[rows])
shrunk = FisherDiscriminant().fit(X[rows], y[rows])
print(
    f"largest difference of components: {np.abs(fisher.components_ - null.components_).max():.0e}"
)
for name, model in [("no shrinkage", fisher), ("shrinkage auto", shrunk)]:
    train, test = model.score(X[rows], y[rows]), model.score(X_test, y_test)
    print(f"{name:<16} accuracy on 60 training rows {train:.3f}, held out {test:.3f}")
print(f"the shrinkage that was chosen: {shrunk.shrinkage_:.2f}")

# %%
# The direct method with very few samples
# ---------------------------------------
#
# In the span of the class means the training rows have little scatter left, and the Gaussian rule
# of the direct method trusts that estimate. With 12 samples it overstates its case: on this
# training set most held-out samples end in one class.

rows = train_test_split(np.arange(500), train_size=12, stratify=y, random_state=0)[0]
for name in ("direct", "Fisher, no shrinkage"):
    predicted = clone(METHODS[name]).fit(X[rows], y[rows]).predict(X_test)
    counts = np.bincount(predicted, minlength=3)
    print(f"{name:<20} predictions per class {counts.tolist()}")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
