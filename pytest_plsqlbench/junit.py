"""Gates as test cases of pytest's JUnit XML: what gates decide is seen where test results are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.junitxml import xml_key

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.reporting.gatexml import CLASS_NAME, message_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.junitxml import LogXML

    from pytest_plsqlbench.bench.gates.verdict import GateVerdict


def add_gates(config: pytest.Config, verdicts: Iterable[GateVerdict]) -> None:
    """Add a test case a gate to the JUnit XML of a run, where it writes one.

    A gate that holds passed, one that is broken failed. One that cannot be judged is an error, not skipped:
    the run ends with 6, and nobody may take that for a pass. Only the XML is told: pytest's own counts are of
    tests, and gates are none.

    Args:
        config: of the process that owns the XML.
        verdicts: of the gates, in their order.
    """
    xml = config.stash.get(xml_key, None)
    verdicts = tuple(verdicts)
    if xml is None or not verdicts:
        return
    for number, verdict in enumerate(verdicts, 1):
        _add(xml, number, verdict)
    xml.pytest_sessionfinish()  # it may have written its file before the gates were judged


def _add(xml: LogXML, number: int, verdict: GateVerdict) -> None:
    nodeid = f"{CLASS_NAME}::gate-{number}"
    reporter = xml.node_reporter(nodeid)
    reporter.add_attribute("name", escape(verdict.gate))  # a gate's text is no node id
    if verdict.verdict == "held":
        xml.pytest_runtest_logreport(_report(nodeid, "call", None))
    elif verdict.verdict == "broken":
        xml.pytest_runtest_logreport(_report(nodeid, "call", text_of(verdict)))
    else:
        xml.pytest_runtest_logreport(_report(nodeid, "setup", text_of(verdict)))
        reporter.nodes[-1].set("message", message_of(verdict))
    xml.pytest_runtest_logreport(_report(nodeid, "teardown", None, [("verdict", verdict.verdict)]))


def _report(
    nodeid: str, when: str, longrepr: str | None, properties: list[tuple[str, object]] | None = None
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=nodeid,
        location=(CLASS_NAME, None, nodeid),
        keywords={},
        outcome="passed" if longrepr is None else "failed",
        longrepr=longrepr,
        when=when,  # type: ignore[arg-type] # one of the three
        user_properties=properties or [],
    )
