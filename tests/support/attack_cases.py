"""The attacks of tests/attacks: read from files, made into tasks and predictions, run once, looked up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

FOLDER = Path(__file__).resolve().parent.parent / "attacks"
MARK = "reference-mark-5d41402abc"
"""Stands in the body of every reference, and must be seen nowhere."""
CANARIES_AT_THE_END = 20
LIMIT = 0.75
"""Seconds that a test may take."""
_KEYS = {
    *("id", "tries", "task", "tests", "program", "generated", "surrogate"),
    *("outcome", "passed", "flags", "shown", "absent"),
}
_NOT_HANDED_ON = ("PYTEST_", "PLSQLBENCH_P", "PLSQLBENCH_O")
"""Beginnings of environment variables that would change the run."""
_PROBE = """SELECT
  (SELECT count(*) FROM depot.items), (SELECT sum(stock) FROM depot.items),
  (SELECT count(*) FROM depot.moves), (SELECT count(*) FROM depot.moves WHERE move_id < 3),
  nextval('depot.tickets'),
  (SELECT count(*) FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.database =
    (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())),
  (SELECT count(*) FROM pg_catalog.pg_prepared_statements),
  (SELECT count(*) FROM pg_catalog.pg_prepared_xacts),
  (SELECT count(*) FROM pg_catalog.pg_cursors WHERE is_holdable),
  (SELECT count(*) FROM pg_catalog.pg_listening_channels()),
  (SELECT count(*) FROM pg_catalog.pg_largeobject_metadata),
  (SELECT count(*) FROM pg_catalog.pg_class WHERE relpersistence = 't'),
  (SELECT count(*) FROM pg_catalog.pg_proc WHERE oid >= 16384),
  (SELECT count(*) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal),
  (SELECT count(*) FROM pg_catalog.pg_extension),
  (SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = session_user AND
    EXISTS (SELECT 1 FROM unnest(rolconfig) AS c WHERE c NOT LIKE 'temp_file_limit=%'
      AND c NOT IN ('plpgsql.variable_conflict=error', 'session_replication_role=origin', 'lc_messages=C'))),
  (SELECT count(*) FROM pg_catalog.pg_db_role_setting s JOIN pg_catalog.pg_roles r ON r.oid = s.setrole
    WHERE r.rolname = session_user AND (s.setdatabase <> 0 OR array_length(s.setconfig, 1) > 4)),
  current_setting('my.own', true) IS NULL, current_setting('my.turns', true) IS NULL,
  current_setting('TimeZone'), current_setting('DateStyle'), current_setting('search_path'),
  current_setting('transaction_read_only'), current_setting('transaction_isolation'),
  now() > timestamptz '2020-01-01', pg_catalog.count(*) FROM (VALUES (1)) AS one (i);"""
_PROBED = [
    *(3, 350, 2, 2, 1000),
    *(0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0),
    *(True, True, "UTC", "ISO, MDY", '"work", "depot", "public"', "off", "read committed", True, 1),
]


@dataclass(frozen=True)
class Expected:
    """The one right outcome of a turn; a few have more than one, where timing decides."""

    turn_id: str
    outcomes: frozenset[str]
    """``solved``, a status, or ``category/subcategory`` of the first failed test."""
    passed: int | None
    flags: frozenset[str]


@dataclass(frozen=True)
class Case:
    """An attack."""

    id: str
    kind: str
    task: dict[str, Any]
    programs: tuple[str | None, ...]
    expected: tuple[Expected, ...]
    shown: tuple[str, ...]
    absent: tuple[str, ...]


@cache
def honest() -> dict[str, dict[str, Any]]:
    """The honest tasks, by name."""
    content: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "honest.yaml").read_text(encoding="utf-8"))
    return content


@cache
def attacks() -> tuple[Case, ...]:
    """All attacks, in the order of their files."""
    cases = tuple(case for path in sorted((FOLDER / "cases").glob("*.yaml")) for case in _read(path))
    assert len({case.id for case in cases}) == len(cases), "ids repeat"
    return cases


def _read(path: Path) -> Iterator[Case]:
    for row in yaml.safe_load(path.read_text(encoding="utf-8")):
        assert row.keys() <= _KEYS, f"{path.name}: {row['id']}: {row.keys() - _KEYS}"
        assert row["tries"], row["id"]
        talk = isinstance(row["task"], list)
        names = row["task"] if talk else [row["task"]]
        if "generated" in row:
            made = row["generated"]
            row["program"] = made["open"] + made["repeat"] * made["times"] + made["close"]
        texts = row["program"] if talk else [row["program"]]
        turns = [_turn(name, row.get("tests")) for name in names]
        outcomes = row["outcome"] if talk else [row["outcome"]]
        yield Case(
            id=row["id"],
            kind=path.stem,
            task=_task(row["id"], path.stem, turns, talk=talk, setup=honest()[names[0]].get("setup")),
            programs=tuple(_program(text, name, row) for text, name in zip(texts, names, strict=True)),
            expected=tuple(
                Expected(
                    turn_id=f"{row['id']}_q{at:02}" if talk else row["id"],
                    outcomes=frozenset(_spread(outcome)),
                    passed=row.get("passed"),
                    flags=frozenset(row.get("flags", ())),
                )
                for at, outcome in enumerate(outcomes, 1)
            ),
            shown=tuple(row.get("shown", ())),
            absent=tuple(row.get("absent", ())),
        )


def _program(text: str | None, name: str, row: dict[str, Any]) -> str | None:
    if text is None:
        return None
    text = text.replace("@honest@", honest()[name]["program"])
    return text.replace("@surrogate@", "\ud800") if row.get("surrogate") else text


def _spread(outcome: str | list[str]) -> Iterator[str]:
    """``limit/a|b`` is ``limit/a`` or ``limit/b``."""
    for one in [outcome] if isinstance(outcome, str) else outcome:
        category, slash, rest = one.partition("/")
        yield from (f"{category}{slash}{word}" for word in rest.split("|"))


def _turn(name: str, tests: list[str] | None) -> dict[str, Any]:
    task = honest()[name]
    return {
        "prompt": f"Write what the task {name!r} asks for.",
        "reference": _marked(task["program"]),
        "tests": [test for test in task["tests"] if tests is None or test["name"] in tests],
    }


def _marked(program: str) -> str:
    return program.replace("$$", f"$$ /* {MARK} */", 1)


def _task(
    name: str, kind: str, turns: list[dict[str, Any]], *, talk: bool, setup: str | None = None
) -> dict[str, Any]:
    variant = {"turns": turns} if talk else turns[0]
    if setup is not None:
        variant = {**variant, "setup": setup}
    return {"id": name, "subset": kind, "database": "depot", "variants": {"postgres": variant}}


def canary(number: int) -> tuple[dict[str, Any], str]:
    """An honest task and its right program, in which shows what an earlier program has spoiled.

    Each looks at all that could be left behind; every eighth has all kinds of tests, too.
    """
    names = ("value", "lines", "state")
    tested = names if number % 8 == 0 else ("lines",)
    program = "\n".join(honest()[name]["program"] for name in names)
    probe = {"name": "nothing is left", "call": _PROBE, "expect": {"rows": [_PROBED]}}
    turn = {
        "prompt": "Write all of it.",
        "reference": "\n".join(_marked(honest()[name]["program"]) for name in names),
        "tests": [
            probe,
            *(test for name in tested for test in honest()[name]["tests"]),
            probe | {"name": "again"},
        ],
    }
    return _task(f"canary-{number:03}", "canaries", [turn], talk=False), program


@dataclass(frozen=True)
class Attacked:
    """What a run over all attacks and canaries left."""

    folder: Path
    results: dict[str, dict[str, Any]]
    """By turn."""
    stdout: bytes
    exit_code: int
    seconds: float

    @property
    def written(self) -> dict[str, bytes]:
        """Content of what was printed and reported about programs, by name; not their own texts."""
        names = ("results.jsonl", "summary.json")
        files = {name: (self.folder / "reports" / name).read_bytes() for name in names}
        return {"stdout": self.stdout, "junit.xml": (self.folder / "junit.xml").read_bytes(), **files}


def write_suite(folder: Path) -> None:
    """Write tasks, database and predictions: all attacks, an honest turn after each, more at the end."""
    tasks: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for number, case in enumerate(attacks()):
        tasks.append(case.task)
        for at, program in enumerate(case.programs, 1):
            if program is not None:
                key: dict[str, Any] = {"instance_id": case.id}
                if len(case.programs) > 1:
                    key = {"conversation_id": case.id, "turn_index": at}
                rows.append({**key, "model": "attacker", "generated_plsql": program})
        _add_canary(number, tasks, rows)
    for number in range(CANARIES_AT_THE_END):
        _add_canary(len(attacks()) + number, tasks, rows)
    (folder / "fixtures").mkdir(parents=True)
    (folder / "fixtures" / "depot.yaml").write_bytes((FOLDER / "depot.yaml").read_bytes())
    _write_lines(folder / "tasks.jsonl", tasks)
    _write_lines(folder / "out.jsonl", rows)
    (folder / "pytest.ini").write_text("[pytest]\n")


def _add_canary(number: int, tasks: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    task, program = canary(number)
    tasks.append(task)
    rows.append({"instance_id": task["id"], "model": "attacker", "generated_plsql": program})


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def attack(folder: Path, workers: int) -> Attacked:
    """Run all attacks, as a user would, in a process of its own; once for all processes that ask.

    Args:
        folder: where; shared by those that ask.
        workers: for ``-n``.
    """
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "done.json").exists():
            _run(folder, workers)
    done = json.loads((folder / "done.json").read_text())
    lines = (folder / "reports" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    results = {result["turn_id"]: result for result in map(json.loads, lines)}
    return Attacked(folder, results, (folder / "stdout").read_bytes(), done["exit_code"], done["seconds"])


def _run(folder: Path, workers: int) -> None:
    write_suite(folder)
    environment = {name: os.environ[name] for name in os.environ if not name.startswith(_NOT_HANDED_ON)}
    started = time.monotonic()
    with (folder / "stdout").open("wb") as stdout:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "tasks.jsonl", "-p", "no:hypothesispytest"),
                *("-n", str(workers), "-v", "-rA", "--tb=long", "--showlocals", "--junitxml=junit.xml"),
                *("--plsql-predictions=out.jsonl", f"--plsql-timeout={LIMIT}"),
            ],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - started
    (folder / "done.json").write_text(json.dumps({"exit_code": done.returncode, "seconds": seconds}))
