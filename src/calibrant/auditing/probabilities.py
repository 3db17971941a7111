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
from calibrant.auditing.recalibration import with_group_maps, with_recalibration
from calibrant.core import words
from calibrant.core.catalogue import Entry
from calibrant.core.evidence import ABOVE_0, ALL_ROWS, SMALL_GROUP, Case, Evidence, Subject, Whole, note
from calibrant.core.findings import Facts, Figure, Grouped, Kind, KindFindings, Measurement, Section, Setting, Table
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.ordered import Ordered
from calibrant.core.plots import groups_figure
from calibrant.core.results import Curve, TestResult
from calibrant.core.several import PerLabel
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.judging.judge import RARE, is_rare
from calibrant.kernel_errors.skce_test import SKCE_TEST
from calibrant.probabilities.binned_errors import ECE
from calibrant.probabilities.calibration_test import CALIBRATION_TEST, has_impossible, smallest_of_four
from calibrant.probabilities.clusters import (
    METHOD,
    Clusters,
    cluster_noise,
    cluster_ranges,
    clustered_groups,
    clustered_sizes,
    size_of_clusters,
)
from calibrant.probabilities.consistency_band import fewest_refits
from calibrant.probabilities.cumulative import CUMULATIVE_DIFFERENCES, KUIPER
from calibrant.probabilities.evidence import (
    advice,
    bin_evidence,
    caveats,
    group_family,
    notes_on_size,
    questions_on_classes,
    questions_on_dependence,
    questions_on_event,
    region_level,
    rows_to_pass,
    score_errors,
    stated_low,
    surprising_first,
    whole_evidence,
)
from calibrant.probabilities.group_test import (
    GroupFindings,
    counted_groups,
    group_test,
    part_test,
    sized,
    sizes_of_groups,
)
from calibrant.probabilities.reliability_curve import RELIABILITY_CURVE
from calibrant.probabilities.size import Size, largest_gap, size_of

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
    whole, test, size = _evidence(scores, setting, asked.subject)
    questions = questions_on_event(summary) if asked is EVENT else []
    if asked is EVENT and setting.clusters is None and scores.complete:
        questions += questions_on_dependence(scores.rows.p)
    measurements, missing = measure(scores, setting)
    more = [] if scores.complete else [note("sampled kernel", n=scores.rows.n)]
    if setting.clusters is not None:
        measurements = tuple(replace(line, interval=None, expected=None, pvalue=None) for line in measurements)
        more.insert(0, note("dependent"))
    infinite = any(line.name == "log_score" and math.isinf(line.value) for line in measurements)
    lines = (*_decisive(scores, measurements[0], test, size, whole, setting), *measurements[1:])
    section = Section(asked.name, asked.title, asked.intro, lines, _figures(summary, setting, whole.total))
    keep = caveats(summary, setting, pooled=scores.pooled, infinite=infinite)
    notes = (*questions, *advice(summary), *notes_on_size(whole, scores.summary, setting))
    return KindFindings((section,), Case(whole, notes=notes), (*keep, *missing, *more))


def _evidence(scores: Scores, setting: Setting, subject: Subject) -> tuple[Whole, TestResult, Size | None]:
    """Test all rows and find the size of their error; with clusters from sums over each of them."""
    if setting.clusters is not None:
        return _clustered(scores, setting, setting.clusters, subject)
    summary = scores.ordered
    options = CALIBRATION_TEST.parse({"resamples": setting.resamples, "rng": setting.rng})
    test, size = CALIBRATION_TEST.finish(summary, options), size_of(scores.summary)
    shown: tuple[Evidence, ...] = ()
    if not summary.has_equal_weights:  # ranges have no limits, and can explain alone
        banded = {"bins": 10, "strategy": "mass", "simultaneous": True, "level": region_level(setting)}
        shown = bin_evidence(_reliability(summary, setting, **banded))
    found = scores.summary, size, cutoff_limits(scores), test, setting
    needed = rows_to_pass(scores.summary, setting)
    return whole_evidence(*found, subject=subject, shown=shown, needed=needed), test, size


def _clustered(
    scores: Scores, setting: Setting, labels: NDArray[np.intp], subject: Subject
) -> tuple[Whole, TestResult, Size | None]:
    summary, clusters = scores.ordered, Clusters.of(scores.rows, labels)
    statistics = clusters.statistics(setting.resamples, setting.rng)
    test = smallest_of_four(statistics, n=summary.n, estimate=clusters.estimate, how=f"{setting.resamples} {METHOD}")
    test = replace(test, statistic=0.0, pvalue=0.0) if has_impossible(summary) else test
    size, cutoff = size_of_clusters(scores.rows, labels, clusters), clusters.limits(setting.resamples, setting.rng)
    shown = cluster_ranges(scores.rows, labels, rate=1 - region_level(setting))
    needed = rows_to_pass(summary, setting, (clusters, cluster_noise(scores.rows, labels, clusters)))
    whole = whole_evidence(summary, size, cutoff, test, setting, subject=subject, shown=shown, needed=needed)
    return whole, test, size


def _decisive(
    scores: Scores, cutoff: Measurement, test: TestResult, size: Size | None, whole: Whole, setting: Setting
) -> tuple[Measurement, ...]:
    total = whole.total
    low = max(total.low, ABOVE_0) if setting.rejects(total.pvalue) else 0.0
    stated = (low, total.high) if low > ABOVE_0 or total.high < 1 else None
    found = [replace(cutoff, interval=stated if size is None else cutoff.interval, decides=True)]
    if size is not None:
        label = f"calibration error, root mean square, {size.ranges:,} range{'' if size.ranges == 1 else 's'}"
        how = "; ".join([size.limits.method, *(["ranges of whole cells"] if scores.pooled else [])])
        line = Measurement("rms_error", label, total.estimate, interval=stated, method=how, decides=True)
        found.insert(0, line)
    found.append(
        Measurement(
            "calibration_test",
            "smallest p-value of four tests",
            float(test.statistic),
            pvalue=total.pvalue,
            method=test.method,
            details={name: float(value) for name, value in test.details.items()},
            decides=True,
        )
    )
    if setting.clusters is None and scores.summary.has_equal_weights:
        largest = largest_gap(scores.summary, 1 - region_level(setting))
        how, limits = "exact limits in tenths and twentieths of the rows", (largest.low, largest.high)
        label = "largest error of a range"
        found.append(Measurement("range_error", label, largest.estimate, interval=limits, method=how, decides=True))
    return tuple(found)


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
    def parts(self) -> Sequence[Ordered | Grid]:
        counted: PerLabel = self.facts.of_all(EACH, lambda rows: PerLabel.of(rows, CLASSWISE, Ordered.of))
        return cast(Sequence[Ordered | Grid], counted.parts)

    @cached_property
    def each(self) -> list[Ordered]:
        return [part.ordered() if isinstance(part, Grid) else part for part in self.parts]

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
    tested = sized(tested, [size_of(part) for part in scores.parts], setting.family_level)
    shares = np.divide(tested.estimate, tested.never, out=np.full(len(tested.names), np.nan), where=tested.never > 0)
    further = {"ece": np.array([ECE.finish(summary, ECE.usual) for summary in scores.each])}
    is_rare_class = tested.predicted < RARE
    if is_rare_class.any():
        further = {"share_if_never": np.where(is_rare_class, shares, np.nan), **further}
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
        found = counted_groups(cells, level=level, rng=rng)
        return _parts(sized(found, [size_of(grid) for each in cells for grid in each.grids()], level), setting)
    pairs, groupings = rows.pairs(), [each for each in groups if isinstance(each, Grouping)]
    if setting.clusters is None:
        tested = group_test(pairs, groupings, level=level, rng=rng)
        found = sized(tested, sizes_of_groups(pairs, groupings), level)
    else:
        tested = clustered_groups(pairs, groupings, setting.clusters, level=level, rng=rng)
        found = sized(tested, clustered_sizes(pairs, groupings, setting.clusters), level)
    return with_group_maps(_parts(found, setting), rows, groupings, setting)


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
    is_cutoff = np.array([quantity == "cutoff_error" for quantity in found.quantity])
    low = column(stated_low(found, setting))
    small = words.small_groups(int(np.count_nonzero(found.n < SMALL_GROUP))) if noun == "group" else ""
    rare = " Rare classes have it as a share of their error if they never happened, too." if further else ""
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
            "rms_error": column(np.where(is_cutoff, np.nan, found.estimate)),
            **({"cutoff_error": column(np.where(is_cutoff, found.estimate, np.nan))} if is_cutoff.any() else {}),
            "limits": tuple(None if None in pair else pair for pair in zip(low, column(found.high), strict=True)),
            **{name: column(values) for name, values in (further or {}).items()},
            "pvalue_adjusted": column(setting.adjusted(found.pvalue_adjusted)),
            "minimum_detectable": column(found.minimum_detectable),
        },
        "The error is the root mean square over ranges of similar scores. Bias is the observed less the predicted "
        f"frequency. All limits are for all {several} together. P-values of Kuiper's and Cox's statistic allow for all "
        f"{several} and all families of tests; the lower limit of an error is 0 unless they reject and bound it. The "
        f"last column is the constant error found 4 times in 5.{small or rare}",
    )
    figure = groups_figure(table, level=setting.level)
    return Grouped(table, group_family(found, setting, noun), (figure,))


def errors_of_top_label(rows: Classes) -> FloatArray:
    """Return whether the most probable class happened, less its probability."""
    top = rows.top_label()
    return score_errors(top.y, top.p)


BINARY = Kind(
    lambda facts, setting: with_recalibration(audit_scores(Scores.of(facts), setting, EVENT), facts, setting),
    binary_groups,
    lambda rows, setting, exact: count_scores(rows, exact=exact),
    count_groups,
    lambda rows: score_errors(rows.y, rows.p),
)
CLASSES = Kind(
    audit_classes,
    binary_groups,
    count_classes,
    count_groups,
    errors_of_top_label,
    ("the most probable class", "each class"),
)
