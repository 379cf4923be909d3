"""
Which model follows data that drift?
====================================

Two classes whose means rotate about each other: after half a turn they have changed places. The
best rule of the moment errs as rarely as ever, but it is another rule at every moment. Each model
predicts a batch before it learns from it, so that all rows are tested and none is held back.
"""

import matplotlib.pyplot as plt
from sklearn.base import ClassifierMixin
from sklearn.linear_model import SGDClassifier

from separatrix import FisherDiscriminant, OnlineIPCAC, datasets
from separatrix.evaluate.stream import PrequentialRecord, prequential
from separatrix.plots import plot_prequential

stream = datasets.make_drifting_pair(6000, 20, turns=1.5, separation=3.0, random_state=0)


def peer(**options: object) -> SGDClassifier:
    """A linear classifier that learns row by row, with the rule given."""
    return SGDClassifier(penalty=None, average=False, random_state=0, **options)


models: dict[str, ClassifierMixin] = {
    "Fisher, everything": FisherDiscriminant(),
    "Fisher, last 300 rows": FisherDiscriminant(window=300),
    "Fisher, decay 0.995": FisherDiscriminant(decay=0.995),
    "OnlineIPCAC, everything": OnlineIPCAC(),
    "OnlineIPCAC, last 300 rows": OnlineIPCAC(window=300),
    "OnlineIPCAC, decay 0.995": OnlineIPCAC(decay=0.995),
    "perceptron": peer(loss="perceptron", learning_rate="constant", eta0=1.0),
    "passive-aggressive": peer(loss="hinge", learning_rate="pa1", eta0=1.0),
    "logistic regression by SGD": peer(loss="log_loss"),
}

# %%
# Rows that must be forgotten
# ---------------------------
#
# A model of everything averages over all positions of the means and ends up knowing none of them.
# A window and a decay both stay a few percent above the smallest error there is.

runs: dict[str, list[PrequentialRecord]] = {
    name: prequential(model, stream.data, stream.target, batch_size=50)
    for name, model in models.items()
}
print(f"{'model':<28}{'error over the stream':>22}{'over its last third':>22}")
for name, records in runs.items():
    late = [record for record in records if record["seen"] >= 4000]
    error = sum(record["wrong"] for record in late) / sum(record["rows"] for record in late)
    print(f"{name:<28}{records[-1]['error']:>22.1%}{error:>22.1%}")
print(f"{'smallest error possible':<28}{stream.bayes_error:>22.1%}")

# %%
# Error over the last ten batches
# -------------------------------

shown = [
    "OnlineIPCAC, everything",
    "OnlineIPCAC, last 300 rows",
    "OnlineIPCAC, decay 0.995",
    "perceptron",
    "passive-aggressive",
]
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
plot_prequential({name: runs[name] for name in shown}, last=10, ax=ax)
ax.axhline(stream.bayes_error, color="0.5", linestyle=":", label="smallest error possible")
ax.legend(frameon=False, fontsize=8)

# %%
# How long a memory?
# ------------------
#
# A short window is noisy, a long one is late. Without drift nothing should be forgotten.

still = datasets.make_drifting_pair(6000, 20, turns=0.0, separation=3.0, random_state=0)
print(f"{'window':>8}{'drifting':>12}{'still':>12}")
for window in (50, 100, 300, 1000, 3000, None):
    errors = [
        prequential(OnlineIPCAC(window=window), s.data, s.target, batch_size=50)[-1]["error"]
        for s in (stream, still)
    ]
    print(f"{window or 'none':>8}{errors[0]:>12.1%}{errors[1]:>12.1%}")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
