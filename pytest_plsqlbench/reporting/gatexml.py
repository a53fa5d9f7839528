"""Gates in a JUnit XML file of their own, for CI that judges saved results."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # we write, and read nothing
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.gates.verdict import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_plsqlbench.bench.gates.verdict import GateVerdict

CLASS_NAME = "plsqlbench.gates"
"""``classname`` of the test cases, also in the XML that pytest writes."""


def message_of(verdict: GateVerdict) -> str:
    """What was found, one line."""
    reason = escape(verdict.reason)
    decision = verdict.verdict
    return f"{WORDS[decision]}: {reason}" if decision == "not_enough_evidence" else reason


def text_of(verdict: GateVerdict) -> str:
    """What was found, and what would be enough where it is not."""
    lines = [message_of(verdict)]
    if verdict.enough and verdict.verdict == "not_enough_evidence":
        lines.append(f"enough would be: {escape(verdict.enough)}")
    return "\n".join(lines)


def gates_xml(verdicts: Sequence[GateVerdict]) -> bytes:
    """A test case a gate: passed where it holds, failed where it is broken, an error where nobody can tell.

    Args:
        verdicts: in the order in which they are shown.
    """
    tags = {"broken": "failure", "not_enough_evidence": "error"}
    found = [tags.get(verdict.verdict) for verdict in verdicts]
    suite = ET.Element(
        "testsuite",
        name="plsqlbench",
        tests=str(len(found)),
        failures=str(found.count("failure")),
        errors=str(found.count("error")),
        skipped="0",
        time="0.000",
    )
    for verdict, tag in zip(verdicts, found, strict=True):
        case = ET.SubElement(suite, "testcase", classname=CLASS_NAME, name=escape(verdict.gate), time="0.000")
        if tag is not None:
            ET.SubElement(case, tag, message=message_of(verdict)).text = text_of(verdict)
    root = ET.Element("testsuites", name="plsqlbench gates")
    root.append(suite)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"
