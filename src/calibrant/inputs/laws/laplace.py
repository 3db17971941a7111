"""The Laplace law."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from calibrant.inputs.laws.law import Law, Selection, beside, rows_of
from calibrant.inputs.laws.parameters import read_columns, refuse_not_positive
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.weights import FloatArray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Laplace(Law):
    """A Laplace (double exponential) distribution per row, with density exp(-abs(x - loc) / scale) / (2 scale).

    Parameters
    ----------
    loc, scale : array_like of shape (n,), or a number for all rows
        Median and scale; `scale` is positive. The standard deviation is sqrt(2) times the scale.

    Examples
    --------
    >>> law = Laplace([0.0, 1.0], 1.0)
    >>> law.cdf([0.0, 1.0 - np.log(2)])
    array([0.5 , 0.25])
    >>> law.sf(1.0 + np.log(2)).round(3)
    array([0.092, 0.25 ])
    >>> Laplace(0.0, 0.5).log_density(3.0)
    array([-6.])
    """

    loc: FloatArray  # (n,)
    scale: FloatArray  # (n,)

    def __init__(self, loc: Any, scale: Any) -> None:
        locs, scales = read_columns(loc=loc, scale=scale)
        refuse_not_positive(scales, "scale")
        self._hold(loc=locs, scale=scales)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.loc)

    def take(self, rows: Selection) -> Laplace:
        """Return the law of these rows alone."""
        return self._made(loc=rows_of(self.loc, rows), scale=rows_of(self.scale, rows))

    def cdf(self, x: Any) -> FloatArray:
        """Return P(Y <= x)."""
        return _below(self._standardised(x))

    def sf(self, x: Any) -> FloatArray:
        """Return P(Y > x), accurate where it is small."""
        return _below(-self._standardised(x))

    def ppf(self, q: Any) -> FloatArray:
        """Return the x with P(Y <= x) = q."""
        z = _quantile(self._levels(q))
        return beside(self.loc, z) + beside(self.scale, z) * z

    def isf(self, q: Any) -> FloatArray:
        """Return the x with P(Y > x) = q, accurate where q is small."""
        z = _quantile(self._levels(q))
        return beside(self.loc, z) - beside(self.scale, z) * z

    def log_density(self, x: Any) -> FloatArray:
        """Return the natural logarithm of the density at x."""
        z = self._standardised(x)
        return -np.abs(z) - beside(np.log(self.scale), z) - log(2)

    def sample(self, size: int, rng: Any) -> FloatArray:
        """Return `size` independent draws of every row, of shape (n, size)."""
        draws = generator(rng).laplace(size=(self.n, check_count("size", size)))
        draws *= self.scale[:, None]
        draws += self.loc[:, None]
        return draws

    def _standardised(self, x: Any) -> FloatArray:
        points = self._points(x)
        with np.errstate(over="ignore"):  # beyond float64 is as far away as infinity
            z: FloatArray = (points - beside(self.loc, points)) / beside(self.scale, points)
        return z


def _below(z: FloatArray) -> FloatArray:
    tail: FloatArray = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


def _quantile(q: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # log(0) = -inf at q = 0 and q = 1
        tail: FloatArray = np.log(2 * np.minimum(q, 1 - q))  # 1 - q is exact where it is the smaller one
    return np.where(q < 0.5, tail, -tail)
