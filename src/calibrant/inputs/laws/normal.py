"""The normal law."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np

from calibrant.inputs.laws.law import Law, Selection, beside, rows_of
from calibrant.inputs.laws.parameters import read_columns, refuse_not_positive
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.weights import FloatArray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normal(Law):
    """A normal distribution per row.

    Parameters
    ----------
    mean, std : array_like of shape (n,), or a number for all rows
        Mean and standard deviation; `std` is positive and not a variance.

    Examples
    --------
    >>> law = Normal([0.0, 10.0], 2.0)
    >>> law
    Normal(2 rows)
    >>> law.cdf([0.0, 10.0])
    array([0.5, 0.5])
    >>> law.ppf(0.5)
    array([ 0., 10.])
    >>> law.isf([[0.5, 0.025], [0.5, 0.025]]).round(2)
    array([[ 0.  ,  3.92],
           [10.  , 13.92]])
    """

    mean: FloatArray  # (n,)
    std: FloatArray  # (n,)

    def __init__(self, mean: Any, std: Any) -> None:
        means, stds = read_columns(mean=mean, std=std)
        refuse_not_positive(stds, "std")
        self._hold(mean=means, std=stds)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.mean)

    def take(self, rows: Selection) -> Normal:
        """Return the law of these rows alone."""
        return self._made(mean=rows_of(self.mean, rows), std=rows_of(self.std, rows))

    def cdf(self, x: Any) -> FloatArray:
        """Return P(Y <= x)."""
        return _phi(self._standardised(x))

    def sf(self, x: Any) -> FloatArray:
        """Return P(Y > x), accurate where it is small."""
        return _phi(-self._standardised(x))

    def ppf(self, q: Any) -> FloatArray:
        """Return the x with P(Y <= x) = q."""
        z = _quantile(self._levels(q))
        return beside(self.mean, z) + beside(self.std, z) * z

    def isf(self, q: Any) -> FloatArray:
        """Return the x with P(Y > x) = q, accurate where q is small."""
        z = _quantile(self._levels(q))
        return beside(self.mean, z) - beside(self.std, z) * z

    def log_density(self, x: Any) -> FloatArray:
        """Return the natural logarithm of the density at x."""
        z = self._standardised(x)
        with np.errstate(over="ignore"):
            square = z * z
        return -0.5 * square - beside(np.log(self.std), z) - 0.5 * log(2 * pi)

    def sample(self, size: int, rng: Any) -> FloatArray:
        """Return `size` independent draws of every row, of shape (n, size)."""
        draws = generator(rng).standard_normal((self.n, check_count("size", size)))
        draws *= self.std[:, None]
        draws += self.mean[:, None]
        return draws

    def _standardised(self, x: Any) -> FloatArray:
        points = self._points(x)
        with np.errstate(over="ignore"):  # beyond float64 is as far away as infinity
            z: FloatArray = (points - beside(self.mean, points)) / beside(self.std, points)
        return z


def _phi(z: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def _quantile(q: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri(q))
