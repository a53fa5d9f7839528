"""Faults of a server in a container: stopped and killed from outside."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import pytest
from fault_run import FaultBench, FaultRun, Outcome, some_workers
from filelock import FileLock

from pytest_plsqlbench.servers.container_sweep import RUN_LABEL
from pytest_plsqlbench.servers.daemon import Daemon
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

pytestmark = pytest.mark.docker

EachTime = Callable[[Callable[[Random], Outcome]], list[Outcome]]
IMAGE = os.environ.get("PLSQLBENCH_DOCKER_IMAGE", "plsqlbench-test/postgres:debian")


def _without(reason: str) -> NoReturn:
    if os.environ.get("PLSQLBENCH_REQUIRE_DOCKER"):
        pytest.fail(f"docker tests are required here: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of the daemon that has the local image; nobody else starts or counts containers meanwhile."""
    try:
        daemon = Daemon.connect("skip these tests")
    except ServerUnavailableError as error:
        _without(str(error))
    import docker.errors

    turnstile = FileLock(Path(tempfile.gettempdir()) / f"plsqlbench-docker-tests-{os.getuid()}.lock")
    try:
        daemon.client.images.get(IMAGE)
        with turnstile:
            yield daemon.client
    except docker.errors.ImageNotFound:
        _without(f"the image {IMAGE} is not built (tests/docker/build-image.sh)")
    finally:
        daemon.close()


@pytest.mark.parametrize("how", ["stop", "kill", "pause"])
def test_a_container_that_ends_ends_the_run_with_one_clear_line(
    bench: FaultBench, each_time: EachTime, client: Any, how: str
) -> None:
    def containers() -> list[Any]:
        found: list[Any] = client.containers.list(all=True, filters={"label": RUN_LABEL}, ignore_removed=True)
        return found

    def attempt(random: Random) -> Outcome:
        before = {container.id for container in containers()}

        def fault(run: FaultRun, random: Random) -> None:
            for container in containers():
                if container.id not in before:
                    getattr(container, how)(**({"timeout": 1} if how == "stop" else {}))

        return bench.run(
            fault,
            random,
            "--plsql-postgres=container",
            f"--plsql-postgres-image={IMAGE}",
            *some_workers(random),
            environment={"FAULT_ANSWER_SECONDS": "2"},
            left=lambda: [container.name for container in containers() if container.id not in before],
        )

    for outcome in each_time(attempt):
        assert not outcome.left, outcome.left
        if outcome.code == pytest.ExitCode.TESTS_FAILED:  # it came after the last turn
            assert outcome.graded == outcome.total
            continue
        assert outcome.code == pytest.ExitCode.INTERRUPTED
        assert outcome.output.count("Exit: the postgres server (container") == 1
        assert outcome.statuses["infrastructure_error"] <= 2
