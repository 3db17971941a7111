"""How numbers, names and sentences are written: one owner of digits and percentages."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calibrant.core.claims import Claim
from calibrant.core.findings import Setting, Verdict
from calibrant.errors import without_control

MISSING = "–"
LONGEST_NAME = 160
LONGEST_SENTENCE = 2000
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # marks that change the writing direction of what follows
_UNIT = re.compile(r"(?<=\d) %")
_PVALUE = re.compile(r"\bp ([<=>]) (?=\d)")
SMALL_GROUP = 30  # rows
POWER = 0.8  # "found 4 times in 5"
NAMED = 4  # classes or groups that a sentence names
SIZE = "off by"  # with which words begin that state a size
MAX_DIGITS = 6  # decimals of a percentage


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
    if math.isnan(value):
        return MISSING
    short = f"{value:.4g}"
    return short if 0 < float(short) < 1 else f"{value:.10g}"


def pvalue(value: float | None) -> str:
    """Write a p-value with three decimals; values too near 0 or 1 for that are written as bounds.

    >>> pvalue(0.0421), pvalue(1e-9), pvalue(0.9996), pvalue(None)
    ('0.042', '< 0.001', '> 0.999', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value <= 0.999 else "> 0.999"


def level_percent(value: float) -> str:
    r"""Write a nominal level as a percentage, with all its digits.

    >>> level_percent(0.95), level_percent(0.999)
    ('95\xa0%', '99.9\xa0%')
    """
    return f"{100 * value:.10g}\u00a0%"


def confidence_words(value: float) -> str:
    """Write a confidence level in a sentence, with all its digits.

    >>> confidence_words(0.95), confidence_words(0.975)
    ('95 %', '97.5 %')
    """
    return level_percent(value).replace("\u00a0", " ")


def percent(value: float) -> str:
    """Write a measured probability as a percentage, with decimals only near 0 and 100 %.

    >>> percent(0.584), percent(0.996), percent(0.9999)
    ('58 %', '99.6 %', '99.99 %')
    """
    digits = 0 if 0.01 <= value <= 0.99 or value in (0, 1) else 1 if 0.001 <= value <= 0.999 else 2
    return f"{100 * value:.{digits}f} %"


def points(value: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * value:.{1 if value >= 0.001 else 3}f} percentage points"


def outward(
    low: float, high: float, estimate: float, tolerance: float | None = None, expected: float = 0.0
) -> tuple[str, str, str]:
    """Write the limits of a share and its estimate in percent, rounded so that what is said of them stays true.

    The lower limit is rounded down and the upper one up, with one decimal, or as many as it takes for two digits of the
    upper limit, and for a limit that is beyond a tolerance around what is expected to stay beyond it.

    >>> outward(0.00449, 0.0131, 0.008), outward(0.0, 0.00032, 0.0001)
    (('0.4', '1.4', '0.8'), ('0.000', '0.032', '0.010'))
    >>> outward(0.02004, 0.031, 0.025, 0.02)[0]
    '2.004'
    >>> outward(0.9004, 0.91, 0.905, expected=0.9)[0]
    '90.04'
    """
    near = None if tolerance is None and not expected else (expected - (tolerance or 0), expected + (tolerance or 0))
    digits = 1 if not 0 < high < 0.01 else 1 - math.floor(math.log10(100 * high))
    while True:
        step = 10.0**digits
        down, up = (
            round(side(round(100 * limit * step, 6)) / step, digits)
            for side, limit in ((math.floor, low), (math.ceil, high))
        )
        same = near is None or _beyond(down / 100, up / 100, *near) == _beyond(low, high, *near)
        if same or digits >= MAX_DIGITS:
            return f"{down:.{digits}f}", f"{up:.{digits}f}", f"{100 * estimate:.{digits}f}"
        digits += 1


def _beyond(low: float, high: float, least: float, most: float) -> tuple[bool, ...]:
    """Return which limits are beyond a range, up to rounding."""
    slack = 1e-12
    return low > most + slack, high > most + slack, low < least - slack, high < least - slack


def share_words(expected: float, seen: float, low: float, high: float) -> list[str]:
    """Write an expected share, one that was seen, and its limits in percent, the limits rounded outwards.

    There are so many digits that the expected share stays outside the limits, or apart from the one that was seen.

    >>> share_words(0.76, 0.584, 0.533, 0.631), share_words(0.9, 0.8993, 0.8987, 0.8999)
    (['76 %', '58 %', '53 %', '64 %'], ['90.00 %', '89.93 %', '89.87 %', '89.99 %'])
    """
    smallest = min([100 * share for share in (expected, seen) if share > 0], default=1.0)
    for digits in range(min(MAX_DIGITS, max(0, -math.floor(math.log10(smallest)))), MAX_DIGITS + 1):
        step = 10.0**digits
        says, happens = round(100 * expected, digits), round(100 * seen, digits)
        limits = [
            round(side(round(100 * limit * step, 6)) / step, digits)
            for side, limit in ((math.floor, low), (math.ceil, high))
            if not math.isnan(limit)
        ]
        if says != happens and not (limits and limits[0] <= says <= limits[1]):
            break
    return [f"{share:.{digits}f} %" for share in (says, happens, *limits)]


def listed(texts: Sequence[str]) -> str:
    """Return texts as an enumeration.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def pvalue_words(value: float) -> str:
    """Write a p-value as part of a sentence, with the same digits as in tables.

    >>> pvalue_words(0.0123), pvalue_words(1e-9)
    ('p = 0.012', 'p < 0.001')
    """
    text = pvalue(value)
    return f"p {text}" if text[0] in "<>" else f"p = {text}"


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
    return stored_text(without_direction(str(value)), longest)


def without_direction(value: str) -> str:
    """Spell out the marks of the writing direction."""
    return DIRECTION.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


def stored_text(value: Any, longest: int = LONGEST_NAME) -> str:
    """Return the user's words without characters that a page cannot contain, of limited length."""
    words = without_control(str(value))
    return words if len(words) <= longest else words[: longest - 1] + "…"


def sentence(value: str) -> str:
    r"""Return a sentence of an audit, which may quote the user; lines do not break before "%" or within a p-value.

    >>> sentence("When it says 84 %, it happens (p < 0.001).")
    'When it says 84\xa0%, it happens (p\xa0<\xa00.001).'
    """
    return _PVALUE.sub("p\u00a0\\1\u00a0", _UNIT.sub("\u00a0%", text(value, LONGEST_SENTENCE)))


def label(value: str) -> str:
    """Return the label of a measurement with a capital letter, for the beginning of a line.

    >>> label("log score")
    'Log score'
    """
    words = text(value)
    return words[:1].upper() + words[1:]


def heading(name: str) -> str:
    """Return the heading of a column.

    >>> heading("mean_predicted"), heading("pvalue_adjusted")
    ('mean predicted', 'p-value adjusted')
    """
    return text(name).replace("_", " ").replace("pvalue", "p-value")


def is_numeric(column: Sequence[Any]) -> bool:
    """Tell whether a column contains only numbers or pairs of numbers, whose digits are then aligned."""
    return all(
        is_numeric(value)
        if isinstance(value, (tuple, list))
        else value is None or (isinstance(value, numbers.Real) and not isinstance(value, bool))
        for value in column
    )


def _written(name: str) -> Callable[[float], str]:
    """Return the function that writes the numbers of a column."""
    if "pvalue" in name.lower().replace("-", ""):
        return pvalue
    return level if name == "nominal" else number


def with_parts(
    verdict: Verdict, noun: str, tested: int, off: Sequence[Claim], how: Mapping[str, str], setting: Setting
) -> Verdict:
    """Return the verdict with what was found about its parts, classes or groups.

    `off` are the claims on parts that are off, worst first, and `how` says in a few words how each subject is off. With
    a tolerance a part makes predictions miscalibrated only if its limits lie beyond it; else it leaves open what was
    within. The headline is about the first part that decides. Claims "within" are on parts that a test
    finds off, but by so little that it does not matter.
    """
    if not off:
        sentence = f"None of {tested:,} {noun} is off by more than chance." if tested > 1 else ""
        return replace(verdict, sentences=(*verdict.sentences, *filter(None, [sentence])))
    faults = [claim for claim in off if claim.kind != "within"]
    small = [claim for claim in off if claim.kind == "within"]
    bound = "negligible" if setting.tolerance is None else "within the tolerance"
    sentences = [
        _parts_words(found, noun, tested, how, ending)
        for found, ending in ((faults, ""), (small, f", but {bound}"))
        if found
    ]
    beyond = [claim for claim in faults if setting.tolerance is None or claim.least_error > setting.tolerance]
    if not faults or verdict.status == "miscalibrated" or (not beyond and verdict.status == "cannot tell"):
        return replace(verdict, sentences=(*verdict.sentences, *sentences), claims=(*verdict.claims, *off))
    deciding = beyond or faults
    headline, known = (
        _parts_headline(deciding, noun, tested, how, setting),
        len({claim.subject for claim in faults}) == 1,
    )
    if headline is None:  # nothing states a size: the sentence on all of them is the headline
        opening = f"Some {noun} are not calibrated" if beyond else f"Some {noun} may be off by more than the tolerance"
        headline, known = f"{opening}: {sentences[0]}", True
    return replace(
        verdict,
        status="miscalibrated" if beyond else "cannot tell",
        headline=headline,
        sentences=(*sentences[known:], f"All rows together: {_lowered(verdict.headline)}", *verdict.sentences),
        claims=(deciding[0], *(claim for claim in off if claim is not deciding[0]), *verdict.claims),
        tolerance=setting.tolerance,
    )


def _counted(off: Sequence[Claim], noun: str, tested: int, ending: str) -> str:
    """Say how many of the tested parts have claims, and the smallest p-value."""
    number = len({claim.subject for claim in off})
    p = pvalue_words(min(claim.pvalue for claim in off if claim.pvalue is not None))
    return f"{number:,} of {tested:,} {noun} {ending.format(are='is' if number == 1 else 'are')} ({p})"


def _parts_words(off: Sequence[Claim], noun: str, tested: int, how: Mapping[str, str], ending: str) -> str:
    """Say how many parts are off, and name the first ones."""
    subjects = list(dict.fromkeys(claim.subject for claim in off))
    texts = [(subject.partition(" ")[2], how[subject]) for subject in subjects[:NAMED]]
    named = "; ".join(f"{name}, {text}" if "(" in text else f"{name} ({text})" for name, text in texts)
    more = f" and {len(subjects) - NAMED:,} more" if len(subjects) > NAMED else ""
    return f"{_counted(off, noun, tested, '{are} off by more than chance')}{ending}: {named}{more}."


def _parts_headline(
    off: Sequence[Claim], noun: str, tested: int, how: Mapping[str, str], setting: Setting
) -> str | None:
    """State the size of the first part, then how many are off; None if its words do not state a size."""
    subject, text = off[0].subject, how[off[0].subject]
    if not text.startswith(SIZE):
        return None
    if setting.tolerance is None:
        ending = "{are} not calibrated"
    else:
        are = "{are}" if off[0].least_error > setting.tolerance else "may be"
        ending = f"{are} off by more than the tolerance"
    return f"{subject[:1].upper()}{subject[1:]} is {text}: {_counted(off, noun, tested, ending)}."


def _lowered(headline: str) -> str:
    return headline[:1].lower() + headline[1:]


def means_words(observed: float, predicted: float, extent: float) -> str:
    """Say how two means differ; if Kuiper's estimate `extent` is much larger than that, errors of both signs cancel.

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


def rows_needed(needed: float) -> int:
    """Return a number of rows, rounded up to two digits."""
    digits = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / digits) * digits


def small_groups(number: int) -> str:
    """Say how many groups are small, in a sentence that follows another."""
    return f" {number:,} groups have fewer than {SMALL_GROUP} rows." if number else ""
