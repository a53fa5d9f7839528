"""Shards: every turn in exactly one, conversations whole, the same work in each, whatever the order."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.shard import Shard, TurnKey, deal, parse_shard
from pytest_plsqlbench.bench.task import UserError

KEYS = st.builds(
    TurnKey,
    subset=st.sampled_from(["mbpp", "spider", "spider2_mt"]),
    task=st.text(min_size=1, max_size=3),
    dialect=st.sampled_from(["oracle", "postgres"]),
    turn=st.integers(1, 5),
    sample=st.integers(0, 2),
)


def unit(key: TurnKey) -> tuple[str, str, str]:
    return key.subset, key.task, key.dialect


@given(st.sets(KEYS, max_size=60), st.integers(1, 9), st.randoms(use_true_random=False))
def test_every_turn_is_in_exactly_one_shard_and_tasks_are_whole(
    keys: set[TurnKey], count: int, random: object
) -> None:
    shuffled = sorted(keys)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    shards = [deal(shuffled, Shard(index, count)) for index in range(1, count + 1)]
    assert shards == [deal(keys, Shard(index, count)) for index in range(1, count + 1)]
    assert sum(map(len, shards)) == len(keys)
    assert frozenset().union(*shards) == keys
    units = [{unit(key) for key in shard} for shard in shards]
    assert sum(map(len, units)) == len({unit(key) for key in keys})


@given(st.integers(1, 12), st.integers(0, 60), st.integers(0, 60))
def test_work_is_even_within_each_subset(count: int, singles: int, talks: int) -> None:
    keys = [TurnKey("mbpp", f"MBPP/{number}", "oracle", 1) for number in range(singles)]
    keys += [TurnKey("spider2_mt", f"t{n}", "oracle", turn) for n in range(talks) for turn in (1, 2, 3)]
    shards = [deal(keys, Shard(index, count)) for index in range(1, count + 1)]
    for subset, size in (("mbpp", 1), ("spider2_mt", 3)):
        loads = [sum(key.subset == subset for key in shard) for shard in shards]
        assert max(loads) - min(loads) <= size
    tasks = [len({unit(key) for key in shard}) for shard in shards]
    assert max(tasks) - min(tasks) <= 1


@given(st.integers(1, 6), st.lists(st.integers(1, 6), max_size=40))
def test_conversations_of_each_length_are_spread(count: int, lengths: list[int]) -> None:
    keys = [
        TurnKey("mt", f"t{number}", "oracle", turn)
        for number, length in enumerate(lengths)
        for turn in range(1, length + 1)
    ]
    longest = [
        Counter(Counter(unit(key) for key in deal(keys, Shard(i, count))).values())
        for i in range(1, count + 1)
    ]
    for length in set(lengths):
        found = [shard[length] for shard in longest]
        assert max(found) - min(found) <= 1


def test_a_turn_named_twice_counts_once() -> None:
    keys = [TurnKey("mt", "short", "oracle", 1)] * 5 + [
        TurnKey("mt", "long", "oracle", turn) for turn in (1, 2)
    ]
    assert deal(keys, Shard(1, 2)) == {key for key in keys if key.task == "long"}


def test_neighbours_part() -> None:
    keys = [TurnKey("s", f"task-{number:03}", "postgres", 1) for number in range(200)]
    numbers = sorted(int(key.task[5:]) for key in deal(keys, Shard(1, 2)))
    assert len(numbers) == 100
    assert 30 < sum(number % 2 for number in numbers) < 70  # every second one of the file would be 0 or 100


def test_division_is_the_same_in_every_process() -> None:
    script = """
from pytest_plsqlbench.bench.shard import Shard, TurnKey, deal
keys = {TurnKey("s", f"t{n}", "oracle", 1) for n in range(40)}
print(sorted(key.task for key in deal(keys, Shard(2, 7))))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("text", "shard"), [("1/1", Shard(1, 1)), (" 2/8 ", Shard(2, 8)), ("10000/10000", Shard(10_000, 10_000))]
)
def test_parse(text: str, shard: Shard) -> None:
    assert parse_shard(text, {}) == shard
    assert str(shard) == text.strip()


@pytest.mark.parametrize(
    "text", ["", "1", "/", "1/", "/8", "a/b", "1/0", "-1/8", "1/8/2", "1.0/8", "1/10001", "٣/8"]
)
def test_parse_refuses_what_is_no_shard(text: str) -> None:
    with pytest.raises(UserError, match=r"^--plsql-shard: .* is not I/N or auto/N"):
        parse_shard(text, {})


@pytest.mark.parametrize("text", ["0/8", "9/8"])
def test_parse_refuses_parts_that_do_not_exist(text: str) -> None:
    with pytest.raises(UserError, match="they count from 1 to 8"):
        parse_shard(text, {}, "PLSQLBENCH_SHARD")


@pytest.mark.parametrize(
    ("environment", "index"),
    [
        ({"JOB_COMPLETION_INDEX": "0"}, 1),
        ({"JOB_COMPLETION_INDEX": "7"}, 8),
        ({"SLURM_ARRAY_TASK_ID": "1"}, 1),
        ({"SLURM_ARRAY_TASK_ID": "8", "JOB_COMPLETION_INDEX": ""}, 8),
    ],
)
def test_auto_takes_the_index_from_the_scheduler(environment: dict[str, str], index: int) -> None:
    assert parse_shard("auto/8", environment) == Shard(index, 8)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "none of JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID is set"),
        (
            {"JOB_COMPLETION_INDEX": "1", "SLURM_ARRAY_TASK_ID": "1"},
            "both JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID are set",
        ),
        ({"JOB_COMPLETION_INDEX": "8"}, "JOB_COMPLETION_INDEX is '8', not a number from 0 to 7"),
        ({"SLURM_ARRAY_TASK_ID": "0"}, "SLURM_ARRAY_TASK_ID is '0', not a number from 1 to 8"),
        ({"SLURM_ARRAY_TASK_ID": "9"}, "not a number from 1 to 8"),
        ({"SLURM_ARRAY_TASK_ID": "x"}, "not a number from 1 to 8"),
    ],
)
def test_auto_without_a_clear_index_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_shard("auto/8", environment)
    assert message in str(caught.value)
