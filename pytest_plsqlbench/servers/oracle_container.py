"""An Oracle Database Free or XE server in a container: gvenzl's images, or Oracle's own."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_plsqlbench.servers.container import ContainerServer
from pytest_plsqlbench.servers.container_spec import (
    ContainerSpec,
    Login,
    NotYetError,
    Place,
    new_password,
    reason_of,
)
from pytest_plsqlbench.servers.daemon import Notify, Pull

if TYPE_CHECKING:
    from oracledb import Connection

IMAGE = "gvenzl/oracle-free:23-slim-faststart"
"""Used where the user names none."""

READY_LINE = "DATABASE IS READY TO USE!"
"""What both makers' images print when the database is open and its administrator's password is set. No login
is tried before: a wrong password counts towards the account's limit of failed logins."""

START_SECONDS = 300.0
MEMORY = 4 << 30
"""Two GB are the documented least, and no longer enough for the 23ai images."""

_SERVICES = ("FREEPDB1", "XEPDB1")
_UNKNOWN_SERVICE = frozenset(("DPY-6001", "DPY-6003", "ORA-12514", "ORA-12505"))
"""The listener does not know the service (yet): the driver's own codes, and the listener's."""
Connect = Callable[[str], "Connection"]


def start_oracle_container(
    image: str = IMAGE,
    *,
    pull: Pull = "missing",
    notify: Notify | None = None,
    seconds: float = START_SECONDS,
    memory: int = MEMORY,
) -> ContainerServer:
    """Start an Oracle server in a container of its own.

    Args:
        image: takes ORACLE_PASSWORD (gvenzl's images) or ORACLE_PWD (Oracle's), and prints the ready line.
        pull: whether a missing image may be pulled.
        notify: is told about progress, a line at a time.
        seconds: how long the database may take to answer.
        memory: limit of the container, in bytes.

    Raises:
        ServerUnavailableError: it cannot be had; one line says why and what to do.
    """
    password = new_password()
    probe = OracleProbe(password, services_of(image))
    return ContainerServer.start(
        oracle_spec(image, password, memory), probe, seconds=seconds, pull=pull, notify=notify
    )


def oracle_spec(image: str, password: str, memory: int = MEMORY) -> ContainerSpec:
    """What to start; the password goes by both makers' names, and nothing comes from our own environment."""
    from docker.types import LogConfig  # noqa: PLC0415 (loads with the first container)

    return ContainerSpec(
        dialect="oracle",
        image=image,
        option="--plsql-oracle-image",
        instead="give the DSN of an Oracle server with --plsql-oracle",
        port=1521,
        environment={"ORACLE_PASSWORD": password, "ORACLE_PWD": password},
        memory=memory,
        ready_line=READY_LINE,
        host_settings={
            "shm_size": 1 << 30,
            "log_config": LogConfig(type="json-file", config={"max-size": "10m", "max-file": "2"}),
        },
        secrets=(password,),
    )


def services_of(image: str) -> tuple[str, ...]:
    """Services of the pluggable database an image may have, the likelier first."""
    name = image.rsplit("/", 1)[-1]
    return _SERVICES[::-1] if "xe" in name.split(":", 1)[0].replace("_", "-").split("-") else _SERVICES


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    unknown_service: bool


class OracleProbe:
    """Logs in as SYSTEM, at the service that the database turns out to have."""

    def __init__(self, password: str, services: tuple[str, ...], connect: Connect | None = None) -> None:
        """Take note.

        Args:
            password: of SYSTEM.
            services: to try, in order.
            connect: the driver's connect, given a connection string; None: python-oracledb's.
        """
        self._password = password
        self._services = services
        self._connect = connect or _connect

    def __call__(self, place: Place) -> Login:
        """One attempt at each service, until one is known to the listener."""
        said = []
        for service in self._services:
            conninfo = f"system/{self._password}@{place.host}:{place.port}/{service}"
            login = self._attempt(conninfo)
            if isinstance(login, Login):
                return login
            said.append(f"{service}: {login.reason}")
            if not login.unknown_service:
                break
        raise NotYetError("; ".join(said))

    def _attempt(self, conninfo: str) -> Login | _Refusal:
        import oracledb  # noqa: PLC0415 (only where a server starts)

        with warnings.catch_warnings():
            # the driver forgets to close the socket of a login that was cut short
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                connection = self._connect(conninfo)
            except oracledb.Error as error:
                refusal = _Refusal(_shown(error), _unknown_service(error))
            else:
                try:
                    return Login(conninfo, str(connection.version))
                finally:
                    connection.close()
            gc.collect()
            return refusal


def _connect(conninfo: str) -> Connection:
    import oracledb  # noqa: PLC0415

    return oracledb.connect(conninfo, tcp_connect_timeout=5, retry_count=0)


def _unknown_service(error: Exception) -> bool:
    details = error.args[0] if error.args else None
    return getattr(details, "full_code", None) in _UNKNOWN_SERVICE


def _shown(error: Exception) -> str:
    """The first line of what the driver says; the others are the address of a help page."""
    return reason_of(Exception(str(error).splitlines()[0] if str(error) else type(error).__name__))
