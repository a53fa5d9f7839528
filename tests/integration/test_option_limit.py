"""--plsql-limit: repeatable, from three places, and held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bench_suite import Suite

from pytest_plsqlbench.servers.embedded import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

NOISY = """CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..50 LOOP RAISE NOTICE 'doubling %', n; END LOOP;
  RETURN n * 2;
END;
$$;
"""


def verdicts(suite: Suite, *args: str) -> set[tuple[str, Any, Any]]:
    """Of the noisy program's tests."""
    predictions = suite.predict({"instance_id": "double-it", "generated_plsql": NOISY})
    suite.run(predictions, "-k", "double", *args)
    [result] = suite.results()
    return {(test["verdict"], test.get("category"), test.get("subcategory")) for test in result["tests"]}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_passed_limit_is_a_failure_of_its_own_kind(suite: Suite, workers: tuple[str, ...]) -> None:
    assert verdicts(suite, *workers) == {("failed", "wrong_result", "output_mismatch")}
    assert verdicts(suite, *workers, "--plsql-limit=output_lines=40") == {("failed", "limit", "output_limit")}


def test_places_add_up_and_the_stronger_one_wins(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    (suite.folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tasks\nplsql_limits =\n    output_lines=40\n    rows=100\n"
    )
    assert verdicts(suite) == {("failed", "limit", "output_limit")}
    monkeypatch.setenv("PLSQLBENCH_LIMITS", "rows=5,output_lines=60 result_bytes=1MB")
    assert verdicts(suite) == {("failed", "wrong_result", "output_mismatch")}
    assert verdicts(suite, "--plsql-limit=output_lines=30") == {("failed", "limit", "output_limit")}
    assert verdicts(suite, "--plsql-limit=output_lines=30", "--plsql-limit", "output_lines=60") == {
        ("failed", "wrong_result", "output_mismatch")
    }


def test_the_place_of_a_bad_limit_is_named(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = "--plsql-predictions=gold"
    assert suite.refused(gold, "--plsql-limit=rows=few") == "--plsql-limit: rows: 'few' is not a whole number"
    monkeypatch.setenv("PLSQLBENCH_LIMITS", "rows=5, lines=5")
    assert suite.refused(gold).startswith(
        "environment variable PLSQLBENCH_LIMITS: no limit is named 'lines'; there are output_bytes, "
    )
    monkeypatch.delenv("PLSQLBENCH_LIMITS")
    (suite.folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tasks\nplsql_limits = server_memory=5MB\n"
    )
    assert suite.refused(gold) == "plsql_limits in pytest.ini: server_memory: 5MB is not from 320MB to 1TB"


def test_a_reference_is_played_again_under_other_limits(suite: Suite) -> None:
    gold = ("--plsql-predictions=gold", "-k", "double")
    suite.run(*gold).assert_outcomes(passed=1)
    result = suite.run(*gold, "--plsql-limit=output_bytes=5")
    result.assert_outcomes(skipped=1)
    [turn] = suite.results()
    assert turn["status"] == "reference_error"
    assert "output_limit" in turn["reason"]


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer.start() as started:
        yield started


def test_the_header_names_limits_that_a_server_of_the_users_does_not_hold(
    suite: Suite, server: EmbeddedServer
) -> None:
    note = "plsqlbench: limits that nothing enforces on this PostgreSQL server: server_memory"
    gold = "--plsql-predictions=gold"
    assert note in suite.run(gold, f"--plsql-postgres={server.address.conninfo}").outlines
    assert note not in suite.run(gold).outlines


def test_server_memory_reaches_the_server(suite: Suite) -> None:
    wide = "CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE sql AS $$ %s $$;"
    program = wide % "SELECT length(repeat('x', 300000000))"
    predictions = suite.predict({"instance_id": "double-it", "generated_plsql": program})
    for limit, subcategory in (("1GB", "output_mismatch"), ("320MB", "memory_limit")):
        suite.run(predictions, "-k", "double", f"--plsql-limit=server_memory={limit}")
        [result] = suite.results()
        assert {test["subcategory"] for test in result["tests"]} == {subcategory}
