"""``--plsql-postgres``: a server of the user's own is used, and left as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest

from pytest_plsqlbench.servers.postgres import start_postgres

SECRET = "geheim-4711"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """The DSN of a server that is not ours."""
    before = os.environ.get("PLSQLBENCH_CACHE_DIR")
    os.environ["PLSQLBENCH_CACHE_DIR"] = str(tmp_path_factory.getbasetemp() / "plsqlbench-cache")
    started = start_postgres("embedded")
    try:
        yield started.address.conninfo
    finally:
        started.stop()
        if before is None:
            del os.environ["PLSQLBENCH_CACHE_DIR"]
        else:
            os.environ["PLSQLBENCH_CACHE_DIR"] = before


def inventory(dsn: str) -> tuple[list[str], list[str]]:
    """Names of the databases and roles of a server."""
    with psycopg.connect(dsn) as connection:
        databases = connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
        roles = connection.execute("SELECT rolname FROM pg_roles ORDER BY 1").fetchall()
    return [name for (name,) in databases], [name for (name,) in roles]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_run_leaves_the_server_as_it_was(suite, server, monkeypatch, workers):
    before = inventory(server)
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", server)
    result = suite.run(suite.predict(*suite.right()), *workers)
    result.assert_outcomes(passed=4)
    assert suite.results()[0]["engine"]["server"] != "embedded"
    assert inventory(server) == before


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("nonsense", "no such PostgreSQL server 'nonsense'"),
        (f"postgresql://me:{SECRET}@127.0.0.1:1/postgres", "127.0.0.1"),
        (f"host=/nowhere user=me password={SECRET} dbname=postgres", "/nowhere"),
        (f"postgresql://me:{SECRET}@127.0.0.1:port/postgres", ""),
        (f"host=127.0.0.1 pasword={SECRET}", ""),
    ],
    ids=["word", "refused", "no-socket", "bad-port", "bad-key"],
)
def test_a_server_that_cannot_be_had_is_one_line_without_the_password(suite, dsn, message):
    line = suite.refused("--plsql-predictions=gold", f"--plsql-postgres={dsn}")
    assert message in line
    assert SECRET not in line


def test_a_role_without_rights_is_told_which_it_lacks(suite, server):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("GRANT CONNECT ON DATABASE postgres TO plain")
        try:
            dsn = psycopg.conninfo.make_conninfo(server, user="plain", dbname="postgres")
            line = suite.refused("--plsql-predictions=gold", f"--plsql-postgres={dsn}")
        finally:
            connection.execute("DROP OWNED BY plain")
            connection.execute("DROP ROLE plain")
    assert "CREATEDB" in line
    assert "CREATEROLE" in line
