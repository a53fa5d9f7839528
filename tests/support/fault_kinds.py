"""The faults: each takes a run in its midst and a source of chance."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import psycopg
from fault_processes import Process, backends, descendants, kill
from fault_proxy import Mode, Proxy
from fault_run import Fault, FaultRun


def often(fault: Fault, times: int) -> Fault:
    """A fault that a run survives, again and again while it goes on."""

    def faults(run: FaultRun, random: Random) -> None:
        for _ in range(times):
            fault(run, random)
            run.faults += 1
            if not run.wait_for(run.done() + random.randint(1, 20)):
                return
            time.sleep(random.random() * 0.05)
            run.meet()

    return faults


def kill_server_process(
    postmaster: Callable[[FaultRun], Process | None],
) -> Callable[[FaultRun, Random], None]:
    """SIGKILL to a process of the server, mostly one that serves a client: the server restarts all."""

    def fault(run: FaultRun, random: Random) -> None:
        for _ in range(random.choice((1, 1, 2))):
            server = postmaster(run)
            if server is None:
                return
            some = backends(server.pid) if random.random() < 0.8 else descendants(server.pid)
            if some:
                kill(random.choice(some), signal.SIGKILL)
            time.sleep(random.random() * 0.6)

    return fault


def kill_postmaster(
    postmaster: Callable[[FaultRun], Process | None], number: int = signal.SIGKILL
) -> Callable[[FaultRun, Random], None]:
    """A signal to the server's first process."""

    def fault(run: FaultRun, random: Random) -> None:
        server = postmaster(run)
        if server is not None:
            kill(server, number)

    return fault


def command_sessions(
    conninfo: Callable[[FaultRun], str], function: str, times: int = 3
) -> Callable[[FaultRun, Random], None]:
    """Another administrator ends or cancels sessions, graded ones and ours."""

    def fault(run: FaultRun, random: Random) -> None:
        with psycopg.connect(conninfo(run), autocommit=True) as connection:
            for _ in range(times):
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    " AND backend_type = 'client backend' ORDER BY state = 'active' DESC, pid"
                ).fetchall()
                if rows:
                    at = 0 if random.random() < 0.5 else random.randrange(len(rows))
                    connection.execute(f"SELECT {function}({rows[at][0]})".encode())
                time.sleep(random.random() * 0.3)

    return fault


def kill_worker(run: FaultRun, random: Random) -> None:
    """SIGKILL to a worker of xdist."""
    workers = run.workers
    if workers:
        kill(random.choice(workers), signal.SIGKILL)


def signal_run(
    number: int, *, group: bool = False, twice: bool = False
) -> Callable[[FaultRun, Random], None]:
    """A signal to the controller, or to all processes of its group as a terminal sends it."""

    def fault(run: FaultRun, random: Random) -> None:
        for _ in range(2 if twice else 1):
            try:
                if group:
                    os.killpg(run.pid, number)
                else:
                    os.kill(run.pid, number)
            except ProcessLookupError:
                return
            time.sleep(random.random() * 0.4)

    return fault


def fill_disk(folder: Path, *, free_again: bool = False) -> Callable[[FaultRun, Random], None]:
    """Somebody else fills the disk; sometimes there is room again after a while."""

    def fault(run: FaultRun, random: Random) -> None:
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 14, 1 << 10, 1):
                try:
                    while file.write(b"\0" * size) == size:
                        pass
                except OSError:
                    continue
        if free_again:
            time.sleep(random.random() * 2)
            filler.unlink()

    return fault


def cut_network(proxy: Proxy, mode: Mode, seconds: float | None = None) -> Callable[[FaultRun, Random], None]:
    """The way to the server is cut, for a time or for good."""

    def fault(run: FaultRun, random: Random) -> None:
        proxy.cut(mode)
        if seconds is not None:
            time.sleep(seconds * random.random())
            proxy.cut("pass")

    return fault


def cut_connections(proxy: Proxy, *, reset: bool) -> Callable[[FaultRun, Random], None]:
    """Single connections are cut, the others stay."""

    def fault(run: FaultRun, random: Random) -> None:
        for _ in range(3):
            proxy.cut_one(random.randrange(16), reset=reset)
            time.sleep(random.random() * 0.3)

    return fault
