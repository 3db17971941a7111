"""Audit of quantile forecasts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.audit import coverage_words as words
from calibrant.audit.coverage import central_lines, coverage_lines, joint_test, labels_of
from calibrant.audit.coverage_caveats import seen_caveat, weights_caveat
from calibrant.audit.coverage_tables import (
    MOST_LEVELS,
    grouped,
    joint_measurement,
    level_measurements,
    line_table,
)
from calibrant.audit.quantile_figures import coverage_figure, pit_figure, reliability_figure, spread_places
from calibrant.audit.scores import Found, kernel_test, of_rows, score, score_levels
from calibrant.audit.sections import Grouped, Part, Setting, audits
from calibrant.audit.words import gain
from calibrant.inputs.groups import Grouping
from calibrant.inputs.judged import QuantileRows
from calibrant.inputs.levels import DIGITS
from calibrant.metrics.decompose import decompose
from calibrant.metrics.quantile_score import quantile_score
from calibrant.metrics.weighted_interval_score import weighted_interval_score
from calibrant.results import Curve, Measurement, QuantileDecomposition, Section, Table, TestResult
from calibrant.summaries.hit_table import HitTable

DECOMPOSED = 4_000_000  # rows, over all levels
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


@audits(QuantileRows, groups=quantile_groups)
def audit_quantiles(rows: QuantileRows, setting: Setting) -> Part:
    """Return what there is to say about quantiles: how many outcomes lie below each, and between pairs of them."""
    levels = Levels.of(HitTable.of(rows), setting)
    parts = _decomposed(rows)
    scored, not_scored = _scored(rows, setting, parts)
    kernel, missing = kernel_test(rows, setting, finite=bool(np.isfinite(rows.prediction.values).all()))
    advice = "" if parts is None else gain(parts.wis.mcb, parts.wis.score, _score_name(rows))
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
    verdict = words.coverage_verdict("quantiles", levels.judged, levels.joint, setting, advice=advice)
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
                "Adjusted p-values hold for all of these together (Holm).",
            )
        )
    if always or levels.table.levels.size > MOST_LEVELS:
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
    if values.size > DECOMPOSED or not np.isfinite(values).all():
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
