"""The register of loaded data on the server: which data owner holds what, and in which state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.facts import NAME_TAKEN

State = Literal["loading", "ready", "dirty", "failed"]
"""``dirty``: a play that may write is under way, or died; ``failed``: a statement of the data is wrong."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A data owner."""

    owner: str
    database: str
    fingerprint: str
    state: State
    detail: str | None
    loaded: str
    """When, as text: it changes with each loading."""


class Register:
    """Reads and writes the entries; made on the server when it is first used."""

    def __init__(self, admin: Admin, tablespace: str) -> None:
        self._admin = admin
        self._tablespace = tablespace
        self._there = False

    def ensure(self, owners: Sequence[str]) -> None:
        """Make the register and the gates of these owners, where they are missing.

        Raises:
            DriverError: the server refuses.
        """
        if not self._there:
            for text in sql.create_control(self._tablespace):
                self._admin.tolerate(text, NAME_TAKEN)
            self._there = True
        for owner in owners:
            self._admin.tolerate(sql.create_gate(owner), NAME_TAKEN)

    def read(self, owners: Sequence[str]) -> dict[str, Entry]:
        """Entries of these owners."""
        entries = {}
        for owner in owners:
            rows = self._admin.query(sql.REGISTER_READ, (owner,))
            for name, database, fingerprint, state, detail, loaded in rows:
                entries[owner] = Entry(
                    str(name), str(database), str(fingerprint), cast("State", state), detail, str(loaded)
                )
        return entries

    def enter(self, owners: Sequence[str], database: str, fingerprint: str) -> None:
        """Put owners in the state ``loading``."""
        for owner in owners:
            self._admin.run(sql.REGISTER_REMOVE, (owner,))
            self._admin.run(sql.REGISTER_ENTER, (owner, database, fingerprint))
        self._admin.commit()

    def set_state(self, owners: Sequence[str], state: State, detail: str | None = None) -> None:
        """Change the state."""
        for owner in owners:
            self._admin.run(sql.REGISTER_STATE, (state, detail, owner))
        self._admin.commit()

    def entries(self) -> list[Entry]:
        """All entries, for the reaper."""
        rows = self._admin.query(sql.REGISTER_ALL)
        return [entry for (owner,) in rows for entry in self.read([str(owner)]).values()]

    def remove(self, owner: str) -> None:
        """Take an owner out."""
        self._admin.run(sql.REGISTER_REMOVE, (owner,))
        self._admin.commit()
