"""How numbers, names and sentences are written: the one owner of digits, percentages and rounding."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Sequence
from typing import Any

from calibrant.core.evidence import ABOVE_0, SMALL_GROUP
from calibrant.core.formulas import readable
from calibrant.errors import without_control

MISSING = "–"
LONGEST_NAME = 160
LONGEST_SENTENCE = 2000
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # marks that change the writing direction of what follows
_UNIT = re.compile(r"(?<=\d) %")
_PVALUE = re.compile(r"\bp ([<=>]) (?=\d)")
NAMED = 4  # classes or groups that a sentence names
MAX_DIGITS = 6  # decimals of a percentage


def expected_words(value: float | None, at_least: bool) -> str:
    """Write the value that is expected, or the least one.

    >>> expected_words(0.9, False), expected_words(0.9, True), expected_words(None, False)
    ('0.9000', '≥ 0.9000', '–')
    """
    return f"≥ {number(value)}" if at_least else number(value)


def number(value: float | None) -> str:
    """Write a measured value with four significant digits, and counts whole.

    >>> number(0.9), number(0.08421), number(5.21574), number(12345.678), number(0.0000123), number(None), number(49)
    ('0.9000', '0.08421', '5.216', '12,346', '1.230e−05', '–', '49')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value in (0, ABOVE_0):
        return "above 0" if value else "0"
    if isinstance(value, int):
        return minus(f"{value:,}")
    size = abs(float(f"{value:.4g}"))
    text = f"{value:#.4g}" if size < 1000 else f"{value:,.0f}" if size < 1e15 else f"{value:.3e}"
    return minus(text)


def minus(text: str) -> str:
    """Write a number with a minus sign, not with a hyphen.

    >>> minus(f"{-0.25:.2f}")
    '−0.25'
    """
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


def level_words(level: float) -> str:
    """Return a nominal level in percent, as it was given or with two decimals.

    >>> level_words(0.9), level_words(0.975), level_words(5 / 11), level_words(0.99999)
    ('90 %', '97.5 %', '45.45 %', '99.999 %')
    """
    digits = 2 if 0.0001 <= level <= 0.9999 else 8
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".") + " %"


def confidence_words(value: float) -> str:
    """Write a confidence level, with all its digits.

    >>> confidence_words(0.95), confidence_words(0.975)
    ('95 %', '97.5 %')
    """
    return f"{100 * value:.10g} %"


def percent(value: float) -> str:
    """Write a measured probability as a percentage, with decimals only near 0 and 100 %.

    >>> percent(0.584), percent(0.996), percent(0.9999)
    ('58 %', '99.6 %', '99.99 %')
    """
    digits = 0 if 0.01 <= value <= 0.99 or value in (0, 1) else 1 if 0.001 <= value <= 0.999 else 2
    return f"{100 * value:.{digits}f} %"


def points(value: float, *, digits: int = 3, up: bool = False) -> str:
    """Write a distance of probabilities in percentage points, with so many significant digits.

    An upper limit and the size of what a test finds are rounded upwards, so that what is said of them stays true.

    >>> points(0.01), points(0.0212345), points(0.0212345, up=True)
    ('1 percentage point', '2.12 percentage points', '2.13 percentage points')
    """
    shown = 100 * value
    text = f"{significant(shown, digits, round_up) if up else shown:.{digits}g}"
    return f"{text} percentage point{'' if text == '1' else 's'}"


def tolerance_words(tolerance: float) -> str:
    """Write a tolerance in percentage points as it was given; one with many digits is rounded upwards to two.

    >>> tolerance_words(0.01), tolerance_words(0.07), tolerance_words(0.012345), tolerance_words(0.02 / 7)
    ('1 percentage point', '7 percentage points', '1.2345 percentage points', '0.29 percentage points')
    """
    few = float(f"{100 * tolerance:.5g}") == float(f"{100 * tolerance:.10g}")
    return points(tolerance, digits=5 if few else 2, up=not few)


def round_down(value: float, digits: int) -> float:
    """Return the largest decimal number with so many decimals that is at most the value.

    >>> round_down(0.29, 2), round_down(-0.291, 2), round_down(1234, -2), round_down(0.001, 0)
    (0.29, -0.3, 1200.0, 0.0)
    """
    return 0.0 - round_up(-value, digits)  # not -0.0, which would be written with its sign


def round_up(value: float, digits: int) -> float:
    """Return the smallest decimal number with so many decimals that is at least the value, up to rounding errors."""
    digits = min(digits, 300)  # beyond which a power of ten is not a number
    step = 10.0**digits
    if not math.isfinite(value * step):
        return value
    return round(math.ceil(round(value * step, 6)) / step, max(0, digits)) + 0.0  # 0.29 · 100 is 28.999999999999996


def probability(value: float) -> str:
    """Write a probability with three decimals, or with three digits if it is small.

    >>> probability(0.25), probability(0.000341), probability(0.0)
    ('0.250', '0.000341', '0.000')
    """
    return f"{value:.3f}" if value == 0 or value >= 0.1 else f"{value:.3g}"


def outward(
    low: float,
    high: float,
    estimate: float,
    tolerance: float | None = None,
    expected: float | None = None,
    *,
    digits: int | None = None,
    scale: float = 100.0,
) -> tuple[str, str, str]:
    """Write limits and the estimate between them, by default in percent, so that what is said of them stays true.

    The lower limit is rounded down and the upper one up; the estimate is rounded to the nearest number, which does not
    leave these limits. There are as many decimals as it takes for limits and estimate to stay on their side of what is
    `expected`, and within or beyond the `tolerance` around it or around 0: at least `digits`, by default one, or as
    many as two digits of the larger limit take (three if `scale` is 1), and one more where two of the numbers would
    look alike, or like 0. What is not 0 is never written as 0. The numbers are multiplied by `scale`.

    >>> outward(0.00449, 0.0131, 0.008), outward(0.0, 0.00032, 0.0001), outward(0.0, 0.05, 0.0001)
    (('0.4', '1.4', '0.8'), ('0', '0.032', '0.010'), ('0', '5.00', '0.01'))
    >>> outward(0.104, 0.236, 0.144, scale=1), outward(1e-9, 0.25, 1e-6), outward(0.003, 0.02, 0.01, digits=0)
    (('0.104', '0.236', '0.144'), ('above 0', '25.0', 'less than 0.1'), ('0.3', '2.0', '1.0'))

    A limit or an estimate beyond the tolerance, and limits that do not reach what is expected, stay so:

    >>> outward(0.02004, 0.031, 0.025, 0.02), outward(0.011, 0.024, 0.0204, 0.02)
    (('2.004', '3.100', '2.500'), ('1.10', '2.40', '2.04'))
    >>> outward(0.9004, 0.91, 0.905, expected=0.9), outward(1.0042, 1.0371, 1.02, expected=1, digits=2, scale=1)
    (('90.04', '91.00', '90.50'), ('1.004', '1.038', '1.020'))
    """
    exact = scale * low, scale * high, scale * estimate
    size = max((abs(value) for value in exact[:2] if 0 < abs(value) < math.inf), default=1.0)
    start = max(1, (2 if scale == 1 else 1) - math.floor(math.log10(size))) if digits is None else digits
    accepted = [] if expected is None else [(scale * expected, scale * expected)]
    if tolerance is not None:
        middle = scale * (expected or 0.0)
        accepted.append((middle - scale * tolerance, middle + scale * tolerance))
    for decimals in range(start, max(start, MAX_DIGITS) + 1):
        shown = round_down(exact[0], decimals), round_up(exact[1], decimals), round(exact[2], decimals)
        is_clear = decimals > start or len({0.0, *shown}) >= len({0.0, *(round(each, start + 1) for each in exact)})
        if is_clear and all(_same_side(a, b, *of) for a, b in zip(exact, shown, strict=True) for of in accepted):
            break
    down, up, nearest = (_decimal(a, b, decimals) for a, b in zip(exact, shown, strict=True))
    if exact[2] > 0 == shown[2]:
        nearest = f"less than {10.0**-decimals:.{decimals}f}"
    return down, up, nearest


def _decimal(exact: float, shown: float, decimals: int) -> str:
    """Write a rounded number with so many decimals; 0 stands for nothing but 0."""
    if shown == 0:
        return "0" if exact == 0 else "above 0" if exact > 0 else "below 0"
    return minus(f"{shown:.{decimals}f}" if abs(shown) < 1e15 and decimals <= MAX_DIGITS else f"{shown:.3g}")


def _same_side(exact: float, shown: float, least: float, most: float) -> bool:
    """Tell whether a number and what is shown of it are both below, in or above a range, or it is a single value."""
    slack = 1e-10
    if least == most and abs(exact - least) <= slack:
        return True
    of_exact, of_shown = ((value > most + slack, value < least - slack) for value in (exact, shown))
    return of_exact == of_shown


def short_limits(low: float, high: float) -> str:
    """Write limits of any size as `outward` does.

    >>> short_limits(0.01234, 0.0456), short_limits(-0.0101, 0.25), short_limits(0.1, 0.2), short_limits(1e-17, 3e-17)
    ('0.0123 to 0.0456', '−0.011 to 0.250', '0.100 to 0.200', '1e−17 to 3e−17')
    """
    return "{} to {}".format(*outward(low, high, low, scale=1.0))


def significant(value: float, digits: int, rounded: Callable[[float, int], float]) -> float:
    """Return a number with so many significant digits; `rounded` is `round_down` or `round_up`.

    >>> significant(0.0123456, 3, round_down), significant(0.0123456, 3, round_up)
    (0.0123, 0.0124)
    """
    if value == 0 or not math.isfinite(value):
        return value
    return rounded(value, digits - 1 - math.floor(math.log10(abs(value))))


def expected_share(expected: float, seen: float, low: float, high: float) -> str:
    """Write an expected share in percent: apart from the one that was seen, and outside its limits if it is."""
    outside = expected < low or expected > high  # false for NaN
    smallest = min([100 * share for share in (expected, seen) if share > 0], default=1.0)
    for digits in range(min(MAX_DIGITS, max(0, -math.floor(math.log10(smallest)))), MAX_DIGITS + 1):
        says = round(100 * expected, digits)
        inside = outside and round_down(100 * low, digits) <= says <= round_up(100 * high, digits)
        if says != round(100 * seen, digits) and not inside:
            break
    return f"{says:.{digits}f} %"


def listed(texts: Sequence[str], conjunction: str = "and") -> str:
    """Return texts as an enumeration.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {conjunction} {texts[-1]}"


def apart(low: float, high: float, least: int = 2) -> tuple[str, str]:
    """Write two numbers from 0 to 1 with as many digits as tell them from each other and from 0 and 1.

    >>> apart(0.29, 0.66), apart(0.9993, 0.9996), apart(0.0, 0.004)
    (('0.29', '0.66'), ('0.9993', '0.9996'), ('0', '0.004'))
    """
    low = 0.0 if low == ABOVE_0 else low
    for digits in range(least, 17):
        texts = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if texts[0] != texts[1] and all(
            (text == "1") == (value == 1) for text, value in zip(texts, (low, high), strict=True)
        ):
            break
    return texts


def pvalue_words(value: float) -> str:
    """Write a p-value as part of a sentence, with the same digits as in tables.

    >>> pvalue_words(0.0123), pvalue_words(1e-9)
    ('p = 0.012', 'p < 0.001')
    """
    text = pvalue(value)
    return f"p {text}" if text[0] in "<>" else f"p = {text}"


def bounds_words(bounds: tuple[float, float] | None) -> str:
    """Write a pair of bounds.

    >>> bounds_words((0.1, 0.25))
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
        return minus(f"{value:,}")
    if isinstance(value, numbers.Real):
        write = level if name == "nominal" else pvalue if "pvalue" in name.lower().replace("-", "") else number
        return write(float(value))
    if isinstance(value, (tuple, list)):
        return " to ".join(cell(name, item) for item in value) or MISSING
    return text(value)


def text(value: Any, longest: int = LONGEST_NAME) -> str:
    r"""Return the user's words as they are shown: of limited length, and without marks of the writing direction.

    Such marks are spelled out; they would reverse the words after them. Names that are formulas are written out.

    >>> text("a\x00b"), len(text("x" * 1000)), text("a\u202eb"), text(r"$\theta_1$")
    ('a\ufffdb', 160, 'a\\u202eb', 'θ₁')
    """
    return stored_text(without_direction(readable(str(value))), longest)


def without_direction(value: str) -> str:
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


def small_groups(number: int) -> str:
    """Say how many groups are small, in a sentence that follows another."""
    return f" {number:,} groups have fewer than {SMALL_GROUP} rows." if number else ""
