"""Joining shards: byte for byte the undivided run's summary, or one line that says what does not fit."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from pytest_plsqlbench.bench.result import EngineInfo, Status, TestResult, TurnResult
from pytest_plsqlbench.bench.run import describe_run, part_of, tasks_digest, turns_digest
from pytest_plsqlbench.bench.shard import Shard, TurnKey, key_of
from pytest_plsqlbench.bench.task import Dialect, Source, Task, Turn, UserError
from pytest_plsqlbench.bench.task import Test as BenchTest
from pytest_plsqlbench.cli.merge import command
from pytest_plsqlbench.reporting.merge import merge
from pytest_plsqlbench.reporting.page.render import render
from pytest_plsqlbench.reporting.page.source import read_run as read_saved_run
from pytest_plsqlbench.reporting.parts import find_parts
from pytest_plsqlbench.reporting.runfile import read_run, start_part, write_run
from pytest_plsqlbench.reporting.store import ResultStore, encode_results
from pytest_plsqlbench.reporting.summary import write_summary

ENGINES: dict[Dialect, EngineInfo] = {
    "oracle": EngineInfo("oracle", "23.9", "container"),
    "postgres": EngineInfo("postgres", "18.6", "embedded"),
}


def make_tasks() -> list[Task]:
    """Single turns in both dialects, and conversations of two to four turns."""

    def turns(name: str, count: int) -> tuple[Turn, ...]:
        return tuple(
            Turn(index=i, id=f"{name}_q{i}", prompt="?", reference="r", tests=(BenchTest(name="t"),))
            for i in range(1, count + 1)
        )

    dialects: tuple[Dialect, ...] = ("oracle", "postgres")
    tasks = [
        Task(
            id=f"MBPP/{n}",
            subset="mbpp",
            dialect=dialect,
            turns=turns(f"m{n}", 1),
            source=Source("a.jsonl", n),
        )
        for n in range(1, 20)
        for dialect in dialects
    ]
    tasks += [
        Task(
            id=f"talk-{n}",
            subset="spider2_mt",
            dialect="oracle",
            turns=turns(f"talk-{n}", 2 + n % 3),
            conversation=True,
            source=Source("b.jsonl", n),
        )
        for n in range(11)
    ]
    return tasks


def make_results(tasks: Sequence[Task]) -> list[TurnResult]:
    """Verdicts of every kind, with numbers that do not add up exactly in floats."""
    dice = random.Random(7)
    graded: Status = "graded"
    statuses: tuple[Status, ...] = (*[graded] * 12, "missing", "reference_error", "infrastructure_error")
    results = []
    for task in tasks:
        for turn in task.turns:
            for sample in (0, 1):
                total = dice.choice([1, 3, 7])
                status = dice.choice(statuses)
                passed = dice.randint(0, total) if status == "graded" else 0
                tests = tuple(
                    TestResult(
                        name=f"t{i}",
                        verdict="passed" if i < passed else "failed",
                        category=None if i < passed else "logic",
                        subcategory=None if i < passed else "output",
                    )
                    for i in range(total if status == "graded" else 0)
                )
                results.append(
                    TurnResult(
                        task=task.id,
                        subset=task.subset,
                        dialect=task.dialect,
                        conversation=task.conversation,
                        turn=turn.index,
                        turns=len(task.turns),
                        turn_id=turn.id,
                        sample=sample,
                        model="m",
                        status=status,
                        passed=passed,
                        total=total,
                        solved=passed == total,
                        tests=tests,
                        engine=ENGINES[task.dialect],
                        comparator="published/1",
                        elapsed_ms=dice.random(),
                    )
                )
    return results


TASKS = make_tasks()
RESULTS = make_results(TASKS)
KEYS = [key_of(result) for result in RESULTS]
RUN = describe_run(
    TASKS,
    KEYS,
    version="0.1.0",
    predictions=b"{}\n",
    comparator="published/1",
    settings={"timeout": 10.0},
    left_out={"oracle": 2},
)


def write_part(folder: Path, shard: Shard) -> Path:
    """What a run writes into its report folder, by the same code."""
    part = part_of(RUN, KEYS, shard, predictions="out.jsonl", databases={"oracle/shop": "abc"})
    start_part(folder, part)
    mine = set(part.turns)
    store = ResultStore(folder / "results.jsonl")
    for result in RESULTS:
        if key_of(result) in mine:
            store.add(result)
    results = store.finish()
    if results:
        write_summary(folder, results, collected=len(part.turns))
    return folder


@pytest.fixture
def parts(tmp_path: Path) -> Callable[[int], list[Path]]:
    def make(count: int) -> list[Path]:
        return [write_part(tmp_path / "parts" / str(i), Shard(i, count)) for i in range(1, count + 1)]

    return make


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_part(tmp_path_factory.mktemp("whole"), Shard())


def refused(folders: Sequence[Path], out: Path) -> str:
    with pytest.raises(UserError) as caught:
        merge(find_parts(folders, out), out)
    assert not out.exists()
    message = str(caught.value)
    assert "\n" not in message
    return message


def edit_run(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "run.json").read_text())
    for name, value in changes.items():
        (content["run"] if name in content["run"] else content)[name] = value
    (folder / "run.json").write_text(json.dumps(content))


def edit_results(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    path = folder / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# -- the good case -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 8, 49, 60])
def test_merged_files_are_those_of_the_undivided_run_in_any_order(
    count: int, parts: Callable[[int], list[Path]], whole: Path, tmp_path: Path
) -> None:
    folders = parts(count)
    for turn in range(3):
        out = tmp_path / f"out{turn}"
        merge(find_parts(folders, out), out)
        for name in ("summary.json", "results.jsonl", "run.json"):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), name
        random.Random(turn).shuffle(folders)


def test_results_in_the_order_of_workers_give_the_same_files(
    parts: Callable[[int], list[Path]], whole: Path, tmp_path: Path
) -> None:
    folders = parts(3)
    for folder in folders:  # as a run leaves them that was killed before it sorted them, yet complete
        edit_results(folder, random.Random(1).shuffle)
    merge(folders, tmp_path / "out")
    assert (tmp_path / "out" / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()


def test_merged_run_can_be_merged_again(
    parts: Callable[[int], list[Path]], whole: Path, tmp_path: Path
) -> None:
    merge(parts(4), tmp_path / "once")
    merge([tmp_path / "once"], tmp_path / "twice")
    assert (tmp_path / "twice" / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def test_shard_without_turns_is_a_part_like_others(
    parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(60)  # of 49 tasks
    assert any(not read_run(folder).turns for folder in folders)
    joined, _, _ = merge(folders, tmp_path / "out")
    assert len(joined.turns) == len(RESULTS)


def test_servers_may_have_different_addresses(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_results(folders[1], lambda rows: [row["engine"].update(server="db2:5432") for row in rows])
    _, _, summary = merge(folders, tmp_path / "out")
    assert {engine.server for engine in summary.engines} == {"container", "embedded", "db2:5432"}


# -- what does not fit ---------------------------------------------------------------------------------------


def test_missing_shards_are_named(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(5)
    message = refused([folders[0], folders[2], folders[3]], tmp_path / "out")
    assert message == "2 of 5 shards are missing: 2, 5; run them with --plsql-shard=2/5 and so on"


def test_same_shard_twice(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(3)
    again = write_part(tmp_path / "x", Shard(2, 3))
    message = refused([*folders, again], tmp_path / "out")
    assert message == f"shard 2/3 is there twice, {folders[1]} and {again}: give one"


def test_same_folder_named_twice_counts_once(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    found = find_parts(
        [*folders, folders[0] / "results.jsonl", folders[0] / "." / "run.json"], tmp_path / "o"
    )
    assert found == folders


def test_shards_of_different_divisions(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    other = write_part(tmp_path / "other", Shard(2, 3))
    assert "are of different divisions of the run" in refused([folders[0], other], tmp_path / "out")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("plsqlbench", "0.2.0"),
        ("predictions_sha256", "0" * 64),
        ("predictions_sha256", None),
        ("comparator", "normalized/1"),
        ("settings", {"timeout": 20.0}),
        ("tasks", 48),
        ("tasks_sha256", "0" * 64),
        ("turns", 1),
        ("turns_sha256", "0" * 64),
        ("left_out", {}),
    ],
)
def test_parts_of_different_runs(
    field: str, value: Any, parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(2)
    edit_run(folders[1], **{field: value})
    message = refused(folders, tmp_path / "out")
    assert message.startswith(f"{folders[1]} is not of the same run as {folders[0]}: {field} is ")


def test_every_field_of_a_run_is_compared() -> None:
    tested = {"plsqlbench", "predictions_sha256", "comparator", "settings", "tasks", "tasks_sha256", "turns"}
    assert set(RUN.__struct_fields__) == tested | {"turns_sha256", "left_out"}


def test_unfinished_part(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    text = (folders[1] / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folders[1] / "results.jsonl").write_bytes(b"".join(text[:-2]) + text[-2][:40])  # killed while it wrote
    message = refused(folders, tmp_path / "out")
    assert f"shard 2/2 ({folders[1]}) is incomplete: 2 turns of {len(text)} without a result" in message
    assert message.endswith("run it again with --plsql-shard=2/2")


def test_part_that_was_killed_before_its_first_result(
    parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(2)
    start_part(folders[1], read_run(folders[1]))  # removes the results of the run before
    assert "cannot read" in refused(folders, tmp_path / "out")


def test_double_result_in_a_part(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_results(folders[0], lambda rows: rows.append(rows[3]))
    assert refused(folders, tmp_path / "out").endswith(" 2 times")


def test_result_that_the_part_does_not_name(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_results(folders[0], lambda rows: rows[0].update(task="strange"))
    assert "'strange' (oracle), turn 1, which its run.json does not name" in refused(
        folders, tmp_path / "out"
    )


def test_result_of_another_comparator(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_results(folders[0], lambda rows: rows[5].update(comparator="published/2"))
    assert "has results of the comparator published/2, not published/1" in refused(folders, tmp_path / "out")


def test_overlapping_and_lost_turns_of_a_wrong_division(
    parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(2)
    first, second = (read_run(folder) for folder in folders)
    write_run(
        folders[1], msgspec.structs.replace(second, turns=tuple(sorted((*second.turns, first.turns[0]))))
    )
    shared = next(result for result in RESULTS if key_of(result) == first.turns[0])
    with (folders[1] / "results.jsonl").open("ab") as file:
        file.write(encode_results([shared]))
    assert " is in both shard 1/2 (" in refused(folders, tmp_path / "out")

    write_part(folders[1], Shard(2, 2))
    lost = second.turns[0]
    write_run(folders[1], msgspec.structs.replace(second, turns=second.turns[1:]))
    edit_results(
        folders[1],
        lambda rows: rows.remove(
            next(
                r
                for r in rows
                if (r["task"], r["dialect"], r["turn"], r["sample"])
                == (lost.task, lost.dialect, lost.turn, lost.sample)
            )
        ),
    )
    assert f"have {len(RESULTS) - 1} turns, which are not the {len(RESULTS)}" in refused(
        folders, tmp_path / "out"
    )


def test_engines_of_different_versions(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_results(
        folders[1],
        lambda rows: [r["engine"].update(version="21.3") for r in rows if r["dialect"] == "oracle"],
    )
    message = refused(folders, tmp_path / "out")
    assert message == (
        f"engine oracle has version 21.3 in shard 2/2 ({folders[1]}) and 23.9 in shard 1/2 ({folders[0]})"
    )


def test_databases_that_differ(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    edit_run(folders[1], databases={"oracle/shop": "xyz"})
    assert "the database oracle/shop differs between" in refused(folders, tmp_path / "out")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not the description of a run"),
        ("[]", "not the description of a run"),
        ('{"schema_version": 99}', "schema_version 99 is not 1"),
        ('{"schema_version": 1}', "not the description of a run: Object missing required field"),
    ],
)
def test_run_file_that_cannot_be_read(
    content: str, message: str, parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(2)
    (folders[0] / "run.json").write_text(content)
    assert f"{folders[0] / 'run.json'}: {message}" in refused(folders, tmp_path / "out")


# -- finding parts -------------------------------------------------------------------------------------------


def test_parts_below_a_folder_are_found_and_an_earlier_merge_there_is_not_one(
    parts: Callable[[int], list[Path]], tmp_path: Path, whole: Path
) -> None:
    folders = parts(3)
    out = tmp_path / "parts" / "merged"
    for _ in range(2):
        found = find_parts([tmp_path / "parts"], out)
        assert found == folders
        merge(found, out)
    assert (out / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("named", "out", "message"),
    [
        (["1", "2"], "1", "holds shard 1/2 of a run: it would be overwritten"),
        (["."], "1", "holds shard 1/2 of a run: it would be overwritten"),
        (["."], ".", "holds the part"),
        (["1", "2"], ".", "holds the part"),
        (["."], "..", "holds the part"),
        (["1/run.json", "2/results.jsonl"], "2/../.", "holds the part"),
    ],
)
def test_a_merge_never_harms_a_part(
    named: list[str], out: str, message: str, parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    parts(2)
    folder = tmp_path / "parts"
    before = contents(tmp_path)
    with pytest.raises(UserError, match=message):
        find_parts([folder / name for name in named], folder / out)
    assert contents(tmp_path) == before


def test_a_part_of_another_run_is_not_overwritten(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    strange = write_part(tmp_path / "strange", Shard(3, 4))
    with pytest.raises(UserError, match="strange holds shard 3/4 of a run: it would be overwritten"):
        find_parts(folders, strange)


def test_out_must_not_be_the_only_part(parts: Callable[[int], list[Path]]) -> None:
    [folder] = parts(1)  # as --plsql-shard=1/1 leaves it, or an earlier merge
    with pytest.raises(UserError, match="is one of the parts: it would be overwritten"):
        find_parts([folder], folder)


@pytest.mark.parametrize("name", ["run.json", "results.jsonl"])
def test_a_folder_that_is_a_part_and_holds_parts_is_refused(
    name: str, parts: Callable[[int], list[Path]], tmp_path: Path, whole: Path
) -> None:
    folders = parts(2)
    (tmp_path / "parts" / name).write_bytes((whole / name).read_bytes())
    message = refused([tmp_path / "parts"], tmp_path / "out")
    assert f"{tmp_path / 'parts'} holds results of its own ({name}) and others below" in message
    assert f"({folders[0]} and 1 more)" in message


def test_a_joined_run_among_the_parts_is_named(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(2)
    joined = tmp_path / "parts" / "joined"
    merge(folders, joined)
    message = refused([tmp_path / "parts"], tmp_path / "out")
    assert message == f"{joined} holds the whole run, not a part of it: leave it out"


def test_results_without_a_description_are_refused(
    parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    folders = parts(2)
    (folders[0] / "run.json").unlink()
    message = refused([tmp_path / "parts"], tmp_path / "out")
    assert message.startswith(f"{folders[0]} has no run.json: its run had no --plsql-shard")


def test_paths_that_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "summary.json").touch()
    out = tmp_path / "out"
    assert "does not exist" in refused([tmp_path / "absent"], out)
    assert "give the pattern without quotes" in refused([tmp_path / "parts" / "*"], out)
    assert "it holds no part of a run" in refused([tmp_path / "empty"], out)
    assert "is neither a folder nor a results.jsonl or run.json" in refused([tmp_path / "summary.json"], out)


# -- the command ---------------------------------------------------------------------------------------------


def call(*args: str) -> Result:
    return CliRunner().invoke(command, args)


def test_command_shows_the_summary(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    parts(3)
    result = call(str(tmp_path / "parts"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("merged 3 parts of out.jsonl\nplsqlbench: m, published/1\n")
    assert "left out: 2 turns in dialect oracle" in result.output
    assert (tmp_path / "out" / "summary.json").exists()
    assert "summary.json, report.html and run.json beside it" in result.output


def test_command_writes_the_page_that_report_would_write(
    parts: Callable[[int], list[Path]], tmp_path: Path
) -> None:
    parts(3)
    out = tmp_path / "out"
    assert call(str(tmp_path / "parts"), "--out", str(out)).exit_code == 0
    assert (out / "report.html").read_text(encoding="utf-8") == render([read_saved_run(out)])


def test_a_page_that_cannot_be_written_does_not_cost_the_join(
    parts: Callable[[int], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> str:
        raise RuntimeError("no ink")

    parts(2)
    monkeypatch.setattr("pytest_plsqlbench.reporting.page.render.render", fail)
    result = call(str(tmp_path / "parts"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "plsqlbench: report.html was not written (RuntimeError: no ink)" in result.output
    assert "results.jsonl, summary.json and run.json beside it" in result.output


def test_command_ends_with_one_line_on_a_fault(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    folders = parts(3)
    result = call(str(folders[0]), "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, UserError)  # main() turns it into a line and exit code 2
    assert not (tmp_path / "out").exists()


def test_out_that_is_a_file_is_one_line(parts: Callable[[int], list[Path]], tmp_path: Path) -> None:
    parts(2)
    (tmp_path / "out").touch()
    result = call(str(tmp_path / "parts"), "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, UserError)
    assert str(result.exception) == f"--out {tmp_path / 'out'} is a file: name a folder"


# -- digests -------------------------------------------------------------------------------------------------


def test_digest_of_tasks_depends_on_content_and_not_on_place_or_order() -> None:
    moved = [msgspec.structs.replace(task, source=Source("elsewhere", 1)) for task in reversed(TASKS)]
    assert tasks_digest(moved) == tasks_digest(TASKS)
    changed = msgspec.structs.replace(TASKS[0].turns[0], reference="other")
    assert tasks_digest([msgspec.structs.replace(TASKS[0], turns=(changed,)), *TASKS[1:]]) != tasks_digest(
        TASKS
    )
    assert tasks_digest(TASKS[1:]) != tasks_digest(TASKS)
    assert tasks_digest([*TASKS, TASKS[0]]) != tasks_digest(TASKS)


def test_digest_of_turns_depends_on_every_part_of_a_key() -> None:
    key = TurnKey("s", "t", "oracle", 1, 0)
    others = [
        TurnKey("x", "t", "oracle", 1, 0),
        TurnKey("s", "x", "oracle", 1, 0),
        TurnKey("s", "t", "postgres", 1, 0),
        TurnKey("s", "t", "oracle", 2, 0),
        TurnKey("s", "t", "oracle", 1, 1),
    ]
    assert len({turns_digest([k]) for k in (key, *others)}) == 6
    assert turns_digest([key, *others]) == turns_digest([*reversed(others), key])
