"""What predictions were made from: one value, vector or array per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, as_array, read_numbers, refuse_where
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import Counts, Ranked, as_compared, marginal_ranks
from calibrant.ranking.effects import legendre, own_stream
from calibrant.ranking.summary import Ranks, WithRanks


def read_covariates(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the covariates of the n rows that stayed at the boundary, read-only and otherwise as they came.

    `keep` marks which of the caller's rows these are.
    """
    array = as_array(covariates, name="covariates")
    _check_rows(array, n, keep)
    found: NDArray[Any] = array.view() if keep is None else array[keep]
    found.flags.writeable = False
    return found


def covariate_columns(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> FloatArray:
    """Return covariates as finite numbers (n, q).

    >>> covariate_columns([1, 2, 3], 2, np.array([True, False, True]))
    array([[1.],
           [3.]])
    """
    array = read_numbers(covariates, "covariates")
    _check_rows(array, n, keep)
    if array.ndim > 2 or array.size == 0:
        raise InputError(f"covariates must have shape (n,) or (n, q), numbers for each row; got shape {array.shape}")
    with np.errstate(over="ignore"):
        columns = array.reshape(len(array), -1).astype(np.float64)
    bad = ~np.isfinite(columns) if keep is None else ~np.isfinite(columns) & keep[:, None]
    refuse_where(bad, columns, "covariates must be finite", "Drop or repair such rows", axes=("row", "column"))
    return columns if keep is None else columns[keep]


def _check_rows(array: NDArray[Any], n: int, keep: NDArray[np.bool_] | None) -> None:
    expected = n if keep is None else keep.size
    if array.ndim == 0 or len(array) != expected:
        raise InputError(
            f"covariates must have one value or vector per row: expected {expected} rows, got shape {array.shape}. "
            "Take outcomes, predictions and covariates from the same table"
        )


@dataclass(frozen=True, eq=False, repr=False)
class KeptRanks(WithRanks):
    """Counts of ranks, the ranks (n, C) of each row and its covariates x (n, q). It grows with the rows."""

    rank: NDArray[np.int64]
    x: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts and (self.rank.shape != (self.n, self.parts[0].C) or len(self.x) != self.n or self.x.ndim != 2):
            raise SummaryError("the columns of KeptRanks must belong to the same rows")
        if not self.fits or (self.parts and ((self.rank < 0) | (self.rank > self.parts[0].M)).any()):
            raise SummaryError("the ranks of KeptRanks must lie between 0 and M")
        if not np.isfinite(self.x).all():
            raise SummaryError("the covariates of KeptRanks must be finite")

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @classmethod
    def of(cls, ranks: Any, M: int, covariates: Any, *, names: Any = None) -> Self:
        """Keep ranks 0 to M, (n,) or (n, C), and covariates, (n,) or (n, q), of the same rows."""
        counted = Ranks.of(ranks, M, names=names)
        rank = as_array(ranks, name="ranks").astype(np.int64)
        return cls((counted,), rank.reshape(counted.n, -1), covariate_columns(covariates, counted.n, None))

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray, x: FloatArray) -> Self:
        """Keep ranks and covariates (n, q) that are known to be legal."""
        return cls((Ranks.of_ranked(found, w),), found.rank.reshape(len(found.rank), -1), x)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no covariates."""
        return cls((), np.zeros((0, 0), np.int64), np.zeros((0, 0)))

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        q, theirs = self.x.shape[1], other.x.shape[1]
        if q != theirs:
            raise SummaryError(f"ranks with {q} covariates do not merge with ranks with {theirs}")
        ranks = self.parts[0] + other.parts[0]
        return type(self)((ranks,), np.concatenate([self.rank, other.rank]), np.concatenate([self.x, other.x]))

    def ordered(self) -> tuple[NDArray[np.int64], FloatArray]:
        """Return ranks and covariates in an order that depends on their values alone."""
        order = np.lexsort((*self.rank.T, *self.x.T))
        return self.rank[order], self.x[order]


DEGREES = 2  # a shift and a spread that depend on covariates


@dataclass(frozen=True, eq=False, repr=False)
class RankCovariates(WithRanks):
    """Counts of ranks; means of q covariates x; Σ(x - x̄)(x - x̄)' and Σ(x - x̄) φ_k(r), k = 1, 2, per column of ranks.

    Merged by Chan's formula, which subtracts no large numbers. All rows count alike.
    """

    mean: FloatArray  # (q,)
    spread: FloatArray  # (q, q)
    cross: FloatArray  # (q, K, C)

    def __post_init__(self) -> None:
        super().__post_init__()
        q = self.mean.size
        if self.spread.shape != (q, q) or (self.parts and self.cross.shape != (q, *_mean_phi(self.parts[0]).shape)):
            raise SummaryError("the moments of RankCovariates do not fit together")
        finite = all(np.isfinite(moment).all() for moment in (self.mean, self.spread, self.cross))
        if not self.fits or not finite or (np.diagonal(self.spread) < 0).any():
            raise SummaryError("the moments of RankCovariates must be finite; divide covariates by their largest value")

    @classmethod
    def of(cls, ranks: Any, M: int, covariates: Any, *, names: Any = None) -> Self:
        """Read ranks 0 to M, (n,) or (n, C), and covariates, (n,) or (n, q), of the same rows."""
        kept = KeptRanks.of(ranks, M, covariates, names=names)
        return cls._of_columns(kept.ranks, kept.rank, kept.x)

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray, x: FloatArray) -> Self:
        """Take ranks and covariates (n, q) that are known to be legal."""
        return cls._of_columns(Ranks.of_ranked(found, w), found.rank.reshape(len(found.rank), -1), x)

    @classmethod
    def _of_columns(cls, ranks: Ranks, rank: Any, x: FloatArray) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):
            mean = x.mean(axis=0)
            step = x - mean
            step -= step.mean(axis=0)  # what was lost when the mean was rounded
            spread = step.T @ step
            cross = np.tensordot(step, legendre(ranks.M)[:DEGREES][:, rank], axes=(0, 1))
        if not (np.isfinite(spread).all() and np.isfinite(cross).all()):
            raise InputError("covariates are too large for their squares; divide them by their largest value")
        return cls((ranks,), mean, spread, cross)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no covariates."""
        return cls((), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0, 0)))

    def merged(self, other: Self) -> Self:
        """Return the moments of the rows of both."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        if self.mean.size != other.mean.size:
            raise SummaryError(f"ranks with {self.mean.size} covariates do not merge with ranks with {other.mean.size}")
        ranks = self.parts[0] + other.parts[0]
        step, factor = other.mean - self.mean, self.n * other.n / ranks.n
        step_phi = _mean_phi(other.parts[0]) - _mean_phi(self.parts[0])
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves float64 is refused
            return type(self)(
                (ranks,),
                self.mean + step * (other.n / ranks.n),
                self.spread + other.spread + factor * np.multiply.outer(step, step),
                self.cross + other.cross + factor * np.multiply.outer(step, step_phi),
            )


def _mean_phi(ranks: Ranks) -> FloatArray:
    """Return the mean of φ_k(r) over rows, (K, C)."""
    return np.asarray(legendre(ranks.M)[:DEGREES] @ ranks.counts / ranks.n)


BLOCK = 1 << 22  # ranks that are looked at together


def exchanged_counts(rows: DistributionRows, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return B tables of counts (B, M + 1, C): of ranks, if a random member of each row were its outcome.

    If outcomes are calibrated, outcome and draws are exchangeable, and the table of the outcomes is one more such
    table: whatever is computed of it has the law of the same computed of these, however the columns depend on each
    other. Ties are broken at random, anew in each table.

    >>> from calibrant.inputs.rows import read_outcomes
    >>> rows = read_outcomes([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    >>> exchanged_counts(rows, 5, np.random.default_rng(0)).sum(axis=1)[:, 0]
    array([2, 2, 2, 2, 2])
    """
    distribution = rows.distribution
    assert isinstance(distribution, Samples)  # whoever calls has checked it
    m, y = distribution.M + 1, rows.y.reshape(rows.n, -1)
    C = y.shape[1]
    tables = np.zeros((C, resamples * m), np.int64)
    offset = np.arange(resamples) * m
    for part in chunks(rows.n, max(1, BLOCK // max(resamples, m * C))):
        less, equal = member_counts(y[part], distribution.held[part].reshape(-1, distribution.M, C), rows.dtype)
        chosen = rng.integers(m, size=(len(less), resamples))
        for c in range(C):
            rank = np.take_along_axis(less[:, c], chosen, axis=1)
            ties = np.take_along_axis(equal[:, c], chosen, axis=1)
            if ties.any():
                rank += rng.integers(0, ties, endpoint=True)
            tables[c] += np.bincount((rank + offset).ravel(), minlength=tables.shape[1])
    return np.ascontiguousarray(tables.reshape(C, resamples, m).transpose(1, 2, 0))


def member_counts(y: NDArray[Any], draws: NDArray[Any], dtype: np.dtype[Any]) -> tuple[Counts, Counts]:
    """Return how many other members lie below each member and how many equal it, (n, C, M + 1), the outcome first.

    >>> less, equal = member_counts(np.array([[2.0]]), np.array([[[1.0], [2.0], [5.0]]]), np.dtype(np.float64))
    >>> less[0, 0], equal[0, 0]
    (array([1, 0, 1, 3]), array([1, 0, 1, 0]))
    """
    z = np.concatenate([as_compared(y[:, None], dtype), as_compared(draws, dtype)], axis=1).transpose(0, 2, 1)
    order = np.argsort(z, axis=2)
    ascending = np.take_along_axis(z, order, axis=2)
    place = np.arange(z.shape[2])
    first = np.ones(z.shape, bool)  # of a run of equal members
    first[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    last = np.ones(z.shape, bool)
    last[..., :-1] = first[..., 1:]
    starts = np.maximum.accumulate(np.where(first, place, 0), axis=2)
    ends = np.minimum.accumulate(np.where(last, place, z.shape[2])[..., ::-1], axis=2)[..., ::-1]
    less, equal = np.empty((2, *z.shape), np.int64)
    np.put_along_axis(less, order, starts, axis=2)
    np.put_along_axis(equal, order, ends - starts, axis=2)
    return less, equal


MOST = 1 << 28  # counts, two gigabytes


@dataclass(frozen=True, eq=False, repr=False)
class ExchangedRanks(WithRanks):
    """Counts of ranks, and B tables of the same size in which another member of each row stands for the outcome.

    Replicates of two batches add up one by one. They must have come from different chance: batches made with the same
    whole number as `rng` would take the same members, so that they are refused.
    """

    tables: NDArray[np.int64]  # (B, M + 1, C)
    streams: tuple[int, ...]  # a number that each batch has drawn, by which the same chance is recognised

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.fits and not (self.parts and self.tables.shape[1:] != self.parts[0].counts.shape)
        if not fits or (self.tables < 0).any() or (self.tables.sum(axis=1) != self.n).any():
            raise SummaryError("the tables of ExchangedRanks do not fit together")

    @classmethod
    def of(cls, rows: DistributionRows, resamples: int, rng: object) -> Self:
        """Rank the outcomes of `Samples`, and `resamples` times a random member of each row."""
        own = Ranks.of_ranked(marginal_ranks(rows, rng), rows.w)
        if own.counts.size * resamples > MOST:
            raise InputError(
                f'multiplicity="exchange" would hold {resamples:,} tables of {own.M + 1:,} ranks in {own.C:,} columns; '
                f"at most {MOST:,} counts are held. Pass fewer resamples or fewer columns"
            )
        chance = own_stream(rng)
        stream = int(chance.integers(1 << 62))
        return cls((own,), exchanged_counts(rows, resamples, chance), (stream,))

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no replicates."""
        return cls((), np.zeros((0, 0, 0), np.int64), ())

    def merged(self, other: Self) -> Self:
        """Add up table by table."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        ranks = self.parts[0] + other.parts[0]
        if not ranks.has_equal_weights:
            raise SummaryError("exchanged ranks of different weights do not merge: their tables count rows alike")
        if len(self.tables) != len(other.tables):
            raise SummaryError(
                f"{len(self.tables):,} exchanged tables do not merge with {len(other.tables):,}; "
                "make both summaries with the same resamples"
            )
        if set(self.streams) & set(other.streams):
            raise SummaryError(
                "two batches were exchanged by the same chance, which makes replicates of their sum too far apart. "
                "Pass one numpy Generator as rng to all batches, or a different number to each"
            )
        return type(self)((ranks,), self.tables + other.tables, (*self.streams, *other.streams))
