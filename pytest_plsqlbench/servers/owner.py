"""Which process a left-behind thing belongs to, and whether that process is dead."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
from pathlib import Path
from typing import Self

import msgspec

_MACHINE_ID = Path("/etc/machine-id")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Owner(msgspec.Struct, frozen=True):
    """A process, told apart from later ones with the same number and from those of other hosts."""

    host: str
    """Digest of host name and machine id."""
    boot: str
    """Changes when the host starts anew; empty where the system does not tell."""
    namespace: str
    """In which process numbers are valid; empty where the system has no such thing."""
    pid: int
    start: str
    """When the process started, as the system tells it."""

    @classmethod
    def this_process(cls) -> Self:
        """The calling process."""
        pid = os.getpid()
        return cls(_host(), _text(_BOOT_ID)[:8], _namespace(), pid, _start(pid) or "")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what ``str`` wrote; None where it is something else."""
        parts = text.split(":")
        if len(parts) != 5 or not parts[3].isdigit():
            return None
        return cls(parts[0], parts[1], parts[2], int(parts[3]), parts[4])

    def __str__(self) -> str:
        return f"{self.host}:{self.boot}:{self.namespace}:{self.pid}:{self.start}"

    def is_dead(self) -> bool | None:
        """Whether the process has ended; None where that cannot be known from here (another host)."""
        if self.host != _host():
            return None
        if self.boot != _text(_BOOT_ID)[:8]:
            return True
        if self.namespace != _namespace():
            return None
        if not self.start:  # it could not even be told of itself
            return None
        start = _start(self.pid)
        return None if start is None and _hidden(self.pid) else start != self.start


def _host() -> str:
    name = f"{socket.gethostname()}\n{_text(_MACHINE_ID)}"
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _hidden(pid: int) -> bool:
    """Whether a process is another user's that the system does not show (``hidepid``)."""
    if Path(f"/proc/{pid}").exists():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def _start(pid: int) -> str | None:
    """When a process started; None where it does not run (any more)."""
    if Path("/proc/self/stat").exists():
        # pid (name) state ppid … starttime …: the name may hold anything, parentheses and blanks included
        fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        return fields[19] if fields and fields[0] not in "ZX" else None
    shown = subprocess.run(  # noqa: S603 (a number is all that varies)
        ["ps", "-o", "lstart=", "-p", str(pid)],  # noqa: S607 (where it lies differs among systems)
        capture_output=True,
        text=True,
        check=False,
    )
    return "".join(char for char in shown.stdout if char.isalnum()) or None
