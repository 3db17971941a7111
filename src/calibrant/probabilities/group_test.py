"""Kuiper's test in many groups of rows at once, adjusted for their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.grid import Grid
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.pvalues import brownian_range_sf, holm, normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.cumulative import kuiper_test
from calibrant.progress import steps

NUMBERS_AT_ONCE = 1 << 22  # redrawn outcomes held in memory
MAX_GROUPS_BY_PVALUE = 50
POWER = 0.8  # at the minimum detectable error


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
    predicted: FloatArray  # mean
    bias: FloatArray  # mean observed less mean predicted
    minimum_detectable: FloatArray


def group_test(
    rows: Binary, groupings: list[Grouping], *, level: float, resamples: int, rng: np.random.Generator
) -> GroupFindings:
    """Test each group by Kuiper's statistic H, with step-down adjustment (Westfall and Young 1993).

    Outcomes are redrawn on all rows at once, so groups may overlap. The null distribution of the calibrated groups does
    not depend on the others, and the family-wise error rate is controlled in the strong sense. Groups are compared by
    their redrawn p-values (minimum p). Those are multiples of 1/(resamples + 1), and among many groups some reach the
    smallest by chance; the statistics themselves are therefore compared beyond 50 groups (maximum H). The minimum
    detectable constant error is found with 80 % power at the adjusted level.
    """
    order = np.lexsort([*(grouping.code for grouping in groupings), rows.w, rows.p])
    p, w, y = rows.p[order].astype(np.float64), rows.w[order], rows.y[order]
    walks = [_Walks(p, w, grouping.code[order], len(grouping.names)) for grouping in groupings]
    sizes = np.empty((sum(walk.groups for walk in walks), resamples + 1), dtype=np.float32)
    sizes[:, :1] = _sizes(walks, y[None, :])
    for start, stop in steps(resamples, size=max(1, NUMBERS_AT_ONCE // p.size), label="redrawing outcomes in groups"):
        sizes[:, start + 1 : stop + 1] = _sizes(walks, rng.random((stop - start, p.size)) < p)
    scale = np.concatenate([walk.scale for walk in walks])
    total = np.concatenate([walk.total for walk in walks])
    reached = np.count_nonzero(sizes >= sizes[:, :1], axis=1)
    estimate = np.concatenate([walk.extents(y[None, :])[:, 0] for walk in walks]) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(scale > 0, estimate / scale, np.where(estimate > 0, np.inf, 0.0))
    if len(sizes) <= MAX_GROUPS_BY_PVALUE:
        adjusted, threshold = _step_down(_ranks(sizes), level)
        needed = np.quantile(sizes, 1 - threshold / (resamples + 1), axis=1) / total
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes /= (scale * total)[:, None].astype(np.float32)
        np.nan_to_num(sizes, copy=False, nan=0.0)
        np.negative(sizes, out=sizes)
        adjusted, threshold = _step_down(sizes, level)
        needed = -threshold * scale
    return GroupFindings(
        names=[name for grouping in groupings for name in grouping.names],
        n=np.concatenate([walk.count for walk in walks]),
        weight=np.concatenate([walk.weight for walk in walks]),
        estimate=estimate,
        statistic=statistic,
        pvalue=reached / (resamples + 1),
        pvalue_adjusted=adjusted,
        predicted=np.concatenate([walk.predicted for walk in walks]),
        bias=np.concatenate([walk.ends(y[None, :])[:, 0] for walk in walks]) / total,
        minimum_detectable=needed + normal_quantile(POWER) * scale,
    )


class _Walks:
    """The cumulative differences of the groups of one grouping, all in one array."""

    def __init__(self, p: FloatArray, w: FloatArray, code: NDArray[np.intp], groups: int) -> None:
        self.groups = groups
        self.order = np.argsort(code, kind="stable")  # by group, then by score
        sorted_code, self.p, self.w = code[self.order], p[self.order], w[self.order]
        self.starts = np.searchsorted(sorted_code, np.arange(groups))
        self.weight = np.bincount(code, w, minlength=groups)
        # Each group in units of its own largest weight: rounding in one does not affect another, and float32 suffices.
        self.w = self.w / np.maximum.reduceat(self.w, self.starts)[sorted_code]
        last = np.ones(p.size, dtype=bool)  # of the rows of one score in one group
        last[:-1] = (np.diff(self.p) != 0) | (np.diff(sorted_code) != 0)
        self.last = np.flatnonzero(last)
        self.code_at_last = sorted_code[self.last]
        self.first_last = np.searchsorted(self.code_at_last, np.arange(groups))
        self.count = np.bincount(code, minlength=groups)
        self.total = np.bincount(sorted_code, self.w, minlength=groups)
        self.predicted = np.bincount(sorted_code, self.w * self.p, minlength=groups) / self.total
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
    """Return, for each group and replicate, how many replicates are at least as large (itself counted).

    The sizes are float32: values that differ only by rounding of float64 are tied.
    """
    ranks = np.empty(sizes.shape, dtype=np.uint16)
    B = sizes.shape[1]
    for g, row in enumerate(sizes):
        ranks[g] = B - np.searchsorted(np.sort(row), row, side="left")
    return ranks


def _step_down(extreme: NDArray[Any], level: float) -> tuple[FloatArray, float]:
    """Return adjusted p-values, and the value that a single group must reach to be found among all.

    `extreme` has the data in its first column, then the redraws; it is small where a group stands out.
    """
    G, B = extreme.shape
    order = np.argsort(extreme[:, 0], kind="stable")
    least = extreme[order[-1]].copy()
    adjusted = np.empty(G)
    for g in order[::-1]:
        np.minimum(least, extreme[g], out=least)
        adjusted[g] = np.count_nonzero(least <= extreme[g, 0]) / B
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted, float(np.quantile(least, 1 - level, method="lower"))


WIDEST_RANGE = 40.0  # that a Brownian motion on [0, 1] exceeds with a probability below the smallest float64


def counted_groups(groups: Iterable[tuple[str, Grid]], *, level: float, rng: np.random.Generator) -> GroupFindings:
    """Test each group by itself, and adjust the p-values for their number (Holm).

    The minimum detectable constant error is found with 80 % power at the level that the first of all groups must reach,
    by the limit distribution of the statistic.
    """
    names, lines = [], []
    for name, grid in groups:
        # Ties make the limit conservative; redraws for them would take long in many groups.
        enough = float(grid.cells().w2v.sum()) >= MIN_INFORMATION * grid.weight_max**2
        test = kuiper_test(grid, null="asymptotic" if enough else "auto", rng=rng)
        whole = grid.bins(1)
        predicted, observed = float(whole.mean_predicted[0]), float(whole.mean_observed[0])
        names.append(name)
        lines.append(
            (grid.n, whole.w[0], test.estimate, test.statistic, test.pvalue, predicted, observed, test.details["scale"])
        )
    n, weight, estimate, statistic, pvalue, predicted_, observed_, scale = map(np.array, zip(*lines, strict=True))
    return GroupFindings(
        names=names,
        n=n,
        weight=weight,
        estimate=estimate,
        statistic=statistic,
        pvalue=pvalue,
        pvalue_adjusted=holm(pvalue),
        predicted=predicted_,
        bias=observed_ - predicted_,
        minimum_detectable=(_critical((1 - level) / len(names)) + normal_quantile(POWER)) * scale,
    )


def _critical(size: float) -> float:
    """Return the value that the range of a Brownian motion exceeds with this probability.

    >>> round(_critical(0.05), 3)
    2.498
    """
    from scipy.optimize import brentq

    return float(brentq(lambda x: brownian_range_sf(x) - size, 0.0, WIDEST_RANGE))
