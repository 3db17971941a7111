"""Redrawn outcomes kept sparsely: only the rows whose outcome is the less probable one.

With rare events almost every redrawn outcome is the probable one, 0 below p = 1/2 and 1 above. A replicate is then the
base, in which every outcome is the probable one, and a few flips. A row flips with probability q = min(p, 1 - p): that
is the probability that a Poisson variable of mean -log(1 - q) is not 0, so that the flips of all rows are the different
rows hit by one Poisson process, drawn in time proportional to their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.pool import Pool
from calibrant.primitives.walk import tie_ends
from calibrant.progress import steps

MOST_POINTS = 1 << 20  # drawn at once
SPARSE = 1 / 8  # of the entries: fewer expected flips are cheaper to draw than outcomes


class Flips(NamedTuple):
    """Flips in the order of (replicate, entry), one for each row flipped, of `replicates` replicates."""

    replicate: NDArray[np.int64]
    entry: NDArray[np.int64]
    replicates: int


def flip_rates(pool: Pool) -> FloatArray:
    """Return the mean number of Poisson points of each entry."""
    return np.asarray(-pool.rows * np.log1p(-np.minimum(pool.score, 1 - pool.score)), dtype=np.float64)


def is_sparse(pool: Pool) -> bool:
    """Tell whether redraws are better kept as flips."""
    return float(flip_rates(pool).sum()) < SPARSE * pool.score.size


def base_events(pool: Pool) -> NDArray[np.int64]:
    """Return the events of each entry when every outcome is the probable one."""
    return np.where(pool.score > 0.5, pool.rows, 0)


def flip_signs(pool: Pool) -> FloatArray:
    """Return what a flip adds to the weighted events: w where the probable outcome is 0, -w where it is 1."""
    return np.where(pool.score > 0.5, -pool.weight, pool.weight)


def redraw_flips(pool: Pool, resamples: int, rng: np.random.Generator) -> Iterator[Flips]:
    """Yield the flips of `resamples` replicates in all."""
    reach = np.cumsum(flip_rates(pool))
    total = float(reach[-1])
    size = max(1, int(MOST_POINTS // max(total, 1.0)))
    for start, stop in steps(resamples, size=size, label="redrawing outcomes"):
        points = rng.poisson(total, size=stop - start)
        replicate = np.repeat(np.arange(stop - start), points)
        entry = np.searchsorted(reach, rng.random(replicate.size) * total, side="right")
        entry = np.minimum(entry, reach.size - 1)  # a product that rounds up to the total
        row = rng.integers(0, pool.rows[entry])
        order = np.lexsort((row, entry, replicate))
        replicate, entry, row = replicate[order], entry[order], row[order]
        new = np.ones(order.size, dtype=bool)
        new[1:] = (np.diff(replicate) != 0) | (np.diff(entry) != 0) | (np.diff(row) != 0)
        yield Flips(replicate[new], entry[new], stop - start)


def flipped_sums(flips: Flips, change: FloatArray) -> FloatArray:
    """Return the sum of `change` over the flipped rows of each replicate."""
    sums = np.bincount(flips.replicate, change[flips.entry], minlength=flips.replicates)
    return np.asarray(sums, dtype=np.float64)


class FlippedWalks:
    """Highest and lowest point of the cumulative differences of replicates given by their flips.

    Without flips the walk falls while p <= 1/2 and rises after, so that between two flips it has its extremes at the
    ends, or at the turn.
    """

    def __init__(self, pool: Pool) -> None:
        ends = tie_ends(pool.score)
        self.group = np.concatenate(([0], np.cumsum(ends)[:-1]))  # of each entry: which different score it has
        steps_of_base = pool.weight * (base_events(pool) - pool.rows * pool.score)
        at_ends = np.cumsum(steps_of_base)[ends]
        self.base = np.concatenate(([0.0], at_ends))  # base[g + 1] is the walk at the end of group g
        self.turn = int(np.searchsorted(pool.score[ends], 0.5, side="right"))
        self.sign = flip_signs(pool)

    def extremes(self, flips: Flips) -> tuple[FloatArray, FloatArray]:
        """Return the highest and the lowest point of each replicate's walk."""
        count = flips.replicates
        sign, group = self.sign[flips.entry], self.group[flips.entry]
        # One row per replicate, so that no sum carries the rounding of the replicates before it.
        place = np.arange(sign.size) - np.searchsorted(flips.replicate, flips.replicate)
        laid_out = np.zeros((count, int(place.max(initial=0)) + 1))
        laid_out[flips.replicate, place] = sign
        passed = np.cumsum(laid_out, axis=1)[flips.replicate, place]
        # A flip is seen only at the end of its tied group: count all flips of the group after, none before.
        key = flips.replicate * (self.base.size + 1) + group
        after = passed[np.searchsorted(key, key, side="right") - 1] + self.base[group + 1]
        before = (passed - sign)[np.searchsorted(key, key, side="left")] + self.base[group]
        at_turn = self.base[self.turn] + np.bincount(flips.replicate, sign * (group < self.turn), minlength=count)
        at_end = self.base[-1] + np.bincount(flips.replicate, sign, minlength=count)
        high, low = np.maximum(np.maximum(at_turn, at_end), 0.0), np.minimum(np.minimum(at_turn, at_end), 0.0)
        for values in (after, before):
            np.maximum.at(high, flips.replicate, values)
            np.minimum.at(low, flips.replicate, values)
        return high, low
