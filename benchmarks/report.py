"""How large a report of 4,000 turns and two models is, how long it takes to write, and to open.

    python benchmarks/report.py [--turns N] [--models N] [--keep FILE]

Programs are put together from words and numbers that vary from turn to turn, and are longer than published
ones (of ten published Spider and Spider2 answers the mean is 540 characters, of 133 model answers 830): packed
they take as much room as those.
"""

# ruff: noqa: E501, PLC0415, SIM905 (templates of program text; a browser driver that not everybody has)
from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_plsqlbench.bench.blame import Blame
from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.bench.result import EngineInfo, ReferenceFacts, TestResult, TurnResult
from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.reporting.page.render import write_report
from pytest_plsqlbench.reporting.page.source import read_run
from pytest_plsqlbench.reporting.store import encode_results
from pytest_plsqlbench.reporting.texts import TurnText, encode_texts

WORDS = (
    "account amount archive balance batch branch budget carrier category claim client contract cost credit"
    " customer delivery deposit discount district employee event expense fee flight freight grade holiday"
    " hotel invoice item journal ledger lesson loan machine manager margin member module month order parcel"
    " payment payroll period player plan policy premium price product profile project quarter quota rate"
    " receipt record region rental report request reserve review route salary sample schedule score season"
    " service session shift shipment stock store student supplier task tax team ticket token trade transfer"
    " trip unit vehicle vendor visit volume voucher wallet warehouse week weight"
).split()
KINDS = (
    ("wrong_result", "output_mismatch", 70),
    ("wrong_result", "runtime_error", 9),
    ("invalid_program", "syntax_error", 8),
    ("invalid_program", "invalid_object", 5),
    ("interface", "unknown_column", 4),
    ("interface", "missing_entry_point", 3),
    ("limit", "time_limit", 1),
)
REASONING = ("aggregation", "cursor logic", "exception handling", "joins", "state", "string handling")
CONSTRUCTS = ("procedure", "function", "cursor_for_loop", "select_into", "exception_handling", "conditional",
              "dynamic_sql", "collection", "loop", "raise", "record", "update", "insert")  # fmt: skip


def names(dice: random.Random, count: int) -> list[str]:
    return [f"{dice.choice(WORDS)}_{dice.choice(WORDS)}" for _ in range(count)]


LOOPS = {"spider": 0, "mbpp": 1}
"""Loops in the programs of a subset; others have four."""


def program(dice: random.Random, entry: str, subset: str) -> str:
    """PL/SQL of 300 to 3,000 characters."""
    loops = LOOPS.get(subset, 4)
    table, column, other, *locals_ = names(dice, 5 + loops)
    lines = [
        f"CREATE OR REPLACE PROCEDURE {entry}(p_{column} IN NUMBER, p_limit IN NUMBER DEFAULT {dice.randint(2, 900)}) AS"
    ]
    lines += [
        f"  v_{name} {dice.choice(['NUMBER', 'VARCHAR2(200)', 'DATE', f'{table}.{column}%TYPE'])};"
        for name in locals_
    ]
    lines.append("BEGIN")
    for name in locals_[: loops or 1]:
        lines += [
            f"  -- {dice.choice(WORDS)} of each {dice.choice(WORDS)}",
            f"  SELECT COUNT(DISTINCT t.{name}), NVL(SUM(t.{other}), {dice.randint(0, 9)}) INTO v_{name}, v_{dice.choice(locals_)}",
            f"    FROM {table} t WHERE t.{column} = p_{column} AND t.{dice.choice(WORDS)}_id > {dice.randint(10, 99999)};",
        ]
    for name in locals_[2 : 2 + loops]:
        lines += [
            f"  FOR r IN (SELECT {name}, {other} FROM {dice.choice(WORDS)}s WHERE {column} < {dice.random():.3f} ORDER BY {name}) LOOP",
            f"    IF r.{other} > {dice.randint(1, 5000)} THEN",
            f"      v_{name} := v_{name} + r.{other} * {dice.random():.4f};",
            f"      DBMS_OUTPUT.PUT_LINE('{dice.choice(WORDS)} ' || r.{name} || ': ' || TO_CHAR(v_{name}, 'FM9990.00'));",
            "    ELSE",
            f"      UPDATE {table} SET {other} = {other} - {dice.randint(1, 50)} WHERE {column} = r.{name};",
            "    END IF;",
            "  END LOOP;",
        ]
    lines += [
        "EXCEPTION",
        "  WHEN NO_DATA_FOUND THEN",
        f"    DBMS_OUTPUT.PUT_LINE('no {dice.choice(WORDS)}');",
        "  WHEN OTHERS THEN",
        f"    RAISE_APPLICATION_ERROR(-20{dice.randint(100, 999)}, SQLERRM);",
        f"END {entry};",
        "/",
    ]
    return "\n".join(lines) + "\n"


def prompt(dice: random.Random, entry: str) -> str:
    sentences = [
        f"For each {dice.choice(WORDS)}, report the {dice.choice(WORDS)} of its {dice.choice(WORDS)} in the last"
        f" {dice.randint(2, 36)} {dice.choice(['days', 'weeks', 'months'])}, leaving out every {dice.choice(WORDS)} whose"
        f" {dice.choice(WORDS)} is below {dice.randint(1, 900)}."
        for _ in range(5)
    ]
    return f"Write a procedure {entry} that takes a {dice.choice(WORDS)} number.\n\n" + " ".join(sentences)


def test(dice: random.Random, number: int, *, passes: bool) -> TestResult:
    elapsed, reference = round(dice.lognormvariate(1, 0.8), 3), round(dice.lognormvariate(1, 0.5), 3)
    common = {"name": f"case {number}", "elapsed_ms": elapsed, "reference_ms": reference}
    if passes:
        return TestResult(verdict="passed", **common)  # type: ignore[arg-type]
    category, subcategory, _ = dice.choices(KINDS, [weight for *_, weight in KINDS])[0]
    total = dice.random() * 1000
    return TestResult(
        verdict="failed",
        category=category,
        subcategory=subcategory,
        expected=f"line 3: {dice.choice(WORDS)}: {total:.2f}",
        actual=f"line 3: {dice.choice(WORDS)}: {total * dice.random():.2f}",
        normalized="passed" if dice.random() < 0.03 else None,
        **common,  # type: ignore[arg-type]
    )


def layout(turns: int) -> list[tuple[str, str, int, int]]:
    """Subset, task, turn, turns: shares as those of PLSQLBench."""
    rows = []
    for subset, share in (("mbpp", 0.226), ("spider", 0.272), ("spider2_st", 0.27)):
        rows += [(subset, f"{subset}_{number:04}", 1, 1) for number in range(int(share * turns))]
    talk = 0
    while len(rows) < turns:
        length = max(2, min(3 + talk % 3, turns - len(rows)))
        rows += [
            ("spider2_mt", f"plsql-multiturn-{talk:04}", place, length) for place in range(1, length + 1)
        ]
        talk += 1
    return rows


def write_run(folder: Path, model: str, skill: float, turns: int) -> None:
    """A report folder as a run leaves it."""
    results, texts = [], []
    for subset, task, turn, length in layout(turns):
        shared = random.Random(f"{task}/{turn}")  # what both models have in common
        dice = random.Random(f"{task}/{turn}/{model}")
        entry = "_".join(names(shared, 1))
        hardness, cyclomatic, total = shared.random(), shared.randint(1, 30), shared.randint(1, 9)
        database = f"db_{shared.randint(1, 40)}" if subset != "mbpp" else None
        reference, question = program(shared, entry, subset), prompt(shared, entry)
        missing = dice.random() < 0.01
        solved = dice.random() < skill + 0.25 - hardness * 0.5
        failing = 0 if solved else dice.randint(1, total)
        tests = (
            [] if missing else [test(dice, place, passes=place > failing) for place in range(1, total + 1)]
        )
        broken = bool(failing and tests) and tests[0].category == "invalid_program"
        results.append(
            TurnResult(
                task=task, subset=subset, dialect="oracle", conversation=length > 1, turn=turn, turns=length,
                turn_id=f"{task}_q{turn:02}" if length > 1 else task, model=None if missing else model,
                status="missing" if missing else "graded", passed=0 if missing else total - failing, total=total,
                solved=not missing and not failing, tests=tuple(tests), engine=EngineInfo("oracle", "23.9", "container"),
                diagnostics=(Diagnostic(code="PLS-00103", message=f'Encountered the symbol "{dice.choice(WORDS)}"', line=dice.randint(2, 20), column=5),) if broken and not missing else (),
                comparator="published/1", reason="no prediction" if missing else None,
                reference=ReferenceFacts(shared.randint(2, 60), cyclomatic, tuple(shared.sample(CONSTRUCTS, 4))),
                database=database, difficulty=shared.choice(["easy", "medium", "hard"]),
                reasoning_types=tuple(shared.sample(REASONING, 2)),
                blame=Blame(failure="own" if dice.random() < 0.7 else "inherited", passed=0, elapsed_ms=4) if failing and tests and turn > 1 else None,
            )
        )  # fmt: skip
        key = key_of(results[-1])
        texts.append(
            TurnText(
                subset=key.subset, task=key.task, dialect=key.dialect, turn=key.turn, prompt=question,
                program=None if missing else program(dice, entry, subset), reference=reference,
                calls=tuple(f"SET SERVEROUTPUT ON;\nEXEC {entry}({shared.randint(1, 9999)}, {shared.randint(1, 99)});" for _ in range(total)),
            )
        )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.jsonl").write_bytes(encode_results(results))
    (folder / "turns.jsonl").write_bytes(encode_texts(texts))


def open_in_browser(page: Path, chromium: str) -> dict[str, float]:
    """Milliseconds until the page can be used, and until a turn is open."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        ready = float(tab.locator("html").get_attribute("data-ready") or "nan")
        started = time.perf_counter()
        tab.locator("#list .row").nth(3).click()
        tab.wait_for_selector(".detail .code")
        opened = (time.perf_counter() - started) * 1000
        started = time.perf_counter()
        tab.fill("[name=q]", "warehouse")
        tab.wait_for_function("document.getElementById('count').textContent.includes(' of ')")
        searched = (time.perf_counter() - started) * 1000
        browser.close()
    return {"ready_ms": round(ready), "open_turn_ms": round(opened), "search_ms": round(searched)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=4000)
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="write the page here, too")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folders = [Path(temporary) / f"run{number}" for number in range(options.models)]
        for number, folder in enumerate(folders):
            write_run(folder, f"model-{chr(97 + number)}", 0.62 - 0.04 * number, options.turns)
        kept = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
        started = time.perf_counter()
        runs = [read_run(folder) for folder in folders]
        read = time.perf_counter() - started
        page = options.keep or Path(temporary) / "report.html"
        size = write_report(page, runs)
        figures: dict[str, float] = {
            "turns": options.turns,
            "models": options.models,
            "input_mb": round(kept / 1e6, 1),
            "page_mb": round(size / 1e6, 2),
            "read_s": round(read, 2),
            "read_and_render_s": round(time.perf_counter() - started, 2),
        }
        if Path(options.chromium).exists():
            figures |= open_in_browser(page, options.chromium)
    json.dump(figures, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
