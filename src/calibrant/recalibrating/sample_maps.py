"""`location-scale` of draws: m + a + s(draw - m), m the mean of the row, with the lowest mean CRPS.

The CRPS of the empirical distribution of a row is the mean of |draw - y| less half the mean distance of two draws, a
draw with itself included. The fair CRPS leaves those out: it is unbiased for the distribution behind independent draws.
Stretched about their own mean, draws are not independent, and the fair form makes calibrated ensembles too wide: with
normal draws and outcomes of the same variance it has its minimum at s = 1.24 for M = 10, while the plain form has

    s² = (σ²/τ² + 1/M) / (1 + 1/M)    for outcomes of variance σ² and draws of variance τ² about the same mean,

so s = 1 exactly if outcome and draws are exchangeable. ``score="fair-crps"`` asks for the fair form.
With d = draw - m, r = y - m and c = w/(W M) the objective is

    f(a, s) = Σ c |a + s d - r| - s g,    g the mean of half the mean distance of two draws,

convex and piecewise linear: a regression with absolute errors and one linear term. For a given s the best a is a median
of r - s d. What remains is a convex, piecewise linear function of s alone, whose slopes are sums.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_finite, locked, refuse_not_finite
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.recalibrating.distribution_maps import EQUAL, median_range, row_shares
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared

FLAT = 1e-12  # slope that is taken for 0, in units of the mean distance of draws from their mean
ROUNDING = 1e-14  # relative error of a mean score
MAX_STEPS = 200


class Slice(NamedTuple):
    """The objective at one scale s: its minimum over the shift a, where that is reached, and the slopes in s."""

    s: float
    value: float
    left: float  # slope to the left of s
    right: float  # slope to the right of s
    low: float  # the smallest and the largest of the best shifts
    high: float


class Residuals(NamedTuple):
    """Draws less their row's mean d (n, M), outcomes less it r (n,), shares of rows (n,), and the linear term g."""

    d: FloatArray
    r: FloatArray
    share: FloatArray
    g: float

    def at(self, s: float) -> Slice:
        M = self.d.shape[1]
        t = self.r[:, None] - s * self.d
        equal = self.share.min() == self.share.max()
        low, high = _middles(t.ravel()) if equal else median_range(t.ravel(), np.repeat(self.share, M))
        a = low / 2 + high / 2
        t -= a
        value = float(self.share @ np.abs(t).mean(axis=1)) - s * self.g
        sign = -np.sign(t)
        balance = float(self.share @ sign.mean(axis=1))
        slope = float(self.share @ np.einsum("im,im->i", sign, self.d)) / M - self.g
        row, draw = np.nonzero(t == 0)
        if row.size == 0:
            return Slice(s, value, slope, slope, low, high)
        # Residuals of 0 have any sign in [-1, 1], as long as all signs add up to 0.
        left, right = _knapsack(self.share[row] / M, self.d[row, draw], -balance)
        return Slice(s, value, slope + left, slope + right, low, high)

    def size(self, one: Slice) -> float:
        """Return the sum of the absolute terms of a value, to which its rounding error is relative."""
        return abs(one.value) + one.s * abs(self.g)


def _middles(values: FloatArray) -> tuple[float, float]:
    k = (values.size - 1) // 2, values.size // 2
    found = np.partition(values, k)
    return float(found[k[0]]), float(found[k[1]])


def _knapsack(c: FloatArray, d: FloatArray, total: float) -> tuple[float, float]:
    """Return the least and the largest Σ c θ d with -1 <= θ <= 1 and Σ c θ = total.

    >>> _knapsack(np.ones(2), np.array([1.0, 3.0]), 0.0)
    (-2.0, 2.0)
    """
    order = np.argsort(d)
    c, d = c[order], d[order]
    found = []
    for direction in (1, -1):  # fill from the smallest d, then from the largest
        room = np.clip((total + c.sum()) - 2 * (np.cumsum(c[::direction]) - c[::direction]), 0.0, 2 * c[::direction])
        found.append(float((room - c[::direction]) @ d[::direction]))
    return found[0], found[1]


def fit_location_scale(rows: DistributionRows, options: FitOptions) -> Fit:
    samples = rows.samples
    assert samples is not None
    if samples.M < 2:
        raise NotApplicableError("location-scale needs at least 2 draws per row; got 1. Pass more draws")
    share = row_shares(rows)
    pairs = samples.M * (samples.M - 1 if options.score == "fair-crps" else samples.M)
    if not samples.shape:
        a, s, value = _fit_column(samples.draws, rows.y, share, pairs)
        return Fit({"shift": a, "scale": s}, value)
    found = [_fit_column(samples.draws[:, :, j], rows.y[:, j], share, pairs, j) for j in range(samples.shape[0])]
    shift, scale, values = (np.array(column) for column in zip(*found, strict=True))
    return Fit({"shift": shift, "scale": scale}, float(values.mean()))


def _fit_column(
    draws: FloatArray, y: FloatArray, share: FloatArray, pairs: int, coordinate: int | None = None
) -> tuple[float, float, float]:
    """Return shift, scale and mean CRPS of one coordinate; `pairs` of draws are counted in their mean distance."""
    where = "" if coordinate is None else f" (coordinate {coordinate})"
    M = draws.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _row_means(draws)[:, 0]
        d, r = draws - mean[:, None], y - mean
    refuse_not_finite(d, "the distance of draws from their mean", axes=("row", "draw"))
    refuse_not_finite(r, "the distance of y from the mean of its draws")
    spread, width = float(share @ np.abs(d).mean(axis=1)), float(share @ np.abs(r - np.average(r, weights=share)))
    if spread == 0:
        raise NotApplicableError(f"the draws of each row are all equal{where}; no scale can spread them")
    if np.ptp(r) <= EQUAL * (np.abs(y).max() + np.abs(mean).max()):
        raise NotApplicableError(_no_scale(where))
    d, r = d / spread, r / width
    place = 2 * np.arange(1, M + 1) - M - 1
    g = float(share @ (np.sort(d, axis=1) @ place)) / pairs
    best = _lowest(Residuals(d, r, share, g), where)
    return (best.low / 2 + best.high / 2) * width, best.s * (width / spread), best.value * width


def _row_means(draws: FloatArray) -> FloatArray:
    """Return the mean of each row's draws, (n, 1, ...); that of equal draws is their value, without rounding."""
    mean = draws.mean(axis=1, keepdims=True)
    return np.asarray(np.clip(mean, draws.min(axis=1, keepdims=True), draws.max(axis=1, keepdims=True)))


def _no_scale(where: str) -> str:
    return (
        f"the best scale is 0{where}: the outcomes lie at the same distance from the means of their draws. Pass rows "
        "whose outcomes vary about their predictions"
    )


def _lowest(residuals: Residuals, where: str) -> Slice:
    """Return the objective at the middle of the scales at which it is lowest.

    The minimum lies between a falling and a rising piece. The crossing of the two lines is a lower bound of the
    objective, and the minimum if the objective is as low there. Secants of the slope are quick where pieces are many
    and short; halving makes sure that the search ends.
    """
    low, high = residuals.at(0.0), residuals.at(1.0)
    if low.right >= -FLAT:
        raise NotApplicableError(_no_scale(where))
    at_infinity = residuals._replace(r=np.zeros_like(residuals.r)).at(1.0).value
    if at_infinity <= FLAT:
        M = residuals.d.shape[1]
        raise NotApplicableError(f"{M} draws per row do not determine a scale{where}. Pass more draws per row")
    while high.left <= FLAT:
        low, high = (high if high.right < -FLAT else low), residuals.at(2 * high.s)
    for step in range(MAX_STEPS):
        width, turn = high.s - low.s, low.right - high.left
        gap = high.value - low.value - high.left * width
        tried = (
            low.s + min(max(gap / turn, 0.0), width),  # where the falling line at `low` meets the rising one at `high`
            low.s + width * low.right / turn,  # where the slope would be 0 if it rose evenly
            low.s / 2 + high.s / 2,
        )
        here = residuals.at(tried[step % 3])
        if here.left <= FLAT and here.right >= -FLAT:
            ends = [_end_of_flat(residuals, here, outside) for outside in (low, high)]
            return residuals.at(ends[0] / 2 + ends[1] / 2)
        bound = low.value + low.right * (here.s - low.s)
        if step % 3 == 0 and here.value - bound <= ROUNDING * residuals.size(here):
            return here
        low, high = (here, high) if here.right < 0 else (low, here)
    return min(low, high, key=lambda one: one.value)


def _end_of_flat(residuals: Residuals, inside: Slice, outside: Slice) -> float:
    """Return the end of the scales that are as good as `inside`, by Newton's method from a scale beyond it."""
    for _ in range(MAX_STEPS):
        above = outside.value - inside.value
        slope = outside.left if outside.s > inside.s else outside.right
        if above <= ROUNDING * residuals.size(outside) or abs(slope) <= FLAT:
            break
        outside = residuals.at(outside.s - above / slope)
    return outside.s


def apply_location_scale(parameters: Parameters, prediction: Samples, options: FitOptions) -> Samples:
    """Return the draws moved and stretched about the mean of their row; log densities are dropped."""
    shift, scale = np.asarray(parameters["shift"]), np.asarray(parameters["scale"])
    if shift.shape != prediction.shape:
        own, other = _draws_shape(shift.shape), _draws_shape(prediction.shape)
        raise InputError(f"this map was fitted on draws of shape {own}; got {other}")
    refuse_weighted_draws(prediction)
    if prediction.log_densities is not None:
        warn_log_density(stacklevel=4)
    draws = prediction.draws
    mean = _row_means(draws)
    moved = locked((mean + shift) + scale * (draws - mean))
    return prediction._with(held=moved, log_densities=None, finite=is_finite(moved))


def refuse_weighted_draws(samples: Samples) -> None:
    """Refuse draws with weights, which `recalibrate` refuses too."""
    if samples.draw_weights is not None:
        raise NotApplicableError("this map takes draws of equal weight; these have draw_weights")


def warn_log_density(stacklevel: int) -> None:
    warnings.warn("log_density was dropped: it belongs to the draws before recalibration", stacklevel=stacklevel + 1)


def _draws_shape(shape: tuple[int, ...]) -> str:
    return f"(n, M, {shape[0]})" if shape else "(n, M)"


def _check_shapes(parameters: Parameters) -> None:
    if np.shape(parameters["shift"]) != np.shape(parameters["scale"]):
        raise InputError("shift and scale must both be numbers, or lists with one number for each coordinate")


SAMPLE_LOCATION_SCALE = Method(
    fit_location_scale,
    apply_location_scale,
    {"shift": Parameter("D", single=True), "scale": Parameter("D", low=0.0, single=True)},
    ("score",),
    lambda columns: 2,
    check=_check_shapes,
    compared=RowsCompared(),
)
