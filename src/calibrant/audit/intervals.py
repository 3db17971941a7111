"""Audit of prediction intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.audit import coverage_words as words
from calibrant.audit import sized
from calibrant.audit.coverage_caveats import conformal_caveat, nesting_caveat, seen_caveat, weights_caveat
from calibrant.audit.coverage_tables import MOST_LEVELS, at_level
from calibrant.audit.scores import kernel_test, of_rows, score_levels
from calibrant.audit.sections import Part, Setting, audits
from calibrant.audit.words import percent
from calibrant.inputs.judged import IntervalRows
from calibrant.metrics.interval_score import interval_score
from calibrant.metrics.width import width
from calibrant.results import Measurement

NO_WIDTH = "No group of intervals of like width is off by more than chance."


@audits(IntervalRows, groups=sized.sized_groups, families=2)
def audit_intervals(rows: IntervalRows, setting: Setting) -> Part:
    """Return what there is to say about intervals: their coverage, and whether it changes with their width."""
    found = sized.covered(rows, setting, alternative="two-sided")
    finite = np.ravel(of_rows(width, rows, statistic="finite_fraction"))
    spread = "mean" if finite.min() == 1 else "median"
    widths = np.ravel(of_rows(width, rows, statistic=spread))
    kernel, missing = kernel_test(rows, setting, finite=finite.min() == 1)
    scored, not_scored = score_levels(interval_score, "interval score", "intervals", rows, setting)
    tables = sized.per_level(
        found,
        {f"{spread} width": widths, "finite": finite, "interval score": of_rows(interval_score, rows)},
        "Width and score of each level",
        "The interval score is the width plus a penalty for what lies outside; lower is better.",
    )
    said = words.INTERVALS
    verdict = words.coverage_verdict("intervals", [(found.curve, said)], found.joint, setting, advice=said.advice)
    verdict = sized.with_sizes(verdict, found, setting, "Intervals of width {size} hold {share}", NO_WIDTH)
    sections = (
        sized.coverage_section(
            found, setting, said, (*_widths(rows, widths, finite, spread), *scored, *kernel), tables
        ),
        sized.size_section(found, setting, said, "width"),
    )
    caveats = (
        *_infinite(finite),
        *nesting_caveat(rows),
        *weights_caveat(rows.n, rows.w),
        *seen_caveat(found.curve, found.tests, setting),
        *conformal_caveat("intervals", setting),
        *missing,
        *not_scored,
    )
    return Part(sections, verdict, caveats)


def _widths(rows: IntervalRows, widths: Any, finite: Any, spread: str) -> list[Measurement]:
    """Return the width of each level, and which share of them is finite; of many levels they are in a table."""
    levels = rows.prediction.levels
    if levels.size > MOST_LEVELS:
        return []
    name = "width" if spread == "mean" else "width.median"
    share = "share of finite widths" if levels.size == 1 else "finite share"  # not cut where the line is long
    found = [
        [Measurement(name, f"{spread} width", value) for value in widths.tolist()],
        [Measurement("width.finite_fraction", share, value) for value in finite.tolist()],
    ]
    return [at_level(measurement, "intervals", levels, k) for part in found for k, measurement in enumerate(part)]


def _infinite(finite: Any) -> list[str]:
    if finite.min() == 1:
        return []
    return [
        f"Up to {percent(1 - finite.min())} of the intervals are infinite, which hold every outcome and say nothing: "
        "the median width is shown, and the coverage of the others is lower."
    ]
