"""The report folder of a run: results as they come, the summary at the end; in the owning process."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_plsqlbench import workers
from pytest_plsqlbench.bench.plural import grouped, numbered
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.ci import tell_ci
from pytest_plsqlbench.gating import Gating, gated_exit
from pytest_plsqlbench.items import RESULT_ATTRIBUTE, REUSED_ATTRIBUTE, TEXT_ATTRIBUTE
from pytest_plsqlbench.reporting.lock import FolderLock
from pytest_plsqlbench.reporting.quarantine import (
    QUARANTINE_FILE,
    QUARANTINED,
    QuarantineList,
    joined,
    read_former,
    write_quarantine,
)
from pytest_plsqlbench.reporting.repeats import repeat_lines
from pytest_plsqlbench.reporting.store import ResultStore
from pytest_plsqlbench.reporting.texts import TEXTS_FILE, TextStore
from pytest_plsqlbench.sharing import RunFile, empty_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.gates.assessment import Assessment
    from pytest_plsqlbench.bench.summary import Summary
    from pytest_plsqlbench.reporting.earlier import EarlierResults
    from pytest_plsqlbench.reporting.quarantine import Entry
    from pytest_plsqlbench.settings import Settings


class Closing:
    """Keeps what any process of the run has graded, and adds it up once all of them have ended."""

    def __init__(self, config: pytest.Config, settings: Settings, earlier: EarlierResults) -> None:
        """Nothing is written before the first result comes.

        Args:
            config: of the owning process.
            settings: of the run.
            earlier: what earlier runs have found in the report folder.
        """
        self._config = config
        self._settings = settings
        self._earlier = earlier
        self._begun = False
        self._reused = 0
        self._former = QuarantineList()
        self._listed: Sequence[Entry] | None = None
        self._lock = FolderLock(settings.report, self.folder)
        self._store = ResultStore(settings.report / "results.jsonl")
        self._texts = TextStore(settings.report / TEXTS_FILE)
        self._run_file = RunFile(settings.report)
        self._summary: Summary | None = None
        self._page_fault: str | None = None
        self._assessment: Assessment | None = None
        self._trouble = ""
        self._told = False
        """Whether an error has said what became of results."""
        self._empty_part: str | None = None
        self._nothing = False

    def claim(self) -> None:
        """Have the report folder to this run alone, where it is there, and learn what a self-check adds to.

        Raises:
            UserError: another run writes there, or the list there cannot be read; nothing was touched.
        """
        self._config.add_cleanup(self._lock.release)
        self._lock.take()
        if self._lists:
            self._former = read_former(self._settings.report)

    @property
    def _lists(self) -> bool:
        """Whether the run is one that finds out which turns vary."""
        return self._settings.gold and self._settings.repeat > 1

    def keep(self, report: pytest.TestReport) -> None:
        """Keep the result that a report carries.

        Raises:
            pytest.UsageError: the report folder cannot be written.
        """
        part = getattr(report, workers.PART, None)
        text = getattr(report, RESULT_ATTRIBUTE, None)
        result = None if text is None else msgspec.json.decode(text, type=TurnResult)
        if result is not None:
            self._store.hold(result)
        try:
            if part is not None or result is not None:
                self._begin()
            if part is not None:
                self._run_file.describe(part)
            if result is not None:
                self._run_file.begin()
                self._store.add(result)
                self._reused += getattr(report, REUSED_ATTRIBUTE, False)
            if (texts := report.__dict__.pop(TEXT_ATTRIBUTE, None)) is not None:
                self._texts.add(texts)  # and pytest, which keeps all reports, need not keep them, too
        except UserError as error:
            self._told = True
            raise pytest.UsageError(f"{error}; {self._rescued()}") from None

    @property
    def folder(self) -> str:
        """The report folder, as the user would write it, on one line."""
        return visible(shown_path(self._config, self._settings.report), keep="")

    def _begin(self) -> None:
        """What earlier runs have found is kept safe before anything in the folder is begun anew."""
        if self._begun:
            return
        with contextlib.suppress(OSError):  # who writes the first file says why
            self._settings.report.mkdir(parents=True, exist_ok=True)
        self._lock.take()
        self._begun = True
        if self._settings.resume:
            self._earlier.secure()
        else:
            self._earlier.forget()

    def finish_part(self, session: pytest.Session, part: str | None, databases: Mapping[str, str]) -> None:
        """Complete ``run.json``; a part without turns gets its one here, and is no fault of anybody."""
        ended = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        try:
            if part is not None and ended:
                self._begin()
                self._run_file.describe(part)
                self._empty_part = empty_part(part)
                if self._empty_part and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
                    session.exitstatus = pytest.ExitCode.OK
            self._run_file.complete(databases)
        except UserError as error:
            self._in_trouble(session, error)

    def finish(self, session: pytest.Session, gating: Gating, *, collected: int) -> None:
        """Complete the files, and let the exit status say what the results add up to.

        Args:
            session: whose exit status may change.
            gating: what the run is held against.
            collected: how many turns the run set out to grade.
        """
        if self._told and not self._begun:  # another run was quicker: the folder is its own
            return
        try:
            self._complete(session, gating, collected)
        except UserError as error:
            self._in_trouble(session, error)

    def _rescued(self) -> str:
        from pytest_plsqlbench.reporting.rescue import rescue  # noqa: PLC0415 (only where needed)

        return rescue(self._store.results.values(), is_written=self._store.is_written)

    def _in_trouble(self, session: pytest.Session, error: UserError) -> None:
        """The report folder cannot be written: the first reason counts."""
        self._trouble = self._trouble or str(error)
        session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _complete(self, session: pytest.Session, gating: Gating, collected: int) -> None:
        results = self._store.finish()
        refused = session.exitstatus == pytest.ExitCode.USAGE_ERROR and not results
        if not self._config.option.collectonly and not refused:
            self._assessment = gating.assess(results, collected=collected)
            session.exitstatus = gated_exit(session.exitstatus, self._assessment)
        if not results:
            return
        from pytest_plsqlbench.reporting.summary import write_summary  # noqa: PLC0415 (only where needed)

        self._texts.finish()
        if self._settings.resume:
            self._earlier.settle(results)
        if self._lists:
            earlier = self._earlier.results.values() if self._settings.resume else ()
            self._listed = joined(results, former=self._former.entries, earlier=earlier)
            write_quarantine(self._settings.report, self._listed)
        self._summary = write_summary(
            self._settings.report, results, collected=collected, assessment=self._assessment
        )
        self._page_fault = self._write_page(results, self._summary, collected)
        counts = self._summary.counts
        broken = counts.statuses["reference_error"] and not counts.coverage.graded
        if self._settings.gold and broken and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED  # a self-check that checked nothing
        whole = self._settings.shard is None and not (self._assessment and self._assessment.verdicts)
        if whole and not counts.coverage.graded and session.exitstatus == pytest.ExitCode.OK:
            self._nothing = True  # nothing failed, and nothing was shown either
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _write_page(self, results: Sequence[TurnResult], summary: Summary, collected: int) -> str | None:
        """Write ``report.html``; why there is none, or None."""
        from pytest_plsqlbench.reporting.page.render import Judged, write_page  # noqa: PLC0415

        found, baseline = self._assessment, self._settings.baseline_name
        judged = Judged(found.verdicts, found.comparison, baseline, found.refused) if found else Judged()
        return write_page(self._settings.report, results, summary, collected=collected, judged=judged)

    def tell_ci(self, *, collected: int, left_out: Mapping[str, int]) -> None:
        """Tell CI what the run has shown, where one looks."""
        names = ("results.jsonl", "summary.json", "report.html")
        folder = self._settings.report
        tell_ci(
            self._config,
            self._settings,
            self._summary,
            collected=collected,
            left_out=left_out,
            files=[shown_path(self._config, folder / name) for name in names if (folder / name).exists()],
            verdicts=self._assessment.verdicts if self._assessment else (),
            comparison=self._assessment.comparison if self._assessment else None,
        )

    def show(
        self,
        reporter: pytest.TerminalReporter,
        *,
        collected: int,
        left_out: Mapping[str, int],
        no_oracle: str,
    ) -> None:
        """Show metrics, coverage, statuses and categories, where the files are, and what the gates say."""
        if self._trouble and not self._told:
            reporter.write_line(f"ERROR: {self._trouble}; {self._rescued()}", red=True)
        if self._store.taken_away and not self._trouble and not self._told:
            count = grouped(len(self._store.results), "result")
            reporter.write_line(
                f"WARNING: {self.folder} was removed, moved or used by another run while this one went on; it"
                f" was made again with all {count} of this run",
                yellow=True,
            )
        if self._empty_part is not None:
            reporter.write_line(f"part {self._empty_part} has no turns: there are fewer tasks than parts")
        if self._summary is not None:
            self._show_summary(reporter, self._summary, collected, left_out, no_oracle)
        if self._assessment is not None:
            from pytest_plsqlbench.reporting.gates import assessment_lines  # noqa: PLC0415

            for line in assessment_lines(self._assessment):
                reporter.write_line(line)
        if self._summary is not None:
            reporter.write_line(f"files: {self._files()}")
        if self._nothing:
            reporter.write_line("nothing was graded: the run ends with 5, as one without tests", yellow=True)

    def _files(self) -> str:
        """Which files there are, and why one is missing."""
        results = visible(shown_path(self._config, self._store.path), keep="")
        if self._page_fault is None:
            return f"{results}, summary.json and report.html beside it"
        return f"{results}, summary.json beside it; {self._page_fault}"

    def _show_summary(
        self,
        reporter: pytest.TerminalReporter,
        summary: Summary,
        collected: int,
        left_out: Mapping[str, int],
        no_oracle: str,
    ) -> None:
        from pytest_plsqlbench.reporting.terminal import summary_lines, summary_title  # noqa: PLC0415

        results = self._store.results.values()
        reporter.write_sep("=", summary_title(summary))
        for line in summary_lines(
            summary,
            collected=collected,
            left_out=left_out,
            flags=Counter(flag for result in results for flag in result.flags),
            blame_seconds=sum(result.blame.elapsed_ms for result in results if result.blame) / 1000,
        ):
            reporter.write_line(line)
        for line in repeat_lines(results, self._settings.repeat):
            reporter.write_line(line)
        if self._settings.quarantine is not None:
            turns = numbered(sum(QUARANTINED in result.flags for result in results), "turn")
            name = visible(self._settings.quarantine.name, keep="")
            reporter.write_line(f"quarantine: {turns} of this run not graded, as {name} says")
        if self._listed is not None:
            turns = numbered(len(self._listed), "turn")
            reporter.write_line(f"quarantine: {turns}, {self.folder}/{QUARANTINE_FILE}")
        if self._settings.resume:
            count = len(self._store.results)
            reporter.write_line(f"resumed: {self._reused:,} of {grouped(count, 'turn')} reused")
        if no_oracle and any(result.dialect == "oracle" for result in results):
            reporter.write_line(
                f"no Oracle server: {no_oracle}; name one with --plsql-oracle (docs/oracle.md)"
            )


def shown_path(config: pytest.Config, path: Path) -> str:
    """A path as the user would write it: from where pytest was started."""
    base = config.invocation_params.dir
    return str(path.relative_to(base) if path.is_relative_to(base) else path)
