"""Data for plays: found or loaded, guarded while it is used, and as it was when it is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.observation import TableState
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.gate import Gate
from pytest_plsqlbench.engines.oracle.loader import Loader, Progress, may_try_again
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.provisioning import USABLE_TYPES, DataObject
from pytest_plsqlbench.engines.oracle.register import Entry, Register
from pytest_plsqlbench.engines.oracle.tables import Marks, Tables
from pytest_plsqlbench.engines.protocol import DatabaseLoadError, InfrastructureError

_TRIES = 5


class PlayData:
    """The data of one play."""

    def __init__(
        self, store: DataStore | None, database: Database | None, entries: dict[str, Entry], *, writing: bool
    ) -> None:
        self._store = store
        self._database = database
        self._entries = entries
        self.writing = writing and store is not None
        self.objects: tuple[DataObject, ...] = ()
        self._tables: Tables | None = None
        self._marks: Marks = {}

    @property
    def stamp(self) -> str:
        """Names what is loaded; another one after each loading."""
        return "; ".join(f"{entry.owner} {entry.loaded}" for entry in self._entries.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """How the data differs from its description."""
        details = {
            entry.detail for entry in self._entries.values() if entry.detail and entry.state == "ready"
        }
        return tuple(sorted(details))

    def begin(self) -> None:
        """Look at what is there; for a play that may write, make copies first."""
        if self._store is None:
            return
        self.objects = self._store.objects(tuple(self._entries))
        self._tables = Tables(self._store.admin, tuple(self._entries), self.objects)
        if self.writing:
            self._tables.keep(self._store.capabilities.tablespace)
            self._store.register.set_state(tuple(self._entries), "dirty")
            self._marks = self._tables.marks()

    def changed(self) -> bool:
        """Whether rows differ from the initial ones, or may."""
        return self.writing and self._tables is not None and bool(self._tables.changed_since(self._marks))

    def state(self) -> tuple[TableState, ...]:
        """Tables that hold other rows than at first."""
        return self._tables.state(self._marks) if self._tables is not None else ()

    def restore(self) -> None:
        """Bring the initial rows back.

        Where that cannot be done in place the data is loaded anew, which changes ``stamp``.

        Raises:
            DriverError: the server is lost, or refuses.
        """
        if not self.writing or self._store is None or self._database is None or self._tables is None:
            return
        if self._tables.restore(self._tables.changed_since(self._marks)):
            self._marks = self._tables.marks()
            return
        self._store.loader.load(self._database)
        self._entries = self._store.register.read(self._database.schemas)
        self.begin()

    def end(self) -> None:
        """Leave the data as it was."""
        if self.writing and self._store is not None:
            self.restore()
            details = next(iter(self._entries.values())).detail
            self._store.register.set_state(tuple(self._entries), "ready", details)


class DataStore:
    """The data of a server, as one lane uses it."""

    def __init__(self, admin: Admin, capabilities: Capabilities, progress: Progress | None = None) -> None:
        self.admin = admin
        self.capabilities = capabilities
        self.register = Register(admin, capabilities.tablespace)
        self.loader = Loader(admin, capabilities, self.register, progress)
        self._gate = Gate(admin)

    @contextmanager
    def use(self, database: Database | None, *, writing: bool) -> Iterator[PlayData]:
        """Guard the data of a database during a play; load it where it is missing.

        Raises:
            DatabaseLoadError: the data is wrong.
            InfrastructureError: others hold it too long, or the guard was lost.
            DriverError: the server is lost, or refuses.
        """
        if database is None or not database.schemas:
            yield PlayData(None, None, {}, writing=False)
            return
        owners = database.schemas
        self.register.ensure(owners)
        try:
            data = PlayData(self, database, self._enter(database, alone=writing), writing=writing)
            data.begin()
            try:
                yield data
            except BaseException:
                with suppress(DriverError):  # what went wrong first is what counts; the data stays marked
                    data.end()
                raise
            data.end()
            self._gate.check()
        finally:
            self._gate.leave()

    def _enter(self, database: Database, *, alone: bool) -> dict[str, Entry]:
        owners = database.schemas
        for _ in range(_TRIES):
            self._gate.enter(owners, alone=alone)
            entries = self._ready(database)
            if entries is not None:
                return entries
            self._gate.leave()
            self._gate.enter(owners, alone=True)
            if (
                self._ready(database) is None
            ):  # another worker may have done it meanwhile; what a dead one left is not trusted
                self.loader.load(database)
            self._gate.leave()
        raise InfrastructureError(f"the data of {database.name} is loaded again and again by others")

    def _ready(self, database: Database) -> dict[str, Entry] | None:
        entries = self.register.read(database.schemas)
        if len(entries) < len(database.schemas):
            return None
        ours = all(entry.fingerprint == database.fingerprint for entry in entries.values())
        if not ours:
            return None
        for entry in entries.values():
            if entry.state == "failed":
                if may_try_again(entry.detail or "", self.admin.run_id):
                    return None
                raise DatabaseLoadError(entry.detail or f"{database.name}: it could not be loaded")
        return entries if all(entry.state == "ready" for entry in entries.values()) else None

    def objects(self, owners: Sequence[str]) -> tuple[DataObject, ...]:
        """What programs may use of these owners, in their order."""
        found = []
        for owner in owners:
            rows = self.admin.query(
                "SELECT object_name, object_type FROM dba_objects WHERE owner = :1 AND object_id IS NOT NULL"
                " ORDER BY object_name",
                (owner,),
            )
            found += [
                DataObject(owner, str(name), str(kind))
                for name, kind in rows
                if kind in USABLE_TYPES and not str(name).startswith(("ISEQ$$", "BIN$", "SYS_"))
            ]
        return tuple(found)

    def close(self) -> None:
        """Let go of everything."""
        self._gate.close()
