"""How assumptions about names, comparisons and texts of PL/SQL are tried on a server; see ``checks``."""

from __future__ import annotations

from pytest_plsqlbench.engines.oracle.bench import Bench
from pytest_plsqlbench.engines.oracle.checks import Finding


def shadowing(bench: Bench) -> Finding:
    """A package named SYS may catch our next call, but cannot make it do nothing."""
    bench.ready()
    print_one = "BEGIN SYS.DBMS_OUTPUT.PUT_LINE('1'); END;\n/\n"
    seen = bench.play(f"CREATE PACKAGE sys IS n NUMBER; END;\n/\n{print_one}")
    made = any(found.name == "SYS" for found in bench.account.own_objects().values())
    bench.end()
    name = bench.account.name
    bench.account.clean()
    kept = bench.account.exists and bench.account.name == name
    loud = seen.error is not None or seen.lines == ("1",)
    code = seen.error.code if seen.error else "no error"
    return Finding(loud and made and kept, f"{code}, printed {seen.lines}; seen: {made}, dropped: {kept}")


def collections(bench: Bench) -> Finding:
    """Nested tables compare into a BOOLEAN, without regard to order, and NULL where one of them is NULL."""
    bench.ready()
    seen = bench.play(
        "DECLARE TYPE t IS TABLE OF NUMBER; a t := t(1, 2); b t := t(2, 1); c t := t(1, 3); d t;"
        " PROCEDURE show(differ BOOLEAN) IS BEGIN DBMS_OUTPUT.PUT_LINE("
        "CASE WHEN differ THEN 'differ' WHEN NOT differ THEN 'alike' ELSE 'null' END); END;"
        " PROCEDURE compare(x t, y t) IS BEGIN"
        " DECLARE differ BOOLEAN := x != y; BEGIN show(differ); END; END;"
        " BEGIN compare(a, b); compare(a, c); compare(a, d); END;\n/"
    )
    right = seen.lines == ("alike", "differ", "null")
    return Finding(right, f"{seen.error.code if seen.error else 'no error'}, printed {seen.lines}")


def empty_clobs(bench: Bench) -> Finding:
    """NOT LIKE '_%' tells CLOBs of no characters from others."""
    bench.ready()
    seen = bench.play(
        "DECLARE PROCEDURE show(c CLOB) IS BEGIN IF c IS NULL OR c NOT LIKE '_%' THEN"
        " DBMS_OUTPUT.PUT_LINE('empty'); ELSE DBMS_OUTPUT.PUT_LINE('full'); END IF; END;"
        " BEGIN show(NULL); show(EMPTY_CLOB()); show(TO_CLOB('')); show(TO_CLOB(' ')); show(TO_CLOB('a'));"
        " show(TO_CLOB(RPAD('a', 32767, 'a')) || 'b'); show(TO_CLOB(CHR(10))); END;\n/"
    )
    right = seen.lines == ("empty",) * 3 + ("full",) * 4
    return Finding(right, f"{seen.error.code if seen.error else 'no error'}, printed {seen.lines}")


def full_raise(bench: Bench) -> Finding:
    """RAISE_APPLICATION_ERROR can be called by its full name, past a procedure of the program's."""
    bench.ready()
    seen = bench.play(
        "CREATE PROCEDURE raise_application_error(n NUMBER, m VARCHAR2) IS BEGIN NULL; END;\n/\n"
        "BEGIN SYS.DBMS_STANDARD.RAISE_APPLICATION_ERROR(-20001, 'case_1 failed'); END;\n/"
    ).error
    return Finding(seen is not None and seen.code == "ORA-20001", seen.code if seen else "nothing was raised")


def no_text(bench: Bench) -> Finding:
    """Bytes that are no text: fetched with a substitute, and no harm where they are printed or raised."""
    bench.ready()
    fetched = bench.play("SELECT 'a' || CHR(200) || 'b' FROM DUAL;")
    codes = []
    for text in ("DBMS_OUTPUT.PUT_LINE(CHR(200))", "RAISE_APPLICATION_ERROR(-20001, CHR(200))"):
        seen = bench.play(f"BEGIN {text}; END;\n/")
        codes.append(seen.error.code if seen.error else f"lines {seen.lines}")
    after = bench.play("SELECT 1 FROM DUAL;")
    right = fetched.error is None and after.error is None
    error = fetched.error.code if fetched.error else "works"
    return Finding(right, f"fetching: {error}; printing and raising: {', '.join(codes)}")
