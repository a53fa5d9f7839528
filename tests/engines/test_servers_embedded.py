"""The embedded server: it starts anywhere, alone with its run, and goes with it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers import account, datadir, embedded, rundir
from pytest_plsqlbench.servers.embedded import EmbeddedServer
from pytest_plsqlbench.servers.postgres import start_postgres


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder of our own that every account may enter, as TMPDIR is."""
    folder = Path(tempfile.mkdtemp(prefix="pb", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def ask(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.address.conninfo) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def postmaster(server: EmbeddedServer) -> int:
    return int((server.directory / "data" / "postmaster.pid").read_text().splitlines()[0])


def gone(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_it_starts_serves_and_leaves_nothing() -> None:
    with start_postgres("embedded") as server:
        assert isinstance(server, EmbeddedServer)
        pid = postmaster(server)
        directory = server.directory
        assert server.address.kind == server.address.label == "embedded"
        assert server.address.superuser
        assert ask(server, "SHOW server_version") == server.address.version
        assert ask(server, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is True
        assert directory.stat().st_mode & 0o777 == 0o700
        uid = Path(f"/proc/{pid}").stat().st_uid
        assert uid != 0
        assert directory.stat().st_uid == uid
    assert gone(pid)
    assert not directory.exists()
    assert not rundir._lock_of(directory).exists()
    server.stop()


def test_a_warm_cache_spares_the_making_of_the_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedServer.start():
        pass
    monkeypatch.setattr(datadir, "_initialize", lambda *_: pytest.fail("it was made again"))
    with EmbeddedServer.start() as server:
        assert ask(server, "SELECT 1") == 1


def test_only_our_account_gets_in() -> None:
    with EmbeddedServer.start() as server:
        assert ask(server, "SHOW listen_addresses") == ""
        assert ask(server, "SELECT string_agg(auth_method, ' ') FROM pg_hba_file_rules") == "peer"
        own = account.own_account().name
        assert ask(server, "SELECT string_agg(sys_name, ' ') FROM pg_ident_file_mappings") == own
        if os.geteuid() != 0:
            return
        # the server's own account owns the folder, and may still not log in
        other = account.server_account()
        done = subprocess.run(
            [str(account.binaries_for(other) / "bin" / "psql"), server.address.conninfo, "-c", "SELECT 1"],
            user=other.uid,
            group=other.gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Peer authentication failed" in done.stderr, done


def test_several_run_side_by_side() -> None:
    with EmbeddedServer.start() as one, EmbeddedServer.start() as two, EmbeddedServer.start() as three:
        servers = (one, two, three)
        assert len({server.address.run_id for server in servers}) == 3
        assert len({server.directory for server in servers}) == 3
        for server in servers:
            assert ask(server, "SELECT 1") == 1
        two.stop()
        assert ask(one, "SELECT 1") == ask(three, "SELECT 1") == 1


_RUN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a background job ignores it
from pytest_plsqlbench.servers.postgres import start_postgres
with start_postgres("embedded") as server:
    print(server.directory, (server.directory / "data" / "postmaster.pid").read_text().split()[0],
          server._keeper.pid, flush=True)
    {body}
"""


def run(body: str) -> tuple[subprocess.Popen[str], Path, int, int]:
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    directory, pid, keeper = process.stdout.readline().split()
    return process, Path(directory), int(pid), int(keeper)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_run_whatever_ends_that(number: signal.Signals) -> None:
    process, directory, pid, keeper = run("time.sleep(60)")
    os.killpg(process.pid, number)  # as a terminal does: the whole group
    process.communicate(timeout=10)
    assert gone(pid)
    assert gone(keeper)
    assert not directory.exists()
    assert not rundir._lock_of(directory).exists()


def test_ctrl_c_lets_the_run_finish_before_the_server_ends() -> None:
    body = """
    import psycopg
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        with psycopg.connect(server.address.conninfo) as connection:
            print(connection.execute("SELECT 'still there'").fetchone()[0], flush=True)
    """
    process, directory, pid, _ = run(body.strip())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert out.strip() == "still there", err
    assert gone(pid)
    assert not directory.exists()


def test_what_a_run_left_when_all_its_guards_died_is_swept() -> None:
    process, directory, pid, keeper = run("time.sleep(60)")
    os.kill(keeper, signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert directory.exists()
    with EmbeddedServer.start():
        assert not directory.exists()
        assert not rundir._lock_of(directory).exists()
        assert gone(pid)


def test_a_run_whose_keeper_died_still_stops_its_server() -> None:
    server = EmbeddedServer.start()
    pid, directory = postmaster(server), server.directory
    os.kill(server._keeper.pid, signal.SIGKILL)
    server._keeper.wait()
    with EmbeddedServer.start():  # the run lives: its folder is not swept
        assert ask(server, "SELECT 1") == 1
    server.stop()
    assert gone(pid)
    assert not directory.exists()


def test_a_long_folder_for_temporary_files_gets_a_short_socket(base: Path) -> None:
    deep = base / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with EmbeddedServer.start([deep]) as server:
        assert server.directory.parent == deep
        sockets = server._directory.sockets
        assert len(str(sockets)) < 80
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert ask(server, "SELECT 1") == 1
    assert not sockets.exists()
    assert list(deep.iterdir()) == []


def test_without_any_short_place_one_line_says_so(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = base / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(rundir, "_socket_bases", lambda: [deep])
    with pytest.raises(
        UserError, match=r"too long for a server's socket.*set TMPDIR to a short path"
    ) as caught:
        EmbeddedServer.start([deep])
    assert "\n" not in str(caught.value)
    assert list(deep.iterdir()) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rundir, "_free", lambda _folder: 1 << 20)
    with pytest.raises(UserError, match=r"less than 256 MB free.*free some space or set TMPDIR") as caught:
        EmbeddedServer.start([base])
    assert "\n" not in str(caught.value)
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(datadir, "_copy_file", full)
    with pytest.raises(UserError, match="No space left on device; free some space or set TMPDIR"):
        EmbeddedServer.start([base])
    assert list(base.iterdir()) == []


def test_the_next_base_is_taken_where_one_cannot_be_used(base: Path) -> None:
    with EmbeddedServer.start([base / "missing", base]) as server:
        assert server.directory.parent == base


def test_a_server_that_does_not_start_says_why(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(datadir.SETTINGS, "shared_buffers", "nonsense")
    with pytest.raises(UserError, match=r'did not start: .*invalid value for parameter "shared_buffers"'):
        EmbeddedServer.start([base])
    assert list(base.iterdir()) == []


def test_it_starts_with_a_cold_cache_and_with_none(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(base / "cache"))
    with EmbeddedServer.start([base]) as server:
        assert ask(server, "SELECT datcollate || datlocale FROM pg_database LIMIT 1") == "C.UTF-8C.UTF-8"
    kept = [path for path in (base / "cache").iterdir() if path.is_dir()]
    assert sum((path / "PG_VERSION").is_file() for path in kept) == 1
    # a cache that cannot be written costs time, nothing else
    monkeypatch.setattr(datadir, "_key", lambda: "nowhere/there")
    monkeypatch.setattr(Path, "mkdir", _refusing(base / "cache"))
    with EmbeddedServer.start([base]) as server:
        assert ask(server, "SELECT 1") == 1


@pytest.mark.parametrize("damage", ["pipe", "version", "control"])
def test_a_damaged_folder_in_the_cache_is_named(
    base: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    binaries = account.binaries_for(account.server_account())
    monkeypatch.setattr(embedded, "binaries_for", lambda _account: binaries)
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(base / "cache"))
    kept = base / "cache" / datadir._key()
    kept.mkdir(parents=True)
    (kept / "PG_VERSION").write_text("old\n" if damage == "version" else f"{account.wheel_version()[:2]}\n")
    (kept / "global").mkdir()
    if damage == "pipe":
        os.mkfifo(kept / "global" / "pg_control")
    elif damage == "control":
        (kept / "global" / "pg_control").write_bytes(b"torn")
    with pytest.raises(
        UserError, match=rf"embedded PostgreSQL server.*; if .* delete {re.escape(str(kept))}"
    ):
        EmbeddedServer.start([base])
    shutil.rmtree(kept)
    with EmbeddedServer.start([base]) as server:
        assert ask(server, "SELECT 1") == 1


def test_a_cache_that_is_no_folder_is_named(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "cache").write_text("")
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(base / "cache"))
    monkeypatch.setattr(embedded, "binaries_for", lambda _account: account.installed_binaries())
    with pytest.raises(UserError, match=r"the cache folder .*/cache cannot be used: .*PLSQLBENCH_CACHE_DIR"):
        EmbeddedServer.start([base])
    assert [path.name for path in base.iterdir()] == ["cache"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_a_server_that_dies_is_started_again(number: signal.Signals) -> None:
    with EmbeddedServer.start() as server:
        busy = psycopg.connect(server.address.conninfo, autocommit=True)
        try:
            busy.execute("CREATE TABLE kept AS SELECT 7 AS x")
            # a process that is at work does not notice that its server is gone
            busy.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
            first = postmaster(server)
            os.kill(first, number)
            end = time.monotonic() + 20
            while True:
                try:
                    assert ask(server, "SELECT x FROM kept") == 7
                    break
                except psycopg.OperationalError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
        finally:
            busy.close()
        assert postmaster(server) != first


def _refusing(folder: Path) -> object:
    mkdir = Path.mkdir

    def refuse(self: Path, *arguments: object, **options: object) -> None:
        if self == folder:
            raise PermissionError(13, "Permission denied", str(self))
        mkdir(self, *arguments, **options)  # type: ignore[arg-type]

    return refuse


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")
def test_binaries_below_a_private_folder_are_copied_to_a_reachable_one(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = base / "private"
    private.mkdir(mode=0o700)
    package = account.installed_binaries().parent
    (private / package.name).symlink_to(package)
    (private / f"{package.name}.libs").symlink_to(package.with_name(f"{package.name}.libs"))
    monkeypatch.setattr(account, "installed_binaries", lambda: private / package.name / "pginstall")
    monkeypatch.setattr(account, "reachable", lambda path: not path.is_relative_to(private))
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(base / "cache"))
    with EmbeddedServer.start([base]) as server:
        executable = Path(f"/proc/{postmaster(server)}/exe").readlink()
        assert executable.is_relative_to(base / "cache")
        assert ask(server, "SELECT 1") == 1
    assert private.stat().st_mode & 0o777 == 0o700  # nobody's permissions were changed


def test_settings_of_the_user_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1MB")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    with EmbeddedServer.start() as server:
        assert ask(server, "SELECT setting FROM pg_settings WHERE name = 'TimeZone'") == "UTC"
        for name, value in (
            ("client_connection_check_interval", "200ms"),
            ("max_prepared_transactions", "0"),
            ("temp_file_limit", "512MB"),
            ("log_min_messages", "fatal"),
            ("max_parallel_workers_per_gather", "0"),
        ):
            assert ask(server, f"SHOW {name}") == value
