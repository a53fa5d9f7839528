"""Every option, under each of its names, is on the page and in the README; neither names one that is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_plsqlbench.options import OPTIONS, Option

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"--plsql-[a-z-]+")
_OTHER_VARIABLES = frozenset(("PLSQLBENCH_ORACLE_DSN", "PLSQLBENCH_CACHE_DIR", "PLSQLBENCH_LONG"))


def table_rows(page: str) -> list[list[str]]:
    """Cells of all rows of the page's tables."""
    lines = [line for line in page.splitlines() if line.startswith("| `--plsql-")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_in_the_table_under_its_three_names(option: Option) -> None:
    [row] = [row for row in table_rows(PAGE) if NAMED.findall(row[0]) == [option.cli]]
    assert row[1:] == [f"`{option.env}`", f"`{option.dest}`"]
    assert ("repeatable" in row[0]) == bool(option.repeat)
    assert ("=" in row[0]) != option.flag
    for choice in option.choices or ():
        assert choice in row[0]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_described_below_the_table(option: Option) -> None:
    prose = "\n".join(line for line in PAGE.splitlines() if not line.startswith("|"))
    assert option.cli in NAMED.findall(prose)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_in_the_table_of_the_readme(option: Option) -> None:
    assert option.cli in [name for row in table_rows(README) for name in NAMED.findall(row[0])]


def test_no_page_names_an_option_that_is_none() -> None:
    options = {option.cli for option in OPTIONS}
    variables = {option.env for option in OPTIONS} | _OTHER_VARIABLES
    for page in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *(ROOT / "docs" / "examples").iterdir(),
    ):
        text = page.read_text(encoding="utf-8")
        named = {name.rstrip("-") for name in NAMED.findall(text)} - {"--plsql"}
        assert named <= options, page
        assert set(re.findall(r"PLSQLBENCH_[A-Z_]+", text)) <= variables, page
