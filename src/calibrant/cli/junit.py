"""JUnit XML, which build servers show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from calibrant.cli.conditions import Outcome
from calibrant.cli.messages import printable


def junit(outcomes: Sequence[Outcome], source: str) -> str:
    """Return one test per condition."""
    failures = sum(outcome.failed for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "calibrant", **counts})
    for outcome in outcomes:
        name = f"fails if {outcome.condition.text}"
        case = ET.SubElement(suite, "testcase", {"classname": printable(source), "name": printable(name)})
        if outcome.failed:
            failure = ET.SubElement(case, "failure", {"message": printable(outcome.line)})
            failure.text = printable(outcome.line)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"
