"""Sums of a kernel over scores on a line: by the exact line sums where a shape has them, by tiles where it has none."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.arrays import FloatArray, unit_weights
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.forms import Form, LineForm
from calibrant.kernels.kernel import Exponential, Gaussian, Kernel, Matern32, Matern52
from calibrant.kernels.line_sum import Shape, line_product, line_sum
from calibrant.kernels.pair_sums import pair_sum

LINES: dict[type[Kernel], Shape] = {
    Exponential: "exponential",
    Matern32: "matern32",
    Matern52: "matern52",
    Gaussian: "gaussian",
}
TILE_ROWS = 512
OFFSET_BLOCK_ROWS = 16  # rows of a block up to which pairs are taken offset by offset, for all blocks at once


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
    for start in range(0, x.size, TILE_ROWS):
        part = slice(start, start + TILE_ROWS)
        total = np.zeros((e.shape[0], rows[part].size))
        for other in range(0, x.size, TILE_ROWS):
            beside = slice(other, other + TILE_ROWS)
            total += e[:, beside] @ kernel.of_distance(distance(rows[beside, None], rows[None, part]))
        found[:, part] = total
    return found


def block_sums(form: Form, w: FloatArray, m: int) -> FloatArray:
    """Return Σ_{i<j} w_i w_j h_ij of each block of m rows; form.n is a multiple of m."""
    if isinstance(form, LineForm) and has_line(form.kernel) and m > OFFSET_BLOCK_ROWS:
        return _on_line(form, w, m)
    found = np.zeros(form.n // m)
    if m <= OFFSET_BLOCK_ROWS:
        blocks = np.arange(form.n).reshape(-1, m)
        for offset in range(1, m):
            i, j = blocks[:, :-offset].reshape(-1), blocks[:, offset:].reshape(-1)
            found += (w[i] * w[j] * form.h(i, j)).reshape(found.size, -1).sum(axis=1)
        return found
    upper = np.triu_indices(m, 1)
    for block in range(found.size):
        rows = np.arange(block * m, (block + 1) * m)
        h = form.h(rows[:, None], rows[None, :]) * w[rows, None] * w[None, rows]
        found[block] = h[upper].sum()
    return found


def _on_line(form: LineForm, w: FloatArray, m: int) -> FloatArray:
    x, e = form.x.reshape(-1, m), (w * form.e).reshape(-1, m)
    order = np.argsort(x, axis=1, kind="stable")
    x, e = np.take_along_axis(x, order, axis=1), np.take_along_axis(e, order, axis=1)
    Q = np.asarray(line_sum(x, e, LINES[type(form.kernel)], form.kernel.length))
    return np.asarray(form.factor * (Q - (e * e).sum(axis=1)) / 2)
