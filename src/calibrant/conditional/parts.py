"""How much any part of the rows that one covariate cuts out can be off, and how much rows are off on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.conditional.cells import INTERVAL_CELLS, Axis, Clearest, CovariateIntervals, RegionSearch, Rule
from calibrant.conditional.residuals import Residuals
from calibrant.conditional.statistics import Searched
from calibrant.core.annotations import Alternative
from calibrant.core.mean_interval import exact_limits
from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray

SHARES = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16)
ENOUGH_INFORMATION = 20.0  # for a normal limit; below it is binomial
BLOCKS = 5
MIN_ROWS_AVERAGED = 400
MAX_ROWS_LEARNED = 20_000
MAX_STEPS, ENOUGH_Z, SHARE_LEARNED = 20, 3.0, 0.5


@dataclass(frozen=True)
class Part:
    """An upper limit of the error of every part of the rows, of at least this share, that one covariate cuts out.

    Attributes
    ----------
    share
        Of the rows, by weight.
    at_most
        The limit; NaN where none is known.
    """

    share: float
    at_most: float


def parts(searched: Searched, level: float, alternative: Alternative = "two-sided") -> tuple[Part, ...]:
    r"""Return the upper limits for shares 1 to 1/16.

    Where the information of a part is at least 20, :math:`|\bar F| + z s + z^2 |1 - 2\bar p| \kappa/2`; below, with
    equal weights, the larger of b - p̄ and p̄ - a, with Clopper-Pearson limits a and b of the observed share
    (Hoeffding 1956). That no part is off by more is wrong only if the limit of the part that is worst in truth is too
    low, so no adjustment for the number of parts is due (Berger 1982).
    """
    of_parts = searched.residuals.of_parts or searched.residuals
    if not of_parts.is_share:
        return ()
    tables = [_tables(searched, of_parts, j) for j in range(searched.covariates.q)]
    share = np.concatenate([found.share for found in tables])
    limit = np.concatenate([found.limit(level, alternative) for found in tables])
    found = []
    for s in SHARES:
        at_least = share >= s * (1 - 1e-9)
        found.append(Part(s, float(limit[at_least].max()) if at_least.any() else math.nan))
    return tuple(found)


class _Parts(NamedTuple):
    """All parts that one covariate cuts out, a row each, with a column for each of the residuals."""

    share: FloatArray  # (R,)
    n: FloatArray  # (R, 1)
    hits: FloatArray  # (R, m)
    mean: FloatArray
    stated: FloatArray
    se: FloatArray
    kappa: FloatArray  # (R, 1)
    information: FloatArray
    exact: bool  # whether binomial limits hold

    def limit(self, level: float, alternative: Alternative) -> FloatArray:
        """Return the limit of the largest error of each part, (R,)."""
        z = normal_quantile(level)
        a, b = exact_limits(self.hits, np.broadcast_to(self.n, self.hits.shape), 2 * level - 1)
        size = {"two-sided": np.abs(self.mean), "less": -self.mean, "greater": self.mean}[alternative]
        normal = size + z * self.se + z * z * np.abs(1 - 2 * self.stated) * self.kappa / 2
        below, above = self.stated - a, b - self.stated
        few = {"two-sided": np.maximum(below, above), "less": below, "greater": above}[alternative]
        limit = np.where(self.information >= ENOUGH_INFORMATION, normal, few if self.exact else np.nan)
        return np.asarray(limit.max(axis=1))


def _tables(searched: Searched, residuals: Residuals, j: int) -> _Parts:
    covariates, w, clusters = searched.covariates, searched.w, searched.clusters
    axis = Axis(covariates.x[:, j], len(covariates.labels[j]), INTERVAL_CELLS)
    intervals = CovariateIntervals(axis, Rule(w, residuals.v))
    F, v, stated = residuals.F, residuals.v, residuals.stated
    one, m = w[:, None], F.shape[1]
    columns = [one > 0, one, one**2, one * (F + stated), one * F, one * stated, one * v, one**2 * v]
    columns += [one**2 * F, one**2 * F**2]
    sums = intervals.sums(np.concatenate(columns, axis=1)).reshape(-1, 3 + 7 * m)
    whole = np.concatenate([columns[k].sum(axis=0) for k in range(len(columns))])
    sums = np.concatenate([sums, whole[None]])
    used = sums[:, 0] > 0
    ends = np.cumsum([1, 1, 1] + [m] * 7)[:-1]
    n, W, W2, hits, wF, wp, wv, w2v, w2F, w2F2 = np.split(sums[used], ends, axis=1)
    mean = wF / W
    spread = w2F2 - 2 * mean * w2F + mean**2 * W2
    variance = np.maximum(spread, w2v) if clusters is None else _clustered(intervals, searched, residuals)[used]
    se = np.sqrt(np.maximum(variance, 0.0)) / W
    information = np.where(w2v > 0, wv**2 / np.where(w2v > 0, w2v, 1.0), 0.0)
    equal = clusters is None and bool((w == w[0]).all())
    scale = w[0] if equal else 1.0
    return _Parts(W[:, 0] / w.sum(), n, np.rint(hits / float(scale)), mean, wp / W, se, W2 / W**2, information, equal)


def _clustered(intervals: CovariateIntervals, searched: Searched, residuals: Residuals) -> FloatArray:
    """Return Σ_c (Σ_{c∩R} w(F - mean))² of each part."""
    clusters, w = searched.clusters, searched.w[:, None]
    assert clusters is not None
    axis, m = intervals.axis, residuals.F.shape[1]
    G = int(clusters.max()) + 1
    code = clusters * axis.cells + axis.code
    found = []
    for k in range(m):
        wF, total = (
            np.bincount(code, values[:, 0], minlength=G * axis.cells).reshape(G, -1)
            for values in (w * residuals.F[:, [k]], w)
        )
        inside = [values @ axis.indicator.T for values in (wF, total)]  # (G, ranges)
        of_all = [values.sum(axis=1, keepdims=True) for values in (wF, total)]
        sides = [inside, [whole - part for whole, part in zip(of_all, inside, strict=True)]]
        squares = [
            ((a - a.sum(axis=0) / np.maximum(b.sum(axis=0), 1e-300) * b) ** 2).sum(axis=0) for a, b in (*sides, of_all)
        ]
        found.append(np.concatenate(squares))
    return np.stack(found, axis=1)


@dataclass(frozen=True)
class AverageError:
    """How much rows are off on average, E|P(y = 1 | x, prediction) - stated|: an estimate, and a lower limit."""

    estimate: float
    low: float


def average_error(searched: Searched, level: float, rng: np.random.Generator) -> AverageError | None:
    """Return the lower limit, by signs that are learned on the blocks before; None where it is not known."""
    residuals, n = searched.residuals, len(searched.w)
    is_equal = searched.clusters is None and bool((searched.w == searched.w[0]).all())
    if n < MIN_ROWS_AVERAGED or not residuals.is_share or residuals.F.shape[1] > 1 or not is_equal:
        return None
    return of_blocks(searched, rng.permutation(n) * BLOCKS // n, level, rng)


def of_blocks(searched: Searched, blocks: NDArray[np.intp], level: float, rng: np.random.Generator) -> AverageError:
    """Return the lower limit, given the block of each row.

    Each term of the next block has, given the past, a mean of at most the target: a martingale.
    """
    F, v = searched.residuals.F[:, 0], searched.residuals.v[:, 0]
    sign, tested = learned_signs(searched, blocks, rng), blocks > 0
    s = (F * sign)[tested]
    variance = max(float(((s - s.mean()) ** 2).sum()), float(v[tested] @ (sign[tested] != 0)))
    return AverageError(float(s.mean()), float(s.mean()) - normal_quantile(level) * math.sqrt(variance) / s.size)


def learned_signs(searched: Searched, blocks: NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
    """Return the sign of the error of each row as learned on the blocks before its own; 0 where none was."""
    sign = np.zeros(len(blocks))
    for b in range(1, BLOCKS):
        past, now = np.flatnonzero(blocks < b), blocks == b
        if past.size > MAX_ROWS_LEARNED:
            past = np.sort(rng.permutation(past)[:MAX_ROWS_LEARNED])
        sign[now] = np.sign(_learned(searched, past, searched.covariates.x[now]))
    return sign


def _learned(searched: Searched, past: NDArray[np.intp], x: FloatArray) -> FloatArray:
    """Return g of rows with the covariates x: half the mean residual of the clearest region, again and again."""
    some = searched.take(past)
    scan = RegionSearch(some.covariates, None, some.rule)
    g, found = some.residuals.F.copy(), np.zeros(len(x))
    for _ in range(MAX_STEPS):
        best = clearest(scan, g)
        if abs(best.z) < ENOUGH_Z:
            break
        rows = scan.rows(best.place)
        step = SHARE_LEARNED * float(g[rows].mean())
        g[rows] -= step
        found[scan.rows(best.place, x)] += step
    return found


def clearest(scan: RegionSearch, F: FloatArray) -> Clearest:
    """Return the region with the largest charged square."""
    found = [scan.clearest_whole(F), scan.clearest_interval(F), scan.clearest_box(F)]
    return max((each for each in found if each is not None), key=lambda each: each.charged)
