"""A server of the user's own for runs with faults: behind a proxy, and with a look at what is left on it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from fault_processes import Process, descendants, look
from fault_proxy import Proxy
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pytest_plsqlbench.servers.embedded import EmbeddedServer


class UserServer:
    """A server that a run reaches by a DSN, through a proxy on the loopback interface."""

    def __init__(self, bases: Sequence[Path] | None = None) -> None:
        """Start it.

        Args:
            bases: folders to run in; None: the usual ones.
        """
        self._server = EmbeddedServer.start(bases)
        self._own = f"plsqlbench_{self._server.address.run_id}_"
        folder = conninfo_to_dict(self._server.address.conninfo)["host"]
        self.proxy = Proxy(f"{folder}/.s.PGSQL.5432")
        self.conninfo = self._server.address.conninfo
        """Past the proxy."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a run finds it."""
        dsn = make_conninfo(
            host="127.0.0.1", port=self.proxy.port, user="plsqlbench", dbname="postgres", connect_timeout=3
        )
        return {"PLSQLBENCH_POSTGRES": dsn}

    @property
    def postmaster(self) -> Process | None:
        """The first process of the server."""
        keeper = self._server._keeper.pid
        return next((look(p.pid) for p in descendants(keeper) if "-D" in p.command), None)

    def left(self) -> list[str]:
        """Databases and roles of runs that are there now."""
        query = (
            "SELECT datname FROM pg_database WHERE starts_with(datname, 'plsqlbench_')"
            " UNION ALL SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'plsqlbench_')"
        )
        with psycopg.connect(self.conninfo) as connection:
            names = [row[0] for row in connection.execute(query).fetchall()]
        return [name for name in names if not name.startswith(self._own)]

    def stop(self) -> None:
        """Stop proxy and server."""
        self.proxy.stop()
        self._server.stop()


@contextlib.contextmanager
def user_server(bases: Sequence[Path] | None = None) -> Iterator[UserServer]:
    """A server for a while."""
    server = UserServer(bases)
    try:
        yield server
    finally:
        server.stop()
