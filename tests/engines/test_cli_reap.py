"""``plsqlbench reap`` on real servers: what dead runs left goes, all else stays, asked once or twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli import main
from pytest_plsqlbench.cli.reap import command
from pytest_plsqlbench.servers.dsn import DsnServer
from pytest_plsqlbench.servers.embedded import EmbeddedServer
from pytest_plsqlbench.servers.owner import Owner

_KILLED_ON_A_SERVER = """
import os, signal, sys
from pytest_plsqlbench.servers.postgres import start_postgres
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Play
server = start_postgres(sys.argv[1])
PostgresEngine(server.address).lane("gw0").play(Play("candidate", ("SELECT 1",), ()))
print(server.address.run_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
_KILLED_WITH_ITS_KEEPER = """
import os, pathlib, signal, sys
from pytest_plsqlbench.servers.embedded import EmbeddedServer
server = EmbeddedServer.start([pathlib.Path(sys.argv[1])])
print(server.directory, flush=True)
server._keeper.kill()
os.kill(os.getpid(), signal.SIGKILL)
"""


def python(script: str, argument: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, argument], capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return done.stdout.strip()


def reap(*arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is named, and no Docker daemon answers."""
    for name in ("PLSQLBENCH_POSTGRES", "PLSQLBENCH_ORACLE_DSN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files of this test alone: other runs of this machine do not sweep it."""
    folder = Path(tempfile.mkdtemp(prefix="pb", dir="/tmp"))
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def theirs() -> Iterator[EmbeddedServer]:
    """A server of the user's, with a database and a role that only look like ours."""
    with EmbeddedServer.start() as started:
        with psycopg.connect(started.address.conninfo, autocommit=True) as connection:
            connection.execute(f"DROP ROLE plsqlbench_{started.address.run_id}_owner".encode())
            connection.execute("CREATE DATABASE plsqlbench_mine TEMPLATE template0")
            connection.execute("CREATE ROLE plsqlbench_deadbeef_friend")
        yield started


def catalog(server: EmbeddedServer) -> set[str]:
    with psycopg.connect(server.address.conninfo) as connection:
        rows = connection.execute(
            "SELECT 'database ' || datname FROM pg_database UNION ALL SELECT 'role ' || rolname FROM pg_roles"
        ).fetchall()
    return {row[0] for row in rows}


def test_databases_and_roles_of_a_killed_run_go_and_those_of_a_living_one_stay(
    theirs: EmbeddedServer,
) -> None:
    dsn = theirs.address.conninfo
    before = catalog(theirs)
    run_id = python(_KILLED_ON_A_SERVER, dsn)
    left = catalog(theirs) - before
    assert {f"role plsqlbench_{run_id}_owner"} < left
    assert any(name.startswith("database ") for name in left)
    dry = reap("--postgres", dsn, "--dry-run")
    assert set(dry.output.splitlines()) == {f"would drop {name}" for name in left}
    assert catalog(theirs) - before == left
    living = DsnServer.start(dsn)  # sweeps as well: what the killed run left is made anew
    try:
        run_id = python(_KILLED_ON_A_SERVER, dsn)
        alive = f"kept plsqlbench_{living.address.run_id}_*: its run is alive\n"
        first = reap("--postgres", dsn)
        assert (first.exit_code, first.output.count(run_id)) == (0, len(left))
        assert alive in first.output
        assert first.output.splitlines()[-2] == f"dropped role plsqlbench_{run_id}_owner"
        assert reap("--postgres", dsn).output == alive
        assert reap("--postgres", dsn, "--foreign").output == alive
    finally:
        living.stop()
    assert catalog(theirs) == before
    assert reap("--postgres", dsn).output == "nothing to drop\n"


def test_runs_of_other_machines_only_where_that_is_asked_for(theirs: EmbeddedServer) -> None:
    dsn = theirs.address.conninfo
    mark = Owner("another", "boot", "", 1, "1")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE plsqlbench_aaaaaaa1_owner")
        connection.execute(f"COMMENT ON ROLE plsqlbench_aaaaaaa1_owner IS '{mark}'".encode())
    kept = reap("--postgres", dsn)
    assert kept.exit_code == 0
    assert kept.output == (
        "kept plsqlbench_aaaaaaa1_*: its run is of another machine, and may be alive (--foreign drops it)\n"
    )
    dropped = "dropped role plsqlbench_aaaaaaa1_owner\n"
    assert reap("--postgres", dsn, "--foreign").output == dropped


def test_what_cannot_be_dropped_is_told_and_the_rest_goes(theirs: EmbeddedServer) -> None:
    dsn = theirs.address.conninfo
    gone = msgspec.structs.replace(Owner.this_process(), start="1")
    with psycopg.connect(dsn, autocommit=True) as connection:
        for run_id in ("aaaaaaa1", "aaaaaaa2"):
            connection.execute(f"CREATE ROLE plsqlbench_{run_id}_owner".encode())
            connection.execute(f"COMMENT ON ROLE plsqlbench_{run_id}_owner IS '{gone}'".encode())
        connection.execute("CREATE TABLE blocks (x int)")
        connection.execute("ALTER TABLE blocks OWNER TO plsqlbench_aaaaaaa1_owner")
    refused = reap("--postgres", dsn)
    assert refused.exit_code == 1
    assert "dropped role plsqlbench_aaaaaaa2_owner\n" in refused.output
    assert "failed: plsqlbench_aaaaaaa1_*: role" in refused.output
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE blocks")
    assert reap("--postgres", dsn).output == "dropped role plsqlbench_aaaaaaa1_owner\n"


def test_a_server_that_outlived_its_keeper_is_stopped_and_its_folder_goes(base: Path) -> None:
    folder = Path(python(_KILLED_WITH_ITS_KEEPER, str(base)))
    pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    assert Path(f"/proc/{pid}").exists(), "the test needs a server that is left behind"
    assert f"would drop folder {folder}\n" in reap("--postgres", "embedded", "--dry-run").output
    assert folder.exists()
    result = reap("--postgres", "embedded")
    assert f"dropped folder {folder}\n" in result.output
    assert result.exit_code == 0
    assert list(base.iterdir()) == []
    assert not Path(f"/proc/{pid}/exe").exists()
    with EmbeddedServer.start([base]) as living:
        result = reap()
        assert f"kept folder {living.directory}: its run is alive\n" in result.output
        assert result.exit_code == 0
        with psycopg.connect(living.address.conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_without_an_option_this_machine_and_the_servers_of_the_environment(
    theirs: EmbeddedServer, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(python(_KILLED_WITH_ITS_KEEPER, str(base)))
    run_id = python(_KILLED_ON_A_SERVER, theirs.address.conninfo)
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", theirs.address.conninfo)
    result = reap()
    assert result.exit_code == 0
    assert f"dropped folder {folder}\n" in result.output
    assert f"dropped role plsqlbench_{run_id}_owner\n" in result.output
    assert "containers were not looked for: no Docker daemon answers at unix:///nowhere" in result.output


def test_a_place_that_cannot_be_looked_at_does_not_keep_us_from_the_others(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(python(_KILLED_WITH_ITS_KEEPER, str(base)))
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", make_conninfo(host="/nowhere", user="u", password="hunter2"))
    with pytest.raises(SystemExit) as ended:
        main(["reap"])
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert f"dropped folder {folder}\n" in shown.out
    assert "plsqlbench: error: PostgreSQL server of the DSN: " in shown.err
    assert "hunter2" not in shown.out + shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--postgres", "container"], "no Docker daemon answers at unix:///nowhere/docker.sock"),
        (["--oracle", "container"], "no Docker daemon answers at unix:///nowhere/docker.sock"),
        (
            ["--oracle", "container", "--data"],
            "--data drops what is loaded into an Oracle server that stays: name it",
        ),
        (["--data"], "--data drops what is loaded into an Oracle server that stays: name it"),
        (["--postgres", "embeded"], "the PostgreSQL DSN cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        reap(*arguments)
    assert "\n" not in str(caught.value)
