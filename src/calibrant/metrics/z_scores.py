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
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.law_moments import mean_of, variance_of

BLOCK = 1 << 20  # draws that are looked at together
SMALLEST = 1e-290  # variance whose squares have lost nothing to the end of float64
EXPECTED = "the predictive variance must be a finite number above 0"
REMEDY = "Without spread there is no unit to measure the error in: drop or repair such rows"


def z_scores(y: Any, prediction: Any) -> FloatArray:
    r"""Error of the predictive mean in predictive standard deviations, row by row.

    .. math:: z_i = \frac{m_i - y_i}{s_i}

    Parameters
    ----------
    y
        Outcomes.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), or a law with a mean and a variance.

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
    z = _of_draws(rows.y, law) if isinstance(law, Samples) else _of_law(rows.y, law)
    axes = ("row", "coordinate")[: z.ndim]
    refuse_where(~np.isfinite(z), z, "the scores must be finite", "Outcome and prediction are too far apart", axes=axes)
    return z


def _of_law(y: FloatArray, law: Law) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of numbers is refused
        mean, variance = mean_of(law), variance_of(law)
        bad = ~((variance > SMALLEST) & (variance < np.inf))
        _refuse_no_spread(bad, variance)
        return np.asarray((mean - y) / np.sqrt(variance))


def _of_draws(y: FloatArray, law: Samples) -> FloatArray:
    """Return the scores; each row is moved to 0 and divided by a power of two, so that no square leaves float64."""
    if not law.finite:
        _ = law.draws  # which names the infinite one
    z, width = np.empty(y.shape), np.empty(y.shape)
    for part in chunks(law.n, max(1, BLOCK // law.held[0].size)):
        x = law.held[part].astype(np.float64)
        power = np.frexp(np.abs(x).max(axis=1))[1]
        x = np.ldexp(x, -power[:, None])  # in [-1, 1]
        low = x.min(axis=1)
        x -= low[:, None]
        width[part] = x.max(axis=1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is no number is refused
            x /= width[part, None]
            at = (np.ldexp(y[part], -power) - low) / width[part]
            z[part] = (x.mean(axis=1) - at) / x.std(axis=1, ddof=1)
    _refuse_no_spread(width == 0, width)
    return z


def _refuse_no_spread(bad: NDArray[np.bool_], variance: FloatArray) -> None:
    refuse_where(bad, variance, EXPECTED, REMEDY, axes=("row", "coordinate")[: bad.ndim])
