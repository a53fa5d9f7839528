"""Runs of statements in a text that also holds prose."""

from __future__ import annotations

import re

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import tokenize
from pytest_plsqlbench.sql.plausible import plausible
from pytest_plsqlbench.sql.prose import FENCES, statement_head
from pytest_plsqlbench.sql.script import ScriptStatement, read_script

_LINE_START = re.compile(r"^[ \t]*+(?=[A-Za-z(<])", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_HEAD = 300
_BUDGET = 1_500_000
"""Characters read in all, so that no answer takes long."""
_MOST_CUTS = 20


def read_runs(text: str, dialect: Dialect) -> list[tuple[int, int]]:
    """Ranges of the text that hold statements, each from the start of a line on, in order."""
    runs: list[tuple[int, int]] = []
    at, budget = 0, _BUDGET
    for found in _LINE_START.finditer(text):
        start = found.end()
        if start < at:
            continue
        budget -= _HEAD
        if budget < 0:
            break
        if not _begins_program(text[start : start + _HEAD], dialect):
            continue
        budget -= len(text) - start
        end = _run_end(text[start:], dialect)
        if end:
            at = start + end
            runs.append((start, at))
    return runs


def _begins_program(text: str, dialect: Dialect) -> bool:
    """Whether a line begins a program, and not an English sentence ("Select the rows …")."""
    statements = read_script(text, dialect).statements
    if not statements:
        return False
    statement = statements[0]
    if statement.kind == "client" or statement.from_exec:
        return not statement.refused
    head = statement_head(statement, dialect)
    if not plausible(head, dialect):
        return False
    if head[0].kind != "word":
        return False
    sentence = head[0].text.istitle() and len(head) > 1 and head[1].text.islower()
    return not sentence


def _run_end(text: str, dialect: Dialect) -> int:
    """Where the run of plausible statements ends that begins the text; 0 where there is none."""
    script = read_script(text, dialect)
    strays = [finding.offset for finding in script.findings if finding.code == "stray_text"]
    end = 0
    for at, statement in enumerate(script.statements):
        if statement.kind != "client" and not plausible(statement_head(statement, dialect), dialect):
            break
        stray = next((offset for offset in strays if statement.offset < offset < statement.end), None)
        if stray is not None:
            return stray
        following = script.statements[at + 1].offset if at + 1 < len(script.statements) else len(text)
        end = _terminated(text, statement, following, dialect)
        if end == statement.end and statement.kind in {
            "query",
            "dml",
            "create_table",
            "create_view",
            "ddl_other",
        }:
            cut = _before_prose(statement.text, dialect)
            return statement.offset + cut if cut else statement.offset
    return end


def _terminated(text: str, statement: ScriptStatement, following: int, dialect: Dialect) -> int:
    """The end of a statement with its terminators."""
    end = statement.end
    for token in tokenize(text[statement.end : following], dialect):
        if token.kind == "punct" and token.value in {";", "/"}:
            end = statement.end + token.end
    return end


def _before_prose(text: str, dialect: Dialect) -> int:
    """Where plain SQL without terminator ends: at a blank line or fence, if it parses only up to there.

    Decided by parsing with sqlglot; 0 where nothing parses, for then it is hardly SQL.
    """
    if _parses(text, dialect):
        return len(text)
    cuts = [found.start() for found in _BLANK_LINE.finditer(text)][:_MOST_CUTS]
    cuts += [at for at in (text.find(f"\n{fence}") for fence in FENCES) if at > 0]
    return next((cut for cut in sorted(cuts) if _parses(text[:cut], dialect)), 0)


def _parses(text: str, dialect: Dialect) -> bool:
    import sqlglot  # noqa: PLC0415 - slow to import, rarely needed
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    try:
        return bool(sqlglot.parse(text, read=dialect))
    except (SqlglotError, RecursionError):
        return False
