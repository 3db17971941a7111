"""The result of `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = float | NDArray[np.float64]
MOST = 12  # columns that are printed


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What ranks say about predictions, in words and in the user's units. `print` it.

    Of one column everything below is one text or number; of C columns texts are tuples and numbers arrays (C,), in the
    order of `names`.

    Attributes
    ----------
    sentence
        What a person reads.
    failure
        Its short form: ``"none"``, ``"too narrow"``, ``"too wide"``, ``"too high"``, ``"too low"``, ``"skewed"``,
        ``"heavy-tailed"``, ``"light-tailed"``, ``"two modes"``, ``"outside"``, ``"uninformative"`` or ``"other"``; the
        largest error where there are several. Of outward ranks also ``"too narrow or biased"``.
    shift, shift_low, shift_high
        By how many predictive standard deviations predictions are too high, with an interval of confidence `level`.
    spread, spread_low, spread_high
        The factor that the predictive spread needs; above 1 if predictions are too narrow.
    coverage
        Nominal level of an interval to the share of outcomes it holds, at about 50 and 90 %.
    smallest_shift, smallest_spread
        The smallest shift, and factor of the spread, that this many rows show four times in five at 5 %.
    pvalue
        Of uniform ranks: the exact test of the simultaneous band, corrected for the number of columns (Holm).
    n, M
        Number of rows; of draws, or cells less one.
    level
        Confidence of intervals, and of the statement that something is wrong, for all columns together.
    names
        Names of the columns.
    joint, joint_failure, joint_pvalue
        The same for ranks of all columns together: a sentence, ``"none"``, ``"dependence wrong"`` or ``"other"``, and a
        p-value. Empty, empty and None if nobody looked.
    """

    sentence: str | tuple[str, ...]
    failure: str | tuple[str, ...]
    shift: Numbers
    shift_low: Numbers
    shift_high: Numbers
    spread: Numbers
    spread_low: Numbers
    spread_high: Numbers
    coverage: Mapping[float, Numbers]
    smallest_shift: float
    smallest_spread: float
    pvalue: Numbers
    n: int
    M: int
    level: float
    names: tuple[str, ...] = ("",)
    joint: str = ""
    joint_failure: str = ""
    joint_pvalue: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", MappingProxyType(dict(self.coverage)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not travel; a dictionary does
        values = (getattr(self, f.name) for f in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

    def __repr__(self) -> str:
        return f"Explanation({self.failure!r}, n={self.n}, M={self.M})"

    def __str__(self) -> str:
        joint = [self.joint] if self.joint else []
        return "\n".join([*self._sentences(), *joint, *self._effects()])

    def _sentences(self) -> list[str]:
        if isinstance(self.sentence, str):
            return [self.sentence]
        shown = np.argsort(self.pvalue, kind="stable")[:MOST].tolist()  # worst first
        more = len(self.names) - len(shown)
        left = [f"{more:,} further columns have larger p-values."] if more else []
        return [f"{self.names[c]}: {self.sentence[c]}" for c in shown] + left

    def _effects(self) -> list[str]:
        """Return a line with shift, spread, and the smallest that could have been seen."""
        if np.isnan(self.smallest_shift):
            return []
        factor = "" if np.isnan(self.smallest_spread) else f", spread x {self.smallest_spread:.2f}"
        seen = f"smallest visible at {self.n:,} rows: shift {self.smallest_shift:.2g}{factor}."
        if not isinstance(self.sentence, str) or np.isinf(self.shift_low):
            return [f"{seen[0].upper()}{seen[1:]}"]
        shift = "{:+.2f} ({:+.2f} to {:+.2f})".format(*map(_rounded, (self.shift, self.shift_low, self.shift_high)))
        spread = f"{self.spread:.2f} ({self.spread_low:.2f} to {self.spread_high:.2f})"
        needed = f", spread to be multiplied by {spread}" if factor else ""
        return [f"Shift {shift} predictive sd{needed}; {seen}"]


def _rounded(value: Any) -> float:
    return round(float(value), 2) + 0.0  # no minus before a zero
