"""The verdict on one probability per row: claims with limits first, then the words made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from calibrant.core.claims import ALL_ROWS, USUAL_TOLERANCES, Claim, Subject, outcome
from calibrant.core.findings import IF_CALIBRATED, Setting, Verdict, at_tolerances
from calibrant.core.limits import Limits
from calibrant.core.mean_interval import exact_limits
from calibrant.core.null import MIN_INFORMATION, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import brownian_range_sf, normal_quantile
from calibrant.core.results import Curve, TestResult
from calibrant.core.words import (
    POWER,
    SMALL_GROUP,
    confidence_words,
    error_numbers,
    listed,
    points,
    pvalue_words,
    rows_needed,
    share_of_words,
    share_words,
)
from calibrant.errors import NotApplicableError
from calibrant.probabilities.limits import critical
from calibrant.probabilities.power import smallest_error

ADVICE = "Consider recalibration (recalibrate), fitted on rows that did not train the model."
ADVICE_CERTAIN = (
    "Consider isotonic recalibration (recalibrate, {method}), fitted on rows that did not train the model. Logistic "
    "and temperature maps leave predictions of exactly 0 or 1 as they are."
)
INFINITE = "the log score is infinite. No prediction should be exactly 0 or 1."
LARGEST_RELATIVE = 2.0  # times the predicted events; larger errors are stated in percentage points
RARE = 0.1  # mean prediction below which errors are stated as shares of the predicted events
NO_REGION = "No single tenth of the rows is off by more than chance, but all together are."
SHARE_OF_REGIONS = 0.5  # of the error rate, for claims on ranges of scores; the limits of the size have the rest


class Clustered(NamedTuple):
    """What is known of rows that depend on each other within clusters."""

    number: int  # of clusters
    scale: float  # standard deviation of the noise of the cutoff error
    ranges: tuple[Claim, ...]  # of scores that are off


@dataclass(frozen=True)
class Evidence:
    """What the claims on one probability per row are made from."""

    summary: Ordered
    test: TestResult  # calibration_test
    limits: Limits  # of the cutoff error
    tenths: Curve | None  # mass bins with a simultaneous band; None if rows depend on each other
    subject: Subject = ALL_ROWS
    named: str = "Probabilities"  # beginning of the headline
    happens: str = "it happens"
    clustered: Clustered | None = None


def region_level(setting: Setting) -> float:
    """Return the level of the simultaneous band of the tenths."""
    return 1 - SHARE_OF_REGIONS * (1 - setting.family_level)


def verdict(found: Evidence, setting: Setting) -> Verdict:
    """Return the verdict on one probability per row."""
    claims = claims_of(found, setting)
    main, regions = claims[0], claims[1:]
    scale = Scale.of(found.summary, setting, found.subject)
    sentences = [meaning(main), _rows_it_takes(found, main, setting)]
    sentences += region_words(regions, found.happens)
    if main.kind == "miscalibrated":
        sentences += [NO_REGION] if found.tenths is not None and not regions else []
        score = found.summary.score
        certain = (score == 0) | (score == 1)
        if not certain.all():  # all are labels, which no map turns into probabilities
            sentences.append(ADVICE_CERTAIN.format(method=_stepped_method(found)) if certain.any() else ADVICE)
    return Verdict(
        main.kind,
        headline(main, found, scale, setting),
        tuple(filter(None, sentences)),
        claims,
        main.tolerance,
        at_tolerances(
            setting.tolerance,
            lambda tau: outcome(main.low, main.high, rejected=setting.rejects(main.pvalue), tolerance=tau).status,
            scale.usual,
            scale.tolerance,
        ),
    )


def _stepped_method(found: Evidence) -> str:
    """Name the methods that move predictions of exactly 0 and 1: of one probability per row, or of class vectors."""
    inner = "isotonic or venn-abers"
    return f"method {inner}" if found.subject == ALL_ROWS else f"method one-vs-rest with inner {inner}"


# ---------------------------------------------------------------- claims


def claims_of(found: Evidence, setting: Setting) -> tuple[Claim, ...]:
    """Return the claim on all rows, then claims on ranges of scores if calibration is rejected."""
    p = float(setting.adjusted(found.test.pvalue))
    rejected = setting.rejects(p)
    low, high = found.limits.at(setting.level, "both")
    low = low if rejected else 0.0
    scale = Scale.of(found.summary, setting, found.subject)
    decided = outcome(low, high, rejected=rejected, tolerance=setting.tolerance, usual=scale.usual)
    unit, share_of = scale.unit_of(high, setting)
    main = Claim(
        decided.status,
        found.subject,
        "cutoff_error",
        found.limits.estimate,
        low,
        high,
        setting.level,
        found.summary.n,
        tolerance=decided.tolerance,
        test="calibration_test",
        pvalue=p,
        unit=unit,
        share_of=share_of,
    )
    if not rejected:
        return (main,)
    if found.tenths is None:
        return (main, *(found.clustered.ranges if found.clustered else ()))
    rate, exact = 1 - region_level(setting), found.summary.has_equal_weights
    return (main, *region_claims(found.tenths, level=setting.level, rate=rate, exact=exact))


def region_claims(curve: Curve, *, level: float, rate: float, exact: bool) -> list[Claim]:
    """Return a claim for each bin that leaves its band, unless its own limits contain the prediction.

    `curve` has a simultaneous band, `rate` is the error rate of all limits of bins together, and `exact` says whether
    rows have equal weights; without them there are no limits.
    """
    claims = [_region(curve, b, level, rate, exact) for b in np.flatnonzero(curve.outside).tolist()]
    return [claim for claim in claims if not claim.low <= claim.expected <= claim.high]  # kept without limits


def _region(curve: Curve, b: int, level: float, rate: float, exact: bool) -> Claim:
    observed, predicted, n = float(curve.mean_observed[b]), float(curve.mean_predicted[b]), int(curve.count[b])
    low = high = math.nan
    if exact:
        each = rate / np.count_nonzero(curve.count)
        limits = exact_limits(np.array([round(observed * n)]), np.array([float(n)]), 1 - each)
        low, high = (float(limit[0]) for limit in limits)
    return Claim(
        "above" if observed > predicted else "below",
        Subject("scores", low=_lower_edge(curve, b), high=float(curve.upper[b])),
        "frequency",
        observed,
        low,
        high,
        level,
        n,
        expected=predicted,
        test="simultaneous band of bins",
    )


def _lower_edge(curve: Curve, b: int) -> float:
    """Return the lower edge of a bin; scores of 0 are not in a bin that follows one of zeros alone."""
    return math.ulp(0.0) if b > 0 and curve.upper[b - 1] == 0 else float(curve.lower[b])


# ---------------------------------------------------------------- words


@dataclass(frozen=True)
class Scale:
    """How errors are stated: in percentage points, or for rare events as shares of the predicted number of events."""

    unit: float  # error that is written as 100 %
    usual: tuple[float, ...]  # tolerances, as errors
    rare: Literal["", "events", "non-events"] = ""
    whole: str = ""  # what errors are shares of, if not of the predicted number of rare events

    @classmethod
    def of(cls, summary: Ordered, setting: Setting, subject: Subject = ALL_ROWS) -> Scale:
        """Return the scale for these predictions: relative if asked for, or if events or non-events are rare.

        That the most probable class is right is not an event that can be rare, and errors are stated in the unit of a
        tolerance.
        """
        if subject != ALL_ROWS or (setting.tolerance is not None and not setting.relative):
            return cls(1.0, USUAL_TOLERANCES)
        mean = summary.mean_score
        smaller, rare = min((mean, "events"), (1 - mean, "non-events"))
        if setting.relative:
            smaller, rare = mean, "events"
        if (smaller >= RARE and not setting.relative) or smaller == 0:
            return cls(1.0, USUAL_TOLERANCES)
        return cls(smaller, usual_tolerances(smaller), rare)  # type: ignore[arg-type]

    @property
    def share_of(self) -> str:
        """What errors are shares of, in words; empty for percentage points."""
        return self.whole or (f"the predicted {self.rare}" if self.rare else "")

    def unit_of(self, high: float, setting: Setting) -> tuple[float, str]:
        """Return unit and words for an error with this upper limit.

        One that is much larger than the predicted events is in percentage points, unless the tolerance is relative.
        """
        if self.share_of and (setting.relative or high <= LARGEST_RELATIVE * self.unit):
            return self.unit, self.share_of
        return 1.0, ""

    def tolerance(self, tolerance: float) -> str:
        """State a tolerance."""
        return share_of_words(tolerance, self.unit, self.share_of)


def meaning(claim: Claim) -> str:
    """Say what the size of a claim on the cutoff error is."""
    return (
        "The size is the largest difference between the predicted and the true number of events over any range of "
        f"scores, as a share of {claim.share_of.replace('predicted ', 'predicted number of ') or 'all rows'} "
        "(cutoff error)."
    )


def size(claim: Claim) -> str:
    """State the limits of an error, rounded outwards, with its estimate where it is known to be above 0."""
    if claim.low <= 0 and claim.high >= 1:
        return "an unknown size"
    low, high, estimate = error_numbers(claim)
    words = f" % of {claim.share_of}" if claim.share_of else " percentage points"
    level = confidence_words(claim.level or 0.0)
    if claim.low > 0:
        return f"{estimate}{words} ({level} limits: {low} to {high})"
    return f"at most {high}{words} ({level} confidence)"


def usual_tolerances(mean: float) -> tuple[float, ...]:
    """Return the usual tolerances as errors: smaller for a mean prediction near 0 or 1, where events are rare.

    >>> usual_tolerances(0.3), usual_tolerances(0.05)
    ((0.01, 0.02, 0.05), (0.005, 0.01, 0.025))
    """
    factor = min(1.0, min(mean, 1 - mean) / RARE)
    return tuple(factor * tolerance for tolerance in USUAL_TOLERANCES)


def headline(claim: Claim, found: Evidence, scale: Scale, setting: Setting) -> str:
    """State the size of the error, then the outcome."""
    verb = "is" if found.named.startswith("The ") else "are"
    return f"{found.named} {verb} off by {size(claim)}: {_ending(claim, found, scale, setting)}."


def _ending(claim: Claim, found: Evidence, scale: Scale, setting: Setting) -> str:
    """Put the outcome into words."""
    p, given = _pvalue(claim, found), setting.tolerance is not None
    rejected = setting.rejects(claim.pvalue)
    bound = scale.tolerance(scale.usual[-1] if claim.tolerance is None else claim.tolerance)
    if claim.kind == "miscalibrated":
        return f"more than the tolerance of {bound} ({p})" if given else f"not calibrated ({p})"
    if claim.kind == "cannot tell":
        rows = f"{claim.rows:,} row{'' if claim.rows == 1 else 's'}"
        return f"{rows} cannot tell whether that is within {'the tolerance of ' if given else ''}{bound}"
    if rejected:
        return f"detectable ({p}), but {f'within the tolerance of {bound}' if given else 'negligible'}"
    return f"calibrated within {'the tolerance of ' if given else ''}{bound}"


def _pvalue(claim: Claim, found: Evidence) -> str:
    """Write the p-value; the smallest that redraws can give is a bound."""
    words, test = pvalue_words(claim.pvalue or 0.0), found.test
    return words.replace("p =", "p ≤") if test.statistic <= test.details["smallest possible"] else words


def _rows_it_takes(found: Evidence, claim: Claim, setting: Setting) -> str:
    """Say how many rows of this kind would show that calibrated predictions are within the tolerance."""
    if claim.kind != "cannot tell":
        return ""
    if setting.rejects(claim.pvalue):
        p = _pvalue(claim, found)
        return f"Calibration is rejected ({p}), but the tolerance lies between the limits of the error."
    usual = Scale.of(found.summary, setting, found.subject).usual[-1]
    if found.summary.walk.variance == 0:
        return "All predictions are 0 or 1, so no number of such rows is enough."
    tolerance = usual if setting.tolerance is None else setting.tolerance
    if found.clustered is not None:
        needed = number_to_pass(found.clustered.number, found.clustered.scale, tolerance, setting.level)
        return f"{IF_CALIBRATED}about {needed:,} such clusters would show it 4 times in 5."
    variance, n = found.summary.walk.variance, found.summary.n
    needed = number_to_pass(n, math.sqrt(variance) / found.summary.total_weight, tolerance, setting.level)
    if not found.summary.has_equal_weights:  # there are no limits with less information
        needed = max(needed, rows_needed(n * MIN_INFORMATION * (found.summary.weight_max / math.sqrt(variance)) ** 2))
    return f"{IF_CALIBRATED}about {needed:,} rows would show it 4 times in 5."


def number_to_pass(n: int, s: float, tolerance: float, level: float) -> int:
    """Return about how many such rows or clusters pass a tolerance 4 times in 5 if they are calibrated.

    They pass if the range of the cumulative differences plus z s is at most the tolerance, where s is the standard
    deviation of the sum of n of them; the range divided by s is that of a Brownian motion, and 4 in 5 lie below its
    80 % quantile.
    """
    deviations = critical(brownian_range_sf, 1 - POWER) + normal_quantile((1 + level) / 2)
    return rows_needed(n * (deviations * s / tolerance) ** 2)


def region_words(claims: Sequence[Claim], happens: str) -> list[str]:
    """Return an example, the bin that is off most, and which way all these bins are off."""
    if not claims:
        return []
    return [_example(max(claims, key=lambda claim: abs(claim.estimate - claim.expected)), happens), _shape(claims)]


def _example(claim: Claim, happens: str) -> str:
    """Return the sentence on a range of scores that is off: when it says .., it happens .. of the time."""
    says, seen, *limits = share_words(claim.expected, claim.estimate, claim.low, claim.high)
    limited = f", {confidence_words(claim.level or 0.0)} limits {' to '.join(limits)}" if limits else ""
    return f"When it says {says}, {happens} {seen} of the time ({claim.rows:,} rows{limited})."


def _shape(regions: Sequence[Claim]) -> str:
    """Return in words which way ranges of scores are off."""
    low = [claim for claim in regions if claim.kind == "above"]  # predictions are too low
    high = [claim for claim in regions if claim.kind == "below"]
    if not (low and high):
        return f"On average predictions are too {'low' if low else 'high'} {_where(low or high)}."
    middle = 0.5  # too extreme means away from it, too timid towards it
    both = f"too low {_where(low)} and too high {_where(high)}"
    if max(claim.expected for claim in low) < middle < min(claim.expected for claim in high):
        return f"Predictions are too extreme (over-confident): {both}."
    if max(claim.expected for claim in high) < middle < min(claim.expected for claim in low):
        return f"Predictions are too timid (under-confident): too high {_where(high)} and too low {_where(low)}."
    return f"On average predictions are {both}."


def _where(claims: Sequence[Claim]) -> str:
    """Return the union of the ranges of scores in words."""
    ranges: list[list[float]] = []
    for low, high in ((claim.subject.low or 0.0, claim.subject.high or 0.0) for claim in claims):
        if ranges and ranges[-1][1] == low:
            ranges[-1][1] = high
        else:
            ranges.append([low, high])
    return listed([_range_words(low, high) for low, high in ranges])


def _range_words(low: float, high: float) -> str:
    if low <= 0 and high >= 1:
        return "over the whole range"
    if low == math.ulp(0.0):
        return "above 0" if high >= 1 else f"above 0, up to {high:.2g}"
    if high <= 0:
        return "where they are 0"
    if low <= 0:
        return f"up to {high:.2g}"
    return f"above {low:.2g}" if high >= 1 else f"from {low:.2g} to {high:.2g}"


# ---------------------------------------------------------------- what to keep in mind

SIMULATED = 999  # data sets with an error behind the sentence on power
MAX_ROUNDED_SCORES = 101  # different scores that rounding to two decimals leaves


def caveats(summary: Ordered, setting: Setting, *, pooled: bool, infinite: bool) -> list[str]:
    """Return what to keep in mind about these rows.

    `pooled` says whether an entry is a cell in which rows were counted, `infinite` whether the log score is infinite.
    """
    n, unique = summary.n, summary.unique_scores.size
    events = int(summary.events.sum())
    rare = min(events, n - events)
    found = []
    if rare < SMALL_GROUP:
        kind = "event" if events <= n - events else "non-event"
        few = f"Only {rare}" if rare else "No"
        among = f"{n:,} row{'' if n == 1 else 's'}"
        found.append(
            f"{few} {kind}{'' if rare == 1 else 's'} among {among}: statements about them are based on few cases."
        )
    if pooled:
        found.append(
            f"The rows were counted in cells of the score, and {unique:,} cells contain rows. Bins of equal width are "
            "exact, the method says by how much others may be off, and each cell is drawn as one score."
        )
    elif unique < n / 2:
        scores = f"{unique:,} different score{'' if unique == 1 else 's'}"
        found.append(
            f"There {'is' if unique == 1 else 'are'} {scores} among {n:,} rows; tied scores are judged together."
        )
        if unique > MAX_ROUNDED_SCORES and setting.clusters is None and not setting.class_names:
            found.append(
                "If rows share a score because they belong together, as several rows of one customer do, they are not "
                "independent: pass clusters=."
            )
    effective = summary.total_weight**2 / float((summary.weight**2 * summary.count).sum())
    if effective < 0.9 * n:
        found.append(f"With these weights {n:,} rows count like {effective:,.0f}.")
    if infinite:
        found.append(f"{_impossible(summary, pooled)} happened that were given probability 0: {INFINITE}")
    return [*found, *_power(summary, setting)]


def _power(summary: Ordered, setting: Setting) -> list[str]:
    """Say which constant error would have been found 4 times in 5, by simulation of the test on these scores."""
    level = setting.family_level
    if setting.clusters is not None or resampled_pvalue(0, SIMULATED) > 1 - level or summary.walk.variance == 0:
        return []
    try:
        e = smallest_error(summary, level=level, target=POWER, resamples=SIMULATED, rng=setting.rng)
    except NotApplicableError:
        return ["With so few rows no constant error is found 4 times in 5."]
    return [
        f"With this many rows an error of {points(e, digits=2, up=True)}, the same at all scores, is found 4 times in "
        "5; smaller errors, and errors that cancel, can remain undetected."
    ]


def _impossible(summary: Ordered, pooled: bool) -> str:
    """Say how many outcomes were ruled out; cells do not tell 0 from what is next to it."""
    if pooled:
        return "Outcomes"
    ruled_out = int(
        summary.events[summary.score == 0].sum() + (summary.count - summary.events)[summary.score == 1].sum()
    )
    return f"{ruled_out:,} outcome{'' if ruled_out == 1 else 's'}"
