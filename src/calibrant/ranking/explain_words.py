"""What ranks say about predictions, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim
from calibrant.core.words import (
    NAMED,
    at_most_words,
    confidence_words,
    limits_words,
    minus,
    pvalue_words,
    round_down,
    round_up,
    without_direction,
)
from calibrant.ranking import failures as kinds
from calibrant.ranking.column_claims import RankedColumn
from calibrant.ranking.draw_evidence import FAR, DrawEvidence
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS
from calibrant.ranking.pair_dependence import Together

ROWS_FOR_DECIMAL = 1000  # from which a share has a decimal
SAME_RANKS = "Bias that changes sign between rows makes the same ranks: split rows by a covariate"


def sentence(found: RankedColumn) -> str:
    """Return what is said about a column, made from what `column_claims` makes claims of."""
    draws = draws_words(found)
    if found.passes:
        return " ".join([*draws, _calm(found)])
    first, *others = [name for name in found.failures if name != kinds.DRAWS] or [""]
    sentences = [FIRST_SENTENCE[first](found)] if first else ["The ranks are uneven"]
    sentences += [ALSO[name](found) for name in others]
    if kinds.NARROW in found.failures:
        sentences.append(SAME_RANKS)
    p = f"{'Adjusted' if found.adjusted else 'Exact'} {pvalue_words(found.pvalue)}."
    return " ".join([*draws, f"{'. '.join(sentences)}.", *([p] if found.departs else [])])


def draws_words(found: RankedColumn) -> list[str]:
    """Say that draws are not exchangeable, and what is not said because of it."""
    evidence, words = found.evidence, []
    if evidence.dependent:
        k = math.ceil(evidence.tau)
        words.append(
            f"Draws depend on those before them: about {evidence.tau:.1f} or more are worth one independent draw "
            f"({_adjusted_p(evidence)}). "
            "That alone makes outer ranks too frequent, so whether predictions are too narrow is not said. Draw "
            f"independently, or keep every k-th from k = {k} on, draws[:, ::{k}], and look again."
        )
    if evidence.repeated:
        words.append(
            "Draws repeat, as resampled ones do: outcomes equal a draw less often than draws equal each other "
            f"({pvalue_words(evidence.repeats)}). Ranks among them are not those of independent draws, so nothing is "
            "said about the spread. Remove the repeats by drawing again."
        )
    return words


def _adjusted_p(evidence: DrawEvidence) -> str:
    return f"adjusted {pvalue_words(evidence.dependence)}"


def joint_sentence(together: Together, names: tuple[str, ...], level: float, passes: Sequence[bool]) -> tuple[str, str]:
    """Return failure and sentence of all columns together; `passes`: of each column. Empty if nothing was tested.

    >>> joint_sentence(Together(0.2), ("a", "b"), 0.95, (True, True))
    ('none', 'The joint ranks show no departure beyond chance (adjusted p = 0.200).')
    """
    found, p, alone = together.dependence, together.pvalue, all(passes)
    if p is None:
        return "", ""
    wrong = together.wrong_pairs(level, passes)
    if found is not None and wrong:
        pairs = [found.words(k, names, _pair_pvalue(together, k)) for k in wrong[:NAMED]]
        start = "Each variable is right alone, as far as these rows tell; " if alone else "Also, "
        return "dependence wrong", f"{start}{'; '.join(pairs)}{more_pairs(len(wrong))}."
    if p > 1 - level:
        return kinds.NONE, f"The joint ranks show no departure beyond chance (adjusted {pvalue_words(p)})."
    uneven = f"joint ranks, adjusted {pvalue_words(p)}"
    if alone:
        words = "together they are, as wrong dependence makes them"
        return "dependence wrong", f"No single variable is off beyond chance; {words} ({uneven})."
    dependence = " and wrong dependence" * (together.pairs is not None and together.pairs <= 1 - level)
    words = f"as errors of single variables{dependence} make them: correct single variables first"
    return kinds.OTHER, f"All variables together are off too, {words} ({uneven})."


def _pair_pvalue(together: Together, k: int) -> str:
    p = together.adjusted(k)
    at_floor = together.dependence is not None and together.dependence.at_floor(k)
    return f"adjusted {at_most_words(p) if at_floor else pvalue_words(p)}"


def more_pairs(number: int) -> str:
    """Say how many pairs of so many are not named.

    >>> more_pairs(4), more_pairs(5), more_pairs(6)
    ('', '; the dependence of 1 more pair is wrong', '; the dependence of 2 more pairs is wrong')
    """
    left = number - NAMED
    return f"; the dependence of {left:,} more pair{'s' * (left > 1)} is wrong" if left > 0 else ""


def _calm(found: RankedColumn) -> str:
    p = f"{'adjusted ' if found.adjusted else ''}{pvalue_words(found.pvalue)}"
    words = [f"No departure beyond chance ({confidence_words(found.level)}; {p})."]
    if not found.outward:
        words.append(visible_words(*found.smallest, found.n))
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


def _wide(found: RankedColumn) -> str:
    if found.outward:
        return f"Regions too large: predictions are too wide; {_regions(found)}"
    return f"Too wide (under-confident): {_covered(found)}{_factor(found)}"


def _shifted(found: RankedColumn) -> str:
    covered = _covered(found).removesuffix("; ")
    return f"Predictions sit {_by(found)}{'; ' if covered else ''}{covered}"


def _heavy(found: RankedColumn) -> str:
    core = "the core of the predictions is too narrow and their tails are too long"
    if not found.errors.spread > 1:
        core = "the tails of the predictions are too long"
    return f"Wrong shape: {core}. {_coverage(found)}. No factor of the spread corrects this: look at the 99 % coverage"


def _light(found: RankedColumn) -> str:
    core = " and their core too wide" if found.errors.spread_high < 1 else ""
    return f"Wrong shape: the tails of the predictions are too short{core}. {_outside(found)}. {_coverage(found)}"


def _outliers(found: RankedColumn) -> str:
    """Say how many outcomes lie outside all draws, in which rows, and what speaks for which cause."""
    far, outside = found.evidence.far, found.outside
    if outside is None:
        return f"{_outside(found)}: the support of the predictions is cut off, or they are far too narrow in some rows"
    rows = outside.rows
    named = ", ".join(str(row) for row in rows[:MAX_ROWS_NAMED])
    more = f" and {len(rows) - MAX_ROWS_NAMED:,} more" if len(rows) > MAX_ROWS_NAMED else ""
    which = f"row{'s' if len(rows) > 1 else ''} {named}{more}"
    if far is not None and far.rows == rows:
        place = f"more than {FAR:.0f} standard deviations outside all draws"
        p = f"exact {pvalue_words(far.pvalue)}"
        return f"The outcome lies {place} in {which} ({p}): {outside.words}"
    return f"{_outside(found)}, in {which}: {outside.words}"


def _other(found: RankedColumn) -> str:
    t, share = found.point / (found.M + 1), found.counts[: found.point].sum() / found.n
    place = f"in the most probable {_percent(t)}" if found.outward else f"below the {_percent(t)} point"
    often = f"the outcome falls {place} of its prediction {_share(share, found)} of the time"
    return f"The ranks are uneven, by too little or in no way that has a name: {often}"


def _related(found: RankedColumn) -> str:
    covered = _covered(found).removesuffix("; ")
    return f"The ranks are uneven, as errors that change with the covariates make them{': ' * bool(covered)}{covered}"


def _by(found: RankedColumn) -> str:
    errors = found.errors
    side, sign = ("above", 1) if errors.shift > 0 else ("below", -1)
    unit = "predictive standard deviations"
    low, high = sorted((sign * errors.shift_low, sign * errors.shift_high))
    if not math.isfinite(low + high):
        return f"{side} the outcomes by {down(low)} {unit} or more"
    return f"{side} the outcomes by about {sign * errors.shift:.2f} {unit} ({_limits(low, high, 0.0, found)})"


def down(value: float) -> str:
    """Write a lower limit with two decimals, rounded down.

    >>> down(1.239)
    '1.23'
    """
    return f"{round_down(value, 2):.2f}"


IMPROBABLE = "Regions too small: predictions are too narrow, or biased in a direction that these ranks do not show; "
AVERAGED_MODES = "The outcome avoids the centre of the predictions: two modes are averaged. "
FIRST_SENTENCE: dict[str, Callable[[RankedColumn], str]] = {
    kinds.NARROW: lambda found: f"Too narrow (over-confident): {_covered(found)}{_factor(found)}",
    kinds.WIDE: _wide,
    kinds.HIGH: _shifted,
    kinds.LOW: _shifted,
    kinds.SKEWED: lambda found: f"Wrong shape, skewed: {_tails(found)}",
    kinds.HEAVY: _heavy,
    kinds.LIGHT: _light,
    kinds.MODES: lambda found: AVERAGED_MODES + _coverage(found),
    kinds.OUTSIDE: _outliers,
    kinds.OTHER: _other,
    kinds.RELATED: _related,
    kinds.OUTWARD_HIGH: lambda found: IMPROBABLE + _regions(found),
    kinds.OUTWARD_SHAPE: lambda found: f"Regions of the right size and the wrong shape: {_regions(found)}",
}
ALSO: dict[str, Callable[[RankedColumn], str]] = {
    kinds.NARROW: lambda found: f"Predictions are also too narrow: {_factor(found)}",
    kinds.WIDE: lambda found: f"Predictions are also too wide: {_factor(found)}",
    kinds.HIGH: lambda found: f"Predictions are also {_by(found)}",
    kinds.LOW: lambda found: f"Predictions are also {_by(found)}",
    kinds.OUTSIDE: _outliers,
}


def _factor(found: RankedColumn) -> str:
    errors = found.errors
    if not math.isfinite(errors.spread_high):
        return f"multiply the spread by {down(errors.spread_low)} or more"
    if errors.spread_low == 0:
        return f"multiply the spread by {_rounded_up(errors.spread_high)} or less"
    limits = _limits(errors.spread_low, errors.spread_high, 1.0, found)
    return f"multiply the spread by about {errors.spread:.2f} ({limits})"


def _limits(low: float, high: float, expected: float, found: RankedColumn) -> str:
    return f"{confidence_words(found.level)} limits: {limits_words(low, high, expected)}"


def _covered(found: RankedColumn) -> str:
    """Return what the widest interval contains, with a semicolon; nothing if draws make no interval."""
    if not found.coverage:
        return ""
    level = max(found.coverage)
    region = "region" if found.outward else "interval"
    article = "an" if _percent(level).startswith(("8", "11 ", "11.", "18 ", "18.")) else "a"
    share = _share(found.coverage[level], found)
    return f"{article} {_percent(level)} {region} contains the outcome {share} of the time; "


def _regions(found: RankedColumn) -> str:
    """Return the coverage of regions of highest density."""
    parts = [f"{_percent(level)} regions contain {_share(share, found)}" for level, share in found.coverage.items()]
    return f"{' and '.join(parts)} of the outcomes" if parts else "one draw makes no region"


def _coverage(found: RankedColumn) -> str:
    first, *others = [(_percent(level), _share(share, found)) for level, share in found.coverage.items()]
    more = "".join(f" and {level} intervals {share}" for level, share in others)
    return f"{first[0]} intervals contain {first[1]} of the outcomes{more}"


def _tails(found: RankedColumn) -> str:
    """Return which tail is too short, and what lies beyond their points of 5 %."""
    lower, upper = ("short", "long") if found.skew < 0 else ("long", "short")
    m = found.M + 1
    j = max(1, round(m / 20))
    below, above = (part.sum() / found.n for part in (found.counts[:j], found.counts[-j:]))
    return (
        f"the lower tail of the predictions is too {lower} and the upper too {upper}. The outcome falls below their "
        f"{_percent(j / m)} point {_share(below, found)} of the time and above their {_percent(1 - j / m)} point "
        f"{_share(above, found)}"
    )


def _outside(found: RankedColumn) -> str:
    m = found.M + 1
    below, above = found.counts[0] / found.n, found.counts[-1] / found.n
    place = f"the central {_percent(1 - 2 / m)} interval" if found.cells else f"all {found.M:,} draws"
    return (
        f"The outcome lies outside {place} {_share(below + above, found)} of the time where {_percent(2 / m)} is "
        f"expected ({_share(below, found)} below, {_share(above, found)} above)"
    )


def _share(share: float, found: RankedColumn) -> str:
    return f"{100 * share:.{1 if found.n >= ROWS_FOR_DECIMAL else 0}f} %".replace(".0 %", " %")


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


MAX_ROWS_NAMED = 10
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
        ``"heavy-tailed"``, ``"light-tailed"``, ``"two modes"``, ``"outside"``, ``"dependent draws"`` or ``"other"``;
        the first where there are several. Of outward ranks also ``"too narrow or biased"`` and ``"wrong shape"``.
    shift, shift_low, shift_high
        By how many predictive standard deviations predictions are too high, with profile-likelihood limits.
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
    claims
        What the sentences say, as values: quantity, limits, p-value, the rows where there are some.
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
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", MappingProxyType(dict(self.coverage)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy is not picklable; a dictionary is
        values = (getattr(self, f.name) for f in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

    def __repr__(self) -> str:
        return f"Explanation({self.failure!r}, n={self.n}, M={self.M})"

    def __str__(self) -> str:
        joint = [self.joint] if self.joint else []
        return without_direction("\n".join([*self._sentences(), *joint, *self._effects()]))  # names are the user's

    def _sentences(self) -> list[str]:
        if isinstance(self.sentence, str):
            return [self.sentence]
        shown = np.argsort(self.pvalue, kind="stable")[:MAX_COLUMNS_PRINTED].tolist()  # worst first
        more = len(self.names) - len(shown)
        left = [f"{more:,} further columns have larger p-values."] if more else []
        return [f"{self.names[c]}: {self.sentence[c]}" for c in shown] + left

    def _effects(self) -> list[str]:
        """Return a line with shift, spread, and the smallest that could have been seen."""
        if np.isnan(self.smallest_shift) or self.n < MIN_ROWS_IN_WORDS:
            return []
        factor = "" if np.isnan(self.smallest_spread) else f", spread x {_rounded_up(self.smallest_spread)}"
        seen = (
            f"smallest visible at {self.n:,} row{'s' if self.n > 1 else ''}: shift {_rounded_up(self.smallest_shift)}"
            f"{factor}."
        )
        if not isinstance(self.sentence, str) or not self._has_limits():
            return [f"{seen[0].upper()}{seen[1:]}"]
        limits = limits_words(float(self.shift_low), float(self.shift_high), 0.0)
        shift = f"{minus(f'{_rounded(self.shift):+.2f}')} ({limits})"
        spread = f"{self.spread:.2f} ({limits_words(float(self.spread_low), float(self.spread_high), 1.0)})"
        needed = f", spread to be multiplied by {spread}" if factor else ""
        return [f"Shift {shift} predictive sd{needed}; {seen}"]

    def _has_limits(self) -> bool:
        """Tell whether shift and spread have limits, and dependent draws do not make them."""
        ends = [self.shift_low, self.shift_high] + [self.spread_low, self.spread_high] * (self.M > 1)
        of_draws = any(claim.quantity == "draws" for claim in self.claims)
        return not of_draws and all(math.isfinite(float(np.ravel(end)[0])) for end in ends)


def _rounded(value: Any) -> float:
    return round(float(value), 2) + 0.0  # no minus before a zero
