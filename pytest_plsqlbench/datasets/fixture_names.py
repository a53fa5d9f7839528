"""Names in described databases: usable without quotes in both dialects."""

from __future__ import annotations

import re

from pytest_plsqlbench.datasets.validation import Fault, KeyPath

_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}\Z")

_RESERVED = """
access add all alter analyse analyze and any array as asc asymmetric audit authorization between
binary both by case cast char check cluster collate collation column column_value comment compress
concurrently connect constraint create cross current current_catalog current_date current_role
current_schema current_time current_timestamp current_user date decimal default deferrable delete
desc distinct do drop else end except exclusive exists false fetch file float for foreign freeze
from full grant group having identified ilike immediate in increment index initial initially inner
insert integer intersect into is isnull join lateral leading left level like limit localtime
localtimestamp lock long maxextents minus mlslabel mode modify natural nested_table_id noaudit
nocompress not notnull nowait null number of offline offset on online only option or order outer
overlaps pctfree placing primary prior public raw references rename resource returning revoke right
row rowid rownum rows select session session_user set share similar size smallint some start
successful symmetric synonym sysdate table tablesample then to trailing trigger true uid union
unique update user using validate values varchar varchar2 variadic verbose view when whenever where
window with
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that one of the dialects reserves.

Oracle SQL Language Reference, "Oracle SQL Reserved Words"; PostgreSQL manual, appendix C, reserved key words.
"""

_SCHEMAS_OF_SERVERS = frozenset({"public", "information_schema", "sys", "system", "sysaux", "audsys", "xdb"})


def check_name(name: str, keys: KeyPath) -> str:
    """The name of a table, column or sequence.

    Raises:
        Fault: it would have to be quoted in one of the dialects, or is too long for old Oracle releases.
    """
    if not _NAME.match(name):
        raise Fault(keys, f"{name!r} must be lower-case letters, digits and '_', at most 30, a letter first")
    if name in RESERVED:
        raise Fault(keys, f"{name!r} is a reserved word of PostgreSQL or Oracle: choose another name")
    return name


def check_database_name(name: str) -> str:
    """The name of a database, which becomes a schema.

    Raises:
        Fault: it is no good schema name.
    """
    check_name(name, ())
    if name in _SCHEMAS_OF_SERVERS or name.startswith("pg_"):
        raise Fault((), f"{name!r} is the name of a schema of the server's own: choose another name")
    return name


class Names:
    """Names of constraints and indexes, unique in a schema."""

    LONGEST = 60
    """Characters; PostgreSQL allows 63, Oracle 128 since 12.2."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)

    def new(self, *parts: str) -> str:
        """A free name made of the parts."""
        base = "_".join(parts)[: self.LONGEST - 3]
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name
