"""Sums of h over the pairs of rows within blocks of consecutive rows."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.forms import Form, LineForm
from calibrant.primitives.kernel_sums import LINES, has_line
from calibrant.primitives.line_sum import line_sum

SMALL = 16  # rows of a block up to which pairs are taken offset by offset, for all blocks at once


def block_sums(form: Form, w: FloatArray, m: int) -> FloatArray:
    """Return Σ_{i<j} w_i w_j h_ij of each block of m rows; form.n is a multiple of m."""
    if isinstance(form, LineForm) and has_line(form.kernel) and m > SMALL:
        return _on_line(form, w, m)
    if m <= SMALL:
        return _by_offset(form, w, m)
    upper = np.triu_indices(m, 1)
    found = np.empty(form.n // m)
    for block in range(found.size):
        rows = np.arange(block * m, (block + 1) * m)
        h = form.h(rows[:, None], rows[None, :]) * w[rows, None] * w[None, rows]
        found[block] = h[upper].sum()
    return found


def _by_offset(form: Form, w: FloatArray, m: int) -> FloatArray:
    rows = np.arange(form.n).reshape(-1, m)
    found = np.zeros(rows.shape[0])
    for offset in range(1, m):
        i, j = rows[:, :-offset].reshape(-1), rows[:, offset:].reshape(-1)
        found += (w[i] * w[j] * form.h(i, j)).reshape(rows.shape[0], -1).sum(axis=1)
    return found


def _on_line(form: LineForm, w: FloatArray, m: int) -> FloatArray:
    x, e = form.x.reshape(-1, m), (w * form.e).reshape(-1, m)
    order = np.argsort(x, axis=1, kind="stable")
    x, e = np.take_along_axis(x, order, axis=1), np.take_along_axis(e, order, axis=1)
    Q = np.asarray(line_sum(x, e, LINES[type(form.kernel)], form.kernel.length))
    return np.asarray(form.factor * (Q - (e * e).sum(axis=1)) / 2)
