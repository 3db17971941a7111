"""Null distributions of the squared kernel calibration error: redrawn outcomes, the bootstrap, and bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_tiles, takes_fast_double_sum
from calibrant.core.kept_rows import KeptRows
from calibrant.core.null import NOISE, reaches, redraw_centre, redraw_events, redraw_labels
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.probabilities import Classes
from calibrant.inputs.rows import DistributionRows, DrawnRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, has_median_target, resolved
from calibrant.kernel_errors.skce import line_kernel, line_sums
from calibrant.kernel_errors.sums import kernel_product, kernel_sum
from calibrant.kernels.forms import ChangedForm, Form, LineForm, VectorForm
from calibrant.kernels.kernel import JointKernel, Product
from calibrant.kernels.kernel_rows import canonical_order
from calibrant.kernels.pair_sums import (
    TILE,
    counted_sums,
    each_block,
    multinomial_counts,
    pair_sum,
    prediction_tile,
    products,
)
from calibrant.progress import steps

LabelArray = NDArray[np.integer[Any]]

LABEL_REDRAWN_PAIRS = "summing pairs of rows for redrawn outcomes"
MAX_BOOTSTRAP_NUMBERS = 1 << 21
MAX_ROWS_AT_ONCE = 1024
PRODUCT_GAIN = 8  # so many multiplications of a large product take the time of one term of a tile
LABEL_REDRAWN_OUTCOMES = "redrawing outcomes for skce_test"


def resampled(summary: Ordered | KeptRows, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    """Return Σ w w' h over pairs of different rows, and how many of B redraws reach it."""
    if isinstance(summary, Ordered):
        return _of_line(summary, kernel, B, random)
    rows = summary.rows.take(canonical_order(summary.rows))  # coverage cannot be redrawn, and is refused before
    return _of_rows(rows, kernel, B, random)


def _of_line(summary: Ordered, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    fitted, factor = line_kernel(summary, kernel, random)
    T = line_sums(summary, fitted, factor).pairs
    p, w, rows, events = summary.pool
    # Σ |e e'| k, whose rounding is that of the sums
    size = abs(factor) * float(kernel_sum(p, w * (events * (1 - p) + (rows - events) * p), fitted))
    extreme = 0
    for drawn in redraw_events(summary.pool, B, random.rng):
        total = kernel_sum(p, w * (drawn - rows * p), fitted)
        own = drawn @ (w * w * (1 - 2 * p)) + (w * w * rows * p * p).sum()  # Σ w²e² = Σ w² (events (1 - 2p) + rows p²)
        extreme += int(np.count_nonzero(reaches(np.asarray(factor * (total - fitted.at_zero * own)), T, size)))
    return T, extreme


def _of_rows(rows: DrawnRows, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    """Redraw outcomes; kernel values of real targets, and a median length scale on targets, are new each time."""
    product = resolved(rows, kernel, random)
    form = form_of(rows, product, random)
    T, anew = 2 * pair_sum(form, rows.w), has_median_target(rows, kernel)
    size = NOISE * float(np.asarray(rows.w).sum()) ** 2  # of the sum over pairs, n - 1 times the statistic
    if not isinstance(rows, DistributionRows):
        size = float((np.asarray(rows.w) ** 2 * np.abs(form.diagonal())).sum())
        if isinstance(rows, Classes) and isinstance(form, VectorForm) and not anew:
            redrawn = redrawn_sums(form, redraw_labels(rows, B, random.rng), rows.w)
            return T, int(np.count_nonzero(reaches(redrawn, T, size)))
    centre, extreme = redraw_centre(rows, random.rng), 0
    for _ in steps(B, size=1, label=LABEL_REDRAWN_OUTCOMES):
        redrawn_rows = centre.redrawn(random.rng)
        if anew or isinstance(rows, DistributionRows):
            product = resolved(redrawn_rows, kernel, random)
        form = form_of(redrawn_rows, product, random)
        extreme += bool(reaches(np.asarray(2 * pair_sum(form, rows.w)), T, size))
    return T, extreme


def redrawn_sums(form: VectorForm, Y: LabelArray, w: FloatArray) -> FloatArray:
    """Return Σ w_i w_j h_ij over i ≠ j for each row of labels Y (B, n), which replace the outcomes of the form."""
    x = form.P * w[:, None]
    fast = form.G is None and takes_fast_double_sum(form.n, len(Y) * form.P.shape[1] // PRODUCT_GAIN)
    same, U = (_fast if fast else _reference)(form, Y, w, x)
    if form.G is not None:
        U = U @ form.G
    linear = np.zeros(len(Y))
    for part in chunks(form.n, MAX_ROWS_AT_ONCE):
        weighted = U[part] * w[part, None]
        linear += weighted[np.arange(len(weighted)), Y[:, part]].sum(axis=1)
    return np.asarray(2 * same - 2 * linear + (x * U).sum())


def _reference(form: VectorForm, Y: LabelArray, w: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ_{i<j} w_i w_j k_ij G[y_i, y_j] for each row of labels, and Σ_j k_ij w_j p_j: one product per class."""
    same, U = np.zeros(len(Y)), np.zeros_like(x)
    for rows, columns, values in each_block(prediction_tile(form), form.n, label=LABEL_REDRAWN_PAIRS, threads=False):
        U[rows] += values @ x[columns]
        U[columns] += values.T @ x[rows]
        k = values * w[rows, None] * w[columns]
        first, second = Y[:, rows], Y[:, columns]
        for label in range(form.P.shape[1]):
            chosen = second == label
            here = chosen.any(axis=0)
            if form.G is None:
                left = first == label
                there = left.any(axis=0)
                left, part = left[:, there].astype(np.float64), k[np.ix_(there, here)]
            else:
                left, part = form.G[first, label], k[:, here]
            same += ((left @ part) * chosen[:, here]).sum(axis=1)
    return same, U


def _fast(form: VectorForm, Y: LabelArray, w: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same for targets that are equal or not, at a cost that does not depend on the number of classes."""
    n, K = form.P.shape
    tile, rows = prediction_tile(form), list(chunks(n, TILE))
    labels = np.zeros((len(rows) * TILE, len(Y)), dtype=np.min_scalar_type(K - 1))
    labels[:n] = Y.T
    compiled = _compiled()

    def work(tiles: NDArray[np.intp]) -> tuple[FloatArray, dict[int, FloatArray]]:
        same, parts = np.zeros(len(Y)), dict[int, FloatArray]()
        k = np.zeros((TILE, TILE))
        for a, b in tiles.tolist():
            values = tile(rows[a], rows[b])
            if a == b:
                values = np.triu(values, 1)
            for here, part in (a, products(values, x[rows[b]].T)), (b, products(values.T, x[rows[a]].T)):
                parts[here] = parts[here] + part if here in parts else part
            k[:] = 0.0
            np.multiply(values * w[rows[a], None], w[rows[b]], out=k[: len(values), : values.shape[1]])
            compiled(k, labels[a * TILE : (a + 1) * TILE], labels[b * TILE : (b + 1) * TILE], same)
        return same, parts

    same, U = np.zeros(len(Y)), np.zeros_like(x)
    for some, parts in on_tiles(work, len(rows), label=LABEL_REDRAWN_PAIRS):
        same += some
        for here, part in parts.items():
            U[rows[here]] += part
    return same, U


@cache
def _compiled() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(k, first, second, total):  # type: ignore[no-untyped-def]  # pragma: no cover
        # The inner loop runs over the redraws, four columns at a time, and becomes vector code.
        for i in range(k.shape[0]):
            y = first[i]
            for j in range(0, k.shape[1], 4):
                a, b, c, d = k[i, j], k[i, j + 1], k[i, j + 2], k[i, j + 3]
                p, q, r, s = second[j], second[j + 1], second[j + 2], second[j + 3]
                for t in range(total.shape[0]):
                    v = (a if p[t] == y[t] else 0.0) + (b if q[t] == y[t] else 0.0)
                    total[t] += v + (c if r[t] == y[t] else 0.0) + (d if s[t] == y[t] else 0.0)

    return kernel


def bootstrapped(summary: Ordered | KeptRows, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    """Return T = n · SKCE (unbiased) and how many of B bootstrap replicates reach it."""
    form = _form(summary, kernel, random)
    if isinstance(form, LineForm):
        T, replicates = _on_line(form, B, random.rng)
    else:
        C = multinomial_counts(form.n, B, random.rng)
        quadratic, rows = counted_sums(form, C)
        T = (rows.sum() - form.diagonal().sum()) / (form.n - 1)
        replicates = replicates_of(C, quadratic, rows, form.diagonal())
    return float(T), int(np.count_nonzero(reaches(replicates, T, NOISE * form.n)))


def replicates_of(C: NDArray[Any], quadratic: FloatArray, rows: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return the statistics of counts C (B, n) from CHC, the row sums of H and its diagonal (Arcones and Giné 1992).

    T_b = [C H C - C d - 2(n - 1) C r + n(n - 1) b] / n, with the row means r and the mean b of H.
    """
    n = rows.size
    v = diagonal + 2 * (n - 1) * rows / n
    linear = np.concatenate([C[part] @ v for part in chunks(len(C), 64)])  # counts become numbers a few at a time
    return np.asarray((quadratic - linear + (n - 1) * rows.sum() / n) / n)


def _form(summary: Ordered | KeptRows, kernel: AnyKernel, random: Randomness) -> Form:
    """Return h of the rows, weights folded in with mean 1, in an order that does not depend on theirs."""
    if isinstance(summary, Ordered):
        fitted, factor = line_kernel(summary, kernel, random)
        rows = summary.rows_at(np.arange(summary.n))
        e = (rows.y - rows.p) * (rows.w / rows.w.mean())
        return LineForm(np.asarray(rows.p, dtype=np.float64), e, fitted, factor)
    kept = summary.rows
    kept = kept.take(canonical_order(kept, with_outcomes=True))
    form = form_of(kept, resolved(kept, kernel, random), random)
    if is_unit(kept.w):
        return form
    v = kept.w / kept.w.mean()
    if isinstance(form, VectorForm):
        return replace(form, R=form.R * v[:, None], S=form.S * v[:, None])
    return ChangedForm(form, lambda h, i, j: v[i] * v[j] * h)


def _on_line(form: LineForm, B: int, rng: np.random.Generator) -> tuple[float, FloatArray]:
    x, e, n = form.x, form.e, form.n
    rows = form.factor * e * kernel_product(x, e, form.kernel)
    diagonal = form.diagonal()
    T = (rows.sum() - diagonal.sum()) / (n - 1)
    pieces = []
    for start, stop in steps(B, size=max(1, MAX_BOOTSTRAP_NUMBERS // n), label="bootstrap of skce_test"):
        C = multinomial_counts(n, stop - start, rng).astype(np.float64)
        pieces.append(replicates_of(C, form.factor * kernel_sum(x, C * e, form.kernel), rows, diagonal))
    return float(T), np.concatenate(pieces)


def unbiased_pvalue(t: float, *, n: int, m: int, bound: float) -> float:
    """Return p for the mean over blocks of m of n rows (m = n: no blocks); Hoeffding's bound of a U-statistic."""
    if t <= 0:
        return 1.0
    N = (n // m) * (m // 2)
    with np.errstate(over="ignore"):
        return float(np.exp(-N * np.square(t / bound) / 2))


def biased_pvalue(t: float, *, n: int, bound: float) -> float:
    """Return p for the biased estimate of all pairs, itself a square; McDiarmid's bound of its root."""
    return float(np.exp(-0.5 * max(0.0, np.sqrt(n * max(t, 0.0) / bound) - 1) ** 2))


def largest_h(kernel: Product | JointKernel) -> float:
    """Return a bound of |h|: 2 sup k for kernels without negative values, 4 sup |k| otherwise."""
    if isinstance(kernel, JointKernel):
        return (4.0 if kernel.signed else 2.0) * kernel.supremum
    factors = (kernel.prediction, kernel.target)
    supremum = float(np.prod([max(factor.supremum, abs(factor.at_zero)) for factor in factors]))
    return (4.0 if any(factor.signed for factor in factors) else 2.0) * supremum
