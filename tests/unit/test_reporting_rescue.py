"""Results whose folder does not take them: on some disk all the same, or openly lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from saved_runs import many

from pytest_plsqlbench.reporting.rescue import rescue
from pytest_plsqlbench.reporting.store import read_results


def test_results_are_kept_where_temporary_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = many(3)
    words = rescue(rows, is_written=False)
    found = Path(words.removeprefix("3 results are kept in "))
    assert read_results(found) == rows
    assert found.is_relative_to(tmp_path)


def test_nothing_is_copied_while_the_file_is_there() -> None:
    assert rescue([], is_written=False) == "no turn had a result yet"
    assert rescue(many(3), is_written=True) == "what was written before stays"


def test_what_is_lost_is_called_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    words = rescue(many(1), is_written=False)
    assert words.startswith(f"1 result is lost: neither could {tmp_path / 'none'} be written (")
