"""What is kept of texts that were read: enough for the stages of a turn, and never more."""

from __future__ import annotations

import gc
import weakref

import pytest

from pytest_plsqlbench.bench.task import DIALECTS, Dialect
from pytest_plsqlbench.engines.postgres import scripts
from pytest_plsqlbench.grading.facts import TextFacts
from pytest_plsqlbench.sql import cursor, lexer
from pytest_plsqlbench.sql.prose import published_problem
from pytest_plsqlbench.sql.remembering import SHORT, remember
from pytest_plsqlbench.sql.script import ends_transactions, read_script


class Read:
    """What was made of a text."""

    def __init__(self, text: str) -> None:
        self.text = text


def test_what_was_read_is_let_go_as_other_texts_come() -> None:
    reads: list[str] = []

    @remember(short=3, long=1)
    def read(text: str) -> Read:
        reads.append(text)
        return Read(text)

    short = [weakref.ref(read(f"s{number}")) for number in range(10)]
    long = [weakref.ref(read("x" * SHORT + str(number))) for number in range(5)]
    gc.collect()
    assert [at for at, ref in enumerate(short) if ref() is not None] == [7, 8, 9]
    assert [at for at, ref in enumerate(long) if ref() is not None] == [4]
    reads.clear()
    read("s9")
    read("x" * SHORT + "4")
    assert reads == []
    read("s1")
    assert reads == ["s1"]


def test_long_texts_of_plays_that_are_over_are_let_go() -> None:
    for number in range(6):
        scripts.reading(f"SELECT {number};\n" * 2_000)
    gc.collect()
    kept = [one for one in gc.get_objects() if type(one) is scripts.Reading and len(one.statements) == 2_000]
    assert len(kept) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_stages_share_one_reading_of_a_script(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cutting a script is what takes long: a program of 5 MB has millions of tokens."""
    read: list[int] = []
    plain = cursor.Cursor.__init__

    def count(self: cursor.Cursor, text: str, dialect: Dialect) -> None:
        read.append(len(text))
        plain(self, text, dialect)

    monkeypatch.setattr(cursor.Cursor, "__init__", count)
    text = "lorem ipsum dolor sit amet, commit " * (SHORT // 16)
    read_script(text, dialect)
    published_problem(text, dialect)
    ends_transactions(text, dialect)
    facts = TextFacts(text, None, dialect)  # type: ignore[arg-type] # not asked for here
    assert facts.not_a_program is not None
    assert not facts.holds_nothing
    if dialect == "postgres":
        scripts.reading(text)
    assert read == [len(text)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_without_fences_is_not_cut_to_look_for_them(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT 1 AS one_of_many, 2 AS two_of_many FROM t;\n" * 400
    tokens = len(lexer.tokenize(text, dialect))
    read_script(text, dialect)
    cut = 0
    plain = lexer.Lexer.__iter__

    def count(self: lexer.Lexer) -> object:
        nonlocal cut
        for token in plain(self):
            cut += 1
            yield token

    monkeypatch.setattr(lexer.Lexer, "__iter__", count)
    assert published_problem(text, dialect) is None
    assert cut < 1.2 * tokens  # the beginnings of statements, once
