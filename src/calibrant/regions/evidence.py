"""What an audit knows of the coverage of levels and of parts of the rows: evidence, and how many rows it would take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.evidence import (
    ALL_ROWS,
    POWER,
    Error,
    Evidence,
    Family,
    Needed,
    Note,
    PartKind,
    Subject,
    SubjectKind,
    Whole,
    note,
    rows_needed,
)
from calibrant.core.findings import Setting
from calibrant.core.pvalues import binomial_tails, normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.regions.coverage_test import conformal_beta, hit_pvalue, last_true
from calibrant.regions.hits import HitTable, not_nested
from calibrant.regions.lines import Line, Lines, Rule, lines_of, mirrored

COVERAGE, SHARE_BELOW = "coverage", "share_below"  # quantities: outcomes in a region, outcomes up to a quantile
ERROR = {"two-sided": "coverage_error", "less": "coverage_shortfall", "greater": "coverage_excess"}
"""The distance of coverage from what calibration allows, by the side that counts."""


ERRORS = ("error", "error_low", "error_high", "error_most")


class Judged(NamedTuple):
    """Tested lines of coverage, and what they are about."""

    lines: Lines
    kind: SubjectKind
    quantity: str = COVERAGE
    part: PartKind | None = None  # by what the rows of each line were chosen

    def subject(self, line: Line) -> Subject:
        if self.part is None:
            return Subject(self.kind, level=line["nominal"])
        low, high = line.get(f"{RANGES.get(self.part)}_low"), line.get(f"{RANGES.get(self.part)}_high")
        return Subject(self.kind, str(line["group"]), line["nominal"], self.part, low, high)

    def evidence(self, setting: Setting) -> list[Evidence]:
        rows, off = lines_of(self.lines.curve), self.lines.off(setting)
        return [self._of_line(rows[k], k, bool(off[k])) for k in np.flatnonzero(self.lines.tested).tolist()]

    def seen(self) -> tuple[Evidence, ...]:
        rows = lines_of(self.lines.curve)
        return tuple(Evidence(self.subject(line), self.quantity, *coverage_of(line), describes=True) for line in rows)

    def _of_line(self, line: Line, k: int, is_off: bool) -> Evidence:
        lines = self.lines
        return Evidence(
            self.subject(line),
            self.quantity,
            *coverage_of(line),
            test="coverage_test",
            pvalue=line["pvalue_adjusted"],
            describes=not is_off and _uncounted(line, lines.rule),
            error=Error(*(float(getattr(lines, name)[k]) for name in ERRORS)),
        )


RANGES = {"width": "size", "size": "size", "place": "place"}
"""The columns of a curve with the range of each part of the rows, less "_low" and "_high"."""


def coverage_of(line: Line) -> tuple[float, float, float, int, float]:
    return line["coverage"], line["lower"], line["upper"], int(line["count"]), line["nominal"]


def _uncounted(line: Line, rule: Rule) -> bool:
    """Tell whether coverage is on the side of its level that the rule does not count."""
    above, below = line["lower"] > line["nominal"], line["upper"] < line["nominal"]
    return bool((above and not rule.counts_high) or (below and not rule.counts_low))


class Beside(NamedTuple):
    """A test of all rows beside the lines, in their family.

    `times` is the factor that makes its p-value allow for the family; `bounded` tells whether limits of the coverage
    bound what it detects.
    """

    test: str
    pvalue: float
    times: int
    bounded: bool


def coverage_whole(judged: Sequence[Judged], beside: Beside | None, plan: Plan, setting: Setting) -> Whole | None:
    """Return the evidence on the coverage of all rows; None if nothing is tested.

    The size is the largest error of all levels; limits of it are those of the worst level.
    """
    if not any(each.lines.tested.any() for each in judged):
        return None if beside is None else kernel_whole(beside.pvalue, setting)
    alone = min(1.0, setting.families * beside.times * beside.pvalue) if beside is not None else 1.0
    smallest = [float(np.nanmin(each.lines.curve.pvalue_adjusted)) for each in judged if each.lines.tested.any()]
    p = min([*smallest, alone])
    by_lines = any(each.lines.off(setting).any() for each in judged)
    estimate, low, high, most = (
        max(float(getattr(each.lines, name)[each.lines.tested].max(initial=0.0)) for each in judged) for name in ERRORS
    )
    error = Error(estimate, low if by_lines else math.nan, high, most)  # 0 is no limit of an error that a test finds
    test = "coverage_test" if beside is None or alone > p else beside.test
    quantity = ERROR[judged[0].lines.rule.alternative]
    total = Evidence(ALL_ROWS, quantity, *error[:3], judged[0].lines.curve.n, test=test, pvalue=p, error=error)

    def needed(tolerance: float) -> Needed | None:
        rows = plan.rows(tolerance)
        return None if rows is None else Needed(rows_needed(rows))

    return Whole(
        total,
        tuple(line for each in judged for line in each.evidence(setting)),
        bounded=beside is None or beside.bounded or not alone < 1 - setting.level,
        in_doubt=may_be_error_rates(judged[0]),
        needed=needed,
    )


def kernel_whole(pvalue: float, setting: Setting) -> Whole:
    p = min(1.0, setting.families * pvalue)
    nan = math.nan
    return Whole(Evidence(ALL_ROWS, "skce", nan, test="skce_test", pvalue=p, error=Error(nan, nan, nan, nan)))


def part_family(parts: Sequence[Judged], setting: Setting) -> Family:
    """Return the coverage of parts of the rows: too low a coverage first, then by p-value.

    A part decides only if its error is above the tolerance or, without one, is not negligible.
    """
    off = [evidence for each in parts for evidence in each.evidence(setting)]
    off.sort(key=lambda each: (each.estimate > each.expected, each.pvalue or 0.0, -each.size.estimate))
    by = " or ".join(dict.fromkeys(f"{each.part}s" for each in parts if each.lines.tested.any()))
    return Family(by, tuple(off), len(off), small_passes=True, leaves_open=False)


def group_family(curves: Sequence[Any], quantity: str, setting: Setting) -> Family:
    tested = [line for curve in curves for line in lines_of(curve) if not np.isnan(line["pvalue"])]
    tested.sort(key=lambda line: (line["coverage"] > line["nominal"], line["pvalue"]))
    evidence = [
        Evidence(
            Subject("group", name=str(line["group"])),
            quantity,
            *coverage_of(line),
            test="coverage_test",
            pvalue=line["pvalue_adjusted"],
        )
        for line in tested
    ]
    return Family("groups", tuple(evidence), len({each.subject for each in evidence}))


NEAR_COMPLEMENT = 0.25  # distance of the coverage from 1 - level, as a share of that from the level


def may_be_error_rates(judged: Judged) -> bool:
    """Tell whether all levels may be error rates: coverage is far from the level and near 1 - level."""
    level, coverage = judged.lines.curve.nominal, judged.lines.curve.coverage
    if judged.quantity != COVERAGE or not level.size or not (level < 0.5).all():
        return False
    return bool((np.abs(coverage - (1 - level)) <= NEAR_COMPLEMENT * np.abs(coverage - level)).all())


def questions(judged: Judged) -> list[Note]:
    if not may_be_error_rates(judged):
        return []
    level, coverage = judged.lines.curve.nominal.tolist(), judged.lines.curve.coverage.tolist()
    return [note("error rates?", given=level, meant=[1 - each for each in level], seen=coverage)]


# ---------------------------------------------------------------- how many rows it would take

MAX_ROWS_PLANNED = 1e9
PLANNED_DRAWS = 1000
PLANNED_RATIO = 1.02  # of neighbouring numbers of rows that are tried


@dataclass(frozen=True, eq=False)
class Plan:
    """Draws of hits for another number of rows, to see how many it takes to tell.

    Levels are nested: the rows between neighbouring ones are multinomial. `central` adds lines for the central
    intervals between mirrored levels, and `copies` are independent coordinates.
    """

    levels: FloatArray  # ascending
    rule: Rule
    family_rate: float  # of the limits of the error of one line
    calibration_size: int | None = None
    central: bool = False
    copies: int = 1

    @property
    def lines(self) -> FloatArray:
        """(lines, levels): how hits of lines are sums of hits of levels."""
        identity = np.eye(self.levels.size)
        pairs = mirrored(self.levels) if self.central else []
        return np.array([*identity, *(identity[high] - identity[low] for low, high in pairs)])

    def rows(self, tolerance: float) -> int | None:
        """Return the rows that show 4 times in 5 that right coverage is within a tolerance; None if no number does."""
        variance = float(np.max(self.levels * (1 - self.levels)))
        deviations = normal_quantile(1 - self.family_rate / 2) + normal_quantile(POWER)
        n = max(1.0, variance * (deviations / tolerance) ** 2)
        while n > 1 and self.share(int(n), tolerance) >= POWER:
            n /= 2
        low, high = n, 2 * n
        while self.share(int(high), tolerance) < POWER:
            low, high = high, 2 * high
            if high > MAX_ROWS_PLANNED:
                return None
        while high > max(low * PLANNED_RATIO, low + 1):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.share(int(middle), tolerance) >= POWER else (middle, high)
        return math.ceil(high)

    def share(self, n: int, tolerance: float) -> float:
        """Return how often n rows show that all levels are within the tolerance."""
        rng = np.random.default_rng(0)
        told = np.ones(PLANNED_DRAWS, dtype=bool)
        least, most = self._hits_within(n, tolerance)
        for _ in range(self.copies):
            hits = self._hits(n, rng)
            told &= ((hits >= least) & (hits <= most)).all(axis=1)
        return float(np.mean(told))

    def _hits(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if self.calibration_size is not None:
            m = self.calibration_size
            ranks = [conformal_beta(m, level)[0] for level in self.levels.tolist()]
            cells = rng.standard_gamma(np.diff(ranks, prepend=0, append=m + 1), (PLANNED_DRAWS, len(ranks) + 1))
        else:
            cells = np.tile(np.diff(self.levels, prepend=0.0, append=1.0), (PLANNED_DRAWS, 1))
        counts = rng.multinomial(n, cells / cells.sum(axis=1, keepdims=True))
        return np.asarray(np.cumsum(counts, axis=1)[:, :-1] @ self.lines.T)

    def _hits_within(self, n: int, tolerance: float) -> tuple[FloatArray, FloatArray]:
        """Return the fewest and the most hits of each line for which its limits are within the tolerance."""
        nominal, rate = self.lines @ self.levels, self.family_rate / 2
        least = least_hits(nominal - tolerance, n, rate) if self.rule.counts_low else np.zeros(nominal.shape)
        most = n - least_hits(1 - nominal - tolerance, n, rate) if self.rule.counts_high else np.full(nominal.shape, n)
        return least, most


def least_hits(p: FloatArray, n: int, rate: float) -> FloatArray:
    """Return the least k with P(K >= k) <= rate for K ~ Binomial(n, p): 0 for p <= 0, and n + 1 if there is none.

    >>> least_hits(np.array([0.5, -0.1, 1.0]), 4, 0.1)  # P(K >= 4) = 1/16
    array([4., 0., 5.])
    """
    low, high = np.zeros(p.shape), np.full(p.shape, n + 1.0)  # P(K >= 0) = 1, P(K >= n + 1) = 0
    inner = (p > 0) & (p < 1)
    while (inner & (high - low > 1)).any():
        middle = np.floor((low + high) / 2)
        enough = binomial_tails(np.minimum(middle, n), n, np.where(inner, p, 0.5))[1] <= rate
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(p <= 0, 0.0, np.where(p >= 1, n + 1.0, high))


def smallest_seen(n: int, level: float, share: float, calibration_size: int | None) -> float | None:
    """Return by how much coverage must fall short of a level to be found 4 times in 5; None if no shortfall is.

    The two-sided test at significance `share` rejects for k hits or fewer; the answer solves P(K <= k) = 0.8.
    """
    from scipy.special import betaincinv

    k = last_true(lambda hits: 2 * hit_pvalue(hits, n, level, "less", calibration_size) < share, 0, n)
    return None if k < 0 else max(level - float(betaincinv(k + 1, n - k, 1 - POWER)), 0.0)


# ---------------------------------------------------------------- what to keep in mind


def seen_caveat(lines: Lines, setting: Setting) -> list[Note]:
    """Return which shortfall such an audit detects; nothing if nothing is tested."""
    if not lines.tested.any() or not lines.rule.counts_low:
        return []
    m, levels = setting.calibration_size, np.unique(lines.curve.nominal).tolist()
    found = [smallest_seen(lines.curve.n, level, lines.rate, m) for level in levels]
    seen = [value for value in found if value is not None]
    return [note("no shortfall") if len(seen) < len(found) else note("shortfall", error=max(seen))]


def nesting_caveat(rows: IntervalRows | SetRows) -> list[Note]:
    bad = int(np.count_nonzero(not_nested(rows)))
    return [note("not nested", bad=bad, n=rows.n)] if bad else []


def ties_caveat(table: HitTable, rule: Rule, setting: Setting) -> list[Note]:
    """Return how outcomes on bounds are counted, if there are any and the user did not say it."""
    tied = int((table.hits - table.hits_inside).max())
    if not tied or setting.alternative is not None:
        return []
    return [note("on bounds" if rule.ties else "on bounds, at least", tied=tied)]


def conformal_caveat(things: str, setting: Setting) -> list[Note]:
    m = setting.calibration_size
    return [note("split conformal", things=things) if m is None else note("after calibration", m=m)]


def weights_caveat(n: int, w: Any) -> list[Note]:
    effective = float(w.sum()) ** 2 / float((np.asarray(w) ** 2).sum())
    return [note("weights", n=n, effective=round(effective))] if effective < 0.9 * n else []
