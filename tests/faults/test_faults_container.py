"""Faults of a server in a container: stopped and killed from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from fault_run import FaultBench, FaultRun, Outcome, some_workers
from local_docker import IMAGE, docker_client, local_image, our_containers, turnstile

pytestmark = pytest.mark.docker

EachTime = Callable[[Callable[[Random], Outcome]], list[Outcome]]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of the daemon that has the local image; nobody else starts or counts containers meanwhile."""
    with docker_client() as client:
        local_image(client)
        with turnstile():
            yield client


@pytest.mark.parametrize("how", ["stop", "kill", "pause"])
def test_a_container_that_ends_ends_the_run_with_one_clear_line(
    bench: FaultBench, each_time: EachTime, client: Any, how: str
) -> None:
    def attempt(random: Random) -> Outcome:
        before = {container.id for container in our_containers(client)}

        def fault(run: FaultRun, random: Random) -> None:
            for container in our_containers(client, before):
                getattr(container, how)(**({"timeout": 1} if how == "stop" else {}))

        return bench.run(
            fault,
            random,
            "--plsql-postgres=container",
            f"--plsql-postgres-image={IMAGE}",
            *some_workers(random),
            environment={"FAULT_ANSWER_SECONDS": "2"},
            left=lambda: [container.name for container in our_containers(client, before)],
        )

    for outcome in each_time(attempt):
        assert not outcome.left, outcome.left
        if outcome.code == pytest.ExitCode.TESTS_FAILED:  # it came after the last turn
            assert outcome.graded == outcome.total
            continue
        assert outcome.code == pytest.ExitCode.INTERRUPTED
        assert outcome.output.count("Exit: the postgres server (container") == 1
        assert outcome.statuses["infrastructure_error"] <= 2
