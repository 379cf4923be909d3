"""Moments that a database adds up are those of the same rows in memory."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import ClassMoments, datasets
from separatrix.moments import sql
from tests.moments.databases import ENGINES, connect_to, fill, running_postgres

EVIL = 'x"; DROP TABLE "rows"; --'


@pytest.fixture(scope="module")
def postgres():
    with running_postgres() as address:
        yield address


@pytest.fixture(params=ENGINES)
def connection(request):
    address = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    opened = connect_to(request.param, address)
    yield opened
    opened.close()


def make_rows(n, d, offset, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / d**0.5
    X = X * np.logspace(-2, 2, d) + codes[:, None] * 0.5 + offset
    frame = pd.DataFrame(X, columns=[EVIL, *(f"x {i}" for i in range(1, d))])
    frame["the kind"] = np.array(["ash", "birch's", "çedar"], dtype=object)[codes % 3]
    return frame


def assert_equal_moments(found, expected, tol=1e-12):
    assert_array_equal(found.classes, expected.classes)
    assert_array_equal(found.counts, expected.counts)
    size = np.sqrt(expected.within_diagonal())
    assert_allclose(found.Sw / np.outer(size, size), expected.Sw / np.outer(size, size), atol=tol)
    spread = size / np.sqrt(expected.n_samples)
    largest = np.maximum(np.abs(expected.means), spread)
    assert (np.abs(found.means - expected.means) / largest).max() < tol


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize(("d", "batch"), [(1, "auto"), (6, "auto"), (6, 4), (6, 3), (6, "rows")])
def test_sums_of_a_database_are_the_moments(connection, offset, d, batch):
    frame = make_rows(200, d, offset)
    fill(connection, "rows", frame)
    expected = ClassMoments.from_data(frame.iloc[:, :-1].to_numpy(), frame["the kind"].to_numpy())
    found = sql.summarize(connection, "rows", target="the kind", batch=batch)
    assert_equal_moments(found, expected)
    assert sql.summarize(connection, "rows", target="the kind").n_samples == 200  # still there


def test_many_features_are_added_up_in_tiles(connection):
    frame = make_rows(250, 80, 1e4)
    fill(connection, "rows", frame)
    X, y = frame.iloc[:, :-1].to_numpy(), frame["the kind"].to_numpy()
    expected = ClassMoments.from_data(X, y, per_class=True)
    for batch in (30, "auto"):
        found = sql.summarize(connection, "rows", target="the kind", batch=batch, per_class=True)
        assert_equal_moments(found, expected)
        assert_allclose(found.class_scatters, expected.class_scatters, rtol=1e-9, atol=1e-9)


def test_rows_sorted_by_time_do_not_cost_digits(connection):
    """The first rows are far from the others: the shift they give is not good, and is replaced."""
    frame = make_rows(3000, 3, 0.0)
    frame.iloc[:, :3] += np.where(np.arange(3000) < 1200, 0.0, 1e7)[:, None]
    frame.iloc[:1100, :3] -= 1e7
    frame = frame.iloc[1000:]
    frame.iloc[:, :3] += 1e9
    fill(connection, "rows", frame)
    expected = ClassMoments.from_data(frame.iloc[:, :-1].to_numpy(), frame["the kind"].to_numpy())
    assert_equal_moments(sql.summarize(connection, "rows", target="the kind"), expected)


def test_constant_features_have_no_scatter(connection):
    frame = make_rows(90, 3, 0.0)
    frame["constant"], frame["by class"] = 0.1, frame["the kind"].map(len) / 10
    fill(connection, "rows", frame)
    found = sql.summarize(connection, "rows", target="the kind")
    assert_array_equal(found.within_diagonal()[[3, 4]], 0.0)
    assert_array_equal(found.total_diagonal()[3], 0.0)
    assert_allclose(found.means[:, 4], [0.3, 0.7, 0.5], rtol=1e-15)


def test_conditions_queries_and_features(connection):
    frame = make_rows(60, 3, 0.0)
    fill(connection, "rows", frame)
    some = frame[frame["x 1"] > 0]
    expected = ClassMoments.from_data(some[["x 2", EVIL]].to_numpy(), some["the kind"].to_numpy())
    for source, where in (
        ("rows", '"x 1" > 0'),
        ('SELECT * FROM "rows" -- a comment\n WHERE "x 1" > 0; ', None),
        ('SELECT * FROM "rows" -- all', '"x 1" > 0 -- some'),
    ):
        found = sql.summarize(
            connection, source, target="the kind", features=["x 2", EVIL], where=where
        )
        assert_equal_moments(found, expected)


@pytest.mark.parametrize("batch", ["auto", "rows"])
def test_gaps_are_named(connection, batch):
    frame = make_rows(30, 3, 0.0)
    fill(connection, "rows", frame)
    connection.execute("""INSERT INTO "rows" VALUES (1, 2, NULL, 'ash')""")
    connection.commit()
    with pytest.raises(ValueError, match="column 'x 2' has NULL in 1 rows: leave them out, as by"):
        sql.summarize(connection, "rows", target="the kind", batch=batch)
    found = sql.summarize(
        connection, "rows", target="the kind", where='"x 2" IS NOT NULL', batch=batch
    )
    assert found.n_samples == 30
    connection.execute('INSERT INTO "rows" VALUES (1, 2, 3, NULL)')
    connection.commit()
    with pytest.raises(ValueError, match=r"no label \(NULL\) in 1 rows"):
        sql.summarize(connection, "rows", target="the kind", where='"x 2" > -9', batch=batch)


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
@pytest.mark.parametrize("batch", ["auto", "rows"])
def test_nan_and_infinity_are_named(connection, value, batch):
    if isinstance(connection, sqlite3.Connection):
        pytest.skip("SQLite has NULL for NaN")
    fill(connection, "rows", make_rows(30, 3, 0.0))
    connection.execute(
        f"""INSERT INTO "rows" VALUES (1, CAST('{value}' AS DOUBLE PRECISION), 1, 'ash')"""
    )
    with pytest.raises(ValueError, match="column 'x 1' has NaN or infinity in 1 rows"):
        sql.summarize(connection, "rows", target="the kind", batch=batch)
    where = 'abs("x 1") < 1e300'  # as the message says
    assert sql.summarize(connection, "rows", target="the kind", where=where).n_samples == 30


def test_columns_that_are_not_there_or_no_numbers(connection):
    frame = make_rows(30, 3, 0.0).rename(columns={"x 1": "width"})
    frame.insert(0, "name", np.array(["one", "two", "three"] * 10, dtype=object))
    fill(connection, "rows", frame)
    with pytest.raises(ValueError, match="column 'name' holds no numbers, but 'one'"):
        sql.summarize(connection, "rows", target="the kind")
    for target, features in (("the kind", ["widht"]), ("widht", None)):
        with pytest.raises(ValueError, match="no column 'widht': did you mean 'width'"):
            sql.summarize(connection, "rows", target=target, features=features)
    with pytest.raises(ValueError, match="the database says"):
        sql.summarize(connection, "nothing", target="the kind")
    if "duckdb" not in type(connection).__module__:
        connection.rollback()


def test_text_that_comes_late_in_a_column_of_sqlite():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x, y, kind)")
    rows = [(i, i * i, "ab"[i % 2]) for i in range(1500)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [*rows, (1, "many", "a")])
    with pytest.raises(ValueError, match="column 'y' holds no numbers, but '1 values of another"):
        sql.summarize(connection, "t", target="kind")


def test_labels_and_features_of_other_types(connection):
    query = (
        "SELECT CAST(1.5 AS NUMERIC) AS a, TRUE AS b, 2 AS kind UNION ALL "
        "SELECT CAST(2.5 AS NUMERIC), FALSE, 2 UNION ALL SELECT 4, TRUE, 10"
    )
    found = sql.summarize(connection, query, target="kind")
    assert found.classes.tolist() == [2, 10]
    assert_allclose(found.means, [[2, 0.5], [4, 1]])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS x, 'a' AS kind) AS t; DROP TABLE rows; SELECT * FROM (SELECT 1",
        "rows; DROP TABLE rows",
    ],
)
def test_nothing_but_one_select_is_run(connection, query):
    fill(connection, "rows", make_rows(30, 2, 0.0))
    if "psycopg" in type(connection).__module__:
        connection.read_only = True  # as connections that are opened by an address are
    with pytest.raises((ValueError, sqlite3.Warning)):
        sql.summarize(connection, query, target="kind")
    if hasattr(connection, "rollback") and "duckdb" not in type(connection).__module__:
        connection.rollback()
    assert sql.summarize(connection, "rows", target="the kind").n_samples == 30


def test_addresses_are_opened_for_reading(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    frame = make_rows(60, 3, 0.0)
    with sqlite3.connect("f.db") as made:
        fill(made, "t", frame)
    made.close()
    with duckdb.connect("d.db") as made:
        fill(made, "t", frame)
        made.execute("COPY t TO 'part-1.parquet'")
        made.execute("COPY t TO 'rows.csv'")
    expected = ClassMoments.from_data(frame.iloc[:, :-1].to_numpy(), frame["the kind"].to_numpy())
    for address in (
        "sqlite:///f.db",
        "sqlite:///f.db?table=t",
        f"sqlite:////{tmp_path}/f.db?table=t",
        "duckdb:///d.db?table=t",
        'sqlite:///f.db?query=SELECT * FROM t WHERE "x 1" + 1 < 1e9',
        "duckdb:part-?.parquet",
        "duckdb:rows.csv",
        "duckdb:part-1.parquet?where=1 = 1",
    ):
        assert_equal_moments(sql.summarize(address, target="the kind"), expected)
    for scheme, file in (("sqlite", "f.db"), ("duckdb", "d.db")):
        address = sql.read_address(f"{scheme}:///{file}?table=t")
        opened = sql.connect(address)
        with pytest.raises(Exception, match=r"(?i)read.?only"):
            opened.execute("DELETE FROM t")
        opened.close()


def test_addresses_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no database"):
        sql.summarize("sqlite:///no.db", target="kind")
    with sqlite3.connect("f.db") as made:
        made.execute("CREATE TABLE a (x)")
        made.execute("CREATE TABLE b (x)")
    with pytest.raises(ValueError, match=r"f.db has 2 tables \(a, b\): name one"):
        sql.summarize("sqlite:///f.db", target="kind")
    with pytest.raises(ValueError, match="begins with one of duckdb:"):
        sql.read_address("oracle://x")


def test_the_address_of_a_postgres_table(postgres):
    connection = connect_to("postgresql", postgres)
    frame = make_rows(60, 3, 0.0)
    fill(connection, "rows", frame)
    connection.close()
    expected = ClassMoments.from_data(frame.iloc[:, :-1].to_numpy(), frame["the kind"].to_numpy())
    for end in ("", "?table=rows", "?connect_timeout=9&table=public.rows", '?query=TABLE "rows"'):
        if "TABLE" in end:
            end = end.replace("TABLE", "SELECT * FROM")
        assert_equal_moments(sql.summarize(postgres + end, target="the kind"), expected)


def test_sums_need_not_come_from_a_database():
    wine = datasets.load("wine")
    X, y = wine.data, wine.target
    shift = X[:10].mean(axis=0)
    classes = np.unique(y)[::-1]
    Z = [X[y == label] - shift for label in classes]
    parts = [len(z) for z in Z], [z.sum(axis=0) for z in Z]
    expected = ClassMoments.from_data(X, y, per_class=True)
    found = ClassMoments.from_sums(
        classes, *parts, class_products=[z.T @ z for z in Z], shift=shift
    )
    assert_equal_moments(found, expected)
    assert_allclose(found.class_scatters, expected.class_scatters, rtol=1e-9, atol=1e-6)
    pooled = ClassMoments.from_sums(classes, *parts, sum(z.T @ z for z in Z), shift=shift)
    assert_equal_moments(pooled + pooled, expected.with_class_scatters(False) + pooled)


def test_sums_that_do_not_belong_together():
    for problem, arguments in (
        ("do not belong together", (["a", "a"], [1, 1], [[1.0], [2.0]], [[5.0]])),
        ("do not belong together", (["a", "b"], [1, 1], [[1.0], [2.0]], [[5.0, 1.0]])),
        ("must be finite", (["a", "b"], [1, 1], [[1.0], [np.nan]], [[5.0]])),
        ("a variance is negative", (["a", "b"], [1, 1], [[1.0], [2.0]], [[4.0]])),
        ("and not both", (["a", "b"], [1, 1], [[1.0], [2.0]])),
    ):
        with pytest.raises(ValueError, match=problem):
            ClassMoments.from_sums(*arguments)
