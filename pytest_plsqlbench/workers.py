"""xdist: what the controller hands to workers and gets back, whole conversations, crashed workers.

Registered only where xdist is at work; see https://pytest-xdist.readthedocs.io for its hooks.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from xdist.scheduler import (
    LoadFileScheduling,
    LoadGroupScheduling,
    LoadScheduling,
    LoadScopeScheduling,
)

from pytest_plsqlbench.bench.dialect import DIALECTS, Dialect
from pytest_plsqlbench.bench.redaction import learn_from
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pytest_plsqlbench.rollcall import RollCall

INPUT = "plsqlbench"
"""Key of ``workerinput`` under which a worker finds its ``Handover``."""
USAGE_ERROR = "plsqlbench_usage_error"
"""Key of ``workeroutput``: the one-line fault of the user's that a worker met while collecting."""
NOTES = "plsqlbench_notes"
"""Key of ``workeroutput``: what a user should know about what the worker read, one line each."""
PART = "plsqlbench_part"
"""Attribute of each worker's first report, and key of ``workeroutput``: the content of ``run.json``."""
DATABASES = "plsqlbench_databases"
"""Key of ``workeroutput``: fingerprints of the databases that the worker used."""
LEFT_OUT = "plsqlbench_left_out"
"""Key of ``workeroutput``: turns that were not collected, by dialect."""
CONTROLLER = "plsqlbench_controller"
"""Key of ``workerinput``: process id of the controller."""
_BROKEN_OFF = frozenset(
    (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
)
_PR_SET_PDEATHSIG = 1
_TURN_OF_CONVERSATION = re.compile(r"^(?P<file>.*::)(?P<task>.+)_q\d+\[(?P<suffix>[^\]]*)\]$")


class Handover(msgspec.Struct, frozen=True):
    """What the controller decided, for all workers: they read neither options nor environment again."""

    settings: Settings
    addresses: tuple[ServerAddress, ...]
    at_hand: frozenset[Dialect]
    """Dialects whose turns can be played: workers choose the same turns as the controller would."""
    no_oracle: str = ""
    """Why there is no Oracle server; for results."""
    foreseen: frozenset[Dialect] = frozenset(DIALECTS)
    """Dialects that servers were looked for."""


def _process_of(node: Any) -> subprocess.Popen[bytes] | None:
    """The process of a worker of this machine; None for one that was reached through a network."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    return process if node.gateway.spec.popen and isinstance(process, subprocess.Popen) else None


def encode_handover(handover: Handover) -> str:
    """As JSON text, which ``execnet`` carries."""
    return msgspec.json.encode(handover, enc_hook=str).decode()


def worker_name(config: pytest.Config) -> str:
    """The name of this process among those of the run: ``gw0`` …, or ``main`` where it is the only one."""
    name: str = getattr(config, "workerinput", {"workerid": "main"})["workerid"]
    return name


def decode_handover(text: str) -> Handover:
    """The opposite of ``encode_handover``."""
    handover = msgspec.json.decode(text, type=Handover, dec_hook=lambda kind, value: kind(value))
    settings = handover.settings
    for given in (settings.postgres, settings.oracle, *(address.conninfo for address in handover.addresses)):
        learn_from(given)
    return handover


def conversation_of(nodeid: str) -> str | None:
    """What turns of one conversation (and sample) have in common in their ids; None for single turns."""
    match = _TURN_OF_CONVERSATION.match(nodeid)
    return "".join(match.groups()) if match else None


class WholeConversations(LoadScheduling):  # type: ignore[misc] # xdist is not typed
    """The ``load`` schedule, in which no chunk ends inside a conversation.

    A turn can be graded on any worker, since a lane plays the turns before it first; kept together they are
    cheaper, and a crashed worker costs one conversation.
    """

    def _send_tests(self, node: Any, num: int) -> None:
        collection, pending = self.collection, self.pending
        if collection is not None:
            while 0 < num < len(pending):
                group = conversation_of(collection[pending[num]])
                if group is None or group != conversation_of(collection[pending[num - 1]]):
                    break
                num += 1
        super()._send_tests(node, num)


class _ByScope(LoadScopeScheduling):  # type: ignore[misc] # xdist is not typed
    """The schedules that give out whole groups of tests, without their waiting for ever after a crash.

    What a dead worker had is given out again as it is: a group that is done, with which its new worker has
    nothing to do, or a single test, which a worker does not begin before it knows the next or that it is the
    last. Neither worker would be heard of again.
    """

    def remove_node(self, node: Any) -> str | None:
        workload = self.assigned_work.get(node, {})
        for scope in [scope for scope, tests in workload.items() if all(tests.values())]:
            del workload[scope]
        crashed: str | None = super().remove_node(node)
        self._go_on()
        return crashed

    def schedule(self) -> None:
        begun = self.collection is not None
        super().schedule()
        if begun:
            self._go_on()

    def _go_on(self) -> None:
        """Give the next group to those that have too little, or tell them that there is none."""
        for node in self.nodes:
            self._reschedule(node)


class _ByFile(_ByScope, LoadFileScheduling):  # type: ignore[misc]
    pass


class _ByGroup(_ByScope, LoadGroupScheduling):  # type: ignore[misc]
    pass


_SCHEDULES = {
    "load": WholeConversations,
    "loadscope": _ByScope,
    "loadfile": _ByFile,
    "loadgroup": _ByGroup,
}


class Worker:
    """Hooks of a worker: it ends with its controller, and without a word where that is gone."""

    def __init__(self, config: pytest.Config) -> None:
        """From now on Ctrl-C is the controller's alone, which a terminal tells all processes of a run."""
        self._input: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if os.getppid() == self._input.get(CONTROLLER):  # not where it was started through a network
            _die_with_parent()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Leave where nobody takes reports any more."""
        return (yield from _leaving_quietly())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Leave where nobody takes reports any more."""
        return (yield from _leaving_quietly())


def _leaving_quietly() -> Generator[None, object, object]:
    try:
        return (yield)
    except OSError as error:
        if "cannot send" in str(error):  # execnet's word for a controller that is gone
            os._exit(1)
        raise


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent has ended, SIGKILL included; where it can (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # noqa: PLC0415 (only in workers)

    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before
        os._exit(1)


class Controller:
    """Hooks of the process that starts the workers."""

    def __init__(
        self,
        handover: Callable[[], Handover],
        rollcall: RollCall,
        on_collection: Callable[[int], None],
        on_worker_end: Callable[[dict[str, Any]], None],
    ) -> None:
        self._handover = handover
        self._rollcall = rollcall
        self._on_collection = on_collection
        self._on_worker_end = on_worker_end
        self._crashed: set[str] = set()
        self._awaited: dict[str, pytest.TestReport] = {}
        """Turns whose worker died and that are to be played once more, with what xdist reported of them."""
        self._processes: list[subprocess.Popen[bytes]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand over settings and server addresses."""
        node.workerinput[INPUT] = encode_handover(self._handover())
        node.workerinput[CONTROLLER] = os.getpid()
        self._rollcall.call(node)
        if (process := _process_of(node)) is not None:
            self._processes.append(process)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Where the run was broken off, workers do not end their turns first."""
        if exitstatus in _BROKEN_OFF:
            for process in self._processes:
                process.terminate()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Learn what is to be done now: a worker that does not end in good order cannot tell."""
        self._rollcall.take(node, ids)
        self._on_collection(self._rollcall.collected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what a worker that ended in good order says."""
        del error
        self._on_worker_end(getattr(node, "workeroutput", {}))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Keep conversations whole under the default schedule; other schedules are as the user asked."""
        schedule = _SCHEDULES.get(config.getvalue("dist"))
        return None if schedule is None else schedule(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """A turn whose worker died is graded once more; the second time it is an infrastructure error."""
        if crashitem not in self._rollcall:
            return
        self._awaited.pop(crashitem, None)
        if crashitem not in self._crashed and _put_back(crashitem, sched):
            self._crashed.add(crashitem)
            self._awaited[crashitem] = copy.copy(report)
            report.outcome = "rerun"
        else:
            self._lose(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """See a turn end that is played once more."""
        ended = report.when == "call" or report.outcome in {"failed", "skipped"}
        if ended and str(report.outcome) != "rerun":
            self._awaited.pop(report.nodeid, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Where no worker was left to play a turn once more, it does not go without a word."""
        done = yield
        for report in list(self._awaited.values()):
            report.longrepr = f"{report.longrepr}, and no worker was left to run it once more"
            self._lose(report)
            session.config.hook.pytest_runtest_logreport(report=report)
        return done

    def _lose(self, report: Any) -> None:
        """Make what xdist says of a turn whose worker died an infrastructure error, if it can be told."""
        result = self._rollcall.lost(report.nodeid, str(report.longrepr))
        if result is not None:
            report.when = "setup"
            report.plsqlbench_result = msgspec.json.encode(result).decode()


def _put_back(item: str, sched: Any) -> bool:
    """Have a test whose worker died run once more; whether it will be."""
    if isinstance(sched, LoadScopeScheduling):
        return True  # it has done so with all that the worker had to do
    try:
        sched.mark_test_pending(item)
    except NotImplementedError:  # each worker runs its own tests, or a schedule of the user's
        return False
    return True
