"""
What if one of three hospitals leaves?
======================================

Three hospitals train one model and none sends rows. Federated averaging goes in rounds: each
hospital improves the common weights by its own rows, and the weights are averaged. A merged model
needs one message from each, and is the model of all rows. When a hospital leaves, the merged model
subtracts it; rounds begin again.

The data are the bundled breast cancer data; the split into hospitals is made up.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from separatrix import FisherDiscriminant, datasets, merge

threadpool_limits(1)  # the problems are small: more threads only wait for each other

Array = NDArray[Any]
cancer = datasets.load("breast_cancer")
X, X_test, y, y_test = train_test_split(
    cancer.data, cancer.target, test_size=0.4, stratify=cancer.target, random_state=0
)
# uneven hospitals: rows sorted by a measurement, with some noise, and cut
order = np.argsort(X[:, 0] + 3 * np.random.default_rng(0).standard_normal(len(X)))
parts = dict(zip("ABC", np.split(order, [len(X) // 2, 4 * len(X) // 5]), strict=True))
for name, rows in parts.items():
    share = 100 * np.mean(y[rows] == "malignant")
    print(f"hospital {name}: {len(rows):>3} rows, {share:.0f} % malignant")

# %%
# One message each
# ----------------
#
# Each hospital fits a model as people do, a scaler before it. `merge <separatrix.merge>` undoes
# each scaler, adds the moments, and scales by all rows.


def fit(rows: Array) -> Pipeline:
    """A scaler and Fisher's discriminant."""
    return make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=0.05)).fit(
        X[rows], y[rows]
    )


models = {name: fit(rows) for name, rows in parts.items()}
merged = merge(list(models.values()))
whole = fit(order)
difference = np.abs(merged.decision_function(X_test) - whole.decision_function(X_test)).max()
for name, model in models.items():
    print(f"hospital {name} alone   {100 * model.score(X_test, y_test):.1f} %")
print(f"merged             {100 * merged.score(X_test, y_test):.1f} %")
print(f"difference of its scores to those of a fit to all rows: {difference:.0e}")

# %%
# Hospital C leaves
# -----------------
#
# Its model is subtracted, scaler included. Nobody else is asked.

rest = merge([merged], without=[models["C"]])
never = fit(np.concatenate([parts["A"], parts["B"]]))
difference = np.abs(rest.decision_function(X_test) - never.decision_function(X_test)).max()
print(f"without C          {100 * rest.score(X_test, y_test):.1f} %")
print(f"difference of its scores to those of a fit without C: {difference:.0e}")

# %%
# Compared with federated averaging
# ---------------------------------
#
# Logistic regression by gradient steps: in each round every hospital makes five steps from the
# common weights, and the weights are averaged by rows. Rows are scaled by the scaler of all rows,
# which the hospitals would have to agree on first. C leaves after 30 rounds: what it contributed
# stays in the weights, so the rounds begin anew. Averaging is a little better here: logistic
# regression suits these data better than Gaussian classes do.

N_ROUNDS, N_STEPS, RATE = 30, 5, 0.5


def average_in_rounds(names: str, n_rounds: int) -> list[float]:
    """Held-out accuracy after each round."""
    Z, Z_test = (np.c_[merged[0].transform(rows), np.ones(len(rows))] for rows in (X, X_test))
    target, target_test = (labels == merged.classes_[1] for labels in (y, y_test))
    weights, scores = np.zeros(Z.shape[1]), []
    for _ in range(n_rounds):
        local = []
        for name in names:
            w, rows = weights.copy(), parts[name]
            for _ in range(N_STEPS):
                p = 1 / (1 + np.exp(-Z[rows] @ w))
                w -= RATE * Z[rows].T @ (p - target[rows]) / len(rows)
            local.append(w)
        weights = np.average(local, axis=0, weights=[len(parts[name]) for name in names])
        scores.append(100 * float(np.mean((Z_test @ weights > 0) == target_test)))
    return scores


together, apart = average_in_rounds("ABC", N_ROUNDS), average_in_rounds("AB", N_ROUNDS)
print(f"averaging, messages of each hospital   {N_ROUNDS} with C, {N_ROUNDS} more without")
print(f"averaging, after {N_ROUNDS} rounds              {together[-1]:.1f} %, {apart[-1]:.1f} %")
print("merging, messages of each hospital     1, none more")

# %%
# Held-out accuracy by round; the merged models have no rounds.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
rounds = np.arange(1, N_ROUNDS + 1)
ax.plot(rounds, together, label="averaging, A, B and C")
ax.plot(N_ROUNDS + rounds, apart, label="averaging anew, A and B")
before, after = (100 * model.score(X_test, y_test) for model in (merged, rest))
ax.plot([0, N_ROUNDS], [before] * 2, "k-", label="merged")
ax.plot([N_ROUNDS, 2 * N_ROUNDS], [after] * 2, "k--", label="merged, C subtracted")
ax.axvline(N_ROUNDS, color="grey", linewidth=1)
ax.set_xlabel("rounds of messages")
ax.set_ylabel("held-out accuracy, %")
ax.legend(frameon=False)
plt.show()
