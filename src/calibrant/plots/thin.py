"""Fewer points that look the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def kept(columns: Mapping[str, Any], x: str, heights: Sequence[str], most: int) -> NDArray[np.intp]:
    """Return the places of at most `most` points, in their order, between which nothing visible is lost.

    The range of `x` is cut into stretches of equal width, and of each stretch the first and the last point stay, and
    the lowest and the highest of every column of `heights` (Jugel et al. 2014, "M4"): drawn at one pixel per stretch, a
    line through them covers the pixels that the whole line covers. The extremes of the whole always stay.

    >>> line = {"x": np.arange(1000), "y": np.where(np.arange(1000) == 617, 5.0, 0.0)}
    >>> places = kept(line, "x", ["y"], most=40)
    >>> len(places) <= 40, 617 in places
    (True, True)
    """
    position = np.asarray(columns[x], dtype=np.float64)
    if len(position) <= most:
        return np.arange(len(position))
    fewest = max(1, most // (2 + 2 * len(heights)))  # stretches that fit whatever the line does
    stretches = max(fewest, most // 2)
    while True:
        found = _extremes(columns, position, heights, stretches)
        if len(found) <= most or stretches == fewest:
            return found
        stretches = max(fewest, int(0.95 * stretches * most / len(found)))


def _extremes(
    columns: Mapping[str, Any], position: NDArray[np.float64], heights: Sequence[str], stretches: int
) -> NDArray[np.intp]:
    inner = np.linspace(position[0], position[-1], stretches + 1)[1:-1]
    ends = [0, *np.searchsorted(position, inner, side="right").tolist(), len(position)]
    found: set[int] = set()
    for start, stop in pairwise(ends):
        if start < stop:
            found |= {start, stop - 1}
            for name in heights:
                part = np.asarray(columns[name][start:stop], dtype=np.float64)
                found |= {
                    start + int(np.where(np.isnan(part), np.inf, part).argmin()),
                    start + int(np.where(np.isnan(part), -np.inf, part).argmax()),
                }
    return np.array(sorted(found))
