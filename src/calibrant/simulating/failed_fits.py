"""What failed fits could have been: the range of the verdict, and whether they differ from the finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.evidence import Note, note
from calibrant.core.findings import Findings, Line, Verdict
from calibrant.core.pvalues import holm
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.named import Names
from calibrant.judging.notes import as_text, text_of
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
    """Return what the ranks would show if all failed fits had rank 0, rank M, half of them each, or none."""
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


def with_failures(
    findings: Findings, ranks: Ranks, failures: Sequence[Failure], of_parameters: Note | None
) -> Findings:
    """Return the findings of an audit with what failed fits could change."""
    found = verdict_range(ranks, len(failures), findings.level)
    verdict, main = findings.verdict, next(iter(findings.verdict.claims), None)
    tolerance = verdict.tolerance
    exceeds = verdict.status == "within" and tolerance is not None and found.high > tolerance
    counted: dict[str, Any] = {"failed": len(failures), "n": ranks.n + len(failures)}
    low, high = found.pvalues
    if len(found.rejects) > 1 or exceeds:
        _, decide = text_of(note("failures decide", **counted, low=low, high=high))
        before = Line(*text_of(note("finished fits", headline=verdict.headline)))
        claims = () if main is None else (_widened(main, found), *_described(verdict))
        verdict = Verdict("cannot tell", f"Cannot tell: {decide}", claims, (before, *verdict.lines), tolerance)
    else:
        line = Line(*text_of(note("failures change nothing", **counted, low=low, high=high)))
        verdict = replace(verdict, lines=(*verdict.lines, line))
    named = [f"fit {f.index}: {f.exception}: {f.message}" for f in failures[:MAX_NAMED]]
    more = f"; and {len(failures) - MAX_NAMED:,} more" if len(failures) > MAX_NAMED else ""
    caveats = [note("not replaced", **counted, named=named, more=more), *([of_parameters] if of_parameters else [])]
    return replace(findings, verdict=verdict, caveats=(*map(as_text, caveats), *findings.caveats))


def _widened(main: Claim, found: Range) -> Claim:
    """Return the claim on the size of the error, with limits that cover whatever the failed fits were."""
    if main.quantity != "coverage_error":
        return replace(main, kind="cannot tell")
    return replace(main, kind="cannot tell", low=min(main.low, found.low), high=max(main.high, found.high))


def _described(verdict: Verdict) -> list[Claim]:
    return [claim for claim in verdict.claims[1:] if claim.kind == "description"]


def parameters_of_failures(theta: FloatArray, failures: Sequence[Failure], names: Names) -> Note | None:
    """Compare parameters of failed and finished fits by Mann-Whitney tests (Holm); None if none is known."""
    from scipy.stats import mannwhitneyu

    failed = np.array([failure.theta for failure in failures if failure.theta is not None])
    if not len(failed):
        return None
    p = holm(np.array([float(mannwhitneyu(failed[:, d], theta[:, d]).pvalue) for d in range(theta.shape[1])]))
    worst = int(p.argmin())
    if p[worst] > SIGNIFICANT:
        return note("failures like others", p=float(p[worst]))
    way = "larger" if np.median(failed[:, worst]) > np.median(theta[:, worst]) else "smaller"
    return note("failures differ", name=names[worst], way=way, p=float(p[worst]))
