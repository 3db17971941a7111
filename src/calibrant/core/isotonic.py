"""Isotonic regression: of event frequencies on scores, and of quantiles of outcomes on forecasts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import IndexArray
from calibrant.core.pool import tie_ends
from calibrant.inputs.arrays import FloatArray, is_unit

MAX_DENOMINATOR = 10**9  # levels are read as fractions up to this denominator: 0.1 and 1 - 0.9 are one tenth
MAX_INTEGER = 2**62
SLACK = 1e-10  # of a level, if weights are not multiples of one another


class FittedBlocks(NamedTuple):
    """Neighbouring scores with the same fitted frequency: the fit, their weight, event weight and number."""

    fit: FloatArray
    weight: NDArray[Any]
    event_weight: NDArray[Any]
    length: NDArray[np.intp]


def isotonic_blocks(event_weight: NDArray[Any], weight: NDArray[Any]) -> FittedBlocks:
    """Fit a non-decreasing frequency to event_weight / weight, in ascending order of the scores.

    Neighbours whose frequencies do not rise have the same fit and are pooled first, which leaves a third of single rows
    or fewer.
    """
    from scipy.optimize import isotonic_regression

    frequency = event_weight / weight
    starts = np.flatnonzero(np.concatenate(([True], frequency[1:] > frequency[:-1])))
    del frequency
    w, e = np.add.reduceat(weight, starts), np.add.reduceat(event_weight, starts)
    fit = isotonic_regression(e / w, weights=w.astype(np.float64)).x
    return FittedBlocks(np.clip(fit, 0.0, 1.0), w, e, np.append(starts[1:], weight.size) - starts)


def isotonic_fit(event_weight: NDArray[Any], weight: NDArray[Any]) -> FloatArray:
    blocks = isotonic_blocks(event_weight, weight)
    return np.repeat(blocks.fit, blocks.length)


class RankedOutcomes(NamedTuple):
    """Outcomes as indices of their sorted different values."""

    values: FloatArray
    place: IndexArray


class Forecasts(NamedTuple):
    """Different forecasts in ascending order, the number of rows up to each of them, and the order of the rows."""

    value: FloatArray
    ends: IndexArray
    order: IndexArray

    @property
    def rows(self) -> IndexArray:
        return np.diff(self.ends, prepend=0)


def ranked_outcomes(y: FloatArray) -> RankedOutcomes:
    values, place = np.unique(y, return_inverse=True)
    return RankedOutcomes(values, place.astype(np.intp, copy=False))


def grouped_forecasts(forecast: FloatArray) -> Forecasts:
    order = np.argsort(forecast, kind="stable")
    ascending = forecast[order]
    ends = np.flatnonzero(tie_ends(ascending)) + 1
    return Forecasts(ascending[ends - 1], ends, order)


def isotonic_quantile(
    outcomes: RankedOutcomes, w: FloatArray, forecasts: Forecasts, level: float, *, upper: bool = False
) -> FloatArray:
    """Return the fit of each different forecast: the lower quantile of its block, or with `upper` the upper quantile.

    For the median of outcomes 3, 1, 5 with rising forecasts, the first two fall and are pooled.

    >>> y, q = np.array([3.0, 1.0, 5.0]), np.array([1.0, 2.0, 3.0])
    >>> isotonic_quantile(ranked_outcomes(y), np.ones(3), grouped_forecasts(q), 0.5)
    array([1., 1., 5.])
    >>> isotonic_quantile(ranked_outcomes(y), np.ones(3), grouped_forecasts(q), 0.5, upper=True)
    array([3., 3., 5.])
    """
    ends, G = forecasts.ends, forecasts.ends.size
    rise, fall = _steps(w, level, upper)
    if not is_unit(w):
        rise, fall = rise[forecasts.order], fall[forecasts.order]
    place = outcomes.place[forecasts.order]
    group = None if place.size == G else np.repeat(np.arange(G), forecasts.rows)

    starts = np.zeros(1, np.intp)  # stretches of groups; their fits lie between the values `low` and `high`
    low, high = np.zeros(1, np.intp), np.full(1, outcomes.values.size - 1)
    while (low < high).any():
        middle, length = (low + high) // 2, np.diff(starts, append=G)
        threshold = np.repeat(middle, length)
        step = np.where(place <= (threshold if group is None else threshold[group]), rise, -fall)
        walk = np.cumsum(step)[ends - 1]
        cut = np.where(low < high, _cuts(walk, starts, length, upper), starts + length)
        starts, low, high = (
            np.stack(pair, axis=1).ravel() for pair in ((starts, cut), (low, middle + 1), (middle, high))
        )
        kept = np.diff(starts, append=G) > 0
        starts, low, high = starts[kept], low[kept], high[kept]
    return outcomes.values[np.repeat(low, np.diff(starts, append=G))]


def lower_quantile(outcomes: RankedOutcomes, w: FloatArray, level: float) -> float:
    """Return the smallest outcome z with weighted F(z) >= level."""
    order = np.argsort(outcomes.place, kind="stable")
    rise, fall = (np.broadcast_to(side, order.shape) for side in _steps(w, level, upper=False))
    reached = np.cumsum((rise + fall)[order]) >= fall.sum()
    return float(outcomes.values[outcomes.place[order[int(np.argmax(reached))]]])


def _cuts(walk: NDArray[Any], starts: IndexArray, length: IndexArray, upper: bool) -> IndexArray:
    """Return for each stretch the group after which its walk is highest, or its start."""
    before = np.concatenate(([walk.dtype.type(0)], walk[starts[1:] - 1]))
    best = np.maximum.reduceat(walk, starts)
    highest = walk == np.repeat(best, length)
    number = np.arange(1, walk.size + 1)
    if upper:
        first = np.minimum.reduceat(np.where(highest, number, walk.size + 1), starts)
        return np.where(best > before, first, starts)
    last = np.maximum.reduceat(np.where(highest, number, 0), starts)
    return np.where(best >= before, last, starts)


def _steps(w: FloatArray, level: float, upper: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return w(1 - τ) and wτ up to a factor; integers if the weights are multiples of one another, for exact ties."""
    share = np.ones(1) if is_unit(w) else w / w.min()
    whole = np.rint(share)
    part = Fraction(level).limit_denominator(MAX_DENOMINATOR)
    total = float(w.size) if is_unit(w) else float(whole.sum())
    if (share == whole).all() and total * part.denominator < MAX_INTEGER:
        units = whole.astype(np.int64)
        return units * (part.denominator - part.numerator), units * part.numerator
    tau = level + SLACK if upper else level - SLACK
    return w * (1 - tau), w * tau
