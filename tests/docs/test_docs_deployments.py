"""The example files: they parse, their numbers agree, their links lead somewhere, their shell is shell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

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


@pytest.mark.parametrize("page", ["containers.md", "sharding.md"])
def test_links_lead_to_files(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (DOCS / target).is_file(), target


def test_every_example_is_named_in_the_docs() -> None:
    text = (DOCS / "sharding.md").read_text(encoding="utf-8")
    assert {path.name for path in EXAMPLES.iterdir()} == set(re.findall(r"examples/([\w.-]+)", text))


@pytest.mark.parametrize(
    "script", [".ci/docker.sh", "tests/docker/build-image.sh", "tests/docker/entrypoint.sh"]
)
def test_scripts_are_shell(script: str) -> None:
    subprocess.run(["bash", "-n", DOCS.parent / script], check=True)
