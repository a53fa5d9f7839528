"""One run at a time writes to a report folder: it holds a lock there, which ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.linefile import stands_at

if TYPE_CHECKING:
    from pathlib import Path

LOCK_FILE = ".plsqlbench.lock"
"""In the report folder while a run writes there; what a killed run leaves of it locks nothing."""


class FolderLock:
    """The claim of a run to its report folder.

    Where no lock can be had (the folder is not there yet or cannot be written, the file system has no
    ``flock``), there is none, and nobody is refused: the files themselves find out what has become of them.
    """

    def __init__(self, folder: Path, called: str) -> None:
        """Nothing is claimed yet.

        Args:
            folder: the report folder.
            called: as the user would write it.
        """
        self._path = folder / LOCK_FILE
        self._called = called
        self._handle: int | None = None

    def take(self) -> None:
        """Claim the folder, where that has not been done and it is there.

        Raises:
            UserError: another run writes there; the folder was not touched.
        """
        while self._handle is None:
            try:
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError:  # who writes the first file says what is wrong with the folder
                return
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _owner(handle)
                os.close(handle)
                raise UserError(
                    f"another run{owner} writes to {self._called}; name another folder with --plsql-report"
                ) from None
            except OSError:  # no locks here
                os.close(handle)
                self._remove()
                return
            if stands_at(handle, self._path):
                self._handle = handle
                _sign(handle)
            else:  # the run that had it has just ended
                os.close(handle)

    def release(self) -> None:
        """Give the folder free."""
        if self._handle is None:
            return
        if stands_at(self._handle, self._path):
            self._remove()
        os.close(self._handle)
        self._handle = None

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


def _sign(handle: int) -> None:
    """Say in the file which run has locked it."""
    with contextlib.suppress(OSError):  # a full disk
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {os.uname().nodename}\n".encode(), 0)


def _owner(handle: int) -> str:
    """Which run has locked a file, as far as it says so."""
    try:
        number, machine = os.pread(handle, 300, 0).decode().split()
    except (OSError, ValueError):  # it is just about to say so
        return ""
    return f", pid {number}," if machine == os.uname().nodename else f", pid {number} on {machine},"
