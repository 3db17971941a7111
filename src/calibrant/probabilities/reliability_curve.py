"""Reliability curve: observed frequency against stated probability."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import bin_table, on_grid
from calibrant.core.bins import BinTable
from calibrant.core.decorators import curve
from calibrant.core.grid import Grid
from calibrant.core.isotonic import grouped, isotonic_fit, isotonic_quantile, ranked
from calibrant.core.kept_rows import KeptRows
from calibrant.core.kinds import AnyRows
from calibrant.core.mean_interval import clopper_pearson, empty_as_nan, wilson
from calibrant.core.ordered import Ordered
from calibrant.core.results import Curve
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins, check_choice, check_count, check_level, generator
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import QuantileRows
from calibrant.probabilities.consistency_band import binned_band, grid_rounding, isotonic_band


def quantile_reliability(summary: KeptRows) -> Curve:
    """Return the recalibrated quantiles of each different forecast, level by level; see `reliability_curve`."""
    rows = summary.rows
    assert isinstance(rows, QuantileRows)
    outcomes = ranked(rows.y)
    tables = []
    for values, level in zip(rows.prediction.values.T, rows.prediction.levels.tolist(), strict=True):
        forecasts = grouped(values)
        low, high = (isotonic_quantile(outcomes, rows.w, forecasts, level, upper=side) for side in (False, True))
        tables.append((np.full(low.size, level), forecasts.value, low, high, forecasts.rows))
    names = ("level", "forecast", "recalibrated_low", "recalibrated_high", "count")
    return Curve(
        kind="quantile_reliability",
        columns=dict(zip(names, (np.concatenate(column) for column in zip(*tables, strict=True)), strict=True)),
        method="isotonic quantile regression, lowest and highest solution",
        n=summary.n,
        details={},
    )


ROUNDING = 1e-9
EXACT_ON_GRID = (
    "lower",
    "upper",
    "count",
    "weight",
    "mean_predicted",
    "mean_observed",
    "interval_low",
    "interval_high",
)
OF_PROBABILITIES = {
    "bins": 15,
    "strategy": "width",
    "level": 0.95,
    "method": None,
    "simultaneous": False,
    "resamples": 999,
}  # the options, which have no meaning for quantiles, and their defaults


def sorted_rows(rows: AnyRows, **_: Any) -> Ordered | KeptRows:
    """Return the summary that holds what the curve needs, which is all rows."""
    return KeptRows.of(rows) if isinstance(rows, QuantileRows) else Ordered.of(cast(Binary, rows))


def _rounding(grid: Grid, *, bins: int, level: float, simultaneous: bool, **_: Any) -> dict[str, float]:
    """Return 0 for what is exact, and how far the band may be off; no word on a band from redraws."""
    table = grid.bins(bins)
    bounds = dict.fromkeys(EXACT_ON_GRID, 0.0)
    if grid.has_equal_weights:
        off = grid_rounding(grid, table, _band_level(table, level, simultaneous))
        bounds |= {"consistency_low": off, "consistency_high": off}
    return bounds


@curve(
    reads=(Ordered, KeptRows, Grid),
    summarise=sorted_rows,
    predictions=("binary", "quantiles"),
    on_grid=lambda options: on_grid(**options),
    rounding=_rounding,
)
def reliability_curve(
    summary: Ordered | KeptRows | Grid,
    *,
    bins: int | str = 15,
    strategy: str = "width",
    level: float = 0.95,
    method: str | None = None,
    simultaneous: bool = False,
    resamples: int = 999,
    rng: Any = 0,
) -> Curve:
    r"""Observed frequency against stated probability, with intervals and a consistency band.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`, one probability per row; or outcomes and `Quantiles`, for which there are no options.
    bins
        Number of bins, ``"cube-root"`` or ``"sweep"``, as in `ece`; without meaning for ``strategy="isotonic"``.
    strategy
        ``"width"``, ``"mass"``, or ``"isotonic"``: no bins but the isotonic regression of the outcomes on the scores
        (CORP, Dimitriadis, Gneiting and Jordan 2021).
    level
        Coverage of intervals and band.
    method
        Interval of a frequency: ``"clopper-pearson"`` (default without weights, exact) or ``"wilson"`` (default with
        unequal weights, by the effective number of rows).
    simultaneous
        Make the band of all bins together hold with probability `level` (each bin at level^(1/m) for the m bins that
        hold rows, which are independent if calibrated). For bins only.
    resamples, rng
        Redraws of the outcomes for the band with unequal weights and for the isotonic region.

    Returns
    -------
    Curve
        Bins: `lower`, `upper`, `count`, `weight`, `mean_predicted`, `mean_observed`, `interval_low`, `interval_high`
        (for the frequency), `consistency_low`, `consistency_high` (where the frequency falls if calibrated), `outside`
        (whether it does not). An empty bin has count 0 and NaN. Isotonic: `p`, `fitted`, `weight`, `consistency_low`,
        `consistency_high` per different score. Quantiles: `level`, `forecast` (its different values, ascending),
        `recalibrated_low`, `recalibrated_high` and `count`, level by level.

    Notes
    -----
    The interval asks where the true frequency of a bin is. The band asks what would be seen if every prediction were
    right: it comes from the bin's own scores (the Poisson-binomial law of its number of events, exact up to 2000 rows
    per bin, by three cumulants and rounded outwards beyond), so that a frequency outside it is evidence against
    calibration. An isotonic fit is drawn towards rising shapes and flattens a dip in the truth; its region is one
    around the diagonal, not around the fit.

    A `Grid` has up to 100 bins of equal width: counts, means and intervals are exact. Its band comes from the mean
    score of each cell, which keeps the mean number of events and makes the band wider, by less than a row per bin in
    nearly all cases.

    For quantiles the curve shows which quantile of the outcomes would have been right, given the forecast (Gneiting et
    al. 2023): their isotonic regression, in which rows of equal forecasts are pooled first and the quantile is found
    anew for every stretch of forecasts. Where a stretch has a whole interval of quantiles, `recalibrated_low` and
    `recalibrated_high` are its ends. Calibrated forecasts scatter around the diagonal. Whether outcomes stay below the
    quantiles often enough on the whole is seen by `coverage_curve`.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.125, 0.375, 0.625, 0.875], bins=2)
    >>> curve.count.tolist(), curve.mean_predicted.tolist(), curve.mean_observed.tolist()
    ([2, 2], [0.25, 0.75], [0.0, 1.0])

    Two events in two rows are compatible with any frequency above √0.025:

    >>> round(float(curve.interval_low[1]), 6)
    0.158114

    Medians 1, 2, 3 for outcomes 3, 1, 5: the first two fall and are pooled, and all of [1, 3] are medians of them.

    >>> from calibrant import Quantiles
    >>> curve = reliability_curve([3.0, 1.0, 5.0], Quantiles([1.0, 2.0, 3.0], 0.5))
    >>> curve.recalibrated_low.tolist(), curve.recalibrated_high.tolist()
    ([1.0, 1.0, 5.0], [3.0, 3.0, 5.0])
    """
    if isinstance(summary, KeptRows):
        _refuse_options(
            bins=bins, strategy=strategy, level=level, method=method, simultaneous=simultaneous, resamples=resamples
        )
        return quantile_reliability(summary)
    level, resamples, rng = check_level(level), check_count("resamples", resamples, least=19), generator(rng)
    check_choice("simultaneous", simultaneous, False, True)
    check_choice("method", method, None, "clopper-pearson", "wilson")
    if strategy == "isotonic":
        if method is not None or simultaneous:
            raise InputError('strategy="isotonic" has no method= and no simultaneous=; leave them out')
        if isinstance(summary, Grid):
            raise SummaryError(
                'a Grid holds width bins, and no scores for strategy="isotonic"; pass the rows or their Ordered '
                "summary, or exact=True where data come in batches"
            )
        return _isotonic(summary, level, resamples, rng)
    check_choice("strategy", strategy, "width", "mass", "isotonic")
    check_bins(bins, strategy)
    return _binned(
        summary, bin_table(summary, bins=bins, strategy=strategy), level, method, simultaneous, resamples, rng
    )


def _refuse_options(**given: Any) -> None:
    for name, value in given.items():
        if value != OF_PROBABILITIES[name]:
            raise InputError(f"{name}= is for probabilities; got {shown(value)} with Quantiles. Leave it out")


def _band_level(table: BinTable, level: float, simultaneous: bool) -> float:
    """Return the level of the band of each bin."""
    return level ** (1 / int((table.count > 0).sum())) if simultaneous else level


def _binned(
    summary: Ordered | Grid,
    table: BinTable,
    level: float,
    method: str | None,
    simultaneous: bool,
    resamples: int,
    rng: np.random.Generator,
) -> Curve:
    equal = summary.has_equal_weights
    if method == "clopper-pearson" and not equal:
        raise InputError('method="clopper-pearson" counts rows and needs equal weights; use method="wilson"')
    chosen = method or ("clopper-pearson" if equal else "wilson")
    low, high = clopper_pearson(table, level) if chosen == "clopper-pearson" else wilson(table, level)
    if isinstance(summary, Grid):
        scores, starts, of = summary.ordered(), summary.entry_starts(table.count.size), " of the means of cells"
    else:
        scores, starts, of = summary, summary.bin_starts(table.edges), ""
    band_level = _band_level(table, level, simultaneous)
    band_low, band_high, found = binned_band(scores, starts, table, band_level, resamples, rng)
    return Curve(
        kind="reliability",
        columns={
            "lower": table.lower,
            "upper": table.upper,
            "count": table.count,
            "weight": empty_as_nan(table.w, table.count),
            "mean_predicted": table.mean_predicted,
            "mean_observed": table.mean_observed,
            "interval_low": low,
            "interval_high": high,
            "consistency_low": band_low,
            "consistency_high": band_high,
            "outside": _outside(table.mean_observed, band_low, band_high),
        },
        method=f"{chosen} intervals; {'simultaneous ' if simultaneous else ''}consistency band {found}{of}",
        n=summary.n,
        details={"level": level},
    )


def _isotonic(summary: Ordered, level: float, resamples: int, rng: np.random.Generator) -> Curve:
    w, e = summary.weight_by_score, summary.event_weight_by_score
    low, high, how = isotonic_band(summary, level, resamples, rng)
    return Curve(
        kind="isotonic",
        columns={
            "p": summary.unique_scores,
            "fitted": isotonic_fit(e, w),
            "weight": w.astype(np.float64),
            "consistency_low": low,
            "consistency_high": high,
        },
        method=f"isotonic regression; consistency region {how}",
        n=summary.n,
        details={"level": level},
    )


def _outside(observed: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Tell which bins lie outside the band by more than rounding; an empty one does not."""
    return np.asarray((observed < low - ROUNDING) | (observed > high + ROUNDING))
