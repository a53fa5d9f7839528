"""Processes of a run, as /proc shows them: who descends from whom, and who is gone."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process, told apart from a later one of the same number."""

    pid: int
    start: str
    command: tuple[str, ...]

    @property
    def alive(self) -> bool:
        """Whether it runs; a zombie does not."""
        now = look(self.pid)
        return now is not None and now.start == self.start

    @property
    def shown(self) -> str:
        """For messages."""
        return f"{self.pid} {' '.join(self.command)[:120]}"


def _status(pid: int) -> list[str] | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def look(pid: int) -> Process | None:
    """The process of a number; None where there is none."""
    fields = _status(pid)
    if fields is None:
        return None
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    words = tuple(part for part in raw.decode(errors="replace").split("\0") if part)
    return Process(pid, fields[19], words)


def descendants(pid: int) -> list[Process]:
    """All processes below one, nearest first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _status(int(entry.name))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[Process] = []
    queue = list(children.get(pid, ()))
    while queue:
        current = queue.pop(0)
        process = look(current)
        if process is not None:
            found.append(process)
        queue.extend(children.get(current, ()))
    return found


def backends(postmaster: int) -> list[Process]:
    """Processes of a server that serve a client."""
    return [
        process
        for process in descendants(postmaster)
        if process.command and process.command[0].startswith("postgres: plsqlbench")
    ]


def keeper_config(process: Process) -> dict[str, object] | None:
    """What a keeper of an embedded server was told; None for other processes."""
    if len(process.command) > 4 and process.command[-2].endswith("keeper.py"):
        config: dict[str, object] = json.loads(process.command[-1])
        return config
    return None


def wait_gone(processes: list[Process], seconds: float) -> list[Process]:
    """Wait until processes have ended; returns those that have not."""
    end = time.monotonic() + seconds
    while True:
        left = [process for process in processes if process.alive]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def kill(process: Process, number: int) -> bool:
    """Send a signal to a process that still runs; returns whether it did."""
    if not process.alive:
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True
