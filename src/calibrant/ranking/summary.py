"""Counts of integer ranks: for whatever asks whether outcomes fall evenly among what was predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, as_array, is_unit, read_weights, take_weights
from calibrant.inputs.groups import Label, RowLabels, label_order, read_row_labels
from calibrant.inputs.options import check_choice, check_count
from calibrant.ranking.counting import Ranked, column_names

MOST_RANK_POINTS = 1000
FEWEST_CELLS = 100


def rank_points(n: int, M: int, *, cells: bool) -> NDArray[np.int64]:
    """Return the j, 0 < j <= M, at which #{rank < j} is compared with its law, Binomial(n, j/(M + 1)).

    All of them up to M = 999, else 999 that are spread evenly. Values of a distribution function have no ranks of
    their own: their 1000 cells are joined to as many as there are rows, at least 100, and a divisor of 1000.

    >>> rank_points(500, 4, cells=False)
    array([1, 2, 3, 4])
    >>> rank_points(240, 999, cells=True).size
    199
    """
    m = M + 1
    if cells:
        K = max(k for k in range(1, m + 1) if m % k == 0 and k <= max(n, FEWEST_CELLS))
        return np.arange(1, K) * (m // K)
    if m <= MOST_RANK_POINTS:
        return np.arange(1, m)
    return np.unique(
        (2 * np.arange(1, MOST_RANK_POINTS) * m + MOST_RANK_POINTS) // (2 * MOST_RANK_POINTS)
    )  # i m/1000, rounded


MOST = 1 << 27  # counts that are held, a gigabyte


@dataclass(frozen=True, eq=False, repr=False)
class Ranks(Summary):
    """How often each rank 0 to M occurs, in one column or several; with weights also Σw and Σw².

    Made of the ranks of a verb by `Ranks.of`, or by ``summarize(energy_ranks, y, samples)``, which also counts ties.
    Curves and tests of ranks take it in place of outcomes and predictions.

    Examples
    --------
    >>> summary = Ranks.of([0, 3, 1, 3], M=3)
    >>> summary.counts[:, 0]
    array([1, 1, 0, 2])
    >>> (summary + summary).n
    8
    """

    counts: NDArray[np.int64]  # (M + 1, C)
    weight: FloatArray  # (M + 1, C), sums of the weights
    weight2: FloatArray  # and of their squares
    names: tuple[str, ...]  # (C,)
    single: bool  # one column, without an axis: results are numbers
    tied: NDArray[np.int64]  # (C,), ranks that chance has decided
    cells: bool  # they are cells of values in [0, 1], not ranks among draws
    outward: bool  # high ranks are outlying outcomes, as those by density or distance, not large ones

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = (self.counts.shape[0], len(self.names))
        if any(table.shape != shape for table in (self.counts, self.weight, self.weight2)):
            raise SummaryError("the tables of Ranks must have one row per rank and one column per name")
        if self.tied.shape != shape[1:] or (self.single and shape[1] != 1):
            raise SummaryError("the columns of Ranks do not fit together")
        self._check_values()

    def _check_values(self) -> None:
        """Refuse counts and weights that no rows have."""
        whole = all(table.dtype == np.int64 and (table >= 0).all() for table in (self.counts, self.tied))
        n = self.counts.sum(axis=0)
        if not whole or (n != n[:1]).any() or (self.tied > n).any() or (self.names and self.M < 1):
            raise SummaryError("Ranks must be whole numbers of the same rows in every column, at least 0, with M >= 1")
        if not all(np.isfinite(table).all() and (table >= 0).all() for table in (self.weight, self.weight2)):
            raise SummaryError("the weights of Ranks must be finite and at least 0")
        if not all(isinstance(name, str) for name in self.names) or len(set(self.names)) != self.C:
            raise SummaryError("the names of Ranks must be different texts")
        flags = (self.single, self.cells, self.outward)
        if type(self.names) is not tuple or not all(type(flag) is bool for flag in flags):
            raise SummaryError("Ranks must have a tuple of names and be told by True or False what they are")

    @classmethod
    def of(cls, ranks: Any, M: int, *, names: Any = None, weights: Any = None, outward: bool = False) -> Self:
        """Count ranks 0 to M, (n,) or (n, C) for C columns.

        Parameters
        ----------
        ranks
            Whole numbers, as `ranks` and its kin return them.
        M
            The number of draws per row: the highest rank there could be, whether it occurs or not.
        names
            Names of the columns.
        weights
            Importance weights of the rows.
        outward
            Whether high ranks mean outlying outcomes, as those of `energy_ranks` and most `joint_ranks` do.
        """
        M = check_count("M", M)
        rank = _read_ranks(ranks, M)
        known = column_names(rank) if names is None else _read_names(names, rank)
        check_choice("outward", outward, False, True)
        found = Ranked(rank, M, known, np.zeros(len(known), np.int64), outward=bool(outward))
        return cls.of_ranked(found, read_weights(weights, len(rank)))

    @classmethod
    def of_ranked(cls, found: Ranked, w: FloatArray) -> Self:
        """Count ranks that are known to be legal."""
        m, columns = found.M + 1, found.rank.reshape(len(found.rank), -1).T
        counts = np.stack([np.bincount(column[w > 0], minlength=m) for column in columns], axis=1).astype(np.int64)
        weight = weight2 = counts.astype(np.float64)
        if not is_unit(w):
            weight, weight2 = (_sums(columns, v, m) for v in (w, w * w))
        return cls(counts, weight, weight2, found.names, found.rank.ndim == 1, found.tied, found.cells, found.outward)

    @classmethod
    def zero(cls) -> Self:
        """Return the counts of no rows."""
        none = np.zeros((0, 0))
        return cls(none.astype(np.int64), none, none, (), False, np.zeros(0, np.int64), False, False)

    def merged(self, other: Self) -> Self:
        """Add up rank by rank."""
        if not self.names or not other.names:
            return other if not self.names else self
        if (self.M, self.cells, self.outward) != (other.M, other.cells, other.outward):
            raise SummaryError(f"{_kind(self)} do not merge with {_kind(other)}")
        if self.names != other.names or self.single != other.single:
            raise SummaryError(f"ranks of {_listed(self)} do not merge with ranks of {_listed(other)}")
        return type(self)(
            self.counts + other.counts,
            self.weight + other.weight,
            self.weight2 + other.weight2,
            self.names,
            self.single,
            self.tied + other.tied,
            self.cells,
            self.outward,
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts[:, 0].sum()) if self.names else 0

    @property
    def M(self) -> int:
        """The highest rank there could be: the number of draws per row."""
        return int(self.counts.shape[0]) - 1

    @property
    def C(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def points(self) -> NDArray[np.int64]:
        """The ranks j at which #{rank < j} is looked at."""
        return rank_points(self.n, self.M, cells=self.cells)

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have one weight, up to rounding."""
        total, squares = self.weight[:, 0].sum(), self.weight2[:, 0].sum()
        return bool(np.isclose(total * total, squares * self.n, rtol=1e-12, atol=0))

    def __repr__(self) -> str:
        columns = "" if self.single else f", {self.C} columns"
        return f"{type(self).__name__}(n={self.n}, M={self.M}{columns})"

    def take(self, columns: Any) -> Self:
        """Return these columns alone, by their places."""
        chosen = np.asarray(columns, dtype=np.intp)
        names = tuple(self.names[c] for c in chosen.tolist())
        weights = (self.weight[:, chosen], self.weight2[:, chosen])
        return type(self)(self.counts[:, chosen], *weights, names, False, self.tied[chosen], self.cells, self.outward)


def _sums(columns: NDArray[np.int64], values: FloatArray, m: int) -> FloatArray:
    return np.stack([np.bincount(column, values, minlength=m) for column in columns], axis=1).astype(np.float64)


def _read_ranks(ranks: Any, M: int) -> NDArray[np.int64]:
    array = as_array(ranks, name="ranks")
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or array.size == 0:
        raise InputError(
            f"ranks must be whole numbers of shape (n,) or (n, C); got shape {array.shape} of type {array.dtype}. "
            "Ranks divided by M are no ranks any more: pass what ranks(y, samples) returns"
        )
    if (M + 1) * (array.size // len(array)) > MOST:
        raise InputError(f"M must be at most {MOST:,} over the number of columns, as each rank is counted; got {M:,}")
    bad = (array < 0) | (array > M)
    if bad.any():
        place = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise InputError(
            f"ranks must lie between 0 and M = {M}; {{row}} is {{value}}. "
            "M is the number of draws per row, not the highest rank seen",
            row=int(place[0]),
            value=array[place],
        )
    return array.astype(np.int64)


def _read_names(names: Any, rank: NDArray[np.int64]) -> tuple[str, ...]:
    C = 1 if rank.ndim == 1 else rank.shape[1]
    found = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)
    if len(found) != C or len(set(found)) != C or not all(isinstance(name, str) for name in found):
        raise InputError(f"names must be {C} different texts, one per column; got {shown(names)}")
    return found


def _kind(ranks: Ranks) -> str:
    among = f"cells of {ranks.M + 1:,}" if ranks.cells else f"ranks among {ranks.M:,} draws"
    return f"outward {among}" if ranks.outward else among


def _listed(ranks: Ranks) -> str:
    return "one column" if ranks.names == ("",) else ", ".join(ranks.names)


@dataclass(frozen=True, eq=False, repr=False)
class WithRanks(Summary):
    """Counts of ranks: of all rows together, or of parts of them."""

    parts: tuple[Ranks, ...]  # none: no rows yet

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(part, Ranks) for part in self.parts):
            raise SummaryError(f"the parts of {type(self).__name__} must be Ranks")

    @property
    def fits(self) -> bool:
        """Whether there is one part, or none: what belongs to all rows belongs to it."""
        return len(self.parts) <= 1

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(part.n for part in self.parts)

    @property
    def ranks(self) -> Ranks:
        """The ranks of all rows."""
        return sum(self.parts, Ranks.zero())

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Ranks.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})


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
