"""Reading sets of points: arrays (n, d) of data, their column names, and points that occur several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.pvalues import binomial_tails
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, locked, read_numbers, refuse_not_finite
from calibrant.kernels.median import point_order

IntArray = NDArray[np.intp]

MAX_COORDINATE = 1e150  # the square of a larger one is not finite


@dataclass(frozen=True, eq=False)
class PointSets:
    """Two sets of points with the same coordinates: real points y (n, d) and other points (m, d), finite float64."""

    y: FloatArray
    points: FloatArray

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def m(self) -> int:
        return len(self.points)

    @property
    def d(self) -> int:
        return int(self.y.shape[1])

    @property
    def pooled(self) -> FloatArray:
        return np.concatenate([self.y, self.points])


def read_point_sets(y: ArrayLike, points: ArrayLike | None, *, least: int = 2) -> PointSets:
    """Return two sets of points with the same number of coordinates, each of at least `least` points."""
    first, second = read_points(y, "y", least=least), read_points(points, "points", least=least)
    check_names(y, points)
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"y and points must have the same number of columns; got {first.shape[1]} in y and {second.shape[1]} in "
            "points. Take the same coordinates of both, in the same order"
        )
    return PointSets(first, second)


def read_points(values: ArrayLike | None, name: str, *, least: int = 2) -> FloatArray:
    """Return one set of points as a read-only array (n, d) of finite float64 numbers; it may share memory.

    >>> read_points([[1, 2], [3, 4]], "points")
    array([[1., 2.],
           [3., 4.]])
    """
    array = read_numbers(values, name)
    if array.ndim != 2:
        remedy = f"images or sequences pass features, or {name}.reshape(len({name}), -1)"
        remedy = f"points on a line pass {name}[:, None]" if array.ndim < 2 else remedy
        raise InputError(f"{name} must be points (n, d), one row each; got shape {array.shape}. For {remedy}")
    n, d = array.shape
    if d == 0:
        raise InputError(f"{name} must have at least one column; got shape {array.shape}")
    if n < least:
        raise InputError(f"{name} must have at least {least} points; got {n}")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused
        found = np.ascontiguousarray(array, dtype=np.float64).view()  # sums do not depend on the memory layout
    refuse_not_finite(found, name, axes=("row", "column"))
    largest = max(found.max(), -found.min())
    if largest > MAX_COORDINATE:
        raise InputError(
            f"{name} must lie within ±{MAX_COORDINATE:g}, so that squared distances are finite; the largest is "
            f"{largest:.6g}. Give them in other units"
        )
    return locked(found)


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame, an Arrow table or a labelled array; () if they have none.

    Names that a library makes up, 0, 1, ... or column_0, column_1, ..., do not count.

    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"height": [1.8], "weight": [75.0]}))
    ('height', 'weight')
    >>> column_names(pd.DataFrame([[1.8, 75.0]]))
    ()
    """
    package = type(values).__module__.partition(".")[0]
    if package == "pyarrow":  # its `columns` are the values
        given: Any = getattr(getattr(values, "schema", None), "names", ())
    elif package == "xarray":
        last = tuple(values.dims)[-1:]
        given = [label for name in last if name in values.indexes for label in values.indexes[name]]
    else:
        given = getattr(values, "columns", ())
    found = () if callable(given) else tuple(map(str, given))
    numbers = range(len(found))
    made_up = (tuple(map(str, numbers)), tuple(f"column_{k}" for k in numbers))
    return () if found in made_up else found


def check_names(y: object, points: object, name: str = "points") -> None:
    """Refuse data frames whose columns have different names or another order; columns are compared by position."""
    first, second = column_names(y), column_names(points)
    if first == second or len(first) != len(second):  # no names; a different number of columns is refused elsewhere
        return
    if sorted(first) == sorted(second):
        raise InputError(
            f"y and {name} name the same columns in another order: {shown(list(first))} and {shown(list(second))}. "
            f"Put them in one order, for a data frame by {name}[list(y.columns)]"
        )
    j = next(j for j in range(len(first)) if first[j] != second[j])
    raise InputError(
        f"y and {name} name their columns differently: column {j} is {shown(first[j])} in y and {shown(second[j])} in "
        f"{name}. Rename the columns that mean the same, or pass plain arrays, numpy.asarray({name})"
    )


def random_part(points: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
    """Return at most `most` of the points, drawn without replacement, in their order.

    >>> random_part(np.array([[1.0], [2.0], [3.0]]), 2, np.random.default_rng(0)).tolist()
    [[2.0], [3.0]]
    """
    return points if len(points) <= most else points[np.sort(rng.choice(len(points), most, replace=False))]


@dataclass(frozen=True, eq=False)
class Distinct:
    """The u distinct points of a set of N; 0 and -0 are equal."""

    points: FloatArray  # (u, d), each of them once
    count: NDArray[np.int64]  # (u,), how often each of them occurs
    place: IntArray  # (N,), which of them each point of the set is
    order: IntArray  # (u,), the distinct points in the order of `point_order`

    @property
    def rank(self) -> IntArray:
        """How many distinct points come before each point of the set in that order, (N,)."""
        return np.argsort(self.order)[self.place]


def distinct(points: FloatArray) -> Distinct:
    """Return the distinct points of a set; the set itself if no two are equal.

    >>> found = distinct(np.array([[2.0], [1.0], [2.0]]))
    >>> found.points.tolist(), found.count.tolist(), found.place.tolist(), found.order.tolist()
    ([[1.0], [2.0]], [1, 2], [1, 0, 1], [0, 1])
    """
    order = point_order(points)
    ordered, new = points[order], np.ones(len(points), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    if new.all():
        each = np.arange(len(points))
        return Distinct(points, np.ones(len(points), dtype=np.int64), each, order)
    place = np.empty(len(points), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return Distinct(ordered[new], np.bincount(place), place, np.arange(np.count_nonzero(new)))


class Repeated(NamedTuple):
    """Shares of repetitions, from 0 (all different) up."""

    repeated_y: float  # rows that equal an earlier row of their set
    repeated_points: float
    repeated_values_y: float  # single numbers that equal an earlier one in their column: the mean over columns
    repeated_values_points: float
    shared_rows: float  # rows of the points that are also rows of y


def repeated(sets: PointSets) -> Repeated:
    """Return how much of each set repeats itself, and how much of the second repeats the first.

    Numbers are compared exactly; only 0 and -0 are equal. Draws of a continuous distribution repeat nothing, rounded
    draws repeat values, resampled ones repeat rows, and memorised ones share rows with y.

    >>> y, points = np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([[2.0, 6.0], [2.0, 6.0], [2.0, 7.0], [3.0, 8.0]])
    >>> repeated(PointSets(y, points))._asdict()
    {'repeated_y': 0.0, 'repeated_points': 0.25, 'repeated_values_y': 0.0, 'repeated_values_points': 0.375,
     'shared_rows': 0.5}
    """
    place = distinct(sets.pooled).place
    of_y, of_points = place[: sets.n], place[sets.n :]
    return Repeated(
        _repeated(of_y),
        _repeated(of_points),
        float(np.mean([_repeated(column) for column in sets.y.T])),
        float(np.mean([_repeated(column) for column in sets.points.T])),
        float(np.isin(of_points, of_y).mean()),
    )


def _repeated(values: NDArray[np.generic]) -> float:
    return 1 - np.unique(values).size / values.size


MIN_SHARE = 0.01  # of the rows that equal an earlier one: fewer are not called a collapse


class Repeats(NamedTuple):
    """How often the points of one set occur in it."""

    rows: int
    distinct: int
    most: int  # occurrences of the most frequent point
    least: int

    @classmethod
    def of(cls, points: FloatArray) -> Repeats:
        """Count the points of a set; numbers are compared exactly.

        >>> Repeats.of(np.array([[1.0], [1.0], [2.0], [2.0], [3.0]]))
        Repeats(rows=5, distinct=3, most=2, least=1)
        """
        count = distinct(points).count
        return cls(len(points), count.size, int(count.max()), int(count.min()))

    @property
    def extra(self) -> int:
        """Rows that equal an earlier row."""
        return self.rows - self.distinct


def repeats_pvalue(found: Repeats, others: Sequence[Repeats]) -> float:
    r"""Return how often chance gives one set so many of the repetitions of several sets of one distribution.

    Given the number t of repetitions of all sets together, those of this one are Binomial(t, π). Rows that fall on a
    few frequent points repeat in proportion to the rows m of a set, and rows that seldom meet another repeat in
    proportion to its pairs; π is the larger share of the two,

    .. math:: \pi = \max \Bigl( \frac{m}{m + \sum_k n_k}, \frac{m (m - 1)}{m (m - 1) + \sum_k n_k (n_k - 1)} \Bigr),

    so the p-value is conservative for the other kind.

    >>> repeats_pvalue(Repeats(10, 6, 2, 1), [Repeats(10, 10, 1, 1)])  # four repetitions, all in one of two sets
    0.0625
    """
    m, rows = found.rows, [other.rows for other in others]
    pairs, of_others = m * (m - 1), sum(n * (n - 1) for n in rows)
    share = max(m / (m + sum(rows)), pairs / (pairs + of_others) if pairs else 0.0)
    return _at_least(found.extra, found.extra + sum(other.extra for other in others), share)


def is_repetitive(found: Repeats, others: Sequence[Repeats]) -> bool:
    """Return whether more than 1 % of the rows repeat another, and a larger share than in any other set."""
    return found.extra > MIN_SHARE * found.rows and all(
        found.extra * other.rows > other.extra * found.rows for other in others
    )


class Copies(NamedTuple):
    """Generated rows that equal a real row."""

    copied: int
    rows: int  # generated rows
    expected: float  # at most: what the repetitions among the real rows let one expect
    pvalue: float


def copies(sets: PointSets) -> Copies:
    r"""Count the generated rows that equal a real row, and compare with the real rows that equal another one.

    If both sets have one distribution, a generated row meets one of the n real rows about as often as these meet each
    other. With c copies among m rows, and r real rows that equal an earlier one, c given c + r is at most
    Binomial(c + r, m/(m + n/2)): there are nm pairs of both sets, and n(n - 1)/2 pairs of real rows.

    >>> copies(PointSets(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0], [2.0]])))[:2]
    (3, 3)
    """
    found, n, m = distinct(sets.pooled), sets.n, sets.m
    real = np.bincount(found.place[:n], minlength=len(found.points))
    copied = int(np.count_nonzero(real[found.place[n:]]))
    extra = n - int(np.count_nonzero(real))
    share = m / (m + (n - 1) / 2)
    return Copies(copied, m, min(float(m), extra * share / (1 - share)), _at_least(copied, copied + extra, share))


def _at_least(k: int, of: int, share: float) -> float:
    """Return P(K >= k) of K ~ Binomial(of, share); never 0."""
    return max(float(binomial_tails(k, of, share)[1]), float(np.finfo(float).tiny))
