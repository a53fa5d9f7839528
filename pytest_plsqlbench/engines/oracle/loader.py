"""Loads a database into data-owner schemas, once a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Source
from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin, drop_user
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.facts import SERVER_FULL, is_infrastructure, one_line
from pytest_plsqlbench.engines.oracle.names import keep_name, quoted
from pytest_plsqlbench.engines.oracle.pins import pin_block
from pytest_plsqlbench.engines.oracle.port import Connection, DriverError
from pytest_plsqlbench.engines.oracle.register import Register
from pytest_plsqlbench.engines.oracle.rowvalues import converter
from pytest_plsqlbench.engines.oracle.wide import fit_columns
from pytest_plsqlbench.engines.protocol import DatabaseLoadError, InfrastructureError

BATCH = 1000
"""Rows a round trip."""
TELL_EVERY = 10.0
"""Seconds between two lines about one database."""
Progress = Callable[[str], None]


class Loader:
    """Loads databases; the caller holds the gates of their owners alone."""

    def __init__(
        self, admin: Admin, capabilities: Capabilities, register: Register, progress: Progress | None = None
    ) -> None:
        self._admin = admin
        self._capabilities = capabilities
        self._register = register
        self._progress = progress or (lambda _message: None)
        self._told = 0.0
        self._loaded = 0

    def load(self, database: Database) -> None:
        """Load it, in place of what the register says is there.

        Raises:
            DatabaseLoadError: a statement or a row is wrong, or an owner's name belongs to someone else.
            DriverError: the server is lost meanwhile; the register then says ``loading``.
        """
        owners = database.schemas
        known = self._register.read(owners)
        for owner in owners:
            if owner not in known and self._exists(owner):
                raise DatabaseLoadError(
                    f"{_source(database)}: the server has a user {owner} that was not made by plsqlbench:"
                    " rename or drop it, or use another server"
                )
        self._register.enter(owners, database.name, database.fingerprint)
        self._progress(f"loading {database.name} into Oracle")
        self._told, self._loaded = time.monotonic(), 0
        for owner in owners:
            self._replace(owner)
        connection = self._admin.fresh()
        try:
            connection.run(pin_block(self._capabilities.pins, owners[0]))
            widened = self._play(connection, database)
            connection.commit()
        except DatabaseLoadError as error:
            cause = error.__cause__
            full = isinstance(cause, DriverError) and cause.code in SERVER_FULL
            note = failed_in(self._admin.run_id) if full else ""
            self._register.set_state(owners, "failed", str(error)[:480] + note)
            raise
        finally:
            connection.close()
        for owner in owners:
            self._admin.run_all(sql.gather_statistics(owner))
        detail = f"{widened} wide columns became CLOB or BLOB" if widened else None
        self._register.set_state(owners, "ready", detail)

    def _exists(self, user: str) -> bool:
        return bool(self._admin.query("SELECT 1 FROM dba_users WHERE username = :1", (user,)))

    def _replace(self, owner: str) -> None:
        for user in (keep_name(owner), owner):
            if self._exists(user) and not drop_user(self._admin, user):
                raise InfrastructureError(f"the data owner {user} is in use and cannot be loaded anew")
        self._admin.run_all(sql.create_data_owner(owner, self._capabilities.tablespace))

    def _play(self, connection: Connection, database: Database) -> int:
        widened = 0
        for statement in database.before:
            widened += self._statement(connection, statement)
        for data in database.data:
            self._rows(connection, data)
        for statement in database.after:
            widened += self._statement(connection, statement)
        return widened

    def _statement(self, connection: Connection, statement: Statement) -> int:
        text, changed = statement.text, 0
        if not self._capabilities.extended_strings:
            fitted = fit_columns(text)
            text, changed = fitted.text, fitted.changed
        try:
            execution = connection.execute(text)
            execution.close()
        except DriverError as error:
            hint = (
                " (wide columns were made LOBs: use a server with MAX_STRING_SIZE=EXTENDED)"
                if changed
                else ""
            )
            raise _wrong(statement.source, error, hint) from error
        if execution.compiled_with_errors:
            raise DatabaseLoadError(f"{statement.source}: the unit has compile errors")
        return changed

    def _rows(self, connection: Connection, data: TableData) -> None:
        types = dict(
            self._admin.query(
                "SELECT column_name, data_type FROM dba_tab_cols WHERE owner = :1 AND table_name = :2",
                (data.schema, data.table),
            )
        )
        missing = [name for name in data.columns if name not in types]
        if missing:
            raise DatabaseLoadError(
                f"{data.source}: {data.schema}.{data.table} has no column {', '.join(missing)}"
            )
        converters = [converter(str(types[name])) for name in data.columns]
        target = f"{quoted(data.schema)}.{quoted(data.table)}"
        names = ", ".join(map(quoted, data.columns))
        places = ", ".join(f":{number}" for number in range(1, len(data.columns) + 1))
        text = f"INSERT INTO {target} ({names}) VALUES ({places})"
        first = 1
        for batch in _batches(data.rows()):
            try:
                values = [
                    [
                        None if cell is None else convert(cell)
                        for cell, (convert, _) in zip(row, converters, strict=True)
                    ]
                    for row in batch
                ]
                connection.insert(text, values, [size for _, size in converters])
            except ValueError as error:
                place = f"rows {first}-{first + len(batch) - 1} of {data.schema}.{data.table}"
                raise DatabaseLoadError(f"{data.source}: {place}: {error}") from error
            except DriverError as error:
                place = f" in rows {first}-{first + len(batch) - 1} of {data.schema}.{data.table}"
                raise _wrong(data.source, error, place) from error
            first += len(batch)
            self._count(len(batch), f"{data.schema}.{data.table}")

    def _count(self, rows: int, table: str) -> None:
        """Say how a long load goes on."""
        self._loaded += rows
        if time.monotonic() - self._told >= TELL_EVERY:
            self._told = time.monotonic()
            self._progress(f"loading {table} into Oracle: {self._loaded:,} rows so far")


_FULL_IN_RUN = " [the server was full in run "


def failed_in(run_id: str) -> str:
    """The end of a failed entry's detail where the data may be right: a later run tries again."""
    return f"{_FULL_IN_RUN}{run_id}]"


def may_try_again(detail: str, run_id: str) -> bool:
    """Whether data that could not be loaded is worth a try of this run."""
    return _FULL_IN_RUN in detail and not detail.endswith(failed_in(run_id))


def _wrong(source: Source, error: DriverError, tail: str) -> Exception:
    """The data's fault, unless the server is lost."""
    if is_infrastructure(error):
        return error
    return DatabaseLoadError(f"{source}: {one_line(error)}{tail}")


def _source(database: Database) -> Source:
    parts: tuple[Statement | TableData, ...] = (*database.before, *database.data, *database.after)
    return parts[0].source if parts else Source(database.name)


def _batches(rows: Iterator[tuple[str | None, ...]]) -> Iterator[list[tuple[str | None, ...]]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
