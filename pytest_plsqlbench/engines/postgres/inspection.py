"""Looking after a play whether its lane is as it was: a glance each time, a thorough look now and then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import ConnStatus, ExecStatus, PGconn

from pytest_plsqlbench.engines.postgres import fingerprint
from pytest_plsqlbench.engines.protocol import InfrastructureError
from pytest_plsqlbench.servers.postgres_session import undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.facts import Sequence as DataSequence

_OPTIONS = (
    "-c search_path=pg_catalog -c lock_timeout=2000 -c statement_timeout=60000 -c client_min_messages=error"
    " -c plan_cache_mode=force_generic_plan -c jit=off"
)
_SIGNS, _GLANCE, _SEARCH = b"signs", b"glance", b"search"
_NOTED = "SELECT current_setting('track_commit_timestamp'), current_setting('max_prepared_transactions')"
UNREADABLE = "what cannot be read"

Row = tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Pristine:
    """A template's copies before any play: the same in all of them."""

    chunks: tuple[tuple[str, bytes, bytes], ...]
    """Parts of tables: the table, from where, to where."""
    digests: tuple[Row, ...]
    """Of each chunk."""
    catalogs: tuple[str, ...]
    row: Row
    """Of ``catalog_parts``."""


class Inspector:
    """An administrator's session in one copy."""

    def __init__(
        self,
        admin: Admin,
        database: str,
        roles: Sequence[int],
        schemas: Iterable[str],
        sequences: tuple[DataSequence, ...],
        before: Row | None = None,
    ) -> None:
        """Connect.

        Args:
            admin: whose session it is.
            database: the copy.
            roles: object identifiers of the lane's roles.
            schemas: that hold the data.
            sequences: of the data, as loaded.
            before: what an earlier inspector of the copy found first; None: no program has been played in it.

        Raises:
            InfrastructureError: the server refuses.
        """
        self._conninfo = make_conninfo(
            admin.conninfo(database, _OPTIONS), application_name="plsqlbench check"
        ).encode()
        self._admin = admin
        self._schemas = tuple(schemas)
        self._turn = self._due = 0
        self._connect()
        self._oid = int(self._one("SELECT oid FROM pg_database WHERE datname = current_database()")[0] or 0)
        noted, two_phase = self._one(_NOTED)
        self._noted = noted == b"on"
        """The server notes commits: while there is none, nothing of what is committed has changed."""
        self._signs: Row | None = None
        """What was seen when the glance before was without a finding."""
        self._send_prepare(
            _SIGNS,
            fingerprint.signs(self._oid, sequences, two_phase=two_phase != b"0") if self._noted else "",
        )
        self._parts = fingerprint.role_parts(roles)
        self._role_columns = len(self._parts)
        self._parts |= fingerprint.database_parts(self._oid, sequences)
        self._prepare()
        self.before = before or self._run(_GLANCE)[1:]
        self.pristine: Pristine | None = None

    # -- looks -------------------------------------------------------------------------------------------

    def learn(self) -> Pristine:
        """Read the loaded state of a template whose copy this is."""
        found = self._all(fingerprint.tables(self._schemas)) if self._schemas else []
        chunks = fingerprint.chunks([(_text(row[0]), int(row[1] or 0)) for row in found])
        catalogs = tuple(_text(row[0]) for row in self._all(fingerprint.CATALOGS))
        return Pristine(chunks, tuple(self._digests(chunks)), catalogs, self._search(catalogs))

    def glance(self, roles: Row, sessions: int) -> tuple[list[str], bool]:
        """Look for what is cheap to see, and at the next part of the data.

        Args:
            roles: of ``role_parts``, as they must be.
            sessions: how many the lane has in this copy.

        Returns:
            What is stained, in words; and whether there are other sessions than these (or not as many).

        Raises:
            InfrastructureError: the server is gone.
        """
        try:
            return self._look(roles, b"%d" % (sessions + 1))
        except psycopg.Error:
            self._signs = None
            return [UNREADABLE], False

    def _look(self, roles: Row, sessions: bytes) -> tuple[list[str], bool]:
        signs = self._run(_SIGNS) if self._noted else None
        if signs is not None and self._signs is not None and signs[1:] == self._signs[1:]:
            stains = self._rows_in_turn() if self._due else []
            return stains, signs[0] != sessions
        row = self._run(_GLANCE)
        stains = self._differences(row[1:], roles)
        # something was committed, by whomever: all parts of the data are looked at once more
        self._due = len(self.pristine.chunks) if self.pristine is not None else 0
        stains += self._rows_in_turn()
        self._signs = None if stains else signs
        return stains, row[0] != sessions

    def _rows_in_turn(self) -> list[str]:
        """Look at the next part of the data."""
        pristine = self.pristine
        if pristine is None or not pristine.chunks:
            return []
        at = self._turn % len(pristine.chunks)
        self._turn += 1
        self._due -= 1
        [digest] = self._digests(pristine.chunks[at : at + 1])
        return [] if digest == pristine.digests[at] else [f"rows of {pristine.chunks[at][0]}"]

    def search(self) -> list[str]:
        """Look at everything: each catalog, all parts of the data, locks.

        Raises:
            InfrastructureError: the server is gone.
        """
        pristine = self.pristine
        if pristine is None:
            return []
        try:
            row = self._search(pristine.catalogs)
            digests = self._digests(pristine.chunks)
        except psycopg.Error:
            return [UNREADABLE]
        names = fingerprint.catalog_parts(self._oid, pristine.catalogs)
        stains = [name for name, now, before in zip(names, row, pristine.row, strict=True) if now != before]
        pairs = zip(pristine.chunks, digests, pristine.digests, strict=True)
        return stains + list(dict.fromkeys(f"rows of {chunk[0]}" for chunk, now, was in pairs if now != was))

    def settle(self, sequences: Iterable[DataSequence]) -> None:
        """Put sequences back that a killed session has moved."""
        calls = ", ".join(
            f"setval({sequence.oid}::regclass, {sequence.last}, '{sequence.called}')"
            for sequence in sequences
        )
        if calls:
            self._one(f"SELECT {calls}")

    def close(self) -> None:
        """End the session."""
        self._connection.finish()

    # -- the connection ----------------------------------------------------------------------------------

    def _connect(self) -> None:
        with undisturbed():
            self._connection = PGconn.connect(self._conninfo)
        if self._connection.status != ConnStatus.OK:
            lines = self._connection.get_error_message().strip().splitlines() or ["no reason given"]
            self._connection.finish()
            raise InfrastructureError(f"the PostgreSQL server cannot be reached: {lines[0]}")
        self._connection.enter_pipeline_mode()
        self._prepared: dict[str, bytes] = {}
        self._searched = False

    def _prepare(self) -> None:
        self._send_prepare(
            _GLANCE, f"SELECT {fingerprint.backends(self._oid)}, {fingerprint.row_of(self._parts)}"
        )

    def _send_prepare(self, name: bytes, text: str) -> None:
        self._connection.send_prepare(name, text.encode())
        self._results()

    def _run(self, name: bytes) -> Row:
        self._connection.send_query_prepared(name, None)
        return _row(self._results()[-1])

    def _send_chunk(self, chunk: tuple[str, bytes, bytes]) -> None:
        table, start, end = chunk
        name = self._prepared.get(table)
        if name is None:
            name = self._prepared[table] = b"rows%d" % len(self._prepared)
            self._connection.send_prepare(name, fingerprint.chunk_query(table).encode())
        self._connection.send_query_prepared(name, [start, end])

    def _digests(self, chunks: Iterable[tuple[str, bytes, bytes]]) -> list[Row]:
        chunks = tuple(chunks)
        for chunk in chunks:
            self._send_chunk(chunk)
        return [_row(result) for result in self._results() if result.nfields] if chunks else []

    def _search(self, catalogs: Iterable[str]) -> Row:
        if not self._searched:  # to plan it takes as long as to run it
            parts = fingerprint.catalog_parts(self._oid, catalogs)
            self._send_prepare(_SEARCH, f"SELECT {fingerprint.row_of(parts)}")
            self._searched = True
        return self._run(_SEARCH)

    def _differences(self, row: Row, roles: Row) -> list[str]:
        expected = (*roles, *self.before[self._role_columns :])
        if row == expected:
            return []
        return [name for name, now, was in zip(self._parts, row, expected, strict=True) if now != was]

    def _one(self, text: str) -> Row:
        return self._all(text)[0]

    def _all(self, text: str) -> list[Row]:
        self._connection.send_query_params(text.encode(), None)
        [result] = self._results()
        return [_row(result, at) for at in range(result.ntuples)]

    def _results(self) -> list[PGresult]:
        """Results of all that was sent.

        Raises:
            InfrastructureError: the connection is lost.
            psycopg.Error: a statement failed.
        """
        connection = self._connection
        results: list[PGresult] = []
        failure = ""
        try:
            connection.pipeline_sync()
            while True:
                while connection.is_busy():
                    self._admin.attend(connection)
                result = connection.get_result()
                if result is None:
                    if connection.status != ConnStatus.OK:
                        break
                    continue
                status = result.status
                if status == ExecStatus.PIPELINE_SYNC:
                    break
                if status in {ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK}:
                    results.append(result)
                else:
                    failure = failure or result.get_error_message().strip()
        except psycopg.OperationalError as error:
            raise InfrastructureError(f"the PostgreSQL server was lost: {error}") from None
        if connection.status != ConnStatus.OK:
            raise InfrastructureError("the PostgreSQL server was lost while a lane was checked")
        if failure:
            raise psycopg.DatabaseError(failure)
        return results


def _row(result: PGresult, at: int = 0) -> Row:
    return tuple(result.get_value(at, column) for column in range(result.nfields))


def _text(value: bytes | None) -> str:
    return (value or b"").decode()
