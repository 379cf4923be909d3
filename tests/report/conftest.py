"""A small comparison."""

from __future__ import annotations

import pandas as pd
import pytest

from separatrix import datasets, evaluate
from separatrix.evaluate.splits import RandomShares


@pytest.fixture(scope="module")
def iris():
    data = datasets.load("iris")
    methods = ["FisherDiscriminant", "raw", "LDA"]
    return evaluate.compare(
        methods,
        pd.DataFrame(data.data, columns=data.feature_names),
        data.target,
        cv=RandomShares(3),
    )
