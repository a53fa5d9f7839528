"""A backend that heeds no signal for a while: the verdict stands all the same."""

from __future__ import annotations

from collections.abc import Callable

from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.protocol import Limits, Play, Played

Player = Callable[..., Played]


def test_a_text_the_parser_is_stuck_in_is_stopped_by_the_time_limit(lane: PostgresLane) -> None:
    program = "/*" * 60_000 + "\nSELECT 1"
    test = Test(name="any", calls=("SELECT 1",), compare=(Comparison("value"),))
    played = lane.play(Play("candidate", (program,), (test,), None, Limits(time=0.5)))
    install = played.programs[-1]
    assert install.limit == "time_limit" or install.error is not None
    assert played.tests == ()
    again = lane.play(Play("candidate", (), (test,), None, Limits(time=5)))
    assert again.tests[0].calls[0].error is None
