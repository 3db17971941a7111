"""Sums of a kernel over scores on a line: by the exact line sums where a shape has them, by tiles where it has none."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray, unit_weights
from calibrant.kernels.distances import distance_of_points
from calibrant.kernels.forms import LineForm
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.shapes import Exponential, Gaussian, Matern32, Matern52
from calibrant.primitives.line_sum import Shape, line_product, line_sum
from calibrant.primitives.pair_sums import pair_sum

LINES: dict[type[Kernel], Shape] = {
    Exponential: "exponential",
    Matern32: "matern32",
    Matern52: "matern52",
    Gaussian: "gaussian",
}
TILE = 512


def has_line(kernel: Kernel) -> bool:
    """Tell whether this shape, with the distance |x - x'|, has a sum of its own on the line."""
    return type(kernel) in LINES and not callable(kernel.distance)


def kernel_sum(x: FloatArray, e: FloatArray, kernel: Kernel) -> FloatArray:
    """Return Σ_ij e_i e_j k(x_i, x_j) for scores in ascending order; e is (n,) or (replicates, n)."""
    if has_line(kernel):
        return np.asarray(line_sum(x, e, LINES[type(kernel)], kernel.length))
    if e.ndim == 1:
        off = pair_sum(LineForm(x, e, kernel), unit_weights(x.size))
        return np.asarray(2 * off + kernel.at_zero * (e * e).sum())
    return np.asarray((e * _products(x, e, kernel)).sum(axis=-1))


def kernel_product(x: FloatArray, e: FloatArray, kernel: Kernel) -> FloatArray:
    """Return Σ_j k(x_i, x_j) e_j for scores in ascending order."""
    if has_line(kernel):
        return np.asarray(line_product(x, e, LINES[type(kernel)], kernel.length))
    return np.asarray(_products(x, e[None], kernel)[0])


def _products(x: FloatArray, e: FloatArray, kernel: Kernel) -> FloatArray:
    distance = distance_of_points(x, kernel.distance or "euclidean")
    found = np.empty_like(e)
    rows = np.arange(x.size)
    for start in range(0, x.size, TILE):
        part = slice(start, start + TILE)
        total = np.zeros((e.shape[0], rows[part].size))
        for other in range(0, x.size, TILE):
            beside = slice(other, other + TILE)
            total += e[:, beside] @ kernel.of_distance(distance(rows[beside, None], rows[None, part]))
        found[:, part] = total
    return found
