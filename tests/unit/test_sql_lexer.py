"""The lexer: every kind of token, lossless, with the right places, in linear time."""

from __future__ import annotations

import time

import pytest

from pytest_plsqlbench.bench.task import DIALECTS, Dialect
from pytest_plsqlbench.sql.lexer import (
    Lexer,
    significant_tokens,
    string_content,
    tokenize,
    tokenize_content,
)


def kinds(text: str, dialect: Dialect) -> list[tuple[str, str]]:
    tokens = tokenize(text, dialect)
    assert "".join(token.text for token in tokens) == text
    return [(token.kind, token.text) for token in tokens if token.kind != "blank"]


@pytest.mark.parametrize(
    ("text", "dialect", "kind"),
    [
        ("'it''s'", "oracle", "string"),
        ("N'x'", "oracle", "string"),
        ("q'[it's ] ' ok]'", "oracle", "string"),
        ("Q'{a}b}'", "oracle", "string"),
        ("q'<a>b>'", "oracle", "string"),
        ("q'(a)b)'", "oracle", "string"),
        ("nq'!don't!'", "oracle", "string"),
        ("q''a''", "oracle", "string"),
        ("q'|\n/\n|'", "oracle", "string"),
        ("'\\'", "oracle", "string"),
        ('"Mixed ""', "oracle", "broken"),
        ('"a b;"', "oracle", "quoted"),
        (":new", "oracle", "bind"),
        (":1", "oracle", "bind"),
        ("$$PLSQL_UNIT", "oracle", "directive"),
        ("$IF", "oracle", "directive"),
        ("v$session#x", "oracle", "word"),
        ("größe", "oracle", "word"),
        ("1.5e-3f", "oracle", "number"),
        ("2d", "oracle", "number"),
        (".5", "oracle", "number"),
        ("1.", "oracle", "number"),
        ("-- to the end '", "oracle", "comment"),
        ("/* /* one level */", "oracle", "comment"),
        ("'\\'", "postgres", "string"),
        ("E'a\\'b'", "postgres", "string"),
        ("e'a''b\\\\'", "postgres", "string"),
        ("E'a'\n  'b\\'c'", "postgres", "string"),
        ("E'a' -- c\n\n 'b\\'c'", "postgres", "broken"),
        ("B'01'", "postgres", "string"),
        ("x'1F'", "postgres", "string"),
        ("U&'d\\0061t'", "postgres", "string"),
        ('U&"d\\0061t"', "postgres", "quoted"),
        ('"a ""b"" c"', "postgres", "quoted"),
        ("$$it's$$", "postgres", "string"),
        ("$tag$ $$ $other$ $tag$", "postgres", "string"),
        ("$ü_1$x$ü_1$", "postgres", "string"),
        ("$1", "postgres", "param"),
        ("a$b$c", "postgres", "word"),
        ("größe", "postgres", "word"),
        ("1_000.5e3", "postgres", "number"),
        ("0x1F", "postgres", "number"),
        ("0b01", "postgres", "number"),
        ("/* /* two */ levels */", "postgres", "comment"),
        ("<->", "postgres", "punct"),
        ("::", "postgres", "punct"),
    ],
)
def test_one_token(text: str, dialect: Dialect, kind: str) -> None:
    if kind == "broken":
        assert kinds(text, dialect)[-1][0] == "broken"
    else:
        assert kinds(text, dialect) == [(kind, text)]


@pytest.mark.parametrize(
    ("text", "dialect", "pieces"),
    [
        ("1..10", "oracle", ["1", "..", "10"]),
        ("1..10", "postgres", ["1", "..", "10"]),
        ("a.b%TYPE:=1", "oracle", ["a", ".", "b", "%", "TYPE", ":=", "1"]),
        ("f(a=>b)", "oracle", ["f", "(", "a", "=>", "b", ")"]),
        ("t@link", "oracle", ["t", "@", "link"]),
        ("<<l>>x", "oracle", ["<<", "l", ">>", "x"]),
        ("<<l>>x", "postgres", ["<<", "l", ">>", "x"]),
        ("a**b||c^=d", "oracle", ["a", "**", "b", "||", "c", "^=", "d"]),
        ("1d2", "oracle", ["1", "d2"]),
        ("a::int", "postgres", ["a", "::", "int"]),
        ("a[1:n]", "postgres", ["a", "[", "1", ":", "n", "]"]),
        ("a*-b", "postgres", ["a", "*-", "b"]),
        ("1--2", "postgres", ["1", "--2"]),
        ("1-/*c*/2", "postgres", ["1", "-", "/*c*/", "2"]),
        ("x--c\ny", "postgres", ["x", "--c", "y"]),
        ("x--c\ry", "postgres", ["x", "--c", "y"]),
        ("n'a'", "oracle", ["n'a'"]),
        ("xn'a'", "oracle", ["xn", "'a'"]),
        ("namE'a\\'", "postgres", ["namE", "'a\\'"]),
        ("q'x", "oracle", ["q'x"]),
        ("/*a*/b*/", "oracle", ["/*a*/", "b", "*", "/"]),
        ("a\\b", "postgres", ["a", "\\", "b"]),
        ("a\u00a0b", "oracle", ["a", "\u00a0", "b"]),
        ("a\u00a0b", "postgres", ["a\u00a0b"]),
    ],
)
def test_several_tokens(text: str, dialect: Dialect, pieces: list[str]) -> None:
    assert [piece for _, piece in kinds(text, dialect)] == pieces


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("opening", ["'", "/*", '"', "n'", "'a''b''"])
def test_what_never_ends_is_one_broken_token(dialect: Dialect, opening: str) -> None:
    text = f"a {opening} x\n; b"
    *_, last = tokenize(text, dialect)
    assert last.kind == "broken"
    assert last.text == f"{opening} x\n; b"


def test_places_count_lines_and_characters() -> None:
    tokens = tokenize("é :=\r\n\t'a\nb' /* \n */ x", "oracle")
    places = {token.text: (token.offset, token.line, token.column) for token in tokens}
    assert places[":="] == (2, 1, 3)
    assert places["'a\nb'"] == (7, 2, 2)
    assert places["x"] == (21, 4, 5)


def test_words_have_an_upper_value_and_keep_their_text() -> None:
    word, _, quoted = tokenize('Abc "Abc"', "oracle")
    assert (word.text, word.value) == ("Abc", "ABC")
    assert quoted.value == '"Abc"'


def test_a_byte_order_mark_is_blank_only_at_the_start() -> None:
    first, *_, last = tokenize("\ufeffa \ufeff", "oracle")
    assert (first.kind, last.kind) == ("blank", "unknown")


def test_raw_lines_can_be_passed() -> None:
    lexer = Lexer("don't\nx 'y'", "oracle")
    assert lexer.skip_to(6) == "don't\n"
    tokens = list(lexer)
    assert [(token.text, token.line, token.column) for token in tokens if not token.silent] == [
        ("x", 2, 1),
        ("'y'", 2, 3),
    ]


@pytest.mark.parametrize(
    ("text", "dialect", "content"),
    [
        ("'it''s'", "oracle", "it's"),
        ("nq'[it's]'", "oracle", "it's"),
        ("E'it\\'s'", "postgres", "it's"),
        ("$a$it's$a$", "postgres", "it's"),
        ("U&'x'", "postgres", "x"),
        ("x", "postgres", None),
    ],
)
def test_the_content_of_strings(text: str, dialect: Dialect, content: str | None) -> None:
    (token,) = tokenize(text, dialect)
    assert string_content(token, dialect) == content


def test_tokens_of_a_body_have_places_in_the_whole() -> None:
    text = "DO\n  $b$ x\n y $b$"
    body = tokenize(text, "postgres")[-1]
    inner = {token.text: token for token in tokenize_content(body, "postgres")}
    for word in "xy":
        assert text[inner[word].offset] == word
    assert (inner["x"].line, inner["x"].column) == (2, 7)
    assert (inner["y"].line, inner["y"].column) == (3, 2)
    assert tokenize_content(tokenize("x", "postgres")[0], "postgres") == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("piece", ["'", "'x\n", "q'[", "$a$ ", "/*", "E'\\", "E'a'\n", '"', ".", "<", "1_"])
def test_time_grows_with_the_length_only(dialect: Dialect, piece: str) -> None:
    """A lexer that tries a failed literal again, shorter or from the next quote, would take minutes here."""
    text = piece * 50_000 + "x"
    start = time.process_time()
    assert "".join(token.text for token in Lexer(text, dialect)) == text
    assert time.process_time() - start < 5


@pytest.mark.parametrize("dialect", DIALECTS)
def test_significant_tokens_are_those_that_say_something_at_their_places(dialect: Dialect) -> None:
    text = "\ufeffSELECT /* a\n; */ 'b\n''c' -- d\n  FROM\t\"e\nf\";\n/* g */\n\nEND\n"
    expected = [token for token in tokenize(text, dialect) if not token.silent]
    assert significant_tokens(text, dialect) == expected
    assert [token.line for token in expected] == [1, 2, 4, 4, 5, 8]


def test_raw_lines_can_be_passed_where_blanks_are_left_out() -> None:
    lexer = Lexer("a -- b\n  c\nraw\n d", "oracle", significant=True)
    tokens = iter(lexer)
    assert [next(tokens).text, next(tokens).text] == ["a", "c"]
    lexer.skip_to(lexer.text.index("raw") + 3)
    [last] = lexer
    assert (last.text, last.line, last.column) == ("d", 4, 2)
