"""What the engine asks of a database driver: a small protocol, so that nothing else knows the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

VariableType = str
"""Type of a client variable as SQL*Plus names it, without length: ``NUMBER``, ``VARCHAR2``, ``REFCURSOR``
…"""


class DriverError(Exception):
    """An error of the driver or of the server, as plain data.

    The driver renames some server errors (a lost session becomes DPY-4011), so both numbers are kept.
    """

    def __init__(
        self, *, code: int, full_code: str, message: str, offset: int = 0, session_dead: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        """The server's number, 0 for errors of the driver alone."""
        self.full_code = full_code
        """``ORA-nnnnn`` or ``DPY-nnnn``."""
        self.message = message
        """The whole text, without the driver's help lines."""
        self.offset = offset
        """Index of the character where parsing failed, 0 where the server named none."""
        self.session_dead = session_dead


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result: its name and the driver's name of its type (``NUMBER``, ``TIMESTAMP_TZ`` …)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """A value of an object or collection type."""

    type: str
    attributes: tuple[tuple[str, Any], ...] | None
    """Names and values; None for a collection."""
    elements: tuple[Any, ...] = ()


class Rows(Protocol):
    """Rows that can be fetched."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""
        ...

    def fetch(self, count: int) -> list[tuple[Any, ...]]:
        """Fetch up to ``count`` further rows; an empty list is the end.

        Raises:
            DriverError: the query fails while it is fetched.
        """
        ...

    def close(self) -> None:
        """Close the cursor. Never raises."""
        ...


class Execution(Protocol):
    """A statement that was executed."""

    @property
    def rows(self) -> Rows | None:
        """The rows of a query; None for other statements."""
        ...

    @property
    def compiled_with_errors(self) -> bool:
        """Whether the server created the unit although it has errors (DPY-7000)."""
        ...

    def implicit_results(self) -> tuple[Rows, ...]:
        """Results that the block handed to the client by DBMS_SQL.RETURN_RESULT."""
        ...

    def close(self) -> None:
        """Close the cursor. Never raises."""
        ...


class Variable(Protocol):
    """A client variable that statements bind."""

    def value(self) -> Any:
        """Its value; ``Rows`` for an open REF CURSOR."""
        ...


class Connection(Protocol):
    """One session."""

    @property
    def session(self) -> tuple[int, int]:
        """SID and serial number, as they were right after the login."""
        ...

    @property
    def version(self) -> str:
        """The server's version, for example ``23.26.0.0.0``."""
        ...

    def limit(self, seconds: float | None) -> None:
        """Bound the time of every further round trip; None: unbounded."""
        ...

    def execute(self, text: str, binds: Mapping[str, Variable] | None = None) -> Execution:
        """Execute one statement as it stands.

        Raises:
            DriverError: it fails.
        """
        ...

    def query(self, text: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a query of our own and fetch all its rows; parameters bind ``:1``, ``:2`` and on."""
        ...

    def run(self, text: str, parameters: Sequence[object] = ()) -> None:
        """Execute a statement of our own."""
        ...

    def insert(self, text: str, rows: Sequence[Sequence[object]], sizes: Sequence[str | None]) -> None:
        """Execute an INSERT for many rows; ``sizes`` names the driver's types where values do not tell."""
        ...

    def lines(self, text: str, count: int, size: int) -> list[str | None]:
        """Execute a block that fills an array ``:lines`` and sets ``:n``; give the filled part."""
        ...

    def variable(self, kind: VariableType) -> Variable:
        """Make a client variable, NULL at first."""
        ...

    def commit(self) -> None:
        """Commit."""
        ...

    def rollback(self) -> None:
        """Roll back."""
        ...

    def close(self) -> None:
        """Close the session. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in. Holds secrets: never print it."""

    user: str
    """``proxy[target]`` for a login through a proxy user."""
    password: str = field(repr=False)
    dsn: str
    """Connect string: ``host:port/service``, a TNS alias, or a full descriptor."""
    config_dir: str | None = None
    """Folder of ``tnsnames.ora``."""
    wallet_location: str | None = None
    """Folder of ``ewallet.pem`` (the driver's thin mode reads no other)."""
    wallet_password: str | None = field(default=None, repr=False)
    program: str = "plsqlbench"
    """Shown in V$SESSION.PROGRAM: it names the run, so that what a dead run leaves can be told."""


class Driver(Protocol):
    """Opens sessions."""

    def connect(self, login: Login, seconds: float) -> Connection:
        """Log in, within a time.

        Raises:
            DriverError: it fails, or the peer is silent for so long.
        """
        ...
