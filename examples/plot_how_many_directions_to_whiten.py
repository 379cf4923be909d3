"""
How many directions should be whitened?
=======================================

`TruncatedIPCAC <separatrix.TruncatedIPCAC>` whitens the d leading principal axes of the data and
leaves the others as they are. With d = 1 its direction is the difference of the class means; with
d = the rank of the data it is that of `IPCAC <separatrix.IPCAC>`, which is Fisher's. The default
is d = log₂(n)² for n rows.

All data have 200 features and 1000 held-out rows.
"""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestCentroid
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from separatrix import IPCAC, TruncatedIPCAC, datasets

threadpool_limits(1)  # the problems are small: more threads only wait for each other

Array = NDArray[Any]
N_FEATURES, N_TEST, N_REPETITIONS = 200, 1000, 6
WHITENED = [1, 10, 25, 40, 80, 120, 150, 175, 190, 200]
OTHERS: dict[str, Any] = {
    "nearest mean": NearestCentroid(),
    "log₂ rule": TruncatedIPCAC("log2", keep_moments=False),
    "IPCAC": IPCAC(keep_moments=False),
}


class Curve:
    """Held-out accuracy in percent, (repetition, number of directions) and (repetition, other)."""

    def __init__(self, make: Callable[[int], Bunch], n_train: int) -> None:
        self.by_number = np.empty((N_REPETITIONS, len(WHITENED)))
        self.others = np.empty((N_REPETITIONS, len(OTHERS)))
        for seed in range(N_REPETITIONS):
            bunch = make(seed)
            X, y = bunch.data[:n_train], bunch.target[:n_train]
            X_test, y_test = bunch.data[n_train:], bunch.target[n_train:]
            for j, d in enumerate(WHITENED):
                model = TruncatedIPCAC(d, keep_moments=False).fit(X, y)
                self.by_number[seed, j] = 100 * model.score(X_test, y_test)
            for j, other in enumerate(OTHERS.values()):
                self.others[seed, j] = 100 * other.fit(X, y).score(X_test, y_test)
        self.log2 = int(OTHERS["log₂ rule"].n_whitened_)


def table(curves: dict[str, Curve]) -> None:
    """Means over the repetitions, and the log₂ rule less the nearest mean on the same data."""
    heads = [*OTHERS, "best d", "at best", "log₂ − nearest mean"]
    widths = (14, 12, 8, 8, 9, 21)
    heads_line = "".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True))
    print(f"{'accuracy, %':<22}{heads_line}")
    for name, curve in curves.items():
        means = curve.by_number.mean(axis=0)
        best = int(means.argmax())
        gain = curve.others[:, 1] - curve.others[:, 0]
        cells = [f"{value:.1f}" for value in curve.others.mean(axis=0)]
        cells += [str(WHITENED[best]), f"{means[best]:.1f}"]
        cells += [f"{gain.mean():+.1f} ± {gain.std():.1f}"]
        print(f"{name:<22}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)))


def draw(ax: Any, curves: dict[str, Curve]) -> None:
    """Accuracy against the number of directions, with the three models marked."""
    for i, (name, curve) in enumerate(curves.items()):
        color = f"C{i}"
        nearest, rule, ipcac = curve.others.mean(axis=0)
        ax.plot(WHITENED, curve.by_number.mean(axis=0), color=color, label=name)
        ax.axhline(nearest, color=color, linestyle=":")
        ax.plot(curve.log2, rule, "o", color=color)
        ax.plot(N_FEATURES, ipcac, "s", color=color)
    ax.plot([], [], "k:", label="nearest mean")
    ax.plot([], [], "ko", label="log₂ rule")
    ax.plot([], [], "ks", label="IPCAC")
    ax.set_xlabel("directions whitened")
    ax.set_ylabel("held-out accuracy, %")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


# %%
# As many rows as features, random covariances
# --------------------------------------------
#
# Two Gaussian classes with random means, and random covariances of their own. The scale of the
# means says how far apart they are. There are 220 rows to train: the smallest eigenvalues of the
# covariance are mostly error.


def pair(mean_scale: float) -> Callable[[int], Bunch]:
    """The data of each seed."""
    return lambda seed: datasets.make_gaussian_pair(
        220 + N_TEST, N_FEATURES, mean_scale=mean_scale, random_state=seed
    )


pairs = {f"mean scale {scale}": Curve(pair(scale), 220) for scale in (0.12, 0.25, 0.5)}
table(pairs)
print(f"the log₂ rule whitens {pairs['mean scale 0.5'].log2} directions")

# %%

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
draw(ax, pairs)

# %%
# Truncation saves most of what `IPCAC` loses by dividing by small eigenvalues. But on these data
# the nearest mean, which whitens nothing, is as good as the log₂ rule at the smallest scale, and
# about a point better at the two others. Even the best number of directions, chosen on the
# held-out rows, gains less than a point on the nearest mean. The covariances have no axis that is
# much longer than the others, so there is little to gain by whitening any.
#
# When does whitening help?
# -------------------------
#
# Two Gaussian classes with one covariance, whose eigenvalues spread over a factor of 1000. The
# long axes carry noise, and the nearest mean suffers from it. First with 220 rows, then with 1000.


def stretched(n_train: int) -> Callable[[int], Bunch]:
    """The data of each seed."""
    return lambda seed: datasets.make_gaussian_classes(
        n_train + N_TEST, N_FEATURES, 2, separation=2.0, condition=1000.0, random_state=seed
    )


stretches = {f"stretched, {n} rows": Curve(stretched(n), n) for n in (220, 1000)}
table(stretches)

# %%

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
draw(ax, stretches)

# %%
# Here truncation beats both ends with 220 rows. With 1000 rows, five for each feature, the
# covariance is known well enough: `IPCAC` is ahead of the log₂ rule and no truncation beats it.
#
# So: whiten few directions when rows are about as many as features, and also try the
# nearest mean. The log₂ rule is a fair start, not an optimum. With several rows for each feature
# whiten everything.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
