"""
What travels when rows do not fit into memory?
==============================================

Rows in blocks, on one disk or on many machines, are summarised where they are. What travels are
counts, class means and scatters, which add. Here a Dask array stands for such rows: its blocks are
made when they are needed and are never together. The fitted model is the one of all rows in
memory, and what was sent for it is weighed.
"""

import pickle
from typing import Any

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from separatrix import ClassMoments, FisherDiscriminant, map_blocks, score_blocks
from separatrix.moments import class_moments

dask.config.set(scheduler="threads", num_workers=2)
Array = NDArray[Any]
N_ROWS, N_FEATURES, N_CLASSES, BLOCK = 120_000, 40, 6, 10_000

# %%
# Rows that are made when they are needed
# ---------------------------------------
#
# In earnest a block is read from a file: ``dask.dataframe.read_parquet``,
# ``dask.array.from_zarr`` or `from_npy <separatrix.files.dask_tables.from_npy>` give the
# same kind of collection. Labels are one more column.

MEANS = 1.3 * np.random.default_rng(0).normal(size=(N_CLASSES, N_FEATURES))
MIXING = np.random.default_rng(1).normal(size=(N_FEATURES, N_FEATURES))


def block_of_rows(block_id: tuple[int, int] | None = None) -> Array:
    """Rows and, in the last column, their labels."""
    assert block_id is not None
    rng = np.random.default_rng([2, block_id[0]])
    y = rng.integers(N_CLASSES, size=BLOCK)
    X = rng.normal(size=(BLOCK, N_FEATURES)) @ MIXING + MEANS[y]
    return np.column_stack([X, y])


table = da.map_blocks(
    block_of_rows,
    chunks=((BLOCK,) * (N_ROWS // BLOCK), (N_FEATURES + 1,)),
    meta=np.empty((0, 0)),
)
X, y = table[:, :-1], table[:, -1].astype(int)
print(f"{X.shape[0]} rows in {X.numblocks[0]} blocks, {X.nbytes / 2**20:.0f} MB in all")

# %%
# The same model, in one pass
# ---------------------------
#
# `fit <separatrix.FisherDiscriminant>` takes the collection as it takes an array. `map_blocks`
# predicts lazily, and `score_blocks` counts block by block.

model = FisherDiscriminant().fit(X, y)
whole = FisherDiscriminant().fit(*(np.asarray(part) for part in dask.compute(X, y)))
apart = np.abs(model.components_ - whole.components_).max() / np.abs(whole.components_).max()
print(f"largest difference of components, relative   {apart:.0e}")
print(
    f"predict returns                              {type(map_blocks(model.predict, X)).__name__}"
)
print(f"share of labels that are right               {score_blocks(model, X, y):.3f}")

# %%
# Sites that keep their rows
# --------------------------
#
# The same without a cluster: every site computes its moments, sends them as bytes, and whoever
# receives them adds. Nothing else is needed for the model of all rows.

sites = [slice(0, 20_000), slice(20_000, 90_000), slice(90_000, N_ROWS)]
letters = [pickle.dumps(class_moments(X[rows], y[rows])) for rows in sites]
first, *rest = (pickle.loads(letter) for letter in letters)
total: ClassMoments = sum(rest, start=first)
print(f"rows of the sites      {[rows.stop - rows.start for rows in sites]}")
print(f"kB that each sends     {[round(len(letter) / 1024, 1) for letter in letters]}")
error = np.abs(total.Sw - whole.moments_.Sw).max() / np.abs(total.Sw).max()
print(f"scatter within classes, relative difference  {error:.0e}")

# %%
# How large a summary is
# ----------------------
#
# A d×d matrix of float64, and a mean for each class: as large for a million rows as for a
# thousand. Fewer rows than features are sent as they are, centred, since they are smaller then.
# The points are measured, the line is 8 d (d + C) bytes.

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
rng = np.random.default_rng(0)
numbers = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
for d, colour in ((40, "tab:blue"), (400, "tab:orange")):
    rows = rng.normal(size=(numbers[-1], d))
    kinds = np.arange(len(rows)) % N_CLASSES
    sizes = [
        len(pickle.dumps(ClassMoments.from_data(rows[:n], kinds[:n], classes=range(N_CLASSES))))
        for n in numbers
    ]
    axes.loglog(numbers, [8 * n * d for n in numbers], ":", color=colour, label=f"{d}: rows")
    axes.loglog(numbers, sizes, "o", color=colour, label=f"{d}: summary")
    axes.axhline(8 * d * (d + N_CLASSES), color=colour, linewidth=1)
axes.set_xlabel("rows in a block")
axes.set_ylabel("bytes")
axes.legend(title="features", frameon=False)

# %%
# With a thousand rows of 40 features a summary is a twentieth of the rows, with a million a
# twenty-thousandth. Blocks should have many more rows than features.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
