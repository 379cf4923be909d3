"""A small comparison."""

from __future__ import annotations

import pytest

from separatrix import datasets, evaluate


@pytest.fixture(scope="module")
def iris():
    data = datasets.load("iris")
    methods = ["FisherDiscriminant", "raw", "LDA"]
    return evaluate.compare(
        methods, data.data, data.target, n_splits=3, feature_names=data.feature_names
    )
