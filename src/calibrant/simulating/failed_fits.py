"""What failed fits could have been: the range of the verdict, and whether they differ from the finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Verdict, plain_lines
from calibrant.core.pvalues import holm
from calibrant.core.words import pvalue_words
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.named import Names
from calibrant.ranking.coverage_error import coverage_errors
from calibrant.ranking.summary import Ranks
from calibrant.ranking.uniformity_test import uniformity_test
from calibrant.simulating.fits import Failure

MAX_NAMED = 3  # failures whose messages are printed
SIGNIFICANT = 0.01  # p-value of a relation between failures and parameters; it is tested beside the verdict


class Range(NamedTuple):
    """The smallest and largest adjusted p-value, and the limits of the error, over what failed fits could have been."""

    pvalues: tuple[float, float]
    low: float
    high: float
    rejects: frozenset[bool]


def verdict_range(ranks: Ranks, failed: int, level: float) -> Range:
    """Return what the ranks would show if all failed fits had rank 0, rank M, half of them each, or none.

    >>> found = verdict_range(Ranks.of(np.arange(200) % 20, M=19), 20, 0.95)
    >>> sorted(found.rejects), found.pvalues[1]
    ([False, True], 1.0)
    """
    M, C = ranks.M, ranks.C
    sets = [ranks]
    for lowest in (failed, 0, failed // 2):
        column = np.where(np.arange(failed) < lowest, 0, M)
        of_failed = column if ranks.single else np.repeat(column[:, None], C, axis=1)
        names = None if ranks.single else ranks.names
        sets.append(ranks + Ranks.of(of_failed, M, names=names, outward=ranks.outward))
    pvalues = [float(np.min(uniformity_test(each).pvalue)) for each in sets]
    rate = (1 - level) / C
    limits = [coverage_errors(each, rate, rate / 2) for each in sets]
    return Range(
        (min(pvalues), max(pvalues)),
        min(float(low.max()) for _, low, _ in limits),
        max(float(high.max()) for _, _, high in limits),
        frozenset(p <= 1 - level for p in pvalues),
    )


def with_failures(findings: Findings, ranks: Ranks, failures: Sequence[Failure], words: str) -> Findings:
    """Return the findings of an audit with what failed fits could change; `words` is on their parameters."""
    n, k = ranks.n + len(failures), len(failures)
    found = verdict_range(ranks, k, findings.level)
    verdict, main = findings.verdict, next(iter(findings.verdict.claims), None)
    tolerance = verdict.tolerance
    exceeds = verdict.status == "within" and tolerance is not None and found.high > tolerance
    counted = f"{k:,} of {n:,} fits failed"
    if len(found.rejects) > 1 or exceeds:
        headline = f"Cannot tell: {counted}, and their ranks could change the verdict ({_between(found)})."
        before = f"Of the finished fits alone: {verdict.headline}"
        claims = () if main is None else (_widened(main, found), *_described(verdict))
        verdict = Verdict("cannot tell", headline, claims, (*plain_lines([before]), *verdict.lines), tolerance)
    else:
        line = f"{counted}; whatever their ranks were, the verdict is the same ({_between(found)})."
        verdict = replace(verdict, lines=(*verdict.lines, *plain_lines([line])))
    named = "; ".join(f"fit {f.index}: {f.exception}: {f.message}" for f in failures[:MAX_NAMED])
    more = f"; and {k - MAX_NAMED:,} more" if k > MAX_NAMED else ""
    caveat = f"{counted} and were not replaced, which would be a selection ({named}{more}). {words}"
    return replace(findings, verdict=verdict, caveats=(caveat.strip(), *findings.caveats))


def _between(found: Range) -> str:
    low, high = (pvalue_words(p) for p in found.pvalues)
    both = low if low == high else f"{low} to {high}"
    return f"tests of ranks: {both} if all of them had rank 0, all rank M, or half of them each"


def _widened(main: Claim, found: Range) -> Claim:
    """Return the claim on the size of the error, with limits that cover whatever the failed fits were."""
    if main.quantity != "coverage_error":
        return replace(main, kind="cannot tell")
    return replace(main, kind="cannot tell", low=min(main.low, found.low), high=max(main.high, found.high))


def _described(verdict: Verdict) -> list[Claim]:
    return [claim for claim in verdict.claims[1:] if claim.kind == "description"]


def parameters_of_failures(theta: FloatArray, failures: Sequence[Failure], names: Names) -> str:
    """Say whether parameters of failed and finished fits differ, by Mann-Whitney tests (Holm)."""
    from scipy.stats import mannwhitneyu

    failed = np.array([failure.theta for failure in failures if failure.theta is not None])
    if not len(failed):
        return ""
    tests = [mannwhitneyu(failed[:, d], theta[:, d]) for d in range(theta.shape[1])]
    p = holm(np.array([float(test.pvalue) for test in tests]))
    worst, adjusted = int(p.argmin()), "adjusted " * (p.size > 1)
    if p[worst] > SIGNIFICANT:
        return (
            f"Their parameters do not differ visibly from those of finished fits ({adjusted}{pvalue_words(p[worst])})."
        )
    way = "larger" if np.median(failed[:, worst]) > np.median(theta[:, worst]) else "smaller"
    return f"Fits fail where {names[worst]} is {way} (Mann-Whitney, {adjusted}{pvalue_words(p[worst])})."
