"""Coordinates of two sets of points: which of them differ in location or spread, all tested together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim
from calibrant.core.dispatch import chunks
from calibrant.core.findings import Figure, Section, Table
from calibrant.core.null import resampled_pvalue
from calibrant.core.pvalues import normal_quantile, normal_sf
from calibrant.core.results import Curve
from calibrant.inputs.arrays import FloatArray
from calibrant.points.inputs import IntArray, PointSets
from calibrant.points.sections import ComparedSets, TestedSection, measured, point_view
from calibrant.points.sums import Divisions, observed_division, relabellings

MAX_RELABELLED = 20_000  # points of both sets; with more the normal limit is accurate
MIN_VARIANCE = 1e-7  # relative to the pooled variance; below it rounding destroys the fourth moment
ROUNDING_RANGE = 1e-14  # of a coordinate, relative to its largest number
MIN_KURTOSIS = 1.2  # two equally frequent values have 1, and the standard error of their spread would be 0
NUMBERS_AT_ONCE = 1 << 22


class CoordinateDifferences(NamedTuple):
    """Differences of coordinates, (d,) each, and the limits that chance alone keeps.

    `location` is (mean of points - mean of y) / sd of y, `spread` is the ratio of the standard deviations; p-values
    allow for all coordinates and both questions together. `location_reach` and `spread_reach` are joint limits of
    |location| and |log spread|, at the given level, if both sets have one distribution. `location_error` and
    `spread_error` are half the widths of joint confidence limits of location and log spread, at the level of a family.
    """

    location: FloatArray
    spread: FloatArray
    location_pvalue: FloatArray
    spread_pvalue: FloatArray
    location_reach: FloatArray
    spread_reach: FloatArray
    location_error: FloatArray
    spread_error: FloatArray
    method: str

    @property
    def pvalue(self) -> float:
        return float(min(self.location_pvalue.min(), self.spread_pvalue.min()))


class DivisionStatistics(NamedTuple):
    """Statistics of some coordinates (d,) for some divisions (B,) of the pooled points, (B, d) each."""

    z: FloatArray
    u: FloatArray
    mean_error: FloatArray  # standard error of the difference of the means
    log_error: FloatArray  # standard error of the difference of the logarithms of the variances

    @property
    def largest(self) -> FloatArray:
        return np.asarray(np.maximum(np.abs(self.z), np.abs(self.u)).max(axis=1))


def coordinate_differences(
    sets: PointSets, level: float, resamples: int, rng: np.random.Generator, *, family_level: float | None = None
) -> CoordinateDifferences:
    r"""Compare means and standard deviations coordinate by coordinate.

    .. math:: z_j = \frac{\bar x_j - \bar y_j}{\sqrt{s_{y,j}^2/n + s_{x,j}^2/m}}, \qquad
              u_j = \frac{\log (s_{x,j}^2 / s_{y,j}^2)}{\sqrt{(\kappa_j - 1)(1/n + 1/m)}}, \qquad
              \kappa_j = \frac{n \kappa_{y,j} + m \kappa_{x,j}}{n + m},

    with the kurtosis of each set about its own mean: the kurtosis of the pooled points is small where the means differ,
    and a shift would then look like a difference in spread. The null distribution of each statistic is that of the
    largest of all :math:`|z_j|, |u_j|` over `resamples` random divisions of the pooled points (Westfall and Young
    1993): if both sets have one distribution, the probability of any p-value below α is at most α. Above 20,000 points
    the normal limit and Bonferroni's factor replace the divisions.

    Quantiles of the same largest statistic give the limits, at `level` and at `family_level`.
    """
    levels = (level, level if family_level is None else family_level)
    Z = _scaled(sets)
    parts = [found for _, found in _statistics(Z, observed_division(sets.n, sets.m), sets)]
    z, u, mean_error, log_error = (np.concatenate([part[k][0] for part in parts]) for k in range(4))
    if sets.n + sets.m <= MAX_RELABELLED:
        divisions = relabellings(sets.n, sets.m, resamples, rng)
        largest = np.zeros(resamples)
        for rows, part in _statistics(Z, divisions, sets):
            largest[rows] = np.maximum(largest[rows], part.largest)
        p_location, p_spread = (_tail(np.abs(values), largest) for values in (z, u))
        ordered = np.sort(largest)
        reach, wide = (float(ordered[min(resamples, int(np.ceil(each * (resamples + 1)))) - 1]) for each in levels)
        method = f"largest of all coordinates, {resamples:,} random divisions of the pooled points"
    else:
        tests = 2 * 2 * sets.d  # two-sided, two questions
        p_location, p_spread = (
            np.array([min(1.0, tests * normal_sf(abs(float(value)))) for value in values]) for values in (z, u)
        )
        reach, wide = (normal_quantile(1 - (1 - each) / tests) for each in levels)
        method = "normal limit, Bonferroni over coordinates"
    unit, ratio = _units(sets)
    se, se_log = mean_error * unit, log_error / 2
    reaches = reach * se, reach * se_log, wide * se, wide * se_log
    return CoordinateDifferences(z * se, ratio, p_location, p_spread, *reaches, method)


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
    """Return the pooled sd divided by the sd of y, and the ratio of the sds of both sets.

    Where y is constant the first is 1, and where all points are equal it is 0.
    """
    pooled, first, second = (
        np.where(_varies(Z, sets), Z.std(axis=0, ddof=ddof), 0.0)
        for Z, ddof in ((sets.pooled, 0), (sets.y, 1), (sets.points, 1))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((first == 0) & (second == 0), 1.0, second / first)
        return np.where(pooled > 0, pooled / np.where(first > 0, first, pooled), 0.0), ratio


def _varies(Z: FloatArray, sets: PointSets) -> NDArray[np.bool_]:
    """Return which coordinates of some of the points vary by more than rounding."""
    largest = np.maximum(np.abs(sets.y).max(axis=0), np.abs(sets.points).max(axis=0))
    return np.asarray(np.ptp(Z, axis=0) > ROUNDING_RANGE * largest)


def _statistics(Z: FloatArray, divisions: Divisions, sets: PointSets) -> Iterator[tuple[slice, DivisionStatistics]]:
    """Yield slices of divisions with their statistics: all divisions for some coordinates, then for the next ones."""
    for columns in chunks(sets.d, max(1, NUMBERS_AT_ONCE // (4 * len(Z)))):
        powers = np.concatenate([Z[:, columns] ** k for k in range(1, 5)], axis=1)
        for rows in chunks(len(divisions), max(1, NUMBERS_AT_ONCE // len(Z))):
            yield rows, _of_divisions(divisions[rows].astype(np.float64), powers, sets.n, sets.m)


def _of_divisions(V: FloatArray, powers: FloatArray, n: int, m: int) -> DivisionStatistics:
    """Return the statistics for each row of V, which marks the first set; powers hold Z, Z², Z³ and Z⁴."""
    first = V @ powers
    mean_y, variance_y, kurtosis_y = _moments(first / n)
    mean_x, variance_x, kurtosis_x = _moments((powers.sum(axis=0) - first) / m)
    mean_error = np.sqrt(variance_y / (n - 1) + variance_x / (m - 1))
    kurtosis = np.maximum((n * kurtosis_y + m * kurtosis_x) / (n + m), MIN_KURTOSIS)
    log_error = np.sqrt((kurtosis - 1) * (1 / n + 1 / m))
    ratio = variance_x / variance_y * (m / (m - 1)) * ((n - 1) / n)
    varies = np.any(powers[:, : mean_y.shape[1]], axis=0)  # a constant coordinate does not differ
    return DivisionStatistics(
        (mean_x - mean_y) / mean_error, np.where(varies, np.log(ratio), 0.0) / log_error, mean_error, log_error
    )


def _moments(raw: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, variance (divisor n) and kurtosis from the means of the first four powers."""
    a, b, c, e = np.split(raw, 4, axis=1)
    variance = np.maximum(b - a**2, MIN_VARIANCE)
    return a, variance, (e - 4 * a * c + 6 * a**2 * b - 3 * a**4) / variance**2


def _tail(found: FloatArray, largest: FloatArray) -> FloatArray:
    """Return the share of divisions, the observed one included, whose largest statistic reaches each of these."""
    extreme = (largest[:, None] >= found * (1 - 1e-9)).sum(axis=0)
    return np.asarray(resampled_pvalue(extreme, largest.size), dtype=np.float64)


MAX_DRAWN = 20  # coordinates in a figure


def coordinate_section(compared: ComparedSets) -> TestedSection:
    sets = compared.sets
    family = 1 - (1 - compared.level) / compared.tests
    found = coordinate_differences(sets, compared.level, compared.resamples, compared.rng, family_level=family)
    order = np.lexsort((-np.abs(found.location), np.minimum(found.location_pvalue, found.spread_pvalue)))
    shift = float(np.linalg.norm(sets.points.mean(axis=0) - sets.y.mean(axis=0)))
    spread = _total_variance(sets.points) / (_total_variance(sets.y) or np.nan)
    method = found.method
    label = "total variance, generated over real (p-value: all coordinates)"
    p, p_spread = float(found.location_pvalue.min()), float(found.spread_pvalue.min())
    measurements = (
        measured(
            compared, "location", "distance of the means (p-value: all coordinates)", shift, pvalue=p, method=method
        ),
        measured(compared, "spread", label, spread, expected=1.0, pvalue=p_spread, method=method),
    )
    intro = "Do the points have the same location and spread in each coordinate?"
    figures = (point_view(compared), *_figures(compared, found, order[:MAX_DRAWN]))
    section = Section(
        "coordinates", "Location and spread", intro, measurements, figures, (_table(compared, found, order),)
    )
    floor = 1 / (compared.resamples + 1) if sets.n + sets.m <= MAX_RELABELLED else 0.0
    return TestedSection(section, found.pvalue, tuple(_claims(compared, found, floor)), floor=floor)


def _total_variance(points: FloatArray) -> float:
    return float(np.where(np.ptp(points, axis=0) > 0, points.var(axis=0, ddof=1), 0.0).sum())


def _claims(compared: ComparedSets, found: CoordinateDifferences, floor: float) -> Iterator[Claim]:
    """Yield a claim for each coordinate that differs, those with the smallest p-values first."""

    def claim(j: int, quantity: str, value: float, expected: float, limits: tuple[float, float], p: float) -> Claim:
        kind: Literal["above", "below"] = "above" if value > expected else "below"
        about, test = compared.subject("coordinate", compared.columns[j]), found.method
        return compared.claim(
            kind, quantity, value, expected=expected, subject=about, limits=limits, pvalue=p, floor=floor, test=test
        )

    for j in np.lexsort((-np.abs(found.location), found.location_pvalue)):
        if compared.is_significant(found.location_pvalue[j]):
            shift, error = float(found.location[j]), found.location_error[j]
            limits = (shift - error, shift + error)
            yield claim(j, "location", shift, 0.0, limits, float(found.location_pvalue[j]))
    for j in np.lexsort((-_apart(found.spread), found.spread_pvalue)):
        if compared.is_significant(found.spread_pvalue[j]):
            ratio, factor = float(found.spread[j]), float(np.exp(found.spread_error[j]))
            limits = (ratio / factor, ratio * factor) if 0 < ratio < np.inf else (np.nan, np.nan)
            yield claim(j, "spread_ratio", ratio, 1.0, limits, float(found.spread_pvalue[j]))


def _apart(ratio: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.abs(np.log(ratio))


def _table(compared: ComparedSets, found: CoordinateDifferences, order: IntArray) -> Table:
    sets = compared.sets
    columns = {
        "coordinate": tuple(compared.columns[j] for j in order),
        "mean real": tuple(sets.y.mean(axis=0)[order].tolist()),
        "mean generated": tuple(sets.points.mean(axis=0)[order].tolist()),
        "shift in sd": tuple(found.location[order].tolist()),
        "pvalue shift": tuple(found.location_pvalue[order].tolist()),
        "spread ratio": tuple(found.spread[order].tolist()),
        "pvalue spread": tuple(found.spread_pvalue[order].tolist()),
    }
    note = "P-values allow for all coordinates and both questions together."
    return Table("coordinates", "Coordinates, the most different first", columns, note)


OF_CHANCE = "The bars show the range of chance, jointly for all coordinates and both questions."


def _figures(compared: ComparedSets, found: CoordinateDifferences, shown: IntArray) -> tuple[Figure, ...]:
    reach = found.location_reach[shown]
    axes = {"axis": "shift, in sd of the real points", "reference": 0.0, "logarithmic": False}
    curve = _curve(compared, found, shown, found.location, (-reach, reach), axes)
    reading = f"Right of the line: generated points have larger values. {OF_CHANCE}"
    location = Figure("location", "Shift of each coordinate", reading, curve)
    some = shown[np.isfinite(found.spread[shown]) & (found.spread[shown] > 0)]
    if not some.size:
        return (location,)
    reach = found.spread_reach[some]
    axes = {"axis": "ratio of standard deviations", "reference": 1.0, "logarithmic": True}
    curve = _curve(compared, found, some, found.spread, (np.exp(-reach), np.exp(reach)), axes)
    reading = f"Right of the line: generated points spread more. {OF_CHANCE}"
    if some.size < shown.size:
        reading += " Coordinates that are constant in one set only are left out."
    return location, Figure("spread", "Spread of each coordinate", reading, curve)


def _curve(
    compared: ComparedSets,
    found: CoordinateDifferences,
    shown: IntArray,
    values: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    axes: dict[str, Any],
) -> Curve:
    place = np.arange(shown.size, dtype=np.float64)
    columns = {"place": place, "value": values[shown], "low": limits[0], "high": limits[1]}
    details = {"names": tuple(compared.columns[j] for j in shown), **axes, "level": compared.level}
    return Curve("coordinates", columns, found.method, compared.sets.n + compared.sets.m, details)
