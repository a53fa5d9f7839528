"""What surrounds each statement of a script: nothing, a look at the transaction, or a savepoint."""

from __future__ import annotations

import secrets
from typing import Protocol

from psycopg.pq import TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.engines.postgres.budget import Budget
from pytest_plsqlbench.engines.postgres.failure import Failure
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, Shown

_NEEDS_AUTOCOMMIT = frozenset(("2D000", "25001", "55P04", "55006", "42P03"))
"""The same text may run outside a transaction: invalid_transaction_termination, active_sql_transaction,
unsafe_new_enum_value_usage; object_in_use and duplicate_cursor by a cursor that closes with its statement."""
_IDLE_IN_OURS = frozenset(("25P03", "25P04"))
"""Time-outs of idle and of long transactions that a program has set itself: it was ours that ran out."""
_NO_SAVEPOINT = frozenset(("3B001", "25P01"))
_OURS = frozenset((TransactionStatus.INTRANS, TransactionStatus.INERROR))


class NeedsAutocommitError(Exception):
    """The play would go differently outside our transaction: it must be played there."""


class TransactionLostError(NeedsAutocommitError):
    """A program ended our transaction: what it did is in the database."""


class Steps(Protocol):
    """What surrounds each statement of a script."""

    def before(self, budget: Budget) -> None:
        """About to send a statement."""
        ...

    def after(self, shown: Shown, budget: Budget) -> None:
        """The statement is done; may put a failure into ``shown``."""
        ...


class Free:
    """Nothing: each statement is its own transaction."""

    def before(self, budget: Budget) -> None:
        """Nothing to do."""

    def after(self, shown: Shown, budget: Budget) -> None:
        """Nothing to do."""


class Watched:
    """A look at the transaction: it must still be open."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def before(self, budget: Budget) -> None:
        """Nothing to do."""

    def after(self, shown: Shown, budget: Budget) -> None:  # noqa: ARG002  (as all steps)
        """See that the transaction is still open."""
        see_transaction(self._session)


class Guarded:
    """A savepoint for each statement, which ends as it would end by itself outside a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._name = ""

    def before(self, budget: Budget) -> None:
        """Set the savepoint, and the time that is left."""
        self._name = savepoint_name()
        self._session.control(
            f"SAVEPOINT {self._name}; SET LOCAL statement_timeout = {budget.remaining_ms()}", budget
        )

    def after(self, shown: Shown, budget: Budget) -> None:
        """Fire what is deferred; keep what the statement did, or undo it where it failed."""
        see_transaction(self._session)
        name = self._name
        if shown.failure is None:
            try:
                self._session.control(f"SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT {name}", budget)
            except ControlError as error:
                if no_savepoint(error.failure, name):
                    raise TransactionLostError from None
                shown.failure = error.failure
            else:
                return
        try:
            self._session.control(f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}", budget)
        except ControlError:
            raise TransactionLostError from None


def savepoint_name() -> str:
    """A name that no program knows: that it still exists proves that the transaction is still ours."""
    return f"s{secrets.token_hex(8)}"


def see_transaction(session: Session) -> None:
    """See that a transaction is open.

    Raises:
        TransactionLostError: it is not.
    """
    if session.transaction not in _OURS:
        raise TransactionLostError


def see_outcome(shown: CallObservation) -> None:
    """See that the statement did not fail only because our transaction is around it.

    Raises:
        NeedsAutocommitError: it did.
    """
    if shown.error is not None and shown.error.code in _NEEDS_AUTOCOMMIT:
        raise NeedsAutocommitError


def see_end(shown: CallObservation) -> None:
    """See that a session that is gone did not go only because our transaction was around the call.

    Raises:
        TransactionLostError: it did, or went without a word: to be played where nothing of ours is around it.
    """
    if shown.lost and (shown.error is None or shown.error.code in _IDLE_IN_OURS):
        raise TransactionLostError


def no_savepoint(failure: Failure, name: str) -> bool:
    """Whether the server says that the savepoint of that name is not there."""
    if failure.raised or failure.code not in _NO_SAVEPOINT:
        return False
    return name in failure.message or failure.code == "25P01"
