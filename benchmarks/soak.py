"""Whether a long run stays as fast and as small as it began, with hostile programs all along.

    python benchmarks/soak.py                  # 10,000 turns, 5 % attacks, twice; some ten minutes
    python benchmarks/soak.py --turns 1000

Builds tiny tasks of three tests over the tables of ``throughput.py``; every twentieth program attacks. Runs
them at ``-n 2`` in order and once more shuffled, and reports

* the memory of controller, workers and server processes (proportional share): its median over the ninth
  tenth of the run against that over the second, after warm-up and before the files are written. The
  controller keeps all results, as pytest keeps all reports: it may grow by some kilobytes a turn, the others
  may not;
* what the honest turns among the last tenth cost against those of the first tenth;
* how many verdicts differ between the two orders (must be none), and attacks that got a point (must be none).

Reads ``/proc``: Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from throughput import ROWS, TABLES, program, turn

ATTACK_STEP = 20
"""Every n-th turn attacks."""
COST_LIMIT = 1.3
GROWTH_LIMIT = 1.1

_BODY = (
    "CREATE FUNCTION bench_{number}(p_id integer) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN {body} END $$;"
)
ATTACKS = (
    "PERFORM pg_sleep(60); RETURN 0;",
    "LOOP BEGIN PERFORM pg_sleep(9); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP;",
    "LOOP RAISE NOTICE 'flood'; END LOOP;",
    "COMMIT; RETURN 0;",
    "EXECUTE format('ALTER ROLE %I SET work_mem = 64', current_user); RETURN 0;",
    "PERFORM set_config('statement_timeout', '0', false), pg_advisory_lock(1); RETURN 0;",
    "CREATE TEMP TABLE now_and_then (i int); DELETE FROM synthetic.t0; RETURN 0;",
    "IF random() < 0.5 THEN RAISE EXCEPTION 'gone' USING ERRCODE = '57P01'; END IF; RETURN 0;",
    "RETURN length(repeat('x', 900000000));",
    "PERFORM lo_create(0); PERFORM lo_create(0); RETURN 0;",
    "RETURN bench_{number}(p_id);",
    "EXECUTE 'LISTEN soak'; NOTIFY soak; RETURN 0;",
)

SHUFFLE_PLUGIN = '''
"""Runs the items in another order, the same one in every worker."""
import random


def pytest_collection_modifyitems(items):
    random.Random(6).shuffle(items)
'''


def attack(number: int) -> str:
    """A hostile program in place of an honest one."""
    body = ATTACKS[number // ATTACK_STEP % len(ATTACKS)].replace("{number}", str(number))
    return _BODY.replace("{number}", str(number)).replace("{body}", body)


def is_attack(number: int) -> bool:
    """Whether a turn's program attacks."""
    return number % ATTACK_STEP == ATTACK_STEP - 1


def build(folder: Path, turns: int) -> None:
    """Write tasks, database and predictions."""
    fixtures = folder / "suite" / "fixtures"
    fixtures.mkdir(parents=True)
    columns = {"id": "integer", "parent": "integer", "amount": "numeric(12,2)", "label": "varchar(40)"}
    names = [f"t{table}" for table in range(TABLES)]
    tables = {name: {"columns": columns, "primary_key": ["id"], "rows": f"{name}.csv"} for name in names}
    (fixtures / "synthetic.yaml").write_text(json.dumps({"tables": tables}))
    content = "".join(f"{i},{max(1, i - 1)},{i * 1.25:.2f},row {i}\n" for i in range(1, ROWS + 1))
    for name in names:
        (fixtures / f"{name}.csv").write_text(f"{','.join(columns)}\n{content}")
    with (folder / "suite" / "tasks.jsonl").open("w") as tasks, (folder / "out.jsonl").open("w") as answers:
        for number in range(turns):
            task: dict[str, Any] = {"id": f"soak-{number:05}", "subset": "soak", "database": "synthetic"}
            tasks.write(json.dumps(task | {"variants": {"postgres": turn(number)}}) + "\n")
            text = attack(number) if is_attack(number) else program(number)
            answers.write(json.dumps({"instance_id": task["id"], "generated_plsql": text}) + "\n")
    (folder / "shuffle_plugin.py").write_text(SHUFFLE_PLUGIN)
    (folder / "pytest.ini").write_text("[pytest]\n")


class Memory(threading.Thread):
    """Samples the memory of a run's processes: those whose environment names its cache, and their servers."""

    def __init__(self, mark: str) -> None:
        super().__init__(daemon=True)
        self._mark = mark.encode()
        self._over = threading.Event()
        self.samples: dict[str, list[int]] = {"controller": [], "workers": [], "server": []}
        """Kilobytes, once a second."""

    def run(self) -> None:
        """Sample until told to stop."""
        while not self._over.wait(1.0):
            found = dict.fromkeys(self.samples, 0)
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    kind = self._kind(folder)
                    shares = (folder / "smaps_rollup").read_text().splitlines()
                except OSError:  # ended meanwhile, or another user's
                    continue
                if kind is not None:
                    found[kind] += next(int(line.split()[1]) for line in shares if line.startswith("Pss:"))
            for kind, size in found.items():
                self.samples[kind].append(size)

    def _kind(self, process: Path) -> str | None:
        """What a process is in the run; None where it is not of the run."""
        command = (process / "cmdline").read_bytes()
        if self._mark in (process / "environ").read_bytes():
            return "server" if b"keeper" in command else "workers" if b"readline" in command else "controller"
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        if not command.startswith((b"postgres", b"/")) or parent in {"0", "1"}:
            return None
        return "server" if self._kind(process.with_name(parent)) == "server" else None

    def stop(self) -> None:
        """End the sampling."""
        self._over.set()
        self.join()


def play(folder: Path, report: str, *extra: str) -> tuple[list[dict[str, Any]], Memory, float]:
    """One run: its results in the order in which they came, its memory, its seconds."""
    mark = f"PLSQLBENCH_SOAK={folder.name}-{report}"
    name, _, value = mark.partition("=")
    environment = os.environ | {
        "PLSQLBENCH_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder),
        name: value,
    }
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-n", "2", "suite"]
    command += ["--plsql-predictions=out.jsonl", f"--plsql-report={report}", "--plsql-timeout=0.5", *extra]
    memory = Memory(mark)
    memory.start()
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    memory.stop()
    if done.returncode not in {0, 1}:
        sys.exit(f"the run ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    lines = (folder / report / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], memory, seconds


def verdict(result: dict[str, Any]) -> tuple[str, bool, int]:
    """What must not depend on the order."""
    return result["status"], result["solved"], result["passed"]


def main() -> None:
    """Measure, print, and say which goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=10_000, help="turns of each run (default 10,000)")
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        build(folder, turns)
        results, memory, seconds = play(folder, "ordered")
        print(f"{turns} turns, every {ATTACK_STEP}th attacks: {seconds:.0f} s at -n 2", flush=True)
        show_memory(memory, turns)
        show_cost(results)
        shuffled, _, seconds = play(folder, "shuffled", "-p", "shuffle_plugin")
        show_verdicts(results, shuffled, seconds)


def show_memory(memory: Memory, turns: int) -> None:
    """Print how much memory grew."""
    for kind, samples in memory.samples.items():
        sizes = [size for size in samples if size]
        tenth = max(1, len(sizes) // 10)
        early = statistics.median(sizes[tenth : 2 * tenth] or sizes)
        late = statistics.median(sizes[-2 * tenth : -tenth] or sizes)
        line = f"memory of {kind:<12}{early / 1024:7.0f} MB, late {late / 1024:7.0f} MB"
        if kind == "controller":
            print(f"{line}: {(late - early) / (0.7 * turns):.1f} kB a turn")
        else:
            print(f"{line}: {'held' if late <= GROWTH_LIMIT * early else 'MISSED'}")


def show_cost(results: list[dict[str, Any]]) -> None:
    """Print what honest turns cost at the end against the beginning."""
    honest = [result["elapsed_ms"] for at, result in enumerate(results) if not is_attack(at)]
    tenth = len(honest) // 10
    ratio = statistics.median(honest[-tenth:]) / statistics.median(honest[:tenth])
    held = "held" if ratio <= COST_LIMIT else "MISSED"
    print(f"last {tenth:,} / first {tenth:,} honest turns {ratio:.2f}   goal <= {COST_LIMIT}: {held}")


def show_verdicts(results: list[dict[str, Any]], shuffled: list[dict[str, Any]], seconds: float) -> None:
    """Print how many verdicts depend on the order, and which attacks won."""
    pairs = zip(results, shuffled, strict=True)
    different = [one["task"] for one, other in pairs if verdict(one) != verdict(other)]
    won = [result["task"] for at, result in enumerate(results) if is_attack(at) and result["solved"]]
    lost = [result["task"] for at, result in enumerate(results) if not is_attack(at) and not result["solved"]]
    statuses = sorted({result["status"] for result in results})
    print(f"shuffled: {seconds:.0f} s; verdicts that differ {len(different)}, attacks that won {len(won)}")
    print(f"honest turns that were not solved {len(lost)}; statuses {', '.join(statuses)}")
    if different or won or lost:
        print(f"MISSED: {', '.join([*different, *won, *lost][:10])}")


if __name__ == "__main__":
    main()
