"""Sentences: what the numbers mean to a person who has to decide."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.findings import Measurement, Setting, Verdict
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import bonferroni, normal_quantile
from calibrant.core.results import Curve
from calibrant.inputs.arrays import FloatArray

MISSING = "–"
LONGEST_NAME = 160
LONGEST_SENTENCE = 2000
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # marks that change the writing direction of what follows
_UNIT = re.compile(r"(?<=\d) %")
SMALL_GROUP = 30  # rows


def number(value: float | None) -> str:
    """Write a measured value with four significant digits, and whole numbers whole.

    >>> number(0.9), number(0.08421), number(5.21574), number(12345.678), number(0.0000123), number(None)
    ('0.9000', '0.08421', '5.216', '12,346', '1.230e−05', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(float(f"{value:.4g}"))
    text = f"{value:#.4g}" if size < 1000 else f"{value:,.0f}" if size < 1e15 else f"{value:.3e}"
    return text.replace("-", "−")


def level(value: float) -> str:
    """Write a nominal level as it was given, or with four digits.

    >>> level(0.9), level(1 / 11), level(0.99999)
    ('0.9', '0.09091', '0.99999')
    """
    short = f"{value:.4g}"
    return short if 0 < float(short) < 1 else f"{value:.10g}"


def pvalue(value: float | None) -> str:
    """Write a p-value with three decimals, and say so where that is not enough.

    >>> pvalue(0.0421), pvalue(1e-9), pvalue(0.9996), pvalue(None)
    ('0.042', '< 0.001', '> 0.999', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value <= 0.999 else "> 0.999"


def percent_wording(share: float) -> str:
    r"""Write a share as a percentage.

    >>> percent_wording(0.95), percent_wording(0.999)
    ('95\xa0%', '99.9\xa0%')
    """
    return f"{100 * share:.10g}\u00a0%"


def interval(bounds: tuple[float, float] | None) -> str:
    """Write a pair of bounds.

    >>> interval((0.1, 0.25))
    '0.1000 to 0.2500'
    """
    return MISSING if bounds is None else f"{number(bounds[0])} to {number(bounds[1])}"


def cell(name: str, value: Any) -> str:
    """Write one value of a table column called `name`.

    >>> cell("rows", 12345), cell("pvalue", 0.00001), cell("segment", "students"), cell("ece", None), cell("in", True)
    ('12,345', '< 0.001', 'students', '–', 'yes')
    >>> cell("nominal", 0.9), cell("coverage", 0.9)
    ('0.9', '0.9000')
    """
    if value is None:
        return MISSING
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, numbers.Real):
        return _written(name)(float(value))
    if isinstance(value, (tuple, list)):
        return " to ".join(cell(name, item) for item in value) or MISSING
    return text(value)


def text(value: Any, longest: int = LONGEST_NAME) -> str:
    r"""Return the user's words as they are shown: of limited length, and without marks of the writing direction.

    Such marks are spelled out; they would reverse the words after them.

    >>> text("a\x00b"), len(text("x" * 1000)), text("a\u202eb")
    ('a\ufffdb', 160, 'a\\u202eb')
    """
    return stored_text(DIRECTION.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value)), longest)


def stored_text(value: Any, longest: int = LONGEST_NAME) -> str:
    """Return the user's words without characters that a page cannot contain, of limited length."""
    words = CONTROL.sub("\ufffd", str(value))
    return words if len(words) <= longest else words[: longest - 1] + "…"


def sentence(value: str) -> str:
    r"""Return words of an audit, which may quote the user's, with units that stay at their number.

    >>> sentence("When it says 84 %, it happens.")
    'When it says 84\xa0%, it happens.'
    """
    return _UNIT.sub("\u00a0%", text(value, LONGEST_SENTENCE))


def label(value: str) -> str:
    """Return the label of a measurement as it stands at the beginning of a line.

    >>> label("log score")
    'Log score'
    """
    words = text(value)
    return words[:1].upper() + words[1:]


def heading(name: str) -> str:
    """Return the name of a column as a heading.

    >>> heading("mean_predicted"), heading("pvalue_adjusted")
    ('mean predicted', 'p-value adjusted')
    """
    return text(name).replace("_", " ").replace("pvalue", "p-value")


def is_numeric(column: Sequence[Any]) -> bool:
    """Say whether a column holds numbers or pairs of them, so that its digits are aligned."""
    return all(
        is_numeric(value)
        if isinstance(value, (tuple, list))
        else value is None or (isinstance(value, numbers.Real) and not isinstance(value, bool))
        for value in column
    )


def _written(name: str) -> Callable[[float], str]:
    """Return how the numbers of a column are written."""
    if "pvalue" in name.lower().replace("-", ""):
        return pvalue
    return level if name == "nominal" else number


POWER = 0.8  # "found 4 times in 5"
NAMED = 4  # classes or groups, in a sentence
NOTABLE = 0.05  # an average error of 5 percentage points
INFINITE = "the log score is infinite. No prediction should be exactly 0 or 1."


def percent(value: float) -> str:
    """Return a probability in percent, with a decimal where it is needed."""
    digits = 0 if 0.01 <= value <= 0.99 or value in (0, 1) else 1 if 0.001 <= value <= 0.999 else 2
    return f"{100 * value:.{digits}f} %"


def points(value: float) -> str:
    """Return a difference of probabilities in percentage points."""
    return f"{100 * value:.{1 if value >= 0.001 else 3}f} percentage points"


def pvalue_words(value: float) -> str:
    """Return a p-value as it is spoken of, with the digits that tables have.

    >>> pvalue_words(0.0123), pvalue_words(1e-9)
    ('p = 0.012', 'p < 0.001')
    """
    text = pvalue(value)
    return f"p {text}" if text[0] in "<>" else f"p = {text}"


def smallest_seen(summary: Ordered, level: float) -> float:
    """Return the smallest constant error that a test of the mean difference finds 4 times in 5: (z + 0.84) σ."""
    deviations = normal_quantile((1 + level) / 2) + normal_quantile(POWER)
    return deviations * math.sqrt(summary.walk.variance) / summary.total_weight


def combined(measurements: tuple[Measurement, ...], names: tuple[str, ...]) -> float:
    """Return the p-value of several tests together: the smallest, times their number (Bonferroni)."""
    return bonferroni([m.pvalue for m in measurements if m.name in names and m.pvalue is not None])


def outside(curve: Curve) -> FloatArray:
    """Return observed minus predicted where a bin lies outside its band, 0 elsewhere."""
    return np.where(curve.outside, np.nan_to_num(curve.mean_observed - curve.mean_predicted), 0.0)


def shape(curve: Curve) -> str:
    """Return in words which way the bins outside the band are off; empty if there are none."""
    gap = outside(curve)
    low, high = np.flatnonzero(gap > 0), np.flatnonzero(gap < 0)  # predictions too low, too high
    if not low.size and not high.size:
        return ""
    if not low.size:
        return f"Predictions are too high {_where(curve, high)}."
    if not high.size:
        return f"Predictions are too low {_where(curve, low)}."
    middle = 0.5  # too extreme means away from it, too timid towards it
    if curve.mean_predicted[low].max() < middle < curve.mean_predicted[high].min():
        return (
            f"Predictions are too extreme (over-confident): too low {_where(curve, low)} "
            f"and too high {_where(curve, high)}."
        )
    if curve.mean_predicted[high].max() < middle < curve.mean_predicted[low].min():
        return (
            f"Predictions are too timid (under-confident): too high {_where(curve, high)} "
            f"and too low {_where(curve, low)}."
        )
    return f"Predictions are too high {_where(curve, high)} and too low {_where(curve, low)}."


def _where(curve: Curve, bins: NDArray[np.intp]) -> str:
    first, last = bins.min(), bins.max()
    filled = np.flatnonzero(curve.count)
    if last == filled.max() and first == filled.min():
        return "over the whole range"
    if first == filled.min():
        return f"up to {curve.upper[last]:.2g}" if curve.upper[last] > 0 else "where they are 0"
    if last == filled.max():
        return f"above {curve.lower[first]:.2g}"
    return f"between {curve.lower[first]:.2g} and {curve.upper[last]:.2g}"


def example(curve: Curve, happens: str) -> str:
    """Return the sentence on the bin that is off most: when it says .., it happens .. of the time."""
    gap = outside(curve)
    b = int(np.argmax(np.abs(gap)))
    if gap[b] == 0:
        return ""
    return (
        f"When it says {percent(curve.mean_predicted[b])}, {happens} {percent(curve.mean_observed[b])} of the time "
        f"({curve.count[b]:,} rows; if calibrated, {percent(curve.consistency_low[b])} to "
        f"{percent(curve.consistency_high[b])})."
    )


def verdict(
    measurements: tuple[Measurement, ...],
    curve: Curve,
    summary: Ordered,
    *,
    tests: tuple[str, ...],
    happens: str,
    setting: Setting,
) -> Verdict:
    """Return the verdict on one probability per row."""
    p = min(1.0, setting.families * combined(measurements, tests))
    seen = smallest_seen(summary, setting.level)
    if p < 1 - setting.level:
        value = {m.name: m.value for m in measurements}
        part = value["decompose.mcb"] if value.get("brier_score") else 0.0
        hint = "No single tenth of the rows is off by more than chance, but all together are."
        rounded = any(m.name == "decompose.mcb" and m.rounding for m in measurements)
        by = " (isotonic, Platt or temperature scaling)"
        advice = gain(part, value.get("brier_score"), "Brier score", by, rounded=rounded)
        sentences = [example(curve, happens) or hint, shape(curve), advice]
        return Verdict(
            "miscalibrated",
            f"These predictions are not calibrated ({pvalue_words(p)}).",
            tuple(sentence for sentence in sentences if sentence),
        )
    if seen <= NOTABLE:
        return Verdict(
            "no evidence",
            f"Nothing speaks against these predictions ({pvalue_words(p)}).",
            (
                f"An average error of {points(seen)} would have been found 4 times in 5 with this many rows. "
                "That is not proof of calibration: smaller errors, and errors that cancel, stay unseen.",
            ),
        )
    return Verdict(
        "cannot tell",
        f"There are too few rows to tell ({summary.n:,}; {pvalue_words(p)}).",
        (
            f"Only an average error of {points(seen)} or more would have been found 4 times in 5. "
            f"To see {points(NOTABLE)}, collect about {rows_needed(summary.n * (seen / NOTABLE) ** 2):,} rows.",
        ),
    )


def with_parts(
    verdict: Verdict, noun: str, adjusted: Mapping[str, float], how: Mapping[str, str], setting: Setting
) -> Verdict:
    """Return a verdict that also speaks of classes or groups, given their adjusted p-values and how they are off."""
    off = [name for name, p in adjusted.items() if setting.families * p < 1 - setting.level]
    if not off:
        return replace(
            verdict, sentences=(*verdict.sentences, f"None of {len(adjusted):,} {noun} is off by more than chance.")
        )
    named = "; ".join(f"{name} ({how[name]})" for name in off[:NAMED])
    listed = named + (f" and {len(off) - NAMED:,} more" if len(off) > NAMED else "")
    are = "is" if len(off) == 1 else "are"
    sentence = f"{len(off):,} of {len(adjusted):,} {noun} {are} off by more than chance: {listed}."
    if verdict.status == "miscalibrated":
        return replace(verdict, sentences=(*verdict.sentences, sentence))
    p = min(1.0, setting.families * min(adjusted.values()))
    return Verdict(
        "miscalibrated", f"Some {noun} of these predictions are not calibrated ({pvalue_words(p)}).", (sentence,)
    )


def means_words(observed: float, predicted: float, extent: float) -> str:
    """Return how means differ, given Kuiper's estimate: where it is much larger, errors of both signs cancel.

    >>> means_words(0.41, 0.3, 0.12), means_words(0.301, 0.3, 0.12)
    ('observed 41 %, predicted 30 %', 'observed 30.1 %, predicted 30.0 %, errors both ways')
    """
    texts: list[str] = []
    for digits in range(3):
        texts = [f"{100 * mean:.{digits}f} %" for mean in (observed, predicted)]
        if texts[0] != texts[1]:
            break
    cancel = ", errors both ways" if abs(observed - predicted) < extent / 2 else ""
    return f"observed {texts[0]}, predicted {texts[1]}{cancel}"


def gain(part: float, score: float | None, name: str, by: str = "", *, rounded: bool = False) -> str:
    """Say what recalibration could gain; `rounded` if the part is that of rows counted in cells."""
    share = percent(part / score if score else 0.0)
    return f"Recalibration on held-out data{by} could take up to {'about ' if rounded else ''}{share} off the {name}."


def rows_needed(needed: float) -> int:
    """Return a number of rows, rounded up to two digits."""
    digits = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / digits) * digits


def caveats(
    summary: Ordered, level: float, measurements: tuple[Measurement, ...], *, pooled: bool = False
) -> list[str]:
    """Return what to keep in mind about these rows; `pooled` if an entry is a cell in which rows were counted."""
    n, unique = summary.n, summary.unique_scores.size
    events = int(summary.events.sum())
    rare = min(events, n - events)
    found = []
    if rare < 30:
        kind = "events" if events <= n - events else "non-events"
        few = f"Only {rare}" if rare else "No"
        found.append(f"{few} {kind} among {n:,} rows: what is said about them rests on few cases.")
    if pooled:
        found.append(
            f"The rows were counted in cells of the score, of which {unique:,} hold some: bins of equal width are "
            "exact, the method says by how much others may be off, and each cell is drawn as one score."
        )
    elif unique < n / 2:
        found.append(f"There are {unique:,} different scores among {n:,} rows; tied scores are judged together.")
    effective = summary.total_weight**2 / float((summary.weight**2 * summary.count).sum())
    if effective < 0.9 * n:
        found.append(f"With these weights {n:,} rows count like {effective:,.0f}.")
    if any(line.name == "log_score" and math.isinf(line.value) for line in measurements):
        found.append(f"{_impossible(summary, pooled)} happened that were given probability 0: {INFINITE}")
    found.append(
        f"With this many rows a constant error of {points(smallest_seen(summary, level))} is found 4 times in 5 "
        f"at the {percent(1 - level)} level; smaller ones may stay unseen."
    )
    return found


def _impossible(summary: Ordered, pooled: bool) -> str:
    """Say how many outcomes were ruled out; cells do not tell 0 from what is next to it."""
    if pooled:
        return "Outcomes"
    ruled_out = summary.events[summary.score == 0].sum() + (summary.count - summary.events)[summary.score == 1].sum()
    return f"{int(ruled_out):,} outcomes"


def small_groups(number: int) -> str:
    """Say how many groups are small."""
    return f" {number:,} groups have fewer than {SMALL_GROUP} rows." if number else ""
