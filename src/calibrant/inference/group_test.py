"""Is a group of rows miscalibrated? Kuiper's test in many groups at once, with the family-wise level kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import Binary
from calibrant.inputs.groups import Grouping
from calibrant.inputs.weights import FloatArray
from calibrant.progress import steps

MOST_NUMBERS = 1 << 22  # drawn at once
POWER_QUANTILE = 0.8416212335729143  # of the standard normal at 0.8


@dataclass(frozen=True)
class GroupFindings:
    """One value per group, in the order of the groupings."""

    names: list[str]
    n: NDArray[np.int64]
    weight: FloatArray
    estimate: FloatArray
    statistic: FloatArray
    pvalue: FloatArray
    pvalue_adjusted: FloatArray
    bias: FloatArray
    minimum_detectable: FloatArray


def group_test(
    rows: Binary, groupings: list[Grouping], *, level: float, resamples: int, rng: np.random.Generator
) -> GroupFindings:
    """Test each group by Kuiper's statistic H, with step-down minimum p-values (Westfall and Young 1993).

    Outcomes are redrawn on all rows at once, so that groups may overlap; the law of the statistics of groups that are
    calibrated does not depend on the others, and the family-wise level holds strongly. The minimum detectable
    constant error has 80 % power at the adjusted level.
    """
    order = np.lexsort([*(grouping.code for grouping in groupings), rows.w, rows.p])
    p, w, y = rows.p[order].astype(np.float64), rows.w[order], rows.y[order]
    walks = [_Walks(p, w, grouping.code[order], len(grouping.names)) for grouping in groupings]
    sizes = np.empty((sum(walk.groups for walk in walks), resamples + 1), dtype=np.float32)
    sizes[:, :1] = _sizes(walks, y[None, :])
    for start, stop in steps(resamples, size=max(1, MOST_NUMBERS // p.size), label="redrawing outcomes in groups"):
        sizes[:, start + 1 : stop + 1] = _sizes(walks, rng.random((stop - start, p.size)) < p)
    ranks = _ranks(sizes)
    B = resamples + 1
    scale = np.concatenate([walk.scale for walk in walks])
    total = np.concatenate([walk.total for walk in walks])
    estimate = np.concatenate([walk.extents(y[None, :])[:, 0] for walk in walks]) / total
    adjusted, threshold = _step_down(ranks, level)
    quantile = np.quantile(sizes, 1 - threshold, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(scale > 0, estimate / scale, np.where(estimate > 0, np.inf, 0.0))
    return GroupFindings(
        names=[name for grouping in groupings for name in grouping.names],
        n=np.concatenate([walk.count for walk in walks]),
        weight=total,
        estimate=estimate,
        statistic=statistic,
        pvalue=ranks[:, 0] / B,
        pvalue_adjusted=adjusted,
        bias=np.concatenate([walk.ends(y[None, :])[:, 0] for walk in walks]) / total,
        minimum_detectable=quantile / total + POWER_QUANTILE * scale,
    )


class _Walks:
    """The cumulative differences of the groups of one grouping, all in one array."""

    def __init__(self, p: FloatArray, w: FloatArray, code: NDArray[np.intp], groups: int) -> None:
        self.groups = groups
        self.order = np.argsort(code, kind="stable")  # by group, then by score
        sorted_code, self.p, self.w = code[self.order], p[self.order], w[self.order]
        self.starts = np.searchsorted(sorted_code, np.arange(groups))
        last = np.ones(p.size, dtype=bool)  # of the rows of one score in one group
        last[:-1] = (np.diff(self.p) != 0) | (np.diff(sorted_code) != 0)
        self.last = np.flatnonzero(last)
        self.code_at_last = sorted_code[self.last]
        self.first_last = np.searchsorted(self.code_at_last, np.arange(groups))
        self.count = np.bincount(code, minlength=groups)
        self.total = np.bincount(code, w, minlength=groups)
        variance = np.bincount(sorted_code, self.w**2 * self.p * (1 - self.p), minlength=groups)
        self.scale = np.sqrt(variance) / self.total

    def _partial(self, y: NDArray[Any]) -> FloatArray:
        """Return the walks at ends of ties, (replicates, ends), each group starting at 0."""
        C = np.cumsum(self.w * (y[:, self.order] - self.p), axis=1)
        before = np.concatenate([np.zeros((len(y), 1)), C], axis=1)[:, self.starts]
        partial: FloatArray = C[:, self.last] - before[:, self.code_at_last]
        return partial

    def extents(self, y: NDArray[Any]) -> FloatArray:
        """Return max C - min C of each group, C_0 = 0 included, (groups, replicates)."""
        partial = self._partial(y)
        high = np.maximum(np.maximum.reduceat(partial, self.first_last, axis=1), 0)
        low = np.minimum(np.minimum.reduceat(partial, self.first_last, axis=1), 0)
        extents: FloatArray = (high - low).T
        return extents

    def ends(self, y: NDArray[Any]) -> FloatArray:
        """Return the last value of each group's walk, (groups, replicates)."""
        final: FloatArray = self._partial(y)[:, np.append(self.first_last[1:], self.last.size) - 1].T
        return final


def _sizes(walks: list[_Walks], y: NDArray[Any]) -> FloatArray:
    return np.concatenate([walk.extents(y) for walk in walks])


def _ranks(sizes: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return, for each group and replicate, how many replicates are at least as large (itself counted)."""
    ranks = np.empty(sizes.shape, dtype=np.uint16)
    B = sizes.shape[1]
    for g, row in enumerate(sizes):
        ranks[g] = B - np.searchsorted(np.sort(row), row, side="left")
    return ranks


def _step_down(ranks: NDArray[np.uint16], level: float) -> tuple[FloatArray, float]:
    """Return adjusted p-values, and the p-value one group must fall below to be found among all."""
    G, B = ranks.shape
    order = np.argsort(ranks[:, 0], kind="stable")
    least = np.full(B, np.iinfo(np.uint16).max, dtype=np.uint16)
    adjusted = np.empty(G)
    for g in order[::-1]:
        np.minimum(least, ranks[g], out=least)
        adjusted[g] = np.count_nonzero(least <= ranks[g, 0]) / B
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted, float(np.quantile(least, 1 - level, method="lower")) / B
