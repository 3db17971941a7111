"""Audit of quantile forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.audit import coverage_words as words
from calibrant.audit.coverage import central_lines, coverage_lines, joint_test, labels_of
from calibrant.audit.coverage_tables import (
    MOST_LEVELS,
    group_table,
    joint_measurement,
    level_measurements,
    line_table,
)
from calibrant.audit.scores import Found, kernel_test, of_rows, score
from calibrant.audit.sections import Part, Setting, audits
from calibrant.audit.words import gain
from calibrant.inputs.groups import Grouping
from calibrant.inputs.judged import QuantileRows
from calibrant.results import Curve, Figure, Measurement, QuantileDecomposition, Section, Table, TestResult
from calibrant.summaries.hit_table import HitTable

DECOMPOSED = 4_000_000  # rows, over all levels
DRAWN_ROWS, DRAWN_POINTS, DRAWN_LEVELS = 20_000, 200, 5
FEWEST_CELLS = 5  # levels from which a histogram of the transform shows a shape


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
        found = [*words.weights_caveat(rows.n, rows.w)]
        tied = int(np.rint((self.curve.coverage - self.curve.below).max() * rows.n))
        if tied:
            found.append(
                f"Up to {tied:,} outcomes lie on a quantile: levels are taken as right if they lie between the shares "
                "of outcomes below and at most at it, and are not tested jointly."
            )
        return [*found, words.seen_caveat(self.judged[0][0], self.tests, setting)]


def quantile_groups(rows: QuantileRows, groupings: list[Grouping], setting: Setting) -> Table:
    """Return coverage per group, of at most five levels."""
    few = spread_places(rows.prediction.levels)
    curves = [few_levels(HitTable.of(rows, labels_of(grouping)), few, setting) for grouping in groupings]
    return group_table(curves, few.size > 1)


@audits(QuantileRows, groups=quantile_groups)
def audit_quantiles(rows: QuantileRows, setting: Setting) -> Part:
    """Return what there is to say about quantiles: how many outcomes lie below each, and between pairs of them."""
    levels = Levels.of(HitTable.of(rows), setting)
    parts = _decomposed(rows)
    scored, not_scored = _scored(rows, setting, parts)
    kernel, missing = kernel_test(rows, finite=bool(np.isfinite(rows.prediction.values).all()))
    advice = "" if parts is None else gain(parts.wis.mcb, parts.wis.score, "weighted interval score")
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
        (coverage_figure(levels.table, setting), *_reliability(rows, setting), *pit_figure(rows)),
        (*level_tables(levels), *_score_table(rows, parts)),
    )
    caveats = (*levels.caveats(setting, rows), *missing, *not_scored)
    verdict = words.coverage_verdict("quantiles", levels.judged, levels.joint, setting, advice=advice)
    return Part((section,), verdict, caveats)


def coverage_figure(table: HitTable, setting: Setting) -> Figure:
    """Return the picture of nominal against observed levels of quantiles."""
    return Figure(
        "coverage",
        "Nominal against observed levels",
        "The share of outcomes that do not exceed each quantile. On the dashed line it is what the level says; below "
        "it quantiles are too low, above it too high. Below on the right and above on the left: too narrow. The band "
        "holds for all levels together.",
        coverage_lines(table, setting, simultaneous=True),
    )


def level_tables(levels: Levels, *, always: bool = False) -> list[Table]:
    """Return the tables of central intervals, and of quantiles where they have no measurements of their own."""
    found = []
    if levels.central is not None:
        found.append(
            line_table(
                "central",
                "Central intervals between quantiles",
                levels.central,
                "Adjusted p-values hold for all of these together (Holm).",
            )
        )
    if always or levels.table.levels.size > MOST_LEVELS:
        note = "Coverage is the share of outcomes that do not exceed the quantile."
        found.append(line_table("levels", "Quantiles", levels.curve, note))
    return found


def pit_figure(rows: Any, *, levels: int = FEWEST_CELLS) -> tuple[Figure, ...]:
    """Return the histogram of the probability integral transform."""
    if isinstance(rows, QuantileRows) and rows.prediction.levels.size < levels:
        return ()
    return (
        Figure(
            "pit_histogram",
            "Where outcomes fall in the prediction",
            "The share of outcomes in each tenth of their predicted law, over the share expected. Flat: calibrated. A "
            "U: too narrow. A dome: too wide. A slope: predictions too low (rising) or too high (falling).",
            of_rows("pit_histogram", rows),
        ),
    )


def spread_places(levels: Sequence[float] | NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of at most five levels, the outer ones among them."""
    return np.unique(np.linspace(0, len(levels) - 1, DRAWN_LEVELS).round().astype(np.intp))


def few_levels(table: HitTable, places: NDArray[np.intp], setting: Setting) -> Curve:
    """Return the coverage of some of the levels."""
    curve = coverage_lines(table, setting)
    kept = np.isin(table.level, places)
    return replace(curve, columns={name: column[kept] for name, column in curve.columns.items()})


def _decomposed(rows: QuantileRows) -> QuantileDecomposition | None:
    values = rows.prediction.values
    if values.size > DECOMPOSED or not np.isfinite(values).all():
        return None
    parts: QuantileDecomposition = of_rows("decompose", rows)
    return parts


def _scored(rows: QuantileRows, setting: Setting, parts: QuantileDecomposition | None) -> Found:
    levels = rows.prediction.levels
    if levels.size == 1:
        found, missing = score("quantile_score", "quantile score", rows, setting)
    elif 2 * len(rows.prediction.pairs()) + int((levels.round(10) == 0.5).sum()) == levels.size:
        found, missing = score("weighted_interval_score", "weighted interval score", rows, setting)
    else:
        found, missing = (), ()
    if parts is None:
        left_out = "decompose is left out: some quantiles are infinite, or there are too many rows."
        return found, (*missing, left_out)
    of = "quantile score" if levels.size == 1 else "weighted interval score"
    split = (
        Measurement("decompose.mcb", "its miscalibration part", _whole(parts, "mcb"), method=f"part of the {of}"),
        Measurement("decompose.dsc", "its discrimination part", _whole(parts, "dsc"), method=f"part of the {of}"),
    )
    return (*found, *(split if found else ())), missing


def _whole(parts: QuantileDecomposition, name: str) -> float:
    """Return the part of the quantile score of a single level, else of the weighted interval score."""
    own = np.ravel(getattr(parts, name))
    return float(own[0]) if own.size == 1 else float(getattr(parts.wis, name))


def _score_table(rows: QuantileRows, parts: QuantileDecomposition | None) -> tuple[Table, ...]:
    levels = rows.prediction.levels
    if levels.size == 1:
        return ()
    split = {} if parts is None else {"miscalibration": parts.mcb, "discrimination": parts.dsc}
    columns = {"quantile score": of_rows("quantile_score", rows), **split}
    return (
        Table(
            "scores",
            "Score of each level",
            {"nominal": tuple(levels.tolist()), **{k: tuple(np.ravel(v).tolist()) for k, v in columns.items()}},
            "Miscalibration is what isotonic recalibration would take off the score; it is above 0 by chance too.",
        ),
    )


def _reliability(rows: QuantileRows, setting: Setting) -> tuple[Figure, ...]:
    """Return the picture of recalibrated quantiles, of at most so many rows, levels and points as can be seen."""
    if not np.isfinite(rows.prediction.values).all():
        return ()
    few = rows
    if rows.n > DRAWN_ROWS:
        few = rows.take(np.sort(setting.rng.choice(rows.n, DRAWN_ROWS, replace=False)))
    curve: Curve = of_rows("reliability_curve", few)
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
    return places[np.unique(np.linspace(0, places.size - 1, DRAWN_POINTS).round().astype(np.intp))]
