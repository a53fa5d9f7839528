"""Scripts cut into statements, each exactly as it is to be sent to the server.

Oracle texts are read as SQL*Plus reads them, PostgreSQL texts as psql does; where a model forgot a terminator
that the structure makes certain, the statement ends there and a finding records it. Nothing is rewritten,
except that ``EXEC p(…)`` becomes the block that SQL*Plus makes of it.
Sources: SQL*Plus User's Guide, "Running SQL, PL/SQL and SQL*Plus"; python-oracledb manual, "SQL execution"
(what may end a statement); psql manual and its scanner (semicolons in parentheses and in SQL-standard
bodies).
"""

from __future__ import annotations

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.classify import STATEMENT_KINDS, StatementKind
from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.psql import read_postgres
from pytest_plsqlbench.sql.sqlplus import read_oracle
from pytest_plsqlbench.sql.statement import Script, ScriptStatement
from pytest_plsqlbench.sql.transactions import ends_transactions

__all__ = [
    "STATEMENT_KINDS",
    "Finding",
    "Script",
    "ScriptStatement",
    "StatementKind",
    "ends_transactions",
    "read_script",
]


def read_script(text: str, dialect: Dialect) -> Script:
    """Cut a script into its statements. Never raises, whatever the text.

    Args:
        text: a program, a test's call, or any text.
        dialect: how it is read.
    """
    return read_oracle(text) if dialect == "oracle" else read_postgres(text)
