"""What every engine offers: lanes, on which a side (candidate or reference) plays programs and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.limits import Limits
from pytest_plsqlbench.bench.observation import CallObservation, Observation
from pytest_plsqlbench.bench.redaction import presentable
from pytest_plsqlbench.bench.result import EngineInfo
from pytest_plsqlbench.bench.task import Test

Side = Literal["candidate", "reference"]

__all__ = [
    "DatabaseLoadError",
    "Engine",
    "EngineError",
    "EngineUnavailableError",
    "InfrastructureError",
    "Lane",
    "Limits",
    "Play",
    "Played",
    "Side",
    "UnsupportedError",
]


@dataclass(frozen=True, slots=True)
class Play:
    """What a lane is asked to do for one side of a turn."""

    side: Side
    programs: tuple[str, ...]
    """Programs of the earlier turns of the same side, in order, then this turn's own (last). May be empty."""
    tests: tuple[Test, ...]
    database: Database | None = None
    limits: Limits = field(default_factory=Limits)
    time_limits: tuple[float, ...] | None = None
    """Seconds per test, in place of ``limits.time``; one a test."""
    strict: bool = True
    """Also take what the strict reading of state comparison needs."""
    setup: int = 0
    """How many of the programs, the first ones, are the setup of the task."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a lane observed."""

    programs: tuple[CallObservation, ...]
    """One for each program of the play. A program whose statement fails is not played further."""
    tests: tuple[Observation, ...]
    """One for each test; empty when the last program did not install."""
    flags: tuple[str, ...] = ()
    """How it was played: ``isolated_copy`` (a template copy, because the program ends transactions),
    ``setup_replaced`` (something stands in the place of what the setup of the task made) …"""


class EngineError(Exception):
    """Base of what an engine raises instead of observing. The message is one line, without secrets."""

    def __str__(self) -> str:
        return presentable(super().__str__(), keep="")


class InfrastructureError(EngineError):
    """The server or the way to it failed: never the program's doing, never a verdict. Worth one retry."""


class DatabaseLoadError(EngineError):
    """A statement or the data of a task's database is wrong; the message begins with ``file:line``."""


class UnsupportedError(EngineError):
    """The engine cannot run this text exactly; it never guesses."""


class EngineUnavailableError(EngineError):
    """No server of this dialect can be had; says the mend."""


class Lane(Protocol):
    """One worker's private database and roles."""

    def play(self, play: Play) -> Played:
        """Play programs and tests, each test isolated from the others, and leave the lane as it was.

        Raises:
            InfrastructureError: the server is gone or unreachable (an admin probe decides).
            UnsupportedError: the text asks for something the engine cannot run.
        """
        ...

    def close(self) -> None:
        """Drop what the lane created."""
        ...


class Engine(Protocol):
    """Runs programs of a dialect on a server."""

    @property
    def info(self) -> EngineInfo:
        """Name, version and server, as results record them."""
        ...

    def lane(self, worker: str) -> Lane:
        """Open the lane of a worker (``master``, ``gw0`` …)."""
        ...

    def close(self) -> None:
        """Close connections; what belongs to the run is swept by the server's owner."""
        ...
