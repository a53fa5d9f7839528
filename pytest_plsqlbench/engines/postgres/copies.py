"""Databases of a lane: copies of templates, and logins to them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.engines.postgres import state
from pytest_plsqlbench.engines.postgres.admin import first_line
from pytest_plsqlbench.engines.postgres.budget import HARNESS_SECONDS, Budget
from pytest_plsqlbench.engines.postgres.facts import Facts, read_facts
from pytest_plsqlbench.engines.postgres.names import fresh_database, literal, quoted, side_role
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError
from pytest_plsqlbench.engines.postgres.settings import connect_options
from pytest_plsqlbench.engines.protocol import EngineUnavailableError, InfrastructureError, Limits, Side
from pytest_plsqlbench.servers.naming import membership

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.template import Template

SIDES: tuple[Side, ...] = ("candidate", "reference")
_MOST_BLOAT = 48 << 20
_ROLE = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"


@dataclass(slots=True)
class Copy:
    """A private copy of a template."""

    name: str
    template: Template
    sessions: dict[Side, Session] = field(default_factory=dict)
    size: int = 0
    """Bytes on disk, as copied."""
    unsettled: bool = False
    """A play was begun and not ended well: sequences may stand elsewhere than loaded."""


class Copies:
    """Makes and drops the databases of one lane, and logs its two roles in to them."""

    def __init__(self, admin: Admin, worker: str, limits: Limits) -> None:
        self._admin = admin
        self._limits = limits
        self._worker = worker
        self._run_id = admin.address.run_id
        self._passwords = admin.address.kind != "embedded"
        self._baselines: dict[str, state.Baseline] = {}
        self._facts: dict[str, Facts] = {}
        self._create_roles()

    def _role(self, side: Side) -> str:
        return quoted(side_role(self._run_id, self._worker, side))

    def _create_roles(self) -> None:
        for side in SIDES:
            role = self._role(side)
            try:
                self._admin.execute(f"CREATE ROLE {role} {_ROLE} CONNECTION LIMIT {self._limits.sessions:d}")
                if not self._admin.address.superuser:
                    self._admin.execute(membership(role, self._admin.server_version))
            except psycopg.errors.DuplicateObject:
                continue  # of a worker that died and was restarted under its old name
            except psycopg.Error as error:
                reason = first_line(error)
                raise EngineUnavailableError(f"cannot create roles on the server: {reason}") from None

    def make(self, template: Template) -> Copy:
        """Copy a template.

        Raises:
            InfrastructureError: the server cannot.
        """
        name = fresh_database(self._run_id, self._worker)
        strategy = " STRATEGY file_copy" if self._admin.address.kind == "embedded" else ""
        roles = ", ".join(self._role(side) for side in SIDES)
        try:
            self._admin.execute(
                f"CREATE DATABASE {quoted(name)} TEMPLATE {quoted(template.name)}{strategy}",
                f"REVOKE ALL ON DATABASE {quoted(name)} FROM PUBLIC",
                f"GRANT CONNECT, CREATE, TEMPORARY ON DATABASE {quoted(name)} TO {roles}",
            )
        except psycopg.Error as error:
            raise InfrastructureError(f"cannot copy a database: {first_line(error)}") from None
        copy = Copy(name, template)
        copy.size = self._size(copy)
        return copy

    def _size(self, copy: Copy) -> int:
        rows = self._admin.execute(f"SELECT pg_catalog.pg_database_size({literal(copy.name)})")
        return int(rows[0][0])

    def bloated(self, copy: Copy) -> bool:
        """Whether rolled-back work has left so much in the files that plans could change."""
        return self._size(copy) > copy.size + _MOST_BLOAT

    def drop(self, copy: Copy) -> None:
        """Close the sessions of a copy and drop it."""
        for session in copy.sessions.values():
            session.close()
        copy.sessions.clear()
        try:
            self._admin.execute(f"DROP DATABASE IF EXISTS {quoted(copy.name)} WITH (FORCE)")
        except psycopg.errors.ObjectInUse:
            # a backend that heeds no signal yet (deep in its own parser) holds a copy that nobody plays
            # on any more; the run's end sweeps it, and what was observed stands
            return
        except psycopg.Error as error:
            raise InfrastructureError(f"cannot drop a database: {first_line(error)}") from None

    def login(self, copy: Copy, side: Side) -> Session:
        """Open a session of a side in a copy, with nothing kept from earlier logins of its role.

        Raises:
            InfrastructureError: the server refuses.
        """
        role = self._role(side)
        parameters = {
            "dbname": copy.name,
            "user": side_role(self._run_id, self._worker, side),
            "options": connect_options(copy.template.path, check_client=True),
            "application_name": "plsqlbench",
        }
        # a role may change its own settings and password
        reset = f"ALTER ROLE {role} RESET ALL"
        if self._admin.address.superuser:
            reset += f"; ALTER ROLE {role} SET temp_file_limit = '{self._limits.temp_files >> 10:d}kB'"
        self._admin.execute(reset)
        if self._passwords:
            parameters["password"] = secrets.token_urlsafe(24)
            self._admin.execute(f"ALTER ROLE {role} PASSWORD '{parameters['password']}'")
        conninfo = make_conninfo(self._admin.address.conninfo, **parameters)

        def tick() -> str | None:
            return "disk_limit" if self._size(copy) > copy.size + self._limits.disk else None

        return Session(self._admin, conninfo, tick)

    def session(self, copy: Copy, side: Side) -> Session:
        """The kept session of a side in a copy, opened when there is none."""
        session = copy.sessions.get(side)
        if session is None or session.gone:
            session = copy.sessions[side] = self.login(copy, side)
        return session

    def retire(self, copy: Copy, side: Side) -> None:
        """Close the kept session of a side."""
        session = copy.sessions.pop(side, None)
        if session is not None:
            session.close()

    def facts(self, copy: Copy) -> Facts:
        """What must be known of a template, read once from the first of its copies."""
        fingerprint = copy.template.fingerprint
        known = self._facts.get(fingerprint)
        if known is None:
            session = self.session(copy, "reference")
            with _harness():
                known = read_facts(session, Budget(Limits(), HARNESS_SECONDS))
            self._facts[fingerprint] = known
        return known

    def baseline(self, template: Template) -> state.Baseline:
        """The loaded state of a template, read once from a copy that no program has touched."""
        known = self._baselines.get(template.fingerprint)
        if known is None:
            copy = self.make(template)
            try:
                session = self.login(copy, "reference")
                with _harness():
                    known = state.baseline(session, template.schemas, Budget(Limits(), HARNESS_SECONDS))
                session.close()
            finally:
                self.drop(copy)
            self._baselines[template.fingerprint] = known
        return known

    def drop_roles(self) -> None:
        """Drop the lane's roles; its databases are gone."""
        for side in SIDES:
            try:
                self._admin.execute(f"DROP ROLE IF EXISTS {self._role(side)}")
            except psycopg.Error as error:
                raise InfrastructureError(f"cannot drop a role: {first_line(error)}") from None


@contextlib.contextmanager
def _harness() -> Iterator[None]:
    """Only our own statements run in here, on a database that no program has touched."""
    try:
        yield
    except (ControlError, SessionGoneError) as error:
        raise InfrastructureError(f"a fresh database cannot be read: {error}") from None
