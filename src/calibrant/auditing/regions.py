"""Audit of prediction intervals, sets and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.auditing.measurements import Found, kernel_test, of_rows, score, score_levels
from calibrant.core.findings import Figure, Grouped, Measurement, Part, Section, Setting, Table, Verdict
from calibrant.core.results import Curve, QuantileDecomposition, TestResult
from calibrant.core.words import percent
from calibrant.inputs.groups import Grouping, RowLabels
from calibrant.inputs.options import DIGITS
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows
from calibrant.probabilities.reliability_curve import reliability_curve
from calibrant.ranking.pit import pit_histogram
from calibrant.regions import audit_tables as sized
from calibrant.regions import verdict as words
from calibrant.regions.audit_tables import (
    MAX_LEVELS_SHOWN,
    at_level,
    conformal_caveat,
    grouped,
    joint_measurement,
    level_measurements,
    line_table,
    nesting_caveat,
    seen_caveat,
    weights_caveat,
)
from calibrant.regions.hits import HitTable
from calibrant.regions.verdict import central_lines, coverage_lines, joint_test, labels_of
from calibrant.regions.width import width
from calibrant.scores.decompose import decompose
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

NO_WIDTH = "No group of intervals of like width is off by more than chance."


def audit_intervals(rows: IntervalRows, setting: Setting) -> Part:
    """Audit intervals: their coverage, and whether it changes with their width."""
    found = sized.covered(rows, setting, alternative="two-sided")
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
    wording = words.INTERVALS
    verdict = words.coverage_verdict("intervals", [(found.curve, wording)], found.joint, setting, advice=wording.advice)
    sentence = "Intervals of width {size} cover {share}"
    verdict = words.with_sizes(verdict, found.by_size, found.curve, setting, sentence, NO_WIDTH)
    further = (*_by_level(found, "intervals", statistics), *scored, *kernel)
    sections = (
        sized.coverage_section(found, setting, wording, further, tables),
        sized.size_section(found, setting, wording, "width"),
    )
    caveats = (*_infinite(finite), *_caveats(rows, found, wording.things, setting), *missing, *not_scored)
    return Part(sections, verdict, caveats)


def _by_level(found: sized.Covered, things: str, statistics: dict[tuple[str, str], Any]) -> list[Measurement]:
    """Return measurements of each level, given by name, label and values; of many levels they are in a table."""
    return [
        at_level(Measurement(name, label, float(values[k])), things, found.table.levels, k)
        for (name, label), values in statistics.items()
        for k in sized.places_of(found)
    ]


def _caveats(rows: IntervalRows | SetRows, found: sized.Covered, things: str, setting: Setting) -> list[str]:
    return [
        *nesting_caveat(rows),
        *weights_caveat(rows.n, rows.w),
        *seen_caveat(found.curve, found.tests, setting),
        *(conformal_caveat(things, setting) if rows.prediction.levels is not None else []),
    ]


def _infinite(finite: Any) -> list[str]:
    if finite.min() == 1:
        return []
    return [
        f"Up to {percent(1 - finite.min())} of the intervals are infinite, which cover every outcome and say nothing: "
        "the median width is shown, and the coverage of the others is lower."
    ]


NO_SIZE = "No size of sets covers less than its level by more than chance."
STATISTICS = {
    ("width", "mean set size"): "mean",
    ("width.empty_fraction", "share of empty sets"): "empty_fraction",
    ("width.singleton_fraction", "share of single labels"): "singleton_fraction",
}


def audit_sets(rows: SetRows, setting: Setting) -> Part:
    """Audit sets: their coverage, by size, and by the label that happened.

    By size and in groups only too low a coverage counts: the coverage of sets of labels cannot equal its level exactly,
    and small sets of easy rows cover more. By label coverage is shown but not judged: sets that are right for every row
    cover rare labels less often.
    """
    found = sized.covered(rows, setting, alternative="less")
    known = rows.prediction.levels is not None
    sizes = {names: np.ravel(of_rows(width, rows, statistic=statistic)) for names, statistic in STATISTICS.items()}
    columns = {label: values for (_, label), values in sizes.items()}
    tables = sized.per_level(found, columns, "Size of the sets of each level", "")
    kernel, missing = kernel_test(rows, setting) if known else ((), ())
    wording = words.SETS
    verdict = (
        words.coverage_verdict("sets", [(found.curve, wording)], found.joint, setting, advice=wording.advice)
        if known
        else _without_level(found)
    )
    sentence = "Sets of size {size} cover {share}"
    verdict = words.with_sizes(verdict, found.by_size, found.curve, setting, sentence, NO_SIZE)
    sections = (
        sized.coverage_section(found, setting, wording, (*_by_level(found, "sets", sizes), *kernel), tables),
        sized.size_section(found, setting, wording, "size"),
        _by_label(rows, setting),
    )
    return Part(sections, verdict, (*_caveats(rows, found, wording.things, setting), *missing))


def _without_level(found: sized.Covered) -> Verdict:
    return Verdict(
        "cannot tell",
        "These sets have no nominal level to compare their coverage with.",
        (
            f"They cover {percent(float(found.curve.coverage[0]))} of the outcomes. Pass Sets(mask, level) to say how "
            "many they should cover.",
        ),
    )


def _by_label(rows: SetRows, setting: Setting) -> Section:
    occurring, code = np.unique(rows.y, return_inverse=True)
    names = tuple(setting.class_names[k] for k in occurring.tolist())
    curve = coverage_lines(HitTable.of(rows, RowLabels(code.astype(np.intp), names)), setting)
    order = np.lexsort([curve.nominal, curve.coverage])
    columns = {name: column[order] for name, column in curve.columns.items() if not name.startswith("pvalue")}
    table = line_table(
        "labels",
        "Coverage by the label that happened",
        type(curve)(curve.kind, columns, curve.method, curve.n, curve.details),
        "Shown, not judged: sets that are right for every row cover rare labels less often than others.",
        first="label",
    )
    return Section("labels", "By label", "Which labels do the sets miss?", (), (), (table,))


MAX_DRAWN_ROWS, MAX_DRAWN_POINTS, MAX_DRAWN_LEVELS = 20_000, 200, 5
MIN_PIT_LEVELS = 5  # from which a histogram of the transform shows a shape


def coverage_figure(table: HitTable, setting: Setting) -> Figure:
    """Return the picture of nominal against observed levels of quantiles."""
    return Figure(
        "coverage",
        "Nominal against observed levels",
        "The share of outcomes that do not exceed each quantile. On the dashed line it is what the level says; below "
        "it quantiles are too low, above it too high. Below on the right and above on the left: too narrow. The band "
        "covers all levels together.",
        coverage_lines(table, setting, simultaneous=True),
    )


def pit_figure(rows: Any) -> tuple[Figure, ...]:
    """Return the histogram of the probability integral transform."""
    if isinstance(rows, QuantileRows) and rows.prediction.levels.size < MIN_PIT_LEVELS:
        return ()
    return (
        Figure(
            "pit_histogram",
            "Where outcomes fall in the prediction",
            "The share of outcomes in each tenth of their predicted distribution, over the share expected. Flat: "
            "calibrated. A "
            "U: too narrow. A dome: too wide. A slope: predictions too low (rising) or too high (falling).",
            of_rows(pit_histogram, rows),
        ),
    )


def reliability_figure(rows: QuantileRows, setting: Setting) -> tuple[Figure, ...]:
    """Return the picture of recalibrated quantiles, with no more rows, levels and points than can be seen."""
    if not np.isfinite(rows.prediction.values).all():
        return ()
    few = rows
    if rows.n > MAX_DRAWN_ROWS:
        few = rows.take(np.sort(setting.rng.choice(rows.n, MAX_DRAWN_ROWS, replace=False)))
    curve: Curve = of_rows(reliability_curve, few)
    chosen = rows.prediction.levels[spread_places(rows.prediction.levels)]
    kept = [_spread(np.flatnonzero(curve.level == level)) for level in chosen.tolist()]
    places = np.concatenate(kept)
    return (
        Figure(
            "quantile_reliability",
            "Recalibrated quantiles",
            "What each forecast quantile should have been, judged by these rows. Above the dashed line forecasts are "
            "too low, below it too high; lines wiggle by chance where forecasts are few.",
            replace(curve, columns={name: column[places] for name, column in curve.columns.items()}),
        ),
    )


def _spread(places: NDArray[np.intp]) -> NDArray[np.intp]:
    return places[np.unique(np.linspace(0, places.size - 1, MAX_DRAWN_POINTS).round().astype(np.intp))]


def spread_places(levels: Sequence[float] | NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of at most five levels, the outer ones among them."""
    return np.unique(np.linspace(0, len(levels) - 1, MAX_DRAWN_LEVELS).round().astype(np.intp))


MAX_DECOMPOSED_ROWS = 4_000_000  # over all levels
WIS = "weighted interval score"


@dataclass(frozen=True, eq=False)
class Levels:
    """Coverage of quantiles and of the central intervals between them, and all of them tested together."""

    table: HitTable
    curve: Curve
    central: Curve | None
    joint: TestResult | None

    @classmethod
    def of(cls, table: HitTable, setting: Setting) -> Levels:
        """Test the levels of a table."""
        return cls(table, coverage_lines(table, setting), central_lines(table, setting), joint_test(table, setting))

    @property
    def judged(self) -> list[tuple[Curve, words.Words]]:
        """The curves whose levels are tested, with their words."""
        first = [] if self.central is None else [(self.central, words.CENTRAL)]
        return [*first, (self.curve, words.QUANTILES)]

    @property
    def tests(self) -> int:
        """Number of tests of all levels."""
        return len(self.judged) + (self.joint is not None)

    def caveats(self, setting: Setting, rows: Any) -> list[str]:
        """Return what to keep in mind."""
        found = [*weights_caveat(rows.n, rows.w)]
        tied = int(np.rint((self.curve.coverage - self.curve.below).max() * rows.n))
        if tied:
            found.append(
                f"Up to {tied:,} outcomes lie on a quantile: levels are taken as right if they lie between the shares "
                "of outcomes below and at most at it, and are not tested jointly."
            )
        return [*found, *seen_caveat(self.judged[0][0], self.tests, setting)]


def quantile_groups(rows: QuantileRows, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return coverage per group, of at most five levels."""
    few = spread_places(rows.prediction.levels)
    curves = [few_levels(HitTable.of(rows, labels_of(grouping)), few, setting) for grouping in groupings]
    return grouped(curves, few.size > 1, words.QUANTILES)


def audit_quantiles(rows: QuantileRows, setting: Setting) -> Part:
    """Audit quantiles: how many outcomes lie below each, and between pairs of them."""
    levels = Levels.of(HitTable.of(rows), setting)
    parts = _decomposed(rows)
    scored, not_scored = _scored(rows, setting, parts)
    kernel, missing = kernel_test(rows, setting, finite=bool(np.isfinite(rows.prediction.values).all()))
    section = Section(
        "quantiles",
        "Quantiles",
        "Do as many outcomes lie below each quantile as its level says?",
        (
            *level_measurements(levels.curve, "coverage", "outcomes up to {} quantile"),
            *joint_measurement(levels.joint),
            *scored,
            *kernel,
        ),
        (coverage_figure(levels.table, setting), *reliability_figure(rows, setting), *pit_figure(rows)),
        (*level_tables(levels), *_score_table(rows, parts)),
    )
    caveats = (*levels.caveats(setting, rows), *missing, *not_scored)
    verdict = words.coverage_verdict("quantiles", levels.judged, levels.joint, setting, advice=words.RECALIBRATE)
    return Part((section,), verdict, caveats)


def level_tables(levels: Levels, *, always: bool = False) -> list[Table]:
    """Return the tables of central intervals, and of quantiles where they have no measurements of their own."""
    found = []
    if levels.central is not None:
        found.append(
            line_table(
                "central",
                "Central intervals between quantiles",
                levels.central,
                "P-values are adjusted for all of these together (Holm).",
            )
        )
    if always or levels.table.levels.size > MAX_LEVELS_SHOWN:
        note = "Coverage is the share of outcomes that do not exceed the quantile."
        found.append(line_table("levels", "Quantiles", levels.curve, note))
    return found


def few_levels(table: HitTable, places: NDArray[np.intp], setting: Setting) -> Curve:
    """Return the coverage of some of the levels."""
    curve = coverage_lines(table, setting)
    kept = np.isin(table.level, places)
    return replace(curve, columns={name: column[kept] for name, column in curve.columns.items()})


def _decomposed(rows: QuantileRows) -> QuantileDecomposition | None:
    values = rows.prediction.values
    if values.size > MAX_DECOMPOSED_ROWS or not np.isfinite(values).all():
        return None
    parts: QuantileDecomposition = of_rows(decompose, rows)
    return parts


def _scored(rows: QuantileRows, setting: Setting, parts: QuantileDecomposition | None) -> Found:
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
    split = (
        Measurement("decompose.mcb", "its miscalibration part", _whole(parts, "mcb"), method=f"part of the {of}"),
        Measurement("decompose.dsc", "its discrimination part", _whole(parts, "dsc"), method=f"part of the {of}"),
    )
    return (*found, *(split if found else ()), *further), missing


def _score_name(rows: QuantileRows) -> str:
    """Return what the mean score is called: the weighted interval score if all levels mirror each other."""
    levels = rows.prediction.levels
    mirrored = 2 * len(rows.prediction.pairs()) + int((levels.round(DIGITS) == 0.5).sum())
    return WIS if levels.size > 1 and mirrored == levels.size else "quantile score"


def _whole(parts: QuantileDecomposition, name: str) -> float:
    """Return the part of the quantile score of a single level, else of the weighted interval score."""
    own = np.ravel(getattr(parts, name))
    return float(own[0]) if own.size == 1 else float(getattr(parts.wis, name))


def _score_table(rows: QuantileRows, parts: QuantileDecomposition | None) -> tuple[Table, ...]:
    levels = rows.prediction.levels
    if levels.size == 1:
        return ()
    split = {} if parts is None else {"miscalibration": parts.mcb, "discrimination": parts.dsc}
    columns = {"quantile score": of_rows(quantile_score, rows), **split}
    return (
        Table(
            "scores",
            "Score of each level",
            {"nominal": tuple(levels.tolist()), **{k: tuple(np.ravel(v).tolist()) for k, v in columns.items()}},
            "Miscalibration is what isotonic recalibration would take off the score; it is above 0 by chance too.",
        ),
    )
