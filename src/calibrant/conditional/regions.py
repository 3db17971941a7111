"""Where predictions are off: the clearest regions of covariates, their adjusted limits, and a text for each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.conditional.cells import CHARGE, MIN_REGION_ROWS, Axis, Clearest, Place, RegionSearch
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


@dataclass(frozen=True)
class Region:
    """A region of the covariates where predictions are off.

    Of draws and distributions `difference` is the shift of the outcomes in predictive standard deviations, positive if
    predictions are too low, or the log of the factor that the spread needs, to first order.
    """

    covariates: tuple[int, ...]  # numbers among those that vary, one or two; none if all rows are off alike
    names: tuple[str, ...]  # of these covariates
    bounds: tuple[tuple[Bound, ...], ...]  # for each its intervals of values, or its categories, in the region
    n: int  # rows; of a second or third region those that no region before has
    rows: NDArray[np.bool_] = field(compare=False)  # which rows these are, (n,)
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


class RegionMean(NamedTuple):
    """The weighted mean of a residual column over some rows, and what its limits need."""

    n: int
    mean: float
    stated: float  # weighted mean of what was stated
    v: float  # Σw²v / Σw²
    s2: float  # Σw²(F - mean)² / Σw²
    kappa: float  # Σw² / (Σw)²
    information: float  # (Σwv)² / Σw²v
    equal: bool  # whether weights are equal and rows independent
    cluster_se: float | None = None

    @classmethod
    def of(
        cls, F: FloatArray, v: FloatArray, stated: FloatArray, w: FloatArray, clusters: NDArray[np.intp] | None = None
    ) -> RegionMean:
        """Summarise the columns (rows,) of a region."""
        total, square = float(w.sum()), float((w * w).sum())
        mean = float(w @ F) / total
        seen = float((w * w) @ v)
        grouped = None if clusters is None else np.bincount(clusters, w * (F - mean))
        return cls(
            len(F),
            mean,
            float(w @ stated) / total,
            seen / square,
            float((w * w) @ (F - mean) ** 2) / square,
            square / total**2,
            float(w @ v) ** 2 / seen if seen > 0 else 0.0,
            clusters is None and bool((w == w[0]).all()),
            None if grouped is None else math.sqrt(float(grouped @ grouped)) / total,
        )

    @property
    def se(self) -> float:
        """The standard error of the mean: the larger of that stated and that seen; with clusters that of their sums."""
        return math.sqrt(self.kappa * max(self.s2, self.v)) if self.cluster_se is None else self.cluster_se

    def numbers(self, c: float, *, share: bool, unit: float) -> dict[str, float]:
        """Return what is shown: means of outcome and prediction, and their difference with limits, in a unit."""
        low, high = self.limits(c, share=share)
        values = {"difference": unit * self.mean, "low": unit * low, "high": unit * high}
        return {"observed": self.stated + unit * self.mean, "predicted": self.stated, **values}

    def limits(self, c: float, *, share: bool) -> tuple[float, float]:
        r"""Return limits of the difference, c standard errors away.

        Of components of ranks c is replaced by the quantile of Student's distribution of the same tail. Of shares they
        are the score limits: the δ with :math:`(\bar F - \delta)^2 \le C(\bar v + h + \delta(1 - 2\bar p) -
        \delta^2)`, :math:`C = c^2\kappa`, and h the variance that differences between rows add.
        """
        if not share or self.cluster_se is not None:
            from scipy.special import ndtr, stdtrit

            reach = (c if share else -float(stdtrit(self.n - 1, ndtr(-c)))) * self.se
            return self.mean - reach, self.mean + reach
        C, m, slope = c * c * self.kappa, self.mean, 1 - 2 * self.stated
        h = max(0.0, self.s2 - self.v - m * slope + m * m)
        b = m + C * slope / 2
        root = math.sqrt(max(0.0, b * b - (1 + C) * (m * m - C * (self.v + h))))
        return min(m, (b - root) / (1 + C)), max(m, (b + root) / (1 + C))  # a share of 0 or 1 is a limit itself


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
    limits: Limits

    def mean(self, rows: NDArray[np.bool_], column: int, *, raw: bool = False) -> RegionMean:
        found, w = self.searched.residuals, self.scan.rule.w
        F = found.raw if raw and found.raw is not None else found.F
        clusters = None if self.searched.clusters is None else self.searched.clusters[rows]
        return RegionMean.of(F[rows, column], found.v[rows, column], found.stated[rows, column], w[rows], clusters)


def found_regions(searched: Searched, scan: RegionSearch, coordinates: list[int], limits: Limits) -> tuple[Region, ...]:
    """Return the regions of some coordinates: the first of each, clearest first, and then the second and third."""
    residuals, found = searched.residuals, []
    for c in coordinates:
        regions = _stated(Look(searched._replace(residuals=residuals.coordinate(c)), scan, limits))
        found += [
            (place, replace(region, column=c * residuals.K + region.column)) for place, region in enumerate(regions)
        ]
    return tuple(region for _, region in sorted(found, key=lambda one: (one[0], -abs(one[1].z))))


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
    scan, F = look.scan, look.searched.residuals.F
    whole, interval = scan.clearest_whole(F), scan.clearest(scan.intervals, F)
    box = scan.clearest(scan.boxes, F, look.searched.residuals.raw)
    simple = max(whole.z**2, 0.0 if interval is None else interval.z**2)
    if box is not None and box.z**2 > simple + CHARGE and _both_sides_matter(look, box):
        return box
    if look.searched.residuals.contrast and interval is not None:
        return _side(look, interval)
    if interval is None or interval.z**2 <= whole.z**2 + CHARGE:
        return whole
    left = (scan.rule.w > 0) & ~scan.rows(interval.place)
    is_apart = whole.z**2 < look.limits.critical or (left.any() and _differs(look, interval, left))
    return interval if is_apart else whole


def _differs(look: Look, found: Clearest, rest: NDArray[np.bool_]) -> bool:
    """Tell whether the mean of a region differs from that of other rows."""
    inside, beside = (look.mean(rows, found.column) for rows in (look.scan.rows(found.place), rest))
    return bool((inside.mean - beside.mean) ** 2 >= look.limits.critical * (inside.se**2 + beside.se**2))


def _both_sides_matter(look: Look, box: Clearest) -> bool:
    """Tell whether the box differs from the rest of each of its two sides."""
    first, second = look.scan.sides(box.place)
    rests = [rest & (look.scan.rule.w > 0) for rest in (first & ~second, second & ~first)]
    return all(rest.sum() >= MIN_REGION_ROWS and _differs(look, box, rest) for rest in rests)


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
    reach = math.sqrt(look.limits.critical + found.charge)
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
    column, ranks = residuals.columns[k], residuals.ranks
    assert ranks is not None
    errors = normal_errors(np.bincount(ranks.rank[rows, 0], minlength=ranks.M + 1), 0.95, cells=ranks.cells)
    name = column.coordinate
    of = f"of {'coordinate ' if name.isdigit() else ''}{name} " if name else ""
    if column.quantity == "shift":
        said = f"{'high' if errors.shift > 0 else 'low'} by {abs(errors.shift):.2g} predictive sd"
    else:
        said = f"{'narrow' if errors.spread > 1 else 'wide'}: their spread needs the factor {errors.spread:.2g}"
    covered = ranks.central(rows)
    if covered is not None:
        level, share = covered
        said += f" (central {words.level_words(level)} intervals cover {words.percent(share)})"
    return f"predictions {of}are too {said}"


def in_words(scan: RegionSearch, place: Place) -> tuple[str, tuple[tuple[Bound, ...], ...]]:
    """Return a region in words, empty for all rows, and its bounds."""
    sides = []
    for j, axis, r in zip(place.covariates, scan.axes(place), place.ranges, strict=True):
        name, labels = scan.covariates.names[j], scan.covariates.labels[j]
        side = _categories(name, labels, r, place.outside) if labels else _numbers(name, axis, r, place.outside)
        sides.append(side)
    return " and ".join(said for said, _ in sides), tuple(bounds for _, bounds in sides)


def _categories(name: str, labels: tuple[str, ...], code: int, outside: bool) -> tuple[str, tuple[Bound, ...]]:
    """Return a category, or all others, in words and as bounds."""
    if not outside:
        return f"{name} = {labels[code]}", (labels[code],)
    others = tuple(label for label in labels if label != labels[code])
    return (f"{name} = {others[0]}" if len(others) == 1 else f"{name} other than {labels[code]}"), others


def _numbers(name: str, axis: Axis, r: int, outside: bool) -> tuple[str, tuple[Bound, ...]]:
    """Return a range of cells, or what it leaves, in words and as bounds; an end that is not there has no text."""
    first, last = axis.ranges[r].tolist()
    (low, above), (high, up_to) = cut(axis, first - 1), cut(axis, last)
    bounds = ((-math.inf, low), (high, math.inf)) if outside else ((low, high),)
    if outside and not (above and up_to):
        above, up_to = up_to, above
    match name == PREDICTION, bool(above), bool(up_to):
        case True, True, True:
            said = f"predictions up to {above} or above {up_to}" if outside else f"predictions of {above} to {up_to}"
        case True, has_end, _:
            said = f"predictions above {above}" if has_end else f"predictions up to {up_to}"
        case False, True, True if above == f"-{up_to}":
            said = f"|{name}| {'>' if outside else '<='} {up_to}"
        case False, True, True:
            said = f"{name} <= {above} or {name} > {up_to}" if outside else f"{name} from {above} to {up_to}"
        case _:
            said = f"{name} > {above}" if above else f"{name} <= {up_to}"
    return said, tuple(ends for ends in bounds if ends[0] < ends[1])


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
    """Say which other covariates could be meant as well, because their ranks go together with a named one."""
    numbers = [k for k in range(covariates.q) if not covariates.labels[k]]
    named, found = [j for j in chosen if j in numbers], []
    if named and len(numbers) > len(named):
        t = standardised(features(covariates.columns(numbers))[:, ::2])
        for j in named:
            r = dict(zip(numbers, (t[:, numbers.index(j)] @ t / len(t)).tolist(), strict=True))
            closest = sorted((k for k in r if k not in chosen and abs(r[k]) > CORRELATED), key=lambda k: -abs(r[k]))
            if closest:
                found.append(_alternatives(covariates.names[j], {covariates.names[k]: r[k] for k in closest}))
    return f"or {'; or '.join(found)}" if found else ""


def _alternatives(name: str, r: dict[str, float]) -> str:
    """Name covariates with their rank correlations r with a named one, the closest first; 0.998 is not written as 1."""
    sizes = [
        f"{math.copysign(words.round_down(abs(each), 2), each):.2f}" for each in list(r.values())[:MAX_ALTERNATIVES]
    ]
    left = len(r) - len(sizes)
    names = [*list(r)[:MAX_ALTERNATIVES], *([f"{left} more"] if left else [])]
    go, correlations = ("goes", "rank correlation") if len(r) == 1 else ("go", "rank correlations")
    return f"{words.listed(names)}, which {go} with {name} ({correlations} {words.minus(words.listed(sizes))})"
