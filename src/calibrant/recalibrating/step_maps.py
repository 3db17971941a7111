"""Monotone maps of one probability per row without a formula: isotonic, centred isotonic and Venn-Abers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import map_rows, takes_fast_loop
from calibrant.core.isotonic import isotonic_blocks
from calibrant.core.ordered import Ordered
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.mean_log_score import check_both_classes, clipped
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared


def _pooled(rows: Binary, options: FitOptions) -> Ordered:
    check_both_classes(int(np.count_nonzero(rows.y)), rows.n)
    return Ordered.of(Binary(rows.y, clipped(rows.p, options), rows.w))


def _isotonic_runs(weight: NDArray[Any], events: NDArray[Any]) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the first scores (as indices) of maximal runs with the same fitted frequency, and their fits.

    The fit of a run is the sum of its events divided by the sum of its weights, which is the same to the last bit
    wherever rows of the same numbers are pooled. Runs that differ by rounding are pooled again.
    """
    starts = np.arange(weight.size)
    while True:
        blocks = isotonic_blocks(events, weight)
        new = np.flatnonzero(np.diff(blocks.fit, prepend=-1.0) > 0)
        first = np.concatenate(([0], np.cumsum(blocks.length)[:-1]))[new]
        starts = starts[first]
        weight, events = np.add.reduceat(blocks.weight, new), np.add.reduceat(blocks.event_weight, new)
        fit = events / weight
        if (np.diff(fit) > 0).all():
            return starts, fit


def fit_isotonic(rows: Binary, options: FitOptions, *, centred: bool = False) -> Fit:
    """Fit a non-decreasing frequency, and keep the first and the last score of each run.

    `centred` puts each run inside (0, 1) at the mean of its scores (Oron, Flournoy 2017).
    """
    pooled = _pooled(rows, options)
    score, weight = pooled.unique_scores, pooled.weight_by_score
    starts, fit = _isotonic_runs(weight, pooled.event_weight_by_score)
    low, high = score[starts], score[np.append(starts[1:], score.size) - 1]
    if centred:
        mean = np.add.reduceat(weight * score, starts) / np.add.reduceat(weight, starts)
        inside = (fit > 0) & (fit < 1)
        low, high = (np.where(inside, np.clip(mean, low, high), end) for end in (low, high))
    knots = np.stack([low, high], axis=1).ravel()
    kept = np.stack([np.ones(low.size, bool), high > low], axis=1).ravel()
    return Fit({"knots": knots[kept], "values": np.repeat(fit, 2)[kept]})


def interpolate(parameters: Parameters, p: FloatArray, options: FitOptions) -> FloatArray:
    """Return the values at scores p, linear between knots and constant beyond them.

    Each step of the formula is monotone, and so is the result, also after rounding.
    """
    knots, values, scores = parameters["knots"], parameters["values"], clipped(p, options)

    def work(score: FloatArray) -> FloatArray:
        right = np.searchsorted(knots, score)
        left, right = np.maximum(right - 1, 0), np.minimum(right, knots.size - 1)
        low, high, gap = values[left], values[right], knots[right] - knots[left]
        share = (score - knots[left]) / np.where(gap > 0, gap, 1.0)  # beyond the knots both ends are the same
        between = np.minimum(low + (high - low) * share, high)
        return np.asarray(np.where((gap > 0) & (score < knots[right]), between, high))

    return map_rows(work, scores)


def fit_venn_abers(rows: Binary, options: FitOptions) -> Fit:
    """Fit the two tables of inductive Venn-Abers prediction (Vovk, Petej, Fedorova 2015).

    Below the first score p₀ is 0, from each score to the next it is constant; p₁ is constant up to each score, and 1
    above the last. Only scores at which one of them changes are kept.
    """
    pooled = _pooled(rows, options)
    score = pooled.unique_scores
    w, e = pooled.weight_by_score.astype(np.float64), pooled.event_weight_by_score.astype(np.float64)
    added = float(w.sum()) / rows.n
    rise, run = edges_with_event(w, e, added)
    p1 = np.maximum.accumulate(np.clip(rise / run, 0.0, 1.0))
    rise, run = edges_with_event(w[::-1], (w - e)[::-1], added)  # non-events, from above
    p0 = np.minimum.accumulate(np.clip((run - rise) / run, 0.0, 1.0))[::-1]
    changes = np.ones(score.size, bool)
    changes[1:-1] = (p0[1:-1] != p0[:-2]) | (p1[1:-1] != p1[2:])
    return Fit({"scores": score[changes], "p0": p0[changes], "p1": p1[changes]})


def edges_with_event(weight: FloatArray, events: FloatArray, added: float) -> tuple[FloatArray, FloatArray]:
    """Return events and weight of the isotonic block of each score, after an event of weight `added` has joined it.

    Examples
    --------
    A non-event at one score, an event at the next. With another event at the first its block has 1 event among 2 rows;
    with another event at the second the block there has 2 events among 2 rows.

    >>> edges_with_event(np.array([1.0, 1.0]), np.array([0.0, 1.0]), 1.0)
    (array([1., 2.]), array([2., 2.]))
    """
    x, y = (np.concatenate(([0.0], np.cumsum(column))) for column in (weight, events))
    m = weight.size
    if takes_fast_loop(m):
        rise, run = np.empty(m), np.empty(m)
        _compiled()(x, y, added, np.empty(m, np.intp), rise, run)
        return rise, run
    columns: tuple[list[float], list[float]] = ([0.0] * m, [0.0] * m)
    _event_edges(x.tolist(), y.tolist(), added, [0] * m, *columns)
    return np.array(columns[0]), np.array(columns[1])


@cache
def _compiled() -> Any:
    import numba

    return numba.njit(nogil=True, cache=True)(_event_edges)


def _event_edges(x: Any, y: Any, added: float, corners: Any, rise: Any, run: Any) -> None:
    """Write the columns of `edges_with_event` for cumulative weights x and events y, which begin with 0.

    The isotonic fit is the slope of the lower convex hull of the points (x, y). An event that joins score i moves the
    points up to i by `added` to the left and down, and the fit there is the slope of the edge that leads from the moved
    points to the others. It does not fall as i grows, so both ends of the edge only go to the right. The left end is
    (left, low); `corners` is a stack of the numbers of the corners, from the right end of the hull to the right end of
    the edge. Every point is pushed and popped once: the loop is linear. It runs in Python for few scores, and compiled
    for many.
    """
    top = -1
    for i in range(len(x) - 1, 0, -1):  # the hull of the points from i on
        while top > 0:
            a, b = corners[top], corners[top - 1]
            if (x[a] - x[i]) * (y[b] - y[a]) > (y[a] - y[i]) * (x[b] - x[a]):
                break
            top -= 1
        top += 1
        corners[top] = i
    left, low = 0.0, 0.0
    for i in range(len(x) - 1):
        u, v, a = x[i] - added, y[i] - added, corners[top]
        if i == 0 or (v - low) * (x[a] - left) < (y[a] - low) * (u - left):  # below the edge: its new left end
            left, low = u, v
            while top > 0:
                a, b = corners[top], corners[top - 1]
                if a > i and (x[a] - u) * (y[b] - y[a]) > (y[a] - v) * (x[b] - x[a]):
                    break
                top -= 1
        a = corners[top]
        rise[i], run[i] = y[a] - low, x[a] - left


def venn_abers_bounds(parameters: Parameters, p: FloatArray, options: FitOptions) -> tuple[FloatArray, FloatArray]:
    """Return (p₀, p₁): the isotonic fits at each score after the row joined the calibration rows, as 0 and as 1."""
    knots, scores = parameters["scores"], clipped(p, options)
    p0 = np.append(0.0, parameters["p0"])[np.searchsorted(knots, scores, side="right")]
    p1 = np.append(parameters["p1"], 1.0)[np.searchsorted(knots, scores)]
    return p0, p1


def _apply_venn_abers(parameters: Parameters, p: FloatArray, options: FitOptions) -> FloatArray:
    """Return p₁ / (1 - p₀ + p₁), whose log score has the smallest regret whichever of the two is right."""

    def work(score: FloatArray) -> FloatArray:
        p0, p1 = venn_abers_bounds(parameters, score, options)
        return np.asarray(p1 / (1 - p0 + p1))

    return map_rows(work, p)


def _check_tables(parameters: Parameters) -> None:
    p0, p1 = parameters["p0"], parameters["p1"]
    if (p0 > p1).any():
        i = int(np.argmax(p0 > p1))
        raise InputError(f"p0 must not exceed p1; entry {i} has p0 = {p0[i]:g} and p1 = {p1[i]:g}")


KNOTS = Parameter("m", 0.0, 1.0, order="rising")
VALUES = Parameter("m", 0.0, 1.0, order="not falling")

ISOTONIC = Method(fit_isotonic, interpolate, {"knots": KNOTS, "values": VALUES}, ("clip",), reaches_ends=True)
CENTRED_ISOTONIC = replace(ISOTONIC, fit=partial(fit_isotonic, centred=True))
VENN_ABERS = Method(
    fit_venn_abers,
    _apply_venn_abers,
    {"scores": KNOTS, "p0": VALUES, "p1": VALUES},
    ("clip",),
    check=_check_tables,
    bounds=venn_abers_bounds,
    compared=RowsCompared(rarer_outcome=100),
    counts_rows=True,
)
