"""The commands and examples of README and docs, run as they are written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_plsqlbench.datasets.readers import load_file

ROOT = Path(__file__).resolve().parent.parent.parent
SETUP = ("python -m venv", ".venv/bin/pip install", ".venv/bin/tox")
"""Commands that make the environment in which this test already runs."""
FAILING = ("examples/predictions.jsonl", "out.jsonl")
"""Predictions that are wrong in part on purpose: their runs end with failures."""
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> Iterator[Block]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match[1] in languages:
                line = text.count("\n", 0, match.start()) + 1
                yield Block(str(page.relative_to(ROOT)), line, match[1], match[2])


def commands() -> Iterator[tuple[str, str]]:
    for block in blocks("console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                for part in line[2:].split(" && "):
                    if not part.startswith(SETUP):
                        yield f"{block}", part


@pytest.fixture
def workplace(tmp_path: Path, shared_twins: Path) -> Path:
    """A folder with what the examples name."""
    for name in ("tasks", "fixtures", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "examples" / "predictions.jsonl", tmp_path / "out.jsonl")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tasks\n")
    (tmp_path / "program.sql").write_text(
        "CREATE FUNCTION members() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM library.members';\n"
        "DO $$ BEGIN RAISE NOTICE '% members', members(); END $$;\n"
    )
    for file in shared_twins.iterdir():
        shutil.copy(file, tmp_path / file.name)
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    for tool in ("pytest", "plsqlbench"):
        (bin_folder / tool).symlink_to(Path(sys.executable).parent / tool)
    return tmp_path


@pytest.fixture(scope="session")
def shared_twins() -> Path:
    """Small files in the published Spider formats, of our own."""
    return ROOT / "tests" / "data" / "spider"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env["PLSQLBENCH_ORACLE"] = "none"  # no container where Docker answers
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", sorted({page for page, _ in commands()}))
def test_commands_run_as_they_are_written(page: str, workplace: Path) -> None:
    for where, command in commands():
        if where != page:
            continue
        done = run(command, workplace)
        allowed = (0, 1) if any(name in command for name in FAILING) else (0,)
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", [b for b in blocks("yaml") if "variants:" in b.text], ids=str)
def test_task_files_are_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_file(file).tasks


@pytest.mark.parametrize("block", list(blocks("json", "jsonl")), ids=str)
def test_json_examples_are_json(block: Block) -> None:
    for line in block.text.splitlines():
        json.loads(line)


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in readme, page


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
