"""The database servers of a run: which are at hand, why, and how they are started and stopped."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.limits import Limits
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.oracle import resolve_oracle, start_oracle
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.dialect import Dialect
    from pytest_plsqlbench.selection import Selection
    from pytest_plsqlbench.servers.address import ServerAddress
    from pytest_plsqlbench.servers.daemon import Notify, Pull
    from pytest_plsqlbench.servers.oracle import Resolved
    from pytest_plsqlbench.servers.started import StartedServer
    from pytest_plsqlbench.settings import Settings


class Hosts:
    """The servers that a process has started for a run; it stops them."""

    def __init__(self) -> None:
        self.oracle = ""
        """Where the Oracle server comes from, or why there is none; empty where none was looked for."""
        self.notes: tuple[str, ...] = ()
        """What a user should know about the servers, one line each, for the report header."""
        self._servers: list[StartedServer] = []
        self._at_hand: set[Dialect] = {"postgres"}

    @property
    def at_hand(self) -> frozenset[Dialect]:
        """Dialects whose turns can be played in this run; PostgreSQL comes with the installation."""
        return frozenset(self._at_hand)

    @property
    def addresses(self) -> tuple[ServerAddress, ...]:
        """How workers reach the servers."""
        return tuple(server.address for server in self._servers)

    def expect(self, settings: Settings) -> None:
        """Say what would be at hand, and start nothing: an Oracle server only where one was named.

        Raises:
            UserError: an option names no server.
        """
        resolved = resolve_oracle(settings.oracle)
        if resolved.choice != "none":
            self._at_hand.add("oracle")

    def start(self, settings: Settings, selection: Selection, notify: Notify) -> None:
        """Start or reach the servers of all dialects that turns of the run may be in.

        Args:
            settings: of the run.
            selection: tells which dialects these are.
            notify: told about progress, a line at a time.

        Raises:
            UserError, EngineUnavailableError: a server that was named cannot be had.
        """
        if selection.may_run("postgres"):
            from pytest_plsqlbench.servers.postgres import server_notes, start_postgres  # noqa: PLC0415 (if needed)

            limits = Limits(**settings.limits)
            server = start_postgres(
                settings.postgres,
                image=settings.postgres_image,
                notify=notify,
                memory=limits.server_memory,
            )
            self._servers.append(server)
            self.notes += server_notes(server.address)
        if selection.may_run("oracle"):
            self._start_oracle(settings, named=selection.names("oracle"), notify=notify)

    def _start_oracle(self, settings: Settings, *, named: bool, notify: Notify) -> None:
        from pytest_plsqlbench.servers.daemon import daemon_answers  # noqa: PLC0415 (only where a run starts)

        resolved = resolve_oracle(settings.oracle, docker_answers=daemon_answers)
        self.oracle = resolved.reason
        if resolved.choice == "none":
            return
        automatic = settings.oracle.strip() == "auto" and resolved.choice == "container"
        # an image is over a gigabyte: nobody waits for one who did not name Oracle
        pull: Pull = "missing" if named or not automatic else "never"
        try:
            server = self._reach_oracle(settings, resolved, pull, notify)
        except ServerUnavailableError as error:
            if not automatic:
                raise
            self.oracle = str(error)
            return
        self._servers.append(server)
        self._at_hand.add("oracle")
        self.notes += _advice(server.address)

    @staticmethod
    def _reach_oracle(settings: Settings, resolved: Resolved, pull: Pull, notify: Notify) -> StartedServer:
        from pytest_plsqlbench.engines.oracle.engine import probe_login  # noqa: PLC0415 (heavy)
        from pytest_plsqlbench.servers.oracle_container import IMAGE, start_oracle_container  # noqa: PLC0415

        return start_oracle(
            resolved.dsn or resolved.choice,
            given=resolved.given,
            probe=probe_login,
            container=lambda: start_oracle_container(
                settings.oracle_image or IMAGE, pull=pull, notify=notify
            ),
            sweep=_sweep,
        )

    def why_lost(self, dialect: Dialect) -> str | None:
        """What became of the server of a dialect, on one line; None while it answers, or cannot be asked."""
        for server in self._servers:
            if server.address.dialect == dialect and (why := _why_lost(server)):
                return f"the {dialect} server ({server.address.label}) is lost: {why}"
        return None

    def stop(self) -> None:
        """Stop all servers; every one is stopped, whatever another one does."""
        try:
            while self._servers:
                self._servers.pop().stop()
        except UserError as error:
            print(f"plsqlbench: {error}", file=sys.stderr)  # noqa: T201 (pytest's own reporter is gone)
        finally:
            if self._servers:
                self.stop()


def _why_lost(server: StartedServer) -> str | None:
    why_down = getattr(server, "why_down", None)  # of a container
    if why_down is not None and (why := why_down()):
        return f"the container has ended: {why}"
    if server.address.dialect == "postgres":
        from pytest_plsqlbench.engines.postgres.admin import why_lost  # noqa: PLC0415 (drivers: if needed)

        return why_lost(server.address)
    return None


def suitable_workers(settings: Settings) -> int | None:
    """How many workers ``-n auto`` starts.

    Where a run may use an Oracle server of its own or the user's, two to four: more only make each other wait
    (Free has two CPUs), and tests run into their time limits. None: PostgreSQL alone, as many as xdist likes.
    """
    from pytest_plsqlbench.engines.oracle.capabilities import WORKERS_LEAST, WORKERS_MOST  # noqa: PLC0415
    from pytest_plsqlbench.servers.daemon import daemon_answers  # noqa: PLC0415

    if settings.dialects is not None and "oracle" not in settings.dialects:
        return None
    docker = daemon_answers if settings.dialects else None  # else Oracle is a guess: nobody is asked
    try:
        if resolve_oracle(settings.oracle, docker_answers=docker).choice == "none":
            return None
    except UserError:  # said when the servers are started
        return None
    return min(WORKERS_MOST, max(WORKERS_LEAST, os.cpu_count() or WORKERS_LEAST))


def _advice(address: ServerAddress) -> tuple[str, ...]:
    """What the engine does without on this server, and how many workers suit it."""
    from pytest_plsqlbench.engines.oracle.engine import OracleEngine  # noqa: PLC0415 (heavy)

    engine = OracleEngine(address)
    try:
        return engine.header
    finally:
        engine.close()


def _sweep(address: ServerAddress) -> None:
    """Drop what the run has left on a server of the user's, and say where that fails: it has ended by now."""
    from pytest_plsqlbench.engines.oracle.engine import default_driver, login_failure, open_admin  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.port import DriverError  # noqa: PLC0415 (heavy)
    from pytest_plsqlbench.engines.oracle.reaper import reap  # noqa: PLC0415

    admin = open_admin(address, default_driver())
    try:
        failed = reap(admin, only_run=address.run_id).failed
    except DriverError as error:
        failed = [str(login_failure(error))]
    finally:
        admin.close()
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        print(  # noqa: T201 (pytest's own reporter is gone)
            f"plsqlbench: left on {address.label}: {failed[0]}{more}; `plsqlbench reap` removes it",
            file=sys.stderr,
        )
