"""The only module that knows python-oracledb. Thin mode; nothing of the engine's reasoning lives here."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.engines.oracle.port import (
    Column,
    Connection,
    DriverError,
    Execution,
    Login,
    ObjectValue,
    Rows,
    Variable,
    VariableType,
)

if TYPE_CHECKING:
    import oracledb

RETRIES, RETRY_SECONDS = 5, 2
"""Listeners of small servers refuse bursts of logins (ORA-12516); the driver tries again by itself."""
UNREADABLE = "UNREADABLE"
"""Our own code; the driver has none for it."""
_NO_SESSION = frozenset(("DPY-1001", "DPY-4011"))
"""Not connected (the driver has hung up before), and connection closed."""
_FETCH_SIZE = 500
_TEXT_SIZE = 32_767


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Turn the driver's exceptions into ours."""
    import oracledb  # noqa: PLC0415 (heavy; only where a session is)

    try:
        yield
    except oracledb.Error as error:
        raise _plain(error) from error
    except OSError as error:
        message = f"DPY-4011: {error.strerror or error}"
        raise DriverError(code=0, full_code="DPY-4011", message=message, session_dead=True) from error
    except (ValueError, ArithmeticError) as error:
        # Bytes that are no text, a date before the year 1: programs can return, print and raise such things.
        # The answer was not read to its end, so nothing of this session can be trusted any more.
        raise DriverError(
            code=0,
            full_code=UNREADABLE,
            message=f"the driver cannot read a value: {error}",
            session_dead=True,
        ) from error


@contextlib.contextmanager
def _values_of_ours() -> Iterator[None]:
    """Name what the driver does not take among values that we send: it is not sent, the session is well."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        message = f"the driver does not take a value: {error}"
        raise DriverError(code=0, full_code="", message=message) from error


def _plain(error: oracledb.Error) -> DriverError:
    detail = error.args[0] if error.args else None
    message = str(getattr(detail, "message", None) or error)
    kept = [line for line in message.splitlines() if not line.startswith("Help: https://")]
    return DriverError(
        code=int(getattr(detail, "code", 0) or 0),
        full_code=str(getattr(detail, "full_code", "") or ""),
        message="\n".join(kept),
        offset=int(getattr(detail, "offset", 0) or 0),
        session_dead=bool(getattr(detail, "is_session_dead", False))
        or getattr(detail, "full_code", "") in _NO_SESSION,
    )


class OracledbDriver:
    """Opens sessions with python-oracledb."""

    def connect(self, login: Login, seconds: float) -> Connection:
        """Log in; a peer that accepts and then says nothing is given up after ``seconds``."""
        # tcp_connect_timeout covers the TCP step alone, hence the thread; a late session is closed by it.
        opened: list[OracledbConnection] = []
        failed: list[BaseException] = []
        given_up = threading.Event()
        done = threading.Event()

        def attempt() -> None:
            try:
                connection = self._connect(login, seconds)
                if given_up.is_set():
                    connection.close()
                else:
                    opened.append(connection)
            except BaseException as error:  # noqa: BLE001 (raised again by the waiting thread)
                failed.append(error)
            finally:
                done.set()

        threading.Thread(target=attempt, name="oracle-login", daemon=True).start()
        if not done.wait(seconds):
            given_up.set()
            message = f"DPY-6005: no answer to the login within {seconds:g} s"
            raise DriverError(code=0, full_code="DPY-6005", message=message)
        if failed:
            raise failed[0]
        return opened[0]

    @staticmethod
    def _connect(login: Login, seconds: float) -> OracledbConnection:
        import oracledb  # noqa: PLC0415

        # Thin mode sends the offset of the machine's clock at login, unless this variable names another.
        os.environ["ORA_SDTZ"] = "+00:00"
        options: dict[str, Any] = {
            name: value
            for name, value in (
                ("config_dir", login.config_dir),
                ("wallet_location", login.wallet_location),
                ("wallet_password", login.wallet_password),
            )
            if value
        }
        with _errors():
            connection = oracledb.connect(
                user=login.user,
                password=login.password,
                dsn=login.dsn,
                retry_count=RETRIES,
                retry_delay=RETRY_SECONDS,
                tcp_connect_timeout=min(seconds, 20.0),
                stmtcachesize=0,
                program=login.program,
                **options,
            )
        return OracledbConnection(connection)


class OracledbConnection:
    """A session of python-oracledb."""

    def __init__(self, connection: oracledb.Connection) -> None:
        self._connection = connection
        connection.outputtypehandler = _fetched_as
        with _errors():
            self.session = (int(connection.session_id), int(connection.serial_num))
            self.version = str(connection.version)

    def limit(self, seconds: float | None) -> None:
        """Milliseconds; 0 turns the limit off, so a time that is nearly over becomes 1."""
        with _errors():
            self._connection.call_timeout = 0 if seconds is None else max(1, int(seconds * 1000))

    def execute(self, text: str, binds: Mapping[str, Variable] | None = None) -> Execution:
        """Execute; LOBs come as text and bytes."""
        with _errors():
            cursor = self._connection.cursor()
            try:
                cursor.arraysize = _FETCH_SIZE
                values = {name: _inner(variable) for name, variable in (binds or {}).items()}
                cursor.execute(text, values, fetch_lobs=False)
            except BaseException:
                _close(cursor)
                raise
        return OracledbExecution(cursor)

    def query(self, text: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows."""
        with _errors(), self._connection.cursor() as cursor:
            cursor.execute(text, list(parameters), fetch_lobs=False)
            return [tuple(row) for row in cursor.fetchall()]

    def run(self, text: str, parameters: Sequence[object] = ()) -> None:
        """Execute without a result."""
        with _errors(), self._connection.cursor() as cursor:
            cursor.execute(text, list(parameters))

    def insert(self, text: str, rows: Sequence[Sequence[object]], sizes: Sequence[str | None]) -> None:
        """Insert in one round trip."""
        import oracledb  # noqa: PLC0415

        with _errors(), _values_of_ours(), self._connection.cursor() as cursor:
            cursor.setinputsizes(*[getattr(oracledb, f"DB_TYPE_{size}") if size else None for size in sizes])
            cursor.executemany(text, [list(row) for row in rows])

    def lines(self, text: str, count: int, size: int) -> list[str | None]:
        """The array is made of ``size`` bytes an element: the driver's own default would break long lines."""
        with _errors(), self._connection.cursor() as cursor:
            array = cursor.arrayvar(str, count, size)
            number = cursor.var(int)
            number.setvalue(0, count)
            cursor.execute(text, {"lines": array, "n": number})
            filled = int(number.getvalue() or 0)
            values: list[str | None] = list(array.getvalue())
            return values[:filled]

    def variable(self, kind: VariableType) -> Variable:
        """A bind variable of this session."""
        import oracledb  # noqa: PLC0415

        types: dict[str, Any] = {
            "NUMBER": Decimal,
            "REFCURSOR": oracledb.DB_TYPE_CURSOR,
            "CLOB": oracledb.DB_TYPE_CLOB,
            "NCLOB": oracledb.DB_TYPE_NCLOB,
            "BLOB": oracledb.DB_TYPE_BLOB,
            "BINARY_FLOAT": oracledb.DB_TYPE_BINARY_FLOAT,
            "BINARY_DOUBLE": oracledb.DB_TYPE_BINARY_DOUBLE,
            "BOOLEAN": oracledb.DB_TYPE_BOOLEAN,
            "CHAR": oracledb.DB_TYPE_CHAR,
            "NCHAR": oracledb.DB_TYPE_NCHAR,
            "NVARCHAR2": oracledb.DB_TYPE_NVARCHAR,
        }
        with _errors():
            cursor = self._connection.cursor()
            return OracledbVariable(cursor.var(types.get(kind, str), size=_TEXT_SIZE))

    def commit(self) -> None:
        """Commit."""
        with _errors():
            self._connection.commit()

    def rollback(self) -> None:
        """Roll back."""
        with _errors():
            self._connection.rollback()

    def close(self) -> None:
        """Close, whatever state the session is in."""
        import oracledb  # noqa: PLC0415

        with contextlib.suppress(oracledb.Error, OSError):
            self._connection.close()


class OracledbVariable:
    """A bind variable."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def value(self) -> Any:
        """Its first element; LOBs are read, cursors wrapped."""
        with _errors():
            return _value(self.inner.getvalue())


class OracledbRows:
    """Rows of a cursor."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.columns = tuple(
            Column(column.name, column.type_code.name.removeprefix("DB_TYPE_"))
            for column in cursor.description or ()
        )

    def fetch(self, count: int) -> list[tuple[Any, ...]]:
        """The next rows."""
        with _errors():
            return [tuple(map(_value, row)) for row in self._cursor.fetchmany(count)]

    def close(self) -> None:
        """Close the cursor."""
        _close(self._cursor)


class OracledbExecution:
    """A cursor after its execution."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.rows: Rows | None = OracledbRows(cursor) if cursor.description is not None else None
        warning = cursor.warning
        self.compiled_with_errors = warning is not None and warning.full_code == "DPY-7000"

    def implicit_results(self) -> tuple[Rows, ...]:
        """In thin mode they live on when the parent cursor is closed."""
        with _errors():
            return tuple(OracledbRows(cursor) for cursor in self._cursor.getimplicitresults())

    def close(self) -> None:
        """Close the cursor."""
        _close(self._cursor)


def _inner(variable: Variable) -> Any:
    assert isinstance(variable, OracledbVariable)
    return variable.inner


def _close(cursor: Any) -> None:
    import oracledb  # noqa: PLC0415

    with contextlib.suppress(oracledb.Error, OSError):
        cursor.close()


def _fetched_as(cursor: Any, metadata: Any) -> Any:
    """NUMBER as Decimal: a float would lose digits. Bytes that are no text become U+FFFD: no error, alike."""
    import oracledb  # noqa: PLC0415

    if metadata.type_code is oracledb.DB_TYPE_NUMBER:
        return cursor.var(Decimal, arraysize=cursor.arraysize)
    if metadata.type_code in {
        oracledb.DB_TYPE_VARCHAR,
        oracledb.DB_TYPE_CHAR,
        oracledb.DB_TYPE_NVARCHAR,
        oracledb.DB_TYPE_NCHAR,
    }:
        return cursor.var(metadata.type_code, arraysize=cursor.arraysize, encoding_errors="replace")
    return None


def _value(value: Any) -> Any:
    """Plain data for what the driver has classes for."""
    kind = getattr(value, "type", None)
    if hasattr(value, "asdict") and kind is not None:
        if kind.iscollection:
            return ObjectValue(kind.name, None, tuple(map(_value, value.aslist())))
        attributes = tuple((part.name, _value(getattr(value, part.name))) for part in kind.attributes)
        return ObjectValue(kind.name, attributes)
    if hasattr(value, "fetchmany"):
        return OracledbRows(value)
    if hasattr(value, "read"):
        return value.read()
    return value
