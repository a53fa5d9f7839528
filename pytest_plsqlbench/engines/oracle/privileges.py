"""docs/oracle-privileges.md: all that the administrating session does, for the DBA who has to agree to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.gate import WAIT_SECONDS
from pytest_plsqlbench.engines.oracle.names import CONTROL, keep_name, user_name
from pytest_plsqlbench.engines.oracle.pins import PINS, pin_block

RUN, WORKER, OWNER, SPACE = "r1", "gw0", "SHOP", "USERS"
"""Names in the examples: a run, a worker, a data owner, a tablespace."""
CANDIDATE = user_name(RUN, WORKER, "C", 1)
REFERENCE = user_name(RUN, WORKER, "R", 1)
PROXY = user_name(RUN, WORKER, "P", 1)
TABLE = sql.DataObject(OWNER, "ORDERS", "TABLE")
DOCTOR = sql.DataObject(CONTROL, sql.DOCTOR_TABLE, "TABLE")
KINDS_OF_GRANT: tuple[Literal["read", "write"], ...] = ("read", "write")


@dataclass(frozen=True, slots=True)
class Section:
    """A step of the engine, with every form of statement that it sends."""

    title: str
    why: str
    statements: tuple[str, ...]


def sections() -> list[Section]:
    """All steps in the order of a run."""
    every = [TABLE]
    code = [sql.DataObject(OWNER, "PRICE_OF", "FUNCTION"), sql.DataObject(OWNER, "MONEY", "TYPE")]
    every += [sql.DataObject(OWNER, "ORDER_IDS", "SEQUENCE"), *code]
    grants = [
        text
        for undo in (False, True)
        for by_schema in (True, False)
        for what in KINDS_OF_GRANT
        for text in sql.data_grants(CANDIDATE, every, what, by_schema=by_schema, undo=undo)
    ]
    steps: list[tuple[str, str, list[str]]] = [
        (
            "Once a server: register and limits",
            """The user PLSQLBENCH owns the list of loaded data and one small table a data owner, whose
            lock keeps a program that writes apart from the others. The profile is a backstop for
            sessions whose client has died; where it cannot be created the engine works without it.""",
            [
                *sql.create_control(SPACE),
                sql.create_gate(OWNER),
                sql.lock_gate(OWNER, alone=False, seconds=WAIT_SECONDS),
                sql.lock_gate(OWNER, alone=True, seconds=WAIT_SECONDS),
                sql.REGISTER_REMOVE,
                sql.REGISTER_ENTER,
                sql.REGISTER_STATE,
                sql.create_profile(),
                sql.enforce_profiles(),
            ],
        ),
        (
            "After every login and before every test: session settings",
            """Alike for both sides; the report header names those that a server refuses.""",
            [pin_block(frozenset(name for name, _ in PINS), CANDIDATE)],
        ),
        (
            "Once a worker: three users",
            """Candidate and reference have a user each, without password; a third user with a random
            password can only log in for them. They have three rights and no role.""",
            [
                *sql.create_proxy(PROXY, "***"),
                *sql.create_graded(CANDIDATE, PROXY, profile=True),
                *sql.create_graded(REFERENCE, PROXY, profile=False),
            ],
        ),
        (
            "Rights that a play may need, taken back after it",
            """Only where the text that is played creates tables, views, sequences, triggers,
            materialized views or synonyms.""",
            [
                sql.grant_rights(CANDIDATE, sql.NEEDED_RIGHTS),
                sql.set_quota(CANDIDATE, SPACE, sql.QUOTA_MB),
                sql.set_quota(CANDIDATE, SPACE, 0),
                sql.revoke_rights(CANDIDATE, sql.NEEDED_RIGHTS),
            ],
        ),
        (
            "Data owners",
            """One user a schema of the benchmark, under the name that the tasks use, since their
            programs say SCHEMA.TABLE. It cannot log in. A user of that name that the register does
            not list is never touched. The statements of the database itself (CREATE TABLE, INSERT)
            come from the data's files.""",
            [
                *sql.create_data_owner(OWNER, SPACE),
                *sql.gather_statistics(OWNER),
                sql.drop_user(OWNER),
                sql.drop_gate(OWNER),
            ],
        ),
        (
            "Rights on data",
            """For reading; and, for plays whose text may change rows, for writing, while no other play
            uses the data. One statement a schema on 23ai, one an object before it.""",
            [*grants, sql.create_synonym(CANDIDATE, TABLE)],
        ),
        (
            "Restoring what a program wrote",
            """From copies that are made before the first program that may write, owned by a user of
            their own.""",
            [
                *sql.create_data_owner(keep_name(OWNER), SPACE),
                sql.keep_table(OWNER, "ORDERS"),
                sql.keep_sequences(OWNER),
                sql.switch_constraint(OWNER, "ORDERS", "ORDERS_CUSTOMER_FK", on=False),
                sql.switch_triggers(OWNER, "ORDERS", on=False),
                *sql.restore_table(OWNER, "ORDERS", ["ID", "TOTAL"]),
                sql.switch_triggers(OWNER, "ORDERS", on=True),
                sql.switch_constraint(OWNER, "ORDERS", "ORDERS_CUSTOMER_FK", on=True),
                sql.restart_sequence(OWNER, "ORDER_IDS", 1),
                sql.drop_user(keep_name(OWNER)),
            ],
        ),
        (
            "After each program: cleaning up",
            """Objects are dropped one by one by the administrating session; what cannot be dropped costs
            the user its life. A session that does not end in time is killed.""",
            [
                *(sql.drop_object(CANDIDATE, kind, "X") for kind in sql.DROPS),
                *(sql.compile_object(CANDIDATE, kind, "X") for kind in sorted(sql.COMPILED_TYPES)),
                sql.forget_password(CANDIDATE),
                sql.kill_session(42, 4711),
                sql.drop_user(CANDIDATE),
                sql.drop_user(PROXY),
            ],
        ),
        (
            "plsqlbench doctor",
            """On a table of its own, which it drops again; it plays as one graded user.""",
            [
                sql.DOCTOR_CREATE,
                *sql.DOCTOR_CHANGES,
                *dict.fromkeys(sql.DOCTOR_LOCKS),
                *sql.data_grants(CANDIDATE, [DOCTOR], "read", by_schema=False),
                sql.create_synonym(CANDIDATE, DOCTOR),
                sql.DOCTOR_DROP,
            ],
        ),
    ]
    return [Section(title, " ".join(why.split()), tuple(texts)) for title, why, texts in steps]


def _ended(text: str) -> str:
    return f"{text}\n/" if text.endswith("END;") else f"{text};"


def golden_sql() -> str:
    """All statements as one reviewable script (``***`` stands for a password)."""
    blocks = []
    for section in sections():
        blocks.append(f"-- {section.title}")
        blocks += map(_ended, section.statements)
        blocks.append("")
    return "\n".join(blocks)


def markdown() -> str:
    """The page for DBAs."""
    lines = [
        "# What the Oracle engine does on a server",
        "",
        "Generated from `pytest_plsqlbench/engines/oracle/provisioning.py`; a test keeps it current.",
        f"Names in the examples: run `{RUN}`, worker `{WORKER}`, data owner `{OWNER}`, tablespace `{SPACE}`.",
        "",
        "## The administrating account",
        "",
        "SYSTEM in a container, ADMIN on Autonomous Database, or any account with these system privileges:",
        "",
        ", ".join(f"`{right}`" for right in sql.ADMIN_RIGHTS) + ".",
        "",
        "It must be able to read " + ", ".join(f"`{view}`" for view in sql.ADMIN_VIEWS) + ". Optional:",
        "`V$SESSTAT` and `V$STATNAME` (measured work), `CREATE PROFILE` (limits). `GRANT ANY SCHEMA",
        "PRIVILEGE` is used where the server has it.",
        "",
    ]
    for section in sections():
        lines += [f"## {section.title}", "", section.why, "", "```sql"]
        lines += [*map(_ended, section.statements), "```", ""]
    return "\n".join(lines)
