"""How much any part of the rows that one covariate cuts out can be off, and how much rows are off on average."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    """An upper limit of the error of every part of the rows, of at least this share, that one covariate cuts out."""

    share: float  # of the rows, by weight
    at_most: float  # NaN where no limit is known


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
    found = [_limits_of_parts(searched, of_parts, j, level, alternative) for j in range(searched.covariates.q)]
    share, limit = (np.concatenate(each) for each in zip(*found, strict=True))
    large = [limit[share >= s * (1 - 1e-9)] for s in SHARES]
    return tuple(Part(s, float(each.max()) if each.size else math.nan) for s, each in zip(SHARES, large, strict=True))


def _limits_of_parts(
    searched: Searched, residuals: Residuals, j: int, level: float, alternative: Alternative
) -> tuple[FloatArray, FloatArray]:
    """Return the share of every part that a covariate cuts out, and the limit of its largest error, both (R,)."""
    covariates, clusters, w = searched.covariates, searched.clusters, searched.w[:, None]
    axis = Axis(covariates.x[:, j], len(covariates.labels[j]), INTERVAL_CELLS)
    intervals = CovariateIntervals(j, axis, Rule(searched.w, residuals.v))
    F, v, stated = residuals.F, residuals.v, residuals.stated

    def sums(columns: FloatArray) -> FloatArray:  # of intervals, of what they leave, and of all rows
        return np.concatenate([intervals.sums(columns).reshape(-1, columns.shape[1]), [columns.sum(axis=0)]])

    counted = sums((w > 0).astype(np.float64))
    used = counted[:, 0] > 0
    n, W, W2, w2v = counted[used], sums(w)[used], sums(w**2)[used], sums(w**2 * v)[used]
    mean, p = sums(w * F)[used] / W, sums(w * stated)[used] / W
    if clusters is None:
        seen = sums(w**2 * F**2)[used] - 2 * mean * sums(w**2 * F)[used] + mean**2 * W2
        variance = np.maximum(np.maximum(seen, w2v), 0.0)
    else:
        variance = _clustered(intervals, searched, residuals)[used]
    z = normal_quantile(level)
    error = {"two-sided": np.abs(mean), "less": -mean, "greater": mean}[alternative]
    limit = error + z * np.sqrt(variance) / W + z * z * np.abs(1 - 2 * p) * W2 / W**2 / 2
    few: FloatArray | float = math.nan
    if clusters is None and (w == w[0]).all():
        few = _binomial(np.rint(sums(F + stated)[used]), n, p, level, alternative)
    information = np.where(w2v > 0, sums(w * v)[used] ** 2 / np.where(w2v > 0, w2v, 1.0), 0.0)
    limit = np.where(information >= ENOUGH_INFORMATION, limit, few)
    return W[:, 0] / w.sum(), np.asarray(limit.max(axis=1))


def _binomial(
    hits: FloatArray, n: FloatArray, stated: FloatArray, level: float, alternative: Alternative
) -> FloatArray:
    least, most = exact_limits(hits, np.broadcast_to(n, hits.shape), 2 * level - 1)
    below, above = stated - least, most - stated
    return {"two-sided": np.maximum(below, above), "less": below, "greater": above}[alternative]


def _clustered(intervals: CovariateIntervals, searched: Searched, residuals: Residuals) -> FloatArray:
    """Return Σ_c (Σ_{c∩R} w(F - mean))² of each part."""
    clusters, w = searched.clusters, searched.w
    assert clusters is not None
    axis, G = intervals.axis, int(clusters.max()) + 1
    code = clusters * axis.cells + axis.code

    def of_parts(values: FloatArray) -> FloatArray:  # (G, R): of intervals, of what they leave, and of all rows
        cells = np.bincount(code, values, minlength=G * axis.cells).reshape(G, -1)
        inside, whole = cells @ axis.indicator.T, cells.sum(axis=1, keepdims=True)
        return np.concatenate([inside, whole - inside, whole], axis=1)

    W = of_parts(w)
    shares = W / np.maximum(W.sum(axis=0), 1e-300)
    of_columns = [of_parts(w * F) for F in residuals.F.T]
    return np.stack([((wF - wF.sum(axis=0) * shares) ** 2).sum(axis=0) for wF in of_columns], axis=1)


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
    found = [scan.clearest_whole(F), scan.clearest(scan.intervals, F), scan.clearest(scan.boxes, F)]
    return max((each for each in found if each is not None), key=lambda each: each.charged)
