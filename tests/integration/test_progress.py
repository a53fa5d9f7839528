"""Progress in the terminal: below pytest's own lines, and gone in the end; plain where nothing is redrawn."""

from __future__ import annotations

import os
import re
import sys

import pytest
from bench_suite import Suite
from screen import Screen, run_on_terminal

from pytest_plsqlbench.items import RESULT_ATTRIBUTE, REUSED_ATTRIBUTE
from pytest_plsqlbench.statusline import Progress, wants_progress

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
STATUS = re.compile(r"\x1b\[2m(\d of 7 tests|\d of 4 turns), [^\x1b]*")
AT_ONCE = """
    from pytest_plsqlbench import statusline

    statusline.DRAW_AFTER = statusline.DRAW_EVERY = statusline.LINE_EVERY = 0
"""


@pytest.fixture
def watched(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite whose progress is shown from the first turn on."""
    suite.pytester.makeconftest(AT_ONCE)
    for name in ("CI", "BUILD_NUMBER", "NO_COLOR", "PY_COLORS", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return suite


def on_terminal(suite: Suite, *args: str) -> tuple[str, str]:
    """What pytest wrote, and what stands on the screen in the end."""
    command = [sys.executable, "-m", "pytest", "-p", "no:terminalprogress", *args]
    _, written = run_on_terminal(command, suite.folder, os.environ)
    screen = Screen()
    screen.write(written)
    return written, screen.text


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d\ds", "", line) for line in text.splitlines() if not line.startswith("=")]


@WORKERS
@pytest.mark.parametrize("verbosity", [(), ("-v",)], ids=["dots", "v"])
def test_a_status_line_leaves_the_screen_as_it_would_be(
    watched: Suite, workers: tuple[str, ...], verbosity: tuple[str, ...]
) -> None:
    rows = watched.right()
    rows[2]["generated_plsql"] = "CREATE FUNCTION two_steps() RETURNS integer LANGUAGE sql AS 'SELECT 7';"
    args = (watched.predict(*rows), *workers, *verbosity)
    written, shown = on_terminal(watched, *args)
    assert STATUS.search(written)
    assert "\x1b[2m4 of 4 turns, 2 failed" in written
    assert "of 4 turns" not in shown
    watched.pytester.makeconftest(AT_ONCE.replace("= 0", "= 1e9"))
    plain, expected = on_terminal(watched, *args)
    assert not STATUS.search(plain)
    if not workers:  # those end in any order
        assert without_times(shown) == without_times(expected)


def test_a_status_line_is_cut_to_the_terminal(watched: Suite) -> None:
    command = [sys.executable, "-m", "pytest", watched.predict(*watched.right())]
    _, written = run_on_terminal(command, watched.folder, os.environ, columns=20)
    assert {found[0] for found in STATUS.finditer(written)} >= {"\x1b[2m4 of 4 turns, 0 fai"}
    Screen(20).write(written)


def test_other_tests_of_the_run_are_counted_too(watched: Suite) -> None:
    watched.pytester.makepyfile("def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass\n")
    written, shown = on_terminal(watched, watched.predict(*watched.right()), ".")
    assert "\x1b[2m7 of 7 tests, 1 failed" in written
    assert "of 7 tests" not in shown


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ((), True),
        (("-v",), True),
        (("-q",), False),
        (("-s",), False),
        (("-s", "-o", "console_output_style=progress-even-when-capture-no"), True),
        (("-o", "console_output_style=classic"), False),
        (("-o", "console_output_style=count"), True),
        (("--collect-only",), False),
        (("--setup-show",), False),
    ],
    ids=lambda value: " ".join(value) or "none" if isinstance(value, tuple) else "",
)
def test_progress_is_shown_where_pytest_shows_its_own(
    pytester: pytest.Pytester, args: tuple[str, ...], wanted: bool
) -> None:
    assert wants_progress(pytester.parseconfig(*args)) is wanted


@pytest.mark.parametrize("args", ["--color=no", "--log-cli-level=INFO"])
def test_where_others_draw_and_without_markup_lines_are_whole(watched: Suite, args: str) -> None:
    written, _ = on_terminal(watched, watched.predict(*watched.right()), args)
    assert not STATUS.search(written)
    assert "plsqlbench: 4 of 4 turns" in written


def test_in_ci_nothing_is_redrawn(watched: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    written, _ = on_terminal(watched, watched.predict(*watched.right()))
    assert not STATUS.search(written)
    assert "plsqlbench: 4 of 4 turns" in written


@WORKERS
def test_a_pipe_gets_whole_lines_without_control_sequences(watched: Suite, workers: tuple[str, ...]) -> None:
    result = watched.run(watched.predict(*watched.right()), *workers)
    result.assert_outcomes(passed=4)
    text = result.stdout.str()
    assert "\x1b" not in text
    assert "\r" not in text
    said = [line for line in result.outlines if " of 4 turns" in line]
    assert said == [f"plsqlbench: {number} of 4 turns, 0 failed" for number in (1, 2, 3, 4)]
    assert "of 4 turns" not in watched.run(watched.predict(*watched.right()), "-q", *workers).stdout.str()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_reused_turns_count_and_say_nothing_about_the_time_left(pytester: pytest.Pytester) -> None:
    config, clock = pytester.parseconfigure(), Clock()
    progress = Progress(config, clock)
    session = pytest.Session.from_config(config)
    session.testscollected = 200
    loop = progress.pytest_runtestloop(session)
    next(loop)
    for number in range(120):
        report = pytest.TestReport(f"t{number}", ("t", 0, "t"), {}, "passed", None, "call")
        report.__dict__ |= {RESULT_ATTRIBUTE: "", REUSED_ATTRIBUTE: number < 100}
        clock.now += 0.01 if number < 100 else 1.0
        list(progress.pytest_runtest_logreport(report))
    assert progress._describe(clock.now) == "120 of 200 turns, 0 failed, about 1 min left"


def test_a_short_run_into_a_pipe_looks_as_ever(suite: Suite) -> None:
    assert "of 4 turns" not in suite.run(suite.predict(*suite.right())).stdout.str()


def test_a_worker_that_dies_does_not_write_into_the_status_line(watched: Suite) -> None:
    watched.pytester.makeconftest(
        AT_ONCE
        + """
    import os, pathlib, pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(item) -> None:
        mark = pathlib.Path(__file__).with_name("crashed.txt")
        if item.name == "steps_q02[postgres]" and not mark.exists():
            mark.write_text("")
            os._exit(1)
"""
    )
    written, shown = on_terminal(watched, watched.predict(*watched.right()), "-n", "1")
    assert "of 4 turns" in written
    assert "node down" in shown
    assert "of 4 turns" not in shown
