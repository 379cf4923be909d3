"""Class moments of rows that stay in a database: one ``GROUP BY``, or a few.

A model of moments needs counts, sums and products of features, and every SQL engine can
add them up. Sums are of differences from a shift: the mean of some rows is subtracted from each
feature before it is multiplied, so that an offset costs no digits. Nothing is written.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike

from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments

MAX_EXPRESSIONS = 1500
"""Sums in one query: PostgreSQL takes 1664 columns, SQLite 2000."""

MAX_QUERY_FEATURES = 50
"""Features up to which duckdb adds products faster than rows can be fetched from it."""

N_SAMPLED_ROWS = 1000
"""Rows whose mean is the first shift."""

N_FETCHED_ROWS = 20_000
"""Rows that are fetched at once."""

FAR_FROM_SHIFT = 100.0
"""Largest squared distance of a mean from the shift, in variances within classes: beyond it the
sums are taken again from a better shift, because they have lost two digits."""

SCHEMES = ("duckdb", "sqlite", "postgresql", "postgres")
"""What addresses of databases begin with."""


def summarize(
    connection: Any,
    table_or_query: str | None = None,
    *,
    target: str,
    features: Sequence[str] | None = None,
    where: str | None = None,
    shift: str | ArrayLike = "sample",
    batch: int | str = "auto",
    per_class: bool = False,
) -> ClassMoments:
    """Class moments of the rows of a table, added up by the database that holds them.

    Parameters
    ----------
    connection : DB-API connection or str
        Of duckdb, sqlite3 or psycopg; or an address: ``duckdb:trips.parquet`` (parquet or csv,
        also a pattern such as ``trips/*.parquet``), ``duckdb:///f.db?table=t``,
        ``sqlite:///f.db?table=t``, ``postgresql://user@host/db?table=t``, with ``query=SELECT …``
        in place of a table, as the last part. Addresses are opened for reading only.
    table_or_query : str, optional
        Name of a table, with its schema before a point, or a ``SELECT``. An address may name it.
    target : str
        Column of labels.
    features : sequence of str, optional
        Columns of numbers; by default all others.
    where : str, optional
        Condition, in SQL, of the rows that count.
    shift : "sample" or array (n_features,)
        Numbers subtracted from each feature before it is multiplied: the mean of the first rows,
        or numbers near the means.
    batch : "auto", "rows" or int
        How the work is divided: by features, this many to a block and two blocks to a query; or
        by "rows", which are fetched in parts and added up here. "auto" fetches rows where the
        engine works in this process and has more than 50 features.
    per_class : bool
        Keep the scatter of each class apart.

    Returns
    -------
    ClassMoments
        Those of ``ClassMoments.from_data`` of the same rows, to rounding.

    Examples
    --------
    >>> import sqlite3
    >>> from separatrix.moments import sql
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE rows (width REAL, length REAL, kind TEXT)")
    >>> rows = [(1.0, 2.0, "a"), (3.0, 2.5, "a"), (7.0, 4.0, "b"), (9.0, 3.0, "b")]
    >>> _ = connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    >>> moments = sql.summarize(connection, "rows", target="kind")
    >>> moments.classes.tolist(), moments.means.tolist()
    (['a', 'b'], [[2.0, 2.25], [8.0, 3.5]])
    """
    if isinstance(connection, str):
        address = read_address(connection)
        with closing(connect(address)) as opened:
            source = table_or_query or find_table(opened, address)
            both = [f"({part})" for part in (where, address.where) if part]
            return summarize(
                opened,
                source,
                target=target,
                features=features,
                where=" AND ".join(both) or None,
                shift=shift,
                batch=batch,
                per_class=per_class,
            )
    if table_or_query is None:
        raise ValueError("table_or_query is missing: name a table, or give a SELECT")
    table = DatabaseTable.open(connection, table_or_query, target, features, where)
    return table.summarize(shift, batch, per_class)


# Addresses -----------------------------------------------------------------------------------


class Address(NamedTuple):
    """Where a table is.

    Attributes
    ----------
    engine : str
        "duckdb", "sqlite" or "postgresql".
    place : str
        A file, a pattern of files, or what psycopg connects to.
    table, query, where : str or None
    """

    engine: str
    place: str
    table: str | None = None
    query: str | None = None
    where: str | None = None


def is_address(source: Any) -> bool:
    """Whether a source of rows is the address of a database."""
    return isinstance(source, str) and source.partition(":")[0] in SCHEMES and ":" in source


def read_address(text: str) -> Address:
    """The parts of an address; the text after ``query=`` is the query as it is written.

    Examples
    --------
    >>> read_address("sqlite:///flowers.db?table=iris").table
    'iris'
    """
    if not is_address(text):
        raise ValueError(
            f"{text!r} is no address of a database: it begins with one of "
            f"{', '.join(f'{s}:' for s in SCHEMES)}"
        )
    engine, _, rest = text.partition(":")
    rest, asked, query = _cut(rest, "query")
    parts: dict[str, str | None] = {"query": query if asked else None}
    for name in ("where", "table"):
        rest, asked, value = _cut(rest, name)
        value, more, others = value.partition("&")
        rest += ("?" if "?" not in rest else "&") + others if more and others else ""
        parts[name] = unquote(value) if asked else None
    if engine.startswith("postgres"):
        return Address("postgresql", f"postgresql:{rest}", **parts)
    return Address(engine, unquote(_find_place(rest)), **parts)


def _cut(text: str, name: str) -> tuple[str, bool, str]:
    """The text before ``?name=`` or ``&name=``, whether it is there, and the text after it."""
    found = re.search(rf"[?&]{name}=", text)
    return (
        (text, False, "") if found is None else (text[: found.start()], True, text[found.end() :])
    )


def _find_place(rest: str) -> str:
    """A path: after three slashes it is relative, after four absolute, as in other programs."""
    if not rest.startswith("///"):
        return rest
    relative = rest[3:]
    return (
        f"/{relative}"
        if not Path(relative).exists() and Path(f"/{relative}").exists()
        else relative
    )


def connect(address: Address) -> Any:
    """A connection that reads only."""
    place = address.place
    if address.engine == "postgresql":
        psycopg = _import("psycopg", "PostgreSQL")
        with named_errors("psycopg"):
            connection = psycopg.connect(place)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection
    if _is_files(address):
        connection = _import("duckdb", "duckdb").connect(":memory:")
        connection.execute("SET preserve_insertion_order = false")
        return connection
    if not Path(place).exists():
        raise FileNotFoundError(f"there is no database {place}")
    if address.engine == "duckdb":
        return _import("duckdb", "duckdb").connect(place, read_only=True)
    import sqlite3

    return sqlite3.connect(f"{Path(place).resolve().as_uri()}?mode=ro", uri=True)


@contextmanager
def named_errors(engine: str) -> Iterator[None]:
    """Turn an engine's error about a query or a connection into an error of the data."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0].lstrip("_") != engine:
            raise
        raise ValueError(f"the database says: {error}") from None


def _is_files(address: Address) -> bool:
    """Whether duckdb is to read files of tables, rather than a database of its own."""
    if address.engine != "duckdb" or address.table:
        return False
    return _reader_of(address.place) is not None or not address.place


def _reader_of(place: str) -> str | None:
    """The function of duckdb that reads files of this name."""
    name = place.lower()
    if name.endswith((".parquet", ".pq")):
        return "read_parquet"
    ends = tuple(f"{end}{pack}" for end in (".csv", ".tsv", ".tab") for pack in ("", ".gz"))
    return "read_csv" if name.endswith(ends) else None


def _import(name: str, engine: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"rows in {engine} are read with the package {name}: pip install 'separatrix[sql]'"
        ) from None


def find_table(connection: Any, address: Address) -> str:
    """The table or query that an address means; the only table of a database needs no name."""
    if address.query or address.table:
        return address.query or str(address.table)
    if _is_files(address):
        place = address.place.replace("'", "''")
        return f"SELECT * FROM {_reader_of(address.place)}('{place}')"
    listing = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
        "duckdb": "SELECT table_name FROM information_schema.tables",
        "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    }[address.engine]
    cursor = connection.cursor()
    cursor.execute(listing)
    names = sorted(row[0] for row in cursor.fetchall())
    if len(names) != 1:
        listed = ", ".join(names[:10]) or "none"
        raise ValueError(
            f"{address.place} has {len(names)} tables ({listed}): name one, as in ?table=NAME"
        )
    return quote_table(names[0]) if "." not in names[0] else f"SELECT * FROM {quote(names[0])}"


def select_all(
    connection: Any, table_or_query: str, where: str | None = None, limit: int | None = None
) -> tuple[list[str], list[Any]]:
    """Names of all columns, and all rows or the first of them."""
    table = DatabaseTable.of_all_columns(connection, table_or_query, where)
    end = "" if limit is None else f" LIMIT {limit}"
    return table.run(f"SELECT * FROM {table.source}{end}")


# SQL -----------------------------------------------------------------------------------------


def quote(name: str) -> str:
    """A name as an identifier, whatever it contains.

    Examples
    --------
    >>> print(quote('x"; drop table t; --'))
    "x""; drop table t; --"
    """
    if "\0" in name:
        raise ValueError(f"{name!r} holds a character that no name of a column can have")
    return '"' + name.replace('"', '""') + '"'


def quote_table(name: str) -> str:
    """The name of a table as an identifier, and that of its schema before a point."""
    if name.startswith('"') and name.endswith('"'):
        return name
    return ".".join(quote(part) for part in name.split("."))


def number(value: float) -> str:
    """A number as text that every engine reads as the same float64."""
    text = repr(float(value))
    return f"({text})" if "e" in text else f"({text}e0)"


def double(name: str) -> str:
    """A column as float64."""
    return f"CAST({quote(name)} AS DOUBLE PRECISION)"


class DatabaseTable(NamedTuple):
    """Rows in a database, and which columns of them are meant.

    Attributes
    ----------
    connection : DB-API connection
    engine : str
    source : str
        The text after FROM.
    target : str
    features : list of str
    logical : frozenset of str
        Features that are true or false.
    name_labels : callable
        From a list of labels, as the engine gives them, to an array.
    """

    connection: Any
    engine: str
    source: str
    target: str
    features: list[str]
    logical: frozenset[str] = frozenset()
    name_labels: Callable[[list[Any]], Array] = lambda labels: as_labels(labels)

    @classmethod
    def open(
        cls,
        connection: Any,
        table_or_query: str,
        target: str,
        features: Sequence[str] | None,
        where: str | None,
    ) -> DatabaseTable:
        """The table with its columns checked."""
        table = cls.of_all_columns(connection, table_or_query, where)._replace(target=target)
        source = table.source
        columns, rows = table.run(f"SELECT * FROM {source} LIMIT 1")
        _check_column(target, columns)
        twice = [name for i, name in enumerate(columns) if name in columns[:i]]
        if twice:
            raise ValueError(f"two columns are called {twice[0]!r}: rename one in a query")
        chosen = [c for c in columns if c != target] if features is None else list(features)
        for name in chosen:
            _check_column(name, columns)
        if target in chosen:
            raise ValueError(f"column {target!r} is the target, and a feature: choose one of both")
        if not chosen:
            raise ValueError(f"there are no features besides {target!r}")
        if not rows:
            raise ValueError("there are no rows")
        return table._replace(features=chosen)._with_numbers()

    @classmethod
    def of_all_columns(
        cls, connection: Any, table_or_query: str, where: str | None
    ) -> DatabaseTable:
        """The rows of a table or query, before anything is said of columns."""
        engine = type(connection).__module__.partition(".")[0].lstrip("_")
        selects = re.match(r"\s*(select|with|values|from)\s", table_or_query, re.IGNORECASE)
        query = table_or_query.strip().rstrip(";")
        # a comment at the end of a query must not swallow the parenthesis
        source = f"({query}\n) AS given_rows" if selects else quote_table(table_or_query)
        source += f" WHERE ({where}\n)" if where else ""
        return cls(connection, engine, source, "", [])

    def run(self, query: str) -> tuple[list[str], list[Any]]:
        """Names of columns and rows of a query; engines are kept from anything but reading."""
        with named_errors(self.engine):
            if self.engine == "duckdb":  # whose cursors do not see tables that are registered
                cursor = self.connection
                statements = cursor.extract_statements(query)
                if len(statements) != 1 or statements[0].type.name != "SELECT":
                    raise ValueError("only one SELECT is run, and this text holds something else")
            else:
                cursor = self.connection.cursor()
            cursor.execute(query)
            return [column[0] for column in cursor.description], cursor.fetchall()

    def _with_numbers(self) -> DatabaseTable:
        """The same table, or an error that names a feature that does not hold numbers."""
        names = ", ".join(quote(name) for name in self.features)
        _, rows = self.run(f"SELECT {names} FROM {self.source} LIMIT {N_SAMPLED_ROWS}")
        logical = set()
        for name, values in zip(self.features, zip(*rows, strict=True), strict=True):
            there = [value for value in values if value is not None]
            wrong = [v for v in there if not isinstance(v, int | float | Decimal | np.generic)]
            if wrong:
                self._refuse_text(name, wrong[0])
            if there and all(isinstance(value, bool) for value in there):
                logical.add(name)
        if self.engine == "sqlite3":  # its columns hold values of any type
            known = ", ".join(
                f"sum(typeof({quote(n)}) NOT IN ('integer', 'real', 'null'))"
                for n in self.features
            )
            for name, n_others in zip(
                self.features, self.run(f"SELECT {known} FROM {self.source}")[1][0], strict=True
            ):
                if n_others:
                    self._refuse_text(name, f"{n_others} values of another type")
        return self._replace(logical=frozenset(logical))

    def _refuse_text(self, name: str, value: Any) -> None:
        raise ValueError(
            f"column {name!r} holds no numbers, but {value!r}: leave it out of the features"
        )

    def value(self, name: str) -> str:
        """A feature as float64, in SQL."""
        if name in self.logical and self.engine != "sqlite3":
            return f"CAST(CAST({quote(name)} AS INTEGER) AS DOUBLE PRECISION)"
        return double(name)

    def prefers_rows(self) -> bool:
        """Whether to fetch rows is faster than to add up products where they are."""
        return self.engine in ("duckdb", "sqlite3") and len(self.features) > MAX_QUERY_FEATURES

    def sample_centre(self) -> Array:
        """The mean of the first rows; of columns that do not vary there their value, exactly."""
        values = ", ".join(self.value(name) for name in self.features)
        _, rows = self.run(f"SELECT {values} FROM {self.source} LIMIT {N_SAMPLED_ROWS}")
        sample = np.array(rows, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            usable = np.isfinite(sample)
            first = np.array([column[ok][0] if ok.any() else 0.0
                              for column, ok in zip(sample.T, usable.T, strict=True)])  # fmt: skip
            deviations = np.where(usable, sample - first, 0.0)
        return first + deviations.sum(axis=0) / np.maximum(usable.sum(axis=0), 1)

    # Sums by the database ---------------------------------------------------------------------

    def summarize(
        self,
        shift: str | ArrayLike = "sample",
        batch: int | str = "auto",
        per_class: bool = False,
    ) -> ClassMoments:
        """Class moments of the rows; parameters as those of `summarize`."""
        if batch == "rows" or (batch == "auto" and self.prefers_rows()):
            return self.fetch_moments(per_class)
        width = _block_width(len(self.features), batch)
        if not isinstance(shift, str):
            return self.add_up(_check_shift(shift, self), width, per_class)
        centre = self.sample_centre()
        moments = self.add_up(centre, width, per_class)
        variance = moments.within_diagonal() / moments.n_samples
        if ((moments.mean - centre) ** 2 > FAR_FROM_SHIFT * variance).any():
            # where nothing varies the values of the sample are exact, and a mean would not be
            better = np.where(variance == 0, centre, moments.mean)
            moments = self.add_up(better, width, per_class)
        return moments

    def add_up(self, shift: Array, width: int, per_class: bool) -> ClassMoments:
        """Moments from sums of the database, of two blocks of features in each query."""
        d = len(self.features)
        blocks = [np.arange(i, min(i + width, d)) for i in range(0, d, width)]
        pairs = [(left, right) for k, left in enumerate(blocks) for right in blocks[k:]]
        labels: list[Any] | None = None
        for left, right in pairs:
            found, now, values = self._add_up_blocks(left, right, shift)
            if labels is None:
                labels, counts = found, now
                sums = np.zeros((len(labels), d))
                products = np.zeros((len(labels) if per_class else 1, d, d))
            if found != labels or not np.array_equal(now, counts):
                raise ValueError("the table changed while it was read: read it again")
            if left is right:
                values, sums[:, left] = np.split(values, [-len(left)], axis=1)
            block = _unfold(values, len(left), len(right))
            added = block if per_class else block.sum(axis=0, keepdims=True)
            products[:, left[:, None], right] = added
            products[:, right[:, None], left] = added.transpose(0, 2, 1)
        classes = self.name_labels(labels or [])
        kind = {"class_products": products} if per_class else {"products": products[0]}
        return ClassMoments.from_sums(classes, counts, sums, shift=shift, **kind)

    def _add_up_blocks(
        self, left: Array, right: Array, shift: Array
    ) -> tuple[list[Any], Array, Array]:
        """Labels, counts and products of two blocks of features; of equal ones the sums, too."""
        own = left is right
        used = left if own else np.concatenate([left, right])
        inner = ", ".join(
            f"{self.value(self.features[i])} - {number(shift[i])} AS z{i}" for i in used
        )
        pairs = [f"sum(z{i} * z{j})" for i in left for j in right if not own or i <= j]
        filled, sums = ([f"{what}(z{i})" for i in left if own] for what in ("count", "sum"))
        if self.engine == "psycopg":  # compiling long queries takes longer than running them
            self.connection.cursor().execute("SET LOCAL jit = off")
        _, rows = self.run(
            f"SELECT label, {', '.join(['count(*)', *filled, *pairs, *sums])} "
            f"FROM (SELECT {quote(self.target)} AS label, {inner} FROM {self.source}) AS shifted "
            "GROUP BY label"
        )
        rows.sort(key=lambda row: str(row[0]))
        labels, counts = [row[0] for row in rows], np.array([row[1] for row in rows])
        if None in labels:
            self._refuse_unlabelled(counts[labels.index(None)])
        n_filled = np.array([row[2 : 2 + len(filled)] for row in rows])
        values = np.array([row[2 + len(filled) :] for row in rows], dtype=np.float64)
        if (n_filled != counts[:, None]).any() or not np.isfinite(values).all():
            self._refuse_gaps()
        return labels, counts.astype(np.float64), values

    def _refuse_unlabelled(self, count: int) -> None:
        raise ValueError(
            f"column {self.target!r} has no label (NULL) in {count} rows: leave them out, as by "
            f"where='{quote(self.target)} IS NOT NULL'"
        )

    def _refuse_gaps(self) -> None:
        """Name the first feature that has NULL, NaN or infinity, and in how many rows."""
        for name in self.features:
            x = self.value(name)
            _, rows = self.run(
                f"SELECT count(*) - count({x}), sum(CASE WHEN {x} - {x} = 0 THEN 0 ELSE 1 END) "
                f"FROM {self.source}"
                if self.engine != "psycopg"
                else f"SELECT count(*) - count({x}), sum(CASE WHEN {x} IN ('NaN', 'Infinity', "
                f"'-Infinity') THEN 1 ELSE 0 END) FROM {self.source}"
            )
            n_null, n_other = rows[0]
            kind = f"NULL in {n_null}" if n_null else f"NaN or infinity in {n_other}"
            valid = f"{quote(name)} IS NOT NULL" if n_null else f"abs({quote(name)}) < 1e300"
            if n_null or n_other:
                raise ValueError(
                    f"column {name!r} has {kind} rows: leave them out, as by where='{valid}', "
                    "fill them in a query, or leave out the column"
                )
        raise ValueError("sums of squares leave float64: rescale the features in a query")

    # Rows that are fetched --------------------------------------------------------------------

    def fetch_moments(self, per_class: bool) -> ClassMoments:
        """Moments of rows that are fetched in parts, and forgotten."""
        total = None
        refuse: Callable[[], None] | None = None
        with closing(self.iterate()) as parts:  # engines take no other query meanwhile
            for labels, rows in parts:
                if None in labels:
                    refuse = partial(self._refuse_unlabelled, labels.count(None))
                if not np.isfinite(rows).all():
                    refuse = self._refuse_gaps
                if refuse is not None:
                    break
                part = ClassMoments.from_data(rows, self.name_labels(labels), per_class=per_class)
                total = part if total is None else total + part
        if refuse is not None:
            refuse()
        assert total is not None, "a table without rows is refused when it is opened"
        return total

    def iterate(self) -> Generator[tuple[list[Any], Array], None, None]:
        """Labels and rows, in parts; gaps are NaN."""
        values = ", ".join(f"{self.value(name)} AS z{i}" for i, name in enumerate(self.features))
        query = f"SELECT {quote(self.target)} AS label, {values} FROM {self.source}"
        if self.engine == "duckdb":
            yield from _iterate_arrow(self.connection.sql(query))
            return
        cursor = self.connection.cursor()
        if self.engine == "psycopg":  # others hold all rows in memory
            cursor = self.connection.cursor(name="separatrix_rows")
        with closing(cursor):
            cursor.execute(query)
            while rows := cursor.fetchmany(N_FETCHED_ROWS):
                labels, *columns = zip(*rows, strict=True)
                yield list(labels), np.array(columns, dtype=np.float64).T


def _iterate_arrow(result: Any) -> Iterator[tuple[list[Any], Array]]:
    """Parts of a result of duckdb, as Arrow holds them."""
    _import("pyarrow", "duckdb")
    with result.to_arrow_reader(N_FETCHED_ROWS) as parts:
        for part in parts:
            columns = [column.to_numpy(zero_copy_only=False) for column in part.columns[1:]]
            yield part.columns[0].to_pylist(), np.column_stack(columns).astype(np.float64)


def _unfold(values: Array, n_left: int, n_right: int) -> Array:
    """Matrices (n_classes, n_left, n_right) from their entries, or those of upper triangles."""
    if values.shape[1] == n_left * n_right:
        return values.reshape(len(values), n_left, n_right)
    matrices = np.zeros((len(values), n_left, n_left))
    rows, columns = np.triu_indices(n_left)
    matrices[:, rows, columns] = matrices[:, columns, rows] = values
    return matrices


def _check_column(name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        guess = f": did you mean {near[0]!r}?" if near else ":"
        listed = ", ".join(known[:10]) + (" …" if len(known) > 10 else "")
        raise ValueError(f"there is no column {name!r}{guess} There are {listed}")


def as_labels(labels: Sequence[Any]) -> Array:
    """Labels as an array; decimals become numbers of Python."""
    plain = [
        (int(v) if v == int(v) else float(v)) if isinstance(v, Decimal) else v for v in labels
    ]
    return np.array(plain)


def _block_width(n_features: int, batch: int | str) -> int:
    """Features in a block, two of which are in one query."""
    if batch == "auto":
        whole = 1 + 2 * n_features + n_features * (n_features + 1) // 2
        return n_features if whole <= MAX_EXPRESSIONS else int(MAX_EXPRESSIONS**0.5) - 1
    if isinstance(batch, str) or batch < 1:
        raise ValueError(f'batch={batch!r} is not valid: it must be "auto", "rows" or positive')
    widest = int(MAX_EXPRESSIONS**0.5) - 1
    if batch > widest and n_features > widest:
        raise ValueError(f"batch={batch} makes queries too long: use at most {widest}")
    return int(batch)


def _check_shift(shift: ArrayLike, table: DatabaseTable) -> Array:
    values = np.asarray(shift, dtype=np.float64)
    if values.shape != (len(table.features),) or not np.isfinite(values).all():
        raise ValueError(
            f"shift has shape {values.shape}: give one finite number for each of "
            f'{len(table.features)} features, or "sample"'
        )
    return values
