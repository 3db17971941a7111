"""Which way predictions are off: too high, too low, and where."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from calibrant.core.binned import bin_table, on_grid, summarise_bins
from calibrant.core.bins import BinTable
from calibrant.core.catalogue import Shown
from calibrant.core.decorators import metric
from calibrant.core.grid import Grid
from calibrant.core.kinds import Rows
from calibrant.core.ordered import Ordered
from calibrant.core.results import Direction
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins
from calibrant.inputs.probabilities import Binary


def _summarise(rows: Rows, *, bins: Any, strategy: str) -> Summary:
    check_bins(bins, strategy)
    return summarise_bins(cast(Binary, rows), bins=bins, strategy=strategy)


@metric(
    reads=(Grid, Ordered),
    summarise=_summarise,
    range=(-1.0, 1.0),
    mean=True,
    on_grid=lambda options: on_grid(**options),
    audit={
        "over": Shown("error from predictions that are too high", grows=True),
        "under": Shown("error from predictions that are too low", grows=True),
        "bias": Shown("mean of observed minus predicted"),
    },
)
def direction(summary: Summary, *, bins: int | str = 15, strategy: str = "width") -> Direction:
    r"""Split the l1 calibration error into predictions that are too high and too low.

    .. math:: \mathrm{over} = \sum_b f_b \max(\bar p_b - \bar y_b, 0), \quad
              \mathrm{under} = \sum_b f_b \max(\bar y_b - \bar p_b, 0), \quad
              \mathrm{bias} = \frac{1}{W}\sum_i w_i (y_i - p_i)

    over + under is `ece`, under - over is the bias.

    Parameters
    ----------
    y, prediction, bins, strategy, weights, classes, pos_label
        As in `ece`; one probability per row.

    Returns
    -------
    Direction
        `over`, `under`, `bias`, and the edges of the bin that adds most to each (`over_bin`, `under_bin`).

    Notes
    -----
    For a probability of an event this is over- and under-*forecasting*. Over-*confidence* is the same split of
    ``top_label(y, P)``: there `over` means that the model is right less often than it says. A `Grid` has up to 100
    bins of equal width exactly.

    Examples
    --------
    Below one half the forecasts (mean 0.25) are too high, above (mean 0.75) too low:

    >>> found = direction([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    >>> found.over, found.under, found.bias
    (0.125, 0.125, 0.0)
    >>> found.over_bin, found.under_bin
    ((0.0, 0.5), (0.5, 1.0))
    """
    check_bins(bins, strategy)
    table = bin_table(summary, bins=bins, strategy=strategy)
    part = table.share * table.gap
    over, under = np.maximum(-part, 0), np.maximum(part, 0)
    return Direction(
        over=float(over.sum()),
        under=float(under.sum()),
        bias=float((table.wy.sum() - table.wp.sum()) / table.w.sum()),
        over_bin=_largest(table, over),
        under_bin=_largest(table, under),
    )


def _largest(table: BinTable, part: FloatArray) -> tuple[float, float] | None:
    b = int(np.argmax(part))
    return (float(table.lower[b]), float(table.upper[b])) if part[b] > 0 else None
