"""Neither the environment nor a DSN, a role or a server changes what is loaded, played and read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Comparison, Source, Test
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.postgres.admin import Admin
from pytest_plsqlbench.engines.protocol import Play, Played
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.dsn import DsnServer
from pytest_plsqlbench.servers.embedded import EmbeddedServer
from pytest_plsqlbench.servers.postgres import server_notes

SETTINGS = {
    "standard_conforming_strings": "off",
    "intervalstyle": "sql_standard",
    "datestyle": "SQL, DMY",
    "timezone": "Asia/Tokyo",
    "client_encoding": "LATIN1",
    "quote_all_identifiers": "on",
    "xmloption": "document",
    "plpgsql.extra_errors": "all",
    "default_text_search_config": "pg_catalog.english",
}
OPTIONS = " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in SETTINGS.items())
ENVIRONMENTS = {
    "encoding": {"PGCLIENTENCODING": "LATIN1"},
    "options": {"PGOPTIONS": OPTIONS},
    "variables": {"PGTZ": "Asia/Tokyo", "PGDATESTYLE": "SQL, DMY"},
}
_DATABASE = Database(
    name="enc",
    dialect="postgres",
    schemas=("public",),
    before=tuple(
        Statement(text, Source("enc.sql", 1))
        for text in (
            "CREATE TABLE t (a text, b interval, c date, d timestamptz)",
            "RESET standard_conforming_strings",
            "RESET intervalstyle",
            r"INSERT INTO t VALUES ('é\x', '-1 2:03:04', '01/02/2020', '2020-01-02 03:04')",
            'CREATE TABLE "größe" (a int, b text)',
        )
    ),
    data=(TableData("public", "größe", ("a", "b"), lambda: iter([("1", "€")]), Source("rows.yaml", 1)),),
    after=(Statement("CREATE SEQUENCE s", Source("enc.sql", 9)),),
    fingerprint="e" * 64,
)
_QUERIES = (
    "SELECT a, b FROM t",
    "SELECT c, d FROM t",
    'SELECT a, b FROM "größe"',
)
_PROGRAM = r"""CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT 1, 2 INTO n;
  RETURN concat('é\x', quote_ident('b'), to_tsvector('the'), current_setting('xmloption'));
END $$"""
ANSWER = "é\\xb'the':1content"


def play(address: ServerAddress) -> list[Played]:
    """Load and play, by engines of their own, in a transaction and in copies."""
    engine = PostgresEngine(address)
    try:
        lane = engine.lane("w")
        calls = (*_QUERIES, "SELECT f()", "SET timezone TO DEFAULT", "SHOW timezone")
        found = []
        for transaction in (False, True):
            test = Test(name="t", calls=calls, compare=(Comparison("list"),), transaction=transaction)
            found += [lane.play(Play("candidate", (_PROGRAM,), (test,), _DATABASE)) for _ in range(2)]
        lane.close()
        return found
    finally:
        engine.close()


def assert_as_always(played: list[Played]) -> None:
    for one in played:
        assert set(one.flags) <= {"isolated_copy"}
        calls = one.tests[0].calls
        assert [call.error for call in calls] == [None] * len(calls)
        texts = [[cell and cell[1] for cell in call.results[-1].rows[0]] for call in calls if call.results]
        assert texts == [
            ["é\\x", "-1 days +02:03:04"],
            ["2020-01-02", "2020-01-02 03:04:00+00"],
            ["1", "€"],
            [ANSWER],
            ["UTC"],
        ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in ENVIRONMENTS[name].items():
        monkeypatch.setenv(variable, value)
    with EmbeddedServer.start() as server:
        assert_as_always(play(server.address))


@pytest.fixture
def foreign() -> Iterator[EmbeddedServer]:
    """A server with passwords."""
    with EmbeddedServer.start() as started:
        hba = started.directory / "data" / "pg_hba.conf"
        hba.write_text("local all plsqlbench peer map=run\nlocal all all scram-sha-256\n")
        run(started, "SELECT pg_reload_conf()")
        for role, rights in (("admin", "CREATEDB CREATEROLE"), ("root", "SUPERUSER")):
            run(started, f"CREATE ROLE {role} LOGIN {rights} PASSWORD 'pw-of-it'")
            run(started, f"GRANT CONNECT ON DATABASE postgres TO {role}")
        yield started


def run(server: EmbeddedServer, *statements: str) -> None:
    with psycopg.connect(server.address.conninfo, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def dsn(server: EmbeddedServer, role: str, **more: Any) -> str:
    return make_conninfo(
        server.address.conninfo,
        **{"user": role, "password": "pw-of-it", "dbname": "postgres", "options": "", **more},
    )


@pytest.mark.parametrize("role", ["admin", "root"])
def test_settings_of_dsn_role_database_and_server(foreign: EmbeddedServer, role: str) -> None:
    for name, value in SETTINGS.items():
        for whose in (f"ROLE {role}", "ROLE ALL", "DATABASE postgres"):
            if not (name == "standard_conforming_strings" and whose == "ROLE ALL"):
                run(foreign, f"ALTER {whose} SET {name} = '{value}'")
    with (foreign.directory / "data" / "postgresql.conf").open("a") as file:
        file.write("standard_conforming_strings = off\nintervalstyle = sql_standard\n")
    run(foreign, "SELECT pg_reload_conf()")
    given = dsn(foreign, role, options=OPTIONS, client_encoding="LATIN1")
    with DsnServer.start(given) as server:
        assert_as_always(play(server.address))


def test_options_of_the_dsn_and_of_the_environment_are_kept_where_ours_say_nothing(
    foreign: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def applied(given: str) -> list[Any]:
        with DsnServer.start(given) as server:
            admin = Admin(server.address)
            rows = admin.execute(
                "SELECT current_setting('work_mem'), current_setting('standard_conforming_strings'),"
                " current_setting('client_encoding'), current_setting('timezone')"
            )
            admin.close()
            return list(rows[0])

    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    ours = ["on", "UTF8", "UTC"]
    options = "-c work_mem=77MB -c standard_conforming_strings=off"
    assert applied(dsn(foreign, "admin", options=options)) == ["77MB", *ours]
    plain = dsn(foreign, "admin").replace("options=''", "").replace("client_encoding=UTF8", "")
    assert "options" not in plain
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=78MB -c standard_conforming_strings=off")
    assert applied(plain) == ["78MB", *ours]
    services = tmp_path / "services.conf"
    services.write_text("[mine]\noptions=-c work_mem=79MB\nclient_encoding=LATIN1\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    assert applied(f"{plain} service=mine") == ["79MB", *ours]
    assert os.environ["PGTZ"] == "Asia/Tokyo"
    assert "PGSERVICE" not in os.environ


def test_what_is_dropped_at_the_end_bears_the_name_of_the_run(
    foreign: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off")
    with DsnServer.start(dsn(foreign, "root", options="-c standard_conforming_strings=off")) as server:
        theirs = f"plsqlbench-{server.address.run_id}-theirs"  # an underscore of LIKE is any character
        run(foreign, f'CREATE ROLE "{theirs}"')
    run(foreign, f'DROP ROLE "{theirs}"')


_AMBIGUOUS = """CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text := 'variable'; BEGIN RETURN (SELECT a FROM t); END $$"""


def conflict(address: ServerAddress) -> str:
    """What becomes of a name that is a variable's and a column's."""
    engine = PostgresEngine(address)
    try:
        lane = engine.lane("w")
        test = Test(name="t", calls=("SELECT f()",), compare=(Comparison("value"),))
        call = lane.play(Play("candidate", (_AMBIGUOUS,), (test,), _DATABASE)).tests[0].calls[0]
        lane.close()
        return call.error.code if call.error else str(call.results[0].rows[0])
    finally:
        engine.close()


def test_settings_that_only_a_superuser_may_pin(foreign: EmbeddedServer) -> None:
    with DsnServer.start(dsn(foreign, "admin")) as server:
        assert server.address.deviations == ()
        version = server.address.version
        assert conflict(server.address) == "42702"
    run(foreign, "ALTER ROLE ALL SET plpgsql.variable_conflict = 'use_column'")
    with DsnServer.start(dsn(foreign, "root")) as server:  # it may
        assert (server.address.version, server_notes(server.address)[1:]) == (version, ())
        assert conflict(server.address) == "42702"
    run(foreign, "ALTER ROLE admin SET plpgsql.variable_conflict = 'error'")  # its own: not of graded roles
    told = "plpgsql.variable_conflict = use_column"
    for statement in ("GRANT", "REVOKE"):
        grantees = "TO PUBLIC" if statement == "GRANT" else "FROM PUBLIC"
        run(foreign, f"{statement} CONNECT ON DATABASE postgres {grantees}")
        with DsnServer.start(dsn(foreign, "admin")) as server:
            # results of a run with other settings are those of another engine: not reused, not compared
            assert server.address.version == f"{version} with {told}"
            assert server_notes(server.address)[1].endswith(told)
            assert conflict(server.address).startswith("(('text', 'é")
    run(foreign, "ALTER ROLE ALL RESET plpgsql.variable_conflict")
