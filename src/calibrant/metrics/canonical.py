"""The canonical notion of the expected calibration error: the whole probability vector is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs import Binary, Classes, check_bins, check_choice
from calibrant.inputs.median_variance import MedianVariance
from calibrant.inputs.probabilities import two_columns
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.median_variance import median_variance_bins
from calibrant.primitives.simplex_cells import CellSums, sums_by_cell
from calibrant.summaries import Kept, SimplexCells, Summary
from calibrant.summaries.keeping import kept

DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "tv": lambda gap: np.abs(gap).sum(axis=1) / 2,
    "euclidean": lambda gap: np.sqrt((gap * gap).sum(axis=1)),
    "squared-euclidean": lambda gap: (gap * gap).sum(axis=1),
}
"""Distances of two points of the simplex as functions of their differences, one per row."""

DEFAULTS = {"strategy": "width", "norm": "l1", "debias": False, "average": None}


def check_canonical(bins: Any, distance: Any, **others: Any) -> None:
    """Refuse options that belong to notions of one probability per row."""
    for name, value in others.items():
        if value is not DEFAULTS[name] and not (isinstance(value, str) and value == DEFAULTS[name]):
            raise InputError(
                f"notion='canonical' is shaped by bins= and distance= alone; leave {name} out; got {shown(value)}"
            )
    if isinstance(bins, str):
        raise InputError(
            f"bins={bins!r} is for one probability per row; with notion='canonical' bins must be a whole number "
            "or MedianVariance(minsize, maxbins)"
        )
    if bins is MedianVariance:
        raise InputError("bins is the class MedianVariance itself; write MedianVariance(), with brackets")
    if not isinstance(bins, MedianVariance):
        check_bins(bins, "width")
    if not callable(distance):
        check_choice("distance", distance, *DISTANCES)


def summarise_canonical(rows: Binary | Classes, bins: int | MedianVariance) -> Summary:
    """Return cells of width bins, or all rows where the bins depend on all of them."""
    return kept(rows) if isinstance(bins, MedianVariance) else SimplexCells.of(rows, int(bins))


def canonical_error(summary: Summary, bins: int | MedianVariance, distance: Any) -> float:
    """Return Σ_c f_c d(mean prediction, class frequencies) over cells, f_c the share of the weight."""
    cells = _median_variance_cells(summary, bins) if isinstance(bins, MedianVariance) else _width_cells(summary, bins)
    share = cells.w / cells.w.sum()
    return float((share * _distances(cells, distance)).sum())


def _width_cells(summary: Summary, bins: int) -> CellSums:
    if not isinstance(summary, SimplexCells) or summary.bins != bins:
        held = f"{summary.bins} bins" if isinstance(summary, SimplexCells) else type(summary).__name__
        raise SummaryError(
            f"notion='canonical' with bins={bins} needs cells of these bins; this summary holds {held}. "
            f"Make it with summarize('ece', y, prediction, notion='canonical', bins={bins})"
        )
    return summary.sums


def _median_variance_cells(summary: Summary, bins: MedianVariance) -> CellSums:
    if not isinstance(summary, Kept):
        raise SummaryError(
            f"bins={bins} needs all rows; this summary is of kind {type(summary).__name__}. "
            f"Make it with summarize('ece', y, prediction, notion='canonical', bins={bins})"
        )
    if summary.n < bins.minsize:
        raise InputError(
            f"bins of at least {bins.minsize} rows need at least that many; got {summary.n}. "
            f"Use MedianVariance(minsize={summary.n}) or fewer"
        )
    # Two columns are judged by the second, as one probability per row is: rounding of the first decides nothing.
    P = two_columns(summary.P[:, 1]) if summary.K == 2 else summary.P
    place = median_variance_bins(P, bins.minsize, bins.maxbins)
    return sums_by_cell(place, int(place.max()) + 1, summary.y, P, summary.w)


def _distances(cells: CellSums, distance: Any) -> FloatArray:
    w = cells.w[:, None]
    if isinstance(distance, str):
        return DISTANCES[distance]((cells.wy - cells.wp) / w)
    means, frequencies = cells.wp / w, cells.wy / w
    return np.array([_called(distance, p, q) for p, q in zip(means, frequencies, strict=True)])


def _called(distance: Callable[[FloatArray, FloatArray], Any], p: FloatArray, q: FloatArray) -> float:
    d = np.asarray(distance(p, q))
    if d.ndim or d.dtype.kind not in "iuf" or not 0 <= d < np.inf:
        raise InputError(
            "distance must return one finite number of at least 0 for a mean prediction and class frequencies; "
            f"got {shown(d.item() if not d.ndim else d)} for {shown(p.tolist())} and {shown(q.tolist())}"
        )
    return float(d)
