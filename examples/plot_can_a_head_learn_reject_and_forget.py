"""
Can a head learn a new class, say "none of these", and forget a customer?
=========================================================================

A head is the small classifier on top of embeddings that some network made. Here it is a
`FisherDiscriminant <separatrix.FisherDiscriminant>`: it is made of counts, class means and
scatter, which add and subtract. So it can do three things that others are trained anew for:

- say "none of these" for rows unlike all it knows, at a stated rate of false alarms;
- take a new class when its first rows come;
- forget the rows of a customer, exactly.

The embeddings are made here: the bundled digits through a fixed random layer.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from separatrix import FisherDiscriminant, WithRejection, datasets

threadpool_limits(1)  # the problems are small: more threads only wait for each other

Array = NDArray[Any]
rng = np.random.default_rng(0)
digits = datasets.load("digits")
layer = rng.standard_normal((digits.data.shape[1], 96)) / 8
embeddings = np.tanh(digits.data / 8 @ layer)
labels = np.array([f"digit {label}" for label in digits.target])
customers = rng.integers(40, size=len(labels))  # who sent each row

X, X_new, y, y_new, sender, _ = train_test_split(
    embeddings, labels, customers, test_size=0.4, random_state=0, stratify=labels
)
X_calibrate, X_test, y_calibrate, y_test = train_test_split(
    X_new, y_new, test_size=0.5, random_state=0, stratify=y_new
)

# %%
# None of these
# -------------
#
# The head knows nine digits. Rows of these that it did not learn say how novel known rows are;
# after that at most 5 % of known rows are rejected on average, whatever their distribution. One
# set of 320 calibration rows and as many test rows gives 5 ± 1.7 %, and these are the same in all
# lines. How many rows of the tenth digit are rejected depends on how unlike the others it is: here
# each is left out once.


def head_of(rows: Array) -> FisherDiscriminant:
    """A head that learned some of the rows."""
    return FisherDiscriminant(shrinkage=0.1).fit(X[rows], y[rows])


print("not learned   known rejected   unknown rejected")
novelty = {}
for late in np.unique(y):
    known = y_test != late
    careful = WithRejection(head_of(y != late), level=0.05)
    careful.calibrate(X_calibrate[y_calibrate != late])
    rejected = careful.predict(X_test) == "none"
    novelty[late] = careful.novelty_pvalue(X_test)
    shares = 100 * rejected[known].mean(), 100 * rejected[~known].mean()
    print(f"{late:<14}{shares[0]:>12.1f} %{shares[1]:>16.1f} %")

# %%
# A new class
# -----------
#
# A head that does not know the digit 0 meets it. ``classes="open"`` takes the new label, and a
# warning names it, in case it is a slip. The head is then the one that had known all digits from
# the start.

late = "digit 0"
head, coming = head_of(y != late), y == late
head.partial_fit(X[coming], y[coming], classes="open")
from_the_start = head_of(y != "")


def differ(a: FisherDiscriminant, b: FisherDiscriminant) -> str:
    """The largest difference of scores, as a share of the largest score."""
    scores = b.decision_function(X_test)
    return f"{np.abs(a.decision_function(X_test) - scores).max() / np.abs(scores).max():.0e}"


print(f"right on all ten digits     {100 * head.score(X_test, y_test):5.1f} %")
print(f"difference to a fit to all  {differ(head, from_the_start):>7}")

# %%
# A customer leaves
# -----------------
#
# Customer 7 wants all rows removed. They are subtracted, and the head is the one that never saw
# them. Rows that the head never learned are refused: a count or a variance would be negative.

gone = sender == 7
n_before = head.n_samples_seen_
head.forget(X[gone], y[gone])
never = head_of(~gone)
print(f"rows before and after       {n_before:.0f}, {head.n_samples_seen_:.0f}")
print(f"difference to never seen    {differ(head, never):>7}")
try:
    head.forget(100 + X[:3], y[:3])
except ValueError as error:
    print(f"other rows: {error}")

# %%
# P-values of rows of the nine known digits, which are uniform, and of the unknown one.

pvalues, known = novelty[late], y_test != late
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
bins = np.linspace(0, 1, 21).tolist()
ax.hist(pvalues[known], bins=bins, density=True, alpha=0.6, label="digits that were learned")
ax.hist(pvalues[~known], bins=bins, density=True, alpha=0.6, label="the digit 0, not learned yet")
ax.axvline(0.05, color="black", linewidth=1, label="rejected below")
ax.set_xlabel("p-value of being one of the known digits")
ax.set_ylabel("density of rows")
ax.legend(frameon=False)
plt.show()
