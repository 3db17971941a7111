"""Sentences about coverage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.audit.coverage import level_pvalue, lines_of, smallest_seen
from calibrant.audit.sections import Setting
from calibrant.audit.words import NOTABLE, POWER, percent, points, pvalue_words, rows_needed
from calibrant.inference.tails import normal_quantile
from calibrant.results import Curve, TestResult, Verdict

ALL_TOGETHER = "No single level is off by more than chance, but all together are."
NO_TEST = "Weights are unequal, and coverage then has no exact test."


class Words(NamedTuple):
    """How a kind of prediction is spoken of; `holds` is a sentence with places for level, share, and interval."""

    things: str
    holds: str
    too_low: str  # what it means that a level holds too little
    too_high: str
    advice: str


INTERVALS = Words(
    "intervals",
    "The {level} intervals hold {share} of the outcomes ({confidence})",
    "they are too narrow",
    "they are wider than they need to be",
    "Conformal prediction on held-out rows sets the coverage right; coverage alone does not make intervals good.",
)
SETS = INTERVALS._replace(
    things="sets",
    holds="The {level} sets hold {share} of the outcomes ({confidence})",
    too_low="they are too small",
    too_high="they are larger than they need to be",
    advice="Conformal prediction on held-out rows sets the coverage right; coverage alone does not make sets good.",
)
CENTRAL = INTERVALS._replace(holds="The central {level} intervals hold {share} of the outcomes ({confidence})")
QUANTILES = Words(
    "quantiles",
    "{share} of the outcomes do not exceed the {level} quantile ({confidence})",
    "it is too low",
    "it is too high",
    "",
)


def coverage_verdict(
    things: str,
    judged: list[tuple[Curve, Words]],
    joint: TestResult | None,
    setting: Setting,
    *,
    advice: str = "",
    further: float | None = None,
) -> Verdict:
    """Return the verdict on the coverage of all levels.

    `judged` are the curves whose levels are tested, with their words, and `further` the p-value of another test of
    all rows. The p-values of levels are Holm's, times the number of curves and tests beside them, times the families.
    """
    curves = [curve for curve, _ in judged]
    p = level_pvalue(curves, joint, further)
    if p is None:
        return Verdict("cannot tell", NO_TEST, tuple(_worst_sentence(*judged[0], setting)))
    tests = len(curves) + (joint is not None) + (further is not None)
    corrected = min(1.0, setting.families * p)
    if corrected < 1 - setting.level:
        found = [sentence for curve, words in judged for sentence in _off(curve, words, tests, setting)]
        return Verdict(
            "miscalibrated",
            f"These {things} are not calibrated ({pvalue_words(corrected)}).",
            (
                *(found or ["No single level is off by more than chance, but all together are."]),
                *filter(None, [advice]),
            ),
        )
    return _not_rejected(things, judged, tests, corrected, setting)


def _not_rejected(things: str, judged: list[tuple[Curve, Words]], tests: int, p: float, setting: Setting) -> Verdict:
    curve, words = judged[0]
    seen = seen_at(curve, tests, setting)
    n = curve.n
    if seen is not None and seen <= NOTABLE:
        return Verdict(
            "no evidence",
            f"Nothing speaks against these {things} ({pvalue_words(p)}).",
            (
                *_worst_sentence(curve, words, setting),
                f"Coverage too low by {points(seen)} would have been found 4 times in 5 with this many rows. "
                "That is not proof of calibration: smaller errors, and errors that cancel, stay unseen.",
            ),
        )
    found = "No shortfall of coverage" if seen is None else f"Only coverage too low by {points(seen)} or more"
    more = (
        "A larger calibration set and more rows are needed."
        if setting.calibration_size is not None
        else f"To see {points(NOTABLE)}, collect about {_enough(curve, tests, setting):,} rows."
    )
    return Verdict(
        "cannot tell",
        f"There are too few rows to tell ({n:,}; {pvalue_words(p)}).",
        (*_worst_sentence(curve, words, setting), f"{found} would have been found 4 times in 5. {more}"),
    )


def kernel_verdict(p: float | None, setting: Setting) -> Verdict:
    """Return the verdict on laws without a distribution function, which the kernel test alone can judge."""
    if p is None:
        return Verdict("cannot tell", "No test applies to these predictive laws.")
    p = min(1.0, setting.families * p)
    if p < 1 - setting.level:
        return Verdict("miscalibrated", f"These predictive laws are not calibrated ({pvalue_words(p)}).")
    return Verdict("cannot tell", f"The kernel test finds nothing ({pvalue_words(p)}), and no other test applies.")


def seen_at(curve: Curve, tests: int, setting: Setting) -> float | None:
    """Return the shortfall of coverage that is found 4 times in 5 at every level, with the correction for all tests."""
    share = (1 - setting.level) / (setting.families * tests * curve.nominal.size)
    levels = np.unique(curve.nominal).tolist()
    found = [smallest_seen(curve.n, level, share, setting.calibration_size) for level in levels]
    return None if any(value is None for value in found) else max(value for value in found if value is not None)


def seen_caveat(curve: Curve, tests: int, setting: Setting) -> str:
    """Return what such an audit can see."""
    seen = seen_at(curve, tests, setting)
    if seen is None:
        return "With so few rows no shortfall of coverage is found 4 times in 5."
    return (
        f"With this many rows coverage too low by {points(seen)} is found 4 times in 5 at the "
        f"{percent(1 - setting.level)} level, corrected for all tests; less may stay unseen."
    )


def with_sizes(verdict: Verdict, by_size: Curve, setting: Setting, sentence: str, size: str) -> Verdict:
    """Return a verdict that also speaks of rows whose predictions are of about one size."""
    lines = [line for line in lines_of(by_size) if line["count"]]
    off = [line for line in lines if setting.families * line["pvalue_holm"] < 1 - setting.level]
    if not off:
        same = f"Coverage does not change with the {size} by more than chance."
        return replace(verdict, sentences=(*verdict.sentences, same))
    worst = min(off, key=lambda line: (line["pvalue_holm"], -abs(line["coverage"] - line["nominal"])))
    (share,) = shares_apart(worst["nominal"], worst["coverage"])
    said = (
        f"{sentence.format(size=worst['group'], share=share)} of the outcomes, not {percent(worst['nominal'])} "
        f"({worst['count']:,} rows)."
    )
    if verdict.status == "miscalibrated":
        return replace(verdict, sentences=(*verdict.sentences, said))
    p = min(1.0, setting.families * worst["pvalue_holm"])
    return Verdict("miscalibrated", f"Coverage changes with the {size} ({pvalue_words(p)}).", (said,))


def _off(curve: Curve, words: Words, tests: int, setting: Setting) -> list[str]:
    """Return the sentence on the level that is off most, and how many are."""
    off = [line for line in lines_of(curve) if setting.families * tests * line["pvalue_holm"] < 1 - setting.level]
    if not off:
        return []
    worst = min(off, key=lambda line: (line["pvalue_holm"], -abs(line["coverage"] - line["nominal"])))
    low = [line["coverage"] < line["nominal"] for line in off]
    meaning = words.too_low if worst["coverage"] < worst["nominal"] else words.too_high
    found = [f"{_said(worst, words, setting)}: {meaning}."]
    if len(off) > 1:
        all_low = "all hold too little" if all(low) else "all hold too much" if not any(low) else "some hold too little"
        found.append(f"{len(off):,} of {curve.nominal.size:,} levels are off by more than chance; {all_low}.")
    return found


def _worst_sentence(curve: Curve, words: Words, setting: Setting) -> list[str]:
    lines = lines_of(curve)
    worst = max(lines, key=lambda line: abs(line["coverage"] - line["nominal"]))
    return [f"{_said(worst, words, setting)}{', the largest gap of all levels' if len(lines) > 1 else ''}."]


def _said(line: dict[str, Any], words: Words, setting: Setting) -> str:
    share, low, high = shares_apart(line["nominal"], line["coverage"], line["lower"], line["upper"])
    confidence = f"{percent(setting.level)} confidence: {low} to {high}"
    return words.holds.format(level=percent(line["nominal"]), share=share, confidence=confidence, group=line["group"])


def shares_apart(nominal: float, *shares: float) -> list[str]:
    """Return shares in percent, with as many digits as tell the first and the last two from the level and each other.

    >>> shares_apart(0.9, 0.84, 0.81, 0.87), shares_apart(0.9, 0.8993, 0.8987, 0.8999)
    (['84 %', '81 %', '87 %'], ['89.93 %', '89.87 %', '89.99 %'])
    """
    for digits in range(4):
        texts = [f"{100 * share:.{digits}f} %" for share in shares]
        level = f"{100 * nominal:.{digits}f} %"
        if len({*texts[1:], level}) == len(texts) and (texts[0] != level or shares[0] == nominal):
            break
    return texts


def _enough(curve: Curve, tests: int, setting: Setting) -> int:
    """Return about how many rows see a notable shortfall at every level: ((z + 0.84)/0.05)² c(1 - c)."""
    share = (1 - setting.level) / (setting.families * tests * curve.nominal.size)
    deviations = normal_quantile(1 - share / 2) + normal_quantile(POWER)
    variance = float(np.max(curve.nominal * (1 - curve.nominal)))
    return rows_needed((deviations / NOTABLE) ** 2 * max(variance, NOTABLE * (1 - NOTABLE)))


def conformal_caveat(things: str, setting: Setting) -> list[str]:
    """Say what the coverage of split conformal prediction rests on."""
    if setting.calibration_size is not None:
        return [
            f"Tests allow for a calibration set of {setting.calibration_size:,} scores, on which the coverage of split "
            "conformal prediction depends."
        ]
    return [
        f"If these {things} come from split conformal prediction, their coverage depends on the calibration set and "
        "these tests are too strict: pass calibration_size=, its number of scores."
    ]


def weights_caveat(n: int, w: Any) -> list[str]:
    """Say how many rows of equal weight the rows are worth."""
    effective = float(w.sum()) ** 2 / float((np.asarray(w) ** 2).sum())
    return [f"With these weights {n:,} rows count like {effective:,.0f}."] if effective < 0.9 * n else []
