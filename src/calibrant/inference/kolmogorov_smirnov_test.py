"""Kolmogorov-Smirnov test of calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import Shown, calibration_test, ordered
from calibrant.inference.cumulative import CumulativeTest
from calibrant.inference.tails import brownian_max_sf
from calibrant.results import TestResult
from calibrant.summaries import Grid, Ordered

_run = CumulativeTest(
    name="Kolmogorov-Smirnov test of cumulative differences",
    extent=lambda high, low: np.maximum(high, np.abs(low)),
    survival=brownian_max_sf,
    law="limit law of the largest height of a Brownian motion",
)


@calibration_test(
    reads=(Ordered, Grid),
    summarise=ordered,
    on_grid=lambda options: True,
    rounding=_run.rounding,
    audit={"": Shown("largest cumulative difference (Kolmogorov-Smirnov)")},
)
def kolmogorov_smirnov_test(
    summary: Ordered | Grid, *, null: str = "auto", resamples: int = 9999, rng: Any = 0
) -> TestResult:
    r"""Test calibration by the largest cumulative difference between outcomes and predictions.

    With C and σ of `cumulative_differences`,

    .. math:: \text{estimate} = \max_g |C_g|, \qquad D = \text{estimate} / \sigma,

    and if the predictions are calibrated D tends to the largest height :math:`\max |B|` of a Brownian motion.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    null
        ``"asymptotic"`` (the limit law), ``"monte-carlo"`` (outcomes redrawn from the scores: holds its level at any n,
        with ties and weights), or ``"auto"``: the limit law if Σw²p(1-p)/max w² is at least 25, else Monte Carlo.
    resamples, rng
        Redraws of the Monte Carlo null.

    Returns
    -------
    TestResult
        `estimate` is the absolute mean of y - p over the rows with the lowest scores up to the worst place, times
        their share of all rows. `details` has `scale` (σ) and `information`.

    Notes
    -----
    No bins and no smoothing. It measures from the lowest score upwards; `kuiper_test` finds the worst stretch wherever
    it begins, and loses less where the sign of the error changes. In small samples the limit law errs on the safe side.

    A `Grid` tells the walk at the ends of its cells, and how far rows within a cell can lead it beyond: `details` has
    this bound on the estimate, `rounding`. Outcomes are then redrawn from the mean score of each cell.

    Examples
    --------
    All four predictions are too high, so C falls from 0 to -0.75; σ = √0.7/4:

    >>> result = kolmogorov_smirnov_test([0, 0, 0, 0], [0.6, 0.7, 0.8, 0.9])
    >>> round(result.estimate, 12), round(result.statistic, 6)
    (0.75, 3.585686)
    """
    return _run(summary, null=null, resamples=resamples, rng=rng)
