"""What the tests of containers share: the local image, images that misbehave, a look at what is left."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from pytest_plsqlbench.servers.container_sweep import RUN_LABEL
from pytest_plsqlbench.servers.daemon import Daemon
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

IMAGE = os.environ.get("PLSQLBENCH_DOCKER_IMAGE", "plsqlbench-test/postgres:debian")


def _without(reason: str) -> NoReturn:
    if os.environ.get("PLSQLBENCH_REQUIRE_DOCKER"):
        pytest.fail(f"docker tests are required here: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def docker_client() -> Iterator[Any]:
    """A client of the daemon; skips where none answers."""
    try:
        daemon = Daemon.connect("skip these tests")
    except ServerUnavailableError as error:
        _without(str(error))
    yield daemon.client
    daemon.close()


@pytest.fixture(scope="session")
def turnstile() -> FileLock:
    """Held by whoever starts, sweeps or counts containers: at one daemon all these tests see each other's."""
    return FileLock(Path(tempfile.gettempdir()) / f"plsqlbench-docker-tests-{os.getuid()}.lock")


@pytest.fixture(autouse=True)
def one_at_a_time(turnstile: FileLock) -> Iterator[None]:
    """Hold the turnstile."""
    with turnstile:
        yield


@pytest.fixture(scope="session")
def image(docker_client: Any) -> str:
    """The PostgreSQL image that tests/docker/build-image.sh makes; skips where it was not built."""
    import docker.errors

    try:
        docker_client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        _without(f"the image {IMAGE} is not built (tests/docker/build-image.sh)")
    return IMAGE


@pytest.fixture(scope="session")
def image_that(image: str, docker_client: Any) -> Iterator[Callable[[str], str]]:
    """Make an image whose containers run a line of shell instead of a database."""
    made: dict[str, str] = {}

    def make(script: str) -> str:
        if script not in made:
            tag = f"plsqlbench-test/stand-in:{os.getpid()}-{len(made)}"
            quoted = script.replace("\\", "\\\\").replace('"', '\\"')
            file = f'FROM {image}\nENTRYPOINT ["sh", "-c", "{quoted}", "sh"]\n'
            docker_client.images.build(fileobj=io.BytesIO(file.encode()), tag=tag, rm=True)
            made[script] = tag
        return made[script]

    yield make
    for tag in made.values():
        docker_client.images.remove(tag, force=True)


@pytest.fixture
def ours(docker_client: Any) -> Iterator[Callable[[], list[Any]]]:
    """Our containers that are there now and were not when the test began; none may be left at its end."""

    def all_of_us() -> list[Any]:
        found: list[Any] = docker_client.containers.list(
            all=True, filters={"label": RUN_LABEL}, ignore_removed=True
        )
        return found

    before = {container.id for container in all_of_us()}

    def new() -> list[Any]:
        return [container for container in all_of_us() if container.id not in before]

    yield new
    left = new()
    for container in left:
        container.remove(force=True, v=True)
    assert not left


@pytest.fixture
def soon() -> Callable[[Callable[[], Any]], Any]:
    """Wait until something is true (20 s at most) and return it."""

    def wait(condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + 20
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < end, "it did not come true in 20 s"
            time.sleep(0.05)

    return wait


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start another interpreter on a script; it is killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
