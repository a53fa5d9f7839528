"""A run of pytest in a process of its own, a fault in its midst, and what is true after it.

Three things are checked, whatever the fault: a turn that was graded has the verdict of the undisturbed run; a
result that was on disk before the fault can be read after it; nothing of the run is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fault_processes import Process, descendants, keeper_config, wait_gone

Verdicts = dict[str, tuple[Any, ...]]
Fault = Callable[["FaultRun", Random], None]

PATIENCE = 240.0
"""Seconds in which a run must have ended, whatever befell it."""


def verdict(result: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must not change: everything but times, flags and texts."""
    tests = tuple((t["name"], t["verdict"], t.get("category"), t.get("subcategory")) for t in result["tests"])
    return (result["status"], result["passed"], result["total"], result["solved"], tests)


def some_workers(random: Random) -> tuple[str, ...]:
    """Options for two workers, or for none."""
    return ("-n", "2") if random.random() < 0.5 else ()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines of a results file, as they are on disk now."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [json.loads(line) for line in data.split(b"\n")[:-1] if line.strip()]


@dataclass
class Outcome:
    """What came of a run with a fault in it."""

    code: int
    output: str
    seconds: float
    faults: int
    graded: int
    total: int
    statuses: Counter[str]
    summary: dict[str, Any] | None
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What was left when the run had ended; the next start must remove it."""
    left_at_last: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Fail where a promise is broken."""
        assert not self.wrong, f"wrong verdicts: {self.wrong}\n{self.output[-4000:]}"
        assert not self.lost, f"lost results: {self.lost}\n{self.output[-4000:]}"
        assert not self.left_at_last, f"leftovers: {self.left_at_last}\n{self.output[-4000:]}"

    @property
    def line(self) -> str:
        """One line for the log."""
        statuses = ", ".join(f"{n} {s}" for s, n in sorted(self.statuses.items()))
        parts = (
            f"{self.faults} faults",
            f"exit {self.code}",
            f"{self.seconds:.1f} s",
            f"{self.graded}/{self.total} graded ({statuses})",
            f"wrong {len(self.wrong)}",
            f"lost {len(self.lost)}",
            f"left {len(self.left)}/{len(self.left_at_last)}",
        )
        return ", ".join(parts)


class FaultRun:
    """One run."""

    def __init__(
        self,
        suite: Path,
        report: Path,
        *options: str,
        environment: Mapping[str, str],
        expected: Verdicts | None = None,
    ) -> None:
        self.suite = suite
        self.report = report
        self.results = report / "results.jsonl"
        self.options = options
        self.environment = dict(environment)
        self.expected = expected
        self.family: dict[int, Process] = {}
        self.before: list[dict[str, Any]] = []
        self.faults = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the run has ended)
        self._said = ""

    # -- life --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start pytest in a process group of its own, as a shell does."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--plsql-predictions=out.jsonl",
            f"--plsql-report={self.report}",
            "-q",
            "--tb=line",
            "--no-header",
            "-rN",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
            *self.options,
        ]
        self.process = subprocess.Popen(
            command,
            cwd=self.suite,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Of the controller, or of the only process."""
        assert self.process is not None
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended by itself yet."""
        assert self.process is not None
        return self.process.poll() is None

    def done(self) -> int:
        """How many results are on disk."""
        try:
            return self.results.read_bytes().count(b"\n")
        except OSError:
            return 0

    def wait_for(self, turns: int) -> bool:
        """Wait until so many results are on disk; False where the run ended before."""
        end = time.monotonic() + PATIENCE
        while self.done() < turns:
            if not self.running:
                return False
            assert time.monotonic() < end, f"no progress beyond {self.done()} turns\n{self.output()}"
            time.sleep(0.003)
        return self.running

    def meet(self) -> None:
        """Take note of the processes of the run, and of what is on disk."""
        for process in descendants(self.pid):
            self.family.setdefault(process.pid, process)
        self.before = read_lines(self.results)

    @property
    def workers(self) -> list[Process]:
        """The processes of xdist."""
        return [
            p for p in descendants(self.pid) if "import sys;exec(eval(sys.stdin.readline()))" in p.command
        ]

    @property
    def keeper(self) -> Process | None:
        """The keeper of the run's embedded server."""
        return next((p for p in self.family.values() if keeper_config(p) is not None), None)

    @property
    def postmaster(self) -> Process | None:
        """The run's embedded server."""
        keeper = self.keeper
        if keeper is None:
            return None
        return next((p for p in descendants(keeper.pid) if "-D" in p.command), None)

    def output(self) -> str:
        """What it has printed."""
        if not self._log.closed:
            self._log.seek(0)
            self._said = self._log.read().decode(errors="replace")
        return self._said

    def end(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; returns the exit code.

        Raises:
            AssertionError: it does not end.
        """
        assert self.process is not None
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.abandon()
            raise AssertionError(f"the run does not end\n{self.output()[-4000:]}") from None
        finally:
            self.output()
            self._log.close()

    def abandon(self) -> None:
        """Kill it and all it started."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.output()
        self._log.close()

    # -- what is left ------------------------------------------------------------------------------------

    def folders(self) -> list[Path]:
        """Folders, sockets and locks of the run's embedded server."""
        found: list[Path] = []
        for process in self.family.values():
            config = keeper_config(process)
            if config is not None:
                folders = config["folders"]
                assert isinstance(folders, list)
                found += [Path(folder) for folder in folders] + [Path(str(config["lock"]))]
        return found

    def leftovers(self, seconds: float) -> list[str]:
        """Processes and folders that are still there some seconds after the end."""
        end = time.monotonic() + seconds
        left = wait_gone(list(self.family.values()), seconds)
        while (folders := [f for f in self.folders() if f.exists()]) and time.monotonic() < end:
            time.sleep(0.05)
        return [p.shown for p in left] + [str(folder) for folder in folders]


class FaultBench:
    """A suite, its undisturbed verdicts, and runs of it with faults."""

    def __init__(self, folder: Path, turns: int, cache: Path, write: Callable[[Path, int], Path]) -> None:
        self.folder = folder
        self.suite = folder / "suite"
        self.turns = turns
        self.cache = cache
        self._count = 0
        write(self.suite, turns)
        self.expected: Verdicts = {}
        outcome = self.run(None, Random(0), "-n", "2")
        assert outcome.code == 1, outcome.output
        assert set(outcome.statuses) == {"graded"}, outcome.output
        self.total = outcome.total
        self._one: Path | None = None

    def environment(self, *, cold: bool) -> dict[str, str]:
        """Of a run; cold: what references show is not known yet."""
        cache = self.cache
        if cold:
            self._count += 1
            cache = self.folder / f"cache-{self._count}"
            cache.mkdir()
            for kept in self.cache.iterdir():
                if kept.name != "plsqlbench-references":
                    (cache / kept.name).symlink_to(kept)
        return {
            "PLSQLBENCH_CACHE_DIR": str(cache),
            "PLSQLBENCH_ORACLE": "none",
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTEST_ADDOPTS": "",
        }

    def run(
        self,
        fault: Fault | None,
        random: Random,
        *options: str,
        report: Path | None = None,
        environment: Mapping[str, str] | None = None,
        at: tuple[float, float] = (0.02, 0.9),
        left: Callable[[], list[str]] = list,
        sweep: Callable[[], None] | None = None,
    ) -> Outcome:
        """Run the suite, let a fault happen at a random moment, and see what is true afterwards.

        Args:
            fault: what befalls the run; None: nothing.
            random: chooses the moment.
            options: of pytest.
            report: folder of results; None: a fresh one.
            environment: variables beside the usual ones.
            at: between which parts of the run.
            left: names what is left on a server or daemon.
            sweep: another start, after which nothing may be left; None: a short run of the same kind.
        """
        self._count += 1
        report = report or self.folder / f"report-{self._count}"
        usual = self.environment(cold=fault is not None and random.random() < 0.5)
        run = FaultRun(self.suite, report, *options, environment={**usual, **(environment or {})})
        started = time.monotonic()
        run.start()
        try:
            if fault is not None and run.wait_for(max(1, int(self.total * random.uniform(*at)))):
                time.sleep(random.random() * 0.05)
                run.meet()
                fault(run, random)
            code = run.end()
        except BaseException:
            run.abandon()
            raise
        seconds = time.monotonic() - started
        outcome = self._judge(run, code, seconds)
        if fault is None:
            return outcome
        outcome.left = run.leftovers(6.0) + left()
        outcome.left_at_last = outcome.left
        if outcome.left:
            (sweep or self._start_again)()
            outcome.left_at_last = run.leftovers(6.0) + left()
        return outcome

    def _start_again(self) -> None:
        """The next start, with the default server."""
        run = FaultRun(
            self.suite,
            self.folder / "again",
            "--plsql-postgres=embedded",
            "-k",
            "fault-0",
            environment=self.environment(cold=False),
        )
        run.start()
        assert run.end() == 0, run.output()

    def _judge(self, run: FaultRun, code: int, seconds: float) -> Outcome:
        after = {r["turn_id"]: r for r in read_lines(run.results)}
        if not self.expected:
            self.expected = {name: verdict(r) for name, r in after.items()}
        summary = None
        with contextlib.suppress(OSError):
            summary = json.loads((run.report / "summary.json").read_text())
        wrong = [
            f"{name}: {verdict(r)} instead of {self.expected[name]}"
            for name, r in after.items()
            if r["status"] != "infrastructure_error" and verdict(r) != self.expected[name]
        ]
        lost = []
        for result in run.before:
            now = after.get(result["turn_id"])
            if result["status"] == "graded" and (now is None or verdict(now) != verdict(result)):
                lost.append(result["turn_id"])
        statuses = Counter(r["status"] for r in after.values())
        return Outcome(
            code=code,
            output=run.output(),
            seconds=seconds,
            faults=max(1, run.faults),
            graded=statuses["graded"],
            total=len(self.expected),
            statuses=statuses,
            summary=summary,
            wrong=wrong,
            lost=lost,
        )


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of a few bytes in memory, mounted at a folder (root only).

    Raises:
        PermissionError: mounting is not allowed here.
    """
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "plsqlbench-test", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PermissionError(done.stderr.strip() or "cannot mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)
