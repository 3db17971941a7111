"""What tests of ranks return: one number per column, p-values adjusted for their number, the effect in user units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calibrant.inference.rank_effect import rank_effect
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.multiplicity import holm
from calibrant.results import TestResult
from calibrant.summaries.ranks import Ranks

CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "not adjusted"}
LEAST = float(np.finfo(np.float64).tiny)  # a p-value that float64 cannot hold is not 0


class Found(NamedTuple):
    """What a test found, column by column: `columns` are details of each in their last axis, `shared` those of all."""

    statistic: FloatArray  # (C,)
    pvalue: FloatArray  # (C,)
    words: str
    columns: Mapping[str, Any]
    shared: Mapping[str, Any]


def rank_result(ranks: Ranks, found: Found, pvalue: FloatArray, correction: str) -> TestResult:
    """Return the result of a test of these ranks; `pvalue` is adjusted for the number of columns."""
    effect, single = rank_effect(ranks), ranks.single
    columns = f"; {ranks.C:,} columns" if ranks.C > 1 else ""
    return TestResult(
        statistic=shaped(found.statistic, single),
        pvalue=shaped(np.maximum(pvalue, LEAST), single),
        estimate=(shaped(effect.shift, single), shaped(effect.spread, single)),
        method=f"{found.words}; {ranks_in_words(ranks)}{columns}{correction and ', '}{correction}",
        n=ranks.n,
        details={
            "names": ranks.names,
            "pvalue_each": shaped(np.maximum(found.pvalue, LEAST), single),
            "M": ranks.M,
            "tied": shaped(ranks.tied, single),
            **{name: shaped(values, single) for name, values in found.columns.items()},
            **found.shared,
        },
    )


def shaped(values: Any, single: bool) -> Any:
    """Return values (..., C) as they are, or without their last axis if one column came without one."""
    if not single:
        return values
    column = values[..., 0]
    return column.item() if column.ndim == 0 else column


def ranks_in_words(ranks: Ranks) -> str:
    """Say what the ranks are among."""
    return f"cells of F(y), {ranks.M + 1:,} of them" if ranks.cells else f"ranks among {ranks.M:,} draws"


def adjusted(pvalue: FloatArray, multiplicity: str) -> FloatArray:
    """Return p-values adjusted for their number; NaN is none."""
    if multiplicity == "holm":
        return holm(pvalue.ravel()).reshape(pvalue.shape)
    if multiplicity == "bonferroni":
        return np.asarray(np.minimum(1.0, pvalue * np.count_nonzero(~np.isnan(pvalue))))
    return pvalue
