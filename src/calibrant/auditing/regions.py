"""Audit of prediction intervals, sets and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.auditing.measurements import Collected, kernel_test, of_rows, sampled, score, score_parts
from calibrant.core.evidence import Case, Evidence, Note, PartKind, Subject, SubjectKind, note
from calibrant.core.findings import Facts, Figure, Grouped, Kind, KindFindings, Measurement, Section, Setting, Table
from calibrant.core.results import Curve, QuantileDecomposition, TestResult
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping, RowLabels
from calibrant.inputs.options import DIGITS
from calibrant.inputs.rows import IntervalRows, QuantileRows, RegionRows, SetRows
from calibrant.probabilities.reliability_curve import reliability_curve
from calibrant.ranking.pit import pit_histogram
from calibrant.regions import audit_tables as sized
from calibrant.regions.audit_tables import MAX_LEVELS_SHOWN
from calibrant.regions.evidence import (
    COVERAGE,
    SHARE_BELOW,
    Beside,
    Judged,
    Plan,
    conformal_caveat,
    coverage_whole,
    nesting_caveat,
    part_family,
    questions,
    seen_caveat,
    ties_caveat,
    weights_caveat,
)
from calibrant.regions.hits import CoveredRows, HitTable
from calibrant.regions.lines import Lines, Rule, central_table, filled, level_lines
from calibrant.regions.width import width
from calibrant.scores.decompose import decompose
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

RECALIBRATE = note("recalibrate", only="miscalibrated")


HITS = "hits"
COVERAGES = "Coverage of each level and of groups counts"


def count_hits(rows: CoveredRows, setting: Setting, exact: bool) -> dict[str, Summary]:
    return {HITS: HitTable.of(rows)}


def count_hits_of_groups(rows: CoveredRows, grouping: Grouping, setting: Setting) -> HitTable:
    return HitTable.of(rows, sized.labels_of(grouping))


def audit_intervals(facts: Facts, setting: Setting) -> KindFindings:
    rows: IntervalRows = facts.rows
    found = sized.covered(rows, facts.of_all(HITS, HitTable.of), setting)
    finite = np.ravel(of_rows(width, rows, statistic="finite_fraction"))
    spread = "mean" if finite.min() == 1 else "median"
    widths = np.ravel(of_rows(width, rows, statistic=spread))
    share = "share of finite widths" if finite.size == 1 else "finite share"  # not cut where the line is long
    statistics = {
        ("width" if spread == "mean" else "width.median", f"{spread} width"): widths,
        ("width.finite_fraction", share): finite,
    }
    kernel, missing = kernel_test(rows, setting, finite=finite.min() == 1)
    scored, not_scored = score_levels(interval_score, "interval score", "intervals", rows, setting)
    tables = sized.per_level(
        found,
        {f"{spread} width": widths, "finite": finite, "interval score": of_rows(interval_score, rows)},
        "Width and score of each level",
        "The interval score is the width plus a penalty for what lies outside; lower is better.",
    )
    further = (*_by_level(found, "intervals", statistics), *scored)
    sections = _sized_sections(found, setting, "intervals", "width", further, kernel, tables)
    keep = (*sampled(facts, COVERAGES), *_infinite(rows), *_caveats(rows, found, "intervals", setting))
    caveats: tuple[Note | str, ...] = (*keep, *missing, *not_scored)
    return KindFindings(sections, _sized_case(found, "intervals", "width", setting), caveats)


def hits_of_rows(rows: CoveredRows) -> FloatArray:
    """Return at how many levels each outcome is covered, or is at most the quantile."""
    return np.asarray(rows.covered.sum(axis=1), np.float64)


def _sized_sections(
    found: sized.Covered,
    setting: Setting,
    kind: SubjectKind,
    size: PartKind,
    further: Sequence[Measurement],
    kernel: Sequence[Measurement],
    tables: tuple[Table, ...],
) -> tuple[Section, Section]:
    lines = (*further, *sized.described(kernel, setting, exact=found.lines.exact))
    return sized.coverage_section(found, setting, kind, lines, tables), sized.size_section(found, setting, kind, size)


def _sized_case(found: sized.Covered, kind: SubjectKind, size: PartKind, setting: Setting) -> Case:
    judged, m = Judged(found.lines, kind), setting.calibration_size
    remedies = [note("conformal" if m is None else "calibration rows", only="miscalibrated")]
    remedies.append(note("conformal parts", only="part", size=size))
    if m is not None:
        remedies.append(note("calibration set", only="no rows", m=m))
    return coverage_case([judged], found.beside, found.plan(setting), setting, found.parts(kind, size), tuple(remedies))


def coverage_case(
    judged: Sequence[Judged],
    beside: Beside | None,
    plan: Plan,
    setting: Setting,
    parts: Sequence[Judged] = (),
    remedies: tuple[Note, ...] = (RECALIBRATE,),
) -> Case:
    whole = coverage_whole(judged, beside, plan, setting)
    families = (part_family(parts, setting),) if parts else ()
    if whole is None:
        return Case(None, notes=(note("weighted coverage"),), seen=judged[0].seen())
    return Case(whole, families, (*questions(judged[0]), *remedies))


def _by_level(found: sized.Covered, things: str, statistics: dict[tuple[str, str], Any]) -> list[Measurement]:
    """Return measurements of each level, given by name, label and values; of many levels they are in a table."""
    return [
        sized.at_level(Measurement(name, label, float(values[k])), things, found.table.levels, k)
        for (name, label), values in statistics.items()
        for k in sized.places_of(found)
    ]


def _caveats(rows: IntervalRows | SetRows, found: sized.Covered, kind: str, setting: Setting) -> list[Note]:
    known = rows.prediction.levels is not None
    return [
        *nesting_caveat(rows),
        *weights_caveat(rows.n, rows.w),
        *ties_caveat(found.table, found.lines.rule, setting),
        *seen_caveat(found.lines, setting),
        *(conformal_caveat(kind, setting) if known else []),
    ]


def _infinite(rows: IntervalRows) -> list[Note]:
    lower, upper = np.isinf(rows.prediction.lower), np.isinf(rows.prediction.upper)
    shares = {"no bound": lower & upper, "one-sided": lower != upper}
    found = {key: float(np.mean(marked, axis=0).max()) for key, marked in shares.items()}
    return [note(key, share=share) for key, share in found.items() if share]


STATISTICS = {
    ("width", "mean set size"): "mean",
    ("width.empty_fraction", "share of empty sets"): "empty_fraction",
    ("width.singleton_fraction", "share of single labels"): "singleton_fraction",
}


def audit_sets(facts: Facts, setting: Setting) -> KindFindings:
    """Audit sets: their coverage, by size, and by the label that happened.

    By default only too low a coverage counts: sets promise at least their level, which the coverage of sets of labels
    cannot equal exactly. By label coverage is shown but not judged: sets that are right for every row cover rare labels
    less often.
    """
    rows: SetRows = facts.rows
    found = sized.covered(rows, facts.of_all(HITS, HitTable.of), setting)
    known = rows.prediction.levels is not None
    sizes = {names: np.ravel(of_rows(width, rows, statistic=statistic)) for names, statistic in STATISTICS.items()}
    columns = {label: values for (_, label), values in sizes.items()}
    tables = sized.per_level(found, columns, "Size of the sets of each level", "")
    kernel, missing = kernel_test(rows, setting) if known else ((), ())
    sections = _sized_sections(found, setting, "sets", "size", _by_level(found, "sets", sizes), kernel, tables)
    seen = Evidence(Subject("sets"), COVERAGE, float(found.lines.curve.coverage[0]), rows=found.table.n, describes=True)
    case = Case(None, notes=(note("no level"),), seen=(seen,))
    if known:
        case = _sized_case(found, "sets", "size", setting)
    caveats: tuple[Note | str, ...] = (*sampled(facts, COVERAGES), *_caveats(rows, found, "sets", setting), *missing)
    return KindFindings((*sections, _by_label(rows, found, setting)), case, caveats)


def _by_label(rows: SetRows, found: sized.Covered, setting: Setting) -> Section:
    occurring, code = np.unique(rows.y, return_inverse=True)
    names = tuple(setting.class_names[k] for k in occurring.tolist())
    table = HitTable.of(rows, RowLabels(code.astype(np.intp), names))
    curve = level_lines(table, setting, found.lines.rule, tests=filled(table)).curve
    order = np.lexsort([curve.coverage, curve.nominal])
    columns = {name: column[order] for name, column in curve.columns.items() if not name.startswith("pvalue")}
    shown = sized.line_table(
        "labels",
        "Coverage by the label that happened",
        replace(curve, columns=columns),
        "Shown, not judged: sets that are right for every row cover rare labels less often than others. Limits cover "
        "all lines together.",
        first="label",
    )
    return Section("labels", "By label", "Which labels do the sets miss?", (), (), (shown,))


MAX_DRAWN_ROWS, MAX_DRAWN_POINTS, MAX_DRAWN_LEVELS = 20_000, 200, 5
MAX_PIT_BINS, MIN_PIT_BINS = 10, 3  # below three bins a histogram shows no shape


def coverage_figure(lines: Lines) -> tuple[Figure, ...]:
    reading = (
        "The share of outcomes that do not exceed each quantile. On the dashed line it is what the level says; below "
        "it quantiles are too low, above it too high. Below on the right and above on the left: too narrow. The band "
        "covers all levels together."
    )
    figure = Figure("coverage", "Nominal against observed levels", reading, lines.curve)
    return () if lines.curve.nominal.size < 2 else (figure,)


def pit_figure(rows: Any, level: float) -> tuple[Figure, ...]:
    bins = pit_bins(rows.prediction.levels) if isinstance(rows, QuantileRows) else MAX_PIT_BINS
    if bins < MIN_PIT_BINS:
        return ()
    reading = (
        f"The share of outcomes in each of {bins} equal parts of their predicted distribution, over the share "
        "expected. Flat: calibrated. A U: too narrow. A dome: too wide. A slope: predictions too low (rising) or "
        "too high (falling). The band covers all bars together."
    )
    curve = of_rows(pit_histogram, rows, bins=bins, level=level)
    return (Figure("pit_histogram", "Where outcomes fall in the prediction", reading, curve),)


def pit_bins(levels: NDArray[Any]) -> int:
    """Return the largest number of equal bins, at most 10, whose edges are all levels; 1 if there is none.

    >>> pit_bins(np.array([0.05, 0.25, 0.5, 0.75, 0.95])), pit_bins(np.arange(1, 20) / 20), pit_bins(np.array([0.9]))
    (4, 10, 1)
    """
    known = set(levels.round(DIGITS).tolist())
    fitting = [m for m in range(2, MAX_PIT_BINS + 1) if all(round(k / m, DIGITS) in known for k in range(1, m))]
    return max(fitting, default=1)


def reliability_figure(rows: QuantileRows, setting: Setting) -> tuple[Figure, ...]:
    """Return the picture of recalibrated quantiles, with no more rows, levels and points than can be seen."""
    if not np.isfinite(rows.prediction.values).all():
        return ()
    few = rows
    if rows.n > MAX_DRAWN_ROWS:
        few = rows.take(np.sort(setting.rng.choice(rows.n, MAX_DRAWN_ROWS, replace=False)))
    curve: Curve = of_rows(reliability_curve, few)
    levels = rows.prediction.levels[spread_places(rows.prediction.levels.size)]
    drawn = [np.flatnonzero(curve.level == level) for level in levels.tolist()]
    places = np.concatenate([each[spread_places(each.size, MAX_DRAWN_POINTS)] for each in drawn])
    reading = (
        "What each forecast quantile should have been, judged by these rows. Above the dashed line forecasts are "
        "too low, below it too high; lines wiggle by chance where forecasts are few."
    )
    curve = replace(curve, columns={name: column[places] for name, column in curve.columns.items()})
    return (Figure("quantile_reliability", "Recalibrated quantiles", reading, curve),)


def spread_places(number: int, most: int = MAX_DRAWN_LEVELS) -> NDArray[np.intp]:
    """Return at most so many places from 0 to number - 1, the outer ones among them."""
    return np.unique(np.linspace(0, number - 1, most).round().astype(np.intp))


MAX_DECOMPOSED_ROWS = 4_000_000  # over all levels
WIS = "weighted interval score"


@dataclass(frozen=True, eq=False)
class Levels:
    """Coverage of quantiles and of the central intervals between them, and all of them tested together."""

    table: HitTable
    lines: Lines
    central: Lines | None
    joint: TestResult | None
    further: int = 0  # tests of something else that share the error rate

    @classmethod
    def of(cls, table: HitTable, setting: Setting, further: int = 0) -> Levels:
        between, joint = central_table(table), sized.joint_test(table, setting, Rule())
        tests = filled(table) + (0 if between is None else filled(between)) + (joint is not None) + further
        central = None if between is None else level_lines(between, setting, Rule(), tests=tests)
        return cls(table, level_lines(table, setting, Rule(), tests=tests), central, joint, further)

    @property
    def judged(self) -> list[Judged]:
        first = [] if self.central is None else [Judged(self.central, "central intervals")]
        return [*first, Judged(self.lines, "quantile", SHARE_BELOW)]

    @property
    def tests(self) -> int:
        return sum(int(each.lines.tested.sum()) for each in self.judged) + (self.joint is not None) + self.further

    def case(self, setting: Setting) -> Case:
        beside = None if self.joint is None else Beside(sized.JOINT, self.joint.pvalue, self.tests, bounded=True)
        plan = Plan(self.table.levels, Rule(), self.lines.family_rate, central=self.central is not None)
        return coverage_case(self.judged, beside, plan, setting)

    def caveats(self, setting: Setting, rows: Any) -> list[Note]:
        tied = int((self.table.hits - self.table.hits_inside).max())
        ties = [note("on quantiles", tied=tied)] if tied else []
        return [*weights_caveat(rows.n, rows.w), *ties, *seen_caveat(self.judged[0].lines, setting)]


def quantile_groups(rows: Any, tables: Sequence[HitTable], setting: Setting) -> Grouped:
    few = spread_places(tables[0].levels.size)
    tables = [few_levels(table, few) for table in tables]
    return sized.grouped(tables, setting, Rule(), quantity=SHARE_BELOW, several=few.size > 1)


def audit_quantiles(facts: Facts, setting: Setting) -> KindFindings:
    rows: QuantileRows = facts.rows
    levels = Levels.of(facts.of_all(HITS, HitTable.of), setting)
    parts = _decomposed(rows)
    scored, not_scored = _scored(rows, setting, parts)
    kernel, missing = kernel_test(rows, setting, finite=bool(np.isfinite(rows.prediction.values).all()))
    section = Section(
        "quantiles",
        "Quantiles",
        "Do as many outcomes lie below each quantile as its level says?",
        (
            *sized.level_measurements(levels.lines, "coverage", "outcomes up to {} quantile"),
            *sized.joint_measurement(levels.joint, levels.tests, setting),
            *scored,
            *sized.described(kernel, setting, exact=levels.lines.exact),
        ),
        (*coverage_figure(levels.lines), *reliability_figure(rows, setting), *pit_figure(rows, setting.level)),
        (*level_tables(levels), *_score_table(rows, parts)),
    )
    keep = (*sampled(facts, COVERAGES), *levels.caveats(setting, rows))
    caveats: tuple[Note | str, ...] = (*keep, *missing, *not_scored)
    return KindFindings((section,), levels.case(setting), caveats)


def level_tables(levels: Levels) -> list[Table]:
    """Return the tables of central intervals, and of quantiles where they have no measurements of their own."""
    found = [quantile_table(levels)] if levels.table.levels.size > MAX_LEVELS_SHOWN else []
    if levels.central is None:
        return found
    together = "P-values and limits allow for these and all quantiles together."
    return [sized.line_table("central", "Central intervals between quantiles", levels.central.curve, together), *found]


def quantile_table(levels: Levels) -> Table:
    meaning = "Coverage is the share of outcomes that do not exceed the quantile."
    return sized.line_table("levels", "Quantiles", levels.lines.curve, meaning)


def few_levels(table: HitTable, places: NDArray[np.intp]) -> HitTable:
    kept = np.isin(table.level, places)
    columns = {name: getattr(table, name)[kept] for name in ("count", "w", "w2", "hits", "wc", "w2c", "inside")}
    return replace(
        table,
        levels=table.levels[places],
        group=tuple(group for group, keep in zip(table.group, kept.tolist(), strict=True) if keep),
        level=np.searchsorted(places, table.level[kept]).astype(np.int64),
        **columns,
    )


def _decomposed(rows: QuantileRows) -> QuantileDecomposition | None:
    values = rows.prediction.values
    if values.size > MAX_DECOMPOSED_ROWS or not np.isfinite(values).all():
        return None
    parts: QuantileDecomposition = of_rows(decompose, rows)
    return parts


def _scored(rows: QuantileRows, setting: Setting, parts: QuantileDecomposition | None) -> Collected:
    """Return the score of all levels with its parts, if they have one together, and then that of each level."""
    of, several = _score_name(rows), rows.prediction.levels.size > 1
    further, missing = score_levels(quantile_score, "score" if several else of, "quantile", rows, setting)
    found, not_scored = score(weighted_interval_score, of, rows, setting) if of == WIS else ((), ())
    missing = (*not_scored, *missing)
    if not several:
        found, further = further, ()
    if parts is None:
        left_out = "decompose is left out: some quantiles are infinite, or there are too many rows."
        return (*found, *further), (*missing, left_out)
    split = score_parts("its {} part", parts.wis if several else parts, f"part of the {of}") if found else ()
    return (*found, *split, *further), missing


def score_levels(verb: Callable[..., Any], label: str, things: str, rows: RegionRows, setting: Setting) -> Collected:
    """Return the mean score of each level, named by the level; nothing if many levels are in a table instead."""
    levels = rows.prediction.levels
    if levels.size > MAX_LEVELS_SHOWN:
        return (), ()
    found: list[Measurement] = []
    missing: list[str] = []
    for k, level in enumerate(levels.tolist()):
        scored, reasons = score(verb, label, type(rows)(rows.y, rows.prediction.at(level), rows.w), setting)
        found += [sized.at_level(measurement, things, levels, k) for measurement in scored]
        missing += reasons
    return tuple(found), tuple(dict.fromkeys(missing))


def _score_name(rows: QuantileRows) -> str:
    levels = rows.prediction.levels
    mirrored = 2 * len(rows.prediction.pairs()) + int((levels.round(DIGITS) == 0.5).sum())
    return WIS if levels.size > 1 and mirrored == levels.size else "quantile score"


def _score_table(rows: QuantileRows, parts: QuantileDecomposition | None) -> tuple[Table, ...]:
    levels = rows.prediction.levels
    if levels.size == 1:
        return ()
    split = {} if parts is None else {"miscalibration": parts.mcb, "discrimination": parts.dsc}
    columns = {"nominal": levels, "quantile score": of_rows(quantile_score, rows), **split}
    meaning = "Miscalibration is what isotonic recalibration would take off the score; it is above 0 by chance too."
    shown = {name: tuple(np.ravel(values).tolist()) for name, values in columns.items()}
    return (Table("scores", "Score of each level", shown, meaning),)


INTERVALS = Kind(
    audit_intervals,
    sized.sized_groups,
    count_hits,
    count_hits_of_groups,
    hits_of_rows,
    ("all rows", "rows of similar width or place"),
)
SETS = Kind(
    audit_sets, sized.sized_groups, count_hits, count_hits_of_groups, hits_of_rows, ("all rows", "rows of similar size")
)
QUANTILES = Kind(audit_quantiles, quantile_groups, count_hits, count_hits_of_groups, hits_of_rows)
