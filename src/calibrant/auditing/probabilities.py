"""The audit of probabilities: of one event, of classes, and of groups of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.auditing.measurements import (
    COUNTED,
    MEANS,
    CountedPairs,
    Pairs,
    RowPairs,
    audit_options,
    collected,
    cutoff_limits,
    measure,
)
from calibrant.auditing.recalibration import rows_of, with_recalibration, without_rows
from calibrant.core import words
from calibrant.core.catalogue import Entry
from calibrant.core.evidence import ALL_ROWS, SMALL_GROUP, Case, Evidence, Note, Subject, Whole, note
from calibrant.core.findings import Figure, Grouped, KindFindings, Measurement, Section, Setting, Table
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.core.plots import groups_figure
from calibrant.core.results import Curve, TestResult
from calibrant.core.several import PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.judging.judge import is_rare
from calibrant.kernel_errors.skce_test import SKCE_TEST
from calibrant.probabilities.binned_errors import ECE
from calibrant.probabilities.calibration_test import CALIBRATION_TEST, has_impossible, smallest_of_four
from calibrant.probabilities.clusters import METHOD, Clusters, clustered_groups, range_evidence
from calibrant.probabilities.consistency_band import fewest_refits
from calibrant.probabilities.cumulative import CUMULATIVE_DIFFERENCES, KUIPER
from calibrant.probabilities.evidence import (
    advice,
    bin_evidence,
    caveats,
    group_family,
    region_level,
    stated_low,
    surprising_first,
    whole_evidence,
)
from calibrant.probabilities.group_test import GroupFindings, counted_groups, group_test, part_test
from calibrant.probabilities.mistakes import questions_on_classes, questions_on_dependence, questions_on_event
from calibrant.probabilities.reliability_curve import RELIABILITY_CURVE

MAX_SCORES_DRAWN, MAX_SCORES_REFITTED = 4_000, 1_000
TOP, EACH, LABELS = "top", "each", "labels"  # parts of the summary of class probabilities
NOTION_OF = {EACH: "classwise", LABELS: "top-label"}
NOTION_LABELS = {
    "top-label": "expected calibration error within predicted labels, 15 bins",
    "classwise": "expected calibration error of each class against the rest, 15 bins",
}


IN_BATCHES = "it needs all rows at once, and these came in batches"


class Asked(NamedTuple):
    """The section on one probability per row, and what its evidence is about."""

    name: str
    title: str
    intro: str
    subject: Subject = ALL_ROWS


EVENT = Asked("probabilities", "Probabilities", "Does the event happen as often as predicted?")
TOP_CLASS = Asked(
    "confidence",
    "The most probable class",
    "Is the most probable class right as often as its probability says?",
    Subject("most probable class"),
)


def audit_binary(rows: Binary | CountedPairs, setting: Setting) -> KindFindings:
    """Audit probabilities of an event, from rows or from a summary."""
    found = audit_pairs(RowPairs(rows) if isinstance(rows, Binary) else rows, setting, EVENT)
    if isinstance(rows, Binary):
        return with_recalibration(found, rows, setting)
    if rows.pooled:
        return without_rows(found, COUNTED)
    return with_recalibration(found, rows_of(rows.ordered), setting)


def audit_pairs(pairs: Pairs, setting: Setting, asked: Asked) -> KindFindings:
    """Audit one probability per row, of an event or of the most probable class."""
    summary = pairs.ordered
    whole, test, limits = _evidence(pairs, setting, asked.subject)
    questions: list[Note] = []
    if asked is EVENT:
        questions = [*questions_on_event(summary), *_question_on_clusters(pairs, setting)]
    measurements, missing = measure(pairs, setting)
    more: tuple[Note, ...] = ()
    if setting.clusters is not None:
        measurements = tuple(replace(line, interval=None, expected=None, pvalue=None) for line in measurements)
        more = (note("dependent"),)
    infinite = any(line.name == "log_score" and math.isinf(line.value) for line in measurements)
    section = Section(
        asked.name,
        asked.title,
        asked.intro,
        (*_decisive(measurements[0], test, limits, whole.total, setting), *measurements[1:]),
        _figures(summary, setting, whole.total),
    )
    keep = caveats(summary, setting, pooled=pairs.pooled, infinite=infinite)
    case = Case(whole, notes=(*questions, *advice(summary)))
    return KindFindings((section,), case, (*keep, *missing, *more))


def _evidence(pairs: Pairs, setting: Setting, subject: Subject) -> tuple[Whole, TestResult, Limits]:
    """Test all rows and find the limits of their error; with clusters from sums over each of them."""
    summary, rate = pairs.ordered, 1 - region_level(setting)
    clusters = None
    if setting.clusters is not None and isinstance(pairs, RowPairs):
        clusters = Clusters.of(pairs.rows, setting.clusters)
        statistics = clusters.statistics(setting.resamples, setting.rng)
        test = smallest_of_four(
            statistics, n=summary.n, estimate=clusters.estimate, how=f"{setting.resamples} {METHOD}"
        )
        test = replace(test, statistic=0.0, pvalue=0.0) if has_impossible(summary) else test
        ranges = range_evidence(pairs.rows, setting.clusters, rate=rate)
        limits = clusters.limits(setting.resamples, setting.rng)
    else:
        options = CALIBRATION_TEST.parse({"resamples": setting.resamples, "rng": setting.rng})
        test = CALIBRATION_TEST.finish(summary, options)
        banded = {"bins": 10, "strategy": "mass", "simultaneous": True, "level": region_level(setting)}
        tenths = _reliability(summary, setting, **banded)
        ranges = bin_evidence(tenths, rate=rate, exact=summary.has_equal_weights)
        limits = cutoff_limits(pairs)
    whole = whole_evidence(summary, test, limits, setting, subject=subject, ranges=ranges, clusters=clusters)
    return whole, test, limits


def _question_on_clusters(pairs: Pairs, setting: Setting) -> list[Note]:
    """Ask whether rows depend on each other, where the scores of neighbouring rows repeat."""
    if setting.clusters is not None or not isinstance(pairs, RowPairs):
        return []
    return questions_on_dependence(pairs.rows.p)


def _decisive(
    cutoff: Measurement, test: TestResult, limits: Limits, total: Evidence, setting: Setting
) -> tuple[Measurement, ...]:
    """Return the two measurements on which the verdict rests, with the limits that it states."""
    low = total.low if setting.rejects(total.pvalue) else 0.0
    return (
        replace(
            cutoff,
            interval=(low, total.high) if low > 0 or total.high < 1 else None,
            method="; ".join(filter(None, [cutoff.method, limits.method])),
            decides=True,
        ),
        Measurement(
            "calibration_test",
            "smallest p-value of four tests",
            float(test.statistic),
            pvalue=total.pvalue,
            method=test.method,
            details={name: float(value) for name, value in test.details.items()},
            decides=True,
        ),
    )


def _reliability(summary: Ordered, setting: Setting, **options: object) -> Curve:
    given = {"level": setting.level, "resamples": setting.resamples, "rng": setting.rng, **options}
    return RELIABILITY_CURVE.finish(summary, RELIABILITY_CURVE.parse(given))


def _figures(summary: Ordered, setting: Setting, total: Evidence) -> tuple[Figure, ...]:
    cells = summary.at_most(MAX_SCORES_DRAWN)  # more could not be distinguished in a picture
    rare = is_rare(total.mean, setting)
    return (
        Figure(
            "reliability",
            "Predicted against observed",
            f"Each dot is a bin of predictions{' with about as many rows as the others' if rare else ''}. On the "
            "diagonal what was predicted happened as often as predicted; below it predictions are too high, above it "
            "too low. The grey boxes together contain all dots of calibrated predictions with probability "
            f"{words.confidence_words(setting.level)}.",
            _reliability(summary, setting, simultaneous=True, strategy="mass" if rare else "width"),
        ),
        Figure(
            "isotonic",
            "Recalibrated",
            "The line shows what each prediction should have been, judged by these rows. The grey region contains the "
            f"whole line of calibrated predictions with probability {words.confidence_words(setting.level)}.",
            _reliability(
                summary.at_most(MAX_SCORES_REFITTED),
                setting,
                strategy="isotonic",
                simultaneous=True,
                resamples=max(setting.resamples, fewest_refits(setting.level)),
            ),
        ),
        Figure(
            "cumulative",
            "Cumulative differences",
            "Rows are added in the order of their predictions. Where the line rises predictions are too low, where it "
            "falls too high, and the steeper the more. No bins are needed.",
            CUMULATIVE_DIFFERENCES.finish(cells, CUMULATIVE_DIFFERENCES.usual),
        ),
    )


class RowClasses:
    """Rows in memory."""

    def __init__(self, rows: Classes) -> None:
        self.rows, self.K = rows, rows.K

    @property
    def top(self) -> Pairs:
        """The most probable class."""
        return RowPairs(self.rows.top_label())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each class occurred."""
        return np.bincount(self.rows.y, minlength=self.K)

    def against_the_rest(self, k: int) -> Ordered:
        """Return class k against the rest."""
        return Ordered.of(self.rows.one_vs_rest(k))

    exceeded = None  # the error of each class is exact

    def result(self, entry: Entry[Any, Any]) -> Any:
        """Return the result of a verb."""
        return entry.of_rows(self.rows, entry.parse(audit_options(entry, self.rows)))

    def notion(self, notion: str) -> float:
        """Return the expected calibration error of a notion."""
        return float(ECE.of_rows(self.rows, ECE.parse({"notion": notion})))


class CountedClasses:
    """Rows that came in batches: cells (or sorted rows) of the most probable class and of each class, and means."""

    def __init__(self, parts: Several) -> None:
        self.parts = parts

    @classmethod
    def summary(cls, rows: Classes, *, exact: bool) -> Several:
        """Return the summary of a batch."""
        counted: type[Grid] | type[Ordered] = Ordered if exact else Grid
        parts: dict[str, Summary] = {TOP: CountedPairs.summary(rows.top_label(), exact=exact)}
        parts |= {name: PerLabel.of(rows, notion, counted.of) for name, notion in NOTION_OF.items()}
        return Several.of(parts | {entry.name: entry.summarise(rows, entry.usual) for entry in MEANS})

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(cast(PerLabel, self.parts[EACH]).parts)

    @property
    def top(self) -> Pairs:
        """The most probable class."""
        return CountedPairs(cast(Several, self.parts[TOP]))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each class occurred; with unequal weights cells give it only approximately."""
        return np.array([round(float(self.against_the_rest(k).events.sum())) for k in range(self.K)])

    def against_the_rest(self, k: int) -> Ordered:
        """Return class k against the rest."""
        part = cast(PerLabel, self.parts[EACH]).parts[k]
        return part.ordered() if isinstance(part, Grid) else cast(Ordered, part)

    @property
    def exceeded(self) -> list[float]:
        """By how much the cutoff error of each class may exceed that of its cells."""
        parts = cast(PerLabel, self.parts[EACH]).parts
        return [KUIPER.exceeded(part) if isinstance(part, Grid) else 0.0 for part in parts]

    def result(self, entry: Entry[Any, Any]) -> Any:
        """Return the result of a verb; refuse verbs that need the rows."""
        if entry.name in self.parts:
            return entry.finish(self.parts[entry.name], entry.usual)
        raise NotApplicableError(f"for class probabilities {IN_BATCHES}")

    def notion(self, notion: str) -> float:
        """Return the expected calibration error of a notion."""
        part = next(self.parts[name] for name, other in NOTION_OF.items() if other == notion)
        return float(ECE.finish(part, ECE.parse({"notion": notion})))


ClassFacts = RowClasses | CountedClasses
"""Class probabilities and the classes that occurred, as rows or as a summary."""


def audit_classes(rows: Classes | CountedClasses, setting: Setting) -> KindFindings:
    """Audit class probabilities, from rows or from a summary: the most probable class first, then each class."""
    facts = RowClasses(rows) if isinstance(rows, Classes) else rows
    top = audit_pairs(facts.top, setting, TOP_CLASS)
    parts = _class_parts(facts, setting)
    whole, missing = collected([SKCE_TEST, *MEANS], facts.result)
    section = Section(
        "classes",
        "All classes",
        "Does each class happen as often as predicted?",
        (*(_renamed(m) for m in whole), *_notions(facts)),
        parts.figures,
        (parts.table,),
    )
    questions = questions_on_classes(rows, setting.class_names) if isinstance(rows, Classes) else []
    case = replace(top.case, families=(parts.family,), notes=(*questions, *top.case.notes))
    found = KindFindings((*top.sections, section), case, (*top.caveats, *missing, *_rare(facts)))
    return with_recalibration(found, rows, setting) if isinstance(rows, Classes) else without_rows(found, IN_BATCHES)


def _renamed(measurement: Measurement) -> Measurement:
    """Mark a measurement as one of whole vectors, not of the most probable class."""
    return replace(measurement, name=f"classes.{measurement.name}", label=f"{measurement.label} (all classes)")


def _notions(facts: ClassFacts) -> list[Measurement]:
    return [Measurement(f"ece.{notion}", label, facts.notion(notion)) for notion, label in NOTION_LABELS.items()]


def _class_parts(facts: ClassFacts, setting: Setting) -> Grouped:
    """Test each class against the rest."""
    summaries = [facts.against_the_rest(k) for k in range(facts.K)]
    found = part_test(
        summaries, setting.class_names, level=setting.family_level, exceeded=facts.exceeded, rng=setting.rng
    )
    errors = np.array([ECE.finish(summary, ECE.usual) for summary in summaries])
    return _parts(found, setting, noun="class", title="Each class against the rest", further={"ece": errors})


def _rare(facts: ClassFacts) -> list[Note]:
    rare = int(np.count_nonzero(facts.counts < SMALL_GROUP))
    return [note("few of classes", rare=rare, K=facts.K, least=SMALL_GROUP)] if rare else []


def binary_groups(rows: Binary | Classes, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Test groups of rows, of class probabilities by their most probable class."""
    pairs, level = rows if isinstance(rows, Binary) else rows.top_label(), setting.family_level
    if setting.clusters is not None:
        return _parts(clustered_groups(pairs, groupings, setting.clusters, level=level, rng=setting.rng), setting)
    return _parts(group_test(pairs, groupings, level=level, rng=setting.rng), setting)


def cell_groups(groups: Iterable[GroupCells], setting: Setting) -> Grouped:
    """Test groups whose rows were counted in cells."""
    return _parts(counted_groups(groups, level=setting.family_level, rng=setting.rng), setting)


def _parts(
    found: GroupFindings,
    setting: Setting,
    *,
    noun: Literal["group", "class"] = "group",
    title: str = "Groups",
    further: Mapping[str, FloatArray] | None = None,
) -> Grouped:
    """Return the table of groups or classes, the most surprising first, their picture, claims and words."""
    order = surprising_first(found)

    def column(values: Any) -> tuple[Any, ...]:
        listed = np.asarray(values)[order].tolist()
        return tuple(None if isinstance(value, float) and math.isnan(value) else value for value in listed)

    several = {"group": "groups", "class": "classes"}[noun]
    low = column(stated_low(found, setting))
    small = words.small_groups(int(np.count_nonzero(found.n < SMALL_GROUP))) if noun == "group" else ""
    table = Table(
        several,
        title,
        {
            noun: tuple(found.names[i] for i in order),
            "n": column(found.n),
            "predicted": column(found.predicted),
            "bias": column(found.bias),
            "bias_low": column(found.bias_low),
            "bias_high": column(found.bias_high),
            "cutoff_error": column(found.estimate),
            "limits": tuple(None if None in pair else pair for pair in zip(low, column(found.high), strict=True)),
            **{name: column(values) for name, values in (further or {}).items()},
            "pvalue_adjusted": column(setting.adjusted(found.pvalue_adjusted)),
            "minimum_detectable": column(found.minimum_detectable),
        },
        f"Bias is the observed less the predicted frequency. All limits are for all {several} "
        f"together. P-values of Kuiper's and Cox's statistic allow for all {several} and all families of "
        f"tests; the lower limit of an error is 0 unless they reject. The last column is the constant error found 4 "
        f"times in 5.{small}",
    )
    figure = groups_figure(table, level=setting.level)
    return Grouped(table, group_family(found, setting, noun), (figure,))
