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
NUMBERS_AT_ONCE = 1 << 20  # held at once
MIN_GROUP_PANELS = 1 << 10  # of a group: its neighbours are few beside it


def gaussian_sum(x: FloatArray, e: NDArray[Any], lengthscale: float) -> FloatArray:
    """Return Σ_ij e_i e_j exp(-(x_i - x_j)²/(2 l²)) for each row of e, see `line_sum`."""
    total = np.zeros(e.shape[0])
    if _band_is_narrow(x, lengthscale):
        for rows, own, pairs in _bands(x, e, lengthscale):
            total[rows] += (own * own).sum(axis=-1)
            for offset, k in pairs:
                total[rows] += 2 * (own[:, offset:] * own[:, :-offset] * k).sum(axis=-1)
        return total
    for line, rows, group in _panels(x, e.shape[0], lengthscale):
        moments, seen = line.potentials(e[rows], group, both_sides=False)
        total[rows] += (moments * seen).sum(axis=(1, 2))
    return total


def gaussian_product(x: FloatArray, e: NDArray[Any], lengthscale: float) -> FloatArray:
    """Return K e for each row of e, see `line_product`."""
    result = np.empty(e.shape)
    if _band_is_narrow(x, lengthscale):
        for rows, own, pairs in _bands(x, e, lengthscale):
            result[rows] = own
            for offset, k in pairs:
                result[rows, offset:] += own[:, :-offset] * k
                result[rows, :-offset] += own[:, offset:] * k
        return result
    for line, rows, group in _panels(x, e.shape[0], lengthscale):
        _, seen = line.potentials(e[rows], group, both_sides=True)
        for points, basis in line.basis(group, seen.shape[0]):
            result[rows, points] = seen.reshape(seen.shape[0], -1) @ basis.T
    return result


def _band_is_narrow(x: FloatArray, lengthscale: float) -> bool:
    """Tell whether every point sees so few others that going through the pairs is cheaper than panels."""
    offset = widest_band(x.size, x.size // max(1, x.shape[-1]))
    return x.shape[-1] <= offset or bool((_distance(x, offset, lengthscale) > REACH).all())


def _distance(x: FloatArray, offset: int, lengthscale: float) -> FloatArray:
    """Return (x_(i+offset) - x_i) / l."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray((x[..., offset:] - x[..., :-offset]) / lengthscale)


def _bands(
    x: FloatArray, e: NDArray[Any], lengthscale: float
) -> Iterator[tuple[slice, FloatArray, Iterator[tuple[int, FloatArray]]]]:
    """Yield some rows, their e, and the kernel values of points 1, 2, .. apart in the order of the line."""

    def pairs(points: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        for offset in range(1, points.shape[-1]):
            u = _distance(points, offset, lengthscale)
            if (u > REACH).all():
                return
            with np.errstate(over="ignore", under="ignore"):
                yield offset, np.exp(-0.5 * u * u)

    for rows in chunks(e.shape[0], max(1, NUMBERS_AT_ONCE // max(1, x.shape[-1]))):
        yield rows, e[rows].astype(np.float64, copy=False), pairs(x[rows] if x.ndim > 1 else x)


def _panels(x: FloatArray, rows: int, lengthscale: float) -> Iterator[tuple[Line, slice, slice]]:
    """Yield each line with some rows of e on it and some of its panels, as many as fit into memory together."""
    for number, points in enumerate(np.atleast_2d(x)):
        line = Line.of(points, lengthscale)
        first, many = (0, rows) if x.ndim == 1 else (number, 1)
        size = max(MIN_GROUP_PANELS, NUMBERS_AT_ONCE // (NODES * many))
        for part in chunks(many, max(1, NUMBERS_AT_ONCE // (NODES * min(size, line.number.size)))):
            for group in chunks(line.number.size, size):
                yield line, slice(first + part.start, first + part.stop), group


class Line(NamedTuple):
    """Points in panels.

    The width of a panel is a power of 2: the place of a point in its panel has no rounding error however
    small the lengthscale is.
    """

    place: FloatArray  # of each point in its panel, from -1 to 1
    panel: NDArray[np.int64]  # of each point, numbered from 0 on without the empty ones
    start: NDArray[np.intp]  # first point of each panel, and the number of points
    number: NDArray[np.int64]  # of each panel along the line; stretches that nothing reaches across are shortened
    width: float  # in lengthscales, above 1/2 and up to 1

    @classmethod
    def of(cls, x: FloatArray, lengthscale: float) -> Line:
        """Cut the line into panels."""
        mantissa, exponent = frexp(lengthscale)
        width = 0.5 / mantissa
        far = _reach(width) + 1
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            place = x / ldexp(1.0, exponent - 1)
            floor = np.floor(place)
            gap = np.fmin(np.diff(floor), far)
            place -= floor
            place *= 2
            place -= 1
        if not np.isfinite(floor[[0, -1]]).all():  # points beyond 1e308 panels are equal or far apart
            gap[x[1:] == x[:-1]] = 0
            place[~np.isfinite(floor)] = 0
        new = np.flatnonzero(gap)
        panel = np.zeros(x.size, dtype=np.int64)
        np.cumsum(gap > 0, out=panel[1:])
        start = np.concatenate([[0], new + 1, [x.size]])
        number = np.concatenate([[0], np.cumsum(gap[new].astype(np.int64))])
        return cls(place, panel, start, number, width)

    def basis(self, group: slice, rows: int) -> Iterator[tuple[slice, Any]]:
        """Yield neighbouring points and the sparse matrix (points, panels · NODES) of their polynomials."""
        from scipy.sparse import csr_array

        first, last = int(self.start[group.start]), int(self.start[group.stop])
        for part in chunks(last - first, max(1024, min(NUMBERS_AT_ONCE // NODES, NUMBERS_AT_ONCE // rows))):
            points = slice(first + part.start, first + part.stop)
            s = self.place[points]
            T = np.empty((NODES, s.size))
            T[0], T[1] = 1.0, s
            for k in range(2, NODES):
                np.multiply(2 * s, T[k - 1], out=T[k])
                T[k] -= T[k - 2]
            begin = ((self.panel[points] - group.start) * NODES).astype(np.int32)
            column = begin[:, np.newaxis] + np.arange(NODES, dtype=np.int32)
            row_ends = np.arange(s.size + 1, dtype=np.int32) * NODES
            shape = (s.size, (group.stop - group.start) * NODES)
            yield points, csr_array((T.T.ravel(), column.ravel(), row_ends), shape=shape)

    def moments(self, e: NDArray[Any], group: slice) -> FloatArray:
        """Return an array (rows of e, panels, NODES)."""
        total = np.zeros((e.shape[0], (group.stop - group.start) * NODES))
        for points, basis in self.basis(group, e.shape[0]):
            total += e[:, points].astype(np.float64, copy=False) @ basis
        return total.reshape(e.shape[0], -1, NODES)

    def potentials(self, e: NDArray[Any], group: slice, *, both_sides: bool) -> tuple[FloatArray, FloatArray]:
        """Return the moments of these panels, and what they see of all panels as coefficients of the polynomials.

        One side is enough for a quadratic form: the panels to the left count twice.
        """
        reach = _reach(self.width)
        begin = max(0, group.start - reach)
        end = min(self.number.size, group.stop + reach) if both_sides else group.stop
        moments = self.moments(e, slice(begin, end))
        number = self.number[begin:end]
        own = slice(group.start - begin, group.stop - begin)
        seen = np.zeros((e.shape[0], group.stop - group.start, NODES))
        for distance, matrix in enumerate(_interactions(self.width)):
            for sign in (-1, 1) if both_sides and distance else (-1,):
                source = np.searchsorted(number, number[own] + sign * distance).clip(max=number.size - 1)
                hit = np.flatnonzero(number[source] == number[own] + sign * distance)
                factor = 1 if both_sides or not distance else 2
                seen[:, hit] += moments[:, source[hit]] @ (factor * (matrix if sign < 0 else matrix.T))
        return moments[:, own], seen


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
