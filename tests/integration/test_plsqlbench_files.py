"""The subsets of PLSQLBench as files on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent / "data" / "plsqlbench"
MBPP = [f"mbpp_plsql.jsonl::MBPP/900{number}[oracle]" for number in range(1, 8)]
TALKS = [f"spider2_mt.jsonl::orchard-talk-{talk}_q0{turn}[oracle]" for talk in (1, 2) for turn in (1, 2)]
SINGLES = [f"spider2_st.jsonl::orchard_single_{number}[oracle]" for number in range(1, 6)]


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    shutil.copytree(DATA, pytester.path / "bench")
    pytester.makeini("[pytest]\n")
    return pytester.path


def listed(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:hypothesispytest", *args)
    assert result.ret == 0, result.stdout.str()
    return [line.rpartition("/datasets/")[2] or line for line in result.outlines if "::" in line]


def test_every_turn_is_an_item(folder: Path, pytester: pytest.Pytester) -> None:
    found = listed(pytester, "bench/datasets", "--plsql-predictions=gold")
    wanted = [f"mbpp/{name}" for name in MBPP]
    wanted += [f"spider2_mt/{name}" for name in TALKS] + [f"spider2_st/{name}" for name in SINGLES]
    assert found == wanted


def test_items_are_listed_without_the_schema_files(folder: Path, pytester: pytest.Pytester) -> None:
    shutil.rmtree(folder / "bench" / "schema")
    found = listed(pytester, "bench/datasets/spider2_st", "--plsql-predictions=gold")
    assert len(found) == len(SINGLES)


def test_gold_and_predictions_without_an_oracle_server(folder: Path, pytester: pytest.Pytester) -> None:
    answers: list[dict[str, object]] = [
        {"instance_id": "MBPP/9001", "generated_plsql": "x"},
        {"conversation_id": "orchard-talk-1", "turn_index": 1, "generated_plsql": "x"},
        {"instance_id": "orchard-talk-1_q02", "generated_plsql": "x"},
    ]
    (folder / "out.jsonl").write_text(
        "".join(json.dumps(row | {"dialect": "oracle"}) + "\n" for row in answers)
    )
    for predictions in ("gold", "out.jsonl"):
        pytester.runpytest_subprocess(
            "bench/datasets",
            f"--plsql-predictions={predictions}",
            "--plsql-oracle=none",
            "-p",
            "no:hypothesispytest",
        )
        lines = (folder / "reports" / "results.jsonl").read_text().splitlines()
        statuses = {row["turn_id"]: row["status"] for row in map(json.loads, lines)}
        assert statuses["MBPP/9001"] == "engine_unavailable"
        assert statuses["orchard-talk-1_q02"] == "engine_unavailable"
        assert len(statuses) == len(MBPP) + len(TALKS) + len(SINGLES)


def test_a_row_without_a_task_is_still_a_fault(folder: Path, pytester: pytest.Pytester) -> None:
    (folder / "out.jsonl").write_text(json.dumps({"instance_id": "MBPP/9100", "generated_plsql": "x"}))
    result = pytester.runpytest_subprocess(
        "bench/datasets/mbpp", "--plsql-predictions=out.jsonl", "-p", "no:hypothesispytest"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*out.jsonl:1: there is no task 'MBPP/9100'*"])


def test_the_real_sample_is_listed(pytester: pytest.Pytester, shared: Path) -> None:
    pytester.makeini("[pytest]\n")
    folder = shared / "data" / "plsqlbench_public_dev"
    found = listed(pytester, str(folder), "--plsql-predictions=gold")
    ids = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "question" in record or "test" in record:
                ids.append(record.get("instance_id", record.get("task_id")))
    assert [name.rpartition("::")[2].partition("[")[0] for name in found] == ids


@pytest.mark.parametrize("workers", ["0", "2"])
def test_files_that_are_passed_over_are_told(folder: Path, pytester: pytest.Pytester, workers: str) -> None:
    tasks = folder / "bench" / "datasets" / "spider2_st"
    (tasks / "spider2_st.jsonl").write_text("")
    (tasks / "wide.jsonl").write_text("{}", encoding="utf-16")
    (tasks / "lost.jsonl").symlink_to(tasks / "gone.jsonl")
    options = ("--plsql-predictions=gold", "--plsql-oracle=none", "-p", "no:hypothesispytest", "-n", workers)
    result = pytester.runpytest_subprocess("bench/datasets/spider2_st", *options)
    for note in (
        "spider2_st.jsonl: is empty",
        "wide.jsonl: is UTF-16 text: save it as UTF-8",
        "lost.jsonl: is a link to a file that is not there",
    ):
        result.stdout.fnmatch_lines([f"note: passed over: *{note}"])
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("name", ["spider2_st.jsonl.gz", "spider2_st.json"])
def test_a_named_file_in_a_form_that_is_not_read_is_a_fault(
    folder: Path, pytester: pytest.Pytester, name: str
) -> None:
    tasks = folder / "bench" / "datasets" / "spider2_st"
    (tasks / "spider2_st.jsonl").rename(tasks / name)
    options = (
        "--plsql-predictions=gold",
        "--plsql-oracle=none",
        "--collect-only",
        "-p",
        "no:hypothesispytest",
    )
    result = pytester.runpytest_subprocess(f"bench/datasets/spider2_st/{name}", *options)
    result.stderr.fnmatch_lines([f"ERROR: *{name}: is *"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
