"""Widths that differ by rounding only are one width.

Split-conformal intervals have one width in theory; as differences of two floats their widths differ in the last bits,
and what groups or compares widths would take that noise for information.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray

ROUNDINGS = 4  # of the largest bound: two bounds, each computed from a centre and a radius


def largest_bound(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return max |bound| over the finite bounds of each column, 0 where there is none."""
    largest = np.zeros(lower.shape[1])
    for bounds in (lower, upper):
        for k, column in enumerate(bounds.T):
            low, high = column.min(), column.max()
            if not np.isfinite([low, high]).all():
                finite = column[np.isfinite(column)]
                low, high = finite.min(initial=0.0), finite.max(initial=0.0)
            largest[k] = max(largest[k], -low, high)
    return largest


def tolerance_of(largest: Any, eps: float) -> Any:
    """Return how much tied widths may differ: 4 · eps · max |finite bound|, eps of the dtype the bounds came in."""
    return np.multiply(ROUNDINGS * eps, largest)


def tie_starts(widths: FloatArray, tolerance: float) -> NDArray[np.intp]:
    """Return where each tie begins among ascending widths.

    Walking up, a width belongs to the current tie as long as it exceeds the tie's first member by at most the
    tolerance. Infinite widths are one tie.

    Examples
    --------
    >>> import numpy as np
    >>> tie_starts(np.array([1.0, 1.1, 1.2, 5.0, np.inf, np.inf]), 0.15)  # 1.2 is too far from 1.0
    array([0, 2, 3, 4])
    """
    finite = int(np.searchsorted(widths, np.inf))
    x = widths[:finite]
    with np.errstate(over="ignore"):
        reach = x + tolerance
    apart = np.flatnonzero(x[1:] > reach[:-1]) + 1  # a step this wide always begins a tie
    starts = np.concatenate([[0], apart])[: x.size].astype(np.intp)
    ends = np.append(apart, x.size)[: x.size] - 1
    if (x[ends] > reach[starts]).any():  # a chain of small steps that leads out of its tie
        starts = _walk(x, reach)
    return np.append(starts, finite).astype(np.intp) if finite < widths.size else starts


def _walk(x: FloatArray, reach: FloatArray) -> NDArray[np.intp]:
    """Return where ties begin, going from tie to tie."""
    beyond = np.searchsorted(x, reach, side="right").tolist()
    starts, at = [], 0
    while at < len(beyond):
        starts.append(at)
        at = beyond[at]
    return np.array(starts, dtype=np.intp)
