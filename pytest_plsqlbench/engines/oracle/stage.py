"""One play: programs installed, then tests, each on what the programs alone have left."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation, TableState
from pytest_plsqlbench.bench.task import Test
from pytest_plsqlbench.engines.oracle.account import Account
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.datastore import PlayData
from pytest_plsqlbench.engines.oracle.facts import LineMap
from pytest_plsqlbench.engines.oracle.needs import Needs, may_redefine
from pytest_plsqlbench.engines.oracle.player import ScriptPlayer
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.session import GradedSession, LingeringSessionError
from pytest_plsqlbench.engines.oracle.units import (
    STATEFUL,
    StoredObject,
    Unit,
    compile_again,
    compile_errors,
)
from pytest_plsqlbench.engines.protocol import Limits, Play, Played

RESERVED_NAMES = frozenset(("SYS",))
"""Names with which a program would put itself between us and the server's own packages."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What the programs have left."""

    programs: tuple[CallObservation, ...]
    objects: dict[int, StoredObject]
    wrote: bool
    """They changed rows of the data."""

    @property
    def usable(self) -> bool:
        """Whether the last program is there to be tested."""
        if not self.programs:
            return True
        last = self.programs[-1]
        return last.error is None and last.limit is None and not last.lost

    @property
    def stateful(self) -> bool:
        """Whether tests could change what the programs own."""
        return self.wrote or any(found.kind in STATEFUL for found in self.objects.values())


class Stage:
    """Plays one side of a turn."""

    def __init__(self, admin: Admin, account: Account, data: PlayData, play: Play, needs: Needs) -> None:
        self._admin = admin
        self._account = account
        self._data = data
        self._play = play
        self._needs = needs
        self._limits: Limits = play.limits
        self._session: GradedSession | None = None
        self._given_up: dict[int, CallObservation] = {}
        """What programs showed whose session was killed and did not end: they are not played again."""
        self._redefines = may_redefine(play.programs, (call for test in play.tests for call in test.calls))
        self._flags: dict[str, None] = dict.fromkeys(data.notes)

    def run(self) -> Played:
        """Install and test.

        Raises:
            InfrastructureError: the server is lost.
            LingeringSessionError: a session had to be killed and does not end.
            DriverError: the server refuses something of ours.
        """
        try:
            first = installed = self._install()
            tests: list[Observation] = []
            if first.usable:
                for number, test in enumerate(self._play.tests):
                    if number:
                        installed = self._isolate(installed)
                    if installed.usable:
                        tests.append(self._test(number, test, first))
                    else:  # it does not install twice alike: the tests that are left show how
                        tests.append(Observation(calls=installed.programs[-1:]))
            return Played(first.programs, tuple(tests), tuple(self._flags))
        finally:
            if self._session is not None:
                self._session.close()

    # -- programs
    # --------------------------------------------------------------------------------------------------

    def _install(self) -> Installed:
        shown: list[CallObservation] = []
        for number, text in enumerate(self._play.programs):
            if number in self._given_up:
                shown.append(self._given_up[number])
                continue
            before = self._account.own_objects()
            player = ScriptPlayer(self._ready_session(), self._limits)
            observed = player.play(text, self._limits.time)
            self._note(player)
            if player.session.lingers:
                self._give_up()
                self._given_up[number] = observed
                self._account.prepare(self._needs, self._data.stamp, self._data.objects)
                return self._install()
            self._end_transaction()
            shown.append(self._checked(observed, player.units, before))
        return Installed(tuple(shown), self._account.own_objects(), self._data.changed())

    def _checked(
        self, observed: CallObservation, units: dict[Unit, LineMap], before: dict[int, StoredObject]
    ) -> CallObservation:
        """Add what the dictionary says after a program: units that stay invalid, reserved names."""
        if not units and observed.error is not None:
            return observed
        objects = self._account.own_objects()
        invalid = [found.unit for found in objects.values() if not found.valid]
        if invalid:
            compile_again(self._admin, self._account.name, invalid)
            objects = self._account.own_objects()
            invalid = [found.unit for found in objects.values() if not found.valid]
        diagnostics = [] if not invalid and observed.error is None else list(observed.diagnostics)
        error = observed.error
        known = {found.unit for found in before.values()}
        for unit in invalid:
            place = units.get(unit)
            entries = compile_errors(self._admin, self._account.name, unit, place or _no_place)
            if place is not None:
                error = error or (entries[0] if entries else _invalid(unit))
                diagnostics += [entry for entry in entries if entry not in diagnostics]
            elif unit in known:
                diagnostics.append(_broken_dependant(unit))
        if any(found.kind == "TRIGGER" for found in objects.values()):
            error = error or self._event_trigger()
        taken = sorted(found.name for found in objects.values() if found.name in RESERVED_NAMES)
        if taken:
            error = error or Diagnostic(code="ORA-00955", message=f"the name {taken[0]} is reserved")
        return msgspec.structs.replace(observed, error=error, diagnostics=tuple(diagnostics))

    # -- tests
    # -----------------------------------------------------------------------------------------------------

    def _event_trigger(self) -> Diagnostic | None:
        """A trigger on logons or on DDL would act on us, who clean up after the program."""
        rows = self._admin.query(
            "SELECT trigger_name FROM dba_triggers WHERE owner = :1"
            " AND TRIM(base_object_type) IN ('SCHEMA', 'DATABASE')",
            (self._account.name,),
        )
        if not rows:
            return None
        message = f"the trigger {rows[0][0]} on a schema or database is not allowed"
        return Diagnostic(code="ORA-01031", message=message)

    def _test(self, number: int, test: Test, installed: Installed) -> Observation:
        seconds = self._play.time_limits[number] if self._play.time_limits else self._limits.time
        judged_by_state = any(rule.mode == "state" for rule in test.compare)
        scripts = test.calls
        if self._play.side == "reference" and test.gold is not None:
            return self._gold(test, seconds)
        if not scripts:
            calls = installed.programs[-1:] or (CallObservation(),)
            state = self._data.state() if judged_by_state else None
            return Observation(calls=calls, state=state, objects=self._objects(judged_by_state))
        session = self._ready_session()
        reads, started = session.reads(), time.monotonic()
        player = ScriptPlayer(session, self._limits)
        calls_seen: list[CallObservation] = []
        between: list[tuple[TableState, ...]] = []
        for script in scripts:
            left = seconds - (time.monotonic() - started)
            seen = player.play(script, left)
            calls_seen.append(seen)
            self._note(player)
            if session.lingers:
                self._give_up()
            if judged_by_state and self._play.strict:
                between.append(self._data.state())
            if not session.open or (seen.error and test.on_error == "stop"):
                break
        elapsed = (time.monotonic() - started) * 1000
        reads_after = session.reads()
        self._end_transaction()
        return Observation(
            calls=tuple(calls_seen),
            state=self._data.state() if judged_by_state else None,
            state_between=tuple(between) if judged_by_state and self._play.strict else None,
            objects=self._objects(judged_by_state),
            elapsed_ms=elapsed,
            work=reads_after - reads if reads is not None and reads_after is not None else None,
        )

    def _gold(self, test: Test, seconds: float) -> Observation:
        """The expected rows: the gold query, then the same without its cut."""
        started = time.monotonic()
        player = ScriptPlayer(self._ready_session(), self._limits)
        seen = player.play(test.gold or "", seconds)
        if player.session.lingers:
            self._give_up()
        if (
            test.gold_with_ties is not None
            and seen.error is None
            and self._session is not None
            and self._session.open
        ):
            with_ties = player.play(test.gold_with_ties, seconds)
            seen = msgspec.structs.replace(
                seen, results=seen.results + with_ties.results, error=with_ties.error, limit=with_ties.limit
            )
        self._end_transaction()
        return Observation(calls=(seen,), elapsed_ms=(time.monotonic() - started) * 1000)

    def _objects(self, judged_by_state: bool) -> tuple[str, ...] | None:  # noqa: FBT001
        """New tables and sequences of the side, for the strict reading of state."""
        if not judged_by_state or not self._play.strict:
            return None
        found = self._account.own_objects().values()
        return tuple(
            sorted(
                f"new {item.kind.lower()} {item.name}"
                for item in found
                if item.kind in {"TABLE", "SEQUENCE"} and not item.name.startswith("ISEQ$$")
            )
        )

    # -- between
    # ---------------------------------------------------------------------------------------------------

    def _isolate(self, installed: Installed) -> Installed:
        """Make the next test begin where the first did."""
        if not self._account.exists:
            return self._rebuild()
        changed = self._data.changed() and (installed.wrote is False)
        if changed:
            stamp = self._data.stamp
            self._data.restore()
            if self._data.stamp != stamp:
                return self._rebuild()
        same = self._account.own_objects() == installed.objects
        if same and not installed.stateful and not self._redefines:
            return installed
        return self._rebuild()

    def _rebuild(self) -> Installed:
        """Clean everything and play the programs again."""
        self._flags["rebuilt_between_tests"] = None
        if self._session is not None:
            self._session.close()
            self._session = None
        self._account.clean()
        self._data.restore()
        self._account.prepare(self._needs, self._data.stamp, self._data.objects)
        return self._install()

    def _ready_session(self) -> GradedSession:
        """The session, as a fresh one would be; a new one after loss."""
        if self._session is not None and self._session.open:
            try:
                self._session.refresh()
            except DriverError:
                self._session.discard()
            else:
                return self._session
        self._session = self._account.login()
        return self._session

    def _give_up(self) -> None:
        """Leave the user of a killed session that does not end to the reaper; the next play has another.

        Raises:
            LingeringSessionError: it may still be changing rows.
        """
        if self._data.writing:
            raise LingeringSessionError
        self._session = None
        with suppress(DriverError):
            self._account.abandon()

    def _end_transaction(self) -> None:
        """What a program or test has left uncommitted never happened."""
        if self._session is not None and self._session.open:
            try:
                self._session.rollback()
            except DriverError:
                self._session.discard()

    def _note(self, player: ScriptPlayer) -> None:
        if player.retried:
            self._flags["stale_state_retried"] = None


def _no_place(line: int, column: int) -> tuple[int, int]:
    return line, column


def _invalid(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ORA-24344", message=f"{unit.kind} {unit.name} was created with compilation errors"
    )


def _broken_dependant(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ORA-04063",
        message=f"{unit.kind} {unit.name} of an earlier program no longer compiles",
        severity="warning",
    )
