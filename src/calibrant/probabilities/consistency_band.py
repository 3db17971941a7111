"""Where a reliability curve would lie if the predictions were calibrated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import BinTable, IndexArray, bin_of
from calibrant.core.grid import Grid
from calibrant.core.isotonic import isotonic_fit
from calibrant.core.null import redraw_events
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray

EXACT_ROWS = 2000  # of a bin, up to which its number of events has a computed distribution
MIN_VARIANCE_OF_CUMULANTS = 100.0  # below it three cumulants do not describe the distribution
MAX_POOLED_CELLS = 4096
MIN_HALVES_TOGETHER = 32  # of fewer each is convolved alone
ROUNDING = 1e-12  # a tail that equals the level up to rounding counts as equal


def count_band(p: FloatArray, count: NDArray[np.int64], level: float) -> tuple[int, int]:
    """Return the quantiles (1 ± level)/2 of the number of events among rows with probabilities p, count times each.

    Exact up to 2000 rows. Beyond that by the first three cumulants (Cornish-Fisher), rounded outwards to a count, or,
    where few events or few non-events are expected, by the distribution of scores pooled into at most 4096 cells.
    `p` is ascending.
    """
    tail = (1 - level) / 2
    if count.sum() <= EXACT_ROWS:
        return _count_quantiles(distribution(np.repeat(p, count)), tail)
    if float((count * p * (1 - p)).sum()) >= MIN_VARIANCE_OF_CUMULANTS:
        return _cornish_fisher(p, count, tail)
    return _rare(p, count, tail)


def distribution(p: FloatArray) -> FloatArray:
    """Return P(number of events = k), k = 0..n, by convolving halves: sums of positive terms only.

    Rows without an event fill the number of rows up to a power of two. Many short halves are convolved together.

    >>> distribution(np.array([0.5, 0.5, 0.5]))
    array([0.125, 0.375, 0.375, 0.125])
    """
    parts = np.zeros((1 << max(p.size - 1, 0).bit_length(), 2))
    parts[:, 0] = 1
    parts[: p.size] = np.stack([1 - p, p], axis=1)
    while len(parts) > 1:
        first, second = parts[::2], parts[1::2]
        if len(first) < MIN_HALVES_TOGETHER:
            parts = np.array([np.convolve(a, b) for a, b in zip(first, second, strict=True)])
            continue
        size = parts.shape[1]
        parts = np.zeros((len(first), 2 * size - 1))
        for k in range(size):
            parts[:, k : k + size] += first[:, k : k + 1] * second
    return parts[0, : p.size + 1]


def _count_quantiles(mass: FloatArray, tail: float) -> tuple[int, int]:
    below = np.cumsum(mass)
    above = np.cumsum(mass[::-1])[::-1] - mass  # P(X > k)
    return int(np.argmax(below >= tail - ROUNDING)), int(np.argmax(above <= tail + ROUNDING))


def _cornish_fisher(p: FloatArray, count: NDArray[np.int64], tail: float) -> tuple[int, int]:
    from scipy.special import ndtri

    n, v = int(count.sum()), count * p * (1 - p)
    mean, variance, third = float((count * p).sum()), float(v.sum()), float((v * (1 - 2 * p)).sum())
    z = -float(ndtri(tail))
    skew, half = third * (z * z - 1) / (6 * variance), z * math.sqrt(variance)
    return max(0, math.floor(mean - half + skew)), min(n, math.ceil(mean + half + skew))


def _rare(p: FloatArray, count: NDArray[np.int64], tail: float) -> tuple[int, int]:
    """Return the quantiles where almost every outcome is the more probable one: exceptions are counted."""
    high = int(np.searchsorted(p, 0.5, side="right"))
    events = _exceptions(p[:high], count[:high])  # where an event is improbable
    misses = _exceptions(1 - p[high:], count[high:])  # where an event is probable
    mass = np.convolve(events, misses[::-1])
    shift = int(count[high:].sum()) - (misses.size - 1)
    low, top = _count_quantiles(mass, tail)
    return max(0, low + shift), min(int(count.sum()), top + shift)


def _exceptions(q: FloatArray, count: NDArray[np.int64]) -> FloatArray:
    """Return the distribution of the number of exceptions of small probabilities q, from its generating function."""
    if q.size == 0:
        return np.ones(1)
    starts = np.unique(np.linspace(0, q.size, MAX_POOLED_CELLS, endpoint=False).astype(np.intp))
    rows: Any = np.add.reduceat(count, starts)
    mean: Any = np.add.reduceat(count * q, starts) / rows
    expected = float((rows * mean).sum())
    length = math.ceil(expected + 12 * math.sqrt(expected) + 40)  # beyond is less than rounding
    z = np.exp(2j * np.pi * np.arange(length) / length)
    generating = np.exp((rows[:, None] * np.log1p(mean[:, None] * (z - 1))).sum(axis=0))
    mass = np.maximum(np.fft.fft(generating).real, 0.0)
    return np.asarray(mass / mass.sum())


POOLED = 1e-9  # of the variance: a smaller difference is rounding, and all scores of a cell are equal
MAX_ISOTONIC_SCORES = 10_000  # the isotonic region of more different scores is computed on as many mass bins

Band = tuple[FloatArray, FloatArray, str]


def binned_band(
    summary: Ordered,
    starts: IndexArray,
    table: BinTable,
    level: float,
    resamples: int,
    rng: np.random.Generator,
    *,
    simultaneous: bool,
) -> Band:
    """Return where each bin's frequency falls given its scores with probability `level`, and how that was found.

    `starts` has the first entry of each bin, and the number of entries. A `simultaneous` band contains the frequencies
    of all bins with this probability.
    """
    if not summary.has_equal_weights:
        redraws = max(resamples, fewest_refits(level))  # of fewer not even the extremes reach this level
        low, high = _resampled(summary, starts, table, level, redraws, rng, simultaneous=simultaneous)
        return low, high, f"from {redraws} redraws"
    low, high = np.full((2, table.count.size), np.nan)
    each = level_of_bins(table, level, simultaneous=simultaneous)
    for b in np.flatnonzero(table.count):
        rows = slice(starts[b], starts[b + 1])
        low[b], high[b] = count_band(summary.score[rows], summary.count[rows], each)
    exact = int(table.count.max()) <= EXACT_ROWS
    how = "exact" if exact else f"exact up to {EXACT_ROWS} rows per bin, by three cumulants beyond"
    with np.errstate(invalid="ignore"):
        return low / table.count, high / table.count, how


def level_of_bins(table: BinTable, level: float, *, simultaneous: bool) -> float:
    return level ** (1 / int((table.count > 0).sum())) if simultaneous else level


def grid_rounding(grid: Grid, table: BinTable, level: float) -> float:
    """Return by how much the band moves if scores of equal weight are pooled in the cells of a grid.

    Pooling keeps the mean number of events of a bin and raises its variance V by D = Σ(p - p̄)², which a grid knows. The
    third cumulant, Σp(1 - p)(1 - 2p), moves by at most 3D. The bound follows for bins of many rows, whose band comes
    from these cumulants, with one row added for rounding to a count. For smaller bins it is not proved; simulations
    never exceeded it.
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
    *,
    simultaneous: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return ranges of redrawn frequencies.

    Of many bins together each would need its own far quantiles, and so many redraws; one factor for all needs few.
    """
    filled = np.flatnonzero(table.count)
    draws = np.concatenate(
        [
            np.add.reduceat(events * summary.weight, starts[filled], axis=1)
            for events in redraw_events(summary.pool, resamples, rng)
        ]
    )
    low, high = np.full((2, table.count.size), np.nan)
    frequencies = draws / table.w[filled]
    low[filled], high[filled] = _envelope(frequencies, level) if simultaneous else _quantiles(frequencies, level)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def isotonic_band(
    summary: Ordered, level: float, resamples: int, rng: np.random.Generator, *, simultaneous: bool
) -> Band:
    """Return a region of isotonic fits to redrawn outcomes, one range per different score.

    Its ranges are quantiles of each score alone; a `simultaneous` region contains whole fits with probability `level`.
    """
    cells = summary.at_most(MAX_ISOTONIC_SCORES)
    w, starts = cells.weight_by_score, cells.starts()
    redrawn = (np.multiply(events, cells.weight, order="C") for events in redraw_events(cells.pool, resamples, rng))
    fits = np.array([isotonic_fit(row, w) for each in redrawn for row in np.add.reduceat(each, starts, axis=1)])
    low, high = _envelope(fits, level) if simultaneous else _quantiles(fits, level)
    if cells is summary:
        return low, high, f"from {resamples} redraws"
    edges = summary.edges(MAX_ISOTONIC_SCORES, "mass")
    place = np.searchsorted(bin_of(cells.score, edges), bin_of(summary.unique_scores, edges))
    return low[place], high[place], f"from {resamples} redraws on {cells.score.size} mass bins"


def fewest_refits(level: float) -> int:
    """Return the number of redraws below which no region has this level on both sides, or for whole fits."""
    return 2 * math.ceil(1 / (1 - level) * (1 - ROUNDING))


def _envelope(fits: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return a range per score or bin such that all ranges together contain a fit with probability `level`.

    A range is the distance of quantiles from the mean, found from half of the fits, times a factor, found from the
    others: these and a further fit are exchangeable.
    """
    first, fits = np.split(fits, [len(fits) // 2])
    middle, spread = first.mean(axis=0), first.std(axis=0)
    low, high = _quantiles(first, level)
    below, above = np.maximum(middle - low, spread), np.maximum(high - middle, spread)
    varies = spread > 0
    sides = ((middle - fits)[:, varies] / below[varies], (fits - middle)[:, varies] / above[varies])
    reach = np.maximum(*sides).max(axis=1, initial=0.0)
    place = min(len(fits) - 1, math.ceil((len(fits) + 1) * level * (1 - ROUNDING)) - 1)
    factor = np.sort(reach)[place]
    return np.clip(middle - factor * below, 0, 1), np.clip(middle + factor * above, 0, 1)


def _quantiles(draws: FloatArray, level: float) -> FloatArray:
    """Return order statistics beyond which a further draw falls with probability (1 - level)/2 at most, on either side.

    The k-th smallest of B draws has a further one below it with probability k/(B + 1) at most. Interpolated quantiles
    would be exceeded too often where the tail is a few draws.
    """
    B = draws.shape[0]
    k = max(1, math.floor((B + 1) * (1 - level) / 2 * (1 + ROUNDING)))
    return np.sort(draws, axis=0)[[k - 1, B - k]]
