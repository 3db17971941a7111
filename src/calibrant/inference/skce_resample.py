"""Redrawn outcomes as the null of the squared kernel calibration error: exact at any number of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import NOISE, reaches
from calibrant.inputs import Classes
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.fitted import AnyKernel, Chance, form_of, has_median_target, resolved
from calibrant.kernels.forms import VectorForm
from calibrant.kernels.kernel import Kernel
from calibrant.metrics.skce import line_kernel, line_sums
from calibrant.primitives.canonical import canonical_order
from calibrant.primitives.kernel_sums import kernel_sum
from calibrant.primitives.pair_sums import pair_sum
from calibrant.primitives.redraw import redraw_centre, redraw_events, redraw_labels, redraw_outcomes, redraw_rows
from calibrant.primitives.redrawn_pairs import redrawn_sums
from calibrant.progress import steps
from calibrant.summaries import Kept, KeptLaws, Ordered, Summary

LABEL = "redrawing outcomes for skce_test"


def resampled(summary: Summary, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    """Return Σ w w' h over pairs of different rows, and how many of B redraws reach it."""
    if isinstance(summary, Ordered):
        return _of_line(summary, kernel, B, chance)
    if isinstance(summary, KeptLaws):
        laws = summary.rows
        return _of_laws(laws.take(canonical_order(laws)), kernel, B, chance)
    assert isinstance(summary, Kept)  # coverage cannot be redrawn, and is refused before
    rows = summary.rows
    return _of_classes(rows.take(canonical_order(rows)), kernel, B, chance)


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
    return np.asarray(factor * (total - kernel.at_zero * own))


def _size(summary: Ordered, kernel: Kernel) -> float:
    """Return Σ |e e'| k, whose rounding is that of the sums."""
    p, w, rows, events = summary.pool
    return float(kernel_sum(p, w * (events * (1 - p) + (rows - events) * p), kernel))


def _of_classes(rows: Classes, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    product = resolved(rows, kernel, chance)
    form = form_of(rows, product, chance)
    T = 2 * pair_sum(form, rows.w)
    size = float((np.asarray(rows.w) ** 2 * np.abs(form.diagonal())).sum())
    if isinstance(form, VectorForm) and not has_median_target(rows, kernel):
        redrawn = redrawn_sums(form, redraw_labels(rows, B, chance.rng), rows.w)
        return T, int(np.count_nonzero(reaches(redrawn, T, size)))
    extreme = 0
    for _ in steps(B, size=1, label=LABEL):
        redrawn_rows = redraw_rows(rows, chance.rng)
        if has_median_target(rows, kernel):
            product = resolved(redrawn_rows, kernel, chance)
        anew = form_of(redrawn_rows, product, chance)
        extreme += bool(reaches(np.asarray(2 * pair_sum(anew, rows.w)), T, size))
    return T, extreme


def _of_laws(rows: LawRows, kernel: AnyKernel, B: int, chance: Chance) -> tuple[float, int]:
    """Redraw outcomes from the laws: kernel values of the targets, and their median, are new each time."""

    def pairs(these: LawRows) -> float:
        form = form_of(these, resolved(these, kernel, chance), chance)
        return 2 * pair_sum(form, these.w)

    T = pairs(rows)
    size = NOISE * float(np.asarray(rows.w).sum()) ** 2  # of the sum over pairs, n - 1 times the statistic
    centre = redraw_centre(rows, chance.rng)
    assert isinstance(centre, LawRows)
    extreme = sum(
        bool(reaches(np.asarray(pairs(redraw_outcomes(centre, chance.rng))), T, size))
        for _ in steps(B, size=1, label=LABEL)
    )
    return T, extreme
