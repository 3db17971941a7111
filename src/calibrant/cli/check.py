"""`calibrant check`: fail a build when a condition holds.

A condition is ``name[.field] op number``, which is looked up and never evaluated as code, or a verdict such as
``different``. A name that contains blanks or one of ``< > = !`` needs quotation marks.
"""

from __future__ import annotations

import html
import math
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from calibrant.cli.audit import audit_files
from calibrant.cli.options import Request
from calibrant.cli.output import check_output, check_places, emit, holds_results, measurements, read_results, tell
from calibrant.errors import InputError, did_you_mean, listing, printable, shown

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|~-])")
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
CONDITION = re.compile(
    r"""\s*(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<name>[^\s<>=!]+))\s*"""
    r"(?P<op>>=|<=|==|!=|=|>|<)\s*(?P<number>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)\s*"
)
NO_LIMITS = "Limits need more rows or less rare events: calibrant audit says how many; 'NAME.pvalue < 0.01' works now"
WORD = re.compile(r"[^\s<>=!]+")
VERDICTS_ON_PREDICTIONS = ("miscalibrated", "no evidence", "cannot tell")
VERDICTS_ON_POINTS = ("different", "no evidence", "cannot tell")
LEVEL = re.compile(r"0\.\d+")  # what follows the name of a measurement that is made at several levels


@dataclass(frozen=True)
class Condition:
    """A measurement (and field), an operator and a threshold; or a verdict."""

    text: str
    name: str
    op: str
    threshold: float | str


@dataclass(frozen=True)
class Outcome:
    """A condition and what was measured."""

    condition: Condition
    value: float | str
    rounding: float = 0.0  # by how much the value may be off, where rows were counted in cells

    @property
    def failed(self) -> bool:
        """Whether the condition holds."""
        return OPERATORS[self.condition.op](self.value, self.condition.threshold)

    @property
    def line(self) -> str:
        """The outcome in words."""
        word = "FAILED" if self.failed else "passed"
        limit = f"fails if {self.condition.op} {self.limit_text}"
        return f"{word}  {self.condition.name} = {self.value_text}  ({limit}{self.doubt})"

    @property
    def doubt(self) -> str:
        """A remark if the rounding leaves the outcome open."""
        limit = self.condition.threshold
        if isinstance(self.value, str) or isinstance(limit, str) or not self.rounding:
            return ""
        if abs(self.value - limit) > self.rounding:
            return ""
        return f"; counted in cells, off by at most {self.rounding:.2g}: an audit with --exact tells"

    @property
    def value_text(self) -> str:
        """The measured value, with as many digits as it takes to tell it from the threshold."""
        limit = self.condition.threshold
        if isinstance(self.value, str) or isinstance(limit, str):
            return str(self.value)
        short = f"{self.value:.4g}"
        same_side = (float(short) > limit, float(short) < limit) == (self.value > limit, self.value < limit)
        return short if same_side else repr(self.value)

    @property
    def limit_text(self) -> str:
        """The threshold."""
        limit = self.condition.threshold
        return limit if isinstance(limit, str) else f"{limit:.12g}"


def read_condition(text: str) -> Condition:
    """Read a condition.

    Examples
    --------
    >>> read_condition("kuiper_test.pvalue < 0.01")
    Condition(text='kuiper_test.pvalue < 0.01', name='kuiper_test.pvalue', op='<', threshold=0.01)
    >>> read_condition('"mmd.run 2" > 0.1').name
    'mmd.run 2'
    >>> read_condition("different")
    Condition(text='different', name='verdict', op='=', threshold='different')
    """
    word = " ".join(text.split())
    if word in (*VERDICTS_ON_PREDICTIONS, *VERDICTS_ON_POINTS):
        return Condition(word, "verdict", "=", word)
    found = CONDITION.fullmatch(text)
    if found is None:
        raise InputError(
            f"--fail-if {shown(text)} is not a condition; write a measurement, one of > >= < <= = != and a number, "
            "such as 'ece.low > 0.05' or 'kuiper_test.pvalue < 0.01'; or a verdict, 'miscalibrated' or 'different'"
        )
    if not math.isfinite(float(found["number"])):
        raise InputError(f"--fail-if {shown(text)} compares with an infinite number; give a finite threshold")
    name = found["double"] or found["single"] or found["name"]
    return Condition(text.strip(), name, found["op"], float(found["number"]))


def judge(conditions: Sequence[Condition], results: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcome of each condition, given results as `Findings.to_dict` returns them."""
    known = {str(m["name"]): m for m in measurements(results)}
    kind, status = str(results.get("kind")), str(results["verdict"].get("status"))
    return [
        Outcome(condition, _verdict(condition.threshold, kind, status))
        if isinstance(condition.threshold, str)
        else Outcome(condition, *_looked_up(condition.name, known))
        for condition in conditions
    ]


def _verdict(word: str, kind: str, status: str) -> str:
    """Return the verdict if it could be `word`: a condition that can never be true would always pass."""
    possible = VERDICTS_ON_POINTS if kind == "points" else VERDICTS_ON_PREDICTIONS
    if word not in possible:
        raise InputError(f"the verdict on this cannot be {word!r}; it is one of {', '.join(possible)}")
    if status not in possible:
        raise InputError(f"there is no verdict that could be {word!r}, as there are no real points; leave it out")
    return status


def _looked_up(name: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[float, float]:
    """Return a number, and by how much it may be off."""
    measurement, field = (name, "value") if name in known else _split(name, known)
    numbers = _numbers(known[measurement])
    if not numbers:
        raise InputError(f"{measurement} has no value for these rows, so it cannot be checked; leave it out")
    if field not in numbers:
        raise InputError(
            f"{measurement} has no field {shown(field)} here; it has {listing(list(numbers))}. "
            f"{NO_LIMITS if field in ('low', 'high') else did_you_mean(field, numbers)}".rstrip()
        )
    if math.isnan(numbers[field]):
        raise InputError(f"{name} is not a number in these results, so it cannot be checked; leave it out")
    return numbers[field], numbers.get("rounding", 0.0) if field == "value" else 0.0


def _split(name: str, known: Mapping[str, Any]) -> tuple[str, str]:
    measurement, _, field = name.rpartition(".")
    if measurement in known:
        return measurement, field
    for part in (name, measurement):
        at_levels = [other for other in known if LEVEL.fullmatch(other.removeprefix(f"{part}.")) and other != part]
        if part and at_levels:
            raise InputError(f"there is a {part} for each level; say which one: {', '.join(at_levels)}")
        parts = [_written(other) for other in known if part and other.startswith(f"{part}.")]
        if parts:
            raise InputError(f"there are several of {part}; say which one: {', '.join(parts)}")
    hint = did_you_mean(name, known) or did_you_mean(measurement, known)
    raise InputError(
        f"nothing called {shown(name)} was measured. {hint}{' ' if hint else ''}"
        f"There are {', '.join(map(_written, known))}; add .pvalue, .expected, .low or .high for these"
    )


def _written(name: str) -> str:
    """Return the name as it stands in a condition."""
    return name if WORD.fullmatch(name) else f'"{name}"'


def _numbers(measurement: Mapping[str, Any]) -> dict[str, float]:
    """Return every number of a measurement by the name of its field; what is missing is left out."""
    fields = [(key, measurement.get(key)) for key in ("value", "expected", "pvalue")]
    fields += zip(("low", "high"), measurement.get("interval") or (), strict=False)
    numbers: dict[str, float] = {}
    for key, value in (*fields, *(measurement.get("details") or {}).items()):
        if value is not None:
            numbers.setdefault(key, float(value))
    return numbers


def run(file: Path, request: Request, *, fail_if: Sequence[str], output: Path | None, to_junit: Path | None) -> bool:
    """Print the outcome of every condition and tell whether all passed."""
    if not fail_if:
        raise InputError("there is nothing to check; add conditions such as --fail-if 'ece.low > 0.05'")
    conditions = [read_condition(text) for text in fail_if]
    if to_junit is not None:
        check_output(to_junit, endings=(".xml",), option="--junit", source=file)
    results = _results(file, request, output)
    outcomes = judge(conditions, results)
    emit("\n".join(outcome.line for outcome in outcomes))
    if to_junit is not None:
        from calibrant.report.files import replace_text

        replace_text(to_junit, junit(outcomes, file.name))
    if os.environ.get(STEP_SUMMARY):
        _append(Path(os.environ[STEP_SUMMARY]), step_summary(outcomes, file.name, results["verdict"]["headline"]))
    return not any(outcome.failed for outcome in outcomes)


def _results(file: Path, request: Request, output: Path | None) -> dict[str, Any]:
    if not holds_results(file):
        check_places(output, None, [file])
        found = audit_files([file], request, output=output)
        if output is not None:
            found.to_html(output)
        return found.findings.to_dict()
    unused = request.given + (["-o"] if output else [])
    if unused:
        raise InputError(f"{file} holds results, in which columns and rows are chosen; leave out {', '.join(unused)}")
    return read_results(file)


def _append(path: Path, text: str) -> None:
    """Append to the summary of the build; the check stands even if that fails."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        tell(f"the step summary {path} could not be written: {problem.strerror}")


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


def step_summary(outcomes: Sequence[Outcome], source: str, headline: str) -> str:
    """Return a heading, the verdict and a table of the conditions."""
    rows = [
        f"| {'❌ failed' if outcome.failed else '✅ passed'} | {_escaped(outcome.condition.name)} "
        f"| {_escaped(outcome.value_text)} | {_escaped(outcome.condition.op)} {_escaped(outcome.limit_text)} |"
        for outcome in outcomes
    ]
    head = ["| | measurement | value | fails if |", "|---|---|---:|---|"]
    return "\n".join([f"### Calibration of {_escaped(source)}", "", _escaped(headline), "", *head, *rows, "", ""])


def _escaped(text: str) -> str:
    """Return the text as Markdown that shows it as it is."""
    line = printable(text).replace("\n", " ")
    return MARKDOWN.sub(r"\\\1", html.escape(line, quote=False))
