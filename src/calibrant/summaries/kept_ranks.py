"""Ranks and covariates row by row: for what permutes one against the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs.containers import as_array
from calibrant.inputs.covariates import covariate_columns
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.ranked import Ranked
from calibrant.summaries.ranks import Ranks
from calibrant.summaries.with_ranks import WithRanks


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
