"""The findings of an audit, as plain frozen values that a report, a terminal or a JSON file can show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Alternative
from calibrant.core.claims import Claim, Status
from calibrant.core.evidence import Case, Family, Needed, Note, Subject
from calibrant.core.results import Curve
from calibrant.core.summary import Summary
from calibrant.core.tabular import Tabular, displayed
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.groups import Grouping
from calibrant.inputs.kinds import KINDS


@dataclass(frozen=True)
class Measurement:
    """One line of the table of measurements."""

    name: str  # key for machines: a verb, or a verb and a field such as ``decompose.mcb``
    label: str  # the same in words
    value: float
    expected: float | None = None  # its mean if the predictions were calibrated, if that is known
    at_least: bool = False  # whether values above the expected one are right too, as where outcomes lie on bounds
    interval: tuple[float, float] | None = None  # a confidence interval, if a valid one exists
    pvalue: float | None = None  # of the hypothesis that the predictions are calibrated
    method: str = ""  # how value and p-value were found
    details: Mapping[str, float] = field(default_factory=dict)  # further numbers, such as the statistic of a test
    decides: bool = False  # whether the verdict rests on it; other measurements describe

    @property
    def rounding(self) -> float | None:
        """By how much the value may differ from the exact one, if rows were counted in cells."""
        return self.details.get("rounding")


@dataclass(frozen=True)
class Figure:
    """A curve with its title and a sentence on how to read it."""

    name: str
    title: str
    reading: str
    curve: Curve


@dataclass(frozen=True)
class Table(Tabular):
    """Columns of equal length, the most important rows first, with a note below."""

    name: str
    title: str
    columns: Mapping[str, tuple[Any, ...]]
    note: str = ""

    @property
    def length(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def _columns(self) -> Mapping[str, tuple[Any, ...]]:
        return self.columns


@dataclass(frozen=True)
class Section:
    """What was found about one aspect of the predictions."""

    name: str
    title: str
    intro: str
    measurements: tuple[Measurement, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    code: str = ""  # lines of Python that do what the section is about, to copy


@dataclass(frozen=True)
class AtTolerance:
    """A tolerance, how it is written, and the status of the verdict if the user asked for this tolerance."""

    tolerance: float
    status: Status
    words: str = ""
    part: Subject | None = None  # the rows that decide, if it is not all of them


class Line(NamedTuple):
    """One line beside the claims of a verdict: a label and a text."""

    label: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """The answer: an outcome and claims, and their words.

    `status` is ``"miscalibrated"``, ``"within"`` (calibrated within `tolerance`) or ``"cannot tell"``; for sets of
    points ``"different"``, ``"copies"`` (of real points, and nothing else was found), ``"no evidence"``,
    ``"cannot tell"`` or ``"no truth"``; for comparisons of predictions ``"different"``, ``"within"`` or
    ``"cannot tell"``.
    """

    status: str
    headline: str = ""  # the outcome and the first claim
    claims: tuple[Claim, ...] = ()
    lines: tuple[Line, ...] = ()  # what helps: questions, shapes, remedies, tolerances
    tolerance: float | None = None  # the one given, or the smallest usual one that the limits support
    although: Claim | None = None  # beside "within": a range of scores whose estimate is beyond the tolerance
    at: tuple[AtTolerance, ...] = ()  # what it would be with usual tolerances, and with the one given
    notes: tuple[Note, ...] = ()  # what the lines are made from
    needed: tuple[float, Needed] | None = None  # a tolerance, and how many rows would show that it is kept
    unit: float = 1.0  # error that words write as 100 %
    share_of: str = ""  # what that is, such as "the predicted events"; empty: errors are in percentage points

    def _repr_html_(self) -> str:
        return displayed("verdict", self)


@dataclass(frozen=True)
class Findings:
    """Everything an audit found: the answer, its evidence, the table of groups, and what to keep in mind."""

    kind: str  # a name of `kinds.KINDS`, "points" for sets of points, or "comparison" of predictions
    n: int  # number of rows
    level: float  # confidence level of tests, intervals and bands
    verdict: Verdict
    sections: tuple[Section, ...]
    groups: Table | None = None
    group_figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # the user's names of outcome, prediction, source and so on
    version: str = ""  # of calibrant

    @property
    def title(self) -> str:
        others = {"points": "Sets of points", "comparison": "Predictions of the same rows"}
        return KINDS[self.kind].title if self.kind in KINDS else others.get(self.kind, self.kind)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(m for section in self.sections for m in section.measurements)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, that of groups last."""
        return (*(t for section in self.sections for t in section.tables), *([self.groups] if self.groups else []))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists, strings and numbers; NaN becomes None, infinities become strings."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Subject):
        return _plain(value.to_dict())
    if isinstance(value, Line):
        return value._asdict()
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True)
class Setting:
    """What every section is given besides the rows."""

    level: float
    resamples: int
    rng: np.random.Generator
    class_names: tuple[str, ...] = ()
    families: int = 1  # of tests behind the verdict, such as those of all rows, of classes, of groups
    tolerance: float | None = None  # largest error that the user accepts
    relative: bool = False  # whether the tolerance is a share of the error that there is if the event never happens
    alternative: Alternative | None = (
        None  # which errors of coverage count; None: what this kind of prediction promises
    )
    clusters: NDArray[np.intp] | None = None  # (n,), rows with the same number may depend on each other
    calibration_size: int | None = None  # scores behind split-conformal predictions
    columns: tuple[str, ...] = ()  # names of the coordinates of vectors
    covariates: Covariates | None = None  # known when the predictions were made
    part: float | None = None  # share of the rows of which no part may be off by more than the tolerance
    related: tuple[str, ...] = ()  # what of each coordinate changes with covariates: "shift", "spread" or nothing
    log_density_y: FloatArray | None = None  # (n,), log density of the predictive distribution at the outcomes
    quantity: Any = None  # options that say which quantities of draws are ranked

    @property
    def family_level(self) -> float:
        """The level that is left to one family of tests."""
        return 1 - (1 - self.level) / self.families

    def adjusted(self, pvalue: Any) -> Any:
        """Return p-values of one family that allow for all families."""
        return np.minimum(1.0, self.families * np.asarray(pvalue))

    def rejects(self, adjusted: float | None) -> bool:
        return adjusted is not None and adjusted < 1 - self.level


@dataclass(frozen=True)
class KindFindings:
    """What a kind of prediction contributes to an audit: sections, the case on calibration, what to keep in mind.

    `further` are claims on other questions, which have error rates of their own: skill, the gain of recalibration.
    """

    sections: tuple[Section, ...]
    case: Case
    caveats: tuple[Note | str, ...] = ()
    further: tuple[Claim, ...] = ()


class Grouped(NamedTuple):
    """What was found about groups or classes: the table, the evidence, pictures."""

    table: Table
    family: Family
    figures: tuple[Figure, ...] = ()
    notes: tuple[Note, ...] = ()
    further: tuple[Claim, ...] = ()  # on other questions than calibration


class ClaimsOnSet(NamedTuple):
    """What was found about one set of generated points, and whether it differs from the real ones."""

    name: str
    claims: tuple[Claim, ...]
    differs: bool


class PointCase(NamedTuple):
    """All that is put before the judge about sets of points."""

    whole: Claim  # the smallest p-value
    sets: tuple[ClaimsOnSet, ...]
    unseen_shift: float  # of one coordinate, in sd, that would have been found 4 times in 5


@dataclass(frozen=True)
class Facts:
    """What an audit knows of the rows: all of them, or summaries of all and a random sample."""

    rows: Any
    n: int
    counted: Mapping[str, Summary] | None = None  # summaries of all rows by name, where the rows are a sample

    @property
    def complete(self) -> bool:
        return self.counted is None

    def of_all(self, name: str, count: Callable[[Any], Any]) -> Any:
        """Return a summary of all rows; `count` makes it from rows, also where batches had none of that name."""
        return count(self.rows) if self.counted is None or name not in self.counted else self.counted[name]


@dataclass(frozen=True)
class Kind:
    """How a kind of prediction is audited.

    `sections` makes its part of the audit, `groups` tests groups of rows, and `families` names the families of tests
    behind its verdict, besides groups. `count_groups` summarises the groups of one column, and `count`, of a batch,
    what the sections need of all rows; whether what grows with them may be kept is its last argument. `errors` gives a
    number for each row, with the same mean in all of them if the predictions are calibrated, or None.
    """

    sections: Callable[[Facts, Setting], KindFindings]
    groups: Callable[[Any, Sequence[Any], Setting], Grouped]
    count: Callable[[Any, Setting, bool], dict[str, Summary]]
    count_groups: Callable[[Any, Grouping, Setting], Summary]
    errors: Callable[[Any], FloatArray | None]
    families: tuple[str, ...] = ("all rows",)
