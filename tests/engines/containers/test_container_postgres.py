"""A PostgreSQL server in a real container: what it is like, who uses it, when it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from filelock import FileLock

from pytest_plsqlbench.servers import datadir, postgres_container
from pytest_plsqlbench.servers.container import ContainerServer
from pytest_plsqlbench.servers.container_sweep import RUN_LABEL
from pytest_plsqlbench.servers.postgres_container import start_postgres_container

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def server(image: str, turnstile: FileLock) -> Iterator[ContainerServer]:
    with turnstile, pytest.MonkeyPatch.context() as patch:
        # variables of a CI job must not reach the container
        patch.setenv("POSTGRES_USER", "stray")
        patch.setenv("POSTGRES_PASSWORD", "stray")
        patch.setenv("POSTGRES_DB", "stray")
        patch.setattr(postgres_container, "PROCESS_MEMORY", 256 << 20)  # more takes longer to fill
        started = start_postgres_container(image, pull="never")
    yield started
    with turnstile:
        started.stop()


@pytest.fixture
def attributes(server: ContainerServer, docker_client: Any) -> dict[str, Any]:
    found: dict[str, Any] = docker_client.containers.get(server.container_name).attrs
    return found


def test_address_says_what_it_is_without_the_password(server: ContainerServer, image: str) -> None:
    address = server.address
    assert (address.dialect, address.kind, address.superuser) == ("postgres", "container", True)
    assert address.label == f"container {image}"
    assert address.version.split(".")[0].isdigit()
    assert address.run_id in server.container_name
    with psycopg.connect(address.conninfo) as connection:
        row = connection.execute("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user")
        assert row.fetchone() == ("plsqlbench", True)
        assert connection.info.password not in address.label
        assert connection.info.host == "127.0.0.1"


def test_port_is_published_on_loopback_alone(attributes: dict[str, Any]) -> None:
    bindings = attributes["NetworkSettings"]["Ports"]["5432/tcp"]
    assert [binding["HostIp"] for binding in bindings] == ["127.0.0.1"]


def test_container_is_limited_and_marked(attributes: dict[str, Any], server: ContainerServer) -> None:
    host = attributes["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 4 << 30
    assert host["PidsLimit"] == 2000
    assert host["CapDrop"] == ["ALL"]
    assert not host["Privileged"]
    assert attributes["Config"]["Labels"][RUN_LABEL] == server.address.run_id


def test_no_reaper_of_the_library_runs(server: ContainerServer, docker_client: Any) -> None:
    from testcontainers.core.config import testcontainers_config

    names = [container.name for container in docker_client.containers.list()]
    assert not [name for name in names if "ryuk" in name]
    assert not testcontainers_config.ryuk_disabled  # as it was: other users of the library keep theirs


def test_settings_are_those_of_the_embedded_server(server: ContainerServer) -> None:
    different = {"listen_addresses", "unix_socket_permissions", "io_method"}
    expected = {name: value for name, value in datadir.SETTINGS.items() if name not in different}
    assert len(expected) > 20
    with psycopg.connect(server.address.conninfo) as connection:
        shown = {name: connection.execute(f"SHOW {name}".encode()).fetchone() for name in expected}
    assert shown == {name: (value,) for name, value in expected.items()}


def test_text_sorts_by_code_point_and_case_is_unicode(server: ContainerServer) -> None:
    with psycopg.connect(server.address.conninfo) as connection:
        rows = connection.execute(
            "SELECT string_agg(w, ' ' ORDER BY w), upper('straße é')"
            " FROM unnest(ARRAY['b', 'a', 'B', 'é', 'Z']) AS w"
        )
        assert rows.fetchone() == ("B Z a b é", "STRAßE É")


def test_data_lives_in_memory(server: ContainerServer, docker_client: Any) -> None:
    code, output = docker_client.containers.get(server.container_name).exec_run(
        "stat -f -c %T /plsqlbench/data"
    )
    assert (code, output.strip()) == (0, b"tmpfs")


def test_greedy_program_gets_an_error_and_others_go_on(server: ContainerServer) -> None:
    greedy = "SELECT array_length(array_agg(repeat('x', 50000000)), 1) FROM generate_series(1, 20)"
    with (
        psycopg.connect(server.address.conninfo) as other,
        psycopg.connect(server.address.conninfo) as connection,
    ):
        with pytest.raises(psycopg.errors.OutOfMemory):
            connection.execute(greedy)
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_one_container_serves_all_workers(
    server: ContainerServer, ours: Callable[[], list[Any]], python: Callable[..., Any]
) -> None:
    work = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute(f"CREATE DATABASE {sys.argv[2]}")
    print(connection.execute("SELECT pg_postmaster_start_time()").fetchone()[0])
"""
    names = [f"run_{server.address.run_id}_gw{number}" for number in range(3)]
    workers = [python(work, server.address.conninfo, name) for name in names]
    outputs = [worker.communicate(timeout=30) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], outputs
    assert len({output for output, _ in outputs}) == 1
    assert ours() == []
    with psycopg.connect(server.address.conninfo) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'run%' ORDER BY 1")
        assert [name for (name,) in found] == names


def test_nobody_may_use_the_first_databases(server: ContainerServer) -> None:
    with psycopg.connect(server.address.conninfo) as connection:
        connection.execute("CREATE ROLE graded LOGIN")
        allowed = connection.execute(
            "SELECT has_database_privilege('graded', datname, 'CONNECT') FROM pg_database"
            " WHERE datname IN ('postgres', 'template1')"
        ).fetchall()
        assert allowed == [(False,), (False,)]


def test_stop_removes_container_and_warden_and_may_be_repeated(
    image: str, ours: Callable[[], list[Any]]
) -> None:
    server = start_postgres_container(image, pull="never")
    warden = server._running._warden
    assert [container.name for container in ours()] == [server.container_name]
    assert server.why_down() is None
    server.stop()
    assert ours() == []
    assert warden is not None
    assert warden.returncode == 0
    server.stop()


def test_server_that_was_removed_says_so_and_stops_in_peace(
    image: str, ours: Callable[[], list[Any]]
) -> None:
    with start_postgres_container(image, pull="never") as server:
        ours()[0].remove(force=True)
        assert server.why_down() == "somebody removed it"


def test_two_runs_at_once_do_not_meet(image: str, ours: Callable[[], list[Any]]) -> None:
    with (
        start_postgres_container(image, pull="never") as first,
        start_postgres_container(image, pull="never") as second,
    ):
        assert len(ours()) == 2
        assert first.address.conninfo != second.address.conninfo
        first.stop()
        with psycopg.connect(second.address.conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
