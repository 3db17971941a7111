"""What draws themselves show beside the ranks: dependence, repeats, and outcomes far outside all of them."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.draw_dependence import lag_one
from calibrant.core.findings import Setting
from calibrant.core.pvalues import binomial_tails, holm
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.autocorrelation import autocorrelation_time
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import as_compared, rank_counts
from calibrant.ranking.draw_lags import MIN_ROWS

DEPENDENT_P, DEPENDENT_TAU = 0.001, 1.2  # p-value below which, and τ above which, draws are called dependent
MAX_DRAWS_COMPARED = 150_000  # numbers among draws of evenly spaced rows that are looked at for dependence and repeats
LEAST_REACH = 1 - 1e-9  # M numbers from low to high have a standard deviation of at least (high - low)/√(2 (M - 1))
FAR = 6.0  # standard deviations of the other members beyond which a member is far from all of them


class Far(NamedTuple):
    """Outcomes far outside all draws of their rows."""

    rows: tuple[int, ...]  # their numbers
    ranks: NDArray[np.int64]  # of these rows
    members: int  # outcomes and draws that are far from all others of their row
    pvalue: float  # each of them is the outcome with probability 1/(M + 1) if the outcome is one more draw


class DrawEvidence(NamedTuple):
    """What the draws of one coordinate show."""

    tau: float = 1.0  # successive draws that are worth one; 1 if they are not called dependent
    dependence: float = 1.0  # p-value, adjusted for the number of coordinates
    repeats: float = 1.0  # p-value of so few outcomes that equal a draw, given how many draws do
    far: Far | None = None

    @property
    def dependent(self) -> bool:
        return self.dependence < DEPENDENT_P and self.tau > DEPENDENT_TAU

    @property
    def repeated(self) -> bool:
        return self.repeats < DEPENDENT_P


class RankedDraws(NamedTuple):
    """Rows of draws with the ranks of their outcomes, which words on single rows need beside counts of ranks."""

    y: FloatArray  # (n, D)
    draws: NDArray[Any]  # (n, M, D)
    dtype: np.dtype[Any]  # as which outcomes and draws are compared
    rank: NDArray[np.int64]  # (n, D)
    numbers: NDArray[np.intp]  # (n,), of the rows as the user counts them

    @classmethod
    def of(
        cls, rows: DistributionRows, rank: NDArray[np.int64], numbers: NDArray[np.intp] | None = None
    ) -> RankedDraws | None:
        distribution = rows.samples
        if distribution is None or not distribution.finite or distribution.M < 2:
            return None
        n, D = rows.n, distribution.shape[0] if distribution.shape else 1
        draws = distribution.held.reshape(n, distribution.M, D)
        numbers = row_numbers(rows) if numbers is None else numbers
        return cls(rows.y.reshape(n, D), draws, rows.dtype, rank.reshape(n, D), numbers)


def row_numbers(rows: DistributionRows) -> NDArray[np.intp]:
    """Return the numbers of the rows as the user counts them; rows of weight 0 were dropped."""
    return np.arange(rows.n) if rows.keep is None else np.flatnonzero(rows.keep)


def evidence_of(given: RankedDraws) -> list[DrawEvidence]:
    y, draws, rank = given.y, given.draws, given.rank
    few = slice(None, None, max(1, draws.size // MAX_DRAWS_COMPARED))
    tau, dependence = _dependence(draws[few])
    repeats = _repeats(as_compared(y[few], given.dtype), as_compared(draws[few], given.dtype))
    far = [far_outcomes(y[:, d], draws[:, :, d], rank[:, d], given.numbers) for d in range(y.shape[1])]
    numbers = zip(tau.tolist(), dependence.tolist(), repeats.tolist(), far, strict=True)
    return [DrawEvidence(*found) for found in numbers]


def _dependence(draws: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return τ and p-values, adjusted for the number of coordinates; τ is 1 where the first lag shows nothing."""
    M, D = draws.shape[1:]
    found = lag_one(draws)
    if M < 3 or found.ordered:
        return np.ones(D), np.ones(D)
    known = (found.rows >= MIN_ROWS) & ~np.isnan(found.z)
    adjusted = np.nan_to_num(holm(np.where(known, found.pvalue, np.nan)), nan=1.0)
    return (autocorrelation_time(draws) if adjusted.min() < DEPENDENT_P else np.ones(D)), adjusted


def _repeats(y: NDArray[Any], draws: NDArray[Any]) -> FloatArray:
    r"""Return the p-value of so few outcomes among the members of rows that equal another member, (D,).

    If t_i of the m members of row i, the outcome and its draws, equal another member, the outcome is one of them with
    probability t_i/m, if it is one more draw.
    """
    members = np.sort(np.concatenate([y[:, None], draws], axis=1), axis=1)
    same = members[:, 1:] == members[:, :-1]
    if not same.any():
        return np.ones(y.shape[1])
    padded = np.concatenate([np.zeros_like(same[:, :1]), same, np.zeros_like(same[:, :1])], axis=1)
    tied = (padded[:, 1:] | padded[:, :-1]).sum(axis=1)  # (n, D)
    equal = (draws == y[:, None]).any(axis=1).sum(axis=0)
    return np.array([_few_successes(tied[:, d], members.shape[1], int(equal[d])) for d in range(y.shape[1])])


def _few_successes(tied: NDArray[np.int64], m: int, successes: int) -> float:
    """Return P(S <= successes) of the sum S of independent 0 and 1 with probabilities tied/m."""
    from scipy.stats import binom

    mass = np.ones(1)
    for t, rows in zip(*np.unique(tied, return_counts=True), strict=True):
        part = binom.pmf(np.arange(min(successes, rows) + 1), rows, t / m)
        mass = np.convolve(mass, part)[: successes + 1]
    return min(1.0, float(mass.sum()))


def far_outcomes(y: FloatArray, draws: NDArray[Any], rank: NDArray[np.int64], numbers: NDArray[np.intp]) -> Far | None:
    """Return the outcomes that lie beyond all draws (n, M) of their row by more than 6 of their standard deviations.

    If the outcome is one more draw, each member of a row that is far from all others is the outcome with probability
    1/(M + 1), whatever the tails of the distribution. None if no outcome is far.
    """
    M = draws.shape[1]
    ends = np.flatnonzero((rank == 0) | (rank == M))
    x = draws[ends].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.where(rank[ends] == 0, x.min(axis=1) - y[ends], y[ends] - x.max(axis=1))
        far = ends[(gap > 0) & (gap > FAR * x.std(axis=1, ddof=1))]
    if not far.size:
        return None
    members = far.size + _far_draws(y, draws)
    pvalue = float(binomial_tails(far.size, members, 1 / (M + 1))[1])
    return Far(tuple(numbers[far].tolist()), rank[far], members, pvalue)


def _far_draws(y: FloatArray, draws: NDArray[Any]) -> int:
    """Return how many draws lie beyond all other members of their row by more than 6 standard deviations of these."""
    M = draws.shape[1]
    x = np.partition(np.concatenate([y[:, None], draws.astype(np.float64)], axis=1), (0, 1, M - 1, M), axis=1)
    count = 0
    for last, gap, reach, others in (
        (x[:, -1], x[:, -1] - x[:, -2], x[:, -2] - x[:, 0], x[:, :-1]),
        (x[:, 0], x[:, 1] - x[:, 0], x[:, -1] - x[:, 1], x[:, 1:]),
    ):
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.flatnonzero((gap > 0) & (gap >= LEAST_REACH * FAR * reach / sqrt(2 * (M - 1))))  # <= FAR sd
            far = near[gap[near] > FAR * others[near].std(axis=1, ddof=1)]
        count += int((last[far] != y[far]).sum())
    return count


class Outside(NamedTuple):
    """Outcomes outside all draws: which rows, on which side, how far."""

    rows: tuple[int, ...]
    below: int
    above: int
    distance: float  # median distance beyond the nearest draw, in standard deviations of the draws
    narrower: float  # median standard deviation of these draws over that of the other rows


def outside_of(given: RankedDraws, column: int, chosen: NDArray[np.bool_]) -> Outside:
    draws, y = given.draws[:, :, column].astype(np.float64), given.y[:, column]
    sd = draws.std(axis=1, ddof=1)
    low, high = draws[chosen].min(axis=1), draws[chosen].max(axis=1)
    above = y[chosen] > high
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = float(np.median(np.maximum(low - y[chosen], y[chosen] - high) / sd[chosen]))
        narrower = float(np.median(sd[chosen]) / np.median(sd[~chosen])) if not chosen.all() else 1.0
    rows = tuple(given.numbers[chosen].tolist())
    return Outside(rows, int((~above).sum()), int(above.sum()), distance, narrower)


def in_content_order(rows: DistributionRows, setting: Setting) -> tuple[DistributionRows, Setting, NDArray[np.intp]]:
    """Return rows of draws, and what the setting has of each row, in the order of their content, and this order.

    Where nothing random is drawn by row they are returned as they came.
    """
    x, density, distribution = setting.covariates, setting.log_density_y, cast(Samples, rows.distribution)
    several = bool(distribution.shape) and distribution.shape[0] > 1  # joint ranks have ties
    if not (several or x is not None or rank_counts(rows.y, distribution.held, rows.dtype)[1].any()):
        return rows, setting, np.arange(rows.n)
    order = content_order(rows.y, distribution.held, *(() if x is None else (x.x,)))
    if (order[1:] > order[:-1]).all():
        return rows, setting, order
    moved = replace(
        setting,
        covariates=None if x is None else x.take(order),
        log_density_y=None if density is None else density[order],
    )
    return rows.take(order), moved, order


def content_order(y: NDArray[Any], *others: NDArray[Any]) -> NDArray[np.intp]:
    """Return the order of rows by their outcomes; of rows with equal outcomes by what else they have.

    Rows that differ in nothing may come in any order.
    """
    columns = y.reshape(len(y), -1)
    first = columns[:, 0]
    order = np.argsort(first)
    same = first[order[1:]] == first[order[:-1]]
    if not same.any():
        return order
    tied = np.zeros(len(y), bool)
    tied[order[1:]] = same
    tied[order[:-1]] |= same
    keys = [first, *(_places(other, tied) for other in (columns, *others))]
    return np.lexsort(keys[::-1])  # whose last key is the first that counts


def _places(values: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the places of some rows in the order of their bytes, equal for equal rows; 0 for the others."""
    chosen = np.ascontiguousarray(values[rows].reshape(int(rows.sum()), -1))
    found = np.zeros(len(values), np.intp)
    raw = chosen.view(np.dtype((np.void, chosen.dtype.itemsize * chosen.shape[1])))[:, 0]
    found[rows] = np.unique(raw, return_inverse=True)[1]
    return found
