"""Redrawn outcomes as the null of the squared kernel calibration error: exact at any number of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import reaches
from calibrant.inputs import Classes
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.fitted import AnyKernel, Chance, form_of, resolved
from calibrant.kernels.forms import VectorForm, at_zero
from calibrant.kernels.kernel import Kernel
from calibrant.metrics.skce import kept_rows, line_kernel, line_sums
from calibrant.primitives.canonical import canonical_order
from calibrant.primitives.kernel_sums import kernel_sum
from calibrant.primitives.pair_sums import pair_sum
from calibrant.primitives.redraw import redraw_events, redraw_outcomes, redraw_rows
from calibrant.primitives.redrawn_pairs import redrawn_sums
from calibrant.progress import steps
from calibrant.summaries import Ordered, Summary

LABEL = "redrawing outcomes for skce_test"


def resampled(summary: Summary, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    """Return Σ w w' h over pairs of different rows, and how many of B redraws reach it."""
    if isinstance(summary, Ordered):
        return _of_line(summary, kernel, B, chance)
    rows = kept_rows(summary)
    rows = rows.take(canonical_order(rows))
    if isinstance(rows, LawRows):
        return _of_laws(rows, kernel, B, chance)
    assert isinstance(rows, Classes)  # coverage cannot be redrawn, and is refused before
    return _of_classes(rows, kernel, B, chance)


def _of_line(summary: Ordered, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    fitted, factor = line_kernel(summary, kernel, chance)
    T = line_sums(summary, fitted, factor).pairs
    size = abs(factor) * _size(summary, fitted)
    extreme = 0
    for events in redraw_events(summary.pool, B, chance.rng):
        extreme += int(np.count_nonzero(reaches(_line_replicates(summary, fitted, factor, events), T, size)))
    return T, extreme


def _line_replicates(summary: Ordered, kernel: Kernel, factor: float, events: NDArray[np.int64]) -> FloatArray:
    """Return the sums over pairs for redrawn events (replicates, entries)."""
    p, w, rows, _ = summary.pool
    total = kernel_sum(p, w * (events - rows * p), kernel)
    # Σ w²e² = Σ w² (events (1 - 2p) + rows p²)
    own = events @ (w * w * (1 - 2 * p)) + (w * w * rows * p * p).sum()
    return np.asarray(factor * (total - at_zero(kernel) * own))


def _size(summary: Ordered, kernel: Kernel) -> float:
    """Return Σ |e e'| k, whose rounding is that of the sums."""
    p, w, rows, events = summary.pool
    return float(kernel_sum(p, w * (events * (1 - p) + (rows - events) * p), kernel))


def _of_classes(rows: Classes, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    product = resolved(rows, kernel, chance)
    form = form_of(rows, product, chance)
    T = 2 * pair_sum(form, rows.w)
    size = float((np.asarray(rows.w) ** 2 * np.abs(form.diagonal())).sum())
    if isinstance(form, VectorForm):
        redrawn = redrawn_sums(form, redrawn_labels(rows, B, chance.rng), rows.w)
        return T, int(np.count_nonzero(reaches(redrawn, T, size)))
    extreme = 0
    for _ in steps(B, size=1, label=LABEL):
        anew = form_of(redraw_rows(rows, chance.rng), product, chance)
        extreme += bool(reaches(np.asarray(2 * pair_sum(anew, rows.w)), T, size))
    return T, extreme


def redrawn_labels(rows: Classes, B: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Return labels (B, n), each drawn from the prediction of its row."""
    P = rows.P.astype(np.float64)
    cumulative = np.cumsum(P, axis=1)
    labels = np.empty((B, rows.n), dtype=np.uint16)
    last = rows.K - 1 - np.argmax(P[:, ::-1] > 0, axis=1)  # the last class that can happen
    for i in range(rows.n):
        u = rng.random(B) * cumulative[i, -1]
        labels[:, i] = np.minimum(np.searchsorted(cumulative[i], u, side="right"), last[i])
    return labels


def _of_laws(rows: LawRows, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    """Redraw outcomes from the laws: kernel values of the targets, and their median, are new each time."""

    def pairs(these: LawRows) -> float:
        form = form_of(these, resolved(these, kernel, chance), chance)
        return 2 * pair_sum(form, these.w)

    T = pairs(rows)
    extreme = sum(
        bool(reaches(np.asarray(pairs(redraw_outcomes(rows, chance.rng))), T)) for _ in steps(B, size=1, label=LABEL)
    )
    return T, extreme
