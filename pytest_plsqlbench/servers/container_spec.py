"""What to start in a container, and how to see that it is ready."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_plsqlbench.bench.redaction import learn
from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.servers.daemon import one_line


@dataclass(frozen=True, slots=True)
class Place:
    """Where a port of the container can be reached."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Login:
    """An administrator could log in."""

    conninfo: str
    """In the driver's own form; holds the password."""
    version: str


class NotYetError(Exception):
    """The database does not take logins yet; the message says what it answered."""


Probe = Callable[[Place], Login]
"""Try to log in: one attempt, a few seconds at most; may be repeated after success. Raises NotYetError."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """What to start and how to see that it is ready."""

    dialect: Dialect
    image: str
    option: str
    """The option that names the image, for messages."""
    instead: str
    """What to do without a container, for messages."""
    port: int
    """The database's port inside the container."""
    environment: Mapping[str, str]
    memory: int
    """Limit in bytes, for the whole container."""
    command: tuple[str, ...] = ()
    tmpfs: Mapping[str, str] = field(default_factory=dict)
    """Folders of the container that live in memory, with their mount options."""
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))
    ready_line: str | None = None
    """A line of the log without which no login is tried; None: the login alone decides."""
    host_settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the container, as the Docker SDK names them."""
    secrets: tuple[str, ...] = ()
    """Words that no message may show."""


def new_password() -> str:
    """A password that every server takes: 24 letters and digits of all kinds, a letter first."""
    alphabet = string.ascii_letters + string.digits
    middle = "".join(secrets.choice(alphabet) for _ in range(21))
    password = secrets.choice(string.ascii_uppercase) + secrets.choice(string.ascii_lowercase) + middle + "7"
    learn(password)
    return password


def reason_of(error: BaseException) -> str:
    """What a driver said, on one line."""
    return one_line(error)
