"""Standardised errors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.reading import read
from calibrant.errors import InputError
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.laws.parameters import refuse_where
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.law_moments import mean_of, variance_of

REMEDY = "Without spread there is no unit to measure the error in: drop or repair such rows"


def z_scores(y: Any, prediction: Any) -> FloatArray:
    r"""Error of the predictive mean in predictive standard deviations, row by row.

    .. math:: z_i = \frac{m_i - y_i}{s_i}

    Parameters
    ----------
    y
        Outcomes.
    prediction
        `Samples` or a law with a mean and a variance.

    Returns
    -------
    ndarray of shape (n,), or (n, D) for vectors, coordinate by coordinate
        Positive where the prediction is too high.

    Notes
    -----
    Of calibrated predictions the mean is 0, whatever their shape, and of a law that is known the variance is 1. Draws
    have a mean and a standard deviation (divisor M - 1) of their own, which adds to it: M Gaussian draws give

    .. math:: \operatorname{Var} z = \Bigl(1 + \frac1M\Bigr) \frac{M - 1}{M - 3}, \qquad M > 3,

    1.03 for M = 99 and 1.75 for M = 7; draws of heavy tails give more. A mean above 0 says that predictions are too
    high, a variance above this one that they are too narrow, and both errors may cancel between rows. Only Gaussian
    predictions have Gaussian scores, so that no test is made of them here: `ranks` and `uniformity_test` are exact for
    every law.

    Examples
    --------
    Draws 1 and 3 have the mean 2 and the standard deviation √2:

    >>> from calibrant import Normal, Samples
    >>> z_scores([2.0, 0.0], Samples([[1.0, 3.0], [1.0, 3.0]])).round(3)
    array([0.   , 1.414])
    >>> z_scores([1.0], Normal([0.0], 0.5))
    array([-2.])
    """
    rows = cast(LawRows, read("z_scores", ("samples", "laws"), y, prediction))
    law = rows.law
    if isinstance(law, Samples) and law.M < 2:
        raise InputError("z_scores needs at least 2 draws per row, which have a standard deviation; got 1")
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of numbers is refused below
        mean, variance = mean_of(law), variance_of(law)
    bad = ~((variance > 0) & (variance < np.inf)) | _is_constant(law, mean, variance)
    axes = ("row", "coordinate")[: variance.ndim]
    expected = "the predictive variance must be a finite number above 0"
    refuse_where(bad, np.where(bad & (variance < np.inf), 0.0, variance), expected, REMEDY, axes=axes)
    return np.asarray((mean - rows.y) / np.sqrt(variance))


def _is_constant(law: Law, mean: FloatArray, variance: FloatArray) -> NDArray[np.bool_]:
    """Tell which rows have draws that are all alike; rounding of their mean gives them a tiny variance."""
    constant = np.zeros(variance.shape, dtype=bool)
    if isinstance(law, Samples):
        tiny = variance <= (law.M * np.finfo(np.float64).eps * np.abs(mean)) ** 2
        rows = np.flatnonzero(tiny.reshape(law.n, -1).any(axis=1))
        constant[rows] = np.ptp(law.held[rows], axis=1) == 0
    return constant
