"""Counts of integer ranks per group of rows: for whatever asks whether all groups are predicted alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs.containers import as_array
from calibrant.inputs.row_labels import Label, RowLabels, label_order, read_row_labels
from calibrant.inputs.weights import FloatArray, read_weights, take_weights
from calibrant.primitives.ranked import Ranked
from calibrant.summaries.ranks import Ranks
from calibrant.summaries.with_ranks import WithRanks


@dataclass(frozen=True, eq=False, repr=False)
class GroupedRanks(WithRanks):
    """One `Ranks` for each group of rows, in the order of the labels; groups of two batches are joined by label.

    Examples
    --------
    >>> summary = GroupedRanks.of([0, 3, 1, 3], M=3, groups=["b", "a", "b", "a"])
    >>> summary.labels, summary.parts[0].counts[:, 0]
    (('a', 'b'), array([0, 0, 0, 2]))
    """

    labels: tuple[Label, ...]  # ascending
    tied: NDArray[np.int64]  # (C,), ranks that chance has decided, in all groups together

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.labels) != len(self.parts) or len(set(self.labels)) != len(self.labels):
            raise SummaryError("GroupedRanks must have one label per part, all different")
        if self.parts and (self.tied.shape != (self.parts[0].C,) or ((self.tied < 0) | (self.tied > self.n)).any()):
            raise SummaryError("the ties of GroupedRanks must be counts of its rows, one per column")
        for part in self.parts:
            part + self.parts[0]  # which refuses what does not fit together

    @classmethod
    def of(cls, ranks: Any, M: int, groups: Any, *, names: Any = None, weights: Any = None) -> Self:
        """Count ranks 0 to M, (n,) or (n, C), in each group; `ranks`, `M`, `names`, `weights` as in `Ranks.of`."""
        whole = Ranks.of(ranks, M, names=names, weights=weights)
        rank = as_array(ranks, name="ranks").astype(np.int64)
        w = read_weights(weights, len(rank))
        keep = None if (w > 0).all() else w > 0
        labels = read_row_labels(groups, int(np.count_nonzero(w)), keep=keep)
        rank, w = (rank, w) if keep is None else (rank[keep], w[keep])
        return cls.of_ranked(Ranked(rank, whole.M, whole.names, whole.tied), w, labels)

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray, labels: RowLabels) -> Self:
        """Count ranks that are known to be legal."""
        order = np.argsort(labels.code, kind="stable")
        ends = np.cumsum(np.bincount(labels.code, minlength=len(labels.values)))[:-1]
        none = np.zeros_like(found.tied)
        parts = tuple(
            Ranks.of_ranked(found._replace(rank=found.rank[rows], tied=none), take_weights(w, rows))
            for rows in np.split(order, ends)
        )
        return cls(parts, labels.values, found.tied)

    @classmethod
    def zero(cls) -> Self:
        """Return no groups."""
        return cls((), (), np.zeros(0, np.int64))

    def merged(self, other: Self) -> Self:
        """Add up group by group."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        found = dict(zip(self.labels, self.parts, strict=True))
        for label, part in zip(other.labels, other.parts, strict=True):
            found[label] = found[label] + part if label in found else part
        labels = list(found)
        labels = [labels[k] for k in label_order(labels)]
        return type(self)(tuple(found[label] for label in labels), tuple(labels), self.tied + other.tied)
