"""A lane: one worker's users on the server, and the sessions behind them."""

from __future__ import annotations

import contextlib
import logging

from pytest_plsqlbench.engines.oracle.account import Account, ProxyUser
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.datastore import DataStore
from pytest_plsqlbench.engines.oracle.facts import one_line
from pytest_plsqlbench.engines.oracle.loader import Progress
from pytest_plsqlbench.engines.oracle.needs import Needs, needs_of
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.session import LingeringSessionError
from pytest_plsqlbench.engines.oracle.stage import Stage
from pytest_plsqlbench.engines.protocol import InfrastructureError, Play, Played, Side, UnsupportedError
from pytest_plsqlbench.sql.script import read_script

_log = logging.getLogger(__name__)


class OracleLane:
    """Plays both sides of a worker's turns, each with its own user, one play after the other."""

    def __init__(
        self, admin: Admin, capabilities: Capabilities, worker: str, progress: Progress | None = None
    ) -> None:
        self._admin = admin
        self._store = DataStore(admin, capabilities, progress)
        self._proxy = ProxyUser(admin, worker)
        sides: tuple[Side, ...] = ("candidate", "reference")
        self._accounts = {
            side: Account(admin, self._proxy, capabilities, side=side, worker=worker) for side in sides
        }

    def play(self, play: Play) -> Played:
        """Play programs and tests, each test isolated from the others, and leave the lane as it was.

        Raises:
            InfrastructureError: the server is gone, unreachable or refuses us.
            DatabaseLoadError: the data of the task is wrong.
            UnsupportedError: a test or reference holds a client command that is not run, or a changed table
                is too large to be compared.
        """
        account = self._accounts[play.side]
        try:
            return self._play(account, play)
        except LingeringSessionError:
            with contextlib.suppress(DriverError):
                account.abandon()
            raise InfrastructureError(
                "a killed session did not end; its user is given up and the turn is played with another"
            ) from None
        except DriverError as error:
            raise InfrastructureError(f"Oracle: {one_line(error)}") from error

    def _play(self, account: Account, play: Play) -> Played:
        refuse_commands(play)
        texts = [*play.programs, *(call for test in play.tests for call in test.calls)]
        judged_by_state = any(rule.mode == "state" for test in play.tests for rule in test.compare)
        needs = needs_of(texts)
        needs = Needs(needs.rights, needs.writes or judged_by_state)
        with self._store.use(play.database, writing=needs.writes) as data:
            account.prepare(needs, data.stamp, data.objects)
            try:
                played = Stage(self._admin, account, data, play, needs).run()
            except BaseException:
                with contextlib.suppress(DriverError):  # what went wrong first is what counts
                    account.release()
                raise
            account.release()
            return played

    def close(self) -> None:
        """Drop the users. What cannot be dropped now is found by the reaper."""
        for drop in (*(account.abandon for account in self._accounts.values()), self._proxy.drop):
            try:
                drop()
            except DriverError as error:
                _log.warning("users of the lane are left behind on the server: %s", one_line(error))
        self._store.close()
        self._admin.close()


def refuse_commands(play: Play) -> None:
    """See that what is not the graded program's doing holds no client command that we do not run.

    Raises:
        UnsupportedError: it does.
    """
    texts = [(f"test {test.name!r}", call) for test in play.tests for call in test.calls]
    if play.side == "reference":
        texts += [("program", program) for program in play.programs]
    for name, text in texts:
        for statement in read_script(text, "oracle").statements:
            if statement.refused:
                raise UnsupportedError(
                    f"{name}: line {statement.line}: {statement.command} is a client command that is not run"
                )
