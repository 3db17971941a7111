"""Counts of covered rows (hits) by group and level: the summary of verbs for which row order does not matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Label, RowLabels, label_order, read_row_labels
from calibrant.inputs.options import DIGITS
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows

REGIONS = ("intervals", "sets", "quantiles")  # kinds of prediction, names of `kinds.KINDS`
CoveredRows = IntervalRows | SetRows | QuantileRows
RowGroups: TypeAlias = ArrayLike | Labels
"""Labels of rows, one per row."""


def not_nested(rows: CoveredRows) -> NDArray[np.bool_]:
    """Tell in which rows the prediction at some level does not lie within that at the next higher level."""
    levels = rows.prediction.levels
    order = [] if levels is None else np.argsort(levels).tolist()
    nested = np.ones(rows.n, dtype=bool)
    for inner, outer in pairwise(order):
        nested &= rows.is_nested(inner, outer)
    return ~nested


ALL = "all"  # the one group of all rows
SUMS = ("count", "w", "w2", "hits", "wc", "w2c", "inside")


@dataclass(frozen=True, eq=False, repr=False)
class HitTable(Summary):
    """One entry per group and level, group by group: rows, hits c, and the sums of w, w², wc, w²c.

    `inside` is Σw over the hits that do not lie on an edge: y < q of quantiles, lower < y < upper of intervals, and all
    hits of sets. `nested` tells whether every row's prediction at a level lies within those at higher levels.
    """

    kind: str  # of the prediction, such as "Intervals"; "": no rows yet
    levels: FloatArray  # (L,), in the given order; NaN without a nominal level
    single: bool  # one level, given as a number
    rows: int
    weight: float
    weight_max: float
    nested: bool
    grouped: bool  # labels of rows were given
    group: tuple[Label, ...]  # (R,)
    level: NDArray[np.int64]  # (R,), places in `levels`
    count: NDArray[np.int64]  # (R,), as are all that follow
    w: FloatArray
    w2: FloatArray
    hits: NDArray[np.int64]
    wc: FloatArray
    w2c: FloatArray
    inside: FloatArray

    @classmethod
    def of(cls, rows: CoveredRows, labels: RowLabels | None = None) -> Self:
        """Count the hits of these rows in each group; without labels all rows are one group."""
        prediction, covered, w = rows.prediction, rows.covered, np.asarray(rows.w)
        L = covered.shape[1]
        groups = (ALL,) if labels is None else labels.values
        G = len(groups)
        inside = rows.inside

        def total(values: NDArray[Any]) -> NDArray[Any]:
            return np.array([values.sum()]) if labels is None else np.bincount(labels.code, values, minlength=G)

        def sums(k: int) -> list[NDArray[Any]]:
            hit = w * covered[:, k]
            count, hits = (total(column).astype(np.int64) for column in (np.ones(rows.n), covered[:, k]))
            return [count, total(w), total(w * w), hits, total(hit), total(w * hit), total(w * inside[:, k])]

        return cls(
            type(prediction).__name__,
            np.full(L, np.nan) if prediction.levels is None else prediction.levels,
            prediction.single,
            rows.n,
            float(w.sum()),
            float(w.max()),
            not not_nested(rows).any(),
            labels is not None,
            tuple(group for group in groups for _ in range(L)),
            np.tile(np.arange(L, dtype=np.int64), G),
            *(np.stack(column, axis=1).ravel() for column in zip(*map(sums, range(L)), strict=True)),
        )

    def merged(self, other: Self) -> Self:
        same = self.kind == other.kind and self.single == other.single
        if not same or not np.array_equal(self.levels.round(DIGITS), other.levels.round(DIGITS), equal_nan=True):
            raise SummaryError(
                f"hits of {self.kind} at {self.levels.tolist()} do not merge with hits of {other.kind} "
                f"at {other.levels.tolist()}"
            )
        if self.grouped != other.grouped:
            raise SummaryError("make both summaries of hits with groups=, or both without: they do not merge")
        groups = list(dict.fromkeys([*self.group, *other.group]))
        groups = [groups[k] for k in label_order(groups)]
        L = self.levels.size
        place = {group: L * k for k, group in enumerate(groups)}

        def total(mine: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
            column = np.zeros(L * len(groups), dtype=mine.dtype)
            for table, part in ((self, mine), (other, added)):
                column[[place[g] + k for g, k in zip(table.group, table.level.tolist(), strict=True)]] += part
            return column

        sums: dict[str, Any] = {name: total(getattr(self, name), getattr(other, name)) for name in SUMS}
        return replace(
            self,
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            weight_max=max(self.weight_max, other.weight_max),
            nested=self.nested and other.nested,
            group=tuple(group for group in groups for _ in range(L)),
            level=np.tile(np.arange(L, dtype=np.int64), len(groups)),
            **sums,
        )

    @property
    def n(self) -> int:
        return self.rows

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.asarray(self.count[self.level == 0])

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have one weight, up to rounding."""
        return bool(np.isclose(self.weight, self.weight_max * self.rows, rtol=1e-12, atol=0))

    @property
    def hits_inside(self) -> NDArray[np.int64]:
        """Number of hits of each entry that do not lie on an edge; of unequal weights about so many."""
        share = np.divide(self.inside, self.wc, out=np.zeros(self.wc.shape), where=self.wc > 0)
        return np.rint(share * self.hits).astype(np.int64)

    @property
    def nominal(self) -> FloatArray:
        """The nominal level of each entry."""
        return np.asarray(self.levels[self.level])

    @property
    def coverage(self) -> FloatArray:
        """Σwc/Σw of each entry, NaN without rows."""
        return np.asarray(np.divide(self.wc, self.w, out=np.full(self.w.shape, np.nan), where=self.w > 0))


def hits_of(rows: CoveredRows, options: Any) -> HitTable:
    groups = getattr(options, "groups", None)
    labels = None if groups is None else read_row_labels(groups, rows.n, keep=rows.keep)
    return HitTable.of(rows, labels)


def check_testable(verb: str, table: HitTable) -> None:
    if not table.has_equal_weights:
        raise InputError(
            f"{verb} refuses unequal weights: the exact distribution of hits has no weighted form; leave weights out"
        )
    if np.isnan(table.levels).any():
        raise InputError(f"{verb} compares with a nominal level, which these sets do not have; pass Sets(mask, level)")


def check_one_level(verb: str, L: int) -> None:
    if L > 1:
        raise InputError(
            f"{verb} tests one level at a time; got {L}. Choose one with prediction.at(level), or test all of "
            "them with coverage_test or regions.multinomial_coverage_test"
        )
