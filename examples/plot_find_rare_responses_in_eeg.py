"""
Can rare responses be found in EEG?
===================================

A picture is shown every second; one in five is rare, and is answered by one more wave, around
0.35 s. The recording is made by a rule, so that the area under the ROC curve of the best detector
is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from separatrix import FisherDiscriminant, TruncatedIPCAC, datasets
from separatrix.features.signals import cut_epochs

eeg = datasets.make_epochs(600, 8, rate=64, separation=2.5, random_state=0)
X = cut_epochs(eeg.signal, eeg.triggers, eeg.rate, start=eeg.start, stop=eeg.stop)
rare = eeg.target == "rare"
blocks = np.arange(len(X)) // 60  # ten blocks of a minute
print(f"{len(X)} epochs of {X.shape[1]} channels and {X.shape[2]} values, {rare.sum()} are rare")

# %%
# How well is it detected?
# ------------------------
#
# Blocks are held out as a whole: neighbouring epochs share slow noise. There are 408 values for
# 480 training epochs: the covariance is hardly known, and must be shrunk or whitened in part.

methods = {
    "Fisher": FisherDiscriminant(shrinkage=None),
    "Fisher, shrunk": FisherDiscriminant(),
    "truncated IPCAC": TruncatedIPCAC(),
}
scores = {name: np.empty(len(X)) for name in methods}
for train, test in GroupKFold(5).split(X, groups=blocks):
    for name, model in methods.items():
        scores[name][test] = model.fit(X[train], rare[train]).decision_function(X[test])
for name, found in scores.items():
    print(f"{name}: AUC {roc_auc_score(rare, found):.3f}")
print(f"best possible: {eeg.auc:.3f}")

# %%
# What is it detected by?
# -----------------------
#
# Weights cancel noise; the pattern shows what changes with the score, channel by channel.

model = FisherDiscriminant().fit(X, rare)
pictures = {
    "the wave": eeg.pattern,
    "weights": model.components_[0].reshape(X.shape[1:]),
    "pattern": model.patterns_[0].reshape(X.shape[1:]),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
    size = np.abs(picture).max()
    extent = (0, eeg.stop, len(eeg.channels) - 0.5, -0.5)
    ax.imshow(picture, aspect="auto", extent=extent, cmap="RdBu_r", vmin=-size, vmax=size)
    ax.set(title=title, xlabel="seconds after the picture")
axes[0].set_yticks(range(len(eeg.channels)), eeg.channels)
for title in ("weights", "pattern"):
    same = np.corrcoef(pictures[title].ravel(), eeg.pattern.ravel())[0, 1]
    print(f"correlation of the {title} with the wave: {same:.2f}")

# %%
# Decisions, picture by picture
# -----------------------------
#
# Only epochs whose class has a probability of 0.95 or more are decided; the others wait for
# another showing.

train, test = np.arange(480), np.arange(480, 600)
model = FisherDiscriminant(shrinkage="auto").fit(X[train], rare[train])
probability = model.predict_proba(X[test])
sure = probability.max(axis=1) >= 0.95
right = (model.predict(X[test]) == rare[test])[sure]
print(f"decided: {sure.mean():.0%} of the epochs, {right.mean():.1%} of them correctly")

# %%
# What this cannot do: probabilities rest on Gaussian noise of one covariance, which a blink is
# not; and a detector of one person is not one of another.
plt.show()
