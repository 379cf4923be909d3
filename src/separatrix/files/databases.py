"""Rows of a database as a data frame, for methods that look at rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.sql import (
    DatabaseTable,
    connect,
    find_table,
    is_address,
    read_address,
    select_all,
)

__all__ = ["is_address", "read_database", "summarize_database"]


def read_database(address: str) -> Any:
    """All rows of the table or query that an address means, as `moments.sql.summarize` reads it.

    Examples
    --------
    >>> import os, sqlite3, tempfile
    >>> from contextlib import closing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.db")
    ...     with closing(sqlite3.connect(path)) as made, made:
    ...         _ = made.execute("CREATE TABLE rows AS SELECT 1.5 AS width, 'a' AS kind")
    ...     frame = read_database(f"sqlite:///{path}")
    >>> frame
       width kind
    0    1.5    a
    """
    from separatrix.files.readers import import_pandas

    pd = import_pandas()
    where = read_address(address)
    with closing(connect(where)) as connection:
        columns, rows = select_all(connection, find_table(connection, where), where.where)
    frame = pd.DataFrame.from_records(rows, columns=columns)
    for name in frame.columns:
        if frame[name].map(lambda value: isinstance(value, Decimal)).any():
            frame[name] = frame[name].astype(float)
    return frame


class Summary(NamedTuple):
    """Moments of the rows of a database, with the names of columns."""

    moments: ClassMoments
    target: str
    features: list[str]


def summarize_database(
    address: str,
    *,
    target: str | None = None,
    ignore: Sequence[str] = (),
    per_class: bool = False,
) -> Summary:
    """Class moments of the rows that an address means; labels become text, as in `read_table`.

    Parameters
    ----------
    address : str
        As to `moments.sql.summarize`.
    target : str, optional
        Column of labels; by default the last one that is not ignored.
    ignore : sequence of str
        Columns that are no features.
    per_class : bool
        Keep the scatter of each class apart.
    """
    from separatrix.files.readers import import_pandas
    from separatrix.files.tables import (
        check_known_name,
        check_label_column,
        find_label_column,
        format_labels,
    )

    where = read_address(address)
    with closing(connect(where)) as connection:
        source = find_table(connection, where)
        columns, _ = select_all(connection, source, where.where, limit=0)
        for name in ignore:
            check_known_name(name, columns, "column")
        named = target or find_label_column(columns, ignore)
        features = [name for name in columns if name not in (*ignore, named)]
        table = DatabaseTable.open(connection, source, named, features, where.where)
        series = import_pandas().Series
        table = table._replace(name_labels=lambda labels: format_labels(series(labels), named))
        moments = table.summarize(per_class=per_class)
    # as many labels as rows can show: one more than classes where any class has two
    check_label_column(
        np.resize(moments.classes, min(len(moments.classes) + 1, round(moments.n_samples))), named
    )
    return Summary(moments, named, features)
