"""A worker's lane: plays in a transaction that is rolled back, or in copies where that would lie."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from pytest_plsqlbench.engines.postgres.blame import (
    ENOUGH_HARMED,
    ENOUGH_SOUND,
    MOST_PLAYS,
    doubts,
    gist,
    pause_after,
    room_left,
    waiting_play,
)
from pytest_plsqlbench.engines.postgres.copies import Copies, Copy
from pytest_plsqlbench.engines.postgres.isolated import IsolatedPlay
from pytest_plsqlbench.engines.postgres.own_names import OwnNames
from pytest_plsqlbench.engines.postgres.rollback import RollbackPlay
from pytest_plsqlbench.engines.postgres.scripts import may_stain, needs_autocommit, refuse_commands
from pytest_plsqlbench.engines.postgres.session import ControlError, SessionGoneError
from pytest_plsqlbench.engines.postgres.steps import NeedsAutocommitError, TransactionLostError
from pytest_plsqlbench.engines.protocol import InfrastructureError, Side

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.template import Template, Templates
    from pytest_plsqlbench.engines.protocol import Limits, Play, Played

REPLAYED = "replayed"
"""Flag of a play that was repeated, because another than the program could have done what it showed."""
REBUILT = "lane_rebuilt"
"""Flag of a play after which databases and roles were made anew: it left what no rollback undoes."""
_MOST_COPIES = 4
"""Databases that a lane keeps open at a time; the least recently used goes."""
_PLAYS_PER_SESSION = 100
"""A session keeps the plan of every routine it ever called, and each later DDL walks them all."""


class _StainedError(Exception):
    """A play in a transaction left something behind."""


class PostgresLane:
    """Private databases and two login roles of one worker."""

    def __init__(self, admin: Admin, templates: Templates, worker: str, limits: Limits) -> None:
        self._admin = admin
        self._distant = admin.address.kind == "dsn"
        self._templates = templates
        self._copies = Copies(admin, worker, limits)
        run_id = admin.address.run_id
        self._own_names = {side: OwnNames(run_id, worker, side) for side in get_args(Side)}
        self._kept: OrderedDict[str, Copy] = OrderedDict()
        self._owed = False
        """A reference cost the lane: told with the candidate's play, of which a turn's result speaks."""

    def play(self, play: Play) -> Played:
        """Play programs and tests, each test isolated from the others, and leave the lane as it was.

        Raises:
            InfrastructureError: the server is gone.
            UnsupportedError: a test holds a client command that is not run.
            DatabaseLoadError: the task's database cannot be loaded.
        """
        refuse_commands(play)
        played, stained = self._play_surely(play)
        if play.side == "reference":
            self._owed = self._owed or stained
            return played
        stained, self._owed = stained or self._owed, False
        return replace(played, flags=(*played.flags, REBUILT)) if stained else played

    def _play_surely(self, play: Play) -> tuple[Played, bool]:
        """As ``_play``; after what another than the program could have done, plays in a row must agree.

        Otherwise a program could have itself played until luck is with it. One whose plays never agree is the
        one who does it, where plays of nothing beside it meet no harm: the last that shows it counts.
        """
        played, stained = self._play(play)
        places = doubts(played, distant=self._distant)
        if not places:
            return played, stained
        doubtful, before = played, gist(played, places)
        harmed = alike = 1
        for _ in range(MOST_PLAYS - 1):
            if places:
                self._discard(self._templates.get(play.database))
                room_left(self._admin, places)
                time.sleep(pause_after(harmed))
            played, again = self._play(play)
            stained = stained or again
            places = doubts(played, distant=self._distant)
            if places:
                doubtful, harmed = played, harmed + 1
            seen = gist(played, places)
            alike = alike + 1 if seen == before else 1
            if alike == (ENOUGH_HARMED if places else ENOUGH_SOUND):
                break
            before = seen
        else:
            self._see_undisturbed(play, doubtful)
            played = doubtful
        return replace(played, flags=(*played.flags, REPLAYED)), stained

    def _see_undisturbed(self, play: Play, doubtful: Played) -> None:
        """See that plays of nothing but waiting, each as long as the program's, are not disturbed as it was.

        Raises:
            InfrastructureError: one is: what hit the program each time may have been the same.
        """
        waiting = waiting_play(play, doubtful)
        for _ in range(MOST_PLAYS):
            if places := doubts(self._play(waiting)[0], distant=self._distant):
                what = places[0][2]
                raise InfrastructureError(f"programs are disturbed, and so are plays of nothing: {what}")

    def _play(self, play: Play) -> tuple[Played, bool]:
        """What was observed, under names that both sides share, and whether the lane was made anew after."""
        played, stained = self._observe(play)
        return self._own_names[play.side].hidden(played), stained

    def _observe(self, play: Play) -> tuple[Played, bool]:
        template = self._templates.get(play.database)
        stained = False
        if not needs_autocommit(play):
            try:
                played = self._roll_back(play, template)
            except _StainedError:
                # a later test may have met what an earlier one left: nothing of it counts
                self._rebuild()
                played, stained = None, True
            if played is not None:
                return played, stained
        try:
            played = IsolatedPlay(self._copies, template, play).run()
        except (ControlError, SessionGoneError) as error:
            raise InfrastructureError(f"a fresh session does not work: {error}") from None
        if self._copies.role_stains():
            # each test had a copy of its own and a login that found nothing of the one before: they count
            self._rebuild()
            stained = True
        return played, stained

    def _rebuild(self) -> None:
        """Make copies and roles anew."""
        while self._kept:
            self._copies.drop(self._kept.popitem()[1])
        self._copies.renew_roles()

    def _roll_back(self, play: Play, template: Template) -> Played | None:
        """Play in a transaction; None where that would not show what the texts do outside one."""
        copy = self._copy(template)
        if self._copies.facts(copy).deferrable:
            return None
        self._copies.inspector(copy)
        kept = False
        try:
            played = RollbackPlay(self._copies, copy, play).run()
            worn = self._worn(copy, play, played)
            if self._copies.stains(copy, thorough=worn):
                raise _StainedError
            self._tidy(copy, play, worn=worn)
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
        if copy is not None and self._copies.outlived(copy):
            self._discard(template)
            copy = None
        if copy is None:
            while len(self._kept) >= _MOST_COPIES:
                self._copies.drop(self._kept.popitem(last=False)[1])
            copy = self._kept[fingerprint] = self._copies.make(template)
        self._kept.move_to_end(fingerprint)
        return copy

    @staticmethod
    def _worn(copy: Copy, play: Play, played: Played) -> bool:
        """Whether the session has aged, or met a limit."""
        session = copy.sessions.get(play.side)
        aged = session is None or session.gone or session.slow or session.plays >= _PLAYS_PER_SESSION
        return aged or _limited(played)

    def _tidy(self, copy: Copy, play: Play, *, worn: bool) -> None:
        """Do not let a session age, nor live on with what nobody can see in it."""
        if worn:
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
        for copy in self._kept.values():  # all connections first: the first drop may find the server gone
            self._copies.leave(copy)
        with contextlib.suppress(InfrastructureError):
            while self._kept:
                self._copies.drop(self._kept.popitem()[1])
            self._copies.drop_roles()
        self._kept.clear()


def _limited(played: Played) -> bool:
    """Whether a limit was passed: memory may be left in pieces, files large."""
    calls = [call for observation in played.tests for call in observation.calls]
    return any(call.limit is not None for call in (*played.programs, *calls))
