"""The private folder of one run: unique, locked while the run lives, swept when its processes are dead."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.reaped import Reaped

_MEMORY = Path("/dev/shm")  # noqa: S108  (the memory file system; our folders there are 0700 and unique)
_MEMORY_NEEDED = 1 << 30
_DISK_NEEDED = 256 << 20
_SOCKET_NAME = ".s.PGSQL.5432.lock"
_SOCKET_PATH_MAX = 103
"""Bytes of a socket's path: 107 on Linux, 103 on BSD and macOS."""


def candidate_bases() -> list[Path]:
    """Folders to run in, best first: memory where there is room, else the folder for temporary files."""
    bases = [Path(tempfile.gettempdir())]
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) and _free(_MEMORY) >= _MEMORY_NEEDED:
        bases.insert(0, _MEMORY)
    return bases


def _socket_bases() -> list[Path]:
    return [Path("/tmp"), Path("/var/tmp"), _MEMORY]  # noqa: S108  (unique 0700 folders below them)


def _free(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class RunDirectory:
    """A folder 0700 named ``plsqlbench-<uid>-<run id>`` beside its lock file.

    Every process of the run that must end before the folder may go holds the lock shared; who obtains it
    exclusively knows that they are all dead.
    """

    def __init__(self, path: Path, sockets: Path, run_id: str, lock: int) -> None:
        self.path = path
        self.sockets = sockets
        """Folder of the server's socket, short enough for one; ``path`` itself where that is."""
        self.run_id = run_id
        self._lock = lock

    @property
    def lock_path(self) -> Path:
        """The lock file."""
        return _lock_of(self.path)

    @property
    def data(self) -> Path:
        """The server's data directory."""
        return self.path / "data"

    @classmethod
    def create(cls, bases: Sequence[Path] | None = None) -> RunDirectory:
        """Make a new one in the first base that has room, after sweeping those of dead runs.

        Raises:
            UserError: no room, no writable base, or no place with a short enough path for a socket.
        """
        bases = candidate_bases() if bases is None else list(bases)
        sweep(bases)
        reasons = []
        for base in bases:
            try:
                if _free(base) < _DISK_NEEDED:
                    reasons.append(f"{base}: less than {_DISK_NEEDED >> 20} MB free")
                    continue
                return cls._create_in(base)
            except OSError as error:
                reasons.append(f"{base}: {error.strerror or error}")
        raise UserError(
            f"no place to run the embedded PostgreSQL server ({'; '.join(reasons)});"
            " free some space or set TMPDIR to a folder that has it"
        )

    @classmethod
    def _create_in(cls, base: Path) -> RunDirectory:
        while True:
            run_id = secrets.token_hex(4)
            path = base / f"plsqlbench-{os.geteuid()}-{run_id}"
            lock = _new_lock(_lock_of(path))
            if lock is not None:
                break
        try:
            path.mkdir(mode=0o700)
            sockets = path if _fits(path) else _short_folder(path.name)
            if sockets != path:
                os.write(lock, f"{sockets}\n".encode())
        except BaseException:
            with contextlib.suppress(OSError):
                path.rmdir()
            _lock_of(path).unlink()
            os.close(lock)
            raise
        return cls(path, sockets, run_id, lock)

    def hand_to(self, uid: int, gid: int) -> None:
        """Give the folders to the server's account."""
        for folder in {self.path, self.sockets}:
            os.chown(folder, uid, gid)

    def release(self) -> None:
        """Let the lock go."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def remove(self) -> None:
        """Stop what still runs in the folder, remove it and its lock. May be called again."""
        _remove(self.path, self.sockets)
        self.release()


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _new_lock(path: Path) -> int | None:
    """Create and lock a file of that name; None where a sweeper was quicker or the name exists."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        if path.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except FileNotFoundError:
        pass
    os.close(lock)
    return None


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder / _SOCKET_NAME)) <= _SOCKET_PATH_MAX


def _short_folder(name: str) -> Path:
    for base in _socket_bases():
        folder = base / f"{name}.s"
        if not _fits(folder):
            continue
        try:
            folder.mkdir(mode=0o700)
        except OSError:
            continue
        return folder
    raise UserError(
        f"the path of the folder for temporary files ({tempfile.gettempdir()}) is too long for a server's"
        " socket, and no shorter place is writable; set TMPDIR to a short path"
    )


def sweep(bases: Sequence[Path]) -> list[Path]:
    """Remove the folders of runs of this user whose processes are all dead; returns what was removed."""
    return [path for path, dead in _visit(bases, dry_run=False) if dead and not path.exists()]


def reap(*, dry_run: bool = False) -> Reaped:
    """As ``sweep``, telling what was found; ``dry_run``: nothing is removed."""
    found = Reaped()
    for path, dead in _visit((), dry_run=dry_run):
        if not dead:
            found.kept.append(f"folder {path}")
        elif dry_run or not path.exists():
            found.dropped.append(f"folder {path}")
        else:
            found.failed.append(f"folder {path}: it cannot be removed")
    return found


def _visit(bases: Sequence[Path], *, dry_run: bool) -> Iterator[tuple[Path, bool]]:
    """The folders of runs of this user, and whether all processes of the run are dead; removes those."""
    for base in dict.fromkeys((*bases, *candidate_bases())):
        for lock_path in _locks(base):
            path = lock_path.with_name(lock_path.name.removesuffix(".lock"))
            try:
                lock = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                if os.fstat(lock).st_uid != os.geteuid():
                    continue
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not dry_run:
                    elsewhere = os.read(lock, 4096).decode(errors="replace").strip()
                    _remove(path, Path(elsewhere) if elsewhere else path)
                dead = True
            except BlockingIOError:
                dead = False
            finally:
                os.close(lock)
            yield path, dead


def _locks(base: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(base.glob(f"plsqlbench-{os.geteuid()}-*.lock"))


def _remove(path: Path, sockets: Path) -> None:
    _stop_server(path / "data")
    shutil.rmtree(path, ignore_errors=True)
    if sockets.name == f"{path.name}.s":
        shutil.rmtree(sockets, ignore_errors=True)
    if not path.exists():
        with contextlib.suppress(FileNotFoundError):
            _lock_of(path).unlink()


def _stop_server(data: Path) -> None:
    """Stop the server whose data directory this is, if it is provably that one and still runs."""
    try:
        pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return
    for number, seconds in ((signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0)):
        end = time.monotonic() + seconds
        while _works_in(pid, data):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            if time.monotonic() > end:
                break
            time.sleep(0.01)
        else:
            return


def _works_in(pid: int, data: Path) -> bool:
    """Whether process ``pid`` has ``data`` as its working directory, as the server of that directory has."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM}:
            raise
        return False
