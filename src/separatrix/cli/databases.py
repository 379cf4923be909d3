"""Fitting to rows that stay in a database: ``fit duckdb:trips.parquet``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from separatrix.cli.blocks import NEEDS_ROWS
from separatrix.cli.console import Console
from separatrix.files.reading import Reading


def sums_suffice(
    data: str, reading: Reading, estimator: Any, decision: str, options: Mapping[str, Any]
) -> bool:
    """Whether a model of a database needs its sums only, so that no row is read."""
    import numpy as np

    from separatrix.base.batches import MomentEstimator
    from separatrix.moments.sql import is_address

    if not is_address(data) or decision != "own" or not isinstance(estimator, MomentEstimator):
        return False
    if any(options[name] != usual for name, usual in NEEDS_ROWS.items()):
        return False
    if reading.text or reading.samples or reading.labels:
        return False
    try:
        estimator._check_moments_suffice(np.array([]))
    except ValueError:
        return False
    return estimator.window is None and estimator.decay is None


def fit_database(
    console: Console, data: str, reading: Reading, estimator: Any, scale: bool
) -> tuple[Any, str, int]:
    """A model of rows that stay where they are, the column of labels, and the number of rows."""
    from separatrix.base.prepared import fit_moments, put_behind_scaler

    moments, target, features = _summarize(estimator, data, reading)
    fit_moments(estimator, moments, features)
    console.note("No row was read: the database added up counts, sums and products")
    model = put_behind_scaler(estimator) if scale else estimator
    return model, target, round(moments.n_samples)


def _summarize(estimator: Any, data: str, reading: Reading) -> tuple[Any, str, list[str]]:
    """Moments with labels as text, as those of files are; the target, and the features."""
    import numpy as np
    import pandas as pd

    from separatrix.files.tables import (
        check_known_name,
        check_label_column,
        format_labels,
    )
    from separatrix.moments.sql import DatabaseTable, connect, find_table, read_address, select_all

    where = read_address(data)
    with closing(connect(where)) as connection:
        source = find_table(connection, where)
        columns, _ = select_all(connection, source, where.where, limit=0)
        for name in reading.not_features:
            check_known_name(name, columns, "column")
        named = str(reading.find_target(columns))
        features = [name for name in columns if name not in (*reading.not_features, named)]
        table = DatabaseTable.open(connection, source, named, features, where.where)
        table = table._replace(name_labels=lambda labels: format_labels(pd.Series(labels), named))
        moments = table.summarize(per_class=estimator._keeps_class_scatters(np.array([])))
    # as many labels as rows can show: one more than classes where any class has two
    n_shown = min(len(moments.classes) + 1, round(moments.n_samples))
    check_label_column(np.resize(moments.classes, n_shown), named)
    return moments, named, features
