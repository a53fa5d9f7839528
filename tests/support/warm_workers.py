"""Workers of xdist that are forked from a process in which all is imported, and not started anew.

A process forked before the run begins waits for requests of the run; each names the pipes, folder and
environment of a worker, which is forked from it and does what execnet tells it through its standard input, as
``python -c`` would. To xdist it is a process like others: it can be waited for, killed, and can crash.
"""

from __future__ import annotations

import io
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

import execnet.gateway_io
from execnet.gateway_base import ExecModel, Popen2IO

_MESSAGE = 200_000
"""Bytes of a request at most: an environment."""


class WarmWorkers:
    """Where workers are forked; made before anything of the run is."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if not os.fork():
            self._requests.close()
            _serve(theirs)
        theirs.close()

    def install(self) -> None:
        """Let execnet start its processes here."""
        workers = self

        class Forked(Popen2IO):
            """A worker, as execnet knows it."""

            def __init__(self, args: list[str], execmodel: ExecModel) -> None:
                told, tells = os.pipe()
                answers, answered = os.pipe()
                self._pid = workers.fork(told, answered)
                self._end = os.pidfd_open(self._pid)
                os.close(told)
                os.close(answered)
                super().__init__(os.fdopen(tells, "wb"), os.fdopen(answers, "rb"), execmodel=execmodel)

            def wait(self) -> int | None:
                select.select([self._end], [], [])
                return None

            def kill(self) -> None:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._end, signal.SIGKILL)

        execnet.gateway_io.Popen2IOMaster = Forked  # type: ignore[misc,assignment]

    def fork(self, told: int, answered: int) -> int:
        """Begin a worker whose standard input and output are these ends of pipes; returns its process id."""
        request = json.dumps([os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109
        socket.send_fds(self._requests, [request], [told, answered])
        return int(self._requests.recv(64))


def _serve(requests: socket.socket) -> None:
    """Fork for each request until there are no more; never returns but in a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(
        signal.SIGCHLD, signal.SIG_IGN
    )  # nobody waits for workers here: they are not to become zombies
    while True:
        request, files, _, _ = socket.recv_fds(requests, _MESSAGE, 2)
        if not request:
            os._exit(0)
        child = os.fork()
        if not child:
            requests.close()
            _work(files, *json.loads(request))
        for file in files:
            os.close(file)
        requests.send(b"%d" % child)


def _work(files: list[int], folder: str, environment: dict[str, str]) -> None:
    """Be a worker, and end."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGCHLD, signal.SIG_DFL)):
        signal.signal(number, handler)
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["-c"]
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False))
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), write_through=True)
    main: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(eval(sys.stdin.readline()), main)  # what execnet's own command line does
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
