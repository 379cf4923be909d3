"""Fitting to rows that stay in a database: ``fit duckdb:trips.parquet``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.cli.console import Console

NEEDS_ROWS = {
    "tune": False,
    "clip": None,
    "text": (),
    "rows": "",
    "categorical": "refuse",
    "missing": "refuse",
}
"""Options of `fit` that look at rows unless they have these values."""


def sums_suffice(data: str, estimator: Any, decision: str, options: Mapping[str, Any]) -> bool:
    """Whether a model of a database needs its sums only, so that no row is read."""
    import numpy as np

    from separatrix.base.batches import MomentEstimator
    from separatrix.files.databases import is_address

    if not is_address(data) or decision != "own" or not isinstance(estimator, MomentEstimator):
        return False
    if any(options[name] != usual for name, usual in NEEDS_ROWS.items()):
        return False
    try:
        estimator._check_moments_suffice(np.array([]))
    except ValueError:
        return False
    return estimator.window is None and estimator.decay is None


def fit_database(
    console: Console, data: str, estimator: Any, options: Mapping[str, Any]
) -> tuple[Any, str, int]:
    """A model of rows that stay where they are, the column of labels, and the number of rows."""
    import numpy as np

    from separatrix.base.prepared import fit_moments, put_behind_scaler
    from separatrix.files.databases import summarize_database

    keeps = estimator._keeps_class_scatters(np.array([]))
    found = summarize_database(
        data, target=options["target"], ignore=options["ignore"], per_class=keeps
    )
    fit_moments(estimator, found.moments, found.features)
    console.note("No row was read: the database added up counts, sums and products")
    model = put_behind_scaler(estimator) if options["scale"] else estimator
    return model, found.target, round(found.moments.n_samples)
