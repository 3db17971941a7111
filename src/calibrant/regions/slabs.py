"""Coverage in the slab of the features where it is lowest."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from numbers import Integral, Real
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Rng
from calibrant.core.catalogue import public
from calibrant.core.pool import tie_ends
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, as_array, read_numbers, refuse_not_finite
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.kinds import read
from calibrant.inputs.options import as_number, check_count, generator
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.inputs.sets import Sets


@public
def worst_slab_coverage(
    y: ArrayLike,
    prediction: Intervals | Sets,
    *,
    features: ArrayLike,
    mass: float = 0.1,
    directions: int | ArrayLike = 1000,
    search: float | ArrayLike | None = 0.25,
    standardize: bool = True,
    weights: None = None,
    classes: Labels | None = None,
    rng: Rng | None = None,
) -> float | FloatArray:
    r"""Coverage of the rows between two parallel planes in the space of the features, placed where it is worst.

    For a direction v a slab is :math:`\{i : a \le v'x_i \le b\}`. The one with the lowest coverage, over all directions
    and all slabs with at least a share `mass` of the rows, is searched for on some rows, and its coverage on the other
    rows is returned (WSC).

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`: `Intervals` or `Sets`.
    features
        Numbers of shape (n, D) that define the slabs.
    mass
        Smallest share of the search rows in a slab, in (0, 1].
    directions
        How many directions: the D axes, then random ones up to this number; or an array (M, D) of directions. With one
        feature there is one direction.
    search
        Share of the rows, drawn at random, on which the slab is searched; or a mask of these rows, True and False. None
        searches on all rows and measures coverage on the same ones, which is biased low.
    standardize
        Whether features are centred and divided by their standard deviation first.
    weights
        Refused: slabs are defined by counts of rows.
    rng
        A Generator or a whole number; needed wherever rows or directions are drawn at random.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Examples
    --------
    Rows 1 and 2 are next to each other, and neither is covered:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], 0.9)
    >>> y, x = [0.5, 2.0, 2.0, 0.5], [[0.0], [1.0], [2.0], [3.0]]
    >>> worst_slab_coverage(y, forecast, features=x, mass=0.75, search=None)
    0.3333333333333333
    """
    found = worst_slabs(y, prediction, features, mass, directions, search, standardize, weights, classes, rng)
    values = [finding.hits / finding.rows for finding in found]
    return values[0] if prediction.single else np.array(values)


class SlabFinding(NamedTuple):
    """The worst slab of one level: where it was found, and how many of the evaluation rows in it are covered."""

    slab: Slab  # of the search rows
    direction: FloatArray
    hits: int  # among the evaluation rows
    rows: int


def worst_slabs(
    y: ArrayLike,
    prediction: Intervals | Sets,
    features: ArrayLike,
    mass: float,
    directions: int | ArrayLike,
    search: float | ArrayLike | None,
    standardize: bool,
    weights: None,
    classes: Labels | None,
    rng: Rng | None,
) -> list[SlabFinding]:
    if weights is not None:
        raise NotApplicableError(
            "worst_slab_coverage takes no weights: slabs and their coverage are defined by counts of rows"
        )
    rows = read(
        "worst_slab_coverage", ("intervals", "sets"), y, prediction, weights=None, classes=classes, pos_label=None
    )
    covered = cast(IntervalRows | SetRows, rows).covered
    X = _read_features(features, rows.n)
    chosen = _read_search(search, rows.n)
    V, drawn = _read_directions(directions, X.shape[1])
    if rng is None and (isinstance(chosen, int) or drawn):
        what = "the rows on which the slab is searched" if isinstance(chosen, int) else "directions"
        raise InputError(
            f"worst_slab_coverage draws {what} at random; pass rng=0, or any other whole number or Generator, to "
            "make the value reproducible"
        )
    random = generator(0 if rng is None else rng)  # without rng nothing is drawn
    # The order of the rows must not matter, so rows and directions are drawn for rows sorted by their values.
    order = np.lexsort([*covered.T, *X.T])
    X, covered = X[order], covered[order]
    if standardize:
        X = _standardized(X)
    if isinstance(chosen, int):
        inside = np.zeros(rows.n, dtype=bool)
        inside[random.permutation(rows.n)[:chosen]] = True
    else:
        inside = np.ones(rows.n, dtype=bool) if chosen is None else chosen[order]
    outside = inside if chosen is None else ~inside
    if drawn:
        more = random.standard_normal((drawn, X.shape[1]))
        V = np.concatenate([V, more / np.sqrt((more * more).sum(axis=1, keepdims=True))])
    if not np.isfinite(float(np.abs(V).max()) * float(np.abs(X).max()) * X.shape[1]):
        raise InputError("features and directions are too large for their products; pass standardize=True")
    share, searched = as_number(mass), int(inside.sum())
    if not 0 < share <= 1:
        raise InputError(f"mass must be a share of the rows, above 0 and at most 1, such as 0.1; got {shown(mass)}")
    least = max(1, ceil(round(share * searched, 9)))  # 0.1 · 30 is 3.0000000000000004
    return [
        _evaluated(worst_slab(X[inside], c[inside], V, least), V, X[outside], c[outside], searched) for c in covered.T
    ]


def _evaluated(slab: Slab, V: FloatArray, X: FloatArray, c: NDArray[np.bool_], searched: int) -> SlabFinding:
    v = V[slab.direction]
    z = projected(X, v)
    within = (slab.low <= z) & (z <= slab.high)
    rows = int(np.count_nonzero(within))
    if rows == 0:
        raise NotApplicableError(
            f"none of the {z.size} evaluation rows lies in the worst slab, which has {slab.rows} of {searched} rows "
            "of the search; use a larger mass, or fewer rows for the search"
        )
    return SlabFinding(slab, v, int(np.count_nonzero(c[within])), rows)


def _read_features(features: Any, n: int) -> FloatArray:
    X = read_numbers(features, "features")
    X = (X[:, None] if X.ndim == 1 else X).astype(np.float64)
    if X.ndim != 2 or X.shape[1] == 0 or len(X) != n:
        raise InputError(f"features must have shape (n, D), one row for each of the {n} outcomes; got shape {X.shape}")
    refuse_not_finite(X, "features", axes=("row", "column"))
    return np.asarray(X + 0.0)


def _read_search(search: Any, n: int) -> int | NDArray[np.bool_] | None:
    """Return how many rows are drawn, or which ones are taken, or None for all."""
    if search is None:
        return None
    if isinstance(search, Real) and not isinstance(search, bool | np.bool_):
        share = as_number(search)
        if not 0 < share < 1:
            raise InputError(f"search must be a share of the rows strictly between 0 and 1; got {shown(search)}")
        if n < 2:
            raise NotApplicableError("one row cannot be split into search and evaluation rows; pass search=None")
        return min(max(round(share * n), 1), n - 1)
    mask = None if np.ndim(search) == 0 else as_array(search, name="search")
    if mask is None or mask.dtype != np.bool_ or mask.shape != (n,):
        given = shown(search) if mask is None else f"an array of shape {mask.shape} of type {mask.dtype}"
        raise InputError(f"search must be a share of the rows, or True and False for each of the {n} rows; got {given}")
    if mask.all() or not mask.any():
        raise InputError("search must leave rows on both sides: some to search (True) and some to evaluate (False)")
    return mask


def _read_directions(directions: Any, D: int) -> tuple[FloatArray, int]:
    """Return the directions that are known, and how many more are to be drawn."""
    if np.ndim(directions) == 0 and (isinstance(directions, Integral | Real) or directions is None):
        M = check_count("directions", directions)
        return np.eye(D), max(0, M - D) if D > 1 else 0
    V = read_numbers(directions, "directions").astype(np.float64)
    if V.ndim != 2 or V.shape[1] != D or len(V) == 0:
        raise InputError(f"directions must be a number, or an array (M, {D}) for {D} features; got shape {V.shape}")
    refuse_not_finite(V, "directions", axes=("row", "column"))
    zero = ~V.any(axis=1)
    if zero.any():
        raise InputError(f"directions must not be zero; row {int(np.argmax(zero))} is. Leave it out")
    return V, 0


def _standardized(X: FloatArray) -> FloatArray:
    X = X / np.maximum(np.abs(X).max(axis=0), np.finfo(np.float64).tiny)  # keeps squares in range
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    constant = X.max(axis=0) == X.min(axis=0)
    return np.asarray(np.where(constant, 0.0, X / np.where(constant, 1.0, spread)))


class Slab(NamedTuple):
    """The rows with low <= v'x <= high; `hits` of its `rows` are covered."""

    direction: int  # which v
    low: float
    high: float
    hits: int
    rows: int


def projected(features: FloatArray, v: FloatArray) -> FloatArray:
    """Return v'x of each row, the same number for equal rows: a product of matrices may round them differently."""
    total = np.zeros(len(features))
    for column, factor in zip(features.T, v, strict=True):
        if factor != 0:
            total += factor * column
    return total


def worst_slab(features: FloatArray, covered: NDArray[np.bool_], directions: Iterable[FloatArray], least: int) -> Slab:
    """Return the slab of lowest coverage over all directions and all slabs of at least so many rows.

    Rows of equal projection stay together. Of slabs of equal coverage the one with most rows is returned, then
    that of the first direction, then the lowest.
    """
    worst: Slab | None = None
    for number, v in enumerate(directions):
        found = _along(number, projected(features, v), covered, least, worst)
        if found is None:
            continue
        if worst is None or (found.hits * worst.rows, -found.rows) < (worst.hits * found.rows, -worst.rows):
            worst = found
    assert worst is not None  # there is a direction
    return worst


def _along(number: int, z: FloatArray, covered: NDArray[np.bool_], least: int, known: Slab | None) -> Slab | None:
    """Return the worst slab along one direction, None if it is no better than a known one.

    Slabs are runs of different projections i < .. <= j, with C_j - C_i hits among R_j - R_i rows (C, R: counts up to a
    projection). With the coverage p/q of some slab, a run that minimises G_j - G_i, G = q C - p R, has a lower one if
    the minimum is below 0, and none has if it is 0: then ties are settled.
    """
    order = np.argsort(z)
    z = z[order]
    last = np.flatnonzero(tie_ends(z))
    C = np.concatenate([[0], np.cumsum(covered[order])[last]])
    R = np.concatenate([[0], last + 1])
    j = np.searchsorted(R, least)  # the first end
    ends = np.arange(j, R.size)
    latest = np.searchsorted(R, R[j:] - least, side="right") - 1  # start of a run that ends there
    p, q = (known.hits, known.rows) if known else (int(C[-1]), int(R[-1]))
    while True:
        G = q * C - p * R
        highest = np.maximum.accumulate(G)
        value = G[j:] - highest[latest]
        at = int(np.argmin(value))
        if value[at] >= 0:
            break
        i = int(np.searchsorted(highest, highest[latest[at]]))  # the first start of the highest G
        p, q = int(C[ends[at]] - C[i]), int(R[ends[at]] - R[i])
    if value[at] > 0:
        return None
    end = ends[value == 0]
    start = np.searchsorted(highest, G[end])
    rows = R[end] - R[start]
    best = int(np.argmax(rows))  # the first of the longest is the lowest
    a, b = start[best], end[best]
    return Slab(number, float(z[R[a]]), float(z[R[b] - 1]), int(C[b] - C[a]), int(rows[best]))
