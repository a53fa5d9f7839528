"""The engine on a server in a container: what it grades on the embedded one, it grades here."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Test as BenchTest
from pytest_plsqlbench.engines.postgres.engine import PostgresEngine
from pytest_plsqlbench.engines.protocol import Play, Side
from pytest_plsqlbench.servers.postgres import start_postgres

pytestmark = pytest.mark.docker

PROGRAM = """CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'doubling %', n;
  RETURN n * 2;
END; $$;"""
TESTS = (
    BenchTest(name="two", calls=("SELECT twice(2);",)),
    BenchTest(name="order", calls=("SELECT w FROM unnest(ARRAY['b', 'B', 'é', 'a']) AS w ORDER BY w;",)),
    BenchTest(name="fault", calls=("SELECT twice(2147483647);",)),
)


def test_both_sides_of_a_worker_play_on_a_container(image: str) -> None:
    with start_postgres("container", image=image, pull="never") as server:
        engine = PostgresEngine(server.address)
        try:
            assert engine.info.server == f"container {image}"
            lane = engine.lane("gw0")
            try:
                sides: tuple[Side, Side] = ("reference", "candidate")
                plays = [lane.play(Play(side=side, programs=(PROGRAM,), tests=TESTS)) for side in sides]
            finally:
                lane.close()
        finally:
            engine.close()
    for played in plays:
        assert [call.error for call in played.programs] == [None]
        two, order, fault = (test.calls[0] for test in played.tests)
        assert two.lines == ("doubling 2",)
        assert two.results[0].rows == ((("int", "4"),),)
        assert order.results[0].rows == tuple((("text", word),) for word in ("B", "a", "b", "é"))
        assert fault.error is not None
        assert fault.error.code == "22003"
