"""Ranks of outcomes, coordinate by coordinate, under any prediction that has a distribution function."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs import generator
from calibrant.inputs.judged import CdfRows, QuantileRows
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import bin_of, width_edges
from calibrant.primitives.pit_bounds import pit_bounds
from calibrant.primitives.rank_counts import rank_counts
from calibrant.primitives.ranked import Ranked, column_names, ranked

CELLS = 1000  # of [0, 1], in which the values of a distribution function are counted


def marginal_ranks(rows: LawRows | QuantileRows | CdfRows, rng: Any) -> Ranked:
    """Return the ranks among draws; of other predictions the cell of F(y) among 1000, which is a rank with M = 999.

    >>> from calibrant.inputs.outcomes import read_outcomes
    >>> marginal_ranks(read_outcomes([2.5], Samples([[1.0, 2.0, 3.0]])), None).rank
    array([2])
    """
    if rng is not None:
        generator(rng)  # refuses what is none, whether it is needed or not
    if isinstance(rows, LawRows) and isinstance(rows.law, Samples):
        less, equal = rank_counts(rows.y, rows.law.held, rows.dtype)
        return ranked(less, equal, rng, M=rows.law.M)
    low, high = pit_bounds(rows)
    wide = high > low
    if not wide.any():
        return cells(high, np.zeros(high.shape, bool))
    if rng is None:
        raise InputError(
            f"the distribution function jumps at the outcome in {np.count_nonzero(wide):,} of {wide.size:,} values, "
            "and chance decides between its ends; pass rng=, a numpy Generator or a whole number"
        )
    return cells(low + generator(rng).random(low.shape) * (high - low), wide)


def cells(u: FloatArray, drawn: Any) -> Ranked:
    """Return values of [0, 1] as ranks with M = 999: their cells of width 1/1000, right-closed, 0 in the first.

    `drawn` tells which of them chance has decided.
    """
    rank = bin_of(u.ravel(), width_edges(CELLS)).reshape(u.shape).astype(np.int64)
    tied = np.atleast_1d(np.count_nonzero(drawn, axis=0)).astype(np.int64)
    return Ranked(rank, CELLS - 1, column_names(rank), tied, cells=True)
