"""Where predictions are off: the clearest regions of covariates, their adjusted limits, and a text for each."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.conditional.cells import CHARGE, MIN_REGION_ROWS, Axis, Clearest, Place, RegionSearch
from calibrant.conditional.limits import RegionMean
from calibrant.conditional.residuals import Column, Residuals, standardised
from calibrant.conditional.statistics import Searched, critical, features
from calibrant.core import words
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.ranking.failures import normal_errors

MAX_REGIONS = 3
MIN_ROWS_LEFT = 60  # that no region has, to look for another one
CORRELATED = 0.8  # beyond which another covariate may be meant as well
MAX_ALTERNATIVES = 3  # covariates that are named beside one that they go with
MAX_DIGITS = 15
RARE = 0.1  # mean prediction below which differences are shares of it
PREDICTION = "prediction"

Bound = tuple[float, float] | str
"""An interval of numbers, open below and closed above; or a category."""


@dataclass(frozen=True, eq=False)
class Region:
    """A region of the covariates where predictions are off.

    Of draws and distributions `difference` is the shift of the outcomes in predictive standard deviations, positive if
    predictions are too low, or the log of the factor that the spread needs, to first order.
    """

    covariates: tuple[int, ...]  # numbers among those that vary, one or two; none if all rows are off alike
    names: tuple[str, ...]  # of these covariates
    bounds: tuple[tuple[Bound, ...], ...]  # for each its intervals of values, or its categories, in the region
    n: int  # rows; of a second or third region those that no region before has
    rows: NDArray[np.bool_]  # which rows these are, (n,)
    column: int  # in which of `columns` they are off
    observed: float  # weighted mean of the outcome
    predicted: float  # weighted mean of the prediction
    difference: float  # of these two
    low: float  # limits of the difference, for all regions that were looked at together
    high: float
    z: float  # standardised deviation
    pvalue: float  # adjusted for every region that was looked at
    where: str  # the region in words
    also: str  # which other covariates could be meant, because they go with a named one; empty if none
    text: str  # the region and its deviation in words

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # equal by value, and rows are an array

    @property
    def leaves_out_0(self) -> bool:
        return self.low > 0 or self.high < 0

    def without_rows(self) -> Region:
        """Return the region without the mask of its rows, for reports, whose size must not grow with the data."""
        return replace(self, rows=np.zeros(0, bool))

    def reordered(self, order: NDArray[np.intp]) -> Region:
        """Return the region with its rows in the order of the caller, given the place of each row there."""
        rows = np.empty_like(self.rows)
        rows[order] = self.rows
        rows.flags.writeable = False
        return replace(self, rows=rows)


class Limits(NamedTuple):
    """What regions are compared with: the redrawn charged squares in ascending order, and the critical one."""

    largest: FloatArray
    critical: float
    level: float
    copies: int = 1  # by which p-values are multiplied, where redraws are of one coordinate

    @classmethod
    def of(cls, largest: FloatArray, level: float, copies: int = 1) -> Limits:
        """Return the limits at a level, for this many coordinates with redraws of one."""
        return cls(np.sort(largest), critical(largest, level, copies), level, copies)

    def pvalue(self, charged: float) -> float:
        """Return the share of the data and the redraws whose largest charged square is at least this one."""
        least = charged - 1e-9 * abs(charged)
        reached = self.largest.size - int(np.searchsorted(self.largest, least, side="left"))
        return min(1.0, self.copies * (1 + reached) / (self.largest.size + 1))


class Look(NamedTuple):
    """The search of one coordinate among the rows that are left."""

    searched: Searched
    scan: RegionSearch
    c: int
    limits: Limits

    @property
    def F(self) -> FloatArray:
        """The residuals of this coordinate; those of others are 0."""
        F = self.searched.residuals.F
        K = F.shape[1] // self.searched.residuals.C
        own = np.arange(F.shape[1]) // K == self.c
        return np.asarray(np.where(own, F, 0.0))

    def mean(self, rows: NDArray[np.bool_], column: int, *, raw: bool = False) -> RegionMean:
        found, w = self.searched.residuals, self.scan.rule.w
        F = found.raw if raw and found.raw is not None else found.F
        clusters = None if self.searched.clusters is None else self.searched.clusters[rows]
        return RegionMean.of(F[rows, column], found.v[rows, column], found.stated[rows, column], w[rows], clusters)


def found_regions(searched: Searched, scan: RegionSearch, coordinates: list[int], limits: Limits) -> tuple[Region, ...]:
    """Return the regions of some coordinates: the first of each, clearest first, and then the second and third."""
    each = [_stated(Look(searched, scan, c, limits)) for c in coordinates]
    places = [(place, region) for regions in each for place, region in enumerate(regions)]
    return tuple(region for _, region in sorted(places, key=lambda one: (one[0], -abs(one[1].z))))


def _stated(look: Look) -> list[Region]:
    """Return up to three regions that are off by more than chance, each the clearest among the rows of none before.

    Rows of a region are set aside before the next is looked for: parts of it, and larger regions around it, are off
    because it is. Permuted rows and clusters have one region.
    """
    found: list[Region] = []
    only_first = look.searched.residuals.contrast or look.searched.clusters is not None
    while len(found) < MAX_REGIONS:
        best = named(look)
        if best.charged < look.limits.critical or look.limits.pvalue(best.charged) > 1 - look.limits.level:
            break
        region = described(look, best, is_first=not found)
        if found and not region.leaves_out_0:
            break
        found.append(region)
        left = (look.scan.rule.w > 0) & ~region.rows
        if only_first or left.sum() < MIN_ROWS_LEFT:
            break
        look = look._replace(scan=look.scan.among(left))
    return found


def named(look: Look) -> Clearest:
    """Return the region to be named: the simplest that no other exceeds by more than 6.

    Where all rows together are off by more than chance, which a few rows less make clearer by chance, an interval is
    named only if it differs from the rows that it leaves.
    """
    scan, F = look.scan, look.F
    whole, interval = scan.clearest_whole(F), scan.clearest_interval(F)
    box = scan.clearest_box(F, look.searched.residuals.offset)
    simple = max(whole.z**2, 0.0 if interval is None else interval.z**2)
    if box is not None and box.z**2 > simple + CHARGE and _both_sides_matter(look, box):
        return box
    if look.searched.residuals.contrast and interval is not None:
        return _side(look, interval)
    if interval is None or interval.z**2 <= whole.z**2 + CHARGE:
        return whole
    return whole if whole.z**2 >= look.limits.critical and not _differs(look, interval) else interval


def _differs(look: Look, found: Clearest) -> bool:
    """Tell whether a region differs from the rows that it leaves."""
    rows, counts = look.scan.rows(found.place), look.scan.rule.w > 0
    return bool((counts & ~rows).any()) and _apart(look, look.mean(rows, found.column), counts & ~rows, found.column)


def _apart(look: Look, inside: RegionMean, rest: NDArray[np.bool_], column: int) -> bool:
    beside = look.mean(rest, column)
    return bool((inside.mean - beside.mean) ** 2 >= look.limits.critical * (inside.se**2 + beside.se**2))


def _both_sides_matter(look: Look, box: Clearest) -> bool:
    """Tell whether the box differs from the rest of each of its two sides."""
    first, second = look.scan.sides(box.place)
    counts = look.scan.rule.w > 0
    inside = look.mean(first & second & counts, box.column)
    rests = first & ~second & counts, second & ~first & counts
    return all(rest.sum() >= MIN_REGION_ROWS and _apart(look, inside, rest, box.column) for rest in rests)


def _side(look: Look, found: Clearest) -> Clearest:
    """Return the side of an interval, inside or outside, whose ranks are further from uniform ones.

    A contrast has the same |Z| on both sides.
    """
    rows = look.scan.rows(found.place)
    f = look.searched.residuals.raw
    assert f is not None
    if abs(f[rows, found.column].mean()) >= abs(f[~rows, found.column].mean()):
        return found
    return found._replace(z=-found.z, place=found.place._replace(outside=not found.place.outside))


def described(look: Look, found: Clearest, *, is_first: bool = True) -> Region:
    """Return the record of a region."""
    residuals, table, chosen = look.searched.residuals, look.searched.covariates, found.place.covariates
    rows, column = look.scan.rows(found.place), residuals.columns[found.column]
    seen = look.mean(rows, found.column, raw=True)
    reach = math.sqrt(look.limits.critical + found.place.charge)
    numbers = seen.numbers(reach, share=residuals.is_share, unit=float(residuals.units[found.column]))
    if residuals.is_share:
        statement = _share_in_words(column, seen, numbers["low"], numbers["high"], look.limits.level)
    else:
        statement = _ranks_in_words(residuals, rows, found.column)
    where, bounds = in_words(look.scan, found.place)
    which = "rows" if is_first else "other rows"
    counted = f"for {where} ({seen.n:,} {which})" if where else f"for all {which} ({seen.n:,})"
    overlaps = bool(where) and look.scan.rows(found.place, look.scan.covariates.x).sum() > rows.sum()
    also = _going_along(table, chosen)
    return Region(
        chosen,
        tuple(table.names[j] for j in chosen),
        bounds,
        seen.n,
        rows,
        found.column,
        **numbers,
        z=found.z,
        pvalue=look.limits.pvalue(found.charged),
        where=(f"{where} (other rows)" if overlaps else where) or f"all {which}",
        also=also,
        text=f"{counted} {statement}" + (f"; {also}" if also else ""),
    )


def _share_in_words(column: Column, seen: RegionMean, low: float, high: float, confidence: float) -> str:
    """Say which share of the rows was seen and which was stated."""
    stated = seen.stated
    observed = words.percent(min(1.0, max(0.0, stated + seen.mean)))
    level = words.level_words(column.level or 0.0)
    ends = words.round_down(stated + low, 2), words.round_up(stated + high, 2)
    limits = f"(limits {100 * ends[0]:.3g} to {100 * ends[1]:.3g} %)"
    match column.quantity:
        case "coverage":
            return f"{level} {column.things} cover {observed} of the outcomes {limits}"
        case "share_below":
            return f"{observed} of the outcomes are at or below the {level} quantile {limits}"
        case "right class":
            said = f"the most probable class is right {observed} of the time where {words.percent(stated)} is"
        case "class frequency":
            said = f"class {column.name} happens {observed} of the time where {words.percent(stated)} is"
        case _:
            said = f"events happen {observed} of the time where {words.percent(stated)} are"
    return f"{said} predicted ({_difference(seen, low, high, confidence)})"


def _difference(seen: RegionMean, low: float, high: float, confidence: float) -> str:
    scale, unit = 100.0, "points"
    if seen.stated < RARE:
        scale, unit = 100.0 / seen.stated, "% of the prediction"
    down, up, value = words.outward(low, high, seen.mean, scale=scale)
    limits = f"{words.confidence_words(confidence)} limits {down} to {up}"
    return f"difference {value} {unit}, {limits}, adjusted for all regions looked at"


def _ranks_in_words(residuals: Residuals, rows: NDArray[np.bool_], k: int) -> str:
    """Say how ranks of a region deviate, by the likelihood of its ranks."""
    column, ranks, c = residuals.columns[k], residuals.ranks, k // (len(residuals.columns) // residuals.C)
    assert ranks is not None
    errors = normal_errors(np.bincount(ranks.rank[rows, c], minlength=ranks.M + 1), 0.95, cells=ranks.cells)
    name = column.coordinate
    of = f"of {'coordinate ' if name.isdigit() else ''}{name} " if name else ""
    if column.quantity == "shift":
        said = f"{'high' if errors.shift > 0 else 'low'} by {abs(errors.shift):.2g} predictive sd"
    else:
        said = f"{'narrow' if errors.spread > 1 else 'wide'}: their spread needs the factor {errors.spread:.2g}"
    covered = ranks.central(rows, c)
    if covered is not None:
        level, share = covered
        said += f" (central {words.level_words(level)} intervals cover {words.percent(share)})"
    return f"predictions {of}are too {said}"


def in_words(scan: RegionSearch, place: Place) -> tuple[str, tuple[tuple[Bound, ...], ...]]:
    """Return a region in words, empty for all rows, and its bounds."""
    sides = [
        _side_in_words(scan.covariates, j, axis, r, outside=place.outside)
        for j, axis, r in zip(place.covariates, scan.axes(place), place.ranges, strict=True)
    ]
    return " and ".join(said for said, _ in sides), tuple(bounds for _, bounds in sides)


def _side_in_words(
    covariates: Covariates, j: int, axis: Axis, r: int, *, outside: bool
) -> tuple[str, tuple[Bound, ...]]:
    name, labels = covariates.names[j], covariates.labels[j]
    first, last = axis.ranges[r].tolist()
    if labels:
        others = tuple(label for code, label in enumerate(labels) if code != first)
        if not outside:
            return f"{name} = {labels[first]}", (labels[first],)
        return (f"{name} = {others[0]}" if len(others) == 1 else f"{name} other than {labels[first]}"), others
    (low, above), (high, up_to) = cut(axis, first - 1), cut(axis, last)
    if not outside:
        return _between(name, above, up_to), ((low, high),)
    bounds = tuple(ends for ends in ((-math.inf, low), (high, math.inf)) if ends[0] < ends[1])
    if not (above and up_to):
        return _between(name, up_to, above), bounds
    if above == f"-{up_to}":
        return f"|{name}| > {up_to}", bounds
    if name == PREDICTION:
        return f"predictions up to {above} or above {up_to}", bounds
    return f"{name} <= {above} or {name} > {up_to}", bounds


def _between(name: str, above: str, up_to: str) -> str:
    """Write the numbers above one end and up to the other; an end that is not there is empty."""
    is_prediction = name == PREDICTION
    if not up_to:
        return f"predictions above {above}" if is_prediction else f"{name} > {above}"
    if not above:
        return f"predictions up to {up_to}" if is_prediction else f"{name} <= {up_to}"
    if is_prediction:
        return f"predictions of {above} to {up_to}"
    return f"|{name}| <= {up_to}" if above == f"-{up_to}" else f"{name} from {above} to {up_to}"


def cut(axis: Axis, place: int) -> tuple[float, str]:
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


def _going_along(covariates: Covariates, chosen: tuple[int, ...]) -> str:
    """Say which other covariates could be meant as well, because they go together with a named one."""
    names, labels = covariates.names, covariates.labels
    others = [k for k in range(covariates.q) if k not in chosen and not labels[k]]
    found = []
    for j in chosen if others else ():
        if labels[j]:
            continue
        mid_ranks = standardised(features(covariates.columns([j, *others]))[:, ::2])
        r = dict(zip(others, (mid_ranks[:, 0] @ mid_ranks[:, 1:] / len(mid_ranks)).tolist(), strict=True))
        closest = sorted((k for k in others if abs(r[k]) > CORRELATED), key=lambda k: -abs(r[k]))
        if closest:
            found.append(_alternatives(names[j], {names[k]: r[k] for k in closest}))
    return f"or {'; or '.join(found)}" if found else ""


def _alternatives(name: str, r: dict[str, float]) -> str:
    """Name covariates with their rank correlations r with a named one, the closest first."""
    sizes = [math.trunc(100 * each + 1e-9 * math.copysign(1, each)) / 100 for each in r.values()]  # 0.998 is not 1
    if len(r) == 1:
        return f"{next(iter(r))}, which goes with {name} (rank correlation {sizes[0]:.2f})"
    left = len(r) - MAX_ALTERNATIVES
    names = [*list(r)[:MAX_ALTERNATIVES], *([f"{left} more"] if left > 0 else [])]
    return f"{words.listed(names)}, which go with {name} (rank correlations of {abs(sizes[-1]):.2f} and more in size)"
