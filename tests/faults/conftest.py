"""A suite whose verdicts are known, and how often and how long faults are tried on it.

The long version, at least twenty faults of each kind in runs of 300 turns: ``PLSQLBENCH_LONG=20 pytest
tests/faults``. The moments are chosen by ``PLSQLBENCH_FAULT_SEED``, which every outcome names.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random, SystemRandom

import pytest
from fault_run import FaultBench, Outcome
from fault_server import UserServer, user_server
from fault_suite import write_suite

LONG = int(os.environ.get("PLSQLBENCH_LONG", "0"))
SAME = "PLSQLBENCH_SAME_EXAMPLES" in os.environ
SEED = int(os.environ.get("PLSQLBENCH_FAULT_SEED", 3 if SAME else SystemRandom().randrange(1 << 16)))
TURNS = 300 if LONG else 24
TIMES = 10 if LONG else 1
"""Faults in one run, of those that a run survives."""

_QUICKLY = """
import os

from pytest_plsqlbench.engines.postgres import admin

admin._ANSWER_SECONDS = float(os.environ.get("FAULT_ANSWER_SECONDS", "10"))
"""


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultBench]:
    """The suite, run once without a fault."""
    folder = Path(tempfile.mkdtemp(prefix="plsqlbench-faults-"))
    cache = tmp_path_factory.getbasetemp() / "plsqlbench-cache"
    cache.mkdir(exist_ok=True)
    bench = FaultBench(folder, TURNS, cache, write_suite)
    (bench.suite / "conftest.py").write_text(_QUICKLY)
    yield bench
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(bench: FaultBench) -> Iterator[UserServer]:
    """A server of the user's own."""
    before = os.environ.get("PLSQLBENCH_CACHE_DIR")
    os.environ["PLSQLBENCH_CACHE_DIR"] = str(bench.cache)
    try:
        with user_server() as started:
            yield started
    finally:
        if before is None:
            del os.environ["PLSQLBENCH_CACHE_DIR"]
        else:
            os.environ["PLSQLBENCH_CACHE_DIR"] = before


@pytest.fixture
def times() -> int:
    """Faults in one run, of those that a run survives."""
    return TIMES


@pytest.fixture
def each_time(request: pytest.FixtureRequest) -> Callable[[Callable[[Random], Outcome]], list[Outcome]]:
    """Try a fault once, or often in the long version; every promise is checked each time."""

    def tried(attempt: Callable[[Random], Outcome]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while not outcomes or sum(outcome.faults for outcome in outcomes) < LONG:
            number = len(outcomes)
            random = Random(f"{SEED} {request.node.name} {number}")
            outcome = attempt(random)
            line = f"{request.node.name} {number} of seed {SEED}: {outcome.line}"
            print(line)  # noqa: T201 (shown where a promise is broken)
            if report := os.environ.get("FAULT_LOG"):
                with Path(report).open("a") as file:
                    file.write(line + "\n")
            outcome.check()
            outcomes.append(outcome)
        return outcomes

    return tried
