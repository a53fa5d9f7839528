"""A worker's lane: plays in a transaction that is rolled back, or in copies where that would lie."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from pytest_plsqlbench.engines.postgres.copies import Copies, Copy
from pytest_plsqlbench.engines.postgres.isolated import IsolatedPlay
from pytest_plsqlbench.engines.postgres.rollback import RollbackPlay
from pytest_plsqlbench.engines.postgres.scripts import may_stain, needs_autocommit, refuse_commands
from pytest_plsqlbench.engines.postgres.session import ControlError, SessionGoneError
from pytest_plsqlbench.engines.postgres.steps import NeedsAutocommitError, TransactionLostError
from pytest_plsqlbench.engines.protocol import InfrastructureError

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.template import Template, Templates
    from pytest_plsqlbench.engines.protocol import Limits, Play, Played

_MOST_COPIES = 4
"""Databases that a lane keeps open at a time; the least recently used goes."""
_PLAYS_PER_SESSION = 100
"""A session keeps the plan of every routine it ever called, and each later DDL walks them all."""


class PostgresLane:
    """Private databases and two login roles of one worker."""

    def __init__(self, admin: Admin, templates: Templates, worker: str, limits: Limits) -> None:
        self._templates = templates
        self._copies = Copies(admin, worker, limits)
        self._kept: OrderedDict[str, Copy] = OrderedDict()

    def play(self, play: Play) -> Played:
        """Play programs and tests, each test isolated from the others, and leave the lane as it was.

        Raises:
            InfrastructureError: the server is gone.
            UnsupportedError: a test holds a client command that is not run.
            DatabaseLoadError: the task's database cannot be loaded.
        """
        refuse_commands(play)
        template = self._templates.get(play.database)
        if not needs_autocommit(play):
            played = self._roll_back(play, template)
            if played is not None:
                return played
        try:
            return IsolatedPlay(self._copies, template, play).run()
        except (ControlError, SessionGoneError) as error:
            raise InfrastructureError(f"a fresh session does not work: {error}") from None

    def _roll_back(self, play: Play, template: Template) -> Played | None:
        """Play in a transaction; None where that would not show what the texts do outside one."""
        copy = self._copy(template)
        if self._copies.facts(copy).deferrable:
            return None
        kept = False
        try:
            played = RollbackPlay(self._copies, copy, play).run()
            self._tidy(copy, play, played)
            kept = True
        except TransactionLostError:
            return None
        except NeedsAutocommitError:
            self._copies.retire(copy, play.side)
            kept = True
            return None
        finally:
            if not kept:  # changed, or who knows
                self._discard(template)
        return played

    def _copy(self, template: Template) -> Copy:
        fingerprint = template.fingerprint
        copy = self._kept.get(fingerprint)
        if copy is None:
            while len(self._kept) >= _MOST_COPIES:
                self._copies.drop(self._kept.popitem(last=False)[1])
            copy = self._kept[fingerprint] = self._copies.make(template)
        self._kept.move_to_end(fingerprint)
        return copy

    def _tidy(self, copy: Copy, play: Play, played: Played) -> None:
        """Do not let a session age, nor live on with what no rollback undoes."""
        session = copy.sessions.get(play.side)
        worn = session is None or session.gone or session.slow or session.plays >= _PLAYS_PER_SESSION
        if worn or _limited(played):
            self._copies.retire(copy, play.side)
            if self._copies.bloated(copy):
                self._discard(copy.template)
        elif may_stain(play):
            self._copies.retire(copy, play.side)

    def _discard(self, template: Template) -> None:
        copy = self._kept.pop(template.fingerprint, None)
        if copy is not None:
            self._copies.drop(copy)

    def close(self) -> None:
        """Drop what the lane created; where the server is gone, its owner sweeps the rest."""
        with contextlib.suppress(InfrastructureError):
            while self._kept:
                self._copies.drop(self._kept.popitem()[1])
            self._copies.drop_roles()
        self._kept.clear()


def _limited(played: Played) -> bool:
    """Whether a limit was passed: memory may be left in pieces, files large."""
    calls = [call for observation in played.tests for call in observation.calls]
    return any(call.limit is not None for call in (*played.programs, *calls))
