"""Plays a script on a graded session the way SQL*Plus plays it, and observes.

Differences from SQL*Plus, on purpose: printed output is always captured (SERVEROUTPUT does not matter), a
failing statement ends the script, rows are typed values instead of a page, and nothing is substituted for
``&name``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, ResultSet
from pytest_plsqlbench.engines.oracle import facts
from pytest_plsqlbench.engines.oracle.output import Output, buffer_size
from pytest_plsqlbench.engines.oracle.port import DriverError, Execution, Rows, Variable
from pytest_plsqlbench.engines.oracle.results import ResultBudget, single
from pytest_plsqlbench.engines.oracle.session import GradedSession, LingeringSessionError
from pytest_plsqlbench.engines.oracle.units import Unit, compile_errors, created_unit
from pytest_plsqlbench.engines.oracle.variables import ClientVariables, bind_names
from pytest_plsqlbench.engines.oracle.watchdog import Watchdog
from pytest_plsqlbench.engines.protocol import InfrastructureError, Limits
from pytest_plsqlbench.sql.client import stops_playing
from pytest_plsqlbench.sql.script import ScriptStatement, read_script

_EXEC_PREFIX = len("BEGIN ")
_DRIVER_TYPES = {"VARCHAR2": "VARCHAR", "NVARCHAR2": "NVARCHAR"}


@dataclass(slots=True)
class Playback:
    """What one script has shown so far."""

    output: Output
    budget: ResultBudget
    deadline: float
    results: list[ResultSet] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    error: Diagnostic | None = None
    limit: str | None = None
    lost: bool = False
    variables: ClientVariables = field(default_factory=ClientVariables)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be played."""
        return self.error is not None or self.limit is not None or self.lost

    @property
    def seconds(self) -> float:
        """Time left."""
        return self.deadline - time.monotonic()

    def observation(self) -> CallObservation:
        """As data."""
        return CallObservation(
            lines=tuple(self.output.lines),
            results=tuple(self.results),
            error=self.error,
            diagnostics=tuple(self.diagnostics),
            limit=self.limit,
            lost=self.lost,
        )


class ScriptPlayer:
    """Plays scripts on a session, one after the other."""

    def __init__(self, session: GradedSession, limits: Limits) -> None:
        self.session = session
        self.limits = limits
        self.units: dict[Unit, facts.LineMap] = {}
        """Units that the last script made, with the way from their lines to those of the script."""
        self.retried = False
        """Whether a statement was played once more because of stale package state."""

    def play(self, text: str, seconds: float) -> CallObservation:
        """Play a script within a time.

        Raises:
            InfrastructureError: the server is lost.
        """
        self.units = {}
        play = Playback(Output(self.limits), ResultBudget(self.limits), time.monotonic() + seconds)
        with Watchdog(self.session.admin, self.session.user, self.session.sid, seconds) as dog:
            try:
                self.session.start_output(buffer_size(self.limits))
                for statement in read_script(text, "oracle").statements:
                    if not self._step(statement, play) or play.over:
                        break
                    if play.seconds <= 0:
                        play.limit = "time_limit"
                        break
            except DriverError as error:  # one of our own calls on the program's session
                self._fault(error, play, "", _same_place)
        self._settle(play, timed_out=dog.fired)
        return play.observation()

    # -- one statement
    # -------------------------------------------------------------------------------------------

    def _step(self, statement: ScriptStatement, play: Playback) -> bool:
        """Play one statement; False where the script ends."""
        if statement.kind == "client":
            return self._client(statement, play)
        text, place = sent_text(statement)
        names = bind_names(text, statement.kind)
        binds = play.variables.binds(names, self.session.connection) if names else {}
        if isinstance(binds, str):
            play.error = _client_error("ORA-01008", f"the variable {binds!r} is not declared", statement)
            return False
        self._execute(text, binds, place, play)
        return True

    def _execute(
        self,
        text: str,
        binds: dict[str, Variable],
        place: facts.LineMap,
        play: Playback,
        *,
        again: bool = False,
    ) -> None:
        unit = created_unit(text)
        try:
            execution = self.session.execute(text, max(play.seconds, 0.001), binds)
            try:
                self._collect(execution, unit, place, play)
            finally:
                execution.close()
        except DriverError as error:
            if error.code in facts.STALE_STATE and not again and play.seconds > 0:
                self._once_more(text, binds, place, play)
                return
            self._fault(error, play, text, place)
        if not play.lost:
            self._read_output(play)

    def _once_more(self, text: str, binds: dict[str, Variable], place: facts.LineMap, play: Playback) -> None:
        """Package state was stale: forget it and play the statement again.

        What the attempt has printed is still in the buffer, which is emptied.
        """
        self.retried = True
        self.session.forget_packages()
        self.session.start_output(buffer_size(self.limits))
        self._execute(text, binds, place, play, again=True)

    def _collect(self, execution: Execution, unit: Unit | None, place: facts.LineMap, play: Playback) -> None:
        if unit is not None:
            self.units[unit] = place
            if execution.compiled_with_errors:
                entries = compile_errors(self.session.admin, self.session.user, unit, place)
                play.diagnostics.extend(entries)
        if execution.rows is not None:
            self._take(execution.rows, play)
        else:
            for rows in execution.implicit_results():
                self._take(rows, play)

    def _take(self, rows: Rows, play: Playback) -> None:
        play.results.append(play.budget.take(rows))
        if play.budget.exceeded:
            play.limit = "row_limit"

    def _read_output(self, play: Playback) -> None:
        self.session.connection.limit(max(play.seconds, 1.0))
        play.output.fetch(self.session.connection)
        if play.output.exceeded:
            play.limit = "output_limit"

    # -- commands of the client
    # --------------------------------------------------------------------------------------

    def _client(self, statement: ScriptStatement, play: Playback) -> bool:
        command = statement.command or ""
        if statement.refused:
            message = f"{command} is a command of a client, not of the server"
            play.error = _client_error("ORA-00900", message, statement)
        elif command == "VARIABLE":
            problem = play.variables.declare(statement.arguments)
            if problem:
                play.error = _client_error("ORA-00900", problem, statement)
        elif command == "PRINT":
            self._print(statement, play)
        elif stops_playing(command):
            words = statement.arguments.upper().split()
            (self.session.rollback if "ROLLBACK" in words else self.session.commit)()
            return False
        return True

    def _print(self, statement: ScriptStatement, play: Playback) -> None:
        for name in play.variables.printed(statement.arguments):
            if not play.variables.knows(name):
                play.error = _client_error("ORA-01008", f"the variable {name!r} is not declared", statement)
                return
            try:
                value = play.variables.get(name, self.session.connection).value()
                if play.variables.kind(name) == "REFCURSOR" and value is not None:
                    self._take(value, play)
                    continue
            except DriverError as error:
                self._fault(error, play, "", lambda _line, _column: (statement.line, statement.column))
                return
            kind = play.variables.kind(name)
            play.results.append(single(name, value, _DRIVER_TYPES.get(kind, kind)))

    # -- what went wrong
    # ---------------------------------------------------------------------------------------------

    def _fault(self, error: DriverError, play: Playback, text: str, place: facts.LineMap) -> None:
        """Note a failed statement. Clock and admin probe decide what it was; numbers only label it."""
        play.error = play.error or facts.diagnose(error, text, place)
        if error.full_code == "DPY-4024":  # the driver's own, so no program can forge it
            play.limit = "time_limit"
        elif error.session_dead or error.full_code in facts.INFRASTRUCTURE_DRIVER:
            play.lost = True
        elif facts.printed_too_much(error):
            play.limit = "output_limit"
        elif error.code in facts.MEMORY:
            play.limit = "memory_limit"
        elif error.code in facts.PROFILE:
            play.limit = "profile_limit"

    def _settle(self, play: Playback, *, timed_out: bool) -> None:
        """Decide between limit and loss, and end a session that must not be used again."""
        late = timed_out or play.seconds <= 0
        if late:
            play.limit, play.lost = "time_limit", False
        if play.limit is None and not play.lost:
            return
        if not self.session.admin.alive():
            raise InfrastructureError(f"the server is lost: {play.error.code if play.error else 'no answer'}")
        try:
            self.session.discard()
        except LingeringSessionError:  # told to end, it will; to be slow at it is no escape from a verdict
            self.session.lingers = True


def sent_text(statement: ScriptStatement) -> tuple[str, facts.LineMap]:
    """The text that the server gets, and the way from its lines and columns to those of the script.

    A block that begins with a label is wrapped: the driver judges a statement by its first word.
    """
    text, shift = statement.text, _EXEC_PREFIX if statement.from_exec else 0
    if statement.kind == "block" and text.startswith("<<"):
        text, shift = f"BEGIN {text} END;", _EXEC_PREFIX

    def place(line: int, column: int) -> tuple[int, int]:
        if line > 1:
            return statement.line + line - 1, column
        return statement.line, statement.column + max(0, column - 1 - shift)

    return text, place


def _same_place(line: int, column: int) -> tuple[int, int]:
    return line, column


def _client_error(code: str, message: str, statement: ScriptStatement) -> Diagnostic:
    return Diagnostic(code=code, message=message, line=statement.line, column=statement.column)
