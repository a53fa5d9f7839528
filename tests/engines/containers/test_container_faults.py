"""Containers that cannot be had, die, hang or are left behind: one line each, and nothing stays."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_plsqlbench.cli.reap import command as reap
from pytest_plsqlbench.servers import container_sweep
from pytest_plsqlbench.servers.container import ContainerServer
from pytest_plsqlbench.servers.container_sweep import OWNER_LABEL, RUN_LABEL, sweep
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.postgres_container import (
    PostgresProbe,
    postgres_spec,
    start_postgres_container,
)
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

pytestmark = pytest.mark.docker

Ours = Callable[[], list[Any]]
Soon = Callable[[Callable[[], Any]], Any]
ImageThat = Callable[[str], str]
Python = Callable[..., "subprocess.Popen[str]"]

START = """
import sys
from pytest_plsqlbench.servers.postgres_container import start_postgres_container
try:
    with start_postgres_container(sys.argv[1], pull="never") as server:
        print("up", server.address.run_id, flush=True)
        sys.stdin.read()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


def one_line(caught: pytest.ExceptionInfo[ServerUnavailableError]) -> str:
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_image_that_may_not_be_pulled(image: str, ours: Ours) -> None:
    with pytest.raises(ServerUnavailableError) as caught:
        start_postgres_container("plsqlbench-test/absent:1", pull="never")
    message = one_line(caught)
    assert "plsqlbench-test/absent:1 is not at the Docker daemon unix://" in message
    assert "--plsql-postgres-image" in message


def test_missing_image_whose_registry_is_out_of_reach_fails_at_once(image: str, ours: Ours) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # not listening: refuses
        name = f"127.0.0.1:{bound.getsockname()[1]}/absent:1"
        told: list[str] = []
        began = time.monotonic()
        with pytest.raises(ServerUnavailableError) as caught:
            start_postgres_container(name, notify=told.append)
    assert time.monotonic() - began < 15
    assert told == [f"pulling {name}"]
    assert re.search(r"cannot be pulled \(.*connection refused.*\); load it", one_line(caught))


def test_image_name_that_is_none(image: str, ours: Ours) -> None:
    with pytest.raises(ServerUnavailableError, match="invalid reference format"):
        start_postgres_container("No Such Image", pull="never")


def test_container_that_dies_at_start_is_noticed_at_once(image_that: ImageThat, ours: Ours) -> None:
    dying = image_that("echo starting; echo 'FATAL: no room' >&2; exit 3")
    began = time.monotonic()
    with pytest.raises(ServerUnavailableError) as caught:
        start_postgres_container(dying, pull="never")
    assert time.monotonic() - began < 15
    message = one_line(caught)
    assert f"the container of {dying} ended at start: exit code 3, its log ends with:" in message
    assert "FATAL: no room" in message
    assert ours() == []


def test_real_server_that_refuses_its_settings_says_why(
    image: str, ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_plsqlbench.servers import postgres_container

    monkeypatch.setitem(postgres_container.SETTINGS, "shared_buffers", "nonsense")
    with pytest.raises(ServerUnavailableError) as caught:
        start_postgres_container(image, pull="never")
    assert 'invalid value for parameter "shared_buffers"' in one_line(caught)


def test_container_killed_at_its_memory_limit_says_so(image_that: ImageThat, ours: Ours) -> None:
    # not at once, since the daemon has to be watching; one process, whose own limit would end it before
    greedy = image_that("sleep 0.2; exec awk 'BEGIN { text = \"x\"; for (;;) text = text text }'")
    spec = postgres_spec(greedy, "secret")
    spec = replace(spec, memory=32 << 20, host_settings={**spec.host_settings, "ulimits": []})
    with pytest.raises(ServerUnavailableError) as caught:
        ContainerServer.start(spec, PostgresProbe("secret", spec.run_id), seconds=20, pull="never")
    assert "ended at start: exit code 137, killed at its memory limit of 32 MB" in one_line(caught)


def test_database_that_never_answers(image_that: ImageThat, ours: Ours) -> None:
    silent = image_that("echo still thinking; exec sleep 600")
    with pytest.raises(ServerUnavailableError) as caught:
        start_postgres_container(silent, pull="never", seconds=1.5)
    message = one_line(caught)
    assert "is up, but its database does not answer after 2 s" in message
    assert "still thinking" in message
    assert ours() == []


def test_messages_hide_the_password(image_that: ImageThat, ours: Ours) -> None:
    gossip = image_that('echo "the password is $POSTGRES_PASSWORD."; exit 1')
    with pytest.raises(ServerUnavailableError, match=r"the password is \*\*\*\."):
        start_postgres_container(gossip, pull="never")


def test_container_removed_by_somebody_during_start(
    image_that: ImageThat, ours: Ours, soon: Soon, python: Python
) -> None:
    starting = python(START, image_that("exec sleep 600"))
    soon(lambda: [container for container in ours() if container.status == "running"])[0].remove(force=True)
    _, errors = starting.communicate(timeout=20)
    assert "somebody removed it" in errors.splitlines()[-1]


@pytest.mark.parametrize("delay", [0.0, 0.7])
def test_ctrl_c_during_start_leaves_nothing(
    delay: float, image_that: ImageThat, ours: Ours, soon: Soon, python: Python
) -> None:
    starting = python(START, image_that("exec sleep 600"))
    soon(ours)  # created; perhaps not yet started
    time.sleep(delay)
    starting.send_signal(signal.SIGINT)
    output, _ = starting.communicate(timeout=20)
    assert (output, starting.returncode) == ("interrupted\n", 130)
    assert ours() == []


def test_ctrl_c_while_up_leaves_nothing(image: str, ours: Ours, python: Python) -> None:
    running = python(START, image)
    assert running.stdout is not None
    assert running.stdout.readline().startswith("up ")
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 130
    assert ours() == []


def test_ctrl_c_during_stop_is_made_good_by_the_warden(
    image: str, ours: Ours, soon: Soon, python: Python
) -> None:
    stopping = python(START, image)
    assert stopping.stdin is not None
    assert stopping.stdout is not None
    assert stopping.stdout.readline().startswith("up ")
    stopping.stdin.close()  # the script goes on to stop its server
    time.sleep(0.02)
    stopping.send_signal(signal.SIGINT)
    assert stopping.wait(timeout=20) in {0, 130}
    soon(lambda: not ours())


def test_warden_removes_what_a_killed_run_leaves(image: str, ours: Ours, soon: Soon, python: Python) -> None:
    running = python(START, image)
    assert running.stdout is not None
    assert running.stdout.readline().startswith("up ")
    assert len(ours()) == 1
    running.kill()
    running.wait()
    soon(lambda: not ours())


def test_name_in_use_is_said_and_the_other_container_stays(
    image: str, ours: Ours, docker_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _size: "cafe0123")
    other = docker_client.containers.create(image, name="plsqlbench-postgres-cafe0123")
    try:
        with pytest.raises(ServerUnavailableError) as caught:
            start_postgres_container(image, pull="never")
        assert 'The container name "/plsqlbench-postgres-cafe0123" is already in use' in one_line(caught)
        other.reload()
    finally:
        other.remove(force=True)


def dead_owner() -> Owner:
    """A process of this host that has ended."""
    script = "from pytest_plsqlbench.servers.owner import Owner; print(Owner.this_process())"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    owner = Owner.parse(said.strip())
    assert owner is not None
    return owner


def test_leftovers_of_dead_runs_are_swept_and_others_stay(image: str, ours: Ours, docker_client: Any) -> None:
    mine = Owner.this_process()
    owners = {
        "dead": str(dead_owner()),
        "living": str(mine),
        "elsewhere": f"ffffffffffff:{mine.boot}:{mine.namespace}:{mine.pid}:{mine.start}",
        "unreadable": "x",
    }
    made = {
        name: docker_client.containers.run(
            image,
            entrypoint=["sleep", "600"],
            labels={RUN_LABEL: name, OWNER_LABEL: owner},
            detach=True,
            name=f"plsqlbench-test-{name}",
        )
        for name, owner in owners.items()
    }
    try:
        shown = CliRunner().invoke(reap, ["--postgres", "container", "--dry-run"]).output
        assert "would drop container plsqlbench-test-dead\n" in shown
        assert "kept container plsqlbench-test-living: its run is alive\n" in shown
        assert "kept container plsqlbench-test-elsewhere: its run is of another machine" in shown
        assert sweep() == ["plsqlbench-test-dead"]
        assert {container.name for container in ours()} == {
            f"plsqlbench-test-{name}" for name in ("living", "elsewhere", "unreadable")
        }
        assert sweep() == []
    finally:
        for container in made.values():
            container_sweep.remove(container)


def test_next_start_sweeps_first(image: str, ours: Ours, docker_client: Any) -> None:
    left = docker_client.containers.create(
        image, labels=container_sweep.labels("old", dead_owner()), name="plsqlbench-test-old"
    )
    told: list[str] = []
    with start_postgres_container(image, pull="never", notify=told.append):
        assert left.id not in {container.id for container in ours()}
    assert told == ["removed the container plsqlbench-test-old of a run that is dead"]
