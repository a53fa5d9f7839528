"""The tables of a loaded database: what they hold, whether it changed, and how it becomes what it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_plsqlbench.bench.observation import Cell, TableState
from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.cells import cell
from pytest_plsqlbench.engines.oracle.names import keep_name, quoted
from pytest_plsqlbench.engines.oracle.port import Connection, Rows
from pytest_plsqlbench.engines.oracle.provisioning import DataObject
from pytest_plsqlbench.engines.protocol import UnsupportedError

STATE_ROWS = 1_000_000
"""Rows of a changed table that are read to compare it."""
_SEQUENCES = "PLB$SEQUENCES"
"""Table of the copies' owner that keeps where sequences stood."""
Marks = dict[tuple[str, str], tuple[int, int]]
"""Rows and newest change number by (owner, table)."""
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class _Key:
    owner: str
    table: str
    name: str


class Tables:
    """The tables of some data owners. Changes are those that were committed: others see no more."""

    def __init__(self, admin: Admin, owners: Sequence[str], objects: Iterable[DataObject]) -> None:
        self._admin = admin
        self._owners = tuple(owners)
        self._tables = [(item.owner, item.name) for item in objects if item.type == "TABLE"]

    def marks(self) -> Marks:
        """Where the tables stand. Equal marks mean equal rows.

        Each committed change moves the change number of its block up, or lowers the count of rows.
        """
        return {
            table: (int(rows), int(newest or 0))
            for table in self._tables
            for rows, newest in self._admin.query(
                f"SELECT COUNT(*), MAX(ORA_ROWSCN) FROM {quoted(table[0])}.{quoted(table[1])}"
            )
        }

    def changed_since(self, marks: Marks) -> list[tuple[str, str]]:
        """Tables whose marks moved."""
        return [table for table, mark in self.marks().items() if marks.get(table) != mark]

    def state(self, marks: Marks) -> tuple[TableState, ...]:
        """Tables that hold other rows than their copies, sorted by name.

        Raises:
            UnsupportedError: a changed table is too large to be compared.
        """
        changed = sorted(self.changed_since(marks))
        if not changed:
            return ()
        connection = self._admin.fresh()
        try:
            return self._compared(connection, changed)
        finally:
            connection.close()

    def _compared(self, connection: Connection, changed: list[tuple[str, str]]) -> tuple[TableState, ...]:
        states = []
        for owner, table in changed:
            columns, now = self._rows(connection, owner, table, owner)
            _, before = self._rows(connection, keep_name(owner), table, owner)
            if Counter(now) != Counter(before):
                ordered = tuple(sorted(now, key=_sort_key))
                states.append(TableState(name=f"{owner}.{table}", columns=columns, rows=ordered))
        return tuple(states)

    def _rows(
        self, connection: Connection, holder: str, table: str, owner: str
    ) -> tuple[tuple[str, ...], list[Row]]:
        names = ", ".join(map(quoted, self._columns(owner, table)))
        rows = connection.execute(f"SELECT {names} FROM {quoted(holder)}.{quoted(table)}").rows
        assert rows is not None
        try:
            return tuple(column.name for column in rows.columns), _all(rows, f"{owner}.{table}")
        finally:
            rows.close()

    def _columns(self, owner: str, table: str) -> list[str]:
        rows = self._admin.query(
            "SELECT column_name FROM dba_tab_cols WHERE owner = :1 AND table_name = :2"
            " AND virtual_column = 'NO' AND hidden_column = 'NO' ORDER BY column_id",
            (owner, table),
        )
        return [str(name) for (name,) in rows]

    # -- copies
    # ------------------------------------------------------------------------------------------------------

    def keep(self, tablespace: str) -> None:
        """Make the copies, where they are missing. Only while the tables hold their initial rows."""
        for owner in self._owners:
            keeper = keep_name(owner)
            wanted = {table for holder, table in self._tables if holder == owner} | {_SEQUENCES}
            rows = self._admin.query(
                "SELECT object_name FROM dba_objects WHERE owner = :1 AND object_type = 'TABLE'", (keeper,)
            )
            present = {str(name) for (name,) in rows}
            if present == wanted:
                continue
            if self._admin.query("SELECT 1 FROM dba_users WHERE username = :1", (keeper,)):
                self._admin.run(sql.drop_user(keeper))
            self._admin.run_all(sql.create_data_owner(keeper, tablespace))
            for table in sorted(wanted - {_SEQUENCES}):
                self._admin.run(sql.keep_table(owner, table))
            self._admin.run(sql.keep_sequences(owner))
            self._restart_sequences(owner, every=True)

    def restore(self, changed: Iterable[tuple[str, str]]) -> bool:
        """Bring rows of these tables, and all sequences, back; whether that worked.

        Where it did not, or where a table numbers its rows itself, the database must be loaded anew.
        """
        doomed = list(changed)
        if doomed and self._has_identity():
            return False
        keys = self._foreign_keys() if doomed else []
        triggered = set(self._triggered()) & set(doomed)
        for key in keys:
            self._admin.run(sql.switch_constraint(key.owner, key.table, key.name, on=False))
        for owner, table in triggered:
            self._admin.run(sql.switch_triggers(owner, table, on=False))
        for owner, table in doomed:
            self._admin.run_all(sql.restore_table(owner, table, self._columns(owner, table)))
            self._admin.commit()
        for owner, table in triggered:
            self._admin.run(sql.switch_triggers(owner, table, on=True))
        for key in keys:
            self._admin.run(sql.switch_constraint(key.owner, key.table, key.name, on=True))
        for owner in self._owners:
            self._restart_sequences(owner, every=False)
        return all(
            self._count(owner, table) == self._count(keep_name(owner), table) for owner, table in doomed
        )

    def _count(self, owner: str, table: str) -> int:
        return int(self._admin.query(f"SELECT COUNT(*) FROM {quoted(owner)}.{quoted(table)}")[0][0])

    def _has_identity(self) -> bool:
        return any(
            self._admin.query(
                "SELECT 1 FROM dba_tab_cols WHERE owner = :1 AND identity_column = 'YES' AND ROWNUM = 1",
                (owner,),
            )
            for owner in self._owners
        )

    def _foreign_keys(self) -> list[_Key]:
        return [
            _Key(owner, str(table), str(name))
            for owner in self._owners
            for table, name in self._admin.query(
                "SELECT table_name, constraint_name FROM dba_constraints"
                " WHERE owner = :1 AND constraint_type = 'R' AND status = 'ENABLED' ORDER BY constraint_name",
                (owner,),
            )
        ]

    def _triggered(self) -> list[tuple[str, str]]:
        return [
            (owner, str(table))
            for owner in self._owners
            for (table,) in self._admin.query(
                "SELECT DISTINCT table_name FROM dba_triggers WHERE table_owner = :1 AND status = 'ENABLED'",
                (owner,),
            )
        ]

    def _restart_sequences(self, owner: str, *, every: bool) -> None:
        rows = self._admin.query(
            "SELECT k.sequence_name, k.last_number, s.last_number FROM dba_sequences s"
            f' JOIN {quoted(keep_name(owner))}."{_SEQUENCES}" k ON k.sequence_name = s.sequence_name'
            " WHERE s.sequence_owner = :1 AND s.sequence_name NOT LIKE 'ISEQ$$%'",
            (owner,),
        )
        for name, start, now in rows:
            if every or start != now:
                self._admin.run(sql.restart_sequence(owner, str(name), int(start)))


def _all(rows: Rows, name: str) -> list[Row]:
    kinds = [column.type for column in rows.columns]
    taken: list[Row] = []
    while batch := rows.fetch(1000):
        taken += [
            tuple(cell(value, kind) for value, kind in zip(values, kinds, strict=True)) for values in batch
        ]
        if len(taken) > STATE_ROWS:
            raise UnsupportedError(
                f"the changed table {name} has more than {STATE_ROWS} rows: too many to compare"
            )
    return taken


def _sort_key(row: Row) -> tuple[tuple[str, str], ...]:
    return tuple(("", "") if part is None else part for part in row)
