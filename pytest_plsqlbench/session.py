"""A run: what is graded, on which server, where its results go. One object a process, a pytest plugin."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_plsqlbench import workers
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.redaction import presentable
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.shard import Shard
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.closing import Closing, shown_path
from pytest_plsqlbench.datasets.dataset import Dataset
from pytest_plsqlbench.datasets.passed_over import broken_links, is_almost_tasks, why_passed_over
from pytest_plsqlbench.datasets.readers import TASK_SUFFIXES, load_file, reader_of
from pytest_plsqlbench.engines.protocol import EngineError
from pytest_plsqlbench.gating import Gating
from pytest_plsqlbench.grading.answers import extract_answers
from pytest_plsqlbench.header import header_lines
from pytest_plsqlbench.hosts import Hosts
from pytest_plsqlbench.interruption import Interruption
from pytest_plsqlbench.items import HarnessFault, TaskFile, TurnItem
from pytest_plsqlbench.news import news_of, send_news
from pytest_plsqlbench.options import read_settings
from pytest_plsqlbench.prospect import check_foreseen, dialects_ahead
from pytest_plsqlbench.reporting.earlier import EarlierResults
from pytest_plsqlbench.reporting.quarantine import QuarantineList, read_quarantine
from pytest_plsqlbench.rollcall import CollectedTurn, RollCall, answer
from pytest_plsqlbench.selection import Selection
from pytest_plsqlbench.sharing import describe_part, encode_part
from pytest_plsqlbench.statusline import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pytest_plsqlbench.bench.task import Task
    from pytest_plsqlbench.grading.answers import Answers
    from pytest_plsqlbench.grading.run import Run
    from pytest_plsqlbench.servers.address import ServerAddress
    from pytest_plsqlbench.settings import Settings


def open_session(config: pytest.Config, handed_over: str | None) -> BenchSession:
    """The session of this process: as the options say, or as the controller says to its worker.

    Raises:
        pytest.UsageError: the options or the predictions cannot be used.
    """
    if handed_over is not None:
        handover = workers.decode_handover(handed_over)
        return BenchSession(config, handover.settings, handover)
    return BenchSession(config, read_settings(config), None)


class BenchSession:
    """The hooks of one process of a run: the only one, the controller of xdist workers, or a worker."""

    def __init__(self, config: pytest.Config, settings: Settings, handover: workers.Handover | None) -> None:
        """Read the predictions, before anything runs.

        Args:
            config: of this process.
            settings: of the run.
            handover: what the controller decided; None where this process decides itself.

        Raises:
            pytest.UsageError: the predictions cannot be read.
        """
        self.config = config
        self.settings = settings
        self.is_worker = handover is not None
        self.addresses: tuple[ServerAddress, ...] = handover.addresses if handover else ()
        self._earlier = EarlierResults(settings.report)
        self._closing = Closing(config, settings, self._earlier)
        self.left_out: Counter[str] = Counter()
        self.collected = 0
        base = config.invocation_params.dir
        self._named = {(base / arg.split("::", 1)[0]).resolve() for arg in config.args}
        self._notes: dict[str, None] = {}
        self._usage_error: str | None = None
        self._worker_error: str | None = None
        self._hosts = Hosts()
        self._no_oracle = handover.no_oracle if handover else ""
        self._tasks: dict[Path, Sequence[Task]] = {}
        self._part: str | None = None
        self._databases: dict[str, str] = {}
        self._run: Run | None = None
        self._found = 0
        self._quarantine = QuarantineList()
        try:
            self._gating = Gating(settings)
            self.selection = Selection.of(settings)
            if settings.quarantine is not None:
                self._quarantine = read_quarantine(settings.quarantine)
            if not self.is_worker and not config.option.collectonly:
                self._closing.claim()
            if settings.resume and not self.is_worker:
                self._found = len(self._earlier.results)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        if handover is not None:
            self.selection.at_hand, self.selection.foreseen = handover.at_hand, handover.foreseen
        if self.is_worker:
            config.pluginmanager.register(workers.Worker(config), "plsqlbench-worker")
        else:
            config.pluginmanager.register(Interruption(self._hosts), "plsqlbench-interruption")
        if not self.is_worker and config.pluginmanager.hasplugin("xdist"):
            config.pluginmanager.register(
                workers.Controller(
                    self._handover,
                    RollCall(self.selection, settings),
                    self._on_collection,
                    self._on_worker_end,
                ),
                "plsqlbench-controller",
            )

    # -- start -------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start the servers, in the process that owns them, before workers or tests need one."""
        if self.is_worker:
            return
        try:
            self.selection.foreseen = dialects_ahead(self.config)
            if self.config.option.collectonly:
                self._hosts.expect(self.settings)
            else:
                self._hosts.start(self.settings, self.selection, self._tell)
                self._gating.check_engines(self._hosts.addresses)
        except (UserError, EngineError) as error:
            raise pytest.UsageError(str(error)) from None
        self.addresses = self._hosts.addresses
        self.selection.at_hand = self._hosts.at_hand
        if not any(address.dialect == "oracle" for address in self.addresses):
            self._no_oracle = self._hosts.oracle
        follow(self.config)

    def _tell(self, line: str) -> None:
        """Say how the start of a server or the loading of data goes on."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            reporter.write_line(presentable(f"plsqlbench: {line}", keep=""))

    def pytest_report_header(self) -> list[str]:
        """Say what is graded, how and on what."""
        return header_lines(
            self.settings,
            predictions=self.selection.label,
            addresses=self.addresses,
            hosts=self._hosts,
            no_oracle=self._no_oracle,
            quarantined=len(self._quarantine),
            resumed=f"{numbered(self._found, 'earlier result')} in {self._closing.folder}",
        )

    def _handover(self) -> workers.Handover:
        return workers.Handover(
            self.settings, self.addresses, self.selection.at_hand, self._no_oracle, self.selection.foreseen
        )

    # -- collection --------------------------------------------------------------------------------------

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> TaskFile | None:
        """Collect files that hold tasks; others stay as they are.

        Pytest asks about every file beside the folders on the way to what it collects: a file is not read
        before pytest wants its items.
        """
        if not self._holds_tasks(file_path):
            if file_path != self.settings.predictions and (note := why_passed_over(file_path)):
                self._notes[note] = None
            return None
        collector: TaskFile = TaskFile.from_parent(
            parent, path=file_path, load=self._load, selection=self.selection, grade=self.grade
        )
        return collector

    def pytest_collect_directory(self, path: Path) -> None:
        """Leave the folder to pytest, which shows no dangling link to anybody."""
        self._notes.update(dict.fromkeys(broken_links(path)))

    def _holds_tasks(self, path: Path) -> bool:
        if path == self.settings.predictions:
            return False
        if path.suffix.lower() not in TASK_SUFFIXES:
            return path in self._named and is_almost_tasks(path)
        return path in self._named or reader_of(path) is not None

    def _load(self, path: Path) -> Dataset:
        """The tasks of a file; none where it is wrong, which ends the run once collection is complete."""
        try:
            dataset = load_file(path)
        except UserError as error:
            self._fail(error)
            return Dataset(())
        self._notes.update(dict.fromkeys(dataset.notes))
        self._tasks[path] = dataset.tasks
        return dataset

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Hold predictions against tasks before -k and the like take items away; divide what they leave."""
        self._check(items, lambda turns: self.selection.check(turn.task for turn in turns))
        self._check(items, lambda turns: self._quarantine.check(turn.task for turn in turns))
        yield
        self._check(items, self._gating.check_turns)
        self._check(
            items, lambda turns: check_foreseen([turn.task for turn in turns], self.selection.foreseen)
        )
        turns = [item for item in items if isinstance(item, TurnItem)]
        if self.settings.shard is not None and self._usage_error is None:
            turns = self._divide(items, turns, Shard(*self.settings.shard))
        self.collected = len(turns)

    @pytest.hookimpl(tryfirst=True)  # before xdist tells their ids
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the controller which turn each item is."""
        if self.is_worker:
            items = session.items
            ours = (CollectedTurn(str(i.path), i.key) if isinstance(i, TurnItem) else None for i in items)
            answer(self.config, ours)

    def _divide(self, items: list[pytest.Item], turns: list[TurnItem], shard: Shard) -> list[TurnItem]:
        """Keep this shard's turns, and the items that are not ours; say which part of the run that is."""
        keys = {turn.key for turn in turns}
        tasks = [task for part in self._tasks.values() for task in part]
        part = describe_part(self.settings, shard, tasks, keys, self.selection.left_out)
        self._part = encode_part(part)
        mine = set(part.turns)
        others = [turn for turn in turns if turn.key not in mine]
        if others:
            self.config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if not (isinstance(item, TurnItem) and item.key not in mine)]
        return [turn for turn in turns if turn.key in mine]

    def _check(self, items: list[pytest.Item], check: Callable[[list[TurnItem]], None]) -> None:
        """End a run that has a fault of the user's; a worker leaves that to its controller."""
        if self._usage_error is None:
            try:
                check([item for item in items if isinstance(item, TurnItem)])
            except UserError as error:
                self._fail(error)
        if self._usage_error is not None:
            if not self.is_worker:
                raise pytest.UsageError(self._usage_error)
            items.clear()

    def _fail(self, error: UserError) -> None:
        """Remember the first fault of the user's; it ends the run once collection is complete."""
        if self._usage_error is None:
            self._usage_error = str(error)

    # -- grading -----------------------------------------------------------------------------------------

    def grade(self, item: TurnItem) -> tuple[TurnResult, Exception | None]:
        """Grade one item on this process's lanes; a fault of ours is an infrastructure error."""
        if self._run is None:
            from pytest_plsqlbench.grading.run import Run  # noqa: PLC0415 (drivers load at the first turn)

            self._run = Run(
                self.settings.compare,
                self.settings.timeout,
                self.addresses,
                workers.worker_name(self.config),
                self._no_oracle,
                self.settings.limits,
                repeat=self.settings.repeat,
                quarantine=self._quarantine.reasons,
            )
        self._run.notify = partial(send_news, item)
        try:
            done: tuple[str, ...] = ()
            answers = item.answers
            if self.settings.extract and answers is not None and not answers.gold:
                answers, done = extract_answers(answers, item.turn.index, item.task.dialect)
                item.played = answers
            result = self._reused(self._run, item, answers)
            item.reused = result is not None
            if result is None:
                result = self._run.grade(item.task, item.turn, answers, item.file.dataset)
            if self.settings.blame:
                result = self._run.blame(result, item.task, item.turn, answers, item.file.dataset)
            return msgspec.structs.replace(result, extracted=done, sample=item.sample), None
        except Exception as fault:  # noqa: BLE001 (whatever it is, it is not the program's)
            from pytest_plsqlbench.grading.run import lost_turn  # noqa: PLC0415

            reason = f"{type(fault).__name__}: {fault}"
            lost = lost_turn(item.task, item.turn, item.played or item.answers, self.settings.compare, reason)
            return msgspec.structs.replace(lost, sample=item.sample), fault

    def _reused(self, run: Run, item: TurnItem, answers: Answers | None) -> TurnResult | None:
        """What an earlier run has found, where it still holds."""
        earlier = self._earlier.find(item.key) if self.settings.resume else None
        if earlier is None:
            return None
        if not self.settings.blame:
            earlier = msgspec.structs.replace(earlier, blame=None)
        return run.reuse(item.task, item.turn, answers, item.file.dataset, earlier)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the result to the report; a fault of the harness is an error, not a failure."""
        report = yield
        if self._part is not None:  # with the first report, so that it comes before the first result
            setattr(report, workers.PART, self._part)
            self._part = None
        taken = item.take() if isinstance(item, TurnItem) and call.when == "call" else None
        if taken is not None:
            result, carried = taken
            report.__dict__ |= carried
            if call.excinfo is not None and isinstance(call.excinfo.value, HarnessFault):
                report.when = "setup"
            if report.skipped:  # where the task stands, not where we call skip()
                path, line, _ = item.reportinfo()
                reason = f"Skipped: {result.status}: {result.reason}"
                report.longrepr = (shown_path(self.config, Path(path)), (line or 0) + 1, reason)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a turn that any process has graded."""
        if self.is_worker:
            return
        if line := news_of(report):
            self._tell(line)
        self._closing.keep(report)

    # -- end ---------------------------------------------------------------------------------------------

    def _on_collection(self, collected: int) -> None:
        self.collected = collected

    def _on_worker_end(self, output: dict[str, Any]) -> None:
        self._worker_error = self._worker_error or output.get(workers.USAGE_ERROR)
        self.left_out |= Counter(output.get(workers.LEFT_OUT, {}))
        self._notes.update(dict.fromkeys(output.get(workers.NOTES, ())))
        self._databases |= output.get(workers.DATABASES, {})
        self._part = self._part or output.get(workers.PART)

    def _all_notes(self) -> list[str]:
        """What the user should know about what was read, one line each."""
        return list(self._notes | dict.fromkeys(self.selection.notes()))

    @pytest.hookimpl(wrapper=True, trylast=True)  # innermost: done before the terminal summary is asked for
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Close lanes; in the owning process complete the files once all workers have ended."""
        if self._run is not None:
            self._databases |= self._run.databases
            self._run.close()
        if self.is_worker:
            output: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            output[workers.USAGE_ERROR] = self._usage_error
            output[workers.LEFT_OUT] = dict(self.selection.left_out)
            output[workers.NOTES] = self._all_notes()
            output[workers.DATABASES] = self._databases
            output[workers.PART] = self._part  # of a part without turns, which has no report either
            return (yield)
        yield
        self.left_out |= self.selection.left_out
        if self._worker_error is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return None
        if not self.config.option.collectonly and self._usage_error is None:
            self._closing.finish_part(session, self._part, self._databases)
        self._closing.finish(session, self._gating, collected=self.collected)
        self._closing.tell_ci(collected=self.collected, left_out=self.left_out)
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show metrics, coverage, statuses and categories, and where the files are."""
        if self.is_worker:
            return
        if self._worker_error is not None:
            terminalreporter.write_line(f"ERROR: {self._worker_error}", red=True)
        if terminalreporter.verbosity < -1:
            return
        if self._worker_error is None and self._usage_error is None:
            for note in self._all_notes():
                terminalreporter.write_line(presentable(f"note: {note}", keep=""))
        self._closing.show(
            terminalreporter, collected=self.collected, left_out=self.left_out, no_oracle=self._no_oracle
        )

    def pytest_unconfigure(self) -> None:
        """Stop the servers, whatever ended the run."""
        self._hosts.stop()
