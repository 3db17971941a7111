"""Folds: which rows a map is fitted on, and which rows it is judged by.

No row is predicted by a map that was fitted on it, on a row of its cluster, or on a later row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.groups import read_row_labels, read_times
from calibrant.inputs.options import check_count

Numbers = NDArray[np.intp]
INNER_FOLDS = 5  # where the caller's fold labels leave one label, which cannot be divided
MAX_INNER_FOLDS = 10  # inside a training part; with as many as outer folds, fits would grow with their square


class Fold(NamedTuple):
    """The rows that a map is fitted on, and those that it predicts."""

    train: Numbers
    test: Numbers


@dataclass(frozen=True, eq=False)
class Dealing:
    """How rows are dealt to folds: at random, by whole clusters, in time order, or as the caller did."""

    n: int
    folds: int = 5  # with `time` the number of blocks that are predicted, by the blocks before them
    clusters: Numbers | None = None  # the number of each row's cluster
    time: Numbers | None = None  # the number of each row's time, in ascending order
    labels: Numbers | None = None  # the number of each row's fold, if the caller gave them

    @property
    def is_random(self) -> bool:
        """Whether another partition of the rows would be as good: not where each row or cluster is a fold."""
        units = self.n if self.clusters is None else int(self.clusters.max()) + 1
        return self.time is None and self.labels is None and self.folds < units

    def take(self, rows: Numbers) -> Dealing:
        clusters, time, labels = (
            None if codes is None else np.unique(codes[rows], return_inverse=True)[1].astype(np.intp)
            for codes in (self.clusters, self.time, self.labels)
        )
        if labels is not None:
            labels = labels % MAX_INNER_FOLDS if labels.max(initial=0) > 0 else None
        parts = INNER_FOLDS if self.labels is not None else min(self.folds, MAX_INNER_FOLDS)
        units = [len(rows)] + [int(codes.max(initial=-1)) + 1 for codes in (clusters, time) if codes is not None]
        return Dealing(len(rows), max(1, min(parts, *units)), clusters, time, labels)

    def partition(self, rng: np.random.Generator) -> Sequence[Fold]:
        if self.time is not None:
            return self._blocks()
        if self.labels is not None:
            return _of_labels(self.labels)
        if self.clusters is None:
            return _of_labels(_dealt(self.n, self.folds, rng))
        return _of_labels(_dealt(int(self.clusters.max()) + 1, self.folds, rng)[self.clusters])

    def _blocks(self) -> Sequence[Fold]:
        """Return each block of rows in time order, but the first, with all rows of earlier blocks.

        Equal times are in one block. A cluster belongs to the block of its first row; its rows in later blocks are left
        out.
        """
        assert self.time is not None
        order = np.argsort(self.time, kind="stable")
        first = np.searchsorted(self.time[order], self.time)  # in time order, the place of the first row of that time
        block = first * (self.folds + 1) // self.n
        if self.clusters is not None:
            earliest = np.full(int(self.clusters.max()) + 1, self.folds + 1)
            np.minimum.at(earliest, self.clusters, block)
            block = np.where(block == earliest[self.clusters], block, -1)
        used = np.unique(block[block >= 0])
        return [Fold(np.flatnonzero((block >= 0) & (block < k)), np.flatnonzero(block == k)) for k in used[1:]]


def _dealt(n: int, folds: int, rng: np.random.Generator) -> Numbers:
    label = np.empty(n, np.intp)
    label[rng.permutation(n)] = np.arange(n) % folds
    return label


def _of_labels(labels: Numbers) -> Sequence[Fold]:
    return [Fold(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in range(int(labels.max()) + 1)]


def read_dealing(
    n: int, folds: Any = 5, *, clusters: Any = None, time: Any = None, keep: NDArray[np.bool_] | None = None
) -> Dealing:
    """Take folds, clusters and times through the boundary; `keep` marks the rows of positive weight, n of them."""
    belongs = None if clusters is None else read_row_labels(clusters, n, name="clusters", keep=keep).code
    when = None if time is None else read_times(time, n, keep=keep)
    if folds is not None and not np.isscalar(folds):  # a label for each row
        rows = np.arange(n) if keep is None else np.flatnonzero(keep)
        return _given(read_row_labels(folds, n, name="folds", keep=keep).code, belongs, when, rows)
    number = check_count("folds", folds, least=2)
    units, needed, noun = n, number, "rows"
    if belongs is not None:
        units, noun = int(belongs.max()) + 1, "clusters"
    if when is not None:
        units, needed, noun = int(when.max()) + 1, number + 1, "different times"
    if units < needed:
        why = ", whose first block is predicted by none" if when is not None else ""
        raise InputError(
            f"{{folds=value}} needs at least {needed} {noun}{why}; got {units}. Use fewer folds or more {noun}",
            option="folds",
            value=number,
        )
    found = Dealing(n, number, belongs, when)
    if when is not None and not found.partition(np.random.default_rng(0)):
        raise InputError("time leaves no block that is predicted by an earlier one; clusters or equal times fill one")
    return found


def _given(labels: Numbers, clusters: Numbers | None, time: Numbers | None, rows: Numbers) -> Dealing:
    """Return the caller's own folds; refuse folds that divide a cluster. `rows` are the caller's row numbers."""
    number = int(labels.max()) + 1
    if time is not None:
        raise InputError("folds is a number where time is given, which decides what each block is predicted by")
    if number < 2:
        raise InputError("folds must have at least two different labels; got one", option="folds")
    if clusters is not None:
        different = np.unique(np.stack([clusters, labels]), axis=1)
        divided = np.bincount(different[0])[clusters] > 1
        if divided.any():
            raise InputError(
                "folds must not divide a cluster: {row} and other rows of its cluster have different folds. Leave "
                "folds out to deal whole clusters",
                row=int(rows[np.argmax(divided)]),
                option="folds",
            )
    return Dealing(len(labels), number, clusters, None, labels)
