"""Tests of many groups of rows at once: Kuiper's and Cox's statistic of each, adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import COLUMNS, BinTable
from calibrant.core.grid import GroupCells
from calibrant.core.mean_interval import exact_limits
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered, cell_columns, sums_by_key
from calibrant.core.pool import Pool
from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray, take_weights
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.calibration_test import LARGEST_LOGIT, RANK_TOLERANCE
from calibrant.probabilities.limits import largest_error
from calibrant.probabilities.size import Quantity, Size, rms_if_no_event, size_of
from calibrant.progress import steps

GROUP_RESAMPLES = 999
MAX_ENTRIES = 1 << 17  # of all groups together, from which outcomes are redrawn
MIN_ENTRIES_PER_GROUP, MAX_ENTRIES_PER_GROUP = 8, 256
GROUPS_AT_ONCE = 50  # between two messages of progress
SMALLEST_TAIL = 5  # redraws beyond the anchor of a tail
POWER = 0.8  # at the minimum detectable error
WHOLE = 1e-9  # relative difference from a whole number that is rounding
HUGE = 1e150  # near the largest number whose square float64 holds
NO_SPREAD = 1e-9  # stands for the standard deviation where outcomes cannot vary
N, W, W2, WP, WY, WV, W2V, W2R2 = (COLUMNS.index(name) for name in ("n", "w", "w2", "wp", "wy", "wv", "w2v", "w2r2"))


@dataclass(frozen=True)
class GroupFindings:
    """One value per group, in the order of the groupings."""

    names: list[str]
    n: NDArray[np.int64]
    weight: FloatArray
    estimate: FloatArray  # cutoff error, or what `sized` puts in its place
    low: FloatArray  # limits of the error that cover in all groups together; the lower one if the test rejects
    high: FloatArray
    statistic: FloatArray  # Kuiper's, the estimate in units of its scale
    pvalue: FloatArray  # of Kuiper's and Cox's statistic together
    pvalue_adjusted: FloatArray  # for all groups together
    predicted: FloatArray  # mean
    bias: FloatArray  # mean observed less mean predicted
    bias_low: FloatArray  # limits that cover in all groups together
    bias_high: FloatArray
    minimum_detectable: FloatArray  # constant error that is found with 80 % power
    never: FloatArray  # root mean square error if no event happened
    quantity: tuple[Quantity, ...] = ()  # what `estimate` is; empty: the cutoff error


def group_test(
    rows: Binary,
    groupings: Sequence[Grouping],
    *,
    level: float,
    resamples: int = GROUP_RESAMPLES,
    rng: np.random.Generator,
) -> GroupFindings:
    r"""Test each group by Kuiper's and Cox's statistic, adjusted for the number of groups, with limits of the error.

    Outcomes are redrawn from the scores of each group: those of its rows, or of some hundred cells of equal mass if it
    has more different scores. The p-value of a group is that of the smaller p-value of its two statistics.

    The smallest of the p-values of all groups is compared with the smallest ones of the redraws, step by step (Westfall
    and Young 1993). Redraws alone resolve p-values down to 1/(resamples + 1), too coarse for many groups. Beyond the
    anchor a, the statistic's redrawn quantile at `level`, the p-value of x is therefore extrapolated by

    .. math:: \log p(x) = \log p(a) - (h(bx) - h(ba))/b^2, \quad h(u) = (1 + u) \log(1 + u) - u

    with the largest share b of one row in the standard deviation: the tail of a sum of bounded variables (Bennett
    1962), normal for small b and that of a Poisson variable for rare events. It decides which groups are compared as
    equally surprising, not the error rate, because redraws are extrapolated in the same way.

    The limits of the cutoff error allow for all groups by Bonferroni's inequality; see `GroupLimits`.

    Groups may overlap: they are redrawn one by one, as if they were disjoint. The error rate of a family of any
    dependence exceeds that of independent tests with the same thresholds by at most 2.6 % of itself at level 0.95.
    The family-wise error rate of the tests, of the limits of the errors and of those of the biases is 1 - `level`.
    """
    most = entries_per_group(sum(len(grouping.names) for grouping in groupings))
    parts = [entries_of_rows(rows, grouping, most)[0] for grouping in groupings]
    return _independent(parts, level, resamples, rng)


def counted_groups(
    groupings: Iterable[GroupCells], *, level: float, resamples: int = GROUP_RESAMPLES, rng: np.random.Generator
) -> GroupFindings:
    groupings = list(groupings)
    most = entries_per_group(sum(len(cells.names) for cells in groupings))
    return _independent([entries_of_cells(cells, most) for cells in groupings], level, resamples, rng)


def part_test(
    summaries: Sequence[Ordered],
    names: Sequence[str],
    *,
    level: float,
    exceeded: Sequence[float] | None = None,
    resamples: int = GROUP_RESAMPLES,
    rng: np.random.Generator,
) -> GroupFindings:
    """Return the same as `group_test` for parts given by their sorted rows, such as each class against the rest.

    Outcomes of different parts may depend on each other, as those of overlapping groups do. `exceeded` says by how much
    the cutoff error of the rows may exceed that of a summary, where rows were counted in cells.
    """
    most = entries_per_group(len(summaries))
    more = [0.0] * len(summaries) if exceeded is None else exceeded
    parts = [entries_of_summary(*part, most) for part in zip(summaries, names, more, strict=True)]
    return _independent(parts, level, resamples, rng)


def _independent(parts: list[GroupEntries], level: float, resamples: int, rng: np.random.Generator) -> GroupFindings:
    total = np.concatenate([part.total for part in parts], axis=1)
    heaviest, reach = (np.concatenate([getattr(part, name) for part in parts]) for name in ("heaviest", "reach"))
    limits = _limits(total, heaviest, reach / total[W], level)
    return findings(parts, lambda g, pool: redrawn_residuals(pool, resamples, rng), limits, level)


def entries_per_group(groups: int) -> int:
    return min(MAX_ENTRIES_PER_GROUP, max(MIN_ENTRIES_PER_GROUP, MAX_ENTRIES // groups))


class GroupEntries(NamedTuple):
    """The rows of the groups of one grouping, as sums over entries: the different scores or cells of each group."""

    names: Sequence[str]
    starts: NDArray[np.intp]  # the first entry of each group
    sums: FloatArray  # (11, entries), rows named by COLUMNS
    extent: FloatArray  # of each group's cumulative differences
    reach: FloatArray  # the same of its rows at most, where they were counted in cells
    heaviest: FloatArray  # largest weight of each group

    def groups(self) -> list[tuple[FloatArray, float]]:
        ends = [*self.starts[1:], self.sums.shape[1]]
        return [
            (self.sums[:, start:stop], float(heaviest))
            for start, stop, heaviest in zip(self.starts, ends, self.heaviest, strict=True)
        ]

    @property
    def total(self) -> FloatArray:
        total: FloatArray = np.add.reduceat(self.sums, self.starts, axis=1)
        return total


def entries_of_rows(rows: Binary, grouping: Grouping, most: int) -> tuple[GroupEntries, NDArray[np.intp]]:
    """Return at most about `most` entries per group, and the number of each row's entry."""
    order = np.lexsort((rows.p, grouping.code))
    code, p, w = grouping.code[order], rows.p[order], rows.w[order]
    last = np.ones(p.size, bool)  # of the rows of one score in one group
    last[:-1] = (p[1:] != p[:-1]) | (code[1:] != code[:-1])
    ends = np.flatnonzero(last)
    tied = np.diff(ends, prepend=-1)
    starts = _starts(code)
    heaviest = np.maximum.reduceat(w, starts)
    # In units of each group's largest weight, so that the rounding of one group does not affect another.
    walk = np.cumsum(w / heaviest[code] * (rows.y[order] - p.astype(np.float64)))[ends]
    extent = _extents(code[ends], walk) * heaviest
    entry = _entries(code[ends], tied, most)
    number = np.empty(p.size, np.intp)
    number[order] = np.repeat(entry, tied)
    sums = sums_by_key(rows, number, int(entry[-1]) + 1)
    return GroupEntries(grouping.names, number[order[starts]], sums, extent, extent, heaviest), number


def entries_of_cells(cells: GroupCells, most: int) -> GroupEntries:
    heaviest = cells.weight_max
    table = BinTable(np.zeros(0), cells.sums)
    step, rise, fall = (column / heaviest[cells.group] for column in (table.wy - table.wp, table.rise, table.fall))
    walk = np.cumsum(step)
    extent = _extents(cells.group, walk) * heaviest
    reach = _extents(cells.group, walk, walk - step + rise, walk - step - fall) * heaviest
    entry = _entries(cells.group, cells.sums[N].astype(np.int64), most)
    sums = np.add.reduceat(cells.sums, _starts(entry), axis=1)
    return GroupEntries(cells.names, entry[cells.starts], sums, extent, reach, cells.weight_max)


def entries_of_summary(summary: Ordered, name: str, exceeded: float, most: int) -> GroupEntries:
    """Return sorted rows as one group of at most about `most` entries; `exceeded` is a share of their weight."""
    sums = np.add.reduceat(np.stack(list(cell_columns(summary.pool))), summary.starts(), axis=1)
    entry = _entries(np.zeros(sums.shape[1], np.intp), sums[N].astype(np.int64), most)
    extent, heaviest = np.array([summary.walk.high - summary.walk.low]), np.array([summary.weight_max])
    reach = extent + exceeded * summary.total_weight
    pooled = np.add.reduceat(sums, _starts(entry), axis=1)
    return GroupEntries([name], np.zeros(1, np.intp), pooled, extent, reach, heaviest)


def _starts(number: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    return np.flatnonzero(np.diff(number, prepend=-1))


def _extents(
    group: NDArray[np.integer[Any]], walk: FloatArray, above: FloatArray | None = None, below: FloatArray | None = None
) -> FloatArray:
    """Return max C - min C of each group, C_0 = 0 included, given the cumulative sums C of all.

    `above` and `below` are bounds of C between its values, where these are sums of several rows.
    """
    starts = _starts(group)
    before = np.concatenate([[0.0], walk[starts[1:] - 1]])
    high = np.maximum.reduceat(walk if above is None else np.maximum(walk, above), starts) - before
    low = np.minimum.reduceat(walk if below is None else np.minimum(walk, below), starts) - before
    extents: FloatArray = np.maximum(high, 0) - np.minimum(low, 0)
    return extents


def _entries(group: NDArray[np.integer[Any]], count: NDArray[np.integer[Any]], most: int) -> NDArray[np.intp]:
    """Return the number of each score's entry; groups of more than `most` scores are cut into parts of equal mass."""
    starts = _starts(group)
    different, rows = np.diff(starts, append=group.size), np.add.reduceat(count, starts)
    before = np.cumsum(count) - count
    part = (before - before[starts][group]) * most // rows[group]
    part = np.where(different[group] <= most, np.arange(group.size), part)
    new = (np.diff(part, prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0)
    return np.cumsum(new) - 1


def redrawable(sums: FloatArray, heaviest: float) -> Pool:
    """Return entries from which outcomes can be redrawn, in units of the largest weight.

    Rows of unequal weight become (Σw)²/Σw² rows of equal weight, rounded down: redraws vary at least as much.
    """
    w, w2, wp, wy = sums[W] / heaviest, sums[W2] / heaviest**2, sums[WP] / heaviest, sums[WY] / heaviest
    rows = np.maximum(np.floor(w * w / w2 * (1 + WHOLE)), 1).astype(np.int64)
    weight = w / rows
    return Pool(np.minimum(wp / w, 1.0), weight, rows, wy / weight)


class Replicates(NamedTuple):
    """Residuals Σw(y - p) of the entries of a group, (entries, 1 + redraws), those of the data first.

    They are divided by `spread`, the standard deviation of the sum of all residuals in units of that of independent
    rows.
    """

    residuals: FloatArray
    spread: float = 1.0


def redrawn_residuals(pool: Pool, resamples: int, rng: np.random.Generator) -> Replicates:
    score, weight, count, events = pool
    drawn = np.empty((score.size, resamples + 1))
    drawn[:, 0] = events
    single = count == 1
    several = ~single
    drawn[single, 1:] = rng.random((np.count_nonzero(single), resamples)) < score[single, None]
    # NumPy draws many values of one binomial distribution faster than as many of different ones.
    size = np.count_nonzero(several), resamples
    drawn[several, 1:] = rng.binomial(count[several, None], score[several, None], size)
    return Replicates(weight[:, None] * (drawn - (count * score)[:, None]))


Redraw = Callable[[int, Pool], Replicates | None]
"""Given the number of a group and its entries, returns its replicates; None if the group cannot be tested."""


def findings(parts: Sequence[GroupEntries], redraw: Redraw, limits: GroupLimits, level: float) -> GroupFindings:
    judged: list[_Judged | None] = []
    groups = [group for part in parts for group in part.groups()]
    for start, stop in steps(len(groups), size=GROUPS_AT_ONCE, label="redrawing outcomes in groups"):
        for g in range(start, stop):
            pool = redrawable(*groups[g])
            replicates = redraw(g, pool)
            judged.append(None if replicates is None else _judged(GroupStatistics(pool), replicates, 1 - level))
    pvalue, adjusted, threshold = _adjusted([None if found is None else found.surprise for found in judged], level)
    total = np.concatenate([part.total for part in parts], axis=1)
    heaviest = np.concatenate([part.heaviest for part in parts])
    estimate = np.concatenate([part.extent for part in parts]) / total[W]
    scale = np.sqrt(total[W2V]) / total[W]
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(scale > 0, estimate / scale, np.where(estimate > 0, np.inf, 0.0))
    needed = np.array([np.nan if found is None else found.tail.at(threshold) for found in judged])
    spread = np.array([np.nan if found is None else found.spread for found in judged])
    return GroupFindings(
        names=[name for part in parts for name in part.names],
        n=total[N].astype(np.int64),
        weight=total[W],
        estimate=estimate,
        low=limits.low(judged, heaviest / total[W]),
        high=limits.high,
        statistic=statistic,
        pvalue=pvalue,
        pvalue_adjusted=adjusted,
        predicted=total[WP] / total[W],
        bias=(total[WY] - total[WP]) / total[W],
        bias_low=limits.bias_low,
        bias_high=limits.bias_high,
        minimum_detectable=(needed + normal_quantile(POWER)) * scale * spread,
        never=np.array([rms_if_no_event(*means) for means in (total[[WP, WV]] / total[W]).T.tolist()]),
    )


def sized(found: GroupFindings, sizes: Sequence[Size | None], level: float) -> GroupFindings:
    """Return the findings with the size of the error of each group in place of its cutoff error, where it has one.

    Limits of the sizes cover in all groups together (Bonferroni).
    """
    rate = (1 - level) / (2 * len(sizes))
    estimate, low, high = found.estimate.copy(), found.low.copy(), found.high.copy()
    for g, size in enumerate(sizes):
        if size is not None:
            limits = size.limits
            estimate[g], low[g], high[g] = limits.estimate, limits.low(rate), limits.high(rate)
    quantity = tuple("cutoff_error" if size is None else size.quantity for size in sizes)
    return replace(found, estimate=estimate, low=low, high=high, quantity=quantity)


def sizes_of_groups(rows: Binary, groupings: Sequence[Grouping]) -> list[Size | None]:
    return [size_of(Ordered.of(take(rows, own))) for grouping in groupings for own in rows_by_group(grouping)]


def rows_by_group(grouping: Grouping) -> list[NDArray[np.intp]]:
    """Return the numbers of the rows of each group."""
    order = np.argsort(grouping.code, kind="stable")
    return np.split(order, np.searchsorted(grouping.code[order], np.arange(1, len(grouping.names))))


def take(rows: Binary, chosen: NDArray[np.intp]) -> Binary:
    return Binary(rows.y[chosen], rows.p[chosen], take_weights(rows.w, chosen))


def _adjusted(surprise: list[NDArray[np.float32] | None], level: float) -> tuple[FloatArray, FloatArray, float]:
    """Return p-values, adjusted p-values, and the log p-value that a group must reach; NaN for groups not tested."""
    tested = [g for g, found in enumerate(surprise) if found is not None]
    pvalue, adjusted = np.full((2, len(surprise)), np.nan)
    if not tested:
        return pvalue, adjusted, np.nan
    extreme = np.stack([found for found in surprise if found is not None])
    pvalue[tested] = np.count_nonzero(extreme <= extreme[:, :1], axis=1) / extreme.shape[1]
    adjusted[tested], threshold = _step_down(extreme, level)
    return pvalue, adjusted, threshold


class GroupStatistics:
    """Kuiper's and Cox's statistic of one group, each in units of its standard deviation.

    Cox's is the root of the score statistic of logistic recalibration, a + b logit p: the sum of the squares of Σwr and
    of Σwr(logit p - m), each divided by its variance, where the mean m makes the two uncorrelated.
    """

    def __init__(self, pool: Pool) -> None:
        p, weight, count, _ = pool
        with np.errstate(divide="ignore"):
            logit = np.clip(np.log(p) - np.log1p(-p), -LARGEST_LOGIT, LARGEST_LOGIT)
        v = weight * weight * count * p * (1 - p)
        variance = float(v.sum())
        self.scale = math.sqrt(variance) or NO_SPREAD
        centred = logit - float(v @ logit) / variance if variance > 0 else np.zeros_like(p)
        spread = float(v @ centred**2)
        sloped = spread > RANK_TOLERANCE * float(v @ logit**2)
        self.features = np.stack(
            [np.full_like(p, 1 / self.scale), centred / math.sqrt(spread) if sloped else np.zeros_like(p)]
        )
        with np.errstate(over="ignore"):  # probabilities near the smallest number there is
            norm = np.sqrt((self.features**2).sum(axis=0))
        most = np.where(np.isinf(norm), np.hypot(*self.features), norm) * weight
        self.shares = (1 / self.scale, float(most.max())) if variance > 0 else (1.0, 1.0)

    def of(self, r: FloatArray) -> FloatArray:
        """Return both statistics (2, replicates) of weighted residuals (entries, replicates), which are overwritten."""
        with np.errstate(over="ignore"):  # an event of a probability near 0: it is the most surprising one anyway
            cox = np.sqrt(((self.features @ r) ** 2).sum(axis=0))
        walk = np.cumsum(r, axis=0, out=r)
        extent = walk.max(axis=0, initial=0.0) - walk.min(axis=0, initial=0.0)
        return np.stack([extent / self.scale, cox])


class _Tail(NamedTuple):
    """Kuiper's and Cox's tails of one group: anchors a, their log p-values, and the shares b of one row."""

    anchor: tuple[float, ...]
    log_pvalue: tuple[float, ...]
    share: tuple[float, ...]

    def at(self, log_pvalue: float) -> float:
        """Return the smallest of the values whose p-value is this one."""
        return min(
            _inverse(known - log_pvalue + float(_exponent(a, b)), b) if log_pvalue < known else a
            for a, known, b in zip(*self, strict=True)
        )

    @property
    def kuiper(self) -> _Tail:
        return _Tail(self.anchor[:1], self.log_pvalue[:1], self.share[:1])


class _Judged(NamedTuple):
    """One group: log p-values of data and redraws, the smaller one of both statistics; their tails; Kuiper's statistic.

    Kuiper's statistic is that of the data at the ends of the entries. It and the tails have the unit `scale`, in units
    of the largest weight; `spread` is that of the replicates.
    """

    surprise: NDArray[np.float32]
    tail: _Tail
    kuiper: float
    scale: float
    spread: float


def _judged(statistics: GroupStatistics, replicates: Replicates, rate: float) -> _Judged:
    shares = [share / replicates.spread for share in statistics.shares]
    values = np.minimum(statistics.of(replicates.residuals), np.finfo(np.float32).max).astype(np.float32)
    kuiper, cox = (_log_pvalues(x, share, rate) for x, share in zip(values, shares, strict=True))
    tail = _Tail((kuiper[1], cox[1]), (kuiper[2], cox[2]), (shares[0], shares[1]))
    surprise = np.minimum(kuiper[0], cox[0]).astype(np.float32)
    return _Judged(surprise, tail, float(values[0, 0]), statistics.scale * replicates.spread, replicates.spread)


def _log_pvalues(values: NDArray[np.float32], share: float, rate: float) -> tuple[FloatArray, float, float]:
    """Return the log p-value of each replicate among all, extrapolated beyond the anchor; the anchor, and its own.

    Values are float32: those that differ only by rounding of float64 are tied.
    """
    B = values.size
    ascending = np.sort(values)
    anchor = ascending[B - min(B, max(SMALLEST_TAIL, math.ceil(rate * B)))]
    logs = np.log((B - np.searchsorted(ascending, values)) / B)
    log_anchor = math.log((B - int(np.searchsorted(ascending, anchor))) / B)
    beyond = values > anchor
    logs[beyond] = log_anchor - (_exponent(values[beyond].astype(np.float64), share) - _exponent(float(anchor), share))
    return logs, float(anchor), log_anchor


def _exponent(x: Any, b: float) -> Any:
    """Return h(bx)/b² with h(u) = (1 + u) log(1 + u) - u: nearly x²/2 if bx is small."""
    u = b * x
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.where(u > 1e-4, (1 + u) * np.log1p(u) - u, u * u / 2) / (b * b)
    return np.where(u > HUGE, x / b * (np.log1p(u) - 1), exponent)


def _inverse(exponent: float, b: float) -> float:
    """Return the x whose exponent is this one, by Newton's method: the exponent is convex."""
    x = math.sqrt(2 * exponent)
    for _ in range(50):
        step = (float(_exponent(x, b)) - exponent) * b / math.log1p(b * x) if x > 0 else 0.0
        x -= step
        if abs(step) <= 1e-12 * x:
            break
    return x


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


class GroupLimits(NamedTuple):
    """Limits of the error and of the bias of each group, which cover in all groups together (Bonferroni).

    Each limit fails with probability `rate`. The lower limit of the cutoff error is the larger one of two. One is that
    of the absolute bias, which the error is at least. The other, by the triangle inequality, is the error at the ends
    of the entries less the largest noise, Kuiper's statistic of the redraws in its tail. Outcomes of rows that are not
    calibrated may vary more than redraws do; the noise is then enlarged to the standard deviation `noise`.
    """

    bias_low: FloatArray
    bias_high: FloatArray
    high: FloatArray  # of the cutoff error
    noise: FloatArray  # standard deviation as a share of the weight; infinite where the tail is not that of redraws
    rate: float

    def low(self, judged: Sequence[_Judged | None], heaviest: FloatArray) -> FloatArray:
        """Return the lower limits of the cutoff error; `heaviest` is the largest weight as a share of all weight."""
        low = np.maximum(np.maximum(self.bias_low, -self.bias_high), 0.0)
        for g, found in enumerate(judged):
            if found is not None and math.isfinite(self.noise[g]):
                unit = found.scale * float(heaviest[g])
                noise = found.tail.kuiper.at(math.log(self.rate)) * max(unit, float(self.noise[g]))
                low[g] = max(low[g], found.kuiper * unit - noise)
        return low


def _limits(total: FloatArray, heaviest: FloatArray, error: FloatArray, level: float) -> GroupLimits:
    """Return limits that cover in all groups together; `error` is the cutoff error of each group.

    With s² = max(Σw²v, Σw²r²)/W², which is at least the variance on average whatever the true probabilities, the limits
    are bias ± z s and error + z s; the error is a supremum over stretches of scores, of which the worst one does not
    depend on the outcomes (`core.limits`). The farther z lies in the tail, the more information that needs. With less
    of it z becomes the value at which Bennett's bound is the error rate. In groups that carry hardly any information
    the limits are those of the mean frequency by Clopper and Pearson, which cover for outcomes of unequal probabilities
    too (Hoeffding 1956). What follows for the error (`probabilities.limits.largest_error`) and Hoeffding's bound (1963)
    then share the error rate, and the smaller one counts.
    """
    rate = (1 - level) / (2 * heaviest.size)
    z = -normal_quantile(rate)
    information = total[W2V] / heaviest**2
    enough = information >= MIN_INFORMATION * (z / -normal_quantile(0.025)) ** 4
    observed, predicted = total[WY] / total[W], total[WP] / total[W]
    s = np.sqrt(np.maximum(total[W2V], total[W2R2])) / total[W]
    m = total[W] ** 2 / total[W2]
    k = np.minimum(observed * m, m)
    fewer, more = np.floor(k * (1 + WHOLE)), np.minimum(np.ceil(k * (1 - WHOLE)), m)
    least, most = exact_limits(fewer, m, 1 - 2 * rate)[0], exact_limits(more, m, 1 - 2 * rate)[1]
    deviations = np.full(heaviest.size, z)
    for g in np.flatnonzero(~enough & (information >= MIN_INFORMATION)):
        deviations[g] = _inverse(-math.log(rate), float(heaviest[g] / (s[g] * total[W, g])))
    farther = exact_limits(fewer, m, 1 - rate)[0], exact_limits(more, m, 1 - rate)[1]
    bounded = error + np.sqrt(-math.log(rate / 2) / (2 * m))
    exact = np.minimum(bounded, largest_error(*farther, predicted))
    high = np.minimum(np.where(information >= MIN_INFORMATION, error + deviations * s, exact), 1.0)
    bias = observed - predicted
    return GroupLimits(
        bias_low=np.where(enough, bias - z * s, least - predicted),
        bias_high=np.where(enough, bias + z * s, most - predicted),
        high=high,
        noise=np.where(information >= MIN_INFORMATION, s, np.inf),
        rate=rate,
    )
