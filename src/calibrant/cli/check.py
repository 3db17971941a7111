"""`calibrant check`: fail a build when a condition holds."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from calibrant.cli.audit import audit_files
from calibrant.cli.conditions import ConditionResult, judge, read_condition
from calibrant.cli.options import Request
from calibrant.cli.output import check_output, check_places, emit, holds_results, read_results, signed, tell
from calibrant.errors import InputError, printable

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
QUESTION = "question"  # the label of a line about a likely mistake
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|~-])")


def run(file: Path, request: Request) -> bool:
    if not request.fail_if:
        raise InputError("there is nothing to check; add conditions such as --fail-if miscalibrated")
    conditions = [read_condition(text) for text in request.fail_if]
    if request.junit is not None:
        check_output(request.junit, endings=(".xml",), option="--junit", source=file)
    results = _results(file, request)
    outcomes = judge(conditions, results)
    headline = str(results["verdict"]["headline"])
    for line in results["verdict"].get("lines", ()):
        if line["label"] == QUESTION:
            tell(line["text"])
    reason = [headline] if any(outcome.condition.path == "verdict" for outcome in outcomes) else []
    emit("\n".join([*reason, *(outcome.line for outcome in outcomes)]))
    if request.junit is not None:
        from calibrant.writing import replace_text

        replace_text(request.junit, junit(outcomes, file.name, headline))
    if os.environ.get(STEP_SUMMARY):
        place = Path(os.environ[STEP_SUMMARY])
        try:
            with place.open("a", encoding="utf-8") as summary:
                summary.write(step_summary(outcomes, file.name, headline))
        except OSError as problem:  # the check stands
            tell(f"the step summary {place} could not be written: {problem.strerror}")
    return not any(outcome.failed for outcome in outcomes)


def _results(file: Path, request: Request) -> dict[str, Any]:
    if request.format is not None or not holds_results(file):
        check_places(request, [file])
        found = signed(audit_files([file], request), request.title)
        if request.output is not None:
            found.to_html(request.output)
        return found.findings.to_dict()
    unused = [option for option in request.given if option not in ("--fail-if", "--junit")]
    if unused:
        raise InputError(
            f"{file} contains results, for which columns and rows were chosen before; leave out {', '.join(unused)}"
        )
    return read_results(file)


def junit(outcomes: Sequence[ConditionResult], source: str, headline: str) -> str:
    """Return one test per condition; those that failed show the verdict."""
    failures = sum(outcome.failed for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "calibrant", **counts})
    for outcome in outcomes:
        name = f"fails if {outcome.condition.text}"
        case = ET.SubElement(suite, "testcase", {"classname": printable(source), "name": printable(name)})
        if outcome.failed:
            failure = ET.SubElement(case, "failure", {"message": printable(outcome.line)})
            failure.text = printable(f"{outcome.line}\n{headline}")
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def step_summary(outcomes: Sequence[ConditionResult], source: str, headline: str) -> str:
    rows = [
        f"| {'❌ failed' if outcome.failed else '✅ passed'} | {_escaped(outcome.condition.path)} "
        f"| {_escaped(outcome.value_text)} | {_escaped(outcome.condition.op)} {_escaped(outcome.limit_text)} |"
        for outcome in outcomes
    ]
    head = ["| | measurement | value | fails if |", "|---|---|---:|---|"]
    return "\n".join([f"### Calibration of {_escaped(source)}", "", _escaped(headline), "", *head, *rows, "", ""])


def _escaped(text: str) -> str:
    line = printable(text).replace("\n", " ")
    return MARKDOWN.sub(r"\\\1", html.escape(line, quote=False))
