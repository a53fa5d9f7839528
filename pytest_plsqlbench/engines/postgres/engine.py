"""The PostgreSQL engine: lanes on a started server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.result import EngineInfo
from pytest_plsqlbench.engines.postgres.admin import Admin
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.postgres.template import Templates
from pytest_plsqlbench.engines.protocol import Limits

if TYPE_CHECKING:
    from pytest_plsqlbench.servers.address import ServerAddress


class PostgresEngine:
    """Runs PL/pgSQL and SQL on a server that was started for this run."""

    def __init__(self, address: ServerAddress, limits: Limits | None = None) -> None:
        """Take note of a server; nothing is connected yet.

        Args:
            address: how to reach it.
            limits: those of lanes; None: the default ones. A play brings those of its own.
        """
        self._limits = limits or Limits()
        self._admin = Admin(address)
        self._templates = Templates(self._admin)
        self._info = EngineInfo("postgres", address.version, address.label)

    @property
    def info(self) -> EngineInfo:
        """Name, version and server, as results record them."""
        return self._info

    def lane(self, worker: str) -> PostgresLane:
        """Open the lane of a worker: two login roles now, databases when they are needed.

        Raises:
            InfrastructureError: the server is gone.
            EngineUnavailableError: the server does not let us make what a lane needs.
        """
        return PostgresLane(self._admin, self._templates, worker, self._limits)

    def close(self) -> None:
        """Close connections; what belongs to the run is swept by the server's owner."""
        self._admin.close()
