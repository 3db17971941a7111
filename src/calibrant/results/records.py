"""Frozen records of named numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decomposition:
    """A mean score split into its parts: score = mcb - dsc + unc + within.

    Attributes
    ----------
    score
        The mean score of the predictions.
    mcb
        Miscalibration (reliability): what recalibration would take off the score. Biased up in samples.
    dsc
        Discrimination (resolution): what the predictions gain over always predicting the base rate.
    unc
        Uncertainty: the score of always predicting the base rate.
    within
        What bins lose by pooling unequal scores; 0 for the isotonic method.
    """

    score: float
    mcb: float
    dsc: float
    unc: float
    within: float = 0.0


@dataclass(frozen=True)
class Direction:
    """Which way the predictions are off.

    Attributes
    ----------
    over
        Part of the l1 error from bins whose predictions are too high.
    under
        Part of the l1 error from bins whose predictions are too low; over + under is the l1 error.
    bias
        Mean of observed minus predicted, over all rows.
    over_bin
        Edges of the bin that adds most to `over`, None if none does.
    under_bin
        Edges of the bin that adds most to `under`, None if none does.
    """

    over: float
    under: float
    bias: float
    over_bin: tuple[float, float] | None
    under_bin: tuple[float, float] | None
