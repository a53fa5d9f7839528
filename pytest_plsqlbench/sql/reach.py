"""What a text reaches without naming a package: links, foreign code, files, the catalog, sequences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.forbidden import MEMBERS, SETTINGS
from pytest_plsqlbench.sql.lexer import Token, string_content
from pytest_plsqlbench.sql.signature import read_name


class Reached(NamedTuple):
    """Something out of bounds."""

    rule: str
    what: str
    at: Token


def reached(
    tokens: Sequence[Token], names: Sequence[str], dialect: Dialect, own: Collection[str]
) -> Iterator[Reached]:
    """What no task may reach.

    Args:
        tokens: significant tokens of a statement or of code.
        names: their known names.
        dialect: how they are read.
        own: names of what the program creates.
    """
    if dialect == "oracle":
        yield from _links(tokens)
        yield from _external_routines(tokens)
        for at in range(len(tokens) - 2):
            if names[at + 2] in MEMBERS.get(names[at], ()) and tokens[at + 1].value == ".":
                yield Reached("files", f"{names[at]}.{names[at + 2]}", tokens[at])
    else:
        yield from _settings(tokens, names)
        yield from _catalog_rows(tokens, own)


def _links(tokens: Sequence[Token]) -> Iterator[Reached]:
    """``name@link`` (SQL Language Reference, "References to Objects in Remote Databases")."""
    for before, sign, link in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if sign.value == "@" and before.kind in _NAMES and (link.kind in _NAMES or link.value == "!"):
            yield Reached("network", f"{before.text}@{link.text}", before)


_NAMES = frozenset(("word", "quoted"))
_AFTER_EXTERNAL = frozenset(("LANGUAGE", "LIBRARY", "NAME", "AGENT", "WITH", "PARAMETERS"))


def _external_routines(tokens: Sequence[Token]) -> Iterator[Reached]:
    """Call specifications (PL/SQL Language Reference, "Call Specification")."""
    for opener, first, second in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opener.value not in {"IS", "AS"}:
            continue
        if (first.value == "LANGUAGE" and second.value in {"C", "JAVA"}) or (
            first.value == "EXTERNAL" and second.value in _AFTER_EXTERNAL
        ):
            yield Reached("language", f"{first.value} {second.text}", first)


def _settings(tokens: Sequence[Token], names: Sequence[str]) -> Iterator[Reached]:
    """``set_config`` on settings that say whose session it is."""
    for at in range(len(tokens) - 2):
        if names[at] == "SET_CONFIG" and tokens[at + 1].value == "(":
            setting = (string_content(tokens[at + 2], "postgres") or "").strip().lower()
            if setting in SETTINGS:
                yield Reached("sessions", f"set_config({setting})", tokens[at])


def _catalog_rows(tokens: Sequence[Token], own: Collection[str]) -> Iterator[Reached]:
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.value not in {"INSERT", "UPDATE", "DELETE", "MERGE"}:
            continue
        first = at + 1
        while first < len(tokens) and tokens[first].value in {"INTO", "FROM", "ONLY"}:
            first += 1
        name, _ = read_name(tokens, first, len(tokens), "postgres")
        if name is None:
            continue
        if name.schema == "pg_catalog" or (
            name.schema is None and name.name.startswith("pg_") and name.name not in own
        ):
            yield Reached("system", f"{token.value} {name}", token)


def sequence_changes(
    tokens: Sequence[Token], names: Sequence[str], dialect: Dialect, own: Collection[str]
) -> Iterator[Reached]:
    """Calls that move a sequence the program did not create."""
    for at in range(len(tokens) - 2):
        if dialect == "oracle":
            if names[at + 2] == "NEXTVAL" and tokens[at + 1].value == "." and names[at] not in own:
                yield Reached("read_only_dml", f"{names[at] or tokens[at].text}.NEXTVAL", tokens[at])
        elif names[at] in {"NEXTVAL", "SETVAL"} and tokens[at + 1].value == "(":
            written = string_content(tokens[at + 2], "postgres") or ""
            if written.rpartition(".")[2].strip('"') not in own:
                yield Reached("read_only_dml", f"{names[at]} {written}".rstrip(), tokens[at])
