"""`Calibration`: the fits of a simulated calibration, ready for every verb of draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.auditing.audit import audit as audited
from calibrant.core.annotations import Quantities
from calibrant.core.claims import Claim
from calibrant.core.evidence import Note, note
from calibrant.core.findings import Findings, Line, Verdict
from calibrant.core.pvalues import holm
from calibrant.core.tabular import Tabular
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.named import Names
from calibrant.inputs.samples import Samples
from calibrant.judging.notes import as_text, text_of
from calibrant.ranking.coverage_error import coverage_errors
from calibrant.ranking.quantities import ranks as ranked
from calibrant.ranking.quantities import uses_covariates
from calibrant.ranking.summary import Ranks
from calibrant.ranking.uniformity_test import uniformity_test
from calibrant.report.audit import Audit
from calibrant.simulating.fits import Failure, Fit

MAX_COVARIATES = 20  # numbers of x with which ranks are compared without being asked
ROWS_PER_COVARIATE = 10
MIN_FITS = 20
NO_FIT = 1 << 31  # above the number of every fit
MAX_NAMED = 3  # failures whose messages are printed
SIGNIFICANT = 0.01  # p-value of a relation between failures and parameters; it is tested beside the verdict


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Tabular):
    """The fits of `simulate_calibration`."""

    y: FloatArray
    prediction: Samples
    x: NDArray[Any] | None
    index: NDArray[np.int64]
    failures: tuple[Failure, ...]
    seconds: FloatArray
    divergences: NDArray[np.int64] | None = None
    log_density_y: FloatArray | None = None
    quantity: Quantities | None = None
    entropy: int = 0

    @property
    def names(self) -> Names:
        """The names of the parameters."""
        return self.prediction.names or ()

    @property
    def n(self) -> int:
        """Number of fits, those that failed included."""
        return len(self.y) + len(self.failures)

    def __repr__(self) -> str:
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        return f"Calibration({self.n:,} fits{failed}, parameters {', '.join(self.names[:6])})"

    def _columns(self) -> dict[str, list[Any]]:
        counts = {"fits": self.n, "failed": len(self.failures), "seconds": float(self.seconds.sum())}
        return {**{name: [count] for name, count in counts.items()}, "parameters": [", ".join(self.names)]}

    def ranks(self, **options: Any) -> NDArray[np.int64]:
        """Return the ranks of the parameters among their draws, or those of quantities; options as in `ranks`."""
        given = {"quantity": self.quantity, "rng": self._stream(), **options}
        if given["quantity"] is not None and "covariates" not in given and uses_covariates(given["quantity"]):
            given["covariates"] = self._known().get("covariates")
        return ranked(self.y, self.prediction, **given)

    def audit(self, **options: Any) -> Audit:
        """Audit the fits, with options of `audit`.

        Ranks are compared with the simulated data if these are at most 20 numbers, one for ten fits. Densities that the
        sampler returned are used. Failed fits widen the verdict: it is stated only if it would be the same had all
        failed fits had rank 0, all rank M, or half of them each; else it is "cannot tell".
        """
        given: dict[str, Any] = {"quantity": self.quantity, "rng": self._stream(), **self._known(), **options}
        found = audited(self.y, self.prediction, **given)
        findings = found.findings
        if self.divergences is not None and self.divergences.any():
            count, rows = int(self.divergences.sum()), int(np.count_nonzero(self.divergences))
            words = f"{count:,} divergent transitions in {rows:,} of {len(self.y):,} fits."
            findings = replace(findings, caveats=(words, *findings.caveats))
        if self.failures:
            of_parameters = parameters_of_failures(self.y, self.failures, self.names)
            findings = with_failures(findings, self._counts(given.get("draws")), self.failures, of_parameters)
        return Audit(findings)

    def _known(self) -> dict[str, Any]:
        """Return what an audit can use beside parameters and draws."""
        found: dict[str, Any] = {}
        asked = self.quantity is not None and uses_covariates(self.quantity)
        if self.x is not None:
            columns = self.x.reshape(len(self.x), -1)
            few = columns.shape[1] <= min(MAX_COVARIATES, len(self.x) // ROWS_PER_COVARIATE)
            if asked or (few and np.isfinite(columns).all()):
                found["covariates"] = columns
        if self.log_density_y is not None and self.prediction.log_densities is not None:
            found["log_density_y"] = self.log_density_y
        return found

    def _counts(self, draws: int | None) -> Ranks:
        rank = ranked(self.y, self.prediction, rng=self._stream(), draws=draws)
        samples = self.prediction
        least = samples.M if samples.counts is None else int(samples.counts.min())
        return Ranks.of(rank, draws or least, names=self.names)

    def _stream(self) -> np.random.Generator:
        """Return random numbers for ties and the choice of draws: the same in every call, and not those of a fit."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(NO_FIT,)))


def calibration_of(fits: Iterable[Fit], names: Names, *, quantity: Quantities | None, entropy: int) -> Calibration:
    every = list(fits)
    done, failures = [fit for fit in every if fit.failure is None], tuple(fit.failure for fit in every if fit.failure)
    if len(done) < MIN_FITS:
        first = f"The first failure: {failures[0].exception}: {failures[0].message}" if failures else ""
        words = f"{len(done)} fits are finished, {len(failures)} failed: at least {MIN_FITS} are needed. {first}"
        raise InputError(words.rstrip())

    def numbers(name: str) -> Any:
        """Return values that every fit has, in one shape, else None."""
        values = [getattr(fit, name) for fit in done]
        same = len({np.shape(value) for value in values}) == 1
        return np.array(values) if same and not any(value is None for value in values) else None

    draws, chains = numbers("draws"), {fit.chains for fit in done}
    density = None if draws is None else numbers("log_density")
    unequal: Any = [fit.draws for fit in done]
    samples = Samples(unequal if draws is None else draws, density, names=names)
    if draws is not None and len(chains) == 1:
        samples = samples._with(chains=chains.pop())
    return Calibration(
        numbers("theta"),
        samples,
        numbers("x"),
        numbers("index"),
        failures,
        np.array([fit.seconds for fit in every]),
        numbers("divergences"),
        numbers("log_density_y"),
        quantity,
        entropy,
    )


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
