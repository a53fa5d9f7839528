"""Loading databases: once a run, exactly, and faults told with file and line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Comparison, Source, Test
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.postgres.admin import Admin
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.protocol import DatabaseLoadError, InfrastructureError, Play
from pytest_plsqlbench.servers.address import ServerAddress

_COUNT = iter(range(1, 1000))


def make(
    before: tuple[str, ...],
    rows: list[tuple[str | None, ...]] | None = None,
    after: tuple[str, ...] = (),
    schemas: tuple[str, ...] = ("public",),
) -> Database:
    data: tuple[TableData, ...] = ()
    if rows is not None:
        source = Source("rows.csv", 1)
        data = (TableData(schemas[0], "t", ("a", "b"), lambda: iter(rows), source),)
    return Database(
        name="made",
        dialect="postgres",
        schemas=schemas,
        before=tuple(Statement(text, Source("made.sql", 7)) for text in before),
        data=data,
        after=tuple(Statement(text, Source("after.sql", 70)) for text in after),
        fingerprint=f"10ad{next(_COUNT):060d}",
    )


def ask(lane: PostgresLane, database: Database | None, query: str) -> Any:
    test = Test(name="t", calls=(query,), compare=(Comparison("list"),))
    call = lane.play(Play("candidate", (), (test,), database)).tests[0].calls[0]
    assert call.error is None, call.error
    return [tuple(cell[1] if cell else None for cell in row) for row in call.results[-1].rows]


def test_every_text_arrives_exactly(lane: PostgresLane) -> None:
    rows: list[tuple[str | None, ...]] = [
        ("1", None),
        ("2", ""),
        ("3", "\\N"),
        ("4", "a\tb\nc\r\nd\\e"),
        ("5", "\\."),
        ("6", "ünï 🐘 'quoted' \"twice\""),
        ("7", " blanks  "),
    ]
    database = make(("CREATE TABLE t (a int, b text)",), rows)
    assert ask(lane, database, "SELECT a, b FROM t ORDER BY a") == rows


@pytest.mark.parametrize(
    ("database", "message"),
    [
        (
            make(("CREATE TABLE t (a int)", "CREATE\nTABEL x")),
            r"^made\.sql:8: syntax error at or near \"TABEL\"$",
        ),
        (make(("CREATE TABLE t (a nosuch)",)), r"^made\.sql:7: type \"nosuch\" does not exist$"),
        (
            make(("CREATE TABLE t (a int, b text)",), [("1", "x"), ("two", "y")]),
            r"^rows\.csv:1: invalid input syntax .* \"two\" \(COPY t, line 2, column a: \"two\"\)$",
        ),
        (
            make(("CREATE TABLE s (a int)",), [("1", "x")]),
            r"^rows\.csv:1: relation \"public\.t\" does not exist$",
        ),
        (
            make(
                ("CREATE TABLE t (a int, b text)",),
                [("1", "x"), ("1", "y")],
                ("CREATE UNIQUE INDEX ON t (a)",),
            ),
            r"^after\.sql:70: could not create unique index",
        ),
        (make(("CREATE ROLE intruder",)), r"^made\.sql:7: permission denied to create role$"),
    ],
)
def test_a_fault_names_file_and_line_and_costs_only_its_own_tasks(
    lane: PostgresLane, database: Database, message: str
) -> None:
    for _ in range(2):
        with pytest.raises(DatabaseLoadError, match=message):
            lane.play(Play("reference", ("SELECT 1",), (), database))
    assert ask(lane, None, "SELECT 1") == [("1",)]


def test_a_fault_of_a_server_that_restarts_is_not_the_databases(
    lane: PostgresLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = Play("reference", ("SELECT 1",), (), make(("SELECT nothing()",)))
    with monkeypatch.context() as patch:
        patch.setattr(Admin, "steady", lambda self, seconds=0.0: False)
        with pytest.raises(InfrastructureError, match="restarted while a database was loaded"):
            lane.play(faulty)
    with pytest.raises(DatabaseLoadError, match="nothing"):
        lane.play(faulty)


def test_what_was_loaded_before_a_crash_is_looked_for_again(lane: PostgresLane) -> None:
    database = make(("CREATE TABLE t (a int)",))
    templates, admin = lane._templates, lane._admin
    name = templates.get(database).name
    admin.execute(f"DROP DATABASE {name}")
    assert templates.get(database).name == name  # as long as nothing has happened, it is taken as known
    admin._forget()
    assert templates.get(database).name == name
    assert admin.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'")


def test_a_fault_leaves_no_half_loaded_database(lane: PostgresLane, address: ServerAddress) -> None:
    database = make(("CREATE TABLE t (a int)", "nonsense"))
    engine = PostgresEngine(address)
    for candidate in (lane, engine.lane("other")):
        with pytest.raises(DatabaseLoadError):
            candidate.play(Play("reference", ("SELECT 1",), (), database))
    engine.close()
    query = "SELECT count(*) FROM pg_database WHERE datname LIKE '%\\_n\\_%'"
    assert ask(lane, None, query) == [("0",)]


def test_data_is_loaded_once_a_run(engine: PostgresEngine, address: ServerAddress) -> None:
    loads = []

    def rows() -> Iterator[tuple[str | None, ...]]:
        loads.append(1)
        return iter([("1", "x")])

    plain = make(("CREATE TABLE t (a int, b text)",), [])
    database = Database(
        name="once",
        dialect="postgres",
        schemas=plain.schemas,
        before=plain.before,
        data=(TableData("public", "t", ("a", "b"), rows, Source("x", 1)),),
        after=(),
        fingerprint="0ce" * 21 + "0",
    )
    other = PostgresEngine(address)
    for lane in (engine.lane("first"), other.lane("second")):
        assert ask(lane, database, "SELECT b FROM t") == [("x",)]
        lane.close()
    other.close()
    assert loads == [1]


def test_the_work_schema_never_takes_the_name_of_one_of_the_data(lane: PostgresLane) -> None:
    database = make(("CREATE SCHEMA work", "CREATE TABLE t (a int, b text)"), [("1", "x")], schemas=("work",))
    assert ask(lane, database, "CREATE TABLE t (mine int); SELECT count(*) FROM work.t") == [("1",)]
    assert ask(lane, database, "SELECT current_schemas(false)") == [("{work_,work,public}",)]


def test_plans_know_the_data(lane: PostgresLane) -> None:
    database = make(("CREATE TABLE t (a int, b text)",), [(str(number), "x") for number in range(500)])
    assert ask(lane, database, "SELECT reltuples FROM pg_class WHERE relname = 't'") == [("500",)]
