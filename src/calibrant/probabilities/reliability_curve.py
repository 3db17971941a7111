"""Reliability curve: observed frequency against stated probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import IntervalMethod, Labels, Outcomes, Rng
from calibrant.core.binned import Bins, bin_table, on_grid
from calibrant.core.bins import BinTable
from calibrant.core.catalogue import Entry, all_rows, enter, public
from calibrant.core.grid import Grid
from calibrant.core.isotonic import grouped_forecasts, isotonic_fit, isotonic_quantile, ranked_outcomes
from calibrant.core.kept_rows import KeptRows
from calibrant.core.mean_interval import clopper_pearson, empty_as_nan, share_method, wilson
from calibrant.core.ordered import Ordered
from calibrant.core.results import Curve
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.options import check_bins, check_count, check_level, generator
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.quantiles import Quantiles
from calibrant.probabilities.consistency_band import (
    binned_band,
    fewest_refits,
    grid_rounding,
    isotonic_band,
    level_of_bins,
)

Strategy: TypeAlias = Literal["width", "mass", "isotonic"]

ROUNDING = 1e-9  # a frequency this close to its band is not outside
LINE_COLUMNS = ("mean_predicted", "mean_observed", "interval_low", "interval_high", "count")
EXACT_ON_GRID = ("lower", "upper", "weight", *LINE_COLUMNS)


@public
def reliability_curve(
    y: Outcomes,
    prediction: ArrayLike | Quantiles | None = None,
    *,
    bins: Bins = 15,
    strategy: Strategy = "width",
    level: float = 0.95,
    method: IntervalMethod | None = None,
    simultaneous: bool = False,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> Curve:
    r"""Observed frequency against stated probability, with intervals and a consistency band.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`, one probability per row; or outcomes and `Quantiles`, for which the options below have no meaning.
    bins
        Number of bins, ``"cube-root"`` or ``"sweep"``, as in `ece`; ignored with ``strategy="isotonic"``.
    strategy
        ``"width"``, ``"mass"``, or ``"isotonic"``: no bins but the isotonic regression of the outcomes on the scores
        (CORP, Dimitriadis, Gneiting and Jordan 2021).
    level
        Coverage of intervals and band.
    method
        Interval of a frequency: ``"clopper-pearson"`` (default without weights, exact) or ``"wilson"`` (default with
        unequal weights, by the effective number of rows).
    simultaneous
        Make the bands of all bins together contain the frequencies with probability `level` if calibrated: each bin at
        level^(1/m) for the m bins that contain rows, which are independent, or with unequal weights by one factor for
        all bins. An isotonic region then contains whole fits with this probability.
    resamples, rng
        Redraws of the outcomes for the band with unequal weights, more if the level needs more, and for the isotonic
        region.

    Returns
    -------
    Curve
        Bins: `lower`, `upper`, `count`, `weight`, `mean_predicted`, `mean_observed`, `interval_low`, `interval_high`
        (for the frequency), `consistency_low`, `consistency_high` (where the frequency falls if calibrated), `outside`
        (whether it falls elsewhere). An empty bin has count 0 and NaN. Isotonic: `p`, `fitted`, `weight`,
        `consistency_low`, `consistency_high` per different score. Quantiles: `level`, `forecast` (its different values,
        ascending), `recalibrated_low`, `recalibrated_high` and `count`, level by level.

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
    options = ReliabilityOptions(bins, strategy, level, method, simultaneous, resamples, rng)
    return RELIABILITY_CURVE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class ReliabilityOptions:
    bins: Bins
    strategy: Strategy
    level: float
    method: IntervalMethod | None
    simultaneous: bool
    resamples: int
    rng: Rng

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_level(self.level))
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples, least=19))
        generator(self.rng)  # refuses what is neither a generator nor a seed
        check_bins(self.bins)
        if self.strategy == "isotonic" and self.simultaneous and self.resamples < fewest_refits(self.level):
            raise InputError(
                f"a simultaneous region at level {self.level:g} needs at least {fewest_refits(self.level)} resamples; "
                f"got {self.resamples}"
            )
        if self.strategy == "isotonic" and self.method is not None:
            raise InputError('strategy="isotonic" has no intervals, and so no method=; leave it out')


def _curve(summary: Ordered | KeptRows | Grid, options: ReliabilityOptions) -> Curve:
    if isinstance(summary, KeptRows):
        for name in (field.name for field in fields(options) if field.name != "rng"):
            value = getattr(options, name)
            if value != RELIABILITY_CURVE.defaults[name]:
                raise InputError(f"{name}= is for probabilities; got {shown(value)} with Quantiles. Leave it out")
        return _of_quantiles(summary)
    if options.strategy != "isotonic":
        return _binned(summary, bin_table(summary, bins=options.bins, strategy=options.strategy), options)
    if isinstance(summary, Grid):
        raise SummaryError(
            'a Grid has width bins, and no scores for strategy="isotonic"; pass the rows or their Ordered '
            "summary, or exact=True where data come in batches"
        )
    return _isotonic(summary, options)


def _of_quantiles(summary: KeptRows) -> Curve:
    rows = summary.rows
    outcomes = ranked_outcomes(rows.y)
    tables = []
    for values, level in zip(rows.prediction.values.T, rows.prediction.levels.tolist(), strict=True):
        forecasts = grouped_forecasts(values)
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


def _binned(summary: Ordered | Grid, table: BinTable, options: ReliabilityOptions) -> Curve:
    level, simultaneous = options.level, options.simultaneous
    chosen = share_method(options.method, equal=summary.has_equal_weights)
    low, high = clopper_pearson(table, level) if chosen == "clopper-pearson" else wilson(table, level)
    if isinstance(summary, Grid):
        scores, starts, of = summary.ordered(), summary.entry_starts(table.count.size), " of the means of cells"
    else:
        scores, starts, of = summary, summary.bin_starts(table.edges), ""
    band_low, band_high, found = binned_band(
        scores, starts, table, level, options.resamples, generator(options.rng), simultaneous=simultaneous
    )
    observed = table.mean_observed
    return Curve(
        kind="reliability",
        columns={
            "lower": table.lower,
            "upper": table.upper,
            "count": table.count,
            "weight": empty_as_nan(table.w, table.count),
            "mean_predicted": table.mean_predicted,
            "mean_observed": observed,
            "interval_low": low,
            "interval_high": high,
            "consistency_low": band_low,
            "consistency_high": band_high,
            "outside": (observed < band_low - ROUNDING) | (observed > band_high + ROUNDING),  # not for empty bins
        },
        method=f"{chosen} intervals; {'simultaneous ' if simultaneous else ''}consistency band {found}{of}",
        n=summary.n,
        details={"level": level},
    )


def _isotonic(summary: Ordered, options: ReliabilityOptions) -> Curve:
    w, e = summary.weight_by_score, summary.event_weight_by_score
    low, high, how = isotonic_band(
        summary, options.level, options.resamples, generator(options.rng), simultaneous=options.simultaneous
    )
    return Curve(
        kind="isotonic",
        columns={
            "p": summary.unique_scores,
            "fitted": isotonic_fit(e, w),
            "weight": w.astype(np.float64),
            "consistency_low": low,
            "consistency_high": high,
        },
        method=f"isotonic regression; {'simultaneous ' if options.simultaneous else ''}consistency region {how}",
        n=summary.n,
        details={"level": options.level},
    )


def _rounding(grid: Grid, options: ReliabilityOptions) -> dict[str, float]:
    """Return 0 for what is exact, and how far the band may be off; there is no bound for a band from redraws."""
    table = grid.bins(int(options.bins))
    bounds = dict.fromkeys(EXACT_ON_GRID, 0.0)
    if grid.has_equal_weights:
        each = level_of_bins(table, options.level, simultaneous=options.simultaneous)
        off = grid_rounding(grid, table, each)
        bounds |= {"consistency_low": off, "consistency_high": off}
    return bounds


RELIABILITY_CURVE = enter(
    Entry(
        reliability_curve,
        ReliabilityOptions,
        all_rows,
        _curve,
        reads=(Ordered, KeptRows, Grid),
        kind="curve",
        predictions=("binary", "quantiles"),
        on_grid=lambda options: on_grid(bins=options.bins, strategy=options.strategy),
        rounding=_rounding,
    )
)


def reliability_curves(models: Mapping[str, Binary], level: float) -> Curve:
    options = RELIABILITY_CURVE.parse({"bins": 10, "strategy": "mass", "level": level})
    curves: list[Curve] = [RELIABILITY_CURVE.of_rows(rows, options) for rows in models.values()]
    filled = [curve.columns["count"] > 0 for curve in curves]
    columns = {
        name: np.concatenate([curve.columns[name][kept] for curve, kept in zip(curves, filled, strict=True)])
        for name in LINE_COLUMNS
    }
    model = np.repeat(np.arange(len(curves)), [kept.sum() for kept in filled])
    details = {"names": tuple(models), "level": level}
    method = "10 bins of equal numbers of rows for each model"
    return Curve("reliability_curves", {"model": model, **columns}, method, curves[0].n, details)
