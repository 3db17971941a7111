"""Where ranks deviate: the clearest regions of covariates, with adjusted p-values and a text in the user's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.words import listed
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.ranking.failures import normal_errors
from calibrant.ranking.region_search import Axis, ClearestRegion, RegionCells, RegionSearch

FUNCTIONS = ("shift", "spread")
MAX_REGIONS = 3
BOX_LEAD = 6.0  # by which Z² of a box must exceed that of the best interval to be named
MIN_ROWS_LEFT = 60  # that no region has, to look for another one
CORRELATED = 0.8  # beyond which another covariate may be meant as well
MAX_ALTERNATIVES = 3  # covariates that are named beside one that they go with
MAX_DIGITS = 15

Bound = tuple[float, float] | str
"""An interval of numbers, open below and closed above; or a category."""


@dataclass(frozen=True, eq=False)
class Region:
    """A region of the covariates where ranks deviate.

    Attributes
    ----------
    covariates
        The numbers of the covariates among those that vary, one or two.
    names
        Their names.
    bounds
        For each covariate the intervals of its values, or the categories, that belong to the region.
    n
        Number of rows in it; of a second or third region those that no region before has.
    rows
        Which rows these are, (n,).
    column
        The coordinate whose ranks deviate; "" if there is only one.
    function
        "shift" or "spread", what the deviation was found in.
    shift, spread
        By how many predictive standard deviations predictions are too high there, and the factor that their spread
        needs. They describe: the region was chosen after looking.
    z
        The standardised deviation.
    pvalue
        Adjusted for every region that was looked at.
    text
        The region and its deviation in words.
    """

    covariates: tuple[int, ...]
    names: tuple[str, ...]
    bounds: tuple[tuple[Bound, ...], ...]
    n: int
    rows: NDArray[np.bool_]
    column: str
    function: str
    shift: float
    spread: float
    z: float
    pvalue: float
    text: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # equal by value, and rows are an array

    def without_rows(self) -> Region:
        """Return the region without the mask of its rows, for reports, whose size must not grow with the data."""
        return replace(self, rows=np.zeros(0, bool))

    def reordered(self, order: NDArray[np.intp]) -> Region:
        """Return the region with its rows in the order of the caller, given the place of each row there."""
        rows = np.empty_like(self.rows)
        rows[order] = self.rows
        rows.flags.writeable = False
        return replace(self, rows=rows)


class Searched(NamedTuple):
    """What was searched: all regions, F (n, C, K), the ranks (n, C) of the rows, and which rows are left."""

    scan: RegionSearch
    F: FloatArray
    rank: NDArray[np.int64]
    phi: FloatArray  # (K, M + 1)
    with_boxes: bool
    columns: tuple[str, ...] = ()
    cells: bool = False  # whether ranks are cells of distribution functions

    def of_coordinate(self, c: int) -> Searched:
        """Return the search of one coordinate."""
        return self._replace(F=self.F[:, [c]], rank=self.rank[:, [c]], columns=self.columns[c : c + 1])

    def among(self, left: NDArray[np.bool_]) -> Searched:
        """Return the search of the rows that are left, F standardised over them where regions are contrasts."""
        F = self.F
        if self.scan.rule.contrast:
            F = F - F[left].mean(axis=0)
            spread = F[left].std(axis=0)
            F = F / np.where(spread > 0, spread, 1.0)
        return self._replace(scan=self.scan.among(left), F=np.where(left[:, None, None], F, 0.0))

    @property
    def left(self) -> NDArray[np.bool_]:
        """The rows that are searched."""
        return np.asarray(self.scan.rule.w > 0)

    def rows(self, place: RegionCells) -> NDArray[np.bool_]:
        """Return the rows of a region, of those that are left."""
        return np.asarray(self.scan.rows(place) & self.left)

    @property
    def offset(self) -> FloatArray:
        """Means of the polynomials over the rows that are left, in standard deviations, (K,)."""
        f = self.phi[:, self.rank[self.left, 0]]  # (K, rows)
        spread = f.std(axis=1)
        return np.asarray(f.mean(axis=1) / np.where(spread > 0, spread, 1.0))


def found_regions(
    searched: Searched, coordinates: Sequence[int], redrawn: FloatArray, level: float, *, copies: int
) -> tuple[Region, ...]:
    """Return the regions of some coordinates: the first of each, clearest first, and then the second and third.

    `redrawn` are the largest |Z| over all coordinates in redraws, in ascending order; p-values are multiplied by
    `copies`.
    """
    each = [_coordinate_regions(searched.of_coordinate(c), redrawn, level, copies) for c in coordinates]
    places = [(place, region) for regions in each for place, region in enumerate(regions)]
    return tuple(region for _, region in sorted(places, key=lambda one: (one[0], -abs(one[1].z))))


def clearest_function(searched: Searched | None, c: int) -> str:
    """Return what deviates in the clearest region of a coordinate, stated or not: "spread", or else "shift"."""
    best = None if searched is None else _clearest(searched.of_coordinate(c))
    return FUNCTIONS[0] if best is None else FUNCTIONS[best.column]


def _coordinate_regions(searched: Searched, redrawn: FloatArray, level: float, copies: int) -> list[Region]:
    """Return up to three regions that deviate more than chance, each the clearest among the rows of none before.

    Rows of a region are set aside before the next is looked for: parts of it, and larger regions around it, deviate
    because it does.
    """
    found: list[Region] = []
    while len(found) < MAX_REGIONS:
        best = _clearest(searched)
        if best is None:
            break
        p = min(1.0, copies * _pvalue(best.z, redrawn))
        if p > 1 - level:
            break
        found.append(_region(searched, best, p, is_first=not found))
        left = searched.left & ~found[-1].rows
        if left.sum() < MIN_ROWS_LEFT:
            break
        searched = searched.among(left)
    return found


def _pvalue(z: float, redrawn: FloatArray) -> float:
    """Return the share of the data and the redraws whose largest |Z| is at least this one."""
    least = np.float32(abs(z)) * (1 - np.float32(1e-5))  # redraws are in float32
    reached = redrawn.size - int(np.searchsorted(redrawn, least, side="left"))
    return (1 + reached) / (redrawn.size + 1)


def _clearest(searched: Searched) -> ClearestRegion | None:
    """Return the best interval of both polynomials, or the best box if it is clearly better."""
    scan, F = searched.scan, searched.F[:, 0]
    F = F if scan.rule.contrast else F * scan.rule.w[:, None]
    interval = scan.clearest_interval(F)
    box = scan.clearest_box(F, searched.offset) if searched.with_boxes else None
    if box is None or (interval is not None and box.z**2 <= interval.z**2 + BOX_LEAD):
        return None if interval is None else _side(searched, interval)
    return box


def _side(searched: Searched, found: ClearestRegion) -> ClearestRegion:
    """Return the side of an interval, inside or outside, whose ranks are further from uniform ones.

    A contrast has the same |Z| on both sides.
    """
    if not searched.scan.rule.contrast:
        return found
    rows = searched.rows(found.place)
    f = searched.phi[found.column, searched.rank[:, 0]]
    if abs(f[rows].mean()) >= abs(f[searched.left & ~rows].mean()):
        return found
    return found._replace(z=-found.z, place=found.place._replace(outside=not found.place.outside))


def _region(searched: Searched, found: ClearestRegion, p: float, *, is_first: bool) -> Region:
    rows = searched.rows(found.place)
    table = searched.scan.covariates
    M = searched.phi.shape[1] - 1
    errors = normal_errors(np.bincount(searched.rank[rows, 0], minlength=M + 1), 0.95, cells=searched.cells)
    names = tuple(table.names[j] for j in found.place.covariates)
    column = searched.columns[0] if searched.columns else ""
    function = FUNCTIONS[found.column]
    n = int(rows.sum())
    where, bounds = _in_words(searched.scan, found.place)
    of = f"of {'coordinate ' if column.isdigit() else ''}{column} " if column else ""
    rows_of = "rows" if is_first else "other rows"
    text = f"for {where} ({n:,} {rows_of}) predictions {of}{_deviation(function, errors.shift, errors.spread)}"
    also = _going_along(table, found.place.covariates)
    return Region(
        found.place.covariates,
        names,
        bounds,
        n,
        rows,
        column,
        function,
        errors.shift,
        errors.spread,
        found.z,
        p,
        text + (f"; {also}" if also else ""),
    )


def _deviation(function: str, shift: float, spread: float) -> str:
    """Say how ranks of a region deviate."""
    if function == "shift":
        return f"are too {'high' if shift > 0 else 'low'} by {abs(shift):.2g} predictive sd"
    return f"are too {'narrow' if spread > 1 else 'wide'}: their spread needs the factor {spread:.2g}"


def _in_words(scan: RegionSearch, place: RegionCells) -> tuple[str, tuple[tuple[Bound, ...], ...]]:
    """Return a region in words, and its bounds."""
    parts = [
        _side_in_words(scan.covariates, j, axis, r, outside=place.outside)
        for j, axis, r in zip(place.covariates, scan.axes(place), place.ranges, strict=True)
    ]
    return " and ".join(words for words, _ in parts), tuple(bounds for _, bounds in parts)


def _side_in_words(
    covariates: Covariates, j: int, axis: Axis, r: int, *, outside: bool
) -> tuple[str, tuple[Bound, ...]]:
    name, labels = covariates.names[j], covariates.labels[j]
    low, high = axis.ranges[r].tolist()
    if labels:
        others = tuple(label for k, label in enumerate(labels) if k != low)
        if outside:
            return (f"{name} = {others[0]}" if len(others) == 1 else f"{name} other than {labels[low]}"), others
        return f"{name} = {labels[low]}", (labels[low],)
    cuts = [_cut(axis, low - 1), _cut(axis, high)]
    below, above = cuts[0][1], cuts[1][1]
    if outside:
        ends: list[tuple[float, float]] = []
        ends += [(-math.inf, cuts[0][0])] if low > 0 else []
        ends += [(cuts[1][0], math.inf)] if high < axis.cells - 1 else []
        words = [f"{name} < {below}"] * (low > 0) + [f"{name} > {above}"] * (high < axis.cells - 1)
        if len(words) == 2 and below == f"-{above}":
            return f"|{name}| > {above}", tuple(ends)
        return " or ".join(words), tuple(ends)
    bounds = ((cuts[0][0], cuts[1][0]),)
    if low == 0 and high == axis.cells - 1:
        return f"any {name}", bounds
    if low == 0:
        return f"{name} < {above}", bounds
    if high == axis.cells - 1:
        return f"{name} > {below}", bounds
    if below == f"-{above}":
        return f"|{name}| < {above}", bounds
    return f"{name} from {below} to {above}", bounds


def _cut(axis: Axis, place: int) -> tuple[float, str]:
    """Return the midpoint between two neighbouring cells, and a short number between the values on its sides."""
    if not 0 <= place < axis.cells - 1:
        return (-math.inf if place < 0 else math.inf), ""
    below, above = axis.neighbours[place]
    middle = float(below / 2 + above / 2)
    for digits in range(2, MAX_DIGITS + 1):
        short = float(f"{middle:.{digits}g}")
        if below <= short < above or below < short <= above:
            break
    return middle, f"{short:.{digits}g}" if abs(short) < 1e5 else f"{short:g}"


def _going_along(covariates: Covariates, named: tuple[int, ...]) -> str:
    """Say which other covariates could be meant as well, because they go together with a named one."""
    found = []
    for j in named:
        others = [k for k in range(covariates.q) if k not in named and not covariates.labels[k]]
        if covariates.labels[j] or not others:
            continue
        r = {k: float(np.prod(covariates.columns([j, k]).standardised, axis=1).mean()) for k in others}
        closest = sorted((k for k in others if abs(r[k]) > CORRELATED), key=lambda k: -abs(r[k]))
        if closest:
            found.append(_alternatives(covariates.names[j], {covariates.names[k]: r[k] for k in closest}))
    return f"or {'; or '.join(found)}" if found else ""


def _alternatives(name: str, r: dict[str, float]) -> str:
    """Name covariates with their correlations r with a named one, the closest first."""
    sizes = [math.trunc(100 * each) / 100 for each in r.values()]  # 0.998 is not 1
    if len(r) == 1:
        return f"{next(iter(r))}, which goes with {name} (correlation {sizes[0]:.2f})"
    left = len(r) - MAX_ALTERNATIVES
    names = [*list(r)[:MAX_ALTERNATIVES], *([f"{left} more"] if left > 0 else [])]
    return f"{listed(names)}, which go with {name} (correlations of {abs(sizes[-1]):.2f} and more in size)"
