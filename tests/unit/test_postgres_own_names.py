"""A side's own role and databases have common names in what was observed; nothing else changes."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.observation import CallObservation, Observation, ResultSet
from pytest_plsqlbench.engines.postgres.names import fresh_database, side_role
from pytest_plsqlbench.engines.postgres.own_names import OwnNames
from pytest_plsqlbench.engines.protocol import Played

RUN, WORKER = "0a1b2c3d", "gw1"
OWN = side_role(RUN, WORKER, "candidate")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (OWN, "plsqlbench_user"),
        (side_role(RUN, WORKER, "candidate", 3), "plsqlbench_user"),
        (f"{fresh_database(RUN, WORKER)[:-8]}0123abcd", "plsqlbench_database"),
        (f"by {OWN}, '{OWN}'", "by plsqlbench_user, 'plsqlbench_user'"),
        (side_role(RUN, WORKER, "reference"), None),
        (side_role(RUN, "gw10", "candidate"), None),
        (side_role("ffffffff", WORKER, "candidate"), None),
        (f"{OWN}_and_more", None),
        ("plsqlbench_user", None),
    ],
)
def test_only_a_sides_own_names_are_replaced(text: str, shown: str | None) -> None:
    result = ResultSet(("c",), ((("text", text), None),))
    call = CallObservation(lines=("before", text), results=(result,))
    played = OwnNames(RUN, WORKER, "candidate").hidden(Played((call,), (Observation(calls=(call,)),)))
    for seen in (*played.programs, *played.tests[0].calls):
        assert seen.lines == ("before", shown or text)
        assert seen.results[0].rows == ((("text", shown or text), None),)
    if shown is None:
        assert played.programs[0] == call
