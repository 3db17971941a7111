"""What the ranks of draws support, as claims with limits.

The error rate 1 - level of a page is shared by its families of tests and, in each, by the checks; that of the
coordinates by the coordinates. A calibrated coordinate can make a false claim only if its test rejects, and one that is
not only if limits miss the truth, so test and limits of a coordinate use the same share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS, POWER, Error, Evidence, Needed, Note, Subject, Whole, note, rows_needed
from calibrant.core.findings import Setting
from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking import failures as kinds
from calibrant.ranking.coverage_error import coverage_errors, kuiper_quantile
from calibrant.ranking.curves import nearest
from calibrant.ranking.draw_evidence import DrawEvidence, Outside, RankedDraws, evidence_of, outside_of
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS, share_limits
from calibrant.ranking.failures import (
    NONE,
    OUTSIDE,
    Diagnosis,
    NormalErrors,
    diagnosis,
    outward_failure,
    smallest_effects,
)
from calibrant.ranking.pair_dependence import DEPENDENCE, PairDependence
from calibrant.ranking.rank_checks import RankCheck
from calibrant.ranking.summary import Ranks

LEVELS = (0.5, 0.9)
TOO_FEW = "too few rows"
UNKNOWN_ERRORS = NormalErrors(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
SIDES: dict[str, ClaimKind] = {kinds.HIGH: "above", kinds.LOW: "below", kinds.NARROW: "above", kinds.WIDE: "below"}
MAX_ROWS_NAMED = 10
WHOLE, COVARIATES = Subject("whole"), Subject("covariates")
CLAIMS_OF_COLUMN = 5  # lower limit of the error, coverage, shift, spread, outcomes outside
FEW_DRAWS = 1.1  # what the range of ranks is smaller by, times √(M + 1): simulated, for M = 1 to 999


class Rates(NamedTuple):
    """How the error rate 1 - level of all statements together is shared."""

    level: float
    test: float  # of the test of one column
    limits: float  # of the limits of one number of one column


class RankedColumn(NamedTuple):
    """What is known of one column of ranks."""

    failures: tuple[str, ...]  # ("none",) if the ranks do not depart from uniform ones
    counts: NDArray[np.int64]  # (M + 1,)
    outward: bool  # high ranks are outlying outcomes
    errors: NormalErrors
    coverage: Mapping[float, float]
    smallest: tuple[float, float]
    pvalue: float
    rates: Rates
    evidence: DrawEvidence = DrawEvidence()
    outside: Outside | None = None  # of rows whose outcomes lie outside all draws, if that is an error
    normal: bool = False  # whether shift and spread explain the ranks

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def M(self) -> int:
        return self.counts.size - 1

    @property
    def level(self) -> float:
        return self.rates.level

    @property
    def departs(self) -> bool:
        return self.pvalue <= 1 - self.level

    @property
    def failure(self) -> str:
        return TOO_FEW if self.n < MIN_ROWS_IN_WORDS else self.failures[0]

    @property
    def passes(self) -> bool:
        return self.failures[0] == NONE


def found_columns(
    ranks: Ranks,
    adjusted: FloatArray,
    rates: Rates,
    *,
    outward: bool = False,
    draws: RankedDraws | None = None,
    related: Sequence[str] = (),
) -> list[RankedColumn]:
    """Return what is known of each column, given its p-value, adjusted for everything that is tested beside it.

    `draws` are the rows behind the ranks, where there are some: they show more than counts of ranks. `related` says
    what of each column changes with covariates.
    """
    related = related or [""] * ranks.C
    smallest = (np.nan, np.nan) if outward else smallest_effects(ranks.n, ranks.M, cells=ranks.cells, tail=rates.test)
    evidence = [DrawEvidence()] * ranks.C if draws is None or outward else evidence_of(draws)
    found = []
    for c in range(ranks.C):
        counts, departs = ranks.counts[:, c], bool(adjusted[c] <= 1 - rates.level)
        if outward:  # a shift and a spread are those of single coordinates
            name = outward_failure(counts, rates.test) if departs else NONE
            known = Diagnosis((name,), UNKNOWN_ERRORS)
        else:
            known = diagnosis(
                counts,
                rates.limits,
                departs=departs,
                test_rate=rates.test,
                cells=ranks.cells,
                evidence=evidence[c],
                related=related[c],
            )
        outside = None if draws is None or OUTSIDE not in known.failures else _outside(draws, c, known, evidence[c])
        errors, coverage, p = known.errors, _coverage(counts, outward), float(adjusted[c])
        of_counts = (known.failures, counts, outward, errors, coverage, smallest, p, rates)
        found.append(RankedColumn(*of_counts, evidence[c], outside, known.normal))
    return found


def _outside(draws: RankedDraws, c: int, known: Diagnosis, evidence: DrawEvidence) -> Outside:
    rank, M = draws.rank[:, c], draws.draws.shape[1]
    if known.far and evidence.far is not None:
        return outside_of(draws, c, np.isin(draws.numbers, evidence.far.rows))
    return outside_of(draws, c, (rank == 0) | (rank == M))


def _coverage(counts: NDArray[np.int64], outward: bool) -> dict[float, float]:
    """Return the share of outcomes in regions of about 50 and 90 %, by the nearest level that M draws have."""
    m = counts.size
    possible = np.arange(1, m) if outward else np.arange(m - 2, 0, -2)[::-1]
    if not possible.size:
        return {}
    found = {}
    for j in nearest(LEVELS, possible, m, name="levels").tolist():
        a = 0 if outward else (m - j) // 2
        found[j / m] = float(counts[a : a + j].sum() / counts.sum())
    return found


def subject_of(ranks: Ranks, c: int) -> Subject:
    return ALL_ROWS if ranks.single else Subject("coordinate", name=ranks.names[c])


def column_claims(column: RankedColumn, subject: Subject) -> tuple[Claim, ...]:
    """Return a claim for everything that the words on a column name.

    A shift, a spread and a share of outcomes outside have limits that exclude the value of calibration. Shift and
    spread are claimed where they explain the ranks, and are descriptions where the shape is wrong too, or cannot be
    known. A shape, and what draws show without the outcomes, are descriptions. Regions of covariates have claims of
    their own.
    """
    claims = _draw_claims(column, subject)
    for name in () if column.passes else column.failures:
        if name in (kinds.DRAWS, kinds.RELATED):  # the first has claims already, the second those of regions
            continue
        claims.append(_outside_claim(column, subject) if name == OUTSIDE else _error_claim(name, column, subject))
    return tuple(claims)


def _draw_claims(column: RankedColumn, subject: Subject) -> list[Claim]:
    evidence, found = column.evidence, []
    known = Claim("description", subject, "draws", math.nan, rows=column.n, test="outcomes that equal draws, exact")
    if evidence.dependent:
        p = evidence.dependence
        found.append(replace(known, estimate=evidence.tau, expected=1.0, test="draw_dependence", pvalue=p))
    if evidence.repeated:
        found.append(replace(known, pvalue=evidence.repeats))
    return found


def _error_claim(name: str, column: RankedColumn, subject: Subject) -> Claim:
    errors, n, p = column.errors, column.n, column.pvalue
    if name not in SIDES or column.outward:
        return Claim("description", subject, name, math.nan, rows=n, test="uniformity_test", pvalue=p)
    if name in (kinds.HIGH, kinds.LOW):
        quantity, expected, limits = "shift", 0.0, (errors.shift, errors.shift_low, errors.shift_high)
    else:
        quantity, expected, limits = "spread", 1.0, (errors.spread, errors.spread_low, errors.spread_high)
    test = "likelihood of the ranks"
    if not column.normal:
        return Claim("description", subject, quantity, limits[0], rows=n, expected=expected, test=test, pvalue=p)
    return Claim(SIDES[name], subject, quantity, *limits, column.level, n, expected, test=test, pvalue=p)


def _outside_claim(column: RankedColumn, subject: Subject) -> Claim:
    k, n, expected = float(column.counts[0] + column.counts[-1]), column.n, 2 / (column.M + 1)
    low, high = share_limits(k, n, column.rates.limits)
    far, rows = column.evidence.far, () if column.outside is None else column.outside.rows
    is_far = far is not None and rows == far.rows
    kind: ClaimKind = "above" if low > expected else "description"
    level, p = (column.level if kind == "above" else None), (far.pvalue if is_far and far else column.pvalue)
    test = "outcomes farther out than any draw, exact" if is_far else "Clopper-Pearson limits"
    sizes = (k / n, low, high, level, n, expected)
    return Claim(kind, subject, "outside", *sizes, test=test, pvalue=p, row_numbers=rows)


def column_notes(column: RankedColumn, name: str = "") -> list[Note]:
    found, evidence, outside = [], column.evidence, column.outside
    if evidence.dependent:
        found.append(note("dependent draws", name=name, tau=evidence.tau, step=math.ceil(evidence.tau)))
    if evidence.repeated:
        found.append(note("repeated draws", name=name))
    if outside is not None:
        known, left = outside._asdict(), len(outside.rows) - MAX_ROWS_NAMED
        known["rows"] = outside.rows[:MAX_ROWS_NAMED]
        found.append(note("outside rows", name=name, more=f" and {left:,} more" if left > 0 else "", **known))
    return found


def visible_notes(column: RankedColumn) -> list[Note]:
    """Return which errors this many rows would have shown; those of one draw have no spread."""
    shift, spread = column.smallest
    if not shift < math.inf:
        return []
    if not spread < math.inf:
        return [note("visible shift", n=column.n, shift=round_up(shift))]
    return [note("visible", n=column.n, shift=round_up(shift), spread=round_up(spread))]


def round_up(value: float) -> float:
    return math.ceil(round(100 * value, 6)) / 100


class Checks(NamedTuple):
    """The checks of one page, and how they share its error rate."""

    marginal: RankCheck
    joint: list[RankCheck]
    conditional: list[RankCheck]
    setting: Setting
    rows: int  # of all checks but the first, which may count more
    related: tuple[str, ...] = ()  # what of each coordinate changes with covariates: "shift", "spread", or nothing

    @property
    def all(self) -> list[RankCheck]:
        return [self.marginal, *self.joint, *self.conditional]

    @property
    def ranks(self) -> Ranks:
        assert self.marginal.ranks is not None
        return self.marginal.ranks

    @property
    def tests(self) -> int:
        """What p-values are multiplied by."""
        return len(self.all) * self.setting.families

    @property
    def rate(self) -> float:
        return (1 - self.setting.level) / self.tests

    @property
    def rates(self) -> Rates:
        """The error rates of one coordinate; half of those of limits are left to the upper limit of the error."""
        of_column = self.rate / self.ranks.C
        return Rates(self.setting.level, of_column, of_column / (2 * CLAIMS_OF_COLUMN))

    @property
    def clearest(self) -> RankCheck:
        """The check with the smallest p-value; not that of pairs if a relation to covariates may make it reject."""
        asked = [check for check in self.all if check.pairs is None or not any(self.related)]
        return min(asked, key=lambda check: check.pvalue)

    def rejects(self, check: RankCheck) -> bool:
        return check.adjusted(self.tests) <= 1 - self.setting.level


class WrongPairs(NamedTuple):
    """The pairs of coordinates that go together otherwise than stated, clearest first."""

    found: PairDependence
    pairs: list[int]
    checks: Checks

    @classmethod
    def of(cls, checks: Checks, passes: Sequence[bool]) -> WrongPairs | None:
        """Return those of coordinates that are right alone; None if there are none."""
        for check in checks.joint:
            pairs = [] if check.pairs is None else check.pairs.wrong(checks.rate, passes)
            if check.pairs is not None and pairs:
                return cls(check.pairs, pairs, checks)
        return None

    def claims(self) -> list[Claim]:
        names, level = self.checks.ranks.names, self.checks.setting.level
        adjusted = np.minimum(1.0, self.checks.tests * self.found.pvalue)
        return [self.found.claim(k, names, level, self.checks.rows, float(adjusted[k])) for k in self.pairs]


class DrawError(NamedTuple):
    """The largest error of the coverage of an interval, of a coordinate or of the whole, with limits."""

    estimate: float
    low: float
    high: float  # upper limit of this error and of those of the other checks
    name: str  # of its ranks; empty for the only coordinate
    joint: bool  # whether these are ranks of the whole
    check: RankCheck  # that tests these ranks


def draw_error(checks: Checks) -> DrawError:
    """Return the size of the error of these draws: that of the ranks with the largest lower limit.

    If no ranks are known to be off it is the largest estimate. Of several sets of ranks only that with the largest true
    error matters for the upper limit.
    """
    sets = [(checks.marginal, checks.rates.test, False)]
    sets += [(check, checks.rate, True) for check in checks.all[1:]]
    found = []
    for check, rate, joint in sets:
        if check.ranks is None:
            continue
        estimate, low, high = coverage_errors(check.ranks, rate, checks.rate / 2)
        c = max(range(check.ranks.C), key=lambda c: (low[c], estimate[c]))
        name = "" if check.ranks.single and not joint else check.ranks.names[c]
        found.append(DrawError(float(estimate[c]), float(low[c]), float(high.max()), name, joint, check.of_column(c)))
    largest = max(found, key=lambda error: (error.low, error.estimate))
    return largest._replace(high=max(error.high for error in found))


def draws_whole(error: DrawError, columns: Sequence[RankedColumn], checks: Checks, wrong: WrongPairs | None) -> Whole:
    """Return the evidence on all rows: the size of the error, and the coverage of the coordinate that is worst."""
    shown = error.check if error.low > 0 else checks.clearest
    ranks = checks.ranks
    size, p = error[:3], shown.adjusted(checks.tests)
    of_error = Error(*size, error.high)
    total = Evidence(ALL_ROWS, "coverage_error", *size, ranks.n, test=shown.name, pvalue=p, error=of_error)
    worst = min(range(len(columns)), key=lambda c: columns[c].pvalue)
    return Whole(
        total,
        coverage_evidence(columns[worst], subject_of(ranks, worst), checks),
        instead=_instead(checks, wrong),
        needed=lambda tau: Needed(rows_needed(_rows_to_pass(checks, tau))),
    )


def _instead(checks: Checks, wrong: WrongPairs | None) -> Evidence:
    """Return what the clearest test found, where the limits of the size do not show that anything is off."""
    first = checks.clearest
    subject, quantity = (COVARIATES, "relation") if first.conditional else (WHOLE, DEPENDENCE)
    if first.pairs is not None and wrong is not None:
        subject = wrong.claims()[0].subject
    rows, p = checks.ranks.n if first is checks.marginal else checks.rows, first.adjusted(checks.tests)
    return Evidence(subject, quantity, first.statistic, rows=rows, test=first.name, pvalue=p)


def _rows_to_pass(checks: Checks, tau: float) -> float:
    """Return the number of rows with which the upper limit of calibrated draws is at most tau 4 times in 5.

    √n V has about the distribution of the range of a Brownian bridge, in each of several sets of ranks; V of few draws
    is smaller. Limits of intervals of 50 % are the widest, ± z/(2√n).
    """
    sets = checks.ranks.C + sum(check.ranks is not None for check in checks.all[1:])
    largest = kuiper_quantile(1 - POWER ** (1 / sets)) - FEW_DRAWS / math.sqrt(checks.ranks.M + 1)
    return ((largest + normal_quantile(1 - checks.rate / 2) / 2) / tau) ** 2


def coverage_evidence(column: RankedColumn, subject: Subject, checks: Checks) -> tuple[Evidence, ...]:
    """Return the coverage of the central interval of about 90 %; none for one draw, which has no interval.

    If the test of the coordinate does not reject, the limits contain the level.
    """
    if not column.coverage:
        return ()
    nominal, n = max(column.coverage), column.n
    estimate = column.coverage[nominal]
    low, high = share_limits(round(estimate * n), n, checks.rates.limits)
    if not column.departs:
        low, high = min(low, nominal), max(high, nominal)
    return (Evidence(subject, "coverage", estimate, low, high, n, nominal, "Clopper-Pearson limits"),)


def draw_notes(columns: Sequence[RankedColumn], checks: Checks) -> tuple[Note, ...]:
    """Return what helps to read the claims, and which errors would have been found where none was."""
    ranks, found = checks.ranks, []
    for each, column in zip(ranks.names, columns, strict=True):
        name = f"coordinate {each}" if each.isdigit() else each
        found += column_notes(column, "" if ranks.single else f"{name}: ")
    if not any(checks.rejects(check) for check in checks.all):
        found += visible_notes(columns[0])
    return tuple(found)


def check_claims(checks: Checks, wrong: WrongPairs | None = None) -> list[Claim]:
    """Return the claims of the checks of the whole that reject, after the pairs that they name."""
    pairs = [] if wrong is None else wrong.claims()
    found = list(pairs)
    level, n = checks.setting.level, checks.rows
    for check in checks.all[1:]:
        if checks.rejects(check) and not (check.pairs is not None and pairs):
            subject, p = COVARIATES if check.conditional else WHOLE, check.adjusted(checks.tests)
            known = Claim("miscalibrated", subject, check.name, check.statistic, level=level, rows=n, pvalue=p)
            found.append(replace(known, test=check.label))
    return found
