"""The conditions of `calibrant check`: read, looked up in results, and judged.

A condition is ``name[.field] op number``, which is looked up and never evaluated as code, or a verdict such as
``miscalibrated`` or ``verdict != within``. A name that contains blanks or one of ``< > = !`` needs quotation marks.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from calibrant.cli.output import measurements
from calibrant.errors import InputError, did_you_mean, listing, shown

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
OF_VERDICT = re.compile(r"""\s*verdict\s*(?P<op>==|!=|=)\s*(?P<quote>["']?)(?P<word>[a-z ]+?)(?P=quote)\s*""")
SUM = re.compile(r"\s*(?P<name>[^\s<>=!]+)\s*(?P<op>[<>]=?)\s*(?P=name)\.expected\s*\+\s*(?P<number>[\d.eE-]+)\s*")
NO_LIMITS = "Limits need more rows or less rare events: calibrant audit says how many; 'NAME.pvalue < 0.01' works now"
WORD = re.compile(r"[^\s<>=!]+")
VERDICTS = ("miscalibrated", "within", "cannot tell")
OTHER_VERDICTS = {
    "points": ("different", "copies", "no evidence", "cannot tell"),
    "comparison": ("different", "within", "cannot tell"),
}
"""The verdicts on what are not predictions of one model, by the kind of results."""
LEVEL = re.compile(r"0\.\d+")  # what follows the name of a measurement that is made at several levels
WORST_GROUP, GROUPS = "worst_group", "groups"
ESTIMATES = ("cutoff_error", "coverage")  # columns of the table of groups
SHARES = ("ece", "mce", "cutoff_error", "coverage")  # measurements that lie between 0 and 1


@dataclass(frozen=True)
class Condition:
    """A measurement (and field), an operator and a threshold; or a verdict."""

    text: str
    name: str
    op: str
    threshold: float | str


@dataclass(frozen=True)
class ConditionResult:
    """A condition and what was measured."""

    condition: Condition
    value: float | str
    rounding: float = 0.0  # by how much the value may be off, where rows were counted in cells
    of: str = ""  # which group the value is of

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
        """The measured value, with as many digits as it takes to tell it from the threshold, and its group."""
        limit = self.condition.threshold
        if isinstance(self.value, str) or isinstance(limit, str):
            return str(self.value)
        short = f"{self.value:.4g}"
        same_side = (float(short) > limit, float(short) < limit) == (self.value > limit, self.value < limit)
        return (short if same_side else repr(self.value)) + (f", {self.of}" if self.of else "")

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
    >>> read_condition("miscalibrated")
    Condition(text='miscalibrated', name='verdict', op='=', threshold='miscalibrated')
    >>> read_condition("verdict != within")
    Condition(text='verdict != within', name='verdict', op='!=', threshold='within')
    """
    word = " ".join(text.split())
    if word in {*VERDICTS, *chain(*OTHER_VERDICTS.values())}:
        return Condition(word, "verdict", "=", word)
    if of_verdict := OF_VERDICT.fullmatch(text):
        return Condition(word, "verdict", of_verdict["op"], " ".join(of_verdict["word"].split()))
    found = CONDITION.fullmatch(text)
    if found is None:
        raise _no_condition(text)
    if not math.isfinite(float(found["number"])):
        raise InputError(f"--fail-if {shown(text)} compares with an infinite number; give a finite threshold")
    name = found["double"] or found["single"] or found["name"]
    return Condition(text.strip(), name, found["op"], float(found["number"]))


def _no_condition(text: str) -> InputError:
    if of_sum := SUM.fullmatch(text):
        return InputError(
            f"--fail-if {shown(text)} adds numbers, which conditions cannot do; write "
            f"'{of_sum['name']}.excess {of_sum['op']} {of_sum['number']}', the excess over what chance gives"
        )
    return InputError(
        f"--fail-if {shown(text)} is not a condition; write a measurement, one of > >= < <= = != and a number, "
        "such as 'ece.low > 0.05' or 'ece.excess > 0.02'; or a verdict, such as 'miscalibrated' or 'verdict != within'"
    )


def judge(conditions: Sequence[Condition], results: Mapping[str, Any]) -> list[ConditionResult]:
    """Return the outcome of each condition, given results as `Findings.to_dict` returns them."""
    return [_judged(condition, results) for condition in conditions]


def _judged(condition: Condition, results: Mapping[str, Any]) -> ConditionResult:
    if isinstance(condition.threshold, str):
        return ConditionResult(condition, _verdict(condition.threshold, results))
    part, _, field = condition.name.rpartition(".")
    if part == WORST_GROUP or part.startswith(f"{GROUPS}."):
        group, numbers = (
            _worst(results, field) if part == WORST_GROUP else _group(part.removeprefix(f"{GROUPS}."), results)
        )
        value, rounding = _field(part, field, numbers), 0.0
    else:
        group, (value, rounding) = "", _looked_up(condition.name, results)
    _refuse_impossible(condition)
    return ConditionResult(condition, value, rounding, group if part == WORST_GROUP else "")


def _verdict(word: str, results: Mapping[str, Any]) -> str:
    """Return the verdict if it could be `word`: a condition that can never be true would always pass."""
    status = str(results["verdict"].get("status"))
    possible = OTHER_VERDICTS.get(str(results.get("kind")), VERDICTS)
    if word not in possible:
        raise InputError(f"the verdict on this cannot be {word!r}; it is one of {', '.join(possible)}")
    if status == "no truth":
        raise InputError(f"there is no verdict that could be {word!r}, as there are no real points; leave it out")
    if status not in possible:
        raise InputError(f"the verdict of these results, {status!r}, is one of an older calibrant; make them again")
    return status


def _refuse_impossible(condition: Condition) -> None:
    """Refuse a condition on a share or a p-value that no value between 0 and 1 fulfils."""
    _, _, field = condition.name.rpartition(".")
    is_share = field == "pvalue" or any(condition.name in (share, f"{share}.{field}") for share in SHARES)
    if not is_share or field in ("excess", "statistic") or isinstance(condition.threshold, str):
        return
    compare, limit = OPERATORS[condition.op], condition.threshold
    if not (compare(0.0, limit) or compare(1.0, limit) or (condition.op in ("=", "==") and 0 <= limit <= 1)):
        hint = f"; for percentage points write {limit / 100:g}" if 1 < limit <= 100 and field != "pvalue" else ""
        raise InputError(
            f"--fail-if {shown(condition.text)} can never be true: {condition.name} lies between 0 and 1{hint}"
        )


def _looked_up(name: str, results: Mapping[str, Any]) -> tuple[float, float]:
    """Return a number, and by how much it may be off."""
    known = {str(m["name"]): m for m in measurements(results)}
    measurement, field = (name, "value") if name in known else _split(name, known)
    numbers = _numbers(known[measurement], _claimed(measurement, results))
    if not numbers:
        raise InputError(f"{measurement} has no value for these rows, so it cannot be checked; leave it out")
    return _field(measurement, field, numbers), numbers.get("rounding", 0.0) if field in ("value", "excess") else 0.0


def _field(name: str, field: str, numbers: Mapping[str, float]) -> float:
    if field not in numbers:
        raise InputError(
            f"{name} has no field {shown(field)} here; it has {listing(list(numbers))}. "
            f"{NO_LIMITS if field in ('low', 'high') else did_you_mean(field, numbers)}".rstrip()
        )
    if math.isnan(numbers[field]):
        raise InputError(f"{name}.{field} is not a number in these results, so it cannot be checked; leave it out")
    return numbers[field]


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
        f"There are {', '.join(map(_written, known))}; add .pvalue, .expected, .excess, .low or .high for these"
    )


def _written(name: str) -> str:
    """Return the name as it stands in a condition."""
    return name if WORD.fullmatch(name) else f'"{name}"'


def _numbers(measurement: Mapping[str, Any], claim: Mapping[str, Any]) -> dict[str, float]:
    """Return every number of a measurement by the name of its field; what is missing is left out."""
    fields = [(key, measurement.get(key)) for key in ("value", "expected", "pvalue")]
    fields += zip(("low", "high"), measurement.get("interval") or (), strict=False)
    fields += [(key, claim.get(key)) for key in ("low", "high")]
    numbers: dict[str, float] = {}
    for key, value in (*fields, *(measurement.get("details") or {}).items()):
        if value is not None:
            numbers.setdefault(key, float(value))
    if numbers.keys() >= {"value", "expected"}:
        numbers["excess"] = numbers["value"] - numbers["expected"]
    return numbers


def _claimed(quantity: str, results: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the claim on a quantity of all rows; empty if there is none."""
    claims = results["verdict"].get("claims") or ()
    return next((c for c in claims if c["quantity"] == quantity and c["subject"]["kind"] == "all rows"), {})


def _lines(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of the table of groups."""
    if not results.get("groups"):
        raise InputError("there are no groups in these results; name their column with --by")
    columns = results["groups"]["columns"]
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def _worst(results: Mapping[str, Any], field: str) -> tuple[str, dict[str, float]]:
    """Return the group with the smallest adjusted p-value, or the largest lower limit of an error, and its numbers."""
    tested = [line for line in _lines(results) if line.get("pvalue_adjusted") is not None]
    if not tested:
        raise InputError("no group has enough rows to be tested, so the worst one is not known; leave worst_group out")
    worst = min(tested, key=lambda line: float(line["pvalue_adjusted"]))
    if field == "low" and "limits" in worst:  # of errors; coverage is worst where it is far from its level
        worst = max(tested, key=lambda line: float((line["limits"] or (0.0,))[0]))
    return str(worst["group"]), _group_numbers(worst)


def _group(name: str, results: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    """Return the first line, which is the worst, of a group."""
    lines = {str(line["group"]): line for line in reversed(_lines(results))}
    if name not in lines:
        hint = did_you_mean(name, lines) or f"There are {listing(list(lines), most=6)}"
        raise InputError(f"there is no group {shown(name)}. {hint}")
    return name, _group_numbers(lines[name])


def _group_numbers(line: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a line of the table of groups; its p-value is the adjusted one."""
    numbers = {key: float(value) for key, value in line.items() if isinstance(value, (int, float))}
    for key in ("interval", "limits"):
        low, high = line.get(key) or (None, None)
        numbers |= {} if low is None or high is None else {"low": float(low), "high": float(high)}
    adjusted = numbers.pop("pvalue_adjusted", None)
    for key in ESTIMATES:
        if key in numbers:
            numbers.setdefault("estimate", numbers[key])
    return numbers if adjusted is None else {**numbers, "pvalue": adjusted}
