"""Reading program texts: how fast, and what is found in real ones.

``python benchmarks/sql_reading.py`` prints times; with ``--table DIR`` it prints the table of
docs/sql-reading.md, from the folder of third-party data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_plsqlbench.bench.task import DIALECTS, Dialect
from pytest_plsqlbench.sql.lexer import tokenize
from pytest_plsqlbench.sql.prose import published_problem
from pytest_plsqlbench.sql.script import read_script
from pytest_plsqlbench.sql.transactions import ends_transactions
from pytest_plsqlbench.sql.units import read_program


class RealText(NamedTuple):
    """One text of the third-party data."""

    source: str
    id: str
    dialect: Dialect
    text: str


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def real_texts(shared: Path) -> Iterator[RealText]:
    """All texts of programs, tests and schemas, with an id each."""
    data = shared / "data"
    for row in _rows(data / "bird/model_answers.jsonl.gz"):
        dialect: Dialect = "oracle" if row["dialect"] == "Oracle" else "postgres"
        for text in row["pred_sqls"]:
            yield RealText("bird", f"bird/{row['set']}/{row['model']}/{row['instance_id']}", dialect, text)
    for at, row in enumerate(_rows(data / "spider_oracle/spider_ddl.jsonl")):
        yield RealText("spider_oracle, DDL", f"spider_ddl/{at}", "oracle", row["sql"])
    for name in ("spider_dev_pairs.jsonl", "spider_train_spider_pairs.jsonl.gz"):
        for at, row in enumerate(_rows(data / "spider_oracle" / name)):
            yield RealText("spider_oracle, queries", f"{name.partition('.')[0]}/{at}", "oracle", row["query"])
    for path in sorted((data / "oracle_sample_schemas").glob("*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        yield RealText("oracle_sample_schemas", f"oracle_sample_schemas/{path.stem}", "oracle", text)
    yield from _published(data / "plsqlbench_public_dev")
    for path in sorted((shared / "conformance").glob("*/case.sql")):
        yield RealText("conformance", f"conformance/{path.parent.name}", "oracle", path.read_text("utf-8"))


def _published(folder: Path) -> Iterator[RealText]:
    for path in sorted(folder.glob("*.jsonl")):
        for row in _rows(path):
            id_ = f"{path.stem}/{row.get('instance_id') or row.get('task_id')}"
            keys = ("reference_answer", "gold_sql_query", "test")
            texts: dict[str, str] = {key: row[key] for key in keys if key in row}
            texts |= {f"test{at}": text for at, text in enumerate(row.get("tests", ()))}
            texts |= dict(row.get("type_ddl_info", ()))
            for key, text in texts.items():
                yield RealText("plsqlbench_public_dev", f"{id_}/{key}", "oracle", text)
    excerpts = json.loads((folder / "schema_excerpts_transcribed.json").read_text("utf-8"))
    for at, row in enumerate(excerpts["ddl_rows"]):
        yield RealText("plsqlbench_public_dev", f"ddl/{at}", "oracle", row["sql"])


def found(shared: Path) -> list[str]:
    """The table of what is found, in Markdown."""
    columns = (
        "texts", "statements", "routines", "packages", "types", "triggers", "blocks", "tables, views",
        "queries, DML", "other SQL", "client", "recovered", "refused", "not closed", "no program",
    )  # fmt: skip
    rows: dict[tuple[str, str], Counter[str]] = {}
    for real in real_texts(shared):
        count = rows.setdefault((real.source, real.dialect), Counter())
        program = read_program(real.text, real.dialect)
        count["texts"] += 1
        count["statements"] += len(program.script.statements)
        for statement in program.script.statements:
            count[_column(statement.kind)] += 1
        codes = [finding.code for finding in program.findings]
        count["recovered"] += codes.count("missing_slash")
        count["refused"] += codes.count("refused_command")
        count["not closed"] += any(code in _OPEN for code in codes)
        if real.source == "bird":  # the only answers among the texts
            count["no program"] += published_problem(real.text, real.dialect) is not None
    lines = [" | ".join(("source", "dialect", *columns)), " | ".join("---" for _ in range(len(columns) + 2))]
    lines += [
        " | ".join((*key, *(str(count[column] or "") for column in columns))) for key, count in rows.items()
    ]
    return [f"| {line} |" for line in lines]


_OPEN = frozenset(
    (
        "missing_semicolon", "unclosed_unit", "unterminated_string", "unterminated_identifier",
        "unterminated_comment", "unclosed_parenthesis",
    )
)  # fmt: skip


def _column(kind: str) -> str:
    groups = {
        "routines": ("create_function", "create_procedure"),
        "packages": ("create_package", "create_package_body"),
        "types": ("create_type", "create_type_body"),
        "triggers": ("create_trigger",),
        "blocks": ("block",),
        "tables, views": ("create_table", "create_view"),
        "queries, DML": ("query", "dml"),
        "client": ("client",),
    }
    return next((name for name, kinds in groups.items() if kind in kinds), "other SQL")


# -- times --------------------------------------------------------------------------------------------------


def package_text(size: int) -> str:
    """A package body of about that many characters, with something of everything."""
    routine = """
  -- pays what is due; it's rounded
  FUNCTION due_{n}(p_id IN NUMBER, p_at DATE DEFAULT SYSDATE) RETURN NUMBER IS
    CURSOR c IS SELECT id, amount FROM bills WHERE owner = p_id AND at <= p_at ORDER BY at;
    total NUMBER := 0;
  BEGIN
    FOR bill IN c LOOP
      IF bill.amount > 100 AND bill.id <> 7 THEN
        total := total + CASE WHEN bill.amount > 1e3 THEN bill.amount * 0.9 ELSE bill.amount END;
      ELSIF bill.amount IS NULL THEN
        CONTINUE;
      END IF;
      UPDATE bills SET seen = 'y', note = q'[it's seen]' WHERE id = bill.id;
    END LOOP;
    RETURN ROUND(total, 2);
  EXCEPTION
    WHEN NO_DATA_FOUND THEN RETURN 0;
    WHEN OTHERS THEN RAISE_APPLICATION_ERROR(-20001, 'due_{n}: ' || SQLERRM);
  END due_{n};
"""
    count = max(1, size // len(routine))
    return (
        "CREATE OR REPLACE PACKAGE BODY bills_api IS\n"
        + "".join(routine.replace("{n}", str(n)) for n in range(count))
        + "END bills_api;\n/\n"
    )


def plpgsql_text(size: int) -> str:
    """PostgreSQL functions of about that many characters in all."""
    routine = """
CREATE OR REPLACE FUNCTION due_{n}(p_id int, p_at date DEFAULT now()) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  total numeric := 0; bill record;
BEGIN
  FOR bill IN SELECT id, amount FROM bills WHERE owner = p_id AND at <= p_at LOOP
    IF bill.amount > 100 THEN total := total + CASE WHEN bill.amount > 1e3 THEN 1 ELSE 2 END; END IF;
    UPDATE bills SET seen = 'y' WHERE id = bill.id; -- it's seen
  END LOOP;
  RETURN round(total, 2);
EXCEPTION WHEN OTHERS THEN RAISE EXCEPTION 'due: %', SQLERRM;
END $$;
"""
    return "".join(routine.replace("{n}", str(n)) for n in range(max(1, size // len(routine))))


def _time(name: str, size: int, work: Callable[[], object]) -> None:
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    print(
        f"{name:<44} {size:>9} characters {seconds * 1000:>9.1f} ms {seconds / size * 1e6:>6.2f} µs/character"
    )


def times() -> None:
    """Print how long reading takes."""
    for size in (30_000, 1_000_000, 5_000_000):
        _measure("oracle", package_text(size))
        _measure("postgres", plpgsql_text(size))
    for name, text in TRAPS.items():
        _time(f"trap: {name}", len(text), partial(read_all, text))


def read_all(text: str) -> None:
    """Read a text in every way, as both dialects."""
    for dialect in DIALECTS:
        read_program(text, dialect)
        ends_transactions(text, dialect)


def _measure(dialect: Dialect, text: str) -> None:
    _time(f"{dialect}: tokens", len(text), lambda: tokenize(text, dialect))
    _time(f"{dialect}: script", len(text), lambda: read_script(text, dialect))
    _time(f"{dialect}: program", len(text), lambda: read_program(text, dialect))
    _time(f"{dialect}: ends_transactions", len(text), lambda: ends_transactions(text, dialect))


_TRAP = 50_000
TRAPS = {
    "open strings": "'x\n" * _TRAP + "'",
    "open alternative quotes": "q'[" * _TRAP,
    "open dollar quotes": "".join(f"$a{n}$ " for n in range(_TRAP)),
    "nested dollar quotes": "".join(f"$a{n}$ commit " for n in range(4000))
    + "".join(f"$a{n}$ " for n in range(3999, -1, -1)),
    "open comments": "/* " * _TRAP,
    "nested comments": "/*" * _TRAP + "*/" * _TRAP,
    "parentheses": "SELECT " + "(" * _TRAP + "1" + ")" * _TRAP + ";",
    "nested blocks": "BEGIN " * _TRAP + "NULL; " + "END; " * _TRAP,
    "nested conditions": "BEGIN " + "IF a THEN " * _TRAP + "END IF; " * _TRAP + "END;",
    "nested routines": "DECLARE " + "PROCEDURE p IS " * _TRAP + "BEGIN NULL; END; " * _TRAP,
    "CASE in CASE": "BEGIN x := " + "CASE WHEN " * _TRAP + "END " * _TRAP + "; END;",
    "prompts with apostrophes": "PROMPT don't\n" * _TRAP,
    "slashes": "/\n" * _TRAP,
    "one line of slashes": "SELECT 1 " + "/ 2 " * _TRAP,
    "commands": "@file\n" * _TRAP,
    "EXEC": "EXEC p(\n" * _TRAP,
    "dashes": "- " * _TRAP,
    "backslashes": "\\x\n" * _TRAP,
    "COPY without data": "COPY t FROM STDIN;\n" * (_TRAP // 10),
    "semicolons": ";" * _TRAP,
    "CREATE": "CREATE " * _TRAP,
    "loops": "BEGIN " + "FOR i IN " * _TRAP,
    "WITH FUNCTION": "WITH FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; " * (_TRAP // 10),
}
"""Texts that a careless reader takes quadratic time or endless depth for."""


def main() -> None:
    """Print times, or the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, metavar="DIR", help="print what is found in the data under DIR")
    arguments = parser.parse_args()
    if arguments.table:
        print("\n".join(found(arguments.table)))
    else:
        times()


if __name__ == "__main__":
    main()
