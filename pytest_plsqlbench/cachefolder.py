"""The cache folder: where it lies, what in it is ours, and how its files are read.

A user may name any folder for it, the project's own among them, and whatever lies in it may be damaged. So
what is removed bears a name that nobody else gives, and what is opened is an ordinary file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path


def cache_root() -> Path:
    """The folder that ``PLSQLBENCH_CACHE_DIR`` names, else the user's cache folder; it may not exist yet."""
    given = os.environ.get("PLSQLBENCH_CACHE_DIR")
    if given:
        return Path(given).absolute()
    import platformdirs  # noqa: PLC0415 (only without the variable)

    return Path(platformdirs.user_cache_dir("pytest-plsqlbench", appauthor=False))


def own_folder(name: str) -> Path:
    """A folder below the cache folder in which files come and go: none of the user's is called so."""
    return cache_root() / f"plsqlbench-{name}"


def own_entries(
    folder: Path, names: re.Pattern[str], kind: Callable[[int], bool] = stat.S_ISREG
) -> list[tuple[Path, os.stat_result]]:
    """What lies in a folder under names that we give. Links are not followed, and none is listed.

    Args:
        folder: one of ours; a link in its place holds nothing.
        names: the whole of such a name.
        kind: what an entry's mode must say.
    """
    found: list[tuple[Path, os.stat_result]] = []
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return found
        with os.scandir(folder) as entries:
            ours = [entry for entry in entries if names.fullmatch(entry.name)]
    except OSError:
        return found
    for entry in ours:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # another process was faster
            continue
        if kind(status.st_mode):
            found.append((folder / entry.name, status))
    return found


def open_file(path: str | Path, flags: int) -> int:
    """Open an ordinary file; never wait for one that is none (a pipe), and follow no link.

    Args:
        path: of the file.
        flags: as ``os.open`` takes them; a new file is the user's alone.

    Raises:
        OSError: it cannot be opened, or is no ordinary file.
    """
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not an ordinary file", str(path))
    return handle


def read_file(path: Path, most: int) -> bytes | None:
    """Content of an ordinary file; None where it holds more than ``most`` bytes.

    Raises:
        OSError: it cannot be read, or is no ordinary file.
    """
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return file.read(size) if size <= most else None
