"""Rows that depend on each other: tests and limits for clusters, such as the rows of one customer.

Rows of different clusters are independent; those of one cluster may depend on each other in any way. If the predictions
are calibrated, the residuals y - p of a cluster all have mean 0. The null distribution of a statistic is found by
changing the sign of all residuals of a cluster at once, with probability 1/2 and independently for each cluster. That
is exact if the residuals of a cluster are jointly symmetric around 0, and nearly so for many clusters in any case
(Cameron, Gelbach and Miller 2008; Canay, Romano and Shaikh 2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import bin_table, similar_table
from calibrant.core.bins import BinTable, bin_of, rounded, similar_bins
from calibrant.core.evidence import Evidence, Subject
from calibrant.core.limits import Limits
from calibrant.core.null import MAX_ENTRIES_REDRAWN, MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.calibration_test import FourStatistics
from calibrant.probabilities.group_test import (
    GROUP_RESAMPLES,
    WHOLE,
    GroupFindings,
    GroupLimits,
    Replicates,
    entries_of_rows,
    entries_per_group,
    findings,
    redrawable,
    rows_by_group,
    take,
)
from calibrant.probabilities.limits import root_limits
from calibrant.probabilities.size import Size
from calibrant.progress import steps

MIN_CLUSTERS = 20  # effective ones
MIN_EQUAL_CLUSTERS = 100  # for limits of the root mean square error
MAX_SKEWNESS = 0.4  # of the sum of all residuals, if the rows of each cluster share their outcome
CUT_POINTS = 20  # quantiles of the scores, between which the variance of cluster sums is taken
RANGES = 5  # of scores, about whose frequencies claims are made
SIGNS_AT_ONCE = 1 << 22
SMALLEST_TAIL = 10  # redraws beyond which a quantile is extrapolated
METHOD = "signs of clusters changed at random"


@dataclass(frozen=True, eq=False)
class Clusters:
    """The residuals of clusters, summed over entries of the scores: the different ones, or cells of equal mass.

    `pool` has the entries in ascending order of the scores, and `residuals` is a sparse matrix (entries, clusters) of
    Σw(y - p).
    """

    pool: Pool
    residuals: Any  # scipy.sparse.csr_array
    estimate: float  # cutoff error
    total: float  # weight
    effective: float  # number of clusters of equal size, the sum of the deviations of their rows, that tell as much
    equal: float  # number of clusters of equal weight that tell as much, W²/ΣW_c²
    information: float  # Σp(1 - p) over clusters, each counted as one row
    skewness: float  # of the sum of all residuals, if the rows of each cluster share their outcome

    @classmethod
    def of(cls, rows: Binary, clusters: NDArray[np.intp], most: int = MAX_ENTRIES_REDRAWN) -> Clusters:
        """Return the residuals of these rows; rows with the same number in `clusters` may depend on each other."""
        from scipy.sparse import coo_array

        found, entry = entries_of_rows(rows, Grouping(np.zeros(rows.n, np.intp), [""]), most)
        different, code = np.unique(clusters, return_inverse=True)
        p, w = rows.p.astype(np.float64), rows.w
        r = w * (rows.y - p)
        residuals = coo_array((r, (entry, code)), shape=(found.sums.shape[1], different.size)).tocsr()
        size, weight = np.bincount(code, w * np.sqrt(p * (1 - p))), np.bincount(code, w)
        # If all rows of a cluster share their outcome, it is one outcome with the weight of all.
        v, m = np.bincount(code, w * p * (1 - p)) / weight, np.bincount(code, w * p) / weight
        weight = weight / weight.max()  # a common factor changes nothing, and powers stay in the range of float64
        second, third = float(weight**2 @ v), float(weight**3 @ v)
        information = second * (second / third) ** 2 if third > 0 else 0.0
        skewness = float(weight**3 @ (v * np.abs(1 - 2 * m))) / second / math.sqrt(second) if third > 0 else math.inf
        return cls(
            redrawable(found.sums, 1.0),
            residuals,
            float(found.extent[0] / w.sum()),
            float(w.sum()),
            float(size.sum() ** 2 / (size**2).sum()) if size.any() else 0.0,
            float(weight.sum() ** 2 / (weight**2).sum()),
            information,
            skewness,
        )

    @property
    def sums(self) -> FloatArray:
        return np.asarray(self.residuals.sum(axis=0), np.float64).ravel()

    @property
    def number(self) -> int:
        return int(self.residuals.shape[1])

    @property
    def scale(self) -> float:
        """Standard deviation of the cumulative differences over the stretch where they vary most, as a share."""
        return math.sqrt(self.largest_variance) / self.total

    @property
    def inflation(self) -> float:
        """By how much changed residuals are enlarged: tests of few or skewed ones would reject too often otherwise."""
        return self.effective / (self.effective - 1) * (1 + 2 * self.skewness**2)

    def check(self) -> None:
        """Refuse clusters that are too few or too unequal, or in which events are too rare."""
        if self.effective < MIN_CLUSTERS - 0.5:  # sizes vary a little by chance
            raise NotApplicableError(
                f"a test with clusters needs {MIN_CLUSTERS} clusters of equal size (unequal ones count less); got "
                f"{self.effective:.3g}. Fewer do not show how much their rows depend on each other"
            )
        if self.skewness > MAX_SKEWNESS:
            needed = math.ceil((math.sqrt(self.information) * self.skewness / MAX_SKEWNESS) ** 2) or "more"
            raise NotApplicableError(
                f"a test with clusters needs about {needed} expected events, or failures where events are frequent, "
                f"with each cluster counted as one row; got {self.information:.2g}. With fewer a single event that the "
                "rows of a cluster share would decide"
            )

    def signed(self, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield residuals (entries, replicates): those of the data, then with signs changed, `resamples` in all."""
        C = self.number
        yield np.asarray(self.residuals.sum(axis=1), np.float64).reshape(-1, 1)
        for start, stop in steps(resamples, size=max(1, SIGNS_AT_ONCE // C), label="changing signs of clusters"):
            signs = rng.integers(0, 2, (C, stop - start), dtype=np.int8)
            yield self.residuals @ (self.inflation * (2.0 * signs - 1.0))

    def statistics(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return the four statistics (4, 1 + resamples) of `calibration_test`: of the data, then with signs changed."""
        self.check()
        tests = FourStatistics(self.pool)
        each_row = 1 / self.pool.weight[:, None]  # the features are those of rows without their weights
        cox, smooth = each_row * tests.cox, each_row * tests.smooth
        spread = each_row[:, 0] * tests.spread
        parts = []
        for r in self.signed(resamples, rng):
            quadratic = [((features.T @ r) ** 2).sum(axis=0) for features in (cox, smooth)]
            parts.append(np.stack([_extents(r), np.abs(spread @ r), *quadratic]))
        return np.concatenate(parts, axis=1)

    def limits(self, resamples: int, rng: np.random.Generator) -> Limits:
        """Return confidence limits of the cutoff error, a supremum over intervals of scores; see `core.limits`.

        Above, the estimate plus t s, where s² is the largest variance Σ_c(Σwr)²/W² of the cluster sums over an interval
        between quantiles of the scores, and t has one degree of freedom less than there are effective clusters. Below,
        the estimate less the quantile of the range of the cumulative differences with signs changed.
        """
        from scipy.special import stdtrit

        self.check()
        s = self.scale
        _, *changed = (_extents(r) for r in self.signed(resamples, rng))
        ascending = np.sort(np.concatenate(changed)) / self.total

        def low(rate: float) -> float:
            return max(0.0, self.estimate - _exceeded(ascending, rate, s))

        def high(rate: float) -> float:
            return min(1.0, max(0.0, self.estimate - float(stdtrit(self.effective - 1, rate)) * s))

        return Limits(
            self.estimate, low, high, f"upper limit by Student's t of cluster sums; lower limit from {METHOD}"
        )

    @property
    def largest_variance(self) -> float:
        """The largest Σ_c(Σwr)² over intervals between `CUT_POINTS` quantiles of the scores."""
        mass = np.cumsum(self.pool.weight * self.pool.rows)
        ends = np.searchsorted(mass, mass[-1] * np.arange(CUT_POINTS + 1) / CUT_POINTS)
        up_to = (np.arange(mass.size)[None, :] < ends[:, None]).astype(np.float64)
        up_to[-1] = 1.0
        walk = (self.residuals.T @ up_to.T).T  # (cut points + 1, clusters)
        gram = walk @ walk.T
        square = np.diag(gram)
        return float((square[:, None] + square - 2 * gram).max())


def _extents(r: FloatArray) -> FloatArray:
    """Return max C - min C of the cumulative sums of each replicate, C_0 = 0 included."""
    walk = np.cumsum(r, axis=0)
    extents: FloatArray = walk.max(axis=0, initial=0.0) - walk.min(axis=0, initial=0.0)
    return extents


def _exceeded(ascending: FloatArray, rate: float, s: float) -> float:
    """Return the value that is exceeded with this probability, extrapolated where there are few redraws beyond it.

    Upper quantiles of a supremum of normal variables, with standard deviations of at most s, are at most as far apart
    as those of one variable with standard deviation s (Gaussian isoperimetry).
    """
    B = ascending.size
    tail = min(SMALLEST_TAIL, B // 2)
    smallest = tail / (B + 1)
    if rate >= smallest:
        return float(ascending[max(0, B - math.floor(rate * (B + 1)))])
    return float(ascending[B - tail]) + (normal_quantile(smallest) - normal_quantile(rate)) * s


# ---------------------------------------------------------------- size


def size_of_clusters(rows: Binary, clusters: NDArray[np.intp], known: Clusters) -> Size | None:
    """Return the size of the error of rows that depend on each other within clusters; None if these tell too little.

    With the sums T_b of w(y - p) in range b, and N_cb, S_cb of w and w(y - p) of cluster c in it, θ estimates the
    square by Σ_b f_b [T_b² - Σ_c S_cb²]/[W_b² - Σ_c N_cb²]. The terms of its noise are the eigenvalues of
    √(f_a f_b) Σ_c D_ca D_cb G/(G - 1), D_cb = (S_cb - N_cb T_b/W_b)/W_b, for G clusters.
    """
    if known.equal < MIN_EQUAL_CLUSTERS * (1 - WHOLE) or known.information < MIN_INFORMATION:
        return None
    table, theta, noise = _clustered_square(rows, clusters, known)
    return Size(root_limits(theta, np.asarray(np.linalg.eigvalsh(noise), np.float64)), table, "gamma")


def cluster_noise(rows: Binary, clusters: NDArray[np.intp], known: Clusters) -> float:
    """Return by what factor clusters enlarge the noise of ranges of similar scores."""
    table, _, noise = _clustered_square(rows, clusters, known)
    return float(np.trace(noise)) / float((table.share * table.w2v / table.w**2).sum())


def _clustered_square(rows: Binary, clusters: NDArray[np.intp], known: Clusters) -> tuple[BinTable, float, FloatArray]:
    """Return the ranges of similar scores, θ, and the covariances of its terms."""
    code, p = np.unique(clusters, return_inverse=True)[1], rows.p.astype(np.float64)
    table = similar_table(Ordered.of(rows), similar_bins(known.equal))
    place = bin_of(p, rounded(table.edges, rows.p.dtype.name))
    weight, residual = (_by_cluster(values, place, code) for values in (rows.w, rows.w * (rows.y - p)))
    kept = np.flatnonzero(np.diff(weight.indptr) > 1)  # a range of one cluster has no pairs
    weight, residual = weight[kept], residual[kept]
    W, T = (np.asarray(part.sum(axis=1)).ravel() for part in (weight, residual))
    f = W / W.sum()
    pairs = T**2 - np.asarray(residual.power(2).sum(axis=1)).ravel()
    theta = float(f @ (pairs / (W**2 - np.asarray(weight.power(2).sum(axis=1)).ravel())))
    D = (residual - weight.multiply((T / W)[:, None])).multiply((np.sqrt(f) / W)[:, None]).tocsr()
    G = int(code.max()) + 1
    noise: FloatArray = (D @ D.T).toarray() * (G / (G - 1))
    each = np.arange(kept.size)
    noise[each, each] = np.maximum(noise[each, each], f * table.w2v[kept] / W**2)
    return table, theta, noise


def _by_cluster(values: FloatArray, place: NDArray[np.intp], code: NDArray[np.intp]) -> Any:
    """Return the sums of values in each range and cluster, a sparse matrix with an entry wherever there are rows."""
    from scipy.sparse import coo_array

    return coo_array((values, (place, code)), shape=(int(place.max()) + 1, int(code.max()) + 1)).tocsr()


# ---------------------------------------------------------------- ranges of scores and groups


def cluster_ranges(rows: Binary, clusters: NDArray[np.intp], *, rate: float) -> tuple[Evidence, ...]:
    """Return the observed frequency of each range of scores whose limits leave out the mean prediction.

    Ranges have about as many rows each. Limits are those of the bias of groups, bias ± t s with the variance of cluster
    sums, at the error rate `rate` of all ranges together. Ranges with too few clusters or events have none.
    """
    edges = bin_table(Ordered.of(rows), bins=RANGES, strategy="mass").edges
    place = bin_of(rows.p.astype(np.float64), rounded(edges, rows.p.dtype.name))
    filled = np.unique(place)
    inside = [np.flatnonzero(place == b) for b in filled]
    found = [_testable(_part(rows, clusters, own)) for own in inside]
    limits = _limits(found, 1 - rate, tested=filled.size)
    evidence = []
    for b, own, part, *bias in zip(filled, inside, found, limits.bias_low, limits.bias_high, strict=True):
        if part is None or bias[0] <= 0 <= bias[1]:
            continue
        predicted = float(np.average(rows.p[own], weights=np.asarray(rows.w)[own]))
        differences = (float(part.sums.sum()) / part.total, *bias)
        estimate, low, high = (min(1.0, max(0.0, predicted + float(difference))) for difference in differences)
        subject = Subject("scores", low=float(edges[b]), high=float(edges[b + 1]))
        test = "limits with the variance of cluster sums"
        evidence.append(Evidence(subject, "frequency", estimate, low, high, own.size, predicted, test))
    return tuple(evidence)


def _part(rows: Binary, clusters: NDArray[np.intp], chosen: NDArray[np.intp], most: int = 1) -> Clusters:
    return Clusters.of(take(rows, chosen), clusters[chosen], most)


def clustered_groups(
    rows: Binary,
    groupings: Sequence[Grouping],
    clusters: NDArray[np.intp],
    *,
    level: float,
    resamples: int = GROUP_RESAMPLES,
    rng: np.random.Generator,
) -> GroupFindings:
    """Return the same as `group_test` for rows that depend on each other within clusters.

    Signs of clusters are changed in place of redraws. Groups with too few clusters or events are not tested: their
    p-values and limits are NaN.
    """
    most = entries_per_group(sum(len(grouping.names) for grouping in groupings))
    parts = [entries_of_rows(rows, grouping, most)[0] for grouping in groupings]
    heaviest = np.concatenate([part.heaviest for part in parts])
    found = [_testable(group) for grouping in groupings for group in _groups(rows, grouping, clusters, most)]

    def redraw(g: int, pool: Pool) -> Replicates | None:
        group = found[g]
        if group is None:
            return None
        variance = float((pool.weight**2 * pool.rows * pool.score * (1 - pool.score)).sum())
        spread = math.sqrt(_variance(group) / variance) / float(heaviest[g])
        residuals = np.concatenate(list(group.signed(resamples, rng)), axis=1)
        return Replicates(residuals / (float(heaviest[g]) * spread), spread)

    return findings(parts, redraw, _limits(found, level), level)


def clustered_sizes(rows: Binary, groupings: Sequence[Grouping], clusters: NDArray[np.intp]) -> list[Size | None]:
    found = []
    for own in (own for grouping in groupings for own in rows_by_group(grouping)):
        known = _testable(_part(rows, clusters, own))
        found.append(None if known is None else size_of_clusters(take(rows, own), clusters[own], known))
    return found


def _groups(rows: Binary, grouping: Grouping, clusters: NDArray[np.intp], most: int) -> Iterator[Clusters]:
    for own in rows_by_group(grouping):
        yield _part(rows, clusters, own, most)


def _testable(group: Clusters) -> Clusters | None:
    try:
        group.check()
    except NotApplicableError:
        return None
    return group


def _variance(group: Clusters) -> float:
    """Return the variance of Σw(y - p), at least that of independent rows."""
    p, weight, count, _ = group.pool
    independent = float((weight**2 * count * p * (1 - p)).sum())
    return group.inflation**2 * max(float((group.sums**2).sum()), independent)


def _limits(found: Sequence[Clusters | None], level: float, tested: int | None = None) -> GroupLimits:
    """Return limits with the variance of cluster sums, bias ± t s and error + t s, together in all tested groups.

    The s of an error is that of the stretch of scores over which it is largest. `tested` is the number of groups that
    the limits allow for, by default that of the testable ones.
    """
    from scipy.special import stdtrit

    bias_low, bias_high, high = np.full((3, len(found)), np.nan)
    testable = [(g, group) for g, group in enumerate(found) if group is not None]
    rate = (1 - level) / (2 * max(1, len(testable) if tested is None else tested))
    for g, group in testable:
        t, variance = -float(stdtrit(group.effective - 1, rate)), _variance(group)
        bias, half = float(group.sums.sum()) / group.total, t * math.sqrt(variance) / group.total
        bias_low[g], bias_high[g] = bias - half, bias + half
        high[g] = min(1.0, group.estimate + t * math.sqrt(max(variance, group.largest_variance)) / group.total)
    return GroupLimits(bias_low, bias_high, high, np.zeros(len(found)), rate)
