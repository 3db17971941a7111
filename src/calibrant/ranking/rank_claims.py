"""What the ranks of draws support, as claims with limits.

The error rate 1 - level of a page is shared by its families of tests and, in each, by the checks; that of the
coordinates by the coordinates. A calibrated coordinate can make a false claim only if its test rejects, and one that is
not only if limits miss the truth, so test and limits of a coordinate use the same share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.core.claims import ALL_ROWS, Claim, ClaimKind, Outcome, Subject
from calibrant.core.findings import Setting
from calibrant.core.mean_interval import exact_limits
from calibrant.core.words import at_most_words, pvalue_words
from calibrant.ranking.column_claims import RankedColumn, Rates
from calibrant.ranking.coverage_error import coverage_errors
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
    not_compared: tuple[str, ...] = ()  # why ranks were not compared with covariates

    @property
    def all(self) -> list[RankCheck]:
        """All checks."""
        return [self.marginal, *self.joint, *self.conditional]

    @property
    def ranks(self) -> Ranks:
        """The ranks of the coordinates."""
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
        """Tell whether a check rejects, given all others."""
        return check.adjusted(self.tests) <= 1 - self.setting.level

    def pvalue(self, p: float, *, at_floor: bool = False) -> str:
        """Return an adjusted p-value in words; redraws cannot show a smaller one than that at their floor."""
        words = at_most_words(p) if at_floor else pvalue_words(p)
        return f"{'adjusted ' if self.tests * self.ranks.C > 1 else ''}{words}"


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
        """Return a claim for each pair."""
        ranks, level = self.checks.ranks, self.checks.setting.level
        return [self.found.claim(k, ranks.names, level, ranks.n, self._adjusted(k)) for k in self.pairs]

    def words(self, k: int) -> str:
        """Say how a pair goes together."""
        p = self.checks.pvalue(self._adjusted(k), at_floor=self.found.at_floor(k))
        return self.found.words(k, self.checks.ranks.names, p)

    def _adjusted(self, k: int) -> float:
        return min(1.0, self.checks.tests * float(self.found.pvalue[k]))


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


def main_claim(error: DrawError, found: Outcome, checks: Checks, wrong: WrongPairs | None = None) -> Claim:
    """Return the claim of the outcome: on the size of the error, or on covariates or pairs if only these show one.

    Its test is that of the ranks whose size it states, unless these are not known to be off.
    """
    first = error.check if error.low > 0 else checks.clearest
    has_size = found.status != "miscalibrated" or error.low > 0
    subject, quantity = ALL_ROWS, "coverage_error"
    if not has_size:
        subject, quantity = (COVARIATES, "relation") if first.conditional else (WHOLE, DEPENDENCE)
    if not has_size and first.pairs is not None and wrong is not None:
        subject = wrong.claims()[0].subject
    return Claim(
        found.status,
        subject,
        quantity,
        error.estimate if has_size else first.statistic,
        *((error.low, error.high) if has_size else (math.nan, math.nan)),
        level=checks.setting.level,
        rows=checks.ranks.n,
        tolerance=found.tolerance,
        test=first.name,
        pvalue=first.adjusted(checks.tests),
    )


def coverage_claim(column: RankedColumn, subject: Subject, checks: Checks) -> tuple[Claim, ...]:
    """Return the claim on the central interval of about 90 %; none for one draw, which has no interval.

    If the test of the coordinate does not reject, the limits contain the level.
    """
    if not column.coverage:
        return ()
    nominal, n = max(column.coverage), column.n
    estimate = column.coverage[nominal]
    k, rows = np.array([round(estimate * n)], np.float64), np.array([float(n)])
    low, high = (float(limit[0]) for limit in exact_limits(k, rows, 1 - checks.rates.limits))
    if not column.departs:
        low, high = min(low, nominal), max(high, nominal)
    kind: ClaimKind = "below" if high < nominal else "above" if low > nominal else "limits"
    level, test = checks.setting.level, "Clopper-Pearson limits"
    return (Claim(kind, subject, "coverage", estimate, low, high, level, n, nominal, test=test),)


def check_claims(checks: Checks, wrong: WrongPairs | None = None) -> list[Claim]:
    """Return the claims of the checks of the whole and of covariates that reject, after pairs and regions they name."""
    level, n = checks.setting.level, checks.ranks.n
    pairs = [] if wrong is None else wrong.claims()
    regions = [
        claim
        for check in checks.conditional
        if check.relation is not None and checks.rejects(check)
        for claim in check.relation.claims()
    ]
    return (
        pairs
        + regions
        + [
            Claim(
                "miscalibrated",
                COVARIATES if check.conditional else WHOLE,
                check.name,
                check.statistic,
                level=level,
                rows=n,
                test=check.label,
                pvalue=check.adjusted(checks.tests),
            )
            for check in checks.all[1:]
            if checks.rejects(check) and not (check.pairs is not None and pairs)
        ]
    )
