"""Data directories of the embedded server: made once per version, kept in the cache, copied for each run."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cachefolder import cache_root, open_file
from pytest_plsqlbench.servers.account import Account, own_account, wheel_version

_NOT_OURS = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
"""A cache that we may only read costs time, nothing else."""
_NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT))

SUPERUSER = "plsqlbench"
"""The administrating role of the embedded server."""

SETTINGS = {
    # the data is thrown away with the run: nothing needs to survive a crash of the machine
    "fsync": "off",
    "synchronous_commit": "on",  # but what was committed does survive one of the server
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "shared_buffers": "128MB",
    "huge_pages": "off",
    "dynamic_shared_memory_type": "mmap",  # in the data directory: nothing of it can outlive the run
    "io_method": "sync",
    "jit": "off",
    # the same program shows the same rows in the same order
    "max_parallel_workers_per_gather": "0",
    "synchronize_seqscans": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # reachable through a private socket only
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "400",
    # graded programs are hostile
    "client_connection_check_interval": "200ms",
    "max_prepared_transactions": "0",
    "temp_file_limit": "512MB",
    "max_locks_per_transaction": "256",
    "track_commit_timestamp": "on",  # tells in one look whether anything was committed since the last one
    "max_worker_processes": "0",
    "log_min_messages": "fatal",  # RAISE LOG passes a limit of "error", and would fill the log
    "log_min_error_statement": "panic",
    "restart_after_crash": "on",
}
_INITDB = (
    "--no-sync",
    "--no-instructions",
    "--encoding=UTF8",
    "--locale-provider=builtin",  # the same order of text on every machine
    "--locale=C.UTF-8",
    "--lc-messages=C",
    "--wal-segsize=4",
    "--no-data-checksums",
    "--auth=reject",
    f"--username={SUPERUSER}",
)
_FIRST_STATEMENTS = (
    "REVOKE CONNECT, TEMPORARY ON DATABASE postgres FROM PUBLIC",
    # a third of the files to copy at each start; our databases come from template0
    "UPDATE pg_database SET datistemplate = false WHERE datname = 'template1'",
    "DROP DATABASE template1",
)


def _key() -> str:
    recipe = repr((_INITDB, _FIRST_STATEMENTS))
    return f"data-{wheel_version()}-{platform.machine()}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def provide(target: Path, binaries: Path, account: Account, sockets: Path) -> Path | None:
    """Put a ready data directory at ``target`` (which does not exist yet), owned by ``account``.

    Returns:
        The kept data directory that it is a copy of; None where it was made anew.

    Raises:
        UserError: it could not be made: no space, initdb failed, or what was kept cannot be copied.
    """
    kept = None
    try:
        kept = _kept(binaries, account, target.parent)
        if kept is None:
            _initialize(target, binaries, account)
        else:
            _copy(str(kept), str(target), account if account.uid != os.geteuid() else None)
        _configure(target, sockets)
    except OSError as error:
        mend = "free some space or set TMPDIR to a folder that has it"
        if error.errno not in _NO_SPACE:
            mend = if_damaged(kept) or mend
        reason = f"{error.strerror or error}; {mend}"
        raise UserError(
            f"cannot set up the embedded PostgreSQL server in {target.parent}: {reason}"
        ) from None
    return kept


def if_damaged(kept: Path | None) -> str:
    """What mends a fault that a kept data directory may be the cause of; empty where there is none."""
    return f"if this happens again, delete {kept}, which is then made anew" if kept is not None else ""


def _kept(binaries: Path, account: Account, scratch: Path) -> Path | None:
    """The data directory in the cache, made now if it is not there; None where no cache can be written."""
    root = cache_root()
    kept = root / _key()
    if (kept / "PG_VERSION").is_file():
        return kept
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / f"{kept.name}.lock")
        with lock:
            if (kept / "PG_VERSION").is_file():
                return kept
            fresh = Path(tempfile.mkdtemp(prefix=f"{kept.name}.", dir=root))
            made = scratch / "initdb"
            try:
                _initialize(made, binaries, account)
                _copy(str(made), str(fresh / "data"))
                (fresh / "data").rename(kept)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
                shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        if error.errno in _NOT_OURS:
            return None
        raise UserError(
            f"the cache folder {root} cannot be used: {error.strerror or error};"
            " set PLSQLBENCH_CACHE_DIR to a folder that can be written"
        ) from None
    return kept


def _initialize(data: Path, binaries: Path, account: Account) -> None:
    data.mkdir(mode=0o700)
    if account.uid != os.geteuid():
        os.chown(data, account.uid, account.gid)
    _call([str(binaries / "bin" / "initdb"), *_INITDB, "-D", str(data)], account)
    single = [str(binaries / "bin" / "postgres"), "--single", "-c", "fsync=off", "-D", str(data), "postgres"]
    _call(single, account, text="".join(f"{statement};\n" for statement in _FIRST_STATEMENTS))


def _call(command: list[str], account: Account, text: str = "") -> None:
    other = {"user": account.uid, "group": account.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(  # noqa: S603 (a program of the server's, no shell)
        command,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        cwd="/",
        env=server_environment(),
        check=False,
        **other,  # type: ignore[call-overload]
    )
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reasons = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()] or lines[-1:]
        raise UserError(f"{Path(command[0]).name} failed: {' '.join(reasons[-1:]) or done.returncode}")


def server_environment() -> dict[str, str]:
    """Environment of the server: none of ours reaches it, so that none of ours changes what programs show."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _copy(source: str, target: str, account: Account | None = None) -> None:
    """Copy a tree of plain files as 0700 and 0600, for another account where one is given."""
    os.mkdir(target, 0o700)  # noqa: PTH102  (text, not paths: a thousand small files, each call counts)
    if account is not None:
        os.chown(target, account.uid, account.gid)
    with os.scandir(source) as entries:
        for entry in entries:
            copy = f"{target}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                _copy(entry.path, copy, account)
            else:
                _copy_file(entry.path, copy, account)


def _copy_file(source: str, target: str, account: Account | None) -> None:
    reader = open_file(source, os.O_RDONLY)
    try:
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if account is not None:
                os.fchown(writer, account.uid, account.gid)
            while piece := os.read(reader, 1 << 20):
                _write(writer, piece)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _write(descriptor: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece) :]


def _configure(data: Path, sockets: Path) -> None:
    settings = {**SETTINGS, "unix_socket_directories": str(sockets)}
    lines = [f"{name} = '{_quoted(value)}'\n" for name, value in settings.items()]
    (data / "postgresql.conf").write_text("".join(lines))
    # our own operating system account may log in as any role, no other account as any
    (data / "pg_hba.conf").write_text("local all all peer map=run\n")
    (data / "pg_ident.conf").write_text(f'run "{own_account().name}" all\n')


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
