"""How fast tasks are loaded, as ratios to floors measured in the same run.

    python benchmarks/loading.py
    python benchmarks/loading.py --tasks 300 --rounds 1

Writes the same tasks as YAML files, one a task, and as one JSONL file. Measures, round by round:

* floors: the files' bytes read and hashed; PyYAML's C loader over the texts; Python's json over the lines;
* ours, in new processes: YAML with an empty cache, YAML with a full cache, JSONL (which needs no cache).

Prints the best of the rounds and the ratios; exits with 1 where a limit is broken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

FOLDERS = 30
LIMITS = {
    "YAML, empty cache / PyYAML's C loader": 2.5,
    "YAML, full cache / PyYAML's C loader": 0.75,
    "JSONL / Python's json": 3.0,
}
PROMPT = "Write a function that returns the late fee of a loan.\n\nRequirements:\n" + "\n".join(
    f"  - rule {number}: a day costs 0.{number:02d}, unless the member is a junior" for number in range(8)
)
REFERENCE = (
    "CREATE OR REPLACE FUNCTION f{0}(p integer) RETURNS numeric LANGUAGE plpgsql AS $$\nBEGIN\n"
    + "".join(f"  IF p = {number} THEN\n    RETURN {number}.5;\n  END IF;\n" for number in range(12))
)


def task(number: int) -> dict[str, object]:
    """A task of the usual size, about 3 kB."""
    variant = {
        "prompt": PROMPT,
        "reference": REFERENCE.format(number) + "END;\n$$;\n",
        "tests": [
            {"name": f"case {case}", "call": f"SELECT f{number}({case});", "expect": {"rows": [[case + 0.5]]}}
            for case in range(3)
        ],
    }
    return {
        "id": f"task-{number:04d}",
        "subset": f"part{number % FOLDERS}",
        "title": "Late fee",
        "difficulty": "simple",
        "reasoning_types": ["control flow"],
        "constructs": ["function"],
        "variants": {"postgres": variant},
    }


def write(root: Path, count: int) -> None:
    (root / "jsonl").mkdir()
    with (root / "jsonl" / "all.jsonl").open("w") as lines:
        for number in range(count):
            folder = root / "yaml" / f"part{number % FOLDERS}"
            folder.mkdir(parents=True, exist_ok=True)
            text = yaml.dump(task(number), sort_keys=False, width=100, Dumper=yaml.CSafeDumper)
            (folder / f"task-{number:04d}.yaml").write_text(text)
            lines.write(json.dumps(task(number)) + "\n")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ours(path: Path) -> float:
    """Seconds to load a path in a new process, imports left out."""
    script = (
        "import sys, time, pathlib, pytest_plsqlbench.datasets.native.reader as _;"
        "from pytest_plsqlbench.datasets.readers import load_path;"
        "start = time.perf_counter(); load_path(pathlib.Path(sys.argv[1]));"
        "print(time.perf_counter() - start)"
    )
    return float(
        subprocess.run([sys.executable, "-c", script, path], check=True, stdout=subprocess.PIPE).stdout
    )


def measure(root: Path, cache: Path) -> dict[str, float]:
    files = sorted((root / "yaml").rglob("*.yaml"))
    texts = [path.read_text() for path in files]
    lines = (root / "jsonl" / "all.jsonl").read_text().splitlines()
    shutil.rmtree(cache, ignore_errors=True)
    return {
        "bytes read and hashed": timed(lambda: [hashlib.sha256(path.read_bytes()) for path in files]),
        "PyYAML's C loader": timed(lambda: [yaml.load(text, yaml.CSafeLoader) for text in texts]),
        "Python's json": timed(lambda: [json.loads(line) for line in lines]),
        "YAML, empty cache": ours(root / "yaml"),
        "YAML, full cache": ours(root / "yaml"),
        "JSONL": ours(root / "jsonl"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cache = root / "cache"
        os.environ["PLSQLBENCH_CACHE_DIR"] = str(cache)
        write(root, options.tasks)
        rounds = [measure(root, cache) for _ in range(options.rounds)]
    times = {name: min(found[name] for found in rounds) for name in rounds[0]}
    print(f"{options.tasks} tasks, best of {options.rounds} rounds")
    for name, seconds in times.items():
        print(f"  {name:<40} {seconds:8.3f} s")
    broken = False
    for name, limit in LIMITS.items():
        ours, _, floor = name.partition(" / ")
        ratio = times[ours] / times[floor]
        broken |= ratio > limit
        print(f"  {name:<40} {ratio:8.2f}   at most {limit}{'' if ratio <= limit else '   BROKEN'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
