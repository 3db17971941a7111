"""Cumulative differences between outcomes and predictions."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import curve, ordered
from calibrant.results import Curve
from calibrant.summaries import Grid, Ordered


def _rounding(grid: Grid) -> dict[str, float]:
    """Return how far the walk of the rows may be from the line between two neighbouring points of their grid's."""
    cells = grid.cells()
    return {"difference": float(np.maximum(cells.rise, cells.fall).max()) / grid.total_weight}


@curve(reads=(Ordered, Grid), summarise=ordered, on_grid=lambda options: True, rounding=_rounding)
def cumulative_differences(summary: Ordered | Grid) -> Curve:
    r"""Partial sums of outcome minus prediction, in the order of the predictions.

    With tied scores pooled into groups g = 1..G and r = y - p,

    .. math::

        \begin{aligned}
        C_0 &= 0, \quad C_g = \frac{1}{W} \sum_{i:\, \text{group} \le g} w_i r_i, \quad
        A_g = \frac{1}{W} \sum_{i:\, \text{group} \le g} w_i \\
        \sigma &= \frac{1}{W} \Bigl(\sum_i w_i^2 p_i (1 - p_i)\Bigr)^{1/2} .
        \end{aligned}

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.

    Returns
    -------
    Curve
        G + 1 points: `abscissa` A, `difference` C, `score` (NaN, then the different scores); and the number `scale`,
        σ, which is the standard deviation of the last point if the predictions are calibrated.

    Notes
    -----
    No bins: the slope over any stretch is the mean of y - p there, so a rising stretch means predictions that are too
    low. If the predictions are calibrated C/σ looks like a Brownian motion; `kuiper_test` and
    `kolmogorov_smirnov_test` judge its range and its largest height. C depends on ties only through their sums, never
    on the order of the rows.

    Of a `Grid` the points are the ends of its cells in use, where A and C are exact, and `score` has the means of the
    cells. In between, C of the rows is no further from the line than the events of one cell can raise it, or its other
    rows lower it.

    Examples
    --------
    >>> walk = cumulative_differences([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0])
    >>> walk.difference.tolist()
    [0.0, -0.0625, 0.1875, -0.0625]
    >>> walk.abscissa.tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    if isinstance(summary, Grid):
        cells, score = summary.cells(), summary.ordered().score
        w, residual = cells.w[cells.count > 0], (cells.wy - cells.wp)[cells.count > 0]
        variance, ends = float(cells.w2v.sum()), "cells"
    else:
        w, score, variance, ends = summary.weight_by_score, summary.unique_scores, summary.walk.variance, "tied scores"
        residual = summary.event_weight_by_score - w * score
    total = summary.total_weight
    return Curve(
        kind="cumulative",
        columns={
            "abscissa": np.concatenate(([0.0], np.cumsum(w) / total)),
            "difference": np.concatenate(([0.0], np.cumsum(residual) / total)),
            "score": np.concatenate(([np.nan], score)),
        },
        method=f"cumulative differences at ends of {ends}",
        n=summary.n,
        details={"scale": float(np.sqrt(variance)) / total},
    )
