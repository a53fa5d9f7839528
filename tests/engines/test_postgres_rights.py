"""What a graded program may not do, whatever it tries; and what it needs and has."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.protocol import Limits, Played
from pytest_plsqlbench.servers.embedded import EmbeddedServer

Player = Callable[..., Played]

FORBIDDEN = {
    "become the administrator": "SET ROLE plsqlbench",
    "change the session's user": "SET SESSION AUTHORIZATION plsqlbench",
    "become the owner": "DO $$ BEGIN EXECUTE 'SET ROLE ' || (SELECT rolname FROM pg_roles"
    " WHERE rolname LIKE '%owner' LIMIT 1); END $$",
    "become the other side": "DO $$ BEGIN EXECUTE 'SET ROLE ' || (SELECT rolname FROM pg_roles"
    " WHERE rolname = replace(session_user, '_c', '_r')); END $$",
    "make a role": "CREATE ROLE mine SUPERUSER",
    "promote itself": "ALTER ROLE CURRENT_USER SUPERUSER",
    "make a database": "CREATE DATABASE mine",
    "read a file": "SELECT pg_read_file('/etc/passwd')",
    "read by copy": "COPY log(message) FROM '/etc/passwd'",
    "run a command": "COPY log(message) FROM PROGRAM 'id'",
    "write a file": "COPY items TO '/tmp/plsqlbench-attack'",
    "list a folder": "SELECT pg_ls_dir('/')",
    "load a library": "LOAD '/lib/x86_64-linux-gnu/libc.so.6'",
    "a C function": "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'getpid'",
    "an internal function": "CREATE FUNCTION f(text) RETURNS text LANGUAGE internal AS 'pg_read_file'",
    "an untrusted extension": "CREATE EXTENSION dblink",
    "a foreign server": "CREATE EXTENSION postgres_fdw",
    "a file server": "CREATE EXTENSION file_fdw",
    "drop the data": "DROP TABLE items CASCADE",
    "alter the data": "ALTER TABLE items DROP COLUMN price",
    "own the data": "ALTER TABLE items OWNER TO CURRENT_USER",
    "a rule on the data": "CREATE RULE r AS ON INSERT TO items DO INSTEAD NOTHING",
    "a policy on the data": "CREATE POLICY p ON items USING (false)",
    "an index on the data": "CREATE INDEX ON items (name)",
    "replace a view": "CREATE OR REPLACE VIEW shop.cheap AS SELECT 1",
    "drop the schema": "DROP SCHEMA shop CASCADE",
    "write the catalog": "UPDATE pg_catalog.pg_class SET relname = 'x'",
    "system functions": "CREATE FUNCTION pg_catalog.f() RETURNS int LANGUAGE sql RETURN 1",
    "an event trigger": "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION work.nothing()",
    "cancel others": "SELECT pg_cancel_backend(pid) FROM pg_stat_activity",
    "terminate others": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "reload": "SELECT pg_reload_conf()",
    "configure the server": "ALTER SYSTEM SET work_mem = '1GB'",
    "settings of the database": "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database())"
    " || ' SET work_mem = ''1GB'''; END $$",
    "raise its limit of files": "SET temp_file_limit = -1",
    "silence triggers": "SET session_replication_role = 'replica'",
    "turn counters off": "SET track_counts = off",
    "a message past the rollback": "SELECT pg_logical_emit_message(false, 'x', 'y')",
    "a replication slot": "SELECT pg_create_physical_replication_slot('x')",
    "large objects": "SELECT lo_create(0)",
    "read secrets": "SELECT rolpassword FROM pg_authid",
    "others' queries": "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE usename <> session_user"
    " AND query NOT IN ('<insufficient privilege>', '')) THEN RAISE NOTICE 'seen';"
    " ELSE RAISE insufficient_privilege; END IF; END $$",
}


def check(*calls: str) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison("lines"),))


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("inside", [False, True], ids=["script", "definer"])
def test_a_program_is_refused_what_is_not_its_own(play: Player, name: str, inside: bool) -> None:
    text = FORBIDDEN[name]
    if inside:  # a function that runs with its owner's rights has none but the program's
        quoted = text.replace("'", "''")
        text = (
            "CREATE FUNCTION wrap() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $w$ BEGIN"
            f" EXECUTE '{quoted}'; END $w$; SELECT wrap()"
        )
    played = play(text, tests=(check("SELECT 1"),), limits=Limits(time=20))
    (shown,) = played.programs
    assert shown.error is not None, shown
    assert shown.error.code in {"25001", "42501", "42710", "0A000", "42704", "58P01", "42883"}, shown.error
    assert "seen" not in shown.lines


def test_a_program_has_what_it_needs(play: Player) -> None:
    program = """
      CREATE SCHEMA mine;
      CREATE TYPE mood AS ENUM ('ok', 'bad');
      CREATE DOMAIN small AS int CHECK (VALUE < 10);
      CREATE TABLE mine.notes (id serial PRIMARY KEY, item int REFERENCES items, m mood, s small);
      CREATE INDEX ON mine.notes (item);
      CREATE TEMP TABLE scratch AS SELECT * FROM items;
      CREATE VIEW dear AS SELECT * FROM items WHERE price > 2;
      CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM orders;
      CREATE SEQUENCE ticket;
      CREATE FUNCTION shop.note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO log(message) VALUES (NEW.name); RETURN NEW; END $$;
      CREATE TRIGGER noting AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION shop.note();
      CREATE EXTENSION pg_trgm SCHEMA mine;
      INSERT INTO items(name) VALUES ('new');
      INSERT INTO mine.notes(item, m, s) SELECT id, 'ok', 1 FROM items;
      UPDATE orders SET quantity = quantity + 1;
      DELETE FROM orders WHERE id = 1;
      TRUNCATE log;
      LOCK TABLE orders;
      SELECT * FROM items FOR UPDATE;
      REFRESH MATERIALIZED VIEW counted;
    """
    played = play(
        program.replace("LOCK TABLE orders;", ""), tests=(check("SELECT count(*) FROM mine.notes"),)
    )
    assert played.programs[0].error is None
    assert played.tests[0].calls[0].results[0].rows == ((("int", "4"),),)


def test_a_cast_hidden_in_a_foreign_key_runs_without_the_owners_rights(play: Player) -> None:
    # foreign keys are checked with the rights of the table's owner: that is never the administrator
    program = """
      CREATE TYPE sly AS (i int);
      CREATE FUNCTION as_int(sly) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
        RAISE NOTICE 'as %, superuser %', current_user NOT IN (session_user),
          (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
        RETURN ($1).i; END $$;
      CREATE CAST (sly AS int) WITH FUNCTION as_int(sly) AS IMPLICIT;
      CREATE TABLE sneaky (item sly REFERENCES items (id));
      INSERT INTO sneaky VALUES (ROW(1)::sly);
    """
    (shown,) = play(program).programs
    assert not any("superuser t" in line for line in shown.lines), shown


def test_lanes_cannot_reach_each_other_or_the_administration(play: Player, server: EmbeddedServer) -> None:
    query = "SELECT datname FROM pg_database WHERE has_database_privilege(oid, 'CONNECT') AND datallowconn"
    reached = play(tests=(check(query),)).tests[0].calls[0].results[0].rows
    own = play(tests=(check("SELECT current_database()"),)).tests[0].calls[0].results[0].rows
    worker = str(own[0][0]).rsplit("_", 1)[0]  # a lane's databases share its worker's name
    assert own[0] in reached
    assert all(str(row[0]).startswith(worker) for row in reached)
    with psycopg.connect(server.address.conninfo) as connection:
        rows = connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname ~ 'plsqlbench_.*_[cr]$' AND"
            " (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
            " OR rolconnlimit < 0)"
        ).fetchall()
    assert rows == []


def test_settings_that_a_committed_program_left_to_its_role_do_not_last(play: Player) -> None:
    program = "ALTER ROLE CURRENT_USER SET work_mem = '77MB'; COMMIT"
    assert play(program, tests=(check("SELECT 1"),)).flags == ("isolated_copy",)
    call = play("SELECT 1", tests=(check("COMMIT; SHOW work_mem"),)).tests[0].calls[0]
    assert call.results[0].rows == ((("text", "4MB"),),)
