"""Bytes whose checksum is right but whose values no rows have are refused."""

from dataclasses import fields

import numpy as np
import pytest

import calibrant as cb
from calibrant import Intervals, summarize
from calibrant.core import summary as codec
from calibrant.core.grid import Grid
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError

RNG = np.random.default_rng(0)
P = np.round(RNG.random(200), 2)
Y = (RNG.random(200) < P).astype(int)
BOUNDS = Intervals(P - 0.4, P + 0.4, 0.5)

GRID, ORDERED = summarize("ece", Y, P), summarize("kuiper_test", Y, P)
MOMENTS = summarize("log_score", Y, np.clip(P, 0.01, 0.99))
HITS = summarize("coverage_curve", Y * 1.0, BOUNDS)


def crafted(summary: Summary, **values) -> bytes:
    held = {field.name: getattr(summary, field.name) for field in fields(summary)}
    return codec.encode(type(summary).__name__, {**held, **values})


def grid_sums(**rows) -> np.ndarray:
    sums = GRID.sums.copy()
    for row, change in rows.items():
        sums[int(row[1:])] = change(sums[int(row[1:])])
    return sums


CASES = {
    "negative sums": (GRID, {"sums": np.full_like(GRID.sums, -1.0)}),
    "sums that are not numbers": (GRID, {"sums": np.full_like(GRID.sums, np.nan)}),
    "counts that overflow": (GRID, {"sums": grid_sums(r0=lambda n: n * 2.0**62)}),
    "fractions of rows": (GRID, {"sums": grid_sums(r0=lambda n: n / 2)}),
    "rows without weight": (GRID, {"sums": grid_sums(r1=np.zeros_like)}),
    "more events than rows": (GRID, {"sums": grid_sums(r4=lambda wy: 3 * wy + 1)}),
    "a negative largest weight": (GRID, {"weight_max": -1.0}),
    "descending scores": (ORDERED, {"score": ORDERED.score[::-1]}),
    "a score that is not a number": (ORDERED, {"score": np.where(ORDERED.score > 0.5, np.nan, ORDERED.score)}),
    "negative weights": (ORDERED, {"weight": -np.ones(ORDERED.score.size)}),
    "no rows in an entry": (ORDERED, {"count": ORDERED.count - ORDERED.count}),
    "counts of 2**62": (ORDERED, {"count": ORDERED.count * 2**62 // ORDERED.count}),
    "more events than rows in an entry": (ORDERED, {"events": ORDERED.count + 1}),
    "a mean that is not a number": (MOMENTS, {"mean": np.full(1, np.nan)}),
    "a negative spread": (MOMENTS, {"spread2": np.full(1, -1.0)}),
    "negative rows": (MOMENTS, {"rows": -5}),
    "rows that are not a number": (MOMENTS, {"rows": "many"}),
    "a column too many": (MOMENTS, {"mean": np.zeros(2)}),
    "rows without weight in moments": (MOMENTS, {"w": 0.0}),
    "more hits than rows": (HITS, {"hits": HITS.count + 1}),
    "a level that is not there": (HITS, {"level": HITS.level + 7}),
}


@pytest.mark.parametrize(("summary", "values"), CASES.values(), ids=CASES)
def test_values_that_no_rows_have(summary, values):
    assert Summary.from_bytes(crafted(summary)) == summary
    with pytest.raises(SummaryError):
        Summary.from_bytes(crafted(summary, **values))


def test_scores_outside_the_unit_interval_are_refused_by_verbs_of_probabilities():
    """The same summary may hold widths of intervals, so it is the verb that knows."""
    summary = Summary.from_bytes(crafted(ORDERED, score=ORDERED.score + 3))
    for verb in ("kuiper_test", "calibration_test"):
        with pytest.raises(SummaryError, match=r"must lie in \[0, 1\]; they reach from 3"):
            getattr(cb, verb)(summary)


def test_a_metric_outside_its_range_was_not_measured_on_rows():
    summary = cb.summarize("brier_score", [0, 1], [0.2, 0.6])
    with pytest.raises(SummaryError, match=r"brier_score of this summary is 7\.1, outside 0 to 2"):
        cb.brier_score(Summary.from_bytes(crafted(summary, mean=np.array([7.1]))))


def test_infinite_widths_are_legal():
    wide = Intervals(np.where(P > 0.5, -np.inf, P - 0.4), P + 0.4, 0.5)
    for verb in ("coverage_hsic", "width", "size_stratified_coverage"):
        summary = summarize(verb, None if verb == "width" else Y * 1.0, wide)
        assert Summary.from_bytes(summary.to_bytes()) == summary


def test_no_rows():
    for kind in (Grid, Ordered, Moments):
        assert kind.from_bytes(kind.zero().to_bytes()) == kind.zero()
