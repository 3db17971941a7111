"""Integer ranks of outcomes among what was predicted for them, and orthonormal polynomials of ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import bin_of, width_edges
from calibrant.core.dispatch import on_threads, takes_fast_body
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows

Counts = NDArray[np.int64]
JUDGED = ("samples", "distributions", "quantiles", "cdf")
Forecast: TypeAlias = Distribution | Quantiles | CdfValues
"""What has a rank or a cell for the outcome of each row; `Samples` are a `Distribution`."""

BLOCK = 1 << 18  # draws that are compared at a time: they and the comparisons stay in the cache
POLYNOMIALS = 4
PASS_RNG = "pass rng=, a numpy Generator or a whole number"
CELLS = 1000  # of [0, 1], in which the values of a distribution function are counted


def rank_counts(y: FloatArray, draws: NDArray[Any], dtype: np.dtype[Any]) -> tuple[Counts, Counts]:
    """Return #{draws < y} and #{draws = y} of each row, (n,) for draws (n, M) and (n, D) for (n, M, D).

    Both are compared as `dtype`, the coarser of their types, so a number and its rounding are equal.
    """
    n, M = draws.shape[:2]
    points = as_compared(y, dtype).reshape(n, -1)
    members = draws.reshape(n, M, -1)
    less, equal = np.empty((2, *points.shape), np.int64)
    count = reference_counts
    if takes_fast_body(draws.size):
        from calibrant.ranking.loops import compiled_counts as count

    def work(part: slice) -> None:
        count(points[part], as_compared(members[part], dtype), less[part], equal[part])

    for _ in on_threads(work, n, size=max(1, BLOCK // max(1, members[:1].size))):
        pass
    return less.reshape(y.shape), equal.reshape(y.shape)


def as_compared(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values rounded to `dtype`, infinite beyond its range; float16 as float32, which compiled code knows.

    >>> as_compared(np.array([0.1, 1e6]), np.dtype(np.float16))
    array([0.09997559,        inf], dtype=float32)
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype, copy=False)
    return rounded.astype(np.float32) if dtype == np.float16 else rounded


def reference_counts(points: NDArray[Any], members: NDArray[Any], less: Counts, equal: Counts) -> None:
    less[...] = np.count_nonzero(members < points[:, None], axis=1)
    equal[...] = np.count_nonzero(members == points[:, None], axis=1)


def counts_among(z: NDArray[Any]) -> tuple[Counts, Counts]:
    """Return how many members of each row lie below each of them, and how many others equal it, along the last axis.

    >>> counts_among(np.array([7.0, 5.0, 7.0, 9.0]))
    (array([1, 0, 1, 3]), array([1, 0, 1, 0]))
    """
    order = np.argsort(z, axis=-1)
    ascending = np.take_along_axis(z, order, axis=-1)
    place, first, last = np.arange(z.shape[-1]), np.ones(z.shape, bool), np.ones(z.shape, bool)  # of equal members
    last[..., :-1] = first[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    starts = np.maximum.accumulate(np.where(first, place, 0), axis=-1)
    ends = np.minimum.accumulate(np.where(last, place, z.shape[-1])[..., ::-1], axis=-1)[..., ::-1]
    less, equal = np.empty((2, *z.shape), np.int64)
    np.put_along_axis(less, order, starts, axis=-1)
    np.put_along_axis(equal, order, ends - starts, axis=-1)
    return less, equal


class Ranked(NamedTuple):
    """Ranks 0 to M: one column, (n,), or several, (n, C).

    `names` are the names of the columns. `tied` is the number of rows of each column whose rank was drawn at random.
    `cells` says that the ranks are cells of values in [0, 1], `outward` that high ranks are outlying outcomes.
    """

    rank: NDArray[np.int64]
    M: int
    names: tuple[str, ...]  # (C,); ("",) for one column without a name
    tied: NDArray[np.int64]  # (C,)
    cells: bool = False
    outward: bool = False


def ranked(
    less: Counts,
    equal: Counts,
    rng: Any,
    *,
    M: int,
    names: tuple[str, ...] | None = None,
    what: str = "the outcome equals draws",
) -> Ranked:
    """Return less + U with U uniform on the whole numbers 0 to equal: uniform on 0 to M if all members are alike.

    Without `rng` ties are an error, which says `what` is tied, and how often.
    """
    ties = equal > 0
    tied = np.atleast_1d(np.count_nonzero(ties, axis=0)).astype(np.int64)
    rank = less.astype(np.int64, copy=True)
    if ties.any():
        if rng is None:
            words = f"{what} in {int(tied.sum()):,} of {less.size:,} ranks, and its place among them is drawn at random"
            raise InputError(f"{words}; {PASS_RNG}")
        rank[ties] += generator(rng).integers(0, equal[ties], endpoint=True)
    return Ranked(rank, M, names or column_names(rank), tied)


def column_names(rank: NDArray[Any]) -> tuple[str, ...]:
    """Return the numbers of the columns as their names; one column without an axis has no name."""
    return ("",) if rank.ndim == 1 else tuple(str(d) for d in range(rank.shape[1]))


Bounds = tuple[FloatArray, FloatArray]


def pit_bounds(rows: DistributionRows | QuantileRows | CdfRows) -> Bounds:
    """Return the ends of [F(y-), F(y)], each (n,), or (n, D) for outcomes that are vectors.

    They are the same where F has no jump at y. If the predictions are right, a value drawn evenly between them is
    uniform on [0, 1]. Draws give [#{x < y}, #{x <= y} + 1] / (M + 1): the outcome is one more draw. Quantiles give the
    cell of their levels, 0 and 1 added, that contains y.
    """
    if isinstance(rows, CdfRows):
        return rows.prediction.below, rows.prediction.at
    if isinstance(rows, QuantileRows):
        return _of_quantiles(rows)
    if rows.samples is not None:
        less, equal = rank_counts(rows.y, rows.samples.held, rows.dtype)
        counts = rows.samples.counts
        m = 1 + (rows.samples.M if counts is None else counts.reshape(-1, *(1,) * (less.ndim - 1)))
        return less / m, (less + equal + 1) / m
    return rows.distribution.cdf_bounds(rows.y)


def _of_quantiles(rows: QuantileRows) -> Bounds:
    levels = np.concatenate(([0.0], rows.prediction.levels, [1.0]))
    less, at_most = np.zeros((2, rows.n), dtype=np.intp)
    for column in rows.prediction.values.T:
        less += column < rows.y
        at_most += column <= rows.y
    # An outcome equal to a quantile belongs to the cells below it, of all tied quantiles.
    return levels[less], levels[np.where(at_most > less, at_most, at_most + 1)]


def marginal_ranks(rows: DistributionRows | QuantileRows | CdfRows, rng: Any) -> Ranked:
    """Return the ranks among draws; of other predictions the cell of F(y) among 1000, which is a rank with M = 999."""
    if rng is not None:
        generator(rng)  # refuses what is not a generator, even where none is needed
    rows, rng = equal_rows(rows, rng)
    if rows.samples is not None:
        less, equal = rank_counts(rows.y, rows.samples.held, rows.dtype)
        return ranked(less, equal, rng, M=rows.samples.M, names=rows.names)
    low, high = pit_bounds(rows)
    wide = high > low
    if not wide.any():
        return cells(high, np.zeros(high.shape, bool), rows.names)
    if rng is None:
        words = f"the distribution function jumps at the outcome in {np.count_nonzero(wide):,} of {wide.size:,} values"
        raise InputError(f"{words}, and a value between its ends is drawn at random; {PASS_RNG}")
    return cells(low + generator(rng).random(low.shape) * (high - low), wide, rows.names)


RowsT = TypeVar("RowsT", DistributionRows, DistributionRows | QuantileRows | CdfRows)


def equal_rows(rows: RowsT, rng: Any, draws: int | None = None) -> tuple[RowsT, Any]:
    """Return rows with one number of draws each, and the random stream for what comes next.

    Rows with unequal numbers keep as many random draws as the shortest has, or `draws` of them. Given its rank among
    all M draws, the rank of the outcome among M₀ of them is hypergeometric, so uniform ranks stay uniform on 0 to M₀.
    """
    samples = rows.samples
    if samples is None:
        if draws is not None:
            raise InputError("draws= chooses among the draws of Samples; leave it out for other predictions")
        return rows, rng
    draws = None if draws is None else check_count("draws", draws)
    if samples.counts is None and draws in (None, samples.M):
        return rows, rng
    if rng is None:
        why = f"draws={draws}" if samples.counts is None else "the rows have unequal numbers of draws, so some of them"
        raise InputError(f"{why} are chosen at random; {PASS_RNG}")
    stream = generator(rng)
    return replace(cast(Any, rows), distribution=samples.thin(draws, rng=stream)), stream


def cells(u: FloatArray, drawn: Any, names: tuple[str, ...] | None = None) -> Ranked:
    """Return values of [0, 1] as ranks with M = 999: their cells of width 1/1000, right-closed, 0 in the first.

    `drawn` says which of them were drawn at random, `names` what the columns are called.
    """
    rank = bin_of(u.ravel(), width_edges(CELLS)).reshape(u.shape).astype(np.int64)
    tied = np.atleast_1d(np.count_nonzero(drawn, axis=0)).astype(np.int64)
    return Ranked(rank, CELLS - 1, names or column_names(rank), tied, cells=True)


def legendre(M: int) -> FloatArray:
    r"""Return φ_1 to φ_4 (fewer if M < 4) at the ranks 0 to M: shape (degrees, M + 1).

    Discrete Legendre polynomials of x = r - M/2, positive at r = M. If the rank is uniform each has mean 0 and variance
    1 exactly, and they are uncorrelated. The first sees a shift, the second spread, the third skewness, the fourth
    tails.
    """
    m = M + 1
    x = np.arange(m) - M / 2
    s = x * x
    q = float(m) ** 2
    third, fourth = x * (s - (3 * q - 7) / 20), s * s - s * (3 * q - 13) / 14 + 3 * (q - 1) * (q - 9) / 560
    found = np.stack([x, s - (q - 1) / 12, third, fourth])[: min(POLYNOMIALS, M)]
    return np.asarray(found / np.sqrt(np.mean(found * found, axis=1, keepdims=True)))


def shrinkage(M: int) -> FloatArray:
    r"""Return what finitely many draws leave of the components of a rank, (K,).

    A rank among M draws is Binomial(M, u) given the value u of the predicted distribution function, and

    .. math:: \mathrm{E}[\varphi_k(r) \mid u] = \rho_k \sqrt{2k + 1}\, P_k(2u - 1), \qquad
              \rho_k^2 = \prod_{i=1}^k \frac{M - i + 1}{M + i + 1}

    with the Legendre polynomial P_k: 0.97 for the spread among 99 draws, 0.74 among 9.
    """
    i = np.arange(1, min(POLYNOMIALS, M) + 1)
    return np.asarray(np.sqrt(np.cumprod((M - i + 1) / (M + i + 1))))
