"""What the ranks of one column support, as claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS, Subject
from calibrant.core.mean_interval import exact_limits
from calibrant.ranking import failures as kinds
from calibrant.ranking.draw_evidence import DrawEvidence, Outside
from calibrant.ranking.failures import NormalErrors
from calibrant.ranking.summary import Ranks

SIDES: dict[str, ClaimKind] = {kinds.HIGH: "above", kinds.LOW: "below", kinds.NARROW: "above", kinds.WIDE: "below"}


class Rates(NamedTuple):
    """How the error rate 1 - level of all statements together is shared."""

    level: float
    test: float  # of the test of one column
    limits: float  # of the limits of one number of one column


class RankedColumn(NamedTuple):
    """What is known of one column of ranks."""

    failures: tuple[str, ...]  # ("none",) if the ranks do not depart from uniform ones
    counts: NDArray[np.int64]  # (M + 1,)
    cells: bool  # of values in [0, 1], not ranks among draws
    outward: bool  # high ranks are outlying outcomes
    errors: NormalErrors
    coverage: Mapping[float, float]
    smallest: tuple[float, float]
    pvalue: float
    rates: Rates
    point: int  # the j at which #{rank < j} is farthest from its null distribution
    evidence: DrawEvidence = DrawEvidence()
    outside: Outside | None = None  # of rows whose outcomes lie outside all draws, if that is an error
    skew: float = 0.0  # residual of the third component: negative if the lower tail is too short

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def M(self) -> int:
        """Number of draws."""
        return self.counts.size - 1

    @property
    def level(self) -> float:
        """Confidence of all statements together."""
        return self.rates.level

    @property
    def adjusted(self) -> bool:
        """Whether the p-value allows for other tests."""
        return self.rates.test < (1 - self.level) * (1 - 1e-9)

    @property
    def departs(self) -> bool:
        """Whether the ranks are not uniform."""
        return self.pvalue <= 1 - self.level

    @property
    def passes(self) -> bool:
        """Whether nothing is known to be wrong with the ranks."""
        return self.failures[0] == kinds.NONE

    @property
    def is_only_related(self) -> bool:
        """Whether the ranks are uniform over all rows, and wrong only where covariates have some values."""
        return self.failures[0] == kinds.RELATED and not self.departs


def subject_of(ranks: Ranks, c: int) -> Subject:
    """Return what claims on a column are about."""
    return ALL_ROWS if ranks.single else Subject("coordinate", name=ranks.names[c])


def column_claims(column: RankedColumn, subject: Subject) -> tuple[Claim, ...]:
    """Return a claim for everything that the words on a column name.

    A shift, a spread and a share of outcomes outside have limits that exclude the value of calibration. A shape, and
    what draws show without the outcomes, are descriptions. A relation to covariates has claims of its own.
    """
    claims = [*_draw_claims(column, subject)]
    for name in () if column.passes else column.failures:
        if name in (kinds.DRAWS, kinds.RELATED):  # the first has claims already, the second those of the relation
            continue
        claims.append(_outside_claim(column, subject) if name == kinds.OUTSIDE else _error_claim(name, column, subject))
    return tuple(claims)


def _draw_claims(column: RankedColumn, subject: Subject) -> list[Claim]:
    evidence, found = column.evidence, []
    if evidence.dependent:
        test, p = "draw_dependence", evidence.dependence
        found.append(
            Claim("description", subject, "draws", evidence.tau, rows=column.n, expected=1.0, test=test, pvalue=p)
        )
    if evidence.repeated:
        test, p = "outcomes that equal draws, exact", evidence.repeats
        found.append(Claim("description", subject, "draws", math.nan, rows=column.n, test=test, pvalue=p))
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
    return Claim(SIDES[name], subject, quantity, *limits, column.level, n, expected, test=test, pvalue=p)


def _outside_claim(column: RankedColumn, subject: Subject) -> Claim:
    """Return the claim on the share of outcomes outside all draws."""
    k, n, expected = float(column.counts[0] + column.counts[-1]), column.n, 2 / (column.M + 1)
    low, high = (
        float(limit[0]) for limit in exact_limits(np.array([k]), np.array([float(n)]), 1 - column.rates.limits)
    )
    far, rows = column.evidence.far, () if column.outside is None else column.outside.rows
    is_far = far is not None and rows == far.rows
    kind: ClaimKind = "above" if low > expected else "description"
    level, p = (column.level if kind == "above" else None), (far.pvalue if is_far and far else column.pvalue)
    test = "outcomes farther out than any draw, exact" if is_far else "Clopper-Pearson limits"
    estimate = k / n
    return Claim(
        kind, subject, "outside", estimate, low, high, level, n, expected, test=test, pvalue=p, row_numbers=rows
    )
