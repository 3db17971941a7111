"""The verdict on draws in words, made from its claims."""

from __future__ import annotations

import math
from typing import NamedTuple

from calibrant.core.claims import ALL_ROWS, USUAL_TOLERANCES, Claim, Outcome, Subject, outcome
from calibrant.core.findings import Verdict, at_tolerances
from calibrant.core.pvalues import normal_quantile
from calibrant.core.words import NAMED, level_percent, outward, percent, rows_needed, tolerance_words
from calibrant.ranking.column_claims import RankedColumn, column_claims
from calibrant.ranking.coverage_error import kuiper_quantile
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS
from calibrant.ranking.explain import subject_of
from calibrant.ranking.explain_words import draws_words, more_pairs, sentence, visible_words
from calibrant.ranking.failures import POWER
from calibrant.ranking.pair_dependence import DEPENDENCE
from calibrant.ranking.rank_checks import FITTED, RankCheck
from calibrant.ranking.rank_claims import (
    COVARIATES,
    Checks,
    DrawError,
    WrongPairs,
    check_claims,
    coverage_claim,
    main_claim,
)
from calibrant.ranking.relation import RELATION

MANY_POINTS = 5.0  # percentage points between limits that need no decimals
FEW_DRAWS = 1.1  # what the range of ranks is smaller by, times √(M + 1): simulated, for M = 1 to 999


def sample_verdict(columns: list[RankedColumn], checks: Checks, error: DrawError) -> Verdict:
    """Return the verdict on draws; `columns` is what is known of each coordinate at the rates of the checks."""
    relation = any(check.ranks is None and checks.rejects(check) for check in checks.conditional)
    rejected = any(checks.rejects(check) for check in checks.all)
    # The size of a relation to covariates is not known, so draws with one are not within any tolerance.
    high = math.nan if relation else error.high
    found = outcome(error.low, high, rejected=rejected, tolerance=checks.setting.tolerance)
    worst = min(range(len(columns)), key=lambda c: columns[c].pvalue)
    wrong = WrongPairs.of(checks, [column.passes for column in columns])
    main = main_claim(error, found, checks, wrong)
    coverage = coverage_claim(columns[worst], subject_of(checks.ranks, worst), checks)
    of_columns = [column_claims(column, subject_of(checks.ranks, c)) for c, column in enumerate(columns)]
    claims = (main, *coverage, *(claim for found in of_columns for claim in found), *check_claims(checks, wrong))
    words = _Words(error, found, rejected, relation, checks, columns, main, coverage, wrong)
    at = at_tolerances(
        checks.setting.tolerance, lambda tau: outcome(error.low, high, rejected=rejected, tolerance=tau).status
    )
    return Verdict(found.status, words.headline(), words.sentences(), claims, found.tolerance, at)


class _Words(NamedTuple):
    """The sentences of the verdict, made from its claims."""

    error: DrawError
    found: Outcome
    rejected: bool
    relation: bool
    checks: Checks
    columns: list[RankedColumn]
    main: Claim
    coverage: tuple[Claim, ...]
    wrong: WrongPairs | None

    def headline(self) -> str:
        """Return the size of the error and the outcome."""
        clearest = self._in_words(self.checks.clearest)
        if self.main.subject == COVARIATES:
            return f"These draws are not calibrated: {RELATION} ({clearest})."
        if self.main.quantity == DEPENDENCE:
            how = self.wrong.words(self.wrong.pairs[0]) if self.wrong else f"their dependence is wrong ({clearest})"
            return f"These draws are not calibrated: {how}."
        related = [check for check in self.checks.conditional if check.relation and self.checks.rejects(check)]
        if self.error.name == FITTED and related and self.found.status == "miscalibrated":
            return f"These draws are {self._ending(related[0])}: {RELATION}."
        covers = self._shows_coverage()
        ending = self._ending(self.checks.marginal if covers else self.error.check)
        if self.found.status == "cannot tell" and self._few_rows():
            return f"{ending[0].upper()}{ending[1:]}."
        size = self._coverage_words(self.coverage[0]) if covers else self._size_words()
        return f"{size}: {ending}."

    def _few_rows(self) -> bool:
        return self.checks.ranks.n < MIN_ROWS_IN_WORDS

    def _shows_coverage(self) -> bool:
        """Tell whether there is a coverage, and it shows what the outcome says."""
        if not self.coverage or self._few_rows():
            return False
        (claim,) = self.coverage
        match self.found.status:
            case "miscalibrated":
                return claim.kind != "limits"
            case "within":
                reach = self.found.tolerance or 0.0
                return claim.expected - reach <= claim.low and claim.high <= claim.expected + reach
            case _:
                return True

    def _coverage_words(self, claim: Claim) -> str:
        digits = 0 if 100 * (claim.high - claim.low) >= MANY_POINTS else 1
        low, high, share = outward(claim.low, claim.high, claim.estimate, expected=claim.expected, digits=digits)
        of = "" if claim.subject == ALL_ROWS else f" of {claim.subject}"
        return (
            f"The central {percent(claim.expected)} interval of the draws{of} contains the outcome {share} % of the "
            f"time ({level_percent(self.checks.setting.level)} limits: {low} to {high} %)"
        )

    def _size_words(self) -> str:
        low, high, estimate = outward(self.error.low, self.error.high, self.error.estimate, self.found.tolerance)
        by = f"{estimate} percentage points more or less often than"
        limits = f"({level_percent(self.checks.setting.level)} limits: {low} to {high})"
        if self.checks.ranks.M == 1:
            return f"Outcomes fall below their only draw {by} they should {limits}"
        if self.error.name == FITTED:
            ranges = "Between two quantiles of the draws' distances from what the covariates predict"
            return f"{ranges}, the outcome's distance lies up to {by} it should {limits}"
        of = f" of {Subject('coordinate', name=self.error.name)}" if self.error.name else ""
        where = f" by {self.error.name}" if self.error.joint else of
        contain = "contain the outcome up to"
        return f"Intervals between two quantiles of the draws{where} {contain} {by} they should {limits}"

    def _ending(self, said: RankCheck) -> str:
        """Return the outcome, with the p-value of the check that the rest of the headline is about."""
        p = self._in_words(said)
        tolerance, given = self.found.tolerance, self.checks.setting.tolerance is not None
        within = "" if tolerance is None else f"{'the tolerance of ' if given else ''}{tolerance_words(tolerance)}"
        rows = "1 row" if self.checks.ranks.n == 1 else f"{self.checks.ranks.n:,} rows"
        match self.found.status:
            case "within" if self.rejected:
                detected = p if self.checks.rejects(said) else self._listed([self.checks.clearest])
                return f"an error is detectable ({detected}), but calibrated within {within}"
            case "within":
                return f"calibrated within {within}"
            case "miscalibrated":
                return f"not calibrated ({p})" if not given else f"not calibrated, off by more than {within} ({p})"
            case _ if self.relation:
                return "whether that is all cannot be told, because ranks depend on the covariates"
            case _:
                return f"{rows} cannot tell whether these draws are calibrated{f' within {within}' if given else ''}"

    def sentences(self) -> tuple[str, ...]:
        """Return what is wrong or would have been seen, and what it rests on."""
        is_said = self.headline().startswith(self._size_words()) or (self._few_rows() and not self.rejected)
        size = [] if is_said else [f"{self._size_words()}."]
        found = [*size, *self._of_draws(), *self._of_coordinates(), *self._of_whole(), *self._of_covariates()]
        if not self.rejected:
            found.append(self._visible())
        if self.found.status == "cannot tell":
            found += self._needed()
        return (*found, *self._adjusted())

    def _of_draws(self) -> list[str]:
        """Return the sentences on draws that are not exchangeable, of coordinates of which nothing else is said."""
        ranks = self.checks.ranks
        calm = [(c, column) for c, column in enumerate(self.columns) if column.passes]
        words = [f"{_start(subject_of(ranks, c))}{text}" for c, column in calm for text in draws_words(column)]
        more = [f"The draws of {len(words) - NAMED:,} more coordinates are so."] if len(words) > NAMED else []
        return [*words[:NAMED], *more]

    def _of_coordinates(self) -> list[str]:
        """Return the sentences on coordinates that are off, worst first."""
        off = [c for c, column in enumerate(self.columns) if not (column.passes or column.is_only_related)]
        off.sort(key=lambda c: self.columns[c].pvalue)
        ranks = self.checks.ranks
        more = [f"{len(off) - NAMED:,} more coordinates are off; see the table."] if len(off) > NAMED else []
        if ranks.single:
            return [sentence(self.columns[c]) for c in off]
        return [*(f"{_start(subject_of(ranks, c))}{sentence(self.columns[c])}" for c in off[:NAMED]), *more]

    def _of_whole(self) -> list[str]:
        off = [check for check in self.checks.joint if self.checks.rejects(check) and not check.quantity]
        if self.wrong is not None:
            off = [check for check in off if check.pairs is None]
        quantities = [check for check in self.checks.joint if self.checks.rejects(check) and check.quantity]
        words = f"Outcomes do not fall evenly among their draws: {self._listed(quantities)}."
        return [*self._of_pairs(), *self._of_joint(off), *([words] if quantities else [])]

    def _of_pairs(self) -> list[str]:
        """Return the sentence on pairs of coordinates; what the headline says is not said again."""
        if self.wrong is None:
            return []
        named = self.wrong.pairs[:NAMED]
        start = "Each coordinate is right alone, as far as these rows tell" if self._coordinates_pass() else "Also"
        is_said = self.main.subject.kind == "pair"
        pairs = [self.wrong.words(k) for k in named[is_said:]]
        text = "; ".join([start, *pairs]) + more_pairs(len(self.wrong.pairs))
        return [f"{text}."]

    def _of_joint(self, off: list[RankCheck]) -> list[str]:
        if not off:
            return []
        if self.wrong is not None and self._coordinates_pass():
            return [f"Ranks of the whole show a wrong dependence too ({self._listed(off)})."]
        if self._coordinates_pass() and not self.checks.ranks.single:
            together = "together they are, as wrong dependence makes them"
            return [f"No single coordinate is off beyond chance; {together} ({self._listed(off)})."]
        return [f"The whole is off as well ({self._listed(off)}); correct single coordinates first."]

    def _of_covariates(self) -> list[str]:
        """Return the line on covariates, whatever else was found."""
        found = [f"{reason}" for reason in self.checks.not_compared]
        for check in self.checks.conditional:
            p, rejects = self._listed([check]), self.checks.rejects(check)
            if check.relation is not None:
                found.append(check.relation.sentence(p, rejects=rejects))
            elif rejects and self._coordinates_pass():
                distances = "The outcomes' distances from what the covariates predict"
                found.append(f"{distances} are not distributed as those of their draws are ({p}).")
            elif rejects:
                found.append(f"The distance to what the covariates predict is off as well ({p}).")
        return found

    def _coordinates_pass(self) -> bool:
        return all(column.passes for column in self.columns)

    def _listed(self, checks: list[RankCheck]) -> str:
        return " and ".join(f"{check.label}, {self._in_words(check)}" for check in checks)

    def _in_words(self, check: RankCheck) -> str:
        return self.checks.pvalue(check.adjusted(self.checks.tests), at_floor=check.at_floor)

    def _visible(self) -> str:
        """Say what would have been found."""
        ranks = self.checks.ranks
        seen = visible_words(*self.columns[0].smallest, ranks.n)
        return f"{seen} One draw per row shows no error of the spread." if ranks.M == 1 else seen

    def _needed(self) -> list[str]:
        """Say how many rows it would take to tell."""
        if self.relation:
            return []
        tau, n, error = self.found.tolerance or USUAL_TOLERANCES[-1], self.checks.ranks.n, self.error
        if self.rejected and error.estimate != tau:
            gap = (error.high - error.estimate) if error.estimate < tau else (error.estimate - error.low)
            needed = rows_needed(n * (gap / abs(error.estimate - tau)) ** 2)
            return [f"If the error is as estimated, it would take about {needed:,} rows to tell."]
        needed = rows_needed(_rows_to_pass(self.checks, tau))
        return [
            f"With {needed:,} rows calibrated draws would be shown to be so within {tolerance_words(tau)} 4 times in 5."
        ]

    def _adjusted(self) -> list[str]:
        """Say what adjusted p-values allow for."""
        checks, C, families = len(self.checks.all), self.checks.ranks.C, self.checks.setting.families
        parts = [f"{checks} checks"] * (checks > 1) + [f"{C:,} coordinates"] * (C > 1)
        parts += [f"{families} families of tests: all rows, groups"] * (families > 1)
        return [f"Adjusted p-values allow for {' and '.join(parts)}."] if parts else []


def _start(subject: Subject) -> str:
    """Return the beginning of a sentence on a coordinate, whose name is written as the user writes it."""
    if subject == ALL_ROWS:
        return ""
    return f"{'Coordinate ' if subject.name.isdigit() else ''}{subject.name}: "


def _rows_to_pass(checks: Checks, tau: float) -> float:
    """Return the number of rows with which the upper limit of calibrated draws is at most tau 4 times in 5.

    √n V has about the distribution of the range of a Brownian bridge, in each of several sets of ranks; V of few draws
    is smaller. Limits of intervals of 50 % are the widest, ± z/(2√n).
    """
    sets = checks.ranks.C + sum(check.ranks is not None for check in checks.all[1:])
    largest = kuiper_quantile(1 - POWER ** (1 / sets)) - FEW_DRAWS / math.sqrt(checks.ranks.M + 1)
    return ((largest + normal_quantile(1 - checks.rate / 2) / 2) / tau) ** 2
