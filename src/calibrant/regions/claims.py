"""What the coverage of levels supports: claims with limits, and how many rows it would take to tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import (
    ALL_ROWS,
    USUAL_TOLERANCES,
    Claim,
    ClaimKind,
    Outcome,
    PartKind,
    Status,
    Subject,
    SubjectKind,
    outcome,
)
from calibrant.core.findings import Setting
from calibrant.core.pvalues import binomial_tails, normal_quantile
from calibrant.core.words import POWER
from calibrant.inputs.arrays import FloatArray
from calibrant.regions.coverage_test import conformal_beta, hit_pvalue, last_true
from calibrant.regions.lines import Line, Lines, Rule, lines_of, mirrored

COVERAGE, SHARE_BELOW, ERROR = "coverage", "share_below", "coverage_error"
"""Quantities: outcomes in a region, outcomes up to a quantile, and the distance from what calibration allows."""


class Phrase(NamedTuple):
    """What lines are about, and what is said of it."""

    things: str
    kind: SubjectKind
    too_low: str  # what too low a coverage means
    too_high: str
    quantity: str = COVERAGE
    part: PartKind | None = None  # by what the rows of each line were chosen

    def subject(self, line: Line) -> Subject:
        """Return the subject of a claim on a line."""
        if self.part is None:
            return Subject(self.kind, level=line["nominal"])
        low, high = line.get(f"{RANGES.get(self.part)}_low"), line.get(f"{RANGES.get(self.part)}_high")
        return Subject(self.kind, str(line["group"]), line["nominal"], self.part, low, high)


RANGES = {"width": "size", "size": "size", "place": "place"}
"""The columns of a curve with the range of each part of the rows, less "_low" and "_high"."""

INTERVALS = Phrase("intervals", "intervals", "too narrow", "wider than they need to be")
SETS = Phrase("sets", "sets", "too small", "larger than they need to be")
CENTRAL = INTERVALS._replace(kind="central intervals")
QUANTILES = Phrase("quantiles", "quantile", "too low", "too high", SHARE_BELOW)

PhrasedLines = tuple[Lines, Phrase]
"""Tested lines of coverage, and what they are about."""


class Beside(NamedTuple):
    """A test of all rows beside the lines, in their family.

    `times` is the factor that makes its p-value allow for the family; `bounded` tells whether limits of the coverage
    bound what it detects.
    """

    test: str
    pvalue: float
    times: int
    bounded: bool


@dataclass(frozen=True)
class CoverageClaims:
    """The outcome for all rows, and claims on all rows, on each level, and on the parts of the rows that are off."""

    main: Outcome
    whole: Claim  # on the largest error of all levels
    of_levels: tuple[Claim, ...]  # that which explains the outcome first
    of_parts: tuple[Claim, ...]  # too low a coverage first, then by p-value
    worst_part: Claim | None  # that is off by more than is accepted
    rejected: bool  # whether a test of all rows rejects
    in_doubt: bool = False  # whether the level may be an error rate, given by mistake

    @property
    def by_part(self) -> bool:
        """Whether only a part of the rows makes the predictions miscalibrated."""
        return self.main.status != "miscalibrated" and self.worst_part is not None

    @property
    def status(self) -> Status:
        """The status of the verdict."""
        return "miscalibrated" if self.by_part else self.main.status

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, that of the verdict first."""
        all_rows = (self.whole, *self.of_levels)
        if self.by_part and self.worst_part is not None:
            return (self.worst_part, *self.of_parts, *all_rows)
        return (*all_rows, *self.of_parts)


def found_claims(
    judged: Sequence[PhrasedLines], parts: Sequence[PhrasedLines], beside: Beside | None, setting: Setting
) -> CoverageClaims:
    """Return the claims on the coverage of all rows and of parts of them.

    A part, such as the rows with wide intervals, makes the predictions miscalibrated by the rule for all rows: if a
    test rejects it, and its error is above the tolerance or, without one, is not negligible. Predictions whose level
    may be a mistake are not "within" it.
    """
    alone = min(1.0, setting.families * beside.times * beside.pvalue) if beside is not None else 1.0
    smallest = [float(np.nanmin(lines.curve.pvalue_adjusted)) for lines, _ in judged if lines.tested.any()]
    p = min([*smallest, alone])
    rejected = p < 1 - setting.level
    main = _main_outcome(judged, rejected, beside, alone, setting)
    in_doubt = may_be_error_rates(*judged[0])
    if in_doubt and main.status == "within":
        main = replace(main, status="cannot tell")
    of_parts = [claim for pair in parts for claim in line_claims(*pair, setting) if claim.kind in ("below", "above")]
    bad = [claim for claim in (_bad_part(*pair, setting) for pair in parts) if claim is not None]
    return CoverageClaims(
        main,
        _whole(judged, main, p, beside, alone, setting),
        _worst_first(judged, main, setting),
        tuple(sorted(of_parts, key=lambda claim: (claim.kind == "above", *_by_pvalue(claim)))),
        min(bad, key=_by_pvalue) if bad else None,
        rejected,
        in_doubt,
    )


NEAR_COMPLEMENT = 0.25  # distance of the coverage from 1 - level, as a share of that from the level


def may_be_error_rates(lines: Lines, phrase: Phrase) -> bool:
    """Tell whether all levels may be error rates: coverage is far from the level and near 1 - level."""
    level, coverage = lines.curve.nominal, lines.curve.coverage
    if phrase.quantity != COVERAGE or not level.size or not (level < 0.5).all():
        return False
    return bool((np.abs(coverage - (1 - level)) <= NEAR_COMPLEMENT * np.abs(coverage - level)).all())


def _by_pvalue(claim: Claim) -> tuple[float, float]:
    return claim.pvalue or 0.0, -abs(claim.estimate - claim.expected)


def _main_outcome(
    judged: Sequence[PhrasedLines], rejected: bool, beside: Beside | None, alone: float, setting: Setting
) -> Outcome:
    lows = [lines.error_low[lines.off(setting)].max(initial=0.0) for lines, _ in judged]
    high = max(float(lines.error_most[lines.tested].max(initial=0.0)) for lines, _ in judged)
    if beside is not None and not beside.bounded and alone < 1 - setting.level:
        high = math.nan
    return outcome(float(max(lows)), high, rejected=rejected, tolerance=setting.tolerance)


def _whole(
    judged: Sequence[PhrasedLines], main: Outcome, p: float, beside: Beside | None, alone: float, setting: Setting
) -> Claim:
    """Return the claim on the largest error of all levels, with the smallest p-value `p` and the test that it is of."""
    upper = "error_high" if main.status == "miscalibrated" else "error_most"
    low, estimate, high = (
        max(float(getattr(lines, name)[lines.tested].max(initial=0.0)) for lines, _ in judged)
        for name in ("error_low", "error", upper)
    )
    by_lines = any(lines.off(setting).any() for lines, _ in judged)
    return Claim(
        main.status,
        ALL_ROWS,
        ERROR,
        estimate,
        low if by_lines or main.status != "miscalibrated" else math.nan,  # 0 is no limit of an error that was found
        high,
        setting.level,
        judged[0][0].curve.n,
        tolerance=main.tolerance,
        test="coverage_test" if beside is None or alone > p else beside.test,
        pvalue=p,
    )


def _bad_part(lines: Lines, phrase: Phrase, setting: Setting) -> Claim | None:
    """Return the claim on the worst part that is off by more than is accepted; too low a coverage is worse."""
    off = np.flatnonzero(lines.off(setting))
    bad = [k for k in off.tolist() if _line_outcome(lines, k, setting).status == "miscalibrated"]
    if not bad:
        return None
    curve = lines.curve
    k = min(bad, key=lambda k: (curve.coverage[k] > curve.nominal[k], curve.pvalue_adjusted[k], -lines.error[k]))
    return replace(
        _line_claim(lines, phrase, k, lines_of(lines.curve)[k], setting),
        kind="miscalibrated",
        quantity=ERROR,
        estimate=float(lines.error[k]),
        low=float(lines.error_low[k]),
        high=float(lines.error_high[k]),
        expected=0.0,
        tolerance=setting.tolerance,
    )


def _line_outcome(lines: Lines, k: int, setting: Setting) -> Outcome:
    low, high = float(lines.error_low[k]), float(lines.error_most[k])
    return outcome(low, high, rejected=True, tolerance=setting.tolerance)


def line_claims(lines: Lines, phrase: Phrase, setting: Setting) -> list[Claim]:
    """Return what is claimed of the coverage of each tested line: its limits and, if a test rejects, its side."""
    rows = lines_of(lines.curve)
    return [_line_claim(lines, phrase, k, rows[k], setting) for k in np.flatnonzero(lines.tested).tolist()]


def _line_claim(lines: Lines, phrase: Phrase, k: int, line: Line, setting: Setting) -> Claim:
    kind: ClaimKind = "limits"
    if lines.off(setting)[k]:
        kind = "below" if line["upper"] < line["nominal"] else "above"
    elif _uncounted(line, lines.rule):
        kind = "description"
    return Claim(
        kind,
        phrase.subject(line),
        phrase.quantity,
        line["coverage"],
        line["lower"],
        line["upper"],
        None if kind == "description" else setting.level,
        line["count"],
        line["nominal"],
        test="coverage_test",
        pvalue=line["pvalue_adjusted"],
    )


def _uncounted(line: dict[str, Any], rule: Rule) -> bool:
    """Tell whether coverage is on the side of its level that the rule does not count."""
    above, below = line["lower"] > line["nominal"], line["upper"] < line["nominal"]
    return bool((above and not rule.counts_high) or (below and not rule.counts_low))


def _worst_first(judged: Sequence[PhrasedLines], main: Outcome, setting: Setting) -> tuple[Claim, ...]:
    """Return the claims on levels, that which explains the outcome first: smallest p-value, or largest limit.

    Errors that the user accepts do not explain that others are not accepted.
    """
    claims = [claim for pair in judged for claim in line_claims(*pair, setting)]
    reach = np.concatenate([lines.error_most[lines.tested] for lines, _ in judged]).tolist()
    least = np.concatenate([lines.error_low[lines.tested] for lines, _ in judged]).tolist()
    if main.status == "miscalibrated":
        accepted = setting.tolerance or -1.0
        first = min(range(len(claims)), key=lambda k: (least[k] <= accepted, *_by_pvalue(claims[k])))
    else:
        first = max(range(len(claims)), key=lambda k: reach[k])
    return (claims[first], *claims[:first], *claims[first + 1 :])


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
    rate: float  # of the limits of one line
    family_rate: float
    tolerance: float | None
    calibration_size: int | None = None
    central: bool = False
    copies: int = 1

    @property
    def target(self) -> float:
        """The tolerance that rows should show: the user's, or the largest usual one."""
        return USUAL_TOLERANCES[-1] if self.tolerance is None else self.tolerance

    @property
    def lines(self) -> FloatArray:
        """(lines, levels): how hits of lines are sums of hits of levels."""
        identity = np.eye(self.levels.size)
        pairs = mirrored(self.levels) if self.central else []
        return np.array([*identity, *(identity[high] - identity[low] for low, high in pairs)])

    def rows(self, coverage: FloatArray | None = None) -> int | None:
        """Return the rows that tell 4 times in 5, if coverage is right or as given; None if no number does."""
        variance = float(np.max(self.levels * (1 - self.levels)))
        deviations = normal_quantile(1 - self.family_rate / 2) + normal_quantile(POWER)
        n = max(1.0, variance * (deviations / self.target) ** 2)
        while n > 1 and self.share(int(n), coverage) >= POWER:
            n /= 2
        low, high = n, 2 * n
        while self.share(int(high), coverage) < POWER:
            low, high = high, 2 * high
            if high > MAX_ROWS_PLANNED:
                return None
        while high > max(low * PLANNED_RATIO, low + 1):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.share(int(middle), coverage) >= POWER else (middle, high)
        return math.ceil(high)

    def share(self, n: int, coverage: FloatArray | None = None) -> float:
        """Return how often n rows tell: all levels within the tolerance or, if coverage is given, some off."""
        rng = np.random.default_rng(0)
        told = np.ones(PLANNED_DRAWS, dtype=bool)
        off = np.zeros(PLANNED_DRAWS, dtype=bool)
        least, most = self._hits_within(n)
        too_few, too_many = self._hits_off(n)
        for _ in range(self.copies):
            hits = self._hits(n, coverage, rng)
            told &= ((hits >= least) & (hits <= most)).all(axis=1)
            off |= ((hits <= too_few) | (hits >= too_many)).any(axis=1)
        return float(np.mean(told if coverage is None else told | off))

    def _hits(self, n: int, coverage: FloatArray | None, rng: np.random.Generator) -> NDArray[Any]:
        if self.calibration_size is not None and coverage is None:
            m = self.calibration_size
            ranks = [conformal_beta(m, level)[0] for level in self.levels.tolist()]
            cells = rng.standard_gamma(np.diff(ranks, prepend=0, append=m + 1), (PLANNED_DRAWS, len(ranks) + 1))
        else:
            upto = self.levels if coverage is None else np.maximum.accumulate(coverage)
            cells = np.tile(np.diff(upto, prepend=0.0, append=1.0), (PLANNED_DRAWS, 1))
        counts = rng.multinomial(n, cells / cells.sum(axis=1, keepdims=True))
        return np.asarray(np.cumsum(counts, axis=1)[:, :-1] @ self.lines.T)

    def _hits_within(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the fewest and the most hits of each line for which its limits are within the target."""
        nominal, rate = self.lines @ self.levels, self.family_rate / 2
        least = least_hits(nominal - self.target, n, rate) if self.rule.counts_low else np.zeros(nominal.shape)
        most = (
            n - least_hits(1 - nominal - self.target, n, rate) if self.rule.counts_high else np.full(nominal.shape, n)
        )
        return least, most

    def _hits_off(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the hits of each line up to which, and from which, its limits leave out what is accepted."""
        nominal, rate, tau = self.lines @ self.levels, self.rate / 2, self.tolerance or 0.0
        none = np.full(nominal.shape, -1.0)
        too_few = n - least_hits(1 - nominal + tau, n, rate) if self.rule.counts_low else none
        too_many = least_hits(nominal + tau, n, rate) if self.rule.counts_high else n - none
        return too_few, too_many


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
