"""The example files: they parse, their numbers agree, their links lead somewhere, their shell is shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_suite import DOUBLE, DOUBLE_TASK

from pytest_plsqlbench.bench.gates.text import parse_gates
from pytest_plsqlbench.bench.shard import Shard, parse_shard

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = DOCS / "examples"


def load(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def shard_of(text: str) -> str:
    match = re.search(r"--plsql-shard=(\S+)", text)
    assert match
    return match[1]


def test_matrix_runs_every_shard_once_and_merges_all() -> None:
    jobs = load("github-matrix.yml")["jobs"]
    numbers = jobs["shard"]["strategy"]["matrix"]["shard"]
    [run] = [step["run"] for step in jobs["shard"]["steps"] if "--plsql-shard" in step.get("run", "")]
    option = re.search(r"--plsql-shard=\$\{\{ matrix\.shard \}\}/(\d+)", run)
    assert option
    shards = [parse_shard(f"{number}/{option[1]}", {}) for number in numbers]
    assert shards == [Shard(index, len(numbers)) for index in range(1, len(numbers) + 1)]
    assert jobs["merge"]["needs"] == "shard"
    assert jobs["shard"]["strategy"]["fail-fast"] is False


def test_slurm_array_fits_its_shards() -> None:
    text = (EXAMPLES / "slurm-array.sh").read_text(encoding="utf-8")
    array = re.search(r"^#SBATCH --array=1-(\d+)$", text, re.MULTILINE)
    assert array
    assert shard_of(text) == f"auto/{array[1]}"
    subprocess.run(["bash", "-n", EXAMPLES / "slurm-array.sh"], check=True)


def test_indexed_job_fits_its_shards() -> None:
    spec = load("kubernetes-indexed-job.yaml")["spec"]
    [container] = spec["template"]["spec"]["containers"]
    count = spec["completions"]
    last = parse_shard(shard_of(container["args"][0]), {"JOB_COMPLETION_INDEX": str(count - 1)})
    assert (spec["completionMode"], last) == ("Indexed", Shard(count, count))
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    subprocess.run(["sh", "-n", "-c", container["args"][0]], check=True)


def test_oracle_service_and_its_dsn_agree() -> None:
    job = load("github-oracle-service.yml")["jobs"]["oracle"]
    service = job["services"]["oracle"]
    password = service["env"]["ORACLE_PASSWORD"]
    assert job["env"]["PLSQLBENCH_ORACLE"] == f"system/{password}@localhost:1521/FREEPDB1"
    assert "1521:1521" in service["ports"]


@pytest.mark.parametrize("page", ["ci.md", "containers.md", "sharding.md"])
def test_links_lead_to_files(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (DOCS / target).is_file(), target


def test_every_example_is_named_in_the_docs() -> None:
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in ("ci.md", "sharding.md"))
    assert {path.name for path in EXAMPLES.iterdir()} == set(re.findall(r"examples/([\w.-]+)", text))


class Release:
    """The example of a release, and a folder in which its commands run as they are written."""

    def __init__(self, folder: Path) -> None:
        self.jobs = load("github-release.yml")["jobs"]
        self.folder = folder
        self.summary = folder / "step.md"
        for name in ("gates.txt", "gates-released.txt"):
            shutil.copy(EXAMPLES / name, folder)

    def steps(self, job: str, word: str) -> list[str]:
        """The commands of a job that have this word in them."""
        return [step["run"] for step in self.jobs[job]["steps"] if word in step.get("run", "")]

    def command(self, job: str, word: str, *, first: bool = False, shard: int = 0) -> str:
        """The one command of a job that has this word in it, as the runner would start it."""
        [text] = self.steps(job, word)
        text = text.replace("${{ matrix.shard }}", str(shard)).replace("-n auto", "-n 0")
        return re.sub(r"\$\{\{ !inputs\.first && '([^']*)' \|\| '' \}\}", "" if first else r"\1", text)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        bin_folder = Path(sys.executable).parent
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder,
            env={
                **environment,
                "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
                "PLSQLBENCH_ORACLE": "none",
                "CI": "true",
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )


def test_release_runs_every_shard_and_judges_what_all_have_shown() -> None:
    jobs = load("github-release.yml")["jobs"]
    numbers = jobs["grade"]["strategy"]["matrix"]["shard"]
    [run] = [step["run"] for step in jobs["grade"]["steps"] if "--plsql-shard" in step.get("run", "")]
    assert shard_of(run.replace("${{ matrix.shard }}", "1")) == f"1/{len(numbers)}"
    assert numbers == list(range(1, len(numbers) + 1))
    assert jobs["judge"]["needs"] == "grade"
    uploads = {
        step["with"]["name"]: step
        for job in jobs.values()
        for step in job["steps"]
        if "upload-artifact" in step.get("uses", "")
    }
    assert set(uploads) == {"part-${{ matrix.shard }}", "reports", "released"}
    assert "always()" not in uploads["released"]["if"]  # only where the gates hold
    assert all(step["with"]["overwrite"] for step in uploads.values())  # jobs can be run again


def test_release_works_as_it_is_written(tmp_path: Path) -> None:
    release = Release(tmp_path)
    (tmp_path / "tasks").mkdir()
    for number in range(12):
        task = DOUBLE_TASK | {"id": f"double-{number}"}
        with (tmp_path / "tasks" / "tasks.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(task) + "\n")
    rows = [
        {"instance_id": f"double-{number}", "model": "new", "generated_plsql": DOUBLE} for number in range(12)
    ]
    rows[3]["generated_plsql"] = "SELECT 1;"
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for shard in (1, 2, 3, 4):
        command = release.command("grade", "--plsql-shard", shard=shard)
        done = release.run(command.replace("$(plsqlbench path tasks)", "tasks"))
        assert done.returncode == 0, done.stdout + done.stderr
        (tmp_path / "part").rename(tmp_path / f"part-{shard}")
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / f"part-{shard}").rename(tmp_path / "parts" / f"part-{shard}")
    assert release.run(release.command("judge", "merge")).returncode == 0
    judged = release.run(release.command("judge", "plsqlbench gate", first=True))
    assert judged.returncode == 0, judged.stdout + judged.stderr
    (tmp_path / "reports").rename(tmp_path / "released")
    assert release.run(release.command("judge", "merge")).returncode == 0
    again = release.run(release.command("judge", "plsqlbench gate"))
    assert again.returncode == 6, again.stdout + again.stderr  # 12 tasks are too few to tell
    assert "no_worse_than(baseline, margin=2%)" in again.stdout
    report = release.run(release.command("judge", "plsqlbench report"))
    assert report.returncode == 0, report.stdout + report.stderr
    assert (tmp_path / "reports" / "report.html").is_file()
    assert (tmp_path / "reports" / "gates.xml").is_file()
    text = release.summary.read_text(encoding="utf-8")
    assert [text.count(f"## plsqlbench shard {shard}/4\n") for shard in (1, 2, 3, 4)] == [1] * 4
    assert "## plsqlbench merge of out.jsonl" in text
    assert "✅ held" in text


@pytest.mark.parametrize("name", ["gates.txt", "gates-released.txt"])
def test_gates_of_the_examples_are_gates(name: str) -> None:
    assert parse_gates((EXAMPLES / name).read_text(encoding="utf-8").splitlines())


def test_gates_that_the_page_names_are_gates() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    named = re.findall(r'--plsql-gate="([^"]+)"', text) + re.findall(r"`(solved@1\[[^`]+)`", text)
    assert len(named) == 4
    assert len(parse_gates(named)) == 4


@pytest.mark.parametrize(
    "script", [".ci/docker.sh", "tests/docker/build-image.sh", "tests/docker/entrypoint.sh"]
)
def test_scripts_are_shell(script: str) -> None:
    subprocess.run(["bash", "-n", DOCS.parent / script], check=True)
