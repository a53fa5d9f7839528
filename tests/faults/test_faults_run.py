"""Faults of the run itself: its processes killed or told to end, its report folder full."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import fault_kinds as kinds
import pytest
from fault_run import FaultBench, FaultRun, Outcome, small_disk, some_workers
from fault_server import UserServer

EachTime = Callable[[Callable[[Random], Outcome]], list[Outcome]]


def test_a_killed_worker_costs_no_turn(bench: FaultBench, each_time: EachTime, times: int) -> None:
    fault = kinds.often(kinds.kill_worker, min(times, 5))  # xdist replaces four for each worker
    for outcome in each_time(lambda random: bench.run(fault, random, "-n", "2")):
        assert outcome.code == pytest.ExitCode.TESTS_FAILED
        assert outcome.graded == outcome.total


def test_a_killed_run_leaves_nothing_but_its_results(bench: FaultBench, each_time: EachTime) -> None:
    fault = kinds.signal_run(signal.SIGKILL)
    for outcome in each_time(lambda random: bench.run(fault, random, *some_workers(random))):
        assert outcome.code == -signal.SIGKILL
        assert not outcome.left, outcome.left


def test_what_a_killed_run_left_on_a_server_goes_at_the_next_start(
    bench: FaultBench, server: UserServer, each_time: EachTime
) -> None:
    def sweep() -> None:
        run = FaultRun(
            bench.suite,
            bench.folder / "again",
            "-k",
            "fault-0",
            environment={**bench.environment(cold=False), **server.environment},
        )
        run.start()
        assert run.end() == 0, run.output()

    fault = kinds.signal_run(signal.SIGKILL)

    def attempt(random: Random) -> Outcome:
        return bench.run(
            fault, random, "-n", "2", environment=server.environment, left=server.left, sweep=sweep
        )

    for outcome in each_time(attempt):
        assert outcome.left, "nothing was left: the sweep was not tried"


SIGNALS = {
    "SIGTERM": (signal.SIGTERM, False, False),
    "SIGTERM to all, twice": (signal.SIGTERM, True, True),
    "SIGHUP": (signal.SIGHUP, False, False),
    "Ctrl-C": (signal.SIGINT, True, False),
    "Ctrl-C twice": (signal.SIGINT, True, True),
}


@pytest.mark.parametrize(("number", "group", "twice"), SIGNALS.values(), ids=SIGNALS.keys())
def test_a_run_that_is_told_to_end_sums_up_what_it_has(
    bench: FaultBench, each_time: EachTime, number: int, group: bool, twice: bool
) -> None:
    fault = kinds.signal_run(number, group=group, twice=twice)
    for outcome in each_time(lambda random: bench.run(fault, random, *some_workers(random))):
        assert outcome.summary is not None
        assert not outcome.left, outcome.left
        assert "Traceback" not in outcome.output
        assert "Warning" not in outcome.output
        if outcome.code == pytest.ExitCode.TESTS_FAILED:  # told after the last turn
            assert outcome.graded == outcome.total
            continue
        assert outcome.code == pytest.ExitCode.INTERRUPTED
        assert len(re.findall(r"^!+ KeyboardInterrupt.* !+$", outcome.output, re.MULTILINE)) == 1
        assert outcome.summary["turns_collected"] == outcome.total
        if outcome.graded < outcome.total:
            assert not outcome.summary["complete"]
            told = f"{outcome.graded} of {outcome.total} turns were graded before the run ended"
            assert told in outcome.output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_report_folder_ends_the_run_with_one_line_and_keeps_what_is_there(
    bench: FaultBench, each_time: EachTime, tmp_path: Path
) -> None:
    def attempt(random: Random) -> Outcome:
        folder = tmp_path / f"disk{random.random()}"
        try:
            with small_disk(folder, 4 << 20) as disk:
                return bench.run(
                    kinds.fill_disk(disk), random, *some_workers(random), report=disk / "reports"
                )
        except PermissionError as error:
            pytest.skip(str(error))

    for outcome in each_time(attempt):
        assert outcome.code == pytest.ExitCode.USAGE_ERROR
        assert outcome.output.count("ERROR: cannot write") == 1
        assert "No space left on device" in outcome.output
        assert "Traceback" not in outcome.output
