"""``--plsql-oracle``: which server is used and why; what a run does without one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bench_suite import Suite

SECRET = "geheim-4711"
BOTH = {
    "id": "both",
    "subset": "pairs",
    "variants": {
        "postgres": Suite.DOUBLE_TASK["variants"]["postgres"],  # type: ignore[index]
        "oracle": {
            "prompt": "Print one.",
            "reference": "CREATE PROCEDURE one AS BEGIN dbms_output.put_line(1); END;",
            "tests": [{"name": "one", "call": "EXEC one", "compare": "lines"}],
        },
    },
}
ONLY_ORACLE = {"id": "only-oracle", "subset": "pairs", "variants": {"oracle": BOTH["variants"]["oracle"]}}  # type: ignore[index]


@pytest.fixture(autouse=True)
def _no_docker(empty_suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Docker, and no server named by the environment (nor none, as the suite does)."""
    del empty_suite
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    for variable in ("PLSQLBENCH_ORACLE", "PLSQLBENCH_ORACLE_DSN", "DOCKER_CONTEXT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def mixed(suite: Suite) -> Suite:
    """A task in both dialects, and one for Oracle alone, beside those for PostgreSQL."""
    suite.task(BOTH)
    suite.task(ONLY_ORACLE)
    return suite


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("auto", "neither PLSQLBENCH_ORACLE_DSN nor Docker is there"),
        ("none", "none was asked for"),
    ],
)
def test_without_a_server_its_turns_are_no_failures(
    mixed: Suite, option: str, reason: str, workers: str
) -> None:
    result = mixed.run("--plsql-predictions=gold", f"--plsql-oracle={option}", "-n", workers)
    result.assert_outcomes(passed=5, skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            f"plsqlbench: no Oracle server: {reason}",
            "left out: 1 turn in dialect oracle, whose engine is not at hand",
            f"no Oracle server: {reason}; name one with --plsql-oracle (docs/oracle.md)",
        ]
    )
    (row,) = [row for row in mixed.results() if row["task"] == "only-oracle"]
    assert row["status"] == "engine_unavailable"
    assert reason in row["reason"]


def test_asked_for_both_dialects_both_are_listed_and_one_is_unavailable(mixed: Suite) -> None:
    result = mixed.run("--plsql-predictions=gold", "--plsql-dialect=all", "--plsql-oracle=none")
    result.assert_outcomes(passed=5, skipped=2)
    unavailable = {row["task"] for row in mixed.results() if row["status"] == "engine_unavailable"}
    assert unavailable == {"both", "only-oracle"}


def test_a_run_without_oracle_turns_does_not_speak_of_it(suite: Suite) -> None:
    result = suite.run("--plsql-predictions=gold", "--plsql-dialect=postgres")
    assert "Oracle" not in result.stdout.str()


@pytest.mark.parametrize("name", ["PLSQLBENCH_ORACLE", "PLSQLBENCH_ORACLE_DSN"])
def test_listing_counts_a_named_server_as_at_hand_and_starts_nothing(
    mixed: Suite, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed() -> set[str]:
        result = mixed.run("--plsql-predictions=gold", "--collect-only", "-q")
        assert result.ret == 0
        return {line.rpartition("::")[2] for line in result.outlines if "::" in line}

    without = listed()
    assert "both[oracle]" not in without
    assert "only-oracle[oracle]" in without
    monkeypatch.setenv(name, f"oracle://system:{SECRET}@127.0.0.1:1/FREEPDB1")
    assert listed() == without | {"both[oracle]"}


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("oracel", "no Oracle server 'oracel'"),
        (f"system/{SECRET}", "no Oracle server: say auto"),
        ("preview", "this version has no preview engine"),
        ("container", "--plsql-oracle"),
        (f"oracle://system:{SECRET}@127.0.0.1:1/FREEPDB1", "127.0.0.1:1"),
        (f"system/{SECRET}@127.0.0.1:1/FREEPDB1", "127.0.0.1:1"),
        (f"oracle://system:{SECRET}@127.0.0.1:port/FREEPDB1", ""),
    ],
    ids=["word", "no-host", "preview", "no-docker", "refused", "refused-sqlplus", "bad-port"],
)
def test_a_server_that_cannot_be_had_is_one_line_without_the_password(
    mixed: Suite, dsn: str, message: str
) -> None:
    line = mixed.refused("--plsql-predictions=gold", f"--plsql-oracle={dsn}")
    assert message in line
    assert SECRET not in line


def test_a_named_server_is_not_asked_where_no_turn_needs_it(suite: Suite) -> None:
    dsn = f"oracle://system:{SECRET}@127.0.0.1:1/FREEPDB1"
    result = suite.run("--plsql-predictions=gold", "--plsql-dialect=postgres", f"--plsql-oracle={dsn}")
    result.assert_outcomes(passed=4)


def test_the_published_release_without_a_server(
    pytester: pytest.Pytester, shared: Path, monkeypatch: pytest.MonkeyPatch, cache_dir: Path
) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(cache_dir))
    pytester.makeini("[pytest]\n")
    folder = str(shared / "data" / "plsqlbench_public_dev")
    options = ("--plsql-predictions=gold", "--plsql-oracle=none", "-p", "no:hypothesispytest")
    listed = pytester.runpytest_subprocess(folder, "--collect-only", "-q", *options)
    items = [line for line in listed.outlines if "::" in line]
    oracle = [line for line in items if line.endswith("[oracle]")]
    assert len(oracle) == 25  # all but the five of Spider, which run on PostgreSQL too
    assert len(items) == 30
    result = pytester.runpytest_subprocess(folder, *options)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED  # nothing was graded
    result.stdout.fnmatch_lines(["no Oracle server: none was asked for; *"])
    lines = (pytester.path / "reports" / "results.jsonl").read_text().splitlines()
    statuses = Counter(row["status"] for row in map(json.loads, lines) if row["dialect"] == "oracle")
    assert statuses == {"engine_unavailable": 25}

    answers = [{"instance_id": f"MBPP/{number}", "generated_plsql": "x"} for number in (1, 2, 3)]
    (pytester.path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    options = ("--plsql-predictions=out.jsonl", *options[1:])
    result = pytester.runpytest_subprocess(folder, *options)
    result.stdout.fnmatch_lines(["no Oracle server: none was asked for; *"])
    lines = (pytester.path / "reports" / "results.jsonl").read_text().splitlines()
    found = {row["turn_id"]: row["status"] for row in map(json.loads, lines)}
    assert {found[f"MBPP/{number}"] for number in (1, 2, 3)} == {"engine_unavailable"}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_tasks_for_oracle_alone_start_no_postgres(empty_suite: Suite, workers: str) -> None:
    empty_suite.task(ONLY_ORACLE)
    nowhere = "--plsql-postgres=host=/nowhere"
    result = empty_suite.run("--plsql-predictions=gold", "--plsql-oracle=none", nowhere, "-n", workers)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "plsqlbench: predictions gold*; no server started",
            "nothing was graded: the run ends with 5, as one without tests",
        ]
    )
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED  # no failure, and no proof


@pytest.mark.parametrize("workers", ["0", "2"])
def test_tasks_without_a_variant_in_the_dialect_asked_for_are_told(empty_suite: Suite, workers: str) -> None:
    empty_suite.task(ONLY_ORACLE)
    result = empty_suite.run("--plsql-predictions=gold", "--plsql-dialect=postgres", "-n", workers)
    result.stdout.fnmatch_lines(
        ["note: left out: 1 turn in dialect oracle, whose tasks have no variant in the dialect *(postgres)"]
    )
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_tasks_for_postgres_alone_ask_no_oracle_server(suite: Suite) -> None:
    dsn = f"oracle://system:{SECRET}@127.0.0.1:1/FREEPDB1"
    result = suite.run("--plsql-predictions=gold", f"--plsql-oracle={dsn}")
    result.assert_outcomes(passed=4)
    assert "Oracle" not in result.stdout.str()
