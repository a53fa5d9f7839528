"""Databases of a lane: copies of templates, and logins to them."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.engines.postgres import state
from pytest_plsqlbench.engines.postgres.admin import first_line
from pytest_plsqlbench.engines.postgres.budget import HARNESS_SECONDS, Budget
from pytest_plsqlbench.engines.postgres.facts import Facts, read_facts
from pytest_plsqlbench.engines.postgres.fingerprint import role_parts, row_of
from pytest_plsqlbench.engines.postgres.inspection import Inspector, Pristine, Row
from pytest_plsqlbench.engines.postgres.names import fresh_database, literal, quoted, side_role
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError
from pytest_plsqlbench.engines.postgres.settings import REPORTED, connect_options
from pytest_plsqlbench.engines.protocol import EngineUnavailableError, InfrastructureError, Limits, Side
from pytest_plsqlbench.servers.naming import membership
from pytest_plsqlbench.servers.postgres_session import undisturbed
from pytest_plsqlbench.servers.role_settings import pinning

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.template import Template

SIDES: tuple[Side, ...] = ("candidate", "reference")
_MOST_BLOAT = 48 << 20
_MOST_INSPECTORS = 2
"""Sessions that a lane keeps for looking after plays: servers have few to give."""
_ENDING_SECONDS = 2.0
_ROLE = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"


@dataclass(slots=True)
class Copy:
    """A private copy of a template."""

    name: str
    template: Template
    sessions: dict[Side, Session] = field(default_factory=dict)
    size: int = 0
    """Bytes on disk, as copied."""
    epoch: int = 0
    """Of the administrator's connection that made it: a copy that outlived a crash may hold other values."""
    unsettled: bool = False
    """A play was begun and not ended well: sequences may stand elsewhere than loaded."""
    inspector: Inspector | None = None
    before: Row | None = None
    """What the first inspector found, before any play."""


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
        self._pristine: dict[str, Pristine] = {}
        self._inspected: list[Copy] = []
        self._generation = 0
        self._create_roles()

    def _name(self, side: Side) -> str:
        return side_role(self._run_id, self._worker, side, self._generation)

    def _role(self, side: Side) -> str:
        return quoted(self._name(side))

    def _create_roles(self) -> None:
        """Create the two roles, and note what is known of roles that nobody has used."""
        while True:
            try:
                for side in SIDES:
                    role = self._role(side)
                    self._admin.execute(
                        f"CREATE ROLE {role} {_ROLE} CONNECTION LIMIT {self._limits.sessions:d}"
                    )
                    if not self._admin.address.superuser:
                        self._admin.execute(membership(role, self._admin.server_version))
                    self._admin.execute(self._reset(role))
            except psycopg.errors.DuplicateObject:
                # of a worker that died and was restarted under its old name: nobody knows what they hold
                self._generation += 1
            except psycopg.Error as error:
                reason = first_line(error)
                raise EngineUnavailableError(f"cannot create roles on the server: {reason}") from None
            else:
                break
        names = ", ".join(literal(self._name(side)) for side in SIDES)
        found = self._admin.execute(
            f"SELECT oid FROM pg_catalog.pg_roles WHERE rolname IN ({names}) ORDER BY oid"
        )
        self._oids = tuple(int(row[0]) for row in found)
        self._role_row = self._look_at_roles()

    def _reset(self, role: str) -> str:
        """Statements that undo what a role may have set for its own later logins."""
        statements = [f"ALTER ROLE {role} RESET ALL"]
        if self._admin.address.superuser:
            most = f"'{self._limits.temp_files >> 10:d}kB'"
            statements += [f"ALTER ROLE {role} SET temp_file_limit = {most}", *pinning(role)]
        return "; ".join(statements)

    def _look_at_roles(self) -> Row:
        try:
            [row] = self._admin.execute(f"SELECT {row_of(role_parts(self._oids))}")
        except psycopg.Error as error:
            raise InfrastructureError(f"cannot look at roles: {first_line(error)}") from None
        return tuple(None if value is None else str(value).encode() for value in row)

    def renew_roles(self) -> None:
        """Put new roles in the place of those that hold what no rollback undoes; all copies are dropped.

        Raises:
            InfrastructureError: the server is gone.
            EngineUnavailableError: it does not let us make roles any more.
        """
        with contextlib.suppress(InfrastructureError):  # one that cannot be dropped goes with the run
            self.drop_roles()
        self._generation += 1
        self._create_roles()

    def role_stains(self) -> list[str]:
        """What the lane's roles hold that they did not hold when they were made."""
        pairs = zip(role_parts(self._oids), self._look_at_roles(), self._role_row, strict=True)
        return [name for name, now, before in pairs if now != before]

    def inspector(self, copy: Copy) -> Inspector:
        """Who looks after plays in a copy; at first before any program is played in it."""
        if copy.inspector is None:
            facts, fingerprint = self.facts(copy), copy.template.fingerprint
            while len(self._inspected) >= _MOST_INSPECTORS:
                self._dismiss(self._inspected[0])
            try:
                inspector = copy.inspector = Inspector(
                    self._admin, copy.name, self._oids, copy.template.schemas, facts.sequences, copy.before
                )
                self._inspected.append(copy)
                if fingerprint not in self._pristine:
                    self._pristine[fingerprint] = inspector.learn()
            except psycopg.Error as error:
                raise InfrastructureError(f"a fresh database cannot be read: {first_line(error)}") from None
            copy.before = inspector.before
            inspector.pristine = self._pristine[fingerprint]
        return copy.inspector

    def _dismiss(self, copy: Copy) -> None:
        if copy.inspector is not None:
            copy.inspector.close()
            copy.inspector = None
            self._inspected.remove(copy)

    def stains(self, copy: Copy, *, thorough: bool = False) -> list[str]:
        """What the plays in a copy have left that a rollback does not undo, in words.

        Raises:
            InfrastructureError: the server is gone.
        """
        inspector = self.inspector(copy)
        if copy.unsettled:
            inspector.settle(self.facts(copy).sequences)
            copy.unsettled = False
        sessions = [session for session in copy.sessions.values() if not session.gone]
        stains, crowded = inspector.glance(self._role_row, len(sessions))
        if any(session.prints_otherwise(REPORTED) for session in sessions):
            stains.append("settings of a session")
        if (crowded or thorough) and self._strangers(copy, [session.pid for session in sessions]):
            stains.append("sessions")
        if thorough:
            stains += inspector.search()
        return stains

    def _strangers(self, copy: Copy, own: list[int]) -> bool:
        """Whether the lane's roles have other sessions in a copy; one that is just ending is waited for."""
        pids = ", ".join(str(pid) for pid in own) or "0"
        query = (
            f"SELECT 1 FROM pg_catalog.pg_stat_activity WHERE datname = {literal(copy.name)}"
            f" AND usesysid IN ({', '.join(map(str, self._oids))}) AND pid NOT IN ({pids})"
        )
        end = time.monotonic() + _ENDING_SECONDS
        while self._admin.execute(query):
            if time.monotonic() > end:
                return True
            time.sleep(0.005)
        return False

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
        copy = Copy(name, template, epoch=self._admin.epoch)
        copy.size = self._size(copy)
        return copy

    def _size(self, copy: Copy) -> int:
        rows = self._admin.execute(f"SELECT pg_catalog.pg_database_size({literal(copy.name)})")
        return int(rows[0][0])

    def outlived(self, copy: Copy) -> bool:
        """Whether the server may have crashed since a copy was made."""
        return copy.epoch != self._admin.epoch

    def bloated(self, copy: Copy) -> bool:
        """Whether rolled-back work has left so much in the files that plans could change."""
        return self._size(copy) > copy.size + _MOST_BLOAT

    def leave(self, copy: Copy) -> None:
        """Close all connections to a copy."""
        self._dismiss(copy)
        for session in copy.sessions.values():
            session.close()
        copy.sessions.clear()

    def drop(self, copy: Copy) -> None:
        """Close the sessions of a copy and drop it."""
        self.leave(copy)
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
            "user": self._name(side),
            "client_encoding": "UTF8",
            "options": connect_options(copy.template.path, check_client=True),
            "application_name": "plsqlbench",
        }
        self.reset_role(side)
        if self._passwords:  # a role may change its own
            parameters["password"] = secrets.token_urlsafe(24)
            self._admin.execute(f"ALTER ROLE {role} PASSWORD '{parameters['password']}'")
        conninfo = make_conninfo(self._admin.address.conninfo, **parameters)

        def tick() -> str | None:
            return "disk_limit" if self._size(copy) > copy.size + self._limits.disk else None

        with undisturbed():
            session = Session(self._admin, conninfo, tick)
        if not self._admin.steady() or self.outlived(copy):
            # it may show less than what was committed in the copy before
            session.close()
            raise InfrastructureError("the PostgreSQL server restarted since a database was made")
        return session

    def reset_role(self, side: Side) -> None:
        """Undo what a role has set for its own later sessions, and all that look."""
        role = self._role(side)
        self._admin.execute(self._reset(role))

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
