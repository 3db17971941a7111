"""What metrics of sorted rows would be if the predictions were calibrated: many metrics from the same redraws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.redraw import redraw_events
from calibrant.summaries import Ordered

MOST_ENTRIES = 4_000  # beyond so many, counts are drawn per cell of that many mass bins

Measures = Sequence[Callable[[Ordered], Mapping[str, float]]]
"""Functions that give one or more named numbers."""

Batched = Mapping[str, Callable[[Ordered, NDArray[Any]], FloatArray]]
"""Functions that give a named number for each row of redrawn event counts."""


@dataclass(frozen=True)
class Redrawn:
    """A metric's mean over the redraws, and the p-value of its observed value; large values count against."""

    expected: float
    pvalue: float


def redrawn_metrics(
    summary: Ordered,
    measures: Measures,
    batched: Batched | None = None,
    *,
    width_bins: int,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Redrawn], str]:
    """Return expectation and p-value of each number, and how they were found.

    Beyond 4,000 entries the redraws are made on cells: mass bins, cut at the edges of the given width bins so that
    errors of those bins are the same on cells. The observed value is then taken on the cells too, so that like is
    compared with like.
    """
    batched = batched or {}
    cells, how = summary.at_most(MOST_ENTRIES, width_bins=width_bins), f"{resamples} redraws of the outcomes"
    if cells is not summary:
        how += f" on {cells.score.size:,} cells"
    found = {
        **_values(cells, measures),
        **{name: float(of_events(cells, cells.events[None])[0]) for name, of_events in batched.items()},
    }
    observed = np.array(list(found.values()), dtype=np.float64)
    pieces = []
    for events in redraw_events(cells.pool, resamples, rng):
        counts = events.astype(np.int64)
        one_by_one = [list(_values(replace(cells, events=row), measures).values()) for row in counts]
        pieces.append(np.column_stack([one_by_one, *(of_events(cells, counts) for of_events in batched.values())]))
    redrawn = np.concatenate(pieces)
    extreme = np.count_nonzero(reaches(redrawn, observed), axis=0)
    pvalues = resampled_pvalue(extreme, resamples)
    rows = zip(found, redrawn.mean(axis=0), pvalues, strict=True)
    return {name: Redrawn(float(mean), float(pvalue)) for name, mean, pvalue in rows}, how


def _values(summary: Ordered, measures: Measures) -> dict[str, float]:
    return {name: value for measure in measures for name, value in measure(summary).items()}
