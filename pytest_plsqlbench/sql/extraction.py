"""The program in a model's answer, where the user asks for extraction.

Only whole pieces of the answer are taken, never rewritten; everything that was done is recorded. By the
published rules nothing is extracted (see ``published_problem``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.fences import Fence, read_fences
from pytest_plsqlbench.sql.prose import published_problem
from pytest_plsqlbench.sql.runs import read_runs
from pytest_plsqlbench.sql.script import read_script
from pytest_plsqlbench.sql.units import read_program

__all__ = ["Extraction", "extract", "published_problem"]

_LANGUAGES = frozenset(
    (
        "sql", "plsql", "pl/sql", "oracle", "plpgsql", "pl/pgsql", "postgresql", "postgres", "pgsql", "psql",
        "oraclesql", "sqlplus", "oracle-sql", "",
    )
)  # fmt: skip
"""Language tags of fences that may hold the program."""
_KEYS = (
    "generated_plsql", "solution", "completion", "program", "plsql", "sql", "code", "answer", "query",
    "pred_sqls", "response", "output", "text",
)  # fmt: skip
"""Keys of a JSON object that may hold the program, first match first."""
_JSON_START = re.compile(r"^[ \t]*+(?=[{\[])", re.MULTILINE)
_MOST_JSON = 20
"""Places tried where JSON might begin amid prose."""
_DEEPEST_JSON = 20
"""Levels of JSON looked into."""
_REASONING = re.compile(r"\A.*</(?:think|thinking|reasoning|analysis)>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"^[ \t]*+<(answer|final_answer|solution|code|sql|plsql|program|response)>", re.MULTILINE | re.IGNORECASE
)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can't|can not|won't|will not)|as an ai)\b",
    re.IGNORECASE,
)
_BROKEN = frozenset(
    (
        "unclosed_unit", "unterminated_string", "unterminated_comment", "unterminated_identifier",
        "unclosed_parenthesis",
    )
)  # fmt: skip
"""Findings that say that a text ends too early."""


class Extraction(msgspec.Struct, frozen=True):
    """What was taken out of an answer."""

    program: str
    """The program; empty where there is none."""
    done: tuple[str, ...] = ()
    """What was done, in order, one line each; empty where the answer is the program as it stands."""
    problem: str | None = None
    """Why there is no whole program: a refusal, prose only, a truncated answer; None where there is one."""


def extract(answer: str, dialect: Dialect) -> Extraction:
    """Take the program out of an answer: out of JSON, tags, fences, prose. Never raises, whatever the text.

    Args:
        answer: what the model said.
        dialect: what the program is written in.
    """
    done: list[str] = []
    text = answer
    if published_problem(text, dialect) is not None:
        text = _unwrap(text, dialect, done)
        fences = read_fences(text, dialect)
        if fences:
            text = _from_fences(fences, dialect, done)
        if published_problem(text, dialect) is not None:
            text = _from_prose(text, dialect, done)
    if text.strip():
        return Extraction(text, tuple(done), _incomplete(text, dialect))
    if _REFUSAL.search(answer):
        problem = "a refusal, no program"
    elif answer.lstrip()[:1] in {"{", "["}:
        problem = "the JSON around the answer is broken, or holds no program"
    else:
        problem = "no program in the answer"
    return Extraction("", tuple(done), problem)


def _incomplete(text: str, dialect: Dialect) -> str | None:
    for finding in read_script(text, dialect).findings:
        if finding.code in _BROKEN:
            return f"truncated or unclosed: line {finding.line}: {finding.message}"
    return None


# -- JSON and tags --------------------------------------------------------------------------------------


def _unwrap(text: str, dialect: Dialect, done: list[str]) -> str:
    """Take away reasoning in tags, tags around the answer, and JSON."""
    reasoning = _REASONING.match(text)
    if reasoning is not None and text[reasoning.end() :].strip():
        done.append("left out the reasoning before the closing tag")
        text = text[reasoning.end() :]
    opening = _TAG.search(text)
    if opening is not None:
        tag = opening.group(1).lower()
        end = text.lower().find(f"</{tag}>", opening.end())
        inside = text[opening.end() : end if end >= 0 else len(text)]
        if not published_problem(inside, dialect) or read_fences(inside, dialect):
            done.append(f"took what stands inside <{tag}>")
            text = inside
    fences = (
        [fence for fence in read_fences(text, dialect) if fence.language == "json"] if "json" in text else []
    )
    for source in (text, *(fence.content for fence in fences)):
        found = _from_json(source)
        if found is not None:
            break
    else:
        found = _from_json_amid_prose(text, dialect)
    if found is None:
        return text
    key, text = found
    done.append(f'took the value of "{key}" out of JSON' if key else "took the text out of JSON")
    return text


def _from_json(text: str) -> tuple[str, str] | None:
    """Key and program, where the whole text is JSON that holds one."""
    stripped = text.strip().strip("\ufeff")
    if stripped[:1] not in {"{", "[", '"'}:
        return None
    try:
        return _program_in(json.loads(stripped, strict=False))
    except (ValueError, RecursionError):
        return None


def _from_json_amid_prose(text: str, dialect: Dialect) -> tuple[str, str] | None:
    """Key and program of the first JSON object or array on a line of its own that holds one."""
    decoder = json.JSONDecoder(strict=False)
    for start in islice(_JSON_START.finditer(text), _MOST_JSON):
        try:
            found = _program_in(decoder.raw_decode(text, start.end())[0])
        except (ValueError, RecursionError):
            continue
        if found is not None and (not published_problem(found[1], dialect) or read_fences(found[1], dialect)):
            return found
    return None


def _program_in(value: object) -> tuple[str, str] | None:
    """The text that a JSON value holds, with its key: itself, its only kind of item, or under a known key."""
    key = ""
    for _ in range(_DEEPEST_JSON):
        if isinstance(value, str):
            return key, value
        if isinstance(value, dict):
            name = next((name for name in _KEYS if isinstance(value.get(name), str | list | dict)), None)
            if name is None:
                return None
            key, value = name, value[name]
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return key, "\n".join(value)
        elif isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif isinstance(value, list) and value:
            parts = [_program_in(item) for item in value if isinstance(item, dict)]
            texts = [part for part in parts if part is not None]
            if len(texts) < len(value):
                return None
            return texts[0][0], "\n".join(text for _, text in texts)
        else:
            return None
    return None


# -- fences and prose -----------------------------------------------------------------------------------


def _from_fences(fences: Sequence[Fence], dialect: Dialect, done: list[str]) -> str:
    """The program of an answer with fenced blocks; blocks in other languages are left out."""
    usable = [fence for fence in fences if fence.language in _LANGUAGES and fence.content.strip()]
    untagged = [fence for fence in usable if not fence.language]
    if len(untagged) < len(usable):  # beside tagged blocks, one without a tag may be output or a file listing
        usable = [
            fence for fence in usable if fence.language or not published_problem(fence.content, dialect)
        ]
    if not usable:
        return ""
    kept = _choose([fence.content for fence in usable], dialect)
    lines = ", ".join(str(usable[at].line) for at in kept)
    done.append(f"took {len(kept)} of {len(fences)} fenced blocks (at line {lines})")
    if not usable[kept[-1]].closed:
        done.append("the fence is not closed")
    return _join([usable[at].content for at in kept], dialect, done)


def _from_prose(text: str, dialect: Dialect, done: list[str]) -> str:
    """The runs of statements in a text without fences; the prose around them is left out."""
    runs = read_runs(text, dialect)
    if not runs:
        return ""
    kept = _choose([text[start:end] for start, end in runs], dialect)
    lines = ", ".join(str(text.count("\n", 0, runs[at][0]) + 1) for at in kept)
    done.append(f"left out the prose; the program begins at line {lines}")
    return _join([text[slice(*runs[at])] for at in kept], dialect, done)


def _choose(pieces: Sequence[str], dialect: Dialect) -> list[int]:
    """Which pieces make up the program.

    Where some create something or are anonymous blocks, the others (calls that show the use) are left out; a
    piece all of whose units a later one defines again is left out, the later one being the corrected version.
    Where none creates anything, the last one is the answer.
    """
    defined = [_defines(piece, dialect) for piece in pieces]
    kept: list[int] = []
    later: set[str] = set()
    for at in range(len(pieces) - 1, -1, -1):
        if not defined[at] <= later:
            kept.insert(0, at)
        later |= defined[at]
    return kept or [len(pieces) - 1]


def _defines(content: str, dialect: Dialect) -> set[str]:
    """What a piece defines: units by name; anonymous blocks and other CREATEs by their text."""
    program = read_program(content, dialect)
    names = {f"{unit.kind} {unit.name}" for unit in program.units if unit.name is not None}
    for statement in program.script.statements:
        if (statement.kind == "block" and not statement.from_exec) or statement.kind == "create_other":
            names.add(" ".join(statement.text.split()))
    return names


def _join(pieces: Sequence[str], dialect: Dialect, done: list[str]) -> str:
    """Pieces in a row; an Oracle unit that ends a piece without its ``/`` gets one: the pieces are apart."""
    if len(pieces) == 1:
        return pieces[0]
    joined: list[str] = []
    for at, piece in enumerate(pieces):
        text = piece if piece.endswith("\n") else f"{piece}\n"
        statements = read_script(text, dialect).statements
        lacks_slash = dialect == "oracle" and statements and statements[-1].recovered
        if lacks_slash and at < len(pieces) - 1:
            text += "/\n"
            done.append("put a `/` after a unit that lacked it, between two pieces")
        joined.append(text)
    return "".join(joined)
