"""The verdict on intervals, sets, quantiles and distributions: the words that are made from claims on coverage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibrant.core.claims import ALL_ROWS, Claim, Subject, level_words, outcome
from calibrant.core.findings import IF_CALIBRATED, Setting, Verdict, at_tolerances
from calibrant.core.words import level_percent, listed, outward, points, pvalue_words, rows_needed, tolerance_words
from calibrant.regions.claims import (
    SHARE_BELOW,
    Beside,
    CoverageClaims,
    Phrase,
    PhrasedLines,
    Plan,
    found_claims,
    may_be_error_rates,
)
from calibrant.regions.lines import Line, lines_of

RECALIBRATE = "Consider recalibration (recalibrate), fitted on rows that did not train the model."
TESTED_TOGETHER = {"multinomial_coverage_test": ", all levels together", "skce_test": ", the distributions as a whole"}
"""What the p-value of a test beside those of single levels is about, in words that follow it."""
NO_TEST = "Weights are unequal, and coverage then has no exact test."


def coverage_verdict(
    judged: Sequence[PhrasedLines],
    setting: Setting,
    *,
    plan: Plan,
    parts: Sequence[PhrasedLines] = (),
    beside: Beside | None = None,
    advice: str = "",
    parts_advice: str = "",
) -> Verdict:
    """Return the verdict on the coverage of all levels, and of parts of the rows such as those with wide intervals."""
    if not any(lines.tested.any() for lines, _ in judged):
        return _untested(judged[0]) if beside is None else kernel_verdict(beside.pvalue, setting)
    found = found_claims(judged, parts, beside, setting)
    phrases = {phrase.quantity: phrase for _, phrase in judged}
    sentences = [
        *alpha_question(judged[0]),
        *([f"{_shares(found.of_levels[0])}."] if _hides_coverage(found, plan) else []),
        *_on_all_rows(found, phrases, setting),
        *_on_parts(found, parts, setting),
        *_beyond_promise(found),
        *(_rows_sentence(found, judged, plan) if found.status == "cannot tell" else []),
        *filter(
            None,
            [parts_advice if found.by_part and parts_advice else advice] if found.status == "miscalibrated" else [],
        ),
    ]
    headline = _headline(found, phrases, plan, setting)
    at = at_tolerances(
        setting.tolerance, lambda tau: found_claims(judged, parts, beside, replace(setting, tolerance=tau)).status
    )
    return Verdict(found.status, headline, tuple(sentences), found.claims, found.claims[0].tolerance, at)


def _untested(judged: PhrasedLines) -> Verdict:
    lines, phrase = judged
    claims = tuple(
        Claim(
            "description",
            phrase.subject(line),
            phrase.quantity,
            line["coverage"],
            line["lower"],
            line["upper"],
            rows=line["count"],
            expected=line["nominal"],
        )
        for line in lines_of(lines.curve)
    )
    worst = max(claims, key=lambda claim: abs(claim.estimate - claim.expected))
    return Verdict("cannot tell", NO_TEST, (f"{_shares(worst)}.",), claims)


def kernel_verdict(p: float | None, setting: Setting) -> Verdict:
    """Return the verdict on distributions without a distribution function, which only the kernel test can judge."""
    if p is None:
        return Verdict("cannot tell", "No test applies to these predictive distributions.")
    p = min(1.0, setting.families * p)
    rejects = setting.rejects(p)
    status = outcome(math.nan, math.nan, rejected=rejects, tolerance=setting.tolerance).status
    claim = Claim(status, ALL_ROWS, "skce", math.nan, level=setting.level, test="skce_test", pvalue=p)
    if status == "miscalibrated":
        headline = f"These predictive distributions are not calibrated ({pvalue_words(p)}); how far off is not known."
        return Verdict(status, headline, (), (claim,))
    detects = "rejects calibration" if rejects else "does not reject calibration"
    headline = f"Only the kernel test applies, which {detects} ({pvalue_words(p)}) and gives no limits."
    return Verdict(status, headline, (), (claim,))


def _headline(found: CoverageClaims, phrases: dict[str, Phrase], plan: Plan, setting: Setting) -> str:
    if found.by_part:
        part = next(claim for claim in found.of_parts if claim.subject == found.claims[0].subject)
        level, p = level_words(part.expected), pvalue_words(part.pvalue or 0.0)
        return f"{coverage_words(part, setting)}, not {level} ({p})."
    worst = found.of_levels[0]
    if found.status == "miscalibrated" and worst.kind not in ("below", "above"):
        return f"{_together(found.whole)} ({pvalue_words(found.whole.pvalue or 0.0)})."
    if found.status == "miscalibrated":
        return f"{coverage_words(worst, setting)}: {_meaning(worst, phrases)} ({pvalue_words(worst.pvalue or 0.0)})."
    number = len(found.of_levels)
    told = found.main.tolerance if found.status == "within" else plan.target
    shows = number == 1 and not _hides_coverage(found, plan)
    size = coverage_words(worst, setting, told) if shows else _largest(found, plan, setting)
    which = {1: "", 2: "both coverages are "}.get(number, f"all {number:,} coverages{_of_what(found)} are ")
    return f"{size}: {which + _within(found, plan) if found.status == 'within' else _cannot_tell(found, plan)}."


def _hides_coverage(found: CoverageClaims, plan: Plan) -> bool:
    """Tell whether the limits of the only coverage would contradict the headline, which states its error instead.

    They count outcomes on bounds as inside and can leave the tolerance although those of the error do not.
    """
    claim, reach = found.of_levels[0], found.main.tolerance or 0.0
    if len(found.of_levels) > 1 or found.status != "within" or plan.rule.alternative != "two-sided":
        return False
    return max(claim.expected - claim.low, claim.high - claim.expected) > reach


def _of_what(found: CoverageClaims) -> str:
    """Say what the coverages are of, if they are of quantiles and of the intervals between them."""
    kinds = Counter(claim.subject.kind for claim in found.of_levels)
    named = [f"{number} {kind.removesuffix('s')}{'s' * (number > 1)}" for kind, number in kinds.items()]
    return f", of {listed(named)}," if len(kinds) > 1 else ""


def _largest(found: CoverageClaims, plan: Plan, setting: Setting) -> str:
    """State the largest error of several levels."""
    gap = {
        "two-sided": "gap between coverage and level",
        "less": "shortfall of coverage",
        "greater": "excess of coverage",
    }
    tolerance = found.main.tolerance if found.status == "within" else plan.target
    _, high, estimate = outward(0.0, found.whole.high, found.whole.estimate, tolerance)
    limit = f"{level_percent(setting.level)} limit: {high} percentage points"
    which = "" if len(found.of_levels) == 1 else "largest "
    return f"The {which}{gap[plan.rule.alternative]} is {estimate} percentage points ({limit})"


def _within(found: CoverageClaims, plan: Plan) -> str:
    size = tolerance_words(found.main.tolerance or 0.0)
    if found.whole.high == 0:  # the limits lie on the side of the level that does not count
        return f"{'above' if plan.rule.counts_low else 'below'} what is promised"
    return {
        "two-sided": f"calibrated within {size}",
        "less": f"at most {size} below what is promised",
        "greater": f"at most {size} above what is promised",
    }[plan.rule.alternative]


def _cannot_tell(found: CoverageClaims, plan: Plan) -> str:
    claim = found.claims[0]
    if found.in_doubt:
        return "the level may be a mistake"
    if plan.calibration_size is not None and claim.low > plan.target:
        return f"a valid method may cover as little after a calibration set of {plan.calibration_size:,} scores"
    rows = "1 row" if claim.rows == 1 else f"{claim.rows:,} rows"
    return f"{rows} cannot tell whether coverage is within {tolerance_words(plan.target)} of its level"


def _together(claim: Claim) -> str:
    size = f"The largest gap between coverage and level is {points(claim.estimate)}"
    if claim.test == "skce_test":
        return f"{size}, no more than chance, but the distributions as a whole are not calibrated"
    return f"{size}: no single level is off by more than chance, but all together are"


def _meaning(claim: Claim, phrases: dict[str, Phrase]) -> str:
    phrase = phrases[claim.quantity]
    how = phrase.too_low if claim.kind == "below" else phrase.too_high
    return f"{'it is' if claim.quantity == SHARE_BELOW else 'they are'} {how}"


def coverage_words(claim: Claim, setting: Setting, tolerance: float | None = None) -> str:
    """Put a claim on coverage into words; limits are rounded outwards, on the same side of level and tolerance."""
    share, low, high = shares_in_words(claim, tolerance)
    confidence = f"{level_percent(setting.level)} limits: {low} to {high}"
    if claim.quantity == SHARE_BELOW:
        return f"{share} of the outcomes do not exceed the {claim.subject} ({confidence})"
    return f"The {claim.subject} cover {share} of the outcomes ({confidence})"


def _shares(claim: Claim) -> str:
    """Say what was seen, without limits."""
    share, _, _ = shares_in_words(claim)
    if claim.quantity == SHARE_BELOW:
        return f"{share} of the outcomes do not exceed the {claim.subject}"
    return f"The {claim.subject} cover {share} of the outcomes"


def shares_in_words(claim: Claim, tolerance: float | None = None) -> tuple[str, str, str]:
    """Return share and limits in percent, with as many digits as keep each on its side of level and tolerance.

    >>> seen = Claim("below", Subject("intervals", level=0.9), "coverage", 0.8993, 0.8987, 0.8999, expected=0.9)
    >>> shares_in_words(seen)
    ('89.93 %', '89.87 %', '89.99 %')
    """
    low, high, share = outward(claim.low, claim.high, claim.estimate, tolerance, claim.expected, digits=0)
    return f"{share} %", f"{low} %", f"{high} %"


def _on_all_rows(found: CoverageClaims, phrases: dict[str, Phrase], setting: Setting) -> list[str]:
    """Say what the headline does not say about all rows."""
    p = f"{pvalue_words(found.whole.pvalue or 0.0)}{TESTED_TOGETHER.get(found.whole.test, '')}"
    if found.main.status == "within" and found.rejected:
        _, high, _ = outward(0.0, found.whole.high, found.whole.estimate, found.main.tolerance)
        return [f"The difference is detectable ({p}), and at most {high} percentage points."]
    if found.main.status == "cannot tell" and found.rejected:
        return [f"Coverage differs from its level ({p}); whether by more than the tolerance is not clear."]
    if found.status != "miscalibrated":
        return []
    if found.by_part:
        whole = coverage_words(found.of_levels[0], setting)
        return [f"Over all rows {whole[:1].lower()}{whole[1:]}."]
    off = [claim for claim in found.of_levels if claim.kind in ("below", "above")]
    return _how_many(off, found.of_levels, phrases) + _shift(off, phrases, setting)


def _how_many(off: list[Claim], lines: Sequence[Claim], phrases: dict[str, Phrase]) -> list[str]:
    """Say how many levels of the first kind are off, if there are several."""
    if not off:
        return []
    quantity = lines[0].quantity
    mine = [claim for claim in off if claim.quantity == quantity]
    number = sum(claim.quantity == quantity for claim in lines)
    if len(mine) < 2:
        return []
    low = sum(claim.kind == "below" for claim in mine)
    high = len(mine) - low
    phrase = phrases[quantity]
    sides = [(low, phrase.too_low), (high, phrase.too_high)]
    which = ", ".join(f"{count:,} {side}" for count, side in sides) if low and high else f"all {sides[not low][1]}"
    return [f"{len(mine):,} of {number:,} levels are off by more than chance: {which}."]


def _shift(off: list[Claim], phrases: dict[str, Phrase], setting: Setting) -> list[str]:
    """Name the worst quantile beside the intervals, if all quantiles that are off lie on one side: a shift."""
    if not off or off[0].quantity == SHARE_BELOW:
        return []
    shifted = [claim for claim in off if claim.quantity == SHARE_BELOW]
    if not shifted or len({claim.kind for claim in shifted}) > 1:
        return []
    worst = min(shifted, key=lambda claim: (claim.pvalue, -abs(claim.estimate - claim.expected)))
    return [f"{coverage_words(worst, setting)}: {_meaning(worst, phrases)}."]


def _on_parts(found: CoverageClaims, parts: Sequence[PhrasedLines], setting: Setting) -> list[str]:
    """Name the parts of the rows that are off and are not in the headline; or say that none is off."""
    if not any(lines.tested.any() for lines, _ in parts):
        return []
    if not found.of_parts:
        by = " or ".join(dict.fromkeys(str(phrase.part) for lines, phrase in parts if lines.tested.any()))
        return [f"No part of the rows, by {by} of their predictions, is off by more than chance."]
    named = [claim for claim in found.of_parts if claim.subject != found.claims[0].subject]
    if found.main.status == "miscalibrated":  # named only if they differ from all rows
        overall = {claim.expected: claim.estimate for claim in found.of_levels}
        named = [claim for claim in named if not claim.low <= overall[claim.expected] <= claim.high]
    other_side = [claim for claim in named if claim.kind != found.of_parts[0].kind]
    chosen = other_side if found.by_part and other_side else named
    return [f"{coverage_words(claim, setting)}, not {level_words(claim.expected)}." for claim in chosen[:1]]


def _beyond_promise(found: CoverageClaims) -> list[str]:
    """Describe coverage on the side of the level that does not count."""
    beyond = [claim for claim in found.of_levels if claim.kind == "description"]
    if not beyond:
        return []
    worst = max(beyond, key=lambda claim: abs(claim.estimate - claim.expected))
    more = worst.estimate > worst.expected
    promised = "at least" if more else "at most"
    return [
        f"{_shares(worst)}: {'more' if more else 'less'} than their level, which is not an error where {promised} "
        f"{level_words(worst.expected)} is promised."
    ]


def _rows_sentence(found: CoverageClaims, judged: Sequence[PhrasedLines], plan: Plan) -> list[str]:
    """Say how many rows it would take to tell, or that the calibration set is what limits."""
    size, n = tolerance_words(plan.target), judged[0][0].curve.n
    if found.in_doubt:
        return []
    if plan.calibration_size is not None and found.whole.low > plan.target:
        return [_calibration_set(n, plan.calibration_size)]
    needed = None if found.rejected else plan.rows()
    if needed is not None and needed > n:
        return [f"{IF_CALIBRATED}about {rows_needed(needed):,} rows show 4 times in 5 that {_shows(plan, size)}."]
    if plan.calibration_size is not None:
        return [_calibration_set(n, plan.calibration_size)]
    planned = [lines for lines, _ in judged if lines.curve.nominal.size == plan.levels.size]  # not central intervals
    if not planned or (plan.rule.ties and not planned[0].exact):
        return []  # the plan knows no outcomes on quantiles
    (lines, *_) = planned
    needed = plan.rows(lines.curve.coverage[np.argsort(lines.curve.nominal, kind="stable")])
    if needed is None:
        return ["The coverage is so near the tolerance that no practical number of rows can tell."]
    return [f"If coverage stays as it is, about {rows_needed(needed):,} rows tell 4 times in 5."] if needed > n else []


def _shows(plan: Plan, size: str) -> str:
    if plan.rule.alternative == "two-sided":
        return f"coverage is within {size} of its level"
    return f"coverage is at most {size} {'below' if plan.rule.counts_low else 'above'} its level"


def _calibration_set(n: int, m: int) -> str:
    return (
        f"There are {n:,} rows; the calibration set of {m:,} is what limits: after so few scores the coverage of valid "
        "predictors differs by as much. A larger calibration set is needed, not more rows."
    )


def alpha_question(judged: PhrasedLines) -> list[str]:
    """Ask whether an error rate was given as level.

    >>> from types import SimpleNamespace as Curve
    >>> from calibrant.regions.lines import Lines
    >>> given = Lines(Curve(nominal=np.array([0.1]), coverage=np.array([0.88])), None, None, 0.05, 0.05)
    >>> alpha_question((given, Phrase("intervals", "intervals", "", "")))
    ['Is 0.1 the error rate? Then pass level=0.9: these intervals cover 88 % of the outcomes.']
    """
    lines, phrase = judged
    level, coverage = lines.curve.nominal, lines.curve.coverage
    if not may_be_error_rates(lines, phrase):
        return []
    given = ", ".join(f"{value:.10g}" for value in level.tolist())
    meant = ", ".join(f"{1 - value:.10g}" for value in level.tolist())
    given, meant = (given, meant) if level.size == 1 else (f"[{given}]", f"[{meant}]")
    seen = " and ".join(f"{100 * value:.0f} %" for value in coverage.tolist())
    are = "Is" if level.size == 1 else "Are"
    rate = "the error rate" if level.size == 1 else "error rates"
    return [f"{are} {given} {rate}? Then pass level={meant}: these {phrase.things} cover {seen} of the outcomes."]


def how_off(line: Line, phrase: Phrase) -> str:
    """Return in a few words how a group is off.

    >>> from calibrant.regions.claims import INTERVALS, QUANTILES
    >>> low, high = {"nominal": 0.9, "coverage": 0.71}, {"nominal": 0.9, "coverage": 0.96}
    >>> how_off(low, INTERVALS), how_off(high, QUANTILES)
    ('covers 71 %, below 90 %', '96 % up to the 90 % quantile, too many')
    """
    level, share = line["nominal"], line["coverage"]
    seen = Claim("description", Subject(phrase.kind, level=level), phrase.quantity, share, share, share, expected=level)
    text, above = shares_in_words(seen)[0], share > level
    if phrase.quantity == SHARE_BELOW:
        return f"{text} up to the {level_words(level)} quantile, too {'many' if above else 'few'}"
    return f"covers {text}, {'above' if above else 'below'} {level_words(level)}"
