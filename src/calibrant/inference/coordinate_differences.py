"""Which coordinates of two sets of points differ in location or spread, judged together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import resampled_pvalue
from calibrant.inference.tails import normal_quantile, normal_sf
from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.relabellings import relabellings

MOST_RELABELLED = 20_000  # points of both sets; of more the normal law is as good
SMALLEST = 1e-12  # variance, in units of the pooled one, below which there is none
FLAT = 1e-14  # range of a coordinate, in units of its largest number, that rounding alone may give
LEAST_KURTOSIS = 1.2  # that of two values equally often is 1, and their spread would have no standard error
AT_ONCE = 1 << 22  # numbers


class Differences(NamedTuple):
    """Differences of coordinates, (d,) each, and what chance alone would do.

    `location` is (mean of points - mean of y) / sd of y, `spread` the ratio of the standard deviations; p-values hold
    for all coordinates and both questions together. `location_reach` and `spread_reach` are the limits within which
    |location| and |log spread| stay jointly, at the level asked for, if both sets have one law.
    """

    location: FloatArray
    spread: FloatArray
    location_pvalue: FloatArray
    spread_pvalue: FloatArray
    location_reach: FloatArray
    spread_reach: FloatArray
    method: str

    @property
    def pvalue(self) -> float:
        """Of all together."""
        return float(min(self.location_pvalue.min(), self.spread_pvalue.min()))


def coordinate_differences(sets: PointSets, level: float, resamples: int, rng: np.random.Generator) -> Differences:
    r"""Compare means and standard deviations coordinate by coordinate.

    .. math:: z_j = \frac{\bar x_j - \bar y_j}{\sqrt{s_{y,j}^2/n + s_{x,j}^2/m}}, \qquad
              u_j = \frac{\log (s_{x,j}^2 / s_{y,j}^2)}{\sqrt{(\kappa_j - 1)(1/n + 1/m)}},

    with the kurtosis κ of the pooled coordinate. The largest of all :math:`|z_j|, |u_j|` of each of `resamples` random
    divisions of the pooled points is the law that every one of them is compared with (Westfall and Young 1993): if
    both sets have one law, the probability of any p-value below α is at most α. Above 20,000 points the normal law
    and Bonferroni's factor take the place of the divisions.
    """
    Z = _scaled(sets)
    kurtosis = np.maximum((Z**4).mean(axis=0), LEAST_KURTOSIS)
    moments = np.concatenate([Z, Z * Z], axis=1)
    own = np.zeros((1, len(Z)))
    own[0, : sets.n] = 1.0
    z, u, scale = _statistics(own, moments, sets.n, sets.m, kurtosis)
    if len(Z) <= MOST_RELABELLED:
        largest = _relabelled(moments, sets, kurtosis, resamples, rng)
        p_location, p_spread = (_tail(np.abs(values[0]), largest) for values in (z, u))
        place = min(resamples, int(np.ceil(level * (resamples + 1)))) - 1
        reach = float(np.sort(largest)[place])
        method = f"largest of all coordinates, {resamples:,} random divisions of the pooled points"
    else:
        tests = 2 * 2 * sets.d  # two-sided, two questions
        p_location, p_spread = (
            np.array([min(1.0, tests * normal_sf(abs(float(value)))) for value in values[0]]) for values in (z, u)
        )
        reach = normal_quantile(1 - (1 - level) / tests)
        method = "normal law, Bonferroni over coordinates"
    unit, ratio = _units(sets)
    spread_reach = reach * np.sqrt((kurtosis - 1) * (1 / sets.n + 1 / sets.m)) / 2
    return Differences(
        z[0] * scale[0] * unit, ratio, p_location, p_spread, reach * scale[0] * unit, spread_reach, method
    )


def _scaled(sets: PointSets) -> FloatArray:
    """Return the pooled points with mean 0 and variance 1; coordinates without variance are 0."""
    Z = sets.pooled
    Z -= Z.mean(axis=0)
    Z -= Z.mean(axis=0)
    flat = ~_varies(Z, sets)
    Z /= np.where(flat, 1.0, np.abs(Z).max(axis=0))
    sd = Z.std(axis=0)
    return np.asarray(np.where(flat, 0.0, Z / np.where(sd > 0, sd, 1.0)))


def _units(sets: PointSets) -> tuple[FloatArray, FloatArray]:
    """Return what a pooled sd is in units of locations, and the ratios of sds.

    The unit is the sd of y, where it has none the pooled one; 0 is returned where there is neither.
    """
    pooled, first, second = (
        np.where(_varies(Z, sets), Z.std(axis=0, ddof=ddof), 0.0)
        for Z, ddof in ((sets.pooled, 0), (sets.y, 1), (sets.points, 1))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((first == 0) & (second == 0), 1.0, second / first)
        return np.where(pooled > 0, pooled / np.where(first > 0, first, pooled), 0.0), ratio


def _varies(Z: FloatArray, sets: PointSets) -> NDArray[np.bool_]:
    """Tell which coordinates of some of the points differ by more than rounding."""
    largest = np.maximum(np.abs(sets.y).max(axis=0), np.abs(sets.points).max(axis=0))
    return np.asarray(np.ptp(Z, axis=0) > FLAT * largest)


def _relabelled(
    moments: FloatArray, sets: PointSets, kurtosis: FloatArray, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the largest statistic of each random division."""
    labels = relabellings(sets.n, sets.m, resamples, rng)
    largest = np.empty(resamples)
    for part in chunks(resamples, max(1, AT_ONCE // len(moments))):
        z, u, _ = _statistics(labels[part].astype(np.float64), moments, sets.n, sets.m, kurtosis)
        largest[part] = np.maximum(np.abs(z), np.abs(u)).max(axis=1)
    return largest


def _statistics(
    V: FloatArray, moments: FloatArray, n: int, m: int, kurtosis: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return z, u and the standard errors of the means for each row of V, which marks the first set."""
    d = moments.shape[1] // 2
    first = V @ moments
    second = moments.sum(axis=0) - first
    y, x = first / n, second / m
    variance_y = np.maximum(y[:, d:] - y[:, :d] ** 2, SMALLEST) * (n / (n - 1))
    variance_x = np.maximum(x[:, d:] - x[:, :d] ** 2, SMALLEST) * (m / (m - 1))
    error = np.sqrt(variance_y / n + variance_x / m)
    z = (x[:, :d] - y[:, :d]) / error
    varies = moments[:, d:].any(axis=0)  # a coordinate that is the same everywhere differs in nothing
    u = np.where(varies, np.log(variance_x / variance_y), 0.0) / np.sqrt((kurtosis - 1) * (1 / n + 1 / m))
    return z, u, error


def _tail(found: FloatArray, largest: FloatArray) -> FloatArray:
    """Return the share of divisions whose largest statistic reaches each of these, the one at hand among them."""
    extreme = (largest[:, None] >= found * (1 - 1e-9)).sum(axis=0)
    return np.asarray(resampled_pvalue(extreme, largest.size), dtype=np.float64)
