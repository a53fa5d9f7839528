"""A PostgreSQL server in a container: an image with the interface of the official one."""

from __future__ import annotations

from pytest_plsqlbench.servers import datadir
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
from pytest_plsqlbench.servers.embedded import PROCESS_MEMORY
from pytest_plsqlbench.servers.naming import owner_role, quoted
from pytest_plsqlbench.servers.postgres_session import settled

IMAGE = "postgres:17"
"""Used where the user names none."""

SUPERUSER = "plsqlbench"
START_SECONDS = 120.0
_MEMORY = 4 << 30
_TMPFS = 2 << 30
_DATA = "/plsqlbench"

_OWN = frozenset(("listen_addresses", "unix_socket_permissions", "io_method"))
"""Settings of the embedded server that make no sense here, or that older major versions do not know."""

SETTINGS = {name: value for name, value in datadir.SETTINGS.items() if name not in _OWN}
"""The embedded server's settings: the same program shows the same on both."""


def start_postgres_container(
    image: str = IMAGE,
    *,
    pull: Pull = "missing",
    notify: Notify | None = None,
    seconds: float = START_SECONDS,
    memory: int = _MEMORY,
    process_memory: int = PROCESS_MEMORY,
) -> ContainerServer:
    """Start a PostgreSQL server in a container of its own.

    Args:
        image: takes the environment variables and arguments of the official image.
        pull: whether a missing image may be pulled.
        notify: is told about progress, a line at a time.
        seconds: how long the database may take to answer.
        memory: limit of the container, in bytes, its files in memory included; raised where one process
            may use more than a quarter of it.
        process_memory: limit of each server process, in bytes.

    Raises:
        ServerUnavailableError: it cannot be had; one line says why and what to do.
    """
    password = new_password()
    spec = postgres_spec(image, password, max(memory, 4 * process_memory), process_memory)
    probe = PostgresProbe(password, spec.run_id)
    return ContainerServer.start(spec, probe, seconds=seconds, pull=pull, notify=notify)


def postgres_spec(
    image: str, password: str, memory: int = _MEMORY, process_memory: int = PROCESS_MEMORY
) -> ContainerSpec:
    """What to start."""
    from docker.types import LogConfig, Ulimit  # noqa: PLC0415 (loads with the first container)

    return ContainerSpec(
        dialect="postgres",
        image=image,
        option="--plsql-postgres-image",
        instead="use --plsql-postgres=embedded or the DSN of a server",
        port=5432,
        environment={
            "POSTGRES_USER": SUPERUSER,
            "POSTGRES_PASSWORD": password,
            "POSTGRES_DB": "postgres",
            "POSTGRES_INITDB_ARGS": "--no-sync --encoding=UTF8 --locale=C.UTF-8 --lc-messages=C",
            "PGDATA": f"{_DATA}/data",
        },
        command=(
            "postgres",
            *(word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")),
        ),
        memory=memory,
        tmpfs={_DATA: f"size={min(_TMPFS, memory // 2)},mode=0755"},
        host_settings={
            "shm_size": 256 << 20,
            "pids_limit": 2000,
            "ulimits": [Ulimit(name="data", soft=process_memory, hard=process_memory)],
            "cap_drop": ["ALL"],
            "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],  # to become another user
            "security_opt": ["no-new-privileges"],
            "log_config": LogConfig(type="json-file", config={"max-size": "10m", "max-file": "2"}),
        },
        secrets=(password,),
    )


class PostgresProbe:
    """Logs in as the superuser, and makes the server ready for a run."""

    def __init__(self, password: str, run_id: str) -> None:
        self._password = password
        self._run_id = run_id

    def __call__(self, place: Place) -> Login:
        """One attempt."""
        import psycopg  # noqa: PLC0415 (only where a server starts)
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415

        conninfo = settled(
            make_conninfo(
                host=place.host,
                port=place.port,
                user=SUPERUSER,
                password=self._password,
                dbname="postgres",
                connect_timeout=10,
            )
        )
        try:
            with psycopg.connect(conninfo, connect_timeout=3) as connection:
                # as the embedded server: graded roles get their own databases and no others
                for database in ("postgres", "template1"):
                    connection.execute(f"REVOKE CONNECT, TEMPORARY ON DATABASE {database} FROM PUBLIC")
                role = owner_role(self._run_id)
                if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
                    connection.execute(f"CREATE ROLE {quoted(role)} NOLOGIN".encode())
                return Login(conninfo, connection.info.parameter_status("server_version") or "?")
        except psycopg.OperationalError as error:
            raise NotYetError(reason_of(error)) from None
