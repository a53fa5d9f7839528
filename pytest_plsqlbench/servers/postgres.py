"""PostgreSQL servers by what the user named: ``embedded`` or the DSN of an existing one."""

from __future__ import annotations

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.started import StartedServer


def start_postgres(spec: str) -> StartedServer:
    """Start or reach the server that ``spec`` names.

    Args:
        spec: ``embedded``, a URL (``postgresql://…``) or a connection string (``host=… user=…``).

    Raises:
        UserError: the server cannot be had; one line that says why and what to do, without passwords.
    """
    spec = spec.strip()
    if spec == "embedded":
        from pytest_plsqlbench.servers.embedded import EmbeddedServer  # noqa: PLC0415

        return EmbeddedServer.start()
    if "=" in spec or spec.startswith(("postgres://", "postgresql://")):
        from pytest_plsqlbench.servers.dsn import DsnServer  # noqa: PLC0415

        return DsnServer.start(spec)
    named = f" {spec!r}" if spec.isalnum() else ""  # anything else may hold a password
    raise UserError(
        f"no such PostgreSQL server{named}: say 'embedded', or give a DSN such as"
        " postgresql://user:password@host:5432/postgres"
    )
