"""Rows of a database as a data frame, for methods that look at rows."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import Any

from separatrix.moments.sql import connect, find_table, read_address, select_all


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
    import pandas as pd

    where = read_address(address)
    with closing(connect(where)) as connection:
        columns, rows = select_all(connection, find_table(connection, where), where.where)
    frame = pd.DataFrame.from_records(rows, columns=columns)
    for name in frame.columns:
        if frame[name].map(lambda value: isinstance(value, Decimal)).any():
            frame[name] = frame[name].astype(float)
    return frame
