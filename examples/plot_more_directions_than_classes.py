"""
Can there be more directions than classes?
==========================================

Fisher's criterion has at most C − 1 directions for C classes, since that is all the class means
span. Two ways lead further. Groups of features give C − 1 directions each. Local scatter looks at
neighbours instead of means, and gives as many directions as there are features.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from separatrix import (
    FisherDiscriminant,
    GroupedDiscriminant,
    LocalFisherDiscriminant,
    datasets,
)

Array = NDArray[Any]


def neighbours(Z: Array, y: Array, Z_test: Array, y_test: Array) -> float:
    """Held-out accuracy of three nearest neighbours, in percent."""
    return 100 * float(KNeighborsClassifier(3).fit(Z, y).score(Z_test, y_test))


# %%
# Classes of several clusters
# ---------------------------
#
# Class "outside" has two clusters, class "inside" lies between them, and the class means coincide.
# Eight more features are noise, with a wider spread than the clusters.

rng = np.random.default_rng(0)
n = 300
y = rng.choice(["inside", "outside"], n)
side = np.where(y == "inside", 0.0, rng.choice([-1.0, 1.0], n))
X = np.hstack([(4 * side + rng.normal(size=n))[:, None], 6 * rng.normal(size=(n, 9))])
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

models = {
    "Fisher": FisherDiscriminant(),
    "grouped, 5 × 2 features": GroupedDiscriminant(groups=5),
    "local Fisher, 2": LocalFisherDiscriminant(2),
}
print(f"{'method':<26}{'directions':>10}{'3-NN, %':>10}")
print(f"{'all features':<26}{X.shape[1]:>10}{neighbours(X, y, X_test, y_test):>10.1f}")
for name, model in models.items():
    Z, Z_test = model.fit(X, y).transform(X), model.transform(X_test)
    print(f"{name:<26}{Z.shape[1]:>10}{neighbours(Z, y, Z_test, y_test):>10.1f}")
