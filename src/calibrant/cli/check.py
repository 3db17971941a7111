"""`calibrant check`: conditions that must not hold, for a build that is to fail when they do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibrant.cli.audit import audit_files
from calibrant.cli.conditions import judge, read_condition
from calibrant.cli.junit import junit
from calibrant.cli.messages import emit, tell
from calibrant.cli.options import Request
from calibrant.cli.output_file import check_output
from calibrant.cli.results_file import holds_results, measurements, read_results
from calibrant.cli.step_summary import step_summary
from calibrant.errors import InputError

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def run(file: Path, request: Request, *, fail_if: Sequence[str], output: Path | None, to_junit: Path | None) -> bool:
    """Print the outcome of every condition and tell whether all passed."""
    if not fail_if:
        raise InputError("there is nothing to check; add conditions such as --fail-if 'ece > 0.05'")
    conditions = [read_condition(text) for text in fail_if]
    if to_junit is not None:
        check_output(to_junit, endings=(".xml",), option="--junit", source=file)
    results = _results(file, request, output)
    verdict = {"kind": str(results.get("kind")), "status": str(results["verdict"].get("status"))}
    outcomes = judge(conditions, measurements(results), **verdict)
    emit("\n".join(outcome.line for outcome in outcomes))
    if to_junit is not None:
        from calibrant.report.files import replace_text

        replace_text(to_junit, junit(outcomes, file.name))
    if os.environ.get(STEP_SUMMARY):
        _append(Path(os.environ[STEP_SUMMARY]), step_summary(outcomes, file.name, results["verdict"]["headline"]))
    return not any(outcome.failed for outcome in outcomes)


def _results(file: Path, request: Request, output: Path | None) -> dict[str, Any]:
    if not holds_results(file):
        if output is not None:
            check_output(output, endings=(".html", ".htm"), option="-o", source=file)
        found = audit_files([file], request, output=output)
        if output is not None:
            found.to_html(output)
        return found.findings.to_dict()
    unused = request.given + (["-o"] if output else [])
    if unused:
        raise InputError(f"{file} holds results, in which columns and rows are chosen; leave out {', '.join(unused)}")
    return read_results(file)


def _append(path: Path, text: str) -> None:
    """Add to the summary of the build; where that fails the check itself is still good."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        tell(f"the step summary {path} could not be written: {problem.strerror}")
