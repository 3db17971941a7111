"""Sums of the Gaussian kernel over sorted points, to rounding error, in O(n) operations.

The line is cut into panels about as wide as the lengthscale. Inside a panel the kernel, seen from any other one, is a
polynomial up to rounding error, and a panel acts through its moments M_k = Σ e_j T_k(s_j) with the Chebyshev
polynomials T_k of the position s in [-1, 1], and K = Φ C Φᵀ with 16 entries in each row of Φ. Where every point sees
only few others, the pairs themselves are summed. A pair beyond `REACH` counts as 0: the error of a pair is below 1e-15
of k(x, x) = 1, which is rounding error in a quadratic form, and in a product wherever the points nearby have weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, widest_band
from calibrant.inputs.arrays import FloatArray

NODES = 16  # error of a pair: 1e-11 with 12, 4e-14 with 14, rounding with 16
REACH = 8.8  # lengthscales; exp(-REACH²/2) < 2e-17
POLYNOMIALS_AT_ONCE = 1 << 20  # values of polynomials


def gaussian_product(x: FloatArray, e: FloatArray, lengthscale: float) -> FloatArray:
    """Return Σ_j exp(-(x_i - x_j)²/(2 l²)) e_j for every i and each row of e, see `line_product`."""
    if _band_is_narrow(x, lengthscale):
        return _by_pairs(x, e, lengthscale)
    if x.ndim == 1:
        return _by_panels(x, e, lengthscale)
    return np.concatenate([_by_panels(line, e[k : k + 1], lengthscale) for k, line in enumerate(x)])


def _band_is_narrow(x: FloatArray, lengthscale: float) -> bool:
    """Tell whether every point sees so few others that going through the pairs is cheaper than panels."""
    offset = widest_band(x.size, x.size // max(1, x.shape[-1]))
    return x.shape[-1] <= offset or bool((_distance(x, offset, lengthscale) > REACH).all())


def _distance(x: FloatArray, offset: int, lengthscale: float) -> FloatArray:
    """Return (x_(i+offset) - x_i) / l."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray((x[..., offset:] - x[..., :-offset]) / lengthscale)


def _by_pairs(x: FloatArray, e: FloatArray, lengthscale: float) -> FloatArray:
    """Add up pairs of points 1, 2, .. apart in the order of the line, until all are out of reach."""
    result = e.copy()
    for offset in range(1, x.shape[-1]):
        u = _distance(x, offset, lengthscale)
        if (u > REACH).all():
            break
        with np.errstate(over="ignore", under="ignore"):
            k = np.exp(-0.5 * u * u)
        result[:, offset:] += e[:, :-offset] * k
        result[:, :-offset] += e[:, offset:] * k
    return result


def _by_panels(x: FloatArray, e: FloatArray, lengthscale: float) -> FloatArray:
    """Return K e = Φ C Φᵀ e: moments of the panels, what each panel sees of all, and that at the points."""
    line = Panels.of(x, lengthscale)
    P, number = line.number.size, line.number
    moments = np.zeros((len(e), P * NODES))
    for points, columns, basis in line.polynomials():
        moments[:, columns] += e[:, points] @ basis
    sent, seen = moments.reshape(len(e), P, NODES), np.zeros((len(e), P, NODES))
    for distance, matrix in enumerate(_interactions(line.width)):
        for step in (-distance, distance) if distance else (0,):
            source = np.searchsorted(number, number + step).clip(max=P - 1)
            hit = np.flatnonzero(number[source] == number + step)
            seen[:, hit] += sent[:, source[hit]] @ (matrix if step <= 0 else matrix.T)
    result = np.empty(e.shape)
    for points, columns, basis in line.polynomials():
        result[:, points] = seen.reshape(len(e), -1)[:, columns] @ basis.T
    return result


class Panels(NamedTuple):
    """Points in panels.

    The width of a panel is a power of 2: the place of a point in its panel has no rounding error however
    small the lengthscale is.
    """

    place: FloatArray  # of each point in its panel, from -1 to 1
    panel: NDArray[np.int64]  # of each point, numbered from 0 on without the empty ones
    number: NDArray[np.int64]  # of each panel along the line; stretches that nothing reaches across are shortened
    width: float  # in lengthscales, above 1/2 and up to 1

    @classmethod
    def of(cls, x: FloatArray, lengthscale: float) -> Panels:
        """Cut the line into panels."""
        mantissa, exponent = frexp(lengthscale)
        width = 0.5 / mantissa
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            place = x / ldexp(1.0, exponent - 1)
            floor = np.floor(place)
            gap = np.fmin(np.diff(floor), _reach(width) + 1)
            place = 2 * (place - floor) - 1
        if not np.isfinite(floor[[0, -1]]).all():  # points beyond 1e308 panels are equal or far apart
            gap[x[1:] == x[:-1]] = 0
            place[~np.isfinite(floor)] = 0
        panel = np.concatenate([[0], np.cumsum(gap > 0)])
        number = np.concatenate([[0], np.cumsum(gap[gap > 0].astype(np.int64))])
        return cls(place, panel, number, width)

    def polynomials(self) -> Iterator[tuple[slice, slice, Any]]:
        """Yield neighbouring points, the columns of their panels, and the sparse matrix of their polynomials."""
        from scipy.sparse import csr_array

        for points in chunks(self.place.size, POLYNOMIALS_AT_ONCE // NODES):
            s, panel = self.place[points], self.panel[points]
            T = np.empty((NODES, s.size))
            T[0], T[1] = 1.0, s
            for k in range(2, NODES):
                T[k] = 2 * s * T[k - 1] - T[k - 2]
            column = ((panel - panel[0]) * NODES)[:, np.newaxis] + np.arange(NODES)
            row_ends = np.arange(s.size + 1) * NODES
            first, last = int(panel[0]), int(panel[-1]) + 1
            basis = csr_array((T.T.ravel(), column.ravel(), row_ends), shape=(s.size, (last - first) * NODES))
            yield points, slice(first * NODES, last * NODES), basis


def _reach(width: float) -> int:
    """Return how many panels apart two points may be that see each other."""
    return ceil(REACH / width)


@lru_cache(maxsize=16)
def _interactions(width: float) -> FloatArray:
    """Return C_d with k = Σ_kl T_k(s) C_d[k, l] T_l(s') for s' in the panel d to the right of that of s.

    The coefficients fall to 1e-20 while the values they are fitted to are up to 1: hence the longer numbers.
    """
    long = np.longdouble
    angle = (np.arange(NODES, dtype=long) + long(0.5)) * np.arccos(long(-1)) / NODES
    node = np.cos(angle)
    fit = np.cos(np.arange(NODES)[:, np.newaxis] * angle) * 2 / NODES  # coefficients from values at the nodes
    fit[0] /= 2
    d = np.arange(_reach(width) + 1)[:, np.newaxis, np.newaxis]
    u = width * (d + (node - node[:, np.newaxis]) / 2)
    return np.asarray(fit @ np.exp(-u * u / 2) @ fit.T, dtype=np.float64)
