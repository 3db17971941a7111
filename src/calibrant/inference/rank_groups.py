"""The band test in every group of rows."""

from __future__ import annotations

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inference.rank_band import band_test
from calibrant.inference.rank_effect import rank_effect
from calibrant.inference.rank_result import CORRECTIONS, LEAST, adjusted, ranks_in_words, shaped
from calibrant.results import TestResult
from calibrant.summaries.grouped_ranks import GroupedRanks

FEWEST = 20  # rows of a group that is tested


def grouped(summary: GroupedRanks, multiplicity: str) -> TestResult:
    """Return exact p-values per group and column, adjusted over all of them; small groups are listed and not tested."""
    ranks = summary.ranks
    shape = (len(summary.parts), ranks.C)
    gamma, raw, where = np.full((3, *shape), np.nan)
    for g, part in enumerate(summary.parts):
        if part.n >= FEWEST:
            gamma[g], raw[g], where[g] = band_test(part)
    if np.isnan(raw).all():
        largest = max(part.n for part in summary.parts)
        raise NotApplicableError(
            f"no group has the {FEWEST} rows that its test needs; the largest has {largest}. Use fewer, larger groups"
        )
    raw = np.maximum(raw, LEAST)
    effects = [rank_effect(part) for part in summary.parts]
    single = ranks.single
    details = {
        "groups": summary.labels,
        "rows": np.array([part.n for part in summary.parts]),
        "names": ranks.names,
        "pvalue_each": shaped(raw, single),
        "where": shaped(where, single),
        "M": ranks.M,
        "tied": shaped(summary.tied, single),
    }
    untested = int(np.count_nonzero([part.n < FEWEST for part in summary.parts]))
    few = f", {untested} of them too small to be tested" if untested else ""
    cells = int(np.count_nonzero(~np.isnan(raw)))
    return TestResult(
        statistic=shaped(gamma, single),
        pvalue=shaped(adjusted(raw, multiplicity), single),
        estimate=tuple(
            shaped(np.stack([getattr(effect, name) for effect in effects]), single) for name in ("shift", "spread")
        ),
        method=(
            f"curve of the ranks against its simultaneous band, in each of {len(summary.parts):,} groups{few}; exact; "
            f"{ranks_in_words(ranks)}; {cells} p-values, {CORRECTIONS[multiplicity]}"
        ),
        n=summary.n,
        details=details,
    )
