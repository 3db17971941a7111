"""The findings of an audit, as plain frozen values that a report, a terminal or a JSON file can show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Alternative
from calibrant.core.claims import USUAL_TOLERANCES, Claim, Status, Subject, outcome_with_parts
from calibrant.core.results import Curve
from calibrant.core.words import NAMED, SIZE, pvalue_words, tolerance_words
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.groups import Grouping


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
class Table:
    """Columns of equal length, the most important rows first, with a note below."""

    name: str
    title: str
    columns: Mapping[str, tuple[Any, ...]]
    note: str = ""

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), ()))


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


IF_CALIBRATED = "If the predictions are calibrated, "  # beginning of sentences that a part that is off makes pointless


@dataclass(frozen=True)
class AtTolerance:
    """A tolerance, how it is written, and the status of the verdict if the user asked for this tolerance."""

    tolerance: float
    words: str
    status: Status


def at_tolerances(
    asked: float | None,
    status: Callable[[float], Status],
    usual: Sequence[float] = USUAL_TOLERANCES,
    in_words: Callable[[float], str] = tolerance_words,
) -> tuple[AtTolerance, ...]:
    """Return what `status` gives for the usual tolerances and the one that was asked for, the smallest first.

    >>> [(step.words, step.status) for step in at_tolerances(0.02, lambda tau: "within", usual=[0.01])]
    [('1 percentage point', 'within'), ('2 percentage points', 'within')]
    """
    steps = sorted({*usual, *(() if asked is None else (asked,))})
    return tuple(AtTolerance(tau, in_words(tau), status(tau)) for tau in steps)


@dataclass(frozen=True)
class Verdict:
    """The answer: claims, and the words made from them.

    `status` is ``"miscalibrated"``, ``"within"`` (calibrated within `tolerance`) or ``"cannot tell"``; for sets of
    points ``"different"``, ``"copies"`` (of real points, and nothing else was found), ``"no evidence"``,
    ``"cannot tell"`` or ``"no truth"``; for comparisons of predictions ``"different"``, ``"within"`` or
    ``"cannot tell"``.
    """

    status: str
    headline: str  # one sentence
    sentences: tuple[str, ...] = ()  # what it means, which rows it is about, and what to do
    claims: tuple[Claim, ...] = ()  # the headline is made from the first one
    tolerance: float | None = None  # the one given, or the smallest usual one that the limits support
    at: tuple[AtTolerance, ...] = ()  # what it would be with usual tolerances, and with the one given


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
    def measurements(self) -> tuple[Measurement, ...]:
        """All measurements, section by section."""
        return tuple(m for section in self.sections for m in section.measurements)

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
    relative: bool = False  # whether the tolerance is a share of the mean prediction
    alternative: Alternative | None = (
        None  # which errors of coverage count; None: what this kind of prediction promises
    )
    clusters: NDArray[np.intp] | None = None  # (n,), rows with the same number may depend on each other
    calibration_size: int | None = None  # scores behind split-conformal predictions
    columns: tuple[str, ...] = ()  # names of the coordinates of vectors
    covariates: Covariates | None = None  # known when the draws were made
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
        """Tell whether an adjusted p-value rejects."""
        return adjusted is not None and adjusted < 1 - self.level


def with_parts(verdict: Verdict, noun: str, tested: int, parts: Grouped, setting: Setting) -> Verdict:
    """Return the verdict with what was found about its parts, classes or groups.

    The headline is about the first part that decides. Claims "within" are on parts that a test finds off, but by so
    little that it does not matter.
    """
    off, how = parts.claims, parts.how
    if not off:
        sentence = f"None of {tested:,} {noun} is off by more than chance." if tested > 1 else ""
        return replace(verdict, sentences=(*verdict.sentences, *filter(None, [sentence])))
    verdict = replace(
        verdict,
        sentences=tuple(s for s in verdict.sentences if not s.startswith(IF_CALIBRATED)),
        at=tuple(_step_with_parts(step, parts) for step in verdict.at),
    )
    faults = [claim for claim in off if claim.kind != "within"]
    small = [claim for claim in off if claim.kind == "within"]
    bound = "negligible" if setting.tolerance is None else "within the tolerance"
    sentences = [
        _parts_words(found, noun, tested, how, ending)
        for found, ending in ((faults, ""), (small, f", but {bound}"))
        if found
    ]
    status = outcome_with_parts(verdict.status, faults, setting.tolerance)
    if status == verdict.status:
        return replace(verdict, sentences=(*verdict.sentences, *sentences), claims=(*verdict.claims, *off))
    beyond = [claim for claim in faults if setting.tolerance is None or claim.least_error > setting.tolerance]
    deciding = beyond or faults
    headline = _parts_headline(deciding, noun, tested, how, setting)
    known = len({claim.subject for claim in faults}) == 1  # the headline says all
    if headline is None:  # nothing states a size: the sentence on all of them is the headline
        opening = "are not calibrated" if status == "miscalibrated" else "may be off by more than the tolerance"
        headline, known = f"Some {noun} {opening}: {sentences[0]}", True
    return replace(
        verdict,
        status=status,
        headline=headline,
        sentences=(*sentences[known:], f"All rows together: {_lowered(verdict.headline)}", *verdict.sentences),
        claims=(deciding[0], *(claim for claim in off if claim is not deciding[0]), *verdict.claims),
        tolerance=setting.tolerance,
    )


def _step_with_parts(step: AtTolerance, parts: Grouped) -> AtTolerance:
    off = parts.claims if parts.claims_at is None else parts.claims_at(step.tolerance)
    faults = [claim for claim in off if claim.kind != "within"]
    return replace(step, status=outcome_with_parts(step.status, faults, step.tolerance))


def _counted(off: Sequence[Claim], noun: str, tested: int, ending: str) -> str:
    """Say how many of the tested parts have claims, and the p-value: of several the smallest, and that it is so."""
    number = len({claim.subject for claim in off})
    p = pvalue_words(min(claim.pvalue for claim in off if claim.pvalue is not None))
    are, which = ("is", "") if number == 1 else ("are", "smallest ")
    return f"{number:,} of {tested:,} {noun} {ending.format(are=are)} ({which}{p})"


def _parts_words(off: Sequence[Claim], noun: str, tested: int, how: Mapping[Subject, str], ending: str) -> str:
    """Say how many parts are off, and name the first ones."""
    subjects = list(dict.fromkeys(claim.subject for claim in off))
    texts = [(subject.name, how[subject]) for subject in subjects[:NAMED]]
    named = "; ".join(f"{name}, {text}" if "(" in text else f"{name} ({text})" for name, text in texts)
    more = f"; and {len(subjects) - NAMED:,} more" if len(subjects) > NAMED else ""
    return f"{_counted(off, noun, tested, '{are} off by more than chance')}{ending}: {named}{more}."


def _parts_headline(
    off: Sequence[Claim], noun: str, tested: int, how: Mapping[Subject, str], setting: Setting
) -> str | None:
    """State the size of the first part, then how many are off; None if its words do not state a size."""
    subject, text = off[0].subject, how[off[0].subject]
    if not text.startswith(SIZE):
        return None
    if setting.tolerance is None:
        ending = "{are} not calibrated"
    else:
        are = "{are}" if off[0].least_error > setting.tolerance else "may be"
        ending = f"{are} off by more than the tolerance"
    words = str(subject)
    return f"{words[:1].upper()}{words[1:]} is {text}: {_counted(off, noun, tested, ending)}."


def _lowered(headline: str) -> str:
    return headline[:1].lower() + headline[1:]


@dataclass(frozen=True)
class KindFindings:
    """What a kind of prediction contributes to an audit: its sections, its verdict and its caveats."""

    sections: tuple[Section, ...]
    verdict: Verdict
    caveats: tuple[str, ...] = field(default=())


class Grouped(NamedTuple):
    """What was found about groups or classes.

    `how` says in a few words how each subject of a claim is off, and `claims` are on parts that are off, worst first.
    `claims_at` gives the claims for another tolerance, if they depend on it.
    """

    table: Table
    how: Mapping[Subject, str]
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims_at: Callable[[float], tuple[Claim, ...]] | None = None


class Kind(NamedTuple):
    """How a kind of prediction is audited.

    `sections` makes its part of the audit, `groups` tests groups of rows, and `families` names the families of tests
    behind its verdict, besides groups.
    """

    sections: Callable[[Any, Setting], KindFindings]
    groups: Callable[[Any, list[Grouping], Setting], Grouped]
    families: tuple[str, ...] = ("all rows",)
