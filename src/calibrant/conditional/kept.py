"""Rows of any kind of prediction with what was known of each: what tests of regions need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.kept_rows import KeptRows, table_of
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray, as_array, read_weights
from calibrant.inputs.covariates import Covariates, read_covariate_table
from calibrant.inputs.kinds import AnyRows
from calibrant.ranking.counting import Ranked, pit_bounds
from calibrant.ranking.summary import Ranks

NO_CLUSTERS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class KeptCovariates(Summary):
    """The rows, or the ranks of draws, beside the covariates and the cluster of each; memory grows with the rows.

    Make one of any ranks, such as those of a quantity of your own, with `KeptCovariates.of_ranks`.

    Examples
    --------
    >>> from calibrant import conditional_test, summarize
    >>> summarize(conditional_test, [0, 1], [0.2, 0.6], covariates=[1.5, 2.0])
    KeptCovariates(n=2)
    >>> KeptCovariates.of_ranks([0, 3, 1], M=3, covariates=[0.5, 1.0, 2.0])
    KeptCovariates(n=3)
    """

    grows = True

    kept: tuple[KeptRows | Ranks, ...]  # the rows, or the counts of their ranks; none if there are no rows yet
    rank: NDArray[np.int64]  # (n, C); without columns if rows are kept
    w: FloatArray
    x: FloatArray  # (n, q), numbers, or codes of categories
    labels: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    clusters: NDArray[np.int64]  # (n,), or none

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.kept) > 1 or not all(isinstance(kept, (KeptRows, Ranks)) for kept in self.kept):
            raise SummaryError("KeptCovariates must have one KeptRows or one Ranks")
        for kept in self.kept:
            C, M = (kept.C, kept.M) if isinstance(kept, Ranks) else (0, 0)
            shapes = (kept.n, C), (kept.n, len(self.names)), (kept.n,)
            same = (self.rank.shape, self.x.shape, self.w.shape) == shapes and self.clusters.size in (0, kept.n)
            if not same or len(self.labels) != len(self.names):
                raise SummaryError("the columns of KeptCovariates must belong to the same rows and covariates")
            if ((self.rank < 0) | (self.rank > M)).any():
                raise SummaryError("the ranks of KeptCovariates must lie between 0 and M")
            self.covariates.check_codes("KeptCovariates")

    @property
    def n(self) -> int:
        return self.kept[0].n if self.kept else 0

    @property
    def covariates(self) -> Covariates:
        """The covariates of the rows."""
        return Covariates(self.x, self.labels, self.names)

    @classmethod
    def of(cls, rows: AnyRows, covariates: Covariates, clusters: NDArray[Any] | None = None) -> Self:
        """Keep a copy of these rows."""
        kept = KeptRows.of(rows)
        return cls._made(kept, np.zeros((rows.n, 0), np.int64), kept.rows.w, covariates, clusters)

    @classmethod
    def of_ranks(
        cls, ranks: ArrayLike, M: int, covariates: Any, *, names: Any = None, weights: ArrayLike | None = None
    ) -> Self:
        """Keep ranks 0 to M, (n,) or (n, C), with the covariates and weights of the same rows."""
        counts = Ranks.of(ranks, M, names=names, weights=weights)
        rank = as_array(ranks, name="ranks").astype(np.int64)
        w = read_weights(weights, len(rank))
        keep = None if (w > 0).all() else w > 0
        used = slice(None) if keep is None else keep
        return cls._made(counts, rank[used], w[used], read_covariate_table(covariates, counts.n, keep))

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray, covariates: Covariates) -> Self:
        """Keep ranks and covariates that are known to be legal."""
        return cls._made(Ranks.of_ranked(found, w), found.rank, w, covariates)

    @classmethod
    def _made(
        cls, kept: KeptRows | Ranks, rank: NDArray[Any], w: FloatArray, known: Covariates, clusters: Any = None
    ) -> Self:
        clusters = NO_CLUSTERS if clusters is None else np.asarray(clusters, np.int64)
        w, x = np.ascontiguousarray(w, np.float64), np.ascontiguousarray(known.x)
        return cls((kept,), rank.reshape(kept.n, -1), w, x, known.labels, known.names, clusters)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        labels = tuple(tuple(map(str, known)) for known in values.get("labels", ()))
        return super()._checked({**values, "labels": labels, "names": tuple(map(str, values.get("names", ())))})

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other; categories are matched by their labels."""
        if self.clusters.size or other.clusters.size:
            raise SummaryError("rows with clusters do not merge: a cluster may have rows in several parts")
        known, kept = self.covariates.joined(other.covariates), self.kept[0] + other.kept[0]
        return self._made(kept, np.concatenate([self.rank, other.rank]), np.concatenate([self.w, other.w]), known)

    def order(self) -> NDArray[np.intp]:
        """Return an order of the rows that depends on their values alone."""
        (kept,) = self.kept
        columns = self.rank if isinstance(kept, Ranks) else _columns(kept.rows)
        return np.lexsort((self.w, *self.clusters[None][: self.clusters.size], *columns.T, *self.x.T))


def _columns(rows: Any) -> FloatArray:
    """Return outcomes and predictions as columns (n, k)."""
    if rows.kind in ("distributions", "cdf"):
        predictions = [bound.reshape(rows.n, -1) for bound in pit_bounds(rows)]
    else:
        predictions = [table_of(rows.prediction)[1]]
    return np.concatenate([np.asarray(rows.y, np.float64).reshape(rows.n, -1), *predictions], axis=1)
