"""Plays on the Oracle engine: programs installed, tests observed, everything left as it was."""

from __future__ import annotations

from collections.abc import Callable

import oracledb
import pytest
from oracle_double import FakeOracle, Reply, Result

from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.protocol import Play

FUNCTION = "CREATE OR REPLACE FUNCTION f RETURN NUMBER IS\nBEGIN\n  RETURN 1;\nEND;\n/\n"
USER = "PLB_R1_GW0_C1"


@pytest.mark.usefixtures("server")
def test_a_select_gives_typed_rows(
    server: FakeOracle, lane: OracleLane, make_play: Callable[..., Play]
) -> None:
    """engines §1.7: SELECT … FROM DUAL as typed rows, not as a page."""
    server.on("SELECT f", Reply(result=Result([("F", oracledb.DB_TYPE_NUMBER)], [(1,)]), lines=["hello"]))
    played = lane.play(make_play(FUNCTION, calls=("SET SERVEROUTPUT ON\nSELECT f FROM dual;",)))
    assert played.programs[0].error is None
    (call,) = played.tests[0].calls
    assert call.results[0].columns == ("F",)
    assert call.results[0].rows == ((("numeric", "1"),),)
    assert call.lines == ("hello",)
    assert played.tests[0].work == 7
