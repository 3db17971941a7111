"""What the ranks of one column show: which error, of which size, and the claims that they support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS, Note, Subject, note
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking import failures as kinds
from calibrant.ranking.bands import BandTest
from calibrant.ranking.curves import nearest
from calibrant.ranking.draw_evidence import DrawEvidence, Outside, RankedDraws, evidence_of, outside_of
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS, band_test, share_limits
from calibrant.ranking.failures import (
    NONE,
    OUTSIDE,
    Diagnosis,
    NormalErrors,
    diagnosis,
    outward_failure,
    smallest_effects,
)
from calibrant.ranking.summary import Ranks

LEVELS = (0.5, 0.9)
TOO_FEW = "too few rows"
UNKNOWN_ERRORS = NormalErrors(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
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

    @property
    def is_only_related(self) -> bool:
        """Whether the ranks are uniform over all rows, and wrong only where covariates have some values."""
        return self.failures[0] == kinds.RELATED and not self.departs


def found_columns(
    ranks: Ranks,
    adjusted: FloatArray,
    rates: Rates,
    *,
    outward: bool = False,
    draws: RankedDraws | None = None,
    band: BandTest | None = None,
    related: Sequence[str] = (),
) -> list[RankedColumn]:
    """Return what is known of each column, given its p-value, adjusted for everything that is tested beside it.

    `draws` are the rows behind the ranks, where there are some: they show more than counts of ranks. `band` is the test
    of these ranks, if it was made before. `related` says what of each column changes with covariates.
    """
    related = related or [""] * ranks.C
    where = np.rint((band or band_test(ranks)).where * (ranks.M + 1)).astype(np.int64)
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
        of_counts = (known.failures, counts, ranks.cells, outward, errors, coverage, smallest, p, rates, int(where[c]))
        found.append(RankedColumn(*of_counts, evidence[c], outside))
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

    A shift, a spread and a share of outcomes outside have limits that exclude the value of calibration. A shape, and
    what draws show without the outcomes, are descriptions. A relation to covariates has claims of its own.
    """
    claims = [*_draw_claims(column, subject)]
    for name in () if column.passes else column.failures:
        if name in (kinds.DRAWS, kinds.RELATED):  # the first has claims already, the second those of the relation
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


MAX_ROWS_NAMED = 10


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
