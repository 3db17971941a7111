"""Reliability curve: observed frequency against stated probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue import curve, ordered
from calibrant.curves.consistency_band import binned_band, isotonic_band
from calibrant.curves.frequency_interval import clopper_pearson, empty_as_nan, wilson
from calibrant.errors import InputError
from calibrant.inputs import check_bins, check_choice, check_count, check_level, generator
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.isotonic import isotonic_fit
from calibrant.results import Curve
from calibrant.summaries import BinTable, Ordered
from calibrant.summaries.binned import bin_table

ROUNDING = 1e-9


@curve(reads=(Ordered,), summarise=ordered)
def reliability_curve(
    summary: Ordered,
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
        As in `ece`; one probability per row.
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
        `consistency_high` per different score.

    Notes
    -----
    The interval asks where the true frequency of a bin is. The band asks what would be seen if every prediction were
    right: it comes from the bin's own scores (the Poisson-binomial law of its number of events, exact up to 2000 rows
    per bin, by three cumulants and rounded outwards beyond), so that a frequency outside it is evidence against
    calibration. An isotonic fit is drawn towards rising shapes and flattens a dip in the truth; its region is one
    around the diagonal, not around the fit.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.125, 0.375, 0.625, 0.875], bins=2)
    >>> curve.count.tolist(), curve.mean_predicted.tolist(), curve.mean_observed.tolist()
    ([2, 2], [0.25, 0.75], [0.0, 1.0])

    Two events in two rows are compatible with any frequency above √0.025:

    >>> round(float(curve.interval_low[1]), 6)
    0.158114
    """
    level, resamples, rng = check_level(level), check_count("resamples", resamples, least=19), generator(rng)
    check_choice("simultaneous", simultaneous, False, True)
    check_choice("method", method, None, "clopper-pearson", "wilson")
    if strategy == "isotonic":
        if method is not None or simultaneous:
            raise InputError('strategy="isotonic" has no method= and no simultaneous=; leave them out')
        return _isotonic(summary, level, resamples, rng)
    check_choice("strategy", strategy, "width", "mass", "isotonic")
    check_bins(bins, strategy)
    return _binned(
        summary, bin_table(summary, bins=bins, strategy=strategy), level, method, simultaneous, resamples, rng
    )


def _binned(
    summary: Ordered,
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
    filled = table.count > 0
    band_level = level ** (1 / int(filled.sum())) if simultaneous else level
    band_low, band_high, band_method = binned_band(summary, table, band_level, resamples, rng)
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
        method=f"{chosen} intervals; {'simultaneous ' if simultaneous else ''}consistency band {band_method}",
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
