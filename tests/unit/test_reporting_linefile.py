"""A file of lines holds whole lines, whatever the disk takes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.linefile import LineFile


def test_a_line_that_the_disk_takes_in_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:3])))
    file = LineFile(tmp_path / "sub" / "lines")
    file.add(b"first line")
    file.add(b"second line")
    assert file.close()
    assert file.path.read_bytes() == b"first line\nsecond line\n"


def test_a_line_that_does_not_fit_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LineFile(tmp_path / "lines")
    file.add(b"first line")
    write = os.write
    room = [4]

    def full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write(handle, data[: room[0]])
        room[0] -= taken
        return taken

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UserError, match=r"cannot write .*lines: No space left on device"):
        file.add(b"second line")
    monkeypatch.undo()
    assert file.path.read_bytes() == b"first line\n"
    file.add(b"third line")
    assert file.path.read_bytes() == b"first line\nthird line\n"
    assert file.close()
    assert not file.close()


def test_the_file_of_an_earlier_run_stays_until_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"earlier\n")
    file = LineFile(path)
    assert not file.close()
    assert path.read_bytes() == b"earlier\n"
    file.add(b"now")
    assert path.read_bytes() == b"now\n"
    file.close()


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("before_the_end", [False, True])
def test_lines_outlive_the_folder_that_they_were_in(
    tmp_path: Path, moved: bool, before_the_end: bool
) -> None:
    file = LineFile(tmp_path / "folder" / "lines")
    file.add(b"first line")
    file.path.parent.rename(tmp_path / "other")
    if not moved:
        (tmp_path / "other" / "lines").unlink()
    assert file.content() == b"first line\n"
    if not before_the_end:
        file.add(b"second line")
        assert file.path.read_bytes() == file.content() == b"first line\nsecond line\n"
    assert file.close()
    assert file.taken_away


def test_a_folder_that_cannot_be_made_again_keeps_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LineFile(tmp_path / "folder" / "lines")
    file.add(b"first line")
    file.path.unlink()

    def full(_handle: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as context:
        context.setattr(os, "write", full)
        with pytest.raises(UserError, match="No space left"):
            file.add(b"second line")
    assert not file.path.exists()
    assert file.content() == b"first line\n"
    file.add(b"third line")
    assert file.path.read_bytes() == b"first line\nthird line\n"
    file.close()


def test_a_file_that_stays_was_not_taken_away(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.add(b"line")
    assert file.close()
    assert not file.taken_away


def test_the_file_of_another_run_is_not_written_into_and_not_taken_for_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    one, other = LineFile(path), LineFile(path)
    one.add(b"one's")
    other.add(b"other's")
    assert path.read_bytes() == b"other's\n"
    assert other.stands
    assert not one.stands
    one.add(b"one's, too")
    assert path.read_bytes() == one.content() == b"one's\none's, too\n"
    assert other.content() == b"other's\n"
    assert one.close()
    path.write_bytes(b"the sum of one\n")
    other.add(b"last")
    assert path.read_bytes() == b"other's\nlast\n"
    assert other.close()
    assert one.taken_away
    assert other.taken_away
    assert list(tmp_path.iterdir()) == [path]


def test_another_file_in_its_place_is_noticed_at_the_end(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.add(b"line")
    (tmp_path / "other").write_bytes(b"line\n")
    (tmp_path / "other").replace(file.path)
    assert file.content() == b"line\n"
    assert file.close()
    assert file.taken_away
