"""The Oracle path on a real daemon, with stand-ins for the image: no Oracle database is at hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_plsqlbench.servers import oracle_container
from pytest_plsqlbench.servers.oracle_container import READY_LINE, start_oracle_container
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

pytestmark = pytest.mark.docker

ImageThat = Callable[[str], str]
Ours = Callable[[], list[Any]]

READY = f"""
[ -n "$ORACLE_PASSWORD" ] || exit 41
[ "$ORACLE_PASSWORD" = "$ORACLE_PWD" ] || exit 42
[ -z "$APP_USER$ORACLE_DATABASE" ] || exit 43
echo '{READY_LINE}'
exec sleep 600
""".strip().replace("\n", "; ")


class FakeConnection:
    version = "23.9.0.25.7"

    def close(self) -> None:
        pass


def test_container_up_but_database_not_answering(
    image_that: ImageThat, ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_USER", "stray")
    monkeypatch.setenv("ORACLE_DATABASE", "stray")
    with pytest.raises(ServerUnavailableError) as caught:
        start_oracle_container(image_that(READY), pull="never", seconds=2)
    message = str(caught.value)
    assert "is up, but its database does not answer after 2 s (FREEPDB1: DPY-" in message
    assert READY_LINE in message
    assert "--plsql-oracle-image" in message
    assert ours() == []


def test_no_login_is_tried_before_the_ready_line(
    image_that: ImageThat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(conninfo: str) -> Any:
        pytest.fail("login before the ready line")

    monkeypatch.setattr(oracle_container, "_connect", connect)
    with pytest.raises(ServerUnavailableError, match="did not become ready after 1 s"):
        start_oracle_container(image_that("echo Starting Oracle; exec sleep 600"), pull="never", seconds=1)


def test_address_of_a_database_that_answers(
    image_that: ImageThat, ours: Ours, docker_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins: list[str] = []

    def connect(conninfo: str) -> FakeConnection:
        logins.append(conninfo)
        return FakeConnection()

    monkeypatch.setattr(oracle_container, "_connect", connect)
    image = image_that(f"sleep 0.5; {READY}")
    began = time.monotonic()
    with start_oracle_container(image, pull="never") as server:
        assert time.monotonic() - began < 15
        attributes = docker_client.containers.get(server.container_name).attrs
        port = attributes["NetworkSettings"]["Ports"]["1521/tcp"][0]
        password = dict(v.split("=", 1) for v in attributes["Config"]["Env"])["ORACLE_PASSWORD"]
        assert port["HostIp"] == "127.0.0.1"
        assert attributes["HostConfig"]["Memory"] == 4 << 30
        address = server.address
        assert address.conninfo == f"system/{password}@127.0.0.1:{port['HostPort']}/FREEPDB1"
        assert (address.dialect, address.kind, address.version) == ("oracle", "container", "23.9.0.25.7")
        assert password not in address.label
    assert logins == [address.conninfo]
    assert ours() == []
