"""Playing one script (a program, a call of a test) on a session, statement by statement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from psycopg.pq import TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation, Cell, Diagnostic, ResultSet
from pytest_plsqlbench.engines.postgres.failure import Failure, Routines, diagnostic
from pytest_plsqlbench.engines.postgres.names import quoted
from pytest_plsqlbench.engines.postgres.session import Session, SessionGoneError, Shown
from pytest_plsqlbench.engines.postgres.settings import PINNED_REPORTED, REPORTED

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.budget import Budget
    from pytest_plsqlbench.engines.postgres.scripts import Reading
    from pytest_plsqlbench.engines.postgres.steps import Steps
    from pytest_plsqlbench.sql.statement import ScriptStatement

_MOST_CURSORS = 16


class GoneDuringCallError(Exception):
    """The session went while a script was played; carries what had been observed."""

    def __init__(self, observation: CallObservation) -> None:
        super().__init__(observation.limit or "lost")
        self.observation = observation


def play_script(
    session: Session, script: Reading, budget: Budget, steps: Steps, *, routines: Routines | None = None
) -> CallObservation:
    """Play the statements of a script up to the first that fails.

    Args:
        session: the side's session; its output is counted on, its lines are taken.
        script: what to play.
        budget: what it may use.
        steps: what surrounds each statement.
        routines: where the program's bodies begin, to place run-time errors.

    Raises:
        GoneDuringCallError: the session was lost or killed.
    """
    session.output.start()
    results: list[ResultSet] = []
    error: Diagnostic | None = None
    limit: str | None = None
    raised = False
    statement: ScriptStatement | None = None
    try:
        for statement in script.statements:
            if statement.kind == "client":
                shown = Shown(failure=_not_sql(statement))
            else:
                shown = _play_statement(session, statement, budget, steps, fetch=not script.fetches)
            results.extend(shown.results)
            if shown.failure is not None:
                limit = _limit(shown.failure, budget)
                error = diagnostic(shown.failure, statement, routines)
                raised = shown.failure.raised
                break
            if budget.overdrawn():
                limit = "time_limit"
                break
    except SessionGoneError as gone:
        failure = gone.failure
        if failure is None or not failure.fatal:
            failure = None
        raise GoneDuringCallError(
            CallObservation(
                lines=tuple(session.output.lines),
                results=tuple(results),
                error=diagnostic(failure, statement, routines) if failure else None,
                diagnostics=tuple(session.output.diagnostics),
                limit=gone.limit,
                lost=gone.limit is None,
            )
        ) from None
    return CallObservation(
        lines=tuple(session.output.lines),
        results=tuple(results),
        error=error,
        diagnostics=tuple(session.output.diagnostics),
        limit=limit,
        raised=raised,
    )


def _play_statement(
    session: Session, statement: ScriptStatement, budget: Budget, steps: Steps, *, fetch: bool
) -> Shown:
    steps.before(budget)
    shown = session.run(statement.text, budget, statement.data)
    if shown.cursors and fetch and shown.failure is None:
        if session.transaction == TransactionStatus.INTRANS:
            for number, name in enumerate(shown.cursors[:_MOST_CURSORS], 1):
                if shown.failure is None:
                    _fetch(session, name, number, shown, budget)
        else:  # closed with its transaction before anyone could read it
            shown.results = [spoiled(result) for result in shown.results]
    steps.after(shown, budget)
    if shown.reported_bound and session.reported(REPORTED) != PINNED_REPORTED:
        shown.results = [spoiled(result) for result in shown.results]
    return shown


def _fetch(session: Session, name: str, number: int, shown: Shown, budget: Budget) -> None:
    """Take the rows of a cursor that was returned; its own name, chosen by the server, shows nothing."""
    content = session.run(f"FETCH FORWARD {budget.limits.rows + 1:d} FROM {quoted(name)}", budget)
    if content.failure is not None:
        shown.failure = replace(content.failure, position=None)
        return
    shown.results = [_renamed(result, name, number) for result in shown.results] + content.results


def _renamed(result: ResultSet, name: str, number: int) -> ResultSet:
    cell: Cell = ("other", name)
    plain: Cell = ("other", f"<cursor {number}>")
    if not name.startswith("<unnamed portal") or not any(cell in row for row in result.rows):
        return result
    rows = tuple(tuple(plain if value == cell else value for value in row) for row in result.rows)
    return ResultSet(result.columns, rows, result.truncated)


def spoiled(result: ResultSet) -> ResultSet:
    """A result printed under settings that the program changed: it never equals anything."""
    return msgspec.structs.replace(result, truncated=True)


def _limit(failure: Failure, budget: Budget) -> str | None:
    if failure.code == "57014" and not failure.raised and budget.elapsed() >= budget.seconds * 0.9:
        return "time_limit"
    return failure.limit


def _not_sql(statement: ScriptStatement) -> Failure:
    return Failure("42601", f"{statement.command} is a command of a client, not of the server", position=1)
