"""What the tests of containers share: the local image, images that misbehave, a look at what is left."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import local_docker
import pytest
from filelock import FileLock


@pytest.fixture(scope="session")
def docker_client() -> Iterator[Any]:
    """A client of the daemon; skips where none answers."""
    with local_docker.docker_client() as client:
        yield client


@pytest.fixture(scope="session")
def turnstile() -> FileLock:
    """Held by whoever starts, sweeps or counts containers."""
    return local_docker.turnstile()


@pytest.fixture(autouse=True)
def one_at_a_time(turnstile: FileLock) -> Iterator[None]:
    """Hold the turnstile."""
    with turnstile:
        yield


@pytest.fixture(scope="session")
def image(docker_client: Any) -> str:
    """The PostgreSQL image that tests/docker/build-image.sh makes; skips where it was not built."""
    return local_docker.local_image(docker_client)


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
    before = {container.id for container in local_docker.our_containers(docker_client)}

    def new() -> list[Any]:
        return local_docker.our_containers(docker_client, before)

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
