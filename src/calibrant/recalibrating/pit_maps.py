"""`pit`: predictive distribution functions F become R∘F, R the distribution function of the PITs F(y).

That is the method of Kuleshov, Fenner and Ermon (2018). R is linear between (0, 0), (u_(i), i/(n + 1)) and (1, 1);
equal u share their mean rank. Draws and quantiles give F by linear interpolation: the j-th smallest of M draws has the
level (j - ½)/M, a quantile has its own. Outcomes beyond the extreme draws or quantiles have no u, but they count: with
m of them below and m' above, R passes through (u_min, m/(n + 1)) and (u_max, 1 - m'/(n + 1)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, locked, refuse_where
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters
from calibrant.recalibrating.sample_maps import refuse_weighted_draws, warn_log_density

MIN_ROWS = 20
ROUNDING = 1e-12  # of a level


def _check_rows(n: int, w: FloatArray) -> None:
    if not (w == w[0]).all():
        raise InputError("pit counts rows and does not take weights; leave {weights=} out", option="weights")
    if n < MIN_ROWS:
        raise InputError(f"pit needs at least {MIN_ROWS} rows, one for each step of its map; got {n}. Pass more rows")


class Table(NamedTuple):
    """R between 0 and 1: knots that rise, and values that do not fall."""

    knots: FloatArray
    values: FloatArray

    def __call__(self, u: FloatArray) -> FloatArray:
        return np.asarray(np.interp(u, *self._ends()))

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return R⁻¹ of levels strictly between 0 and 1, where R rises."""
        knots, values = self._ends()
        return np.asarray(np.interp(levels, values, knots))

    def _ends(self) -> tuple[FloatArray, FloatArray]:
        return np.concatenate([[0.0], self.knots, [1.0]]), np.concatenate([[0.0], self.values, [1.0]])


def pit_table(u: FloatArray, below: int = 0, above: int = 0, ends: tuple[float, float] | None = None) -> Table:
    """Return R from the PITs of the rows that have one; `below` and `above` rows lie beyond the levels `ends`.

    R(0) = 0 and R(1) = 1 always, or R∘F would not be a distribution function: PITs of 0 and 1 count, but are not knots.

    >>> pit_table(np.array([0.5, 0.2, 0.2]))
    Table(knots=array([0.2, 0.5]), values=array([0.375, 0.75 ]))
    """
    n = u.size + below + above
    knots, count = np.unique(u, return_counts=True)
    values = (below + np.cumsum(count) - (count - 1) / 2) / (n + 1)
    if ends is not None and ends[0] not in knots[:1]:
        knots, values = np.r_[ends[0], knots], np.r_[below / (n + 1), values]
    if ends is not None and ends[1] not in knots[-1:]:
        knots, values = np.r_[knots, ends[1]], np.r_[values, (n + 1 - above) / (n + 1)]
    inside = (knots > 0) & (knots < 1)
    if not inside.any():
        raise NotApplicableError("every PIT is 0 or 1, so there is nothing between them to recalibrate")
    return Table(knots[inside], values[inside])


def _table_of_outcomes(y: FloatArray, ordered: FloatArray, levels: FloatArray) -> Table:
    """Return R of outcomes among the points of their rows (n, M), sorted, whose levels are given."""
    first = np.count_nonzero(ordered < y[:, None], axis=1)
    last = np.count_nonzero(ordered <= y[:, None], axis=1)
    below, above = last == 0, first == levels.size
    row = np.flatnonzero(~(below | above))
    low, high = first[row], last[row]
    up = np.minimum(low, levels.size - 1)
    left, right = ordered[row, np.maximum(low, 1) - 1], ordered[row, up]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        part = (y[row] / 2 - left / 2) / (right / 2 - left / 2)
    between = levels[low - 1] + part * (levels[up] - levels[low - 1])
    u = np.where(high > low, levels[up] / 2 + levels[high - 1] / 2, between)
    ends = (float(levels[0]), float(levels[-1]))
    return pit_table(u, int(below.sum()), int(above.sum()), ends)


def _at_levels(ordered: FloatArray, given: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the points of each row at other levels, linear between the given ones and constant beyond them."""
    place = np.interp(wanted, given, np.arange(given.size))
    left = np.minimum(place.astype(np.intp), given.size - 2)
    part = place - left
    return np.maximum.accumulate((1 - part) * ordered[:, left] + part * ordered[:, left + 1], axis=1)


def fit_cdf(rows: CdfRows, options: FitOptions) -> Fit:
    _check_rows(rows.n, rows.w)
    at = rows.prediction.at
    outside = np.count_nonzero((at == rows.prediction.below) & ((at == 0) | (at == 1)))
    said = (
        f"{outside} of {rows.n} outcomes lie where F is 0 or 1, and the map cannot make them possible; distributions "
        "with wider support could",
    )
    return Fit(pit_table(at)._asdict(), warnings=said if outside else ())


def apply_cdf(parameters: Parameters, prediction: CdfValues, options: FitOptions) -> CdfValues:
    table = Table(**parameters)
    return prediction._with(at=locked(table(prediction.at)), below=locked(table(prediction.below)))


def fit_samples(rows: DistributionRows, options: FitOptions) -> Fit:
    _check_rows(rows.n, rows.w)
    ordered = _sorted_draws(rows.distribution)
    return Fit(_table_of_outcomes(rows.y, ordered, _draw_levels(ordered.shape[1]))._asdict())


def apply_samples(parameters: Parameters, prediction: Samples, options: FitOptions) -> Samples:
    """Return for each row its quantiles at R⁻¹((j - ½)/M) in ascending order, inside the range of its draws."""
    ordered = _sorted_draws(prediction)
    levels = _draw_levels(ordered.shape[1])
    if prediction.log_densities is not None:
        warn_log_density(stacklevel=4)
    moved = _at_levels(ordered, levels, Table(**parameters).inverse(levels))
    return prediction._with(held=locked(moved), log_densities=None, chains=1)


def _sorted_draws(samples: Distribution) -> FloatArray:
    """Return the draws of each row in ascending order; refuse those that have no common distribution function."""
    assert isinstance(samples, Samples)
    if samples.shape:
        words = f"pit takes draws of numbers; these are vectors of {samples.shape[0]} coordinates. Use "
        raise NotApplicableError(words + "Samples(draws[:, :, j]), or {method='location-scale'}", option="method")
    refuse_weighted_draws(samples)
    if samples.M < 2:
        raise NotApplicableError("pit needs at least 2 draws per row; got 1. Pass more draws")
    return np.sort(samples.draws, axis=1)


def _draw_levels(M: int) -> FloatArray:
    return (np.arange(1, M + 1) - 0.5) / M


def fit_quantiles(rows: QuantileRows, options: FitOptions) -> Fit:
    """Fit R to the places of outcomes among quantiles; refuse if it asks for levels beyond the given ones."""
    _check_rows(rows.n, rows.w)
    _check_quantiles(rows.prediction)
    table = _table_of_outcomes(rows.y, np.asarray(rows.prediction.values), rows.prediction.levels)
    _inner_levels(table, rows.prediction.levels)
    return Fit(table._asdict())


def apply_quantiles(parameters: Parameters, prediction: Quantiles, options: FitOptions) -> Quantiles:
    """Return the quantiles at R⁻¹(τ), linear between the given levels."""
    _check_quantiles(prediction)
    wanted = _inner_levels(Table(**parameters), prediction.levels)
    moved = _at_levels(prediction.values, prediction.levels, wanted)
    return prediction._with(values=locked(np.asfortranarray(moved)))


def _check_quantiles(prediction: Quantiles) -> None:
    if prediction.levels.size < 2:
        raise NotApplicableError(
            "pit needs quantiles of at least 2 levels; got 1. Use {method='shift'}, which takes one", option="method"
        )
    values, remedy = prediction.values, "The method shift takes infinite quantiles"
    refuse_where(np.isinf(values), values, "values must be finite for pit", remedy)


def _inner_levels(table: Table, levels: FloatArray) -> FloatArray:
    """Return the levels R⁻¹(τ); refuse those beyond the given ones, where nothing is known."""
    wanted = table.inverse(levels)
    beyond = (wanted < levels[0] - ROUNDING) | (wanted > levels[-1] + ROUNDING)
    if beyond.any():
        j = int(np.argmax(beyond))
        raise NotApplicableError(
            f"the quantile of level {levels[j]:.10g} would be that of level {wanted[j]:.4g}, beyond the given levels "
            f"{levels[0]:.10g} to {levels[-1]:.10g}. Pass quantiles of more extreme levels, or use {{method='shift'}}",
            option="method",
        )
    return wanted


_PARAMETERS = {
    "knots": Parameter("m", low=0.0, high=1.0, order="rising"),
    "values": Parameter("m", low=0.0, high=1.0, order="not falling"),
}
CDF_PIT = Method(fit_cdf, apply_cdf, _PARAMETERS)
SAMPLE_PIT = Method(fit_samples, apply_samples, _PARAMETERS)
QUANTILE_PIT = Method(fit_quantiles, apply_quantiles, _PARAMETERS)
