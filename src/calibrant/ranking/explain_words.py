"""What ranks say about predictions, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.words import confidence_words, limits_words, pvalue_words, round_up
from calibrant.ranking import failures as kinds
from calibrant.ranking.failures import NormalErrors

LITTLE_CONTRACTION = 0.05  # contraction up to which it is mentioned
ROWS_FOR_DECIMAL = 1000  # from which a share has a decimal
SAME_RANKS = "Bias that changes sign between rows makes the same ranks: split rows by a covariate"


class Found(NamedTuple):
    """What is known of one column of ranks."""

    failures: tuple[str, ...]  # the largest first
    counts: NDArray[np.int64]  # (M + 1,)
    cells: bool  # of values in [0, 1], not ranks among draws
    outward: bool  # high ranks are outlying outcomes
    errors: NormalErrors
    coverage: Mapping[float, float]
    smallest: tuple[float, float]
    pvalue: float
    level: float
    point: int  # the j at which #{rank < j} is farthest from its null distribution
    contraction: float | None
    adjusted: bool = False  # whether the p-value allows for other tests

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def M(self) -> int:
        """Number of draws."""
        return self.counts.size - 1


def sentence(found: Found) -> str:
    """Return the sentence about a column."""
    first, *others = found.failures
    if first == kinds.NONE:
        return _calm(found)
    sentences = [FIRST_SENTENCE[first](found), *(f"Predictions are also {ALSO[name](found)}" for name in others)]
    if kinds.NARROW in found.failures:
        sentences.append(SAME_RANKS)
    return f"{'. '.join(sentences)}. {'Adjusted' if found.adjusted else 'Exact'} {pvalue_words(found.pvalue)}."


def joint_sentence(pvalue: float, level: float, alone: bool) -> tuple[str, str]:
    """Return failure and sentence of the ranks of all columns together; `alone`: every column passed."""
    p = f"adjusted {pvalue_words(pvalue)}"
    if pvalue > 1 - level:
        return kinds.NONE, f"The joint ranks show no departure beyond chance ({p})."
    if alone:
        together = "together they are, as wrong dependence makes them"
        return "dependence wrong", f"No single variable is off beyond chance; {together} (joint ranks, {p})."
    return (
        kinds.OTHER,
        f"The joint ranks are uneven too ({p}), as errors of single variables make them: correct these first.",
    )


def contraction_words(contraction: float) -> str:
    """Say what a contraction is; it does not tell whether predictions are informative."""
    variance = f"the mean predictive variance is {1 - contraction:.2f} times the variance of all outcomes"
    return f"Contraction {_rounded(contraction):.2f}: {variance}."


def _calm(found: Found) -> str:
    p = f"{'adjusted ' if found.adjusted else ''}{pvalue_words(found.pvalue)}"
    words = [f"No departure beyond chance ({confidence_words(found.level)}; {p})."]
    if not found.outward:
        words.append(visible_words(*found.smallest, found.n))
    if found.contraction is not None and found.contraction <= LITTLE_CONTRACTION:
        words.append(contraction_words(found.contraction))
    return " ".join(words)


def visible_words(shift: float, spread: float, n: int) -> str:
    """Say which errors so many rows show four times in five; those of one draw have no spread.

    >>> visible_words(0.131, np.nan, 500)
    'With 500 rows a shift of 0.14 predictive standard deviations would be found at least 4 times in 5.'
    """
    rows = "1 row" if n == 1 else f"{n:,} rows"
    errors = [f"a spread that is wrong by a factor of {_rounded_up(spread)}"] * (spread < np.inf)
    errors += [f"a shift of {_rounded_up(shift)} predictive standard deviations"] * (shift < np.inf)
    end = "would be found at least 4 times in 5."
    if not errors:
        return f"With {rows} no error of the spread and no shift {end}"
    return f"With {rows} {', or '.join(errors)}{',' * (len(errors) > 1)} {end}"


def _rounded_up(value: float) -> str:
    return f"{round_up(value, 2):.2f}"


def _wide(found: Found) -> str:
    if found.outward:
        return f"Too wide: outcomes lie in probable places too often; {_covered(found)}".removesuffix("; ")
    return f"Too wide (under-confident): {_covered(found)}{_factor(found)}"


def _shifted(found: Found) -> str:
    covered = _covered(found).removesuffix("; ")
    return f"Predictions sit {_by(found)}{'; ' if covered else ''}{covered}"


def _heavy(found: Found) -> str:
    core = "the core of the predictions is too narrow and their tails are too long"
    if found.errors.parts[1] <= 0:
        core = "the tails of the predictions are too long"
    return f"Wrong shape: {core}. {_coverage(found)}. No factor of the spread corrects this: look at the 99 % coverage"


def _light(found: Found) -> str:
    core = " and their core too wide" if found.errors.parts[1] < 0 else ""
    return f"Wrong shape: the tails of the predictions are too short{core}. {_outside(found)}. {_coverage(found)}"


def _spikes(found: Found) -> str:
    thin = "" if found.cells else ", or draws are dependent (keep every k-th, draws[:, ::k])"
    return f"{_outside(found)}, and evenly inside: the support of the predictions is cut off{thin}"


def _other(found: Found) -> str:
    t, share = found.point / (found.M + 1), found.counts[: found.point].sum() / found.n
    place = f"in the most probable {_percent(t)}" if found.outward else f"below the {_percent(t)} point"
    return f"The ranks are uneven: the outcome falls {place} of its prediction {_share(share, found)} of the time"


def _by(found: Found) -> str:
    errors = found.errors
    side, sign = ("above", 1) if errors.shift > 0 else ("below", -1)
    unit = "predictive standard deviations"
    if not errors.measurable:
        return f"{side} the outcomes by {sign * errors.shift:.2g} {unit} or more"
    low, high = sorted((sign * errors.shift_low, sign * errors.shift_high))
    return f"{side} the outcomes by about {sign * errors.shift:.2f} {unit} ({_limits(low, high, 0.0, found)})"


IMPROBABLE = (
    "Outcomes lie in improbable places too often: predictions are too narrow, or biased in a direction that these "
    "ranks do not show; "
)
AVERAGED_MODES = "The outcome avoids the centre of the predictions: two modes are averaged. "
FIRST_SENTENCE: dict[str, Callable[[Found], str]] = {
    kinds.NARROW: lambda found: f"Too narrow (over-confident): {_covered(found)}{_factor(found)}",
    kinds.WIDE: _wide,
    kinds.HIGH: _shifted,
    kinds.LOW: _shifted,
    kinds.SKEWED: lambda found: f"Wrong shape, skewed: {_tails(found)}",
    kinds.HEAVY: _heavy,
    kinds.LIGHT: _light,
    kinds.MODES: lambda found: AVERAGED_MODES + _coverage(found),
    kinds.OUTSIDE: _spikes,
    kinds.OTHER: _other,
    kinds.OUTWARD_HIGH: lambda found: (IMPROBABLE + _covered(found)).removesuffix("; "),
}
ALSO: dict[str, Callable[[Found], str]] = {
    kinds.NARROW: lambda found: f"too narrow: {_factor(found)}",
    kinds.WIDE: lambda found: f"too wide: {_factor(found)}",
    kinds.HIGH: _by,
    kinds.LOW: _by,
    kinds.SKEWED: lambda found: f"skewed: {_tails(found)}",
    kinds.HEAVY: lambda found: "too long in their tails",
    kinds.LIGHT: lambda found: "too short in their tails",
}


def _factor(found: Found) -> str:
    errors = found.errors
    if not errors.measurable:
        return f"multiply the spread by {errors.spread:.2g} or {'more' if errors.spread > 1 else 'less'}"
    limits = _limits(errors.spread_low, errors.spread_high, 1.0, found)
    return f"multiply the spread by about {errors.spread:.2f} ({limits})"


def _limits(low: float, high: float, expected: float, found: Found) -> str:
    return f"{confidence_words(found.level)} limits: {limits_words(low, high, expected)}"


def _covered(found: Found) -> str:
    """Return what the widest interval contains, with a semicolon; nothing if draws make no interval."""
    if not found.coverage:
        return ""
    level = max(found.coverage)
    region = "region" if found.outward else "interval"
    article = "an" if _percent(level).startswith(("8", "11 ", "11.", "18 ", "18.")) else "a"
    share = _share(found.coverage[level], found)
    return f"{article} {_percent(level)} {region} contains the outcome {share} of the time; "


def _coverage(found: Found) -> str:
    first, *others = [(_percent(level), _share(share, found)) for level, share in found.coverage.items()]
    more = "".join(f" and {level} intervals {share}" for level, share in others)
    return f"{first[0]} intervals contain {first[1]} of the outcomes{more}"


def _tails(found: Found) -> str:
    """Return which tail is too short, and what lies beyond their points of 5 %."""
    lower, upper = ("short", "long") if found.errors.rest[0] < 0 else ("long", "short")
    m = found.M + 1
    j = max(1, round(m / 20))
    below, above = (part.sum() / found.n for part in (found.counts[:j], found.counts[-j:]))
    return (
        f"the lower tail of the predictions is too {lower} and the upper too {upper}. The outcome falls below their "
        f"{_percent(j / m)} point {_share(below, found)} of the time and above their {_percent(1 - j / m)} point "
        f"{_share(above, found)}"
    )


def _outside(found: Found) -> str:
    m = found.M + 1
    below, above = found.counts[0] / found.n, found.counts[-1] / found.n
    place = f"the central {_percent(1 - 2 / m)} interval" if found.cells else f"all {found.M:,} draws"
    return (
        f"The outcome lies outside {place} {_share(below + above, found)} of the time where {_percent(2 / m)} is "
        f"expected ({_share(below, found)} below, {_share(above, found)} above)"
    )


def _share(share: float, found: Found) -> str:
    return f"{100 * share:.{1 if found.n >= ROWS_FOR_DECIMAL else 0}f} %".replace(".0 %", " %")


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


Numbers = float | NDArray[np.float64]
MAX_COLUMNS_PRINTED = 12  # columns


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
        ``"heavy-tailed"``, ``"light-tailed"``, ``"two modes"``, ``"outside"`` or ``"other"``; the largest error where
        there are several. Of outward ranks also ``"too narrow or biased"``.
    shift, shift_low, shift_high
        By how many predictive standard deviations predictions are too high, with limits.
    spread, spread_low, spread_high
        The factor that the predictive spread needs; above 1 if predictions are too narrow.
    coverage
        Nominal level of an interval to the share of outcomes it contains, at about 50 and 90 %.
    smallest_shift, smallest_spread
        The smallest shift, and factor of the spread, that this many rows show four times in five.
    pvalue
        Of uniform ranks: the exact test of the simultaneous band, adjusted for the number of columns (Holm).
    n, M
        Number of rows; of draws, or cells less one.
    level
        Confidence of all limits and statements together.
    names
        Names of the columns.
    joint, joint_failure, joint_pvalue
        The same for ranks of all columns together: a sentence, ``"none"``, ``"dependence wrong"`` or ``"other"``, and a
        p-value. Empty, empty and None if there are no such ranks.
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

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy is not picklable; a dictionary is
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
        shown = np.argsort(self.pvalue, kind="stable")[:MAX_COLUMNS_PRINTED].tolist()  # worst first
        more = len(self.names) - len(shown)
        left = [f"{more:,} further columns have larger p-values."] if more else []
        return [f"{self.names[c]}: {self.sentence[c]}" for c in shown] + left

    def _effects(self) -> list[str]:
        """Return a line with shift, spread, and the smallest that could have been seen."""
        if np.isnan(self.smallest_shift):
            return []
        factor = "" if np.isnan(self.smallest_spread) else f", spread x {self.smallest_spread:.2f}"
        seen = (
            f"smallest visible at {self.n:,} row{'s' if self.n > 1 else ''}: shift {self.smallest_shift:.2g}{factor}."
        )
        if not isinstance(self.sentence, str) or np.isinf(self.shift_low):
            return [f"{seen[0].upper()}{seen[1:]}"]
        shift = f"{_rounded(self.shift):+.2f} ({limits_words(float(self.shift_low), float(self.shift_high), 0.0)})"
        spread = f"{self.spread:.2f} ({limits_words(float(self.spread_low), float(self.spread_high), 1.0)})"
        needed = f", spread to be multiplied by {spread}" if factor else ""
        return [f"Shift {shift} predictive sd{needed}; {seen}"]


def _rounded(value: Any) -> float:
    return round(float(value), 2) + 0.0  # no minus before a zero
