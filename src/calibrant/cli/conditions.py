"""The conditions of `calibrant check`: the name of a result of an audit, a comparison, and a number or a verdict.

Nothing is evaluated as code. What has a name in the JSON is found by it: ``ece.pvalue`` is a field of the measurement
``ece``, ``groups.plan.student.bias`` one of the group ``plan = student``. A word such as ``miscalibrated`` is short for
``verdict = miscalibrated``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from calibrant.cli.output import measurements
from calibrant.errors import InputError, closest, did_you_mean, listing, shown
from calibrant.files.where import COMPARISONS, NUMBER
from calibrant.inputs.arrays import is_percentage

CONDITION = re.compile(
    r"""\s*(?P<path>"[^"]+"|'[^']+'|[^<>]+?)\s*"""
    r"""(?<![<>=!])(?P<op>>=|<=|==|!=|=|>|<)\s*(?P<value>[^<>=!]+?)\s*"""
)
EXTREME = re.compile(r"(?P<which>max|min)\s*\((?P<path>.+)\)")
VERDICTS = {
    "predictions": ("miscalibrated", "within", "cannot tell"),
    "points": ("different", "copies", "no evidence", "cannot tell"),
    "comparison": ("different", "within", "cannot tell"),
}
"""The verdicts on sets of points, on comparisons, and on everything else."""
WORDS = frozenset(word for words in VERDICTS.values() for word in words)
ESTIMATES = ("rms_error", "cutoff_error", "coverage")  # columns of the table of groups
MISSING = "missing"  # how many rows have no prediction; 0 where results do not say it
SHARES = ("ece", "mce", "rms_error", "cutoff_error", "coverage")  # measurements that lie between 0 and 1


@dataclass(frozen=True)
class Condition:
    """A path into the results, an operator and a threshold."""

    text: str
    path: str
    op: str
    threshold: float | str


class Found(NamedTuple):
    """A value of the results: which group it is of, and by how much it may be off where rows were counted in cells."""

    value: float | str
    of: str = ""
    rounding: float = 0.0


@dataclass(frozen=True)
class ConditionResult:
    """A condition and what was found."""

    condition: Condition
    found: Found

    @property
    def failed(self) -> bool:
        return bool(COMPARISONS[self.condition.op](self.found.value, self.condition.threshold))

    @property
    def line(self) -> str:
        word, said = "FAILED" if self.failed else "passed", self.condition
        return f"{word}  {said.path} = {self.value_text}  (fails if {said.op} {self.limit_text}{self.doubt})"

    @property
    def doubt(self) -> str:
        """A remark if the rounding leaves the outcome open."""
        value, limit, rounding = self.found.value, self.condition.threshold, self.found.rounding
        if isinstance(value, str) or isinstance(limit, str) or not rounding or abs(value - limit) > rounding:
            return ""
        return f"; counted in cells, off by at most {rounding:.2g}: an audit with --exact tells"

    @property
    def value_text(self) -> str:
        """The value, with as many digits as it takes to tell it from the threshold, and its group."""
        value, limit = self.found.value, self.condition.threshold
        if isinstance(value, str) or isinstance(limit, str):
            return str(value)
        short = f"{value:.4g}"
        same_side = (float(short) > limit, float(short) < limit) == (value > limit, value < limit)
        return (short if same_side else repr(value)) + (f", {self.found.of}" if self.found.of else "")

    @property
    def limit_text(self) -> str:
        limit = self.condition.threshold
        return limit if isinstance(limit, str) else f"{limit:.12g}"


def read_condition(text: str) -> Condition:
    """Read a condition.

    >>> read_condition("kuiper_test.pvalue < 0.01")
    Condition(text='kuiper_test.pvalue < 0.01', path='kuiper_test.pvalue', op='<', threshold=0.01)
    >>> read_condition("groups.plan = student.bias > .05").path
    'groups.plan = student.bias'
    >>> read_condition("miscalibrated")
    Condition(text='miscalibrated', path='verdict', op='=', threshold='miscalibrated')
    """
    word = " ".join(text.split())
    if word in WORDS:
        return Condition(word, "verdict", "=", word)
    match = CONDITION.fullmatch(text)
    if match is None:
        raise _no_condition(text)
    path, op, value = match["path"], match["op"], match["value"]
    if plain(path) in ("verdict", "verdict.status") and op in ("=", "==", "!="):
        return Condition(word, "verdict", op, " ".join(value.strip("\"'").split()))
    if is_percentage(value):
        raise InputError(
            f"--fail-if {shown(text)} compares with a percentage; write '{path} {op} {float(value[:-1]) / 100:g}'"
        )
    if value.startswith(f"{path}.expected"):
        raise InputError(
            f"--fail-if {shown(text)} adds numbers, which conditions cannot do; write "
            f"'{path}.excess {op} {value.rpartition(' ')[2]}', the excess over what chance gives"
        )
    if not NUMBER.fullmatch(value):
        raise _no_condition(text)
    if not math.isfinite(float(value)):
        raise InputError(f"--fail-if {shown(text)} compares with an infinite number; give a finite threshold")
    return Condition(text.strip(), path.strip("\"'"), op, float(value))


def _no_condition(text: str) -> InputError:
    return InputError(
        f"--fail-if {shown(text)} is not a condition; write a measurement, one of > >= < <= = != and a number, "
        "such as 'ece.low > 0.05' or 'ece.excess > 0.02'; or a verdict, such as 'miscalibrated' or 'verdict != within'"
    )


def plain(path: str) -> str:
    """Return a path without quotation marks, and with dots for brackets and equal signs.

    >>> plain("groups.plan=student.bias"), plain('"groups.plan = student.bias"'), plain("coverage[0.9]")
    ('groups.plan.student.bias', 'groups.plan.student.bias', 'coverage.0.9')
    """
    return re.sub(r"\s*=\s*|\[", ".", re.sub(r"['\"\]]", "", path)).strip()


def judge(conditions: Sequence[Condition], results: Mapping[str, Any]) -> list[ConditionResult]:
    """Return the outcome of each condition, given results as `Findings.to_dict` returns them."""
    known = {plain(path): found for path, found in values_of(results)}
    return [ConditionResult(condition, _looked_up(condition, known, results)) for condition in conditions]


def _looked_up(condition: Condition, known: Mapping[str, Found], results: Mapping[str, Any]) -> Found:
    if isinstance(condition.threshold, str):
        return Found(_verdict(condition.threshold, results))
    extreme = EXTREME.fullmatch(condition.path)
    path = plain(extreme["path"] if extreme else condition.path)
    paths = _parts_of(path, known) if extreme else [path]
    if not paths or paths[0] not in known:
        raise _unknown(path, condition, known)
    written = sorted({name for name, _ in values_of(results) if plain(name) in paths})
    if len(written) > len(paths):
        raise InputError(f"{listing(written)} cannot all be told apart in a condition; rename a group")
    of_all = max if extreme and extreme["which"] == "max" else min
    found = of_all((known[path] for path in paths), key=lambda one: one.value)
    if math.isnan(float(found.value)):
        raise InputError(f"{condition.path} has no value in these results, so it cannot be checked; leave it out")
    _refuse_impossible(condition, path, condition.threshold)
    return found


def values_of(results: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
    """Yield the numbers of results with their paths: of measurements, of groups, and of the worst group."""
    if results.get("kind") == "binary":
        yield from ((path, Found(0.0)) for path in (MISSING, f"{MISSING}.share"))
    for measurement in measurements(results):
        name, numbers = str(measurement["name"]), _numbers(measurement, results)
        rounding = numbers.get("rounding", 0.0)
        yield name, Found(numbers["value"], rounding=rounding)
        for field, number in numbers.items():
            yield f"{name}.{field}", Found(number, rounding=rounding if field in ("value", "excess") else 0.0)
    columns = (results.get("groups") or {}).get("columns", {})
    lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    level = [m.get("expected") for m in measurements(results) if m["name"] == "coverage"]
    for line in lines if level else []:  # of one level, which the table does not repeat
        line.setdefault("nominal", level[0])
    for line in reversed(lines):  # of several lines of a group the first one, which is the worst, is found
        yield from ((f"groups.{line['group']}.{field}", found) for field, found in _of_group(line).items())
    yield from ((f"worst_group.{field}", found) for field, found in _worst(lines).items())


def _numbers(measurement: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, float]:
    """Return every number of a measurement by the name of its field; what is missing is left out."""
    claims = results["verdict"].get("claims") or ()
    of_all = [c for c in claims if c["quantity"] == measurement["name"] and c["subject"]["kind"] == "all rows"]
    claim = of_all[0] if of_all else {}
    low, high = measurement.get("interval") or (claim.get("low"), claim.get("high"))
    fields = {"expected": measurement.get("expected"), "pvalue": measurement.get("pvalue"), "low": low, "high": high}
    given = {key: float(number) for key, number in fields.items() if number is not None}
    value = math.nan if measurement["value"] is None else float(measurement["value"])
    excess = {"excess": value - given["expected"]} if "expected" in given else {}
    details = {key: float(number) for key, number in (measurement.get("details") or {}).items() if number is not None}
    return {"value": value, **details, **given, **excess}


def _of_group(line: Mapping[str, Any]) -> dict[str, Found]:
    """Return the numbers of a line of the table of groups; its p-value is the adjusted one."""
    numbers: dict[str, Any] = {key: number for key, number in line.items() if isinstance(number, (int, float))}
    numbers["estimate"] = next((numbers[key] for key in ESTIMATES if key in numbers), None)
    if "coverage" in numbers and "nominal" in numbers:
        numbers["coverage_error"] = abs(numbers["coverage"] - numbers["nominal"])
    numbers["low"], numbers["high"] = line.get("interval") or line.get("limits") or (None, None)
    numbers["pvalue"] = numbers.pop("pvalue_adjusted", numbers.get("pvalue"))
    return {key: Found(float(x), str(line["group"])) for key, x in numbers.items() if x is not None}


def _worst(lines: Sequence[Mapping[str, Any]]) -> dict[str, Found]:
    """Return the numbers of the group with the smallest p-value; the lower limit of an error is the largest of all."""
    tested = [line for line in lines if line.get("pvalue_adjusted") is not None]
    if not tested:
        return {}
    found = _of_group(min(tested, key=lambda line: float(line["pvalue_adjusted"])))
    if "limits" in tested[0]:  # of errors; coverage is worst where it is far from its level
        lowest = (Found((line["limits"] or (0.0,))[0], str(line["group"])) for line in tested)
        found["low"] = max(lowest, key=lambda one: one.value)
    return found


def _verdict(word: str, results: Mapping[str, Any]) -> str:
    """Return the verdict if it could be `word`: a condition that can never be true would always pass."""
    status = str(results["verdict"].get("status"))
    possible = VERDICTS.get(str(results.get("kind")), VERDICTS["predictions"])
    if word not in possible:
        raise InputError(f"the verdict on this cannot be {word!r}; it is one of {', '.join(possible)}")
    if status == "no truth":
        raise InputError(f"there is no verdict that could be {word!r}, as there are no real points; leave it out")
    if status not in possible:
        raise InputError(f"the verdict of these results, {status!r}, is one of an older calibrant; make them again")
    return status


def _refuse_impossible(condition: Condition, path: str, limit: float) -> None:
    names = path.split(".")
    of_groups = names[0] in ("groups", "worst_group") and names[-1] in (*ESTIMATES, "estimate", "low", "high")
    of_all = names[0] in SHARES and names[-1] not in ("excess", "statistic")
    is_share = names[-1] == "pvalue" or of_all or of_groups or names == [MISSING, "share"]
    holds = COMPARISONS[condition.op]
    if is_share and not (holds(0.0, limit) or holds(1.0, limit) or (holds(0, 0) and 0 <= limit <= 1)):
        hint = f"; for percentage points write {limit / 100:g}" if 1 < limit <= 100 and names[-1] != "pvalue" else ""
        raise InputError(
            f"--fail-if {shown(condition.text)} can never be true: {condition.path} lies between 0 and 1{hint}"
        )


def _parts_of(path: str, known: Mapping[str, Found]) -> list[str]:
    """Return the paths that begin and end like this one; of groups those of this column.

    >>> levels = ["coverage.0.8", "coverage.0.8.low", "coverage.0.9.low", "width.low"]
    >>> _parts_of("coverage.low", dict.fromkeys(levels, Found(0.1)))
    ['coverage.0.8.low', 'coverage.0.9.low']
    """
    head, _, field = path.rpartition(".")
    found = [name for name in known if name.startswith(f"{head}.") and name.endswith(f".{field}")]
    exact = [name for name in found if known[name].of.startswith(f"{head.removeprefix('groups.')} = ")]
    return exact or found


def _unknown(path: str, condition: Condition, known: Mapping[str, Found]) -> InputError:
    """Return the error for a path that leads nowhere, with a condition that works where it is clear what was meant."""
    measured = [name for name in known if f"{name}.value" in known]
    parts = _parts_of(path, known) or [name for name in measured if name.startswith(f"{path}.")]
    if parts:
        return InputError(f"there are several of {path}; say which one: {', '.join(parts)}")
    is_group = path.startswith(("groups.", "worst_group."))
    if is_group and not any(name.startswith("groups.") for name in known):
        return InputError("there are no groups in these results; name their column with --by")
    head, _, field = path.rpartition(".")
    if head == "worst_group" and "worst_group.n" not in known:
        return InputError("no group has enough rows to be tested, so the worst one is not known; leave worst_group out")
    fields = dict.fromkeys(name.rpartition(".")[2] for name in known if name.startswith(f"{head}."))
    if not fields and any(name.startswith("groups.") for name in known):
        _refuse_unknown_group(path, condition, known)
    if not fields:
        hint = did_you_mean(path, known)
        return InputError(
            f"nothing called {shown(path)} was measured. {hint}{' ' if hint else ''}"
            f"There are {', '.join(measured)}; add .pvalue, .expected, .excess, .low or .high for these"
        )
    hint = did_you_mean(field, fields)
    if field in ("low", "high"):
        hint = "Limits need more rows or events: calibrant audit says how many; 'NAME.pvalue < 0.01' works now"
    elif is_group and not hint and "estimate" in fields:
        near = (f"{path}.estimate", f"{head}.estimate")
        instead = next((one for one in near if one in known), f"max({head}.estimate)")
        hint = f"Write {shown(f'{instead} {condition.op} {condition.threshold}')}"
    return InputError(f"{head} has no field {shown(field)} here; it has {listing(list(fields))}. {hint}".rstrip())


def _refuse_unknown_group(path: str, condition: Condition, known: Mapping[str, Found]) -> None:
    """Raise the error for the path of a group that is not there, or is named without its column; return for others."""
    groups = {name.rpartition(".")[0]: found.of for name, found in known.items() if name.startswith("groups.")}
    group, _, field = path.removeprefix("groups.").rpartition(".")
    whole = [head for head in groups if head.endswith(f".{group}")]
    if not (whole or path.startswith(("groups.", *(head.split(".")[1] for head in groups)))):
        return
    near = whole[0] if whole else closest(f"groups.{group}", groups) or next(iter(groups))
    works = f"{near}.{field if f'{near}.{field}' in known else 'estimate'} {condition.op} {condition.threshold}"
    named = listing(list(groups.values()), most=6)
    raise InputError(f"there is no group {shown(group)}; groups are {named}. Write {shown(works)}")
