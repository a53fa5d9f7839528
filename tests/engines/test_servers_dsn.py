"""An existing server as the user's own: rights, privacy of what is there, clearing up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Comparison, Test, UserError
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Limits, Play
from pytest_plsqlbench.servers import leftovers
from pytest_plsqlbench.servers.dsn import DsnServer
from pytest_plsqlbench.servers.embedded import EmbeddedServer
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.postgres import start_postgres

SECRET = "s3cret-pässword/%@:"


@pytest.fixture(scope="module")
def foreign() -> Iterator[EmbeddedServer]:
    """A server with passwords, databases and roles of somebody else."""
    with EmbeddedServer.start() as started:
        hba = started.directory / "data" / "pg_hba.conf"
        hba.write_text("local all plsqlbench peer map=run\nlocal all all scram-sha-256\n")
        with psycopg.connect(started.address.conninfo, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
            for name, rights in (
                ("admin", "CREATEDB CREATEROLE"),
                ("nodb", "CREATEROLE"),
                ("norole", "CREATEDB"),
                ("nothing", ""),
                ("root", "SUPERUSER"),
            ):
                connection.execute(f"CREATE ROLE {name} LOGIN {rights} PASSWORD '{SECRET}'".encode())
                connection.execute(f"GRANT CONNECT ON DATABASE postgres TO {name}".encode())
            connection.execute("CREATE DATABASE theirs TEMPLATE template0")
            connection.execute("CREATE DATABASE plsqlbench_theirs TEMPLATE template0")
            connection.execute("CREATE ROLE plsqlbench_deadbeef_friend")
        yield started


def dsn(foreign: EmbeddedServer, role: str, **more: str) -> str:
    return make_conninfo(
        foreign.address.conninfo, **{"user": role, "password": SECRET, "dbname": "postgres", **more}
    )


def catalog(foreign: EmbeddedServer) -> list[tuple[str, str]]:
    with psycopg.connect(foreign.address.conninfo) as connection:
        rows = connection.execute(
            "SELECT 'database', datname FROM pg_database UNION ALL SELECT 'role', rolname FROM pg_roles"
        ).fetchall()
    return sorted(rows)


@pytest.mark.parametrize("role", ["admin", "root"])
def test_a_run_leaves_the_server_as_it_was(foreign: EmbeddedServer, shop: Database, role: str) -> None:
    before = catalog(foreign)
    with start_postgres(dsn(foreign, role)) as server:
        assert server.address.kind == "dsn"
        assert server.address.superuser == (role == "root")
        assert SECRET not in server.address.label
        engine = PostgresEngine(server.address)
        lane = engine.lane("gw0")
        rolled_back = Test(name="t", calls=("SELECT f(2)",), compare=(Comparison("state"),))
        program = (
            "CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
            " UPDATE items SET price = price + a; RAISE NOTICE 'a=%', a; RETURN a; END $$"
        )
        played = lane.play(Play("candidate", (program,), (rolled_back,), shop))
        assert played.tests[0].calls[0].lines == ("a=2",)
        assert played.tests[0].state is not None
        assert [table.name for table in played.tests[0].state] == ["shop.items"]
        committing = (
            "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log(message) VALUES ('x');"
            " COMMIT; END $$"
        )
        call = Test(name="t", calls=("CALL p()",), compare=(Comparison("state"),))
        played = lane.play(Play("candidate", (committing,), (call,), shop))
        assert played.flags == ("isolated_copy",)
        assert played.tests[0].calls[0].error is None
        looping = (
            "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(9);"
            " EXCEPTION WHEN query_canceled THEN END; END LOOP; END $$"
        )
        played = lane.play(Play("candidate", (looping,), (), shop, limits=Limits(time=0.3)))
        assert played.programs[0].limit == "time_limit"
        assert any(name.startswith(f"plsqlbench_{server.address.run_id}_") for _, name in catalog(foreign))
        engine.close()
    assert catalog(foreign) == before


@pytest.mark.parametrize(
    ("role", "missing"),
    [("nodb", "CREATEDB"), ("norole", "CREATEROLE"), ("nothing", "CREATEDB and CREATEROLE")],
)
def test_missing_rights_are_named(foreign: EmbeddedServer, role: str, missing: str) -> None:
    before = catalog(foreign)
    with pytest.raises(UserError, match=f"the role '{role}' .* lacks {missing}; .*ALTER ROLE") as caught:
        start_postgres(dsn(foreign, role))
    assert "\n" not in str(caught.value)
    assert catalog(foreign) == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("postgresql://u:{secret}@127.0.0.1:1/x", "Connection refused"),
        ("postgresql://u:{secret}@127.0.0.1:notaport/x", "cannot be read|invalid integer"),
        ("host=/nowhere user=u password='{secret}'", "/nowhere"),
        ("host=127.0.0.1 port=1 user=u bogus=1 password={secret}", "cannot be read"),
        ("host=127.0.0.1 port=99999 user=u password={secret}", "port"),
    ],
)
def test_a_wrong_dsn_is_one_line_without_the_password(spec: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        start_postgres(spec.format(secret="hunter2"))
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_password_is_one_line_without_it(foreign: EmbeddedServer) -> None:
    with pytest.raises(UserError, match="password authentication failed") as caught:
        start_postgres(dsn(foreign, "admin", password="hunter2"))
    assert "hunter2" not in str(caught.value)


def test_roles_that_may_not_log_in_are_noticed_before_the_run(foreign: EmbeddedServer) -> None:
    before = catalog(foreign)
    hba = foreign.directory / "data" / "pg_hba.conf"
    kept = hba.read_text()
    try:
        hba.write_text(
            "local all plsqlbench peer map=run\nlocal all admin scram-sha-256\nlocal all all reject\n"
        )
        _reload(foreign)
        with pytest.raises(UserError, match=r"does not let roles that we create log in .*pg_hba\.conf"):
            start_postgres(dsn(foreign, "admin"))
    finally:
        hba.write_text(kept)
        _reload(foreign)
    assert catalog(foreign) == before


def _reload(foreign: EmbeddedServer) -> None:
    with psycopg.connect(foreign.address.conninfo, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf(), pg_sleep(0.2)")


_CRASHING = """
import os, signal, sys
from pytest_plsqlbench.servers.postgres import start_postgres
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Limits, Play
server = start_postgres(sys.argv[1])
PostgresEngine(server.address).lane("gw0").play(Play("candidate", ("SELECT 1",), ()))
print(server.address.run_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_swept_by_the_next(foreign: EmbeddedServer) -> None:
    before = catalog(foreign)
    done = subprocess.run(
        [sys.executable, "-c", _CRASHING, dsn(foreign, "admin")], capture_output=True, text=True, check=False
    )
    run_id = done.stdout.strip()
    left = [name for _, name in catalog(foreign) if run_id in name]
    assert len(left) >= 4, done.stderr  # owner, two logins, databases
    with start_postgres(dsn(foreign, "admin")):
        assert not [name for _, name in catalog(foreign) if run_id in name]
    assert catalog(foreign) == before


def test_runs_of_others_are_never_swept(foreign: EmbeddedServer) -> None:
    living = Owner.this_process()
    marks = {
        "aaaaaaa1": str(living),
        "aaaaaaa2": str(msgspec.structs.replace(living, host="another", pid=2**22 + 1)),
        "aaaaaaa3": "no mark",
        "aaaaaaa4": None,
    }
    with psycopg.connect(foreign.address.conninfo, autocommit=True) as connection:
        for run_id, mark in marks.items():
            role = f"plsqlbench_{run_id}_owner"
            connection.execute(f"CREATE ROLE {role}".encode())
            if mark is not None:
                connection.execute(f"COMMENT ON ROLE {role} IS '{mark}'".encode())
        try:
            assert leftovers.sweep(connection) == []
            gone = msgspec.structs.replace(living, start="1")
            connection.execute(f"COMMENT ON ROLE plsqlbench_aaaaaaa1_owner IS '{gone}'".encode())
            assert leftovers.sweep(connection) == ["aaaaaaa1"]
        finally:
            for run_id in marks:
                connection.execute(f"DROP ROLE IF EXISTS plsqlbench_{run_id}_owner".encode())
    assert ("database", "plsqlbench_theirs") in catalog(foreign)
    assert ("role", "plsqlbench_deadbeef_friend") in catalog(foreign)


def test_stop_may_be_called_again_and_reports_a_lost_server(tmp_path: Path) -> None:
    with EmbeddedServer.start() as started:
        server = DsnServer.start(started.address.conninfo)
        server.stop()
        server.stop()
        again = DsnServer.start(started.address.conninfo)
    with pytest.raises(UserError, match="could not drop what the run created"):
        again.stop()
