"""The daemon and the image of tests of containers: without them they are skipped, or fail in CI."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from pytest_plsqlbench.servers.container_sweep import RUN_LABEL
from pytest_plsqlbench.servers.daemon import Daemon
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

IMAGE = os.environ.get("PLSQLBENCH_DOCKER_IMAGE", "plsqlbench-test/postgres:debian")


@contextmanager
def docker_client() -> Iterator[Any]:
    """A client of the daemon."""
    try:
        daemon = Daemon.connect("skip these tests")
    except ServerUnavailableError as error:
        _without(str(error))
    try:
        yield daemon.client
    finally:
        daemon.close()


def turnstile() -> FileLock:
    """Held by whoever starts, sweeps or counts containers: at one daemon all these tests see each other's."""
    return FileLock(Path(tempfile.gettempdir()) / f"plsqlbench-docker-tests-{os.getuid()}.lock")


def local_image(client: Any) -> str:
    """The PostgreSQL image that tests/docker/build-image.sh makes."""
    import docker.errors

    try:
        client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        _without(f"the image {IMAGE} is not built (tests/docker/build-image.sh)")
    return IMAGE


def our_containers(client: Any, other_than: Container[str] = ()) -> list[Any]:
    """Containers that runs have started, but for those with these ids."""
    found = client.containers.list(all=True, filters={"label": RUN_LABEL}, ignore_removed=True)
    return [container for container in found if container.id not in other_than]


def _without(reason: str) -> NoReturn:
    if os.environ.get("PLSQLBENCH_REQUIRE_DOCKER"):
        pytest.fail(f"docker tests are required here: {reason}")
    pytest.skip(reason)
