"""Property tests: the same examples in every run of `make test`, new ones in `make fuzz`."""

from __future__ import annotations

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
