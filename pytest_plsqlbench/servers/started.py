"""What every started server offers to the run that uses it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from pytest_plsqlbench.servers.address import ServerAddress


class StartedServer(Protocol):
    """A server that is up, for one run."""

    @property
    def address(self) -> ServerAddress:
        """How workers reach it."""
        ...

    def stop(self) -> None:
        """Drop what belongs to the run; stop the server where it is ours. May be called again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
