"""Where a reliability curve would lie if the predictions were calibrated."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import IndexArray, bin_of
from calibrant.primitives.isotonic import isotonic_fit
from calibrant.primitives.poisson_binomial import EXACT_ROWS, count_band
from calibrant.primitives.redraw import redraw_events
from calibrant.summaries import BinTable, Grid, Ordered

POOLED = 1e-9  # of the variance: a smaller difference is rounding, and no scores differ
MOST_SCORES = 10_000  # beyond so many different scores the isotonic region is computed on that many mass bins

Band = tuple[FloatArray, FloatArray, str]


def binned_band(
    summary: Ordered, starts: IndexArray, table: BinTable, level: float, resamples: int, rng: np.random.Generator
) -> Band:
    """Return the quantiles (1 ± level)/2 of each bin's frequency given its scores, and how they were found.

    `starts` has the first entry of each bin, and the number of entries.
    """
    if not summary.has_equal_weights:
        low, high = _resampled(summary, starts, table, level, resamples, rng)
        return low, high, f"from {resamples} redraws"
    low, high = np.full((2, table.count.size), np.nan)
    for b in np.flatnonzero(table.count):
        rows = slice(starts[b], starts[b + 1])
        low[b], high[b] = count_band(summary.score[rows], summary.count[rows], level)
    exact = int(table.count.max()) <= EXACT_ROWS
    how = "exact" if exact else f"exact up to {EXACT_ROWS} rows per bin, by three cumulants beyond"
    with np.errstate(invalid="ignore"):
        return low / table.count, high / table.count, how


def grid_rounding(grid: Grid, table: BinTable, level: float) -> float:
    """Return by how much the band moves if scores of equal weight are pooled in the cells of a grid.

    Pooling keeps the mean number of events of a bin and raises its variance V by D = Σ(p - p̄)², which a grid knows; the
    third cumulant, Σp(1 - p)(1 - 2p), moves by at most 3D. For bins of many rows, whose band comes from these
    cumulants, the bound follows, with one row for rounding to a count. For the others it was never seen exceeded.
    """
    from scipy.special import ndtri

    cells = grid.cells()
    n, p = cells.count, np.nan_to_num(cells.mean_predicted)
    spread = np.where(n > 0, n * p * (1 - p) - cells.wv / grid.weight_max, 0.0)
    D: FloatArray = np.add.reduceat(spread, np.searchsorted(cells.lower, table.lower))
    V: FloatArray = table.wv / grid.weight_max
    pooled = D > POOLED * V
    if not pooled.any():
        return 0.0
    D, V, rows = D[pooled], V[pooled], table.count[pooled]
    z = float(ndtri((1 - level) / 2))
    moved = abs(z) * (np.sqrt(V + D) - np.sqrt(V)) + abs(z * z - 1) / 6 * 4 * D / V
    return float(((1 + moved) / rows).max())


def _resampled(
    summary: Ordered,
    starts: IndexArray,
    table: BinTable,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    filled = np.flatnonzero(table.count)
    draws = np.concatenate(
        [
            np.add.reduceat(events * summary.weight, starts[filled], axis=1)
            for events in redraw_events(summary.pool, resamples, rng)
        ]
    )
    low, high = np.full((2, table.count.size), np.nan)
    low[filled], high[filled] = _quantiles(draws, level) / table.w[filled]
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def isotonic_band(summary: Ordered, level: float, resamples: int, rng: np.random.Generator) -> Band:
    """Return pointwise quantiles of isotonic fits to redrawn outcomes, one per different score."""
    cells = summary.at_most(MOST_SCORES)
    low, high = _refits(cells, resamples, level, rng)
    if cells is summary:
        return low, high, f"from {resamples} redraws"
    edges = summary.edges(MOST_SCORES, "mass")
    place = np.searchsorted(bin_of(cells.score, edges), bin_of(summary.unique_scores, edges))
    return low[place], high[place], f"from {resamples} redraws on {cells.score.size} mass bins"


def _refits(summary: Ordered, resamples: int, level: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    w, starts = summary.weight_by_score, summary.starts()
    fits = np.concatenate(
        [
            [isotonic_fit(row, w) for row in np.add.reduceat(events * summary.weight, starts, axis=1)]
            for events in redraw_events(summary.pool, resamples, rng)
        ]
    )
    low, high = _quantiles(fits, level)
    return low, high


def _quantiles(draws: FloatArray, level: float) -> FloatArray:
    tail = (1 - level) / 2
    return np.quantile(draws, [tail, 1 - tail], axis=0)
