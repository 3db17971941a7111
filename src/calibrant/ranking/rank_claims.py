"""What the ranks of draws support, as claims with limits.

The error rate 1 - level of a page is shared by its families of tests and, in each, by the checks; that of the
coordinates by the coordinates. A calibrated coordinate can make a false claim only if its test rejects, and one that is
not only if limits miss the truth, so test and limits of a coordinate use the same share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, POWER, Error, Evidence, Needed, Note, Subject, Whole, rows_needed
from calibrant.core.findings import Setting
from calibrant.core.pvalues import normal_quantile
from calibrant.ranking.column_claims import RankedColumn, Rates, column_notes, subject_of, visible_notes
from calibrant.ranking.coverage_error import coverage_errors, kuiper_quantile
from calibrant.ranking.effects import share_limits
from calibrant.ranking.pair_dependence import DEPENDENCE, PairDependence
from calibrant.ranking.rank_checks import RankCheck
from calibrant.ranking.summary import Ranks

WHOLE, COVARIATES = Subject("whole"), Subject("covariates")
CLAIMS_OF_COLUMN = 5  # lower limit of the error, coverage, shift, spread, outcomes outside


class Checks(NamedTuple):
    """The checks of one page, and how they share its error rate."""

    marginal: RankCheck
    joint: list[RankCheck]
    conditional: list[RankCheck]
    setting: Setting
    rows: int  # of all checks but the first, which may count more

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
        """The error rate of one check."""
        return (1 - self.setting.level) / self.tests

    @property
    def rates(self) -> Rates:
        """The error rates of one coordinate; half of those of limits are left to the upper limit of the error."""
        of_column = self.rate / self.ranks.C
        return Rates(self.setting.level, of_column, of_column / (2 * CLAIMS_OF_COLUMN))

    @property
    def related(self) -> tuple[str, ...]:
        """What changes with covariates, of each coordinate: "shift", "spread", or nothing."""
        found = [
            check.relation.functions for check in self.conditional if check.relation is not None and self.rejects(check)
        ]
        return found[0] if found else ("",) * self.ranks.C

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
    """Return the evidence on all rows: the size of the error, and the coverage of the coordinate that is worst.

    The size of a relation to covariates is not known, so draws with one are not within any tolerance.
    """
    is_related = any(check.ranks is None and checks.rejects(check) for check in checks.conditional)
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
        bounded=not is_related,
        needed=None if is_related else lambda tau: Needed(rows_needed(_rows_to_pass(checks, tau))),
    )


def _instead(checks: Checks, wrong: WrongPairs | None) -> Evidence:
    """Return what the clearest test found, where the limits of the size do not show that anything is off."""
    first = checks.clearest
    subject, quantity = (COVARIATES, "relation") if first.conditional else (WHOLE, DEPENDENCE)
    if first.pairs is not None and wrong is not None:
        subject = wrong.claims()[0].subject
    rows, p = checks.ranks.n if first is checks.marginal else checks.rows, first.adjusted(checks.tests)
    return Evidence(subject, quantity, first.statistic, rows=rows, test=first.name, pvalue=p)


FEW_DRAWS = 1.1  # what the range of ranks is smaller by, times √(M + 1): simulated, for M = 1 to 999


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
    """Return the claims of the checks of the whole and of covariates that reject, after pairs and regions they name."""
    pairs = [] if wrong is None else wrong.claims()
    found = list(pairs)
    for check in checks.conditional:
        if check.relation is not None and checks.rejects(check):
            found += check.relation.claims()
    level, n = checks.setting.level, checks.rows
    for check in checks.all[1:]:
        if checks.rejects(check) and not (check.pairs is not None and pairs):
            subject, p = COVARIATES if check.conditional else WHOLE, check.adjusted(checks.tests)
            known = Claim("miscalibrated", subject, check.name, check.statistic, level=level, rows=n, pvalue=p)
            found.append(replace(known, test=check.label))
    return found
