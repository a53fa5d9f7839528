"""Prompts and reference programs of Spider tasks: how the rows of a query are asked for, and printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_plsqlbench.bench.task import Dialect

Printed = Literal["plain", "date", "timestamp"]
"""How a column is printed: as the engine converts it, or in a fixed date format."""

_REQUEST = {
    "postgres": "Write one anonymous PL/pgSQL block (DO) for PostgreSQL that prints the answer.",
    "oracle": "Write one anonymous PL/SQL block for Oracle Database that prints the answer.",
}
_RULES = {
    "postgres": (
        "Print each row of the answer with one RAISE NOTICE whose message is the row alone. "
        "Only notices are read: returned rows, cursors and tables are not."
    ),
    "oracle": (
        "Print each row of the answer with one call of DBMS_OUTPUT.PUT_LINE. "
        "Only printed lines are read: returned rows, cursors and tables are not."
    ),
}
_COMMON_RULES = (
    "No headings, row numbers, totals or remarks.",
    "Between the columns of a row stands a comma and nothing else.",
    "Text is printed as it is stored, without quotes; NULL is printed as nothing.",
    "Dates look like 2024-05-31, timestamps like 2024-05-31 18:30:00.",
)


def prompt(question: str, dialect: Dialect) -> str:
    """The request of a task: the question, then what to write and how its output is read."""
    rules = "\n".join(f"- {rule}" for rule in (_RULES[dialect], *_COMMON_RULES))
    return f"{question.strip()}\n{_REQUEST[dialect]}\n\nOutput:\n{rules}"


def question_of(text: str) -> str:
    """The question that a published request begins with: its first line."""
    return text.strip().splitlines()[0].strip() if text.strip() else ""


def postgres_program(query: str, columns: Sequence[str]) -> str:
    """A DO block that prints the given columns of a query's rows by RAISE NOTICE."""
    # format() writes NULL as nothing and everything else as the type's own text.
    pattern = ",".join(["%s"] * len(columns))
    fields = ", ".join('r."' + name.replace('"', '""') + '"' for name in columns)
    tag = _unused_tag(query)
    return (
        f"DO ${tag}$\nDECLARE\n  r record;\nBEGIN\n  FOR r IN\n    {query}\n  LOOP\n"
        f"    RAISE NOTICE '%', format('{pattern}', {fields});\n  END LOOP;\nEND\n${tag}$;\n"
    )


def _unused_tag(text: str) -> str:
    tag = "body"
    while f"${tag}$" in text:
        tag += "_"
    return tag


def oracle_program(query: str, columns: Sequence[Printed]) -> str:
    """An anonymous block that prints the rows of a query, fetched by position; ends in ``/``."""
    kinds = {"plain": "VARCHAR2(32767)", "date": "DATE", "timestamp": "TIMESTAMP"}
    shown = {
        "plain": "{}",
        "date": "TO_CHAR({}, 'YYYY-MM-DD')",
        "timestamp": "TO_CHAR({}, 'YYYY-MM-DD HH24:MI:SS')",
    }
    names = [f"v{number}" for number in range(1, len(columns) + 1)]
    declared = "".join(f"  {name} {kinds[column]};\n" for name, column in zip(names, columns, strict=True))
    line = " || ',' || ".join(shown[column].format(name) for name, column in zip(names, columns, strict=True))
    return (
        f"DECLARE\n  CURSOR answer IS\n    {query};\n{declared}BEGIN\n  OPEN answer;\n  LOOP\n"
        f"    FETCH answer INTO {', '.join(names)};\n    EXIT WHEN answer%NOTFOUND;\n"
        f"    DBMS_OUTPUT.PUT_LINE({line});\n  END LOOP;\n  CLOSE answer;\nEND;\n/\n"
    )


def printed(kinds: Sequence[str | None]) -> list[Printed]:
    """How columns of these kinds are printed."""
    ways: dict[str | None, Printed] = {"date": "date", "timestamp": "timestamp"}
    return [ways.get(kind, "plain") for kind in kinds]
