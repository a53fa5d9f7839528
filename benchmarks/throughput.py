"""How fast a suite of the published size is graded, as ratios to floors measured in the same run.

    python benchmarks/throughput.py            # everything, a few minutes
    python benchmarks/throughput.py --rounds 1

Builds 2,594 single-turn tasks and 271 conversations with 978 turns (the public size of PLSQLBench), three
tests a turn, tiny programs over ten tables of 1,000 rows, and measures, round by round in one run:

* empty pytest items of the same number, at ``-n 0`` and ``-n 2``: what pytest itself costs;
* our run at ``-n 0`` and ``-n 2``, with the reference cache cold once and warm afterwards;
* the same suite with a template copy a turn (every n-th turn, scaled);
* the cost of turn 3,000 against turn 100, and the time from start to the first test.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SINGLE_TURN = 2_594
CONVERSATIONS = 271
CONVERSATION_TURNS = 978
TABLES = 10
ROWS = 1_000
COPY_STEP = 20
"""Every n-th turn is played in the run with template copies, and the time scaled."""

LIMITS = {
    "-n 2 / empty items -n 2": 4.0,
    "-n 0 / empty items -n 0": 10.0,
    "turn 3,000 / turn 100": 1.3,
}
COPY_LIMIT = 10.0
FIRST_TEST_LIMIT = 2.0

EMPTY_CONFTEST = """
import json
import pytest


class Empty(pytest.Item):
    def runtest(self):
        pass


class File(pytest.File):
    def collect(self):
        for line in self.path.read_text().splitlines():
            row = json.loads(line)
            variant = row["variants"]["postgres"]
            for index, turn in enumerate(variant.get("turns", [variant]), 1):
                yield Empty.from_parent(self, name=f"{row['id']}_t{index}[postgres]")


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".jsonl":
        return File.from_parent(parent, path=file_path)
"""

COPIES_PLUGIN = '''
"""Throws the lane's copy of the template away after every play, so that each turn pays for one.

Such a lane need not look whether it is as it was, and pays nothing for that.
"""
from pytest_plsqlbench.engines.postgres.copies import Copies
from pytest_plsqlbench.engines.postgres.lane import PostgresLane

Copies.inspector = lambda self, copy: None
Copies.stains = lambda self, copy, *, thorough=False: []
PostgresLane._tidy = lambda self, copy, play, *, worn: self._discard(copy.template)
'''

FIRST_TEST_PLUGIN = '''
"""Writes down when the first test starts."""
import pathlib
import time

_path = pathlib.Path(__file__).with_name("first_test.txt")


def pytest_runtest_logstart(nodeid, location):
    if not _path.exists():
        _path.write_text(repr(time.time()))
'''


def program(number: int) -> str:
    """A tiny program: reads a row, changes it, prints and returns."""
    table = f"synthetic.t{number % TABLES}"
    return f"""CREATE OR REPLACE FUNCTION bench_{number}(p_id integer) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
  v_amount numeric;
BEGIN
  UPDATE {table} SET amount = amount + {number % 7} WHERE id = p_id RETURNING amount INTO v_amount;
  RAISE NOTICE 'amount %', v_amount;
  RETURN v_amount;
END;
$$;
"""


def turn(number: int) -> dict[str, object]:
    """One turn with three tests."""
    tests = [
        {"name": f"row {start}", "call": f"SELECT bench_{number}({start});", "compare": ["lines", "value"]}
        for start in (1, 500, 990)
    ]
    return {"prompt": f"Raise an amount of t{number % TABLES}.", "reference": program(number), "tests": tests}


def build_suite(folder: Path) -> int:
    """Write tasks, fixture and predictions; the number of turns."""
    rows: list[dict[str, object]] = []
    predictions: list[dict[str, object]] = []
    number = 0
    for index in range(SINGLE_TURN):
        rows.append(
            {
                "id": f"single-{index:04}",
                "subset": "single",
                "database": "synthetic",
                "variants": {"postgres": turn(number)},
            }
        )
        predictions.append({"instance_id": f"single-{index:04}", "generated_plsql": program(number)})
        number += 1
    lengths = [CONVERSATION_TURNS // CONVERSATIONS] * CONVERSATIONS
    for index in range(CONVERSATION_TURNS - sum(lengths)):
        lengths[index] += 1
    for index, length in enumerate(lengths):
        turns = []
        for place in range(length):
            turns.append(turn(number))
            predictions.append(
                {
                    "conversation_id": f"talk-{index:03}",
                    "turn_index": place + 1,
                    "generated_plsql": program(number),
                }
            )
            number += 1
        rows.append(
            {
                "id": f"talk-{index:03}",
                "subset": "talk",
                "database": "synthetic",
                "variants": {"postgres": {"turns": turns}},
            }
        )
    columns = {
        "id": "integer",
        "parent": "integer",
        "amount": "numeric(12,2)",
        "label": "varchar(40)",
    }
    content = "".join(f"{i},{max(1, i - 1)},{i * 1.25:.2f},row {i}\n" for i in range(1, ROWS + 1))
    tables = {
        f"t{table}": {"columns": columns, "primary_key": ["id"], "rows": f"t{table}.csv"}
        for table in range(TABLES)
    }
    fixtures = folder / "suite" / "fixtures"
    fixtures.mkdir(parents=True)
    (fixtures / "synthetic.yaml").write_text(json.dumps({"tables": tables}))
    for table in range(TABLES):
        (fixtures / f"t{table}.csv").write_text(f"{','.join(columns)}\n{content}")
    (folder / "suite" / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in predictions))
    (folder / "sample.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows[:SINGLE_TURN:COPY_STEP])
    )
    (folder / "empty").mkdir()
    (folder / "empty" / "conftest.py").write_text(EMPTY_CONFTEST)
    (folder / "empty" / "tasks.jsonl").write_text((folder / "suite" / "tasks.jsonl").read_text())
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "copies_plugin.py").write_text(COPIES_PLUGIN)
    (plugins / "first_test_plugin.py").write_text(FIRST_TEST_PLUGIN)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return number


class Runner:
    """Runs pytest as a user does, and times the whole process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = os.environ | {
            "PLSQLBENCH_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": str(folder / "plugins"),
        }

    def seconds(self, *args: str, expect: str) -> float:
        """Wall seconds of a run, which must end with the expected words."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
        started = time.perf_counter()
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        elapsed = time.perf_counter() - started
        if done.returncode != 0 or expect not in done.stdout:
            sys.exit(
                f"{' '.join(args)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return elapsed


def drift(results: Path) -> float:
    """Median cost of the turns around the 3,000th, over that of the turns around the 100th."""
    elapsed = [float(json.loads(line)["elapsed_ms"]) for line in results.read_text().splitlines()]
    early, late = elapsed[50:250], elapsed[2_900:3_100]
    return statistics.median(late) / statistics.median(early)


def first_test(runner: Runner, grading: list[str]) -> float:
    """Seconds from the start of the process to the start of its first test."""
    mark = runner.folder / "plugins" / "first_test.txt"
    mark.unlink(missing_ok=True)
    started = time.time()
    runner.seconds("suite", *grading, "-p", "first_test_plugin", "-x", "-k", "single-0000", expect="1 passed")
    return float(mark.read_text()) - started


def main() -> None:
    """Measure, print, and say which goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds, of which the median is taken (default 3)"
    )
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = build_suite(folder)
        passed = f"{turns} passed"
        runner = Runner(folder)
        grading = ["--plsql-predictions=predictions.jsonl", "--plsql-report=reports"]
        cold = runner.seconds("suite", *grading, "-n", "2", expect=passed)
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            for workers in ("0", "2"):
                times.setdefault(f"empty items -n {workers}", []).append(
                    runner.seconds("empty", "-n", workers, "-p", "no:plsqlbench", expect=passed)
                )
                times.setdefault(f"-n {workers}", []).append(
                    runner.seconds("suite", *grading, "-n", workers, expect=passed)
                )
                if workers == "0":
                    times.setdefault("drift", []).append(drift(folder / "reports" / "results.jsonl"))
            times.setdefault("first test", []).append(first_test(runner, grading))
        median = {key: statistics.median(values) for key, values in times.items()}
        report(median, cold, turns)
        (folder / "suite" / "tasks.jsonl").unlink()
        (folder / "sample.jsonl").rename(folder / "suite" / "tasks.jsonl")
        sample = len((folder / "suite" / "tasks.jsonl").read_text().splitlines())
        gold = ["--plsql-predictions=gold", "--plsql-report=reports", "-n", "2"]
        runner.seconds("suite", *gold, expect=f"{sample} passed")
        ours = runner.seconds("suite", *gold, expect=f"{sample} passed")
        copies = runner.seconds("suite", *gold, "-p", "copies_plugin", expect=f"{sample} passed")
        copied = median["-n 2"] + (copies - ours) / sample * turns
        ratio = copied / median["-n 2"]
        verdict = "held" if ratio >= COPY_LIMIT else "MISSED"
        print(f"{'template copy a turn':<26}{ratio:6.1f} x -n 2, scaled from {sample} turns: {copied:.0f} s")
        print(f"{'':<26}{'':6} goal >= {COPY_LIMIT:.0f}: {verdict}")


def report(median: dict[str, float], cold: float, turns: int) -> None:
    """Print figures and goals."""
    print(f"{turns} turns, 3 tests each; medians of whole-process wall seconds", flush=True)
    for key in ("empty items -n 0", "-n 0", "empty items -n 2", "-n 2"):
        print(f"{key:<20}{median[key]:8.2f} s")
    print(f"{'-n 2, cold cache':<20}{cold:8.2f} s   {cold / median['empty items -n 2']:.2f} x empty items")
    ratios = {
        "-n 2 / empty items -n 2": median["-n 2"] / median["empty items -n 2"],
        "-n 0 / empty items -n 0": median["-n 0"] / median["empty items -n 0"],
        "turn 3,000 / turn 100": median["drift"],
    }
    for key, ratio in ratios.items():
        verdict = "held" if ratio <= LIMITS[key] else "MISSED"
        print(f"{key:<26}{ratio:6.2f}   goal <= {LIMITS[key]}: {verdict}")
    verdict = "held" if median["first test"] <= FIRST_TEST_LIMIT else "MISSED"
    seconds = f"{median['first test']:6.2f} s goal <= {FIRST_TEST_LIMIT:.0f} s"
    print(f"{'start to first test':<26}{seconds}: {verdict}")


if __name__ == "__main__":
    main()
