"""Length scales from the rows: the median heuristic, and quantiles of distances. The one owner of these rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.composed import SCIPY_NAMES, Distance, LineDistance, VectorDistance

MAX_MEDIAN_ROWS = 4096
TILE = 512


def median_rows(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows whose distances are looked at: all, or 4096 drawn without replacement."""
    if n <= MAX_MEDIAN_ROWS:
        return np.arange(n)
    return np.sort(rng.choice(n, MAX_MEDIAN_ROWS, replace=False))


def median_points(Z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the points whose distances are looked at: all, or 4096 drawn whatever the order in which they came."""
    if len(Z) <= MAX_MEDIAN_ROWS:
        return Z
    return Z[point_order(Z)[median_rows(len(Z), rng)]]


def median_lengthscale(
    distance: Distance, rows: NDArray[np.intp], what: str = "the predictions", option: str = "lengthscale"
) -> float:
    """Return the median of the distances over i < j; if that is 0 their mean.

    Equal rows have no scale of their own; the error asks for one by the verb's `option`, or by a kernel that has one.
    """
    if rows.size < 2:
        raise NotApplicableError(f'{option}="median" needs two rows of {what}; got {rows.size}. Give a number')
    d = _upper_triangle(distance, rows)
    scale = float(np.median(d, overwrite_input=True)) or float(d.mean())  # reordered in place: no copy of 8 million
    if not np.isfinite(scale):
        raise NotApplicableError(
            f'{option}="median" finds no scale: distances of {what} are too large for floating point. '
            "Give numbers in other units, or a length scale"
        )
    if not scale > 0:
        own = "a kernel that has one, such as kernel=Exponential(1.0)"
        raise NotApplicableError(
            f"{what} are the same in all {rows.size} rows, so the median of their distances is not a length scale; "
            f"pass {own if option == 'lengthscale' else f'a number, such as {option}=1.0'}"
        )
    return scale


def distance_quantiles(
    distance: Distance, rows: NDArray[np.intp], shares: Sequence[float], what: str = "the predictions"
) -> FloatArray:
    """Return quantiles of the distances over i < j; if one of them is 0, those of the distances above 0.

    Equal rows have no distance above 0, which is an error.

    >>> from calibrant.kernels.composed import LineDistance
    >>> distance_quantiles(LineDistance(np.array([0.0, 1.0, 4.0])), np.arange(3), [0.0, 0.5]).tolist()
    [1.0, 3.0]
    """
    d = _upper_triangle(distance, rows)
    if not np.isfinite(d.max()):
        raise NotApplicableError(
            f"distances of {what} are too large for floating point and give no length scale. "
            "Give numbers in other units"
        )
    found = np.quantile(d, shares)
    if not found.min() > 0:
        if not d.any():
            raise NotApplicableError(f"{what} are the same in all {rows.size} rows and have no length scale")
        found = np.quantile(d[d > 0], shares)
    return np.asarray(found)


def _upper_triangle(distance: Distance, rows: NDArray[np.intp]) -> FloatArray:
    if isinstance(distance, (LineDistance, VectorDistance)):
        from scipy.spatial.distance import pdist

        if isinstance(distance, LineDistance):
            return np.asarray(pdist(distance.x[rows][:, None], "cityblock"))
        d = pdist(distance.X[rows], SCIPY_NAMES[distance.name])
        return np.asarray(d / 2 if distance.name == "tv" else d)
    pieces = []
    for start in range(0, rows.size, TILE):
        for other in range(start, rows.size, TILE):
            tile = distance(rows[start : start + TILE, None], rows[None, other : other + TILE])
            pieces.append(tile[np.triu_indices_from(tile, 1)] if other == start else tile.reshape(-1))
    return np.concatenate(pieces)


def point_order(Z: FloatArray) -> NDArray[np.intp]:
    """Return the rows of points from small to large by their first coordinate, then by the second, and so on.

    Numbers become bytes of the same order, and rows of bytes are sorted at once, however many coordinates there are.

    >>> point_order(np.array([[2.0, 0.0], [-1.0, 5.0], [2.0, -3.0]])).tolist()
    [1, 2, 0]
    """
    bits = np.ascontiguousarray(Z + 0.0).view(np.int64)  # -0 becomes 0
    keys = np.where(bits < 0, ~bits, bits ^ np.iinfo(np.int64).min).astype(">i8")
    return np.argsort(keys.view(np.dtype((np.void, 8 * Z.shape[1])))[:, 0])
