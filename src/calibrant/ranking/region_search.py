"""Regions of covariates, intervals of one and boxes of two, and the largest deviation of ranks over all of them."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates

INTERVAL_CELLS, BOX_CELLS = 16, 8
SAME = 1e-9  # share by which sums of the same numbers differ
MIN_REGION_ROWS = 20  # in a region, and outside it where it is compared with the rest


class Axis:
    """The cells of one covariate, and the ranges of cells that count as its regions.

    Cells of numbers have equal mass: edges are the order statistics at ⌈kn/g⌉, equal ones merged, and cells are
    right-closed, so equal values stay together. Every run of neighbouring cells is a range. A category is a cell and a
    range of its own.
    """

    def __init__(self, x: FloatArray, categories: int, g: int) -> None:
        self.is_category = categories > 0
        if self.is_category:
            self.code = x.astype(np.int16)
            self.cells = categories
            self.ranges = np.repeat(np.arange(categories)[:, None], 2, axis=1)
            return
        n = len(x)
        ordered = np.sort(x)
        edges = np.unique(ordered[-(-np.arange(1, g) * n // g) - 1])
        edges = edges[edges < ordered[-1]]
        self.code = np.searchsorted(edges, x, side="left").astype(np.int16)
        self.cells = edges.size + 1
        self.ranges = np.array([(a, b) for a in range(self.cells) for b in range(a, self.cells)])
        above = ordered[np.searchsorted(ordered, edges, side="right")]
        self.neighbours = np.stack([edges, above], axis=1)  # (cells - 1, 2): the values on both sides of each cut

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows, cell by cell."""
        return np.argsort(self.code, kind="stable")

    @cached_property
    def is_whole(self) -> NDArray[np.bool_]:
        """Which ranges hold all cells."""
        return np.asarray((self.ranges[:, 0] == 0) & (self.ranges[:, 1] == self.cells - 1))

    @cached_property
    def indicator(self) -> FloatArray:
        """Which cells each range holds, (ranges, cells), as 0 and 1."""
        cell = np.arange(self.cells)
        return ((self.ranges[:, [0]] <= cell) & (cell <= self.ranges[:, [1]])).astype(np.float64)

    def rows(self, r: int) -> NDArray[np.bool_]:
        """Return the rows in a range."""
        low, high = self.ranges[r]
        return np.asarray((self.code >= low) & (self.code <= high))


class Standardisation(NamedTuple):
    """How sums over a region become Z.

    With `contrast`, for ranks that are permuted, Z = Σ_R F / √(n_R (1 - n_R/n)), of regions with 20 rows inside and
    outside. Otherwise Z = Σ_R wF / √(Σ_R w²) of regions of 20 rows, and the complements of intervals count too. Rows
    of weight 0 do not count.
    """

    contrast: bool
    w: FloatArray  # (n,)

    @property
    def n(self) -> int:
        """Number of rows that count."""
        return int(np.count_nonzero(self.w))

    def scale(self, count: FloatArray, square: FloatArray) -> FloatArray:
        """Return what sums are multiplied by, 0 for regions that are too small; `square` is Σ_R w²."""
        n = self.n
        legal = count >= MIN_REGION_ROWS
        if self.contrast:
            legal &= n - count >= MIN_REGION_ROWS
            square = count * (1 - count / n)
        return np.where(legal, 1 / np.sqrt(np.where(legal, square, 1.0)), 0.0)


class CovariateIntervals:
    """The intervals of one covariate."""

    def __init__(self, axis: Axis, rule: Standardisation) -> None:
        self.axis, self.rule = axis, rule
        count, square = (axis.indicator @ _summed(axis.code, axis.cells, values) for values in _measures(rule))
        self.scale = rule.scale(count, square)
        n, total = rule.n, float((rule.w**2).sum())
        self.outside = None if rule.contrast else rule.scale(n - count, total - square)

    def of(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return Z (sides, ranges, columns) of F (n, columns): of ranges and, without contrast, of what they leave."""
        cells = sums_over_cells(self.axis.order, self.axis.code, self.axis.cells, F)
        inside = self.axis.indicator.astype(F.dtype) @ cells
        found = [inside * self.scale.astype(F.dtype)[:, None]]
        if self.outside is not None:
            found.append((cells.sum(axis=0) - inside) * self.outside.astype(F.dtype)[:, None])
        return np.stack(found)


class CovariateBoxes:
    """The boxes of two covariates, of which neither side is whole."""

    def __init__(self, first: Axis, second: Axis, rule: Standardisation) -> None:
        self.axes = first, second
        self.chosen = [np.flatnonzero(~axis.is_whole) for axis in self.axes]
        self.matrices = [axis.indicator[chosen] for axis, chosen in zip(self.axes, self.chosen, strict=True)]
        self.cells = first.cells * second.cells
        self.code = first.code * np.int16(second.cells) + second.code  # at most 256 cells; 16 bits are sorted fastest
        count, square = (self._boxed(_summed(self.code, self.cells, values)[:, None]) for values in _measures(rule))
        self.scale = rule.scale(count, square)  # (boxes, boxes, 1)
        self.count, self.rule = count, rule

    @property
    def is_empty(self) -> bool:
        """Whether no box has enough rows."""
        return not self.scale.any()

    def _boxed(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return sums over boxes (ranges, ranges, columns) from sums over cells (cells, columns)."""
        one, two = (matrix.astype(cells.dtype) for matrix in self.matrices)
        columns = cells.shape[1]
        half = (one @ cells.reshape(self.axes[0].cells, -1)).reshape(-1, self.axes[1].cells, columns)
        return np.asarray(np.matmul(two, half))

    def of(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return Z (ranges, ranges, columns) of F (n, columns)."""
        order = np.argsort(self.code, kind="stable")
        found = self._boxed(sums_over_cells(order, self.code, self.cells, F))
        found *= self.scale.astype(F.dtype)
        return found

    def further_inside(self, Z: FloatArray, offset: FloatArray) -> NDArray[np.bool_]:
        """Return whether ranks are further from uniform ones inside a box than outside, given contrasts Z.

        `offset` (columns,) are the means of F before it was centred, in its standard deviations.
        """
        n, count = self.rule.n, np.maximum(self.count, 1)
        total = Z * np.sqrt(count * (1 - count / n))
        return np.asarray(np.abs(offset + total / count) >= np.abs(offset - total / np.maximum(n - count, 1)))


def _measures(rule: Standardisation) -> tuple[FloatArray, FloatArray]:
    return (rule.w > 0).astype(np.float64), rule.w**2


def _summed(code: NDArray[Any], cells: int, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(code, values, minlength=cells), np.float64)


def sums_over_cells(order: NDArray[np.intp], code: NDArray[Any], cells: int, F: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of F (n, columns) over cells, (cells, columns): a sparse product of n terms a column."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=cells))])
    ones = np.ones(len(order), F.dtype)
    return np.asarray(csr_array((ones, order, starts), shape=(cells, len(order))) @ F)


def _largest(Z: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Return the places of the largest |Z|, of three indices; none if all are 0."""
    most = float(np.abs(Z).max(initial=0.0))
    return [(a, b, c) for a, b, c in np.argwhere(np.abs(Z) >= most * (1 - SAME)).tolist()] if most else []


class RegionCells(NamedTuple):
    """A region: which covariates, which ranges of their cells, and whether it is what an interval leaves."""

    covariates: tuple[int, ...]
    ranges: tuple[int, ...]
    outside: bool = False


class ClearestRegion(NamedTuple):
    """A region with its Z, and the column that it was found in."""

    z: float
    place: RegionCells
    column: int


class RegionSearch:
    """All regions of some covariates."""

    def __init__(self, covariates: Covariates, pairs: list[tuple[int, int]] | None, rule: Standardisation) -> None:
        self.covariates = covariates
        x, known = covariates.x, [len(labels) for labels in covariates.labels]
        self.fine = [Axis(x[:, j], known[j], INTERVAL_CELLS) for j in range(covariates.q)]
        self.coarse = [Axis(x[:, j], known[j], BOX_CELLS) for j in range(covariates.q)]
        self._prepare(list(combinations(range(covariates.q), 2)) if pairs is None else pairs, rule)

    def _prepare(self, pairs: list[tuple[int, int]], rule: Standardisation) -> None:
        self.rule = rule
        self.intervals = [CovariateIntervals(axis, rule) for axis in self.fine]
        boxes = {(a, b): CovariateBoxes(self.coarse[a], self.coarse[b], rule) for a, b in pairs}
        self.boxes = {pair: found for pair, found in boxes.items() if not found.is_empty}

    def among(self, rows: NDArray[np.bool_]) -> RegionSearch:
        """Return the search of the same regions among some rows only."""
        found = copy(self)
        found._prepare(list(self.boxes), self.rule._replace(w=np.where(rows, self.rule.w, 0.0)))
        return found

    def largest_over_intervals(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return the largest |Z| over all intervals, for each column of F."""
        return np.asarray(np.max([np.abs(found.of(F)).max(axis=(0, 1)) for found in self.intervals], axis=0))

    def largest_over_boxes(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return the largest |Z| over all boxes, for each column of F."""
        most = np.zeros(F.shape[1], F.dtype)
        for found in self.boxes.values():
            Z = found.of(F)
            np.maximum(most, Z.max(axis=(0, 1)), out=most)
            np.maximum(most, -Z.min(axis=(0, 1)), out=most)
        return most

    def clearest_interval(self, F: FloatArray) -> ClearestRegion | None:
        """Return the interval with the largest |Z| in a column of F (n, columns); None if all are too small."""
        found = []
        for j, intervals in enumerate(self.intervals):
            Z = intervals.of(F)
            found += [
                ClearestRegion(float(Z[at]), RegionCells((j,), (at[1],), at[0] == 1), at[2]) for at in _largest(Z)
            ]
        return self._clearest(found)

    def clearest_box(self, F: FloatArray, offset: FloatArray) -> ClearestRegion | None:
        """Return the box with the largest |Z| in a column of F (n, columns); None if there is none.

        A contrast is the same inside and outside. What a box leaves has no short name, so it must be further inside;
        `offset` (columns,) are the means of F before it was centred, in its standard deviations.
        """
        found = []
        for pair, boxes in self.boxes.items():
            Z = boxes.of(F)
            if self.rule.contrast:
                Z = np.where(boxes.further_inside(Z, offset), Z, 0.0)
            for at in _largest(Z):
                ranges = int(boxes.chosen[0][at[0]]), int(boxes.chosen[1][at[1]])
                found.append(ClearestRegion(float(Z[at]), RegionCells(pair, ranges), at[2]))
        return self._clearest(found)

    def _clearest(self, found: list[ClearestRegion]) -> ClearestRegion | None:
        """Return the region with the largest |Z|; of regions with the same rows among those that count the smallest."""
        if not found:
            return None
        most = max(abs(region.z) for region in found)
        best = [region for region in found if abs(region.z) >= most * (1 - SAME)]
        return min(best, key=lambda region: int(self.rows(region.place).sum()))

    def axes(self, place: RegionCells) -> list[Axis]:
        """Return the axes that a region is cut from."""
        return [(self.fine if len(place.covariates) == 1 else self.coarse)[j] for j in place.covariates]

    def rows(self, place: RegionCells) -> NDArray[np.bool_]:
        """Return which rows a region holds."""
        inside = np.logical_and.reduce([axis.rows(r) for axis, r in zip(self.axes(place), place.ranges, strict=True)])
        return np.asarray(~inside if place.outside else inside)
