"""The keeper of an embedded server: a small process of its own that outlives the run by a moment.

It starts the server as its child and waits for the end of its standard input. The run holds the other end of
that pipe: however the run ends, SIGKILL included, the kernel closes the pipe, and the keeper stops the server
and removes the run's folders. Executed as a script (``python -I -S keeper.py CONFIG``) in a session of its
own, so that Ctrl-C at a terminal does not reach the server before the run has ended. Standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import sys
import time

_MOST_STARTS = 5
"""So often a server that was up and died (killed for want of memory, say) is started again."""

TYPE_CHECKING = False  # importing the module costs more than the rest of this start
if TYPE_CHECKING:
    from typing import Any, NoReturn


def _become_server(config: dict[str, Any]) -> NoReturn:
    try:
        log = os.open(config["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.chdir("/")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if config["memory"]:
            resource.setrlimit(resource.RLIMIT_AS, (config["memory"], config["memory"]))
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(config["gid"])
            os.setuid(config["uid"])
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.execve(config["argv"][0], config["argv"], config["environment"])  # noqa: S606
    except BaseException as error:  # noqa: BLE001  (a forked child must never return)
        os.write(2, f"cannot start the server: {error}\n".encode())
        os._exit(127)


class _Server:
    def __init__(self, config: dict[str, Any]) -> None:
        self.status: int | None = None
        self.program, self.data = config["argv"][0], config["argv"][-1]
        self.pid = os.fork()
        if self.pid == 0:
            _become_server(config)

    def ended(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def clear(self) -> None:
        """Kill what a server that died has left: a busy process does not notice, and holds the data."""
        for _ in range(200):
            left = _working_in(self.data, self.program)
            for pid in left:
                try:  # noqa: SIM105  (contextlib is slow to import)
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                return
            time.sleep(0.01)

    def stop(self) -> None:
        for number, seconds in ((signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0)):
            if self.ended():
                return
            os.kill(self.pid, number)  # our child, and not waited for yet: it is there
            end = time.monotonic() + seconds
            while not self.ended() and time.monotonic() < end:
                time.sleep(0.002)


def _working_in(folder: str, program: str) -> list[int]:
    """Processes of a program whose working directory it is, as it is that of all of a server's (Linux)."""
    found = []
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []
    for name in numbers:
        try:
            at_home = os.readlink(f"/proc/{name}/cwd") == folder  # noqa: PTH115
            if at_home and os.readlink(f"/proc/{name}/exe").startswith(program):  # noqa: PTH115
                found.append(int(name))
        except OSError:
            continue
    return found


def _remove(config: dict[str, Any]) -> None:
    import shutil  # noqa: PLC0415  (not needed to start)

    for folder in config["folders"]:
        shutil.rmtree(folder, ignore_errors=True)
    if not any(map(os.path.exists, config["folders"])):  # else a later run sweeps the rest
        try:  # noqa: SIM105  (contextlib is slow to import)
            os.unlink(config["lock"])  # noqa: PTH108  (pathlib is slow to import)
        except FileNotFoundError:
            pass


def _tell(text: str) -> None:
    try:  # noqa: SIM105  (contextlib is slow to import)
        os.write(1, text.encode())
    except OSError:  # nobody listens any more
        pass


def main(config: dict[str, Any]) -> int:
    """Run the server until standard input ends or SIGTERM comes, then clean up."""
    lock = os.open(config["lock"], os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    wake_read, wake_write = os.pipe()
    for fd in (wake_read, wake_write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    server = _Server(config)
    told = up = False
    starts = 0
    try:
        while not stopping:
            ready, _, _ = select.select([0, wake_read], [], [], 5.0)
            if wake_read in ready:
                os.read(wake_read, 512)
            if 0 in ready:
                if not os.read(0, 512):
                    break
                up = True  # the run has reached it
            if server.ended() and not told:
                server.clear()
                if up and starts < _MOST_STARTS:
                    starts += 1
                    server = _Server(config)
                else:
                    told = True
                    _tell(f"exit {server.status}\n")
    finally:
        server.stop()
        server.clear()
        _remove(config)
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
