"""Evidence: what a subject hands over to the judge. Numbers only: no tolerance, no outcome, no words.

A subject says what was estimated, of which rows, with which limits, and what a test gives. `judging` decides what that
supports and puts it into words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from calibrant.inputs.arrays import field_values

POWER = 0.8  # "found 4 times in 5"
SMALL_GROUP = 30  # rows
ABOVE_0 = math.ulp(0.0)  # an open end: of a range of scores that leaves out 0, and of limits of an error that is not 0

_OfRows: TypeAlias = Literal["all rows", "most probable class", "group", "class", "scores", "covariates", "models"]
_OfCovariates: TypeAlias = Literal["region", "parts"]
_OfRegions: TypeAlias = Literal["intervals", "central intervals", "sets", "quantile", "coordinate", "whole"]
SubjectKind: TypeAlias = _OfRows | _OfCovariates | _OfRegions | Literal["set", "pair"]
"""What a claim can be about. A region is one of covariates, and parts are all shares of the rows that one of them cuts
out. The whole is that of vectors, with the dependence between their coordinates; a set is one
of points, and a pair one of coordinates."""

PartKind: TypeAlias = Literal["width", "size", "place", "coordinate"]
"""By what the rows of a claim on regions are chosen: width of intervals, size of sets, place, or a coordinate."""


@dataclass(frozen=True)
class Subject:
    """What evidence is about: all rows, some of them, or predictions of one sort. Fields that are not needed are empty.

    Examples
    --------
    >>> Subject("group", name="B").to_dict()
    {'kind': 'group', 'name': 'B'}
    """

    kind: SubjectKind
    name: str = ""  # of the group, class, coordinate or part, as it stands in tables; of models "a and b"
    level: float | None = None  # nominal, of intervals, sets and quantiles
    part: PartKind | None = None  # by what some rows of intervals or sets were chosen; all rows without
    low: float | None = None  # scores in (low, high], or widths, sizes or places from low to high
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are not empty, for JSON."""
        return {name: value for name, value in field_values(self).items() if value not in (None, "")}


ALL_ROWS = Subject("all rows")


class Error(NamedTuple):
    """The distance of a quantity from what calibration allows.

    The limits cover together with those of the rest of the family. `most` is an upper limit of this error by itself:
    the claim that all errors are small is false only if a certain one is large, so it needs no correction.
    """

    estimate: float
    low: float
    high: float
    most: float


@dataclass(frozen=True)
class Evidence:
    """What was measured about one quantity of some rows."""

    subject: Subject
    quantity: str  # a key of `judging.quantities.QUANTITIES`
    estimate: float
    low: float = math.nan  # limits at the error rate of the family; NaN without
    high: float = math.nan
    rows: int = 0
    expected: float = 0.0  # the value if the predictions are calibrated
    test: str = ""  # which test the p-value is of, or what the limits rest on
    pvalue: float | None = None  # adjusted for everything that the page tests
    row_numbers: tuple[int, ...] = ()  # the rows it is about, if it names them, counted from 0
    describes: bool = False  # whether it claims nothing, such as coverage on the side of its level that is no error
    at_floor: bool = False  # whether redraws can give no smaller p-value
    error: Error | None = None  # where that is not the distance of the limits from `expected`
    mean: float | None = None  # mean prediction of events; where they are rare, errors are stated as shares
    never: float | None = None  # this error if the event never happened: 100 % where it is rare
    always: float | None = None  # the same of non-events
    explanation: tuple[Evidence, ...] = ()  # shown only beside an outcome that it explains

    @property
    def size(self) -> Error:
        """The distance from calibration.

        >>> Evidence(ALL_ROWS, "coverage", 0.8, 0.75, 0.85, expected=0.9).size.low.__round__(3)
        0.05
        """
        if self.error is not None:
            return self.error
        reach = max(abs(self.low - self.expected), abs(self.high - self.expected))
        least = max(0.0, self.low - self.expected, self.expected - self.high)  # comparisons with NaN are false
        return Error(abs(self.estimate - self.expected), least, reach, reach)


class Needed(NamedTuple):
    """How many calibrated rows, or other things, would be shown to be so 4 times in 5."""

    number: int
    things: str = "rows"


def rows_needed(needed: float) -> int:
    """Return a number of rows, rounded up to two digits.

    >>> rows_needed(2341.2), rows_needed(7.1)
    (2400, 8)
    """
    digits = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / digits) * digits


@dataclass(frozen=True)
class Whole:
    """What is known of all rows together, which decides the outcome unless a part of the rows does."""

    total: Evidence  # the size of the error
    lines: tuple[Evidence, ...] = ()  # what it is made of, such as each level
    ranges: tuple[Evidence, ...] = ()  # of scores whose limits leave out what was stated; they can decide
    beside: tuple[Evidence, ...] = ()  # further sizes of the error, with limits; they decide nothing
    similar: int | None = None  # ranges of similar scores whose frequencies are compared
    instead: Evidence | None = None  # what a test finds where the limits of the size do not show it
    bounded: bool = True  # whether the limits of the size bound all that tests detect
    in_doubt: bool = False  # whether the level may be a mistake of the user
    needed: Callable[[float], Needed | None] | None = None  # given a tolerance


@dataclass(frozen=True)
class Family:
    """Evidence on parts of the rows that shares one error rate: classes, groups, widths and places."""

    name: str
    evidence: tuple[Evidence, ...]
    tested: int
    small_passes: bool = False  # whether an error that is shown to be within what is accepted does not count
    leaves_open: bool = True  # whether an error that may be too large contradicts "within"
    pvalue: float | None = None  # of all of it together, adjusted; where it rejects and names nothing, "within" is open
    beside: tuple[Evidence, ...] = ()  # what is claimed whatever is decided
    instead: Evidence | None = None  # what that test finds where it names nothing
    required: Evidence | None = None  # whose error must be within what is accepted too


@dataclass(frozen=True)
class Note:
    """Something that a reader should know beside the claims: a key of `judging.notes.NOTES`, and its numbers."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)
    only: str | None = None  # where it is said: a status, or "part" or "no rows" as in `judging.judge`; None: always


def note(key: str, only: str | None = None, **values: Any) -> Note:
    """Return a note.

    >>> note("rare", events=3).values
    {'events': 3}
    """
    return Note(key, values, only)


@dataclass(frozen=True)
class Case:
    """All that is put before the judge."""

    whole: Whole | None  # None if nothing was tested
    families: tuple[Family, ...] = ()
    notes: tuple[Note, ...] = ()
    seen: tuple[Evidence, ...] = ()  # what was measured where nothing was tested
    looked_at: str = ""  # what was looked at besides the families, such as "the score"; empty: not said
