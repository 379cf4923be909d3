"""One small table, written in every format."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

FRAME = pd.DataFrame(
    {
        "size": [1.5, 2.0, 3.25, 4.0],
        "count": [1, 2, 3, 5],
        "kind": ["oak", "ash", "oak", "ash"],
    }
)
ARFF = """@relation trees
@attribute size numeric
@attribute count numeric
@attribute kind {oak,ash}
@data
1.5,1,oak
2.0,2,ash
3.25,3,oak
4.0,5,ash
"""


def written(tmp_path, form):
    """The path of the table in a format."""
    path = tmp_path / f"trees.{form}"
    match form:
        case "csv":
            FRAME.to_csv(path, index=False)
        case "tsv":
            FRAME.to_csv(path, index=False, sep="\t")
        case "csv.gz":
            path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
        case "parquet":
            pytest.importorskip("pyarrow")
            FRAME.to_parquet(path, index=False)
        case "npz":
            np.savez(
                path,
                X=FRAME[["size", "count"]].to_numpy(),
                y=FRAME["kind"].to_numpy(dtype=str),
                feature_names=np.array(["size", "count"]),
            )
        case "arff":
            path.write_text(ARFF)
    return path
