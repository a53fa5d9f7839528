"""Scripts of a play, read once; and what their texts demand of the way they are played."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_plsqlbench.engines.protocol import Play, UnsupportedError
from pytest_plsqlbench.sql.remembering import remember
from pytest_plsqlbench.sql.script import ScriptStatement, ends_transactions, read_script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_plsqlbench.bench.task import Test

_ROUTINES = frozenset(("create_function", "create_procedure"))
_PLAIN = frozenset((*_ROUTINES, "block", "query", "dml", "call", "create_table", "create_view"))
_TELLING = (
    *("commit", "rollback", "abort", "savepoint", "release", "transaction", "constraints", "deferred"),
    *("local", "concurrently", "set_config", "system", "database", "tablespace", "subscription", "lock "),
    "\\",  # escapes could spell any of them
)
"""One of these is in every text for which ``ends_transactions`` holds and whose statements are ``_PLAIN``."""
_TRANSACTION = (
    "now(",
    "now (",
    "current_time",
    "localtime",
    "transaction_timestamp",
    "xact_id",
    "txid_current",
)
"""Words of texts that may ask when, or in which transaction, they run."""
_STAINS = ("set_config", "setseed", "load ", "execute")
"""Words of texts that may leave in the session what no rollback undoes: the name of a setting that a program
invented, the state of random(). Dynamic SQL can spell all of them."""
_SETTINGS = (
    "set_config",
    "current_setting",
    "pg_settings",
    "current_schema",
    "timezone",
    "search_path",
    "execute",
)
"""Words of texts that may be about settings which statements before have changed."""
_SETS_OWN = re.compile(r"""\bset\s*+(?:(?:local|session)\b\s*+)?+(?:/\*|--|[\w$"]++\s*+(?:\.|/\*|--))""")
"""``SET a.b``, or a comment where that could stand. Reconnecting once too often costs a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A script and what its text demands."""

    statements: tuple[ScriptStatement, ...]
    refusal: ScriptStatement | None
    """The first client command that we do not run."""
    autocommit: bool
    """It would behave differently inside a transaction that someone else holds open."""
    tells_transactions: bool
    """It may tell statements of one transaction from those of several, by their time."""
    only_routines: bool
    """All it does is create functions and procedures: nothing of it runs while it is installed."""
    fetches: bool
    """It reads cursors itself."""
    stains: bool
    """It may leave something in the session that outlives a rollback."""
    settings: bool
    """It sets or reads settings of the session itself."""


@remember(short=2048, long=2)
def reading(text: str) -> Reading:
    """Read a script."""
    script = read_script(text, "postgres")
    low = text.lower()
    statements = tuple(statement for statement in script.statements if not _harmless(statement))
    return Reading(
        statements=statements,
        refusal=next((statement for statement in statements if statement.kind == "client"), None),
        autocommit=_needs_autocommit(text, low, statements),
        tells_transactions=any(word in low for word in _TRANSACTION),
        only_routines=all(statement.kind in _ROUTINES for statement in statements),
        fetches=any(statement.text[:5].upper() in {"FETCH", "MOVE "} for statement in statements),
        stains=any(word in low for word in _STAINS)
        or any(statement.kind in {"session", "other"} for statement in statements)
        or _SETS_OWN.search(low) is not None,
        settings=any(word in low for word in _SETTINGS)
        or any(statement.kind in {"session", "other"} or _shows(statement) for statement in statements),
    )


def _shows(statement: ScriptStatement) -> bool:
    return statement.kind == "query" and statement.text[:4].upper() == "SHOW"


def _needs_autocommit(text: str, low: str, statements: tuple[ScriptStatement, ...]) -> bool:
    """Whether the text depends on where transactions end; most texts plainly do not."""
    if "deferrable" in low:
        return True
    plain = all(statement.kind in _PLAIN for statement in statements)
    if plain and not any(word in low for word in _TELLING):
        return False
    return ends_transactions(text, "postgres")


def _harmless(statement: ScriptStatement) -> bool:
    """Client settings that mean nothing here: output is always shown."""
    if statement.kind == "client":
        return not statement.refused
    return statement.kind == "session" and statement.text.upper().split()[:2] == ["SET", "SERVEROUTPUT"]


def calls_of(test: Test, play: Play) -> tuple[str, ...]:
    """The scripts of a test on this side of the play."""
    if test.gold is not None and play.side == "reference":
        return (test.gold,) if test.gold_with_ties is None else (test.gold, test.gold_with_ties)
    return test.calls


def refuse_commands(play: Play) -> None:
    """See that the tests, which are not the graded program's doing, hold nothing that we do not run.

    Raises:
        UnsupportedError: they do.
    """
    texts = [(f"test {test.name!r}", text) for test in play.tests for text in calls_of(test, play)]
    if play.side == "reference":
        texts += [("program", text) for text in play.programs]
    for name, text in texts:
        refused = reading(text).refusal
        if refused is not None:
            raise UnsupportedError(
                f"{name}: line {refused.line}: {refused.command} is a client command that is not run"
            )


def about_settings(scripts: Iterable[Reading]) -> bool:
    """Whether a test sets or reads settings of the session: what one call sets, the next is to see."""
    return any(script.settings for script in scripts)


def judges_state(test: Test) -> bool:
    """Whether a rule of the test compares tables."""
    return any(rule.mode == "state" for rule in test.compare)


def needs_autocommit(play: Play) -> bool:
    """Whether the play must run outside a transaction of ours."""
    programs = [reading(text) for text in play.programs]
    tests = [[reading(text) for text in calls_of(test, play)] for test in play.tests]
    if any(test.transaction for test in play.tests):
        return True
    if any(script.autocommit for script in (*programs, *(script for test in tests for script in test))):
        return True
    several = any(sum(len(script.statements) for script in test) > 1 for test in tests)
    return several and any(script.tells_transactions for script in programs)


def may_stain(play: Play) -> bool:
    """Whether the sessions should be thrown away after the play."""
    return any(
        reading(text).stains
        for text in (*play.programs, *(text for test in play.tests for text in calls_of(test, play)))
    )
