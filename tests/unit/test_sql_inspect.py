"""``plsqlbench inspect``: the tables, the JSON, and the faults of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli import main
from pytest_plsqlbench.cli.inspect import command

TEXT = """CREATE OR REPLACE PROCEDURE pay(p_id NUMBER, p_sum OUT NUMBER) IS
  FUNCTION due RETURN NUMBER IS BEGIN RETURN 1; END;
BEGIN
  IF due > 0 AND p_id > 0 THEN
    UPDATE bills SET paid = 1;
  END IF;
  EXECUTE IMMEDIATE 'DROP TABLE bills';
END;
"""


def run(tmp_path: Path, text: str, *options: str) -> str:
    file = tmp_path / "program.sql"
    file.write_text(text, "utf-8")
    result = CliRunner().invoke(command, [str(file), "--dialect", "oracle", *options])
    assert result.exit_code == 0, result.output
    return result.output.replace(str(file), "FILE")


def test_tables(tmp_path: Path) -> None:
    assert run(tmp_path, TEXT, "--access", "read") == (
        "statements: 1 create procedure\n"
        "\n"
        "line  unit        name  signature                        statements  cyclomatic\n"
        "1     procedure   PAY   (P_ID NUMBER, P_SUM out NUMBER)  4           3\n"
        "2       function  DUE   return NUMBER\n"
        "\n"
        "line 1: if{update} execute | due: return\n"
        "constructs: procedure, function, nested_subprogram, out_parameter, dynamic_sql, conditional, "
        "update\n"
        "complexity: statements 4, cyclomatic 3, conditions 1, declarations 0, max_depth 1\n"
        "safety: 2 found\n"
        "  error: line 5, column 5: UPDATE BILLS: the task only reads: rows of given tables must stay as "
        "they are [read_only_dml]\n"
        "  error: line 7, column 22: DROP TABLE BILLS: the object is not the program's own [foreign_object]\n"
        "warning: line 8, column 4: the unit that ends here has no `/` after it [missing_slash]\n"
    )


def test_json(tmp_path: Path) -> None:
    report = json.loads(run(tmp_path, TEXT, "--json"))
    (unit,) = report["units"]
    assert report["statements"] == [{"line": 1, "kind": "create_procedure", "recovered": True}]
    assert unit["parameters"] == [
        {"name": "P_ID", "mode": "in", "type": "NUMBER", "default": None},
        {"name": "P_SUM", "mode": "out", "type": "NUMBER", "default": None},
    ]
    assert unit["nested"][0]["name"] == "DUE"
    assert unit["outline"] == "if{update} execute | due: return"
    assert report["complexity"]["cyclomatic"] == 3
    assert [violation["rule"] for violation in report["safety"]] == ["foreign_object"]
    assert [finding["code"] for finding in report["findings"]] == ["missing_slash"]
    assert report["published_problem"] is None


def test_extraction(tmp_path: Path) -> None:
    answer = f"Here:\n```sql\n{TEXT}```\n"
    assert run(tmp_path, answer).startswith("not a program as published: a Markdown fence stands at line 2\n")
    extracted = run(tmp_path, answer, "--extract")
    assert "extracted: took 1 of 1 fenced blocks (at line 2)\n" in extracted
    assert "PAY" in extracted
    refused = run(tmp_path, "I can't help with that.", "--extract")
    assert "extraction: a refusal, no program\n" in refused
    assert "statements: none\n" in refused
    assert json.loads(run(tmp_path, answer, "--extract", "--json"))["extraction"]["problem"] is None


def test_standard_input() -> None:
    result = CliRunner().invoke(command, ["-", "--dialect", "postgres"], input="SET x = 1;\n\\i f\n")
    assert result.exit_code == 0
    assert "statements: 1 session, 1 client\n" in result.output
    assert "error: line 2, column 1: the psql command \\i is not run here: take it out" in result.output


def test_faults_of_the_user_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.sql"
    with pytest.raises(SystemExit) as exit_info:
        main(["inspect", str(missing), "--dialect", "oracle"])
    assert exit_info.value.code == 2
    assert capsys.readouterr().err == (
        f"plsqlbench: error: {missing}: the file cannot be read: No such file or directory\n"
    )
    bad = tmp_path / "bad.sql"
    bad.write_bytes(b"SELECT 1;\n-- caf\xe9\n")
    with pytest.raises(UserError, match=r"bad\.sql:2: the text is not UTF-8: convert it first"):
        command.main([str(bad), "--dialect", "oracle"], standalone_mode=False)
