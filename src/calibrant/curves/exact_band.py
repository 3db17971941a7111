"""Counts of ranks below some points, against what they would be if every rank were equally likely."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.curves.rank_columns import adjusted, by_column, known_of, level_of_each
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.counts_test import counts_test
from calibrant.primitives.ecdf_band import Band, ecdf_band
from calibrant.summaries.ranks import Ranks


class Judged(NamedTuple):
    """The simultaneous band of counts at T points, and how far each of C columns departs from its law."""

    band: Band
    gamma: FloatArray  # (C,), the smallest doubled tail of a count
    where: FloatArray  # (C,), the point that has it
    pvalue_each: FloatArray  # (C,), exact
    pvalue: FloatArray  # (C,), of all columns together


def judge(counts: NDArray[np.int64], ranks: Ranks, t: FloatArray, level: float, multiplicity: str) -> Judged:
    """Compare counts (T, C) with Binomial(n, t), all points at once; t increases strictly within (0, 1)."""
    N = ranks.n
    band = ecdf_band(N, t, level_of_each(level, ranks.C, multiplicity))
    gamma, pvalue, place = counts_test(counts, N, t)
    return Judged(band, gamma, t[place], pvalue, adjusted(pvalue, multiplicity))


def details_of(judged: Judged, ranks: Ranks) -> dict[str, Any]:
    """Return what a curve tells of its departure and of its ranks."""
    found = {name: getattr(judged, name) for name in ("gamma", "pvalue", "pvalue_each", "where")}
    return {
        "gamma_band": judged.band.gamma,
        **{name: by_column(values, ranks) for name, values in found.items()},
        **known_of(ranks),
    }
