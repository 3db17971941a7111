"""What metrics of sorted rows would be if the predictions were calibrated: many metrics from the same redraws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.inference.null import TIE
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import width_edges
from calibrant.primitives.redraw import redraw_events
from calibrant.summaries import Ordered

MOST_ENTRIES = 10_000  # beyond so many, counts are drawn per cell of that many mass bins

Measures = Mapping[str, Callable[[Ordered], float]]


@dataclass(frozen=True)
class Redrawn:
    """A metric's mean over the redraws, and the p-value of its observed value; large values count against."""

    expected: float
    pvalue: float


def redrawn_metrics(
    summary: Ordered, measures: Measures, *, width_bins: int, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Redrawn], str]:
    """Return expectation and p-value of each measure, and how they were found.

    Beyond 10,000 entries the redraws are made on cells: mass bins, cut at the edges of the given width bins so that
    errors of those bins are the same on cells. The observed value is then taken on the cells too, so that like is
    compared with like.
    """
    cells, how = summary, f"{resamples} redraws of the outcomes"
    if summary.score.size > MOST_ENTRIES:
        edges = np.union1d(summary.edges(MOST_ENTRIES, "mass"), width_edges(width_bins))
        cells = summary.coarsened(edges)
        how += f" on {cells.score.size:,} cells"
    observed = _values(cells, measures)
    redrawn = np.array(
        [
            _values(replace(cells, events=row), measures)
            for events in redraw_events(cells.pool, resamples, rng)
            for row in events.astype(np.int64)
        ]
    )
    extreme = np.count_nonzero(redrawn >= observed - TIE * np.abs(observed), axis=0)
    pvalues = (1 + extreme) / (resamples + 1)
    found = zip(measures, redrawn.mean(axis=0), pvalues, strict=True)
    return {name: Redrawn(float(mean), float(pvalue)) for name, mean, pvalue in found}, how


def _values(summary: Ordered, measures: Measures) -> FloatArray:
    values: Any = [measure(summary) for measure in measures.values()]
    return np.array(values, dtype=np.float64)
