"""How values look in a report."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Sequence
from typing import Any

MISSING = "–"
LONGEST_NAME = 160
LONGEST_SENTENCE = 2000
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNIT = re.compile(r"(?<=\d) %")


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


def percent(share: float) -> str:
    r"""Write a share as a percentage.

    >>> percent(0.95), percent(0.999)
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
    r"""Return the user's words without what a page cannot hold, and not endlessly.

    >>> text("a\x00b"), len(text("x" * 1000))
    ('a\ufffdb', 160)
    """
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
