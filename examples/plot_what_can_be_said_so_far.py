"""
What can be said so far?
========================

Values come one by one, from a sensor or from tests that are ordered one after the other. After
each of them: which class would it be, how reliable would it be to say so now, and is that enough?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from separatrix import EarlyClassifier, FisherDiscriminant, datasets
from separatrix.plots import plot_class_reliabilities

threadpool_limits(1)  # the problems are small: more threads only wait for each other

# %%
# A stream, frame by frame
# ------------------------
#
# Bars show how reliable a decision would be now; a faint bar is the most that another class has
# had on the way. The bar turns green when it reaches τ. The rule works in the three directions
# that separate four classes.

series = datasets.make_series(700, 48, 4, onset=0.2, separation=5.0, random_state=5)
names = np.array(["steady", "rising", "falling", "swinging"])[series.target]
model = EarlyClassifier(LinearDiscriminantAnalysis(), reducer=FisherDiscriminant())
model.fit(series.data[100:], names[100:])
watched, right = series.data[5], names[5]

stream = model.stream()
history = [stream.push(value) for value in watched]
figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained", sharex=True, sharey=True)
for ax, t in zip(axes.flat, (4, 20, 24, 28, 32, 48), strict=True):
    plot_class_reliabilities(history[:t], model.classes_, required=0.9, ax=ax)
first = next(d for d in history if d.decided)
print(f"decided after {first.n_observed} values: {first.label} ({right} is right)")

# %%
# Only one answer matters
# -----------------------
#
# Whoever waits for one class need not hear of the others: later answers may differ from earlier
# ones, and the first that is decided for the class is the one to hear.

for wanted in model.classes_:
    heard = [d for d in history if d.decided and d.label == wanted]
    print(f"waiting for {wanted}: {f'after {heard[0].n_observed} values' if heard else 'never'}")

# %%
# Tests that are ordered one by one
# ---------------------------------
#
# Thirty measurements of cells, malignant or not. Suppose that each has its price. Take the columns
# in some order, and stop for each patient as soon as the rest would change the diagnosis with a
# probability of one in a hundred only.

cancer = datasets.load("breast_cancer")
train = np.arange(len(cancer.data)) % 2 == 0
rule = EarlyClassifier(FisherDiscriminant(), reliability=0.99)


def measured(order: np.ndarray) -> str:
    """Average number of measurements, agreement with all of them, and accuracy."""
    fitted = rule.fit(cancer.data[train][:, order], cancer.target[train])
    rows, target = cancer.data[~train][:, order], cancer.target[~train]
    decisions = fitted.decide_early(rows)
    same = np.mean(decisions.label == fitted.predict(rows))
    right = np.mean(decisions.label == target)
    best = fitted.score(rows, target)
    return f"{decisions.time.mean():>14.1f}{same:>14.3f}{right:>10.3f}{best:>16.3f}"


rng = np.random.default_rng(0)
scores = FisherDiscriminant().fit(
    cancer.data[train] / cancer.data[train].std(axis=0), cancer.target[train]
)
orders = {
    "as in the table": np.arange(30),
    "by weight": np.argsort(-np.abs(scores.coef_[0])),
    "at random": rng.permutation(30),
}
print(f"{'order':<16}{'measurements':>14}{'as with all':>14}{'right':>10}{'right with all':>16}")
for name, order in orders.items():
    print(f"{name:<16}{measured(order)}")

# %%
# Holes anywhere
# --------------
#
# Values may also be missing without any order. Rows that cannot be decided are known, and they are
# the ones on which a guess would be worth less.

rule.fit(cancer.data[train], cancer.target[train])
rows = cancer.data[~train].copy()
complete = rule.predict(rows)
rows[rng.random(rows.shape) < 0.5] = np.nan
decisions = rule.decide(rows, reliability=0.95)
same = decisions.label == complete
print(
    f"half of all values missing: {decisions.decided.mean():.0%} of the rows are decided at 0.95"
)
print(f"decided rows agree with the complete ones in {same[decisions.decided].mean():.1%},")
print(f"guesses on the others would in {same[~decisions.decided].mean():.1%}")

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
