"""A report folder is claimed by one run at a time, and by none that has ended, however it ended."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.lock import LOCK_FILE, FolderLock

HOLD = """
import sys
from pathlib import Path
from pytest_plsqlbench.reporting.lock import FolderLock

lock = FolderLock(Path(sys.argv[1]), "reports")
lock.take()
print("taken", flush=True)
sys.stdin.read()
"""


def test_the_second_run_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (tmp_path / "link").symlink_to(reports)
    one = FolderLock(reports, "reports")
    one.take()
    one.take()
    before = (reports / LOCK_FILE).stat().st_mtime_ns
    for folder in (reports, tmp_path / "link"):
        other = FolderLock(folder, "reports")
        words = f"another run, pid {os.getpid()}, writes to reports; name another folder with --plsql-report"
        with pytest.raises(UserError, match=f"^{re.escape(words)}$"):
            other.take()
        other.release()
    assert (reports / LOCK_FILE).stat().st_mtime_ns == before
    one.release()
    one.release()
    assert list(reports.iterdir()) == []
    other.take()
    other.release()


@pytest.mark.parametrize(
    ("content", "named"),
    [("", ""), ("4711 elsewhere\n", ", pid 4711 on elsewhere,"), ("something\n", ""), ("a b c\n", "")],
)
def test_a_run_that_cannot_be_named_is_another_run(tmp_path: Path, content: str, named: str) -> None:
    one = FolderLock(tmp_path, "reports")
    one.take()
    (tmp_path / LOCK_FILE).write_text(content)
    with pytest.raises(UserError, match=f"^another run{named} writes to reports; "):
        FolderLock(tmp_path, "reports").take()
    one.release()


def test_a_killed_run_locks_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        lock = FolderLock(tmp_path, "reports")
        with pytest.raises(UserError, match=f"pid {process.pid}, "):
            lock.take()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / LOCK_FILE).exists()
    lock.take()
    assert (tmp_path / LOCK_FILE).read_text().startswith(f"{os.getpid()} ")
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_has_just_ended_hands_no_removed_file_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = (FolderLock(tmp_path, "reports") for _ in range(3))
    one.take()
    flock = fcntl.flock
    ended: list[FolderLock] = []

    def late(handle: int, operation: int) -> None:
        if not ended:
            ended.append(one)
            one.release()  # between the opening of its file and this
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    two.take()
    with pytest.raises(UserError):
        three.take()
    two.release()


def test_what_another_run_has_made_since_is_not_removed(tmp_path: Path) -> None:
    one, two = FolderLock(tmp_path / "reports", "reports"), FolderLock(tmp_path / "reports", "reports")
    (tmp_path / "reports").mkdir()
    one.take()
    (tmp_path / "reports").rename(tmp_path / "moved")
    (tmp_path / "reports").mkdir()
    two.take()
    one.release()
    assert (tmp_path / "reports" / LOCK_FILE).exists()
    two.release()


def test_a_folder_that_is_not_there_stays_so(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "reports", "reports")
    lock.take()
    lock.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_refuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(_handle: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)
    locks = [FolderLock(tmp_path, "reports") for _ in range(2)]
    for lock in locks:
        lock.take()
    assert list(tmp_path.iterdir()) == []
    for lock in locks:
        lock.release()


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_refused_by_who_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as context:
        context.setattr(os, "open", fail)
        lock = FolderLock(tmp_path, "reports")
        lock.take()
        lock.release()
