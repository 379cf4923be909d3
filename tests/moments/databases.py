"""Databases for tests: three engines with the same rows."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from pandas.api.types import is_numeric_dtype

from separatrix.moments.sql import quote

ENGINES = ("sqlite", "duckdb", "postgresql")


@contextmanager
def running_postgres():
    """A cluster of PostgreSQL on the loopback interface, gone at the end; its address."""
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (postgresql in Debian)")
    pytest.importorskip("psycopg", reason="psycopg is not installed (separatrix[sql])")
    with tempfile.TemporaryDirectory(prefix="separatrix-postgres-") as folder:
        yield from _run_postgres(programs, folder)


def _run_postgres(programs, folder):
    as_user = []
    if os.getuid() == 0:  # it refuses to run as root
        import pwd

        names = [user.pw_name for user in pwd.getpwall()]
        if "postgres" not in names or shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(folder, "postgres")
    data = Path(folder) / "cluster"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = lambda *words: subprocess.run(  # noqa: E731
        [*as_user, *words], check=True, capture_output=True, cwd=folder, timeout=120
    )
    run(programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k '' -c fsync=off"
    log = Path(folder) / "log"
    run(programs / "pg_ctl", "-w", "-D", data, "-l", log, "-o", options, "start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        run(programs / "pg_ctl", "-w", "-D", data, "-m", "immediate", "stop")


def find_programs():
    """The folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found is None and not places:
        return None
    return Path(found or places[-1]).resolve().parent


def connect_to(engine, postgres=None):
    """An empty database in memory, or the one that runs."""
    if engine == "sqlite":
        return sqlite3.connect(":memory:")
    if engine == "duckdb":
        return pytest.importorskip("duckdb").connect(":memory:")
    import psycopg

    connection = psycopg.connect(postgres)
    connection.execute("DROP SCHEMA public CASCADE")
    connection.execute("CREATE SCHEMA public")
    return connection


def fill(connection, name, frame):
    """A table of the rows of a frame; numbers are float64 and the rest text."""
    kinds = ["DOUBLE PRECISION" if is_numeric_dtype(t) else "TEXT" for t in frame.dtypes]
    columns = ", ".join(f"{quote(c)} {k}" for c, k in zip(frame.columns, kinds, strict=True))
    cursor = connection.cursor()
    cursor.execute(f"CREATE TABLE {quote(name)} ({columns})")
    rows = [
        tuple(None if v is None else v if isinstance(v, str) else float(v) for v in row)
        for row in frame.itertuples(index=False)
    ]
    mark = "%s" if "psycopg" in type(connection).__module__ else "?"
    marks = ", ".join([mark] * len(frame.columns))
    cursor.executemany(f"INSERT INTO {quote(name)} VALUES ({marks})", rows)
    connection.commit()
