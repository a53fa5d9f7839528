"""Template databases: a task's database, loaded once a run by whichever worker needs it first."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from pytest_plsqlbench.engines.postgres.admin import Admin, first_line, is_ours
from pytest_plsqlbench.engines.postgres.names import (
    literal,
    owner_role,
    quoted,
    run_prefix,
    template_database,
)
from pytest_plsqlbench.engines.postgres.settings import pin
from pytest_plsqlbench.engines.protocol import DatabaseLoadError, InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_plsqlbench.bench.database import Database, Statement, TableData

_PUBLIC_TABLE_RIGHTS = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER"
_REVOKED = (
    # what no ROLLBACK undoes, what fills the server's disk beside the tables, what ends other sessions
    "pg_logical_emit_message(boolean, text, text, boolean)",
    "pg_logical_emit_message(boolean, text, bytea, boolean)",
    "lo_creat(integer)",
    "lo_create(oid)",
    "lo_from_bytea(oid, bytea)",
    "pg_cancel_backend(integer)",
    "pg_terminate_backend(integer, bigint)",
    "pg_export_snapshot()",
    "pg_stat_force_next_flush()",
)
_EMPTY = "0" * 64


@dataclass(frozen=True, slots=True)
class Template:
    """A loaded database that lanes copy."""

    name: str
    fingerprint: str
    schemas: tuple[str, ...]
    """Schemas that hold the data."""
    work: str
    """Schema for what programs create; first on the search path."""

    @property
    def path(self) -> tuple[str, ...]:
        """The search path: the work schema, the data, and ``public`` last."""
        return tuple(dict.fromkeys((self.work, *self.schemas, "public")))


class Templates:
    """Finds or loads templates; safe among workers of a run."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._known: dict[str, Template | DatabaseLoadError] = {}
        self._epoch = admin.epoch

    def get(self, database: Database | None) -> Template:
        """The template of a database; None: an empty one.

        Raises:
            DatabaseLoadError: a statement or the data is wrong.
            InfrastructureError: the server is gone.
        """
        fingerprint = database.fingerprint if database else _EMPTY
        if self._epoch != self._admin.epoch:  # a crash may have undone what was done last
            self._known.clear()
            self._epoch = self._admin.epoch
        known = self._known.get(fingerprint)
        if known is None:
            try:
                known = self._find_or_load(database, fingerprint)
            except DatabaseLoadError as error:
                known = error
            except psycopg.Error as error:
                raise InfrastructureError(f"a database cannot be loaded: {first_line(error)}") from None
            if not self._admin.steady() or self._epoch != self._admin.epoch:
                raise InfrastructureError("the PostgreSQL server restarted while a database was loaded")
            self._known[fingerprint] = known
        if isinstance(known, DatabaseLoadError):
            raise known
        return known

    def _find_or_load(self, database: Database | None, fingerprint: str) -> Template:
        run_id = self._admin.address.run_id
        name = template_database(run_id, fingerprint)
        schemas = database.schemas if database else ()
        template = Template(name, fingerprint, schemas, _work_schema(schemas))
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        with self._admin.connect() as connection:
            # held by the session: a worker that dies lets it go
            connection.execute(f"SELECT pg_catalog.pg_advisory_lock({key})".encode())
            if self._admin.execute(f"SELECT 1 FROM pg_catalog.pg_database WHERE datname = {literal(name)}"):
                return template
            fresh = f"{run_prefix(run_id)}n_{secrets.token_hex(8)}"
            try:
                self._create(fresh)
                with self._admin.connect(fresh) as inside:
                    self._fill(inside, template, database)
                self._admin.execute(
                    f"ALTER DATABASE {quoted(fresh)} ALLOW_CONNECTIONS false",
                    f"ALTER DATABASE {quoted(fresh)} RENAME TO {quoted(name)}",
                )
            except BaseException:
                self._admin.execute(f"DROP DATABASE IF EXISTS {quoted(fresh)} WITH (FORCE)")
                raise
        return template

    def _create(self, name: str) -> None:
        version = self._admin.server_version
        options = "TEMPLATE template0 ENCODING 'UTF8'"
        if version >= 170000:
            locales = ["LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'"]
        else:  # a locale of the operating system, which may lack it
            locales = ["LOCALE 'C.UTF-8'", "LOCALE 'C'"]
        try:
            for locale in locales:
                try:
                    self._admin.execute(f"CREATE DATABASE {quoted(name)} {options} {locale}")
                    break
                except psycopg.errors.WrongObjectType:
                    if locale == locales[-1]:
                        raise
            self._admin.execute(
                f"REVOKE ALL ON DATABASE {quoted(name)} FROM PUBLIC",
                f"GRANT CREATE, TEMPORARY ON DATABASE {quoted(name)}"
                f" TO {quoted(owner_role(self._admin.address.run_id))}",
            )
        except psycopg.Error as error:
            raise InfrastructureError(f"cannot create a database: {first_line(error)}") from None

    def _fill(
        self, inside: psycopg.Connection[tuple[Any, ...]], template: Template, database: Database | None
    ) -> None:
        owner = quoted(owner_role(self._admin.address.run_id))
        work = quoted(template.work)
        _run(
            inside,
            f"GRANT ALL ON SCHEMA public TO {owner}",
            "GRANT USAGE, CREATE ON SCHEMA public TO PUBLIC",
            f"SET ROLE {owner}",
            pin(template.schemas or ("public",), local=False),
            "SET client_min_messages = error",
        )
        if database is not None:
            _play(inside, database.before)
            for data in database.data:
                _copy(inside, data)
            _play(inside, database.after)
        _run(inside, f"CREATE SCHEMA {work}", f"GRANT USAGE, CREATE ON SCHEMA {work} TO PUBLIC")
        for schema in template.schemas:
            _run(inside, *_grants(quoted(schema), public=schema == "public"))
        _run(inside, "RESET ROLE")
        if self._admin.address.superuser:
            for function in _REVOKED:
                known = inside.execute(
                    f"SELECT pg_catalog.to_regprocedure({literal(f'pg_catalog.{function}')})".encode()
                ).fetchone()
                if known and known[0] is not None:
                    _run(inside, f"REVOKE EXECUTE ON FUNCTION pg_catalog.{function} FROM PUBLIC")
        _run(inside, "ANALYZE")


def _work_schema(schemas: tuple[str, ...]) -> str:
    name = "work"
    while name in schemas:
        name += "_"
    return name


def _grants(schema: str, *, public: bool) -> Iterable[str]:
    """Only the two roles of a lane can connect, so what a graded side may do is granted to PUBLIC."""
    if not public:
        yield f"GRANT USAGE, CREATE ON SCHEMA {schema} TO PUBLIC"
    yield f"GRANT {_PUBLIC_TABLE_RIGHTS} ON ALL TABLES IN SCHEMA {schema} TO PUBLIC"
    yield f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO PUBLIC"


def _run(connection: psycopg.Connection[tuple[Any, ...]], *statements: str) -> None:
    for statement in statements:
        connection.execute(statement.encode())


def _play(connection: psycopg.Connection[tuple[Any, ...]], statements: Iterable[Statement]) -> None:
    for statement in statements:
        try:
            connection.execute(statement.text.encode())
        except psycopg.Error as error:
            if connection.broken or is_ours(error):
                raise InfrastructureError(f"the server was lost: {first_line(error)}") from None
            line = _line(statement, error)
            raise DatabaseLoadError(f"{line}: {first_line(error)}") from None


def _line(statement: Statement, error: psycopg.Error) -> str:
    source = statement.source
    position = error.diag.statement_position
    if not source.line or not position:
        return str(source)
    return f"{source.path}:{source.line + statement.text[: int(position) - 1].count(chr(10))}"


def _copy(connection: psycopg.Connection[tuple[Any, ...]], data: TableData) -> None:
    target = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(data.schema, data.table), sql.SQL(", ").join(map(sql.Identifier, data.columns))
    )
    try:
        with connection.cursor() as cursor, cursor.copy(target) as copy:
            for row in data.rows():
                copy.write_row(row)
    except psycopg.Error as error:
        if connection.broken or is_ours(error):
            raise InfrastructureError(f"the server was lost: {first_line(error)}") from None
        where = (error.diag.context or "").splitlines()
        raise DatabaseLoadError(f"{data.source}: {first_line(error)}{_row(where)}") from None


def _row(context: list[str]) -> str:
    """``COPY t, line 3, column c: …`` names the row of the data."""
    return f" ({context[0]})" if context else ""
