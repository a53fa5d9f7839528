"""An existing server of the user's: probed, used within databases and roles of our own, left as it was."""

from __future__ import annotations

import contextlib
import os
import secrets
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from pytest_plsqlbench.bench.redaction import learn, learn_from
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers import leftovers
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.naming import quoted, run_prefix
from pytest_plsqlbench.servers.postgres_login import CONNECT_SECONDS, first_reason, login_failure
from pytest_plsqlbench.servers.postgres_session import READING, open_session, options_around, settled
from pytest_plsqlbench.servers.reaped import Reaped
from pytest_plsqlbench.servers.role_settings import deviations

if TYPE_CHECKING:
    import psycopg

_OLDEST = 140000


class DsnServer:
    """A server that the user named. What we create and drop there has the run's id in its name."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._stopped = False

    @classmethod
    def start(cls, dsn: str) -> DsnServer:
        """Reach the server, see what it allows, mark the run on it, and sweep what dead runs of ours left.

        Raises:
            UserError: unreachable, too old, or rights are missing; one line without the password.
        """
        import psycopg  # noqa: PLC0415  (only where a server is used)

        conninfo = _conninfo(dsn)
        try:
            with open_session(conninfo) as connection:
                label = _label(connection)
                superuser = _check(connection, label)
                run_id = secrets.token_hex(4)
                leftovers.sweep(connection)
                address = ServerAddress(
                    dialect="postgres",
                    kind="dsn",
                    conninfo=conninfo,
                    label=label,
                    version=connection.info.parameter_status("server_version") or "?",
                    run_id=run_id,
                    superuser=superuser,
                )
                try:
                    leftovers.mark(connection, run_id)
                    found = _check_login(connection, address)
                except BaseException:
                    leftovers.drop_run(connection, run_id)
                    raise
        except psycopg.Error as error:
            raise UserError(f"PostgreSQL server of the DSN: {login_failure(error)}") from None
        if not superuser:
            address = msgspec.structs.replace(
                address,
                version=" with ".join(filter(None, (address.version, ", ".join(found)))),
                deviations=found,
            )
        return cls(address)

    def stop(self) -> None:
        """Drop every database and role of the run.

        Raises:
            UserError: the server is gone or refuses; what is left is swept by a later run.
        """
        if self._stopped:
            return
        self._stopped = True
        import psycopg  # noqa: PLC0415

        try:
            with open_session(self.address.conninfo) as connection:
                leftovers.drop_run(connection, self.address.run_id)
        except psycopg.Error as error:
            raise UserError(
                f"could not drop what the run created on the PostgreSQL server"
                f" ({run_prefix(self.address.run_id)}…): {login_failure(error)}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def reap(dsn: str, *, foreign: bool = False, dry_run: bool = False) -> Reaped:
    """Drop what dead runs have left on an existing server; see ``leftovers.reap``.

    Raises:
        UserError: the server cannot be reached, or refuses; one line without the password.
    """
    import psycopg  # noqa: PLC0415

    try:
        with open_session(_conninfo(dsn)) as connection:
            return leftovers.reap(connection, foreign=foreign, dry_run=dry_run)
    except psycopg.Error as error:
        raise UserError(f"PostgreSQL server of the DSN: {login_failure(error)}") from None


def _conninfo(dsn: str) -> str:
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415

    learn_from(dsn)
    learn(os.environ.get("PGPASSWORD"))
    try:
        given = conninfo_to_dict(dsn)
    except UnicodeError:
        raise UserError(
            "the PostgreSQL DSN holds a byte that is not UTF-8; where it belongs to the password, leave that"
            " out and set PGPASSWORD"
        ) from None
    except psycopg.ProgrammingError:
        # the driver's message repeats the text, password included
        raise UserError(
            "the PostgreSQL DSN cannot be read; write postgresql://user:password@host:5432/database"
            " or host=… port=… user=… dbname=…"
        ) from None
    for name in ("password", "sslpassword"):
        learn(str(given.get(name) or ""))
    ports = str(given.get("port") or "").replace(",", "")
    if (ports and not ports.isdecimal()) or any(
        "@" in str(given.get(name, "")) for name in ("host", "dbname")
    ):
        raise UserError(  # the driver's own message would show what it takes for a host or port
            "the PostgreSQL DSN cannot be read: write @ in a password as %40, / as %2F, : as %3A"
        )
    given.setdefault("connect_timeout", str(CONNECT_SECONDS))
    if "options" not in given:
        given["options"] = options_around(given)
    return settled(make_conninfo("", **given))


def _label(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    info = connection.info
    return "local socket" if info.host.startswith("/") else f"{info.host}:{info.port}"


def _check(connection: psycopg.Connection[tuple[Any, ...]], label: str) -> bool:
    """See version and rights; returns whether the role is a superuser."""
    if connection.info.server_version < _OLDEST:
        version = connection.info.parameter_status("server_version")
        raise UserError(f"the PostgreSQL server {label} is version {version}; 14 or later is needed")
    row = connection.execute(
        "SELECT rolsuper, rolcreatedb, rolcreaterole, pg_catalog.pg_is_in_recovery(), rolname"
        " FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER"
    ).fetchone()
    assert row is not None
    superuser, createdb, createrole, standby, name = row
    if standby:
        raise UserError(f"the PostgreSQL server {label} is a read-only standby; give the primary's DSN")
    missing = [
        right for right, has in (("CREATEDB", createdb), ("CREATEROLE", createrole)) if not (has or superuser)
    ]
    if missing:
        rights = " and ".join(missing)
        raise UserError(
            f"the role {name!r} of the PostgreSQL server {label} lacks {rights};"
            f" a superuser can give it: ALTER ROLE {quoted(name)} {' '.join(missing)}"
        )
    return bool(superuser)


def _check_login(connection: psycopg.Connection[tuple[Any, ...]], address: ServerAddress) -> tuple[str, ...]:
    """See that a role of ours with a password may log in, as every worker will; returns its deviations."""
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415

    role = f"{run_prefix(address.run_id)}probe"
    password = secrets.token_urlsafe(24)
    database = connection.info.dbname
    connection.execute(f"CREATE ROLE {quoted(role)} LOGIN PASSWORD '{password}'".encode())
    try:
        conninfo = make_conninfo(
            address.conninfo, user=role, password=password, dbname=database, options=READING
        )
        with open_session(conninfo) as probe:
            return deviations(probe)
    except psycopg.OperationalError as error:
        if "permission denied for database" not in str(error):  # it was let in, but not to this database
            raise UserError(
                f"the PostgreSQL server {address.label} does not let roles that we create log in with a"
                f" password (see its pg_hba.conf): {first_reason(error)}"
            ) from None
        return deviations(connection)
    finally:
        with contextlib.suppress(psycopg.Error):
            connection.execute(f"DROP ROLE {quoted(role)}".encode())
