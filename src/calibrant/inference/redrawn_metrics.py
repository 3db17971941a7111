"""What metrics of sorted rows would be if the predictions were calibrated: many metrics from the same redraws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant.inference.null import reaches
from calibrant.primitives.redraw import redraw_events
from calibrant.summaries import Ordered

MOST_ENTRIES = 4_000  # beyond so many, counts are drawn per cell of that many mass bins

Measures = Sequence[Callable[[Ordered], Mapping[str, float]]]
"""Functions that give one or more named numbers."""


@dataclass(frozen=True)
class Redrawn:
    """A metric's mean over the redraws, and the p-value of its observed value; large values count against."""

    expected: float
    pvalue: float


def redrawn_metrics(
    summary: Ordered, measures: Measures, *, width_bins: int, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Redrawn], str]:
    """Return expectation and p-value of each number, and how they were found.

    Beyond 4,000 entries the redraws are made on cells: mass bins, cut at the edges of the given width bins so that
    errors of those bins are the same on cells. The observed value is then taken on the cells too, so that like is
    compared with like.
    """
    cells, how = summary.at_most(MOST_ENTRIES, width_bins=width_bins), f"{resamples} redraws of the outcomes"
    if cells is not summary:
        how += f" on {cells.score.size:,} cells"
    found = _values(cells, measures)
    observed = np.array(list(found.values()), dtype=np.float64)
    redrawn = np.array(
        [
            list(_values(replace(cells, events=row), measures).values())
            for events in redraw_events(cells.pool, resamples, rng)
            for row in events.astype(np.int64)
        ]
    )
    extreme = np.count_nonzero(reaches(redrawn, observed), axis=0)
    pvalues = (1 + extreme) / (resamples + 1)
    rows = zip(found, redrawn.mean(axis=0), pvalues, strict=True)
    return {name: Redrawn(float(mean), float(pvalue)) for name, mean, pvalue in rows}, how


def _values(summary: Ordered, measures: Measures) -> dict[str, float]:
    return {name: value for measure in measures for name, value in measure(summary).items()}
