"""What holds for every text: nothing raises, nothing is lost, and blanks and comments mean nothing."""

from __future__ import annotations

import os
import random
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import DIALECTS, Dialect
from pytest_plsqlbench.sql.complexity import program_complexity
from pytest_plsqlbench.sql.constructs import constructs
from pytest_plsqlbench.sql.extraction import extract
from pytest_plsqlbench.sql.interface import interface_findings
from pytest_plsqlbench.sql.lexer import Token, significant_tokens, tokenize
from pytest_plsqlbench.sql.outline import describe
from pytest_plsqlbench.sql.prose import published_problem
from pytest_plsqlbench.sql.safety import check_safety
from pytest_plsqlbench.sql.script import ends_transactions, read_script
from pytest_plsqlbench.sql.units import read_program

ROOT = Path(__file__).parent.parent.parent


@lru_cache
def corpus() -> tuple[tuple[Dialect, str], ...]:
    """The programs of the twins, and the reference programs of the bundled tasks."""
    twins = yaml.safe_load((ROOT / "tests/data/sql_twins.yaml").read_text("utf-8"))
    programs: list[tuple[Dialect, str]] = [(twin["dialect"], twin["text"]) for twin in twins]
    for path in sorted((ROOT / "tasks").rglob("*.yaml")):
        task: Any = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        programs.extend(
            ("postgres" if "$$" in text else "oracle", text)
            for text in _texts(task)
            if "CREATE" in text and ("$$" in text or "\n/" in text)
        )
    return tuple(programs)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in _texts(child)]


def read_everything(text: str, dialect: Dialect) -> None:
    """Read a text in every way that there is; hold what must hold for any text."""
    tokens = tokenize(text, dialect)
    assert significant_tokens(text, dialect) == [token for token in tokens if not token.silent]
    assert "".join(token.text for token in tokens) == text
    check_places(text, tokens)
    check_statements(text, dialect)
    program = read_program(text, dialect)
    assert program.script == read_script(text, dialect)
    describe(program)
    constructs(program)
    program_complexity(program)
    check_safety(program, "read")
    ends_transactions(text, dialect)
    published_problem(text, dialect)
    extract(text, dialect)
    interface_findings(text, [text], dialect)


def check_places(text: str, tokens: list[Token]) -> None:
    line, start = 1, 0
    for token in tokens:
        assert text.startswith(token.text, token.offset)
        assert (token.line, token.column) == (line, token.offset - start + 1)
        newlines = token.text.count("\n")
        if newlines:
            line += newlines
            start = token.offset + token.text.rindex("\n") + 1


BETWEEN = {";", "/", "EXEC", "EXECU", "EXECUT", "EXECUTE"}


def check_statements(text: str, dialect: Dialect) -> None:
    """Statements are slices in order; between them stand terminators, blanks and comments only."""
    at = 0
    for statement in read_script(text, dialect).statements:
        assert at <= statement.offset <= statement.end <= len(text)
        if not statement.from_exec:
            assert text[statement.offset : statement.end].rstrip() == statement.text.rstrip()
        if statement.kind != "client" and statement.data is None:
            assert statement.line == text.count("\n", 0, statement.offset) + 1
        check_between(text[at : statement.offset], dialect)
        at = statement.end
    check_between(text[at:], dialect)


def check_between(text: str, dialect: Dialect) -> None:
    left = [token.value for token in tokenize(text, dialect) if not token.silent]
    assert "\\." in text or BETWEEN.issuperset(left), text


# -- any text ----------------------------------------------------------------------------------------------

WORDS = """
    SELECT FROM dual BEGIN END IF THEN ELSE ELSIF LOOP FOR i IN WHILE CASE WHEN EXCEPTION DECLARE CREATE OR
    REPLACE FUNCTION f PROCEDURE p PACKAGE BODY TYPE t TRIGGER g IS AS RETURN RETURNS LANGUAGE plpgsql DO
    COMMIT EXECUTE IMMEDIATE INTO BULK COLLECT FORALL COMPOUND BEFORE STATEMENT ATOMIC MEMBER CALL RAISE GOTO
    PRAGMA CURSOR UPDATE SET $IF $THEN $END :new <think> </think> <answer> EXEC
    WITH x 1 1. .5 \u00e9 \u00a0 \ufeff \x00
"""
SIGNS = """; END; ( ) , . .. := => << >> % @ $$ $a$ ' " q'[ ]' E' \\ -- /* */ / ``` { } [ ]"""
LONGER = [
    "\n/\n", "\n", " ", "\r\n", "END IF;", "END LOOP;", "@x\n", "SET SERVEROUTPUT ON\n", "PROMPT it's\n",
    "COPY t FROM STDIN;\n", "\\.\n", "```sql\n", '{"sql": "', "The answer is\n", "I'm sorry",
]  # fmt: skip
PIECES = st.sampled_from([*(f"{word} " for word in WORDS.split(" ")), *SIGNS.split(), *LONGER])


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=150, deadline=None)
@given(text=st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_can_be_read(dialect: Dialect, text: str) -> None:
    read_everything(text, dialect)


def test_mutated_programs_can_be_read() -> None:
    """A fuzz run of PLSQLBENCH_FUZZ_SECONDS: programs with tokens left out, doubled, swapped, cut."""
    seconds = float(os.environ.get("PLSQLBENCH_FUZZ_SECONDS", "4"))
    seed = int(os.environ.get("PLSQLBENCH_FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        dialect, text = chance.choice(corpus())
        text = mutated(text, dialect, chance)
        try:
            read_everything(text, dialect)
        except Exception as error:
            error.add_note(f"seed {seed}, dialect {dialect}, text {text!r}")
            raise


def mutated(text: str, dialect: Dialect, chance: random.Random) -> str:
    pieces = [token.text for token in tokenize(text, dialect)]
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(pieces))
        action = chance.randrange(5)
        if action == 0:
            del pieces[at]
        elif action == 1:
            pieces.insert(at, chance.choice(pieces))
        elif action == 2:
            other = chance.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif action == 3:
            pieces[at] = pieces[at][: chance.randint(0, len(pieces[at]))]
        else:
            pieces = pieces[:at] if chance.random() < 0.1 else pieces
        pieces = pieces or [";"]
    return "".join(pieces)


# -- blanks and comments -----------------------------------------------------------------------------------

BLANKS = (" ", "\t", "/* it's; / */", "/**/", " /* END; */ ")
LINES = ("\n", "\n\n", " -- it's; END;\n", "\r\n")


def fits(tokens: list[Token], at: int, filler: str) -> bool:
    """Whether a filler before a token leaves the tokens what they are, and a `/` as alone or not as it is."""
    before, after = tokens[at - 1], tokens[at]
    if before.kind in {"comment", "broken"} or (before.kind == "punct" and after.kind == "punct"):
        return False  # an operator of PostgreSQL may end in what begins a comment
    slash = any(token.value == "/" for token in tokens[max(0, at - 3) : at + 3])
    return not (slash and ("\n" in filler or "\n" in before.text + after.text))


@pytest.mark.parametrize("seed", range(12))
def test_blanks_and_comments_change_no_structure(seed: int) -> None:
    chance = random.Random(seed)
    programs = [pair for pair in corpus() if read_script(pair[1], pair[0]).statements]
    for dialect, text in chance.sample(programs, min(15, len(programs))):
        statements = read_script(text, dialect).statements
        if any(statement.kind == "client" or statement.from_exec for statement in statements):
            continue
        plain = [line for line in describe(read_program(text, dialect)) if not line.startswith("!")]
        filled = describe(read_program(with_fillers(text, dialect, chance), dialect))
        assert [line for line in filled if not line.startswith("!")] == plain


def with_fillers(text: str, dialect: Dialect, chance: random.Random) -> str:
    tokens = tokenize(text, dialect)
    pieces = [tokens[0].text]
    for at in range(1, len(tokens)):
        filler = chance.choice(BLANKS + LINES)
        if chance.random() < 0.4 and fits(tokens, at, filler):
            pieces.append(filler)
        pieces.append(tokens[at].text)
    return "".join(pieces)


@settings(max_examples=60, deadline=None)
@given(
    inside=st.lists(
        st.sampled_from(["\n/\n", "/", "\n / \n", ";", "\n", "END;", "CREATE ", "x"]), max_size=8
    ).map("".join),
    quotes=st.sampled_from([("'", "'"), ("q'[", "]'"), ("/*", "*/"), ('"', '"'), ("N'", "'"), ("Q'!", "!'")]),
)
def test_nothing_inside_a_literal_or_comment_splits(inside: str, quotes: tuple[str, str]) -> None:
    opening, closing = quotes
    literal = f"{opening}{inside}{closing}" if opening != "/*" else f"{opening} {inside} {closing} 1"
    block = f"BEGIN\n  x := {literal};\nEND;"
    script = read_script(f"{block}\n/\nSELECT 1 FROM dual;\n", "oracle")
    if "*/" in inside:
        return
    assert [statement.text for statement in script.statements] == [block, "SELECT 1 FROM dual"]
    dollar = f"DO $b$ BEGIN x := $q$ {inside} $q$; END $b$"
    assert [s.text for s in read_script(f"{dollar};\nSELECT 1;", "postgres").statements] == [
        dollar,
        "SELECT 1",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_statement_alone_is_read_as_in_its_script(dialect: Dialect) -> None:
    for own, text in corpus():
        if own != dialect:
            continue
        for statement in read_script(text, dialect).statements:
            if statement.kind == "client" or statement.from_exec:
                continue
            (again,) = read_script(statement.text, dialect).statements
            assert (again.text, again.kind) == (statement.text, statement.kind)
