"""Property tests have the same examples in every run of `make test`, new ones in `make fuzz`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fixed", max_examples=80, derandomize=True, database=None, deadline=None)
settings.register_profile(
    "fuzz",
    max_examples=20_000,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fixed")


@pytest.fixture
def rng():
    """The same draws for a test whatever ran before it."""
    return np.random.default_rng(0)


@pytest.fixture
def one_dask_thread():
    """Dask runs its tasks in this thread, so that memory and calls can be counted."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield
