"""Null distributions of the squared kernel calibration error: redrawn outcomes, the bootstrap, and bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_tiles, takes_fast_double_sum
from calibrant.core.kept_rows import KeptRows
from calibrant.core.null import (
    NOISE,
    reaches,
    redraw_centre,
    redraw_events,
    redraw_labels,
    redraw_outcomes,
    redraw_rows,
)
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, has_median_target, resolved
from calibrant.kernel_errors.skce import kernel_rows_of, line_kernel, line_sums
from calibrant.kernel_errors.sums import kernel_product, kernel_sum
from calibrant.kernels.composed import RowIndex
from calibrant.kernels.forms import Form, LineForm, VectorForm
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.kernel_rows import canonical_order
from calibrant.kernels.pair_sums import (
    ONE_THREAD,
    TILE,
    counted_sums,
    each_block,
    multinomial_counts,
    pair_sum,
    prediction_tile,
)
from calibrant.progress import steps

LabelArray = NDArray[np.integer[Any]]

LABEL_REDRAWN_PAIRS = "summing pairs of rows for redrawn outcomes"
BOOTSTRAP_NUMBERS_AT_ONCE = 1 << 21
ROWS_AT_ONCE = 1024
PRODUCT_GAIN = 8  # so many multiplications of a large product take the time of one term of a tile
GATHER_CLASSES = 4  # up to here a product per class is faster than looking up G for every pair and redraw
LABEL_REDRAWN_OUTCOMES = "redrawing outcomes for skce_test"


def resampled(summary: Ordered | KeptRows, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    """Return Σ w w' h over pairs of different rows, and how many of B redraws reach it."""
    if isinstance(summary, Ordered):
        return _of_line(summary, kernel, B, random)
    rows = summary.rows
    assert isinstance(rows, (Binary, Classes, DistributionRows))  # coverage cannot be redrawn, and is refused before
    rows = rows.take(canonical_order(rows))
    if isinstance(rows, DistributionRows):
        return _of_distributions(rows, kernel, B, random)
    return _of_probabilities(rows, kernel, B, random)


def _of_line(summary: Ordered, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    fitted, factor = line_kernel(summary, kernel, random)
    T = line_sums(summary, fitted, factor).pairs
    size = abs(factor) * _size(summary, fitted)
    extreme = 0
    for events in redraw_events(summary.pool, B, random.rng):
        extreme += int(np.count_nonzero(reaches(_line_replicates(summary, fitted, factor, events), T, size)))
    return T, extreme


def _line_replicates(summary: Ordered, kernel: Kernel, factor: float, events: NDArray[np.int64]) -> FloatArray:
    """Return the sums over pairs for redrawn events (replicates, entries)."""
    p, w, rows, _ = summary.pool
    total = kernel_sum(p, w * (events - rows * p), kernel)
    # Σ w²e² = Σ w² (events (1 - 2p) + rows p²)
    own = events @ (w * w * (1 - 2 * p)) + (w * w * rows * p * p).sum()
    return np.asarray(factor * (total - kernel.at_zero * own))


def _size(summary: Ordered, kernel: Kernel) -> float:
    """Return Σ |e e'| k, whose rounding is that of the sums."""
    p, w, rows, events = summary.pool
    return float(kernel_sum(p, w * (events * (1 - p) + (rows - events) * p), kernel))


def _of_probabilities(rows: Binary | Classes, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    product = resolved(rows, kernel, random)
    form = form_of(rows, product, random)
    T = 2 * pair_sum(form, rows.w)
    size = float((np.asarray(rows.w) ** 2 * np.abs(form.diagonal())).sum())
    if isinstance(rows, Classes) and isinstance(form, VectorForm) and not has_median_target(rows, kernel):
        redrawn = redrawn_sums(form, redraw_labels(rows, B, random.rng), rows.w)
        return T, int(np.count_nonzero(reaches(redrawn, T, size)))
    extreme = 0
    for _ in steps(B, size=1, label=LABEL_REDRAWN_OUTCOMES):
        redrawn_rows = redraw_rows(rows, random.rng)
        if has_median_target(rows, kernel):
            product = resolved(redrawn_rows, kernel, random)
        form = form_of(redrawn_rows, product, random)
        extreme += bool(reaches(np.asarray(2 * pair_sum(form, rows.w)), T, size))
    return T, extreme


def _of_distributions(rows: DistributionRows, kernel: AnyKernel, B: int, random: Randomness) -> tuple[float, int]:
    """Redraw outcomes from their distributions: kernel values of targets, and their median, are new each time."""

    def pairs(these: DistributionRows) -> float:
        form = form_of(these, resolved(these, kernel, random), random)
        return 2 * pair_sum(form, these.w)

    T = pairs(rows)
    size = NOISE * float(np.asarray(rows.w).sum()) ** 2  # of the sum over pairs, n - 1 times the statistic
    centre = redraw_centre(rows, random.rng)
    assert isinstance(centre, DistributionRows)
    extreme = sum(
        bool(reaches(np.asarray(pairs(redraw_outcomes(centre, random.rng))), T, size))
        for _ in steps(B, size=1, label=LABEL_REDRAWN_OUTCOMES)
    )
    return T, extreme


def redrawn_sums(form: VectorForm, Y: LabelArray, w: FloatArray) -> FloatArray:
    """Return Σ w_i w_j h_ij over i ≠ j for each row of labels Y (B, n), which replace the outcomes of the form."""
    x = form.P * w[:, None]
    same, U = (_fast if _takes_fast_body(form, len(Y)) else _reference)(form, Y, w, x)
    if form.G is not None:
        U = U @ form.G
    linear = np.zeros(len(Y))
    for part in chunks(form.n, ROWS_AT_ONCE):
        weighted = U[part] * w[part, None]
        linear += weighted[np.arange(len(weighted)), Y[:, part]].sum(axis=1)
    return np.asarray(2 * same - 2 * linear + (x * U).sum())


def _takes_fast_body(form: VectorForm, resamples: int) -> bool:
    K = form.P.shape[1]
    return (form.G is None or K > GATHER_CLASSES) and takes_fast_double_sum(form.n, resamples * K // PRODUCT_GAIN)


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
    """Return the same as `_reference`, at a cost per pair that does not depend on the number of classes."""
    n, K = form.P.shape
    tile, rows = prediction_tile(form), list(chunks(n, TILE))
    labels = np.zeros(
        (len(rows) * TILE, len(Y)), dtype=np.uint8 if K <= 256 else np.uint16 if K <= 65536 else np.uint32
    )
    labels[:n] = Y.T
    compiled = _compiled() if form.G is None else _compiled_for_targets()
    target = () if form.G is None else (np.ascontiguousarray(form.G),)

    def work(tiles: NDArray[np.intp]) -> tuple[FloatArray, dict[int, FloatArray]]:
        same, parts = np.zeros(len(Y)), dict[int, FloatArray]()
        k = np.zeros((TILE, TILE))
        for a, b in tiles.tolist():
            values = tile(rows[a], rows[b])
            if a == b:
                values = np.triu(values, 1)
            for here, part in (a, _small_products(values, x[rows[b]])), (b, _small_products(values.T, x[rows[a]])):
                parts[here] = parts[here] + part if here in parts else part
            k[:] = 0.0
            np.multiply(values * w[rows[a], None], w[rows[b]], out=k[: len(values), : values.shape[1]])
            compiled(k, labels[a * TILE : (a + 1) * TILE], labels[b * TILE : (b + 1) * TILE], *target, same)
        return same, parts

    same, U = np.zeros(len(Y)), np.zeros_like(x)
    for some, parts in on_tiles(work, len(rows), label=LABEL_REDRAWN_PAIRS):
        same += some
        for here, part in parts.items():
            U[rows[here]] += part
    return same, U


def _small_products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B by products so small that BLAS starts no threads."""
    width = max(1, ONE_THREAD // A.size)
    product = np.empty((len(A), B.shape[1]))
    for k in range(0, B.shape[1], width):
        product[:, k : k + width] = A @ B[:, k : k + width]
    return product


@cache
def _compiled() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(k, first, second, total):  # type: ignore[no-untyped-def]  # pragma: no cover
        # Four rows meet four at a time; the inner loop runs over the redraws and becomes vector code.
        for i in range(0, k.shape[0], 4):
            y0, y1, y2, y3 = first[i], first[i + 1], first[i + 2], first[i + 3]
            for j in range(0, k.shape[1], 4):
                z0, z1, z2, z3 = second[j], second[j + 1], second[j + 2], second[j + 3]
                a0, a1, a2, a3 = k[i, j], k[i, j + 1], k[i, j + 2], k[i, j + 3]
                b0, b1, b2, b3 = k[i + 1, j], k[i + 1, j + 1], k[i + 1, j + 2], k[i + 1, j + 3]
                c0, c1, c2, c3 = k[i + 2, j], k[i + 2, j + 1], k[i + 2, j + 2], k[i + 2, j + 3]
                d0, d1, d2, d3 = k[i + 3, j], k[i + 3, j + 1], k[i + 3, j + 2], k[i + 3, j + 3]
                for t in range(total.shape[0]):
                    p, q, r, s = z0[t], z1[t], z2[t], z3[t]
                    y = y0[t]
                    v = (a0 if p == y else 0.0) + (a1 if q == y else 0.0)
                    v += (a2 if r == y else 0.0) + (a3 if s == y else 0.0)
                    y = y1[t]
                    v += (b0 if p == y else 0.0) + (b1 if q == y else 0.0)
                    v += (b2 if r == y else 0.0) + (b3 if s == y else 0.0)
                    y = y2[t]
                    v += (c0 if p == y else 0.0) + (c1 if q == y else 0.0)
                    v += (c2 if r == y else 0.0) + (c3 if s == y else 0.0)
                    y = y3[t]
                    v += (d0 if p == y else 0.0) + (d1 if q == y else 0.0)
                    v += (d2 if r == y else 0.0) + (d3 if s == y else 0.0)
                    total[t] += v

    return kernel


@cache
def _compiled_for_targets() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(k, first, second, G, total):  # type: ignore[no-untyped-def]  # pragma: no cover
        for i in range(k.shape[0]):
            y = first[i]
            for j in range(0, k.shape[1], 4):
                a, b, c, d = k[i, j], k[i, j + 1], k[i, j + 2], k[i, j + 3]
                p, q, r, s = second[j], second[j + 1], second[j + 2], second[j + 3]
                for t in range(total.shape[0]):
                    v = a * G[y[t], p[t]] + b * G[y[t], q[t]]
                    total[t] += v + c * G[y[t], r[t]] + d * G[y[t], s[t]]

    return kernel


@dataclass(frozen=True, eq=False)
class WeightedForm:
    """h of a form times weights of both rows."""

    form: Form
    v: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.form.n

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        """Return h of rows i and j."""
        return np.asarray(self.v[i] * self.v[j] * self.form.h(i, j))

    def diagonal(self) -> FloatArray:
        """Return h of each row with itself."""
        return np.asarray(self.v * self.v * self.form.diagonal())


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
    kept = kernel_rows_of(summary)
    kept = kept.take(canonical_order(kept, with_outcomes=True))
    form = form_of(kept, resolved(kept, kernel, random), random)
    if is_unit(kept.w):
        return form
    v = kept.w / kept.w.mean()
    if isinstance(form, VectorForm):
        return replace(form, R=form.R * v[:, None], S=form.S * v[:, None])
    return WeightedForm(form, v)


def _on_line(form: LineForm, B: int, rng: np.random.Generator) -> tuple[float, FloatArray]:
    x, e, n = form.x, form.e, form.n
    rows = form.factor * e * kernel_product(x, e, form.kernel)
    diagonal = form.diagonal()
    T = (rows.sum() - diagonal.sum()) / (n - 1)
    pieces = []
    for start, stop in steps(B, size=max(1, BOOTSTRAP_NUMBERS_AT_ONCE // n), label="bootstrap of skce_test"):
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
    factors: tuple[Kernel | JointKernel, ...]
    factors = (kernel,) if isinstance(kernel, JointKernel) else (kernel.prediction, kernel.target)
    supremum = float(np.prod([_largest(factor) for factor in factors]))
    return (4.0 if any(factor.signed for factor in factors) else 2.0) * supremum


def _largest(factor: Kernel | JointKernel) -> float:
    """Return what a kernel says of itself, or its value at 0 if that is more."""
    return factor.supremum if isinstance(factor, JointKernel) else max(factor.supremum, abs(factor.at_zero))
