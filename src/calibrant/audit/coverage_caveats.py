"""What to keep in mind about a verdict on coverage."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.audit.coverage_words import seen_at
from calibrant.audit.sections import Setting
from calibrant.audit.words import percent, points
from calibrant.inputs.judged import IntervalRows, SetRows
from calibrant.inputs.nesting import not_nested
from calibrant.results import Curve


def seen_caveat(curve: Curve, tests: int, setting: Setting) -> list[str]:
    """Return what such an audit can see; nothing where nothing is tested."""
    if np.isnan(curve.pvalue).all():
        return []
    seen = seen_at(curve, tests, setting)
    if seen is None:
        return ["With so few rows no shortfall of coverage is found 4 times in 5."]
    return [
        f"With this many rows coverage too low by {points(seen)} is found 4 times in 5 at the "
        f"{percent(1 - setting.level)} level, corrected for all tests; less may stay unseen."
    ]


def nesting_caveat(rows: IntervalRows | SetRows) -> list[str]:
    """Say in how many rows a lower level reaches beyond a higher one."""
    bad = int(np.count_nonzero(not_nested(rows)))
    if not bad:
        return []
    return [
        f"In {bad:,} of {rows.n:,} rows a prediction of a lower level reaches beyond that of a higher level, so that "
        "the levels are not tested together. Are levels or columns exchanged?"
    ]


def conformal_caveat(things: str, setting: Setting) -> list[str]:
    """Say what the coverage of split conformal prediction rests on."""
    if setting.calibration_size is not None:
        return [
            f"Tests allow for a calibration set of {setting.calibration_size:,} scores, on which the coverage of split "
            "conformal prediction depends."
        ]
    return [
        f"If these {things} come from split conformal prediction, their coverage depends on the calibration set and "
        "these tests are too strict: pass calibration_size=, its number of scores."
    ]


def weights_caveat(n: int, w: Any) -> list[str]:
    """Say how many rows of equal weight the rows are worth."""
    effective = float(w.sum()) ** 2 / float((np.asarray(w) ** 2).sum())
    return [f"With these weights {n:,} rows count like {effective:,.0f}."] if effective < 0.9 * n else []
