"""PostgreSQL servers by what the user named: ``embedded``, ``container`` or the DSN of an existing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.limits import DEFAULTS
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.started import StartedServer

if TYPE_CHECKING:
    from pytest_plsqlbench.servers.address import ServerAddress
    from pytest_plsqlbench.servers.daemon import Notify, Pull


def start_postgres(
    spec: str,
    *,
    image: str | None = None,
    pull: Pull = "missing",
    notify: Notify | None = None,
    memory: int = DEFAULTS.server_memory,
) -> StartedServer:
    """Start or reach the server that ``spec`` names.

    Args:
        spec: ``embedded``, ``container``, a URL (``postgresql://…``) or a connection string
            (``host=… user=…``).
        image: of the container; None: the official one.
        pull: whether a missing image may be pulled.
        notify: is told about the progress of a container's start, a line at a time.
        memory: limit of each server process, in bytes; nothing can limit an existing server.

    Raises:
        UserError: the server cannot be had; one line that says why and what to do, without passwords.
    """
    spec = spec.strip()
    if spec == "embedded":
        from pytest_plsqlbench.servers.embedded import EmbeddedServer  # noqa: PLC0415

        return EmbeddedServer.start(memory=memory)
    if spec == "container":
        from pytest_plsqlbench.servers.postgres_container import IMAGE, start_postgres_container  # noqa: PLC0415

        return start_postgres_container(image or IMAGE, pull=pull, notify=notify, process_memory=memory)
    if "=" in spec or spec.startswith(("postgres://", "postgresql://")):
        from pytest_plsqlbench.servers.dsn import DsnServer  # noqa: PLC0415

        return DsnServer.start(spec)
    named = f" {spec!r}" if spec.isalnum() else ""  # anything else may hold a password
    raise UserError(
        f"no such PostgreSQL server{named}: say 'embedded' or 'container', or give a DSN such as"
        " postgresql://user:password@host:5432/postgres"
    )


def unenforced(address: ServerAddress) -> tuple[str, ...]:
    """Names of the limits that cannot be enforced on a server, for the report header."""
    if address.kind != "dsn":
        return ()
    return ("server_memory",) if address.superuser else ("server_memory", "temp_files")


def server_notes(address: ServerAddress) -> tuple[str, ...]:
    """What a user should know about a server, one line each, for the report header."""
    notes = []
    if names := unenforced(address):
        notes.append(f"limits that nothing enforces on this PostgreSQL server: {', '.join(names)}")
    if address.deviations:
        settings = ", ".join(address.deviations)
        notes.append(
            f"settings of this PostgreSQL server that change results, and are not pinned: {settings}"
        )
    return tuple(notes)
