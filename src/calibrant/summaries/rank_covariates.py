"""How ranks vary with what predictions were made from: means and co-moments that merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant.errors import InputError, SummaryError
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.legendre import legendre
from calibrant.primitives.ranked import Ranked
from calibrant.summaries.kept_ranks import KeptRanks
from calibrant.summaries.ranks import Ranks
from calibrant.summaries.with_ranks import WithRanks

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
