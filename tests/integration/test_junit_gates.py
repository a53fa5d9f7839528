"""Gates in JUnit XML: a test case each, beside those of the tests, which count as before."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.gate import command

CONFTEST = """
    import pytest
    from pytest_plsqlbench.bench.gates.verdict import GateVerdict
    from pytest_plsqlbench.junit import add_gates

    VERDICTS = [
        GateVerdict(gate="mbpp.suite_pass@1[difficulty=hard] >= 0.25", verdict="held", reason="it is 30.0%"),
        GateVerdict(gate="a::b/c.py >= 0.5", verdict="broken", reason="it is 1.0% <\\x1b[31m & co>"),
        GateVerdict(
            gate="better_than(baseline)",
            verdict="not_enough_evidence",
            reason="+1.0 points",
            enough="90 tasks",
        ),
    ]

    @pytest.hookimpl(wrapper=True, {order}=True)
    def pytest_sessionfinish(session):
        before = {before}
        if before:
            add(session.config)
        yield
        if not before:
            add(session.config)

    def add(config):
        if not hasattr(config, "workerinput"):
            add_gates(config, VERDICTS)
"""


def suites(suite: Suite) -> ET.Element:
    found = ET.parse(suite.folder / "junit.xml").find("testsuite")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("family", "order", "before", "workers"),
    [
        ("xunit1", "trylast", False, ()),
        ("xunit2", "trylast", False, ()),
        ("xunit2", "trylast", False, ("-n", "2")),
        ("xunit2", "tryfirst", True, ()),  # the XML is not written yet
    ],
)
def test_each_gate_is_a_test_case(
    suite: Suite, family: str, order: str, before: bool, workers: tuple[str, ...]
) -> None:
    suite.pytester.makeconftest(CONFTEST.replace("{order}", order).replace("{before}", str(before)))
    suite.pytester.makepyfile("def test_a(): pass\ndef test_b(): assert 0\n")
    result = suite.run(".", "--junitxml=junit.xml", "-o", f"junit_family={family}", *workers)
    result.assert_outcomes(passed=1, failed=1)  # pytest's own counts are of tests
    found = suites(suite)
    assert {name: found.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    cases = {case.get("name"): case for case in found.iter("testcase")}
    assert len(list(found.iter("testcase"))) == 5
    gates = {name: case for name, case in cases.items() if case.get("classname") == "plsqlbench.gates"}
    assert list(gates) == [
        "mbpp.suite_pass@1[difficulty=hard] >= 0.25",
        "a::b/c.py >= 0.5",
        "better_than(baseline)",
    ]
    held, broken, unknown = gates.values()
    assert [child.tag for child in held] == ["properties"]
    failure = broken.find("failure")
    assert failure is not None
    assert failure.get("message") == failure.text == "it is 1.0% <\\x1b[31m & co>"
    error = unknown.find("error")
    assert error is not None
    assert error.get("message") == "not enough evidence: +1.0 points"
    assert error.text == "not enough evidence: +1.0 points\nenough would be: 90 tasks"
    assert [prop.get("value") for case in gates.values() for prop in case.iter("property")] == [
        "held",
        "broken",
        "not_enough_evidence",
    ]


def test_without_xml_or_gates_nothing_is_written(suite: Suite) -> None:
    suite.pytester.makeconftest(CONFTEST.replace("{order}", "trylast").replace("{before}", "False"))
    suite.pytester.makepyfile("def test_a(): pass\n")
    suite.run(".").assert_outcomes(passed=1)
    assert not (suite.folder / "junit.xml").exists()


GATES = ("solved@1 >= 0", "functions.suite_pass@1 >= 50%", "low(talks.episode_pass@1) >= 0.5")


def counts(root: ET.Element) -> list[tuple[str, ...]]:
    return [
        (case.get("name", ""), *(child.tag for child in case if child.tag != "properties"))
        for case in root.iter("testcase")
        if case.get("classname") == "plsqlbench.gates"
    ]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_the_gates_of_a_run_and_of_its_saved_results_look_the_same(
    suite: Suite, workers: tuple[str, ...]
) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = "SELECT 1;"
    options = [f"--plsql-gate={text}" for text in GATES]
    result = suite.run(suite.predict(*rows), *options, "--junitxml=junit.xml", *workers)
    result.assert_outcomes(passed=3, failed=1)
    expected = [(GATES[0],), (GATES[1], "failure"), (GATES[2], "error")]
    found = suites(suite)
    assert counts(found) == expected
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == ("7", "2", "1")
    saved = CliRunner().invoke(
        command,
        [
            str(suite.folder / "reports"),
            *(word for text in GATES for word in ("--gate", text)),
            "--junitxml",
            str(suite.folder / "gates.xml"),
        ],
    )
    assert saved.exit_code == result.ret == 1
    alone = ET.parse(suite.folder / "gates.xml").getroot()
    assert counts(alone) == expected
    (part,) = alone
    assert (part.get("tests"), part.get("failures"), part.get("errors")) == ("3", "1", "1")
    here = {case.get("name"): case for case in alone.iter("testcase")}
    for case in found.iter("testcase"):
        if case.get("name") in here:
            for child in case:
                if child.tag != "properties":
                    other = here[case.get("name")].find(child.tag)
                    assert other is not None
                    assert (other.text, other.get("message")) == (child.text, child.get("message"))
