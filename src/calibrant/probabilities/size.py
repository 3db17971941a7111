r"""The size of an error: root mean square difference between stated and true probability over similar scores.

.. math:: \Bigl(\sum_b f_b \bar e_b^2\Bigr)^{1/2}

with the share :math:`f_b` of the weight of a range b of scores, and the mean :math:`\bar e_b` of E(y | p) - p in it. It
is at most the root mean square over single rows: errors that cancel within a range are not seen. There are
⌊2n^(1/3) + 1/2⌋ ranges of equal weight, or one for each score if there are at most as many
(`core.bins.similar_bins`): they depend on scores and weights alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import similar_table
from calibrant.core.bins import BinTable, bin_of, rounded, similar_bins
from calibrant.core.grid import Grid
from calibrant.core.limits import Limits
from calibrant.core.mean_interval import exact_limits
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.limits import l2_limits, root_limits

LEAST_INFORMATION = 10.0  # with less, only the mean has limits
INFORMATION_PER_RANGE = 5.0  # of exact limits
MIN_CLUSTERS = 100  # effective ones
WIDTHS = (10, 20)  # ranges of scores that are compared one by one

How: TypeAlias = Literal["gamma", "exact", "mean"]


@dataclass(frozen=True)
class Size:
    """The root mean square error over ranges of similar scores, and how its limits were found."""

    limits: Limits
    table: BinTable
    how: How

    @property
    def ranges(self) -> int:
        return int(np.count_nonzero(self.table.count))


def information(summary: Ordered | Grid) -> float:
    """Return Σw²p(1 - p)/max w²."""
    return float(similar_table(summary, 1).w2v.sum()) / summary.weight_max**2


def size_of(summary: Ordered | Grid) -> Size | None:
    """Return the size of the error of independent rows; None if unequal weights leave too little information.

    Limits are those of a gamma distribution with an information of at least 25. With less of it those of Clopper and
    Pearson in a few ranges take their place, and with less than 10 those of the mean of all rows.
    """
    known = information(summary)
    if known >= MIN_INFORMATION:
        table = similar_table(summary)
        return Size(l2_limits(table, summary.weight_max), table, "gamma")
    if not summary.has_equal_weights:
        return None
    is_mean = known < LEAST_INFORMATION
    table = similar_table(summary, 1 if is_mean else int(known / INFORMATION_PER_RANGE))
    return Size(exact_root_limits(table), table, "mean" if is_mean else "exact")


def exact_root_limits(table: BinTable) -> Limits:
    """Return limits of the root mean square from those of the frequency in each range, which hold together."""
    share, stated = table.share, table.mean_predicted

    def frequencies(rate: float) -> tuple[FloatArray, FloatArray]:
        return frequency_limits(table, 2 * rate)

    def low(rate: float) -> float:
        least, most = frequencies(rate)
        return _root(share, np.maximum(np.maximum(least - stated, stated - most), 0.0))

    def high(rate: float) -> float:
        least, most = frequencies(rate)
        return _root(share, np.maximum(most - stated, stated - least))

    return Limits(_root(share, table.gap), low, high, "exact limits of the frequency in each range of scores")


def _root(share: FloatArray, distance: FloatArray) -> float:
    return math.sqrt(float(share @ distance**2))


def frequency_limits(table: BinTable, rate: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Clopper and Pearson of the frequency in each range; all hold but with probability `rate`."""
    n = table.count.astype(np.float64)
    return exact_limits(np.rint(table.mean_observed * n), n, 1 - rate / n.size)


# ---------------------------------------------------------------- ranges that are compared one by one


class Range(NamedTuple):
    """A range of scores whose frequency has limits that leave out the mean score."""

    parts: int
    place: int
    low: float  # scores in (low, high]
    high: float
    rows: int
    stated: float
    happens: float
    least: float
    most: float

    @property
    def off(self) -> float:
        return abs(self.happens - self.stated)


def ranges_off(summary: Ordered | Grid, rate: float) -> list[Range]:
    """Return the tenths of the rows whose limits leave out their mean score, and twentieths that are farther off.

    All limits hold but with probability `rate`, of which each width has half. A twentieth inside a tenth that is off
    is named if it is farther off.
    """
    tenths, twentieths = (_off(similar_table(summary, m), m, rate / len(WIDTHS)) for m in WIDTHS)
    around = [[t for t in tenths if t.low <= each.low and each.high <= t.high] for each in twentieths]
    farther = [each for each, outer in zip(twentieths, around, strict=True) if all(t.off < each.off for t in outer)]
    return tenths + farther


def compared(summary: Ordered | Grid) -> int:
    """Return how many ranges are compared one by one."""
    return sum(similar_table(summary, m).count.size for m in WIDTHS)


def _off(table: BinTable, parts: int, rate: float) -> list[Range]:
    least, most = frequency_limits(table, rate)
    stated, happens = table.mean_predicted, table.mean_observed
    edges = zip(table.lower.tolist(), table.upper.tolist(), strict=True)
    numbers = zip(*(column.tolist() for column in (table.count, stated, happens, least, most)), strict=True)
    found = [Range(parts, b, *ends, *each) for b, (ends, each) in enumerate(zip(edges, numbers, strict=True))]
    return [each for each in found if not each.least <= each.stated <= each.most]


# ---------------------------------------------------------------- clusters


class ClusterWeights(NamedTuple):
    """How much clusters tell: the number of equal ones that tell as much, and Σp(1 - p), each counted as one row."""

    effective: float
    information: float

    @classmethod
    def of(cls, rows: Binary, code: NDArray[np.intp]) -> ClusterWeights:
        p = rows.p.astype(np.float64)
        weight = np.bincount(code, rows.w)
        v = np.bincount(code, rows.w * p * (1 - p)) / weight
        weight = weight / weight.max()
        second, third = float(weight**2 @ v), float(weight**3 @ v)
        effective = float(weight.sum() ** 2 / (weight**2).sum())
        return cls(effective, second * (second / third) ** 2 if third > 0 else 0.0)


def size_of_clusters(rows: Binary, clusters: NDArray[np.intp]) -> Size | None:
    """Return the size of the error of rows that depend on each other within clusters; None if these tell too little.

    With the sums T_b of w(y - p) in range b, and N_cb, S_cb of w and w(y - p) of cluster c in it, θ estimates the
    square by Σ_b f_b [T_b² - Σ_c S_cb²]/[W_b² - Σ_c N_cb²]. The terms of its noise are the eigenvalues of
    √(f_a f_b) Σ_c D_ca D_cb G/(G - 1), D_cb = (S_cb - N_cb T_b/W_b)/W_b, for G clusters.
    """
    code = np.unique(clusters, return_inverse=True)[1]
    known = ClusterWeights.of(rows, code)
    if known.effective < MIN_CLUSTERS * (1 - 1e-12) or known.information < MIN_INFORMATION:
        return None
    table = similar_table(Ordered.of(rows), similar_bins(known.effective))
    theta, noise = _clustered_square(rows, code, table)
    limits = root_limits(theta, np.linalg.eigvalsh(noise))
    return Size(limits, table, "gamma")


def _clustered_square(rows: Binary, code: NDArray[np.intp], table: BinTable) -> tuple[float, FloatArray]:
    p = rows.p.astype(np.float64)
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
    return theta, noise


def _by_cluster(values: FloatArray, place: NDArray[np.intp], code: NDArray[np.intp]) -> Any:
    """Return the sums of values in each range and cluster, a sparse matrix with an entry wherever there are rows."""
    from scipy.sparse import coo_array

    return coo_array((values, (place, code)), shape=(int(place.max()) + 1, int(code.max()) + 1)).tocsr()
