"""Faults of the server: processes killed, sessions ended by others, its disk full, its network cut."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import fault_kinds as kinds
import pytest
from fault_processes import keeper_config
from fault_proxy import Mode
from fault_run import Fault, FaultBench, FaultRun, Outcome, small_disk, some_workers
from fault_server import UserServer, user_server
from psycopg.conninfo import make_conninfo

EachTime = Callable[[Callable[[Random], Outcome]], list[Outcome]]


def socket_of(run: FaultRun) -> str:
    """How to reach the embedded server of a run."""
    assert run.keeper is not None
    config = keeper_config(run.keeper)
    assert config is not None
    folders = config["folders"]
    assert isinstance(folders, list)
    return make_conninfo(host=folders[-1], port=5432, user="plsqlbench", dbname="postgres")


EMBEDDED: dict[str, Fault] = {
    "a server process is killed": kinds.kill_server_process(lambda run: run.postmaster),
    "sessions are ended": kinds.command_sessions(socket_of, "pg_terminate_backend"),
    "statements are cancelled": kinds.command_sessions(socket_of, "pg_cancel_backend"),
    "the whole server is killed": kinds.kill_postmaster(lambda run: run.postmaster),
    "the whole server aborts": kinds.kill_postmaster(lambda run: run.postmaster, signal.SIGQUIT),
}


EARLY = (0.02, 0.5)


@pytest.mark.parametrize("fault", EMBEDDED.values(), ids=EMBEDDED.keys())
def test_a_server_that_comes_back_costs_no_turn(
    bench: FaultBench, each_time: EachTime, times: int, fault: Fault
) -> None:
    again = kinds.often(fault, min(times, 5))  # so often it is started again
    for outcome in each_time(lambda random: bench.run(again, random, *some_workers(random), at=EARLY)):
        assert outcome.code == pytest.ExitCode.TESTS_FAILED
        assert outcome.graded + outcome.statuses["infrastructure_error"] == outcome.total
        assert outcome.statuses["infrastructure_error"] <= 2 * outcome.faults


def on(bench: FaultBench, server: UserServer, fault: Fault, random: Random, **environment: str) -> Outcome:
    """Run on a server of the user's own; it is whole again afterwards."""

    def left() -> list[str]:
        server.proxy.cut("pass")
        return server.left()

    variables = {**server.environment, "FAULT_ANSWER_SECONDS": "2", **environment}

    def sweep() -> None:
        run = FaultRun(
            bench.suite,
            bench.folder / "again",
            "-k",
            "fault-0",
            environment={**bench.environment(cold=False), **variables},
        )
        run.start()
        assert run.end() == 0, run.output()

    return bench.run(fault, random, *some_workers(random), environment=variables, left=left, sweep=sweep)


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_single_connections_that_are_cut_cost_no_turn(
    bench: FaultBench, server: UserServer, each_time: EachTime, times: int, reset: bool
) -> None:
    fault = kinds.often(kinds.cut_connections(server.proxy, reset=reset), times)
    for outcome in each_time(lambda random: on(bench, server, fault, random)):
        assert outcome.code == pytest.ExitCode.TESTS_FAILED
        assert outcome.graded + outcome.statuses["infrastructure_error"] == outcome.total
        assert outcome.statuses["infrastructure_error"] <= 2 * outcome.faults


@pytest.mark.parametrize("mode", ["drop", "reset", "blackhole"])
def test_a_network_that_comes_back_costs_little(
    bench: FaultBench, server: UserServer, each_time: EachTime, mode: Mode
) -> None:
    fault = kinds.cut_network(server.proxy, mode, 3)
    for outcome in each_time(lambda random: on(bench, server, fault, random)):
        assert outcome.code in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
        assert outcome.statuses["infrastructure_error"] <= 10


@pytest.mark.parametrize("mode", ["drop", "reset", "blackhole"])
def test_a_network_that_is_gone_ends_the_run_soon_with_one_clear_line(
    bench: FaultBench, server: UserServer, each_time: EachTime, mode: Mode
) -> None:
    fault = kinds.cut_network(server.proxy, mode)

    def attempt(random: Random) -> Outcome:
        return on(bench, server, fault, random)

    for outcome in each_time(attempt):
        if outcome.code == pytest.ExitCode.TESTS_FAILED:  # cut after the last turn
            assert outcome.graded == outcome.total
            continue
        assert outcome.code == pytest.ExitCode.INTERRUPTED
        assert outcome.output.count("Exit: the postgres server (127.0.0.1:") == 1
        assert "Traceback" not in outcome.output
        assert outcome.statuses["infrastructure_error"] <= 2
        assert outcome.summary is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
@pytest.mark.parametrize("again", [False, True], ids=["for good", "for a while"])
def test_a_full_disk_of_the_server_is_nobodys_verdict(
    bench: FaultBench, each_time: EachTime, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(bench.cache))

    def attempt(random: Random) -> Outcome:
        folder = Path(tempfile.mkdtemp(prefix="plsqlbench-disk-"))  # pytest's own is closed to other users
        folder.chmod(0o755)
        try:
            with small_disk(folder / "disk", 300 << 20) as disk, user_server([disk]) as server:
                fault = kinds.fill_disk(disk, free_again=again)

                def left() -> list[str]:
                    (disk / "filler").unlink(missing_ok=True)
                    return []  # the server may not come back

                return bench.run(
                    fault, random, *some_workers(random), environment=server.environment, left=left
                )
        except PermissionError as error:
            pytest.skip(str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    for outcome in each_time(attempt):
        assert outcome.code in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
