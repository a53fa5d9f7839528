"""Containers without Docker: the daemon's absence, messages, log tails, the Oracle wiring, owners."""

from __future__ import annotations

import gc
import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from docker.errors import DockerException

from pytest_plsqlbench.bench.limits import Limits
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers import container as container_module
from pytest_plsqlbench.servers import container_sweep, leftovers
from pytest_plsqlbench.servers import daemon as daemon_module
from pytest_plsqlbench.servers.container import ContainerServer
from pytest_plsqlbench.servers.container_spec import ContainerSpec, Login, NotYetError, Place, new_password
from pytest_plsqlbench.servers.container_sweep import OWNER_LABEL, sweep_at
from pytest_plsqlbench.servers.daemon import Daemon, daemon_answers, faults, log_tail, one_line
from pytest_plsqlbench.servers.oracle_container import READY_LINE, OracleProbe, oracle_spec, services_of
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.postgres_container import PostgresProbe, postgres_spec
from pytest_plsqlbench.servers.reaped import Reaped
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

# -- no daemon ---------------------------------------------------------------------------------------------

START = """
import sys
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.{0}_container import start_{0}_container
try:
    start_{0}_container("no-such-image")
except UserError as error:
    print(type(error).__name__, error)
"""


def start(dialect: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START.format(dialect)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("dialect", "instead"),
    [
        ("postgres", "use --plsql-postgres=embedded or the DSN of a server"),
        ("oracle", "give the DSN of an Oracle server with --plsql-oracle"),
    ],
)
def test_no_daemon_is_one_line_that_names_it(dialect: str, instead: str) -> None:
    assert start(dialect, DOCKER_HOST="unix:///nonexistent.sock") == (
        "ServerUnavailableError no Docker daemon answers at unix:///nonexistent.sock"
        f" (No such file or directory); start it, set DOCKER_HOST, or {instead}"
    )


def test_unknown_scheme_is_one_line() -> None:
    assert "no Docker daemon answers at tcp://127.0.0.1:9 (" in start(
        "postgres", DOCKER_HOST="tcp://127.0.0.1:9"
    )
    assert "at gopher://x (" in start("postgres", DOCKER_HOST="gopher://x")


def _silent_daemon(monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """A port that takes calls and never answers."""
    silent = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{silent.getsockname()[1]}")
    return silent


def test_a_daemon_that_hangs_is_one_line_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_plsqlbench.servers.daemon._FIRST_CONTACT", 1)
    with _silent_daemon(monkeypatch), pytest.raises(ServerUnavailableError) as caught:
        Daemon.connect("do without")
    assert str(caught.value) == (
        f"the Docker daemon {os.environ['DOCKER_HOST']} does not answer within 1 s; restart it, or do without"
    )


def test_a_daemon_that_hangs_can_be_interrupted_before_the_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ("--plsql-predictions=gold", "--plsql-dialect=oracle", "--plsql-oracle=auto", "-n", "auto")
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)  # whoever is interrupted leaves sockets open
    monkeypatch.delenv("PLSQLBENCH_ORACLE_DSN", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    with _silent_daemon(monkeypatch) as silent:
        asking = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        silent.settimeout(60)
        with silent.accept()[0]:
            asking.send_signal(signal.SIGINT)
            output, _ = asking.communicate(timeout=30)
    assert output == "plsqlbench: interrupted while looking for an Oracle server\n"
    assert asking.returncode == pytest.ExitCode.INTERRUPTED


def test_ssh_needs_a_package_that_the_message_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@127.0.0.1:9")
    said = "Install paramiko package to enable ssh:// support"  # by the SDK
    with (
        pytest.raises(ServerUnavailableError, match=r"pip install paramiko\), or do without$"),
        faults("do without"),
    ):
        raise DockerException(said)


@pytest.mark.parametrize("host", ["unix:///nonexistent.sock", "tcp://127.0.0.1:9"])
def test_no_daemon_leaves_no_open_socket(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(ServerUnavailableError) as caught:
        Daemon.connect("do without")
    assert caught.value.__context__ is None
    assert not daemon_answers()
    gc.collect()  # a socket left open would show itself now


def test_malformed_variable_of_testcontainers_is_one_line() -> None:
    assert start("postgres", TC_MAX_TRIES="many").startswith(
        "ServerUnavailableError testcontainers cannot be set up: invalid literal"
    )


def test_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker.errors", None)
    with pytest.raises(ServerUnavailableError, match="containers need the package testcontainers"):
        Daemon.connect("do without")


# -- messages ----------------------------------------------------------------------------------------------


def test_log_tail_is_one_clean_line_without_secrets() -> None:
    log = b"one\n\ntwo\x1b[31m pw=s3cret\nthree\xff\r\n  four  \n"
    assert log_tail(log, ("s3cret",)) == "two [31m pw=*** | three\ufffd | four"
    assert log_tail(b"") == ""
    assert len(log_tail(b"x" * 10_000)) == 300


def test_reason_is_the_one_at_the_bottom() -> None:
    wrapped = RuntimeError("Error while fetching: ('Connection aborted.', …)")
    wrapped.__context__ = RuntimeError("Connection aborted.")
    wrapped.__context__.__cause__ = PermissionError(13, "Permission denied")
    assert one_line(wrapped) == "Permission denied"
    assert one_line(RuntimeError("a\nb")) == "a b"
    assert one_line(RuntimeError()) == "RuntimeError"


# -- pulling -----------------------------------------------------------------------------------------------


def daemon_with(api: Any) -> Daemon:
    import docker.errors

    def get(name: str) -> None:
        raise docker.errors.ImageNotFound("no such image")

    client = SimpleNamespace(images=SimpleNamespace(get=get), api=api)
    return Daemon(SimpleNamespace(client=client))  # type: ignore[arg-type]


def test_pull_reports_progress_and_the_registrys_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_module, "_PULL_TELL", 0)
    asked: list[tuple[str, str]] = []

    def pull(repository: str, *, tag: str, stream: bool, decode: bool) -> Iterator[dict[str, Any]]:
        asked.append((repository, tag))
        yield {"id": "a", "status": "Downloading", "progressDetail": {"current": 5 << 20, "total": 20 << 20}}
        yield {"id": "a", "status": "Download complete"}
        yield {"error": "toomanyrequests:\nslow down"}

    told: list[str] = []
    with pytest.raises(ServerUnavailableError) as caught:
        daemon_with(SimpleNamespace(pull=pull)).ensure_image(
            "reg:5000/some/image", pull="missing", option="--image", notify=told.append
        )
    assert asked == [("reg:5000/some/image", "latest")]
    assert told == [
        "pulling reg:5000/some/image",
        "pulling reg:5000/some/image: 5 of 20 MB",
        "pulling reg:5000/some/image: 20 of 20 MB",
    ]
    assert "cannot be pulled (toomanyrequests: slow down); load it" in str(caught.value)


def test_pull_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_module, "_PULL_SILENCE", 0.05)
    never: queue.Queue[Any] = queue.Queue()

    def pull(*_args: Any, **_kwargs: Any) -> Iterator[dict[str, Any]]:
        yield {"status": "Pulling"}
        never.get()

    with pytest.raises(ServerUnavailableError, match="no progress for 0 s"):
        daemon_with(SimpleNamespace(pull=pull)).ensure_image("x", pull="missing", option="--i", notify=print)
    never.put(None)


def test_no_registry_is_asked_where_pulling_is_switched_off() -> None:
    def pull(*_args: Any, **_kwargs: Any) -> Iterator[dict[str, Any]]:
        pytest.fail("a registry was asked")

    with pytest.raises(ServerUnavailableError, match="and pulling is switched off; load it"):
        daemon_with(SimpleNamespace(pull=pull)).ensure_image("x:1", pull="never", option="--i", notify=print)


def test_pull_that_ends_well_is_silent() -> None:
    def pull(*_args: Any, **_kwargs: Any) -> Iterator[dict[str, Any]]:
        yield {"status": "Done"}

    daemon_with(SimpleNamespace(pull=pull)).ensure_image(
        "x:1", pull="missing", option="--i", notify=lambda _: None
    )


# -- where ports are published -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "override", "published"),
    [
        ("unix:///var/run/docker.sock", None, ("127.0.0.1", "127.0.0.1")),
        ("tcp://localhost:2375", None, ("127.0.0.1", "127.0.0.1")),
        ("tcp://docker:2375", None, (None, "docker")),
        ("ssh://me@far.example", None, (None, "far.example")),
        ("unix:///var/run/docker.sock", "host.docker.internal", (None, "host.docker.internal")),
    ],
)
def test_ports_are_published_on_loopback_unless_the_daemon_is_elsewhere(
    host: str, override: str | None, published: tuple[str | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from testcontainers.core.config import testcontainers_config

    monkeypatch.setattr(daemon_module, "host_name", lambda: host)
    monkeypatch.setattr(testcontainers_config, "tc_host_override", override)
    assert daemon_with(None).published() == published


# -- a run with a fake daemon ------------------------------------------------------------------------------


class FakeContainer:
    """A container that lives through a list of states."""

    def __init__(self, states: list[dict[str, Any]], log: list[bytes]) -> None:
        self.states, self.log = states, log
        self.attrs: dict[str, Any] = {}
        self.removals: list[str] = []
        self.name = "fake"

    def reload(self) -> None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        self.attrs = {
            "State": state,
            "NetworkSettings": {
                "Ports": {"7/tcp": [{"HostIp": "127.0.0.1", "HostPort": "4711"}]},
                "Networks": {"bridge": {"IPAddress": "172.17.0.9"}},
            },
        }

    def logs(self, tail: int) -> bytes:
        return self.log.pop(0) if len(self.log) > 1 else self.log[0]

    def remove(self, *, force: bool, v: bool) -> None:
        assert force
        assert v
        self.removals.append(self.name)


class World:
    """A fake daemon, and what was asked of it."""

    def __init__(self, container: FakeContainer) -> None:
        self.container = container
        self.made: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.listed: list[Any] = []
        self.closed = 0
        self.removals = container.removals
        self.client = SimpleNamespace(
            containers=SimpleNamespace(list=self.list),
            images=SimpleNamespace(get=lambda name: None),
            api=SimpleNamespace(timeout=0),
            close=self.close,
        )

    def list(self, **wanted: Any) -> list[FakeContainer]:
        self.listed.append(wanted["filters"]["label"])
        # the sweep asks for any run's containers, the end of a run for its own
        return [self.container] if isinstance(self.listed[-1], list) and not self.removals else []

    def close(self) -> None:
        self.closed += 1

    def docker_container(self, image: str, **settings: Any) -> Any:
        self.made = {"image": image, **settings}

        class Wrapper:
            ports: Any = None
            tmpfs: Any = None

            def start(wrapper) -> None:  # noqa: N805
                self.attributes = {"ports": wrapper.ports, "tmpfs": wrapper.tmpfs}

            def get_wrapped_container(wrapper) -> FakeContainer:  # noqa: N805
                return self.container

            def get_docker_client(wrapper) -> Any:  # noqa: N805
                return SimpleNamespace(client=SimpleNamespace(close=self.close))

        return Wrapper()


RUNNING = {"Status": "running"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    import testcontainers.core.container
    import testcontainers.core.utils

    fake = World(FakeContainer([RUNNING], [b""]))
    monkeypatch.setattr(
        Daemon, "connect", classmethod(lambda cls, instead: cls(SimpleNamespace(client=fake.client)))
    )
    monkeypatch.setattr(testcontainers.core.container, "DockerContainer", fake.docker_container)
    monkeypatch.setattr(testcontainers.core.utils, "inside_container", lambda: False)
    monkeypatch.setattr(daemon_module, "host_name", lambda: "unix:///fake.sock")
    return fake


SPEC = ContainerSpec(
    dialect="oracle",
    image="some/image:1",
    option="--image",
    instead="do without",
    port=7,
    environment={"WORD": "s3cret"},
    memory=64 << 20,
    ready_line="READY!",
    tmpfs={"/fast": "size=1"},
    host_settings={"shm_size": 5},
    secrets=("s3cret",),
)


def answers(place: Place) -> Login:
    return Login(f"s3cret@{place.host}:{place.port}", "1.2")


def test_fake_daemon_answers(world: World) -> None:
    assert daemon_answers()
    assert world.closed == 1


def test_fake_start_waits_for_the_ready_line_then_for_a_login(world: World) -> None:
    world.container.log = [b"", b"not yet\n", b"READY!\n"]
    tries: list[Place] = []

    def probe(place: Place) -> Login:
        tries.append(place)
        if len(tries) < 3:
            raise NotYetError("starting up")
        return answers(place)

    with ContainerServer.start(SPEC, probe, seconds=20) as server:
        assert tries == [Place("127.0.0.1", 4711)] * 3
        assert server.address.conninfo == "s3cret@127.0.0.1:4711"
        assert server.address.run_id in server.container_name
        assert world.made["image"] == "some/image:1"
        assert world.made["env"] == {"WORD": "s3cret"}
        assert world.made["mem_limit"] == 64 << 20
        assert world.made["shm_size"] == 5
        assert world.made["name"] == server.container_name
        assert world.made["labels"]["plsqlbench.run"] == server.address.run_id
        assert world.attributes == {"ports": {"7/tcp": ("127.0.0.1", None)}, "tmpfs": {"/fast": "size=1"}}
        assert world.removals == []
    assert world.removals == ["fake"]
    assert world.closed == 2
    server.stop()
    assert world.removals == ["fake"]


def test_fake_start_from_within_a_container_also_tries_its_own_address(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testcontainers.core.utils.inside_container", lambda: True)
    world.container.log = [b"READY!"]

    def probe(place: Place) -> Login:
        if place.port == 4711:
            raise NotYetError("Connection refused")
        return answers(place)

    with ContainerServer.start(SPEC, probe, seconds=5) as server:
        assert server.address.conninfo == "s3cret@172.17.0.9:7"


def test_fake_start_prefers_the_published_port_if_both_answer_at_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testcontainers.core.utils.inside_container", lambda: True)
    world.container.log = [b"READY!"]
    tries: list[int] = []

    def probe(place: Place) -> Login:
        tries.append(place.port)
        if len(tries) == 1:
            raise NotYetError("starting up")
        return answers(place)

    with ContainerServer.start(SPEC, probe, seconds=5) as server:
        assert tries == [4711, 7, 4711]
        assert server.address.conninfo == "s3cret@127.0.0.1:4711"


def test_fake_container_that_vanishes_while_its_log_is_read(world: World) -> None:
    from docker.errors import NotFound

    def logs(tail: int) -> bytes:
        raise NotFound("No such container", response=SimpleNamespace(status_code=404))

    world.container.logs = logs  # type: ignore[method-assign]
    with pytest.raises(ServerUnavailableError, match="ended at start: somebody removed it;"):
        ContainerServer.start(SPEC, answers, seconds=5)


def test_fake_container_that_is_killed_for_memory(world: World) -> None:
    world.container.states = [RUNNING, {"Status": "exited", "ExitCode": 137, "OOMKilled": True}]
    world.container.log = [b"", b"my word is s3cret\n"]
    with pytest.raises(ServerUnavailableError) as caught:
        ContainerServer.start(SPEC, answers, seconds=20)
    assert str(caught.value) == (
        "the container of some/image:1 ended at start: exit code 137, killed at its memory limit of 64 MB,"
        " its log ends with: my word is ***; name another image with --image, or do without"
    )
    assert world.removals == ["fake"]


def test_fake_container_that_never_says_ready(world: World) -> None:
    told: list[str] = []
    with pytest.raises(ServerUnavailableError) as caught:
        ContainerServer.start(SPEC, answers, seconds=0.2, notify=told.append)
    assert str(caught.value) == (
        "the container of some/image:1 did not become ready after 0 s (its log has no line 'READY!');"
        " its log is empty; name another image with --image, or do without"
    )
    assert told == []


def test_fake_long_wait_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_module, "_TELL", 0.1)
    told: list[str] = []
    with pytest.raises(ServerUnavailableError):
        ContainerServer.start(SPEC, answers, seconds=0.3, notify=told.append)
    assert told[0] == "waiting for the database in some/image:1 (0 s): its log has no line 'READY!'"


@pytest.mark.parametrize("fault", [KeyboardInterrupt, UserError("x"), RuntimeError("a bug")])
def test_fake_start_that_is_broken_off_removes_the_container(world: World, fault: Any) -> None:
    world.container.log = [b"READY!"]

    def probe(place: Place) -> Login:
        raise fault

    with pytest.raises(fault if isinstance(fault, type) else type(fault)):
        ContainerServer.start(SPEC, probe, seconds=20)
    assert world.removals == ["fake"]
    assert world.closed == 2


def test_daemon_that_goes_away_does_not_break_the_end_of_a_run(world: World) -> None:
    import requests

    world.container.log = [b"READY!"]
    told: list[str] = []
    server = ContainerServer.start(SPEC, answers, seconds=5, notify=told.append)

    def gone(**_wanted: Any) -> Any:
        raise requests.exceptions.ConnectionError("gone")

    world.client.containers.list = gone
    warden = server._running._warden
    assert warden is not None
    try:
        server.stop()
        assert len(told) == 1
        assert told[0].startswith(
            f"the container {server.container_name} could not be removed: no Docker daemon"
        )
    finally:
        warden.kill()
        warden.wait()


def test_sweep_takes_other_hosts_containers_only_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Owner.this_process()
    owners = {
        "living": str(mine),
        "dead": f"{mine.host}:00000000:{mine.namespace}:{mine.pid}:{mine.start}",
        "elsewhere": f"ffffffffffff:{mine.boot}:{mine.namespace}:{mine.pid}:{mine.start}",
        "unreadable": "",
    }
    gone: list[str] = []

    def container(name: str) -> Any:
        def remove(**_how: bool) -> None:
            gone.append(name)

        return SimpleNamespace(name=name, labels={OWNER_LABEL: owners[name]}, remove=remove)

    def found(**_wanted: Any) -> list[Any]:
        return [container(name) for name in owners if name not in gone]

    daemon = daemon_with(None)
    daemon.client.containers = SimpleNamespace(list=found)
    monkeypatch.setattr(Daemon, "connect", lambda _instead: daemon)
    daemon.close = lambda: None  # type: ignore[method-assign]
    reaped = Reaped(["container dead"], ["container living"], ["container elsewhere", "container unreadable"])
    assert container_sweep.reap(dry_run=True) == reaped
    assert gone == []
    assert sweep_at(daemon) == gone == ["dead"]
    assert container_sweep.reap() == Reaped([], reaped.kept, reaped.unknown)
    assert sweep_at(daemon, foreign=True) == ["elsewhere", "unreadable"]
    assert sweep_at(daemon, foreign=True) == []
    gone.clear()
    assert container_sweep.reap(foreign=True).dropped == [reaped.dropped[0], *reaped.unknown]
    assert gone == ["dead", "elsewhere", "unreadable"]


@pytest.mark.parametrize(("status", "removed"), [(404, False), (409, False)])
def test_container_that_somebody_else_removes_is_no_fault(status: int, removed: bool) -> None:
    from docker.errors import APIError, NotFound

    def remove(**_how: bool) -> None:
        raise (NotFound if status == 404 else APIError)("x", response=SimpleNamespace(status_code=status))

    assert container_sweep.remove(SimpleNamespace(remove=remove)) is removed


def test_container_that_cannot_be_removed_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from docker.errors import APIError

    def remove(**_how: bool) -> None:
        raise APIError("x", response=SimpleNamespace(status_code=500), explanation="device is busy")

    container = SimpleNamespace(name="c", labels={}, remove=remove)
    with pytest.raises(APIError):
        container_sweep.remove(container)
    daemon = daemon_with(None)
    daemon.client.containers = SimpleNamespace(list=lambda **_wanted: [container])
    daemon.close = lambda: None  # type: ignore[method-assign]
    monkeypatch.setattr(Daemon, "connect", lambda _instead: daemon)
    assert container_sweep.reap(foreign=True) == Reaped(failed=["container c: device is busy"])


# -- Oracle --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "first"),
    [
        ("gvenzl/oracle-free:23-slim-faststart", "FREEPDB1"),
        ("gvenzl/oracle-xe:21-slim", "XEPDB1"),
        ("container-registry.example/database/free:latest", "FREEPDB1"),
        ("container-registry.example/database/express-xe:21", "XEPDB1"),
        ("registry.example:5000/oracle_xe", "XEPDB1"),
        ("boxed/database", "FREEPDB1"),
    ],
)
def test_likelier_service_is_tried_first(image: str, first: str) -> None:
    services = services_of(image)
    assert services[0] == first
    assert sorted(services) == ["FREEPDB1", "XEPDB1"]


def test_oracle_container_gets_both_names_of_the_password_and_4_gb() -> None:
    spec = oracle_spec("image", "Pw1")
    assert spec.environment == {"ORACLE_PASSWORD": "Pw1", "ORACLE_PWD": "Pw1"}
    assert (spec.memory, spec.port, spec.ready_line) == (4 << 30, 1521, READY_LINE)
    assert spec.secrets == ("Pw1",)


class Fault:
    def __init__(self, full_code: str, message: str) -> None:
        self.full_code, self.message = full_code, message

    def __str__(self) -> str:
        return f"{self.full_code}: {self.message}\nHelp: https://docs.example/{self.full_code}"


UNKNOWN_SERVICE = Fault("DPY-6001", "Service is not registered with the listener")
WRONG_PASSWORD = Fault("ORA-01017", "invalid credential")


def driver(faults: dict[str, Fault], asked: list[str]) -> Any:
    def connect(conninfo: str) -> Any:
        service = conninfo.rsplit("/", 1)[1]
        asked.append(service)
        if service in faults:
            raise oracledb.DatabaseError(faults[service])
        return SimpleNamespace(version="21.3.0.0.0", close=lambda: asked.append("close"))

    return connect


def test_oracle_login_moves_on_to_the_next_service_only_if_the_first_is_unknown() -> None:
    asked: list[str] = []
    probe = OracleProbe("Pw1", ("FREEPDB1", "XEPDB1"), driver({"FREEPDB1": UNKNOWN_SERVICE}, asked))
    login = probe(Place("127.0.0.1", 1))
    assert login == Login("system/Pw1@127.0.0.1:1/XEPDB1", "21.3.0.0.0")
    assert asked == ["FREEPDB1", "XEPDB1", "close"]


def test_oracle_login_with_a_wrong_password_is_not_repeated_elsewhere() -> None:
    asked: list[str] = []
    probe = OracleProbe("Pw1", ("FREEPDB1", "XEPDB1"), driver({"FREEPDB1": WRONG_PASSWORD}, asked))
    with pytest.raises(NotYetError) as caught:
        probe(Place("127.0.0.1", 1))
    assert str(caught.value) == "FREEPDB1: ORA-01017: invalid credential"
    assert asked == ["FREEPDB1"]


def test_oracle_login_says_what_every_service_answered() -> None:
    faults = {"FREEPDB1": UNKNOWN_SERVICE, "XEPDB1": UNKNOWN_SERVICE}
    with pytest.raises(NotYetError) as caught:
        OracleProbe("Pw1", ("FREEPDB1", "XEPDB1"), driver(faults, []))(Place("127.0.0.1", 1))
    assert str(caught.value).count("DPY-6001") == 2
    assert "Help" not in str(caught.value)


def test_oracle_login_at_a_closed_port_leaves_no_open_socket() -> None:
    with pytest.raises(NotYetError, match="FREEPDB1: DPY-6005"):
        OracleProbe("Pw1", ("FREEPDB1",))(Place("127.0.0.1", 9))


# -- PostgreSQL ----------------------------------------------------------------------------------------------


def test_postgres_container_is_told_everything_explicitly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_USER", "stray")
    spec = postgres_spec("image", "Pw1", memory=1 << 30)
    assert spec.environment["POSTGRES_USER"] == "plsqlbench"
    assert spec.environment["POSTGRES_PASSWORD"] == "Pw1"
    assert spec.environment["POSTGRES_DB"] == "postgres"
    assert spec.command[:3] == ("postgres", "-c", "fsync=off")
    assert spec.tmpfs == {"/plsqlbench": f"size={1 << 29},mode=0755"}


def test_postgres_login_at_a_closed_port_is_not_yet() -> None:
    with pytest.raises(NotYetError, match="refused"):
        PostgresProbe("Pw1", "cafe0123")(Place("127.0.0.1", 9))


# -- passwords and owners ------------------------------------------------------------------------------------


def test_passwords_are_taken_by_every_server_and_differ() -> None:
    passwords = {new_password() for _ in range(50)}
    assert len(passwords) == 50
    for password in passwords:
        assert 12 <= len(password) <= 30
        assert password.isalnum()
        assert password[0].isalpha()
        assert any(c.isupper() for c in password)
        assert any(c.islower() for c in password)
        assert any(c.isdigit() for c in password)


def test_living_owner_is_not_dead() -> None:
    owner = Owner.this_process()
    assert owner.is_dead() is False
    assert Owner.parse(str(owner)) == owner


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_owner_that_ended_is_dead_even_while_it_is_a_zombie_or_its_number_lives_on() -> None:
    script = "from pytest_plsqlbench.servers.owner import Owner; print(Owner.this_process(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        owner = Owner.parse(child.stdout.readline().strip())
        assert owner is not None
        end = time.monotonic() + 10
        while not owner.is_dead() and time.monotonic() < end:
            time.sleep(0.01)
        assert owner.is_dead()  # not waited for yet: a zombie
    assert owner.is_dead()
    mine = Owner.this_process()
    assert Owner(mine.host, mine.boot, mine.namespace, mine.pid, "1").is_dead()


def test_owner_of_an_earlier_boot_is_dead_and_of_another_host_or_namespace_unknown() -> None:
    mine = Owner.this_process()
    assert Owner(mine.host, "00000000", mine.namespace, mine.pid, mine.start).is_dead() is True
    assert Owner("other", mine.boot, mine.namespace, mine.pid, mine.start).is_dead() is None
    assert Owner(mine.host, mine.boot, "1", mine.pid, mine.start).is_dead() is None


def test_owner_whom_the_system_hides_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``hidepid`` the processes of other users have no entry, but may not be signalled either."""
    mine = Owner.this_process()
    other = Owner(mine.host, mine.boot, mine.namespace, 2**22 + 1, "17")
    assert other.is_dead() is True

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert other.is_dead() is None
    assert leftovers.dead(str(other)) is None
    monkeypatch.undo()
    assert leftovers.dead(str(other)) is True
    assert leftovers.dead(str(mine)) is False
    assert leftovers.dead("no mark") is None
    assert leftovers.dead(None) is None
    assert Owner(mine.host, mine.boot, mine.namespace, mine.pid, "").is_dead() is None


@pytest.mark.parametrize("text", ["", "a:b:c", "a:b:c:d:e", "a:b:c:1:e:f"])
def test_owner_that_cannot_be_read(text: str) -> None:
    assert Owner.parse(text) is None


@pytest.mark.parametrize(("image", "asked"), [(None, "postgres:17"), ("own/postgres:1", "own/postgres:1")])
def test_container_is_a_server_by_name(
    image: str | None, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_plsqlbench.servers import postgres_container
    from pytest_plsqlbench.servers.postgres import start_postgres

    calls: list[Any] = []
    monkeypatch.setattr(postgres_container, "start_postgres_container", lambda *a, **k: calls.append((a, k)))
    start_postgres(" container ", image=image, pull="never", notify=print)
    memory = Limits().server_memory
    assert calls == [((asked,), {"pull": "never", "notify": print, "process_memory": memory})]
