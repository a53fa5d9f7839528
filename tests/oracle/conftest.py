"""Fixtures of the Oracle engine's tests: the driver replaced by its double."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import oracledb
import pytest
from oracle_double import CONNINFO, FakeOracle

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Comparison, Source, Test
from pytest_plsqlbench.engines.oracle import session, watchdog
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.engine import OracleEngine
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.protocol import Limits, Play, Side
from pytest_plsqlbench.servers.address import ServerAddress


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeOracle:
    """A server whose driver is the double."""
    fake = FakeOracle()
    monkeypatch.setattr(oracledb, "connect", fake.connect)
    monkeypatch.setattr(watchdog, "GRACE", 0.05)
    monkeypatch.setattr(session, "DEATH_SECONDS", 0.0)
    assert Admin.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Admin.__init__.__kwdefaults__, "sleep", lambda _seconds: None)
    return fake


@pytest.fixture
def address() -> ServerAddress:
    """The address of the double."""
    return ServerAddress(
        dialect="oracle",
        kind="dsn",
        conninfo=CONNINFO,
        label="system@localhost:1521/FREEPDB1",
        version="23.26.0.0.0",
        run_id="r1",
        superuser=True,
    )


@pytest.fixture
def engine(server: FakeOracle, address: ServerAddress) -> Iterator[OracleEngine]:
    """The engine on the double."""
    made = OracleEngine(address)
    yield made
    made.close()


@pytest.fixture
def lane(engine: OracleEngine) -> OracleLane:
    """A lane of the engine."""
    return engine.lane("gw0")


Player = Callable[..., Play]


@pytest.fixture
def make_play() -> Player:
    """Build a play from texts."""

    def build(
        *programs: str,
        calls: tuple[str, ...] = (),
        tests: tuple[Test, ...] | None = None,
        side: Side = "candidate",
        database: Database | None = None,
        seconds: float = 5.0,
        limits: Limits | None = None,
    ) -> Play:
        made = (
            tests
            if tests is not None
            else tuple(Test(name=f"t{n}", calls=(c,)) for n, c in enumerate(calls, 1))
        )
        return Play(
            side=side,
            programs=programs,
            tests=made,
            database=database,
            limits=limits or Limits(time=seconds),
        )

    return build


@pytest.fixture
def shop() -> Database:
    """A database with one table of two rows."""
    source = Source("shop.yaml", 3)
    return Database(
        name="shop",
        dialect="oracle",
        schemas=("SHOP",),
        before=(Statement("CREATE TABLE SHOP.ORDERS (ID NUMBER, TOTAL NUMBER)", source),),
        data=(
            TableData("SHOP", "ORDERS", ("ID", "TOTAL"), lambda: iter([("1", "10.5"), ("2", None)]), source),
        ),
        after=(),
        fingerprint="f1",
    )


@pytest.fixture
def state_test() -> Callable[..., Test]:
    """A test judged by the state of tables."""

    def build(*calls: str) -> Test:
        return Test(name="state", calls=calls, compare=(Comparison("state"),), on_error="continue")

    return build
