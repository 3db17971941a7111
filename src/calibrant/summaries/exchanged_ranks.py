"""Counts of ranks of the outcomes, and of members of their rows taken in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, SummaryError
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.exchange import exchanged_counts
from calibrant.primitives.marginal_ranks import marginal_ranks
from calibrant.primitives.own_stream import own_stream
from calibrant.summaries.ranks import Ranks
from calibrant.summaries.with_ranks import WithRanks

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
    def of(cls, rows: LawRows, resamples: int, rng: object) -> Self:
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
