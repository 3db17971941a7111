"""Kuiper test of calibration."""

from __future__ import annotations

from typing import Any

from calibrant.catalogue import Shown, calibration_test, ordered
from calibrant.inference.cumulative import CumulativeTest
from calibrant.inference.tails import brownian_range_sf
from calibrant.results import TestResult
from calibrant.summaries import Grid, Ordered

_run = CumulativeTest(
    name="Kuiper test of cumulative differences",
    extent=lambda high, low: high - low,
    survival=brownian_range_sf,
    law="limit law of the range of a Brownian motion",
)


@calibration_test(
    reads=(Ordered, Grid),
    summarise=ordered,
    on_grid=lambda options: True,
    rounding=_run.rounding,
    audit={"": Shown("range of the cumulative differences (Kuiper)")},
)
def kuiper_test(summary: Ordered | Grid, *, null: str = "auto", resamples: int = 9999, rng: Any = 0) -> TestResult:
    r"""Test calibration by the range of the cumulative differences between outcomes and predictions.

    With C (which starts at :math:`C_0 = 0`) and σ of `cumulative_differences`,

    .. math:: \text{estimate} = \max_g C_g - \min_g C_g, \qquad H = \text{estimate} / \sigma,

    and if the predictions are calibrated H tends to the range :math:`\max B - \min B` of a Brownian motion.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    null, resamples, rng
        As in `kolmogorov_smirnov_test`.

    Returns
    -------
    TestResult
        `estimate` is the largest absolute mean of y - p over a stretch of scores, times the share of rows in that
        stretch.
        `details` has `scale` (σ) and `information`.

    Notes
    -----
    The range never lies below the Kolmogorov-Smirnov height nor above twice it. MAPIE 1.6.0 leaves out
    :math:`C_0`, and its Kuiper value can fall below its Kolmogorov-Smirnov value.

    A `Grid` tells the walk at the ends of its cells, and how far rows within a cell can lead it beyond: `details` has
    this bound on the estimate, `rounding`. Outcomes are then redrawn from the mean score of each cell.

    Examples
    --------
    Two predictions of 0.25 that did not happen, then two of 0.75 that did: C falls to -0.125 and rises back to 0.

    >>> kuiper_test([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]).estimate
    0.125
    """
    return _run(summary, null=null, resamples=resamples, rng=rng)
