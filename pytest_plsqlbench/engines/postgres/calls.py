"""Playing one script (a program, a call of a test) on a session, statement by statement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from psycopg.pq import TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation, Cell, Diagnostic, ResultSet
from pytest_plsqlbench.engines.postgres.failure import Failure, Routines, diagnostic
from pytest_plsqlbench.engines.postgres.names import quoted
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError, Shown
from pytest_plsqlbench.engines.postgres.settings import PINNED_PRINTING, printing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_plsqlbench.engines.postgres.budget import Budget
    from pytest_plsqlbench.engines.postgres.scripts import Reading
    from pytest_plsqlbench.engines.postgres.steps import Steps
    from pytest_plsqlbench.sql.statement import ScriptStatement

_MOST_CURSORS = 16
_RETURNING = frozenset(("query", "call", "dml"))
"""Kinds of statements that can return something."""
_ENDS_TRANSACTION = "2D000"


class GoneDuringCallError(Exception):
    """The session went while a script was played; carries what had been observed."""

    def __init__(self, observation: CallObservation) -> None:
        super().__init__(observation.limit or "lost")
        self.observation = observation


def play_script(
    session: Session,
    script: Reading,
    budget: Budget,
    steps: Steps,
    *,
    routines: Routines | None = None,
    settle: Callable[[], None] | None = None,
) -> CallObservation:
    """Play the statements of a script up to the first that fails.

    Args:
        session: the side's session; its output is counted on, its lines are taken.
        script: what to play.
        budget: what it may use.
        steps: what surrounds each statement.
        routines: where the program's bodies begin, to place run-time errors.
        settle: called before each statement but the first, to undo what the one before has set.

    Raises:
        ControlError: a program keeps the harness from its work.
        GoneDuringCallError: the session was lost or killed.
    """
    session.output.start()
    results: list[ResultSet] = []
    error: Diagnostic | None = None
    limit: str | None = None
    raised = False
    statement: ScriptStatement | None = None
    try:
        for number, statement in enumerate(script.statements):
            if number and settle is not None:
                settle()
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


def in_one_transaction(
    session: Session, script: Reading, budget: Budget, play: Callable[[], CallObservation]
) -> CallObservation:
    """Play a script in one transaction: one that reads cursors itself needs them open.

    Where it ends transactions itself, or one is open already, nothing is put around it.

    Args:
        session: the side's session.
        script: what is played.
        budget: what it may use.
        play: plays it.

    Raises:
        ControlError: a program keeps the harness from its work.
        GoneDuringCallError: the session was lost or killed.
    """
    own = session.transaction != TransactionStatus.IDLE or any(
        statement.kind == "transaction" for statement in script.statements
    )
    if own:
        return play()
    session.control("BEGIN", budget)
    shown = play()
    try:
        session.control("COMMIT", budget)  # of a transaction that has failed it is a ROLLBACK
    except ControlError as error:
        failure = error.failure
        shown = msgspec.structs.replace(
            shown, error=diagnostic(failure), limit=failure.limit, raised=failure.raised
        )
    return shown


def _play_statement(
    session: Session, statement: ScriptStatement, budget: Budget, steps: Steps, *, fetch: bool
) -> Shown:
    steps.before(budget)
    shown = None
    if statement.kind in _RETURNING and session.transaction == TransactionStatus.IDLE:
        shown = _play_returning(session, statement, budget, fetch=fetch)
    if shown is None:
        shown = session.run(statement.text, budget, statement.data)
        if fetch and shown.failure is None:
            shown.failure = _read_cursors(session, shown, budget)
        if _printed_otherwise(session, shown, budget):
            shown.results = [spoiled(result) for result in shown.results]
    steps.after(shown, budget)
    return shown


def _play_returning(
    session: Session, statement: ScriptStatement, budget: Budget, *, fetch: bool
) -> Shown | None:
    """Play a statement outside any transaction, and look at what it returns before its own one ends.

    With that end cursors are closed, and what it has set for itself is forgotten. None where it returns
    neither cursors nor what prints as settings say, or may end transactions: it is to be played as it is.
    """
    mark = session.output.mark()
    columns = session.columns(statement.text, budget)
    session.output.take_back(mark)
    if columns is None or not (columns.cursors or (statement.kind != "call" and columns.printed)):
        return None
    session.control("BEGIN", budget)
    shown = session.run(statement.text, budget, statement.data)
    if shown.failure is not None:
        session.control("ROLLBACK", budget)
        if shown.failure.code != _ENDS_TRANSACTION or shown.failure.raised:
            return shown
        session.output.take_back(mark)
        return None
    if fetch:
        shown.failure = _read_cursors(session, shown, budget)
    if _printed_otherwise(session, shown, budget):
        shown.results = [spoiled(result) for result in shown.results]
    try:
        session.control("COMMIT" if shown.failure is None else "ROLLBACK", budget)
    except ControlError as error:  # a constraint that is checked in the end
        shown.failure = error.failure
    return shown


def _read_cursors(session: Session, shown: Shown, budget: Budget) -> Failure | None:
    """Take the rows of the cursors that a statement has returned; returns why that failed."""
    for number, name in enumerate(shown.cursors[:_MOST_CURSORS], 1):
        failure = _fetch(session, name, number, shown, budget)
        if failure is None:
            continue
        if session.transaction == TransactionStatus.IDLE:
            # closed with its transaction before anyone could read it
            shown.results = [spoiled(result) for result in shown.results]
            return None
        return failure
    return None


def _printed_otherwise(session: Session, shown: Shown, budget: Budget) -> bool:
    """Whether results were printed under settings that the statement itself has changed."""
    if session.prints_otherwise(shown.reported_bound):
        return True
    if not shown.unreported_bound or session.transaction == TransactionStatus.INERROR:
        return False
    [result] = session.control(printing(), budget)
    return tuple(result.get_value(0, at) for at in range(result.nfields)) != PINNED_PRINTING


def _fetch(session: Session, name: str, number: int, shown: Shown, budget: Budget) -> Failure | None:
    """Take the rows of a cursor that was returned; its own name, chosen by the server, shows nothing."""
    content = session.run(f"FETCH FORWARD {budget.limits.rows + 1:d} FROM {quoted(name)}", budget)
    if content.failure is not None:
        return replace(content.failure, position=None)
    shown.results = [_renamed(result, name, number) for result in shown.results] + content.results
    return None


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
