"""Frozen records of named numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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


@dataclass(frozen=True, eq=False)
class QuantileDecomposition:
    """Mean quantile scores split into their parts, level by level: score = mcb - dsc + unc.

    Attributes
    ----------
    level
        The levels; it and the next four are numbers if the prediction has one level given as a number.
    score
        The mean quantile score of the predictions.
    mcb
        Miscalibration: what isotonic recalibration would take off the score. Biased up in samples.
    dsc
        Discrimination: what the recalibrated predictions gain over one quantile for all rows.
    unc
        Uncertainty: the score of that one quantile.
    wis
        The same four for all levels together, twice their means: parts of the weighted interval score.
    """

    level: float | NDArray[np.float64]
    score: float | NDArray[np.float64]
    mcb: float | NDArray[np.float64]
    dsc: float | NDArray[np.float64]
    unc: float | NDArray[np.float64]
    wis: Decomposition


@dataclass(frozen=True)
class CrpsDecomposition:
    """A mean CRPS split into its parts: score = mcb - dsc + unc + discretisation.

    Attributes
    ----------
    score
        The mean CRPS of the predictions.
    mcb
        Miscalibration; also called `reliability`, its name in Hersbach (2000).
    dsc
        Discrimination, or `resolution`.
    unc
        Uncertainty: the CRPS of the law of the outcomes, the same for all rows.
    discretisation
        What reading a law at finitely many levels leaves over; 0 for draws.
    """

    score: float
    mcb: float
    dsc: float
    unc: float
    discretisation: float = 0.0

    @property
    def reliability(self) -> float:
        """Another name of `mcb`."""
        return self.mcb

    @property
    def resolution(self) -> float:
        """Another name of `dsc`."""
        return self.dsc

    @property
    def uncertainty(self) -> float:
        """Another name of `unc`."""
        return self.unc

    @property
    def potential(self) -> float:
        """The score that calibrated predictions of the same discrimination would have, unc - dsc."""
        return self.unc - self.dsc


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
