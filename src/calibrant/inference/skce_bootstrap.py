"""The bootstrap of the squared kernel calibration error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import NOISE, reaches
from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.kernels.distances import Rows
from calibrant.kernels.fitted import AnyKernel, Chance, KernelRows, form_of, resolved
from calibrant.kernels.forms import Form, LineForm, VectorForm
from calibrant.metrics.skce import line_kernel
from calibrant.primitives.canonical import canonical_order
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.kernel_sums import kernel_product, kernel_sum
from calibrant.primitives.pair_sums import counted_sums, multinomial_counts
from calibrant.progress import steps
from calibrant.summaries import Kept, KeptCoverage, KeptLaws, Ordered, Summary

MOST_NUMBERS = 1 << 21


@dataclass(frozen=True, eq=False)
class WeightedForm:
    """h of a form times weights of both rows."""

    form: Form
    v: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.form.n

    def h(self, i: Rows, j: Rows) -> FloatArray:
        """Return h of rows i and j."""
        return np.asarray(self.v[i] * self.v[j] * self.form.h(i, j))

    def diagonal(self) -> FloatArray:
        """Return h of each row with itself."""
        return np.asarray(self.v * self.v * self.form.diagonal())


def bootstrapped(summary: Summary, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    """Return T = n · SKCE (unbiased) and how many of B bootstrap replicates reach it."""
    form = _form(summary, kernel, chance)
    if isinstance(form, LineForm):
        T, replicates = _on_line(form, B, chance.rng)
    else:
        C = multinomial_counts(form.n, B, chance.rng)
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


def _form(summary: Summary, kernel: AnyKernel, chance: Chance) -> Form:
    """Return h of the rows, weights folded in with mean 1, in an order that does not depend on theirs."""
    if isinstance(summary, Ordered):
        fitted, factor = line_kernel(summary, kernel, chance)
        rows = summary.rows_at(np.arange(summary.n))
        e = (rows.y - rows.p) * (rows.w / rows.w.mean())
        return LineForm(np.asarray(rows.p, dtype=np.float64), e, fitted, factor)
    assert isinstance(summary, (Kept, KeptLaws, KeptCoverage))
    kept: KernelRows = summary.rows
    kept = kept.take(canonical_order(kept, with_outcomes=True))
    form = form_of(kept, resolved(kept, kernel, chance), chance)
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
    for start, stop in steps(B, size=max(1, MOST_NUMBERS // n), label="bootstrap of skce_test"):
        C = multinomial_counts(n, stop - start, rng).astype(np.float64)
        pieces.append(replicates_of(C, form.factor * kernel_sum(x, C * e, form.kernel), rows, diagonal))
    return float(T), np.concatenate(pieces)
