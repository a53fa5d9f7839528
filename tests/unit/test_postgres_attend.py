"""A raw connection is waited for as long as the server works for it, and no longer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_plsqlbench.engines.postgres import admin as module
from pytest_plsqlbench.engines.postgres.admin import Admin
from pytest_plsqlbench.engines.protocol import InfrastructureError
from pytest_plsqlbench.servers.address import ServerAddress


class Raw:
    """What is used of the driver's raw connection."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair()
        self.socket = self._ours.fileno()
        self.backend_pid = 7
        self.taken = b""
        self.finished = False

    def consume_input(self) -> None:
        self.taken += self._ours.recv(100)

    def finish(self) -> None:
        self.finished = True

    def close(self) -> None:
        self._ours.close()
        self.theirs.close()


@pytest.fixture
def raw() -> Iterator[Raw]:
    made = Raw()
    yield made
    made.close()


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.01)
    return Admin(
        ServerAddress(
            dialect="postgres",
            kind="dsn",
            conninfo="host=nowhere",
            label="nowhere",
            version="18",
            run_id="0a1b2c3d",
            superuser=False,
        )
    )


def test_what_comes_is_read(admin: Admin, raw: Any) -> None:
    raw.theirs.send(b"answer")
    admin.attend(raw)
    assert raw.taken == b"answer"


def test_a_server_that_works_is_waited_for(admin: Admin, raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def works(self: Admin, pid: int) -> bool:
        asked.append(pid)
        if len(asked) == 3:
            raw.theirs.send(b"late")
        return True

    monkeypatch.setattr(Admin, "_works_for", works)
    admin.attend(raw)
    assert (raw.taken, asked) == (b"late", [7, 7, 7])


def test_a_server_that_does_not_is_lost(admin: Admin, raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "_works_for", lambda self, pid: False)
    with pytest.raises(InfrastructureError, match="does not answer any more"):
        admin.attend(raw)
    assert raw.finished
