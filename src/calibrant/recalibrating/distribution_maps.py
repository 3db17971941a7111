"""`location-scale`: predictive distributions are moved by one shift and stretched about their means by one scale.

With m the mean of a row, the outcome X of the row becomes m + a + s(X - m). The mean log score has its minimum in
closed form for `Normal` and `Laplace`. The mean CRPS, E|X' - y| - ½ E|X' - X''|, is jointly convex in a and s for every
distribution: the first term is a mean of absolute values of linear functions of (a, s), the second is linear in s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray, refuse_not_finite
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, Normal
from calibrant.inputs.rows import DistributionRows
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared
from calibrant.recalibrating.newton import Local, NoOptimumError, minimise
from calibrant.scores.crps import between

EQUAL = 16 * float(np.finfo(np.float64).eps)  # relative difference of residuals that may be rounding
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
BY_DRAWS = "Describe it by draws, Samples(distribution.sample(1000, rng=0))"
ELSEWHERE = f"{BY_DRAWS}, or by quantiles, distribution.quantiles(levels), which have the method 'shift'"


class Part(NamedTuple):
    """A component of the predictive distributions: its weight, its distance from the row's mean, and its scale."""

    family: type[Normal | Laplace]
    weight: FloatArray  # (n,)
    offset: FloatArray  # (n,)
    spread: FloatArray  # (n,)


def _parts(distribution: Distribution) -> tuple[FloatArray, list[Part]]:
    """Return the mean of each row and the components; refuse distributions that are not made of known families."""
    components, weights = distribution.as_mixture()
    known = [one for one in components if isinstance(one, (Normal, Laplace))]
    if len(known) < len(components):
        remedy = f"{BY_DRAWS}: coordinates are recalibrated one by one" if distribution.shape else ELSEWHERE
        raise NotApplicableError(
            "location-scale recalibrates Normal, Laplace, mixtures of these, and Samples; got "
            f"{distribution.words}. {remedy}"
        )
    shares = list((weights / weights.sum(axis=1, keepdims=True)).T)
    located = [one.parameters for one in known]
    mean = np.asarray(sum(p * location for p, (location, _) in zip(shares, located, strict=True)))
    if len(known) == 1:
        mean = located[0][0]
    return mean, [
        Part(type(one), p, location - mean, spread)
        for one, p, (location, spread) in zip(known, shares, located, strict=True)
    ]


def fit_location_scale(rows: DistributionRows, options: FitOptions) -> Fit:
    mean, parts = _parts(rows.distribution)
    if options.score != "crps" and isinstance(rows.distribution, Mixture):
        words = "the mean log score of a Mixture is not convex in shift and scale. Use {score='crps'}"
        raise NotApplicableError(words, option="score")
    share = row_shares(rows)
    spread = _standard_deviation(parts)
    unit = float(share @ spread)  # the fit is done without units
    with np.errstate(over="ignore"):
        r = (rows.y - mean) / unit
    refuse_not_finite(r, "the distance of y from its mean, in standard deviations,")
    if np.ptp(r) <= EQUAL * (np.abs(rows.y).max() + np.abs(mean).max()) / unit:
        raise NotApplicableError(
            "the best scale is 0: every outcome lies at the same distance from the mean of its distribution. "
            "Pass rows whose outcomes vary about their predictions"
        )
    parts = [part._replace(offset=part.offset / unit, spread=part.spread / unit) for part in parts]
    if options.score == "crps":
        a, s, value, gradient = _by_crps(parts, share, r, spread / unit)
        return Fit({"shift": a * unit, "scale": s}, value * unit, gradient)
    by_log = _normal_by_log if parts[0].family is Normal else _laplace_by_log
    with np.errstate(over="ignore", invalid="ignore"):
        a, s, value, slope = by_log(share, r, parts[0].spread)
    if not math.isfinite(s):
        raise NotApplicableError(
            f"the best scale is beyond the range of float64: the smallest spread is {parts[0].spread.min() * unit:.3g},"
            f" and the mean spread {unit:.3g}. Repair or drop rows whose spread is 0 but for rounding"
        )
    return Fit({"shift": a * unit, "scale": s}, value + math.log(unit), slope)


def row_shares(rows: DistributionRows) -> FloatArray:
    """Return the share of each row in a mean; refuse a single row, which does not determine shift and scale."""
    if rows.n < 2:
        raise NotApplicableError("location-scale has 2 parameters and needs at least 2 rows; got 1. Pass more rows")
    return np.asarray(rows.w / rows.w.sum())


def _standard_deviation(parts: list[Part]) -> FloatArray:
    largest = max(float(np.maximum(np.abs(part.offset), part.spread).max()) for part in parts)  # squares stay finite
    variance = np.zeros(len(parts[0].weight))
    for part in parts:
        own = (part.spread / largest) ** 2 * (1 if part.family is Normal else 2)
        variance += part.weight * ((part.offset / largest) ** 2 + own)
    return np.asarray(largest * np.sqrt(variance))


def _normal_by_log(share: FloatArray, r: FloatArray, sigma: FloatArray) -> tuple[float, float, float, float | None]:
    """Return the shift a = Σ w r/σ² / Σ w/σ², the scale s² = Σ w (r - a)²/σ² / W, the mean log score, its gradient.

    The gradient is that of shifts in units of (mean of 1/σ²)^(-½). In units of the mean of σ it would show nothing but
    rounding where some σ are very small.
    """
    precision = share * (sigma.min() / sigma) ** 2
    a = float(precision @ r / precision.sum())
    z = (r - a) / sigma
    largest = float(np.abs(z).max())
    s = largest * math.sqrt(float(share @ (z / largest) ** 2))
    unit = float(sigma.min()) / math.sqrt(float(precision.sum()))  # the mean precision is 1/unit²
    slope = max(abs(float(share @ (z / s * (unit / sigma)))) / s, abs(1 - float(share @ (z / s) ** 2)) / s)
    return a, s, HALF_LOG_TWO_PI + math.log(s) + float(share @ np.log(sigma)) + 0.5, slope


def _laplace_by_log(share: FloatArray, r: FloatArray, b: FloatArray) -> tuple[float, float, float, float | None]:
    """Return the shift, the median of r with weights w/b, the scale, the mean of |r - a|/b, and the mean log score."""
    low, high = median_range(r, share * (b.min() / b))  # a common factor changes no median
    a = low / 2 + high / 2
    s = float(share @ (np.abs(r - a) / b))
    return a, s, math.log(2 * s) + float(share @ np.log(b)) + 1, None


def median_range(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest weighted median.

    >>> median_range(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4))
    (2.0, 3.0)
    >>> median_range(np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0, 1.0]))
    (1.0, 1.0)
    """
    total = float(weights.sum())
    half, rounding = total / 2, 1e-13 * total
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    low = int(np.searchsorted(reached, half - rounding))
    high = int(np.searchsorted(reached, half + rounding, side="right"))
    return float(values[order[low]]), float(values[order[min(high, values.size - 1)]])


def _by_crps(
    parts: list[Part], share: FloatArray, r: FloatArray, spread: FloatArray
) -> tuple[float, float, float, float]:
    """Return shift, scale, mean CRPS and largest component of its gradient, by Newton's method from the log score."""
    half_difference = float(share @ _half_mean_difference(parts))

    def crps(point: FloatArray) -> Local:
        a, s = point
        if s <= 0:
            return Local(math.inf, np.zeros(2), np.eye(2))
        value, gradient, hessian = -s * half_difference, np.array([0.0, -half_difference]), np.zeros((2, 2))
        for part in parts:
            z = (a + s * part.offset - r) / (s * part.spread)
            distance, by_centre, by_spread, density = _absolute(part.family, z)
            c = share * part.weight
            value += s * float(c @ (part.spread * distance))
            gradient += [c @ by_centre, c @ (part.offset * by_centre + part.spread * by_spread)]
            along = part.offset - z * part.spread  # the Hessian of a row has rank one, along (1, offset - z spread)
            h = c * density / (s * part.spread)
            hessian += [[h.sum(), h @ along], [h @ along, h @ along**2]]
        return Local(value, gradient, hessian)

    centre, size, *_ = _normal_by_log(share, r, spread)
    r = (r - centre) / size  # in units in which the log score gives the scale 1: sums do not lose digits
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # as the scale vanishes
            found = minimise(crps, np.array([0.0, 1.0]), shortened=_keeping_spread)
    except NoOptimumError:
        raise NotApplicableError(
            "no minimum of the mean CRPS with a positive scale was found: many outcomes lie at the same distance from "
            "the mean of their distribution. Pass more rows, or use {score='log'}, which mixtures do not have",
            option="score",
        ) from None
    a, s = found.point.tolist()
    return centre + size * a, size * s, size * found.value, found.gradient


def _keeping_spread(point: FloatArray, step: FloatArray) -> FloatArray:
    """Return the part of a step after which a fifth of the scale is left: with hardly any the Hessian vanishes."""
    return step * min(1.0, 0.8 * float(point[1]) / max(float(-step[1]), np.finfo(np.float64).tiny))


def _absolute(family: type[Normal | Laplace], z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A(z) = E|z + Z| of a standard distribution, A'(z), A(z) - z A'(z), and twice the density at z."""
    if family is Normal:
        from scipy.special import erf

        by_centre = erf(z * math.sqrt(0.5))
        density = math.sqrt(2 / math.pi) * np.exp(-0.5 * z * z)
        return z * by_centre + density, by_centre, density, density
    size = np.abs(z)
    decay = np.exp(-size)
    by_centre = -np.sign(z) * np.expm1(-size)
    return size + decay, by_centre, decay * (1 + size), decay


def _half_mean_difference(parts: list[Part]) -> FloatArray:
    total = np.zeros(len(parts[0].weight))
    built = [part.family(part.offset, part.spread) for part in parts]
    for k, (one, part) in enumerate(zip(built, parts, strict=True)):
        total += 0.5 * part.weight**2 * between(one, one)
        for other, earlier in zip(built[:k], parts[:k], strict=True):
            total += part.weight * earlier.weight * between(one, other)
    return total


def apply_location_scale(parameters: Parameters, prediction: Distribution, options: FitOptions) -> Distribution:
    a, s = float(parameters["shift"]), float(parameters["scale"])
    mean, parts = _parts(prediction)
    moved = tuple(part.family(mean + (a + s * part.offset), s * part.spread) for part in parts)
    return prediction._with(components=moved) if isinstance(prediction, Mixture) else moved[0]


LOCATION_SCALE = Method(
    fit_location_scale,
    apply_location_scale,
    {"shift": Parameter(), "scale": Parameter(low=0.0)},
    ("score",),
    lambda columns: 2,
    compared=RowsCompared(),
)
