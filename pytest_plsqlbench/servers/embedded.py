"""The embedded server: PostgreSQL from a wheel, private to one run, gone when the run ends in any way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_plsqlbench.bench.limits import DEFAULTS
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers import datadir
from pytest_plsqlbench.servers.account import binaries_for, server_account
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.naming import owner_role, quoted
from pytest_plsqlbench.servers.postgres_session import open_session, settled
from pytest_plsqlbench.servers.rundir import RunDirectory

PROCESS_MEMORY = DEFAULTS.server_memory
"""Address space of each server process, in bytes: a program that wants more gets "out of memory" (53200)."""

_START_SECONDS = 60.0
_LAST_LINES = 3
_LOG_PREFIX = re.compile(r"^\S+ \S+ \S+ \[\d+\] ")


class EmbeddedServer:
    """A running embedded server. Use as a context manager, or call ``stop``."""

    def __init__(
        self, directory: RunDirectory, keeper: subprocess.Popen[bytes], address: ServerAddress
    ) -> None:
        self._directory = directory
        self._keeper = keeper
        self.address = address

    @classmethod
    def start(cls, bases: Sequence[Path] | None = None, memory: int = PROCESS_MEMORY) -> EmbeddedServer:
        """Start a server of our own and wait until it answers.

        Args:
            bases: folders to run in, best first; None: memory where there is room, else TMPDIR.
            memory: address space of each server process, in bytes; 0 for no limit.

        Raises:
            UserError: it cannot start; one line says why and what to do.
        """
        account = server_account()
        binaries = binaries_for(account)
        directory = RunDirectory.create(bases)
        keeper = None
        try:
            if account.uid != os.geteuid():
                directory.hand_to(account.uid, account.gid)
            kept = datadir.provide(directory.data, binaries, account, directory.sockets)
            config = {
                "argv": [str(binaries / "bin" / "postgres"), "-D", str(directory.data)],
                "environment": datadir.server_environment(),
                "uid": account.uid,
                "gid": account.gid,
                "memory": memory,
                "log": str(directory.path / "log"),
                "lock": str(directory.lock_path),
                "folders": [str(folder) for folder in dict.fromkeys((directory.path, directory.sockets))],
            }
            script = Path(__file__).with_name("keeper.py")
            keeper = subprocess.Popen(  # noqa: S603 (our own script)
                [sys.executable, "-I", "-S", str(script), json.dumps(config)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
            )
            version = _wait(directory, keeper, datadir.if_damaged(kept))
        except BaseException:
            _end(directory, keeper)
            raise
        address = ServerAddress(
            dialect="postgres",
            kind="embedded",
            conninfo=_conninfo(directory),
            label="embedded",
            version=version,
            run_id=directory.run_id,
            superuser=True,
        )
        return cls(directory, keeper, address)

    @property
    def directory(self) -> Path:
        """The run's folder."""
        return self._directory.path

    def stop(self) -> None:
        """Stop the server and remove its folder; does nothing when that was done."""
        _end(self._directory, self._keeper)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _conninfo(directory: RunDirectory) -> str:
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415  (only where a server starts)

    return settled(
        make_conninfo(
            host=str(directory.sockets),
            port=5432,
            user=datadir.SUPERUSER,
            dbname="postgres",
            connect_timeout=10,
        )
    )


def _wait(directory: RunDirectory, keeper: subprocess.Popen[bytes], mend: str) -> str:
    """Wait until the server answers; returns its version. ``mend`` is what may help where it does not."""
    import psycopg  # noqa: PLC0415

    assert keeper.stdout is not None
    os.set_blocking(keeper.stdout.fileno(), False)
    end = time.monotonic() + _START_SECONDS
    conninfo = _conninfo(directory)
    while True:
        try:
            with open_session(conninfo) as connection:
                connection.execute(f"CREATE ROLE {quoted(owner_role(directory.run_id))}".encode())
                version = connection.info.parameter_status("server_version") or "?"
            assert keeper.stdin is not None
            os.write(keeper.stdin.fileno(), b"up\n")
            return version  # noqa: TRY300
        except psycopg.OperationalError as error:
            ended = keeper.poll() is not None or keeper.stdout.read() is not None
            if ended or time.monotonic() > end:
                reason = _last_words(directory.path / "log") or str(error).splitlines()[-1]
                words = "; ".join(part for part in (reason, mend) if part)
                raise UserError(f"the embedded PostgreSQL server did not start: {words}") from None
        time.sleep(0.004)


def _last_words(log: Path) -> str:
    """The end of the server's log on one line, without times and process ids."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    words = [_LOG_PREFIX.sub("", line.strip()) for line in lines if line.strip()]
    return "; ".join(words[-_LAST_LINES:])


def _end(directory: RunDirectory, keeper: subprocess.Popen[bytes] | None) -> None:
    """Close the pipe the keeper waits on, wait for it, and do its work where it did not."""
    if keeper is not None:
        for pipe in (keeper.stdin, keeper.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            keeper.wait(timeout=15)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
    directory.remove()
