"""Exact sums of one-dimensional kernels over sorted points, in O(n) operations."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_threads
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.gaussian_line import gaussian_product

Shape = Literal["exponential", "matern32", "matern52", "gaussian"]

PIECE_NUMBERS = 1 << 17  # summed together: they stay in the cache
MIN_PIECE_COLUMNS = 1 << 12  # the points are then worth their decays
NUMBERS_OF_A_THREAD = 1 << 20

FAR = 1000.0  # exp(-FAR) is 0, and so is FAR times that
RATES = {"exponential": 1.0, "matern32": sqrt(3), "matern52": sqrt(5)}
WEIGHTS = (1.0, 1.0, 1 / 3)  # of the moments in the kernel: 1, 1 + t or 1 + t + t²/3 times exp(-t)


def line_sum(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> float | FloatArray:
    """Return Q = Σ_ij e_i e_j k(x_i, x_j), the diagonal included.

    Parameters
    ----------
    x
        Points in ascending order along the last axis: (n,), or (b, m) for b lines that have nothing to do with
        each other.
    e
        Factors: (n,), (B, n) for B replicates over the same points, or (b, m).
    shape
        Profile of the kernel in u = |x_i - x_j| / lengthscale: e^-u, (1 + √3u) e^(-√3u),
        (1 + √5u + 5u²/3) e^(-√5u), or e^(-u²/2).
    lengthscale
        A length in units of x, above 0.

    Returns
    -------
    float or array
        A float for one line, else one number per row of e.

    Examples
    --------
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
            left = from_left(points, own, Scale.of(shape, lengthscale))
            total[part] = (own * (2 * left - own)).sum(axis=-1)

    _for_each(work, x, rows)
    return float(total[0]) if e.ndim == 1 else total


def line_product(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> FloatArray:
    """Return K e, the sums Σ_j k(x_i, x_j) e_j for every i, in the shape of e.

    The arguments are those of `line_sum`.

    Examples
    --------
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
            scale = Scale.of(shape, lengthscale)
            right = from_left(-points[..., ::-1], own[:, ::-1], scale)[:, ::-1]
            product[part] = from_left(points, own, scale) + right - own

    _for_each(work, x, rows)
    return product.reshape(e.shape)


def _read(x: NDArray[Any], e: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    return x.astype(np.float64, copy=False), e[np.newaxis] if e.ndim == 1 else e


def _for_each(work: Callable[[slice, FloatArray, FloatArray], None], x: FloatArray, e: NDArray[Any]) -> None:
    """Call work(rows, points, e) for some rows of e at a time, on threads."""
    if not e.size:
        return

    def of_rows(part: slice) -> None:
        work(part, x if x.ndim == 1 else x[part], e[part].astype(np.float64, copy=False))

    list(on_threads(of_rows, len(e), size=max(1, NUMBERS_OF_A_THREAD // e.shape[1])))


class Step(NamedTuple):
    """A way along the line: t = rate · distance / lengthscale, and the decay g = exp(-t)."""

    t: FloatArray
    g: FloatArray


class Scale(NamedTuple):
    """A kernel: the moments it needs (order 0, 1 or 2), and how it measures distances."""

    order: int
    rate: float
    lengthscale: float

    @classmethod
    def of(cls, shape: Shape, lengthscale: float) -> Scale:
        """Return the scale of a kernel by name."""
        return cls(tuple(RATES).index(shape), RATES[shape], lengthscale)

    def step(self, begin: FloatArray, end: FloatArray) -> Step:
        """Return the steps from points to later ones."""
        with np.errstate(over="ignore", under="ignore"):
            t = end - begin
            t /= self.lengthscale
            t *= self.rate
            np.minimum(t, FAR, out=t)
            return Step(t, np.exp(-t))


def from_left(x: FloatArray, e: FloatArray, scale: Scale) -> FloatArray:
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


def running_moments(x: FloatArray, moments: FloatArray, scale: Scale) -> FloatArray:
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
