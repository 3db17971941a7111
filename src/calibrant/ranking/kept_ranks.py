"""Ranks and covariates of each row, kept: for tests that permute ranks against covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, as_array, read_weights
from calibrant.inputs.covariates import Covariates, read_covariate_table
from calibrant.ranking.counting import Ranked
from calibrant.ranking.summary import Ranks


@dataclass(frozen=True, eq=False, repr=False)
class KeptRanks(Summary):
    """The ranks (n, C), covariates (n, q) and weight of each row, beside the counts of the ranks.

    Memory grows with the rows. Make one of any ranks, such as those of a quantity of your own, with `KeptRanks.of`.

    Examples
    --------
    >>> KeptRanks.of([0, 3, 1], M=3, covariates=[0.5, 1.0, 2.0])
    KeptRanks(n=3)
    """

    grows = True

    counted: tuple[Ranks, ...]  # one, or none if there are no rows yet
    rank: NDArray[np.int64]
    x: FloatArray  # numbers, or codes of categories
    w: FloatArray
    labels: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.counted) > 1 or not all(isinstance(ranks, Ranks) for ranks in self.counted):
            raise SummaryError("the counts of KeptRanks must be one Ranks")
        for ranks in self.counted:
            shapes = (ranks.n, ranks.C), (ranks.n, len(self.names)), (ranks.n,)
            if (self.rank.shape, self.x.shape, self.w.shape) != shapes or len(self.labels) != len(self.names):
                raise SummaryError("the columns of KeptRanks must belong to the same rows and covariates")
            if ((self.rank < 0) | (self.rank > ranks.M)).any():
                raise SummaryError("the ranks of KeptRanks must lie between 0 and M")
            self.covariates.check_codes("KeptRanks")

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rank)

    @property
    def covariates(self) -> Covariates:
        """The covariates of the rows."""
        return Covariates(self.x, self.labels, self.names)

    @classmethod
    def of(
        cls, ranks: ArrayLike, M: int, covariates: Any, *, names: Any = None, weights: ArrayLike | None = None
    ) -> Self:
        """Keep ranks 0 to M, (n,) or (n, C), with the covariates and weights of the same rows."""
        counted = Ranks.of(ranks, M, names=names, weights=weights)
        rank = as_array(ranks, name="ranks").astype(np.int64)
        w = read_weights(weights, len(rank))
        keep = None if (w > 0).all() else w > 0
        used = slice(None) if keep is None else keep
        return cls._made(counted, rank[used], w[used], read_covariate_table(covariates, counted.n, keep))

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray, covariates: Covariates) -> Self:
        """Keep ranks and covariates that are known to be legal."""
        return cls._made(Ranks.of_ranked(found, w), found.rank, w, covariates)

    @classmethod
    def _made(cls, counted: Ranks, rank: NDArray[np.int64], w: FloatArray, covariates: Covariates) -> Self:
        x, w = np.ascontiguousarray(covariates.x), np.ascontiguousarray(w, np.float64)
        return cls((counted,), rank.reshape(counted.n, -1), x, w, covariates.labels, covariates.names)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no covariates."""
        return cls((), np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros(0), (), ())

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        counted = tuple(Ranks.from_bytes(part) for part in values.get("counted", ()))
        labels = tuple(tuple(str(label) for label in known) for known in values.get("labels", ()))
        names = tuple(str(name) for name in values.get("names", ()))
        return super()._checked({**values, "counted": counted, "labels": labels, "names": names})

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other; categories are matched by their labels."""
        covariates = self.covariates.joined(other.covariates)
        rank, w = np.concatenate([self.rank, other.rank]), np.concatenate([self.w, other.w])
        counted = (self.counted[0] + other.counted[0],)
        return type(self)(counted, rank, covariates.x, w, covariates.labels, covariates.names)

    def order(self) -> NDArray[np.intp]:
        """Return an order of the rows that depends on their values alone."""
        return np.lexsort((self.w, *self.rank.T, *self.x.T))


def needed_covariates(verb: str, covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> Covariates:
    """Return checked covariates; refuse a call without any."""
    if covariates is None:
        raise InputError(
            "{verb} needs {covariates=}, what the predictions were made from", verb=verb, option="covariates"
        )
    return covariates if isinstance(covariates, Covariates) else read_covariate_table(covariates, n, keep)
