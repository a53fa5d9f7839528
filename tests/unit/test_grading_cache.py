"""The cache of what references showed: what is believed, what is kept, and what a failure is judged by."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_plsqlbench.bench.observation import CallObservation, Observation
from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.result import EngineInfo, TurnResult
from pytest_plsqlbench.bench.task import Comparison, Source, Task, Test, Turn
from pytest_plsqlbench.engines.protocol import Limits, Play, Played
from pytest_plsqlbench.grading import cache as cache_module
from pytest_plsqlbench.grading import reference as reference_module
from pytest_plsqlbench.grading.answers import Answers
from pytest_plsqlbench.grading.cache import DAY, ReferenceCache
from pytest_plsqlbench.grading.content import content_key
from pytest_plsqlbench.grading.grader import Grader
from pytest_plsqlbench.grading.reference import ReferenceBook

KEY = content_key("one")
OTHER = content_key("two")


class Kept(msgspec.Struct):
    text: str


class Anything(msgspec.Struct, array_like=True):
    value: Any


def entry(folder: Path, key: str = KEY) -> Path:
    return folder / key[:2] / key[2:]


# ---- files ----------------------------------------------------------------------------------------


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    ReferenceCache(tmp_path).put(KEY, Kept("shown"))
    assert ReferenceCache(tmp_path).get(KEY, Kept) == Kept("shown")
    assert ReferenceCache(tmp_path).get(OTHER, Kept) is None


@pytest.mark.parametrize("change", ["cut", "flip", "empty", "append", "raw", "version"])
def test_a_spoilt_entry_is_not_believed(tmp_path: Path, change: str) -> None:
    cache = ReferenceCache(tmp_path)
    cache.put(KEY, Kept("shown"))
    path = entry(tmp_path)
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-1],
            "flip": data.replace(b"shown", b"shovn"),
            "empty": b"",
            "append": data + b"x",
            "raw": msgspec.msgpack.encode(Kept("poison")),
            "version": data.replace(b"reference 1", b"reference 2"),
        }[change]
    )
    assert cache.get(KEY, Kept) is None
    cache.put(KEY, Kept("again"))
    assert cache.get(KEY, Kept) == Kept("again")


def test_an_entry_under_the_name_of_another_is_not_believed(tmp_path: Path) -> None:
    cache = ReferenceCache(tmp_path)
    cache.put(KEY, Kept("shown"))
    entry(tmp_path, OTHER).parent.mkdir(exist_ok=True)
    entry(tmp_path).rename(entry(tmp_path, OTHER))
    assert cache.get(OTHER, Kept) is None


def test_writers_at_the_same_time_leave_whole_entries(tmp_path: Path) -> None:
    texts = [str(number) * 50_000 for number in range(8)]
    start = threading.Barrier(len(texts))

    def write(text: str) -> None:
        start.wait()
        for _ in range(20):
            ReferenceCache(tmp_path).put(KEY, Kept(text))

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = ReferenceCache(tmp_path).get(KEY, Kept)
        assert found is None or found.text in texts
    assert [path.name for path in entry(tmp_path).parent.iterdir()] == [KEY[2:]]


def test_a_folder_that_cannot_be_written_costs_the_reuse_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ReferenceCache(tmp_path / "file")
    cache.put(KEY, Kept("shown"))
    assert cache.get(KEY, Kept) is None


def test_a_giant_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "LARGEST_ENTRY", 100)
    ReferenceCache(tmp_path).put(KEY, Kept("x" * 200))
    assert not list(tmp_path.iterdir())


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def test_what_nobody_asks_for_goes(tmp_path: Path) -> None:
    cache = ReferenceCache(tmp_path)
    for key in (KEY, OTHER):
        cache.put(key, Kept("shown"))
    age(entry(tmp_path), 31)
    age(entry(tmp_path, OTHER), 29)
    torn = entry(tmp_path).parent / ".new-abc_def0"
    torn.write_bytes(b"x")
    age(torn, 2)
    cache.prune()
    assert not torn.exists()
    assert not entry(tmp_path).exists()
    assert cache.get(OTHER, Kept) is not None


def test_no_file_of_others_is_ever_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ReferenceCache(tmp_path)
    cache.put(KEY, Kept("shown"))
    folder = entry(tmp_path).parent
    mine = [
        folder / "old.pdf",
        folder / ".new-paper",
        folder / (KEY[2:] + ".bak"),
        folder / KEY[2:].upper(),
        tmp_path / "papers" / KEY[2:],
        tmp_path / KEY[2:],
    ]
    mine[4].parent.mkdir()
    for path in mine:
        path.write_text("mine")
        age(path, 400)
    monkeypatch.setattr(cache_module, "LARGEST", 1)
    cache.prune()
    assert not entry(tmp_path).exists()
    assert all(path.read_text() == "mine" for path in mine)


def test_links_are_not_followed_to_what_is_removed(tmp_path: Path) -> None:
    victims = ReferenceCache(tmp_path / "victims")
    victims.put(KEY, Kept("shown"))
    victim = entry(tmp_path / "victims")
    age(victim, 31)
    whole = tmp_path / "whole"
    whole.symlink_to(tmp_path / "victims")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / KEY[:2]).symlink_to(victim.parent)
    single = entry(tmp_path / "single")
    single.parent.mkdir(parents=True)
    single.symlink_to(victim)
    for folder in (whole, parts, tmp_path / "single"):
        ReferenceCache(folder).prune()
        assert victim.exists()
    victims.prune()
    assert not victim.exists()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 40)


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "sparse": sparse,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_ordinary_file_is_as_if_it_were_not_there(tmp_path: Path, kind: str) -> None:
    path = entry(tmp_path)
    path.parent.mkdir()
    ODD[kind](path)
    cache = ReferenceCache(tmp_path)
    assert cache.get(KEY, Kept) is None
    cache.put(KEY, Kept("shown"))
    assert cache.get(KEY, Kept) == (None if kind == "folder" else Kept("shown"))
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_a_forged_entry_that_nothing_can_be_built_from_is_not_believed(tmp_path: Path) -> None:
    path = entry(tmp_path)
    path.parent.mkdir()
    for payload in (b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff"):
        path.write_bytes(cache_module._head(KEY, payload) + payload)
        assert ReferenceCache(tmp_path).get(KEY, Anything) is None


def test_asking_keeps_an_entry(tmp_path: Path) -> None:
    cache = ReferenceCache(tmp_path)
    cache.put(KEY, Kept("shown"))
    age(entry(tmp_path), 20)
    cache.get(KEY, Kept)
    assert time.time() - entry(tmp_path).stat().st_mtime < 60


def test_the_oldest_of_too_much_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ReferenceCache(tmp_path)
    keys = [content_key(number) for number in range(5)]
    for number, key in enumerate(keys):
        cache.put(key, Kept("x" * 1000))
        age(entry(tmp_path, key), 10 - number)
    monkeypatch.setattr(cache_module, "LARGEST", 2_500)
    cache.prune()
    assert [cache.get(key, Kept) is not None for key in keys] == [False, False, False, True, True]


def test_pruning_is_done_once_a_day_by_whoever_writes(tmp_path: Path) -> None:
    ReferenceCache(tmp_path).put(KEY, Kept("shown"))
    age(entry(tmp_path), 31)
    ReferenceCache(tmp_path).put(OTHER, Kept("shown"))
    assert entry(tmp_path).exists()
    age(tmp_path / ".pruned", 1.1)
    ReferenceCache(tmp_path).put(OTHER, Kept("shown"))
    assert not entry(tmp_path).exists()


# ---- what is looked up ----------------------------------------------------------------------------

LINES = (Comparison("lines"),)


@dataclass
class StandIn:
    """An engine and its lane; the reference shows ``says``, a candidate its own text."""

    says: Callable[[], str] = lambda: "hello"
    elapsed_ms: float = 1.0
    version: str = "1"
    server: str = "here"
    plays: list[Play] = field(default_factory=list)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo("stand-in", self.version, self.server)

    @property
    def references(self) -> int:
        return sum(play.side == "reference" for play in self.plays)

    def lane(self, worker: str) -> StandIn:
        return self

    def play(self, play: Play) -> Played:
        self.plays.append(play)
        text = self.says() if play.side == "reference" else play.programs[-1]
        tests = tuple(
            Observation(calls=(CallObservation(lines=(text,)),), elapsed_ms=self.elapsed_ms)
            for _ in play.tests
        )
        return Played(tuple(CallObservation() for _ in play.programs), tests)

    def close(self) -> None:
        pass


def make_task(**more: object) -> Task:
    turns = tuple(
        Turn(
            index=index,
            id=f"t{index}",
            prompt="",
            reference=f"ref {index}",
            tests=(Test(name="a", calls=("c",), compare=LINES),),
        )
        for index in (1, 2, 3)
    )
    task = Task(id="t", subset="s", dialect="postgres", turns=turns, conversation=True, source=Source("t", 1))
    return msgspec.structs.replace(task, **more)


def grade(
    folder: Path,
    engine: StandIn,
    program: str = "hello",
    *,
    task: Task | None = None,
    index: int = 2,
    limits: Limits | None = None,
    host: str = "a",
) -> TurnResult:
    """Grade a turn in a process of its own."""
    limits = limits or Limits()
    book = ReferenceBook(ReferenceCache(folder), limits, host)
    grader = Grader(lambda _: engine, book, worker="w", reading="published", limits=limits)
    task = task or make_task()
    answers = Answers({index: program}, Prediction(id="t", program=program))
    return grader.grade(task, task.turns[index - 1], answers, lambda: None)


def test_a_known_reference_is_not_played(tmp_path: Path) -> None:
    first, second = StandIn(), StandIn()
    assert grade(tmp_path, first).solved
    assert grade(tmp_path, second).solved
    assert (first.references, second.references) == (2, 0)


def change_turn(index: int, **more: object) -> Task:
    task = make_task()
    turns = list(task.turns)
    turns[index - 1] = msgspec.structs.replace(turns[index - 1], **more)
    return msgspec.structs.replace(task, turns=tuple(turns))


@pytest.mark.parametrize(
    ("changed", "played"),
    [
        ({"task": change_turn(1, reference="another")}, True),
        ({"task": change_turn(2, reference="another")}, True),
        ({"task": change_turn(2, setup=("CREATE TYPE x",))}, True),
        ({"task": change_turn(2, tests=(Test(name="a", calls=("d",), compare=LINES),))}, True),
        ({"task": change_turn(2, strict_tests=(Test(name="b", calls=("d",), compare=LINES),))}, True),
        ({"task": make_task(dialect="oracle")}, True),
        ({"limits": Limits(rows=7)}, True),
        ({"limits": Limits(sessions=9)}, True),
        ({"limits": Limits(time=90.0)}, True),
        ({"limits": Limits(time=50.0)}, False),  # references have sixty seconds in any case
        ({"task": change_turn(3, reference="another")}, False),
        ({"task": change_turn(1, tests=())}, False),
        ({"task": change_turn(2, prompt="Please.")}, False),
        ({"task": make_task(id="renamed", source=Source("elsewhere", 9))}, False),
    ],
)
def test_whatever_the_reference_depends_on_makes_another_entry(
    tmp_path: Path, changed: dict[str, Task | Limits], played: bool
) -> None:
    grade(tmp_path, StandIn())
    engine = StandIn()
    assert grade(tmp_path, engine, **changed).solved  # type: ignore[arg-type]
    assert engine.references == (2 if played else 0)


@pytest.mark.parametrize("engine", [StandIn(version="2"), StandIn(server="there")])
def test_another_engine_or_server_makes_another_entry(tmp_path: Path, engine: StandIn) -> None:
    grade(tmp_path, StandIn())
    grade(tmp_path, engine)
    assert engine.references == 2


def test_other_code_makes_another_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(tmp_path, StandIn())
    monkeypatch.setattr(reference_module, "judging_version", lambda: "other")
    engine = StandIn()
    grade(tmp_path, engine)
    assert engine.references == 2


def test_times_of_another_machine_set_no_time_limit(tmp_path: Path) -> None:
    grade(tmp_path, StandIn(elapsed_ms=2000.0), host="fast")
    here, there = StandIn(elapsed_ms=9000.0), StandIn()
    grade(tmp_path, there, host="fast")
    assert there.plays[-1].time_limits == (20.0,)
    grade(tmp_path, here, host="slow")
    assert here.references == 2
    assert here.plays[-1].time_limits == (90.0,)


def test_times_below_the_floor_are_shared(tmp_path: Path) -> None:
    grade(tmp_path, StandIn(elapsed_ms=900.0), host="fast")
    engine = StandIn()
    grade(tmp_path, engine, host="slow")
    assert engine.references == 0


# ---- a failure --------------------------------------------------------------------------------------


def test_a_reference_that_shows_another_day_does_not_make_a_program_wrong(tmp_path: Path) -> None:
    grade(tmp_path, StandIn(says=lambda: "monday"), "monday")
    engine = StandIn(says=lambda: "tuesday")
    assert grade(tmp_path, engine, "tuesday").solved
    assert engine.references == 3  # once to compare, twice to be sure
    after = StandIn(says=lambda: "tuesday")
    assert grade(tmp_path, after, "tuesday").solved
    assert after.references == 0


@pytest.mark.parametrize("where", ["reference", "setup", "test"])
def test_a_program_of_another_day_is_not_right_today(tmp_path: Path, where: str) -> None:
    changed: dict[str, dict[str, object]] = {
        "reference": {"reference": "SELECT CURRENT_DATE"},
        "setup": {"setup": ("CREATE TABLE x (at date DEFAULT now())",)},
        "test": {"tests": (Test(name="t", calls=("SELECT f(now())",), compare=LINES),)},
    }
    task = change_turn(2, **changed[where])
    grade(tmp_path, StandIn(says=lambda: "monday"), "monday", task=task)
    engine = StandIn(says=lambda: "tuesday")
    assert not grade(tmp_path, engine, "monday", task=task).solved
    assert grade(tmp_path, StandIn(says=lambda: "tuesday"), "tuesday", task=task).solved


def test_a_failure_by_a_known_reference_is_confirmed_by_one_play(tmp_path: Path) -> None:
    grade(tmp_path, StandIn())
    engine = StandIn()
    result = grade(tmp_path, engine, "wrong")
    assert (result.status, result.solved, engine.references) == ("graded", False, 1)


def test_a_failure_by_a_reference_of_this_process_needs_no_more(tmp_path: Path) -> None:
    engine = StandIn()
    assert not grade(tmp_path, engine, "wrong").solved
    assert engine.references == 2


def test_a_reference_that_has_begun_to_vary_is_no_measure(tmp_path: Path) -> None:
    grade(tmp_path, StandIn())
    words = iter(("hello?", "one", "two"))
    result = grade(tmp_path, StandIn(says=lambda: next(words)), "wrong")
    assert result.status == "reference_error"
    assert "varies between two plays" in str(result.reason)
    assert "reference_varies" in result.flags


def test_an_entry_of_other_tests_is_not_believed(tmp_path: Path) -> None:
    engine, task = StandIn(), make_task()
    book = ReferenceBook(ReferenceCache(tmp_path), Limits(), "a")
    known = book.look_up(task, task.turns[1], None, engine.info, engine)
    key, _ = book._question(task, task.turns[1], None, engine.info)
    shorter = msgspec.structs.replace(known, observations=())
    book.cache.put(key, reference_module.Kept("a", shorter))
    again = replace(engine, plays=[])
    assert book.look_up(task, task.turns[1], None, again.info, again) == known
    assert again.references == 2
