"""Regions of covariates, intervals of one and boxes of two, and the largest charged square over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Alternative
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates

INTERVAL_CELLS, BOX_CELLS = 16, 8
SAME = 1e-9  # share by which sums of the same numbers differ
MIN_REGION_ROWS = 20  # in a region, and outside it where it is compared with the rest
MIN_INFORMATION = 5.0  # about the smaller of expected events and non-events
CHARGE = 6.0  # by which Z² of a box must exceed others, because there are so many


class Axis:
    """The cells of one covariate, and the ranges of cells that count as its regions.

    Cells of numbers have equal mass: edges are the order statistics at ⌈kn/g⌉, equal ones merged, and cells are
    right-closed, so equal values stay together. Every run of neighbouring cells is a range, or without `runs` each cell
    alone. A category is a cell and a range of its own.
    """

    def __init__(self, x: FloatArray, categories: int, g: int, *, runs: bool = True) -> None:
        self.is_category = categories > 0
        if self.is_category:
            self.code, self.cells = x.astype(np.int16), categories
        else:
            ordered = np.sort(x)
            edges = np.unique(ordered[-(-np.arange(1, g) * len(x) // g) - 1])
            self.edges = edges[edges < ordered[-1]]
            above = ordered[np.searchsorted(ordered, self.edges, side="right")]
            self.neighbours = np.stack([self.edges, above], axis=1)  # (cells - 1, 2): values on both sides of each cut
            self.code = np.searchsorted(self.edges, x, side="left").astype(np.int16)
            self.cells = self.edges.size + 1
        longest = self.cells if runs and not self.is_category else 1
        self.ranges = np.array([(a, b) for a in range(self.cells) for b in range(a, min(a + longest, self.cells))])

    @cached_property
    def is_whole(self) -> NDArray[np.bool_]:
        """Which ranges hold all cells."""
        return np.asarray((self.ranges[:, 0] == 0) & (self.ranges[:, 1] == self.cells - 1))

    @cached_property
    def indicator(self) -> FloatArray:
        """Which cells each range holds, (ranges, cells), as 0 and 1."""
        cell = np.arange(self.cells)
        return ((self.ranges[:, [0]] <= cell) & (cell <= self.ranges[:, [1]])).astype(np.float64)

    def rows(self, r: int, x: FloatArray | None = None) -> NDArray[np.bool_]:
        """Return which rows are in a range: those that the cells were cut from, or those with these values."""
        low, high = self.ranges[r]
        code = self.code if x is None else x if self.is_category else np.searchsorted(self.edges, x, side="left")
        return np.asarray((code >= low) & (code <= high))


class Rule(NamedTuple):
    """How sums over a region R become Z, column by column.

    Z = Σ_R wF / √(Σ_R w²v), with at least 20 rows of positive weight and information (Σ_R wv)² / Σ_R w²v of at least 5.
    With `contrast`, for ranks that are permuted, Z = Σ_R F / √(n_R (1 - n_R/n)), with 20 rows inside and outside.
    """

    w: FloatArray  # (n,)
    v: FloatArray  # (n, m)
    contrast: bool = False

    @property
    def n(self) -> int:
        """Number of rows that count."""
        return int(np.count_nonzero(self.w))

    @property
    def measures(self) -> FloatArray:
        """What is summed over regions: 1, wv and w²v of each row, (n, 1 + 2m)."""
        w = self.w[:, None]
        return np.concatenate([w > 0, w * self.v, w * w * self.v], axis=1)

    def scale(self, sums: FloatArray) -> FloatArray:
        """Return what sums of wF are multiplied by, (..., m); 0 for regions that are too small."""
        m = self.v.shape[1]
        count, once, square = sums[..., :1], sums[..., 1 : 1 + m], sums[..., 1 + m :]
        if self.contrast:
            square = count * (1 - count / self.n) + 0 * once
            legal = (count >= MIN_REGION_ROWS) & (self.n - count >= MIN_REGION_ROWS) & (square > 0)
        else:
            legal = (count >= MIN_REGION_ROWS) & (once * once >= (MIN_INFORMATION - SAME) * square) & (square > 0)
        return np.where(legal, 1 / np.sqrt(np.where(legal, square, 1.0)), 0.0)


class CellSums:
    """Sums over the cells of a code: a sparse product of n terms a column."""

    def __init__(self, code: NDArray[Any], cells: int) -> None:
        from scipy.sparse import csr_array

        order = np.argsort(code, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=cells))])
        self.matrix = csr_array((np.ones(len(order)), order, starts), shape=(cells, len(order)))

    def of(self, F: FloatArray) -> FloatArray:
        """Return the sums of F (n, columns), (cells, columns)."""
        return np.asarray(self.matrix @ F)


class Place(NamedTuple):
    """A region: which covariates (none: all rows), which ranges of their cells, and whether it is what these leave."""

    covariates: tuple[int, ...] = ()
    ranges: tuple[int, ...] = ()
    outside: bool = False


class Clearest(NamedTuple):
    """A region with its Z, and the column that it was found in."""

    z: float
    place: Place
    column: int

    @property
    def charge(self) -> float:
        """By how much the square of a box must exceed others."""
        return CHARGE if len(self.place.covariates) == 2 else 0.0

    @property
    def charged(self) -> float:
        """The charged square."""
        return self.z**2 - self.charge


class CovariateIntervals:
    """The intervals of one covariate and, without contrast, what they leave: (sides, ranges)."""

    charge = 0.0

    def __init__(self, j: int, axis: Axis, rule: Rule, *, outside: bool = True) -> None:
        self.j, self.axis, self.sides = j, axis, 2 if outside and not rule.contrast else 1
        self.cells = CellSums(axis.code, axis.cells)
        self.scale = rule.scale(self.sums(rule.measures))

    def sums(self, columns: FloatArray) -> FloatArray:
        """Return sums of columns (n, k) over the regions, (sides, ranges, k)."""
        cells = self.cells.of(columns)
        inside = self.axis.indicator @ cells
        return np.stack([inside, cells.sum(axis=0) - inside][: self.sides])

    def place(self, a: int, b: int) -> Place:
        return Place((self.j,), (b,), a == 1)

    def has_name(self, raw: FloatArray | None) -> NDArray[np.bool_]:
        """Return which regions can be named; all rows are no interval."""
        return ~self.axis.is_whole[:, None]


class CovariateBoxes:
    """The boxes of two covariates, of which neither side is whole: (ranges, ranges)."""

    charge = CHARGE

    def __init__(self, pair: tuple[int, int], axes: tuple[Axis, Axis], rule: Rule) -> None:
        self.pair, self.axes = pair, axes
        self.chosen = [np.flatnonzero(~axis.is_whole) for axis in axes]
        self.indicators = [axis.indicator[chosen] for axis, chosen in zip(axes, self.chosen, strict=True)]
        self.code = axes[0].code * np.int16(axes[1].cells) + axes[1].code  # at most 256; 16 bits are sorted fastest
        sums = self.sums(rule.measures)
        self.scale, self.count = rule.scale(sums), sums[..., :1]

    def sums(self, columns: FloatArray) -> FloatArray:
        """Return sums of columns (n, k) over the regions, (ranges, ranges, k)."""
        one, two = self.indicators
        cells = CellSums(self.code, self.axes[0].cells * self.axes[1].cells).of(columns)
        half = (one @ cells.reshape(self.axes[0].cells, -1)).reshape(-1, self.axes[1].cells, columns.shape[1])
        return np.asarray(np.matmul(two, half))

    def place(self, a: int, b: int) -> Place:
        return Place(self.pair, (int(self.chosen[0][a]), int(self.chosen[1][b])))

    def has_name(self, raw: FloatArray | None) -> NDArray[np.bool_]:
        """Return which regions can be named: contrasts, the same inside and outside, where `raw` is larger inside."""
        if raw is None:
            return np.ones(1, bool)
        inside, count = self.sums(raw), np.maximum(self.count, 1)
        outside = (raw.sum(axis=0) - inside) / np.maximum(len(raw) - count, 1)
        return np.asarray(np.abs(inside / count) >= np.abs(outside))


Regions: TypeAlias = CovariateIntervals | CovariateBoxes


def deviations(regions: Regions, wF: FloatArray) -> FloatArray:
    """Return Z (A, B, sets, m) of wF (n, sets, m), for the two dimensions A and B of some regions."""
    n, sets, m = wF.shape
    found = regions.sums(wF.reshape(n, -1))
    return np.asarray(found.reshape(*found.shape[:2], sets, m) * regions.scale[:, :, None])


SIDES: dict[Alternative, Callable[[FloatArray], FloatArray]] = {
    "two-sided": lambda Z: Z,
    "less": lambda Z: np.minimum(Z, 0.0),
    "greater": lambda Z: np.maximum(Z, 0.0),
}
"""What counts of Z, by the alternative."""


class RegionSearch:
    """All regions of some covariates: all rows, intervals and what they leave, and boxes."""

    def __init__(
        self,
        covariates: Covariates,
        pairs: list[tuple[int, int]] | None,
        rule: Rule,
        alternative: Alternative = "two-sided",
    ) -> None:
        self.covariates, self.side = covariates, SIDES[alternative]
        x, known = covariates.x, [len(labels) for labels in covariates.labels]
        self.fine = [Axis(x[:, j], known[j], INTERVAL_CELLS) for j in range(covariates.q)]
        self.coarse = [Axis(x[:, j], known[j], BOX_CELLS) for j in range(covariates.q)]
        self._prepare(list(combinations(range(covariates.q), 2)) if pairs is None else pairs, rule)

    def _prepare(self, pairs: list[tuple[int, int]], rule: Rule) -> None:
        self.rule = rule
        self.intervals = [CovariateIntervals(j, axis, rule) for j, axis in enumerate(self.fine)]
        boxes = (CovariateBoxes((a, b), (self.coarse[a], self.coarse[b]), rule) for a, b in pairs)
        self.boxes = [found for found in boxes if found.scale.any()]
        self.whole_scale = rule.scale(rule.measures.sum(axis=0))  # (m,)

    @property
    def is_empty(self) -> bool:
        """Whether no region has enough rows."""
        return not (any(found.scale.any() for found in self.intervals) or self.boxes)

    def among(self, rows: NDArray[np.bool_]) -> RegionSearch:
        """Return the search of the same regions among some rows only."""
        found = copy(self)
        found._prepare([boxes.pair for boxes in self.boxes], self.rule._replace(w=np.where(rows, self.rule.w, 0.0)))
        return found

    def weighted(self, F: FloatArray) -> FloatArray:
        """Return wF of F (n, sets, m)."""
        return np.asarray(F * self.rule.w[:, None, None])

    def whole(self, wF: FloatArray) -> FloatArray:
        """Return Z (sets, m) of all rows; 0 for contrasts."""
        return np.asarray(self.side(wF.sum(axis=0) * self.whole_scale))

    def largest(self, F: FloatArray) -> FloatArray:
        """Return the largest charged square over all regions, (sets, m), of F (n, sets, m)."""
        wF = self.weighted(F)
        found = self.whole(wF) ** 2
        every: list[Regions] = [*self.intervals, *self.boxes]
        for regions in every:
            squares = self.side(deviations(regions, wF)) ** 2
            np.maximum(found, squares.max(axis=(0, 1)) - regions.charge, out=found)
        return found

    def clearest_whole(self, F: FloatArray) -> Clearest:
        """Return all rows with the largest |Z| of a column of F (n, m)."""
        Z = self.whole(self.weighted(F[:, None]))[0]
        column = int(np.abs(Z).argmax())
        return Clearest(float(Z[column]), Place(), column)

    def clearest(self, searched: Sequence[Regions], F: FloatArray, raw: FloatArray | None = None) -> Clearest | None:
        """Return the interval or box with the largest |Z| in a column of F (n, m); None if all are too small.

        Contrasts are those of the columns `raw`. Of equal ones it is the smallest among the rows that count, and an
        interval rather than what one leaves.
        """
        wF, found = self.weighted(F[:, None]), []
        for regions in searched:
            Z = np.where(regions.has_name(raw), self.side(deviations(regions, wF)[:, :, 0]), 0.0)
            least = float(np.abs(Z).max(initial=0.0)) * (1 - SAME)
            places = np.argwhere(np.abs(Z) >= least).tolist() if least else []
            found += [Clearest(float(Z[a, b, k]), regions.place(a, b), k) for a, b, k in places]
        most = max((abs(region.z) for region in found), default=0.0)
        best = [region for region in found if abs(region.z) >= most * (1 - SAME)]
        return min(best, key=lambda region: (int(self.rows(region.place).sum()), region.place.outside), default=None)

    def axes(self, place: Place) -> list[Axis]:
        """Return the axes that a region is cut from."""
        return [(self.fine if len(place.covariates) == 1 else self.coarse)[j] for j in place.covariates]

    def sides(self, place: Place, x: FloatArray | None = None) -> list[NDArray[np.bool_]]:
        """Return which rows each side of a region holds: of its own, or of those with the covariates x (n, q)."""
        return [
            axis.rows(r, None if x is None else x[:, j])
            for j, axis, r in zip(place.covariates, self.axes(place), place.ranges, strict=True)
        ]

    def rows(self, place: Place, x: FloatArray | None = None) -> NDArray[np.bool_]:
        """Return which rows that count a region holds, or which of those with the covariates x (n, q)."""
        n = len(self.covariates.x) if x is None else len(x)
        inside = np.logical_and.reduce([np.ones(n, bool), *self.sides(place, x)])
        found = ~inside if place.outside else inside
        return np.asarray(found & (self.rule.w > 0) if x is None else found)
