"""Likely mistakes of the user, which an audit asks about before it judges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.evidence import Note, note
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Classes

MIN_ROWS_ASKED = 10
SURE = 5.0  # standard errors by which the other reading must fit better
MAX_CLASSES_MATCHED = 500


def questions_on_event(summary: Ordered) -> list[Note]:
    """Ask whether these are labels, or probabilities of the other outcome."""
    if summary.n < MIN_ROWS_ASKED:
        return []
    if bool(((summary.score == 0) | (summary.score == 1)).all()):
        return [note("labels?", n=summary.n)]
    brier = difference = variance = 0.0
    for p, w, rows, events in summary.pool.pieces():
        misses = rows - events
        brier += float((w * (events * (1 - p) ** 2 + misses * p**2)).sum())
        # Brier score of p less that of 1 - p, row by row: (1 - 2p) for an event, 2p - 1 for none.
        difference += float((w * (events - misses) * (1 - 2 * p)).sum())
        variance += float((w**2 * rows * (1 - 2 * p) ** 2).sum())
    if difference <= SURE * math.sqrt(variance):
        return []
    other = (brier - difference) / summary.total_weight
    brier /= summary.total_weight
    return [note("other outcome?", brier=brier, other=other)]


def questions_on_classes(rows: Classes, names: tuple[str, ...]) -> list[Note]:
    """Ask whether these are labels, or columns in another order than the classes."""
    from scipy.optimize import linear_sum_assignment

    if rows.n < MIN_ROWS_ASKED:
        return []
    if bool((rows.P.max(axis=1) == 1).all()):
        return [note("class labels?", n=rows.n)]
    if rows.K > MAX_CLASSES_MATCHED:
        return []
    of_label = np.zeros((rows.K, rows.K))
    np.add.at(of_label, rows.y, rows.w[:, None] * rows.P)
    column = linear_sum_assignment(of_label, maximize=True)[1]
    moved = np.flatnonzero((column != np.arange(rows.K)) & (of_label.sum(axis=1) > 0))
    if moved.size == 0 or not _fits_better(rows, column):
        return []
    k = int(moved[0])
    return [note("column order?", a=names[k], b=names[int(column[k])], moved=moved.size, K=rows.K)]


def _fits_better(rows: Classes, column: FloatArray) -> bool:
    """Tell whether the probability of what happened is clearly higher if classes are matched with these columns."""
    every = np.arange(rows.n)
    d = rows.w * (rows.P[every, column[rows.y]].astype(np.float64) - rows.P[every, rows.y])
    return bool(d.sum() > SURE * np.sqrt((d**2).sum()))


MIN_SHARE_IN_BLOCKS = 0.1  # of the pairs of neighbouring rows, beyond what chance gives
DEVIATIONS = 6.0  # beyond what chance gives
SORTED_TURNS = 0.1  # of the runs: random order turns at two thirds of them


def questions_on_dependence(p: NDArray[np.floating[Any]]) -> list[Note]:
    """Ask whether rows depend on each other, if scores repeat in neighbouring rows more than chance explains."""
    share = _share_in_blocks(p)
    return [] if share is None else [note("clusters?", share=share)]


def _share_in_blocks(p: NDArray[np.floating[Any]]) -> float | None:
    """Return the share of rows with the score of the row before; None if chance or a sorted order explains it.

    >>> _share_in_blocks(np.repeat([0.2, 0.7, 0.4, 0.3, 0.9, 0.6], 4)), _share_in_blocks(np.repeat([0.2, 0.7, 0.9], 8))
    (0.782608695652174, None)
    """
    n = p.size
    if n < 2 * MIN_ROWS_ASKED:
        return None
    same = int(np.count_nonzero(p[1:] == p[:-1]))
    count = np.unique(p, return_counts=True)[1].astype(np.float64)
    expected = float((count * (count - 1)).sum()) / n
    if same - expected < max(MIN_SHARE_IN_BLOCKS * n, DEVIATIONS * math.sqrt(expected + 1)):
        return None
    rising = np.diff(p[np.append(True, p[1:] != p[:-1])]) > 0  # from one block to the next
    if np.count_nonzero(rising[1:] != rising[:-1]) < SORTED_TURNS * rising.size:
        return None
    return same / (n - 1)
