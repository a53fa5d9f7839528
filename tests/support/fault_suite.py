"""A suite of turns of all kinds, small and fast, on which faults are tried.

Every kind of turn has something that a fault could turn into another verdict: rows, a sequence, what earlier
turns of a conversation left, a transaction that ends, a program that fails, one that takes its time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SHOP = """CREATE TABLE items (id serial PRIMARY KEY, name text NOT NULL, stock integer NOT NULL);
INSERT INTO items (name, stock) VALUES ('pen', 5), ('ink', 7), ('nib', 11);
CREATE TABLE moves (id serial PRIMARY KEY, item integer REFERENCES items (id), quantity integer);
"""
_FUNCTION = "CREATE FUNCTION {name}(n integer) RETURNS {kind} LANGUAGE plpgsql AS $$ BEGIN {body} END $$;\n"


def _function(name: str, body: str, kind: str = "integer") -> str:
    return _FUNCTION.format(name=name, kind=kind, body=body)


def _single(
    number: int, kind: str, reference: str, calls: list[str], compare: Any, **more: Any
) -> dict[str, Any]:
    tests = [
        {"name": f"call {at}", "call": call, "compare": compare, **more} for at, call in enumerate(calls)
    ]
    return {"prompt": f"Write f{number}.", "reference": reference, "tests": tests}


def _task(number: int) -> tuple[dict[str, Any], list[str]]:
    """The task of a number, and a program for each of its turns: right ones and wrong ones."""
    kind = number % 8
    name = f"f{number}"
    call = [f"SELECT {name}(2);", f"SELECT {name}(3);"]
    on_shop = False
    if kind == 0:  # right
        right = _function(name, "RAISE NOTICE 'got %', n; RETURN n * 2;")
        turns = [_single(number, "right", right, call, ["lines", "value"])]
        programs = [right]
    elif kind == 1:  # wrong
        right = _function(name, "RETURN n * 2;")
        turns = [_single(number, "wrong", right, call, "value")]
        programs = [_function(name, "RETURN n + 2;")]
    elif kind == 2:  # rows and a sequence
        on_shop = True
        body = "INSERT INTO moves (item, quantity) VALUES (1, n) RETURNING id INTO n; RETURN n;"
        turns = [_single(number, "rows", _function(name, body), call, ["value", "state"])]
        programs = [_function(name, body)]
    elif kind == 3:  # rows, wrong in the second call only
        on_shop = True
        body = "UPDATE items SET stock = stock - {} WHERE id = n; RETURN n;"
        turns = [_single(number, "rows", _function(name, body.format("n")), call, ["value", "state"])]
        programs = [_function(name, body.format("2"))]
    elif kind == 4:  # takes its time, and is right
        body = "PERFORM pg_sleep(0.03 * n); RETURN n;"
        turns = [_single(number, "slow", _function(name, body), call, "value")]
        programs = [_function(name, body)]
    elif kind == 5:  # ends transactions
        on_shop = True
        body = (
            f"CREATE PROCEDURE {name}(n integer) LANGUAGE plpgsql AS $$ BEGIN"
            " INSERT INTO moves (item, quantity) VALUES (2, n); COMMIT; END $$;\n"
        )
        turns = [_single(number, "commit", body, [f"CALL {name}(2);"], "state")]
        programs = [body]
    elif kind == 6:  # fails at run time, as the reference does not
        right = _function(name, "RETURN 10 / n;")
        turns = [_single(number, "error", right, [*call, f"SELECT {name}(1);"], "value")]
        programs = [_function(name, "IF n = 3 THEN RAISE EXCEPTION 'no threes'; END IF; RETURN 10 / n;")]
    else:  # a conversation
        on_shop = True
        turns, programs = _talk(number, name)
    variant: dict[str, Any] = {"turns": turns} if len(turns) > 1 else turns[0]
    task = {"id": f"fault-{number}", "subset": "faults", "variants": {"postgres": variant}}
    if on_shop:
        task["database"] = "faultshop"
    return task, programs


def _talk(number: int, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    first = _function(f"{name}_stock", "RETURN (SELECT stock FROM items WHERE id = n);")
    second = _function(name, f"RETURN {name}_stock(n) + {name}_stock(n - 1);")
    third = first.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION").replace(
        "stock FROM", "-stock FROM"
    )
    wrong = third.replace("-stock", "1 - stock")
    turns = [
        _single(number, "talk", first, [f"SELECT {name}_stock(2);"], "value"),
        _single(number, "talk", second, [f"SELECT {name}(2);"], "value"),
        _single(number, "talk", third, [f"SELECT {name}(3);"], "value"),
    ]
    return turns, [first, second, wrong if number % 16 == 7 else third]


def write_suite(folder: Path, turns: int) -> Path:
    """Write tasks, their database and predictions into a folder.

    Args:
        folder: may not exist yet.
        turns: at least so many.

    Returns:
        The file of predictions.
    """
    (folder / "tasks").mkdir(parents=True)
    (folder / "fixtures").mkdir()
    (folder / "fixtures" / "faultshop.postgres.sql").write_text(SHOP)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tasks\n")
    predictions = folder / "out.jsonl"
    count = number = 0
    with (folder / "tasks" / "faults.jsonl").open("w") as tasks, predictions.open("w") as rows:
        while count < turns:
            task, programs = _task(number)
            tasks.write(json.dumps(task) + "\n")
            for index, program in enumerate(programs, 1):
                talk = {"conversation_id": task["id"], "turn_index": index}
                which = talk if len(programs) > 1 else {"instance_id": task["id"]}
                rows.write(json.dumps({**which, "generated_plsql": program}) + "\n")
            count += len(programs)
            number += 1
    return predictions
