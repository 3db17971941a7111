"""The audit of probabilities: of one event, of classes, and of groups of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.auditing.measurements import (
    MEANS,
    SCORES,
    Scores,
    audit_options,
    collected,
    count_scores,
    cutoff_limits,
    measure,
)
from calibrant.auditing.recalibration import with_recalibration
from calibrant.core import words
from calibrant.core.catalogue import Entry
from calibrant.core.evidence import ALL_ROWS, SMALL_GROUP, Case, Evidence, Subject, Whole, note
from calibrant.core.findings import Facts, Figure, Grouped, Kind, KindFindings, Measurement, Section, Setting, Table
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.core.plots import groups_figure
from calibrant.core.results import Curve, TestResult
from calibrant.core.row_order import questions_on_row_order
from calibrant.core.several import PerLabel
from calibrant.core.summary import Summary
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
    questions_on_classes,
    questions_on_dependence,
    questions_on_event,
    region_level,
    score_errors,
    stated_low,
    surprising_first,
    whole_evidence,
)
from calibrant.probabilities.group_test import GroupFindings, counted_groups, group_test, part_test
from calibrant.probabilities.reliability_curve import RELIABILITY_CURVE

MAX_SCORES_DRAWN, MAX_SCORES_REFITTED = 4_000, 1_000
TOP, EACH = "top", "each"  # in the names of summaries of class probabilities
CLASSWISE = "classwise"
NOTION_LABELS = {
    "top-label": "expected calibration error within predicted labels, 15 bins",
    "classwise": "expected calibration error of each class against the rest, 15 bins",
}


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


def audit_scores(scores: Scores, setting: Setting, asked: Asked) -> KindFindings:
    summary = scores.ordered
    whole, test, limits = _evidence(scores, setting, asked.subject)
    questions = questions_on_event(summary) if asked is EVENT else []
    if asked is EVENT and setting.clusters is None and scores.complete:
        y, p = scores.rows.y, scores.rows.p
        questions += questions_on_dependence(p) or questions_on_row_order(y, score_errors(y, p))
    measurements, missing = measure(scores, setting)
    more = [] if scores.complete else [note("sampled kernel", n=scores.rows.n)]
    if setting.clusters is not None:
        measurements = tuple(replace(line, interval=None, expected=None, pvalue=None) for line in measurements)
        more.insert(0, note("dependent"))
    infinite = any(line.name == "log_score" and math.isinf(line.value) for line in measurements)
    lines = (*_decisive(measurements[0], test, limits, whole.total, setting), *measurements[1:])
    section = Section(asked.name, asked.title, asked.intro, lines, _figures(summary, setting, whole.total))
    keep = caveats(summary, setting, pooled=scores.pooled, infinite=infinite)
    return KindFindings((section,), Case(whole, notes=(*questions, *advice(summary))), (*keep, *missing, *more))


def _evidence(scores: Scores, setting: Setting, subject: Subject) -> tuple[Whole, TestResult, Limits]:
    """Test all rows and find the limits of their error; with clusters from sums over each of them."""
    summary, rate = scores.ordered, 1 - region_level(setting)
    clusters = None
    if setting.clusters is not None:
        clusters = Clusters.of(scores.rows, setting.clusters)
        statistics = clusters.statistics(setting.resamples, setting.rng)
        test = smallest_of_four(
            statistics, n=summary.n, estimate=clusters.estimate, how=f"{setting.resamples} {METHOD}"
        )
        test = replace(test, statistic=0.0, pvalue=0.0) if has_impossible(summary) else test
        ranges = range_evidence(scores.rows, setting.clusters, rate=rate)
        limits = clusters.limits(setting.resamples, setting.rng)
    else:
        options = CALIBRATION_TEST.parse({"resamples": setting.resamples, "rng": setting.rng})
        test = CALIBRATION_TEST.finish(summary, options)
        banded = {"bins": 10, "strategy": "mass", "simultaneous": True, "level": region_level(setting)}
        ranges = bin_evidence(_reliability(summary, setting, **banded), rate=rate, exact=summary.has_equal_weights)
        limits = cutoff_limits(scores)
    whole = whole_evidence(summary, test, limits, setting, subject=subject, ranges=ranges, clusters=clusters)
    return whole, test, limits


def _decisive(
    cutoff: Measurement, test: TestResult, limits: Limits, total: Evidence, setting: Setting
) -> tuple[Measurement, ...]:
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
    rare, level = is_rare(total.mean, setting), words.confidence_words(setting.level)
    refits = max(setting.resamples, fewest_refits(setting.level))
    isotonic = {"strategy": "isotonic", "simultaneous": True, "resamples": refits}
    return (
        Figure(
            "reliability",
            "Predicted against observed",
            f"Each dot is a bin of predictions{' with about as many rows as the others' if rare else ''}. On the "
            "diagonal what was predicted happened as often as predicted; below it predictions are too high, above it "
            f"too low. The grey boxes together contain all dots of calibrated predictions with probability {level}.",
            _reliability(summary, setting, simultaneous=True, strategy="mass" if rare else "width"),
        ),
        Figure(
            "isotonic",
            "Recalibrated",
            "The line shows what each prediction should have been, judged by these rows. The grey region contains the "
            f"whole line of calibrated predictions with probability {level}.",
            _reliability(summary.at_most(MAX_SCORES_REFITTED), setting, **isotonic),
        ),
        Figure(
            "cumulative",
            "Cumulative differences",
            "Rows are added in the order of their predictions. Where the line rises predictions are too low, where it "
            "falls too high, and the steeper the more. No bins are needed.",
            CUMULATIVE_DIFFERENCES.finish(cells, CUMULATIVE_DIFFERENCES.usual),
        ),
    )


@dataclass(frozen=True)
class ClassScores:
    """Class probabilities: the scores of the most probable class, and of each class against the rest."""

    facts: Facts

    @property
    def rows(self) -> Classes:
        return cast(Classes, self.facts.rows)

    @property
    def top(self) -> Scores:
        rows, counted = self.rows.top_label(), self.facts.counted
        if counted is None:
            return Scores.of(Facts(rows, rows.n))
        names = (SCORES, *(entry.name for entry in MEANS))
        return Scores.of(Facts(rows, self.facts.n, {name: counted[f"{TOP} {name}"] for name in names}))

    @cached_property
    def parts(self) -> Sequence[Summary]:
        return cast(PerLabel, self.facts.of_all(EACH, lambda rows: PerLabel.of(rows, CLASSWISE, Ordered.of))).parts

    @cached_property
    def each(self) -> list[Ordered]:
        return [part.ordered() if isinstance(part, Grid) else cast(Ordered, part) for part in self.parts]

    @property
    def exceeded(self) -> list[float]:
        """By how much the cutoff error of each class may exceed that of its cells."""
        return [KUIPER.exceeded(part) if isinstance(part, Grid) else 0.0 for part in self.parts]

    @property
    def counts(self) -> NDArray[np.integer[Any]]:
        """How often each class occurred; with unequal weights cells give it only approximately."""
        if self.facts.complete:
            return np.bincount(self.rows.y, minlength=self.rows.K)
        return np.array([round(float(part.events.sum())) for part in self.each])

    def result(self, entry: Entry[Any, Any]) -> Any:
        if self.facts.counted is not None and entry.name in self.facts.counted:
            return entry.finish(self.facts.counted[entry.name], entry.usual)
        return entry.of_rows(self.rows, entry.parse(audit_options(entry, self.rows)))

    def notion(self, notion: str) -> float:
        options = ECE.parse({"notion": notion})
        return float(ECE.finish(self.facts.of_all(notion, lambda rows: ECE.summarise(rows, options)), options))


def count_classes(rows: Classes, setting: Setting, exact: bool) -> dict[str, Summary]:
    of_top = count_scores(rows.top_label(), exact=exact)
    return {
        **{f"{TOP} {name}": summary for name, summary in of_top.items()},
        EACH: PerLabel.of(rows, CLASSWISE, Ordered.of if exact else Grid.of),
        **{notion: ECE.summarise(rows, ECE.parse({"notion": notion})) for notion in NOTION_LABELS},
        **{entry.name: entry.summarise(rows, entry.usual) for entry in MEANS},
    }


def audit_classes(facts: Facts, setting: Setting) -> KindFindings:
    scores = ClassScores(facts)
    top = audit_scores(scores.top, setting, TOP_CLASS)
    tested = part_test(
        scores.each, setting.class_names, level=setting.family_level, exceeded=scores.exceeded, rng=setting.rng
    )
    further = {"ece": np.array([ECE.finish(summary, ECE.usual) for summary in scores.each])}
    parts = _parts(tested, setting, noun="class", title="Each class against the rest", further=further)
    whole, missing = collected([SKCE_TEST, *MEANS], scores.result)
    lines = [replace(m, name=f"classes.{m.name}", label=f"{m.label} (all classes)") for m in whole]
    lines += [Measurement(f"ece.{notion}", label, scores.notion(notion)) for notion, label in NOTION_LABELS.items()]
    question = "Does each class happen as often as predicted?"
    section = Section("classes", "All classes", question, tuple(lines), parts.figures, (parts.table,))
    questions = questions_on_classes(scores.rows, setting.class_names)
    case = replace(top.case, families=(parts.family,), notes=(*questions, *top.case.notes))
    rare = int(np.count_nonzero(scores.counts < SMALL_GROUP))
    few = [note("few of classes", rare=rare, K=scores.rows.K, least=SMALL_GROUP)] if rare else []
    found = KindFindings((*top.sections, section), case, (*top.caveats, *missing, *few))
    return with_recalibration(found, facts, setting)


def binary_groups(rows: Binary | Classes, groups: Sequence[Grouping | GroupCells], setting: Setting) -> Grouped:
    level, rng = setting.family_level, setting.rng
    cells = [each for each in groups if isinstance(each, GroupCells)]
    if cells:
        return _parts(counted_groups(cells, level=level, rng=rng), setting)
    pairs, groupings = rows.pairs(), [each for each in groups if isinstance(each, Grouping)]
    if setting.clusters is not None:
        return _parts(clustered_groups(pairs, groupings, setting.clusters, level=level, rng=rng), setting)
    return _parts(group_test(pairs, groupings, level=level, rng=rng), setting)


def count_groups(rows: Binary | Classes, grouping: Grouping, setting: Setting) -> GroupCells:
    return GroupCells.of(rows.pairs(), grouping)


def _parts(
    found: GroupFindings,
    setting: Setting,
    *,
    noun: Literal["group", "class"] = "group",
    title: str = "Groups",
    further: Mapping[str, FloatArray] | None = None,
) -> Grouped:
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


BINARY = Kind(
    lambda facts, setting: with_recalibration(audit_scores(Scores.of(facts), setting, EVENT), facts, setting),
    binary_groups,
    lambda rows, setting, exact: count_scores(rows, exact=exact),
    count_groups,
)
CLASSES = Kind(audit_classes, binary_groups, count_classes, count_groups, ("the most probable class", "each class"))
