"""Coverage in audits of intervals, sets, quantiles and distributions: exact tests line by line, and the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.annotations import Alternative
from calibrant.core.findings import Setting, Verdict
from calibrant.core.mean_interval import exact_limits, score_limits
from calibrant.core.pvalues import binomial_tails, bonferroni, holm, normal_quantile, two_sided
from calibrant.core.results import Curve, TestResult
from calibrant.core.summary import Summary
from calibrant.core.words import NOTABLE, POWER, percent, points, pvalue_words, rows_needed
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping, RowLabels
from calibrant.inputs.options import DIGITS
from calibrant.regions.coverage_curve import COVERAGE_CURVE
from calibrant.regions.coverage_test import has_ties, hit_pvalue, last_true, multinomial_coverage_test
from calibrant.regions.hits import HitTable

RECALIBRATE = "Consider recalibration on held-out data."
BINOMIAL = "; binomial p-values"


def coverage_lines(
    summary: Summary, setting: Setting, *, alternative: Alternative = "two-sided", **options: Any
) -> Curve:
    """Return the coverage curve of a summary with the p-values that an audit uses.

    They allow for outcomes that lie on a quantile, and for the size of a conformal calibration set. With
    ``alternative="less"`` only too low a coverage counts.
    """
    curve = COVERAGE_CURVE.of_summary(summary, COVERAGE_CURVE.parse({"level": setting.level, **options}))
    m, method = setting.calibration_size, curve.method.removesuffix(BINOMIAL)
    if np.isnan(curve.pvalue).all():
        return replace(curve, method=method)
    if m is not None:
        pvalue = np.array(
            [
                hit_pvalue(line["hits"], line["count"], line["nominal"], alternative, m) if line["count"] else np.nan
                for line in lines_of(curve)
            ]
        )
        words = f"{method}; beta-binomial p-values for {m:,} calibration scores"
        curve = replace(curve, method=words, details={**curve.details, "calibration_size": m})
    elif "below" in curve.columns:
        pvalue = tied_pvalue(curve.hits, np.rint(curve.below * curve.count), curve.count, curve.nominal)
    elif alternative == "less":
        pvalue = np.where(curve.count > 0, binomial_tails(curve.hits, curve.count, curve.nominal)[0], np.nan)
    else:
        return curve
    return replace(curve, columns={**curve.columns, "pvalue": pvalue, "pvalue_holm": holm(pvalue)})


def tied_pvalue(hits: Any, inside: Any, count: Any, nominal: Any) -> FloatArray:
    """Return two-sided p-values where outcomes may lie on the edge: of P(inside) <= nominal <= P(hit).

    `inside` counts the hits that do not lie on the edge. Without outcomes on edges it is the two-sided binomial test.

    >>> float(tied_pvalue(3, 3, 4, 0.5)), float(tied_pvalue(4, 1, 4, 0.5))
    (0.625, 1.0)
    """
    return two_sided(binomial_tails(hits, count, nominal)[0], binomial_tails(inside, count, nominal)[1])


def central_lines(table: HitTable, setting: Setting) -> Curve | None:
    """Return the coverage of the central intervals between quantiles τ and 1 - τ; None if no two levels mirror.

    Hits follow from those of the quantiles: rows at most at the upper one, less the rows below the lower one.
    """
    places = _mirrored(table.levels)
    if not places:
        return None
    shape = (-1, table.levels.size)
    at, below, w, w2 = (column.reshape(shape) for column in (table.wc, table.below, table.w, table.w2))
    count = table.count.reshape(shape)
    low, high = (np.array(side) for side in zip(*places, strict=True))
    n = count[:, low].ravel()
    coverage = ((at[:, high] - below[:, low]) / w[:, low]).ravel()
    inside = np.maximum((below[:, high] - at[:, low]) / w[:, low], 0.0).ravel()
    nominal = np.tile((table.levels[high] - table.levels[low]).round(DIGITS + 2), len(at))
    hits = np.rint(coverage * n)
    if table.has_equal_weights:
        limits = exact_limits(hits, n.astype(np.float64), setting.level)
        pvalue = tied_pvalue(hits, np.rint(inside * n), n, nominal)
    else:
        limits = score_limits(coverage, (w[:, low] ** 2 / w2[:, low]).ravel(), setting.level)
        pvalue = np.full(n.size, np.nan)
    groups = np.array(table.group, dtype=object).reshape(shape)[:, low].ravel()
    return Curve(
        "coverage",
        {
            "nominal": nominal,
            "group": groups.astype(str),
            "count": n,
            "hits": hits.astype(np.int64),
            "coverage": coverage,
            "lower": limits[0],
            "upper": limits[1],
            "pvalue": pvalue,
            "pvalue_holm": holm(pvalue),
        },
        "central intervals between quantiles; binomial p-values",
        table.n,
        {"level": setting.level},
    )


def joint_test(table: HitTable, setting: Setting) -> TestResult | None:
    """Return the test of all levels together; None where it does not apply."""
    if (
        table.levels.size < 2
        or np.isnan(table.levels).any()
        or has_ties(table)
        or not (table.nested and table.has_equal_weights)
        or setting.calibration_size is not None
    ):
        return None
    return multinomial_coverage_test(table, resamples=setting.resamples, rng=setting.rng)


def smallest_seen(n: int, level: float, share: float, calibration_size: int | None) -> float | None:
    """Return by how much coverage must fall short of a level to be found 4 times in 5; None if no shortfall is.

    The two-sided test at significance `share` rejects for k hits or fewer; the answer solves P(K <= k) = 0.8.
    """
    from scipy.special import betaincinv

    k = last_true(lambda hits: 2 * hit_pvalue(hits, n, level, "less", calibration_size) < share, 0, n)
    return None if k < 0 else max(level - float(betaincinv(k + 1, n - k, 1 - POWER)), 0.0)


def labels_of(grouping: Grouping) -> RowLabels:
    """Return a grouping as labels of rows."""
    return RowLabels(grouping.code, tuple(grouping.names))


def lines_of(curve: Curve) -> list[dict[str, Any]]:
    """Return the columns of a curve line by line."""
    values = zip(*(column.tolist() for column in curve.columns.values()), strict=True)
    return [dict(zip(curve.columns, line, strict=True)) for line in values]


def _mirrored(levels: FloatArray) -> list[tuple[int, int]]:
    """Return the places of levels τ < 1/2 and 1 - τ, the narrowest interval first."""
    place = {round(level, DIGITS): k for k, level in enumerate(levels.tolist())}
    pairs = [(place[t], place.get(round(1 - t, DIGITS))) for t in sorted(place, reverse=True) if t < 0.5]
    return [(low, high) for low, high in pairs if high is not None]


NO_TEST = "Weights are unequal, and coverage then has no exact test."


Line = dict[str, Any]
"""A line of a coverage curve: a level, its coverage, its interval and p-values."""


class Words(NamedTuple):
    """The words for a kind of prediction; `sentence` has places for level, share and interval."""

    things: str
    sentence: str
    too_low: str  # what too low a coverage means
    too_high: str
    advice: str
    lines: str = "levels"
    group: tuple[str, str] = ("covers {share}, below {level}", "covers {share}, above {level}")  # too low, too high


INTERVALS = Words(
    "intervals",
    "The {level} intervals cover {share} of the outcomes ({confidence})",
    "they are too narrow",
    "they are wider than they need to be",
    "Conformal prediction on held-out rows corrects the coverage; coverage alone does not make intervals good.",
)
SETS = INTERVALS._replace(
    things="sets",
    sentence="The {level} sets cover {share} of the outcomes ({confidence})",
    too_low="they are too small",
    too_high="they are larger than they need to be",
    advice="Conformal prediction on held-out rows corrects the coverage; coverage alone does not make sets good.",
)
CENTRAL = INTERVALS._replace(sentence="The central {level} intervals cover {share} of the outcomes ({confidence})")
QUANTILES = Words(
    "quantiles",
    "{share} of the outcomes do not exceed the {level} quantile ({confidence})",
    "it is too low",
    "it is too high",
    "",
    group=("{share} up to the {level} quantile, too few", "{share} up to the {level} quantile, too many"),
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
    of_curves = [curve.pvalue_holm for curve, _ in judged]
    beside = [p for p in (None if joint is None else joint.pvalue, further) if p is not None]
    if all(np.isnan(pvalues).all() for pvalues in of_curves) and further is None:
        return Verdict("cannot tell", NO_TEST, tuple(_worst_sentence(*judged[0], setting)))
    found = [float(np.nanmin(pvalues)) for pvalues in of_curves if not np.isnan(pvalues).all()]
    p = bonferroni(found + beside)
    tests = len(judged) + len(beside)
    corrected = min(1.0, setting.families * p)
    if corrected < 1 - setting.level:
        return Verdict(
            "miscalibrated",
            f"These {things} are not calibrated ({pvalue_words(corrected)}).",
            (
                *(
                    _off(judged, tests, setting)
                    or ["No single level is off by more than chance, but all together are."]
                ),
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
            f"No evidence of miscalibration in these {things} ({pvalue_words(p)}).",
            (
                *_worst_sentence(curve, words, setting),
                f"Coverage too low by {points(seen)} would have been found 4 times in 5 with this many rows. "
                "This does not prove calibration: smaller errors, and errors that cancel, are not detected.",
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
    """Return the verdict on distributions without a distribution function, which only the kernel test can judge."""
    if p is None:
        return Verdict("cannot tell", "No test applies to these predictive distributions.")
    p = min(1.0, setting.families * p)
    if p < 1 - setting.level:
        return Verdict("miscalibrated", f"These predictive distributions are not calibrated ({pvalue_words(p)}).")
    return Verdict("cannot tell", f"The kernel test finds nothing ({pvalue_words(p)}), and no other test applies.")


def seen_at(curve: Curve, tests: int, setting: Setting) -> float | None:
    """Return the shortfall of coverage that is found 4 times in 5 at every level, with the correction for all tests."""
    share = (1 - setting.level) / (setting.families * tests * curve.nominal.size)
    levels = np.unique(curve.nominal).tolist()
    found = [smallest_seen(curve.n, level, share, setting.calibration_size) for level in levels]
    return None if any(value is None for value in found) else max(value for value in found if value is not None)


def with_sizes(verdict: Verdict, by_size: Curve, overall: Curve, setting: Setting, sentence: str, none: str) -> Verdict:
    """Return a verdict that also covers rows whose predictions have about one size, if there are several sizes.

    If all levels are off already, rows of one size are named only if they differ from the others.
    """
    lines = [line for line in lines_of(by_size) if line["count"]]
    if len({line["group"] for line in lines}) < 2 or all(np.isnan(line["pvalue_holm"]) for line in lines):
        return verdict
    off = [line for line in lines if setting.families * line["pvalue_holm"] < 1 - setting.level]
    if not off:
        return replace(verdict, sentences=(*verdict.sentences, none))
    if verdict.status == "miscalibrated":
        covered = dict(zip(overall.nominal.tolist(), overall.coverage.tolist(), strict=True))
        off = [line for line in off if not line["lower"] <= covered[line["nominal"]] <= line["upper"]]
        return replace(verdict, sentences=(*verdict.sentences, *(_of_size(_worst(off), sentence) if off else ())))
    p = min(1.0, setting.families * _worst(off)["pvalue_holm"])
    headline = f"Some of these predictions are not calibrated ({pvalue_words(p)})."
    return Verdict("miscalibrated", headline, _of_size(_worst(off), sentence))


def _of_size(line: Line, sentence: str) -> tuple[str]:
    (share,) = shares_apart(line["nominal"], line["coverage"])
    start = sentence.format(size=line["group"], share=share)
    return (f"{start} of the outcomes, not {level_words(line['nominal'])} ({line['count']:,} rows).",)


def how_off(line: Line, words: Words) -> str:
    """Return in a few words how a group is off.

    >>> how_off({"nominal": 0.9, "coverage": 0.71}, INTERVALS), how_off({"nominal": 0.9, "coverage": 0.96}, QUANTILES)
    ('covers 71 %, below 90 %', '96 % up to the 90 % quantile, too many')
    """
    (share,) = shares_apart(line["nominal"], line["coverage"])
    return words.group[line["coverage"] > line["nominal"]].format(share=share, level=level_words(line["nominal"]))


def _off(judged: list[tuple[Curve, Words]], tests: int, setting: Setting) -> list[str]:
    """Return a sentence on the worst level of each curve, and how many levels of the first curve are off.

    If intervals are off too, quantiles are named only if all of those that are off lie on one side: a shift.
    """
    found: list[str] = []
    for curve, words in judged:
        lines = lines_of(curve)
        off = [line for line in lines if setting.families * tests * line["pvalue_holm"] < 1 - setting.level]
        low = [line["coverage"] < line["nominal"] for line in off]
        if not off or (found and any(low) and not all(low)):
            continue
        meaning = words.too_low if _worst(off)["coverage"] < _worst(off)["nominal"] else words.too_high
        sentences = [f"{_sentence(_worst(off), words, setting)}: {meaning}."]
        if len(off) > 1 and not found:
            ways = [way.split(" ", 2)[2] for way in (words.too_low, words.too_high)]
            which = f"all {ways[0]}" if all(low) else f"some {ways[0]}" if any(low) else f"all {ways[1]}"
            sentences.append(f"{len(off):,} of {len(lines):,} {words.lines} are off by more than chance, {which}.")
        found += sentences
    return found


def _worst(lines: list[Line]) -> Line:
    return min(lines, key=lambda line: (line["pvalue_holm"], -abs(line["coverage"] - line["nominal"])))


def _worst_sentence(curve: Curve, words: Words, setting: Setting) -> list[str]:
    lines = lines_of(curve)
    worst = max(lines, key=lambda line: abs(line["coverage"] - line["nominal"]))
    return [f"{_sentence(worst, words, setting)}{', the largest gap of all levels' if len(lines) > 1 else ''}."]


def _sentence(line: Line, words: Words, setting: Setting) -> str:
    share, low, high = shares_apart(line["nominal"], line["coverage"], line["lower"], line["upper"])
    confidence = f"{percent(setting.level)} confidence: {low} to {high}"
    level = level_words(line["nominal"])
    return words.sentence.format(level=level, share=share, confidence=confidence, group=line["group"])


def level_words(level: float) -> str:
    """Return a nominal level in percent, as it was given or with two decimals.

    >>> level_words(0.9), level_words(0.975), level_words(5 / 11), level_words(0.99999)
    ('90 %', '97.5 %', '45.45 %', '99.999 %')
    """
    digits = 2 if 0.0001 <= level <= 0.9999 else 8
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".") + " %"


def shares_apart(nominal: float, *shares: float) -> list[str]:
    """Return shares in percent, with as many digits as tell the first and the last two from the level and each other.

    >>> shares_apart(0.9, 0.84, 0.81, 0.87), shares_apart(0.9, 0.8993, 0.8987, 0.8999)
    (['84 %', '81 %', '87 %'], ['89.93 %', '89.87 %', '89.99 %'])
    """
    texts: list[str] = []
    for digits in range(4):
        texts = [f"{100 * share:.{digits}f} %" for share in shares]
        level = f"{100 * nominal:.{digits}f} %"
        if len({*texts[1:], level}) == len(texts) and (texts[0] != level or shares[0] == nominal):
            break
    return texts


def _enough(curve: Curve, tests: int, setting: Setting) -> int:
    """Return about how many rows detect a notable shortfall at every level: ((z + 0.84)/0.05)² c(1 - c)."""
    share = (1 - setting.level) / (setting.families * tests * curve.nominal.size)
    deviations = normal_quantile(1 - share / 2) + normal_quantile(POWER)
    variance = float(np.max(curve.nominal * (1 - curve.nominal)))
    return rows_needed((deviations / NOTABLE) ** 2 * max(variance, NOTABLE * (1 - NOTABLE)))
