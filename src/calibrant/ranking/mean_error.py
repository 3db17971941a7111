"""Are predictive distributions right on average? The mean of the errors, in predictive standard deviations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.core.evidence import ALL_ROWS, Error, Evidence, Family
from calibrant.core.mean_interval import MIN_DECIDING_ROWS, MIN_ROWS, freedom
from calibrant.core.moments import Moments
from calibrant.errors import NotApplicableError
from calibrant.inputs.rows import DistributionRows
from calibrant.ranking.spread import SMALLEST_VARIANCE

NAMES = ("z", "z squared", "other values")
TEST = "mean error in predictive sd, Student's t and the predicted variance"


def standardised_errors(rows: DistributionRows) -> Moments:
    """Return the moments of z = (m - y)/s and of z² over rows of real outcomes; infinite where a row has no s.

    The third is the probability of another outcome than that of the row: with rare events few rows could have had one,
    whether or not any was seen.
    """
    distribution = rows.distribution
    try:
        with np.errstate(all="ignore"):
            mean, variance = distribution.means(), distribution.variances()
            z = (mean - rows.y) / np.sqrt(variance)
        known = (variance > SMALLEST_VARIANCE) & (variance < math.inf) & (np.abs(z) < 1 / SMALLEST_VARIANCE**0.25)
        z = np.where(known, z, math.inf)
    except NotApplicableError:
        z = np.full(rows.n, math.inf)
    other = np.ones(rows.n)
    if distribution.is_discrete:
        below, at = distribution.cdf_bounds(rows.y)
        other -= at - below
    return Moments.of(dict(zip(NAMES, (z, z * z, other), strict=True)), np.ones(rows.n))


class MeanError(NamedTuple):
    """The mean of z, positive if predictions are too high, with limits."""

    estimate: float
    low: float
    high: float
    pvalue: float
    n: int

    def family(self, pvalue: float) -> Family:
        """Return the evidence on the mean, given its adjusted p-value; its size is not one of coverage."""
        limits, no_size = (self.estimate, self.low, self.high), Error(math.nan, math.nan, math.nan, math.nan)
        return Family(
            "means", (Evidence(ALL_ROWS, "shift", *limits, self.n, test=TEST, pvalue=pvalue, error=no_size),), 1
        )


def mean_error(errors: Moments, rate: float) -> MeanError:
    r"""Return the mean of the errors with limits of this error rate, and its p-value.

    .. math:: \bar z \pm \max(t\, s_z, z_{1 - \text{rate}/2}) / \sqrt n

    with the observed standard deviation s of the z and with 1, which they have if the predictions are calibrated. Of
    skewed errors one of the two is too small on one side and the other one on the other. Student's t has as few degrees
    of freedom as rows decide, if these are few.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    n, mean, square = errors.n, float(errors.mean[0]), float(errors.mean[1])
    deciding = n if square == 0 else n * square**2 / (square**2 + float(errors.spread2[1]) / n)
    degrees = float(freedom(n, deciding))
    observed = math.sqrt(float(errors.spread2[0]) / (n - 1) / n)
    predicted = 1 / math.sqrt(n)
    half = max(float(stdtrit(degrees, 1 - rate / 2)) * observed, -float(ndtri(rate / 2)) * predicted)
    of_t = 2 * float(stdtr(degrees, -abs(mean) / observed)) if observed > 0 else 0.0
    return MeanError(mean, mean - half, mean + half, max(of_t, 2 * float(ndtr(-abs(mean) / predicted))), n)


def check_rows(errors: Moments) -> None:
    """Refuse rows without a mean or spread, and too few of them to know how the mean of their errors varies."""
    n = errors.n
    if errors.infinite.any():
        raise NotApplicableError("a predictive distribution has no finite mean, or no variance above 0")
    if n < MIN_ROWS:
        raise NotApplicableError(f"it needs {MIN_ROWS} rows; got {n}")
    few = n * float(errors.mean[2])
    if few < MIN_DECIDING_ROWS:
        raise NotApplicableError(f"{few:.3g} rows may have another outcome; {MIN_DECIDING_ROWS} are needed")
