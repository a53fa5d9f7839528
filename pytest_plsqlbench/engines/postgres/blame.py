"""Whose doing a loss was, the program's or the infrastructure's: decided here and nowhere else.

What a graded session shows is never evidence, since its program is hostile and knows all error codes. An
administrator's connection is: one that was open before must go on answering, and the server must say itself
what a session that does not answer is doing. What another one could have done as well (a session ended or a
statement cancelled from outside, a full disk; not an error that the program raises itself) is played again:
two plays in a row that agree and show nothing of the kind count. A program is the one who does it if it does
it at the same place many times in a row, with pauses between, or if no two plays come through while plays of
nothing beside it meet no harm. If another spoils each tenth play at random, one turn in thousands of those
that it meets gets a wrong verdict.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg

from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.protocol import InfrastructureError

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.observation import CallObservation
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.protocol import Play, Played

ENOUGH_SOUND = 2
"""Plays in a row that agree and show nothing doubtful."""
ENOUGH_HARMED = 5
"""Plays in a row that show the same at the same place, so that it is the program's doing."""
MOST_PLAYS = 10
"""Of a program that gets to neither; then as many of nothing, to compare."""
_PAUSES = (0.05, 0.1, 0.2, 0.4)
"""Seconds between plays: whoever disturbs is done by then, or must do it each time."""
_LONGEST_WAIT = 3.0
"""Seconds that a play of nothing takes at most."""
_SILENT_SECONDS = 1.0
_ANSWER_LOST = "the answer of the PostgreSQL server was lost on the way"
UNREADABLE = "state_unreadable"
"""In place of a limit: the program keeps others from seeing what it did."""

Place = tuple[int, int, str]
"""Where something doubtful was seen: test (-1: the programs), call (or program), and what."""

_CANCELLED = "57014"
_CODES = frozenset((_CANCELLED, "53100", "53200", "58030", "57P01", "57P02", "57P03", "57P04", "57P05"))
_OWN_TIMEOUTS = frozenset(("25P03", "25P04", "57P05"))
"""The server's last word to a session of which only the program can have set the limit: ours are off."""
_LIMITS = frozenset(("disk_limit", "memory_limit", UNREADABLE))
_FULL = frozenset(("disk_limit", "53100", "58030"))
_FILL = (
    "CREATE TEMPORARY TABLE plsqlbench_probe AS"
    " SELECT pg_catalog.repeat('x', 1000) AS filler FROM pg_catalog.generate_series(1, 4000)"
)


def session_ended(admin: Admin, pid: int, epoch: int, sound: float, seconds: float) -> bool:
    """See that a session's end was not the server's, and end it; returns whether it is gone.

    Args:
        admin: the connection that was open before.
        pid: of the session.
        epoch: the count of the administrator's connections when the session began.
        sound: seconds for which the server must go on answering before it counts as sound.
        seconds: how long the session gets to end.

    Raises:
        InfrastructureError: the server failed.
    """
    if admin.epoch != epoch or not admin.steady(sound):
        # every session was cut: who did that is not known, surely not by what this one shows
        raise InfrastructureError("the PostgreSQL server failed or restarted while a program ran")
    return admin.terminate(pid, seconds)


def out_of_time(admin: Admin, pid: int) -> None:
    """See that a session that has not answered in time is still at work.

    Raises:
        InfrastructureError: it is not: its answer was lost on the way, or the server is.
    """
    rows = admin.execute(f"SELECT state FROM pg_catalog.pg_stat_activity WHERE pid = {pid:d}")
    if not rows or (rows[0][0] or "").startswith("idle"):
        raise InfrastructureError(_ANSWER_LOST)


class Silence:
    """Hears, long before the time of a statement is over, that its answer was lost on the way."""

    def __init__(self, admin: Admin, pid: int) -> None:
        """Nothing has come yet.

        Args:
            admin: who asks the server; one that is reached through no network loses nothing.
            pid: of the session whose answer is awaited.
        """
        self._admin = admin
        self._pid = pid
        self._next = 0.0 if admin.address.kind != "embedded" else math.inf
        self._idle: object = None

    def heard(self) -> None:
        """Something has come."""
        self._idle = None

    def see(self, now: float) -> None:
        """See that the server is still at work, a second after nothing has come, and each second from then.

        Raises:
            InfrastructureError: it has been idle since the last look, and nothing has come of what it did.
        """
        if now < self._next:
            return
        first, self._next = not self._next, now + _SILENT_SECONDS
        if first:
            return
        query = f"SELECT state, state_change FROM pg_catalog.pg_stat_activity WHERE pid = {self._pid:d}"
        rows = self._admin.execute(query)
        idle = rows[0][1] if rows and (rows[0][0] or "").startswith("idle") else None
        if idle is not None and idle == self._idle:
            raise InfrastructureError(_ANSWER_LOST)
        self._idle = idle


def doubts(played: Played, *, distant: bool) -> tuple[Place, ...]:
    """What a play shows that need not be the program's doing, and where.

    Args:
        played: the play.
        distant: the server is reached through a network, which may hold answers up.
    """
    found = [(-1, at, what) for at, call in enumerate(played.programs) if (what := _doubt(call, distant))]
    found += [
        (test, at, what)
        for test, seen in enumerate(played.tests)
        for at, call in enumerate(seen.calls)
        if (what := _doubt(call, distant))
    ]
    return tuple(found)


def gist(played: Played, places: tuple[Place, ...]) -> object:
    """That by which two plays agree: where there is doubt, its places; else all but what was printed.

    Args:
        played: the play.
        places: its doubts.
    """
    if places:
        return places
    calls = [*played.programs, *(call for seen in played.tests for call in seen.calls)]
    shown = [(call.error.code if call.error else None, call.limit, call.lost, call.results) for call in calls]
    return shown, [(seen.state, seen.objects) for seen in played.tests]


def pause_after(harmed: int) -> float:
    """Seconds to wait before the next play.

    Args:
        harmed: plays so far that showed something doubtful.
    """
    return _PAUSES[min(harmed, len(_PAUSES)) - 1]


def waiting_play(play: Play, played: Played) -> Play:
    """A play that does nothing for as long as a program's play took: who disturbs one disturbs the other.

    Args:
        play: the program's.
        played: what was observed of it.
    """
    seconds = min(_LONGEST_WAIT, sum(seen.elapsed_ms for seen in played.tests) / 1000)
    tests = len(play.tests) or 1
    call = f"SELECT pg_catalog.pg_sleep({seconds / tests:.3f})"
    nothing = Test(name="nothing", calls=(call,), compare=(Comparison("value"),))
    return replace(play, programs=(), tests=(nothing,) * tests, time_limits=None, strict=False)


def _doubt(call: CallObservation, distant: bool) -> str:  # noqa: FBT001 (private)
    if call.lost:
        return "" if call.error is not None and call.error.code in _OWN_TIMEOUTS else "lost"
    if call.limit is not None:
        late = distant and call.limit == "time_limit" and call.error is None
        return call.limit if late or call.limit in _LIMITS else ""
    if call.raised:  # no other can have it do that; to raise again what it caught is no RAISE of its own
        return ""
    return call.error.code if call.error is not None and call.error.code in _CODES else ""


def room_left(admin: Admin, places: tuple[Place, ...]) -> None:
    """Where the disk was full: see that it is not, now that the program has gone.

    Raises:
        InfrastructureError: it still is.
    """
    if not any(what in _FULL for _, _, what in places):
        return
    try:
        admin.execute(_FILL, "DROP TABLE plsqlbench_probe")
    except psycopg.errors.InsufficientPrivilege:
        return  # nothing to be known on a server of the user's that lets us write nowhere else
    except psycopg.Error as error:
        raise InfrastructureError(f"the disk of the PostgreSQL server cannot be written: {error}") from None
