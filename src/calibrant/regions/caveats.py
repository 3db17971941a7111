"""What to keep in mind about coverage: what the audit can see, ties, nesting, calibration sets, weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.core.findings import Setting
from calibrant.core.words import confidence_words, points
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.regions.claims import smallest_seen
from calibrant.regions.hits import HitTable, not_nested
from calibrant.regions.lines import Lines, Rule


def seen_caveat(lines: Lines, setting: Setting) -> list[str]:
    """Return which shortfall such an audit detects; nothing if nothing is tested."""
    if not lines.tested.any() or not lines.rule.counts_low:
        return []
    m, levels = setting.calibration_size, np.unique(lines.curve.nominal).tolist()
    found = [smallest_seen(lines.curve.n, level, lines.rate, m) for level in levels]
    seen = [value for value in found if value is not None]
    if len(seen) < len(found):
        return ["With so few rows no shortfall of coverage is found 4 times in 5."]
    return [
        f"With this many rows coverage too low by {points(max(seen), digits=2, up=True)} is found 4 times in 5 at the "
        f"{confidence_words(1 - setting.level)} level, corrected for all tests; a smaller one may not be detected."
    ]


def nesting_caveat(rows: IntervalRows | SetRows) -> list[str]:
    """Say in how many rows the prediction of a lower level reaches beyond that of a higher one."""
    bad = int(np.count_nonzero(not_nested(rows)))
    if not bad:
        return []
    return [
        f"In {bad:,} of {rows.n:,} rows a prediction of a lower level reaches beyond that of a higher level. The "
        "levels are therefore not tested together. Are levels or columns exchanged?"
    ]


def ties_caveat(table: HitTable, rule: Rule, setting: Setting) -> list[str]:
    """Say how outcomes on bounds are counted, if there are any and the user did not say it."""
    tied = int((table.hits - table.hits_inside).max())
    if not tied or setting.alternative is not None:
        return []
    are = "1 outcome lies" if tied == 1 else f"Up to {tied:,} outcomes lie"
    how = (
        "a level is accepted if it lies between the coverage without and with the bounds, and levels are not "
        "tested jointly"
        if rule.ties
        else "coverage above the level is then not an error"
    )
    return [f'{are} on a bound: {how}. Pass alternative="two-sided" to judge the coverage with bounds both ways.']


def conformal_caveat(things: str, setting: Setting) -> list[str]:
    """Say how the calibration set enters the coverage of split conformal prediction."""
    if setting.calibration_size is not None:
        return [
            f"Tests of coverage allow for a calibration set of {setting.calibration_size:,} scores, on which the "
            "coverage of split conformal prediction depends; limits are those of the coverage of this predictor."
        ]
    return [
        f"If these {things} come from split conformal prediction, their coverage depends on the calibration set and "
        "these tests are too strict: pass calibration_size=, its number of scores."
    ]


def weights_caveat(n: int, w: Any) -> list[str]:
    """Say how many rows of equal weight these rows are worth."""
    effective = float(w.sum()) ** 2 / float((np.asarray(w) ** 2).sum())
    return [f"With these weights {n:,} rows count like {effective:,.0f}."] if effective < 0.9 * n else []
