"""Claims: what an audit says, as values with limits.

Sentences, boxes, marks in tables, JSON and the conditions of `calibrant check` are made from claims. A claim can be
compared with the truth where it is known; `benchmarks/validity/claims.py` counts how often claims are false.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["miscalibrated", "within", "cannot tell"]
"""The outcomes of a verdict on predictions."""

ClaimKind: TypeAlias = Literal[
    "miscalibrated",
    "within",
    "cannot tell",
    "limits",
    "below",
    "above",
    "different",
    "collapse",
    "description",
    "informative",
    "no-better",
    "worse",
    "gain",
    "harm",
]
"""What a claim says beside its limits: an outcome, nothing more, on which side of `expected` the quantity is, whether
predictions have skill: above 0, below the tolerance, below 0; or what a recalibration map does: gain or harm."""

SubjectKind: TypeAlias = Literal[
    "all rows",
    "most probable class",
    "group",
    "class",
    "scores",
    "intervals",
    "central intervals",
    "sets",
    "quantile",
    "coordinate",
    "whole",
    "covariates",
    "models",
    "set",
    "pair",
]
"""What a claim can be about. The whole is that of vectors, with the dependence between their coordinates; a set is one
of points, and a pair one of coordinates."""

PartKind: TypeAlias = Literal["width", "size", "place", "coordinate"]
"""By what the rows of a claim on regions are chosen: width of intervals, size of sets, place, or a coordinate."""

USUAL_TOLERANCES = (0.01, 0.02, 0.05)  # where the user gives none
ROUNDING = 1e-12  # a true value this close to what calibration gives is equal to it


@dataclass(frozen=True)
class Subject:
    """What a claim is about: all rows, some of them, or predictions of one sort.

    Fields that a kind does not need are empty. ``str(subject)`` puts it into words.

    Examples
    --------
    >>> str(Subject("group", name="plan = a")), str(Subject("scores", low=0.25, high=0.5))
    ('group plan = a', 'scores 0.25 to 0.5')
    >>> str(Subject("intervals", level=0.9)), str(Subject("sets", "3", level=0.9, part="size", low=3, high=3))
    ('90 % intervals', '90 % sets of size 3')
    """

    kind: SubjectKind
    name: str = ""  # of the group, class, coordinate or part, as it stands in tables; of models "a and b"
    level: float | None = None  # nominal, of intervals, sets and quantiles
    part: PartKind | None = None  # by what some rows of intervals or sets were chosen; all rows without
    low: float | None = None  # scores in (low, high], or widths, sizes or places from low to high
    high: float | None = None

    def __str__(self) -> str:
        return subject_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are not empty, for JSON.

        >>> Subject("group", name="B").to_dict()
        {'kind': 'group', 'name': 'B'}
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value not in (None, "")}


ALL_ROWS = Subject("all rows")


def subject_words(subject: Subject) -> str:
    """Put the subject of a claim into words."""
    match subject.kind:
        case "all rows" | "covariates":
            return subject.kind
        case "most probable class" | "whole":
            return f"the {subject.kind}"
        case "group" if subject.name.startswith("group = "):  # a column that is called so, or has no name
            return f"group {subject.name.removeprefix('group = ')}"
        case "group" | "class" | "set":
            return f"{subject.kind} {subject.name}"
        case "coordinate":
            return f"coordinate {subject.name}" if subject.name.isdigit() else subject.name
        case "models" | "pair":
            return subject.name
        case "scores":
            return f"scores {_range_words(subject.low or 0.0, subject.high or 0.0)}"
        case "sets" if subject.level is None:
            return "sets"
        case _:
            return _regions_words(subject)


def _range_words(low: float, high: float) -> str:
    """Write the range (low, high] with three digits, or more where ends would look alike.

    >>> _range_words(0.00680685, 0.01862251), _range_words(0.99951, 0.99987), _range_words(5e-324, 0.2)
    ('0.00681 to 0.0186', '0.9995 to 0.9999', 'above 0, up to 0.2')
    """
    if high == 0:
        return "0"
    if low == math.ulp(0.0):
        return f"above 0, up to {high:.3g}"
    for digits in range(3, 17):
        texts = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if texts[0] != texts[1] and (texts[1] != "1" or high == 1):
            break
    return " to ".join(texts)


def _regions_words(subject: Subject) -> str:
    """Put the subject of a claim on intervals, sets or a quantile into words."""
    central, _, things = subject.kind.rpartition(" ")
    of = {None: "", "coordinate": " of {}", "place": " around {}"}.get(subject.part, f" of {subject.part} {{}}")
    return f"{central} {level_words(subject.level or 0.0)} {things}{of.format(subject.name)}".lstrip()


def level_words(level: float) -> str:
    """Return a nominal level in percent, as it was given or with two decimals.

    >>> level_words(0.9), level_words(0.975), level_words(5 / 11), level_words(0.99999)
    ('90 %', '97.5 %', '45.45 %', '99.999 %')
    """
    digits = 2 if 0.0001 <= level <= 0.9999 else 8
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".") + " %"


@dataclass(frozen=True)
class Claim:
    """One thing that an audit says about one quantity of some rows.

    Claims of a page that have the same `level` are meant to be true together with at least this probability; those on
    skill, another question than calibration, have a higher one. `benchmarks/validity/claims.py` counts how often all
    claims of a page are true. A claim without a level is a description: it reports what was seen in these rows and says
    nothing about others.
    """

    kind: ClaimKind
    subject: Subject  # which rows or predictions
    quantity: str  # what is estimated: "cutoff_error", "coverage", "frequency"
    estimate: float
    low: float = math.nan  # confidence limits of the quantity; NaN without
    high: float = math.nan
    level: float | None = None
    rows: int = 0
    expected: float = 0.0  # the value of the quantity if the predictions are calibrated
    tolerance: float | None = None  # largest distance from `expected` that is accepted
    test: str = ""  # which test rejects, or what the limits rest on
    pvalue: float | None = None  # adjusted for everything that was tested
    row_numbers: tuple[int, ...] = ()  # the rows it is about, if it names them, counted from 0
    unit: float = 1.0  # error that words and boxes write as 100 %; all other fields are in the unit of the quantity
    share_of: str = ""  # what that is, such as "the predicted events"; empty: errors are in percentage points

    @property
    def least_error(self) -> float:
        """The smallest distance from calibration that the limits allow; 0 without limits."""
        return max(0.0, self.low - self.expected, self.expected - self.high)  # comparisons with NaN are false

    def is_false(self, truth: float) -> bool:
        """Tell whether the claim is false if the true value of its quantity is `truth`."""
        if self.level is None or self.kind == "description":
            return False
        if truth < self.low - ROUNDING or truth > self.high + ROUNDING:  # false for NaN
            return True
        error = abs(truth - self.expected)
        match self.kind:
            case "miscalibrated" | "different":
                return error <= max(self.tolerance or 0.0, ROUNDING)
            case "within":
                return self.tolerance is not None and error > self.tolerance + ROUNDING
            case "below" | "collapse":
                return truth >= self.expected - ROUNDING
            case "above" | "informative" | "gain":
                return truth <= self.expected + ROUNDING
            case "worse" | "harm":
                return truth >= self.expected - ROUNDING
            case "no-better":
                return self.tolerance is not None and truth > self.tolerance + ROUNDING
            case _:
                return False


@dataclass(frozen=True)
class Outcome:
    """One of the three outcomes, and the tolerance that it is about; None if it is about none."""

    status: Status
    tolerance: float | None = None


def outcome(
    low: float,
    high: float,
    *,
    rejected: bool,
    tolerance: float | None,
    usual: Sequence[float] = USUAL_TOLERANCES,
) -> Outcome:
    """Return the outcome that a test of calibration and the limits of the error support.

    Parameters
    ----------
    low, high
        Confidence limits of the distance from calibration; NaN if there are none.
    rejected
        Whether a test rejects calibration.
    tolerance
        The largest acceptable distance. Without it the smallest `usual` one that the limits support is taken: an error
        that a test detects is then still within the smallest of them, which is negligible, and miscalibrated beyond.

    Examples
    --------
    >>> outcome(0.03, 0.06, rejected=True, tolerance=0.02).status
    'miscalibrated'
    >>> outcome(0.0, 0.015, rejected=False, tolerance=0.02).status
    'within'
    >>> outcome(0.01, 0.03, rejected=True, tolerance=0.02).status
    'cannot tell'
    >>> outcome(0.0, 0.015, rejected=False, tolerance=None)
    Outcome(status='within', tolerance=0.02)
    >>> outcome(0.001, 0.002, rejected=True, tolerance=None), outcome(0.01, 0.03, rejected=True, tolerance=None).status
    (Outcome(status='within', tolerance=0.01), 'miscalibrated')
    """
    if tolerance is not None:
        if high <= tolerance:
            return Outcome("within", tolerance)
        return Outcome("miscalibrated" if rejected and low > tolerance else "cannot tell", tolerance)
    supported = [usual_one for usual_one in usual if high <= usual_one]
    if supported and (not rejected or supported[0] == usual[0]):
        return Outcome("within", supported[0])
    return Outcome("miscalibrated" if rejected else "cannot tell")


def outcome_with_parts(status: str, off: Sequence[Claim], tolerance: float | None) -> Status:
    """Return the outcome for all rows and their parts, given the status for all rows and claims on parts that are off.

    A part that is off makes the predictions miscalibrated. With a tolerance it does so only if limits of a claim lie
    beyond it; otherwise it leaves open what was within.

    Examples
    --------
    >>> off = Claim("above", Subject("group", name="B"), "bias", 0.06, low=0.03, high=0.09)
    >>> outcome_with_parts("within", [off], None), outcome_with_parts("within", [off], 0.02)
    ('miscalibrated', 'miscalibrated')
    >>> outcome_with_parts("within", [off], 0.05), outcome_with_parts("within", [], 0.05)
    ('cannot tell', 'within')
    """
    if status == "miscalibrated" or (off and (tolerance is None or any(c.least_error > tolerance for c in off))):
        return "miscalibrated"
    return "within" if status == "within" and not off else "cannot tell"


def difference_kind(low: float, high: float, tolerance: float | None) -> ClaimKind:
    """Return what limits of a difference support; one that they show to be within the tolerance does not matter.

    >>> difference_kind(0.01, 0.03, None), difference_kind(0.01, 0.03, 0.05), difference_kind(-0.01, 0.03, None)
    ('above', 'within', 'cannot tell')
    """
    if max(abs(low), abs(high)) <= (tolerance or 0.0):
        return "within"
    return "below" if high < 0 else "above" if low > 0 else "cannot tell"


def difference_status(kinds: Collection[ClaimKind]) -> Literal["different", "within", "cannot tell"]:
    """Return the outcome of several differences: one that is shown makes it "different".

    >>> difference_status(["within", "below"]), difference_status(["within"]), difference_status(["cannot tell"])
    ('different', 'within', 'cannot tell')
    """
    if {"below", "above"} & set(kinds):
        return "different"
    return "within" if set(kinds) == {"within"} else "cannot tell"
