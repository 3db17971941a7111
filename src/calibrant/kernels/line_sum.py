"""Exact sums of one-dimensional kernels over sorted points, in O(n) operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import ceil, frexp, ldexp, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_threads, widest_band
from calibrant.inputs.arrays import FloatArray

Shape = Literal["exponential", "matern32", "matern52", "gaussian"]

PIECE_NUMBERS = 1 << 17  # summed together: they stay in the cache
MIN_PIECE_COLUMNS = 1 << 12  # the points are then worth their decays
NUMBERS_OF_A_THREAD = 1 << 20

FAR = 1000.0  # exp(-FAR) is 0, and so is FAR times that
RATES = {"exponential": 1.0, "matern32": sqrt(3), "matern52": sqrt(5)}
WEIGHTS = (1.0, 1.0, 1 / 3)  # of the moments in the kernel: 1, 1 + t or 1 + t + t²/3 times exp(-t)


def line_sum(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> float | FloatArray:
    """Return Q = Σ_ij e_i e_j k(x_i, x_j), the diagonal included: a float for one line, else a number per row of e.

    x holds points in ascending order along the last axis: (n,), or (b, m) for b lines that have nothing to do with each
    other; e the factors: (n,), (B, n) for B replicates over the same points, or (b, m). With u = |x_i - x_j| /
    lengthscale the shapes are e^-u, (1 + √3u) e^(-√3u), (1 + √5u + 5u²/3) e^(-√5u) and e^(-u²/2).

    >>> import numpy as np
    >>> line_sum(np.array([0.0, 1.0]), np.array([1.0, 2.0]), "exponential", 0.5)  # 1 + 4 + 2·2·e^-2
    5.54134...
    """
    x, rows = _read(x, e)
    total = np.zeros(len(rows))

    def work(part: slice, points: FloatArray, own: FloatArray) -> None:
        if shape == "gaussian":
            total[part] = (own * gaussian_product(points, own, lengthscale)).sum(axis=-1)
        else:
            left = from_left(points, own, LineKernel.of(shape, lengthscale))
            total[part] = (own * (2 * left - own)).sum(axis=-1)

    _for_each(work, x, rows)
    return float(total[0]) if e.ndim == 1 else total


def line_product(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> FloatArray:
    """Return K e, the sums Σ_j k(x_i, x_j) e_j for every i, in the shape of e; see `line_sum`.

    >>> import numpy as np
    >>> line_product(np.array([0.0, 1.0]), np.array([1.0, 2.0]), "exponential", 0.5).round(4)
    array([1.2707, 2.1353])
    """
    x, rows = _read(x, e)
    product = np.empty(rows.shape)

    def work(part: slice, points: FloatArray, own: FloatArray) -> None:
        if shape == "gaussian":
            product[part] = gaussian_product(points, own, lengthscale)
        else:
            scale = LineKernel.of(shape, lengthscale)
            right = from_left(-points[..., ::-1], own[:, ::-1], scale)[:, ::-1]
            product[part] = from_left(points, own, scale) + right - own

    _for_each(work, x, rows)
    return product.reshape(e.shape)


def _read(x: NDArray[Any], e: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    return x.astype(np.float64, copy=False), e[np.newaxis] if e.ndim == 1 else e


def _for_each(work: Callable[[slice, FloatArray, FloatArray], None], x: FloatArray, e: NDArray[Any]) -> None:
    if not e.size:
        return

    def of_rows(part: slice) -> None:
        work(part, x if x.ndim == 1 else x[part], e[part].astype(np.float64, copy=False))

    list(on_threads(of_rows, len(e), size=max(1, NUMBERS_OF_A_THREAD // e.shape[1])))


class Step(NamedTuple):
    """A way along the line: t = rate · distance / lengthscale, and the decay g = exp(-t)."""

    t: FloatArray
    g: FloatArray


class LineKernel(NamedTuple):
    """A kernel: the moments it needs (order 0, 1 or 2), and how it measures distances."""

    order: int
    rate: float
    lengthscale: float

    @classmethod
    def of(cls, shape: Shape, lengthscale: float) -> LineKernel:
        return cls(tuple(RATES).index(shape), RATES[shape], lengthscale)

    def step(self, begin: FloatArray, end: FloatArray) -> Step:
        with np.errstate(over="ignore", under="ignore"):
            t = end - begin
            t /= self.lengthscale
            t *= self.rate
            np.minimum(t, FAR, out=t)
            return Step(t, np.exp(-t))


def from_left(x: FloatArray, e: FloatArray, scale: LineKernel) -> FloatArray:
    """Return Σ_j k_ij e_j over j <= i for every i: piece by piece, each with the moments of all rows before it."""
    result, before = np.empty(e.shape), np.zeros((scale.order + 1, len(e), 1))
    for columns in chunks(e.shape[1], max(PIECE_NUMBERS // len(e), MIN_PIECE_COLUMNS)):
        points = x[..., columns]
        moments = np.zeros((scale.order + 1, len(e), points.shape[-1]))
        moments[0] = e[:, columns]
        moments = running_moments(points, moments, scale)
        if columns.start:
            last = x[..., columns.start - 1 : columns.start]
            moments += shifted(before, scale.step(last, points))
        before = moments[..., -1:]
        result[:, columns] = sum(weight * moment for weight, moment in zip(WEIGHTS, moments, strict=False))
    return result


def running_moments(x: FloatArray, moments: FloatArray, scale: LineKernel) -> FloatArray:
    """Return the moments Σ e g, Σ e t g and Σ e t² g of all rows up to each one, about its point.

    t is the scaled distance of a row to that point and g = exp(-t); as many moments as the order of the kernel needs
    stand along the first axis. Rows are joined two by two, and what is known of the pairs is handed back to the rows:
    every moment takes O(log n) steps, each with the distance of two points, so rounding errors do not add up along the
    line.
    """
    if x.shape[-1] == 1:
        return moments
    pairs = moments[..., 1::2] + shifted(moments[..., :-1:2], scale.step(x[..., :-1:2], x[..., 1::2]))
    result = np.empty_like(moments)
    result[..., 1::2] = pairs = running_moments(x[..., 1::2], pairs, scale)
    result[..., 0] = moments[..., 0]
    result[..., 2::2] = moments[..., 2::2]
    later = x[..., 2::2]
    result[..., 2::2] += shifted(pairs[..., : later.shape[-1]], scale.step(x[..., 1:-1:2], later))
    return result


def shifted(moments: FloatArray, step: Step) -> FloatArray:
    """Return the moments about a point that lies one step further away from the rows."""
    t, g = step
    moved: FloatArray = moments * g
    if len(moved) > 1:
        rise = t * moved[0]
        if len(moved) > 2:
            moved[2] += t * (2 * moved[1] + rise)
        moved[1] += rise
    return moved


NODES = 16  # error of a pair: 1e-11 with 12, 4e-14 with 14, rounding with 16
REACH = 8.8  # lengthscales; exp(-REACH²/2) < 2e-17
POLYNOMIALS_AT_ONCE = 1 << 20  # values of polynomials


def gaussian_product(x: FloatArray, e: FloatArray, lengthscale: float) -> FloatArray:
    """Return Σ_j exp(-(x_i - x_j)²/(2 l²)) e_j for every i and each row of e, to rounding error; see `line_product`.

    The line is cut into panels about as wide as the lengthscale. Inside a panel the kernel, seen from any other one, is
    a polynomial up to rounding error, and a panel acts through its moments M_k = Σ e_j T_k(s_j) with the Chebyshev
    polynomials T_k of the position s in [-1, 1], and K = Φ C Φᵀ with 16 entries in each row of Φ. Where every point
    sees only few others, the pairs themselves are summed. A pair beyond `REACH` counts as 0: the error of a pair is
    below 1e-15 of k(x, x) = 1, which is rounding error in a quadratic form, and in a product wherever the points nearby
    have weight.
    """
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
